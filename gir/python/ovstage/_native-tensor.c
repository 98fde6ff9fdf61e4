/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* DLTensor and ManagedDLTensor: tensors as Python objects, and arrays out. */

#include "config.h"

#include "_native.h"

#include <stdlib.h>
#include <string.h>

/* The most axes of a tensor, and one for the lanes. */
#define MAX_DIMS 65

void
pyovs_tensor_unref (OvstageTensor *tensor)
{
  if (tensor != NULL)
    PYOVS_KEEPING_ERROR (ovstage_tensor_unref (tensor));
}

PyObject *
pyovs_tensor_new (PyTypeObject *type, OvstageTensor *tensor, gboolean read_only)
{
  PyovsTensor *self = (PyovsTensor *) type->tp_alloc (type, 0);

  if (self == NULL)
    {
      pyovs_tensor_unref (tensor);
      return NULL;
    }
  self->tensor = tensor;
  self->read_only = read_only;
  return (PyObject *) self;
}

static void
tensor_dealloc (PyovsTensor *self)
{
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  pyovs_tensor_unref (self->tensor);
  g_free (self->dims);
  g_free (self->axes);
  Py_TYPE (self)->tp_free (self);
}

gboolean
pyovs_tensor_n_bytes (OvstageTensor *tensor, gsize *n_bytes)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (tensor);
  gsize n_dims, i, n = (gsize) dtype->bits * dtype->lanes;
  const gint64 *shape = ovstage_tensor_get_shape (tensor, &n_dims);

  for (i = 0; i < n_dims; i++)
    if (shape[i] < 0 || !g_size_checked_mul (&n, n, shape[i]))
      return FALSE;
  *n_bytes = n / 8 + (n % 8 != 0);
  return TRUE;
}

int
pyovs_tensor_expand_lanes (OvstageTensor *tensor, gint64 *shape, gint64 *strides)
{
  gint64 lanes = ovstage_tensor_get_data_type (tensor)->lanes;
  gsize n_dims, i;
  const gint64 *from_shape = ovstage_tensor_get_shape (tensor, &n_dims);
  const gint64 *from_strides = ovstage_tensor_get_strides (tensor, NULL);

  for (i = 0; i < n_dims; i++)
    {
      shape[i] = from_shape[i];
      strides[i] = from_strides[i] * lanes;
    }
  if (lanes > 1)
    {
      shape[n_dims] = lanes;
      strides[n_dims] = 1;
      n_dims++;
    }
  return n_dims;
}

static gboolean
is_compact (int n_dims, const gint64 *shape, const gint64 *strides)
{
  gint64 expected = 1;
  int i;

  for (i = 0; i < n_dims; i++)
    if (shape[i] == 0)
      return TRUE;
  for (i = n_dims - 1; i >= 0; i--)
    {
      if (shape[i] != 1 && strides[i] != expected)
        return FALSE;
      expected *= shape[i];
    }
  return TRUE;
}

static gboolean
is_on_cpu (OvstageTensor *tensor)
{
  gint32 device_type = ovstage_tensor_get_device_type (tensor);

  return device_type == kDLCPU || device_type == kDLCUDAHost;
}

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

  if (!is_on_cpu (self->tensor))
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
      gint64 shape[MAX_DIMS], strides[MAX_DIMS];

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

static PyBufferProcs tensor_as_buffer = {
  .bf_getbuffer = (getbufferproc) tensor_getbuffer,
};

/* Numpy */

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
  gint64 shape[MAX_DIMS], strides[MAX_DIMS];
  PyObject *args[2];

  if (G_UNLIKELY (frombuffer == NULL))
    {
      if (numpy == NULL)
        numpy = PyImport_ImportModule ("numpy");
      frombuffer = numpy != NULL ? PyObject_GetAttrString (numpy, "frombuffer") : NULL;
      if (frombuffer == NULL)
        return NULL;
    }
  if (!is_on_cpu (self->tensor))
    {
      PyErr_SetString (PyExc_BufferError, "the tensor is not in CPU memory; take it by dlpack()");
      return NULL;
    }
  if (!is_compact (pyovs_tensor_expand_lanes (self->tensor, shape, strides), shape, strides))
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

/* DLTensor */

static PyObject *
tuple_of (const gint64 *values, gsize n)
{
  PyObject *tuple = PyTuple_New (n);
  gsize i;

  for (i = 0; tuple != NULL && i < n; i++)
    {
      PyObject *value = PyLong_FromLongLong (values[i]);

      if (value == NULL)
        Py_CLEAR (tuple);
      else
        PyTuple_SET_ITEM (tuple, i, value);
    }
  return tuple;
}

static PyObject *
tensor_get_data (PyovsTensor *self, void *closure)
{
  return PyLong_FromVoidPtr (ovstage_tensor_get_data (self->tensor));
}

static PyObject *
tensor_get_dtype (PyovsTensor *self, void *closure)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (self->tensor);

  return PyObject_CallFunction (pyovs.data_type, "iii", dtype->code, dtype->bits, dtype->lanes);
}

static PyObject *
tensor_get_device (PyovsTensor *self, void *closure)
{
  return PyObject_CallFunction (pyovs.device, "ii", (int) ovstage_tensor_get_device_type (self->tensor),
                                (int) ovstage_tensor_get_device_id (self->tensor));
}

static PyObject *
tensor_get_ndim (PyovsTensor *self, void *closure)
{
  return PyLong_FromSize_t (ovstage_tensor_get_n_dims (self->tensor));
}

static PyObject *
tensor_get_shape (PyovsTensor *self, void *closure)
{
  gsize n;
  const gint64 *shape = ovstage_tensor_get_shape (self->tensor, &n);

  return tuple_of (shape, n);
}

static PyObject *
tensor_get_strides (PyovsTensor *self, void *closure)
{
  gsize n;
  const gint64 *strides = ovstage_tensor_get_strides (self->tensor, &n);

  return tuple_of (strides, n);
}

static PyObject *
tensor_get_byte_offset (PyovsTensor *self, void *closure)
{
  return PyLong_FromLong (0);
}

static PyObject *
tensor_get_readonly (PyovsTensor *self, void *closure)
{
  return PyBool_FromLong (self->read_only);
}

static PyObject *
tensor_repr (PyovsTensor *self)
{
  char *text = ovstage_data_type_to_string (ovstage_tensor_get_data_type (self->tensor));
  PyObject *shape = tensor_get_shape (self, NULL);
  PyObject *result = shape != NULL ? PyUnicode_FromFormat ("<%s shape=%R dtype=%s>", Py_TYPE (self)->tp_name, shape, text) : NULL;

  Py_XDECREF (shape);
  g_free (text);
  return result;
}

/* DLTensor.from_dlpack() and what make_dltensor() starts from: errors of the library are told at once. */
static OvstageTensor *
import_or_raise (PyObject *object, PyObject *stream, gboolean *read_only)
{
  PyovsRefusal refusal = { 0, NULL };
  PyovsSource source = { 0, };
  OvstageTensor *tensor = pyovs_tensor_import (object, "obj", PYOVS_IMPORT_ALIAS, stream, &source, &refusal);

  *read_only = source.read_only;
  if (refusal.code != 0)
    {
      pyovs_raise (pyovs.error, refusal.code, refusal.message);
      g_free (refusal.message);
    }
  return tensor;
}

static PyObject *
tensor_from_dlpack (PyTypeObject *type, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "from_dlpack", .n_positional = 1, .n_required = 1, .names = { "obj", "stream" }
  };
  PyObject *values[2];
  OvstageTensor *tensor;
  gboolean read_only;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  tensor = import_or_raise (values[0], values[1] != Py_None ? values[1] : NULL, &read_only);
  return tensor != NULL ? pyovs_tensor_new (&pyovs_tensor_type, tensor, read_only) : NULL;
}

static PyGetSetDef tensor_getset[] = {
  { "data", (getter) tensor_get_data, NULL, PyDoc_STR ("The address of the first element."), NULL },
  { "device", (getter) tensor_get_device, NULL, PyDoc_STR ("Where the memory is: a DLDevice."), NULL },
  { "ndim", (getter) tensor_get_ndim, NULL, PyDoc_STR ("How many axes there are."), NULL },
  { "dtype", (getter) tensor_get_dtype, NULL, PyDoc_STR ("The type of an element: a DLDataType."), NULL },
  { "shape", (getter) tensor_get_shape, NULL, PyDoc_STR ("The extents."), NULL },
  { "strides", (getter) tensor_get_strides, NULL, PyDoc_STR ("The steps along each axis, in elements."), NULL },
  { "byte_offset", (getter) tensor_get_byte_offset, NULL, PyDoc_STR ("0: data is the first element."), NULL },
  { "readonly", (getter) tensor_get_readonly, NULL, PyDoc_STR ("Whether the memory must not be written."), NULL },
  { NULL },
};

static PyMethodDef tensor_methods[] = {
  { "from_dlpack", PYOVS_METHOD (tensor_from_dlpack), METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
    PyDoc_STR ("from_dlpack($type, obj, *, stream=None)\n--\n\n"
               "A view of the memory of an array, without a copy. It keeps the array's memory alive.") },
  { NULL },
};

PyTypeObject pyovs_tensor_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.DLTensor",
  .tp_doc = PyDoc_STR ("A view of memory: address, device, data type, shape and strides.\n\n"
                       "Made by DLTensor.from_dlpack(), make_dltensor() and ReadGroup.tensor()."),
  .tp_basicsize = sizeof (PyovsTensor),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) tensor_dealloc,
  .tp_repr = (reprfunc) tensor_repr,
  .tp_as_buffer = &tensor_as_buffer,
  .tp_weaklistoffset = offsetof (PyovsTensor, weakrefs),
  .tp_methods = tensor_methods,
  .tp_getset = tensor_getset,
};

/* ManagedDLTensor: DLPack out */

static gpointer
copy_elements (PyovsTensor *self)
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

/* Two integers. */
static gboolean
as_pair (PyObject *object, const char *name, gint64 *first, gint64 *second)
{
  PyObject *pair = PySequence_Tuple (object);
  gboolean good = FALSE;

  if (pair != NULL && PyTuple_GET_SIZE (pair) == 2 && PyIndex_Check (PyTuple_GET_ITEM (pair, 0)) &&
      PyIndex_Check (PyTuple_GET_ITEM (pair, 1)))
    {
      *first = PyNumber_AsSsize_t (PyTuple_GET_ITEM (pair, 0), NULL);
      *second = PyNumber_AsSsize_t (PyTuple_GET_ITEM (pair, 1), NULL);
      good = !PyErr_Occurred ();
    }
  Py_XDECREF (pair);
  if (!good)
    {
      PyErr_Clear ();
      PyErr_Format (PyExc_TypeError, "%s: a pair of integers is needed, not %R", name, object);
    }
  return good;
}

static PyObject *
managed_dlpack (PyovsTensor *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "__dlpack__", .n_positional = 1, .names = { "stream", "max_version", "dl_device", "copy" }
  };
  PyObject *values[4];
  gint64 major = 0, minor = 0, device_type, device_id, stream = 0;
  gpointer memory = NULL;
  gboolean copy = FALSE;
  int may_copy = TRUE;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (values[0] != NULL && values[0] != Py_None)
    {
      if (!PyIndex_Check (values[0]))
        {
          PyErr_Format (PyExc_TypeError, "stream: an integer or None is needed, not %s", Py_TYPE (values[0])->tp_name);
          return NULL;
        }
      stream = PyNumber_AsSsize_t (values[0], NULL);
      if (stream == -1 && PyErr_Occurred ())
        return NULL;
    }
  /* What is in CPU memory is there already, whatever the stream. */
  if (stream != -1 && !is_on_cpu (self->tensor))
    {
      PyErr_Format (PyExc_BufferError, "stream: data on device (%d, %d) cannot be ordered, only given as it is (-1)",
                    (int) ovstage_tensor_get_device_type (self->tensor), (int) ovstage_tensor_get_device_id (self->tensor));
      return NULL;
    }
  if (values[1] != NULL && values[1] != Py_None && !as_pair (values[1], "max_version", &major, &minor))
    return NULL;
  if (values[3] != NULL && values[3] != Py_None)
    {
      may_copy = PyObject_IsTrue (values[3]);
      if (may_copy < 0)
        return NULL;
      copy = may_copy;
    }
  if (values[2] != NULL && values[2] != Py_None)
    {
      int own_type = ovstage_tensor_get_device_type (self->tensor), own_id = ovstage_tensor_get_device_id (self->tensor);

      if (!as_pair (values[2], "dl_device", &device_type, &device_id))
        return NULL;
      /* A copy is made in CPU memory. */
      if (device_type == kDLCPU && device_id == 0 && is_on_cpu (self->tensor) && may_copy)
        copy = copy || device_type != own_type;
      else if (device_type != own_type || device_id != own_id || copy)
        {
          PyErr_Format (PyExc_BufferError, "dl_device: the tensor is on device (%d, %d), it cannot be given on (%lld, %lld)",
                        own_type, own_id, (long long) device_type, (long long) device_id);
          return NULL;
        }
    }
  if (copy)
    {
      memory = copy_elements (self);
      if (memory == NULL)
        return NULL;
    }
  return pyovs_tensor_to_capsule (self, memory, major >= 1 ? (major > 1 ? G_MAXINT32 : MAX (minor, 0)) : -1);
}

static PyObject *
managed_dlpack_device (PyovsTensor *self, PyObject *unused)
{
  return Py_BuildValue ("(ii)", (int) ovstage_tensor_get_device_type (self->tensor),
                        (int) ovstage_tensor_get_device_id (self->tensor));
}

static PyObject *
managed_get_array_interface (PyovsTensor *self, void *closure)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (self->tensor);
  OvstageDataType base = { dtype->code, dtype->bits, 1 };
  const char *format = get_format (&base);
  PyObject *shape, *strides, *result = NULL;
  char typestr[8], kind;
  Py_buffer view;
  gsize i;

  /* As for any attribute that is not there: who looks for it goes on to something else. */
  if (format == NULL || !is_on_cpu (self->tensor))
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

static PyMethodDef managed_methods[] = {
  { "__dlpack__", PYOVS_METHOD (managed_dlpack), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("__dlpack__($self, stream=None, *, max_version=None, dl_device=None, copy=None)\n--\n\n"
               "A DLPack capsule: versioned for max_version >= (1, 0), else legacy. Lanes become a trailing axis.") },
  { "__dlpack_device__", (PyCFunction) managed_dlpack_device, METH_NOARGS,
    PyDoc_STR ("__dlpack_device__($self)\n--\n\n(device_type, device_id)") },
  { NULL },
};

static PyGetSetDef managed_getset[] = {
  { "__array_interface__", (getter) managed_get_array_interface, NULL, PyDoc_STR ("Numpy's array interface, version 3."), NULL },
  { NULL },
};

PyTypeObject pyovs_managed_tensor_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.ManagedDLTensor",
  .tp_doc = PyDoc_STR ("A tensor that other libraries take by DLPack, the buffer protocol or numpy's array interface.\n\n"
                       "It keeps the data alive, also after its group was released. Lanes become one trailing axis."),
  .tp_basicsize = sizeof (PyovsTensor),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_base = &pyovs_tensor_type,
  .tp_dealloc = (destructor) tensor_dealloc,
  .tp_methods = managed_methods,
  .tp_getset = managed_getset,
};

/* make_dltensor() */

typedef struct
{
  OvstageDataType dtype;
  int n_dims;
  gint64 shape[MAX_DIMS];
  gint64 strides[MAX_DIMS];
  gboolean folded_all;
} Shape;

static gboolean
fold_lanes (Shape *shape, PyObject *object)
{
  guint64 code, bits, lanes;
  gint64 want, product = 1;
  int i, d = shape->n_dims;

  if (!PyObject_TypeCheck (object, (PyTypeObject *) pyovs.data_type))
    {
      PyErr_Format (PyExc_TypeError, "dtype: a DLDataType is needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  if (PyTuple_GET_SIZE (object) != 3)
    {
      PyErr_SetString (PyExc_ValueError, "dtype: it has not the three fields code, bits and lanes");
      return FALSE;
    }
  if (!pyovs_as_uint (PyTuple_GetItem (object, 0), "dtype.code", G_MAXUINT8, &code) ||
      !pyovs_as_uint (PyTuple_GetItem (object, 1), "dtype.bits", G_MAXUINT8, &bits) ||
      !pyovs_as_uint (PyTuple_GetItem (object, 2), "dtype.lanes", G_MAXUINT16, &lanes))
    return FALSE;
  if (code != shape->dtype.code || bits != shape->dtype.bits)
    {
      char *text = ovstage_data_type_to_string (&shape->dtype);

      PyErr_Format (PyExc_ValueError, "dtype: code and bits must be those of the source, which holds %s; %S was asked for", text,
                    object);
      g_free (text);
      return FALSE;
    }
  if (bits == 0 || lanes == 0)
    {
      PyErr_Format (PyExc_ValueError, "dtype: %s is 0", bits == 0 ? "bits" : "lanes");
      return FALSE;
    }
  if (bits * shape->dtype.lanes % 8 != 0)
    {
      PyErr_Format (PyExc_ValueError, "dtype: the elements of the source are not whole bytes");
      return FALSE;
    }
  if (lanes % shape->dtype.lanes != 0)
    {
      PyErr_Format (PyExc_ValueError, "dtype: %d lanes cannot be made of elements of %d lanes", (int) lanes, (int) shape->dtype.lanes);
      return FALSE;
    }

  want = lanes / shape->dtype.lanes;
  while (product < want && d > 0)
    {
      d--;
      if (shape->shape[d] != 1 && shape->strides[d] != product)
        {
          PyErr_Format (PyExc_ValueError, "dtype: axis %d has the stride %lld, compact would be %lld", d,
                        (long long) shape->strides[d], (long long) product);
          return FALSE;
        }
      if (shape->shape[d] <= 0 || shape->shape[d] > want)
        {
          PyErr_Format (PyExc_ValueError, "dtype: axis %d has the extent %lld, %lld lanes do not take it whole", d,
                        (long long) shape->shape[d], (long long) want);
          return FALSE;
        }
      product *= shape->shape[d];
    }
  if (product != want)
    {
      PyErr_Format (PyExc_ValueError, "dtype: complete trailing axes hold %lld elements, %lld are needed for %d lanes",
                    (long long) product, (long long) want, (int) lanes);
      return FALSE;
    }
  if (want == 1)
    return TRUE;

  for (i = 0; i < d; i++)
    {
      if (shape->shape[i] > 1 && shape->strides[i] % want != 0)
        {
          PyErr_Format (PyExc_ValueError, "dtype: the stride of axis %d, %lld, is not a whole number of %d lanes", i,
                        (long long) shape->strides[i], (int) lanes);
          return FALSE;
        }
      shape->strides[i] /= want;
    }
  shape->n_dims = d;
  shape->dtype.lanes = lanes;
  if (d == 0)
    {
      shape->folded_all = TRUE;
      shape->n_dims = 1;
      shape->shape[0] = 1;
      shape->strides[0] = 1;
    }
  return TRUE;
}

/* -1 with an error. */
static int
get_integers (PyObject *object, const char *name, gboolean negative, gint64 *values)
{
  PyObject *tuple = PySequence_Tuple (object);
  Py_ssize_t i, n;

  if (tuple == NULL)
    {
      PyErr_Clear ();
      PyErr_Format (PyExc_TypeError, "%s: integers are needed, not %s", name, Py_TYPE (object)->tp_name);
      return -1;
    }
  n = PyTuple_GET_SIZE (tuple);
  if (n >= MAX_DIMS)
    {
      PyErr_Format (PyExc_ValueError, "%s: %zd axes are too many", name, n);
      Py_DECREF (tuple);
      return -1;
    }
  for (i = 0; i < n; i++)
    {
      PyObject *item = PyTuple_GET_ITEM (tuple, i);

      if (!PyIndex_Check (item))
        PyErr_Format (PyExc_TypeError, "%s: integers are needed, not %s", name, Py_TYPE (item)->tp_name);
      else
        values[i] = PyNumber_AsSsize_t (item, PyExc_ValueError);
      if (!PyErr_Occurred () && values[i] < 0 && !negative)
        PyErr_Format (PyExc_ValueError, "%s[%zd]: %R is negative", name, i, item);
      if (PyErr_Occurred ())
        {
          Py_DECREF (tuple);
          return -1;
        }
    }
  Py_DECREF (tuple);
  return n;
}

static gboolean
count_elements (const Shape *shape, gint64 *n)
{
  int i;

  *n = 1;
  for (i = 0; i < shape->n_dims; i++)
    if (__builtin_mul_overflow (*n, shape->shape[i], n))
      return FALSE;
  return TRUE;
}

/* The lowest and the highest element, from the first one. For shapes with elements. */
static gboolean
get_bounds (const Shape *shape, gint64 *low, gint64 *high)
{
  int i;

  *low = *high = 0;
  for (i = 0; i < shape->n_dims; i++)
    {
      gint64 reach;

      if (__builtin_mul_overflow (shape->shape[i] - 1, shape->strides[i], &reach) ||
          __builtin_add_overflow (reach < 0 ? *low : *high, reach, reach < 0 ? low : high))
        return FALSE;
    }
  return TRUE;
}

static void
set_row_major (Shape *shape)
{
  gint64 step = 1;
  int i;

  for (i = shape->n_dims - 1; i >= 0; i--)
    {
      shape->strides[i] = step;
      step *= MAX (shape->shape[i], 1);
    }
}

static gboolean
override_shape (Shape *shape, PyObject *new_shape, PyObject *new_ndim, PyObject *new_strides)
{
  Shape source = *shape;
  gint64 n_source, n, low, high, source_low, source_high;
  guint64 n_dims;

  if (!count_elements (&source, &n_source))
    {
      PyErr_SetString (PyExc_ValueError, "obj: too many elements");
      return FALSE;
    }
  if (new_shape != NULL)
    {
      shape->n_dims = get_integers (new_shape, "shape", FALSE, shape->shape);
      if (shape->n_dims < 0)
        return FALSE;
    }
  if (new_ndim != NULL)
    {
      if (!pyovs_as_uint (new_ndim, "ndim", MAX_DIMS - 1, &n_dims))
        return FALSE;
      if (n_dims != (guint64) shape->n_dims)
        {
          PyErr_Format (PyExc_ValueError, "ndim: %d was given, the shape has %d axes", (int) n_dims, shape->n_dims);
          return FALSE;
        }
    }
  if (!count_elements (shape, &n) || n != n_source)
    {
      PyErr_Format (PyExc_ValueError, "shape: the source has %lld elements, the shape another number", (long long) n_source);
      return FALSE;
    }

  if (new_strides != NULL)
    {
      int n_strides = get_integers (new_strides, "strides", TRUE, shape->strides);

      if (n_strides < 0)
        return FALSE;
      if (n_strides != shape->n_dims)
        {
          PyErr_Format (PyExc_ValueError, "strides: %d were given for %d axes", n_strides, shape->n_dims);
          return FALSE;
        }
      if (n > 0 && (!get_bounds (shape, &low, &high) || !get_bounds (&source, &source_low, &source_high) ||
                    low < source_low || high > source_high))
        {
          PyErr_SetString (PyExc_ValueError, "strides: they lead out of the memory of the source");
          return FALSE;
        }
    }
  else if (new_shape != NULL && (shape->n_dims != source.n_dims ||
                                 memcmp (shape->shape, source.shape, shape->n_dims * sizeof shape->shape[0]) != 0))
    {
      if (!is_compact (source.n_dims, source.shape, source.strides))
        {
          PyErr_SetString (PyExc_ValueError, "shape: the source is not compact, a new shape needs strides");
          return FALSE;
        }
      set_row_major (shape);
    }

  if (shape->folded_all &&
      (shape->n_dims != 1 || shape->shape[0] != 1 || shape->strides[0] != 1))
    {
      PyErr_SetString (PyExc_ValueError, "a fold of every axis gives one element: only shape=[1], ndim=1, strides=[1] fit");
      return FALSE;
    }
  return TRUE;
}

static void
unref_tensor (gpointer tensor)
{
  ovstage_tensor_unref (tensor);
}

PyObject *
pyovs_make_dltensor (PyObject *module, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "make_dltensor", .n_positional = 2, .n_required = 1, .names = { "obj", "dtype", "shape", "ndim", "strides" }
  };
  PyObject *values[5];
  OvstageTensor *base, *tensor;
  gboolean read_only;
  GError *error = NULL;
  gint64 n_elements;
  gsize n_dims;
  Shape shape;
  int i;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  for (i = 1; i < 5; i++)
    if (values[i] == Py_None)
      values[i] = NULL;
  base = import_or_raise (values[0], NULL, &read_only);
  if (base == NULL)
    return NULL;

  shape.dtype = *ovstage_tensor_get_data_type (base);
  n_dims = ovstage_tensor_get_n_dims (base);
  if (n_dims >= MAX_DIMS)
    {
      PyErr_SetString (PyExc_ValueError, "obj: too many axes");
      pyovs_tensor_unref (base);
      return NULL;
    }
  shape.n_dims = n_dims;
  shape.folded_all = FALSE;
  if (n_dims > 0)
    {
      memcpy (shape.shape, ovstage_tensor_get_shape (base, NULL), n_dims * sizeof shape.shape[0]);
      memcpy (shape.strides, ovstage_tensor_get_strides (base, NULL), n_dims * sizeof shape.strides[0]);
      /* Where there are no elements, strides mean nothing, and may be anything. */
      if (count_elements (&shape, &n_elements) && n_elements == 0)
        set_row_major (&shape);
    }
  if ((values[1] != NULL && !fold_lanes (&shape, values[1])) ||
      ((values[2] != NULL || values[3] != NULL || values[4] != NULL) &&
       !override_shape (&shape, values[2], values[3], values[4])))
    {
      pyovs_tensor_unref (base);
      return NULL;
    }
  tensor = ovstage_tensor_new_take (ovstage_tensor_get_data (base), ovstage_tensor_get_device_type (base),
                                    ovstage_tensor_get_device_id (base), &shape.dtype, shape.shape, shape.n_dims,
                                    shape.strides, unref_tensor, base, &error);
  if (tensor == NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  return pyovs_tensor_new (&pyovs_tensor_type, tensor, read_only);
}
