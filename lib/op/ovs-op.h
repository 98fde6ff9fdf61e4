/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* An operation: one submitted request and what became of it. A request that is
 * refused is an operation that is done, has id 0 and keeps its error. */

#pragma once

#include "base/ovs-error.h"

typedef struct _OvsOp OvsOp;
typedef struct _OvsStage OvsStage;

typedef enum
{
  OVS_OP_QUERY,
  OVS_OP_WRITE, /* and a delete */
  OVS_OP_ADVANCE,
  OVS_OP_READ,
  OVS_OP_MAP,
  OVS_OP_ORDINAL,
} OvsOpKind;

typedef enum
{
  OVS_WAIT_DONE,
  OVS_WAIT_TIMEOUT,
  OVS_WAIT_INTERRUPTED, /* @interrupted was set and ovs_op_wake() called */
  OVS_WAIT_REFUSED,     /* called in a worker thread, which must not block */
} OvsWaitResult;

/* Called once when the operation is done, in whatever thread ended it, without a lock. */
typedef void (*OvsOpFunc) (OvsOp *op, gpointer user_data);

OvsOp *ovs_op_ref (OvsOp *op);
void ovs_op_unref (OvsOp *op);

OvsOpKind ovs_op_get_kind (OvsOp *op);
guint64 ovs_op_get_id (OvsOp *op);
gboolean ovs_op_is_done (OvsOp *op);
/* Lent for the life of the operation. NULL while it is not done and when it went well. A withdrawn
 * operation has ovs_op_is_withdrawn(); its error then is OP_FAILED with the text "cancelled". */
const GError *ovs_op_get_error (OvsOp *op);
gboolean ovs_op_is_withdrawn (OvsOp *op);

/* @timeout: nanoseconds, 0 polls, negative never ends. @interrupted: (nullable) (atomic) */
OvsWaitResult ovs_op_wait (OvsOp *op, gint64 timeout, const gint *interrupted);
void ovs_op_wake (OvsOp *op);

/* FALSE when the operation is done already: @func will not be called. */
gboolean ovs_op_add_watch (OvsOp *op, OvsOpFunc func, gpointer user_data);
/* TRUE when the watch was there and will not be called any more. */
gboolean ovs_op_remove_watch (OvsOp *op, OvsOpFunc func, gpointer user_data);

/* Withdraws an operation that has not begun. Tells whether it did. */
gboolean ovs_op_cancel (OvsOp *op);
/* The lowest id among this operation and what it depends on that is not finished; 0 when done. */
guint64 ovs_op_get_lowest_pending (OvsOp *op);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsOp, ovs_op_unref)
