/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Stage, for the files with its methods. */

#pragma once

#include "_native.h"

typedef struct
{
  guint64 first;
  guint64 last;
} PyovsIdRun;

struct _PyovsStage
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstageStage *stage; /* (owned) (nullable) none: destroyed */
  OvstagePathDictionary *dictionary; /* (nullable) of the stage */
  PyObject *name; /* (owned) (nullable) */
  PyovsStage *previous, *next; /* (nullable) the open stages */
  guint64 serial;
  gsize unsealed; /* bytes written since the last advance: large ones make it worth giving the GIL away */

  /* What wait_op() knows. An id that is in none of these, and not above last_id, ended well. */
  guint64 last_id;
  GPtrArray *pending; /* (owned) (element-type OvstageOperation) by rising id */
  guint sweep_at;     /* so many pending ones are looked through */
  GArray *released;   /* (owned) (element-type PyovsIdRun) by rising id, apart from one another */
  GArray *failures;   /* (owned) (element-type guint64) in the order they were seen */
  guint64 n_forgotten; /* failures that are no longer in the array */
};

/* Operations by their ids. */

/* Takes those that are done out of the pending ones. */
void pyovs_stage_sweep_pending (PyovsStage *self);
/* Takes @op, and notes it for wait_op(). */
PyObject *pyovs_stage_new_operation (PyovsStage *self, PyTypeObject *type, gpointer op);

/* Arguments of requests. FALSE with a Python error; what cannot be done makes the request refused. */

#define PYOVS_TOKENS_INLINE 16

typedef struct
{
  gsize n;
  OvstageToken *tokens;
  OvstageToken space[PYOVS_TOKENS_INLINE];
} PyovsTokens;

gboolean pyovs_check_query (PyObject *object, PyovsRefusal *refusal);
gboolean pyovs_check_placement (PyObject *object, PyovsRefusal *refusal);
gboolean pyovs_stage_as_attribute (PyovsStage *self, PyObject *object, PyovsRefusal *refusal, OvstageToken *token);
/* @tokens: to be cleared in every case. */
gboolean pyovs_stage_as_attributes (PyovsStage *self, PyObject *object, PyovsRefusal *refusal, PyovsTokens *tokens);
void pyovs_tokens_clear (PyovsTokens *tokens);
/* FALSE with a refusal. */
gboolean pyovs_stage_check_open (PyovsStage *self, PyovsRefusal *refusal);

/* Methods. */

PyObject *pyovs_stage_write_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_write_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_delete_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_advance_write_floor (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_clone (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_clone_async (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_read_attributes (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_watch (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_map_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_unmap_group (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_unmap_attribute (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_query (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_query_from_path_list (PyovsStage *self, PyObject *object);
PyObject *pyovs_stage_wait_op (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names);
PyObject *pyovs_stage_release_op (PyovsStage *self, PyObject *object);
