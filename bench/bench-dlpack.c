/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* One tensor across the boundary, as C code that takes Python arguments sees it: by
 * the exchange table of the tensor's type, next to that of tvm-ffi and to __dlpack__().
 * Lending fills a DLTensor, giving makes a managed tensor and deletes it, taking makes a Python
 * object of one that was given. A module for bench_dlpack.py. */

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
  PyObject *import; /* our function, and those of numpy and tvm-ffi */
  PyObject *numpy_import;
  PyObject *their_import;
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
lend (const DLPackExchangeAPI *table, PyObject *object)
{
  DLTensor tensor;

  check (table->dltensor_from_py_object_no_sync (object, &tensor) == 0);
  BENCH_KEEP (tensor.data);
}

static void
give_and_take (const DLPackExchangeAPI *from, PyObject *object, const DLPackExchangeAPI *to)
{
  DLManagedTensorVersioned *managed;
  void *taken;

  check (from->managed_tensor_from_py_object_no_sync (object, &managed) == 0);
  check (to->managed_tensor_to_py_object_no_sync (managed, &taken) == 0);
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
import (PyObject *function, PyObject *object)
{
  PyObject *tensor = PyObject_CallOneArg (function, object);

  check (tensor != NULL);
  Py_DECREF (tensor);
}

static void
lend_ours (gpointer data)
{
  lend (((Exchange *) data)->ours, ((Exchange *) data)->tensor);
}

static void
lend_theirs (gpointer data)
{
  lend (((Exchange *) data)->theirs, ((Exchange *) data)->other);
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
ours_to_ours (gpointer data)
{
  give_and_take (((Exchange *) data)->ours, ((Exchange *) data)->tensor, ((Exchange *) data)->ours);
}

static void
theirs_to_ours (gpointer data)
{
  give_and_take (((Exchange *) data)->theirs, ((Exchange *) data)->other, ((Exchange *) data)->ours);
}

static void
theirs_to_theirs (gpointer data)
{
  give_and_take (((Exchange *) data)->theirs, ((Exchange *) data)->other, ((Exchange *) data)->theirs);
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
import_by_table (gpointer data)
{
  import (((Exchange *) data)->import, ((Exchange *) data)->other);
}

static void
import_capsule (Exchange *exchange, PyObject *object)
{
  PyObject *args[] = { object, exchange->version };
  PyObject *capsule = PyObject_VectorcallMethod (exchange->str_dlpack, args, 1, exchange->names);

  check (capsule != NULL);
  import (exchange->import, capsule);
  Py_DECREF (capsule);
}

static void
import_by_dlpack (gpointer data)
{
  import_capsule (data, ((Exchange *) data)->other);
}

static void
import_by_numpy_dlpack (gpointer data)
{
  import_capsule (data, ((Exchange *) data)->array);
}

static void
numpy_import (gpointer data)
{
  import (((Exchange *) data)->numpy_import, ((Exchange *) data)->array);
}

static void
their_import (gpointer data)
{
  import (((Exchange *) data)->their_import, ((Exchange *) data)->array);
}

static PyObject *
run (PyObject *module, PyObject *args)
{
  Exchange exchange = { 0, };

  if (!PyArg_ParseTuple (args, "OOOOOO", &exchange.tensor, &exchange.array, &exchange.other, &exchange.import,
                         &exchange.numpy_import, &exchange.their_import))
    return NULL;
  exchange.ours = get_table (exchange.tensor);
  exchange.str_dlpack = PyUnicode_InternFromString ("__dlpack__");
  exchange.names = Py_BuildValue ("(s)", "max_version");
  exchange.version = Py_BuildValue ("(ii)", 1, 1);

  bench_noise ();
  bench_ratio ("lend / numpy __dlpack__()", ROUNDS, lend_ours, dlpack_numpy, &exchange);
  bench_ratio ("give / numpy __dlpack__()", ROUNDS, give_ours, dlpack_numpy, &exchange);
  bench_ratio ("give and take / numpy from_dlpack()", ROUNDS, ours_to_ours, numpy_import, &exchange);
  bench_ratio ("ours by __dlpack__() / numpy __dlpack__()", ROUNDS, dlpack_ours, dlpack_numpy, &exchange);
  if (exchange.other != Py_None)
    {
      exchange.theirs = get_table (exchange.other);
      bench_ratio ("lend / tvm-ffi __dlpack__()", ROUNDS, lend_ours, dlpack_theirs, &exchange);
      bench_ratio ("give / tvm-ffi __dlpack__()", ROUNDS, give_ours, dlpack_theirs, &exchange);
      if (exchange.theirs->dltensor_from_py_object_no_sync != NULL)
        bench_ratio ("lend / tvm-ffi's table, lending", ROUNDS, lend_ours, lend_theirs, &exchange);
      bench_ratio ("give / tvm-ffi's table, giving", ROUNDS, give_ours, give_theirs, &exchange);
      bench_ratio ("give and take / tvm-ffi's table", ROUNDS, ours_to_ours, theirs_to_theirs, &exchange);
      bench_ratio ("take from tvm-ffi's table / numpy from_dlpack()", ROUNDS, theirs_to_ours, numpy_import, &exchange);
      bench_ratio ("take from tvm-ffi's table / tvm-ffi from_dlpack()", ROUNDS, theirs_to_ours, their_import, &exchange);
      bench_ratio ("import by tvm-ffi's table / by its __dlpack__()", ROUNDS, import_by_table, import_by_dlpack, &exchange);
      bench_ratio ("import by tvm-ffi's table / by numpy's __dlpack__()", ROUNDS, import_by_table, import_by_numpy_dlpack,
                   &exchange);
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
