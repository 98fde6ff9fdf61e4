/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* OrdinalRange. */

#include "config.h"

#include "_native.h"

static PyObject *
range_new (PyTypeObject *type, OvstageOrdinalRange range)
{
  PyovsOrdinalRange *self = (PyovsOrdinalRange *) type->tp_alloc (type, 0);

  if (self != NULL)
    self->range = range;
  return (PyObject *) self;
}

static PyObject *
range_latest (PyTypeObject *type, PyObject *object)
{
  guint64 ordinal;

  return pyovs_as_uint (object, "ordinal", G_MAXUINT64, &ordinal) ? range_new (type, OVSTAGE_ORDINAL_RANGE_LATEST (ordinal)) : NULL;
}

static PyObject *
range_between (PyTypeObject *type, PyObject *const *args, Py_ssize_t n_args)
{
  guint64 start, end;

  if (n_args != 2)
    {
      PyErr_Format (PyExc_TypeError, "between() takes 2 positional arguments but %zd were given", n_args);
      return NULL;
    }
  if (!pyovs_as_uint (args[0], "start", G_MAXUINT64, &start) || !pyovs_as_uint (args[1], "end", G_MAXUINT64, &end))
    return NULL;
  return range_new (type, OVSTAGE_ORDINAL_RANGE_BETWEEN (start, end));
}

static PyObject *
range_newest (PyTypeObject *type, PyObject *unused)
{
  return range_new (type, OVSTAGE_ORDINAL_RANGE_LATEST (OVSTAGE_ORDINAL_NEWEST));
}

static PyObject *
range_get_end (PyovsOrdinalRange *self, void *closure)
{
  return PyLong_FromUnsignedLongLong (self->range.end_ordinal);
}

static PyObject *
range_get_start (PyovsOrdinalRange *self, void *closure)
{
  if (!self->range.has_start_ordinal)
    Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong (self->range.start_ordinal);
}

static gboolean
ranges_equal (const OvstageOrdinalRange *a, const OvstageOrdinalRange *b)
{
  return a->end_ordinal == b->end_ordinal && a->has_start_ordinal == b->has_start_ordinal && a->start_ordinal == b->start_ordinal;
}

static PyObject *
range_compare (PyObject *a, PyObject *b, int op)
{
  if (Py_TYPE (a) != &pyovs_ordinal_range_type || Py_TYPE (b) != &pyovs_ordinal_range_type || (op != Py_EQ && op != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong (ranges_equal (&((PyovsOrdinalRange *) a)->range, &((PyovsOrdinalRange *) b)->range) == (op == Py_EQ));
}

static Py_hash_t
range_hash (PyovsOrdinalRange *self)
{
  Py_hash_t hash = self->range.end_ordinal * 31 + self->range.start_ordinal * 2 + (self->range.has_start_ordinal ? 1 : 0);

  return hash == -1 ? -2 : hash;
}

static PyObject *
range_repr (PyovsOrdinalRange *self)
{
  if (self->range.has_start_ordinal)
    return PyUnicode_FromFormat ("OrdinalRange.between(%llu, %llu)", (unsigned long long) self->range.start_ordinal,
                                 (unsigned long long) self->range.end_ordinal);
  if (self->range.end_ordinal == OVSTAGE_ORDINAL_NEWEST)
    return PyUnicode_FromString ("OrdinalRange.newest()");
  return PyUnicode_FromFormat ("OrdinalRange.latest(%llu)", (unsigned long long) self->range.end_ordinal);
}

static PyMethodDef range_methods[] = {
  { "latest", (PyCFunction) range_latest, METH_O | METH_CLASS,
    PyDoc_STR ("latest($type, ordinal, /)\n--\n\n"
               "The values as of an ordinal.\n\n"
               "ordinal: at or below the write floor of the attributes; those that are not sealed so far are taken\n"
               "  as of their floor, unless something at or below the ordinal is still to be sealed.") },
  { "between", (PyCFunction) (void (*) (void)) range_between, METH_FASTCALL | METH_CLASS,
    PyDoc_STR ("between($type, start, end, /)\n--\n\n"
               "What changed from one ordinal to another, both included, with the values as of the latter.\n\n"
               "start: the first ordinal; one more than Read.as_of of the read before.\n"
               "end: the last one, not below start. ORDINAL_NEWEST for all that is sealed.\n\n"
               "What was deleted comes in groups with is_delete.") },
  { "newest", (PyCFunction) range_newest, METH_NOARGS | METH_CLASS,
    PyDoc_STR ("newest($type)\n--\n\n"
               "The values of each attribute as of its own write floor when the read runs.") },
  { NULL },
};

static PyGetSetDef range_getset[] = {
  { "start_ordinal", (getter) range_get_start, NULL, PyDoc_STR ("The first ordinal of a range of changes; None for a snapshot."), NULL },
  { "end_ordinal", (getter) range_get_end, NULL, PyDoc_STR ("The ordinal whose values are asked for."), NULL },
  { NULL },
};

PyTypeObject pyovs_ordinal_range_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.OrdinalRange",
  .tp_doc = PyDoc_STR ("What a read is about. Made by latest(), newest() and between()."),
  .tp_basicsize = sizeof (PyovsOrdinalRange),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_repr = (reprfunc) range_repr,
  .tp_hash = (hashfunc) range_hash,
  .tp_richcompare = range_compare,
  .tp_methods = range_methods,
  .tp_getset = range_getset,
};
