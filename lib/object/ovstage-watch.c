/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-watch.h>

#include "object/ovstage-watch-private.h"
#include "op/ovs-watch.h"

/**
 * OvstageWatch:
 *
 * Follows the changes of attributes on the prims of a query.
 *
 * [method@Ovstage.Stage.watch] makes a watch with a callback. After each advance that
 * sealed a change of one of the attributes on one of the prims, the callback runs, in
 * the main context that was thread-default when the watch was made, with what changed:
 *
 * ```c
 * static void
 * changed_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
 * {
 *   for (guint i = 0; i < groups->len; i++)
 *     show_group (groups->pdata[i]);
 * }
 * ```
 *
 * The first call tells of what is sealed after the watch was made; what was there
 * before is for a read. A consumer that is slower than the advances gets one call for
 * all that it missed, with the last value of each prim. Nothing piles up meanwhile but the
 * records of which prims changed: beyond [property@Ovstage.Stage:change-budget] the newest of
 * each prim. Attributes that are sealed apart are followed each to its own write floor. Where nothing changed there is no call.
 *
 * A watch without a callback is asked instead: [method@Ovstage.Watch.next_async] completes
 * once something changed, with all that was not told yet. Who asks again after it dealt
 * with that is never behind by more than one list.
 *
 * The prims are those that the query has, for a filter those that matched when the
 * query was made.
 *
 * A watch ends when it is cancelled, when its last reference is dropped, and when the
 * stage goes, which it does not keep. All methods may be called from any thread.
 *
 * Since: 1.0
 */

/* The core calls in from any thread, perhaps for longer than the object lives. */
typedef struct
{
  gint refs; /* (atomic) */
  GMainContext *context; /* (owned) */
  GWeakRef weak;   /* the watch */
  OvsMutex lock;
  gboolean ended;  /* protected by lock */
  gboolean due;    /* protected by lock: there was an advance since the read of changes was submitted */
  GSource *source; /* protected by lock, (owned) (nullable): a look at what changed is to come */
  gboolean pulled; /* there is no callback, */
  GTask *next;     /* protected by lock, (owned) (nullable): but who asked, */
  gboolean looking; /* protected by lock: and cannot be answered by others while this is so */
} Link;

/* The cancellable of a task, and how to leave it. */
typedef struct
{
  Link *link;       /* (owned) */
  gulong cancel_id; /* 0: none */
} Next;

struct _OvstageWatch
{
  GObject parent_instance;
  OvsWatch *core; /* (owned) (nullable) */
  Link *link;     /* (owned) */
  OvsOp *read;    /* (owned) (nullable) of who looks: of changes, not yet told */
  gboolean awaited; /* of who looks: somebody looks again when the read is done */
  gboolean calling; /* protected by the link's lock */
  OvstageWatchFunc callback; /* protected by the link's lock, as is what follows; (nullable) once cancelled */
  gpointer user_data;
  GDestroyNotify destroy;
};

G_DEFINE_FINAL_TYPE (OvstageWatch, ovstage_watch, G_TYPE_OBJECT)

static Link *
link_ref (Link *link)
{
  g_atomic_int_inc (&link->refs);
  return link;
}

static void
link_unref (gpointer data)
{
  Link *link = data;

  if (!g_atomic_int_dec_and_test (&link->refs))
    return;
  g_weak_ref_clear (&link->weak);
  ovs_mutex_clear (&link->lock);
  g_main_context_unref (link->context);
  g_free (link);
}

static gboolean look_cb (gpointer user_data);

/* However often it is called, one look follows: in the context of the callback, or of who asked. Link lock held. */
static void
wake (Link *link)
{
  if (!link->ended && link->source == NULL && (!link->pulled || link->next != NULL))
    {
      GMainContext *context = link->pulled ? g_task_get_context (link->next) : link->context;

      link->source = g_idle_source_new ();
      g_source_set_priority (link->source, link->pulled ? g_task_get_priority (link->next) : G_PRIORITY_DEFAULT);
      g_source_set_static_name (link->source, "ovstage watch");
      g_source_set_callback (link->source, look_cb, link_ref (link), link_unref);
      OVS_TSAN_RELEASE (link);
      g_source_attach (link->source, context);
    }
}

static void
due_cb (gpointer user_data)
{
  Link *link = user_data;

  ovs_mutex_lock (&link->lock);
  link->due = TRUE;
  wake (link);
  ovs_mutex_unlock (&link->lock);
}

/* An advance that the last read does not know is followed by another look: the source of that look may be the one that
 * took the read. */
static void
look_again (Link *link)
{
  ovs_mutex_lock (&link->lock);
  if (link->due)
    wake (link);
  ovs_mutex_unlock (&link->lock);
}

static void
read_done_cb (OvsOp *op, gpointer user_data)
{
  Link *link = user_data;

  ovs_mutex_lock (&link->lock);
  wake (link);
  ovs_mutex_unlock (&link->lock);
  link_unref (link);
}

/* What the callback needs goes once it does not run. */
static void
drop_callback (OvstageWatch *self)
{
  GDestroyNotify destroy = NULL;
  gpointer user_data = NULL;

  ovs_mutex_lock (&self->link->lock);
  if (self->link->ended && !self->calling)
    {
      self->callback = NULL;
      destroy = g_steal_pointer (&self->destroy);
      user_data = self->user_data;
    }
  ovs_mutex_unlock (&self->link->lock);
  if (destroy != NULL)
    destroy (user_data);
}

static void
call (OvstageWatch *self, GPtrArray *groups)
{
  OvstageWatchFunc callback;

  ovs_mutex_lock (&self->link->lock);
  callback = !self->link->ended ? self->callback : NULL;
  self->calling = callback != NULL;
  ovs_mutex_unlock (&self->link->lock);
  if (callback == NULL)
    return;

  callback (self, groups, self->user_data);

  ovs_mutex_lock (&self->link->lock);
  self->calling = FALSE;
  ovs_mutex_unlock (&self->link->lock);
  drop_callback (self);
}

/* Whether the changes can be told now. */
static gboolean
is_read (OvstageWatch *self)
{
  if (self->read == NULL)
    {
      ovs_mutex_lock (&self->link->lock);
      self->link->due = FALSE;
      ovs_mutex_unlock (&self->link->lock);
      self->read = ovs_watch_read (self->core);
    }
  if (ovs_op_is_done (self->read))
    return TRUE;
  if (!self->awaited && !ovs_op_add_watch (self->read, read_done_cb, link_ref (self->link)))
    {
      link_unref (self->link);
      return TRUE;
    }
  self->awaited = TRUE;
  return FALSE;
}

static void
next_free (gpointer data)
{
  Next *next = data;

  OVS_TSAN_ACQUIRE (next);
  link_unref (next->link);
  g_free (next);
}

/* Takes @task, which is not the link's any more, and @groups and @error. */
static void
end_next (GTask *task, GPtrArray *groups, GError *error)
{
  Next *next = g_task_get_task_data (task);

  /* Not g_cancellable_disconnect(): this may be its handler. */
  if (next->cancel_id != 0)
    g_signal_handler_disconnect (g_task_get_cancellable (task), next->cancel_id);
  OVS_TSAN_RELEASE (task);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, groups, (GDestroyNotify) g_ptr_array_unref);
  g_object_unref (task);
}

/* Link lock held. What was due is so for nobody. */
static GTask *
steal_next (Link *link)
{
  if (link->source != NULL)
    g_source_destroy (link->source);
  g_clear_pointer (&link->source, g_source_unref);
  return g_steal_pointer (&link->next);
}

static GError *
new_cancelled_error (void)
{
  return g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "the wait for changes was cancelled");
}

static void
cancelled_cb (GCancellable *cancellable, gpointer user_data)
{
  GTask *task = user_data, *stolen = NULL;
  Next *next = g_task_get_task_data (task);
  Link *link = next->link;

  ovs_mutex_lock (&link->lock);
  if (link->next == task && !link->looking)
    stolen = steal_next (link);
  ovs_mutex_unlock (&link->lock);
  OVS_TSAN_RELEASE (next);
  if (stolen != NULL)
    end_next (stolen, NULL, new_cancelled_error ());
}

/* Whether the source that runs is for who asks now, and not for somebody who went. */
static gboolean
begin_look (Link *link)
{
  gboolean mine;

  ovs_mutex_lock (&link->lock);
  mine = link->source != NULL && link->source == g_main_current_source ();
  if (mine)
    {
      g_clear_pointer (&link->source, g_source_unref);
      mine = link->looking = link->next != NULL;
    }
  ovs_mutex_unlock (&link->lock);
  return mine;
}

/* A look for who asked, in the context of that. */
static void
look_for_next (OvstageWatch *self)
{
  Link *link = self->link;
  g_autoptr (GPtrArray) groups = NULL;
  g_autoptr (GPtrArray) lost = NULL;
  g_autoptr (GError) error = NULL;
  GTask *task = NULL;
  gboolean taken, ended, cancelled, open = TRUE;

  if (!begin_look (link))
    return;
  taken = is_read (self);
  if (taken)
    {
      groups = ovs_watch_take (self->core, self->read);
      open = ovs_watch_is_open (self->core);
      if (groups == NULL && open)
        error = g_error_copy (ovs_op_get_error (self->read));
      else if (groups != NULL && groups->len == 0)
        g_clear_pointer (&groups, g_ptr_array_unref);
      g_clear_pointer (&self->read, ovs_op_unref);
      self->awaited = FALSE;
    }

  ovs_mutex_lock (&link->lock);
  link->looking = FALSE;
  if (link->ended)
    lost = g_steal_pointer (&groups);
  ended = link->ended || !open;
  cancelled = g_cancellable_is_cancelled (g_task_get_cancellable (link->next));
  if (ended || cancelled || groups != NULL || error != NULL)
    task = steal_next (link);
  ovs_mutex_unlock (&link->lock);
  if (task == NULL && taken)
    look_again (link);
  else if (task == NULL)
    return;
  else if (groups != NULL || error != NULL || ended)
    end_next (task, g_steal_pointer (&groups), !ended ? g_steal_pointer (&error) : NULL);
  else
    end_next (task, NULL, new_cancelled_error ());
}

static gboolean
look_cb (gpointer user_data)
{
  Link *link = user_data;
  g_autoptr (OvstageWatch) self = g_weak_ref_get (&link->weak);
  g_autoptr (GPtrArray) groups = NULL;
  gboolean ended;
  GSource *source;

  OVS_TSAN_ACQUIRE (link);
  if (self != NULL && link->pulled)
    {
      look_for_next (self);
      return G_SOURCE_REMOVE;
    }
  ovs_mutex_lock (&link->lock);
  source = g_steal_pointer (&link->source);
  ended = link->ended || self == NULL;
  /* Where the callback turns the context, the look comes after it. */
  ended = ended || self->calling;
  ovs_mutex_unlock (&link->lock);
  g_clear_pointer (&source, g_source_unref);
  if (ended || !is_read (self))
    return G_SOURCE_REMOVE;

  groups = ovs_watch_take (self->core, self->read);
  g_clear_pointer (&self->read, ovs_op_unref);
  self->awaited = FALSE;
  if (groups != NULL && groups->len > 0)
    call (self, groups);
  look_again (link);
  return G_SOURCE_REMOVE;
}

static void
ovstage_watch_dispose (GObject *object)
{
  ovstage_watch_cancel ((OvstageWatch *) object);
  G_OBJECT_CLASS (ovstage_watch_parent_class)->dispose (object);
}

static void
ovstage_watch_finalize (GObject *object)
{
  OvstageWatch *self = (OvstageWatch *) object;

  g_clear_pointer (&self->read, ovs_op_unref);
  g_clear_pointer (&self->core, ovs_watch_unref);
  link_unref (self->link);
  G_OBJECT_CLASS (ovstage_watch_parent_class)->finalize (object);
}

static void
ovstage_watch_class_init (OvstageWatchClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = ovstage_watch_dispose;
  object_class->finalize = ovstage_watch_finalize;
}

static void
ovstage_watch_init (OvstageWatch *self)
{
  Link *link = g_new0 (Link, 1);

  link->refs = 1;
  link->context = g_main_context_ref_thread_default ();
  g_weak_ref_init (&link->weak, self);
  ovs_mutex_init (&link->lock);
  self->link = link;
}

OvstageWatch *
_ovstage_watch_new (OvsStage *stage, OvsOp *query, const OvstageToken *attributes, gsize n_attributes, OvstageWatchFunc callback,
                    gpointer user_data, GDestroyNotify destroy, GError **error)
{
  g_autoptr (OvstageWatch) self = g_object_new (OVSTAGE_TYPE_WATCH, NULL);

  self->link->pulled = callback == NULL;
  self->callback = callback;
  self->user_data = user_data;
  /* Another thread may turn the context, and seal: nobody looks before all is there. */
  self->link->ended = TRUE;
  self->core = ovs_watch_new (stage, query, attributes, n_attributes, due_cb, link_ref (self->link), link_unref, error);
  if (self->core == NULL)
    {
      link_unref (self->link);
      return NULL;
    }
  ovs_mutex_lock (&self->link->lock);
  self->destroy = destroy;
  self->link->ended = FALSE;
  if (self->link->due)
    wake (self->link);
  ovs_mutex_unlock (&self->link->lock);
  return g_steal_pointer (&self);
}

/**
 * ovstage_watch_get_cursor:
 * @self: a watch
 *
 * Gets up to where all changes were told: the lowest of the write floors that the
 * attributes had when they were read last. What is above it, and was told or not, is
 * followed for each attribute.
 *
 * Returns: the ordinal
 *
 * Since: 1.0
 */
guint64
ovstage_watch_get_cursor (OvstageWatch *self)
{
  g_return_val_if_fail (OVSTAGE_IS_WATCH (self), 0);

  return ovs_watch_get_cursor (self->core);
}

/**
 * ovstage_watch_next_async:
 * @self: a watch without a callback
 * @io_priority: the priority of @callback in its main context, such as `G_PRIORITY_DEFAULT`
 * @cancellable: (nullable): ends the wait, and the wait only
 * @callback: (scope async) (closure user_data): called when something changed, or the watch ended
 * @user_data: data for @callback
 *
 * Waits for changes that were not told yet, without blocking and without holding a
 * thread. One wait at a time: another one is `G_IO_ERROR_PENDING`. The watch is kept
 * while somebody waits.
 *
 * @callback runs in the main context that is thread-default for the caller, also
 * when there are changes already. Cancelling ends the wait with
 * `G_IO_ERROR_CANCELLED`, and what it would have given is for the next one.
 *
 * Since: 1.0
 */
void
ovstage_watch_next_async (OvstageWatch *self,
                          int io_priority,
                          GCancellable *cancellable,
                          GAsyncReadyCallback callback,
                          gpointer user_data)
{
  gboolean ended, pending, pulled;
  Next *next;
  GTask *task;
  Link *link;

  g_return_if_fail (OVSTAGE_IS_WATCH (self));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  link = self->link;
  task = g_task_new (self, cancellable, callback, user_data);
  (g_task_set_source_tag) (task, ovstage_watch_next_async);
  g_task_set_priority (task, io_priority);
  /* Changes that were taken are told, whatever the cancellable says after that. */
  g_task_set_check_cancellable (task, FALSE);
  next = g_new0 (Next, 1);
  next->link = link_ref (link);
  g_task_set_task_data (task, next, next_free);
  if (g_task_return_error_if_cancelled (task))
    {
      g_object_unref (task);
      return;
    }
  if (cancellable != NULL)
    next->cancel_id = g_cancellable_connect (cancellable, G_CALLBACK (cancelled_cb), g_object_ref (task), g_object_unref);

  OVS_TSAN_RELEASE (task);
  ovs_mutex_lock (&link->lock);
  pulled = link->pulled;
  pending = link->next != NULL;
  ended = link->ended;
  if (pulled && !pending && !ended)
    link->next = g_object_ref (task);
  ovs_mutex_unlock (&link->lock);
  if (!pulled)
    end_next (task, NULL, g_error_new_literal (OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_SUPPORTED, "the watch has a callback, expected one without"));
  else if (pending)
    end_next (task, NULL, g_error_new_literal (G_IO_ERROR, G_IO_ERROR_PENDING, "somebody waits for the changes already"));
  else if (ended)
    end_next (task, NULL, NULL);
  else
    {
      due_cb (link);
      /* It may have been cancelled before anybody could know that it waits. */
      if (g_cancellable_is_cancelled (cancellable))
        cancelled_cb (cancellable, task);
      g_object_unref (task);
    }
}

/**
 * ovstage_watch_next_finish:
 * @self: a watch
 * @result: what the callback was given
 * @error: return location for a [error@Ovstage.Error], `G_IO_ERROR_CANCELLED` or `G_IO_ERROR_PENDING`
 *
 * Ends what [method@Ovstage.Watch.next_async] began.
 *
 * Returns: (transfer container) (element-type OvstageReadGroup) (nullable): what changed, at
 *   least one group, as [callback@Ovstage.WatchFunc] is given; `NULL` without @error once
 *   the watch was cancelled or its stage is gone
 *
 * Since: 1.0
 */
GPtrArray *
ovstage_watch_next_finish (OvstageWatch *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_WATCH (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  OVS_TSAN_ACQUIRE (result);
  return g_task_propagate_pointer ((GTask *) result, error);
}

/**
 * ovstage_watch_cancel:
 * @self: a watch
 *
 * Ends the watch: its callback is not called any more, and what is kept for it is let
 * go of. Called in the thread of the callback, also by the callback, this is certain;
 * elsewhere a call that has begun may still be running. Who waits for changes is told
 * that there are none any more.
 *
 * Since: 1.0
 */
void
ovstage_watch_cancel (OvstageWatch *self)
{
  GSource *source;
  GTask *next = NULL;

  g_return_if_fail (OVSTAGE_IS_WATCH (self));

  ovs_mutex_lock (&self->link->lock);
  self->link->ended = TRUE;
  source = g_steal_pointer (&self->link->source);
  if (!self->link->looking)
    next = g_steal_pointer (&self->link->next);
  ovs_mutex_unlock (&self->link->lock);
  if (source != NULL)
    {
      g_source_destroy (source);
      g_source_unref (source);
    }
  if (self->core != NULL)
    ovs_watch_end (self->core);
  drop_callback (self);
  if (next != NULL)
    end_next (next, NULL, NULL);
}
