/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-column.h"

#include <string.h>

void
ovs_attr_drop_delta (OvsAttr *attr, OvsDelta *delta)
{
  attr->change_bytes -= OVS_CHANGE_BYTES;
  if (--delta->n_records > 0)
    return;
  attr->change_bytes -= delta->bytes;
  ovs_delta_unref (delta);
}

/* The first of the log. */
static void
forget_delta (OvsColumn *column)
{
  ovs_attr_drop_delta (column->attr, ovs_changes_shift (&column->changes));
}

static void
free_column (OvsColumn *column)
{
  g_ptr_array_unref (column->versions);
  g_clear_pointer (&column->spare_version, ovs_version_free_retired);
  while (column->changes.n > 0)
    forget_delta (column);
  g_free (column->changes.records);
  g_clear_pointer (&column->head_live, ovs_bits_unref);
  ovs_layout_unref (column->layout);
  g_free (column);
}

OvsAttr *
ovs_attr_new (guint32 token)
{
  OvsAttr *attr = g_new0 (OvsAttr, 1);

  attr->token = token;
  attr->dirty_index = -1;
  attr->columns = g_ptr_array_new_with_free_func ((GDestroyNotify) free_column);
  attr->sets = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_write_set_free);
  attr->deletes = ovs_deletes_new ();
  attr->generations = g_array_new (FALSE, FALSE, sizeof (OvsGeneration));
  return attr;
}

static void
forget_deaths (OvsAttr *attr)
{
  OvsDeaths *deaths = ovs_changes_shift (&attr->deaths);

  attr->change_bytes -= ovs_deaths_get_bytes (deaths);
  ovs_deaths_unref (deaths);
}

void
ovs_attr_free (OvsAttr *attr)
{
  g_ptr_array_unref (attr->sets);
  g_free (attr->spare_set);
  g_ptr_array_unref (attr->deletes);
  while (attr->deaths.n > 0)
    forget_deaths (attr);
  g_free (attr->deaths.records);
  g_ptr_array_unref (attr->columns);
  g_array_unref (attr->generations);
  g_free (attr);
}

OvsColumn *
ovs_attr_find_column (OvsAttr *attr, const OvsSchema *schema)
{
  for (guint i = 0; i < attr->columns->len; i++)
    {
      OvsColumn *column = attr->columns->pdata[i];

      if (ovs_schema_equal (&column->schema, schema))
        return column;
    }
  return NULL;
}

OvsColumn *
ovs_attr_add_column (OvsAttr *attr, const OvsSchema *schema, guint32 row_size, OvsLayout *layout)
{
  OvsColumn *column = g_new0 (OvsColumn, 1);

  column->attr = attr;
  column->index = attr->columns->len;
  column->schema = *schema;
  column->row_size = row_size;
  column->layout = ovs_layout_ref (layout);
  column->versions = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_version_unref);
  g_ptr_array_add (attr->columns, column);
  return column;
}

guint
ovs_attr_count_sets (OvsAttr *attr, guint64 ordinal)
{
  guint low = 0, high = attr->sets->len;

  /* Most ask about all there are. */
  if (high == 0 || ((OvsWriteSet *) attr->sets->pdata[high - 1])->ordinal <= ordinal)
    return high;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (((OvsWriteSet *) attr->sets->pdata[middle])->ordinal <= ordinal)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

OvsWriteSet *
ovs_attr_find_set (OvsAttr *attr, OvsColumn *column, guint64 ordinal)
{
  for (guint i = ovs_attr_count_sets (attr, ordinal); i > 0; i--)
    {
      OvsWriteSet *set = attr->sets->pdata[i - 1];

      if (set->ordinal != ordinal)
        break;
      if (set->column == column)
        return set;
    }
  return NULL;
}

void
ovs_attr_add_set (OvsAttr *attr, OvsWriteSet *set)
{
  if (ovs_attr_get_last_ordinal (attr) <= set->ordinal)
    g_ptr_array_add (attr->sets, set);
  else
    g_ptr_array_insert (attr->sets, (gint) ovs_attr_count_sets (attr, set->ordinal), set);
}

void
ovs_attr_remove_set (OvsAttr *attr, OvsWriteSet *set)
{
  g_ptr_array_remove (attr->sets, set);
}

void
ovs_attr_remove_sets (OvsAttr *attr, guint n)
{
  GPtrArray *sets = attr->sets;

  for (guint i = 0; i < n; i++)
    ovs_write_set_free (sets->pdata[i]);
  sets->len -= n;
  if (sets->len > 0)
    memmove (sets->pdata, sets->pdata + n, sets->len * sizeof *sets->pdata);
}

guint64
ovs_attr_get_last_ordinal (OvsAttr *attr)
{
  guint64 last = attr->sets->len > 0 ? ((OvsWriteSet *) attr->sets->pdata[attr->sets->len - 1])->ordinal : 0;

  return MAX (last, ovs_deletes_get_last (attr->deletes));
}

static gint
compare_entries (gconstpointer a, gconstpointer b)
{
  const OvsEntry *x = a, *y = b;

  if (x->ordinal != y->ordinal)
    return x->ordinal < y->ordinal ? -1 : 1;
  return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void
add_deletes (GArray *entries, const OvsDeletes *deletes, guint32 token, guint64 floor, guint64 ordinal)
{
  for (guint i = 0; i < deletes->len; i++)
    {
      const OvsDelete *delete = deletes->pdata[i];
      OvsEntry entry = { delete->ordinal, delete->seq, NULL, NULL, delete };

      if (delete->ordinal > floor && delete->ordinal <= ordinal && ovs_delete_touches (delete, token))
        g_array_append_val (entries, entry);
    }
}

GArray *
ovs_attr_list_entries (OvsAttr *attr, guint32 token, const OvsDeletes *prim_deletes, guint64 floor, guint64 ordinal)
{
  GArray *entries = g_array_new (FALSE, FALSE, sizeof (OvsEntry));
  guint n_sets = attr != NULL ? ovs_attr_count_sets (attr, ordinal) : 0;

  for (guint i = 0; i < n_sets; i++)
    {
      OvsWriteSet *set = attr->sets->pdata[i];

      for (guint p = 0; p < set->n_parts; p++)
        {
          OvsEntry entry = { set->ordinal, set->parts[p].seq, set, &set->parts[p], NULL };

          g_array_append_val (entries, entry);
        }
    }
  if (attr != NULL)
    add_deletes (entries, attr->deletes, token, 0, ordinal);
  add_deletes (entries, prim_deletes, token, floor, ordinal);
  g_array_sort (entries, compare_entries);
  return entries;
}

guint64
ovs_attr_get_generation (OvsAttr *attr, guint64 ordinal)
{
  const OvsGeneration *generations = (const OvsGeneration *) attr->generations->data;
  guint low = 0, high = attr->generations->len;

  /* Most ask about the newest. */
  if (high > 0 && generations[high - 1].ordinal <= ordinal)
    return generations[high - 1].generation;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (generations[middle].ordinal <= ordinal)
        low = middle + 1;
      else
        high = middle;
    }
  return low > 0 ? generations[low - 1].generation : 0;
}

void
ovs_attr_note_structure (OvsAttr *attr, guint64 ordinal)
{
  attr->structure_max = MAX (MAX (attr->structure_max, ordinal), ovs_attr_get_last_ordinal (attr));
}

guint64
ovs_attr_get_frontier (OvsAttr *attr)
{
  guint64 frontier = 0;

  for (guint i = 0; i < attr->columns->len; i++)
    frontier = MAX (frontier, ((OvsColumn *) attr->columns->pdata[i])->frontier);
  return frontier;
}

OvsVersion *
ovs_column_find_version (OvsColumn *column, guint64 ordinal, gboolean *dropped)
{
  *dropped = FALSE;
  for (guint i = column->versions->len; i > 0; i--)
    {
      OvsVersion *version = column->versions->pdata[i - 1];

      if (version->ordinal > ordinal)
        continue;
      if (version->until > ordinal || version->until == G_MAXUINT64)
        return version;
      break;
    }
  *dropped = ordinal < column->frontier;
  return NULL;
}

/* Whether all rows of @rows can be taken as they are, without too many holes between the head and them. */
static gboolean
fits_head (OvsColumn *column, guint32 end, guint32 n_new)
{
  return end <= column->n_head_rows || (guint64) (end - column->n_head_rows) <= 64 + (guint64) n_new + column->n_head_rows / 4;
}

static void
grow_head (OvsColumn *column, guint32 n_rows)
{
  OvsBits *live;

  if (n_rows <= column->n_head_rows)
    return;
  live = ovs_bits_new_from (column->head_live, column->n_head_rows, n_rows);
  g_clear_pointer (&column->head_live, ovs_bits_unref);
  column->head_live = live;
  column->n_head_rows = n_rows;
}

OvsLayout *
ovs_column_change_layout (OvsColumn *column, OvsLayout *layout)
{
  OvsLayout *before = column->layout;

  g_clear_pointer (&column->spare_version, ovs_version_free_retired);
  column->layout = layout;
  return before;
}

void
ovs_column_ensure_rows (OvsColumn *column, const guint32 *prims, guint32 n, guint32 *rows)
{
  guint32 end = 0, n_missing = 0, n_new = 0;

  for (guint32 i = 0; i < n; i++)
    {
      rows[i] = ovs_layout_find (column->layout, prims[i]);
      if (rows[i] == OVS_INDEX_NONE)
        n_missing++;
      else
        {
          end = MAX (end, rows[i] + 1);
          n_new += rows[i] >= column->n_head_rows;
        }
    }

  if (!fits_head (column, end, n_new) || (n_missing > 0 && column->n_head_rows < column->layout->n && end < column->layout->n))
    {
      ovs_layout_unref (ovs_column_change_layout (column, ovs_layout_fork (column->layout, column->n_head_rows)));
      for (guint32 i = 0; i < n; i++)
        if (rows[i] >= column->n_head_rows)
          rows[i] = OVS_INDEX_NONE;
      end = MIN (end, column->n_head_rows);
      n_missing = n;
    }

  for (guint32 i = 0; i < n && n_missing > 0; i++)
    {
      if (rows[i] != OVS_INDEX_NONE)
        continue;
      rows[i] = ovs_layout_append (column->layout, prims[i]);
      end = rows[i] + 1;
    }
  grow_head (column, end);
}

gboolean
ovs_column_set_head_live (OvsColumn *column, guint32 row)
{
  if (column->head_live == NULL || !ovs_bits_set (column->head_live, row))
    return FALSE;
  if (++column->n_head_live == column->n_head_rows)
    g_clear_pointer (&column->head_live, ovs_bits_unref);
  return TRUE;
}

gboolean
ovs_column_clear_head_live (OvsColumn *column, guint32 row)
{
  if (!ovs_column_is_head_live (column, row))
    return FALSE;
  if (column->head_live == NULL)
    column->head_live = ovs_bits_new (column->n_head_rows, TRUE);
  ovs_bits_clear (column->head_live, row);
  column->n_head_live--;
  return TRUE;
}

void
ovs_column_set_head_all (OvsColumn *column, guint32 n)
{
  g_clear_pointer (&column->head_live, ovs_bits_unref);
  column->n_head_rows = column->n_head_live = n;
}

/* Frame loops go through one list, or a few in turn. */
#define N_SHARED 4

static void
log_delta (OvsColumn *column, guint64 ordinal, OvsDelta *delta)
{
  delta->n_records++;
  column->attr->change_bytes += OVS_CHANGE_BYTES;
  ovs_changes_append (&column->changes, ordinal, delta);
}

void
ovs_column_add_change (OvsColumn *column, guint64 ordinal, OvsDelta *delta)
{
  const OvsChanges *changes = &column->changes;

  for (guint i = changes->n; i > 0 && i + N_SHARED > changes->n; i--)
    {
      OvsDelta *known = ovs_changes_get (changes, i - 1)->what;

      if (!ovs_delta_equal (known, delta))
        continue;
      log_delta (column, ordinal, known);
      ovs_delta_unref (delta);
      return;
    }
  column->attr->change_bytes += delta->bytes;
  log_delta (column, ordinal, delta);
}

void
ovs_column_add_change_of_run (OvsColumn *column, guint64 ordinal, guint32 n)
{
  OvsDelta *delta = column->changes.n > 0 ? ovs_changes_get (&column->changes, column->changes.n - 1)->what : NULL;

  if (delta == NULL || !delta->all || delta->targets[0].rows != NULL || delta->targets[0].n != n ||
      delta->numbering != column->numbering || delta->layout != column->layout)
    {
      delta = ovs_delta_new (column->numbering, column->layout, 1);
      delta->all = TRUE;
      delta->n_targets = 1;
      delta->targets[0].n = n;
      column->attr->change_bytes += delta->bytes;
    }
  log_delta (column, ordinal, delta);
}

/* Of a row beyond the list of a layout: its prim, and its place in the index. */
#define ROW_BYTES 28

void
ovs_column_charge_layout (OvsColumn *column)
{
  OvsDelta *last = column->changes.n > 0 ? ovs_changes_get (&column->changes, column->changes.n - 1)->what : NULL;
  gsize bytes = (gsize) (column->layout->n - column->layout->n_base) * ROW_BYTES;

  if (last == NULL || last->layout != column->layout)
    return;
  last->bytes += bytes;
  column->attr->change_bytes += bytes;
}

void
ovs_attr_add_deaths (OvsAttr *attr, OvsDeaths *deaths)
{
  attr->change_bytes += ovs_deaths_get_bytes (deaths);
  ovs_changes_append (&attr->deaths, deaths->ordinal, deaths);
}

void
ovs_attr_trim_changes (OvsAttr *attr, gsize budget, guint64 held)
{
  gsize allowed = MAX (budget, 2 * attr->merged_bytes);

  /* Some at a time, so that not every seal has to. */
  for (budget -= budget / 8; attr->change_bytes > budget;)
    {
      guint64 oldest = attr->deaths.n > 1 ? ovs_changes_get (&attr->deaths, 0)->ordinal : OVSTAGE_ORDINAL_NEWEST;
      OvsColumn *of = NULL;

      for (guint i = 0; i < attr->columns->len; i++)
        {
          OvsColumn *column = attr->columns->pdata[i];
          guint64 ordinal = column->changes.n > 1 ? ovs_changes_get (&column->changes, 0)->ordinal : OVSTAGE_ORDINAL_NEWEST;

          if (ordinal < oldest)
            {
              oldest = ordinal;
              of = column;
            }
        }
      if (oldest == OVSTAGE_ORDINAL_NEWEST)
        return;
      if (oldest > held)
        {
          /* At twice of what was left the last time, each record is looked at a constant number of times. */
          if (attr->change_bytes > allowed)
            ovs_attr_merge_changes (attr);
          return;
        }
      if (of != NULL)
        forget_delta (of);
      else
        forget_deaths (attr);
      attr->change_frontier = MAX (attr->change_frontier, oldest);
      attr->merged_bytes = MIN (attr->merged_bytes, attr->change_bytes);
    }
}
