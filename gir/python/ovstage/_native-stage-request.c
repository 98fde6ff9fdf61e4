/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What requests to a stage are given. */

#include "config.h"

#include "_native-stage.h"

#include <string.h>

gboolean
pyovs_check_query (PyObject *object, PyovsRefusal *refusal)
{
  if (!PyObject_TypeCheck (object, &pyovs_query_type))
    {
      PyErr_Format (PyExc_TypeError, "query: a Query is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  pyovs_query_get ((PyovsOperation *) object, refusal);
  return TRUE;
}

gboolean
pyovs_stage_as_attribute (PyovsStage *self, PyObject *object, PyovsRefusal *refusal, OvstageToken *token)
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

gboolean
pyovs_stage_as_attributes (PyovsStage *self, PyObject *object, PyovsRefusal *refusal, PyovsTokens *tokens)
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
  if (tokens->n > PYOVS_TOKENS_INLINE)
    tokens->tokens = g_new (OvstageToken, tokens->n);
  for (i = 0; i < tokens->n; i++)
    if (!pyovs_stage_as_attribute (self, PyTuple_GET_ITEM (sequence, i), refusal, &tokens->tokens[i]))
      {
        Py_DECREF (sequence);
        return FALSE;
      }
  Py_DECREF (sequence);
  return TRUE;
}

void
pyovs_tokens_clear (PyovsTokens *tokens)
{
  if (tokens->tokens != tokens->space)
    g_free (tokens->tokens);
}

/* No device backend is there, so that any placement asks for something that is not found. */
gboolean
pyovs_check_placement (PyObject *object, PyovsRefusal *refusal)
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

gboolean
pyovs_stage_check_open (PyovsStage *self, PyovsRefusal *refusal)
{
  if (self->stage == NULL)
    pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_HANDLE, "stage: it was destroyed");
  return self->stage != NULL;
}
