/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "_native.h"

#include <string.h>

PyovsModule pyovs;

static gint finalized; /* (atomic) */
static GThread *last_thread; /* the one that ends the interpreter; set before @finalized */
static gint n_inside; /* (atomic) calls between pyovs_gil_begin() and pyovs_gil_end() */

/* How long the end of the interpreter waits for them. */
#define MAX_WAIT_MS 1000

/* Threads and the GIL */

gsize pyovs_large = 64 * 1024;

static void
read_debug (void)
{
  const GDebugKey keys[] = { { "unlock", 1 } };

  if (g_parse_debug_string (g_getenv ("OVSTAGE_DEBUG"), keys, G_N_ELEMENTS (keys)) != 0)
    pyovs_large = 0;
}

gboolean
pyovs_gil_begin (PyGILState_STATE *state)
{
  g_atomic_int_inc (&n_inside);
  if (G_UNLIKELY (g_atomic_int_get (&finalized)) && (g_thread_self () != last_thread || !Py_IsInitialized ()))
    {
      g_atomic_int_add (&n_inside, -1);
      return FALSE;
    }
  *state = PyGILState_Ensure ();
  return TRUE;
}

void
pyovs_gil_end (PyGILState_STATE state)
{
  PyGILState_Release (state);
  g_atomic_int_add (&n_inside, -1);
}

gboolean
pyovs_is_drained (void)
{
  return g_atomic_int_get (&finalized);
}

static PyObject *
drain (PyObject *module, PyObject *unused)
{
  int i;

  pyovs_stage_close_all ();
  pyovs_watch_stop ();
  last_thread = g_thread_self ();
  g_atomic_int_set (&finalized, TRUE);

  /* A thread that asks for the GIL when it is too late ends then and there, in the middle of what it does. */
  Py_BEGIN_ALLOW_THREADS
  for (i = 0; i < MAX_WAIT_MS && g_atomic_int_get (&n_inside) > 0; i++)
    g_usleep (1000);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

/* Errors */

void
pyovs_refuse (PyovsRefusal *refusal, int code, const char *format, ...)
{
  va_list args;

  /* The first fault is told. */
  if (refusal->code != 0)
    return;
  refusal->code = code;
  va_start (args, format);
  refusal->message = g_strdup_vprintf (format, args);
  va_end (args);
}

void
pyovs_refuse_gerror (PyovsRefusal *refusal, GError *error)
{
  pyovs_refuse (refusal, pyovs_error_code (error), "%s", pyovs_error_text (error));
  g_error_free (error);
}

int
pyovs_error_code (const GError *error)
{
  if (error->domain == OVSTAGE_ERROR)
    return error->code;
  if (error->domain == G_IO_ERROR && error->code == G_IO_ERROR_CANCELLED)
    return OVSTAGE_ERROR_OP_FAILED;
  return OVSTAGE_ERROR_INTERNAL;
}

const char *
pyovs_error_text (const GError *error)
{
  if (error->domain == G_IO_ERROR && error->code == G_IO_ERROR_CANCELLED)
    return "cancelled";
  return error->message;
}

PyObject *
pyovs_raise (PyObject *type, int code, const char *message)
{
  PyObject *exception = PyObject_CallFunction (type, "iN", code, PyUnicode_DecodeUTF8 (message, strlen (message), "replace"));

  if (exception != NULL)
    {
      PyErr_SetObject (type, exception);
      Py_DECREF (exception);
    }
  return NULL;
}

PyObject *
pyovs_raise_gerror (PyObject *type, GError *error)
{
  pyovs_raise (type, pyovs_error_code (error), pyovs_error_text (error));
  g_error_free (error);
  return NULL;
}

PyObject *
pyovs_code (int code)
{
  PyObject *result;

  if (code == 0)
    return Py_NewRef (pyovs.status_ok);
  result = PyObject_CallFunction (pyovs.error_code, "i", code);
  if (result == NULL && PyErr_ExceptionMatches (PyExc_ValueError))
    {
      PyErr_Clear ();
      return PyLong_FromLong (code);
    }
  return result;
}

/* Arguments */

static gboolean
intern_names (PyovsSignature *signature)
{
  int i;

  for (i = 0; signature->names[i] != NULL; i++)
    if (signature->interned[i] == NULL)
      {
        signature->interned[i] = PyUnicode_InternFromString (signature->names[i]);
        if (signature->interned[i] == NULL)
          return FALSE;
      }
  return TRUE;
}

static int
find_name (PyovsSignature *signature, PyObject *name)
{
  int i;

  for (i = 0; signature->names[i] != NULL; i++)
    if (signature->interned[i] == name)
      return i;
  for (i = 0; signature->names[i] != NULL; i++)
    if (PyUnicode_CompareWithASCIIString (name, signature->names[i]) == 0)
      return i;
  PyErr_Format (PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", signature->function, name);
  return -1;
}

static gboolean
set_positional (PyovsSignature *signature, Py_ssize_t n_args)
{
  if (n_args <= signature->n_positional)
    return TRUE;
  PyErr_Format (PyExc_TypeError, "%s() takes at most %d positional arguments (%zd given)", signature->function,
                signature->n_positional, n_args);
  return FALSE;
}

static gboolean
set_named (PyovsSignature *signature, PyObject *name, PyObject *value, PyObject **values)
{
  int i = find_name (signature, name);

  if (i < 0)
    return FALSE;
  if (values[i] != NULL)
    {
      PyErr_Format (PyExc_TypeError, "%s() got several values for argument '%s'", signature->function, signature->names[i]);
      return FALSE;
    }
  values[i] = value;
  return TRUE;
}

static gboolean
check_required (PyovsSignature *signature, PyObject **values)
{
  int i;

  for (i = 0; signature->names[i] != NULL; i++)
    if (values[i] == NULL && (i < signature->n_required || (signature->required >> i & 1)))
      {
        PyErr_Format (PyExc_TypeError, "%s() missing required argument '%s'", signature->function, signature->names[i]);
        return FALSE;
      }
  return TRUE;
}

gboolean
pyovs_parse (PyovsSignature *signature, PyObject *const *args, Py_ssize_t n_args, PyObject *names, PyObject **values)
{
  Py_ssize_t i, n_names = names != NULL ? PyTuple_GET_SIZE (names) : 0;

  if (G_UNLIKELY (signature->interned[0] == NULL) && !intern_names (signature))
    return FALSE;
  for (i = 0; signature->names[i] != NULL; i++)
    values[i] = NULL;
  if (!set_positional (signature, n_args))
    return FALSE;
  for (i = 0; i < n_args; i++)
    values[i] = args[i];
  for (i = 0; i < n_names; i++)
    if (!set_named (signature, PyTuple_GET_ITEM (names, i), args[n_args + i], values))
      return FALSE;
  return check_required (signature, values);
}

gboolean
pyovs_parse_dict (PyovsSignature *signature, PyObject *args, PyObject *kwargs, PyObject **values)
{
  Py_ssize_t i, n_args = PyTuple_GET_SIZE (args), position = 0;
  PyObject *name, *value;

  if (!intern_names (signature))
    return FALSE;
  for (i = 0; signature->names[i] != NULL; i++)
    values[i] = NULL;
  if (!set_positional (signature, n_args))
    return FALSE;
  for (i = 0; i < n_args; i++)
    values[i] = PyTuple_GET_ITEM (args, i);
  while (kwargs != NULL && PyDict_Next (kwargs, &position, &name, &value))
    if (!set_named (signature, name, value, values))
      return FALSE;
  return check_required (signature, values);
}

const char *
pyovs_as_text (PyObject *object, const char *name, PyovsRefusal *refusal)
{
  const char *text;
  Py_ssize_t n;

  if (!PyUnicode_Check (object))
    {
      PyErr_Format (PyExc_TypeError, "%s: a str is needed, not %s", name, Py_TYPE (object)->tp_name);
      return NULL;
    }
  text = PyUnicode_AsUTF8AndSize (object, &n);
  if (text == NULL && PyErr_ExceptionMatches (PyExc_UnicodeEncodeError))
    {
      PyErr_Clear ();
      pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: a lone surrogate is in it, which no UTF-8 has", name);
    }
  else if (text != NULL && strlen (text) != (gsize) n)
    {
      pyovs_refuse (refusal, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: \"%s\" is followed by a NUL character", name, text);
      return NULL;
    }
  return text;
}

/* An exact int, by the index protocol. */
static PyObject *
to_integer (PyObject *object, const char *name)
{
  PyObject *number;

  if (!PyIndex_Check (object))
    {
      PyErr_Format (PyExc_TypeError, "%s: an integer is needed, not %s", name, Py_TYPE (object)->tp_name);
      return NULL;
    }
  number = PyNumber_Index (object);
  if (number == NULL && PyErr_ExceptionMatches (PyExc_TypeError))
    {
      /* An array has __index__, but only one of a single integer can do it. */
      PyErr_Clear ();
      PyErr_Format (PyExc_TypeError, "%s: an integer is needed, not %s", name, Py_TYPE (object)->tp_name);
    }
  return number;
}

gboolean
pyovs_as_uint (PyObject *object, const char *name, guint64 max, guint64 *value)
{
  PyObject *number = to_integer (object, name);
  unsigned long long result;

  if (number == NULL)
    return FALSE;
  result = PyLong_AsUnsignedLongLong (number);
  if (result == (unsigned long long) -1 && PyErr_Occurred ())
    {
      PyErr_Clear ();
      PyErr_Format (PyExc_ValueError, "%s: %R is not between 0 and %llu", name, number, (unsigned long long) max);
      Py_DECREF (number);
      return FALSE;
    }
  Py_DECREF (number);
  if (result > max)
    {
      PyErr_Format (PyExc_ValueError, "%s: %llu is not between 0 and %llu", name, result, (unsigned long long) max);
      return FALSE;
    }
  *value = result;
  return TRUE;
}

gboolean
pyovs_as_timeout (PyObject *object, gint64 *timeout)
{
  PyObject *number;
  int overflow;

  *timeout = OVSTAGE_TIMEOUT_INFINITE;
  if (object == NULL)
    return TRUE;
  number = to_integer (object, "timeout");
  if (number == NULL)
    return FALSE;
  *timeout = PyLong_AsLongLongAndOverflow (number, &overflow);
  if (overflow != 0 || *timeout < OVSTAGE_TIMEOUT_INFINITE)
    {
      PyErr_Format (PyExc_ValueError, "timeout: %R is not a number of nanoseconds or TIMEOUT_INFINITE", number);
      Py_DECREF (number);
      return FALSE;
    }
  Py_DECREF (number);
  return TRUE;
}

gboolean
pyovs_as_index (PyObject *object, const char *name, guint64 n, guint32 *value)
{
  guint64 i;

  if (!pyovs_as_uint (object, name, G_MAXUINT64, &i))
    return FALSE;
  if (i >= n || i > G_MAXUINT32)
    {
      PyErr_Format (PyExc_IndexError, "%s: %llu is not below %llu", name, (unsigned long long) i, (unsigned long long) n);
      return FALSE;
    }
  *value = i;
  return TRUE;
}

/* The module */

static PyObject *
library_version (PyObject *module, PyObject *unused)
{
  return Py_BuildValue ("(iii)", OVSTAGE_MAJOR_VERSION, OVSTAGE_MINOR_VERSION, OVSTAGE_MICRO_VERSION);
}

static PyObject *
data_type_text (PyObject *module, PyObject *args)
{
  OvstageDataType dtype;
  PyObject *result;
  char *text;

  if (!PyArg_ParseTuple (args, "bbH", &dtype.code, &dtype.bits, &dtype.lanes))
    return NULL;
  text = ovstage_data_type_to_string (&dtype);
  result = PyUnicode_FromString (text);
  g_free (text);
  return result;
}

static PyObject *
report (PyObject *module, PyObject *args)
{
  PyObject *error, *where;

  if (!PyArg_ParseTuple (args, "OO", &error, &where))
    return NULL;
  PyErr_Restore (Py_NewRef ((PyObject *) Py_TYPE (error)), Py_NewRef (error), PyException_GetTraceback (error));
  PyErr_WriteUnraisable (where);
  Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
  { "make_dltensor", PYOVS_METHOD (pyovs_make_dltensor), METH_FASTCALL | METH_KEYWORDS,
    PyDoc_STR ("make_dltensor($module, obj, dtype=None, *, shape=None, ndim=None, strides=None)\n--\n\n"
               "A DLTensor over the memory of obj, without a copy, which it keeps alive.\n\n"
               "obj: what DLTensor.from_dlpack() takes.\n"
               "dtype: a DLDataType, its text, such as \"float32x3\", or a dtype of numpy. Its code and bits must be\n"
               "  those of obj. With more lanes than obj has, complete and compact trailing axes are folded into\n"
               "  them: (N, 3) of float32 becomes (N,) of float32x3. A fold that takes every axis gives the shape\n"
               "  (1,). Nothing is folded unasked.\n"
               "shape, ndim, strides: describe the same elements in another way; strides are in elements, and may\n"
               "  not lead out of the memory of obj.\n\n"
               "Raises as from_dlpack() does, and ValueError where dtype, shape or strides do not fit.") },
  { "dltensor_to_numpy", pyovs_dltensor_to_numpy, METH_O,
    PyDoc_STR ("dltensor_to_numpy($module, t, /)\n--\n\n"
               "A flat numpy view of the base elements of a compact CPU tensor, which it keeps alive.\n\n"
               "t: a DLTensor or ManagedDLTensor. BufferError if it is not compact, not in CPU memory, or of a type\n"
               "  that numpy does not know.") },
  { "library_version", library_version, METH_NOARGS,
    PyDoc_STR ("library_version($module)\n--\n\n"
               "The version of libovstage: (major, minor, micro).") },
  { "_data_type_text", data_type_text, METH_VARARGS, NULL },
  { "_ref_context", pyovs_ref_context, METH_NOARGS, PyDoc_STR ("The thread-default main context, for _invoke().") },
  { "_invoke", pyovs_invoke, METH_VARARGS, PyDoc_STR ("Has a function called in a main context.") },
  { "_iterate", pyovs_iterate, METH_NOARGS,
    PyDoc_STR ("Iterates the thread-default main context once; returns now and then even if nothing happens.") },
  { "_report", report, METH_VARARGS, PyDoc_STR ("Reports an exception that nobody is there to catch.") },
  { "_drain", drain, METH_NOARGS, PyDoc_STR ("Closes what is open; called as the interpreter ends.") },
  { NULL },
};

static struct PyModuleDef module_def = {
  PyModuleDef_HEAD_INIT,
  .m_name = "ovstage._native",
  .m_doc = PyDoc_STR ("The C part of ovstage."),
  .m_size = -1,
  .m_methods = module_methods,
};

static gboolean
import_objects (void)
{
  const struct
  {
    const char *module;
    const char *name;
    PyObject **object;
  } objects[] = {
    { "ovstage._errors", "OvstageError", &pyovs.error },
    { "ovstage._errors", "OvxError", &pyovs.ovx_error },
    { "ovstage._enums", "ErrorCode", &pyovs.error_code },
    { "ovstage._enums", "AttributeSemantic", &pyovs.semantic },
    { "ovstage._types", "DLDataType", &pyovs.data_type },
    { "ovstage._types", "DLDevice", &pyovs.device },
    { "ovstage._types", "Placement", &pyovs.placement },
    { "ovstage._types", "WriteDesc", &pyovs.write_desc },
    { "ovstage._types", "ReadGroupMeta", &pyovs.group_meta },
    { "ovstage._async", "wait", &pyovs.async_wait },
    { "ovstage._async", "GroupIterator", &pyovs.group_iterator },
    { "ovstage._async", "next_changes", &pyovs.next_changes },
  };
  gsize i;

  for (i = 0; i < G_N_ELEMENTS (objects); i++)
    {
      PyObject *module = PyImport_ImportModule (objects[i].module);

      if (module == NULL)
        return FALSE;
      *objects[i].object = PyObject_GetAttrString (module, objects[i].name);
      Py_DECREF (module);
      if (*objects[i].object == NULL)
        return FALSE;
    }

  pyovs.status_ok = PyObject_CallFunction (pyovs.error_code, "i", 0);
  pyovs.str_dlpack = PyUnicode_InternFromString ("__dlpack__");
  pyovs.str_dlpack_device = PyUnicode_InternFromString ("__dlpack_device__");
  pyovs.str_exchange = PyUnicode_InternFromString ("__dlpack_c_exchange_api__");
  pyovs.str_exchange_rfc = PyUnicode_InternFromString ("__c_dlpack_exchange_api__");
  pyovs.str_array_struct = PyUnicode_InternFromString ("__array_struct__");
  pyovs.max_version = Py_BuildValue ("(ii)", 1, 1);
  pyovs.names_version = Py_BuildValue ("(s)", "max_version");
  pyovs.names_stream = Py_BuildValue ("(s)", "stream");
  pyovs.names_both = Py_BuildValue ("(ss)", "max_version", "stream");
  return pyovs.status_ok != NULL && pyovs.str_dlpack != NULL && pyovs.str_dlpack_device != NULL && pyovs.str_exchange != NULL &&
         pyovs.str_exchange_rfc != NULL && pyovs.str_array_struct != NULL && pyovs.max_version != NULL && pyovs.names_version != NULL && pyovs.names_stream != NULL && pyovs.names_both != NULL;
}

PyMODINIT_FUNC PyInit__native (void);

PyMODINIT_FUNC
PyInit__native (void)
{
  const struct
  {
    const char *name; /* NULL: not for users */
    PyTypeObject *type;
  } types[] = {
    { "DLTensor", &pyovs_tensor_type },
    { "ManagedDLTensor", &pyovs_managed_tensor_type },
    { "Operation", &pyovs_operation_type },
    { "Query", &pyovs_query_type },
    { "Read", &pyovs_read_type },
    { "ReadGroup", &pyovs_read_group_type },
    { "Map", &pyovs_map_type },
    { "MapGroup", &pyovs_map_group_type },
    { NULL, &pyovs_group_iterator_type },
    { "PathList", &pyovs_path_list_type },
    { "PathDictionary", &pyovs_path_dictionary_type },
    { "OrdinalRange", &pyovs_ordinal_range_type },
    { "Stage", &pyovs_stage_type },
    { "Watch", &pyovs_changes_type },
  };
  PyObject *module, *newest;
  gsize i;

  read_debug ();
  if (!import_objects () || !pyovs_exchange_init (&pyovs_managed_tensor_type))
    return NULL;
  module = PyModule_Create (&module_def);
  if (module == NULL)
    return NULL;
  for (i = 0; i < G_N_ELEMENTS (types); i++)
    if (PyType_Ready (types[i].type) < 0 ||
        (types[i].name != NULL && PyModule_AddObjectRef (module, types[i].name, (PyObject *) types[i].type) < 0))
      {
        Py_DECREF (module);
        return NULL;
      }
  newest = PyLong_FromUnsignedLongLong (OVSTAGE_ORDINAL_NEWEST);
  if (newest == NULL || PyModule_AddObjectRef (module, "ORDINAL_NEWEST", newest) < 0 ||
      PyModule_AddIntConstant (module, "TIMEOUT_INFINITE", OVSTAGE_TIMEOUT_INFINITE) < 0)
    {
      Py_XDECREF (newest);
      Py_DECREF (module);
      return NULL;
    }
  Py_DECREF (newest);
  return module;
}
