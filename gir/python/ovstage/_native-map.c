/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Map and MapGroup.
 *
 * What Python has of a group's memory, arrays and tensors, is noted in a list of weak
 * references that the group and its map share: once the memory is the stage's, these
 * are made read-only. */

#include "config.h"

#include "_native-group.h"

/* MapGroup */

typedef struct
{
  PyovsGroup base;
  PyObject *made; /* (owned) list of weak references */
} PyovsMapGroup;

#define LEAST_MADE 64

static PyObject *
map_group_new (OvstageMapGroup *group, PyObject *made, gboolean from_iterator)
{
  PyovsMapGroup *self = (PyovsMapGroup *) pyovs_map_group_type.tp_alloc (&pyovs_map_group_type, 0);

  if (self == NULL)
    {
      ovstage_map_group_unref (group);
      return NULL;
    }
  self->base.group = group;
  self->base.from_iterator = from_iterator;
  self->made = Py_NewRef (made);
  return (PyObject *) self;
}

/* A new reference, or NULL: gone. */
static PyObject *
get_made (PyObject *made, Py_ssize_t i)
{
#if PY_VERSION_HEX >= 0x030d0000
  PyObject *object;

  return PyWeakref_GetRef (PyList_GET_ITEM (made, i), &object) == 1 ? object : NULL;
#else
  PyObject *object = PyWeakref_GetObject (PyList_GET_ITEM (made, i));

  return object != Py_None ? Py_NewRef (object) : NULL;
#endif
}

/* Forgets what is gone. */
static int
prune (PyObject *made)
{
  Py_ssize_t from, to = 0, n = PyList_GET_SIZE (made);

  for (from = 0; from < n; from++)
    {
      PyObject *object = get_made (made, from);

      if (object != NULL && PyList_SetItem (made, to++, Py_NewRef (PyList_GET_ITEM (made, from))) < 0)
        {
          Py_DECREF (object);
          return -1;
        }
      Py_XDECREF (object);
    }
  return PyList_SetSlice (made, to, n, NULL);
}

/* Takes @object; gives it. */
static PyObject *
note_made (PyovsMapGroup *self, PyObject *object)
{
  PyObject *reference = object != NULL ? PyWeakref_NewRef (object, NULL) : NULL;
  Py_ssize_t n = PyList_GET_SIZE (self->made);

  /* At each power of two. */
  if (reference == NULL || (n >= LEAST_MADE && (n & (n - 1)) == 0 && prune (self->made) < 0) ||
      PyList_Append (self->made, reference) < 0)
    Py_CLEAR (object);
  Py_XDECREF (reference);
  return object;
}

static int
make_read_only (PyObject *object)
{
  PyObject *flags;
  int result;

  if (PyObject_TypeCheck (object, &pyovs_tensor_type))
    {
      ((PyovsTensor *) object)->read_only = TRUE;
      return 0;
    }
  flags = PyObject_GetAttrString (object, "flags");
  if (flags == NULL)
    return -1;
  result = PyObject_SetAttrString (flags, "writeable", Py_False);
  Py_DECREF (flags);
  return result;
}

/* Keeps a Python error that is set. */
static void
freeze (PyObject *made)
{
  PyObject *type, *value, *traceback;
  Py_ssize_t i;

  PyErr_Fetch (&type, &value, &traceback);
  for (i = 0; i < PyList_GET_SIZE (made); i++)
    {
      PyObject *object = get_made (made, i);

      if (object != NULL && make_read_only (object) < 0)
        PyErr_WriteUnraisable (object);
      Py_XDECREF (object);
    }
  if (PyList_SetSlice (made, 0, PyList_GET_SIZE (made), NULL) < 0)
    PyErr_Clear ();
  PyErr_Restore (type, value, traceback);
}

static void
map_group_finalize (PyObject *object)
{
  OvstageMapGroup *group = ((PyovsGroup *) object)->group;

  if (group != NULL && ovstage_map_group_is_writable (group))
    pyovs_group_finalize (object);
}

static void
map_group_dealloc (PyovsMapGroup *self)
{
  if (!pyovs_group_begin_dealloc (&self->base))
    return;
  g_clear_pointer (&self->base.group, ovstage_map_group_unref);
  Py_CLEAR (self->made);
  Py_TYPE (self)->tp_free (self);
}

PYOVS_GROUP_FUNCTIONS (map_group)
PYOVS_GROUP_GETTER (map_group, is_delete, Py_NewRef (Py_False))
PYOVS_GROUP_GETTER (map_group, has_data_index_map, Py_NewRef (Py_False))

static PyObject *
map_group_get_data_rows (PyovsGroup *self, void *closure)
{
  OvstageMapGroup *group = pyovs_group_get (self);
  guint32 *values, n, i;

  if (group == NULL)
    return NULL;
  n = ovstage_map_group_get_prim_count (group);
  values = g_new (guint32, MAX (n, 1));
  for (i = 0; i < n; i++)
    values[i] = i;
  return pyovs_numpy_take_uint32 (values, n);
}

static PyObject *
map_group_data_row_index (PyovsGroup *self, PyObject *object)
{
  OvstageMapGroup *group = pyovs_group_get (self);
  guint32 i;

  if (group == NULL || !pyovs_as_index (object, "i", ovstage_map_group_get_prim_count (group), &i))
    return NULL;
  return PyLong_FromUnsignedLong (i);
}

static PyObject *
make_tensor (PyovsMapGroup *self, PyObject *object, PyTypeObject *type, gboolean read_only)
{
  OvstageMapGroup *group = pyovs_group_get (&self->base);
  OvstageTensor *tensor;
  PyObject *result;
  guint32 i;

  if (group == NULL || (group = pyovs_group_get_at (&self->base, object, ovstage_map_group_get_n_tensors (group), &i)) == NULL)
    return NULL;
  tensor = ovstage_map_group_ref_tensor (group, i);
  if (tensor == NULL)
    return pyovs_raise (pyovs.error, OVSTAGE_ERROR_INVALID_HANDLE, "the group was discarded");
  read_only = read_only || ovstage_tensor_is_read_only (tensor);
  result = pyovs_tensor_new (type, tensor, read_only);
  return read_only ? result : note_made (self, result);
}

static PyObject *
map_group_tensor (PyovsMapGroup *self, PyObject *object)
{
  return make_tensor (self, object, &pyovs_tensor_type, FALSE);
}

static PyObject *
map_group_array (PyovsMapGroup *self, PyObject *object)
{
  PyObject *tensor = make_tensor (self, object, &pyovs_managed_tensor_type, FALSE);
  PyObject *array = tensor != NULL ? pyovs_tensor_to_numpy ((PyovsTensor *) tensor) : NULL;

  if (array != NULL && !((PyovsTensor *) tensor)->read_only)
    array = note_made (self, array);
  Py_XDECREF (tensor);
  return array;
}

static PyObject *
map_group_dlpack (PyovsMapGroup *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  PyObject *index;
  int readonly = 0;

  if (!pyovs_group_parse_dlpack (args, n_args, names, &index, &readonly) || pyovs_group_get (&self->base) == NULL)
    return NULL;
  if (!readonly && !ovstage_map_group_is_writable (self->base.group))
    {
      PyErr_SetString (PyExc_BufferError, "readonly: the group was committed or discarded, its memory cannot be written any more");
      return NULL;
    }
  return make_tensor (self, index, &pyovs_managed_tensor_type, readonly);
}

static PyObject *
map_group_release (PyovsGroup *self, PyObject *unused)
{
  g_clear_pointer (&self->group, ovstage_map_group_unref);
  Py_RETURN_NONE;
}

static PyObject *
map_group_exit (PyovsGroup *self, PyObject *args)
{
  return map_group_release (self, NULL);
}

static PyObject *
map_group_repr (PyovsGroup *self)
{
  if (self->group == NULL)
    return PyUnicode_FromString ("<ovstage.MapGroup released>");
  return PyUnicode_FromFormat ("<ovstage.MapGroup attribute=%llu ordinal=%llu prims=%lu>",
                               (unsigned long long) ovstage_map_group_get_attribute (self->group),
                               (unsigned long long) ovstage_map_group_get_ordinal (self->group),
                               (unsigned long) ovstage_map_group_get_prim_count (self->group));
}

static PyGetSetDef map_group_getset[] = {
  PYOVS_GROUP_GETSETS (map_group),
  PYOVS_GROUP_GETSET (map_group, ordinal, "The ordinal that the values will have."),
  PYOVS_GROUP_GETSET (map_group, is_delete, "False: a map deletes nothing."),
  { "data_count", (getter) map_group_get_prim_count, NULL, PyDoc_STR ("How many rows of data the group has: one a prim."), NULL },
  PYOVS_GROUP_GETSET (map_group, has_data_index_map, "False: prim i has row i of the data."),
  PYOVS_GROUP_GETSET (map_group, meta,
                      "A ReadGroupMeta: write floor and layout generation of the attribute as the map was made."),
  { NULL },
};

static PyMethodDef map_group_methods[] = {
  PYOVS_GROUP_METHODS (map_group),
  { "array", (PyCFunction) map_group_array, METH_O,
    PyDoc_STR ("array($self, i, /)\n--\n\n"
               "Tensor i as a flat, writable numpy view of the base elements, rows * lanes of them.\n\n"
               "i: which tensor, below tensor_count: that of prim i for an attribute of arrays, else there is one.\n\n"
               "Its rows are in the order of the prims. Once the group is committed the array is read-only. Views\n"
               "made of it before stay writable for numpy, but the memory is the store's: a program must not write\n"
               "through them. OVSTAGE_DEBUG=poison in the environment makes such a write a crash.") },
  { "dlpack", PYOVS_METHOD (map_group_dlpack), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("dlpack($self, i, *, readonly=False)\n--\n\n"
               "Tensor i for np.from_dlpack() and its like, lanes as one trailing axis: shape (rows, lanes).\n\n"
               "i: which tensor, below tensor_count.\n"
               "readonly: True for one that a consumer which understands the flag refuses to write to.\n\n"
               "Gives a ManagedDLTensor, which is read-only once the group is committed.") },
  { "release", (PyCFunction) map_group_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\n"
               "Lets this object go. The group stays with its map, which commits or discards it.") },
  { NULL },
};

PyTypeObject pyovs_map_group_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.MapGroup",
  .tp_doc = PyDoc_STR ("Memory to fill with the values of prims. A context manager.\n\n"
                       "Stage.unmap_group() commits it, and Stage.unmap_attribute() with all others of its map."),
  .tp_basicsize = sizeof (PyovsMapGroup),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) map_group_dealloc,
  .tp_finalize = map_group_finalize,
  .tp_repr = (reprfunc) map_group_repr,
  .tp_weaklistoffset = offsetof (PyovsGroup, weakrefs),
  .tp_methods = map_group_methods,
  .tp_getset = map_group_getset,
};

/* Map */

static void
unref_object (gpointer object)
{
  Py_DECREF ((PyObject *) object);
}

static void
freeze_all (PyovsMap *self)
{
  guint i;

  for (i = 0; self->groups != NULL && i < self->groups->len; i++)
    freeze (g_ptr_array_index (self->groups, i));
}

static PyObject *
fetch (PyovsOperation *operation, gint64 timeout, gboolean from_iterator)
{
  PyovsMap *self = (PyovsMap *) operation;
  OvstageMapGroup *group;
  GError *error = NULL;
  PyObject *made;

  if (!pyovs_operation_finish (operation, timeout))
    return NULL;
  group = ovstage_map_fetch_next ((OvstageMap *) operation->op, 0, NULL, &error);
  if (error != NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  if (group == NULL)
    return NULL;
  made = PyList_New (0);
  if (made == NULL)
    {
      ovstage_map_group_unref (group);
      return NULL;
    }
  if (self->groups == NULL)
    self->groups = g_ptr_array_new_with_free_func (unref_object);
  g_ptr_array_add (self->groups, made);
  return map_group_new (group, made, from_iterator);
}

static PyObject *
map_fetch_next (PyovsOperation *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  return pyovs_fetch_next (self, args, n_args, names, fetch);
}

static PyObject *
map_next_group (PyovsOperation *self, PyObject *unused)
{
  return pyovs_next_group (self, fetch);
}

static PyObject *
map_groups (PyObject *self, PyObject *unused)
{
  PyObject *next = PyObject_GetAttrString (self, "_next_group");
  PyObject *iterator = next != NULL ? PyCallIter_New (next, Py_None) : NULL;

  Py_XDECREF (next);
  return iterator;
}

static PyObject *
map_aiter (PyObject *self)
{
  return PyObject_CallOneArg (pyovs.group_iterator, self);
}

static PyObject *
map_discard (PyovsMap *self, PyObject *unused)
{
  if (self->operation.op != NULL)
    ovstage_map_discard ((OvstageMap *) self->operation.op);
  self->operation.kept = TRUE;
  freeze_all (self);
  Py_RETURN_NONE;
}

static PyObject *
map_release (PyovsMap *self, PyObject *unused)
{
  PyObject *result = map_discard (self, NULL);

  self->operation.released = TRUE;
  g_clear_object (&self->operation.op);
  return result;
}

static PyObject *
map_exit (PyovsMap *self, PyObject *args)
{
  return map_release (self, NULL);
}

static void
map_dealloc (PyovsMap *self)
{
  GPtrArray *groups;

  /* Here and not in the shared part below, which may find a reason to let it live. */
  if (self->operation.op != NULL && !self->operation.kept && PyObject_CallFinalizerFromDealloc ((PyObject *) self) < 0)
    return;
  self->operation.kept = TRUE;
  if (self->operation.op != NULL)
    ovstage_map_discard ((OvstageMap *) self->operation.op);
  freeze_all (self);
  groups = g_steal_pointer (&self->groups);
  if (groups != NULL)
    g_ptr_array_unref (groups);
  pyovs_operation_dealloc (&self->operation);
}

gpointer
pyovs_map_commit (PyovsMap *self, PyObject *object, guint64 stream, guint64 event, PyovsRefusal *refusal)
{
  OvstageMap *map = (OvstageMap *) self->operation.op;
  PyovsMapGroup *group = (PyovsMapGroup *) object;
  OvstageOperation *op;

  if (map == NULL)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_HANDLE, self->operation.message != NULL ? "map: it was refused" : "map: it was released");
  else if (group != NULL && group->base.group == NULL)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_HANDLE, "group: it was released");
  if (refusal->code != 0)
    return NULL;

  g_object_ref (map);
  if (group == NULL)
    {
      Py_BEGIN_ALLOW_THREADS
      op = ovstage_map_commit (map, stream, event);
      Py_END_ALLOW_THREADS
      self->operation.kept = TRUE;
      freeze_all (self);
    }
  else
    {
      OvstageMapGroup *inner = ovstage_map_group_ref (group->base.group);

      Py_BEGIN_ALLOW_THREADS
      op = ovstage_map_commit_group (map, inner, stream, event);
      Py_END_ALLOW_THREADS
      if (!ovstage_map_group_is_writable (inner))
        freeze (group->made);
      ovstage_map_group_unref (inner);
    }
  g_object_unref (map);
  return op;
}

static PyAsyncMethods map_as_async = {
  .am_await = pyovs_operation_await,
  .am_aiter = map_aiter,
};

static PyMethodDef map_methods[] = {
  { "fetch_next", PYOVS_METHOD (map_fetch_next), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("fetch_next($self, timeout=-1)\n--\n\n"
               "The next MapGroup, or None at the end.\n\n"
               "timeout: nanoseconds; 0 polls, TIMEOUT_INFINITE waits for ever.\n\n"
               "Raises as wait() does.") },
  { "groups", map_groups, METH_NOARGS,
    PyDoc_STR ("groups($self)\n--\n\n"
               "An iterator over the groups that are left. Its groups are released when they are dropped, and stay\n"
               "with the map.") },
  { "discard", (PyCFunction) map_discard, METH_NOARGS,
    PyDoc_STR ("discard($self)\n--\n\n"
               "Drops what was not committed, and ends the map.") },
  { "_next_group", (PyCFunction) map_next_group, METH_NOARGS, NULL },
  { "release", (PyCFunction) map_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\n"
               "Lets the map go, and discards what was not committed.") },
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) map_exit, METH_VARARGS, NULL },
  { NULL },
};

PyTypeObject pyovs_map_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Map",
  .tp_doc = PyDoc_STR ("Memory of the store to fill in place, group by group. A context manager, which discards what was not\n"
                       "committed, and an asynchronous iterator."),
  .tp_basicsize = sizeof (PyovsMap),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_base = &pyovs_operation_type,
  .tp_as_async = &map_as_async,
  .tp_dealloc = (destructor) map_dealloc,
  .tp_finalize = pyovs_handle_finalize,
  .tp_methods = map_methods,
};
