/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include <ovstage/ovstage-operation.h>

#include "op/ovs-op.h"

/* Ends @task with what became of @op, which is done. Called without a lock, in whatever thread ended it. */
typedef void (*OvstageOperationReturnFunc) (OvsOp *op, GTask *task);

/* An object of @type, which is that of operations or of a class derived from it, for @op, whose reference it takes.
 * NULL makes one that is done and has no stage: INVALID_HANDLE. */
gpointer _ovstage_operation_take (GType type, OvsOp *op);
/* Lent. NULL for an object that no stage made. */
OvsOp *_ovstage_operation_get_op (OvstageOperation *self);

/* Sets the lasting error of @op, or of no operation; TRUE if it went well. @op is done. */
gboolean _ovstage_operation_check (OvsOp *op, GError **error);
gboolean _ovstage_operation_wait_for_op (OvsOp *op, gint64 timeout, GCancellable *cancellable, GError **error);
/* Has @func end @task once @op is done, or ends it with CANCELLED when its cancellable says so first. Takes @task. */
void _ovstage_operation_await_op (OvsOp *op, GTask *task, OvstageOperationReturnFunc func);
