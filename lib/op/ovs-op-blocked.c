/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Operations whose bookkeeping has to wait (ENGINE rules 16, 17, 23): their query is
 * not done, or an earlier one waits whose bookkeeping they can see, or which must not
 * see theirs. Bookkeeping thus has the outcome it would have in the order of submission,
 * and only those that could tell the difference wait.
 *
 * Such an operation is on the pending list, where everything later finds what it will
 * change and look at. It waits for earlier operations only. */

#include "config.h"

#include "op/ovs-op-private.h"

static gboolean
has_attribute (const OvsFootprint *footprint, guint32 attribute)
{
  for (gsize i = 0; i < footprint->n_attributes; i++)
    if (footprint->attributes[i] == attribute)
      return TRUE;
  return footprint->whole;
}

static gboolean
share_attribute (const OvsFootprint *a, const OvsFootprint *b)
{
  if (a->whole || b->whole)
    return (a->whole || a->n_attributes > 0) && (b->whole || b->n_attributes > 0);
  for (gsize i = 0; i < a->n_attributes; i++)
    if (has_attribute (b, a->attributes[i]))
      return TRUE;
  return FALSE;
}

/* Which prims exist as of an ordinal follows from what is written and deleted up to there. */
static gboolean
may_ask_about (const OvsFootprint *asking, const OvsFootprint *changing)
{
  return asking->asks && changing->changes && changing->ordinal <= asking->asks_at;
}

static gboolean
meets (const OvsFootprint *a, const OvsFootprint *b)
{
  if (!a->changes && !b->changes)
    return FALSE;
  return share_attribute (a, b) || may_ask_about (a, b) || may_ask_about (b, a);
}

gboolean
ovs_op_must_block (OvsOp *op, OvsOp *query, const OvsFootprint *footprint)
{
  OvsStage *stage = op->stage;

  if (query != NULL && !ovs_query_has_list (query))
    return TRUE;
  if (stage->n_blocked == 0)
    return FALSE;
  for (GList *link = stage->pending.head; link != NULL; link = link->next)
    {
      const OvsOp *other = link->data;

      if (other->blocked != NULL && meets (&other->blocked->footprint, footprint))
        return TRUE;
    }
  return FALSE;
}

static void
follow (OvsOp *op, OvsOp *leader)
{
  if (op->deps == NULL)
    op->deps = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_op_unref);
  if (leader->followers == NULL)
    leader->followers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_op_unref);
  g_ptr_array_add (op->deps, ovs_op_ref (leader));
  g_ptr_array_add (leader->followers, ovs_op_ref (op));
  op->n_deps++;
}

gboolean
ovs_op_block (OvsOp *op, OvsOp *query, const OvsFootprint *footprint, OvsOpBookFunc book, gpointer data, GDestroyNotify free_data,
              GQueue *ready, GError **error)
{
  OvsStage *stage = op->stage;
  OvsBlocked *blocked = g_new0 (OvsBlocked, 1);

  blocked->footprint = *footprint;
  blocked->query = query != NULL ? ovs_op_ref (query) : NULL;
  blocked->book = book;
  blocked->data = data;
  blocked->free_data = free_data;
  ovs_floors_init (&blocked->closing);
  if (!ovs_stage_check_open (stage, error) || !ovs_stage_check_queue (stage, error))
    {
      if (op->n_deps > 0)
        ovs_op_drop_deps (op);
      ovs_blocked_free (blocked);
      return FALSE;
    }
  ovs_floors_copy (&blocked->closing, &stage->closing);

  for (GList *link = stage->pending.head; link != NULL; link = link->next)
    {
      OvsOp *other = link->data;

      if (other->blocked != NULL && meets (&other->blocked->footprint, footprint))
        follow (op, other);
    }
  if (query != NULL && query->pending)
    ovs_op_add_dep (op, query);

  ovs_op_book (op);
  op->blocked = blocked;
  op->begun = FALSE;
  stage->n_blocked++;
  ovs_op_set_pending (op);
  if (op->n_deps == 0)
    {
      op->begun = TRUE;
      g_queue_push_tail (ready, ovs_op_ref (op));
    }
  return TRUE;
}

gboolean
ovs_op_check_blocked (OvsOp *op, GError **error)
{
  const OvsOp *query = op->blocked->query;

  if (op->stage->closed)
    {
      op->withdrawn = TRUE;
      g_propagate_error (error, ovs_cancelled_error_new ());
      return FALSE;
    }
  if (query != NULL && query->error != NULL)
    return ovs_fail (error, OVSTAGE_ERROR_OP_FAILED, "query: operation %" G_GUINT64_FORMAT ", which gives the prims, failed: %s", query->id,
                     query->error->message);
  return TRUE;
}

OvsBlocked *
ovs_op_unblock (OvsOp *op, GQueue *ready)
{
  OvsBlocked *blocked = g_steal_pointer (&op->blocked);
  g_autoptr (GPtrArray) followers = g_steal_pointer (&op->followers);

  op->stage->n_blocked--;
  for (guint i = 0; followers != NULL && i < followers->len; i++)
    {
      OvsOp *follower = followers->pdata[i];

      if (follower->deps != NULL)
        g_ptr_array_remove_fast (follower->deps, op);
      if (--follower->n_deps > 0 || follower->begun)
        continue;
      follower->begun = TRUE;
      g_queue_push_tail (ready, ovs_op_ref (follower));
    }
  return blocked;
}

void
ovs_blocked_free (OvsBlocked *blocked)
{
  if (blocked == NULL)
    return;
  if (blocked->free_data != NULL)
    blocked->free_data (blocked->data);
  g_clear_pointer (&blocked->query, ovs_op_unref);
  ovs_floors_clear (&blocked->closing);
  g_free (blocked);
}

gboolean
ovs_blocked_meets_scope (const OvsBlocked *blocked, OvstageScope scope, const guint32 *attributes, gsize n_attributes, guint64 ordinal)
{
  const OvsFootprint *footprint = &blocked->footprint;

  if (!footprint->changes || footprint->ordinal > ordinal)
    return FALSE;
  for (gsize i = 0; i < footprint->n_attributes; i++)
    if (ovs_scope_covers (scope, attributes, n_attributes, footprint->attributes[i]))
      return TRUE;
  return footprint->whole && (scope != OVSTAGE_SCOPE_INCLUDE || n_attributes > 0);
}
