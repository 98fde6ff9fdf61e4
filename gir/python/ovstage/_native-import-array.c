/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Arrays of other libraries in, by the buffer protocol and numpy's array interface. */

#include "config.h"

#include "_native-tensor.h"

#include <string.h>

/* The buffer protocol */

static void
release_view (gpointer data)
{
  PyGILState_STATE state;

  if (!pyovs_gil_begin (&state))
    return;
  PyBuffer_Release (data);
  pyovs_gil_end (state);
  g_free (data);
}

/* By the item's size rather than by the letter: what "l" means depends on who wrote it. */
static gboolean
parse_format (const Py_buffer *view, const char *what, OvstageDataType *dtype)
{
  const char *format = view->format != NULL ? view->format : "B";
  const char *letter = format;
  int code = -1;

  dtype->bits = view->itemsize <= 16 ? view->itemsize * 8 : 0;
  dtype->lanes = 1;
  if (*letter != '\0' && strchr ("@=<>!^", *letter) != NULL)
    letter++;
  if (letter[0] == 'Z' && (letter[1] == 'f' || letter[1] == 'd') && letter[2] == '\0')
    code = kDLComplex;
  else if (letter[0] != '\0' && letter[1] == '\0')
    {
      if (strchr ("bhilqn", letter[0]) != NULL)
        code = kDLInt;
      else if (strchr ("BHILQN", letter[0]) != NULL)
        code = kDLUInt;
      else if (strchr ("efd", letter[0]) != NULL)
        code = kDLFloat;
      else if (letter[0] == '?')
        code = kDLBool;
    }
  if (code < 0 || dtype->bits == 0)
    {
      PyErr_Format (PyExc_BufferError, "%s: elements of format '%s' cannot be stored", what, format);
      return FALSE;
    }
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
  if (view->itemsize > 1 && (format[0] == '>' || format[0] == '!'))
    {
      PyErr_Format (PyExc_BufferError, "%s: elements of format '%s' are big-endian, the byte order of this machine is needed",
                    what, format);
      return FALSE;
    }
#else
  if (view->itemsize > 1 && format[0] == '<')
    {
      PyErr_Format (PyExc_BufferError, "%s: elements of format '%s' are little-endian, the byte order of this machine is needed",
                    what, format);
      return FALSE;
    }
#endif
  dtype->code = code;
  return TRUE;
}

/* In elements. FALSE: they are not whole. Without any, as from ctypes, the buffer is in row-major order. */
static gboolean
get_strides (const Py_buffer *view, gint64 *strides)
{
  gint64 stride = 1;
  int i;

  for (i = view->ndim - 1; i >= 0 && view->strides == NULL; i--)
    {
      strides[i] = stride;
      stride *= view->shape[i];
    }
  for (i = 0; i < view->ndim && view->strides != NULL; i++)
    {
      if (view->strides[i] % view->itemsize != 0 && view->shape[i] > 1)
        return FALSE;
      strides[i] = view->strides[i] / view->itemsize;
    }
  return TRUE;
}

OvstageTensor *
pyovs_import_view (Py_buffer *view, const char *what, PyovsImport how, gboolean *read_only, PyovsRefusal *refusal)
{
  gint64 shape[PyBUF_MAX_NDIM], strides[PyBUF_MAX_NDIM];
  OvstageDataType dtype;
  OvstageTensor *tensor;
  GError *error = NULL;
  int i;

  if (!parse_format (view, what, &dtype))
    {
      PyBuffer_Release (view);
      return NULL;
    }
  for (i = 0; i < view->ndim; i++)
    shape[i] = view->shape[i];
  *read_only = view->readonly;

  if (get_strides (view, strides))
    {
      Py_buffer *owner = g_memdup2 (view, sizeof *view);

      /* The one-dimensional shape of a view may point into the view itself. */
      tensor = ovstage_tensor_new_take (view->buf, kDLCPU, 0, &dtype, shape, view->ndim, strides, release_view, owner, &error);
    }
  else if (how == PYOVS_IMPORT_MAY_COPY)
    {
      gpointer copy = g_try_malloc (MAX (view->len, 1));

      if (copy == NULL || PyBuffer_ToContiguous (copy, view, view->len, 'C') < 0)
        {
          if (copy == NULL)
            PyErr_NoMemory ();
          g_free (copy);
          PyBuffer_Release (view);
          return NULL;
        }
      tensor = ovstage_tensor_new_take (copy, kDLCPU, 0, &dtype, shape, view->ndim, NULL, g_free, copy, &error);
      PyBuffer_Release (view);
    }
  else
    {
      PyErr_Format (PyExc_BufferError, "%s: the strides are not whole numbers of elements", what);
      PyBuffer_Release (view);
      return NULL;
    }
  if (tensor == NULL)
    pyovs_refuse_gerror (refusal, error);
  return tensor;
}

/* Numpy */

/* What an array gives in __array_struct__, a capsule: numpy's documented array interface, which costs a third of
 * a buffer. */
typedef struct
{
  int two;
  int n_dims;
  char kind;
  int item_size;
  int flags;
  Py_ssize_t *shape;
  Py_ssize_t *strides;
  void *data;
  PyObject *description;
} ArrayStruct;

#define ARRAY_NATIVE_ORDER 0x200
#define ARRAY_WRITABLE 0x400

static void
release_object (gpointer object)
{
  PyGILState_STATE state;

  if (!pyovs_gil_begin (&state))
    return;
  Py_DECREF ((PyObject *) object);
  pyovs_gil_end (state);
}

/* Numpy calls the types of ml_dtypes, such as bfloat16, "V" or "f" as it likes; their names are ours. FALSE: not one. */
static gboolean
get_ml_dtype (PyObject *array, int item_size, OvstageDataType *result)
{
  PyObject *dtype = PyObject_GetAttrString (array, "dtype");
  PyObject *type = dtype != NULL ? PyObject_GetAttrString (dtype, "type") : NULL;
  PyObject *module = type != NULL ? PyObject_GetAttrString (type, "__module__") : NULL;
  gboolean found = FALSE;

  if (module != NULL && PyUnicode_Check (module) && PyUnicode_CompareWithASCIIString (module, "ml_dtypes") == 0 &&
      PyType_Check (type))
    {
      const char *name = ((PyTypeObject *) type)->tp_name, *dot = strrchr (name, '.');
      OvstageDataType *named = ovstage_data_type_parse (dot != NULL ? dot + 1 : name, NULL);

      found = named != NULL && named->bits == item_size * 8 && named->lanes == 1;
      if (found)
        *result = *named;
      g_clear_pointer (&named, ovstage_data_type_free);
    }
  PyErr_Clear ();
  Py_XDECREF (module);
  Py_XDECREF (type);
  Py_XDECREF (dtype);
  return found;
}

/* FALSE: none that an array interface tells of. */
static gboolean
get_array_dtype (PyObject *object, const ArrayStruct *array, OvstageDataType *result)
{
  int code = -1;

  switch (array->kind)
    {
    case 'b':
      code = array->item_size == 1 ? kDLBool : -1;
      break;
    case 'i':
      code = kDLInt;
      break;
    case 'u':
      code = kDLUInt;
      break;
    case 'f':
      code = array->item_size >= 2 && array->item_size <= 8 ? kDLFloat : -1;
      break;
    case 'c':
      code = array->item_size <= 16 ? kDLComplex : -1;
      break;
    default:
      break;
    }
  if (code < 0)
    return (array->kind == 'V' || array->kind == 'f') && array->item_size <= 2 && get_ml_dtype (object, array->item_size, result);
  *result = (OvstageDataType) { code, array->item_size * 8, 1 };
  return TRUE;
}

gboolean
pyovs_import_array_struct (PyObject *object, OvstageTensor **tensor, gboolean *read_only, PyovsRefusal *refusal)
{
  PyObject *capsule = PyObject_GetAttr (object, pyovs.str_array_struct);
  gint64 shape[PyBUF_MAX_NDIM], strides[PyBUF_MAX_NDIM];
  ArrayStruct *array = capsule != NULL ? PyCapsule_GetPointer (capsule, NULL) : NULL;
  PyObject *owner;
  OvstageDataType dtype;
  GError *error = NULL;
  gboolean fits = FALSE;
  int i;

  if (array == NULL)
    {
      PyErr_Clear ();
      Py_XDECREF (capsule);
      return FALSE;
    }
  if (array->two != 2 || array->n_dims > PyBUF_MAX_NDIM || (!(array->flags & ARRAY_NATIVE_ORDER) && array->item_size > 1) ||
      !get_array_dtype (object, array, &dtype))
    goto out;
  for (i = 0; i < array->n_dims; i++)
    {
      shape[i] = array->shape[i];
      if (array->strides[i] % array->item_size != 0 && shape[i] > 1)
        goto out;
      strides[i] = array->strides[i] / array->item_size;
    }
  *read_only = !(array->flags & ARRAY_WRITABLE);
  fits = TRUE;
  /* What the capsule describes need not be what the object holds. */
  owner = PyTuple_Pack (2, object, capsule);
  if (owner == NULL)
    {
      fits = FALSE;
      PyErr_Clear ();
      goto out;
    }
  *tensor = ovstage_tensor_new_take (array->data, kDLCPU, 0, &dtype, shape, array->n_dims, strides, release_object, owner, &error);
  if (*tensor == NULL)
    pyovs_refuse_gerror (refusal, error);

out:
  Py_DECREF (capsule);
  return fits;
}
