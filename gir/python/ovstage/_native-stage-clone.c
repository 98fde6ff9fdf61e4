/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Clones. */

#include "config.h"

#include "_native-stage.h"

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
      paths[i] = pyovs_as_text (PyTuple_GET_ITEM (tuple, i), name, refusal);
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
  if (!pyovs_as_uint (values[2], "ordinal", G_MAXUINT64, &ordinal))
    return NULL;
  tuple = PySequence_Tuple (values[1]);
  if (tuple == NULL)
    return NULL;
  /* Either may have run any code, which may have destroyed the stage. */
  pyovs_stage_check_open (self, &refusal);
  source = pyovs_as_text (values[0], "source", &refusal);
  targets = !PyErr_Occurred () ? as_paths (tuple, &refusal) : NULL;
  if (PyErr_Occurred ())
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
      result = pyovs_stage_new_operation (self, &pyovs_operation_type, op);
    }
  Py_DECREF (tuple);
  g_free (targets);
  return result;
}

PyObject *
pyovs_stage_clone_async (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "clone_async", .n_positional = 3, .n_required = 3, .names = { "source", "targets", "ordinal" }
  };
  PyObject *values[3];

  return pyovs_parse (&signature, args, n_args, names, values) ? new_clone (self, values) : NULL;
}

PyObject *
pyovs_stage_clone (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
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
