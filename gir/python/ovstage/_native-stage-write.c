/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Writes, deletes, and the floor that makes them readable. */

#include "config.h"

#include "_native-stage.h"

#include <string.h>

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
          if (pyovs_wait (write->query->op, OVSTAGE_TIMEOUT_INFINITE) < 0)
            return FALSE;
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

  if (!pyovs_stage_as_attribute (self, values[WRITE_ATTRIBUTE], refusal, &write->attribute) ||
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

PyObject *
pyovs_stage_write_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
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
  pyovs_stage_check_open (self, &refusal);
  write.query = (PyovsOperation *) values[WRITE_QUERY];
  if (!pyovs_check_query (values[WRITE_QUERY], &refusal) ||
      !pyovs_as_uint (values[WRITE_ORDINAL], "ordinal", G_MAXUINT64, &write.ordinal) ||
      (values[WRITE_PRIM_MODE] != NULL && !pyovs_as_uint (values[WRITE_PRIM_MODE], "prim_mode", OVSTAGE_PRIM_MODE_UPDATE, &prim_mode)) ||
      !pyovs_check_placement (values[WRITE_PLACEMENT], &refusal) || !set_entry (self, &write, values, &refusal))
    goto out;
  write.prim_mode = prim_mode;

  /* Importing may have run any code, which may have released what was looked at before. */
  pyovs_stage_check_open (self, &refusal);
  pyovs_query_get (write.query, &refusal);
  if (refusal.code != 0)
    {
      result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
      refusal.message = NULL;
      goto out;
    }
  self->unsealed += write.n_bytes;
  result = pyovs_stage_new_operation (self, &pyovs_operation_type, submit_write (self, &write));

out:
  write_clear (&write);
  g_free (refusal.message);
  return result;
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

PyObject *
pyovs_stage_write_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
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
  pyovs_stage_check_open (self, &refusal);
  if (!pyovs_check_query (values[0], &refusal) || !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal) ||
      (values[3] != NULL && !pyovs_as_uint (values[3], "prim_mode", OVSTAGE_PRIM_MODE_UPDATE, &prim_mode)) ||
      !pyovs_check_placement (values[4], &refusal))
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
  pyovs_stage_check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    {
      result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
      refusal.message = NULL;
      goto out;
    }
  self->unsealed += n_bytes;
  result = pyovs_stage_new_operation (self, &pyovs_operation_type,
                                      submit_writes (self, query, writes, n, ordinal, prim_mode, n_bytes));

out:
  for (i = 0; writes != NULL && i < n; i++)
    write_clear (&writes[i]);
  g_free (writes);
  Py_XDECREF (descs);
  g_free (refusal.message);
  return result;
}

PyObject *
pyovs_stage_delete_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "delete_attributes", .n_positional = 3, .n_required = 3, .names = { "query", "attributes", "ordinal" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[3], *result;
  OvstageQuery *query;
  guint64 ordinal;
  PyovsTokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  pyovs_stage_check_open (self, &refusal);
  if (!pyovs_check_query (values[0], &refusal))
    {
      g_free (refusal.message);
      return NULL;
    }
  if (!pyovs_stage_as_attributes (self, values[1] != Py_None ? values[1] : NULL, &refusal, &tokens) ||
      !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal))
    {
      pyovs_tokens_clear (&tokens);
      g_free (refusal.message);
      return NULL;
    }
  pyovs_stage_check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    result = pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
  else
    result = pyovs_stage_new_operation (self, &pyovs_operation_type,
                                        ovstage_stage_delete_attributes (self->stage, query, tokens.tokens, tokens.n, ordinal));
  pyovs_tokens_clear (&tokens);
  return result;
}

PyObject *
pyovs_stage_advance_write_floor (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "advance_write_floor", .n_positional = 1, .n_required = 1, .names = { "ordinal", "scope", "attributes" }
  };
  guint64 ordinal, scope = OVSTAGE_SCOPE_ALL;
  PyovsRefusal refusal = { 0, NULL };
  OvstageOperation *op;
  OvstageStage *stage;
  PyObject *values[3];
  PyovsTokens tokens;
  gboolean large;

  if (!pyovs_parse (&signature, args, n_args, names, values) ||
      !pyovs_as_uint (values[0], "ordinal", G_MAXUINT64, &ordinal) ||
      (values[1] != NULL && !pyovs_as_uint (values[1], "scope", OVSTAGE_SCOPE_EXCLUDE, &scope)))
    return NULL;
  if (!pyovs_stage_as_attributes (self, values[2], &refusal, &tokens))
    {
      pyovs_tokens_clear (&tokens);
      g_free (refusal.message);
      return NULL;
    }
  pyovs_stage_check_open (self, &refusal);
  if (refusal.code != 0)
    {
      pyovs_tokens_clear (&tokens);
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
  pyovs_tokens_clear (&tokens);
  return pyovs_stage_new_operation (self, &pyovs_operation_type, op);
}
