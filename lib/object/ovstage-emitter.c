/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "object/ovstage-emitter-private.h"

#include "base/ovs-sync.h"

/* The core calls in from any thread, and may do so for longer than the object lives: operations hold the core. So
 * what it calls is this, counted by the object, the core and each source. */
struct _OvstageEmitter
{
  gint refs; /* (atomic) */
  GMainContext *context; /* (owned) */
  GWeakRef weak; /* the stage */
  OvsStage *core; /* the stage's, and there while that is */
  GParamSpec *write_floor;
  guint sealed;
  guint notify;
  OvsMutex lock;
  OvstageStage *stage; /* protected by lock, (nullable): until dispose */
  GSource *source;     /* protected by lock, (owned) (nullable): an emission to come */
  gboolean emitting;   /* protected by lock */
  gboolean deferred;   /* protected by lock: an emission came due while a handler turned the context */
};

static OvstageEmitter *
emitter_ref (OvstageEmitter *emitter)
{
  g_atomic_int_inc (&emitter->refs);
  return emitter;
}

void
_ovstage_emitter_unref (gpointer data)
{
  OvstageEmitter *emitter = data;

  if (!g_atomic_int_dec_and_test (&emitter->refs))
    return;
  g_weak_ref_clear (&emitter->weak);
  ovs_mutex_clear (&emitter->lock);
  g_main_context_unref (emitter->context);
  g_free (emitter);
}

void
_ovstage_emitter_close (OvstageEmitter *emitter)
{
  GSource *source;

  ovs_mutex_lock (&emitter->lock);
  emitter->stage = NULL;
  source = g_steal_pointer (&emitter->source);
  ovs_mutex_unlock (&emitter->lock);
  if (source != NULL)
    {
      g_source_destroy (source);
      g_source_unref (source);
    }
}

static gboolean emit_cb (gpointer user_data);

static void
floor_risen_cb (gpointer user_data)
{
  OvstageEmitter *emitter = user_data;

  ovs_mutex_lock (&emitter->lock);
  if (emitter->stage != NULL && emitter->source == NULL)
    {
      emitter->source = g_idle_source_new ();
      g_source_set_priority (emitter->source, G_PRIORITY_DEFAULT);
      g_source_set_static_name (emitter->source, "ovstage sealed");
      g_source_set_callback (emitter->source, emit_cb, emitter_ref (emitter), _ovstage_emitter_unref);
      g_source_attach (emitter->source, emitter->context);
    }
  ovs_mutex_unlock (&emitter->lock);
}

static gboolean
emit_cb (gpointer user_data)
{
  OvstageEmitter *emitter = user_data;
  g_autoptr (OvstageStage) stage = g_weak_ref_get (&emitter->weak);
  GSource *source;
  gboolean due;
  gboolean deferred;
  guint64 ordinal;

  /* A floor that rises from here on has a source of its own. The core keeps values for one emission at a time. */
  ovs_mutex_lock (&emitter->lock);
  source = g_steal_pointer (&emitter->source);
  due = stage != NULL && emitter->stage != NULL && !emitter->emitting;
  if (due)
    emitter->emitting = TRUE;
  else
    emitter->deferred = emitter->emitting;
  ovs_mutex_unlock (&emitter->lock);
  g_clear_pointer (&source, g_source_unref);
  if (!due)
    return G_SOURCE_REMOVE;

  ordinal = ovs_stage_begin_emission (emitter->core);
  if (ordinal != 0)
    {
      g_object_notify_by_pspec ((GObject *) stage, emitter->write_floor);
      g_signal_emit (stage, emitter->sealed, 0, ordinal);
    }
  ovs_stage_end_emission (emitter->core);

  ovs_mutex_lock (&emitter->lock);
  emitter->emitting = FALSE;
  deferred = emitter->deferred;
  emitter->deferred = FALSE;
  ovs_mutex_unlock (&emitter->lock);
  if (deferred)
    floor_risen_cb (emitter);
  return G_SOURCE_REMOVE;
}

/* g_signal_has_handler_pending() would take the class handler of `notify` for one. */
static gboolean
floor_wanted_cb (gpointer user_data)
{
  OvstageEmitter *emitter = user_data;
  gboolean wanted;

  ovs_mutex_lock (&emitter->lock);
  wanted = emitter->stage != NULL
           && (g_signal_handler_find (emitter->stage, G_SIGNAL_MATCH_ID, emitter->sealed, 0, NULL, NULL, NULL) != 0
               || g_signal_handler_find (emitter->stage, G_SIGNAL_MATCH_ID, emitter->notify, 0, NULL, NULL, NULL) != 0);
  ovs_mutex_unlock (&emitter->lock);
  return wanted;
}

OvstageEmitter *
_ovstage_emitter_new (OvstageStage *stage, OvsStage *core, GParamSpec *write_floor, guint sealed)
{
  OvstageEmitter *emitter = g_new0 (OvstageEmitter, 1);

  emitter->refs = 1;
  emitter->context = g_main_context_ref_thread_default ();
  g_weak_ref_init (&emitter->weak, stage);
  emitter->core = core;
  emitter->write_floor = write_floor;
  emitter->sealed = sealed;
  emitter->notify = g_signal_lookup ("notify", G_TYPE_OBJECT);
  ovs_mutex_init (&emitter->lock);
  emitter->stage = stage;
  ovs_stage_set_floor_funcs (core, floor_wanted_cb, floor_risen_cb, emitter_ref (emitter), _ovstage_emitter_unref);
  return emitter;
}
