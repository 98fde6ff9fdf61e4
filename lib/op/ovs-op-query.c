/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Queries. One over a path list is done when it is made; one that evaluates a filter
 * has a selection until it is done, may have to wait for what that took, and is run by
 * a thread of the stage where it is much. */

#include "config.h"

#include "op/ovs-selection.h"

#include "base/ovs-debug.h"

void
ovs_query_drop_selection (OvsOp *op)
{
  g_clear_pointer (&((OvsQuery *) op)->selection, ovs_selection_free);
}

void
ovs_query_clear (OvsQuery *query)
{
  ovs_query_drop_selection (&query->op);
  g_clear_pointer (&query->binding, ovs_binding_unref);
  g_clear_pointer (&query->list, ovs_path_list_unref);
  g_free (query->attributes);
}

OvsOp *
ovs_stage_query_list (OvsStage *stage, OvstagePathList *list)
{
  OvsQuery *query = ovs_op_new (stage, OVS_OP_QUERY, sizeof *query);
  GError *error = NULL;

  query->list = ovs_path_list_ref (list);
  if (list->dict != stage->dict)
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_HANDLE, "path list: it is of another dictionary");
  ovs_stage_lock (stage);
  if (error == NULL && ovs_stage_check_open (stage, &error))
    ovs_op_book (&query->op);
  ovs_stage_unlock (stage);
  return ovs_op_end_new (&query->op, error);
}

OvstagePathList *
ovs_query_get_list (OvsOp *query)
{
  return ((OvsQuery *) query)->list;
}

const guint32 *
ovs_query_get_attributes (OvsOp *op, gsize *n)
{
  *n = ((OvsQuery *) op)->n_attributes;
  return ((OvsQuery *) op)->attributes;
}

void
ovs_query_run (OvsOp *op, GQueue *ready)
{
  GError *error = NULL;

  ovs_selection_run (((OvsQuery *) op)->selection, (OvsQuery *) op, &error);
  ovs_query_drop_selection (op);
  ovs_stage_lock (op->stage);
  ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);
  ovs_op_end (op);
}

typedef enum
{
  NEXT_WAIT, /* for bytes */
  NEXT_PUSH, /* it is much, or is to look so */
  NEXT_RUN,
} Next;

/* Stage lock held. All is taken. */
static Next
choose_next (OvsQuery *query)
{
  if (query->op.n_deps > 0)
    return NEXT_WAIT;
  if ((ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0 || ovs_selection_get_work (query->selection) > query->op.stage->config.caller_limit)
    return NEXT_PUSH;
  return NEXT_RUN;
}

static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsQuery *query = (OvsQuery *) op;
  Next next = NEXT_RUN;
  OvsBlocked *blocked;
  GError *error = NULL;

  ovs_stage_lock (op->stage);
  if (ovs_op_check_blocked (op, &error) && ovs_selection_take (query->selection, op, &error))
    next = choose_next (query);
  else if (op->n_deps > 0)
    ovs_op_drop_deps (op);
  blocked = ovs_op_unblock (op, ready);
  if (error != NULL)
    ovs_op_unset_pending (op, error, ready);
  else if (next == NEXT_WAIT)
    op->begun = FALSE;
  ovs_stage_unlock (op->stage);

  if (error != NULL)
    {
      ovs_query_drop_selection (op);
      ovs_op_end (op);
    }
  else if (next == NEXT_PUSH)
    ovs_op_push (op);
  else if (next == NEXT_RUN)
    ovs_query_run (op, ready);
  ovs_blocked_free (blocked);
}

/* Stage lock held. */
static gboolean
book (OvsQuery *query, Next *next, GQueue *ready, GError **error)
{
  OvsStage *stage = query->op.stage;
  /* It looks at all that was submitted, and at what exists in any case. */
  OvsFootprint footprint = { .asks = TRUE, .asks_at = OVSTAGE_ORDINAL_NEWEST };

  if (!ovs_stage_check_open (stage, error))
    return FALSE;
  if (ovs_op_must_block (&query->op, NULL, &footprint))
    {
      *next = NEXT_WAIT;
      return ovs_op_block (&query->op, NULL, &footprint, book_blocked, NULL, NULL, ready, error);
    }
  if (ovs_selection_take (query->selection, &query->op, error))
    *next = choose_next (query);
  if (*error == NULL && *next != NEXT_RUN)
    ovs_stage_check_queue (stage, error);
  if (*error != NULL)
    {
      if (query->op.n_deps > 0)
        ovs_op_drop_deps (&query->op);
      return FALSE;
    }
  ovs_op_book (&query->op);
  query->op.begun = *next == NEXT_PUSH;
  if (*next != NEXT_RUN)
    ovs_op_set_pending (&query->op);
  return TRUE;
}

OvsOp *
ovs_stage_query_filter (OvsStage *stage, OvstageFilter *filter, const guint64 *attributes, gsize n_attributes)
{
  OvsQuery *query = ovs_op_new (stage, OVS_OP_QUERY, sizeof *query);
  GQueue ready = G_QUEUE_INIT;
  Next next = NEXT_RUN;
  GError *error = NULL;

  query->selection = ovs_selection_new (filter);
  if (ovs_selection_prepare (query->selection, stage, attributes, n_attributes, &error))
    {
      ovs_stage_lock (stage);
      book (query, &next, &ready, &error);
      ovs_stage_unlock (stage);
    }
  if (error != NULL)
    {
      ovs_query_drop_selection (&query->op);
      return ovs_op_end_new (&query->op, error);
    }
  if (next == NEXT_PUSH)
    ovs_op_push (&query->op);
  ovs_ops_run (&ready);
  if (next != NEXT_RUN)
    return &query->op;
  ovs_selection_run (query->selection, query, &error);
  ovs_query_drop_selection (&query->op);
  return ovs_op_end_new (&query->op, error);
}
