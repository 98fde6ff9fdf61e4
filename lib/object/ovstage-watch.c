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
 * all that it missed, with the last value of each prim, and nothing piles up meanwhile
 * but the records of which prims changed. Attributes that are sealed apart are followed each
 * to its own write floor. Where nothing changed there is no call.
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
  GSource *source; /* protected by lock, (owned) (nullable): a look at what changed is to come */
} Link;

struct _OvstageWatch
{
  GObject parent_instance;
  OvsWatch *core; /* (owned) (nullable) */
  Link *link;     /* (owned) */
  OvsOp *read;    /* (owned) (nullable) in the context's thread: of changes, not yet told */
  gboolean awaited; /* in the context's thread: somebody looks again when the read is done, */
  gboolean again;   /* and what came meanwhile is another matter */
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

/* However often it is due, one look follows. */
static void
due_cb (gpointer user_data)
{
  Link *link = user_data;

  ovs_mutex_lock (&link->lock);
  if (!link->ended && link->source == NULL)
    {
      link->source = g_idle_source_new ();
      g_source_set_priority (link->source, G_PRIORITY_DEFAULT);
      g_source_set_static_name (link->source, "ovstage watch");
      g_source_set_callback (link->source, look_cb, link_ref (link), link_unref);
      g_source_attach (link->source, link->context);
    }
  ovs_mutex_unlock (&link->lock);
}

static void
read_done_cb (OvsOp *op, gpointer user_data)
{
  due_cb (user_data);
  link_unref (user_data);
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
    self->read = ovs_watch_read (self->core);
  if (ovs_op_is_done (self->read))
    return TRUE;
  if (self->awaited)
    self->again = TRUE;
  else if (!ovs_op_add_watch (self->read, read_done_cb, link_ref (self->link)))
    {
      link_unref (self->link);
      return TRUE;
    }
  self->awaited = TRUE;
  return FALSE;
}

static gboolean
look_cb (gpointer user_data)
{
  Link *link = user_data;
  g_autoptr (OvstageWatch) self = g_weak_ref_get (&link->weak);
  g_autoptr (GPtrArray) groups = NULL;
  gboolean ended, again;
  GSource *source;

  ovs_mutex_lock (&link->lock);
  source = g_steal_pointer (&link->source);
  ended = link->ended || self == NULL;
  /* The callback turns the context: this comes after it. */
  if (!ended && self->calling)
    self->again = TRUE;
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
  again = self->again;
  self->again = FALSE;
  if (again)
    due_cb (link);
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

  self->callback = callback;
  self->user_data = user_data;
  self->core = ovs_watch_new (stage, query, attributes, n_attributes, due_cb, link_ref (self->link), link_unref, error);
  if (self->core == NULL)
    {
      link_unref (self->link);
      return NULL;
    }
  self->destroy = destroy;
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
 * ovstage_watch_cancel:
 * @self: a watch
 *
 * Ends the watch: its callback is not called any more, and what is kept for it is let
 * go of. Called in the thread of the callback, also by the callback, this is certain;
 * elsewhere a call that has begun may still be running.
 *
 * Since: 1.0
 */
void
ovstage_watch_cancel (OvstageWatch *self)
{
  GSource *source;

  g_return_if_fail (OVSTAGE_IS_WATCH (self));

  ovs_mutex_lock (&self->link->lock);
  self->link->ended = TRUE;
  source = g_steal_pointer (&self->link->source);
  ovs_mutex_unlock (&self->link->lock);
  if (source != NULL)
    {
      g_source_destroy (source);
      g_source_unref (source);
    }
  if (self->core != NULL)
    ovs_watch_end (self->core);
  drop_callback (self);
}
