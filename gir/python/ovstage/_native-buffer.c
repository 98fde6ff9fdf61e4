/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The elements of tensors in CPU memory: by the buffer protocol, numpy's array interface, and as numpy arrays. */

#include "config.h"

#include "_native-tensor.h"

#include <stdlib.h>
#include <string.h>

/* The buffer protocol */

/* A format of the struct module; NULL: there is none. */
static const char *
get_format (const OvstageDataType *dtype)
{
  switch (dtype->code)
    {
    case kDLInt:
      return dtype->bits == 8 ? "b" : dtype->bits == 16 ? "h" : dtype->bits == 32 ? "i" : dtype->bits == 64 ? "q" : NULL;
    case kDLUInt:
      return dtype->bits == 8 ? "B" : dtype->bits == 16 ? "H" : dtype->bits == 32 ? "I" : dtype->bits == 64 ? "Q" : NULL;
    case kDLFloat:
      return dtype->bits == 16 ? "e" : dtype->bits == 32 ? "f" : dtype->bits == 64 ? "d" : NULL;
    case kDLComplex:
      return dtype->bits == 64 ? "Zf" : dtype->bits == 128 ? "Zd" : NULL;
    case kDLBool:
      return dtype->bits == 8 ? "?" : NULL;
    default:
      return NULL;
    }
}

/* A single element is not for PyBuffer_IsContiguous(), as debug builds of Python tell. */
static gboolean
is_contiguous (const Py_buffer *view, char order)
{
  return view->ndim == 0 || PyBuffer_IsContiguous (view, order);
}

/* Without a format. The axes live as long as the tensor, so that a view holds nothing that must be released:
 * numpy then keeps the tensor itself as the base of its arrays. */
static gboolean
fill_view (PyovsTensor *self, Py_buffer *view, int flags)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (self->tensor);
  gsize n_dims = ovstage_tensor_get_n_dims (self->tensor) + (dtype->lanes > 1), n_bytes, i;

  if (!pyovs_tensor_is_on_cpu (self->tensor))
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is not in CPU memory");
      return FALSE;
    }
  if (dtype->bits % 8 != 0)
    {
      PyErr_SetString (PyExc_BufferError, "elements of less than a byte have no buffer");
      return FALSE;
    }
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && self->read_only)
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is read-only");
      return FALSE;
    }
  if (self->dims == NULL)
    {
      gint64 shape[PYOVS_MAX_DIMS], strides[PYOVS_MAX_DIMS];

      pyovs_tensor_expand_lanes (self->tensor, shape, strides);
      self->dims = g_new (Py_ssize_t, 2 * MAX (n_dims, 1));
      for (i = 0; i < n_dims; i++)
        {
          self->dims[i] = shape[i];
          self->dims[n_dims + i] = strides[i] * (dtype->bits / 8);
        }
    }
  if (!pyovs_tensor_n_bytes (self->tensor, &n_bytes))
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is too large");
      return FALSE;
    }

  view->buf = ovstage_tensor_get_data (self->tensor);
  view->len = n_bytes;
  view->itemsize = dtype->bits / 8;
  view->readonly = self->read_only;
  view->ndim = n_dims;
  view->format = NULL;
  view->shape = self->dims;
  view->strides = self->dims + n_dims;
  view->suboffsets = NULL;
  view->internal = NULL;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
    {
      if (!is_contiguous (view, 'C'))
        {
          PyErr_SetString (PyExc_BufferError, "the tensor is not compact");
          return FALSE;
        }
    }
  else if (((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_contiguous (view, 'F')) ||
           ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !is_contiguous (view, 'A')))
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is not compact in the order asked for");
      return FALSE;
    }
  if ((flags & PyBUF_ND) != PyBUF_ND)
    {
      view->shape = NULL;
      view->ndim = 1;
    }
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
    view->strides = NULL;
  return TRUE;
}

static int
tensor_getbuffer (PyovsTensor *self, Py_buffer *view, int flags)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (self->tensor);

  view->obj = NULL;
  if (!fill_view (self, view, flags))
    return -1;
  if ((flags & PyBUF_FORMAT) == PyBUF_FORMAT)
    {
      view->format = (char *) get_format (dtype);
      if (view->format == NULL)
        {
          char *text = ovstage_data_type_to_string (dtype);

          PyErr_Format (PyExc_BufferError, "the buffer protocol has no format for %s", text);
          g_free (text);
          return -1;
        }
    }
  view->obj = Py_NewRef ((PyObject *) self);
  return 0;
}

PyBufferProcs pyovs_tensor_as_buffer = {
  .bf_getbuffer = (getbufferproc) tensor_getbuffer,
};

gpointer
pyovs_tensor_copy_elements (PyovsTensor *self)
{
  gpointer copy = NULL;
  Py_buffer view;

  if (!fill_view (self, &view, PyBUF_STRIDES))
    return NULL;
  if (posix_memalign (&copy, PYOVS_ALIGNMENT, MAX (view.len, 1)) != 0)
    {
      PyErr_NoMemory ();
      return NULL;
    }
  view.obj = (PyObject *) self;
  if (is_contiguous (&view, 'C'))
    {
      if (view.len > 0)
        memcpy (copy, view.buf, view.len);
    }
  else if (PyBuffer_ToContiguous (copy, &view, view.len, 'C') < 0)
    {
      free (copy);
      return NULL;
    }
  return copy;
}

/* Numpy */

PyObject *
pyovs_tensor_get_array_interface (PyovsTensor *self, void *closure)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (self->tensor);
  OvstageDataType base = { dtype->code, dtype->bits, 1 };
  const char *format = get_format (&base);
  PyObject *shape, *strides, *result = NULL;
  char typestr[8], kind;
  Py_buffer view;
  gsize i;

  /* As for any attribute that is not there: who looks for it goes on to something else. */
  if (format == NULL || !pyovs_tensor_is_on_cpu (self->tensor))
    {
      PyErr_SetString (PyExc_AttributeError, "__array_interface__");
      return NULL;
    }
  if (!fill_view (self, &view, PyBUF_STRIDES))
    return NULL;
  switch (dtype->code)
    {
    case kDLInt:
      kind = 'i';
      break;
    case kDLUInt:
      kind = 'u';
      break;
    case kDLFloat:
      kind = 'f';
      break;
    case kDLComplex:
      kind = 'c';
      break;
    default:
      kind = 'b';
    }
  g_snprintf (typestr, sizeof typestr, "%c%c%d",
              view.itemsize == 1 ? '|' : G_BYTE_ORDER == G_LITTLE_ENDIAN ? '<' : '>', kind, (int) view.itemsize);
  shape = PyTuple_New (view.ndim);
  strides = PyTuple_New (view.ndim);
  for (i = 0; shape != NULL && strides != NULL && i < (gsize) view.ndim; i++)
    {
      PyTuple_SET_ITEM (shape, i, PyLong_FromSsize_t (view.shape[i]));
      PyTuple_SET_ITEM (strides, i, PyLong_FromSsize_t (view.strides[i]));
    }
  if (shape != NULL && strides != NULL)
    result = Py_BuildValue ("{s:O,s:O,s:s,s:(NN),s:i}", "shape", shape, "strides", strides, "typestr", typestr, "data",
                            PyLong_FromVoidPtr (view.buf), PyBool_FromLong (view.readonly), "version", 3);
  Py_XDECREF (shape);
  Py_XDECREF (strides);
  return result;
}

/* Of the base elements, by name; types that numpy does not know come from ml_dtypes, where it is installed. */
static PyObject *
make_numpy_dtype (PyObject *numpy, const OvstageDataType *dtype)
{
  OvstageDataType base = { dtype->code, dtype->bits, 1 };
  const char *format = get_format (&base);
  PyObject *ml_dtypes, *type, *result;
  char *text;

  if (format != NULL)
    return PyObject_CallMethod (numpy, "dtype", "s", strcmp (format, "Zf") == 0   ? "F" :
                                                     strcmp (format, "Zd") == 0 ? "D" : format);
  text = ovstage_data_type_to_string (&base);
  ml_dtypes = base.bits % 8 == 0 ? PyImport_ImportModule ("ml_dtypes") : NULL;
  type = ml_dtypes != NULL ? PyObject_GetAttrString (ml_dtypes, text) : NULL;
  Py_XDECREF (ml_dtypes);
  if (type == NULL)
    {
      PyErr_Clear ();
      PyErr_Format (PyExc_BufferError, "numpy has no dtype for %s; take it by dlpack()", text);
      g_free (text);
      return NULL;
    }
  g_free (text);
  result = PyObject_CallMethod (numpy, "dtype", "N", type);
  return result;
}

/* Borrowed. */
static PyObject *
get_numpy_dtype (PyObject *numpy, const OvstageDataType *dtype)
{
  static struct
  {
    guint8 code;
    guint8 bits;
    PyObject *dtype;
  } known[32];
  gsize i;

  for (i = 0; i < G_N_ELEMENTS (known) - 1 && known[i].dtype != NULL; i++)
    if (known[i].code == dtype->code && known[i].bits == dtype->bits)
      return known[i].dtype;
  /* The last place is used again and again; there are fewer types than places. */
  Py_XSETREF (known[i].dtype, make_numpy_dtype (numpy, dtype));
  known[i].code = dtype->code;
  known[i].bits = dtype->bits;
  return known[i].dtype;
}

PyObject *
pyovs_tensor_to_numpy (PyovsTensor *self)
{
  static PyObject *numpy, *frombuffer;
  gint64 shape[PYOVS_MAX_DIMS], strides[PYOVS_MAX_DIMS];
  PyObject *args[2];

  if (G_UNLIKELY (frombuffer == NULL))
    {
      if (numpy == NULL)
        numpy = PyImport_ImportModule ("numpy");
      frombuffer = numpy != NULL ? PyObject_GetAttrString (numpy, "frombuffer") : NULL;
      if (frombuffer == NULL)
        return NULL;
    }
  if (!pyovs_tensor_is_on_cpu (self->tensor))
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is not in CPU memory; take it by dlpack()");
      return NULL;
    }
  if (!pyovs_is_compact (pyovs_tensor_expand_lanes (self->tensor, shape, strides), shape, strides))
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is not compact, a flat view of it needs a copy");
      return NULL;
    }
  args[0] = (PyObject *) self;
  args[1] = get_numpy_dtype (numpy, ovstage_tensor_get_data_type (self->tensor));
  return args[1] != NULL ? PyObject_Vectorcall (frombuffer, args, 2, NULL) : NULL;
}

PyObject *
pyovs_numpy_take_uint32 (guint32 *values, gsize n)
{
  const OvstageDataType dtype = { kDLUInt, 32, 1 };
  gint64 shape[] = { n };
  OvstageTensor *tensor;
  PyObject *owner, *result;
  GError *error = NULL;

  tensor = ovstage_tensor_new_take (values, kDLCPU, 0, &dtype, shape, 1, NULL, g_free, values, &error);
  if (tensor == NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  owner = pyovs_tensor_new (&pyovs_tensor_type, tensor, TRUE);
  if (owner == NULL)
    return NULL;
  result = pyovs_tensor_to_numpy ((PyovsTensor *) owner);
  Py_DECREF (owner);
  return result;
}

PyObject *
pyovs_dltensor_to_numpy (PyObject *module, PyObject *object)
{
  if (!PyObject_TypeCheck (object, &pyovs_tensor_type))
    {
      PyErr_Format (PyExc_TypeError, "t: a DLTensor is needed, not %s", Py_TYPE (object)->tp_name);
      return NULL;
    }
  return pyovs_tensor_to_numpy ((PyovsTensor *) object);
}
