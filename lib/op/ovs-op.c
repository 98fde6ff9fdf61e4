/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-read.h"

#include "base/ovs-block.h"

#include <string.h>

typedef struct
{
  OvsOpFunc func;
  gpointer user_data;
} Watch;

gpointer
ovs_op_new (OvsStage *stage, OvsOpKind kind, gsize size)
{
  OvsOp *op = ovs_block_alloc (size);

  memset (op, 0, size);
  op->refs = 1;
  op->size = (guint32) size;
  op->kind = kind;
  op->stage = stage;
  op->holds_stage = kind != OVS_OP_WRITE && kind != OVS_OP_ADVANCE && kind != OVS_OP_READ;
  if (op->holds_stage)
    ovs_stage_ref (stage);
  return op;
}

OvsWrite *
ovs_write_new (OvsStage *stage, guint64 ordinal, gsize n_attributes)
{
  OvsWrite *write = ovs_op_new (stage, OVS_OP_WRITE, sizeof *write + sizeof *write->room * n_attributes);

  write->ordinal = ordinal;
  write->attributes = write->room;
  return write;
}

gsize
ovs_list_tokens (const guint64 *attributes, gsize n, guint32 *tokens)
{
  g_autoptr (GHashTable) known = n > 16 ? g_hash_table_new (NULL, NULL) : NULL;
  gsize n_tokens = 0;

  for (gsize i = 0; i < n; i++)
    {
      guint32 token = (guint32) attributes[i];
      gboolean is_known = known != NULL && !g_hash_table_add (known, GUINT_TO_POINTER (token));

      for (gsize j = 0; known == NULL && j < n_tokens && !is_known; j++)
        is_known = tokens[j] == token;
      if (!is_known)
        tokens[n_tokens++] = token;
    }
  return n_tokens;
}

OvsOp *
ovs_op_ref (OvsOp *op)
{
  g_atomic_int_inc (&op->refs);
  return op;
}

void
ovs_op_unref (OvsOp *op)
{
  /* Whoever has the only reference is alone, and need not pay for an atomic write. */
  if (g_atomic_int_get (&op->refs) != 1 && !g_atomic_int_dec_and_test (&op->refs))
    return;
  switch (op->kind)
    {
    case OVS_OP_QUERY:
      ovs_query_clear ((OvsQuery *) op);
      break;
    case OVS_OP_READ:
      ovs_read_clear ((OvsRead *) op);
      break;
    case OVS_OP_ADVANCE:
      ovs_advance_clear ((OvsAdvance *) op);
      break;
    case OVS_OP_MAP:
      ovs_map_clear (op);
      break;
    case OVS_OP_WRITE:
      if (((OvsWrite *) op)->attributes != ((OvsWrite *) op)->room)
        g_free (((OvsWrite *) op)->attributes);
      break;
    case OVS_OP_ORDINAL:
    default:
      break;
    }
  if (op->error != NULL)
    g_error_free (op->error);
  if (op->holds_stage)
    ovs_stage_unref (op->stage);
  ovs_block_free (op, op->size);
}

OvsOpKind
ovs_op_get_kind (OvsOp *op)
{
  return op->kind;
}

guint64
ovs_op_get_id (OvsOp *op)
{
  return op->id;
}

gboolean
ovs_op_is_done (OvsOp *op)
{
  return g_atomic_int_get (&op->done);
}

const GError *
ovs_op_get_error (OvsOp *op)
{
  return ovs_op_is_done (op) ? op->error : NULL;
}

gboolean
ovs_op_is_withdrawn (OvsOp *op)
{
  return ovs_op_is_done (op) && op->withdrawn;
}

OvsOp *
ovs_op_end_new (OvsOp *op, GError *error)
{
  if (error != NULL)
    op->id = 0;
  ovs_op_set_done (op, error);
  ovs_op_leave_stage (op);
  return op;
}

void
ovs_op_set_done (OvsOp *op, GError *error)
{
  op->error = error;
  /* Nothing has to come after it in the order of all threads: who waits looks again under a lock. */
  __atomic_store_n (&op->done, TRUE, __ATOMIC_RELEASE);
}

void
ovs_op_end (OvsOp *op)
{
  OvsStage *stage = op->stage;
  GSList *watches;

  ovs_mutex_lock (&stage->wait_lock);
  watches = g_steal_pointer (&op->watches);
  if (stage->n_waiters > 0)
    ovs_cond_broadcast (&stage->wait_cond);
  ovs_mutex_unlock (&stage->wait_lock);

  if (watches == NULL)
    return;
  watches = g_slist_reverse (watches);
  for (GSList *link = watches; link != NULL; link = link->next)
    {
      Watch *watch = link->data;

      watch->func (op, watch->user_data);
    }
  g_slist_free_full (watches, g_free);
}

static __attribute__ ((noinline)) OvsWaitResult
wait_until_done (OvsOp *op, gint64 timeout, const gint *interrupted)
{
  OvsStage *stage = op->stage;
  OvsWaitResult result = OVS_WAIT_DONE;
  gint64 deadline = 0;

  if (ovs_workers_is_worker_thread ())
    return OVS_WAIT_REFUSED;
  if (timeout > 0)
    {
      gint64 now = g_get_monotonic_time ();
      gint64 us = timeout / 1000 + (timeout % 1000 != 0);

      deadline = us < G_MAXINT64 - now ? now + us : G_MAXINT64;
    }

  ovs_mutex_lock (&stage->wait_lock);
  stage->n_waiters++;
  while (!ovs_op_is_done (op))
    {
      if (interrupted != NULL && g_atomic_int_get (interrupted))
        result = OVS_WAIT_INTERRUPTED;
      else if (timeout < 0)
        ovs_cond_wait (&stage->wait_cond, &stage->wait_lock);
      else if (!ovs_cond_wait_until (&stage->wait_cond, &stage->wait_lock, deadline) && !ovs_op_is_done (op))
        result = OVS_WAIT_TIMEOUT;
      if (result != OVS_WAIT_DONE)
        break;
    }
  stage->n_waiters--;
  ovs_mutex_unlock (&stage->wait_lock);
  return result;
}

OvsWaitResult
ovs_op_wait (OvsOp *op, gint64 timeout, const gint *interrupted)
{
  if (g_atomic_int_get (&op->done))
    return OVS_WAIT_DONE;
  return timeout != 0 ? wait_until_done (op, timeout, interrupted) : OVS_WAIT_TIMEOUT;
}

void
ovs_op_wake (OvsOp *op)
{
  if (op->stage == NULL)
    return;
  ovs_mutex_lock (&op->stage->wait_lock);
  ovs_cond_broadcast (&op->stage->wait_cond);
  ovs_mutex_unlock (&op->stage->wait_lock);
}

gboolean
ovs_op_add_watch (OvsOp *op, OvsOpFunc func, gpointer user_data)
{
  gboolean added = FALSE;

  if (op->stage == NULL)
    return FALSE;
  ovs_mutex_lock (&op->stage->wait_lock);
  if (!ovs_op_is_done (op))
    {
      Watch *watch = g_new (Watch, 1);

      watch->func = func;
      watch->user_data = user_data;
      op->watches = g_slist_prepend (op->watches, watch);
      added = TRUE;
    }
  ovs_mutex_unlock (&op->stage->wait_lock);
  return added;
}

gboolean
ovs_op_remove_watch (OvsOp *op, OvsOpFunc func, gpointer user_data)
{
  Watch *found = NULL;

  if (op->stage == NULL)
    return FALSE;
  ovs_mutex_lock (&op->stage->wait_lock);
  for (GSList *link = op->watches; link != NULL && found == NULL; link = link->next)
    {
      Watch *watch = link->data;

      if (watch->func == func && watch->user_data == user_data)
        {
          found = watch;
          op->watches = g_slist_delete_link (op->watches, link);
          break;
        }
    }
  ovs_mutex_unlock (&op->stage->wait_lock);
  g_free (found);
  return found != NULL;
}

void
ovs_op_set_pending (OvsOp *op)
{
  op->pending = TRUE;
  if (!op->holds_stage)
    ovs_stage_ref (op->stage);
  op->holds_stage = TRUE;
  op->link.data = ovs_op_ref (op);
  g_queue_push_tail_link (&op->stage->pending, &op->link);
}

void
ovs_op_add_dep (OvsOp *op, OvsOp *dep)
{
  if (op->deps == NULL)
    op->deps = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_op_unref);
  if (dep->dependents == NULL)
    dep->dependents = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_op_unref);
  g_ptr_array_add (op->deps, ovs_op_ref (dep));
  g_ptr_array_add (dep->dependents, ovs_op_ref (op));
  op->n_deps++;
}

static gboolean
brings_bytes (const OvsOp *op, guint32 attribute, guint64 ordinal)
{
  const OvsWrite *write = (const OvsWrite *) op;

  if (op->kind == OVS_OP_ADVANCE)
    return op->begun && ovs_advance_covers ((const OvsAdvance *) op, attribute);
  /* What is not booked was submitted later. */
  if (op->kind != OVS_OP_WRITE || op->blocked != NULL || write->ordinal > ordinal)
    return FALSE;
  for (gsize i = 0; i < write->n_attributes; i++)
    if (write->attributes[i] == attribute)
      return TRUE;
  return FALSE;
}

void
ovs_op_add_peek_deps (OvsOp *op, guint32 attribute, guint64 ordinal)
{
  for (GList *link = op->stage->pending.head; link != NULL; link = link->next)
    if (brings_bytes (link->data, attribute, ordinal))
      ovs_op_add_dep (op, link->data);
}

void
ovs_op_drop_deps (OvsOp *op)
{
  for (guint i = 0; i < op->deps->len; i++)
    g_ptr_array_remove_fast (((OvsOp *) op->deps->pdata[i])->dependents, op);
  g_clear_pointer (&op->deps, g_ptr_array_unref);
}

void
ovs_op_unset_pending (OvsOp *op, GError *error, GQueue *ready)
{
  g_queue_unlink (&op->stage->pending, &op->link);
  op->pending = FALSE;
  for (guint i = 0; op->dependents != NULL && i < op->dependents->len; i++)
    {
      OvsOp *dependent = op->dependents->pdata[i];

      if (error != NULL)
        dependent->failed_dep = op->id;
      if (--dependent->n_deps > 0 || dependent->begun)
        continue;
      dependent->begun = TRUE;
      g_queue_push_tail (ready, ovs_op_ref (dependent));
    }
  g_clear_pointer (&op->dependents, g_ptr_array_unref);
  g_clear_pointer (&op->deps, g_ptr_array_unref);
  ovs_op_set_done (op, error);
  ovs_op_unref (op); /* the pending list's; the caller has its own */
}

static void
run (OvsOp *op, GQueue *ready)
{
  switch (op->kind)
    {
    case OVS_OP_QUERY:
      ovs_query_run (op, ready);
      break;
    case OVS_OP_READ:
      ovs_read_run ((OvsRead *) op, ready);
      break;
    case OVS_OP_ADVANCE:
      ovs_advance_run ((OvsAdvance *) op, ready);
      break;
    case OVS_OP_MAP:
      ovs_map_run (op, ready);
      break;
    case OVS_OP_ORDINAL:
      ovs_ordinal_run ((OvsOrdinal *) op, ready);
      break;
    case OVS_OP_WRITE:
    default:
      if (((OvsWrite *) op)->clone != NULL)
        ovs_clone_run ((OvsWrite *) op);
      else
        ovs_write_run ((OvsWrite *) op);
      break;
    }
}

void
ovs_ops_run_all (GQueue *ready)
{
  OvsOp *op;

  while ((op = g_queue_pop_head (ready)) != NULL)
    {
      if (op->blocked != NULL)
        op->blocked->book (op, ready);
      else
        run (op, ready);
      ovs_op_unref (op);
    }
}

/* In a thread of the stage. Takes @data. */
static void
run_job (gpointer data)
{
  GQueue ready = G_QUEUE_INIT;

  g_queue_push_tail (&ready, data);
  ovs_ops_run (&ready);
}

void
ovs_op_push (OvsOp *op)
{
  ovs_workers_push (op->stage->workers, run_job, ovs_op_ref (op));
}

GError *
ovs_cancelled_error_new (void)
{
  return g_error_new_literal (OVSTAGE_ERROR, OVSTAGE_ERROR_OP_FAILED, "cancelled");
}

/* Who waited for an advance or a read waited through it for what that waited for. */
static void
pass_deps_on (OvsOp *op)
{
  for (guint i = 0; op->dependents != NULL && i < op->dependents->len; i++)
    {
      OvsOp *dependent = op->dependents->pdata[i];

      for (guint d = 0; !dependent->begun && op->deps != NULL && d < op->deps->len; d++)
        {
          OvsOp *dep = op->deps->pdata[d];

          /* The other reasons for a read to wait are its own. */
          if (dep->pending && (op->kind == OVS_OP_ADVANCE || dep->kind == OVS_OP_ADVANCE) &&
              !g_ptr_array_find (dependent->deps, dep, NULL))
            ovs_op_add_dep (dependent, dep);
        }
    }
}

gboolean
ovs_op_cancel (OvsOp *op)
{
  OvsStage *stage = op->stage;
  GQueue ready = G_QUEUE_INIT;
  OvsBlocked *blocked = NULL;
  gboolean withdrawn;

  if (stage == NULL)
    return FALSE;
  ovs_stage_lock (stage);
  withdrawn = op->pending && !op->begun && !op->booked;
  if (withdrawn)
    {
      op->begun = TRUE;
      op->withdrawn = TRUE;
      ovs_op_ref (op);
      if (op->kind == OVS_OP_ADVANCE || op->kind == OVS_OP_READ)
        pass_deps_on (op);
      if (op->blocked != NULL)
        blocked = ovs_op_unblock (op, &ready);
      ovs_op_unset_pending (op, ovs_cancelled_error_new (), &ready);
      if (op->kind == OVS_OP_ADVANCE)
        ovs_stage_recompute_closing (stage);
    }
  ovs_stage_unlock (stage);

  if (withdrawn)
    {
      ovs_op_end (op);
      if (op->kind == OVS_OP_QUERY)
        ovs_query_drop_selection (op);
      ovs_ops_run (&ready);
      ovs_blocked_free (blocked);
      ovs_op_unref (op);
    }
  return withdrawn;
}

/* Dependencies name lower ids only, so one pass from the newest down meets everything the operation waits for. */
static guint64
find_lowest (OvsOp *op)
{
  g_autoptr (GHashTable) waits_for = g_hash_table_new (NULL, NULL);
  guint64 lowest = op->id;

  g_hash_table_add (waits_for, op);
  for (GList *link = &op->link; link != NULL; link = link->prev)
    {
      OvsOp *candidate = link->data;

      if (!g_hash_table_contains (waits_for, candidate))
        continue;
      lowest = candidate->id;
      for (guint i = 0; candidate->deps != NULL && i < candidate->deps->len; i++)
        g_hash_table_add (waits_for, candidate->deps->pdata[i]);
    }
  return lowest;
}

guint64
ovs_op_get_lowest_pending (OvsOp *op)
{
  guint64 lowest;

  if (ovs_op_is_done (op))
    return 0;
  ovs_stage_lock (op->stage);
  lowest = op->pending ? find_lowest (op) : op->id;
  ovs_stage_unlock (op->stage);
  return lowest;
}
