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

void
ovs_presence_as_of (OvsAttr *attr, OvstagePathList *list, guint32 n, guint64 ordinal, guint16 *state, guint8 *above)
{
  guint n_columns = attr->columns->len;
  g_autofree guint32 **entries = g_new0 (guint32 *, n_columns);

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

  /* Within one ordinal no two columns hold the same prim, so the order of sets is enough. */
  for (guint s = 0; s < attr->sets->len; s++)
    {
      const OvsWriteSet *set = attr->sets->pdata[s];
      guint c = set->column->index;

      if (entries[c] == NULL)
        entries[c] = invert (set->column, list, n);
      for (guint p = 0; p < set->n_parts; p++)
        {
          const OvsPart *part = &set->parts[p];
          g_autofree guint32 *scratch = NULL;
          const guint32 *rows = ovs_part_peek_rows (part, &scratch);

          for (guint32 j = 0; j < part->n; j++)
            {
              guint32 entry = entries[c][rows != NULL ? rows[j] : part->first + j];

              if (entry == 0)
                continue;
              if (set->ordinal <= ordinal)
                state[entry - 1] = (guint16) (c + 1);
              else
                above[entry - 1] = TRUE;
            }
        }
    }

  for (guint c = 0; c < n_columns; c++)
    g_free (entries[c]);
}
