/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-map.h>

#include "base/ovs-sync.h"
#include "object/ovstage-operation-private.h"
#include "op/ovs-map-group.h"
#include "op/ovs-stage.h"

/**
 * OvstageMap:
 *
 * Memory of a stage that a producer fills in place, and then commits as a write.
 *
 * A write copies its values, unless their memory is handed over. A map turns that
 * round: the stage gives out the memory first. Where the values make up a whole
 * column, what the producer wrote is what readers get, without a copy in between.
 *
 * ```c
 * g_autoptr (OvstageMap) map = NULL;
 * g_autoptr (OvstageOperation) commit = NULL;
 * OvstageMapGroup *group;
 *
 * map = ovstage_stage_map_attribute (stage, query, token, &OVSTAGE_DATA_TYPE_FLOAT32, OVSTAGE_SEMANTIC_NONE,
 *                                    NULL, 0, 1, OVSTAGE_PRIM_MODE_UPSERT, OVSTAGE_MAP_FLAGS_NONE, NULL);
 * while ((group = ovstage_map_fetch_next (map, OVSTAGE_TIMEOUT_INFINITE, NULL, &error)) != NULL)
 *   {
 *     fill_group (group);
 *     ovstage_map_group_unref (group);
 *   }
 * commit = ovstage_map_commit (map, 0, 0);
 * ```
 *
 * A map that is open delays nobody. A commit is a write at the ordinal of the map
 * that is submitted at that time: it is checked as any other, whatever was true when
 * the map was made, and counts in the order of commits. It can be done group by
 * group, or once for all that is left, which ends the map. What was not committed is
 * dropped by [method@Ovstage.Map.discard], and with the last reference to the map.
 *
 * From the commit on the memory is the stage's and must not be written to: pointers
 * that were taken before are dead. With `OVSTAGE_DEBUG=poison` in the environment, a
 * program that writes nevertheless is stopped there.
 *
 * A map is an operation: it is done once its memory is ready. All methods may be
 * called from any thread; each group is given once.
 *
 * Since: 1.0
 */
struct _OvstageMap
{
  OvstageOperation parent_instance;
};

G_DEFINE_FINAL_TYPE (OvstageMap, ovstage_map, OVSTAGE_TYPE_OPERATION)

static void
ovstage_map_class_init (OvstageMapClass *klass)
{
}

static void
ovstage_map_init (OvstageMap *self)
{
}

/* NULL with an error, or at the end. @op is done. */
static OvstageMapGroup *
fetch_map_group (OvsOp *op, GError **error)
{
  OvstageMapGroup *group = NULL;

  if (!_ovstage_operation_check (op, error) || !ovs_map_next (op, &group, error))
    return NULL;
  return group;
}

/**
 * ovstage_map_fetch_next:
 * @self: a map
 * @timeout: nanoseconds to wait at most, 0 to poll, or [const@Ovstage.TIMEOUT_INFINITE]
 * @cancellable: (nullable): ends the wait, and the wait only
 * @error: return location for a [error@Ovstage.Error], or `G_IO_ERROR_CANCELLED`
 *
 * Waits for the map and takes its next group that was not committed or discarded.
 *
 * A map that failed tells its own error, each time. A wait that timed out or was
 * cancelled takes no group.
 *
 * Returns: (transfer full) (nullable): the next group, or `NULL`: at the end
 *   without an error, otherwise with @error set
 *
 * Since: 1.0
 */
OvstageMapGroup *
ovstage_map_fetch_next (OvstageMap *self, gint64 timeout, GCancellable *cancellable, GError **error)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_MAP (self), NULL);
  g_return_val_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  op = _ovstage_operation_get_op ((OvstageOperation *) self);
  if (!_ovstage_operation_wait_for_op (op, timeout, cancellable, error))
    return NULL;
  return fetch_map_group (op, error);
}

static void
unref_map_group (gpointer group)
{
  ovs_map_group_unref (group);
}

static void
return_map_group (OvsOp *op, GTask *task)
{
  GError *error = NULL;
  OvstageMapGroup *group = fetch_map_group (op, &error);

  OVS_TSAN_RELEASE (task);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, group, unref_map_group);
}

/**
 * ovstage_map_fetch_next_async:
 * @self: a map
 * @io_priority: the priority of the callback in its main context, such as `G_PRIORITY_DEFAULT`
 * @cancellable: (nullable): ends the wait, and the wait only
 * @callback: (scope async) (closure user_data): called when there is a group, or none any more
 * @user_data: data for @callback
 *
 * Waits for the map and takes its next group, without blocking.
 *
 * @callback runs in the main context that is thread-default for the caller. A
 * fetch that is cancelled takes no group; one that took a group gives it, whatever
 * the cancellable says by then.
 *
 * Since: 1.0
 */
void
ovstage_map_fetch_next_async (OvstageMap *self,
                              int io_priority,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer user_data)
{
  GTask *task;

  g_return_if_fail (OVSTAGE_IS_MAP (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  (g_task_set_source_tag) (task, ovstage_map_fetch_next_async);
  g_task_set_priority (task, io_priority);
  _ovstage_operation_await_op (_ovstage_operation_get_op ((OvstageOperation *) self), task, return_map_group);
}

/**
 * ovstage_map_fetch_next_finish:
 * @self: a map
 * @result: what the callback was given
 * @error: return location for a [error@Ovstage.Error], or `G_IO_ERROR_CANCELLED`
 *
 * Ends what [method@Ovstage.Map.fetch_next_async] began.
 *
 * Returns: (transfer full) (nullable): the next group, or `NULL`: at the end
 *   without an error, otherwise with @error set
 *
 * Since: 1.0
 */
OvstageMapGroup *
ovstage_map_fetch_next_finish (OvstageMap *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_MAP (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (g_task_get_source_tag ((GTask *) result) == ovstage_map_fetch_next_async, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  OVS_TSAN_ACQUIRE (result);
  return g_task_propagate_pointer ((GTask *) result, error);
}

/**
 * ovstage_map_commit_group:
 * @self: a map
 * @group: a group of it
 * @stream: the stream that the values are written on, 0 for none
 * @event: the event after which the values are there, 0 for none
 *
 * Writes the values of one group, whose memory is the stage's from this call on.
 *
 * The operation fails, and nothing is written, as a write at the ordinal of the map
 * would, which [method@Ovstage.Stage.write_attribute] describes;
 * `OVSTAGE_ERROR_INVALID_HANDLE` it is for a group of another map, or one that was
 * committed or discarded before. A commit that fails is not tried again: the group
 * is over. On the CPU, @stream and @event have to be 0.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_map_commit_group (OvstageMap *self, OvstageMapGroup *group, guint64 stream, guint64 event)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_MAP (self), NULL);
  g_return_val_if_fail (group != NULL, NULL);

  op = _ovstage_operation_get_op ((OvstageOperation *) self);
  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION, op != NULL ? ovs_map_commit_group (op, group, stream, event) : NULL);
}

/**
 * ovstage_map_commit:
 * @self: a map
 * @stream: the stream that the values are written on, 0 for none
 * @event: the event after which the values are there, 0 for none
 *
 * Writes the values of all groups that are left, fetched or not, as one write, and
 * ends the map.
 *
 * The operation fails as that of [method@Ovstage.Map.commit_group] does. A map that
 * was ended before gives `OVSTAGE_ERROR_INVALID_HANDLE`, one that failed
 * `OVSTAGE_ERROR_OP_FAILED`.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_map_commit (OvstageMap *self, guint64 stream, guint64 event)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_MAP (self), NULL);

  op = _ovstage_operation_get_op ((OvstageOperation *) self);
  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION, op != NULL ? ovs_map_commit (op, stream, event) : NULL);
}

/**
 * ovstage_map_discard:
 * @self: a map
 *
 * Drops what was not committed, and ends the map. One that was ended before stays as
 * it is.
 *
 * Since: 1.0
 */
void
ovstage_map_discard (OvstageMap *self)
{
  OvsOp *op;

  g_return_if_fail (OVSTAGE_IS_MAP (self));

  op = _ovstage_operation_get_op ((OvstageOperation *) self);
  if (op != NULL)
    ovs_map_discard (op);
}
