/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Watch: who follows the changes of attributes. */

#include "config.h"

#include "_native.h"

/* The library calls in for as long as it likes: the watch may be gone. */
typedef struct
{
  gint refs; /* (atomic) */
  PyovsChanges *self; /* (nullable) lent, of a watch with a callback */
} Target;

struct _PyovsChanges
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstageWatch *watch; /* (owned) */
  Target *target;      /* (owned) */
  PyObject *callback;  /* (owned) (nullable) */
  PyObject *step;      /* (owned) (nullable) the wait of the iterator */
  gboolean kept;       /* cancelled, or made for an iterator, which need not do that */
};

static void
target_unref (gpointer data)
{
  Target *target = data;

  if (g_atomic_int_dec_and_test (&target->refs))
    g_free (target);
}

static PyObject *
new_groups (GPtrArray *groups)
{
  PyObject *list = PyList_New (groups->len);

  for (guint i = 0; list != NULL && i < groups->len; i++)
    {
      PyObject *group = pyovs_read_group_new (ovstage_read_group_ref (groups->pdata[i]));

      if (group == NULL)
        Py_CLEAR (list);
      else
        PyList_SET_ITEM (list, i, group);
    }
  return list;
}

static void
call (PyovsChanges *self, GPtrArray *groups)
{
  PyObject *callback = Py_XNewRef (self->callback), *list, *value = NULL;

  /* It was cancelled by another thread. */
  if (callback == NULL)
    return;
  list = new_groups (groups);
  if (list != NULL)
    value = PyObject_CallFunctionObjArgs (callback, (PyObject *) self, list, NULL);
  if (value == NULL)
    PyErr_WriteUnraisable (callback);
  Py_XDECREF (value);
  Py_XDECREF (list);
  Py_DECREF (callback);
}

static void
changed_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  Target *target = user_data;
  PyGILState_STATE state;

  if (!pyovs_gil_begin (&state))
    return;
  if (target->self != NULL)
    {
      PyovsChanges *self = (PyovsChanges *) Py_NewRef ((PyObject *) target->self);

      call (self, groups);
      Py_DECREF (self);
    }
  pyovs_gil_end (state);
}

PyObject *
pyovs_changes_new (OvstageStage *stage, OvstageQuery *query, const OvstageToken *attributes, gsize n_attributes, PyObject *callback)
{
  PyovsChanges *self = (PyovsChanges *) pyovs_changes_type.tp_alloc (&pyovs_changes_type, 0);
  GError *error = NULL;

  if (self == NULL)
    return NULL;
  self->target = g_new0 (Target, 1);
  self->target->refs = 1;
  self->callback = Py_XNewRef (callback);
  if (callback != NULL)
    {
      self->target->self = self;
      g_atomic_int_inc (&self->target->refs);
    }
  self->watch = ovstage_stage_watch (stage, query, attributes, n_attributes, callback != NULL ? changed_cb : NULL, self->target,
                                     callback != NULL ? target_unref : NULL, &error);
  if (self->watch != NULL)
    return (PyObject *) self;

  if (callback != NULL)
    target_unref (self->target);
  Py_DECREF (self);
  return pyovs_raise_gerror (pyovs.error, error);
}

static PyObject *
changes_cancel (PyovsChanges *self, PyObject *unused)
{
  self->kept = TRUE;
  ovstage_watch_cancel (self->watch);
  Py_CLEAR (self->callback);
  Py_RETURN_NONE;
}

static PyObject *
changes_exit (PyovsChanges *self, PyObject *args)
{
  return changes_cancel (self, NULL);
}

static int
changes_traverse (PyovsChanges *self, visitproc visit, void *arg)
{
  Py_VISIT (self->callback);
  Py_VISIT (self->step);
  return 0;
}

static int
changes_clear (PyovsChanges *self)
{
  Py_CLEAR (self->callback);
  Py_CLEAR (self->step);
  return 0;
}

static void
changes_finalize (PyObject *object)
{
  PyovsChanges *self = (PyovsChanges *) object;

  if (self->watch == NULL || self->kept)
    return;
  self->kept = TRUE;
  pyovs_warn_unreleased (object);
}

static void
changes_dealloc (PyovsChanges *self)
{
  if (PyObject_CallFinalizerFromDealloc ((PyObject *) self) < 0)
    return;
  PyObject_GC_UnTrack (self);
  /* First: who is told that a weak reference went may let another thread in. */
  self->target->self = NULL;
  target_unref (self->target);
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  if (self->watch != NULL)
    {
      ovstage_watch_cancel (self->watch);
      PYOVS_KEEPING_ERROR (g_clear_object (&self->watch));
    }
  changes_clear (self);
  Py_TYPE (self)->tp_free (self);
}

/* For the iterator */

typedef struct
{
  OvstageWatch *watch; /* (owned) */
  PyObject *function;  /* (owned) */
} Next;

static PyObject *
take_error (GError *error)
{
  PyObject *type, *value, *traceback;

  pyovs_raise_gerror (pyovs.error, error);
  PyErr_Fetch (&type, &value, &traceback);
  PyErr_NormalizeException (&type, &value, &traceback);
  Py_XDECREF (type);
  Py_XDECREF (traceback);
  return value;
}

static void
next_done_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Next *next = user_data;
  GError *error = NULL;
  GPtrArray *groups = ovstage_watch_next_finish (next->watch, result, &error);
  PyGILState_STATE state;

  if (pyovs_gil_begin (&state))
    {
      PyObject *told, *value = NULL;

      told = error != NULL ? take_error (error) : groups != NULL ? new_groups (groups) : Py_NewRef (Py_None);
      PYOVS_KEEPING_ERROR (g_clear_pointer (&groups, g_ptr_array_unref));
      if (told != NULL)
        value = PyObject_CallOneArg (next->function, told);
      if (value == NULL)
        PyErr_WriteUnraisable (next->function);
      Py_XDECREF (value);
      Py_XDECREF (told);
      Py_DECREF (next->function);
      pyovs_gil_end (state);
    }
  else
    g_clear_error (&error);
  g_clear_pointer (&groups, g_ptr_array_unref);
  g_object_unref (next->watch);
  g_free (next);
}

static gboolean
begin_next_cb (gpointer user_data)
{
  Next *next = user_data;

  ovstage_watch_next_async (next->watch, G_PRIORITY_DEFAULT, NULL, next_done_cb, next);
  return G_SOURCE_REMOVE;
}

static PyObject *
changes_next (PyovsChanges *self, PyObject *function)
{
  Next *next;

  /* No other thread gets at Python any more, and no stage is open. */
  if (pyovs_is_drained ())
    return PyObject_CallOneArg (function, Py_None);
  next = g_new (Next, 1);
  next->watch = g_object_ref (self->watch);
  next->function = Py_NewRef (function);
  /* Not in the context of who asks, who may never turn it again and leave the wait to somebody elsewhere. */
  pyovs_watch_invoke (begin_next_cb, next);
  Py_RETURN_NONE;
}

static PyObject *
changes_aiter (PyovsChanges *self)
{
  if (self->target->self != NULL)
    {
      PyErr_SetString (PyExc_TypeError, "a watch with a callback cannot be iterated");
      return NULL;
    }
  self->kept = TRUE;
  return Py_NewRef ((PyObject *) self);
}

static PyObject *
changes_anext (PyovsChanges *self)
{
  return PyObject_CallOneArg (pyovs.next_changes, (PyObject *) self);
}

static PyObject *
changes_get_cursor (PyovsChanges *self, void *closure)
{
  return PyLong_FromUnsignedLongLong (ovstage_watch_get_cursor (self->watch));
}

static PyObject *
changes_get_step (PyovsChanges *self, void *closure)
{
  return Py_NewRef (self->step != NULL ? self->step : Py_None);
}

static int
changes_set_step (PyovsChanges *self, PyObject *value, void *closure)
{
  PyObject *old = self->step;

  self->step = value != NULL && value != Py_None ? Py_NewRef (value) : NULL;
  Py_XDECREF (old);
  return 0;
}

static PyMethodDef changes_methods[] = {
  { "cancel", (PyCFunction) changes_cancel, METH_NOARGS,
    PyDoc_STR ("cancel($self)\n--\n\n"
               "Ends the watch: the callback is not called any more, and an iteration ends.") },
  { "_next", (PyCFunction) changes_next, METH_O,
    PyDoc_STR ("Has a function called, in any thread, with the groups that changed next, with None at the end, or with an\n"
               "error.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) changes_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef changes_getset[] = {
  { "cursor", (getter) changes_get_cursor, NULL,
    PyDoc_STR ("The ordinal up to which all changes were told."), NULL },
  { "_step", (getter) changes_get_step, (setter) changes_set_step, NULL, NULL },
  { NULL },
};

static PyAsyncMethods changes_as_async = {
  .am_aiter = (unaryfunc) changes_aiter,
  .am_anext = (unaryfunc) changes_anext,
};

PyTypeObject pyovs_changes_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Watch",
  .tp_doc = PyDoc_STR ("Follows what changes, as it is sealed. A context manager, and without a callback an asynchronous iterator\n"
                       "over lists of ReadGroup, which ends when the watch is cancelled or its stage destroyed.\n\n"
                       "Whoever is slow gets one list for all that was missed. A watch that is dropped ends."),
  .tp_basicsize = sizeof (PyovsChanges),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) changes_dealloc,
  .tp_finalize = changes_finalize,
  .tp_traverse = (traverseproc) changes_traverse,
  .tp_clear = (inquiry) changes_clear,
  .tp_weaklistoffset = offsetof (PyovsChanges, weakrefs),
  .tp_as_async = &changes_as_async,
  .tp_methods = changes_methods,
  .tp_getset = changes_getset,
};
