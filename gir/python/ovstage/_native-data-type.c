/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Data types in: ours, their texts, and numpy's. */

#include "config.h"

#include "_native.h"

static gboolean
parse_text (PyObject *object, OvstageDataType *dtype)
{
  const char *text = PyUnicode_AsUTF8 (object);
  GError *error = NULL;
  OvstageDataType *parsed;

  if (text == NULL)
    return FALSE;
  parsed = ovstage_data_type_parse (text, &error);
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

static gboolean
read_fields (PyObject *object, OvstageDataType *dtype)
{
  guint64 code, bits, lanes;

  if (PyTuple_GET_SIZE (object) != 3)
    {
      PyErr_SetString (PyExc_ValueError, "dtype: it has not the three fields code, bits and lanes");
      return FALSE;
    }
  if (!pyovs_as_uint (PyTuple_GET_ITEM (object, 0), "dtype.code", G_MAXUINT8, &code) ||
      !pyovs_as_uint (PyTuple_GET_ITEM (object, 1), "dtype.bits", G_MAXUINT8, &bits) ||
      !pyovs_as_uint (PyTuple_GET_ITEM (object, 2), "dtype.lanes", G_MAXUINT16, &lanes))
    return FALSE;
  *dtype = (OvstageDataType) { code, bits, lanes };
  return TRUE;
}

/* A dtype, or one of the classes of numpy's scalars. */
static gboolean
is_numpy_type (PyObject *numpy, PyObject *object)
{
  PyObject *dtype = PyObject_GetAttrString (numpy, "dtype");
  PyObject *generic = PyObject_GetAttrString (numpy, "generic");
  gboolean result = dtype != NULL && generic != NULL &&
                    (PyObject_IsInstance (object, dtype) > 0 || (PyType_Check (object) && PyObject_IsSubclass (object, generic) > 0));

  PyErr_Clear ();
  Py_XDECREF (dtype);
  Py_XDECREF (generic);
  return result;
}

/* An array of it tells what it would be here: axes that a dtype brings, as np.dtype ((np.float32, 3)) does, are lanes. */
static gboolean
ask_numpy (PyObject *numpy, PyObject *object, OvstageDataType *dtype)
{
  PyObject *array = PyObject_CallMethod (numpy, "empty", "iO", 0, object);
  PyovsRefusal refusal = { 0, NULL };
  PyovsSource source = { 0, };
  OvstageTensor *tensor;
  const gint64 *shape;
  gint64 lanes = 1;
  gsize n_dims, i;

  if (array == NULL)
    return FALSE;
  tensor = pyovs_tensor_import (array, "dtype", PYOVS_IMPORT_ALIAS, NULL, &source, &refusal);
  Py_DECREF (array);
  if (tensor == NULL)
    {
      g_free (refusal.message);
      PyErr_Clear ();
      PyErr_Format (PyExc_BufferError, "dtype: elements of %R cannot be stored, or not in their byte order", object);
      return FALSE;
    }
  *dtype = *ovstage_tensor_get_data_type (tensor);
  shape = ovstage_tensor_get_shape (tensor, &n_dims);
  for (i = 1; i < n_dims && lanes <= G_MAXUINT16; i++)
    lanes = shape[i] <= G_MAXUINT16 ? lanes * shape[i] : G_MAXINT64;
  pyovs_tensor_unref (tensor);
  if (lanes > G_MAXUINT16)
    {
      PyErr_Format (PyExc_ValueError, "dtype: %R has more lanes than %d", object, G_MAXUINT16);
      return FALSE;
    }
  dtype->lanes = lanes;
  return TRUE;
}

gboolean
pyovs_as_data_type (PyObject *object, OvstageDataType *dtype)
{
  PyObject *numpy;

  if (PyUnicode_Check (object))
    return parse_text (object, dtype);
  if (PyObject_TypeCheck (object, (PyTypeObject *) pyovs.data_type))
    return read_fields (object, dtype);
  /* As long as nobody imported numpy there are no types of it. Borrowed. */
  numpy = PyDict_GetItemString (PyImport_GetModuleDict (), "numpy");
  if (numpy != NULL && is_numpy_type (numpy, object))
    return ask_numpy (numpy, object, dtype);
  PyErr_Format (PyExc_TypeError, "dtype: a DLDataType, a text such as 'float32x3' or a dtype of numpy is needed, not %R", object);
  return FALSE;
}
