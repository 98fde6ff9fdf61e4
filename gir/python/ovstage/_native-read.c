/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Read and ReadGroup. */

#include "config.h"

#include "_native-group.h"

/* ReadGroup */

static PyObject *
read_group_new (OvstageReadGroup *group, gboolean from_iterator)
{
  PyovsGroup *self = (PyovsGroup *) pyovs_read_group_type.tp_alloc (&pyovs_read_group_type, 0);

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
pyovs_read_group_new (OvstageReadGroup *group)
{
  return read_group_new (group, TRUE);
}

static void
read_group_dealloc (PyovsGroup *self)
{
  if (!pyovs_group_begin_dealloc (self))
    return;
  PYOVS_KEEPING_ERROR (g_clear_pointer (&self->group, ovstage_read_group_unref));
  Py_TYPE (self)->tp_free (self);
}

PYOVS_GROUP_FUNCTIONS (read_group)
PYOVS_GROUP_GETTER (read_group, is_delete, PyBool_FromLong (ovstage_read_group_is_delete (group)))
PYOVS_GROUP_GETTER (read_group, data_count, PyLong_FromUnsignedLong (ovstage_read_group_get_data_count (group)))
PYOVS_GROUP_GETTER (read_group, has_data_index_map, PyBool_FromLong (ovstage_read_group_has_data_index_map (group)))
PYOVS_GROUP_ROWS_GETTER (read_group, data_rows, ovstage_read_group_dup_data_rows)

static gboolean
check_has_values (OvstageReadGroup *group)
{
  if (!ovstage_read_group_is_delete (group))
    return TRUE;
  PyErr_SetString (PyExc_IndexError, "the group tells of deleted prims, which have neither tensors nor rows");
  return FALSE;
}

static PyObject *
read_group_data_row_index (PyovsGroup *self, PyObject *object)
{
  OvstageReadGroup *group = pyovs_group_get (self);
  guint32 i;

  if (group == NULL || !check_has_values (group) ||
      (group = pyovs_group_get_at (self, object, ovstage_read_group_get_prim_count (group), &i)) == NULL)
    return NULL;
  return PyLong_FromUnsignedLong (ovstage_read_group_data_row_index (group, i));
}

static PyObject *
make_tensor (PyovsGroup *self, PyObject *object, PyTypeObject *type)
{
  OvstageReadGroup *group = pyovs_group_get (self);
  OvstageTensor *tensor;
  guint32 i;

  if (group == NULL || !check_has_values (group) ||
      (group = pyovs_group_get_at (self, object, ovstage_read_group_get_n_tensors (group), &i)) == NULL)
    return NULL;
  tensor = ovstage_read_group_ref_tensor (group, i);
  if (tensor == NULL)
    return pyovs_raise (pyovs.error, OVSTAGE_ERROR_INTERNAL, "the group does not have the tensor it told of");
  return pyovs_tensor_new (type, tensor, TRUE);
}

static PyObject *
read_group_tensor (PyovsGroup *self, PyObject *object)
{
  return make_tensor (self, object, &pyovs_tensor_type);
}

static PyObject *
read_group_array (PyovsGroup *self, PyObject *object)
{
  PyObject *tensor = make_tensor (self, object, &pyovs_managed_tensor_type);
  PyObject *array = tensor != NULL ? pyovs_tensor_to_numpy ((PyovsTensor *) tensor) : NULL;

  Py_XDECREF (tensor);
  return array;
}

static PyObject *
read_group_dlpack (PyovsGroup *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  PyObject *index;
  int readonly = 1;

  if (!pyovs_group_parse_dlpack (args, n_args, names, &index, &readonly))
    return NULL;
  if (!readonly)
    {
      PyErr_SetString (PyExc_BufferError, "readonly: the values of a read group cannot be written");
      return NULL;
    }
  return make_tensor (self, index, &pyovs_managed_tensor_type);
}

/* Of an array attribute: what @ref takes. */
static PyObject *
make_packed (PyovsGroup *self, OvstageTensor *(*ref) (OvstageReadGroup *, GError **))
{
  OvstageReadGroup *group = pyovs_group_get (self);
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
read_group_get_values (PyovsGroup *self, void *closure)
{
  return make_packed (self, ovstage_read_group_ref_values);
}

static PyObject *
read_group_get_offsets (PyovsGroup *self, void *closure)
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
read_group_text (PyovsGroup *self, PyObject *object)
{
  OvstageReadGroup *group = pyovs_group_get (self);
  GError *error = NULL;
  char *text;
  guint32 i;

  if (group == NULL || !check_has_values (group) ||
      (group = pyovs_group_get_at (self, object, ovstage_read_group_get_prim_count (group), &i)) == NULL)
    return NULL;
  text = ovstage_read_group_dup_string (group, i, &error);
  return make_text (text, error);
}

static PyObject *
read_group_texts (PyovsGroup *self, PyObject *unused)
{
  OvstageReadGroup *group = pyovs_group_get (self);
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
pyovs_read_group_release (PyObject *object, PyObject *unused)
{
  PyovsGroup *self = (PyovsGroup *) object;

  g_clear_pointer (&self->group, ovstage_read_group_unref);
  Py_RETURN_NONE;
}

static PyObject *
read_group_exit (PyObject *self, PyObject *args)
{
  return pyovs_read_group_release (self, NULL);
}

static PyObject *
read_group_repr (PyovsGroup *self)
{
  if (self->group == NULL)
    return PyUnicode_FromString ("<ovstage.ReadGroup released>");
  return PyUnicode_FromFormat ("<ovstage.ReadGroup attribute=%llu ordinal=%llu %s=%lu>",
                               (unsigned long long) ovstage_read_group_get_attribute (self->group),
                               (unsigned long long) ovstage_read_group_get_ordinal (self->group),
                               ovstage_read_group_is_delete (self->group) ? "deleted" : "prims",
                               (unsigned long) ovstage_read_group_get_prim_count (self->group));
}

static PyGetSetDef read_group_getset[] = {
  PYOVS_GROUP_GETSETS (read_group),
  PYOVS_GROUP_GETSET (read_group, ordinal, "The newest change among the prims of the group."),
  PYOVS_GROUP_GETSET (read_group, is_delete, "Whether the prims lost the attribute; such a group has no tensors."),
  PYOVS_GROUP_GETSET (read_group, data_count, "How many rows of data the group has."),
  PYOVS_GROUP_GETSET (read_group, has_data_index_map, "Whether prim i has another row of data than row i."),
  PYOVS_GROUP_GETSET (read_group, values,
                      "Of an array attribute: the elements of all prims one behind another, as a ManagedDLTensor for "
                      "np.from_dlpack() and its like."),
  PYOVS_GROUP_GETSET (read_group, offsets,
                      "Where in values, in elements, those of each prim begin, and the last end: a read-only uint64 array "
                      "of prim_count + 1."),
  PYOVS_GROUP_GETSET (read_group, meta, "A ReadGroupMeta: the write floor and the layout generation of the attribute."),
  { NULL },
};

static PyMethodDef read_group_methods[] = {
  PYOVS_GROUP_METHODS (read_group),
  { "array", (PyCFunction) read_group_array, METH_O,
    PyDoc_STR ("array($self, i, /)\n--\n\n"
               "Tensor i as a flat, read-only numpy view of the base elements, rows * lanes of them.\n\n"
               "i: which tensor, below tensor_count. A fixed attribute has one.\n\n"
               "It needs no copy, keeps the data alive after the group and the stage are gone, and cannot be made\n"
               "writable. Its rows are those of the prims in the order of data_rows, and there may be others; of an\n"
               "array attribute, it is what prim i has. Raises IndexError, and BufferError for data on another\n"
               "device, or of a type that numpy does not know.") },
  { "text", (PyCFunction) read_group_text, METH_O,
    PyDoc_STR ("text($self, i, /)\n--\n\n"
               "The text of prim i, where the values are texts: arrays of bytes, in UTF-8.\n\n"
               "i: which prim, below prim_count.") },
  { "texts", (PyCFunction) read_group_texts, METH_NOARGS,
    PyDoc_STR ("texts($self)\n--\n\n"
               "The texts of all prims, as a list of str.") },
  { "dlpack", PYOVS_METHOD (read_group_dlpack), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("dlpack($self, i, *, readonly=True)\n--\n\n"
               "Tensor i for np.from_dlpack() and its like, lanes as one trailing axis: shape (rows, lanes).\n\n"
               "i: which tensor, below tensor_count.\n"
               "readonly: must be True: the values never change.\n\n"
               "Gives a ManagedDLTensor, which keeps the data alive after the group and the stage are gone.") },
  { "release", pyovs_read_group_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\n"
               "Lets the group go. Arrays and tensors taken from it stay valid; the group itself is INVALID_HANDLE.") },
  { NULL },
};

PyTypeObject pyovs_read_group_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.ReadGroup",
  .tp_doc = PyDoc_STR ("The values of one attribute in one data type, for the prims that have it. A context manager.\n\n"
                       "The values never change, and holding them hinders nobody."),
  .tp_basicsize = sizeof (PyovsGroup),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) read_group_dealloc,
  .tp_finalize = pyovs_group_finalize,
  .tp_repr = (reprfunc) read_group_repr,
  .tp_weaklistoffset = offsetof (PyovsGroup, weakrefs),
  .tp_methods = read_group_methods,
  .tp_getset = read_group_getset,
};

/* Read */

static PyObject *
fetch (PyovsOperation *self, gint64 timeout, gboolean from_iterator)
{
  OvstageReadGroup *group;
  GError *error = NULL;

  if (!pyovs_operation_finish (self, timeout))
    return NULL;
  group = ovstage_read_fetch_next ((OvstageRead *) self->op, 0, NULL, &error);
  if (error != NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  /* What gave everything it had needs no release. */
  if (group == NULL)
    self->kept = TRUE;
  return group != NULL ? read_group_new (group, from_iterator) : NULL;
}

static PyObject *
read_fetch_next (PyovsOperation *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  return pyovs_fetch_next (self, args, n_args, names, fetch);
}

static PyObject *
read_next_group (PyovsOperation *self, PyObject *unused)
{
  return pyovs_next_group (self, fetch);
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
  return fetch (self->read, OVSTAGE_TIMEOUT_INFINITE, TRUE);
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
    PyDoc_STR ("fetch_next($self, timeout=-1)\n--\n\n"
               "The next ReadGroup, or None at the end.\n\n"
               "timeout: nanoseconds; 0 polls, TIMEOUT_INFINITE waits for ever.\n\n"
               "The group is to be released, by a with block for example. Raises as wait() does.") },
  { "groups", (PyCFunction) read_groups, METH_NOARGS,
    PyDoc_STR ("groups($self)\n--\n\n"
               "An iterator over the groups that are left. Its groups are released when they are dropped.") },
  { "_next_group", (PyCFunction) read_next_group, METH_NOARGS, NULL },
  { "release", (PyCFunction) pyovs_handle_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\n"
               "Lets the read go. Groups that were fetched stay valid.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) pyovs_handle_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef read_getset[] = {
  { "as_of", (getter) read_get_as_of, NULL,
    PyDoc_STR ("The ordinal up to which the read is complete: where the next range of changes begins. Waits for "
               "the read."), NULL },
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
