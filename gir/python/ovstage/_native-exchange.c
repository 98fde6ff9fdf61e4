/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* DLPack out: the structs of capsules and of the C exchange table that our tensor type carries; and the tables that
 * the types of others carry. The structs hold the tensor, not the Python object, so that their deleters need no GIL. */

#include "config.h"

#include "_native.h"

#include <stdlib.h>

/* What we know of DLPack, and what the structs we give away keep to. */
#define API_MAJOR 1
#define API_MINOR 3
#define STRUCT_MINOR 1

/* Out */

typedef struct
{
  union
  {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
  } managed;
  gint refs;             /* (atomic) of whom it was given to, and of the Python object that keeps it for the next one */
  OvstageTensor *tensor; /* (owned) (nullable) none: the elements are in @copy */
  gpointer copy;         /* (owned) (nullable) */
  int64_t dims[];
} Export;

void
pyovs_export_unref (gpointer data)
{
  Export *export = data;

  if (!g_atomic_int_dec_and_test (&export->refs))
    return;
  g_clear_pointer (&export->tensor, ovstage_tensor_unref);
  free (export->copy);
  g_free (export);
}

static void
delete_versioned (DLManagedTensorVersioned *managed)
{
  pyovs_export_unref (managed->manager_ctx);
}

static void
delete_legacy (DLManagedTensor *managed)
{
  pyovs_export_unref (managed->manager_ctx);
}

static void
drop_versioned_capsule (PyObject *capsule)
{
  if (PyCapsule_IsValid (capsule, "dltensor_versioned"))
    PYOVS_KEEPING_ERROR (delete_versioned (PyCapsule_GetPointer (capsule, "dltensor_versioned")));
}

static void
drop_legacy_capsule (PyObject *capsule)
{
  if (PyCapsule_IsValid (capsule, "dltensor"))
    PYOVS_KEEPING_ERROR (delete_legacy (PyCapsule_GetPointer (capsule, "dltensor")));
}

/* Asking the library again and again would take longer than all the rest. */
static const DLTensor *
get_view (PyovsTensor *self)
{
  const OvstageDataType *dtype;
  gsize n_dims;

  if (G_LIKELY (self->view.shape != NULL))
    return &self->view;

  dtype = ovstage_tensor_get_data_type (self->tensor);
  self->view.data = ovstage_tensor_get_data (self->tensor);
  self->view.device.device_type = (DLDeviceType) ovstage_tensor_get_device_type (self->tensor);
  self->view.device.device_id = ovstage_tensor_get_device_id (self->tensor);
  self->view.dtype.code = dtype->code;
  self->view.dtype.bits = dtype->bits;
  self->view.dtype.lanes = 1;
  self->view.shape = (int64_t *) ovstage_tensor_get_shape (self->tensor, &n_dims);
  self->view.strides = (int64_t *) ovstage_tensor_get_strides (self->tensor, NULL);
  self->view.ndim = n_dims;
  if (n_dims == 0 || dtype->lanes != 1)
    {
      self->axes = g_new (gint64, 2 * (n_dims + 1));
      self->view.shape = (int64_t *) self->axes;
      self->view.strides = (int64_t *) self->axes + n_dims + 1;
      self->view.ndim = pyovs_tensor_expand_lanes (self->tensor, self->axes, self->axes + n_dims + 1);
    }
  return &self->view;
}

/* Takes @copy: (nullable). */
static Export *
export_new (PyovsTensor *self, gpointer copy)
{
  Export *export = g_malloc (sizeof (Export) + 2 * get_view (self)->ndim * sizeof (int64_t));

  export->refs = 1;
  export->copy = copy;
  export->tensor = copy == NULL ? ovstage_tensor_ref (self->tensor) : NULL;
  if (copy == NULL && self->export == NULL)
    {
      self->export = export;
      export->refs = 2;
    }
  return export;
}

/* Takes @copy: the elements one after the other in CPU memory; NULL: @self's own are shown. */
static Export *
export_give (PyovsTensor *self, gpointer copy, gboolean versioned)
{
  const DLTensor *view = get_view (self);
  Export *export = self->export;
  DLTensor *out;
  int i;

  /* Where it is back nobody else knows of the one that is kept. Memory for each would take longer than all the rest. */
  if (copy == NULL && export != NULL && g_atomic_int_get (&export->refs) == 1)
    export->refs = 2;
  else
    export = export_new (self, copy);

  out = versioned ? &export->managed.versioned.dl_tensor : &export->managed.legacy.dl_tensor;
  *out = *view;
  out->shape = export->dims;
  out->strides = export->dims + view->ndim;
  for (i = 0; i < view->ndim; i++)
    {
      out->shape[i] = view->shape[i];
      out->strides[i] = view->strides[i];
    }
  if (copy != NULL)
    {
      int64_t step = 1;

      out->data = copy;
      out->device.device_type = kDLCPU;
      out->device.device_id = 0;
      for (i = out->ndim - 1; i >= 0; i--)
        {
          out->strides[i] = step;
          step *= out->shape[i];
        }
    }
  return export;
}

/* Elements below a byte that take one each; only DLPack's own struct tells. */
static gboolean
is_padded (OvstageTensor *tensor)
{
  DLManagedTensorVersioned *managed = ovstage_tensor_dup_dlpack (tensor);
  gboolean padded = (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;

  managed->deleter (managed);
  return padded;
}

static DLManagedTensorVersioned *
export_versioned (PyovsTensor *self, gpointer copy, guint32 minor)
{
  Export *export = export_give (self, copy, TRUE);
  DLManagedTensorVersioned *managed = &export->managed.versioned;

  managed->version.major = API_MAJOR;
  managed->version.minor = MIN (minor, STRUCT_MINOR);
  managed->manager_ctx = export;
  managed->deleter = delete_versioned;
  managed->flags = copy != NULL ? DLPACK_FLAG_BITMASK_IS_COPIED : self->read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  if (G_UNLIKELY (managed->dl_tensor.dtype.bits % 8 != 0) && is_padded (self->tensor))
    managed->flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  return managed;
}

PyObject *
pyovs_tensor_to_capsule (PyovsTensor *self, gpointer copy, gint64 minor)
{
  PyObject *capsule;
  Export *export;

  if (minor >= 0)
    {
      DLManagedTensorVersioned *managed = export_versioned (self, copy, MIN (minor, STRUCT_MINOR));

      export = managed->manager_ctx;
      capsule = PyCapsule_New (managed, "dltensor_versioned", drop_versioned_capsule);
    }
  else
    {
      export = export_give (self, copy, FALSE);
      export->managed.legacy.manager_ctx = export;
      export->managed.legacy.deleter = delete_legacy;
      capsule = PyCapsule_New (&export->managed.legacy, "dltensor", drop_legacy_capsule);
    }
  if (capsule == NULL)
    pyovs_export_unref (export);
  return capsule;
}

/* Our table */

static gboolean
check_tensor (PyObject *object)
{
  if (G_LIKELY (Py_IS_TYPE (object, &pyovs_managed_tensor_type)) || PyObject_TypeCheck (object, &pyovs_tensor_type))
    return TRUE;
  PyErr_Format (PyExc_TypeError, "a tensor of ovstage is needed, not %s", Py_TYPE (object)->tp_name);
  return FALSE;
}

/* Needs neither Python nor the GIL. */
static int
allocate (DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
          void (*set_error) (void *error_ctx, const char *kind, const char *message))
{
  const OvstageDataType dtype = { prototype->dtype.code, prototype->dtype.bits, prototype->dtype.lanes };
  const gint64 *shape = (const gint64 *) prototype->shape;
  gpointer memory = NULL;
  OvstageTensor *tensor;
  GError *error = NULL;
  gsize n_bytes;

  *out = NULL;
  if (prototype->device.device_type != kDLCPU)
    {
      char text[80];

      g_snprintf (text, sizeof text, "device: memory of device type %d cannot be allocated, only the CPU's",
                  (int) prototype->device.device_type);
      set_error (error_ctx, "ValueError", text);
      return -1;
    }
  if (prototype->ndim < 0 || (prototype->ndim > 0 && shape == NULL))
    {
      set_error (error_ctx, "ValueError", "ndim, shape: as many extents as axes are needed");
      return -1;
    }

  /* The first is for the checks alone: its memory is never looked at. */
  tensor = ovstage_tensor_new_take (prototype, kDLCPU, 0, &dtype, shape, prototype->ndim, NULL, NULL, NULL, &error);
  if (tensor != NULL)
    {
      gboolean fits = pyovs_tensor_n_bytes (tensor, &n_bytes);

      ovstage_tensor_unref (tensor);
      if (!fits || n_bytes > G_MAXSSIZE || posix_memalign (&memory, PYOVS_ALIGNMENT, MAX (n_bytes, 1)) != 0)
        {
          set_error (error_ctx, "MemoryError", "there is not so much memory");
          return -1;
        }
      tensor = ovstage_tensor_new_take (memory, kDLCPU, 0, &dtype, shape, prototype->ndim, NULL, free, memory, &error);
    }
  if (tensor == NULL)
    {
      set_error (error_ctx, "ValueError", error->message);
      g_error_free (error);
      return -1;
    }
  *out = ovstage_tensor_dup_dlpack (tensor);
  ovstage_tensor_unref (tensor);
  return 0;
}

static int
give_managed (void *object, DLManagedTensorVersioned **out)
{
  *out = NULL;
  if (!check_tensor (object))
    return -1;
  *out = export_versioned (object, NULL, STRUCT_MINOR);
  return 0;
}

/* Takes @managed, unless it fails: whoever calls lets go of it then, as the consumers that are known do. */
static int
take_managed (DLManagedTensorVersioned *managed, void **out)
{
  void (*deleter) (DLManagedTensorVersioned *);
  OvstageTensor *tensor;
  GError *error = NULL;

  *out = NULL;
  if (managed->version.major > API_MAJOR)
    {
      PyErr_Format (PyExc_BufferError, "a tensor of DLPack %u.%u, at most 1.x is known", (unsigned int) managed->version.major,
                    (unsigned int) managed->version.minor);
      return -1;
    }
  deleter = managed->deleter;
  managed->deleter = NULL;
  tensor = ovstage_tensor_new_take_dlpack (managed, &error);
  if (tensor == NULL)
    {
      managed->deleter = deleter;
      PyErr_SetString (PyExc_BufferError, error->message);
      g_error_free (error);
      return -1;
    }
  *out = pyovs_tensor_new (&pyovs_managed_tensor_type, tensor, ovstage_tensor_is_read_only (tensor));
  managed->deleter = deleter;
  return *out != NULL ? 0 : -1;
}

static int
lend (void *object, DLTensor *out)
{
  if (!check_tensor (object))
    return -1;
  *out = *get_view (object);
  return 0;
}

static int
get_work_stream (DLDeviceType device_type, int32_t device_id, void **out)
{
  *out = NULL;
  if (device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLROCMHost)
    return 0;
  PyErr_Format (PyExc_BufferError, "ovstage does no work on device (%d, %d)", (int) device_type, (int) device_id);
  return -1;
}

static DLPackExchangeAPI our_table = {
  .header = { { API_MAJOR, API_MINOR }, NULL },
  .managed_tensor_allocator = allocate,
  .managed_tensor_from_py_object_no_sync = give_managed,
  .managed_tensor_to_py_object_no_sync = take_managed,
  .dltensor_from_py_object_no_sync = lend,
  .current_work_stream = get_work_stream,
};

gboolean
pyovs_exchange_init (PyTypeObject *type)
{
  PyObject *capsule = PyCapsule_New (&our_table, "dlpack_exchange_api", NULL);
  PyObject *number = PyLong_FromVoidPtr (&our_table);
  PyObject *dict = PyDict_New ();
  gboolean fine = capsule != NULL && number != NULL && dict != NULL &&
                  PyDict_SetItem (dict, pyovs.str_exchange, capsule) == 0 &&
                  PyDict_SetItem (dict, pyovs.str_exchange_rfc, number) == 0;

  Py_XDECREF (capsule);
  Py_XDECREF (number);
  type->tp_dict = dict;
  return fine;
}

/* The tables of others */

/* A chain of tables is short; one without an end is not followed for ever. */
#define MAX_CHAIN 16

static const DLPackExchangeAPI *
choose_table (const DLPackExchangeAPIHeader *header)
{
  int i;

  for (i = 0; header != NULL && i < MAX_CHAIN; i++, header = header->prev_api)
    if (header->version.major == API_MAJOR)
      {
        const DLPackExchangeAPI *table = (const DLPackExchangeAPI *) header;

        return table->managed_tensor_from_py_object_no_sync != NULL ? table : NULL;
      }
  return NULL;
}

/* FALSE: a Python error. What is not a table is none; a number that no table can be at is none, either. */
static gboolean
look_table_up (PyTypeObject *type, PyObject *name, const DLPackExchangeAPI **table)
{
  PyObject *object = PyObject_GetAttr ((PyObject *) type, name);
  gpointer pointer = NULL;

  if (object == NULL)
    {
      if (!PyErr_ExceptionMatches (PyExc_AttributeError))
        return FALSE;
      PyErr_Clear ();
      return TRUE;
    }
  if (PyCapsule_IsValid (object, "dlpack_exchange_api"))
    pointer = PyCapsule_GetPointer (object, "dlpack_exchange_api");
  else if (PyLong_Check (object))
    pointer = PyLong_AsVoidPtr (object);
  PyErr_Clear ();
  Py_DECREF (object);
  if (GPOINTER_TO_SIZE (pointer) % G_ALIGNOF (DLPackExchangeAPIHeader) == 0)
    *table = choose_table (pointer);
  return TRUE;
}

/* A tag is given to a type once, as long as neither it nor its bases change, and never again to another type. */
static unsigned int
get_type_tag (PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
  if (!PyType_HasFeature (type, Py_TPFLAGS_VALID_VERSION_TAG))
    return 0;
#endif
  return type->tp_version_tag;
}

gboolean
pyovs_exchange_find (PyTypeObject *type, const DLPackExchangeAPI **table)
{
  static struct
  {
    PyTypeObject *type; /* compared only, it may be gone */
    unsigned int tag;
    const DLPackExchangeAPI *table; /* (nullable) */
  } known[64];
  gsize i = GPOINTER_TO_SIZE (type) / 32 % G_N_ELEMENTS (known);
  unsigned int tag = get_type_tag (type);

  if (known[i].type == type && known[i].tag == tag && tag != 0)
    {
      *table = known[i].table;
      return TRUE;
    }
  *table = NULL;
  if (!look_table_up (type, pyovs.str_exchange, table) ||
      (*table == NULL && !look_table_up (type, pyovs.str_exchange_rfc, table)))
    return FALSE;
  known[i].type = type;
  known[i].tag = get_type_tag (type);
  known[i].table = *table;
  return TRUE;
}
