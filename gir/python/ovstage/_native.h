/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The C part of the Python package: stage, operations, reads and tensors over the
 * public C API, without PyGObject. Everything here is protected by the GIL,
 * unless a comment says otherwise. */

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ovstage/ovstage-dlpack.h>
#include <ovstage/ovstage.h>

#define PYOVS_METHOD(function) ((PyCFunction) (void (*) (void)) (function))

/* How long a wait may keep Python from looking at signals. */
#define PYOVS_SLICE (50 * G_GINT64_CONSTANT (1000000))

/* Of memory that is made here, as of the library's own. */
#define PYOVS_ALIGNMENT 256

/* From this many bytes on a call gives the GIL away. With OVSTAGE_DEBUG=unlock it always does. */
extern gsize pyovs_large;
#define PYOVS_LARGE pyovs_large

/* Python objects that C code needs; borrowed from the package's modules for ever. */
typedef struct
{
  PyObject *error;     /* OvstageError */
  PyObject *ovx_error; /* OvxError */
  PyObject *error_code;
  PyObject *semantic;
  PyObject *data_type;
  PyObject *device;
  PyObject *placement;
  PyObject *write_desc;
  PyObject *group_meta;
  PyObject *async_wait;
  PyObject *group_iterator;
  PyObject *next_changes;
  PyObject *status_ok;

  PyObject *str_dlpack;
  PyObject *str_dlpack_device;
  PyObject *str_exchange;     /* "__dlpack_c_exchange_api__" */
  PyObject *str_exchange_rfc; /* "__c_dlpack_exchange_api__", as it was called first */
  PyObject *str_array_struct;
  PyObject *max_version;      /* (1, 1) */
  PyObject *names_version;    /* ("max_version",) */
  PyObject *names_stream;     /* ("stream",) */
  PyObject *names_both;       /* ("max_version", "stream") */
} PyovsModule;

extern PyovsModule pyovs;

/* A request that is refused before it reaches the library, told by wait() like all others. */
typedef struct
{
  int code; /* 0: none */
  char *message; /* (owned) */
} PyovsRefusal;

void pyovs_refuse (PyovsRefusal *refusal, int code, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* Takes @error. */
void pyovs_refuse_gerror (PyovsRefusal *refusal, GError *error);

/* The GIL for functions that any thread may call. FALSE once the interpreter is gone: leave Python alone. */
gboolean pyovs_gil_begin (PyGILState_STATE *state);
void pyovs_gil_end (PyGILState_STATE state);
/* Whether the interpreter is about to go. */
gboolean pyovs_is_drained (void);

/* What lets memory go may call the deleters of others, who must not meet a Python error that is set. */
#define PYOVS_KEEPING_ERROR(statement) \
  G_STMT_START \
    { \
      PyObject *error_type_, *error_value_, *error_traceback_; \
\
      PyErr_Fetch (&error_type_, &error_value_, &error_traceback_); \
      statement; \
      PyErr_Restore (error_type_, error_value_, error_traceback_); \
    } \
  G_STMT_END

/* Errors. All give NULL. */
PyObject *pyovs_raise (PyObject *type, int code, const char *message);
PyObject *pyovs_raise_gerror (PyObject *type, GError *error); /* takes @error */
int pyovs_error_code (const GError *error);
const char *pyovs_error_text (const GError *error);

/* Arguments. */
#define PYOVS_MAX_ARGS 16

typedef struct
{
  const char *function;
  int n_positional; /* so many may be given by position */
  int n_required;   /* so many of these must be given */
  const char *names[PYOVS_MAX_ARGS + 1];
  guint required; /* bits of further ones that must be given */
  PyObject *interned[PYOVS_MAX_ARGS];
} PyovsSignature;

/* @values has room for every name; those not given become NULL. Borrowed. */
gboolean pyovs_parse (PyovsSignature *signature, PyObject *const *args, Py_ssize_t n_args, PyObject *names, PyObject **values);
/* For tp_init and its like. */
gboolean pyovs_parse_dict (PyovsSignature *signature, PyObject *args, PyObject *kwargs, PyObject **values);

/* A method of one argument, which may be given by name. */
#define PYOVS_METHOD_1(prefix, name, argument) \
  static PyObject * \
  prefix##_##name##_named (PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names) \
  { \
    static PyovsSignature signature = { .function = #name, .n_positional = 1, .n_required = 1, .names = { #argument } }; \
    PyObject *values[1]; \
\
    return pyovs_parse (&signature, args, n_args, names, values) ? prefix##_##name ((gpointer) self, values[0]) : NULL; \
  }

#define PYOVS_METHOD_1_DEF(name, method, doc) \
  { name, PYOVS_METHOD (method##_named), METH_FASTCALL | METH_KEYWORDS, PyDoc_STR (doc) }

/* A text without NUL, lent by @object. NULL with a Python error or a refusal. */
const char *pyovs_as_text (PyObject *object, const char *name, PyovsRefusal *refusal);
gboolean pyovs_as_uint (PyObject *object, const char *name, guint64 max, guint64 *value);
gboolean pyovs_as_timeout (PyObject *object, gint64 *timeout);
/* The argument dtype: a DLDataType, its text, or a dtype of numpy. */
gboolean pyovs_as_data_type (PyObject *object, OvstageDataType *dtype);
gboolean pyovs_as_index (PyObject *object, const char *name, guint64 n, guint32 *value);

/* Tensors. */
typedef struct
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstageTensor *tensor; /* (owned) */
  gboolean read_only;
  Py_ssize_t *dims; /* (owned) (nullable) shape and strides of exported buffers, made on first use */
  DLTensor view;    /* as others see it: lanes are an axis. Made on first use; without a shape it is not made yet */
  gint64 *axes;     /* (owned) (nullable) of @view, where the tensor itself has other ones */
  gpointer export;  /* (owned) (nullable) a managed tensor, which is given again once it is back */
} PyovsTensor;

extern PyTypeObject pyovs_tensor_type;
extern PyTypeObject pyovs_managed_tensor_type;

typedef enum
{
  PYOVS_IMPORT_ALIAS,
  PYOVS_IMPORT_MAY_COPY, /* where the memory cannot be described by a tensor */
} PyovsImport;

typedef struct
{
  gboolean read_only;
  gboolean takes_stream; /* (in) whoever imports waits for @work_stream */
  guint64 work_stream;   /* (inout) 0: none. The stream of the producer that its data is ordered on */
} PyovsSource;

/* A new reference to a tensor over the memory of @object. NULL with a Python error, or with a refusal.
 * @what names it in messages. @stream: (nullable) handed to a producer on a device; -1: the caller orders. */
OvstageTensor *pyovs_tensor_import (PyObject *object, const char *what, PyovsImport how, PyObject *stream, PyovsSource *source,
                                    PyovsRefusal *refusal);
/* Takes @tensor. */
PyObject *pyovs_tensor_new (PyTypeObject *type, OvstageTensor *tensor, gboolean read_only);
/* Keeps a Python error that is set. NULL is fine. */
void pyovs_tensor_unref (OvstageTensor *tensor);
gboolean pyovs_tensor_n_bytes (OvstageTensor *tensor, gsize *n_bytes);
/* A flat numpy view of the base elements. */
PyObject *pyovs_tensor_to_numpy (PyovsTensor *self);
/* A read-only numpy vector over @values, which is taken (g_free). */
PyObject *pyovs_numpy_take_uint32 (guint32 *values, gsize n);
/* Shape and strides with the lanes as an axis of their own; there is room for one more axis. Strides in elements of
 * one lane. Gives the number of axes. */
int pyovs_tensor_expand_lanes (OvstageTensor *tensor, gint64 *shape, gint64 *strides);
/* Takes @copy: (nullable), compact elements in CPU memory, for free(). @minor: of DLPack 1; -1: a legacy capsule. */
PyObject *pyovs_tensor_to_capsule (PyovsTensor *self, gpointer copy, gint64 minor);
/* Of a tensor. Needs no GIL. */
void pyovs_export_unref (gpointer export);
PyObject *pyovs_make_dltensor (PyObject *module, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_dltensor_to_numpy (PyObject *module, PyObject *object);

/* The C exchange table: of ours, before its type is ready, and that of another type. FALSE with a Python error. */
gboolean pyovs_exchange_init (PyTypeObject *type);
/* @table: (out) (nullable) of a version that is understood. */
gboolean pyovs_exchange_find (PyTypeObject *type, const DLPackExchangeAPI **table);

/* Index maps and masks. */
typedef struct
{
  const guint32 *values; /* into @view or @own */
  gsize n;
  guint32 *own; /* (owned) (nullable) */
  OvstageTensor *tensor; /* (owned) (nullable) */
} PyovsIndexMap;

typedef struct
{
  gboolean is_words;
  gsize n;        /* elements, or words */
  guint64 *own;   /* (owned) (nullable) the words of a bool mask */
  const guint64 *words;
  OvstageTensor *tensor; /* (owned) (nullable) */
} PyovsMask;

gboolean pyovs_index_map_init (PyovsIndexMap *map, PyObject *object);
void pyovs_index_map_clear (PyovsIndexMap *map);
gboolean pyovs_mask_init (PyovsMask *mask, PyObject *object);
void pyovs_mask_clear (PyovsMask *mask);

/* Operations. */
typedef struct
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstageOperation *op; /* (owned) (nullable) none: refused here, or released */
  int refused;          /* the code */
  char *message;        /* (owned) (nullable) */
  gboolean released;
  gboolean kept;        /* made by or for somebody who need not release it */
} PyovsOperation;

extern PyTypeObject pyovs_operation_type;
extern PyTypeObject pyovs_query_type;
extern PyTypeObject pyovs_read_type;
extern PyTypeObject pyovs_read_group_type;
extern PyTypeObject pyovs_group_iterator_type;

/* Takes @op. */
PyObject *pyovs_operation_new (PyTypeObject *type, gpointer op);
/* Takes what is in @refusal. */
PyObject *pyovs_operation_new_refused (PyTypeObject *type, PyovsRefusal *refusal);
/* The operation of a query for a request; NULL with a refusal. Lent. */
OvstageQuery *pyovs_query_get (PyovsOperation *self, PyovsRefusal *refusal);
/* Waits in slices without the GIL. -1: Python error, 0: timed out, 1: done. */
int pyovs_wait (OvstageOperation *op, gint64 timeout);
PyObject *pyovs_code (int code);
/* Waits and raises what the operation ended with. */
gboolean pyovs_operation_finish (PyovsOperation *self, gint64 timeout);
/* Slots that the classes of operations share; those that are to be released have a finalizer. */
void pyovs_operation_dealloc (PyovsOperation *self);
void pyovs_handle_finalize (PyObject *object);
PyObject *pyovs_operation_await (PyObject *self);
PyObject *pyovs_handle_release (PyovsOperation *self, PyObject *unused);
PyObject *pyovs_handle_enter (PyObject *self, PyObject *unused);
PyObject *pyovs_handle_exit (PyovsOperation *self, PyObject *args);
/* Takes @group. It is let go of without a warning when it is dropped. */
PyObject *pyovs_read_group_new (OvstageReadGroup *group);
PyObject *pyovs_read_group_release (PyObject *group, PyObject *unused);
void pyovs_warn_unreleased (PyObject *self);

/* Maps. */
typedef struct
{
  PyovsOperation operation;
  gpointer stage; /* the OvstageStage, to be compared only */
  GPtrArray *groups; /* (owned) (nullable) PyObject: of each group that was fetched, what was made of it */
} PyovsMap;

extern PyTypeObject pyovs_map_type;
extern PyTypeObject pyovs_map_group_type;

/* Commits a group, or with NULL the rest. NULL with a refusal. */
gpointer pyovs_map_commit (PyovsMap *self, PyObject *group, guint64 stream, guint64 event, PyovsRefusal *refusal);

/* Changes. */
typedef struct _PyovsChanges PyovsChanges;

extern PyTypeObject pyovs_changes_type;

/* @callback: (nullable). NULL with a Python error. */
PyObject *pyovs_changes_new (OvstageStage *stage, OvstageQuery *query, const OvstageToken *attributes, gsize n_attributes,
                             PyObject *callback);

/* Paths. */
typedef struct
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstagePathList *list; /* (owned) (nullable) none: destroyed */
  gsize refs;            /* what add_path_list_reference() and destroy_path_list() count */
  Py_hash_t hash;        /* of the list it was made with */
} PyovsPathList;

extern PyTypeObject pyovs_path_list_type;
extern PyTypeObject pyovs_path_dictionary_type;

/* Takes @list. */
PyObject *pyovs_path_list_new (OvstagePathList *list);

/* Stages. */
typedef struct _PyovsStage PyovsStage;

typedef struct
{
  PyObject_HEAD
  OvstageOrdinalRange range;
} PyovsOrdinalRange;

extern PyTypeObject pyovs_stage_type;
extern PyTypeObject pyovs_ordinal_range_type;

/* (nullable) lent */
OvstageStage *pyovs_stage_get (PyovsStage *self);
void pyovs_stage_close_all (void);

/* Completion callbacks. */
PyObject *pyovs_watch (OvstageOperation *op, PyObject *function, gboolean in_this_context);
/* In the package's own thread, where nothing is drained yet. */
void pyovs_watch_invoke (GSourceFunc func, gpointer user_data);
PyObject *pyovs_iterate (PyObject *module, PyObject *unused);
/* The thread-default main context as a capsule, and a call there from any thread. */
PyObject *pyovs_ref_context (PyObject *module, PyObject *unused);
PyObject *pyovs_invoke (PyObject *module, PyObject *args);
void pyovs_watch_stop (void);
