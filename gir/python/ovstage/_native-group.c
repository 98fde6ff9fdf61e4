/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the groups of reads and of maps share. */

#include "config.h"

#include "_native-group.h"

gpointer
pyovs_group_get (PyovsGroup *self)
{
  if (self->group == NULL)
    pyovs_raise (pyovs.error, OVSTAGE_ERROR_INVALID_HANDLE, "the group was released");
  return self->group;
}

gpointer
pyovs_group_get_at (PyovsGroup *self, PyObject *object, guint32 n, guint32 *i)
{
  /* __index__() may release it. */
  return pyovs_as_index (object, "i", n, i) ? pyovs_group_get (self) : NULL;
}

void
pyovs_group_finalize (PyObject *object)
{
  PyovsGroup *self = (PyovsGroup *) object;

  if (self->group == NULL || self->from_iterator)
    return;
  self->from_iterator = TRUE;
  pyovs_warn_unreleased (object);
}

gboolean
pyovs_group_begin_dealloc (PyovsGroup *self)
{
  if (self->group != NULL && !self->from_iterator && PyObject_CallFinalizerFromDealloc ((PyObject *) self) < 0)
    return FALSE;
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  return TRUE;
}

gboolean
pyovs_group_parse_dlpack (PyObject *const *args, Py_ssize_t n_args, PyObject *names, PyObject **index, int *read_only)
{
  static PyovsSignature signature = {
    .function = "dlpack", .n_positional = 1, .n_required = 1, .names = { "i", "readonly" }
  };
  PyObject *values[2];

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return FALSE;
  *index = values[0];
  if (values[1] != NULL)
    *read_only = PyObject_IsTrue (values[1]);
  return *read_only >= 0;
}

static PyObject *
none_at_end (PyObject *group)
{
  return group != NULL || PyErr_Occurred () ? group : Py_NewRef (Py_None);
}

PyObject *
pyovs_fetch_next (PyovsOperation *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names, PyovsFetch fetch)
{
  static PyovsSignature signature = {
    .function = "fetch_next", .n_positional = 1, .names = { "timeout" }
  };
  PyObject *values[1];
  gint64 timeout;

  if (!pyovs_parse (&signature, args, n_args, names, values) || !pyovs_as_timeout (values[0], &timeout))
    return NULL;
  return none_at_end (fetch (self, timeout, FALSE));
}

PyObject *
pyovs_next_group (PyovsOperation *self, PyovsFetch fetch)
{
  return none_at_end (fetch (self, OVSTAGE_TIMEOUT_INFINITE, TRUE));
}
