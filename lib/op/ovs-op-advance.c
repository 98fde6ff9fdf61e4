/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <stdlib.h>

#include "op/ovs-existence.h"
#include "op/ovs-read.h"
#include "op/ovs-watch.h"

#include "base/ovs-debug.h"

#define KEEP_SPARES 64

void
ovs_advance_clear (OvsAdvance *advance)
{
  g_clear_pointer (&advance->fold, ovs_fold_free);
}

gboolean
ovs_advance_covers (const OvsAdvance *advance, guint32 attribute)
{
  return ovs_scope_covers (advance->scope, advance->attributes, advance->n_attributes, attribute);
}

static gboolean
advances_meet (const OvsAdvance *a, const OvsAdvance *b)
{
  if (b->scope != OVSTAGE_SCOPE_INCLUDE)
    {
      const OvsAdvance *swap = a;

      a = b;
      b = swap;
    }
  if (b->scope != OVSTAGE_SCOPE_INCLUDE)
    return TRUE;
  for (gsize i = 0; i < b->n_attributes; i++)
    if (ovs_advance_covers (a, b->attributes[i]))
      return TRUE;
  return FALSE;
}

static gboolean
must_wait (const OvsAdvance *advance, OvsOp *op)
{
  if (op->blocked != NULL && ovs_blocked_meets_scope (op->blocked, advance->scope, advance->attributes, advance->n_attributes,
                                                      advance->ordinal))
    return TRUE;
  switch (op->kind)
    {
    case OVS_OP_WRITE:
      for (gsize i = 0; i < ((OvsWrite *) op)->n_attributes; i++)
        if (((OvsWrite *) op)->ordinal <= advance->ordinal && ovs_advance_covers (advance, ((OvsWrite *) op)->attributes[i]))
          return TRUE;
      return FALSE;
    case OVS_OP_READ:
      for (gsize i = 0; i < ((OvsRead *) op)->n_attributes; i++)
        if (ovs_advance_covers (advance, ((OvsRead *) op)->attributes[i]))
          return TRUE;
      return ovs_read_tells_floor ((OvsRead *) op);
    case OVS_OP_ORDINAL:
      return ovs_ordinal_meets ((OvsOrdinal *) op, advance);
    case OVS_OP_ADVANCE:
      return advances_meet (advance, (OvsAdvance *) op);
    case OVS_OP_MAP:
      /* Until it is booked, which makes it a map that holds up nobody. */
      return op->blocked != NULL && ovs_advance_covers (advance, op->blocked->footprint.attributes[0]);
    case OVS_OP_QUERY:
    default:
      return FALSE;
    }
}

static void
add_deps (OvsAdvance *advance)
{
  gboolean after_all = FALSE;

  for (GList *link = advance->op.stage->pending.tail; link != NULL; link = link->prev)
    {
      OvsOp *op = link->data;

      /* What an advance of everything waits for, whoever waits for it need not. */
      if (op->kind == OVS_OP_ADVANCE && after_all)
        continue;
      if (!must_wait (advance, op))
        continue;
      ovs_op_add_dep (&advance->op, op);
      after_all = after_all || (op->kind == OVS_OP_ADVANCE && ((OvsAdvance *) op)->scope == OVSTAGE_SCOPE_ALL);
    }
}

/* The lowest sealed floor once the advance is published. */
static guint64
foresee_lowest_floor (OvsAdvance *advance)
{
  OvsStage *stage = advance->op.stage;
  OvsFloors floors;
  guint64 lowest;

  if (stage->sealed.own == NULL && advance->scope == OVSTAGE_SCOPE_ALL)
    return MAX (stage->sealed.shared, advance->ordinal);
  ovs_floors_init (&floors);
  ovs_floors_copy (&floors, &stage->sealed);
  ovs_floors_raise (&floors, advance->scope, advance->attributes, advance->n_attributes, advance->ordinal);
  lowest = ovs_floors_get_global (&floors);
  ovs_floors_clear (&floors);
  return lowest;
}

/* Stage lock held. */
static gboolean
plan (OvsAdvance *advance, GError **error)
{
  OvsStage *stage = advance->op.stage;
  guint64 pins[2];
  OvsFoldContext context = { stage->pool, &stage->spares, stage->config.history_depth, stage->config.change_budget, stage->change_holds, pins, 0, 0, stage->prim_deletes };

  if (stage->dirty->len == 0)
    return TRUE;
  if (stage->emission_due != 0)
    pins[context.n_pins++] = stage->emission_due;
  if (stage->emission_running != 0)
    pins[context.n_pins++] = stage->emission_running;

  context.lowest_floor = foresee_lowest_floor (advance);

  advance->fold = g_steal_pointer (&stage->spare_fold);
  if (advance->fold != NULL)
    ovs_fold_begin (advance->fold, &context);
  else
    advance->fold = ovs_fold_new (&context);
  for (guint i = 0; i < stage->dirty->len; i++)
    {
      OvsAttr *attr = stage->dirty->pdata[i];

      if (ovs_advance_covers (advance, attr->token) &&
          !ovs_fold_plan (advance->fold, attr, ovs_floors_get (&stage->sealed, attr->token), advance->ordinal, error))
        {
          g_prefix_error (error, "advance: ");
          g_clear_pointer (&advance->fold, ovs_fold_free);
          return FALSE;
        }
    }
  return TRUE;
}

static void
clean (OvsStage *stage)
{
  guint n = 0;

  for (guint i = 0; i < stage->dirty->len; i++)
    {
      OvsAttr *attr = stage->dirty->pdata[i];
      gboolean dirty = attr->sets->len > 0 || attr->deletes->len > 0 ||
                       ovs_deletes_get_last (stage->prim_deletes) > ovs_floors_get (&stage->sealed, attr->token);

      attr->dirty_index = dirty ? (gint) n : -1;
      if (dirty)
        stage->dirty->pdata[n++] = attr;
    }
  stage->dirty->len = n;
}

/* Takes @retired (nullable). */
static void
forget_retired (OvsStage *stage, GPtrArray *retired)
{
  if (retired == NULL)
    return;
  for (guint i = 0; i < retired->len; i++)
    ovs_binding_table_drop_layout (stage->bindings, retired->pdata[i]);
  g_ptr_array_unref (retired);
}

/* Stage lock held. */
static void
drop_fold (OvsAdvance *advance)
{
  OvsStage *stage = advance->op.stage;

  if (advance->fold == NULL)
    return;
  if (stage->spare_fold != NULL)
    ovs_fold_free (advance->fold);
  else
    {
      ovs_fold_clear (advance->fold);
      stage->spare_fold = advance->fold;
    }
  advance->fold = NULL;
}

/* Stage lock held. Tells whether the face has to be told of a risen floor. */
static gboolean
publish (OvsAdvance *advance)
{
  OvsStage *stage = advance->op.stage;
  guint64 before = ovs_floors_get_global (&stage->sealed), after;
  GArray *structure = NULL;

  if (advance->fold != NULL)
    {
      stage->staged_bytes -= ovs_fold_publish (advance->fold);
      stage->n_columns_sealed += ovs_fold_get_n_columns (advance->fold);
      stage->n_bytes_folded += ovs_fold_get_work (advance->fold);
    }
  ovs_floors_raise (&stage->sealed, advance->scope, advance->attributes, advance->n_attributes, advance->ordinal);
  after = ovs_floors_get_global (&stage->sealed);
  if (advance->fold != NULL)
    clean (stage);
  if (stage->prim_deletes->len > 0)
    ovs_deletes_retire (stage->prim_deletes, after);
  if (advance->fold != NULL)
    {
      structure = ovs_fold_steal_structure (advance->fold);
      forget_retired (stage, ovs_fold_steal_retired (advance->fold));
      advance->dropped = ovs_fold_steal_dropped (advance->fold);
    }
  if (structure != NULL || (after > before && stage->structure_log->len > 0))
    ovs_stage_keep_structure (stage, structure, after);
  advance->touched = advance->fold != NULL && ovs_fold_get_n_columns (advance->fold) > 0;
  /* What is not wanted again for so long goes back to the pool, and from there to the system. */
  if (advance->touched && stage->n_seals++ % KEEP_SPARES == KEEP_SPARES - 1)
    ovs_spares_clear (&stage->spares);
  drop_fold (advance);
  if (after == before || !advance->wanted)
    return FALSE;
  stage->emission_due = after;
  return TRUE;
}

/* The last of an advance: no lock held. @known: others may wait for it. */
static void
end (OvsAdvance *advance, gboolean known, gboolean risen, gboolean watched)
{
  OvsStage *stage = advance->op.stage;

  if (advance->touched)
    ovs_pool_mark_frame (stage->pool);
  if (known)
    ovs_op_end (&advance->op);
  g_clear_pointer (&advance->dropped, g_ptr_array_unref);
  if (risen)
    stage->floor_risen (stage->floor_data);
  if (watched)
    ovs_watches_tell (stage, advance);
  if (!known)
    ovs_op_leave_stage (&advance->op);
}

/* The bytes of a planned fold are there. The advance is pending; no lock held. */
static void
end_fold (OvsAdvance *advance, GQueue *ready)
{
  OvsStage *stage = advance->op.stage;
  gboolean risen, watched;

  /* What was handed over and is replaced now is let go of when the advance is done. */
  ovs_buffers_hold_back ();
  ovs_fold_finish (advance->fold);
  ovs_stage_lock (stage);
  risen = publish (advance);
  ovs_op_unset_pending (&advance->op, NULL, ready);
  watched = stage->watches->len > 0;
  ovs_stage_unlock (stage);
  end (advance, TRUE, risen, watched);
  ovs_buffers_let_go ();
}

static void
run_slice_job (gpointer data)
{
  OvsAdvance *advance = data;
  GQueue ready = G_QUEUE_INIT;

  ovs_fold_run (advance->fold, (guint) g_atomic_int_add (&advance->next_slice, 1), advance->n_slices);
  if (g_atomic_int_dec_and_test (&advance->remaining))
    {
      end_fold (advance, &ready);
      ovs_ops_run (&ready);
    }
  ovs_op_unref (&advance->op);
}

static void
push_fold (OvsAdvance *advance)
{
  OvsStage *stage = advance->op.stage;

  /* More than there are threads, since these may be at something else. */
  advance->n_slices = 2 * ovs_workers_get_n_threads (stage->workers);
  g_atomic_int_set (&advance->next_slice, 0);
  g_atomic_int_set (&advance->remaining, (gint) advance->n_slices);
  for (guint i = 0, n = advance->n_slices; i < n; i++)
    {
      ovs_op_ref (&advance->op);
      ovs_workers_push (stage->workers, run_slice_job, advance);
    }
}

/* Stage lock held; lets go of it. Everything the advance waits for is there. */
static void
begin (OvsAdvance *advance, GQueue *ready)
{
  OvsStage *stage = advance->op.stage;
  gboolean planned, risen = FALSE, watched, known = advance->op.pending, async = ovs_debug_flags () & OVS_DEBUG_ASYNC;
  GError *error = NULL;

  advance->op.begun = TRUE;
  planned = plan (advance, &error);
  if (planned && advance->fold != NULL && (async || ovs_fold_get_work (advance->fold) > OVS_LOCKED_LIMIT))
    {
      gboolean many = ovs_fold_get_work (advance->fold) > stage->config.caller_limit && ovs_workers_get_n_threads (stage->workers) > 1;

      if (!advance->op.pending)
        ovs_op_set_pending (&advance->op);
      ovs_stage_unlock (stage);
      if (async || many)
        push_fold (advance);
      else
        {
          ovs_fold_run (advance->fold, 0, 1);
          end_fold (advance, ready);
        }
      return;
    }

  if (planned)
    {
      if (advance->fold != NULL)
        {
          ovs_fold_run (advance->fold, 0, 1);
          ovs_fold_finish (advance->fold);
        }
      risen = publish (advance);
    }
  if (known)
    ovs_op_unset_pending (&advance->op, error, ready);
  else
    ovs_op_set_done (&advance->op, error);
  if (!planned)
    ovs_stage_recompute_closing (stage);
  watched = planned && stage->watches->len > 0;
  ovs_stage_unlock (stage);
  end (advance, known, risen, watched);
}

void
ovs_advance_run (OvsAdvance *advance, GQueue *ready)
{
  ovs_stage_lock (advance->op.stage);
  begin (advance, ready);
}

static gboolean
check_advance (OvsStage *stage, guint64 ordinal, OvstageScope scope, const guint64 *attributes, gsize n_attributes, GError **error)
{
  if ((guint) scope > OVSTAGE_SCOPE_EXCLUDE)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "scope is %d, expected 0 (ALL), 1 (INCLUDE) or 2 (EXCLUDE)", (int) scope);
  if (scope != OVSTAGE_SCOPE_ALL && n_attributes > 0 && attributes == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, expected %" G_GSIZE_FORMAT " tokens", n_attributes);
  if (!ovs_check_ordinal (ordinal, "an advance", error))
    return FALSE;
  for (gsize i = 0; scope != OVSTAGE_SCOPE_ALL && i < n_attributes; i++)
    if (!ovs_stage_check_attribute (stage, attributes[i], error))
      {
        g_prefix_error (error, "attributes[%" G_GSIZE_FORMAT "]: ", i);
        return FALSE;
      }
  return TRUE;
}

static int
compare_tokens (gconstpointer a, gconstpointer b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

OvsOp *
ovs_stage_advance (OvsStage *stage, guint64 ordinal, OvstageScope scope, const guint64 *attributes, gsize n_attributes)
{
  OvsAdvance *advance;
  GQueue ready = G_QUEUE_INIT;
  GError *error = NULL;

  if (scope == OVSTAGE_SCOPE_ALL)
    n_attributes = 0;
  if (!check_advance (stage, ordinal, scope, attributes, n_attributes, &error))
    return ovs_op_end_new (ovs_op_new (stage, OVS_OP_ADVANCE, sizeof *advance), error);

  advance = ovs_op_new (stage, OVS_OP_ADVANCE, sizeof *advance + sizeof (guint32) * n_attributes);
  advance->ordinal = ordinal;
  advance->scope = scope == OVSTAGE_SCOPE_EXCLUDE && n_attributes == 0 ? OVSTAGE_SCOPE_ALL : scope;
  advance->n_attributes = n_attributes;
  for (gsize i = 0; i < n_attributes; i++)
    advance->attributes[i] = (guint32) attributes[i];
  if (n_attributes > 1)
    qsort (advance->attributes, n_attributes, sizeof (guint32), compare_tokens);
  advance->wanted = stage->floor_wanted != NULL && stage->floor_wanted (stage->floor_data);

  ovs_stage_lock (stage);
  if (ovs_stage_check_open (stage, &error))
    {
      add_deps (advance);
      if (advance->op.n_deps > 0 && !ovs_stage_check_queue (stage, &error))
        ovs_op_drop_deps (&advance->op);
    }
  if (error != NULL)
    {
      ovs_stage_unlock (stage);
      return ovs_op_end_new (&advance->op, error);
    }

  ovs_op_book (&advance->op);
  ovs_floors_raise (&stage->closing, advance->scope, advance->attributes, advance->n_attributes, ordinal);
  if (advance->op.n_deps > 0)
    {
      ovs_op_set_pending (&advance->op);
      ovs_stage_unlock (stage);
    }
  else
    {
      /* What it replaces is let go of last: a deleter may drop the stage, which an advance that was not pending does not hold. */
      ovs_buffers_hold_back ();
      begin (advance, &ready);
      ovs_buffers_let_go ();
      ovs_ops_run (&ready);
    }
  return &advance->op;
}
