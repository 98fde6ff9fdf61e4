/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-column.h"

#include <string.h>

static void
free_column (OvsColumn *column)
{
  g_ptr_array_unref (column->versions);
  g_free (column->spare_version);
  g_ptr_array_unref (column->deltas);
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
  attr->deaths = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_deaths_unref);
  attr->generations = g_array_new (FALSE, FALSE, sizeof (OvsGeneration));
  return attr;
}

void
ovs_attr_free (OvsAttr *attr)
{
  g_ptr_array_unref (attr->sets);
  g_free (attr->spare_set);
  g_ptr_array_unref (attr->deletes);
  g_ptr_array_unref (attr->deaths);
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
  column->deltas = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_delta_unref);
  g_ptr_array_add (attr->columns, column);
  return column;
}

guint
ovs_attr_count_sets (OvsAttr *attr, guint64 ordinal)
{
  guint low = 0, high = attr->sets->len;

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
  for (guint i = attr->generations->len; i > 0; i--)
    {
      const OvsGeneration *generation = &g_array_index (attr->generations, OvsGeneration, i - 1);

      if (generation->ordinal <= ordinal)
        return generation->generation;
    }
  return 0;
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
      if (version->until > ordinal)
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
  if (live == NULL)
    g_error ("out of memory for %u rows", n_rows);
  g_clear_pointer (&column->head_live, ovs_bits_unref);
  column->head_live = live;
  column->n_head_rows = n_rows;
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
      OvsLayout *fork = ovs_layout_fork (column->layout, column->n_head_rows);

      ovs_layout_unref (column->layout);
      column->layout = fork;
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
    {
      column->head_live = ovs_bits_new (column->n_head_rows, TRUE);
      if (column->head_live == NULL)
        g_error ("out of memory for %u rows", column->n_head_rows);
    }
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

OvsDeaths *
ovs_deaths_new (guint64 ordinal, const guint32 *prims, guint32 n)
{
  OvsDeaths *deaths = g_malloc (sizeof *deaths + sizeof *prims * n);

  deaths->refs = 1;
  deaths->ordinal = ordinal;
  deaths->n = n;
  memcpy (deaths->prims, prims, sizeof *prims * n);
  return deaths;
}

OvsDeaths *
ovs_deaths_ref (OvsDeaths *deaths)
{
  g_atomic_int_inc (&deaths->refs);
  return deaths;
}

void
ovs_deaths_unref (OvsDeaths *deaths)
{
  if (g_atomic_int_dec_and_test (&deaths->refs))
    g_free (deaths);
}

static gsize
deaths_bytes (const OvsDeaths *deaths)
{
  return sizeof *deaths + sizeof (guint32) * deaths->n;
}

void
ovs_attr_add_deaths (OvsAttr *attr, OvsDeaths *deaths, gsize budget)
{
  guint n = 0;

  g_ptr_array_add (attr->deaths, deaths);
  attr->death_bytes += deaths_bytes (deaths);
  while (attr->death_bytes > budget && n + 1 < attr->deaths->len)
    {
      const OvsDeaths *oldest = attr->deaths->pdata[n++];

      attr->death_bytes -= deaths_bytes (oldest);
      attr->death_frontier = oldest->ordinal;
    }
  if (n > 0)
    g_ptr_array_remove_range (attr->deaths, 0, n);
}

OvsDelta *
ovs_delta_new (guint64 ordinal, guint n_targets)
{
  gsize size = sizeof (OvsDelta) + sizeof (OvsTarget) * n_targets;
  OvsDelta *delta = g_malloc (size);

  memset (delta, 0, size);
  delta->refs = 1;
  delta->ordinal = ordinal;
  delta->bytes = size;
  return delta;
}

OvsDelta *
ovs_delta_ref (OvsDelta *delta)
{
  g_atomic_int_inc (&delta->refs);
  return delta;
}

void
ovs_delta_unref (OvsDelta *delta)
{
  if (!g_atomic_int_dec_and_test (&delta->refs))
    return;
  for (guint i = 0; i < delta->n_targets; i++)
    g_clear_pointer (&delta->targets[i].rows, ovs_buffer_unref);
  g_clear_pointer (&delta->layout, ovs_layout_unref);
  g_free (delta);
}

static void
drop_deltas (OvsColumn *column, guint n)
{
  for (guint i = 0; i < n; i++)
    column->delta_bytes -= ((OvsDelta *) column->deltas->pdata[i])->bytes;
  g_ptr_array_remove_range (column->deltas, 0, n);
}

/* No read can ask for an ordinal before this. */
static guint64
get_oldest_ordinal (const OvsColumn *column)
{
  return column->versions->len > 0 ? ((OvsVersion *) column->versions->pdata[0])->ordinal : 0;
}

void
ovs_column_add_delta (OvsColumn *column, OvsDelta *delta, gsize budget)
{
  guint64 oldest;
  guint n_dropped = 0;

  g_ptr_array_add (column->deltas, delta);
  column->delta_bytes += delta->bytes;

  /* Whoever reads at or above the oldest version kept meets the newest change of everything up to there first. */
  oldest = get_oldest_ordinal (column);
  for (guint i = column->deltas->len; i > 1; i--)
    {
      const OvsDelta *other = column->deltas->pdata[i - 1];

      if (other->all && other->ordinal <= oldest)
        {
          drop_deltas (column, i - 1);
          break;
        }
    }

  for (gsize bytes = column->delta_bytes; bytes > budget && n_dropped + 1 < column->deltas->len; n_dropped++)
    {
      const OvsDelta *other = column->deltas->pdata[n_dropped];

      bytes -= other->bytes;
      column->delta_frontier = other->ordinal;
    }
  if (n_dropped > 0)
    drop_deltas (column, n_dropped);
}

void
ovs_column_note_change_of_all (OvsColumn *column, guint64 ordinal, gsize budget)
{
  OvsDelta *delta;

  /* A frame loop over a whole column has one change to tell of, the last. */
  if (column->deltas->len == 1 && ordinal <= get_oldest_ordinal (column))
    {
      delta = column->deltas->pdata[0];
      if (delta->all && g_atomic_int_get (&delta->refs) == 1)
        {
          delta->ordinal = ordinal;
          return;
        }
    }
  delta = ovs_delta_new (ordinal, 0);
  delta->all = TRUE;
  ovs_column_add_delta (column, delta, budget);
}
