/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-presence.h"

#include <string.h>

void
ovs_presence_at_head (OvsAttr *attr, OvstagePathList *list, guint32 n, guint16 *state)
{
  memset (state, 0, sizeof *state * n);
  for (guint c = 0; c < attr->columns->len; c++)
    {
      OvsColumn *column = attr->columns->pdata[c];

      if (column->n_head_live == 0)
        continue;
      for (guint32 i = 0; i < n; i++)
        {
          guint32 row = ovs_layout_find (column->layout, list->ids[i]);

          if (row != OVS_INDEX_NONE && ovs_column_is_head_live (column, row))
            state[i] = (guint16) (c + 1);
        }
    }
}

/* Row of the column -> 1 + entry of the list. */
static guint32 *
invert (OvsColumn *column, OvstagePathList *list, guint32 n)
{
  guint32 *entries = g_new0 (guint32, MAX (column->layout->n, 1));

  for (guint32 i = 0; i < n; i++)
    {
      guint32 row = ovs_layout_find (column->layout, list->ids[i]);

      if (row != OVS_INDEX_NONE)
        entries[row] = i + 1;
    }
  return entries;
}

static void
apply_part (const OvsEntry *entry, const guint32 *entries, gboolean is_above, guint16 *state, guint8 *above)
{
  const OvsPart *part = entry->part;
  g_autofree guint32 *scratch = NULL;
  const guint32 *rows = ovs_part_peek_rows (part, &scratch);

  for (guint32 j = 0; j < part->n; j++)
    {
      guint32 at = entries[rows != NULL ? rows[j] : part->first + j];

      if (at == 0)
        continue;
      if (is_above)
        above[at - 1] = TRUE;
      else
        state[at - 1] = (guint16) (entry->set->column->index + 1);
    }
}

static void
apply_delete (const OvsDelete *delete, OvstagePathList *list, guint32 n, gboolean is_above, guint16 *state, guint8 *above)
{
  for (guint32 j = 0; j < delete->list->n; j++)
    {
      guint32 at = ovs_path_list_index_of (list, delete->list->ids[j]);

      if (at >= n)
        continue;
      if (is_above)
        above[at] = TRUE;
      else
        state[at] = 0;
    }
}

void
ovs_presence_as_of (OvsAttr *attr, guint32 token, const OvsDeletes *prim_deletes, guint64 floor, OvstagePathList *list, guint32 n,
                    guint64 ordinal, guint16 *state, guint8 *above)
{
  guint n_columns = attr != NULL ? attr->columns->len : 0;
  g_autofree guint32 **rows_to_entries = g_new0 (guint32 *, n_columns + 1);
  g_autoptr (GArray) entries = NULL;

  if (n == 0)
    return;
  entries = ovs_attr_list_entries (attr, token, prim_deletes, floor, OVSTAGE_ORDINAL_NEWEST);
  memset (state, 0, sizeof *state * n);
  memset (above, 0, n);

  for (guint c = 0; c < n_columns; c++)
    {
      OvsColumn *column = attr->columns->pdata[c];
      const OvsVersion *current = ovs_column_get_current (column);

      for (guint32 i = 0; current != NULL && i < n; i++)
        {
          guint32 row = ovs_layout_find (column->layout, list->ids[i]);

          if (row != OVS_INDEX_NONE && ovs_version_has_row (current, row))
            state[i] = (guint16) (c + 1);
        }
    }

  for (guint e = 0; e < entries->len; e++)
    {
      const OvsEntry *entry = &g_array_index (entries, OvsEntry, e);
      gboolean is_above = entry->ordinal > ordinal;

      if (entry->part == NULL)
        apply_delete (entry->delete, list, n, is_above, state, above);
      else
        {
          guint c = entry->set->column->index;

          if (rows_to_entries[c] == NULL)
            rows_to_entries[c] = invert (entry->set->column, list, n);
          apply_part (entry, rows_to_entries[c], is_above, state, above);
        }
    }

  for (guint c = 0; c < n_columns; c++)
    g_free (rows_to_entries[c]);
}

/* Every prim that a column has, or had since its rows were last laid out. */
static OvstagePathList *
list_prims (OvsAttr *attr, OvsPathDict *dict)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint c = 0; c < attr->columns->len; c++)
    {
      OvsColumn *column = attr->columns->pdata[c];

      for (guint32 row = 0; row < column->n_head_rows; row++)
        {
          guint64 prim = ovs_layout_get_prim (column->layout, row);

          if (g_hash_table_add (seen, GUINT_TO_POINTER ((guint) prim)))
            g_array_append_val (ids, prim);
        }
    }
  return ovs_path_list_new (dict, (const guint64 *) ids->data, ids->len, NULL);
}

void
ovs_presence_of_columns (OvsAttr *attr, OvsPathDict *dict, const OvsDeletes *prim_deletes, guint64 floor, guint64 ordinal,
                         gboolean *lives)
{
  OvstagePathList *list = list_prims (attr, dict);
  g_autofree guint16 *state = g_new (guint16, list->n);
  g_autofree guint8 *above = g_new (guint8, list->n);

  ovs_presence_as_of (attr, attr->token, prim_deletes, floor, list, list->n, ordinal, state, above);
  for (guint32 i = 0; i < list->n; i++)
    if (state[i] != 0)
      lives[state[i] - 1] = TRUE;
  ovs_path_list_unref (list);
}

/* Whether a write staged above @floor, at or below @ordinal, meets an entry of @list that is @wanted (nullable). */
static gboolean
writes_touch (OvsAttr *attr, guint64 floor, guint64 ordinal, OvstagePathList *list, const guint8 *wanted)
{
  g_autofree guint32 **rows_to_entries = g_new0 (guint32 *, attr->columns->len + 1);
  gboolean touches = FALSE;

  for (guint s = ovs_attr_count_sets (attr, floor); s < attr->sets->len && !touches; s++)
    {
      const OvsWriteSet *set = attr->sets->pdata[s];
      guint c = set->column->index;

      if (set->ordinal > ordinal)
        break;
      if (rows_to_entries[c] == NULL)
        rows_to_entries[c] = invert (set->column, list, list->n);
      for (guint p = 0; p < set->n_parts && !touches; p++)
        {
          const OvsPart *part = &set->parts[p];
          g_autofree guint32 *scratch = NULL;
          const guint32 *rows = ovs_part_peek_rows (part, &scratch);

          for (guint32 j = 0; j < part->n && !touches; j++)
            {
              guint32 at = rows_to_entries[c][rows != NULL ? rows[j] : part->first + j];

              touches = at != 0 && (wanted == NULL || wanted[at - 1]);
            }
        }
    }
  for (guint c = 0; c < attr->columns->len; c++)
    g_free (rows_to_entries[c]);
  return touches;
}

gboolean
ovs_presence_touches (OvsAttr *attr, const OvsDeletes *prim_deletes, guint64 floor, guint64 closing, OvstagePathList *list,
                      OvstagePathList *within, guint64 ordinal)
{
  g_autofree guint16 *state = g_new (guint16, list->n);
  g_autofree guint8 *above = g_new (guint8, list->n);
  g_autofree guint8 *wanted = NULL;

  if (within != NULL)
    {
      wanted = g_new (guint8, list->n);
      for (guint32 i = 0; i < list->n; i++)
        wanted[i] = ovs_path_list_index_of (within, list->ids[i]) != OVS_INDEX_NONE;
    }
  ovs_presence_as_of (attr, attr->token, prim_deletes, floor, list, list->n, closing, state, above);
  for (guint32 i = 0; i < list->n; i++)
    if (state[i] != 0 && (wanted == NULL || wanted[i]))
      return TRUE;
  return writes_touch (attr, closing, ordinal, list, wanted);
}
