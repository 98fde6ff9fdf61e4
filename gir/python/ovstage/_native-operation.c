/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Operation, Query, Read and ReadGroup. */

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
               "timeout is in nanoseconds, 0 polls. Not done in time: OvstageError with code TIMEOUT, and nothing changes.") },
  { "error_message", (PyCFunction) operation_error_message, METH_NOARGS,
    PyDoc_STR ("error_message($self)\n--\n\n"
               "Why the operation was refused or failed; \"\" if it was not, or is not done yet.") },
  { "_watch", (PyCFunction) operation_watch, METH_VARARGS,
    PyDoc_STR ("Has a function called once the operation is done: in the thread-default main context, or in any thread.") },
  { NULL },
};

static PyGetSetDef operation_getset[] = {
  { "done", (getter) operation_get_done, NULL, PyDoc_STR ("Whether the operation has ended, well or not."), NULL },
  { "ok", (getter) operation_get_ok, NULL, PyDoc_STR ("Whether nothing went wrong, as far as is known now."), NULL },
  { "status", (getter) operation_get_status, NULL,
    PyDoc_STR ("The ErrorCode of the refusal or failure; OK if there is none, or none yet."), NULL },
  { "op_id", (getter) operation_get_op_id, NULL, PyDoc_STR ("The id of the operation; 0 for a refused one."), NULL },
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

static PyObject *
handle_release (PyovsOperation *self, PyObject *unused)
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

static PyObject *
handle_exit (PyovsOperation *self, PyObject *args)
{
  return handle_release (self, NULL);
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
  { "release", (PyCFunction) handle_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\nLets the query go; what was submitted with it goes on.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) handle_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef query_getset[] = {
  { "prim_count", (getter) query_get_prim_count, NULL, PyDoc_STR ("How many prims the query selects."), NULL },
  { "path_list", (getter) query_get_path_list, NULL, PyDoc_STR ("The prims, as a PathList."), NULL },
  { "attributes", (getter) query_get_attributes, NULL,
    PyDoc_STR ("The attributes that a filter query found on its prims, as tokens; none for a path list."), NULL },
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

/* ReadGroup */

typedef struct
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstageReadGroup *group; /* (owned) (nullable) none: released */
  gboolean from_iterator;
} PyovsGroup;

static PyObject *
group_new (OvstageReadGroup *group, gboolean from_iterator)
{
  PyovsGroup *self = (PyovsGroup *) pyovs_group_type.tp_alloc (&pyovs_group_type, 0);

  if (self == NULL)
    {
      ovstage_read_group_unref (group);
      return NULL;
    }
  self->group = group;
  self->from_iterator = from_iterator;
  return (PyObject *) self;
}

PyObject *
pyovs_group_new (OvstageReadGroup *group)
{
  return group_new (group, TRUE);
}

static void
group_finalize (PyObject *object)
{
  PyovsGroup *self = (PyovsGroup *) object;

  if (self->group == NULL || self->from_iterator)
    return;
  self->from_iterator = TRUE;
  pyovs_warn_unreleased (object);
}

static void
group_dealloc (PyovsGroup *self)
{
  if (self->group != NULL && !self->from_iterator && PyObject_CallFinalizerFromDealloc ((PyObject *) self) < 0)
    return;
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  PYOVS_KEEPING_ERROR (g_clear_pointer (&self->group, ovstage_read_group_unref));
  Py_TYPE (self)->tp_free (self);
}

static OvstageReadGroup *
get_group (PyovsGroup *self)
{
  if (self->group == NULL)
    pyovs_raise (pyovs.error, OVSTAGE_ERROR_INVALID_HANDLE, "the group was released");
  return self->group;
}

#define GROUP_GETTER(name, make) \
  static PyObject * \
  group_get_##name (PyovsGroup *self, void *closure) \
  { \
    OvstageReadGroup *group = get_group (self); \
\
    return group != NULL ? (make) : NULL; \
  }

GROUP_GETTER (attribute, PyLong_FromUnsignedLongLong (ovstage_read_group_get_attribute (group)))
GROUP_GETTER (ordinal, PyLong_FromUnsignedLongLong (ovstage_read_group_get_ordinal (group)))
GROUP_GETTER (is_delete, PyBool_FromLong (ovstage_read_group_is_delete (group)))
GROUP_GETTER (is_array, PyBool_FromLong (ovstage_read_group_is_array (group)))
GROUP_GETTER (semantic, PyObject_CallFunction (pyovs.semantic, "i", (int) ovstage_read_group_get_semantic (group)))
GROUP_GETTER (data_type, PyObject_CallFunction (pyovs.data_type, "iii", ovstage_read_group_get_data_type (group)->code,
                                                ovstage_read_group_get_data_type (group)->bits,
                                                ovstage_read_group_get_data_type (group)->lanes))
GROUP_GETTER (prim_list, pyovs_path_list_new (ovstage_path_list_ref (ovstage_read_group_get_path_list (group))))
GROUP_GETTER (prim_offset, PyLong_FromUnsignedLong (ovstage_read_group_get_prim_offset (group)))
GROUP_GETTER (prim_count, PyLong_FromUnsignedLong (ovstage_read_group_get_prim_count (group)))
GROUP_GETTER (has_prim_index_map, PyBool_FromLong (ovstage_read_group_has_prim_index_map (group)))
GROUP_GETTER (tensor_count, PyLong_FromUnsignedLong (ovstage_read_group_get_n_tensors (group)))
GROUP_GETTER (data_count, PyLong_FromUnsignedLong (ovstage_read_group_get_data_count (group)))
GROUP_GETTER (has_data_index_map, PyBool_FromLong (ovstage_read_group_has_data_index_map (group)))
GROUP_GETTER (meta, PyObject_CallFunction (pyovs.group_meta, "KK",
                                           (unsigned long long) ovstage_read_group_get_write_floor (group),
                                           (unsigned long long) ovstage_read_group_get_layout_generation (group)))

static PyObject *
group_get_prim_indices (PyovsGroup *self, void *closure)
{
  OvstageReadGroup *group = get_group (self);
  guint32 *values;
  gsize n = 0;

  if (group == NULL)
    return NULL;
  values = ovstage_read_group_dup_prim_indices (group, &n);
  return pyovs_numpy_take_uint32 (values != NULL ? values : g_new (guint32, 1), n);
}

static PyObject *
group_get_data_rows (PyovsGroup *self, void *closure)
{
  OvstageReadGroup *group = get_group (self);
  guint32 *values;
  gsize n = 0;

  if (group == NULL)
    return NULL;
  values = ovstage_read_group_dup_data_rows (group, &n);
  return pyovs_numpy_take_uint32 (values != NULL ? values : g_new (guint32, 1), n);
}

static PyObject *
group_prim_index (PyovsGroup *self, PyObject *object)
{
  OvstageReadGroup *group = get_group (self);
  guint32 i;

  if (group == NULL || !pyovs_as_index (object, "i", ovstage_read_group_get_prim_count (group), &i) ||
      (group = get_group (self)) == NULL) /* __index__() may have released it */
    return NULL;
  return PyLong_FromUnsignedLong (ovstage_read_group_prim_index (group, i));
}

static gboolean
check_has_values (OvstageReadGroup *group)
{
  if (!ovstage_read_group_is_delete (group))
    return TRUE;
  PyErr_SetString (PyExc_IndexError, "the group tells of deleted prims, which have neither tensors nor rows");
  return FALSE;
}

static PyObject *
group_data_row_index (PyovsGroup *self, PyObject *object)
{
  OvstageReadGroup *group = get_group (self);
  guint32 i;

  if (group == NULL || !check_has_values (group) || !pyovs_as_index (object, "i", ovstage_read_group_get_prim_count (group), &i) ||
      (group = get_group (self)) == NULL) /* __index__() may have released it */
    return NULL;
  return PyLong_FromUnsignedLong (ovstage_read_group_data_row_index (group, i));
}

static PyObject *
make_tensor (PyovsGroup *self, PyObject *object, PyTypeObject *type)
{
  OvstageReadGroup *group = get_group (self);
  OvstageTensor *tensor;
  guint32 i;

  if (group == NULL || !check_has_values (group) || !pyovs_as_index (object, "i", ovstage_read_group_get_n_tensors (group), &i) ||
      (group = get_group (self)) == NULL) /* __index__() may have released it */
    return NULL;
  tensor = ovstage_read_group_ref_tensor (group, i);
  if (tensor == NULL)
    return pyovs_raise (pyovs.error, OVSTAGE_ERROR_INTERNAL, "the group does not have the tensor it told of");
  return pyovs_tensor_new (type, tensor, TRUE);
}

static PyObject *
group_tensor (PyovsGroup *self, PyObject *object)
{
  return make_tensor (self, object, &pyovs_tensor_type);
}

static PyObject *
group_array (PyovsGroup *self, PyObject *object)
{
  PyObject *tensor = make_tensor (self, object, &pyovs_managed_tensor_type);
  PyObject *array = tensor != NULL ? pyovs_tensor_to_numpy ((PyovsTensor *) tensor) : NULL;

  Py_XDECREF (tensor);
  return array;
}

static PyObject *
group_dlpack (PyovsGroup *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "dlpack", .n_positional = 1, .n_required = 1, .names = { "i", "readonly" }
  };
  PyObject *values[2];
  int readonly = 1;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (values[1] != NULL)
    readonly = PyObject_IsTrue (values[1]);
  if (readonly < 0)
    return NULL;
  if (!readonly)
    {
      PyErr_SetString (PyExc_BufferError, "readonly: the values of a read group cannot be written");
      return NULL;
    }
  return make_tensor (self, values[0], &pyovs_managed_tensor_type);
}

/* Of an array attribute: what @ref takes. */
static PyObject *
make_packed (PyovsGroup *self, OvstageTensor *(*ref) (OvstageReadGroup *, GError **))
{
  OvstageReadGroup *group = get_group (self);
  OvstageTensor *tensor;
  GError *error = NULL;

  if (group == NULL || !check_has_values (group))
    return NULL;
  tensor = ref (group, &error);
  if (tensor == NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  return pyovs_tensor_new (&pyovs_managed_tensor_type, tensor, TRUE);
}

static PyObject *
group_get_values (PyovsGroup *self, void *closure)
{
  return make_packed (self, ovstage_read_group_ref_values);
}

static PyObject *
group_get_offsets (PyovsGroup *self, void *closure)
{
  PyObject *tensor = make_packed (self, ovstage_read_group_ref_offsets);
  PyObject *array = tensor != NULL ? pyovs_tensor_to_numpy ((PyovsTensor *) tensor) : NULL;

  Py_XDECREF (tensor);
  return array;
}

/* Takes @text. */
static PyObject *
make_text (char *text, GError *error)
{
  PyObject *result;

  if (text == NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  result = PyUnicode_FromString (text);
  g_free (text);
  return result;
}

static PyObject *
group_text (PyovsGroup *self, PyObject *object)
{
  OvstageReadGroup *group = get_group (self);
  GError *error = NULL;
  char *text;
  guint32 i;

  if (group == NULL || !check_has_values (group) || !pyovs_as_index (object, "i", ovstage_read_group_get_prim_count (group), &i) ||
      (group = get_group (self)) == NULL) /* __index__() may have released it */
    return NULL;
  text = ovstage_read_group_dup_string (group, i, &error);
  return make_text (text, error);
}

static PyObject *
group_texts (PyovsGroup *self, PyObject *unused)
{
  OvstageReadGroup *group = get_group (self);
  PyObject *texts;
  Py_ssize_t i, n;

  if (group == NULL || !check_has_values (group))
    return NULL;
  n = ovstage_read_group_get_prim_count (group);
  texts = PyList_New (n);
  for (i = 0; texts != NULL && i < n; i++)
    {
      GError *error = NULL;
      char *string = ovstage_read_group_dup_string (group, i, &error);
      PyObject *text = make_text (string, error);

      if (text != NULL)
        PyList_SET_ITEM (texts, i, text);
      else
        Py_CLEAR (texts);
    }
  return texts;
}

PyObject *
pyovs_group_release (PyObject *object, PyObject *unused)
{
  PyovsGroup *self = (PyovsGroup *) object;

  g_clear_pointer (&self->group, ovstage_read_group_unref);
  Py_RETURN_NONE;
}

static PyObject *
group_exit (PyObject *self, PyObject *args)
{
  return pyovs_group_release (self, NULL);
}

static PyObject *
group_repr (PyovsGroup *self)
{
  if (self->group == NULL)
    return PyUnicode_FromString ("<ovstage.ReadGroup released>");
  return PyUnicode_FromFormat ("<ovstage.ReadGroup attribute=%llu ordinal=%llu %s=%lu>",
                               (unsigned long long) ovstage_read_group_get_attribute (self->group),
                               (unsigned long long) ovstage_read_group_get_ordinal (self->group),
                               ovstage_read_group_is_delete (self->group) ? "deleted" : "prims",
                               (unsigned long) ovstage_read_group_get_prim_count (self->group));
}

#define GROUP_GETSET(name, doc) { #name, (getter) group_get_##name, NULL, PyDoc_STR (doc), NULL }

static PyGetSetDef group_getset[] = {
  GROUP_GETSET (attribute, "The attribute, as a token."),
  GROUP_GETSET (ordinal, "The newest change among the prims of the group."),
  GROUP_GETSET (is_delete, "Whether the prims lost the attribute; such a group has no tensors."),
  GROUP_GETSET (is_array, "Whether every prim has an array of its own."),
  GROUP_GETSET (semantic, "What the values mean: an AttributeSemantic."),
  GROUP_GETSET (data_type, "The type of a row: a DLDataType with the tuple width as lanes."),
  GROUP_GETSET (prim_list, "The prims of the query, as a PathList."),
  GROUP_GETSET (prim_offset, "Where the prims of the group begin in prim_list, if there is no index map."),
  GROUP_GETSET (prim_count, "How many prims the group has."),
  GROUP_GETSET (has_prim_index_map, "Whether the prims of the group do not lie side by side in prim_list."),
  GROUP_GETSET (prim_indices, "The entries of prim_list that the prims are, as a read-only uint32 array."),
  GROUP_GETSET (tensor_count, "How many tensors the group has."),
  GROUP_GETSET (data_count, "How many rows of data the group has."),
  GROUP_GETSET (has_data_index_map, "Whether prim i has another row of data than row i."),
  GROUP_GETSET (data_rows, "The rows of data of the prims, as a read-only uint32 array."),
  GROUP_GETSET (values, "Of an array attribute: the elements of all prims one behind another, for np.from_dlpack() and its like."),
  GROUP_GETSET (offsets, "Where the elements of each prim begin in values, and the last end: a read-only uint64 array."),
  GROUP_GETSET (meta, "A ReadGroupMeta: the write floor and the layout generation of the attribute."),
  { NULL },
};

static PyMethodDef group_methods[] = {
  { "prim_index", (PyCFunction) group_prim_index, METH_O,
    PyDoc_STR ("prim_index($self, i, /)\n--\n\nThe entry of prim_list that prim i is, the offset included.") },
  { "data_row_index", (PyCFunction) group_data_row_index, METH_O,
    PyDoc_STR ("data_row_index($self, i, /)\n--\n\nThe row of data of prim i.") },
  { "tensor", (PyCFunction) group_tensor, METH_O,
    PyDoc_STR ("tensor($self, i, /)\n--\n\nTensor i as a DLTensor, with the tuple width as lanes.") },
  { "array", (PyCFunction) group_array, METH_O,
    PyDoc_STR ("array($self, i, /)\n--\n\n"
               "Tensor i as a flat, read-only numpy view of the base elements. It outlives the group.\n"
               "Its rows are those of the prims in the order of data_rows, and there may be others; of an array\n"
               "attribute, it is what prim i has.") },
  { "text", (PyCFunction) group_text, METH_O,
    PyDoc_STR ("text($self, i, /)\n--\n\nThe text of prim i, where the values are texts: arrays of bytes, in UTF-8.") },
  { "texts", (PyCFunction) group_texts, METH_NOARGS,
    PyDoc_STR ("texts($self)\n--\n\nThe texts of all prims, as a list.") },
  { "dlpack", PYOVS_METHOD (group_dlpack), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("dlpack($self, i, *, readonly=True)\n--\n\n"
               "Tensor i for np.from_dlpack() and its like, lanes as one trailing axis. It outlives the group.") },
  { "release", pyovs_group_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\nLets the group go. Arrays and tensors taken from it stay valid.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", group_exit, METH_VARARGS, NULL },
  { NULL },
};

PyTypeObject pyovs_group_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.ReadGroup",
  .tp_doc = PyDoc_STR ("The values of one attribute in one data type, for the prims that have it. A context manager.\n\n"
                       "The values never change, and holding them hinders nobody."),
  .tp_basicsize = sizeof (PyovsGroup),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) group_dealloc,
  .tp_finalize = group_finalize,
  .tp_repr = (reprfunc) group_repr,
  .tp_weaklistoffset = offsetof (PyovsGroup, weakrefs),
  .tp_methods = group_methods,
  .tp_getset = group_getset,
};

/* Read */

/* -1 with a Python error, 0 at the end, 1 with a group. */
static int
fetch (PyovsOperation *self, gint64 timeout, OvstageReadGroup **group)
{
  GError *error = NULL;

  *group = NULL;
  if (!pyovs_operation_finish (self, timeout))
    return -1;
  *group = ovstage_read_fetch_next ((OvstageRead *) self->op, 0, NULL, &error);
  if (error != NULL)
    {
      pyovs_raise_gerror (pyovs.error, error);
      return -1;
    }
  /* What gave everything it had needs no release. */
  if (*group == NULL)
    self->kept = TRUE;
  return *group != NULL;
}

static PyObject *
read_fetch_next (PyovsOperation *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "fetch_next", .n_positional = 1, .names = { "timeout" }
  };
  PyObject *values[1];
  OvstageReadGroup *group;
  gint64 timeout;
  int found;

  if (!pyovs_parse (&signature, args, n_args, names, values) || !pyovs_as_timeout (values[0], &timeout))
    return NULL;
  found = fetch (self, timeout, &group);
  if (found < 0)
    return NULL;
  if (found == 0)
    Py_RETURN_NONE;
  return group_new (group, FALSE);
}

/* For iterators. */
static PyObject *
read_next_group (PyovsOperation *self, PyObject *unused)
{
  OvstageReadGroup *group;
  int found = fetch (self, OVSTAGE_TIMEOUT_INFINITE, &group);

  if (found < 0)
    return NULL;
  if (found == 0)
    Py_RETURN_NONE;
  return group_new (group, TRUE);
}

static PyObject *
read_get_as_of (PyovsOperation *self, void *closure)
{
  if (!pyovs_operation_finish (self, OVSTAGE_TIMEOUT_INFINITE))
    return NULL;
  return PyLong_FromUnsignedLongLong (ovstage_read_get_as_of ((OvstageRead *) self->op));
}

typedef struct
{
  PyObject_HEAD
  PyovsOperation *read; /* (owned) */
} PyovsGroupIterator;

static void
group_iterator_dealloc (PyovsGroupIterator *self)
{
  Py_XDECREF (self->read);
  Py_TYPE (self)->tp_free (self);
}

static PyObject *
group_iterator_next (PyovsGroupIterator *self)
{
  OvstageReadGroup *group;

  return fetch (self->read, OVSTAGE_TIMEOUT_INFINITE, &group) == 1 ? group_new (group, TRUE) : NULL;
}

PyTypeObject pyovs_group_iterator_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage._GroupIterator",
  .tp_basicsize = sizeof (PyovsGroupIterator),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) group_iterator_dealloc,
  .tp_iter = PyObject_SelfIter,
  .tp_iternext = (iternextfunc) group_iterator_next,
};

static PyObject *
read_groups (PyovsOperation *self, PyObject *unused)
{
  PyovsGroupIterator *iterator =
    (PyovsGroupIterator *) pyovs_group_iterator_type.tp_alloc (&pyovs_group_iterator_type, 0);

  if (iterator == NULL)
    return NULL;
  iterator->read = (PyovsOperation *) Py_NewRef ((PyObject *) self);
  self->kept = TRUE;
  return (PyObject *) iterator;
}

static PyObject *
read_aiter (PyovsOperation *self)
{
  self->kept = TRUE;
  return PyObject_CallOneArg (pyovs.group_iterator, (PyObject *) self);
}

static PyAsyncMethods read_as_async = {
  .am_await = pyovs_operation_await,
  .am_aiter = (unaryfunc) read_aiter,
};

static PyMethodDef read_methods[] = {
  { "fetch_next", PYOVS_METHOD (read_fetch_next), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("fetch_next($self, timeout=-1)\n--\n\nThe next ReadGroup, or None at the end. Raises as wait() does.") },
  { "groups", (PyCFunction) read_groups, METH_NOARGS,
    PyDoc_STR ("groups($self)\n--\n\n"
               "An iterator over the groups that are left. Its groups are released when they are dropped.") },
  { "_next_group", (PyCFunction) read_next_group, METH_NOARGS, NULL },
  { "release", (PyCFunction) handle_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\nLets the read go. Groups that were fetched stay valid.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) handle_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef read_getset[] = {
  { "as_of", (getter) read_get_as_of, NULL,
    PyDoc_STR ("The ordinal up to which the read is complete. Waits for the read."), NULL },
  { NULL },
};

PyTypeObject pyovs_read_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Read",
  .tp_doc = PyDoc_STR ("A read of attributes, fetched group by group. A context manager and an asynchronous iterator."),
  .tp_basicsize = sizeof (PyovsOperation),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_base = &pyovs_operation_type,
  .tp_as_async = &read_as_async,
  .tp_dealloc = (destructor) pyovs_operation_dealloc,
  .tp_finalize = pyovs_handle_finalize,
  .tp_methods = read_methods,
  .tp_getset = read_getset,
};
