/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "object/ovstage-operation-private.h"

#include "base/ovs-sync.h"

/**
 * OvstageOperation:
 *
 * One request to a stage and what became of it.
 *
 * Every request returns an operation at once and never fails by itself: what was
 * wrong with it, at submission or later, is told by the operation. A request that
 * is refused is an operation that is already done, has the id 0 and an error.
 *
 * The error stays for as long as the operation lives, so that waiting twice tells
 * it twice. Dropping the last reference lets the work run; nothing needs to be
 * waited for, except to learn how it went.
 *
 * ```c
 * g_autoptr (OvstageOperation) write = NULL;
 * g_autoptr (GError) error = NULL;
 *
 * write = ovstage_stage_write_attribute (stage, query, token, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
 * if (!ovstage_operation_wait (write, OVSTAGE_TIMEOUT_INFINITE, NULL, &error))
 *   g_warning ("%s", error->message);
 * ```
 *
 * All methods may be called from any thread. Errors are of the domain
 * [error@Ovstage.Error], except `G_IO_ERROR_CANCELLED` for an operation that was
 * withdrawn and for a wait that was cancelled.
 *
 * Since: 1.0
 */

typedef struct
{
  OvsOp *op; /* (owned) (nullable) set once, by _ovstage_operation_take() */
} OvstageOperationPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (OvstageOperation, ovstage_operation, G_TYPE_OBJECT)

/* One wait of a task. The watch and the connection to the cancellable each hold the task, which holds this. */
typedef struct
{
  gint claimed;      /* (atomic) set by who ends the task */
  gsize cancel_id;   /* (atomic) 0: not connected */
  OvsOp *op;         /* (owned) */
  OvstageOperationReturnFunc func;
} Wait;

/* A synchronous wait that a cancellable may end. */
typedef struct
{
  gint interrupted; /* (atomic) */
  OvsOp *op;
} Interruption;

static inline OvsOp *
get_op (OvstageOperation *self)
{
  OvstageOperationPrivate *priv = ovstage_operation_get_instance_private (self);
  OvsOp *op = priv->op;

  OVS_TSAN_RELEASE (self);
  return op;
}

static void
ovstage_operation_finalize (GObject *object)
{
  OvstageOperationPrivate *priv = ovstage_operation_get_instance_private ((OvstageOperation *) object);

  OVS_TSAN_ACQUIRE (object);
  if (priv->op != NULL)
    ovs_op_unref (priv->op);
  G_OBJECT_CLASS (ovstage_operation_parent_class)->finalize (object);
}

static void
ovstage_operation_class_init (OvstageOperationClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ovstage_operation_finalize;
}

static void
ovstage_operation_init (OvstageOperation *self)
{
}

gpointer
_ovstage_operation_take (GType type, OvsOp *op)
{
  OvstageOperation *self = g_object_new (type, NULL);
  OvstageOperationPrivate *priv = ovstage_operation_get_instance_private (self);

  priv->op = op;
  OVS_TSAN_RELEASE (self);
  return self;
}

OvsOp *
_ovstage_operation_get_op (OvstageOperation *self)
{
  return get_op (self);
}

/* Both live as long as the process: an operation lends them. */
static const GError *
get_cancelled_error (void)
{
  static gsize error = 0;

  if (g_once_init_enter (&error))
    g_once_init_leave (&error, (gsize) g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "The operation was cancelled"));
  return (const GError *) error;
}

static const GError *
get_orphan_error (void)
{
  static gsize error = 0;

  if (g_once_init_enter (&error))
    g_once_init_leave (&error, (gsize) g_error_new_literal (OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE,
                                                            "The operation or query was not made by a stage"));
  return (const GError *) error;
}

static const GError *
get_lasting_error (OvsOp *op)
{
  const GError *error;

  if (op == NULL)
    return get_orphan_error ();
  error = ovs_op_get_error (op);
  if (error != NULL && ovs_op_is_withdrawn (op))
    return get_cancelled_error ();
  return error;
}

gboolean
_ovstage_operation_check (OvsOp *op, GError **error)
{
  const GError *lasting = get_lasting_error (op);

  if (G_LIKELY (lasting == NULL))
    return TRUE;
  if (error != NULL)
    *error = g_error_copy (lasting);
  return FALSE;
}

/**
 * ovstage_operation_get_id:
 * @self: an operation
 *
 * Gets the id of the operation. Ids of one stage rise in the order of submission.
 *
 * Returns: the id, or 0 for a request that was refused
 *
 * Since: 1.0
 */
guint64
ovstage_operation_get_id (OvstageOperation *self)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), 0);

  op = get_op (self);
  return op != NULL ? ovs_op_get_id (op) : 0;
}

/**
 * ovstage_operation_is_done:
 * @self: an operation
 *
 * Tells whether the operation has ended, well or not. Does not block.
 *
 * Returns: `TRUE` if it has
 *
 * Since: 1.0
 */
gboolean
ovstage_operation_is_done (OvstageOperation *self)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), TRUE);

  op = get_op (self);
  return op == NULL || ovs_op_is_done (op);
}

/**
 * ovstage_operation_get_error:
 * @self: an operation
 *
 * Gets the error that the operation ended with. Does not block.
 *
 * Returns: (transfer none) (nullable): the error, which lives as long as the
 *   operation, or `NULL` if it went well or is not done
 *
 * Since: 1.0
 */
const GError *
ovstage_operation_get_error (OvstageOperation *self)
{
  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), NULL);

  return get_lasting_error (get_op (self));
}

/**
 * ovstage_operation_get_lowest_pending_id:
 * @self: an operation
 *
 * Gets the lowest id that is not done among the operation and those it waits for.
 *
 * Returns: the id, or 0 if the operation is done
 *
 * Since: 1.0
 */
guint64
ovstage_operation_get_lowest_pending_id (OvstageOperation *self)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), 0);

  op = get_op (self);
  return op != NULL ? ovs_op_get_lowest_pending (op) : 0;
}

static void
interrupt_cb (GCancellable *cancellable, gpointer user_data)
{
  Interruption *interruption = user_data;

  OVS_TSAN_ACQUIRE (interruption);
  g_atomic_int_set (&interruption->interrupted, TRUE);
  ovs_op_wake (interruption->op);
  OVS_TSAN_RELEASE (interruption);
}

static void
set_cancelled (GError **error)
{
  g_propagate_error (error, g_error_copy (get_cancelled_error ()));
}

gboolean
_ovstage_operation_wait_for_op (OvsOp *op, gint64 timeout, GCancellable *cancellable, GError **error)
{
  OvsWaitResult result;

  if (cancellable != NULL && g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (op == NULL || ovs_op_is_done (op))
    return _ovstage_operation_check (op, error);

  if (cancellable != NULL && timeout != 0)
    {
      Interruption interruption = { FALSE, op };
      gulong id;

      OVS_TSAN_RELEASE (&interruption);
      id = g_cancellable_connect (cancellable, G_CALLBACK (interrupt_cb), &interruption, NULL);
      result = ovs_op_wait (op, timeout, &interruption.interrupted);
      /* Waits for a callback that is running, which uses the stack here. */
      g_cancellable_disconnect (cancellable, id);
      OVS_TSAN_ACQUIRE (&interruption);
    }
  else
    {
      result = ovs_op_wait (op, timeout, NULL);
    }

  switch (result)
    {
    case OVS_WAIT_INTERRUPTED:
      set_cancelled (error);
      return FALSE;
    case OVS_WAIT_REFUSED:
      g_set_error_literal (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT,
                           "An operation cannot be waited for in one of the stage's own threads, "
                           "where destroy notifies may run");
      return FALSE;
    case OVS_WAIT_TIMEOUT:
      if (!ovs_op_is_done (op))
        {
          guint64 pending = ovs_op_get_lowest_pending (op);

          g_set_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT,
                       "Operation %" G_GUINT64_FORMAT " is not done; the lowest pending id it waits for is %" G_GUINT64_FORMAT,
                       ovs_op_get_id (op), pending != 0 ? pending : ovs_op_get_id (op));
          return FALSE;
        }
      break;
    case OVS_WAIT_DONE:
      break;
    }
  return _ovstage_operation_check (op, error);
}

/**
 * ovstage_operation_wait:
 * @self: an operation
 * @timeout: nanoseconds to wait at most, 0 to poll, or [const@Ovstage.TIMEOUT_INFINITE]
 * @cancellable: (nullable): ends the wait, and the wait only
 * @error: return location for a [error@Ovstage.Error], or `G_IO_ERROR_CANCELLED`
 *
 * Waits until the operation is done, and what it depends on with it.
 *
 * An operation that is not done in time gives `OVSTAGE_ERROR_TIMEOUT`, with
 * the lowest pending id in the message, and is left as it was. In a thread that
 * belongs to a stage, where destroy notifies may run, the wait is refused with
 * `OVSTAGE_ERROR_INVALID_ARGUMENT`.
 *
 * Returns: `TRUE` if the operation went well, `FALSE` with @error set otherwise
 *
 * Since: 1.0
 */
gboolean
ovstage_operation_wait (OvstageOperation *self, gint64 timeout, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), FALSE);
  g_return_val_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _ovstage_operation_wait_for_op (get_op (self), timeout, cancellable, error);
}

static void
wait_free (gpointer data)
{
  Wait *wait = data;

  OVS_TSAN_ACQUIRE (wait);
  ovs_op_unref (wait->op);
  g_free (wait);
}

static gboolean
claim_wait (Wait *wait)
{
  return g_atomic_int_compare_and_exchange (&wait->claimed, FALSE, TRUE);
}

/* Not g_cancellable_disconnect(): that waits for the handlers of a cancellation, one of which may be what ended the
 * operation. The closure owns the task, so that a callback that runs at the same time is safe. */
static void
disconnect_wait (Wait *wait, GTask *task)
{
  gulong id = (gulong) g_atomic_pointer_and (&wait->cancel_id, 0);

  if (id != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (task), id);
}

static void
drop_task (gpointer data)
{
  OVS_TSAN_RELEASE (g_task_get_task_data (data));
  g_object_unref (data);
}

/* The only owner of a reference in the core: dropped by whoever takes the watch away. */
static void
done_cb (OvsOp *op, gpointer user_data)
{
  GTask *task = user_data;
  Wait *wait = g_task_get_task_data (task);

  if (claim_wait (wait))
    {
      disconnect_wait (wait, task);
      wait->func (op, task);
    }
  drop_task (task);
}

static void
forget_watch (Wait *wait, GTask *task)
{
  if (ovs_op_remove_watch (wait->op, done_cb, task))
    drop_task (task);
}

static void
cancelled_cb (GCancellable *cancellable, gpointer user_data)
{
  GTask *task = user_data;
  Wait *wait = g_task_get_task_data (task);

  OVS_TSAN_ACQUIRE (wait);
  if (!claim_wait (wait))
    return;
  forget_watch (wait, task);
  disconnect_wait (wait, task);
  OVS_TSAN_RELEASE (task);
  g_task_return_error (task, g_error_copy (get_cancelled_error ()));
}

void
_ovstage_operation_await_op (OvsOp *op, GTask *task, OvstageOperationReturnFunc func)
{
  GCancellable *cancellable = g_task_get_cancellable (task);
  Wait *wait;

  if (cancellable != NULL)
    {
      /* Who claims the wait decides; what the cancellable says after that changes nothing. */
      g_task_set_check_cancellable (task, FALSE);
      if (g_task_return_error_if_cancelled (task))
        {
          g_object_unref (task);
          return;
        }
    }
  if (op == NULL || ovs_op_is_done (op))
    {
      func (op, task);
      g_object_unref (task);
      return;
    }

  wait = g_new0 (Wait, 1);
  wait->op = ovs_op_ref (op);
  wait->func = func;
  g_task_set_task_data (task, wait, wait_free);
  OVS_TSAN_RELEASE (wait);

  if (cancellable != NULL)
    {
      gulong id = g_cancellable_connect (cancellable, G_CALLBACK (cancelled_cb), g_object_ref (task), drop_task);

      g_atomic_pointer_set (&wait->cancel_id, (gsize) id);
    }
  if (!g_atomic_int_get (&wait->claimed))
    {
      g_object_ref (task);
      if (!ovs_op_add_watch (op, done_cb, task))
        done_cb (op, task);
    }
  /* A cancellation in the meantime could not know the id of its handler, nor of the watch. */
  if (g_atomic_int_get (&wait->claimed))
    {
      forget_watch (wait, task);
      disconnect_wait (wait, task);
    }
  drop_task (task);
}

static void
return_boolean (OvsOp *op, GTask *task)
{
  GError *error = NULL;

  OVS_TSAN_RELEASE (task);
  if (_ovstage_operation_check (op, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

/**
 * ovstage_operation_wait_async:
 * @self: an operation
 * @io_priority: the priority of the callback in its main context, such as `G_PRIORITY_DEFAULT`
 * @cancellable: (nullable): ends the wait, and the wait only
 * @callback: (scope async) (closure user_data): called when the operation is done
 * @user_data: data for @callback
 *
 * Waits for the operation without blocking. Holds no thread while it waits.
 *
 * @callback runs in the main context that is thread-default for the caller, also
 * when the operation is done already. Cancelling ends the wait at once with
 * `G_IO_ERROR_CANCELLED` and leaves the operation alone.
 *
 * Since: 1.0
 */
void
ovstage_operation_wait_async (OvstageOperation *self,
                              int io_priority,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer user_data)
{
  GTask *task;

  g_return_if_fail (OVSTAGE_IS_OPERATION (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  task = g_task_new (self, cancellable, callback, user_data);
  /* In parentheses: the macro names the task, and GLib before 2.76 copies the name twice for each callback. */
  (g_task_set_source_tag) (task, ovstage_operation_wait_async);
  g_task_set_priority (task, io_priority);
  _ovstage_operation_await_op (get_op (self), task, return_boolean);
}

/**
 * ovstage_operation_wait_finish:
 * @self: an operation
 * @result: what the callback was given
 * @error: return location for a [error@Ovstage.Error], or `G_IO_ERROR_CANCELLED`
 *
 * Ends what [method@Ovstage.Operation.wait_async] began.
 *
 * Returns: `TRUE` if the operation went well, `FALSE` with @error set otherwise
 *
 * Since: 1.0
 */
gboolean
ovstage_operation_wait_finish (OvstageOperation *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), FALSE);
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);
  g_return_val_if_fail (g_task_get_source_tag ((GTask *) result) == ovstage_operation_wait_async, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  OVS_TSAN_ACQUIRE (result);
  return g_task_propagate_boolean ((GTask *) result, error);
}

/**
 * ovstage_operation_cancel:
 * @self: an operation
 *
 * Withdraws the operation if it has not begun. It is then done, with
 * `G_IO_ERROR_CANCELLED`, and what depends on it fails. An operation that has
 * begun completes.
 *
 * Returns: `TRUE` if the operation was withdrawn by this call
 *
 * Since: 1.0
 */
gboolean
ovstage_operation_cancel (OvstageOperation *self)
{
  OvsOp *op;

  g_return_val_if_fail (OVSTAGE_IS_OPERATION (self), FALSE);

  op = get_op (self);
  return op != NULL && ovs_op_cancel (op);
}
