/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Arrays of other libraries in, by DLPack, or by what else they have. */

#include "config.h"

#include "_native-tensor.h"

/* Device types whose producers order their work by a stream. */
static gboolean
has_streams (gint64 device_type)
{
  return device_type == kDLCUDA || device_type == kDLCUDAManaged || device_type == kDLROCM;
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

gboolean
pyovs_get_optional (PyObject *object, PyObject *name, PyObject **value)
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
  if (!pyovs_get_optional (object, pyovs.str_dlpack, &dlpack))
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
      if (pyovs_import_array_struct (object, &tensor, &source->read_only, refusal))
        return tensor;
      if (PyObject_GetBuffer (object, &view, PyBUF_RECORDS_RO) == 0)
        return pyovs_import_view (&view, what, how, &source->read_only, refusal);
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
      return pyovs_import_view (&view, what, how, &source->read_only, refusal);
    }
  /* One that raises is as good as none where there is a buffer. Here its error tells more than ours. */
  if (PyObject_HasAttr ((PyObject *) Py_TYPE (object), pyovs.str_dlpack))
    {
      PyObject *dlpack = PyObject_GetAttr (object, pyovs.str_dlpack);

      if (dlpack == NULL)
        return NULL;
      Py_DECREF (dlpack);
    }
  PyErr_Format (PyExc_TypeError, "%s: %s has neither __dlpack__ nor a buffer", what, Py_TYPE (object)->tp_name);
  return NULL;
}
