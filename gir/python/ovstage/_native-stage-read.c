/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Reads and watches. */

#include "config.h"

#include "_native-stage.h"

PyObject *
pyovs_stage_read_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "read_attributes", .n_positional = 3, .n_required = 3, .names = { "query", "attributes", "ordinal_range", "placement" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[4], *result;
  OvstageQuery *query;
  OvstageRead *read;
  PyovsTokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (Py_TYPE (values[2]) != &pyovs_ordinal_range_type)
    {
      PyErr_Format (PyExc_TypeError, "ordinal_range: an OrdinalRange is needed, not %s", Py_TYPE (values[2])->tp_name);
      return NULL;
    }
  pyovs_stage_check_open (self, &refusal);
  if (!pyovs_check_query (values[0], &refusal))
    {
      g_free (refusal.message);
      return NULL;
    }
  if (!pyovs_stage_as_attributes (self, values[1], &refusal, &tokens) || !pyovs_check_placement (values[3], &refusal))
    {
      pyovs_tokens_clear (&tokens);
      g_free (refusal.message);
      return NULL;
    }
  pyovs_stage_check_open (self, &refusal);
  query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
  if (refusal.code != 0)
    result = pyovs_operation_new_refused (&pyovs_read_type, &refusal);
  else
    {
      read = ovstage_stage_read_attributes (self->stage, query, tokens.tokens, tokens.n, &((PyovsOrdinalRange *) values[2])->range,
                                            NULL);
      result = pyovs_stage_new_operation (self, &pyovs_read_type, read);
    }
  pyovs_tokens_clear (&tokens);
  return result;
}

PyObject *
pyovs_stage_watch (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "watch", .n_positional = 3, .n_required = 2, .names = { "query", "attributes", "callback" }
  };
  PyovsRefusal refusal = { 0, NULL };
  PyObject *values[3], *result = NULL;
  OvstageQuery *query;
  PyovsTokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (values[2] == Py_None)
    values[2] = NULL;
  if (values[2] != NULL && !PyCallable_Check (values[2]))
    {
      PyErr_Format (PyExc_TypeError, "callback: a callable or None is needed, not %s", Py_TYPE (values[2])->tp_name);
      return NULL;
    }
  pyovs_stage_check_open (self, &refusal);
  if (!pyovs_check_query (values[0], &refusal))
    {
      g_free (refusal.message);
      return NULL;
    }
  if (pyovs_stage_as_attributes (self, values[1], &refusal, &tokens))
    {
      pyovs_stage_check_open (self, &refusal);
      query = pyovs_query_get ((PyovsOperation *) values[0], &refusal);
      if (refusal.code != 0)
        pyovs_raise (pyovs.error, refusal.code, refusal.message);
      else
        result = pyovs_changes_new (self->stage, query, tokens.tokens, tokens.n, values[2]);
    }
  pyovs_tokens_clear (&tokens);
  g_free (refusal.message);
  return result;
}
