/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the groups of reads and of maps share. */

#pragma once

#include "_native.h"

typedef struct
{
  PyObject_HEAD
  PyObject *weakrefs;
  gpointer group; /* (owned) (nullable) an OvstageReadGroup or OvstageMapGroup; none: released */
  gboolean from_iterator;
} PyovsGroup;

/* Lent. NULL with a Python error: it was released. */
gpointer pyovs_group_get (PyovsGroup *self);
/* The same, with an index below @n. Taking the index may run any code. */
gpointer pyovs_group_get_at (PyovsGroup *self, PyObject *object, guint32 n, guint32 *i);
/* Warns, if it is to be released. */
void pyovs_group_finalize (PyObject *object);
/* FALSE: it lives on. */
gboolean pyovs_group_begin_dealloc (PyovsGroup *self);
/* What dlpack() is given. @read_only: (inout) */
gboolean pyovs_group_parse_dlpack (PyObject *const *args, Py_ssize_t n_args, PyObject *names, PyObject **index, int *read_only);

/* The next group: NULL with a Python error, or at the end. */
typedef PyObject *(*PyovsFetch) (PyovsOperation *self, gint64 timeout, gboolean from_iterator);

PyObject *pyovs_fetch_next (PyovsOperation *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names, PyovsFetch fetch);
/* For iterators; None at the end. */
PyObject *pyovs_next_group (PyovsOperation *self, PyovsFetch fetch);

/* Each of these comes once for read_group and once for map_group, which have functions of the same names. */

#define PYOVS_GROUP_GETTER(noun, name, make) \
  static PyObject * \
  noun##_get_##name (PyovsGroup *self, void *closure) \
  { \
    gpointer group = pyovs_group_get (self); \
\
    return group != NULL ? (make) : NULL; \
  }

/* @dup: gives NULL for no rows. */
#define PYOVS_GROUP_ROWS_GETTER(noun, name, dup) \
  static PyObject * \
  noun##_get_##name (PyovsGroup *self, void *closure) \
  { \
    gpointer group = pyovs_group_get (self); \
    guint32 *values; \
    gsize n = 0; \
\
    if (group == NULL) \
      return NULL; \
    values = dup (group, &n); \
    return pyovs_numpy_take_uint32 (values != NULL ? values : g_new (guint32, 1), n); \
  }

#define PYOVS_GROUP_FUNCTIONS(noun) \
  PYOVS_GROUP_GETTER (noun, attribute, PyLong_FromUnsignedLongLong (ovstage_##noun##_get_attribute (group))) \
  PYOVS_GROUP_GETTER (noun, ordinal, PyLong_FromUnsignedLongLong (ovstage_##noun##_get_ordinal (group))) \
  PYOVS_GROUP_GETTER (noun, is_array, PyBool_FromLong (ovstage_##noun##_is_array (group))) \
  PYOVS_GROUP_GETTER (noun, semantic, PyObject_CallFunction (pyovs.semantic, "i", (int) ovstage_##noun##_get_semantic (group))) \
  PYOVS_GROUP_GETTER (noun, data_type, \
                      PyObject_CallFunction (pyovs.data_type, "iii", ovstage_##noun##_get_data_type (group)->code, \
                                             ovstage_##noun##_get_data_type (group)->bits, \
                                             ovstage_##noun##_get_data_type (group)->lanes)) \
  PYOVS_GROUP_GETTER (noun, prim_list, pyovs_path_list_new (ovstage_path_list_ref (ovstage_##noun##_get_path_list (group)))) \
  PYOVS_GROUP_GETTER (noun, prim_offset, PyLong_FromUnsignedLong (ovstage_##noun##_get_prim_offset (group))) \
  PYOVS_GROUP_GETTER (noun, prim_count, PyLong_FromUnsignedLong (ovstage_##noun##_get_prim_count (group))) \
  PYOVS_GROUP_GETTER (noun, has_prim_index_map, PyBool_FromLong (ovstage_##noun##_has_prim_index_map (group))) \
  PYOVS_GROUP_GETTER (noun, tensor_count, PyLong_FromUnsignedLong (ovstage_##noun##_get_n_tensors (group))) \
  PYOVS_GROUP_GETTER (noun, meta, \
                      PyObject_CallFunction (pyovs.group_meta, "KK", \
                                             (unsigned long long) ovstage_##noun##_get_write_floor (group), \
                                             (unsigned long long) ovstage_##noun##_get_layout_generation (group))) \
  PYOVS_GROUP_ROWS_GETTER (noun, prim_indices, ovstage_##noun##_dup_prim_indices) \
\
  static PyObject * \
  noun##_prim_index (PyovsGroup *self, PyObject *object) \
  { \
    gpointer group = pyovs_group_get (self); \
    guint32 i; \
\
    if (group != NULL) \
      group = pyovs_group_get_at (self, object, ovstage_##noun##_get_prim_count (group), &i); \
    return group != NULL ? PyLong_FromUnsignedLong (ovstage_##noun##_prim_index (group, i)) : NULL; \
  }

#define PYOVS_GROUP_GETSET(noun, name, doc) { #name, (getter) noun##_get_##name, NULL, PyDoc_STR (doc), NULL }

#define PYOVS_GROUP_GETSETS(noun) \
  PYOVS_GROUP_GETSET (noun, attribute, "The attribute, as a token."), \
  PYOVS_GROUP_GETSET (noun, is_array, "Whether every prim has an array of its own."), \
  PYOVS_GROUP_GETSET (noun, semantic, "What the values mean: an AttributeSemantic."), \
  PYOVS_GROUP_GETSET (noun, data_type, "The type of a row: a DLDataType with the tuple width as lanes."), \
  PYOVS_GROUP_GETSET (noun, prim_list, "The prims of the query, as a PathList."), \
  PYOVS_GROUP_GETSET (noun, prim_offset, "Where the prims of the group begin in prim_list, if there is no index map."), \
  PYOVS_GROUP_GETSET (noun, prim_count, "How many prims the group has."), \
  PYOVS_GROUP_GETSET (noun, has_prim_index_map, "Whether the prims of the group do not lie side by side in prim_list."), \
  PYOVS_GROUP_GETSET (noun, prim_indices, "The entries of prim_list that the prims are, as a read-only uint32 array."), \
  PYOVS_GROUP_GETSET (noun, tensor_count, "How many tensors the group has."), \
  PYOVS_GROUP_GETSET (noun, data_rows, "The rows of data of the prims, as a read-only uint32 array.")

#define PYOVS_GROUP_METHODS(noun) \
  { "prim_index", (PyCFunction) noun##_prim_index, METH_O, \
    PyDoc_STR ("prim_index($self, i, /)\n--\n\nThe entry of prim_list that prim i is, the offset included.\n\n" \
               "i: which prim, below prim_count; IndexError else.") }, \
  { "data_row_index", (PyCFunction) noun##_data_row_index, METH_O, \
    PyDoc_STR ("data_row_index($self, i, /)\n--\n\nThe row of data of prim i.\n\n" \
               "i: which prim, below prim_count; IndexError else.") }, \
  { "tensor", (PyCFunction) noun##_tensor, METH_O, \
    PyDoc_STR ("tensor($self, i, /)\n--\n\nTensor i as a DLTensor, with the tuple width as lanes: shape (rows,).\n\n" \
               "i: which tensor, below tensor_count; IndexError else.") }, \
  { "__enter__", pyovs_handle_enter, METH_NOARGS, NULL }, \
  { "__exit__", (PyCFunction) noun##_exit, METH_VARARGS, NULL }
