/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* One tensor across the boundary, as C code that takes Python arguments sees it: by
 * the exchange table of the tensor's type, next to that of tvm-ffi and to __dlpack__().
 * A module for bench_dlpack.py. */

#include "config.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ovstage/ovstage-dlpack-types.h>

#include "bench.h"

#define ROUNDS 60

typedef struct
{
  PyObject *tensor; /* ours */
  PyObject *array;  /* numpy's */
  PyObject *other;  /* (nullable) of a type with tvm-ffi's table */
  PyObject *import; /* our function */
  const DLPackExchangeAPI *ours;
  const DLPackExchangeAPI *theirs; /* (nullable) */
  PyObject *str_dlpack;
  PyObject *names;
  PyObject *version;
} Exchange;

static void
check (gboolean fine)
{
  if (G_UNLIKELY (!fine))
    {
      PyErr_Print ();
      g_error ("an exchange failed");
    }
}

static const DLPackExchangeAPI *
get_table (PyObject *object)
{
  PyObject *capsule = PyObject_GetAttrString ((PyObject *) Py_TYPE (object), "__dlpack_c_exchange_api__");
  const DLPackExchangeAPI *table = capsule != NULL ? PyCapsule_GetPointer (capsule, "dlpack_exchange_api") : NULL;

  check (table != NULL);
  Py_DECREF (capsule);
  return table;
}

static void
give (const DLPackExchangeAPI *table, PyObject *object)
{
  DLManagedTensorVersioned *managed;

  check (table->managed_tensor_from_py_object_no_sync (object, &managed) == 0);
  managed->deleter (managed);
}

static void
give_and_take (const DLPackExchangeAPI *table, PyObject *object)
{
  DLManagedTensorVersioned *managed;
  void *taken;

  check (table->managed_tensor_from_py_object_no_sync (object, &managed) == 0);
  check (table->managed_tensor_to_py_object_no_sync (managed, &taken) == 0);
  Py_DECREF ((PyObject *) taken);
}

static void
call_dlpack (Exchange *exchange, PyObject *object)
{
  PyObject *args[] = { object, exchange->version };
  PyObject *capsule = PyObject_VectorcallMethod (exchange->str_dlpack, args, 1, exchange->names);
  DLManagedTensorVersioned *managed = capsule != NULL ? PyCapsule_GetPointer (capsule, "dltensor_versioned") : NULL;

  check (managed != NULL && PyCapsule_SetName (capsule, "used_dltensor_versioned") == 0);
  managed->deleter (managed);
  Py_DECREF (capsule);
}

static void
import (Exchange *exchange, PyObject *object)
{
  PyObject *tensor = PyObject_CallOneArg (exchange->import, object);

  check (tensor != NULL);
  Py_DECREF (tensor);
}

static void
lend_ours (gpointer data)
{
  Exchange *exchange = data;
  DLTensor tensor;

  check (exchange->ours->dltensor_from_py_object_no_sync (exchange->tensor, &tensor) == 0);
  BENCH_KEEP (tensor.data);
}

static void
give_ours (gpointer data)
{
  give (((Exchange *) data)->ours, ((Exchange *) data)->tensor);
}

static void
give_theirs (gpointer data)
{
  give (((Exchange *) data)->theirs, ((Exchange *) data)->other);
}

static void
take_ours (gpointer data)
{
  give_and_take (((Exchange *) data)->ours, ((Exchange *) data)->tensor);
}

static void
take_theirs (gpointer data)
{
  give_and_take (((Exchange *) data)->theirs, ((Exchange *) data)->other);
}

static void
dlpack_ours (gpointer data)
{
  call_dlpack (data, ((Exchange *) data)->tensor);
}

static void
dlpack_numpy (gpointer data)
{
  call_dlpack (data, ((Exchange *) data)->array);
}

static void
dlpack_theirs (gpointer data)
{
  call_dlpack (data, ((Exchange *) data)->other);
}

static void
import_table (gpointer data)
{
  import (data, ((Exchange *) data)->other);
}

static void
import_capsule (gpointer data)
{
  Exchange *exchange = data;
  PyObject *args[] = { exchange->other, exchange->version };
  PyObject *capsule = PyObject_VectorcallMethod (exchange->str_dlpack, args, 1, exchange->names);

  check (capsule != NULL);
  import (exchange, capsule);
  Py_DECREF (capsule);
}

static PyObject *
run (PyObject *module, PyObject *args)
{
  Exchange exchange = { 0, };

  if (!PyArg_ParseTuple (args, "OOOO", &exchange.tensor, &exchange.array, &exchange.other, &exchange.import))
    return NULL;
  exchange.ours = get_table (exchange.tensor);
  exchange.str_dlpack = PyUnicode_InternFromString ("__dlpack__");
  exchange.names = Py_BuildValue ("(s)", "max_version");
  exchange.version = Py_BuildValue ("(ii)", 1, 1);

  bench_noise ();
  bench_ratio ("lend / numpy __dlpack__()", ROUNDS, lend_ours, dlpack_numpy, &exchange);
  bench_ratio ("give / numpy __dlpack__()", ROUNDS, give_ours, dlpack_numpy, &exchange);
  bench_ratio ("ours by __dlpack__() / numpy __dlpack__()", ROUNDS, dlpack_ours, dlpack_numpy, &exchange);
  if (exchange.other != Py_None)
    {
      exchange.theirs = get_table (exchange.other);
      bench_ratio ("lend / tvm-ffi's table, giving", ROUNDS, lend_ours, give_theirs, &exchange);
      bench_ratio ("give / tvm-ffi's table", ROUNDS, give_ours, give_theirs, &exchange);
      bench_ratio ("give and take / tvm-ffi's table", ROUNDS, take_ours, take_theirs, &exchange);
      bench_ratio ("give / tvm-ffi __dlpack__()", ROUNDS, give_ours, dlpack_theirs, &exchange);
      bench_ratio ("import by tvm-ffi's table / by its __dlpack__()", ROUNDS, import_table, import_capsule, &exchange);
    }

  Py_DECREF (exchange.str_dlpack);
  Py_DECREF (exchange.names);
  Py_DECREF (exchange.version);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
  { "run", run, METH_VARARGS, NULL },
  { NULL },
};

static struct PyModuleDef module_def = {
  PyModuleDef_HEAD_INIT,
  .m_name = "bench_dlpack_c",
  .m_size = -1,
  .m_methods = methods,
};

PyMODINIT_FUNC PyInit_bench_dlpack_c (void);

PyMODINIT_FUNC
PyInit_bench_dlpack_c (void)
{
  return PyModule_Create (&module_def);
}
