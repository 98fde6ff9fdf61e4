/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Operation and Query. */

#include "config.h"

#include "_native.h"

#include <string.h>

/* Operation */

PyObject *
pyovs_operation_new (PyTypeObject *type, gpointer op)
{
  PyovsOperation *self = (PyovsOperation *) type->tp_alloc (type, 0);

  if (self == NULL)
    {
      g_object_unref (op);
      return NULL;
    }
  self->op = op;
  return (PyObject *) self;
}

PyObject *
pyovs_operation_new_refused (PyTypeObject *type, PyovsRefusal *refusal)
{
  PyovsOperation *self = (PyovsOperation *) type->tp_alloc (type, 0);

  if (self == NULL)
    {
      g_free (refusal->message);
      return NULL;
    }
  self->refused = refusal->code;
  self->message = refusal->message;
  return (PyObject *) self;
}

void
pyovs_warn_unreleased (PyObject *self)
{
  PyObject *type, *value, *traceback;

  PyErr_Fetch (&type, &value, &traceback);
  if (PyErr_ResourceWarning (self, 1, "unreleased %R", self) < 0)
    PyErr_WriteUnraisable (self);
  PyErr_Restore (type, value, traceback);
}

/* Reads and queries are released; operations just go, and so does what failed. */
static gboolean
needs_release (PyovsOperation *self)
{
  return self->op != NULL && !self->kept && Py_TYPE (self)->tp_finalize != NULL &&
         !(ovstage_operation_is_done (self->op) && ovstage_operation_get_error (self->op) != NULL);
}

void
pyovs_handle_finalize (PyObject *object)
{
  PyovsOperation *self = (PyovsOperation *) object;

  if (!needs_release (self))
    return;
  /* The warning may keep the object for a while: it is given once. */
  self->kept = TRUE;
  pyovs_warn_unreleased (object);
}

void
pyovs_operation_dealloc (PyovsOperation *self)
{
  if (needs_release (self) && PyObject_CallFinalizerFromDealloc ((PyObject *) self) < 0)
    return;
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  PYOVS_KEEPING_ERROR (g_clear_object (&self->op));
  g_free (self->message);
  Py_TYPE (self)->tp_free (self);
}

/* The code and text it ended with; 0: well, or not yet. */
static int
get_failure (PyovsOperation *self, const char **message)
{
  const GError *error;

  if (self->released)
    {
      *message = "the object was released";
      return OVSTAGE_ERROR_INVALID_HANDLE;
    }
  if (self->op == NULL)
    {
      *message = self->message;
      return self->refused;
    }
  if (!ovstage_operation_is_done (self->op))
    return 0;
  error = ovstage_operation_get_error (self->op);
  if (error == NULL)
    return 0;
  *message = pyovs_error_text (error);
  return pyovs_error_code (error);
}

static gboolean
is_done (PyovsOperation *self)
{
  return self->op == NULL || ovstage_operation_is_done (self->op);
}

int
pyovs_wait (OvstageOperation *op, gint64 timeout)
{
  gint64 end = timeout > 0 ? g_get_monotonic_time () * 1000 : 0;

  if (timeout > 0 && __builtin_add_overflow (end, timeout, &end))
    timeout = OVSTAGE_TIMEOUT_INFINITE;
  /* The waiting operation may be released by another thread meanwhile. */
  g_object_ref (op);
  while (!ovstage_operation_is_done (op))
    {
      gint64 slice = PYOVS_SLICE;
      gboolean last = FALSE;
      GError *error = NULL;

      if (timeout >= 0)
        {
          gint64 left = timeout > 0 ? MAX (end - g_get_monotonic_time () * 1000, 0) : 0;

          last = left <= slice;
          slice = MIN (left, slice);
        }
      if (slice == 0)
        ovstage_operation_wait (op, 0, NULL, &error);
      else
        {
          Py_BEGIN_ALLOW_THREADS
          ovstage_operation_wait (op, slice, NULL, &error);
          Py_END_ALLOW_THREADS
        }
      if (ovstage_operation_is_done (op))
        {
          g_clear_error (&error);
          break;
        }
      if (error != NULL && !g_error_matches (error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT))
        {
          /* The wait was refused, as in a thread that must not wait. */
          pyovs_raise_gerror (pyovs.error, error);
          g_object_unref (op);
          return -1;
        }
      g_clear_error (&error);
      if (PyErr_CheckSignals () < 0)
        {
          g_object_unref (op);
          return -1;
        }
      if (last)
        {
          g_object_unref (op);
          return 0;
        }
    }
  g_object_unref (op);
  return 1;
}

static void
raise_timeout (OvstageOperation *op)
{
  char *message = g_strdup_printf ("operation %" G_GUINT64_FORMAT " is not done yet; lowest pending operation: %" G_GUINT64_FORMAT,
                                   ovstage_operation_get_id (op), ovstage_operation_get_lowest_pending_id (op));

  pyovs_raise (pyovs.error, OVSTAGE_ERROR_TIMEOUT, message);
  g_free (message);
}

/* Waits and raises what the operation ended with. */
gboolean
pyovs_operation_finish (PyovsOperation *self, gint64 timeout)
{
  const char *message;
  int code;

  if (!is_done (self))
    {
      OvstageOperation *op = g_object_ref (self->op);
      int waited = pyovs_wait (op, timeout);

      if (waited == 0)
        raise_timeout (op);
      g_object_unref (op);
      if (waited <= 0)
        return FALSE;
    }
  code = get_failure (self, &message);
  if (code != 0)
    pyovs_raise (pyovs.error, code, message);
  return code == 0;
}

static PyObject *
operation_wait (PyovsOperation *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "wait", .n_positional = 1, .names = { "timeout" }
  };
  PyObject *values[1];
  gint64 timeout;

  if (!pyovs_parse (&signature, args, n_args, names, values) || !pyovs_as_timeout (values[0], &timeout) ||
      !pyovs_operation_finish (self, timeout))
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *
operation_error_message (PyovsOperation *self, PyObject *unused)
{
  const char *message = "";

  if (get_failure (self, &message) == 0)
    message = "";
  return PyUnicode_DecodeUTF8 (message, strlen (message), "replace");
}

static PyObject *
operation_cancel (PyovsOperation *self, PyObject *unused)
{
  OvstageOperation *op;
  gboolean withdrawn;

  if (self->op == NULL)
    Py_RETURN_FALSE;
  op = g_object_ref (self->op);
  Py_BEGIN_ALLOW_THREADS
  withdrawn = ovstage_operation_cancel (op);
  g_object_unref (op);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong (withdrawn);
}

static PyObject *
operation_watch (PyovsOperation *self, PyObject *args)
{
  PyObject *function;
  int in_this_context;

  if (!PyArg_ParseTuple (args, "Op", &function, &in_this_context))
    return NULL;
  if (self->op == NULL)
    return PyObject_CallNoArgs (function);
  return pyovs_watch (self->op, function, in_this_context);
}

PyObject *
pyovs_operation_await (PyObject *self)
{
  return PyObject_CallOneArg (pyovs.async_wait, self);
}

static PyObject *
operation_get_done (PyovsOperation *self, void *closure)
{
  return PyBool_FromLong (is_done (self));
}

static PyObject *
operation_get_ok (PyovsOperation *self, void *closure)
{
  const char *message;

  return PyBool_FromLong (get_failure (self, &message) == 0);
}

static PyObject *
operation_get_status (PyovsOperation *self, void *closure)
{
  const char *message;

  return pyovs_code (get_failure (self, &message));
}

static PyObject *
operation_get_op_id (PyovsOperation *self, void *closure)
{
  return PyLong_FromUnsignedLongLong (self->op != NULL ? ovstage_operation_get_id (self->op) : 0);
}

static PyObject *
operation_repr (PyovsOperation *self)
{
  const char *message;
  int code = get_failure (self, &message);

  if (self->released)
    return PyUnicode_FromFormat ("<%s released>", Py_TYPE (self)->tp_name);
  if (code != 0)
    return PyUnicode_FromFormat ("<%s failed: %s>", Py_TYPE (self)->tp_name, message);
  return PyUnicode_FromFormat ("<%s id=%llu %s>", Py_TYPE (self)->tp_name,
                               (unsigned long long) ovstage_operation_get_id (self->op), is_done (self) ? "done" : "pending");
}

static PyMethodDef operation_methods[] = {
  { "wait", PYOVS_METHOD (operation_wait), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("wait($self, timeout=-1)\n--\n\n"
               "Waits until the operation is done; raises OvstageError if it was refused or failed.\n\n"
               "timeout: nanoseconds; 0 polls, TIMEOUT_INFINITE waits for ever. Not done in time: OvstageError with\n"
               "  the code TIMEOUT, and nothing changes.\n\n"
               "Waiting again gives the same. It can be interrupted by Ctrl-C.") },
  { "error_message", (PyCFunction) operation_error_message, METH_NOARGS,
    PyDoc_STR ("error_message($self)\n--\n\n"
               "Why the operation was refused or failed; \"\" if it was not, or is not done yet.") },
  { "cancel", (PyCFunction) operation_cancel, METH_NOARGS,
    PyDoc_STR ("cancel($self)\n--\n\n"
               "Withdraws the operation if it has not begun: one whose prims are not known yet, or an advance that waits. True if it did.\n\n"
               "It is then as if it had never been submitted: its status is OP_FAILED, and what depends on it fails. One that has "
               "begun completes.") },
  { "_watch", (PyCFunction) operation_watch, METH_VARARGS,
    PyDoc_STR ("Has a function called once the operation is done: in the thread-default main context, or in any thread.") },
  { NULL },
};

static PyGetSetDef operation_getset[] = {
  { "done", (getter) operation_get_done, NULL, PyDoc_STR ("Whether the operation has ended, well or not."), NULL },
  { "ok", (getter) operation_get_ok, NULL, PyDoc_STR ("Whether nothing went wrong, as far as is known now."), NULL },
  { "status", (getter) operation_get_status, NULL,
    PyDoc_STR ("The ErrorCode of the refusal or failure; OK if there is none, or none yet."), NULL },
  { "op_id", (getter) operation_get_op_id, NULL,
    PyDoc_STR ("The id of the operation, for Stage.wait_op(): ids rise. 0 for a refused one."), NULL },
  { NULL },
};

static PyAsyncMethods operation_as_async = {
  .am_await = pyovs_operation_await,
};

PyTypeObject pyovs_operation_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Operation",
  .tp_doc = PyDoc_STR ("One submitted request. It can be waited for, polled and awaited; dropping it lets it run.\n\n"
                       "Awaiting gives the operation itself, or raises as wait() does."),
  .tp_basicsize = sizeof (PyovsOperation),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) pyovs_operation_dealloc,
  .tp_repr = (reprfunc) operation_repr,
  .tp_as_async = &operation_as_async,
  .tp_weaklistoffset = offsetof (PyovsOperation, weakrefs),
  .tp_methods = operation_methods,
  .tp_getset = operation_getset,
};

/* What queries and reads share */

PyObject *
pyovs_handle_release (PyovsOperation *self, PyObject *unused)
{
  self->released = TRUE;
  g_clear_object (&self->op);
  Py_RETURN_NONE;
}

PyObject *
pyovs_handle_enter (PyObject *self, PyObject *unused)
{
  return Py_NewRef (self);
}

PyObject *
pyovs_handle_exit (PyovsOperation *self, PyObject *args)
{
  return pyovs_handle_release (self, NULL);
}

/* Query */

OvstageQuery *
pyovs_query_get (PyovsOperation *self, PyovsRefusal *refusal)
{
  if (self->released)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_HANDLE, "query: it was released");
  else if (self->op == NULL)
    pyovs_refuse (refusal, OVSTAGE_ERROR_OP_FAILED, "query: it was refused: %s", self->message);
  return (OvstageQuery *) self->op;
}

static PyObject *
query_get_prim_count (PyovsOperation *self, void *closure)
{
  if (!pyovs_operation_finish (self, OVSTAGE_TIMEOUT_INFINITE))
    return NULL;
  return PyLong_FromUnsignedLong (ovstage_query_get_prim_count ((OvstageQuery *) self->op));
}

static PyObject *
query_get_path_list (PyovsOperation *self, void *closure)
{
  OvstagePathList *list;

  if (!pyovs_operation_finish (self, OVSTAGE_TIMEOUT_INFINITE))
    return NULL;
  list = ovstage_query_ref_path_list ((OvstageQuery *) self->op);
  return list != NULL ? pyovs_path_list_new (list) : pyovs_raise (pyovs.error, OVSTAGE_ERROR_INTERNAL, "the query has no paths");
}

static PyObject *
query_get_attributes (PyovsOperation *self, void *closure)
{
  g_autofree guint64 *tokens = NULL;
  PyObject *tuple;
  gsize n;

  if (!pyovs_operation_finish (self, OVSTAGE_TIMEOUT_INFINITE))
    return NULL;
  tokens = ovstage_query_dup_attributes ((OvstageQuery *) self->op, &n);
  tuple = PyTuple_New ((Py_ssize_t) n);
  for (gsize i = 0; tuple != NULL && i < n; i++)
    {
      PyObject *token = PyLong_FromUnsignedLongLong (tokens[i]);

      if (token == NULL)
        Py_CLEAR (tuple);
      else
        PyTuple_SET_ITEM (tuple, (Py_ssize_t) i, token);
    }
  return tuple;
}

static PyMethodDef query_methods[] = {
  { "release", (PyCFunction) pyovs_handle_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\n"
               "Lets the query go; what was submitted with it goes on. Using it later is INVALID_HANDLE.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) pyovs_handle_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef query_getset[] = {
  { "prim_count", (getter) query_get_prim_count, NULL,
    PyDoc_STR ("How many prims the query selects. Waits for it, and raises what it ended with."), NULL },
  { "path_list", (getter) query_get_path_list, NULL,
    PyDoc_STR ("The prims in order, as a PathList. Waits as prim_count does."), NULL },
  { "attributes", (getter) query_get_attributes, NULL,
    PyDoc_STR ("The attributes that a filter query found on its prims, a tuple of tokens; () for a path list. "
               "Waits as prim_count does."), NULL },
  { NULL },
};

PyTypeObject pyovs_query_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Query",
  .tp_doc = PyDoc_STR ("A set of prims: what writes and reads are about. A context manager."),
  .tp_basicsize = sizeof (PyovsOperation),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_base = &pyovs_operation_type,
  .tp_dealloc = (destructor) pyovs_operation_dealloc,
  .tp_finalize = pyovs_handle_finalize,
  .tp_methods = query_methods,
  .tp_getset = query_getset,
};
