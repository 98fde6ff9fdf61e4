/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-read.h>

#include "base/ovs-sync.h"
#include "object/ovstage-operation-private.h"
#include "op/ovs-read-group.h"
#include "op/ovs-stage.h"

/**
 * OvstageRead:
 *
 * A read of attributes, whose result is fetched group by group.
 *
 * A read is an operation: it is done once it has taken hold of its values, which
 * no later write changes. [method@Ovstage.Read.fetch_next] then gives one
 * [struct@Ovstage.ReadGroup] after another, and `NULL` without an error at the
 * end. Groups may be kept for longer than the read.
 *
 * ```c
 * OvstageReadGroup *group;
 *
 * while ((group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error)) != NULL)
 *   {
 *     use_group (group);
 *     ovstage_read_group_unref (group);
 *   }
 * ```
 *
 * All methods may be called from any thread; each group is given once.
 *
 * Since: 1.0
 */
struct _OvstageRead
{
  OvstageOperation parent_instance;
};

G_DEFINE_FINAL_TYPE (OvstageRead, ovstage_read, OVSTAGE_TYPE_OPERATION)

static void
ovstage_read_class_init (OvstageReadClass *klass)
{
}

static void
ovstage_read_init (OvstageRead *self)
{
}

/**
 * ovstage_read_get_as_of:
 * @self: a read
 *
 * Gets the ordinal that the read is complete up to: the lowest of the ordinal
 * asked for and the write floors of the selected attributes that exist. It is
 * where the next read of changes goes on.
 *
 * Returns: the ordinal; 0 for a read that failed or is not done
 *
 * Since: 1.0
 */
guint64
ovstage_read_get_as_of (OvstageRead *self)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_READ (self), 0);

  op = _ovstage_operation_get_op ((OvstageOperation *) self);
  if (op == NULL || !ovs_op_is_done (op) || ovs_op_get_error (op) != NULL)
    return 0;
  return ovs_read_get_as_of (op);
}

/* NULL with an error, or at the end. @op is done. */
static OvstageReadGroup *
fetch_from_op (OvsOp *op, GError **error)
{
  OvstageReadGroup *group = NULL;

  if (!_ovstage_operation_check (op, error) || !ovs_read_next (op, &group, error))
    return NULL;
  return group;
}

/**
 * ovstage_read_fetch_next:
 * @self: a read
 * @timeout: nanoseconds to wait at most, 0 to poll, or [const@Ovstage.TIMEOUT_INFINITE]
 * @cancellable: (nullable): ends the wait, and the wait only
 * @error: return location for a [error@Ovstage.Error], or `G_IO_ERROR_CANCELLED`
 *
 * Waits for the read and takes its next group.
 *
 * A read that failed tells its own error, each time. A wait that timed out or was
 * cancelled takes no group.
 *
 * Returns: (transfer full) (nullable): the next group, or `NULL`: at the end
 *   without an error, otherwise with @error set
 *
 * Since: 1.0
 */
OvstageReadGroup *
ovstage_read_fetch_next (OvstageRead *self, gint64 timeout, GCancellable *cancellable, GError **error)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_READ (self), NULL);
  g_return_val_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  op = _ovstage_operation_get_op ((OvstageOperation *) self);
  if (!_ovstage_operation_wait_for_op (op, timeout, cancellable, error))
    return NULL;
  return fetch_from_op (op, error);
}

static void
unref_group (gpointer group)
{
  ovs_read_group_unref (group);
}

static void
return_group (OvsOp *op, GTask *task)
{
  GError *error = NULL;
  OvstageReadGroup *group = fetch_from_op (op, &error);

  OVS_TSAN_RELEASE (task);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, group, unref_group);
}

/**
 * ovstage_read_fetch_next_async:
 * @self: a read
 * @io_priority: the priority of the callback in its main context, such as `G_PRIORITY_DEFAULT`
 * @cancellable: (nullable): ends the wait, and the wait only
 * @callback: (scope async) (closure user_data): called when there is a group, or none any more
 * @user_data: data for @callback
 *
 * Waits for the read and takes its next group, without blocking.
 *
 * @callback runs in the main context that is thread-default for the caller. A
 * fetch that is cancelled takes no group; one that took a group gives it, whatever
 * the cancellable says by then.
 *
 * Since: 1.0
 */
void
ovstage_read_fetch_next_async (OvstageRead *self,
                               int io_priority,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data)
{
  GTask *task;

  g_return_if_fail (OVSTAGE_IS_READ (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  (g_task_set_source_tag) (task, ovstage_read_fetch_next_async);
  g_task_set_priority (task, io_priority);
  _ovstage_operation_await_op (_ovstage_operation_get_op ((OvstageOperation *) self), task, return_group);
}

/**
 * ovstage_read_fetch_next_finish:
 * @self: a read
 * @result: what the callback was given
 * @error: return location for a [error@Ovstage.Error], or `G_IO_ERROR_CANCELLED`
 *
 * Ends what [method@Ovstage.Read.fetch_next_async] began.
 *
 * Returns: (transfer full) (nullable): the next group, or `NULL`: at the end
 *   without an error, otherwise with @error set
 *
 * Since: 1.0
 */
OvstageReadGroup *
ovstage_read_fetch_next_finish (OvstageRead *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_READ (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_task_get_source_tag ((GTask *) result) == ovstage_read_fetch_next_async, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  OVS_TSAN_ACQUIRE (result);
  return g_task_propagate_pointer ((GTask *) result, error);
}
