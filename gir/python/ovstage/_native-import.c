/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Arrays of other libraries in, by the buffer protocol and DLPack. */

#include "config.h"

#include "_native.h"

#include <string.h>

/* Device types whose producers order their work by a stream. */
static gboolean
has_streams (gint64 device_type)
{
  return device_type == kDLCUDA || device_type == kDLCUDAManaged || device_type == kDLROCM;
}

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

/* Takes @view in every case. */
static OvstageTensor *
import_view (Py_buffer *view, const char *what, PyovsImport how, gboolean *read_only, PyovsRefusal *refusal)
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

/* FALSE: the array is of another sort, for which there are other ways. */
static gboolean
import_array_struct (PyObject *object, OvstageTensor **tensor, gboolean *read_only, PyovsRefusal *refusal)
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

/* DLPack */

/* Takes @managed in every case. */
static OvstageTensor *
take_managed (DLManagedTensorVersioned *managed, const char *what, PyovsSource *source, PyovsRefusal *refusal)
{
  OvstageTensor *tensor;
  GError *error = NULL;

  if (managed->version.major > 1)
    {
      /* All that may be touched of a version we do not know: its number and the deleter. */
      DLPackVersion version = managed->version;

      if (managed->deleter != NULL)
        managed->deleter (managed);
      PyErr_Format (PyExc_BufferError, "%s: a tensor of DLPack %u.%u, at most 1.x is known", what, (unsigned int) version.major,
                    (unsigned int) version.minor);
      return NULL;
    }
  source->read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  tensor = ovstage_tensor_new_take_dlpack (managed, &error);
  if (tensor == NULL)
    pyovs_refuse_gerror (refusal, error);
  return tensor;
}

static OvstageTensor *
take_versioned (PyObject *capsule, const char *what, PyovsSource *source, PyovsRefusal *refusal)
{
  DLManagedTensorVersioned *managed = PyCapsule_GetPointer (capsule, "dltensor_versioned");

  if (managed == NULL || PyCapsule_SetName (capsule, "used_dltensor_versioned") < 0)
    return NULL;
  return take_managed (managed, what, source, refusal);
}

static OvstageTensor *
take_legacy (PyObject *capsule, PyovsSource *source, PyovsRefusal *refusal)
{
  DLManagedTensor *managed = PyCapsule_GetPointer (capsule, "dltensor");
  OvstageTensor *tensor;
  GError *error = NULL;

  if (managed == NULL || PyCapsule_SetName (capsule, "used_dltensor") < 0)
    return NULL;
  source->read_only = FALSE;
  tensor = ovstage_tensor_new_take_dlpack_legacy (managed, &error);
  if (tensor == NULL)
    pyovs_refuse_gerror (refusal, error);
  return tensor;
}

static OvstageTensor *
take_capsule (PyObject *capsule, const char *what, PyovsSource *source, PyovsRefusal *refusal)
{
  const char *name = PyCapsule_GetName (capsule);

  if (name == NULL && PyErr_Occurred ())
    return NULL;
  if (g_strcmp0 (name, "dltensor_versioned") == 0)
    return take_versioned (capsule, what, source, refusal);
  if (g_strcmp0 (name, "dltensor") == 0)
    return take_legacy (capsule, source, refusal);
  if (name != NULL && g_str_has_prefix (name, "used_dltensor"))
    PyErr_Format (PyExc_BufferError, "%s: the capsule was consumed already ('%s')", what, name);
  else
    PyErr_Format (PyExc_BufferError, "%s: a capsule named '%s', not 'dltensor_versioned' or 'dltensor'", what,
                  name != NULL ? name : "");
  return NULL;
}

/* FALSE with a Python error. What is not there is NULL, as hasattr() would have it. */
static gboolean
get_optional (PyObject *object, PyObject *name, PyObject **value)
{
  *value = PyObject_GetAttr (object, name);
  if (*value == NULL && !PyErr_ExceptionMatches (PyExc_AttributeError))
    return FALSE;
  PyErr_Clear ();
  return TRUE;
}

static PyObject *
call_dlpack (PyObject *method, PyObject *stream)
{
  PyObject *args[] = { pyovs.max_version, stream };
  PyObject *capsule;

  capsule = PyObject_Vectorcall (method, args, 0, stream != NULL ? pyovs.names_both : pyovs.names_version);
  if (capsule != NULL || !PyErr_ExceptionMatches (PyExc_TypeError))
    return capsule;

  /* A producer from before DLPack 1.0 does not know max_version. */
  PyErr_Clear ();
  args[0] = stream;
  return PyObject_Vectorcall (method, args, 0, stream != NULL ? pyovs.names_stream : NULL);
}

/* -1 with a Python error; 0: none is told. */
static gint64
get_device_type (PyObject *object)
{
  PyObject *device, *first;
  gint64 result;

  device = PyObject_CallMethodNoArgs (object, pyovs.str_dlpack_device);
  if (device == NULL)
    {
      if (!PyErr_ExceptionMatches (PyExc_AttributeError))
        return -1;
      PyErr_Clear ();
      return 0;
    }
  first = PySequence_GetItem (device, 0);
  Py_DECREF (device);
  if (first == NULL)
    return -1;
  result = PyNumber_AsSsize_t (first, PyExc_ValueError);
  Py_DECREF (first);
  if (result < 0 && !PyErr_Occurred ())
    PyErr_Format (PyExc_BufferError, "__dlpack_device__() gave the device type %lld", (long long) result);
  return result;
}

/* By its method @dlpack. */
static OvstageTensor *
import_producer (PyObject *object, PyObject *dlpack, const char *what, PyObject *stream, PyovsSource *source, PyovsRefusal *refusal)
{
  PyObject *work_stream = NULL, *capsule = NULL;
  OvstageTensor *tensor;

  /* Others of the same write are ordered on it, and the write waits for nothing else. */
  if (stream == NULL && source->work_stream != 0)
    {
      stream = work_stream = PyLong_FromUnsignedLongLong (source->work_stream);
      if (stream == NULL)
        return NULL;
    }
  if (stream != NULL)
    {
      gint64 device_type = get_device_type (object);

      if (device_type < 0)
        goto out;
      if (!has_streams (device_type))
        stream = NULL;
    }
  capsule = call_dlpack (dlpack, stream);
  if (capsule != NULL && !PyCapsule_CheckExact (capsule))
    {
      PyErr_Format (PyExc_TypeError, "%s: __dlpack__() gave a %s, not a capsule", what, Py_TYPE (capsule)->tp_name);
      Py_CLEAR (capsule);
    }

out:
  Py_XDECREF (work_stream);
  tensor = capsule != NULL ? take_capsule (capsule, what, source, refusal) : NULL;
  Py_XDECREF (capsule);
  return tensor;
}

/* The exchange table */

/* Nothing was ordered yet. FALSE, maybe with a Python error: the data cannot be used as it is. */
static gboolean
order_by_work_stream (const DLPackExchangeAPI *table, const DLDevice *device, PyObject *stream, PyovsSource *source)
{
  gpointer handle = NULL;
  guint64 work_stream;

  if (table->current_work_stream == NULL)
    return FALSE;
  if (stream != NULL)
    {
      gboolean caller_orders = PyLong_Check (stream) && PyLong_AsLong (stream) == -1;

      if (!PyErr_Occurred ())
        return caller_orders;
      PyErr_Clear ();
      return FALSE;
    }
  if (!source->takes_stream || table->current_work_stream (device->device_type, device->device_id, &handle) != 0)
    return FALSE;
  /* Our number of the legacy default stream. */
  work_stream = handle != NULL ? (guint64) GPOINTER_TO_SIZE (handle) : 1;
  if (source->work_stream != 0 && source->work_stream != work_stream)
    return FALSE;
  source->work_stream = work_stream;
  return TRUE;
}

/* Ways to import: -1 is a Python error; 0: another way is needed; 1: there is a tensor or a refusal. */

static int
import_by_table (const DLPackExchangeAPI *table, PyObject *object, const char *what, PyObject *stream, PyovsSource *source,
                 OvstageTensor **tensor, PyovsRefusal *refusal)
{
  DLManagedTensorVersioned *managed = NULL;

  *tensor = NULL;
  if (table->managed_tensor_from_py_object_no_sync (object, &managed) != 0 || managed == NULL)
    {
      PyObject *type, *value, *traceback;

      if (!PyErr_Occurred ())
        PyErr_Format (PyExc_BufferError, "%s: the exchange table of %s gave no tensor", what, Py_TYPE (object)->tp_name);
      if (!PyErr_ExceptionMatches (PyExc_BufferError))
        return -1;
      /* What cannot be shown as it is __dlpack__() may copy, or refuse with a better reason. */
      PyErr_Fetch (&type, &value, &traceback);
      if (!PyObject_HasAttr (object, pyovs.str_dlpack))
        {
          PyErr_Restore (type, value, traceback);
          return -1;
        }
      Py_XDECREF (type);
      Py_XDECREF (value);
      Py_XDECREF (traceback);
      return 0;
    }
  if (managed->version.major <= 1 && has_streams (managed->dl_tensor.device.device_type) &&
      !order_by_work_stream (table, &managed->dl_tensor.device, stream, source))
    {
      if (managed->deleter != NULL)
        PYOVS_KEEPING_ERROR (managed->deleter (managed));
      return PyErr_Occurred () ? -1 : 0;
    }
  *tensor = take_managed (managed, what, source, refusal);
  return *tensor == NULL && PyErr_Occurred () ? -1 : 1;
}

/* By the exchange table or __dlpack__(). */
static int
import_by_dlpack (PyObject *object, const char *what, PyObject *stream, PyovsSource *source, OvstageTensor **tensor,
                  PyovsRefusal *refusal)
{
  const DLPackExchangeAPI *table;
  PyObject *dlpack;

  *tensor = NULL;
  if (!pyovs_exchange_find (Py_TYPE (object), &table))
    return -1;
  if (table != NULL)
    {
      int result = import_by_table (table, object, what, stream, source, tensor, refusal);

      if (result != 0)
        return result;
    }
  if (!get_optional (object, pyovs.str_dlpack, &dlpack))
    return -1;
  if (dlpack == NULL)
    return 0;
  *tensor = import_producer (object, dlpack, what, stream, source, refusal);
  Py_DECREF (dlpack);
  return *tensor == NULL && PyErr_Occurred () ? -1 : 1;
}

/* Numpy's arrays export more by its array interface and the buffer protocol than by DLPack. */
static gboolean
is_ndarray (PyObject *object)
{
  static PyTypeObject *ndarray;

  if (G_UNLIKELY (ndarray == NULL))
    {
      /* As long as nobody imported numpy there are no arrays of it. */
      PyObject *numpy = PyDict_GetItemString (PyImport_GetModuleDict (), "numpy");
      PyObject *type = numpy != NULL ? PyObject_GetAttrString (numpy, "ndarray") : NULL;

      if (type == NULL || !PyType_Check (type))
        {
          PyErr_Clear ();
          Py_XDECREF (type);
          return FALSE;
        }
      ndarray = (PyTypeObject *) type;
    }
  return PyObject_TypeCheck (object, ndarray);
}

OvstageTensor *
pyovs_tensor_import (PyObject *object, const char *what, PyovsImport how, PyObject *stream, PyovsSource *source,
                     PyovsRefusal *refusal)
{
  OvstageTensor *tensor;
  Py_buffer view;

  if (PyObject_TypeCheck (object, &pyovs_tensor_type))
    {
      source->read_only = ((PyovsTensor *) object)->read_only;
      return ovstage_tensor_ref (((PyovsTensor *) object)->tensor);
    }
  if (is_ndarray (object))
    {
      if (import_array_struct (object, &tensor, &source->read_only, refusal))
        return tensor;
      if (PyObject_GetBuffer (object, &view, PyBUF_RECORDS_RO) == 0)
        return import_view (&view, what, how, &source->read_only, refusal);
      /* An element type without a format. */
      PyErr_Clear ();
    }
  else if (PyCapsule_CheckExact (object))
    return take_capsule (object, what, source, refusal);

  if (import_by_dlpack (object, what, stream, source, &tensor, refusal) != 0)
    return tensor;
  if (PyObject_CheckBuffer (object))
    {
      if (PyObject_GetBuffer (object, &view, PyBUF_RECORDS_RO) < 0)
        return NULL;
      return import_view (&view, what, how, &source->read_only, refusal);
    }
  PyErr_Format (PyExc_TypeError, "%s: %s has neither __dlpack__ nor a buffer", what, Py_TYPE (object)->tp_name);
  return NULL;
}

/* Index maps and masks */

/* Whether @object is an array; what is not is read as a sequence. -1 with a Python error. */
static int
is_array (PyObject *object)
{
  const DLPackExchangeAPI *table;
  PyObject *dlpack;

  if (PyList_CheckExact (object) || PyTuple_CheckExact (object))
    return FALSE;
  if (PyObject_CheckBuffer (object) || PyObject_TypeCheck (object, &pyovs_tensor_type) || PyCapsule_CheckExact (object))
    return TRUE;
  if (!pyovs_exchange_find (Py_TYPE (object), &table))
    return -1;
  if (table != NULL)
    return TRUE;
  if (!get_optional (object, pyovs.str_dlpack, &dlpack))
    return -1;
  Py_XDECREF (dlpack);
  return dlpack != NULL;
}

/* A vector in CPU memory, with one lane. */
static OvstageTensor *
import_vector (PyObject *object, const char *what)
{
  PyovsRefusal refusal = { 0, NULL };
  PyovsSource source = { 0, };
  OvstageTensor *tensor;

  tensor = pyovs_tensor_import (object, what, PYOVS_IMPORT_MAY_COPY, NULL, &source, &refusal);
  if (tensor == NULL)
    {
      if (refusal.code != 0)
        PyErr_Format (PyExc_ValueError, "%s: %s", what, refusal.message);
      g_free (refusal.message);
      return NULL;
    }
  if (ovstage_tensor_get_device_type (tensor) != kDLCPU && ovstage_tensor_get_device_type (tensor) != kDLCUDAHost)
    PyErr_Format (PyExc_BufferError, "%s: CPU memory is needed", what);
  else if (ovstage_tensor_get_n_dims (tensor) != 1 || ovstage_tensor_get_data_type (tensor)->lanes != 1)
    PyErr_Format (PyExc_ValueError, "%s: one dimension is needed, not %zu", what, ovstage_tensor_get_n_dims (tensor));
  else
    return tensor;
  pyovs_tensor_unref (tensor);
  return NULL;
}

static void
raise_dtype (OvstageTensor *tensor, PyObject *type, const char *what, const char *expected)
{
  char *text = ovstage_data_type_to_string (ovstage_tensor_get_data_type (tensor));

  PyErr_Format (type, "%s: %s, not %s", what, expected, text);
  g_free (text);
}

static gint64
load_integer (const guint8 *p, const OvstageDataType *dtype, gboolean *fits)
{
  union
  {
    gint8 i8;
    gint16 i16;
    gint32 i32;
    gint64 i64;
    guint8 u8;
    guint16 u16;
    guint32 u32;
  } v;

  memcpy (&v, p, dtype->bits / 8);
  *fits = TRUE;
  switch (dtype->bits)
    {
    case 8:
      return dtype->code == kDLInt ? v.i8 : v.u8;
    case 16:
      return dtype->code == kDLInt ? v.i16 : v.u16;
    case 32:
      return dtype->code == kDLInt ? v.i32 : (gint64) v.u32;
    default:
      *fits = dtype->code == kDLInt || v.i64 >= 0;
      return v.i64;
    }
}

static gboolean
map_from_tensor (PyovsIndexMap *map, OvstageTensor *tensor)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (tensor);
  const guint8 *data = ovstage_tensor_get_data (tensor);
  gint64 stride = ovstage_tensor_get_strides (tensor, NULL)[0];
  gsize i;

  if ((dtype->code != kDLInt && dtype->code != kDLUInt) ||
      (dtype->bits != 8 && dtype->bits != 16 && dtype->bits != 32 && dtype->bits != 64))
    {
      raise_dtype (tensor, PyExc_TypeError, "index_map", "integers are needed");
      return FALSE;
    }
  map->n = ovstage_tensor_get_shape (tensor, NULL)[0];
  if (dtype->code == kDLUInt && dtype->bits == 32 && (stride == 1 || map->n <= 1) && GPOINTER_TO_SIZE (data) % 4 == 0)
    {
      map->values = (const guint32 *) data;
      return TRUE;
    }
  map->own = g_try_new (guint32, MAX (map->n, 1));
  if (map->own == NULL)
    {
      PyErr_NoMemory ();
      return FALSE;
    }
  map->values = map->own;
  for (i = 0; i < map->n; i++)
    {
      gboolean fits;
      gint64 value = load_integer (data + (gint64) i * stride * (dtype->bits / 8), dtype, &fits);

      if (!fits || value < 0 || value > G_MAXUINT32)
        {
          char *text = fits ? g_strdup_printf ("%" G_GINT64_FORMAT, value) : g_strdup_printf ("%" G_GUINT64_FORMAT, (guint64) value);

          PyErr_Format (PyExc_ValueError, "index_map[%zu]: %s is not between 0 and %u", i, text, G_MAXUINT32);
          g_free (text);
          return FALSE;
        }
      map->own[i] = value;
    }
  return TRUE;
}

static gboolean
map_from_sequence (PyovsIndexMap *map, PyObject *object)
{
  PyObject *sequence = PySequence_Tuple (object);
  gsize i;

  if (sequence == NULL)
    {
      if (PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "index_map: integers are needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  map->n = PyTuple_GET_SIZE (sequence);
  map->own = g_new (guint32, MAX (map->n, 1));
  map->values = map->own;
  for (i = 0; i < map->n; i++)
    {
      char name[40];
      guint64 value;

      g_snprintf (name, sizeof name, "index_map[%" G_GSIZE_FORMAT "]", i);
      if (!pyovs_as_uint (PyTuple_GET_ITEM (sequence, i), name, G_MAXUINT32, &value))
        {
          Py_DECREF (sequence);
          return FALSE;
        }
      map->own[i] = value;
    }
  Py_DECREF (sequence);
  return TRUE;
}

gboolean
pyovs_index_map_init (PyovsIndexMap *map, PyObject *object)
{
  int array = is_array (object);

  if (array <= 0)
    return array == 0 && map_from_sequence (map, object);
  map->tensor = import_vector (object, "index_map");
  return map->tensor != NULL && map_from_tensor (map, map->tensor);
}

void
pyovs_index_map_clear (PyovsIndexMap *map)
{
  g_free (map->own);
  g_clear_pointer (&map->tensor, pyovs_tensor_unref);
}

static void
pack_bools (guint64 *words, const guint8 *data, gint64 stride, gsize n)
{
  gsize i = 0;

#if G_BYTE_ORDER == G_LITTLE_ENDIAN
  /* Eight bytes at a time: each becomes 0 or 1, and a product brings them side by side. */
  for (; stride == 1 && i + 8 <= n; i += 8)
    {
      guint64 bytes;

      memcpy (&bytes, data + i, sizeof bytes);
      bytes |= bytes >> 4;
      bytes |= bytes >> 2;
      bytes |= bytes >> 1;
      bytes &= G_GUINT64_CONSTANT (0x0101010101010101);
      words[i / 64] |= bytes * G_GUINT64_CONSTANT (0x0102040810204080) >> 56 << i % 64;
    }
#endif
  for (; i < n; i++)
    words[i / 64] |= (guint64) (data[(gint64) i * stride] != 0) << i % 64;
}

static gboolean
mask_from_tensor (PyovsMask *mask, OvstageTensor *tensor)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (tensor);
  const guint8 *data = ovstage_tensor_get_data (tensor);
  gint64 stride = ovstage_tensor_get_strides (tensor, NULL)[0];
  gsize i;

  mask->n = ovstage_tensor_get_shape (tensor, NULL)[0];
  if (dtype->code == kDLBool && dtype->bits == 8)
    {
      mask->own = g_try_new0 (guint64, mask->n / 64 + 1);
      if (mask->own == NULL)
        {
          PyErr_NoMemory ();
          return FALSE;
        }
      mask->words = mask->own;
      pack_bools (mask->own, data, stride, mask->n);
      return TRUE;
    }
  if (dtype->code == kDLUInt && dtype->bits == 64)
    {
      mask->is_words = TRUE;
      if ((stride == 1 || mask->n <= 1) && GPOINTER_TO_SIZE (data) % 8 == 0)
        {
          mask->words = (const guint64 *) data;
          return TRUE;
        }
      mask->own = g_try_new (guint64, MAX (mask->n, 1));
      if (mask->own == NULL)
        {
          PyErr_NoMemory ();
          return FALSE;
        }
      mask->words = mask->own;
      for (i = 0; i < mask->n; i++)
        memcpy (mask->own + i, data + (gint64) i * stride * 8, 8);
      return TRUE;
    }
  raise_dtype (tensor, PyExc_TypeError, "mask", "bools or uint64 words are needed");
  return FALSE;
}

/* -1 with an error. Numpy's own bool has a buffer of one. */
static int
as_bool (PyObject *object)
{
  Py_buffer view;
  int result = -1;

  if (PyBool_Check (object))
    return object == Py_True;
  if (PyObject_CheckBuffer (object))
    {
      if (PyObject_GetBuffer (object, &view, PyBUF_RECORDS_RO) < 0)
        PyErr_Clear ();
      else
        {
          if (view.format != NULL && strcmp (view.format, "?") == 0 && view.len == 1)
            result = *(const guint8 *) view.buf != 0;
          PyBuffer_Release (&view);
          if (result >= 0)
            return result;
        }
    }
  PyErr_Format (PyExc_TypeError, "mask: bools or uint64 words are needed, not %s", Py_TYPE (object)->tp_name);
  return -1;
}

static gboolean
mask_from_sequence (PyovsMask *mask, PyObject *object)
{
  PyObject *sequence = PySequence_Tuple (object);
  gsize i;

  if (sequence == NULL)
    {
      if (PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "mask: bools or uint64 words are needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  mask->n = PyTuple_GET_SIZE (sequence);
  mask->own = g_new0 (guint64, mask->n / 64 + 1);
  mask->words = mask->own;
  for (i = 0; i < mask->n; i++)
    {
      int value = as_bool (PyTuple_GET_ITEM (sequence, i));

      if (value < 0)
        {
          Py_DECREF (sequence);
          return FALSE;
        }
      mask->own[i / 64] |= (guint64) value << i % 64;
    }
  Py_DECREF (sequence);
  return TRUE;
}

gboolean
pyovs_mask_init (PyovsMask *mask, PyObject *object)
{
  int array = is_array (object);

  if (array <= 0)
    return array == 0 && mask_from_sequence (mask, object);
  mask->tensor = import_vector (object, "mask");
  return mask->tensor != NULL && mask_from_tensor (mask, mask->tensor);
}

void
pyovs_mask_clear (PyovsMask *mask)
{
  g_free (mask->own);
  g_clear_pointer (&mask->tensor, pyovs_tensor_unref);
}
