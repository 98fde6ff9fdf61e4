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
  PYOVS_KEEPING_ERROR (close_stage (self, FALSE));
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
               "query: a Query; its prims in order are what the rows are for.\n"
               "attribute: a name, or its token.\n"
               "ordinal: the caller's clock, above the attribute's write floor.\n"
               "tensors: an array with __dlpack__, an exchange table or the buffer protocol, in CPU memory, of any\n"
               "  strides. Shape (N, ...): one row for each of N prims, trailing axes are the tuple of a row, so\n"
               "  that (N, 3) of float32 is float32x3. For an attribute of arrays: a list with an array for each\n"
               "  prim, whose rows may differ in length; a list of str (semantic STRING unless told otherwise); or\n"
               "  one array of rows that are equally long.\n"
               "is_array: whether each prim has a row of its own length. A bool; it is never guessed.\n"
               "prim_mode: a PrimMode: whether the prims may, must not or must exist.\n"
               "semantic: an AttributeSemantic; NONE keeps that of an attribute that is there.\n"
               "index_map: for each prim written the row of tensors that it gets; integers, rows may repeat.\n"
               "mask: which of the prims are written: one bool each, or bits in uint64 words, which need count.\n"
               "  tensors has a row for each prim nevertheless. Not together with index_map.\n"
               "count: how many prims are written, the first ones of the query; None for the length of index_map, or\n"
               "  all.\n"
               "cuda_event, cuda_stream: what is waited for before the values are read; 0 for nothing.\n"
               "placement: a Placement to work on another device; None for the CPU.\n"
               "transfer: hands the memory over. The store may keep it instead of copying it, and nobody writes to\n"
               "  it from then on. Otherwise it is held until the operation is done, and may be reused then.\n\n"
               "Gives an Operation. Raises TypeError, ValueError and, for byte order and devices, BufferError for\n"
               "wrong arguments, and what a producer raises. Its wait() raises OvstageError: INVALID_ARGUMENT where\n"
               "shapes, data type or semantic do not fit, WRITE_FLOOR_VIOLATION, ALREADY_EXISTS or NOT_FOUND by\n"
               "prim_mode, NOT_SUPPORTED for the built-in attributes, QUEUE_FULL, OUT_OF_MEMORY. Nothing of such a\n"
               "write is applied.") },
  { "write_attributes", PYOVS_METHOD (pyovs_stage_write_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("write_attributes($self, query, writes, ordinal, *, prim_mode=0, placement=None)\n--\n\n"
               "Writes several attributes of the same prims as one: all of them or none.\n\n"
               "query: a Query.\n"
               "writes: a WriteDesc for each attribute, with what write_attribute() takes. None twice.\n"
               "ordinal: the ordinal of all of them.\n"
               "prim_mode: a PrimMode; looks at the prims as they were before the batch.\n"
               "placement: a Placement; None for the CPU.\n\n"
               "Gives an Operation. Sealed together the values appear at once. Raises as write_attribute() does;\n"
               "what wait() raises tells the entry it is about.") },
  { "read_attributes", PYOVS_METHOD (pyovs_stage_read_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("read_attributes($self, query, attributes, ordinal_range, *, placement=None)\n--\n\n"
               "Reads the sealed values of attributes, without a copy.\n\n"
               "query: a Query. Prims that do not have an attribute are left out of its groups.\n"
               "attributes: names or tokens, in a sequence.\n"
               "ordinal_range: an OrdinalRange: values as of an ordinal, the newest ones, or what changed.\n"
               "placement: a Placement to have the values on another device; None for the CPU.\n\n"
               "Gives a Read, which has a ReadGroup for each attribute and data type. It raises OvstageError:\n"
               "WRITE_FLOOR_VIOLATION where something at or below the ordinal is not sealed yet, OUT_OF_RANGE where\n"
               "the values or changes are no longer kept, NOT_SUPPORTED for \"usd-active\".") },
  { "map_attribute", PYOVS_METHOD (pyovs_stage_map_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("map_attribute($self, query, attribute, ordinal, *, dtype=None, semantic=0, prim_mode=0, "
               "element_sizes=None, initialize=False, placement=None)\n--\n\n"
               "Memory of the store to fill with one row per prim, then to commit as a write.\n\n"
               "query: a Query; row i is for its prim i.\n"
               "attribute: a name, or its token.\n"
               "ordinal: the ordinal of the values, above the attribute's write floor.\n"
               "dtype: the type of a row: a DLDataType, its text, such as \"float32x3\", or a dtype of numpy, such as\n"
               "  np.float32, for rows of one number. None for that of what is there, which must be clear then.\n"
               "semantic: an AttributeSemantic; NONE keeps that of an attribute that is there.\n"
               "prim_mode: a PrimMode: whether the prims may, must not or must exist. Looked at now and by the\n"
               "  commit.\n"
               "element_sizes: for an attribute of arrays the number of elements (not of bytes) of each prim of the\n"
               "  query; None for one row per prim.\n"
               "initialize: whether the memory holds the current values, and zeroes for prims without one. What it\n"
               "  holds is unknown otherwise.\n"
               "placement: a Placement to have the memory on another device; None for the CPU.\n\n"
               "Gives a Map. Its groups have one tensor of shape (N,) with N prims, or one of shape (n,) for each\n"
               "prim with n elements, in units of dtype: array(i) of a MapGroup is a flat view of the base elements,\n"
               "N * lanes of them. Nothing is seen of it before unmap_group() or unmap_attribute() and the advance\n"
               "of the write floor; what was not committed when the map is released is dropped. After the commit the\n"
               "memory is the store's.\n\n"
               "Raises TypeError, ValueError and BufferError for wrong arguments. The map raises OvstageError:\n"
               "INVALID_ARGUMENT where dtype, semantic or the number of element_sizes do not fit or dtype is None\n"
               "and not clear, WRITE_FLOOR_VIOLATION, ALREADY_EXISTS or NOT_FOUND by prim_mode, NOT_SUPPORTED for\n"
               "the built-in attributes, OUT_OF_MEMORY.") },
  { "unmap_group", PYOVS_METHOD (pyovs_stage_unmap_group), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("unmap_group($self, map, group, *, cuda_event=0, cuda_stream=0)\n--\n\n"
               "Commits one group of a map: writes its values at the ordinal of the map.\n\n"
               "map: a Map of this stage.\n"
               "group: a MapGroup of it.\n"
               "cuda_event, cuda_stream: what is waited for before the values are read; 0 for nothing.\n\n"
               "Gives an Operation. The group's memory is the store's from now on, and the arrays that the group\n"
               "gave are read-only. Views made of these do not know: nobody may write through them either. wait()\n"
               "raises\n"
               "OvstageError: INVALID_HANDLE for a group that was committed or discarded, and what a write raises,\n"
               "since the prims and the floor may have changed. A failed commit is final.") },
  { "unmap_attribute", PYOVS_METHOD (pyovs_stage_unmap_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("unmap_attribute($self, map, *, cuda_event=0, cuda_stream=0)\n--\n\n"
               "Commits what is left of a map, as one write, and ends it.\n\n"
               "map: a Map of this stage. Groups need not have been fetched.\n"
               "cuda_event, cuda_stream: what is waited for before the values are read; 0 for nothing.\n\n"
               "Gives an Operation, which raises as that of unmap_group() does. All memory of the map is the store's\n"
               "from now on.") },
  { "delete_attributes", PYOVS_METHOD (pyovs_stage_delete_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("delete_attributes($self, query, attributes, ordinal)\n--\n\n"
               "Takes attributes off the prims of a query at an ordinal. Deleting what is not there is fine.\n\n"
               "query: a Query.\n"
               "attributes: names or tokens; none at all, or None, for everything that the prims have, and with it\n"
               "  the prims.\n"
               "ordinal: when, above the write floor of the attributes.\n\n"
               "Gives an Operation. The prims may be given the attribute again, with another data type. wait()\n"
               "raises\n"
               "OvstageError: WRITE_FLOOR_VIOLATION, or NOT_SUPPORTED for the built-in attributes.") },
  { "clone", PYOVS_METHOD (pyovs_stage_clone), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("clone($self, source, targets, ordinal)\n--\n\n"
               "Copies everything at and below a path to other paths, which do not exist yet, at an ordinal, and\n"
               "waits until that is done.\n\n"
               "source: a prim path.\n"
               "targets: prim paths, an iterable of str.\n"
               "ordinal: when, above the write floor of the attributes that are copied.\n\n"
               "Ids of paths below source, in attributes whose semantic says that they are such, become those of the\n"
               "copies. Raises OvstageError: NOT_FOUND where nothing lives at or below source, ALREADY_EXISTS where\n"
               "a target exists, or a path that would be written below it, WRITE_FLOOR_VIOLATION, INVALID_ARGUMENT\n"
               "for paths that make no sense and for targets that contain one another.") },
  { "clone_async", PYOVS_METHOD (pyovs_stage_clone_async), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("clone_async($self, source, targets, ordinal)\n--\n\n"
               "As clone(), without waiting.\n\n"
               "source: a prim path.\n"
               "targets: prim paths, an iterable of str.\n"
               "ordinal: when, above the write floor of the attributes that are copied.\n\n"
               "Gives an Operation, whose wait() raises what clone() does.") },
  { "advance_write_floor", PYOVS_METHOD (pyovs_stage_advance_write_floor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("advance_write_floor($self, ordinal, *, scope=0, attributes=())\n--\n\n"
               "Seals everything at or below an ordinal: it can be read, and no longer changes.\n\n"
               "ordinal: the new floor. A floor only rises: one that is not above the present one does nothing.\n"
               "scope: a Scope: all attributes, those of a list, or all but those.\n"
               "attributes: names or tokens, for the scopes INCLUDE and EXCLUDE.\n\n"
               "Gives an Operation, which is done when everything at or below the ordinal that was submitted before\n"
               "is done and can be read. Later writes at or below it are refused from now on.") },
  { "query", PYOVS_METHOD (pyovs_stage_query), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("query($self, filter=None, attributes=())\n--\n\n"
               "The query that selects the prims a Filter matches, or all that exist, by path id.\n\n"
               "filter: a Filter; None for all prims.\n"
               "attributes: names or tokens of the attributes to look for on the prims; all unless told otherwise.\n\n"
               "Gives a Query. It sees all that was submitted before, sealed or not. It may not be done at once, and\n"
               "can be used nevertheless. It raises OvstageError: INVALID_ARGUMENT or NOT_SUPPORTED for a predicate\n"
               "that does not fit the values it meets.") },
  PYOVS_METHOD_1_DEF ("query_from_path_list", pyovs_stage_query_from_path_list,
                      "query_from_path_list($self, path_list)\n--\n\n"
                      "The query that selects the prims of a list, in its order, whether they exist or not.\n\n"
                      "path_list: a PathList of this stage's dictionary, which the query keeps.\n\n"
                      "Gives a Query, which is done."),
  { "wait_op", PYOVS_METHOD (pyovs_stage_wait_op), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("wait_op($self, op_id, timeout=-1)\n--\n\n"
               "Waits for an operation by its id.\n\n"
               "op_id: the op_id of an operation that was submitted through this object.\n"
               "timeout: nanoseconds; 0 polls, TIMEOUT_INFINITE waits for ever.\n\n"
               "Gives (code, error_op_ids, lowest_pending): OK once it is done, well or not, TIMEOUT, or\n"
               "INVALID_HANDLE for an id that is unknown or released; the ids that failed since this thread's last\n"
               "wait_op(); and, on TIMEOUT, the lowest pending id it waits for.") },
  PYOVS_METHOD_1_DEF ("release_op", pyovs_stage_release_op,
                      "release_op($self, op_id)\n--\n\n"
                      "Retires an id: waiting for it later is INVALID_HANDLE. The operation goes on.\n\n"
                      "op_id: the op_id of an operation."),
  PYOVS_METHOD_1_DEF ("release_group", stage_release_group,
                      "release_group($self, group)\n--\n\n"
                      "Lets a group go, as group.release() does.\n\n"
                      "group: a ReadGroup."),
  { "get_attribute_write_floor", PYOVS_METHOD (stage_get_attribute_write_floor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("get_attribute_write_floor($self, attribute=None)\n--\n\n"
               "Up to where an attribute is sealed.\n\n"
               "attribute: a name, or its token; None for all of them, as write_floor.") },
  { "watch", PYOVS_METHOD (pyovs_stage_watch), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("watch($self, query, attributes, callback=None)\n--\n\n"
               "Follows what is sealed from now on of attributes on the prims of a query.\n\n"
               "query: a Query.\n"
               "attributes: names or tokens; none for all attributes.\n"
               "callback: called with the watch and a list of ReadGroup, as a read of the range of changes has them,\n"
               "  in the thread-default main context of the caller, after each advance that changed something.\n"
               "  Without one the watch is an asynchronous iterator over such lists.\n\n"
               "Gives a Watch, or raises OvstageError. Whoever is slow gets one list for all that was missed.") },
  { "destroy", (PyCFunction) stage_destroy, METH_NOARGS,
    PyDoc_STR ("destroy($self)\n--\n\n"
               "Withdraws what has not begun, lets what runs end, and lets the stage go.\n\n"
               "Groups, arrays, tensors and queries stay valid; other use of the stage is INVALID_HANDLE.") },
  { "__enter__", stage_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) stage_exit, METH_VARARGS, NULL },
  { NULL },
};

static PyGetSetDef stage_getset[] = {
  { "name", (getter) stage_get_name, NULL,
    PyDoc_STR ("The name it was made with, or None."), NULL },
  { "write_floor", (getter) stage_get_write_floor, NULL,
    PyDoc_STR ("The ordinal up to which every attribute is sealed; 0 at first."), NULL },
  { "gobject", (getter) stage_get_gobject, NULL,
    PyDoc_STR ("The Ovstage.Stage of PyGObject, with its signals and properties. Needs gi."), NULL },
  { NULL },
};

PyTypeObject pyovs_stage_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.Stage",
  .tp_doc = PyDoc_STR ("Stage(name=None, *, history_depth=1, queue_capacity=4096, change_budget=0, staging_budget=0)\n--\n\n"
                       "A store of scene data. A context manager: leaving it destroys the stage.\n\n"
                       "name: a text for people, or None.\n"
                       "history_depth: for how many ordinals the values of a column stay readable once newer ones are\n"
                       "  sealed.\n"
                       "queue_capacity: how many operations may be unfinished; one more is refused with QUEUE_FULL.\n"
                       "change_budget: bytes for each attribute to remember what changed when; 0 lets the library choose.\n"
                       "staging_budget: bytes that may be written and not yet sealed, a write past it is refused with\n"
                       "  OUT_OF_MEMORY; 0 for half of the machine's memory.\n\n"
                       "All methods may be called from any thread. An attribute is given by name, or by the token that\n"
                       "PathDictionary.intern_token() gives for it, which is faster."),
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
