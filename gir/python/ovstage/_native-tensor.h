/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Tensors, for the files that make them of arrays and arrays of them. */

#pragma once

#include "_native.h"

/* The most axes of a tensor, and one for the lanes. */
#define PYOVS_MAX_DIMS 65

gboolean pyovs_is_compact (int n_dims, const gint64 *shape, const gint64 *strides);
gboolean pyovs_tensor_is_on_cpu (OvstageTensor *tensor);

/* In. */

/* Like pyovs_tensor_import(); what the library refuses is raised, too. */
OvstageTensor *pyovs_tensor_import_or_raise (PyObject *object, PyObject *stream, gboolean *read_only);
/* Takes @view in every case. */
OvstageTensor *pyovs_import_view (Py_buffer *view, const char *what, PyovsImport how, gboolean *read_only, PyovsRefusal *refusal);
/* FALSE: the array is of another sort, for which there are other ways. */
gboolean pyovs_import_array_struct (PyObject *object, OvstageTensor **tensor, gboolean *read_only, PyovsRefusal *refusal);
/* FALSE with a Python error. What is not there is NULL, as hasattr() would have it. */
gboolean pyovs_get_optional (PyObject *object, PyObject *name, PyObject **value);

/* Out. */

extern PyBufferProcs pyovs_tensor_as_buffer;

/* A getter. */
PyObject *pyovs_tensor_get_array_interface (PyovsTensor *self, void *closure);
/* One after the other, for free(). NULL with a Python error. */
gpointer pyovs_tensor_copy_elements (PyovsTensor *self);
