/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Stage. */

#include "config.h"

#include "_native-stage.h"

static PyovsStage *open_stages;
static guint64 last_serial;

OvstageStage *
pyovs_stage_get (PyovsStage *self)
{
  return self->stage;
}

static void
link_stage (PyovsStage *self)
{
  self->next = open_stages;
  if (open_stages != NULL)
    open_stages->previous = self;
  open_stages = self;
}

static void
unlink_stage (PyovsStage *self)
{
  if (self->previous != NULL)
    self->previous->next = self->next;
  else
    open_stages = self->next;
  if (self->next != NULL)
    self->next->previous = self->previous;
  self->previous = self->next = NULL;
}

/* @dispose: close the stage also for who got at it through gobject. */
static void
close_stage (PyovsStage *self, gboolean dispose)
{
  OvstageStage *stage = g_steal_pointer (&self->stage);
  GPtrArray *rest;

  if (stage == NULL)
    return;
  unlink_stage (self);
  self->dictionary = NULL;
  /* Closing waits for what runs, which may need the GIL to let tensors go. */
  Py_BEGIN_ALLOW_THREADS
  if (dispose)
    g_object_run_dispose (G_OBJECT (stage));
  g_object_unref (stage);
  Py_END_ALLOW_THREADS
  pyovs_stage_sweep_pending (self);
  rest = self->pending;
  self->pending = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_unref (rest);
}

void
pyovs_stage_close_all (void)
{
  while (open_stages != NULL)
    {
      PyovsStage *stage = (PyovsStage *) Py_NewRef ((PyObject *) open_stages);

      close_stage (stage, TRUE);
      Py_DECREF (stage);
    }
}

static int
stage_init (PyovsStage *self, PyObject *args, PyObject *kwargs)
{
  static PyovsSignature signature = {
    .function = "Stage", .n_positional = 1,
    .names = { "name", "history_depth", "queue_capacity", "change_budget", "staging_budget" }
  };
  guint64 numbers[] = { 1, 4096, 0, 0 };
  const guint64 limits[] = { G_MAXUINT, G_MAXUINT, G_MAXUINT64, G_MAXUINT64 };
  const char *name = NULL;
  PyObject *values[5];
  int i;

  if (!pyovs_parse_dict (&signature, args, kwargs, values))
    return -1;
  if (values[0] != NULL && values[0] != Py_None)
    {
      if (!PyUnicode_Check (values[0]))
        {
          PyErr_Format (PyExc_TypeError, "name: a str or None is needed, not %s", Py_TYPE (values[0])->tp_name);
          return -1;
        }
      name = PyUnicode_AsUTF8 (values[0]);
      if (name == NULL)
        return -1;
    }
  for (i = 0; i < 4; i++)
    {
      if (values[i + 1] != NULL && !pyovs_as_uint (values[i + 1], signature.names[i + 1], limits[i], &numbers[i]))
        return -1;
      if (i < 2 && numbers[i] == 0)
        {
          PyErr_Format (PyExc_ValueError, "%s: at least 1 is needed", signature.names[i + 1]);
          return -1;
        }
    }
  if (self->serial != 0)
    {
      PyErr_SetString (PyExc_RuntimeError, "a stage is made once");
      return -1;
    }

  self->stage = g_object_new (OVSTAGE_TYPE_STAGE, "name", name, "history-depth", (guint) numbers[0], "queue-capacity",
                              (guint) numbers[1], "change-budget", numbers[2], "staging-budget", numbers[3], NULL);
  self->dictionary = ovstage_stage_get_path_dictionary (self->stage);
  self->name = name != NULL ? Py_NewRef (values[0]) : NULL;
  self->serial = ++last_serial;
  self->pending = g_ptr_array_new_with_free_func (g_object_unref);
  self->sweep_at = 64;
  self->released = g_array_new (FALSE, FALSE, sizeof (PyovsIdRun));
  self->failures = g_array_new (FALSE, FALSE, sizeof (guint64));
  link_stage (self);
  return 0;
}

static void
stage_finalize (PyObject *object)
{
  PyovsStage *self = (PyovsStage *) object;

  if (self->stage == NULL)
    return;
  pyovs_warn_unreleased (object);
  close_stage (self, FALSE);
}

static void
stage_dealloc (PyovsStage *self)
{
  if (self->stage != NULL && PyObject_CallFinalizerFromDealloc ((PyObject *) self) < 0)
    return;
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  Py_CLEAR (self->name);
  g_clear_pointer (&self->pending, g_ptr_array_unref);
  g_clear_pointer (&self->released, g_array_unref);
  g_clear_pointer (&self->failures, g_array_unref);
  Py_TYPE (self)->tp_free (self);
}

static PyObject *
stage_release_group (PyObject *self, PyObject *object)
{
  if (!PyObject_TypeCheck (object, &pyovs_read_group_type))
    {
      PyErr_Format (PyExc_TypeError, "group: a ReadGroup is needed, not %s", Py_TYPE (object)->tp_name);
      return NULL;
    }
  return pyovs_read_group_release (object, NULL);
}

PYOVS_METHOD_1 (stage, release_group, group)

static OvstageStage *
get_stage (PyovsStage *self)
{
  if (self->stage == NULL)
    pyovs_raise (pyovs.error, OVSTAGE_ERROR_INVALID_HANDLE, "the stage was destroyed");
  return self->stage;
}

static PyObject *
stage_get_attribute_write_floor (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "get_attribute_write_floor", .n_positional = 1, .names = { "attribute" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[1];
  OvstageToken token;

  if (!pyovs_parse (&signature, args, n_args, names, values) || get_stage (self) == NULL)
    return NULL;
  if (values[0] == NULL || values[0] == Py_None)
    return PyLong_FromUnsignedLongLong (ovstage_stage_get_write_floor (self->stage));
  if (!pyovs_stage_as_attribute (self, values[0], &refusal, &token))
    return NULL;
  if (refusal.code != 0)
    {
      pyovs_raise (pyovs.error, refusal.code, refusal.message);
      g_free (refusal.message);
      return NULL;
    }
  if (get_stage (self) == NULL)
    return NULL;
  return PyLong_FromUnsignedLongLong (ovstage_stage_get_attribute_write_floor (self->stage, token));
}

static PyObject *
stage_get_write_floor (PyovsStage *self, void *closure)
{
  OvstageStage *stage = get_stage (self);

  return stage != NULL ? PyLong_FromUnsignedLongLong (ovstage_stage_get_write_floor (stage)) : NULL;
}

static PyObject *
stage_get_name (PyovsStage *self, void *closure)
{
  return Py_NewRef (self->name != NULL ? self->name : Py_None);
}

/* PyGObject hands out its C functions in a capsule: a struct of pointers whose fourth makes the wrapper of an
 * object. That has been so since PyGObject 3.0, and knowing it spares us a build-time need of its headers. */
typedef struct
{
  void (*register_class) (void);
  void (*register_wrapper) (void);
  void *(*lookup_class) (void);
  PyObject *(*new_wrapper) (GObject *object);
} PyGObjectFunctions;

static PyObject *
stage_get_gobject (PyovsStage *self, void *closure)
{
  PyGObjectFunctions *functions;
  PyObject *gi, *object;

  if (get_stage (self) == NULL)
    return NULL;
  gi = PyImport_ImportModule ("gi");
  if (gi == NULL)
    return NULL;
  /* The wrapper is of the class that the typelib describes only if that was loaded. */
  object = PyObject_CallMethod (gi, "require_version", "ss", "Ovstage", "1.0");
  Py_DECREF (gi);
  if (object == NULL)
    return NULL;
  Py_DECREF (object);
  object = PyImport_ImportModule ("gi.repository.Ovstage");
  if (object == NULL)
    return NULL;
  Py_DECREF (object);
  gi = PyImport_ImportModule ("gi._gobject");
  if (gi == NULL)
    return NULL;
  object = PyObject_GetAttrString (gi, "_PyGObject_API");
  Py_DECREF (gi);
  functions = object != NULL ? PyCapsule_GetPointer (object, "gobject._PyGObject_API") : NULL;
  Py_XDECREF (object);
  if (functions == NULL || get_stage (self) == NULL)
    return NULL;
  return functions->new_wrapper (G_OBJECT (self->stage));
}

static PyObject *
stage_destroy (PyovsStage *self, PyObject *unused)
{
  close_stage (self, TRUE);
  Py_RETURN_NONE;
}

static PyObject *
stage_enter (PyObject *self, PyObject *unused)
{
  return Py_NewRef (self);
}

static PyObject *
stage_exit (PyovsStage *self, PyObject *args)
{
  return stage_destroy (self, NULL);
}

static PyObject *
stage_repr (PyovsStage *self)
{
  const char *state = self->stage != NULL ? "" : " destroyed";

  if (self->name != NULL)
    return PyUnicode_FromFormat ("<%s %R%s>", Py_TYPE (self)->tp_name, self->name, state);
  return PyUnicode_FromFormat ("<%s%s>", Py_TYPE (self)->tp_name, state);
}

PYOVS_METHOD_1 (pyovs_stage, query_from_path_list, path_list)
PYOVS_METHOD_1 (pyovs_stage, release_op, op_id)

static PyMethodDef stage_methods[] = {
  { "write_attribute", PYOVS_METHOD (pyovs_stage_write_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("write_attribute($self, query, attribute, ordinal, tensors, *, is_array, prim_mode=0, "
               "semantic=0, index_map=None, mask=None, count=None, cuda_event=0, cuda_stream=0, "
               "placement=None, transfer=False)\n--\n\n"
               "Writes one row per prim at an ordinal; advance_write_floor() makes it readable.\n\n"
               "attribute: a token or its text. tensors: an array with the buffer protocol or __dlpack__, of any\n"
               "strides; trailing axes are the tuple of a row. It is held until the operation is done.\n"
               "is_array: every prim has a row of its own length; tensors is a list with one array a row, then, or a list\n"
               "of str (semantic STRING unless told otherwise), or one array of rows that are equally long.\n"
               "count: the leading prims only. index_map: which row each element takes. mask: which elements are\n"
               "written, one bool each or bits in uint64 words. prim_mode: a PrimMode, UPSERT unless told otherwise.\n"
               "semantic: an AttributeSemantic. transfer: the store may keep the memory instead of copying it; nobody\n"
               "writes to it from then on.") },
  { "write_attributes", PYOVS_METHOD (pyovs_stage_write_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("write_attributes($self, query, writes, ordinal, *, prim_mode=0, placement=None)\n--\n\n"
               "Writes several attributes of the same prims as one: all of them or none.\n\n"
               "writes: a WriteDesc for each attribute, with what write_attribute() takes. An error tells the entry it is\n"
               "about. Sealed together they appear at once.") },
  { "read_attributes", PYOVS_METHOD (pyovs_stage_read_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("read_attributes($self, query, attributes, ordinal_range, *, placement=None)\n--\n\n"
               "Reads the sealed values of attributes, without a copy. Gives a Read.") },
  { "map_attribute", PYOVS_METHOD (pyovs_stage_map_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("map_attribute($self, query, attribute, ordinal, *, dtype=None, semantic=0, prim_mode=0, "
               "element_sizes=None, initialize=False, placement=None)\n--\n\n"
               "Memory of the store to fill with one row per prim, then to commit as a write. Gives a Map.\n\n"
               "dtype: a DLDataType or its text, such as \"float32x3\"; None for that of what is there.\n"
               "element_sizes: for an attribute of arrays, the number of elements of each prim.\n"
               "initialize: whether the memory holds the current values; what it holds is unknown otherwise.") },
  { "unmap_group", PYOVS_METHOD (pyovs_stage_unmap_group), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("unmap_group($self, map, group, *, cuda_event=0, cuda_stream=0)\n--\n\n"
               "Commits one group of a map: writes its values at the ordinal of the map. Its memory is the store's from\n"
               "now on, and its arrays are read-only.") },
  { "unmap_attribute", PYOVS_METHOD (pyovs_stage_unmap_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("unmap_attribute($self, map, *, cuda_event=0, cuda_stream=0)\n--\n\n"
               "Commits what is left of a map, as one write, and ends it.") },
  { "delete_attributes", PYOVS_METHOD (pyovs_stage_delete_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("delete_attributes($self, query, attributes, ordinal)\n--\n\n"
               "Takes attributes off the prims of a query at an ordinal. Deleting what is not there is fine.\n\n"
               "attributes: tokens or their texts; none at all, or None, for everything that the prims have. The prims\n"
               "may be given the attribute again, with another data type.") },
  { "clone", PYOVS_METHOD (pyovs_stage_clone), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("clone($self, source, targets, ordinal)\n--\n\n"
               "Copies everything at and below a path to other paths, which do not exist yet, at an ordinal, and waits\n"
               "until that is done.\n\n"
               "source: a str. targets: an iterable of str. Raises as the operation of clone_async() would.") },
  { "clone_async", PYOVS_METHOD (pyovs_stage_clone_async), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("clone_async($self, source, targets, ordinal)\n--\n\n"
               "As clone(), without waiting. Gives an Operation.") },
  { "advance_write_floor", PYOVS_METHOD (pyovs_stage_advance_write_floor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("advance_write_floor($self, ordinal, *, scope=0, attributes=())\n--\n\n"
               "Seals everything at or below an ordinal: it can be read, and no longer changes.\n\n"
               "scope: a Scope; which attributes, all unless told otherwise.") },
  { "query", PYOVS_METHOD (pyovs_stage_query), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("query($self, filter=None, attributes=())\n--\n\n"
               "The query that selects the prims a Filter matches, or all that exist, by path id.\n\n"
               "It sees all that was submitted before, sealed or not. It may not be done at once, and can be used\n"
               "nevertheless. attributes: which ones to look for on the prims, all unless told otherwise.") },
  PYOVS_METHOD_1_DEF ("query_from_path_list", pyovs_stage_query_from_path_list,
                      "query_from_path_list($self, path_list)\n--\n\n"
                      "The query that selects the prims of a list, in its order."),
  { "wait_op", PYOVS_METHOD (pyovs_stage_wait_op), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("wait_op($self, op_id, timeout=-1)\n--\n\n"
               "Waits for an operation by its id. Gives (code, error_op_ids, lowest_pending): OK once it is done, well or\n"
               "not, TIMEOUT, or INVALID_HANDLE; the ids that failed since this thread's last wait_op(); and, on TIMEOUT,\n"
               "the lowest pending id it waits for. Knows the operations that were submitted through this object.") },
  PYOVS_METHOD_1_DEF ("release_op", pyovs_stage_release_op,
                      "release_op($self, op_id)\n--\n\nRetires an id: waiting for it later is INVALID_HANDLE."),
  PYOVS_METHOD_1_DEF ("release_group", stage_release_group,
                      "release_group($self, group)\n--\n\nLets a group go, as group.release() does."),
  { "get_attribute_write_floor", PYOVS_METHOD (stage_get_attribute_write_floor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("get_attribute_write_floor($self, attribute=None)\n--\n\n"
               "Up to where an attribute is sealed; None for all of them.") },
  { "watch", PYOVS_METHOD (pyovs_stage_watch), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("watch($self, query, attributes, callback=None)\n--\n\n"
               "Follows what is sealed from now on of attributes on the prims of a query. Gives a Watch, or raises\n"
               "OvstageError.\n\n"
               "callback: called with the watch and a list of ReadGroup, in the thread-default main context of the\n"
               "caller, after each advance that changed something. Without one the watch is an asynchronous iterator\n"
               "over such lists.") },
  { "destroy", (PyCFunction) stage_destroy, METH_NOARGS,
    PyDoc_STR ("destroy($self)\n--\n\n"
               "Withdraws what has not begun, lets what runs end, and lets the stage go.\n\nGroups and arrays stay valid.") },
  { "__enter__", stage_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) stage_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef stage_getset[] = {
  { "name", (getter) stage_get_name, NULL, PyDoc_STR ("The name it was made with, or None."), NULL },
  { "write_floor", (getter) stage_get_write_floor, NULL, PyDoc_STR ("Up to where every attribute is sealed."), NULL },
  { "gobject", (getter) stage_get_gobject, NULL,
    PyDoc_STR ("The Ovstage.Stage of PyGObject, with its signals and properties. Needs gi."), NULL },
  { NULL },
};

PyTypeObject pyovs_stage_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Stage",
  .tp_doc = PyDoc_STR ("Stage(name=None, *, history_depth=1, queue_capacity=4096, change_budget=0, staging_budget=0)\n--\n\n"
                       ""
                       "A store of scene data. A context manager: leaving it destroys the stage.\n\n"
                       "history_depth: how many sealed versions of a column stay readable. queue_capacity: how many\n"
                       "operations may be unfinished. change_budget, staging_budget: bytes; 0 lets the library choose."),
  .tp_basicsize = sizeof (PyovsStage),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
  .tp_new = PyType_GenericNew,
  .tp_init = (initproc) stage_init,
  .tp_dealloc = (destructor) stage_dealloc,
  .tp_finalize = stage_finalize,
  .tp_repr = (reprfunc) stage_repr,
  .tp_weaklistoffset = offsetof (PyovsStage, weakrefs),
  .tp_methods = stage_methods,
  .tp_getset = stage_getset,
};
