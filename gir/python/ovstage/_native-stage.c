/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Stage and OrdinalRange. */

#include "config.h"

#include "_native.h"

#include <string.h>

/* OrdinalRange */

typedef struct
{
  PyObject_HEAD
  OvstageOrdinalRange range;
} PyovsOrdinalRange;

static PyObject *
range_new (PyTypeObject *type, OvstageOrdinalRange range)
{
  PyovsOrdinalRange *self = (PyovsOrdinalRange *) type->tp_alloc (type, 0);

  if (self != NULL)
    self->range = range;
  return (PyObject *) self;
}

static PyObject *
range_latest (PyTypeObject *type, PyObject *object)
{
  guint64 ordinal;

  return pyovs_as_uint (object, "ordinal", G_MAXUINT64, &ordinal) ? range_new (type, OVSTAGE_ORDINAL_RANGE_LATEST (ordinal)) : NULL;
}

static PyObject *
range_between (PyTypeObject *type, PyObject *const *args, Py_ssize_t n_args)
{
  guint64 start, end;

  if (n_args != 2)
    {
      PyErr_Format (PyExc_TypeError, "between() takes 2 positional arguments but %zd were given", n_args);
      return NULL;
    }
  if (!pyovs_as_uint (args[0], "start", G_MAXUINT64, &start) || !pyovs_as_uint (args[1], "end", G_MAXUINT64, &end))
    return NULL;
  return range_new (type, OVSTAGE_ORDINAL_RANGE_BETWEEN (start, end));
}

static PyObject *
range_newest (PyTypeObject *type, PyObject *unused)
{
  return range_new (type, OVSTAGE_ORDINAL_RANGE_LATEST (OVSTAGE_ORDINAL_NEWEST));
}

static PyObject *
range_get_end (PyovsOrdinalRange *self, void *closure)
{
  return PyLong_FromUnsignedLongLong (self->range.end_ordinal);
}

static PyObject *
range_get_start (PyovsOrdinalRange *self, void *closure)
{
  if (!self->range.has_start_ordinal)
    Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong (self->range.start_ordinal);
}

static gboolean
ranges_equal (const OvstageOrdinalRange *a, const OvstageOrdinalRange *b)
{
  return a->end_ordinal == b->end_ordinal && a->has_start_ordinal == b->has_start_ordinal && a->start_ordinal == b->start_ordinal;
}

static PyObject *
range_compare (PyObject *a, PyObject *b, int op)
{
  if (Py_TYPE (a) != &pyovs_ordinal_range_type || Py_TYPE (b) != &pyovs_ordinal_range_type || (op != Py_EQ && op != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong (ranges_equal (&((PyovsOrdinalRange *) a)->range, &((PyovsOrdinalRange *) b)->range) == (op == Py_EQ));
}

static Py_hash_t
range_hash (PyovsOrdinalRange *self)
{
  Py_hash_t hash = self->range.end_ordinal * 31 + self->range.start_ordinal * 2 + (self->range.has_start_ordinal ? 1 : 0);

  return hash == -1 ? -2 : hash;
}

static PyObject *
range_repr (PyovsOrdinalRange *self)
{
  if (self->range.has_start_ordinal)
    return PyUnicode_FromFormat ("OrdinalRange.between(%llu, %llu)", (unsigned long long) self->range.start_ordinal,
                                 (unsigned long long) self->range.end_ordinal);
  if (self->range.end_ordinal == OVSTAGE_ORDINAL_NEWEST)
    return PyUnicode_FromString ("OrdinalRange.newest()");
  return PyUnicode_FromFormat ("OrdinalRange.latest(%llu)", (unsigned long long) self->range.end_ordinal);
}

static PyMethodDef range_methods[] = {
  { "latest", (PyCFunction) range_latest, METH_O | METH_CLASS,
    PyDoc_STR ("latest($type, ordinal, /)\n--\n\nThe values as of an ordinal.") },
  { "between", (PyCFunction) (void (*) (void)) range_between, METH_FASTCALL | METH_CLASS,
    PyDoc_STR ("between($type, start, end, /)\n--\n\nWhat changed from one ordinal to another, both included, with the values as of the latter.") },
  { "newest", (PyCFunction) range_newest, METH_NOARGS | METH_CLASS,
    PyDoc_STR ("newest($type)\n--\n\nThe values of each attribute as of its own write floor when the read runs.") },
  { NULL },
};

static PyGetSetDef range_getset[] = {
  { "start_ordinal", (getter) range_get_start, NULL, PyDoc_STR ("The first ordinal of a range of changes; None for a snapshot."), NULL },
  { "end_ordinal", (getter) range_get_end, NULL, PyDoc_STR ("The ordinal whose values are asked for."), NULL },
  { NULL },
};

PyTypeObject pyovs_ordinal_range_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.OrdinalRange",
  .tp_doc = PyDoc_STR ("What a read is about: OrdinalRange.latest(n), OrdinalRange.newest() or OrdinalRange.between(a, b)."),
  .tp_basicsize = sizeof (PyovsOrdinalRange),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_repr = (reprfunc) range_repr,
  .tp_hash = (hashfunc) range_hash,
  .tp_richcompare = range_compare,
  .tp_methods = range_methods,
  .tp_getset = range_getset,
};

/* Stage */

/* Beyond so many failures that no wait_op() told, the oldest are forgotten. */
#define MAX_FAILURES 65536

typedef struct
{
  guint64 first;
  guint64 last;
} IdRun;

struct _PyovsStage
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstageStage *stage; /* (owned) (nullable) none: destroyed */
  OvstagePathDictionary *dictionary; /* (nullable) of the stage */
  PyObject *name; /* (owned) (nullable) */
  PyovsStage *previous, *next; /* (nullable) the open stages */
  guint64 serial;
  gsize unsealed; /* bytes written since the last advance: large ones make it worth giving the GIL away */

  /* What wait_op() knows. An id that is in none of these, and not above last_id, ended well. */
  guint64 last_id;
  GPtrArray *pending; /* (owned) (element-type OvstageOperation) by rising id */
  guint sweep_at;     /* so many pending ones are looked through */
  GArray *released;   /* (owned) (element-type IdRun) by rising id, apart from one another */
  GArray *failures;   /* (owned) (element-type guint64) in the order they were seen */
  guint64 n_forgotten; /* failures that are no longer in the array */
};

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

/* What wait_op() knows */

static void
note_failure (PyovsStage *self, guint64 id)
{
  g_array_append_val (self->failures, id);
  if (self->failures->len > MAX_FAILURES)
    {
      guint n = self->failures->len - MAX_FAILURES / 2;

      g_array_remove_range (self->failures, 0, n);
      self->n_forgotten += n;
    }
}

/* Takes those that are done out of the pending ones. */
static void
sweep_pending (PyovsStage *self)
{
  g_autoptr (GPtrArray) done = g_ptr_array_new_with_free_func (g_object_unref);
  guint from, to = 0;

  for (from = 0; from < self->pending->len; from++)
    {
      OvstageOperation *op = g_ptr_array_index (self->pending, from);

      if (!ovstage_operation_is_done (op))
        {
          self->pending->pdata[to++] = op;
          continue;
        }
      if (ovstage_operation_get_error (op) != NULL)
        note_failure (self, ovstage_operation_get_id (op));
      g_ptr_array_add (done, op);
    }
  /* The rest was moved, or is let go of below: that may run Python, which may come back here. */
  self->pending->len = to;
  self->sweep_at = MAX (64, 2 * to);
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
  sweep_pending (self);
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
  self->released = g_array_new (FALSE, FALSE, sizeof (IdRun));
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

/* Operations by their ids */

static void
note_operation (PyovsStage *self, OvstageOperation *op)
{
  guint64 id = ovstage_operation_get_id (op);

  if (id == 0)
    return;
  self->last_id = MAX (self->last_id, id);
  if (!ovstage_operation_is_done (op))
    {
      guint i;

      if (self->stage == NULL)
        return;
      if (self->pending->len >= self->sweep_at)
        sweep_pending (self);
      /* Almost always the last: threads that submit at once may come in another order. */
      for (i = self->pending->len; i > 0 && ovstage_operation_get_id (g_ptr_array_index (self->pending, i - 1)) > id; i--)
        ;
      g_ptr_array_insert (self->pending, i, g_object_ref (op));
    }
  else if (ovstage_operation_get_error (op) != NULL)
    {
      note_failure (self, id);
    }
}

static PyObject *
new_operation (PyovsStage *self, PyTypeObject *type, gpointer op)
{
  note_operation (self, op);
  return pyovs_operation_new (type, op);
}

static OvstageOperation *
find_pending (PyovsStage *self, guint64 id)
{
  guint low = 0, high = self->pending->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      OvstageOperation *op = g_ptr_array_index (self->pending, middle);
      guint64 found = ovstage_operation_get_id (op);

      if (found == id)
        return op;
      if (found < id)
        low = middle + 1;
      else
        high = middle;
    }
  return NULL;
}

/* The first run that ends at @id or later. */
static guint
find_run (PyovsStage *self, guint64 id)
{
  guint low = 0, high = self->released->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->released, IdRun, middle).last < id)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static gboolean
is_known (PyovsStage *self, guint64 id)
{
  guint run;

  if (self->released == NULL || id == 0 || id > self->last_id)
    return FALSE;
  run = find_run (self, id);
  return run == self->released->len || g_array_index (self->released, IdRun, run).first > id;
}

static void
release_id (PyovsStage *self, guint64 id)
{
  guint run = find_run (self, id);
  IdRun *before = run > 0 ? &g_array_index (self->released, IdRun, run - 1) : NULL;
  IdRun *after = run < self->released->len ? &g_array_index (self->released, IdRun, run) : NULL;
  IdRun alone = { id, id };

  if (before != NULL && before->last + 1 == id)
    {
      before->last = id;
      if (after != NULL && after->first == id + 1)
        {
          before->last = after->last;
          g_array_remove_index (self->released, run);
        }
    }
  else if (after != NULL && after->first == id + 1)
    after->first = id;
  else
    g_array_insert_val (self->released, run, alone);
}

/* The ids that failed since this thread asked last. */
static PyObject *
take_failures (PyovsStage *self)
{
  PyObject *threads = PyThreadState_GetDict (), *key, *seen, *result;
  guint64 end = self->n_forgotten + self->failures->len, begin = 0, i;

  key = PyUnicode_FromFormat ("ovstage.wait_op %llu", (unsigned long long) self->serial);
  if (key == NULL)
    return NULL;
  seen = threads != NULL ? PyDict_GetItemWithError (threads, key) : NULL;
  if (seen != NULL)
    begin = PyLong_AsUnsignedLongLong (seen);
  begin = MAX (begin, self->n_forgotten);

  result = PyList_New (0);
  for (i = begin; result != NULL && i < end; i++)
    {
      guint64 id = g_array_index (self->failures, guint64, i - self->n_forgotten);
      PyObject *number = is_known (self, id) ? PyLong_FromUnsignedLongLong (id) : Py_NewRef (Py_None);

      if (number == NULL || (number != Py_None && PyList_Append (result, number) < 0))
        Py_CLEAR (result);
      Py_XDECREF (number);
    }
  if (result != NULL && threads != NULL && begin != end)
    {
      seen = PyLong_FromUnsignedLongLong (end);
      if (seen == NULL || PyDict_SetItem (threads, key, seen) < 0)
        Py_CLEAR (result);
      Py_XDECREF (seen);
    }
  Py_DECREF (key);
  return result;
}

static PyObject *
stage_wait_op (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "wait_op", .n_positional = 2, .n_required = 1, .names = { "op_id", "timeout" }
  };
  int code = 0;
  guint64 lowest = 0, id;
  PyObject *values[2], *failures, *code_object;
  OvstageOperation *op;
  gint64 timeout;

  if (!pyovs_parse (&signature, args, n_args, names, values) ||
      !pyovs_as_uint (values[0], "op_id", G_MAXUINT64, &id) || !pyovs_as_timeout (values[1], &timeout))
    return NULL;
  if (!is_known (self, id))
    {
      code = OVSTAGE_ERROR_INVALID_HANDLE;
      failures = PyList_New (0);
    }
  else
    {
      op = find_pending (self, id);
      if (op != NULL)
        {
          int waited;

          g_object_ref (op);
          waited = pyovs_wait (op, timeout);
          if (waited == 0)
            {
              code = OVSTAGE_ERROR_TIMEOUT;
              lowest = ovstage_operation_get_lowest_pending_id (op);
            }
          g_object_unref (op);
          if (waited < 0)
            return NULL;
        }
      sweep_pending (self);
      failures = take_failures (self);
    }
  code_object = failures != NULL ? pyovs_code (code) : NULL;
  if (code_object == NULL)
    {
      Py_XDECREF (failures);
      return NULL;
    }
  return Py_BuildValue ("(NNK)", code_object, failures, (unsigned long long) lowest);
}

static PyObject *
stage_release_op (PyovsStage *self, PyObject *object)
{
  guint64 id;

  if (!pyovs_as_uint (object, "op_id", G_MAXUINT64, &id))
    return NULL;
  if (!is_known (self, id))
    {
      char *message = g_strdup_printf ("op_id: %" G_GUINT64_FORMAT " is unknown or was released", id);

      pyovs_raise (pyovs.error, OVSTAGE_ERROR_INVALID_HANDLE, message);
      g_free (message);
      return NULL;
    }
  release_id (self, id);
  Py_RETURN_NONE;
}

PYOVS_METHOD_1 (stage, release_op, op_id)

/* Requests */

static gboolean
check_query (PyObject *object, PyovsRefusal *refusal)
{
  if (!PyObject_TypeCheck (object, &pyovs_query_type))
    {
      PyErr_Format (PyExc_TypeError, "query: a Query is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  pyovs_query_get ((PyovsOperation *) object, refusal);
  return TRUE;
}

/* FALSE with a Python error. A text that is no token makes the request refused. */
static gboolean
as_attribute (PyovsStage *self, PyObject *object, PyovsRefusal *refusal, OvstageToken *token)
{
  if (PyUnicode_Check (object))
    {
      GError *error = NULL;
      const char *text;
      Py_ssize_t n;

      *token = 0;
      text = PyUnicode_AsUTF8AndSize (object, &n);
      if (text == NULL)
        return FALSE;
      if (strlen (text) != (gsize) n)
        pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute: \"%s\" is followed by a NUL character", text);
      else if (self->dictionary != NULL)
        {
          *token = ovstage_path_dictionary_intern_token (self->dictionary, text, &error);
          if (error != NULL)
            pyovs_refuse_gerror (refusal, error);
        }
      return TRUE;
    }
  if (!PyIndex_Check (object))
    {
      PyErr_Format (PyExc_TypeError, "attribute: a token or a str is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  return pyovs_as_uint (object, "attribute", G_MAXUINT64, token);
}

#define N_TOKENS_INLINE 16

typedef struct
{
  gsize n;
  OvstageToken *tokens;
  OvstageToken space[N_TOKENS_INLINE];
} Tokens;

/* To be cleared in every case. */
static gboolean
as_attributes (PyovsStage *self, PyObject *object, PyovsRefusal *refusal, Tokens *tokens)
{
  PyObject *sequence = NULL;
  gsize i;

  tokens->n = 0;
  tokens->tokens = tokens->space;
  if (object == NULL)
    return TRUE;
  if (!PyUnicode_Check (object))
    sequence = PySequence_Tuple (object);
  if (sequence == NULL)
    {
      if (!PyErr_Occurred () || PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "attributes: a sequence of tokens or str is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  tokens->n = PyTuple_GET_SIZE (sequence);
  if (tokens->n > N_TOKENS_INLINE)
    tokens->tokens = g_new (OvstageToken, tokens->n);
  for (i = 0; i < tokens->n; i++)
    if (!as_attribute (self, PyTuple_GET_ITEM (sequence, i), refusal, &tokens->tokens[i]))
      {
        Py_DECREF (sequence);
        return FALSE;
      }
  Py_DECREF (sequence);
  return TRUE;
}

static void
clear_tokens (Tokens *tokens)
{
  if (tokens->tokens != tokens->space)
    g_free (tokens->tokens);
}

/* No device backend is there, so that any placement asks for something that is not found. */
static gboolean
check_placement (PyObject *object, PyovsRefusal *refusal)
{
  if (object == NULL || object == Py_None)
    return TRUE;
  if (!PyObject_TypeCheck (object, (PyTypeObject *) pyovs.placement))
    {
      PyErr_Format (PyExc_TypeError, "placement: a Placement or None is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  pyovs_refuse (refusal, OVSTAGE_ERROR_NOT_FOUND, "placement: no device backend, the extension ovstage.placement is not there");
  return TRUE;
}

static gboolean
check_open (PyovsStage *self, PyovsRefusal *refusal)
{
  if (self->stage == NULL)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_HANDLE, "stage: it was destroyed");
  return self->stage != NULL;
}

typedef struct
{
  PyovsOperation *query; /* lent */
  OvstageToken attribute;
  guint64 ordinal;
  guint64 prim_mode;
  guint64 semantic;
  guint64 count; /* 0: every prim */
  guint64 cuda_event;
  guint64 cuda_stream;
  gboolean transfer;
  gboolean is_array;
  OvstageTensor *tensor; /* (owned) (nullable) the only one */
  GPtrArray *tensors;    /* (owned) (nullable) of a list: one for each row of an array */
  GPtrArray *texts;      /* (owned) (nullable) of a list of str, and NULL at its end */
  gsize n_bytes;
  gboolean has_index_map;
  gboolean has_mask;
  PyovsIndexMap index_map;
  PyovsMask mask;
} Write;

static void
write_clear (Write *write)
{
  g_clear_pointer (&write->tensor, pyovs_tensor_unref);
  g_clear_pointer (&write->tensors, g_ptr_array_unref);
  g_clear_pointer (&write->texts, g_ptr_array_unref);
  if (write->has_index_map)
    pyovs_index_map_clear (&write->index_map);
  if (write->has_mask)
    pyovs_mask_clear (&write->mask);
}

/* The count and what goes with it: nobody may write to all prims by an empty selection. */
static gboolean
set_selection (Write *write, PyObject *index_map, PyObject *mask, PyObject *count)
{
  if (count != NULL)
    {
      if (!pyovs_as_uint (count, "count", G_MAXUINT32, &write->count))
        return FALSE;
      if (write->count == 0)
        {
          PyErr_SetString (PyExc_ValueError, "count: 0 elements are nothing to write; leave it out to write every prim");
          return FALSE;
        }
    }
  if (index_map != NULL)
    {
      write->has_index_map = TRUE;
      if (!pyovs_index_map_init (&write->index_map, index_map))
        return FALSE;
      if (count == NULL)
        {
          if (write->index_map.n == 0)
            {
              PyErr_SetString (PyExc_ValueError, "index_map: 0 entries are nothing to write");
              return FALSE;
            }
          if (write->index_map.n > G_MAXUINT32)
            {
              PyErr_Format (PyExc_ValueError, "index_map: %zu entries are too many", write->index_map.n);
              return FALSE;
            }
          write->count = write->index_map.n;
        }
      else if (write->count > write->index_map.n)
        {
          PyErr_Format (PyExc_ValueError, "index_map must hold one entry per logical element: count is %llu, there are %zu entries",
                        (unsigned long long) write->count, write->index_map.n);
          return FALSE;
        }
    }
  if (mask != NULL)
    {
      gsize needed;

      write->has_mask = TRUE;
      if (!pyovs_mask_init (&write->mask, mask))
        return FALSE;
      if (count == NULL && write->mask.is_words)
        {
          PyErr_SetString (PyExc_ValueError, "count: it is needed with a mask of words");
          return FALSE;
        }
      /* How many prims a query has, one that is not done has to be waited for. */
      if (write->count == 0 && write->query->op != NULL)
        {
          if (!ovstage_operation_is_done (write->query->op))
            {
              OvstageOperation *query = g_object_ref (write->query->op);

              Py_BEGIN_ALLOW_THREADS
              ovstage_operation_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
              g_object_unref (query);
              Py_END_ALLOW_THREADS
            }
          write->count = write->query->op != NULL ? ovstage_query_get_prim_count ((OvstageQuery *) write->query->op) : 0;
        }
      needed = write->mask.is_words ? write->count / 64 + (write->count % 64 != 0) : write->count;
      if (write->mask.n < needed)
        {
          PyErr_Format (PyExc_ValueError, "mask: %zu %s for %llu elements, %zu are needed", write->mask.n,
                        write->mask.is_words ? "words" : "bools", (unsigned long long) write->count, needed);
          return FALSE;
        }
    }
  return TRUE;
}

/* A list of str: the text of each prim. */
static gboolean
set_texts (Write *write, PyObject *list, PyovsRefusal *refusal)
{
  Py_ssize_t i;

  write->texts = g_ptr_array_new_with_free_func (g_free);
  for (i = 0; i < PySequence_Fast_GET_SIZE (list); i++)
    {
      PyObject *item = PySequence_Fast_GET_ITEM (list, i);
      const char *text;
      Py_ssize_t size;

      if (!PyUnicode_Check (item))
        {
          PyErr_Format (PyExc_TypeError, "tensors[%zd]: a str is needed beside others, not %s", i, Py_TYPE (item)->tp_name);
          return FALSE;
        }
      text = PyUnicode_AsUTF8AndSize (item, &size);
      if (text == NULL)
        return FALSE;
      if (strlen (text) != (gsize) size)
        {
          PyErr_Format (PyExc_ValueError, "tensors[%zd]: the text holds a NUL", i);
          return FALSE;
        }
      write->n_bytes += size;
      g_ptr_array_add (write->texts, g_strndup (text, size));
    }
  g_ptr_array_add (write->texts, NULL);
  if (!write->is_array)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors: texts are array attributes, expected is_array=True");
  return TRUE;
}

static void
add_size (Write *write, OvstageTensor *tensor)
{
  gsize n_bytes;

  if (pyovs_tensor_n_bytes (tensor, &n_bytes))
    write->n_bytes += n_bytes;
}

/* A list holds one tensor for each row of an array. That of a fixed-size attribute holds one. */
static gboolean
set_tensors (Write *write, PyObject *object, PyObject *stream, PyovsRefusal *refusal)
{
  PyovsSource source = { .takes_stream = TRUE };
  Py_ssize_t i, n;

  if (object == Py_None)
    {
      PyErr_SetString (PyExc_TypeError, "tensors: an array or a list of arrays is needed, not None");
      return FALSE;
    }
  if (!PyList_Check (object) && !PyTuple_Check (object))
    {
      write->tensor = pyovs_tensor_import (object, "tensors", PYOVS_IMPORT_MAY_COPY, stream, &source, refusal);
      write->cuda_stream |= source.work_stream;
      if (write->tensor != NULL)
        add_size (write, write->tensor);
      return write->tensor != NULL || !PyErr_Occurred ();
    }

  n = PySequence_Fast_GET_SIZE (object);
  if (n > 0 && PyUnicode_Check (PySequence_Fast_GET_ITEM (object, 0)))
    return set_texts (write, object, refusal);
  write->tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) pyovs_tensor_unref);
  for (i = 0; i < PySequence_Fast_GET_SIZE (object); i++)
    {
      PyObject *item = Py_NewRef (PySequence_Fast_GET_ITEM (object, i));
      PyovsRefusal own = { 0, NULL };
      OvstageTensor *tensor;
      char name[40];

      g_snprintf (name, sizeof name, "tensors[%d]", (int) i);
      tensor = pyovs_tensor_import (item, name, PYOVS_IMPORT_MAY_COPY, stream, &source, &own);
      Py_DECREF (item);
      if (own.code != 0)
        pyovs_refuse (refusal, own.code, "%s: %s", name, own.message);
      g_free (own.message);
      if (tensor == NULL && PyErr_Occurred ())
        return FALSE;
      if (tensor == NULL)
        continue;
      add_size (write, tensor);
      g_ptr_array_add (write->tensors, tensor);
    }
  write->cuda_stream |= source.work_stream;
  if (!write->is_array && write->tensors->len == 1)
    write->tensor = ovstage_tensor_ref (write->tensors->pdata[0]);
  if (n != 1 && !write->is_array)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors: %d were given, a fixed-size attribute takes one", (int) n);
  return TRUE;
}

static OvstageWriteData *
make_data (const Write *write)
{
  OvstageTensor **tensors = write->tensors != NULL ? (OvstageTensor **) write->tensors->pdata : NULL;
  gsize n = write->tensors != NULL ? write->tensors->len : 0;
  OvstageWriteData *data;

  if (write->texts != NULL)
    data = ovstage_write_data_new_strings ((const char *const *) write->texts->pdata);
  else if (!write->is_array)
    data = write->transfer ? ovstage_write_data_new_take (write->tensor) : ovstage_write_data_new (write->tensor);
  else if (write->tensor != NULL)
    data = write->transfer ? ovstage_write_data_new_packed_array_take (write->tensor)
                           : ovstage_write_data_new_packed_array (write->tensor);
  else
    data = write->transfer ? ovstage_write_data_new_array_take (tensors, n) : ovstage_write_data_new_array (tensors, n);
  if (write->count != 0)
    ovstage_write_data_set_count (data, write->count);
  if (write->has_index_map)
    ovstage_write_data_set_index_map (data, write->index_map.values, write->index_map.n);
  if (write->has_mask && write->count != 0)
    ovstage_write_data_set_mask (data, write->mask.words,
                                 write->mask.is_words ? write->mask.n : write->mask.n / 64 + (write->mask.n % 64 != 0));
  if (write->semantic != OVSTAGE_SEMANTIC_NONE)
    ovstage_write_data_set_semantic (data, write->semantic);
  if (write->cuda_event != 0 || write->cuda_stream != 0)
    ovstage_write_data_set_sync (data, write->cuda_stream, write->cuda_event);
  return data;
}

static OvstageOperation *
submit_write (PyovsStage *self, Write *write)
{
  OvstageWriteData *data = make_data (write);
  OvstageQuery *query = (OvstageQuery *) write->query->op;
  OvstageStage *stage = self->stage;
  OvstageOperation *op;

  if (write->n_bytes < PYOVS_LARGE)
    {
      op = ovstage_stage_write_attribute (stage, query, write->attribute, write->ordinal, data, write->prim_mode, NULL);
      ovstage_write_data_unref (data);
      return op;
    }
  g_object_ref (stage);
  g_object_ref (query);
  Py_BEGIN_ALLOW_THREADS
  op = ovstage_stage_write_attribute (stage, query, write->attribute, write->ordinal, data, write->prim_mode, NULL);
  ovstage_write_data_unref (data);
  g_object_unref (query);
  g_object_unref (stage);
  Py_END_ALLOW_THREADS
  return op;
}

enum
{
  WRITE_QUERY,
  WRITE_ATTRIBUTE,
  WRITE_ORDINAL,
  WRITE_TENSORS,
  WRITE_IS_ARRAY,
  WRITE_PRIM_MODE,
  WRITE_SEMANTIC,
  WRITE_INDEX_MAP,
  WRITE_MASK,
  WRITE_COUNT,
  WRITE_CUDA_EVENT,
  WRITE_CUDA_STREAM,
  WRITE_PLACEMENT,
  WRITE_TRANSFER,
  N_WRITE,
};

/* What is given for one attribute, by the names of write_attribute(). FALSE with a Python error. */
static gboolean
set_entry (PyovsStage *self, Write *write, PyObject **values, PyovsRefusal *refusal)
{
  PyObject *stream = NULL;
  gboolean fine;
  int i;

  for (i = WRITE_INDEX_MAP; i <= WRITE_COUNT; i++)
    if (values[i] == Py_None)
      values[i] = NULL;
  if (!PyBool_Check (values[WRITE_IS_ARRAY]))
    {
      PyErr_Format (PyExc_TypeError, "is_array: a bool is needed, not %s", Py_TYPE (values[WRITE_IS_ARRAY])->tp_name);
      return FALSE;
    }
  write->is_array = values[WRITE_IS_ARRAY] == Py_True;
  if (values[WRITE_TRANSFER] != NULL && !PyBool_Check (values[WRITE_TRANSFER]))
    {
      PyErr_Format (PyExc_TypeError, "transfer: a bool is needed, not %s", Py_TYPE (values[WRITE_TRANSFER])->tp_name);
      return FALSE;
    }
  write->transfer = values[WRITE_TRANSFER] == Py_True;

  if (!as_attribute (self, values[WRITE_ATTRIBUTE], refusal, &write->attribute) ||
      (values[WRITE_SEMANTIC] != NULL &&
       !pyovs_as_uint (values[WRITE_SEMANTIC], "semantic", OVSTAGE_SEMANTIC_FRAME, &write->semantic)) ||
      (values[WRITE_CUDA_EVENT] != NULL &&
       !pyovs_as_uint (values[WRITE_CUDA_EVENT], "cuda_event", G_MAXUINT64, &write->cuda_event)) ||
      (values[WRITE_CUDA_STREAM] != NULL &&
       !pyovs_as_uint (values[WRITE_CUDA_STREAM], "cuda_stream", G_MAXUINT64, &write->cuda_stream)) ||
      !set_selection (write, values[WRITE_INDEX_MAP], values[WRITE_MASK], values[WRITE_COUNT]))
    return FALSE;

  /* The caller orders the work by what it gave; the producer is asked not to. */
  if (write->cuda_event != 0 || write->cuda_stream != 0)
    {
      stream = PyLong_FromLong (-1);
      if (stream == NULL)
        return FALSE;
    }
  fine = set_tensors (write, values[WRITE_TENSORS], stream, refusal);
  Py_XDECREF (stream);
  return fine;
}

static PyObject *
stage_write_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "write_attribute", .n_positional = 4, .n_required = 4, .required = 1u << WRITE_IS_ARRAY,
    .names = { "query", "attribute", "ordinal", "tensors", "is_array", "prim_mode", "semantic", "index_map", "mask", "count",
               "cuda_event", "cuda_stream", "placement", "transfer" }
  };
  PyObject *values[N_WRITE], *result = NULL;
  PyovsRefusal refusal = { 0, NULL };
  Write write = { 0, };
  guint64 prim_mode = OVSTAGE_PRIM_MODE_UPSERT;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  check_open (self, &refusal);
  write.query = (PyovsOperation *) values[WRITE_QUERY];
  if (!check_query (values[WRITE_QUERY], &refusal) ||
      !pyovs_as_uint (values[WRITE_ORDINAL], "ordinal", G_MAXUINT64, &write.ordinal) ||
      (values[WRITE_PRIM_MODE] != NULL && !pyovs_as_uint (values[WRITE_PRIM_MODE], "prim_mode", OVSTAGE_PRIM_MODE_UPDATE, &prim_mode)) ||
      !check_placement (values[WRITE_PLACEMENT], &refusal) || !set_entry (self, &write, values, &refusal))
    goto out;
  write.prim_mode = prim_mode;

  /* Importing may have run any code, which may have released what was looked at before. */
  check_open (self, &refusal);
  pyovs_query_get (write.query, &refusal);
  if (refusal.code != 0)
    {
      result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
      refusal.message = NULL;
      goto out;
    }
  self->unsealed += write.n_bytes;
  result = new_operation (self, &pyovs_operation_type, submit_write (self, &write));

out:
  write_clear (&write);
  g_free (refusal.message);
  return result;
}

static PyObject *
stage_delete_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "delete_attributes", .n_positional = 3, .n_required = 3, .names = { "query", "attributes", "ordinal" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[3], *result;
  OvstageQuery *query;
  guint64 ordinal;
  Tokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  check_open (self, &refusal);
  if (!check_query (values[0], &refusal))
    {
      g_free (refusal.message);
      return NULL;
    }
  if (!as_attributes (self, values[1] != Py_None ? values[1] : NULL, &refusal, &tokens) ||
      !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal))
    {
      clear_tokens (&tokens);
      g_free (refusal.message);
      return NULL;
    }
  check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
  else
    result = new_operation (self, &pyovs_operation_type,
                            ovstage_stage_delete_attributes (self->stage, query, tokens.tokens, tokens.n, ordinal));
  clear_tokens (&tokens);
  return result;
}

/* A path, lent by @object; NULL with a Python error or a refusal. */
static const char *
as_path (PyObject *object, const char *name, PyovsRefusal *refusal)
{
  const char *text;
  Py_ssize_t n;

  if (!PyUnicode_Check (object))
    {
      PyErr_Format (PyExc_TypeError, "%s: a str is needed, not %s", name, Py_TYPE (object)->tp_name);
      return NULL;
    }
  text = PyUnicode_AsUTF8AndSize (object, &n);
  if (text == NULL && PyErr_ExceptionMatches (PyExc_UnicodeEncodeError))
    {
      PyErr_Clear ();
      pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: a lone surrogate is in it, which no UTF-8 has", name);
    }
  else if (text != NULL && strlen (text) != (gsize) n)
    {
      pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: \"%s\" is followed by a NUL character", name, text);
      return NULL;
    }
  return text;
}

/* The strings of @tuple. NULL with a Python error or a refusal. */
static const char **
as_paths (PyObject *tuple, PyovsRefusal *refusal)
{
  Py_ssize_t n = PyTuple_GET_SIZE (tuple);
  const char **paths = g_new0 (const char *, n + 1);

  for (Py_ssize_t i = 0; i < n; i++)
    {
      char name[32];

      g_snprintf (name, sizeof name, "targets[%zd]", i);
      paths[i] = as_path (PyTuple_GET_ITEM (tuple, i), name, refusal);
      if (paths[i] == NULL)
        {
          g_free (paths);
          return NULL;
        }
    }
  return paths;
}

static PyObject *
new_clone (PyovsStage *self, PyObject *const *values)
{
  PyovsRefusal refusal = { 0, NULL };
  PyObject *tuple, *result = NULL;
  const char *source, **targets;
  OvstageOperation *op;
  OvstageStage *stage;
  guint64 ordinal;

  if (!PyUnicode_Check (values[0]))
    return PyErr_Format (PyExc_TypeError, "source: a str is needed, not %s", Py_TYPE (values[0])->tp_name);
  if (PyUnicode_Check (values[1]))
    return PyErr_Format (PyExc_TypeError, "targets: an iterable of str is needed, not a str");
  tuple = PySequence_Tuple (values[1]);
  if (tuple == NULL)
    return NULL;
  check_open (self, &refusal);
  source = as_path (values[0], "source", &refusal);
  targets = !PyErr_Occurred () ? as_paths (tuple, &refusal) : NULL;
  if (PyErr_Occurred () || !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal))
    g_free (refusal.message);
  else if (refusal.code != 0)
    result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
  else
    {
      stage = g_object_ref (self->stage);
      Py_BEGIN_ALLOW_THREADS
      op = ovstage_stage_clone (stage, source, targets, ordinal);
      g_object_unref (stage);
      Py_END_ALLOW_THREADS
      result = new_operation (self, &pyovs_operation_type, op);
    }
  Py_DECREF (tuple);
  g_free (targets);
  return result;
}

static PyObject *
stage_clone_async (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "clone_async", .n_positional = 3, .n_required = 3, .names = { "source", "targets", "ordinal" }
  };
  PyObject *values[3];

  return pyovs_parse (&signature, args, n_args, names, values) ? new_clone (self, values) : NULL;
}

static PyObject *
stage_clone (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "clone", .n_positional = 3, .n_required = 3, .names = { "source", "targets", "ordinal" }
  };
  PyObject *values[3], *op, *result;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  op = new_clone (self, values);
  if (op == NULL)
    return NULL;
  result = PyObject_CallMethod (op, "wait", NULL);
  PYOVS_KEEPING_ERROR (Py_DECREF (op));
  return result;
}

static PyObject *
stage_advance_write_floor (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "advance_write_floor", .n_positional = 1, .n_required = 1, .names = { "ordinal", "scope", "attributes" }
  };
  guint64 ordinal, scope = OVSTAGE_SCOPE_ALL;
  PyovsRefusal refusal = { 0, NULL };
  OvstageOperation *op;
  OvstageStage *stage;
  PyObject *values[3];
  Tokens tokens;
  gboolean large;

  if (!pyovs_parse (&signature, args, n_args, names, values) ||
      !pyovs_as_uint (values[0], "ordinal", G_MAXUINT64, &ordinal) ||
      (values[1] != NULL && !pyovs_as_uint (values[1], "scope", OVSTAGE_SCOPE_EXCLUDE, &scope)))
    return NULL;
  if (!as_attributes (self, values[2], &refusal, &tokens))
    {
      clear_tokens (&tokens);
      g_free (refusal.message);
      return NULL;
    }
  check_open (self, &refusal);
  if (refusal.code != 0)
    {
      clear_tokens (&tokens);
      return pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
    }

  stage = self->stage;
  large = self->unsealed >= PYOVS_LARGE;
  self->unsealed = 0;
  if (!large)
    op = ovstage_stage_advance_write_floor (stage, ordinal, scope, tokens.tokens, tokens.n);
  else
    {
      g_object_ref (stage);
      Py_BEGIN_ALLOW_THREADS
      op = ovstage_stage_advance_write_floor (stage, ordinal, scope, tokens.tokens, tokens.n);
      g_object_unref (stage);
      Py_END_ALLOW_THREADS
    }
  clear_tokens (&tokens);
  return new_operation (self, &pyovs_operation_type, op);
}

/* Says of a Python error which entry it is about, for who can read notes. */
static void
note_entry (Py_ssize_t i)
{
  PyObject *type, *value, *traceback, *note, *result = NULL;

  PyErr_Fetch (&type, &value, &traceback);
  PyErr_NormalizeException (&type, &value, &traceback);
  note = PyUnicode_FromFormat ("in writes[%zd]", i);
  if (note != NULL && value != NULL)
    result = PyObject_CallMethod (value, "add_note", "O", note);
  if (result == NULL)
    PyErr_Clear ();
  Py_XDECREF (result);
  Py_XDECREF (note);
  PyErr_Restore (type, value, traceback);
}

/* What a WriteDesc tells. */
static gboolean
set_entry_from_desc (PyovsStage *self, Write *write, PyObject *desc, PyovsRefusal *refusal)
{
  static const struct
  {
    const char *name;
    int index;
  } fields[] = {
    { "attribute", WRITE_ATTRIBUTE }, { "tensors", WRITE_TENSORS },         { "is_array", WRITE_IS_ARRAY },
    { "semantic", WRITE_SEMANTIC },   { "index_map", WRITE_INDEX_MAP },     { "mask", WRITE_MASK },
    { "count", WRITE_COUNT },         { "cuda_event", WRITE_CUDA_EVENT },   { "cuda_stream", WRITE_CUDA_STREAM },
    { "transfer", WRITE_TRANSFER },
  };
  static PyObject *interned[G_N_ELEMENTS (fields)];
  PyObject *given[N_WRITE] = { NULL, }, *values[N_WRITE];
  gboolean fine = TRUE;
  gsize i;

  if (!PyObject_TypeCheck (desc, (PyTypeObject *) pyovs.write_desc))
    {
      PyErr_Format (PyExc_TypeError, "writes: a WriteDesc is needed, not %s", Py_TYPE (desc)->tp_name);
      return FALSE;
    }
  for (i = 0; i < G_N_ELEMENTS (fields) && fine; i++)
    {
      if (interned[i] == NULL)
        interned[i] = PyUnicode_InternFromString (fields[i].name);
      if (interned[i] != NULL)
        given[fields[i].index] = PyObject_GetAttr (desc, interned[i]);
      fine = given[fields[i].index] != NULL;
    }
  memcpy (values, given, sizeof values);
  fine = fine && set_entry (self, write, values, refusal);
  for (i = 0; i < N_WRITE; i++)
    Py_XDECREF (given[i]);
  return fine;
}

static OvstageOperation *
submit_writes (PyovsStage *self, OvstageQuery *query, Write *writes, gsize n, guint64 ordinal, guint64 prim_mode, gsize n_bytes)
{
  OvstageToken *tokens = g_new (OvstageToken, n);
  OvstageWriteData **datas = g_new (OvstageWriteData *, n);
  OvstageStage *stage = g_object_ref (self->stage);
  OvstageOperation *op;
  PyThreadState *state;
  gsize i;

  for (i = 0; i < n; i++)
    {
      tokens[i] = writes[i].attribute;
      datas[i] = make_data (&writes[i]);
    }
  g_object_ref (query);
  state = n_bytes >= PYOVS_LARGE ? PyEval_SaveThread () : NULL;
  op = ovstage_stage_write_attributes (stage, query, tokens, n, datas, n, ordinal, prim_mode, NULL);
  for (i = 0; i < n; i++)
    ovstage_write_data_unref (datas[i]);
  g_object_unref (query);
  g_object_unref (stage);
  if (state != NULL)
    PyEval_RestoreThread (state);
  g_free (datas);
  g_free (tokens);
  return op;
}

static PyObject *
stage_write_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "write_attributes", .n_positional = 3, .n_required = 3,
    .names = { "query", "writes", "ordinal", "prim_mode", "placement" }
  };
  PyObject *values[5], *descs = NULL, *result = NULL;
  PyovsRefusal refusal = { 0, NULL };
  guint64 ordinal, prim_mode = OVSTAGE_PRIM_MODE_UPSERT;
  OvstageQuery *query;
  Write *writes = NULL;
  gsize n_bytes = 0;
  Py_ssize_t i, n = 0;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  check_open (self, &refusal);
  if (!check_query (values[0], &refusal) || !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal) ||
      (values[3] != NULL && !pyovs_as_uint (values[3], "prim_mode", OVSTAGE_PRIM_MODE_UPDATE, &prim_mode)) ||
      !check_placement (values[4], &refusal))
    goto out;
  descs = PySequence_Tuple (values[1]);
  if (descs == NULL)
    {
      if (PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "writes: a sequence of WriteDesc is needed, not %s", Py_TYPE (values[1])->tp_name);
      goto out;
    }

  n = PyTuple_GET_SIZE (descs);
  writes = g_new0 (Write, n);
  for (i = 0; i < n; i++)
    {
      PyovsRefusal own = { 0, NULL };
      gboolean fine;

      writes[i].query = (PyovsOperation *) values[0];
      fine = set_entry_from_desc (self, &writes[i], PyTuple_GET_ITEM (descs, i), &own);
      if (own.code != 0)
        pyovs_refuse (&refusal, own.code, "entry %zd: %s", i, own.message);
      g_free (own.message);
      if (!fine)
        {
          note_entry (i);
          goto out;
        }
      n_bytes += writes[i].n_bytes;
    }

  /* Importing may have run any code, which may have released what was looked at before. */
  check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    {
      result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
      refusal.message = NULL;
      goto out;
    }
  self->unsealed += n_bytes;
  result = new_operation (self, &pyovs_operation_type, submit_writes (self, query, writes, n, ordinal, prim_mode, n_bytes));

out:
  for (i = 0; writes != NULL && i < n; i++)
    write_clear (&writes[i]);
  g_free (writes);
  Py_XDECREF (descs);
  g_free (refusal.message);
  return result;
}

static PyObject *
stage_read_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "read_attributes", .n_positional = 3, .n_required = 3, .names = { "query", "attributes", "ordinal_range", "placement" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[4], *result;
  OvstageQuery *query;
  OvstageRead *read;
  Tokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (Py_TYPE (values[2]) != &pyovs_ordinal_range_type)
    {
      PyErr_Format (PyExc_TypeError, "ordinal_range: an OrdinalRange is needed, not %s", Py_TYPE (values[2])->tp_name);
      return NULL;
    }
  check_open (self, &refusal);
  if (!check_query (values[0], &refusal))
    {
      g_free (refusal.message);
      return NULL;
    }
  if (!as_attributes (self, values[1], &refusal, &tokens) || !check_placement (values[3], &refusal))
    {
      clear_tokens (&tokens);
      g_free (refusal.message);
      return NULL;
    }
  check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    result = pyovs_operation_new_refused (&pyovs_read_type, &refusal);
  else
    {
      read = ovstage_stage_read_attributes (self->stage, query, tokens.tokens, tokens.n, &((PyovsOrdinalRange *) values[2])->range,
                                            NULL);
      result = new_operation (self, &pyovs_read_type, read);
    }
  clear_tokens (&tokens);
  return result;
}

/* Maps */

/* A DLDataType, or its text. None: left open. */
static gboolean
as_data_type (PyObject *object, OvstageDataType *dtype, PyovsRefusal *refusal)
{
  PyObject *fields;
  int code, bits, lanes;

  *dtype = (OvstageDataType){ 0, 0, 0 };
  if (object == NULL || object == Py_None)
    return TRUE;
  if (PyUnicode_Check (object))
    {
      const char *text = PyUnicode_AsUTF8 (object);
      GError *error = NULL;
      OvstageDataType *parsed = text != NULL ? ovstage_data_type_parse (text, &error) : NULL;

      if (text == NULL)
        return FALSE;
      if (parsed == NULL)
        {
          PyErr_Format (PyExc_ValueError, "dtype: %s", error->message);
          g_error_free (error);
          return FALSE;
        }
      *dtype = *parsed;
      ovstage_data_type_free (parsed);
      return TRUE;
    }
  if (!PyObject_TypeCheck (object, (PyTypeObject *) pyovs.data_type))
    {
      PyErr_Format (PyExc_TypeError, "dtype: a DLDataType, a text such as 'float32x3' or None is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  fields = PySequence_Tuple (object);
  if (fields == NULL || !PyArg_ParseTuple (fields, "iii", &code, &bits, &lanes))
    {
      Py_XDECREF (fields);
      return FALSE;
    }
  Py_DECREF (fields);
  *dtype = (OvstageDataType){ (guint8) code, (guint8) bits, (guint16) lanes };
  return TRUE;
}

typedef struct
{
  gsize *values; /* (owned) (nullable) */
  gsize n;
} Counts;

static gboolean
as_counts (PyObject *object, Counts *counts)
{
  PyObject *sequence;
  gsize i;

  if (object == NULL || object == Py_None)
    return TRUE;
  sequence = PySequence_Tuple (object);
  if (sequence == NULL)
    {
      if (PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "element_sizes: a sequence of integers or None is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  counts->n = PyTuple_GET_SIZE (sequence);
  counts->values = g_new (gsize, MAX (counts->n, 1));
  for (i = 0; i < counts->n; i++)
    {
      guint64 count;

      if (!pyovs_as_uint (PyTuple_GET_ITEM (sequence, i), "element_sizes", G_MAXSIZE, &count))
        {
          Py_DECREF (sequence);
          return FALSE;
        }
      counts->values[i] = count;
    }
  Py_DECREF (sequence);
  return TRUE;
}

static PyObject *
stage_map_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "map_attribute", .n_positional = 3, .n_required = 3,
    .names = { "query", "attribute", "ordinal", "dtype", "semantic", "prim_mode", "element_sizes", "initialize", "placement" }
  };
  guint64 ordinal, semantic = OVSTAGE_SEMANTIC_NONE, prim_mode = OVSTAGE_PRIM_MODE_UPSERT;
  PyovsRefusal refusal = { 0, NULL };
  OvstageMapFlags flags = OVSTAGE_MAP_FLAGS_NONE;
  Counts counts = { NULL, 0 };
  PyObject *values[9], *result = NULL;
  OvstageDataType dtype;
  OvstageToken attribute;
  OvstageQuery *query;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  check_open (self, &refusal);
  if (!check_query (values[0], &refusal) || !as_attribute (self, values[1], &refusal, &attribute) ||
      !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal) || !as_data_type (values[3], &dtype, &refusal) ||
      (values[4] != NULL && !pyovs_as_uint (values[4], "semantic", OVSTAGE_SEMANTIC_FRAME, &semantic)) ||
      (values[5] != NULL && !pyovs_as_uint (values[5], "prim_mode", OVSTAGE_PRIM_MODE_UPDATE, &prim_mode)) ||
      !as_counts (values[6], &counts) || !check_placement (values[8], &refusal))
    goto out;
  if (values[7] != NULL && !PyBool_Check (values[7]))
    {
      PyErr_Format (PyExc_TypeError, "initialize: a bool is needed, not %s", Py_TYPE (values[7])->tp_name);
      goto out;
    }
  if (values[7] == Py_True)
    flags |= OVSTAGE_MAP_FLAGS_INITIALIZE;

  check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    {
      result = pyovs_operation_new_refused (&pyovs_map_type, &refusal);
      refusal.message = NULL;
    }
  else
    {
      OvstageStage *stage = g_object_ref (self->stage);
      OvstageMap *map;

      g_object_ref (query);
      Py_BEGIN_ALLOW_THREADS
      map = ovstage_stage_map_attribute (stage, query, attribute, &dtype, semantic, counts.values, counts.n, ordinal, prim_mode,
                                         flags, NULL);
      Py_END_ALLOW_THREADS
      g_object_unref (query);
      result = new_operation (self, &pyovs_map_type, map);
      if (result != NULL)
        ((PyovsMap *) result)->stage = stage;
      g_object_unref (stage);
    }

out:
  g_free (counts.values);
  g_free (refusal.message);
  return result;
}

/* @group: NULL for the rest. */
static PyObject *
unmap (PyovsStage *self, PyObject *map, PyObject *group, PyObject *event_object, PyObject *stream_object)
{
  PyovsRefusal refusal = { 0, NULL };
  guint64 event = 0, stream = 0;
  gpointer op;

  if (Py_TYPE (map) != &pyovs_map_type)
    {
      PyErr_Format (PyExc_TypeError, "map: a Map is needed, not %s", Py_TYPE (map)->tp_name);
      return NULL;
    }
  if (group != NULL && Py_TYPE (group) != &pyovs_map_group_type)
    {
      PyErr_Format (PyExc_TypeError, "group: a MapGroup is needed, not %s", Py_TYPE (group)->tp_name);
      return NULL;
    }
  if ((event_object != NULL && !pyovs_as_uint (event_object, "cuda_event", G_MAXUINT64, &event)) ||
      (stream_object != NULL && !pyovs_as_uint (stream_object, "cuda_stream", G_MAXUINT64, &stream)))
    return NULL;
  if (check_open (self, &refusal) && ((PyovsMap *) map)->operation.op != NULL && ((PyovsMap *) map)->stage != self->stage)
    pyovs_refuse (&refusal, OVSTAGE_ERROR_INVALID_HANDLE, "map: it is of another stage");
  op = refusal.code == 0 ? pyovs_map_commit ((PyovsMap *) map, group, stream, event, &refusal) : NULL;
  if (op == NULL)
    return pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
  return new_operation (self, &pyovs_operation_type, op);
}

static PyObject *
stage_unmap_group (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "unmap_group", .n_positional = 2, .n_required = 2, .names = { "map", "group", "cuda_event", "cuda_stream" }
  };
  PyObject *values[4];

  return pyovs_parse (&signature, args, n_args, names, values) ? unmap (self, values[0], values[1], values[2], values[3]) : NULL;
}

static PyObject *
stage_unmap_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "unmap_attribute", .n_positional = 1, .n_required = 1, .names = { "map", "cuda_event", "cuda_stream" }
  };
  PyObject *values[3];

  return pyovs_parse (&signature, args, n_args, names, values) ? unmap (self, values[0], NULL, values[1], values[2]) : NULL;
}

/* Filters: trees of tuples, as ovstage.Filter makes them. (kind, parts) or (attribute, op, values). */

enum
{
  FILTER_ALL,
  FILTER_ANY,
  FILTER_NOT,
};

static GVariant *
new_value (PyObject *object)
{
  int overflow;
  gint64 number;

  if (PyBytes_Check (object)) /* terminated, which tells it from one that ends with a zero */
    return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, PyBytes_AS_STRING (object), (gsize) PyBytes_GET_SIZE (object) + 1, 1);
  if (PyFloat_Check (object))
    return g_variant_new_double (PyFloat_AS_DOUBLE (object));
  number = PyLong_AsLongLongAndOverflow (object, &overflow);
  if (overflow == 0)
    return g_variant_new_int64 (number);
  return g_variant_new_uint64 (PyLong_AsUnsignedLongLong (object));
}

static OvstageFilter *
new_predicate (PyovsStage *self, PyObject *tree, PyovsRefusal *refusal)
{
  PyObject *values = PyTuple_GET_ITEM (tree, 2);
  long op = PyLong_AsLong (PyTuple_GET_ITEM (tree, 1));
  GVariantBuilder builder;
  OvstageToken token;

  if (!as_attribute (self, PyTuple_GET_ITEM (tree, 0), refusal, &token))
    return NULL;
  if (op == OVSTAGE_FILTER_OP_HAS)
    return ovstage_filter_new_has (token);
  if (op != OVSTAGE_FILTER_OP_IN)
    return ovstage_filter_new_compare (token, (OvstageFilterOp) op, new_value (PyTuple_GET_ITEM (values, 0)));
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("av"));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE (values); i++)
    g_variant_builder_add (&builder, "v", new_value (PyTuple_GET_ITEM (values, i)));
  return ovstage_filter_new_in (token, g_variant_builder_end (&builder));
}

/* NULL with a Python error, or a refusal. */
static OvstageFilter *
new_filter (PyovsStage *self, PyObject *tree, PyovsRefusal *refusal)
{
  g_autoptr (GPtrArray) parts = NULL;
  OvstageFilter *filter = NULL;
  PyObject *items;
  long kind;

  if (PyTuple_GET_SIZE (tree) == 3)
    return new_predicate (self, tree, refusal);
  if (Py_EnterRecursiveCall (" in a filter"))
    return NULL;
  kind = PyLong_AsLong (PyTuple_GET_ITEM (tree, 0));
  items = PyTuple_GET_ITEM (tree, 1);
  parts = g_ptr_array_new_with_free_func ((GDestroyNotify) ovstage_filter_unref);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE (items); i++)
    {
      OvstageFilter *part = new_filter (self, PyTuple_GET_ITEM (items, i), refusal);

      if (part == NULL)
        break;
      g_ptr_array_add (parts, part);
    }
  Py_LeaveRecursiveCall ();
  if (parts->len < PyTuple_GET_SIZE (items))
    return NULL;
  if (kind == FILTER_NOT)
    filter = ovstage_filter_new_not (parts->pdata[0]);
  else if (kind == FILTER_ANY)
    filter = ovstage_filter_new_any_of ((OvstageFilter *const *) parts->pdata, parts->len);
  else
    filter = ovstage_filter_new_all_of ((OvstageFilter *const *) parts->pdata, parts->len);
  return filter;
}

/* The tree of an ovstage.Filter: a new reference. */
static PyObject *
get_tree (PyObject *object)
{
  PyObject *tree = PyObject_GetAttrString (object, "_tree");

  if (tree != NULL && PyTuple_Check (tree))
    return tree;
  Py_XDECREF (tree);
  PyErr_Format (PyExc_TypeError, "filter: a Filter is needed, not %s", Py_TYPE (object)->tp_name);
  return NULL;
}

static PyObject *
stage_query (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = { .function = "query", .n_positional = 2, .n_required = 0, .names = { "filter", "attributes" } };
  PyovsRefusal refusal = { 0, NULL };
  g_autoptr (OvstageFilter) filter = NULL;
  PyObject *values[2], *tree = NULL, *result = NULL;
  Tokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (values[0] != NULL && values[0] != Py_None && (tree = get_tree (values[0])) == NULL)
    return NULL;
  check_open (self, &refusal);
  if (tree != NULL)
    filter = new_filter (self, tree, &refusal);
  Py_XDECREF (tree);
  if (PyErr_Occurred ())
    {
      g_free (refusal.message);
      return NULL;
    }
  if (as_attributes (self, values[1] != Py_None ? values[1] : NULL, &refusal, &tokens))
    {
      OvstageStage *stage = self->stage;
      OvstageQuery *query;

      check_open (self, &refusal);
      if (refusal.code != 0)
        result = pyovs_operation_new_refused (&pyovs_query_type, &refusal);
      else
        {
          g_object_ref (stage);
          Py_BEGIN_ALLOW_THREADS
          query = ovstage_stage_query_filter (stage, filter, tokens.tokens, tokens.n);
          Py_END_ALLOW_THREADS
          g_object_unref (stage);
          result = new_operation (self, &pyovs_query_type, query);
        }
    }
  else
    g_free (refusal.message);
  clear_tokens (&tokens);
  return result;
}

static PyObject *
stage_query_from_path_list (PyovsStage *self, PyObject *object)
{
  PyovsPathList *list = (PyovsPathList *) object;
  PyovsRefusal refusal = { 0, NULL };

  if (!PyObject_TypeCheck (object, &pyovs_path_list_type))
    {
      PyErr_Format (PyExc_TypeError, "path_list: a PathList is needed, not %s", Py_TYPE (object)->tp_name);
      return NULL;
    }
  check_open (self, &refusal);
  if (list->list == NULL)
    pyovs_refuse (&refusal, OVSTAGE_ERROR_INVALID_HANDLE, "path_list: the list was destroyed");
  if (refusal.code != 0)
    return pyovs_operation_new_refused (&pyovs_query_type, &refusal);
  return new_operation (self, &pyovs_query_type, ovstage_stage_query_path_list (self->stage, list->list));
}

PYOVS_METHOD_1 (stage, query_from_path_list, path_list)

/* Changes */

static PyObject *
stage_watch (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "watch", .n_positional = 3, .n_required = 2, .names = { "query", "attributes", "callback" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[3], *result = NULL;
  OvstageQuery *query;
  Tokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (values[2] == Py_None)
    values[2] = NULL;
  if (values[2] != NULL && !PyCallable_Check (values[2]))
    {
      PyErr_Format (PyExc_TypeError, "callback: a callable or None is needed, not %s", Py_TYPE (values[2])->tp_name);
      return NULL;
    }
  check_open (self, &refusal);
  if (!check_query (values[0], &refusal))
    {
      g_free (refusal.message);
      return NULL;
    }
  if (as_attributes (self, values[1], &refusal, &tokens))
    {
      check_open (self, &refusal);
      query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
      if (refusal.code != 0)
        pyovs_raise (pyovs.error, refusal.code, refusal.message);
      else
        result = pyovs_changes_new (self->stage, query, tokens.tokens, tokens.n, values[2]);
    }
  clear_tokens (&tokens);
  g_free (refusal.message);
  return result;
}

/* The rest */

static PyObject *
stage_release_group (PyObject *self, PyObject *object)
{
  if (!PyObject_TypeCheck (object, &pyovs_group_type))
    {
      PyErr_Format (PyExc_TypeError, "group: a ReadGroup is needed, not %s", Py_TYPE (object)->tp_name);
      return NULL;
    }
  return pyovs_group_release (object, NULL);
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
  if (!as_attribute (self, values[0], &refusal, &token))
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

static PyMethodDef stage_methods[] = {
  { "write_attribute", PYOVS_METHOD (stage_write_attribute), METH_FASTCALL | METH_KEYWORDS,
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
  { "write_attributes", PYOVS_METHOD (stage_write_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("write_attributes($self, query, writes, ordinal, *, prim_mode=0, placement=None)\n--\n\n"
               "Writes several attributes of the same prims as one: all of them or none.\n\n"
               "writes: a WriteDesc for each attribute, with what write_attribute() takes. An error tells the entry it is\n"
               "about. Sealed together they appear at once.") },
  { "read_attributes", PYOVS_METHOD (stage_read_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("read_attributes($self, query, attributes, ordinal_range, *, placement=None)\n--\n\n"
               "Reads the sealed values of attributes, without a copy. Gives a Read.") },
  { "map_attribute", PYOVS_METHOD (stage_map_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("map_attribute($self, query, attribute, ordinal, *, dtype=None, semantic=0, prim_mode=0, "
               "element_sizes=None, initialize=False, placement=None)\n--\n\n"
               "Memory of the store to fill with one row per prim, then to commit as a write. Gives a Map.\n\n"
               "dtype: a DLDataType or its text, such as \"float32x3\"; None for that of what is there.\n"
               "element_sizes: for an attribute of arrays, the number of elements of each prim.\n"
               "initialize: whether the memory holds the current values; what it holds is unknown otherwise.") },
  { "unmap_group", PYOVS_METHOD (stage_unmap_group), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("unmap_group($self, map, group, *, cuda_event=0, cuda_stream=0)\n--\n\n"
               "Commits one group of a map: writes its values at the ordinal of the map. Its memory is the store's from\n"
               "now on, and its arrays are read-only.") },
  { "unmap_attribute", PYOVS_METHOD (stage_unmap_attribute), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("unmap_attribute($self, map, *, cuda_event=0, cuda_stream=0)\n--\n\n"
               "Commits what is left of a map, as one write, and ends it.") },
  { "delete_attributes", PYOVS_METHOD (stage_delete_attributes), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("delete_attributes($self, query, attributes, ordinal)\n--\n\n"
               "Takes attributes off the prims of a query at an ordinal. Deleting what is not there is fine.\n\n"
               "attributes: tokens or their texts; none at all, or None, for everything that the prims have. The prims\n"
               "may be given the attribute again, with another data type.") },
  { "clone", PYOVS_METHOD (stage_clone), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("clone($self, source, targets, ordinal)\n--\n\n"
               "Copies everything at and below a path to other paths, which do not exist yet, at an ordinal, and waits\n"
               "until that is done.\n\n"
               "source: a str. targets: an iterable of str. Raises as the operation of clone_async() would.") },
  { "clone_async", PYOVS_METHOD (stage_clone_async), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("clone_async($self, source, targets, ordinal)\n--\n\n"
               "As clone(), without waiting. Gives an Operation.") },
  { "advance_write_floor", PYOVS_METHOD (stage_advance_write_floor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("advance_write_floor($self, ordinal, *, scope=0, attributes=())\n--\n\n"
               "Seals everything at or below an ordinal: it can be read, and no longer changes.\n\n"
               "scope: a Scope; which attributes, all unless told otherwise.") },
  { "query", PYOVS_METHOD (stage_query), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("query($self, filter=None, attributes=())\n--\n\n"
               "The query that selects the prims a Filter matches, or all that exist, by path id.\n\n"
               "It sees all that was submitted before, sealed or not. It may not be done at once, and can be used\n"
               "nevertheless. attributes: which ones to look for on the prims, all unless told otherwise.") },
  PYOVS_METHOD_1_DEF ("query_from_path_list", stage_query_from_path_list,
                      "query_from_path_list($self, path_list)\n--\n\n"
                      "The query that selects the prims of a list, in its order."),
  { "wait_op", PYOVS_METHOD (stage_wait_op), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("wait_op($self, op_id, timeout=-1)\n--\n\n"
               "Waits for an operation by its id. Gives (code, error_op_ids, lowest_pending): OK once it is done, well or\n"
               "not, TIMEOUT, or INVALID_HANDLE; the ids that failed since this thread's last wait_op(); and, on TIMEOUT,\n"
               "the lowest pending id it waits for. Knows the operations that were submitted through this object.") },
  PYOVS_METHOD_1_DEF ("release_op", stage_release_op,
                      "release_op($self, op_id)\n--\n\nRetires an id: waiting for it later is INVALID_HANDLE."),
  PYOVS_METHOD_1_DEF ("release_group", stage_release_group,
                      "release_group($self, group)\n--\n\nLets a group go, as group.release() does."),
  { "get_attribute_write_floor", PYOVS_METHOD (stage_get_attribute_write_floor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("get_attribute_write_floor($self, attribute=None)\n--\n\n"
               "Up to where an attribute is sealed; None for all of them.") },
  { "watch", PYOVS_METHOD (stage_watch), METH_FASTCALL | METH_KEYWORDS,
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
