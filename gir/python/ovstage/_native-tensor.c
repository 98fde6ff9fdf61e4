/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* DLTensor and ManagedDLTensor: tensors as Python objects. */

#include "config.h"

#include "_native-tensor.h"

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
  g_clear_pointer (&self->export, pyovs_export_unref);
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

gboolean
pyovs_is_compact (int n_dims, const gint64 *shape, const gint64 *strides)
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

gboolean
pyovs_tensor_is_on_cpu (OvstageTensor *tensor)
{
  gint32 device_type = ovstage_tensor_get_device_type (tensor);

  return device_type == kDLCPU || device_type == kDLCUDAHost;
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
OvstageTensor *
pyovs_tensor_import_or_raise (PyObject *object, PyObject *stream, gboolean *read_only)
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
  tensor = pyovs_tensor_import_or_raise (values[0], values[1] != Py_None ? values[1] : NULL, &read_only);
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
               "A view of the memory of an array, without a copy. It keeps the array's memory alive.\n\n"
               "obj: an array with an exchange table, __dlpack__ or the buffer protocol, or a DLPack capsule, which\n"
               "  is consumed.\n"
               "stream: handed to the __dlpack__ of a producer on another device; -1: whoever calls orders the work.\n\n"
               "Raises what the producer raises, TypeError for an object that is none, BufferError for a byte order,\n"
               "format or DLPack version that cannot be described, OvstageError for shapes that make no sense.") },
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
  .tp_as_buffer = &pyovs_tensor_as_buffer,
  .tp_weaklistoffset = offsetof (PyovsTensor, weakrefs),
  .tp_methods = tensor_methods,
  .tp_getset = tensor_getset,
};

/* ManagedDLTensor: DLPack out */

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
  if (stream != -1 && !pyovs_tensor_is_on_cpu (self->tensor))
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
      if (device_type == kDLCPU && device_id == 0 && pyovs_tensor_is_on_cpu (self->tensor) && may_copy)
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
      memory = pyovs_tensor_copy_elements (self);
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

static PyMethodDef managed_methods[] = {
  { "__dlpack__", PYOVS_METHOD (managed_dlpack), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("__dlpack__($self, stream=None, *, max_version=None, dl_device=None, copy=None)\n--\n\n"
               "A DLPack capsule, without a copy unless asked for. It keeps the data alive. Lanes become a trailing\n"
               "axis.\n\n"
               "stream: of the consumer. CPU memory needs none; data on another device is given with -1 only.\n"
               "max_version: (1, 0) or above gives a versioned capsule, which tells that the data is read-only; a\n"
               "  legacy one cannot.\n"
               "dl_device: (device_type, device_id) where the consumer wants it; BufferError where that needs a copy\n"
               "  to a device.\n"
               "copy: True for a copy in CPU memory, which the consumer may write to; False for none at all.") },
  { "__dlpack_device__", (PyCFunction) managed_dlpack_device, METH_NOARGS,
    PyDoc_STR ("__dlpack_device__($self)\n--\n\n"
               "Where the memory is: (device_type, device_id).") },
  { NULL },
};

static PyGetSetDef managed_getset[] = {
  { "__array_interface__", (getter) pyovs_tensor_get_array_interface, NULL,
    PyDoc_STR ("Numpy's array interface, version 3. Not there for memory on another device."), NULL },
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
