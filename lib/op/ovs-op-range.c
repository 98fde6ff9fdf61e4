/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Reads of a range: what changed from one ordinal to another, with the values as of
 * the latter.
 *
 * Under the stage lock a read takes references to the records of the range and to the
 * versions that answer for its end, and nothing more. What they say about the prims of
 * the query is found out after it, as bitmaps over the entries of its list: which
 * entries changed, and which of them live.
 *
 * Where the version that answers for the end is gone, the current one does for prims
 * that have not changed since (ENGINE 26). The records tell which have: if one of
 * these changed in the range too, the range can not be told. */

#include "config.h"

#include "op/ovs-read.h"

typedef struct
{
  guint64 ordinal;
  OvsDelta *delta; /* (owned) */
  guint32 *prims;  /* (owned) (nullable) of all targets, where the rows are in another numbering */
} RangeDelta;

typedef struct
{
  OvsVersion *version; /* (owned) */
  OvsBinding *binding; /* (owned) */
  GArray *within;      /* (owned) RangeDelta, newest first; one that is of all is the last */
  GArray *later;       /* (owned) (nullable) RangeDelta of what came after the range */
  OvsBits *changed;    /* (owned) (nullable) entries */
} RangeColumn;

typedef struct
{
  guint32 attribute;
  guint64 end;
  guint64 floor;
  guint64 frontier; /* of values */
  guint64 generation;
  gboolean exact;   /* all versions answer for the end */
  GArray *columns;          /* (owned) RangeColumn */
  GPtrArray *deaths;        /* (owned) OvsDeaths, newest first */
  GPtrArray *later_deaths;  /* (owned) */
  OvsBits *dead;            /* (owned) (nullable) entries */
} RangeAttr;

struct _OvsRangeWork
{
  GArray *attrs; /* (owned) RangeAttr */
};

static void
clear_delta (gpointer data)
{
  RangeDelta *delta = data;

  ovs_delta_unref (delta->delta);
  g_free (delta->prims);
}

static void
clear_column (gpointer data)
{
  RangeColumn *column = data;

  ovs_version_unref (column->version);
  ovs_binding_unref (column->binding);
  g_array_unref (column->within);
  g_clear_pointer (&column->later, g_array_unref);
  g_clear_pointer (&column->changed, ovs_bits_unref);
}

static void
clear_attr (gpointer data)
{
  RangeAttr *attr = data;

  g_array_unref (attr->columns);
  g_ptr_array_unref (attr->deaths);
  g_ptr_array_unref (attr->later_deaths);
  g_clear_pointer (&attr->dead, ovs_bits_unref);
}

void
ovs_range_work_free (OvsRangeWork *work)
{
  g_array_unref (work->attrs);
  g_free (work);
}

/* Layouts may grow once the lock is let go of, so rows of an older numbering are told by their prims. */
static guint32 *
list_prims (const OvsDelta *delta)
{
  gsize n = 0, at = 0;
  guint32 *prims;

  for (guint t = 0; t < delta->n_targets; t++)
    n += delta->targets[t].n;
  prims = g_new (guint32, MAX (n, 1));
  for (guint t = 0; t < delta->n_targets; t++)
    {
      const OvsTarget *target = &delta->targets[t];
      const guint32 *rows = target->rows != NULL ? (const guint32 *) target->rows->data : NULL;

      for (guint32 i = 0; i < target->n; i++)
        prims[at++] = ovs_layout_get_prim (delta->layout, rows != NULL ? rows[i] : target->first + i);
    }
  return prims;
}

/* The number of records below @ordinal. */
static guint
count_below (const OvsChanges *changes, guint64 ordinal)
{
  return ordinal > 0 ? ovs_changes_count (changes, ordinal - 1) : 0;
}

/* Records @from to @end of the column. @exact: who lives is known, so that nothing older than a change of all matters. */
static GArray *
take_deltas (const OvsColumn *column, const OvsVersion *version, guint from, guint end, gboolean exact)
{
  GArray *taken = g_array_new (FALSE, FALSE, sizeof (RangeDelta));
  const OvsDelta *last = NULL;

  g_array_set_clear_func (taken, clear_delta);
  for (guint i = end; i > from && !(exact && last != NULL && last->all); i--)
    {
      const OvsChange *change = ovs_changes_get (&column->changes, i - 1);
      RangeDelta delta = { change->ordinal, change->what, NULL };

      if (delta.delta == last)
        continue;
      last = ovs_delta_ref (delta.delta);
      if (last->numbering != version->numbering && !(exact && last->all))
        delta.prims = list_prims (last);
      g_array_append_val (taken, delta);
    }
  return taken;
}

static GPtrArray *
take_deaths (const OvsChanges *deaths, guint from, guint end)
{
  GPtrArray *taken = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_deaths_unref);

  for (guint i = end; i > from; i--)
    g_ptr_array_add (taken, ovs_deaths_ref (ovs_changes_get (deaths, i - 1)->what));
  return taken;
}

/* A column in which nothing of the range, or after it where that matters, was written has nothing to say. */
static gboolean
take_column (OvsRead *read, RangeAttr *range, OvsColumn *source, GError **error)
{
  guint from = count_below (&source->changes, read->start), end = ovs_changes_count (&source->changes, range->end);
  RangeColumn column = { 0 };
  gboolean dropped;
  OvsVersion *version = range->exact ? ovs_column_find_version (source, range->end, &dropped) : ovs_column_get_current (source);

  if (version == NULL || from == (range->exact ? end : source->changes.n) || (range->exact && version->n_live == 0))
    return TRUE;
  column.binding = ovs_read_bind (read, version->layout, error);
  if (column.binding == NULL)
    return FALSE;
  column.version = ovs_version_ref (version);
  column.within = take_deltas (source, version, from, end, range->exact);
  if (!range->exact)
    column.later = take_deltas (source, version, end, source->changes.n, FALSE);
  g_array_append_val (range->columns, column);
  return TRUE;
}

static RangeAttr *
add_attr (OvsRead *read, const RangeAttr *range)
{
  if (read->range == NULL)
    {
      read->range = g_new (OvsRangeWork, 1);
      read->range->attrs = g_array_new (FALSE, FALSE, sizeof (RangeAttr));
      g_array_set_clear_func (read->range->attrs, clear_attr);
    }
  g_array_append_val (read->range->attrs, *range);
  return &g_array_index (read->range->attrs, RangeAttr, read->range->attrs->len - 1);
}

gboolean
ovs_read_take_range (OvsRead *read, guint32 token, GError **error)
{
  OvsStage *stage = read->op.stage;
  OvsAttr *attr = ovs_stage_get_attr (stage, token);
  RangeAttr *range;
  guint from, end;

  if (attr == NULL)
    return TRUE;
  if (attr->change_frontier != 0 && read->start <= attr->change_frontier)
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_RANGE,
                     "attribute '%s': changes at ordinal %" G_GUINT64_FORMAT " are no longer kept, expected a range that starts above %" G_GUINT64_FORMAT,
                     ovs_stage_name (stage, token), read->start, attr->change_frontier);

  if (MIN (read->ordinal, ovs_floors_get (&stage->sealed, token)) < attr->merged)
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_RANGE,
                     "attribute '%s': of the changes up to ordinal %" G_GUINT64_FORMAT " only the newest are kept, expected a range that ends there or above, found %" G_GUINT64_FORMAT,
                     ovs_stage_name (stage, token), attr->merged, read->ordinal);

  range = add_attr (read, &(RangeAttr){ .attribute = token, .floor = ovs_floors_get (&stage->sealed, token), .exact = TRUE });
  range->end = MIN (read->ordinal, range->floor);
  range->frontier = ovs_attr_get_frontier (attr);
  range->generation = ovs_attr_get_generation (attr, range->end);
  range->columns = g_array_new (FALSE, FALSE, sizeof (RangeColumn));
  g_array_set_clear_func (range->columns, clear_column);
  for (guint c = 0; c < attr->columns->len; c++)
    {
      gboolean dropped;

      ovs_column_find_version (attr->columns->pdata[c], range->end, &dropped);
      range->exact = range->exact && !dropped;
    }

  from = count_below (&attr->deaths, read->start);
  end = ovs_changes_count (&attr->deaths, range->end);
  range->deaths = take_deaths (&attr->deaths, from, end);
  range->later_deaths = take_deaths (&attr->deaths, MAX (from, end), range->exact ? end : attr->deaths.n);
  for (guint c = 0; c < attr->columns->len; c++)
    if (!take_column (read, range, attr->columns->pdata[c], error))
      return FALSE;
  return TRUE;
}

/* Sets the entry, or tells whether it is set. */
static inline gboolean
visit_entry (OvsBits *bits, guint32 entry, gboolean set)
{
  if (!set)
    return ovs_bits_get (bits, entry);
  ovs_bits_set (bits, entry);
  return FALSE;
}

static gboolean
visit_run (OvsBits *bits, guint32 first, guint32 end, gboolean set)
{
  if (!set)
    return ovs_bits_meets_run (bits, first, end);
  ovs_bits_set_run (bits, first, end);
  return FALSE;
}

static gboolean
visit_prims (OvstagePathList *list, const guint32 *prims, guint32 n, OvsBits *bits, gboolean set)
{
  for (guint32 i = 0; i < n; i++)
    {
      guint32 entry = ovs_path_list_index_of (list, prims[i]);

      if (entry != OVS_INDEX_NONE && visit_entry (bits, entry, set))
        return TRUE;
    }
  return FALSE;
}

/* Where the entries stand on consecutive rows. */
static gboolean
visit_target_of_run (const OvsBinding *binding, const OvsTarget *target, const guint32 *rows, OvsBits *bits, gboolean set)
{
  guint32 first = MAX (target->first, binding->first), end = MIN (target->first + target->n, binding->first + binding->n);

  if (rows == NULL)
    return first < end && visit_run (bits, first - binding->first, end - binding->first, set);
  for (guint32 i = 0; i < target->n; i++)
    if (rows[i] - binding->first < binding->n && visit_entry (bits, rows[i] - binding->first, set))
      return TRUE;
  return FALSE;
}

static gboolean
visit_target (OvsBinding *binding, const OvsTarget *target, OvsBits *bits, gboolean set)
{
  const guint32 *rows = target->rows != NULL ? (const guint32 *) target->rows->data : NULL, *entries;

  if (binding->rows == NULL)
    return visit_target_of_run (binding, target, rows, bits, set);
  if (target->rows == binding->rows)
    return visit_run (bits, 0, target->n, set);
  entries = ovs_binding_get_entries (binding);
  for (guint32 i = 0; i < target->n; i++)
    {
      guint32 row = rows != NULL ? rows[i] : target->first + i;

      if (row < binding->end && entries[row] != 0 && visit_entry (bits, entries[row] - 1, set))
        return TRUE;
    }
  return FALSE;
}

/* Sets the entries that a record names, or tells whether one of them is set. */
static gboolean
visit_delta (const RangeColumn *column, OvstagePathList *list, const RangeDelta *delta, OvsBits *bits, gboolean set)
{
  const guint32 *prims = delta->prims;

  for (guint t = 0; t < delta->delta->n_targets; t++)
    {
      const OvsTarget *target = &delta->delta->targets[t];

      if (prims != NULL ? visit_prims (list, prims, target->n, bits, set) : visit_target (column->binding, target, bits, set))
        return TRUE;
      if (prims != NULL)
        prims += target->n;
    }
  return FALSE;
}

static void
visit_deltas (const RangeColumn *column, OvstagePathList *list, const GArray *deltas, OvsBits *bits)
{
  for (guint i = 0; i < deltas->len; i++)
    visit_delta (column, list, &g_array_index (deltas, RangeDelta, i), bits, TRUE);
}

static void
visit_deaths (OvstagePathList *list, const GPtrArray *deaths, OvsBits *bits)
{
  for (guint i = 0; i < deaths->len; i++)
    visit_prims (list, ((OvsDeaths *) deaths->pdata[i])->prims, ((OvsDeaths *) deaths->pdata[i])->n, bits, TRUE);
}

/* Which entries changed, and which were deleted at some time. */
static void
find_changed (RangeAttr *range, OvstagePathList *list)
{
  for (guint c = 0; c < range->columns->len; c++)
    {
      RangeColumn *column = &g_array_index (range->columns, RangeColumn, c);
      gboolean all = column->within->len > 0 && g_array_index (column->within, RangeDelta, column->within->len - 1).delta->all;

      if (column->within->len == 0)
        continue;
      column->changed = ovs_bits_new (list->n, range->exact && all);
      if (!(range->exact && all))
        visit_deltas (column, list, column->within, column->changed);
    }
  if (range->deaths->len > 0)
    {
      range->dead = ovs_bits_new (list->n, FALSE);
      visit_deaths (list, range->deaths, range->dead);
    }
}

/* Whether no prim that changed in the range changed after it. */
static gboolean
is_settled (const RangeAttr *range, OvstagePathList *list)
{
  g_autoptr (OvsBits) later = ovs_bits_new (list->n, FALSE);

  for (guint c = 0; c < range->columns->len; c++)
    {
      const RangeColumn *column = &g_array_index (range->columns, RangeColumn, c);

      visit_deltas (column, list, column->later, later);
    }
  visit_deaths (list, range->later_deaths, later);
  for (guint c = 0; c < range->columns->len; c++)
    {
      const RangeColumn *column = &g_array_index (range->columns, RangeColumn, c);

      if (column->changed != NULL && ovs_bits_meet (column->changed, later))
        return FALSE;
    }
  return range->dead == NULL || !ovs_bits_meet (range->dead, later);
}

static gboolean
is_live (const RangeColumn *column, guint32 entry)
{
  guint32 row = ovs_binding_get_row (column->binding, entry);

  return row != OVS_INDEX_NONE && ovs_version_has_row (column->version, row);
}

/* Leaves the entries that live in the column, or those that do not. Tells whether there are any. */
static gboolean
keep_living (const RangeColumn *column, OvsBits *bits, gboolean living)
{
  gboolean any = FALSE;

  for (guint32 w = 0; w < (bits->n + 63) / 64; w++)
    {
      for (guint64 word = bits->words[w]; word != 0; word &= word - 1)
        {
          guint32 entry = w * 64 + (guint32) __builtin_ctzll (word);

          if (is_live (column, entry) != living)
            ovs_bits_clear (bits, entry);
        }
      any = any || bits->words[w] != 0;
    }
  return any;
}

/* The newest record that names one of the entries that live. */
static guint64
find_newest (const RangeColumn *column, OvstagePathList *list, gboolean exact)
{
  for (guint i = 0; i < column->within->len; i++)
    {
      const RangeDelta *delta = &g_array_index (column->within, RangeDelta, i);

      if ((exact && delta->delta->all) || visit_delta (column, list, delta, column->changed, FALSE))
        return delta->ordinal;
    }
  g_assert_not_reached ();
}

static void
add_values (OvsRead *read, const RangeAttr *range, RangeColumn *column)
{
  OvsTaken taken = { .attribute = range->attribute, .floor = range->floor, .generation = range->generation };
  const RangeDelta *newest = column->within->len > 0 ? &g_array_index (column->within, RangeDelta, 0) : NULL;

  if (newest == NULL)
    return;
  if (range->exact && newest->delta->all)
    taken.newest = newest->ordinal; /* as a snapshot has it */
  else if (keep_living (column, column->changed, TRUE))
    {
      taken.newest = find_newest (column, read->list, range->exact);
      taken.places = ovs_places_new_chosen (column->binding, column->version, column->changed);
    }
  else
    return;
  taken.version = ovs_version_ref (column->version);
  taken.binding = ovs_binding_ref (column->binding);
  ovs_read_add_taken (read, &taken);
}

static void
add_tombstones (OvsRead *read, RangeAttr *range)
{
  OvsTaken taken = { .attribute = range->attribute, .floor = range->floor, .generation = range->generation };

  if (range->dead == NULL)
    return;
  for (guint c = 0; c < range->columns->len; c++)
    keep_living (&g_array_index (range->columns, RangeColumn, c), range->dead, FALSE);
  for (guint i = 0; i < range->deaths->len && taken.newest == 0; i++)
    {
      const OvsDeaths *deaths = range->deaths->pdata[i];

      if (visit_prims (read->list, deaths->prims, deaths->n, range->dead, FALSE))
        taken.newest = deaths->ordinal;
    }
  if (taken.newest == 0)
    return;
  taken.places = ovs_places_new_chosen (NULL, NULL, range->dead);
  ovs_read_add_taken (read, &taken);
}

gboolean
ovs_read_settle_range (OvsRead *read, GError **error)
{
  g_autoptr (GArray) attrs = g_array_ref (read->range->attrs);

  g_clear_pointer (&read->range, ovs_range_work_free);
  for (guint i = 0; i < attrs->len; i++)
    {
      RangeAttr *range = &g_array_index (attrs, RangeAttr, i);

      find_changed (range, read->list);
      if (!range->exact && !is_settled (range, read->list))
        return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_RANGE,
                         "attribute '%s': a prim that changed in the range %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                         " changed again, and its value is no longer kept; the oldest are of %" G_GUINT64_FORMAT,
                         ovs_stage_name (read->op.stage, range->attribute), read->start, range->end, range->frontier);
    }
  for (guint i = 0; i < attrs->len; i++)
    {
      RangeAttr *range = &g_array_index (attrs, RangeAttr, i);

      for (guint c = 0; c < range->columns->len; c++)
        add_values (read, range, &g_array_index (range->columns, RangeColumn, c));
    }
  for (guint i = 0; i < attrs->len; i++)
    add_tombstones (read, &g_array_index (attrs, RangeAttr, i));
  return TRUE;
}
