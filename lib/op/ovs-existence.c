/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-existence.h"

#include <string.h>

#include "column/ovs-presence.h"

guint64
ovs_stage_get_structure_max (OvsStage *stage, OvsAttr *attr)
{
  return MAX (attr != NULL ? attr->structure_max : 0, ovs_deletes_get_last (stage->prim_deletes));
}

gboolean
ovs_stage_head_tells (OvsStage *stage, guint64 ordinal)
{
  if (ovs_stage_get_structure_max (stage, NULL) > ordinal)
    return FALSE;
  for (guint a = 0; a < stage->dirty->len; a++)
    if (ovs_stage_get_structure_max (stage, stage->dirty->pdata[a]) > ordinal)
      return FALSE;
  for (guint c = 0; c < stage->structure_log->len; c++)
    if (g_array_index (stage->structure_log, OvsStructureChange, c).ordinal > ordinal)
      return FALSE;
  return TRUE;
}

void
ovs_stage_add_live (OvsStage *stage, guint32 prim, gint by)
{
  gboolean was_there;

  if (prim >= stage->n_live)
    {
      gsize n = MAX ((gsize) prim + 1, stage->n_live + stage->n_live / 2);

      n = MAX (n, 64);
      stage->live = g_renew (guint32, stage->live, n);
      memset (stage->live + stage->n_live, 0, sizeof (guint32) * (n - stage->n_live));
      stage->n_live = n;
    }
  was_there = stage->live[prim] > 0;
  stage->live[prim] += (guint32) by;
  if (was_there == (stage->live[prim] > 0))
    return;
  stage->n_existence_changes++;
  if (stage->children == NULL)
    return;
  if (was_there)
    ovs_children_remove (stage->children, prim);
  else
    ovs_children_add (stage->children, prim);
}

/* Undoes what is sealed above the ordinal: attributes need not be sealed together. */
static void
undo_structure (OvsStage *stage, OvstagePathList *list, guint32 count, guint64 ordinal, guint32 *counts)
{
  GArray *log = stage->structure_log;

  for (guint c = 0; c < log->len; c++)
    {
      const OvsStructureChange *change = &g_array_index (log, OvsStructureChange, c);

      if (change->ordinal <= ordinal)
        continue;
      for (guint32 i = 0; change->layout != NULL && i < count; i++)
        if (ovs_layout_find (change->layout, list->ids[i]) < change->n_rows)
          counts[i] -= (guint32) change->change;
      for (guint p = 0; change->prims != NULL && p < change->prims->len; p++)
        {
          guint32 i = ovs_path_list_index_of (list, g_array_index (change->prims, guint32, p));

          if (i < count)
            counts[i] -= (guint32) change->change;
        }
    }
}

/* The head's count, put right for the attributes whose head is ahead of the ordinal. */
guint32 *
ovs_stage_count_attributes (OvsStage *stage, OvstagePathList *list, guint32 count, guint64 ordinal)
{
  guint32 *counts = g_new (guint32, count);
  g_autofree guint16 *head = NULL, *state = NULL;
  g_autofree guint8 *above = NULL;

  for (guint32 i = 0; i < count; i++)
    counts[i] = list->ids[i] < stage->n_live ? stage->live[list->ids[i]] : 0;
  for (guint a = 0; a < stage->dirty->len; a++)
    {
      OvsAttr *attr = stage->dirty->pdata[a];

      if (ovs_stage_get_structure_max (stage, attr) <= ordinal)
        continue;
      if (head == NULL)
        {
          head = g_new (guint16, count);
          state = g_new (guint16, count);
          above = g_new (guint8, count);
        }
      ovs_presence_at_head (attr, list, count, head);
      ovs_presence_as_of (attr, attr->token, stage->prim_deletes, ovs_floors_get (&stage->sealed, attr->token), list, count,
                          ordinal, state, above);
      for (guint32 i = 0; i < count; i++)
        counts[i] += (state[i] != 0) - (head[i] != 0);
    }
  undo_structure (stage, list, count, ordinal, counts);
  return counts;
}

OvsChildren *
ovs_stage_ensure_children (OvsStage *stage)
{
  if (stage->children != NULL)
    return stage->children;
  stage->children = ovs_children_new (stage->dict);
  for (gsize prim = 0; prim < stage->n_live; prim++)
    if (stage->live[prim] > 0)
      ovs_children_add (stage->children, (guint32) prim);
  return stage->children;
}

void
ovs_stage_keep_structure (OvsStage *stage, GArray *structure, guint64 lowest_floor)
{
  GArray *log = stage->structure_log;
  guint n = 0;

  if (structure != NULL)
    {
      g_array_append_vals (log, structure->data, structure->len);
      g_array_set_clear_func (structure, NULL); /* the log has them now */
      g_array_unref (structure);
    }
  for (guint i = 0; i < log->len; i++)
    {
      OvsStructureChange *change = &g_array_index (log, OvsStructureChange, i);

      if (change->ordinal <= lowest_floor)
        ovs_structure_change_clear (change);
      else
        g_array_index (log, OvsStructureChange, n++) = *change;
    }
  g_array_set_size (log, n);
}
