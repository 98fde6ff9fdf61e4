/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Maps: made and committed. */

#include "config.h"

#include "_native-stage.h"

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

PyObject *
pyovs_stage_map_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
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
  OvstageDataType dtype = { 0, 0, 0 };
  OvstageToken attribute;
  OvstageQuery *query;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  pyovs_stage_check_open (self, &refusal);
  if (!pyovs_check_query (values[0], &refusal) || !pyovs_stage_as_attribute (self, values[1], &refusal, &attribute) ||
      !pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal) ||
      (values[3] != NULL && values[3] != Py_None && !pyovs_as_data_type (values[3], &dtype)) ||
      (values[4] != NULL && !pyovs_as_uint (values[4], "semantic", OVSTAGE_SEMANTIC_FRAME, &semantic)) ||
      (values[5] != NULL && !pyovs_as_uint (values[5], "prim_mode", OVSTAGE_PRIM_MODE_UPDATE, &prim_mode)) ||
      !as_counts (values[6], &counts) || !pyovs_check_placement (values[8], &refusal))
    goto out;
  if (values[7] != NULL && !PyBool_Check (values[7]))
    {
      PyErr_Format (PyExc_TypeError, "initialize: a bool is needed, not %s", Py_TYPE (values[7])->tp_name);
      goto out;
    }
  if (values[7] == Py_True)
    flags |= OVSTAGE_MAP_FLAGS_INITIALIZE;

  pyovs_stage_check_open (self, &refusal);
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
      result = pyovs_stage_new_operation (self, &pyovs_map_type, map);
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
  if (pyovs_stage_check_open (self, &refusal) && ((PyovsMap *) map)->operation.op != NULL && ((PyovsMap *) map)->stage != self->stage)
    pyovs_refuse (&refusal, OVSTAGE_ERROR_INVALID_HANDLE, "map: it is of another stage");
  op = refusal.code == 0 ? pyovs_map_commit ((PyovsMap *) map, group, stream, event, &refusal) : NULL;
  if (op == NULL)
    return pyovs_operation_new_refused (&pyovs_operation_type, &refusal);
  return pyovs_stage_new_operation (self, &pyovs_operation_type, op);
}

PyObject *
pyovs_stage_unmap_group (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "unmap_group", .n_positional = 2, .n_required = 2, .names = { "map", "group", "cuda_event", "cuda_stream" }
  };
  PyObject *values[4];

  return pyovs_parse (&signature, args, n_args, names, values) ? unmap (self, values[0], values[1], values[2], values[3]) : NULL;
}

PyObject *
pyovs_stage_unmap_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "unmap_attribute", .n_positional = 1, .n_required = 1, .names = { "map", "cuda_event", "cuda_stream" }
  };
  PyObject *values[3];

  return pyovs_parse (&signature, args, n_args, names, values) ? unmap (self, values[0], NULL, values[1], values[2]) : NULL;
}
