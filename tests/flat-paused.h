/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The stage of flat-helpers.h with its workers held back, for tests of what is not done yet. */

#pragma once

#include "flat-helpers.h"

#include "base/ovs-debug.h"
#include "capi/ovs-instance.h"
#include "op/ovs-op-private.h"

/* Nothing runs until it is resumed. */
typedef struct
{
  Flat flat;
  OvsInstance *instance;
  OvsDebugFlags flags;
  float values[3];
  int64_t n;
  DLTensor tensor;
  ovstage_write_data_t data;
} Paused;

static inline void
pause_init (Paused *paused)
{
  flat_init (&paused->flat);
  paused->flags = ovs_debug_flags ();
  memset (paused->values, 0, sizeof paused->values);
  paused->n = 3;
  paused->tensor = float_tensor (paused->values, &paused->n);
  paused->data = (ovstage_write_data_t) { .tensors = &paused->tensor, .tensor_count = 1 };
  paused->instance = ovs_instance_enter (paused->flat.stage);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (paused->instance->stage->workers);
}

static inline void
resume (Paused *paused)
{
  ovs_workers_resume (paused->instance->stage->workers);
}

static inline void
pause_clear (Paused *paused)
{
  ovs_debug_set_flags (paused->flags);
  ovs_instance_leave (paused->instance);
  flat_clear (&paused->flat);
}

static inline ovstage_op_id_t
write_later (Paused *paused, ovstage_ordinal_t ordinal)
{
  ovstage_enqueue_result_t result;

  result = ovstage_write_attribute (paused->flat.stage, paused->flat.query, token_of (paused->flat.mass), ordinal, paused->data,
                                    OVSTAGE_PRIM_MODE_UPSERT);
  assert_ok (result.status);
  return result.op_index;
}

static inline ovstage_op_id_t
seal_later (Paused *paused, ovstage_ordinal_t ordinal)
{
  ovstage_write_floor_desc_t desc = { .ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL };
  ovstage_enqueue_result_t result = ovstage_advance_write_floor (paused->flat.stage, &desc);

  assert_ok (result.status);
  return result.op_index;
}

/* As a stage does that is closed. */
static inline void
cancel (Paused *paused, ovstage_op_id_t id)
{
  OvsOp *op;

  g_assert_true (ovs_records_find (paused->instance->records, id, &op));
  g_assert_nonnull (op);
  g_assert_true (ovs_op_cancel (op));
  ovs_op_unref (op);
}
