/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A read whose answer may still change, by what is staged at or below its ordinal, is
 * refused. */

#include "config.h"

#include "op/ovs-read.h"

#include "column/ovs-presence.h"

static gboolean
lists_meet (OvstagePathList *a, OvstagePathList *b)
{
  for (guint32 i = 0; i < a->n; i++)
    if (ovs_path_list_index_of (b, a->ids[i]) != OVS_INDEX_NONE)
      return TRUE;
  return FALSE;
}

static gboolean
fail_deleted (OvsRead *read, guint32 token, guint64 ordinal, guint64 floor, GError **error)
{
  return ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                   "attribute '%s' has an unsealed delete at ordinal %" G_GUINT64_FORMAT " on prims of the query; its write floor is %" G_GUINT64_FORMAT
                   ", the read is at %" G_GUINT64_FORMAT,
                   ovs_stage_name (read->op.stage, token), ordinal, floor, read->ordinal);
}

/* A delete of the attribute is unsealed work on its keys; one of whole prims only where something lives or is staged. */
static gboolean
check_deletes (OvsRead *read, OvsAttr *attr, guint32 token, guint64 floor, GError **error)
{
  OvsStage *stage = read->op.stage;

  for (guint i = 0; attr != NULL && i < attr->deletes->len; i++)
    {
      const OvsDelete *delete = attr->deletes->pdata[i];

      if (delete->ordinal > floor && delete->ordinal <= read->ordinal && lists_meet (delete->list, read->list))
        return fail_deleted (read, token, delete->ordinal, floor, error);
    }
  for (guint i = 0; attr != NULL && i < stage->prim_deletes->len; i++)
    {
      const OvsDelete *delete = stage->prim_deletes->pdata[i];

      if (delete->ordinal > floor && delete->ordinal <= read->ordinal && ovs_delete_touches (delete, token) &&
          ovs_presence_touches (attr, stage->prim_deletes, ovs_floors_get (&stage->sealed, token), floor, delete->list, read->list,
                                read->ordinal))
        return fail_deleted (read, token, delete->ordinal, floor, error);
    }
  return TRUE;
}

gboolean
ovs_read_check_unsealed (OvsRead *read, guint32 token, GError **error)
{
  OvsStage *stage = read->op.stage;
  OvsAttr *attr = ovs_stage_get_attr (stage, token);
  guint64 floor;

  if (read->list->n == 0)
    return TRUE;
  floor = ovs_floors_get (ovs_op_get_closing (&read->op), token);
  if ((stage->prim_deletes->len > 0 || (attr != NULL && attr->deletes->len > 0)) && !check_deletes (read, attr, token, floor, error))
    return FALSE;
  if (attr == NULL)
    return TRUE;
  for (guint i = ovs_attr_count_sets (attr, floor); i < attr->sets->len; i++)
    {
      const OvsWriteSet *set = attr->sets->pdata[i];
      g_autoptr (OvsBinding) binding = NULL;

      if (set->ordinal > read->ordinal)
        break;
      binding = ovs_read_bind (read, set->column->layout, error);
      if (binding == NULL)
        return FALSE;
      for (guint p = 0; p < set->n_parts; p++)
        {
          const OvsPart *part = &set->parts[p];
          g_autofree guint32 *scratch = NULL;

          if (ovs_binding_meets (binding, NULL, part->first, part->n, ovs_part_peek_rows (part, &scratch)))
            return ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                             "attribute '%s' has unsealed writes at ordinal %" G_GUINT64_FORMAT " on prims of the query; its write floor is %" G_GUINT64_FORMAT
                             ", the read is at %" G_GUINT64_FORMAT,
                             ovs_stage_name (stage, token), set->ordinal, floor, read->ordinal);
        }
    }
  return TRUE;
}
