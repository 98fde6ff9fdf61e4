/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Completion callbacks into Python.
 *
 * The library completes waits in a main context. asyncio runs none, so a thread
 * of the package, started on first use, runs one and calls back from there; it
 * holds the GIL for the length of a callback only. A coroutine of ovstage.glib is
 * called back in the main context it runs in; who awaits a watch there, by way of
 * that thread. */

#include "config.h"

#include "_native.h"

typedef struct
{
  OvstageOperation *op; /* (owned) */
  PyObject *function;   /* (owned) */
} Watch;

static GMainContext *watch_context; /* (owned) (nullable) */
static GMainLoop *watch_loop;       /* (owned) (nullable) */
static GThread *watch_thread;       /* (owned) (nullable) */

static void
watch_done_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Watch *watch = user_data;
  PyGILState_STATE state;

  /* How it went is asked of the operation by whoever awaits it. */
  ovstage_operation_wait_finish (watch->op, result, NULL);
  if (pyovs_gil_begin (&state))
    {
      PyObject *value = PyObject_CallNoArgs (watch->function);

      if (value == NULL)
        PyErr_WriteUnraisable (watch->function);
      Py_XDECREF (value);
      Py_DECREF (watch->function);
      pyovs_gil_end (state);
    }
  g_object_unref (watch->op);
  g_free (watch);
}

static gboolean
begin_watch_cb (gpointer user_data)
{
  Watch *watch = user_data;

  ovstage_operation_wait_async (watch->op, G_PRIORITY_DEFAULT, NULL, watch_done_cb, watch);
  return G_SOURCE_REMOVE;
}

static gpointer
run_watch_thread (gpointer data)
{
  GMainLoop *loop = data;
  GMainContext *context = g_main_loop_get_context (loop);

  g_main_context_push_thread_default (context);
  g_main_loop_run (loop);
  g_main_context_pop_thread_default (context);
  return NULL;
}

void
pyovs_watch_invoke (GSourceFunc func, gpointer user_data)
{
  GSource *source;

  if (watch_thread == NULL)
    {
      watch_context = g_main_context_new ();
      watch_loop = g_main_loop_new (watch_context, FALSE);
      watch_thread = g_thread_new ("ovstage-await", run_watch_thread, watch_loop);
    }
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, func, user_data, NULL);
  g_source_attach (source, watch_context);
  g_source_unref (source);
}

PyObject *
pyovs_watch (OvstageOperation *op, PyObject *function, gboolean in_this_context)
{
  Watch *watch;

  /* No other thread gets at Python any more: this one waits itself. */
  if (!in_this_context && pyovs_is_drained ())
    return pyovs_wait (op, OVSTAGE_TIMEOUT_INFINITE) < 0 ? NULL : PyObject_CallNoArgs (function);

  watch = g_new (Watch, 1);
  watch->op = g_object_ref (op);
  watch->function = Py_NewRef (function);
  if (in_this_context)
    {
      begin_watch_cb (watch);
    }
  else
    {
      pyovs_watch_invoke (begin_watch_cb, watch);
    }
  Py_RETURN_NONE;
}

static gboolean
invoke_cb (gpointer user_data)
{
  PyGILState_STATE state;

  if (pyovs_gil_begin (&state))
    {
      PyObject *value = PyObject_CallNoArgs (user_data);

      if (value == NULL)
        PyErr_WriteUnraisable (user_data);
      Py_XDECREF (value);
      pyovs_gil_end (state);
    }
  return G_SOURCE_REMOVE;
}

static void
drop_function (gpointer data)
{
  PyGILState_STATE state;

  if (!pyovs_gil_begin (&state))
    return;
  PYOVS_KEEPING_ERROR (Py_DECREF ((PyObject *) data));
  pyovs_gil_end (state);
}

static void
free_context (PyObject *capsule)
{
  g_main_context_unref (PyCapsule_GetPointer (capsule, NULL));
}

PyObject *
pyovs_ref_context (PyObject *module, PyObject *unused)
{
  GMainContext *context = g_main_context_ref_thread_default ();
  PyObject *capsule = PyCapsule_New (context, NULL, free_context);

  if (capsule == NULL)
    g_main_context_unref (context);
  return capsule;
}

PyObject *
pyovs_invoke (PyObject *module, PyObject *args)
{
  PyObject *capsule, *function;
  GMainContext *context;
  GSource *source;

  if (!PyArg_ParseTuple (args, "OO", &capsule, &function))
    return NULL;
  context = PyCapsule_GetPointer (capsule, NULL);
  if (context == NULL)
    return NULL;
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, invoke_cb, Py_NewRef (function), drop_function);
  g_source_attach (source, context);
  g_source_unref (source);
  Py_RETURN_NONE;
}

static gboolean
quit_watch_cb (gpointer user_data)
{
  g_main_loop_quit (user_data);
  return G_SOURCE_REMOVE;
}

void
pyovs_watch_stop (void)
{
  GThread *thread = g_steal_pointer (&watch_thread);
  GMainContext *context = g_steal_pointer (&watch_context);
  GMainLoop *loop = g_steal_pointer (&watch_loop);
  GSource *source;

  if (thread == NULL)
    return;
  /* A source rather than a plain quit, which a loop that has not begun would not see. Of low priority, so that
   * the callbacks of stages that were just closed come first. */
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_LOW);
  g_source_set_callback (source, quit_watch_cb, loop, NULL);
  g_source_attach (source, context);
  g_source_unref (source);
  Py_BEGIN_ALLOW_THREADS
  g_thread_join (thread);
  Py_END_ALLOW_THREADS
  g_main_loop_unref (loop);
  g_main_context_unref (context);
}

static gboolean
tick_cb (gpointer user_data)
{
  return G_SOURCE_CONTINUE;
}

PyObject *
pyovs_iterate (PyObject *module, PyObject *unused)
{
  GMainContext *context = g_main_context_ref_thread_default ();
  GSource *tick = g_timeout_source_new (PYOVS_SLICE / 1000000);

  g_source_set_callback (tick, tick_cb, NULL, NULL);
  g_source_attach (tick, context);
  Py_BEGIN_ALLOW_THREADS
  g_main_context_iteration (context, TRUE);
  Py_END_ALLOW_THREADS
  g_source_destroy (tick);
  g_source_unref (tick);
  g_main_context_unref (context);
  if (PyErr_CheckSignals () < 0)
    return NULL;
  Py_RETURN_NONE;
}
