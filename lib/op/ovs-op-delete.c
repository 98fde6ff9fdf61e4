/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-presence.h"
#include "op/ovs-existence.h"

/* What was staged at this ordinal stays before the delete, and what is staged above it may find nothing there. */
static void
open_staged (OvsAttr *attr, guint64 ordinal)
{
  for (guint i = attr->sets->len; i > 0; i--)
    {
      OvsWriteSet *set = attr->sets->pdata[i - 1];

      if (set->ordinal < ordinal)
        break;
      set->structural = TRUE;
      if (set->ordinal == ordinal)
        ovs_write_set_close_part (set);
    }
}

/* Takes the prims out of the head, but for those on which something is staged at a higher ordinal. */
static void
kill_head (OvsStage *stage, OvsAttr *attr, OvstagePathList *list, guint64 ordinal)
{
  g_autofree guint8 *above = NULL;

  if (ordinal < ovs_stage_get_structure_max (stage, attr) || ordinal < ovs_attr_get_last_ordinal (attr))
    {
      g_autofree guint16 *state = g_new (guint16, list->n);

      above = g_new (guint8, list->n);
      ovs_presence_as_of (attr, attr->token, stage->prim_deletes, ovs_floors_get (&stage->sealed, attr->token), list, list->n, ordinal,
                          state, above);
    }
  for (guint c = 0; c < attr->columns->len; c++)
    {
      OvsColumn *column = attr->columns->pdata[c];

      for (guint32 i = 0; i < list->n && column->n_head_live > 0; i++)
        {
          guint32 row = above == NULL || !above[i] ? ovs_layout_find (column->layout, list->ids[i]) : OVS_INDEX_NONE;

          if (row != OVS_INDEX_NONE && ovs_column_clear_head_live (column, row))
            ovs_stage_add_live (stage, list->ids[i], -1);
        }
    }
}

static gboolean
fail_floor (OvsStage *stage, guint32 token, guint64 ordinal, guint64 floor, GError **error)
{
  return ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                   "ordinal is %" G_GUINT64_FORMAT ", expected above the write floor of '%s', %" G_GUINT64_FORMAT, ordinal,
                   ovs_stage_name (stage, token), floor);
}

/* As far as the floor decides without the prims. */
static gboolean
check_floor (OvsStage *stage, OvsWrite *write, GError **error)
{
  for (gsize i = 0; i < write->n_attributes; i++)
    {
      guint64 floor = ovs_floors_get (&stage->closing, write->attributes[i]);

      if (write->ordinal <= floor)
        return fail_floor (stage, write->attributes[i], write->ordinal, floor, error);
    }
  if (write->n_attributes == 0 && write->ordinal <= stage->closing.shared)
    return ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                     "ordinal is %" G_GUINT64_FORMAT ", expected above the default write floor, %" G_GUINT64_FORMAT, write->ordinal,
                     stage->closing.shared);
  return TRUE;
}

/* Stage lock held. */
static void
delete_attributes (OvsStage *stage, OvsWrite *write, OvstagePathList *list)
{
  ovs_op_book (&write->op);
  for (gsize i = 0; i < write->n_attributes; i++)
    {
      OvsAttr *attr = ovs_stage_ensure_attr (stage, write->attributes[i]);

      kill_head (stage, attr, list, write->ordinal);
      open_staged (attr, write->ordinal);
      ovs_deletes_add (attr->deletes, write->ordinal, write->op.id, list);
      ovs_attr_note_structure (attr, write->ordinal);
      ovs_stage_set_dirty (stage, attr);
    }
}

/* It never touches what is sealed, or closing, at or past its ordinal as it is submitted. */
static void
spare_sealed (const OvsFloors *closing, OvsDelete *delete)
{
  GHashTableIter iter;
  gpointer key, value;

  if (closing->own == NULL)
    return;
  g_hash_table_iter_init (&iter, closing->own);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (*(guint64 *) value >= delete->ordinal)
      ovs_delete_spare (delete, GPOINTER_TO_UINT (key));
}

/* Stage lock held. */
static gboolean
delete_prims (OvsStage *stage, OvsWrite *write, OvstagePathList *list, GError **error)
{
  const OvsFloors *closing = ovs_op_get_closing (&write->op);

  for (guint i = 0; i < stage->known->len; i++)
    {
      OvsAttr *attr = stage->known->pdata[i];
      guint64 floor = ovs_floors_get (closing, attr->token);

      if (write->ordinal <= floor &&
          ovs_presence_touches (attr, stage->prim_deletes, ovs_floors_get (&stage->sealed, attr->token), floor, list, NULL,
                                OVSTAGE_ORDINAL_NEWEST))
        return fail_floor (stage, attr->token, write->ordinal, floor, error);
    }

  ovs_op_book (&write->op);
  for (guint i = 0; i < stage->known->len; i++)
    {
      OvsAttr *attr = stage->known->pdata[i];

      if (write->ordinal <= ovs_floors_get (closing, attr->token))
        continue;
      kill_head (stage, attr, list, write->ordinal);
      open_staged (attr, write->ordinal);
      ovs_attr_note_structure (attr, write->ordinal);
      ovs_stage_set_dirty (stage, attr);
    }
  spare_sealed (closing, ovs_deletes_add (stage->prim_deletes, write->ordinal, write->op.id, list));
  return TRUE;
}

static gboolean
check_delete (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n, guint64 ordinal, GError **error)
{
  if (n > 0 && attributes == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, expected %" G_GSIZE_FORMAT " tokens", n);
  if (!ovs_check_ordinal (ordinal, "a delete", error) || !ovs_stage_check_query (stage, query, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_attribute (stage, attributes[i], error))
      {
        g_prefix_error (error, "attributes[%" G_GSIZE_FORMAT "]: ", i);
        return FALSE;
      }
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_writable (stage, (guint32) attributes[i], error))
      return FALSE;
  return TRUE;
}

/* Stage lock held. Its floor was checked. */
static gboolean
book (OvsWrite *write, OvstagePathList *list, GError **error)
{
  OvsStage *stage = write->op.stage;

  if (list->n == 0)
    ovs_op_book (&write->op);
  else if (write->n_attributes > 0)
    delete_attributes (stage, write, list);
  else
    return delete_prims (stage, write, list, error);
  return TRUE;
}

static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsBlocked *blocked;
  GError *error = NULL;

  ovs_stage_lock (op->stage);
  if (ovs_op_check_blocked (op, &error))
    book ((OvsWrite *) op, ((OvsQuery *) op->blocked->query)->list, &error);
  blocked = ovs_op_unblock (op, ready);
  ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);
  ovs_op_end (op);
  ovs_blocked_free (blocked);
}

OvsOp *
ovs_stage_delete (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  OvsWrite *write = ovs_write_new (stage, ordinal, n_attributes);
  OvsFootprint footprint = { .changes = TRUE, .ordinal = ordinal, .attributes = write->attributes };
  GQueue ready = G_QUEUE_INIT;
  gboolean is_blocked = FALSE;
  GError *error = NULL;

  if (!check_delete (stage, query, attributes, n_attributes, ordinal, &error))
    return ovs_op_end_new (&write->op, error);
  write->n_attributes = ovs_list_tokens (attributes, n_attributes, write->attributes);
  footprint.n_attributes = write->n_attributes;
  footprint.whole = footprint.asks = n_attributes == 0;
  footprint.asks_at = OVSTAGE_ORDINAL_NEWEST;

  ovs_stage_lock (stage);
  if (!ovs_stage_check_open (stage, &error))
    ;
  else if (ovs_query_has_list (query) && ((OvsQuery *) query)->list->n == 0)
    ovs_op_book (&write->op);
  else if (check_floor (stage, write, &error))
    {
      if (ovs_op_must_block (&write->op, query, &footprint))
        is_blocked = ovs_op_block (&write->op, query, &footprint, book_blocked, NULL, NULL, &ready, &error);
      else
        book (write, ((OvsQuery *) query)->list, &error);
    }
  ovs_stage_unlock (stage);
  ovs_ops_run (&ready);
  return is_blocked ? &write->op : ovs_op_end_new (&write->op, error);
}
