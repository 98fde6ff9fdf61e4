/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* PathDictionary and PathList. */

#include "config.h"

#include "_native.h"

/* PathList */

PyObject *
pyovs_path_list_new (OvstagePathList *list)
{
  PyovsPathList *self = (PyovsPathList *) pyovs_path_list_type.tp_alloc (&pyovs_path_list_type, 0);

  if (self == NULL)
    {
      ovstage_path_list_unref (list);
      return NULL;
    }
  self->list = list;
  self->refs = 1;
  self->hash = _Py_HashPointer (list);
  return (PyObject *) self;
}

static void
path_list_dealloc (PyovsPathList *self)
{
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  g_clear_pointer (&self->list, ovstage_path_list_unref);
  Py_TYPE (self)->tp_free (self);
}

/* The list behind an argument. NULL with an error. */
static PyovsPathList *
as_path_list (PyObject *object)
{
  PyovsPathList *self = (PyovsPathList *) object;

  if (!PyObject_TypeCheck (object, &pyovs_path_list_type))
    {
      PyErr_Format (PyExc_TypeError, "path_list: a PathList is needed, not %s", Py_TYPE (object)->tp_name);
      return NULL;
    }
  if (self->list == NULL)
    {
      pyovs_raise (pyovs.ovx_error, OVSTAGE_ERROR_INVALID_HANDLE, "path_list: the list was destroyed");
      return NULL;
    }
  return self;
}

static Py_ssize_t
path_list_length (PyObject *object)
{
  PyovsPathList *self = as_path_list (object);

  return self != NULL ? (Py_ssize_t) ovstage_path_list_get_length (self->list) : -1;
}

static PyObject *
path_list_item (PyObject *object, Py_ssize_t i)
{
  PyovsPathList *self = as_path_list (object);

  if (self == NULL)
    return NULL;
  if (i < 0 || (gsize) i >= ovstage_path_list_get_length (self->list))
    {
      PyErr_Format (PyExc_IndexError, "%zd is not below %zu", i, ovstage_path_list_get_length (self->list));
      return NULL;
    }
  return PyLong_FromUnsignedLongLong (ovstage_path_list_get_path (self->list, i));
}

static PyObject *
path_list_compare (PyObject *a, PyObject *b, int op)
{
  if (!PyObject_TypeCheck (a, &pyovs_path_list_type) || !PyObject_TypeCheck (b, &pyovs_path_list_type) ||
      (op != Py_EQ && op != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  /* Lists of equal paths are one list. */
  return PyBool_FromLong ((a == b || (((PyovsPathList *) a)->list != NULL &&
                                      ((PyovsPathList *) a)->list == ((PyovsPathList *) b)->list)) == (op == Py_EQ));
}

static Py_hash_t
path_list_hash (PyovsPathList *self)
{
  return self->hash;
}

static PyObject *
get_paths (OvstagePathList *list)
{
  gsize i, n = ovstage_path_list_get_length (list);
  PyObject *result = PyList_New (n);

  for (i = 0; result != NULL && i < n; i++)
    {
      PyObject *path = PyLong_FromUnsignedLongLong (ovstage_path_list_get_path (list, i));

      if (path == NULL)
        Py_CLEAR (result);
      else
        PyList_SET_ITEM (result, i, path);
    }
  return result;
}

static PyObject *
get_path_strings (OvstagePathList *list)
{
  gsize i, n = ovstage_path_list_get_length (list);
  PyObject *result = PyList_New (n);

  for (i = 0; result != NULL && i < n; i++)
    {
      char *text = ovstage_path_list_dup_path_string (list, i);
      PyObject *path = text != NULL ? PyUnicode_FromString (text) : PyErr_NoMemory ();

      g_free (text);
      if (path == NULL)
        Py_CLEAR (result);
      else
        PyList_SET_ITEM (result, i, path);
    }
  return result;
}

static PyObject *
path_list_paths (PyObject *object, PyObject *unused)
{
  PyovsPathList *self = as_path_list (object);

  return self != NULL ? get_paths (self->list) : NULL;
}

static PyObject *
path_list_strings (PyObject *object, PyObject *unused)
{
  PyovsPathList *self = as_path_list (object);

  return self != NULL ? get_path_strings (self->list) : NULL;
}

static PyObject *
path_list_repr (PyovsPathList *self)
{
  if (self->list == NULL)
    return PyUnicode_FromString ("<ovstage.PathList destroyed>");
  return PyUnicode_FromFormat ("<ovstage.PathList of %zu paths>", ovstage_path_list_get_length (self->list));
}

static PySequenceMethods path_list_as_sequence = {
  .sq_length = path_list_length,
  .sq_item = path_list_item,
};

static PyMethodDef path_list_methods[] = {
  { "paths", path_list_paths, METH_NOARGS,
    PyDoc_STR ("paths($self)\n--\n\n"
               "The ids of the paths, in order, as a list of int.") },
  { "strings", path_list_strings, METH_NOARGS,
    PyDoc_STR ("strings($self)\n--\n\n"
               "The texts of the paths, in order, as a list of str.") },
  { NULL },
};

PyTypeObject pyovs_path_list_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.PathList",
  .tp_doc = PyDoc_STR ("An immutable, ordered list of prim paths: a sequence of path ids.\n\n"
                       "Made by PathDictionary; queries and groups keep theirs alive."),
  .tp_basicsize = sizeof (PyovsPathList),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = (destructor) path_list_dealloc,
  .tp_repr = (reprfunc) path_list_repr,
  .tp_as_sequence = &path_list_as_sequence,
  .tp_richcompare = path_list_compare,
  .tp_hash = (hashfunc) path_list_hash,
  .tp_weaklistoffset = offsetof (PyovsPathList, weakrefs),
  .tp_methods = path_list_methods,
};

/* PathDictionary */

typedef struct
{
  PyObject_HEAD
  PyObject *weakrefs;
  OvstagePathDictionary *dictionary; /* (owned) (nullable) none: released */
} PyovsPathDictionary;

static int
dictionary_init (PyovsPathDictionary *self, PyObject *args, PyObject *kwargs)
{
  static PyovsSignature signature = {
    .function = "PathDictionary", .n_positional = 1, .n_required = 1, .names = { "stage" }
  };
  PyObject *values[1];
  OvstageStage *stage;

  if (!pyovs_parse_dict (&signature, args, kwargs, values))
    return -1;
  if (!PyObject_TypeCheck (values[0], &pyovs_stage_type))
    {
      PyErr_Format (PyExc_TypeError, "stage: a Stage is needed, not %s", Py_TYPE (values[0])->tp_name);
      return -1;
    }
  stage = pyovs_stage_get ((PyovsStage *) values[0]);
  if (stage == NULL)
    {
      pyovs_raise (pyovs.ovx_error, OVSTAGE_ERROR_INVALID_HANDLE, "stage: the stage was destroyed");
      return -1;
    }
  g_set_object (&self->dictionary, ovstage_stage_get_path_dictionary (stage));
  return 0;
}

static void
dictionary_dealloc (PyovsPathDictionary *self)
{
  if (self->weakrefs != NULL)
    PyObject_ClearWeakRefs ((PyObject *) self);
  g_clear_object (&self->dictionary);
  Py_TYPE (self)->tp_free (self);
}

static OvstagePathDictionary *
get_dictionary (PyovsPathDictionary *self)
{
  if (self->dictionary == NULL)
    pyovs_raise (pyovs.ovx_error, OVSTAGE_ERROR_INVALID_HANDLE, "the path dictionary was released");
  return self->dictionary;
}

/* A text without NUL, lent by @object. NULL with an error. */
static const char *
as_text (PyObject *object, const char *name)
{
  PyovsRefusal refusal = { 0, NULL };
  const char *text = pyovs_as_text (object, name, &refusal);

  if (refusal.code != 0)
    pyovs_raise (pyovs.ovx_error, refusal.code, refusal.message);
  g_free (refusal.message);
  return text;
}

static PyObject *
dictionary_intern_token (PyovsPathDictionary *self, PyObject *object)
{
  const char *text = as_text (object, "text");
  GError *error = NULL;
  OvstageToken token;

  if (text == NULL || get_dictionary (self) == NULL)
    return NULL;
  token = ovstage_path_dictionary_intern_token (self->dictionary, text, &error);
  return error == NULL ? PyLong_FromUnsignedLongLong (token) : pyovs_raise_gerror (pyovs.ovx_error, error);
}

PYOVS_METHOD_1 (dictionary, intern_token, text)

static PyObject *
raise_unknown (const char *what, guint64 id)
{
  char *message = g_strdup_printf ("%s: %" G_GUINT64_FORMAT " is unknown", what, id);

  pyovs_raise (pyovs.ovx_error, OVSTAGE_ERROR_INVALID_HANDLE, message);
  g_free (message);
  return NULL;
}

static PyObject *
dictionary_token_to_string (PyovsPathDictionary *self, PyObject *object)
{
  const char *text;
  guint64 token;

  if (!pyovs_as_uint (object, "token", G_MAXUINT64, &token) || get_dictionary (self) == NULL)
    return NULL;
  text = ovstage_path_dictionary_get_token_string (self->dictionary, token);
  return text != NULL ? PyUnicode_FromString (text) : raise_unknown ("token", token);
}

PYOVS_METHOD_1 (dictionary, token_to_string, token)

static PyObject *
dictionary_intern_path (PyovsPathDictionary *self, PyObject *object)
{
  const char *text = as_text (object, "path");
  GError *error = NULL;
  OvstagePath path;

  if (text == NULL || get_dictionary (self) == NULL)
    return NULL;
  path = ovstage_path_dictionary_intern_path (self->dictionary, text, &error);
  return error == NULL ? PyLong_FromUnsignedLongLong (path) : pyovs_raise_gerror (pyovs.ovx_error, error);
}

PYOVS_METHOD_1 (dictionary, intern_path, path)

static PyObject *
dictionary_path_to_string (PyovsPathDictionary *self, PyObject *object)
{
  PyObject *result;
  guint64 path;
  char *text;

  if (!pyovs_as_uint (object, "path", G_MAXUINT64, &path) || get_dictionary (self) == NULL)
    return NULL;
  text = ovstage_path_dictionary_dup_path_string (self->dictionary, path);
  if (text == NULL)
    return raise_unknown ("path", path);
  result = PyUnicode_FromString (text);
  g_free (text);
  return result;
}

PYOVS_METHOD_1 (dictionary, path_to_string, path)

/* Takes a reference to the items, so that nobody changes them meanwhile. */
static PyObject *
as_tuple (PyObject *object, const char *name, const char *expected)
{
  PyObject *tuple = NULL;

  if (!PyUnicode_Check (object))
    tuple = PySequence_Tuple (object);
  if (tuple == NULL && (!PyErr_Occurred () || PyErr_ExceptionMatches (PyExc_TypeError)))
    PyErr_Format (PyExc_TypeError, "%s: a sequence of %s is needed, not %s", name, expected, Py_TYPE (object)->tp_name);
  return tuple;
}

static PyObject *
dictionary_create_path_list (PyovsPathDictionary *self, PyObject *object)
{
  PyObject *tuple = as_tuple (object, "paths", "path ids");
  OvstagePathList *list = NULL;
  GError *error = NULL;
  OvstagePath *paths;
  Py_ssize_t i, n;

  if (tuple == NULL)
    return NULL;
  n = PyTuple_GET_SIZE (tuple);
  paths = g_new (OvstagePath, MAX (n, 1));
  for (i = 0; i < n && pyovs_as_uint (PyTuple_GET_ITEM (tuple, i), "paths", G_MAXUINT64, &paths[i]); i++)
    ;
  Py_DECREF (tuple);
  if (i == n && get_dictionary (self) != NULL)
    {
      list = ovstage_path_dictionary_create_path_list_from_paths (self->dictionary, paths, n, &error);
      if (list == NULL)
        pyovs_raise_gerror (pyovs.ovx_error, error);
    }
  g_free (paths);
  return list != NULL ? pyovs_path_list_new (list) : NULL;
}

PYOVS_METHOD_1 (dictionary, create_path_list, paths)

static PyObject *
dictionary_create_path_list_from_strings (PyovsPathDictionary *self, PyObject *object)
{
  PyObject *tuple = as_tuple (object, "paths", "str");
  OvstagePathDictionary *dictionary;
  OvstagePathList *list = NULL;
  GError *error = NULL;
  const char **paths;
  Py_ssize_t i, n;

  if (tuple == NULL)
    return NULL;
  n = PyTuple_GET_SIZE (tuple);
  paths = g_new0 (const char *, n + 1);
  for (i = 0; i < n && (paths[i] = as_text (PyTuple_GET_ITEM (tuple, i), "paths")) != NULL; i++)
    ;
  dictionary = i == n ? get_dictionary (self) : NULL;
  if (dictionary != NULL)
    {
      g_object_ref (dictionary);
      Py_BEGIN_ALLOW_THREADS
      list = ovstage_path_dictionary_create_path_list (dictionary, paths, &error);
      g_object_unref (dictionary);
      Py_END_ALLOW_THREADS
      if (list == NULL)
        pyovs_raise_gerror (pyovs.ovx_error, error);
    }
  Py_DECREF (tuple);
  g_free (paths);
  return list != NULL ? pyovs_path_list_new (list) : NULL;
}

PYOVS_METHOD_1 (dictionary, create_path_list_from_strings, paths)

static PyObject *
dictionary_add_path_list_reference (PyovsPathDictionary *self, PyObject *object)
{
  PyovsPathList *list = as_path_list (object);

  if (list == NULL || get_dictionary (self) == NULL)
    return NULL;
  list->refs++;
  return Py_NewRef (object);
}

PYOVS_METHOD_1 (dictionary, add_path_list_reference, path_list)

static PyObject *
dictionary_destroy_path_list (PyovsPathDictionary *self, PyObject *object)
{
  PyovsPathList *list = as_path_list (object);

  if (list == NULL || get_dictionary (self) == NULL)
    return NULL;
  if (--list->refs == 0)
    g_clear_pointer (&list->list, ovstage_path_list_unref);
  Py_RETURN_NONE;
}

PYOVS_METHOD_1 (dictionary, destroy_path_list, path_list)

static PyObject *
dictionary_path_list_count (PyovsPathDictionary *self, PyObject *object)
{
  PyovsPathList *list = as_path_list (object);

  if (list == NULL || get_dictionary (self) == NULL)
    return NULL;
  return PyLong_FromSize_t (ovstage_path_list_get_length (list->list));
}

PYOVS_METHOD_1 (dictionary, path_list_count, path_list)

static PyObject *
dictionary_get_paths (PyovsPathDictionary *self, PyObject *object)
{
  PyovsPathList *list = as_path_list (object);

  return list != NULL && get_dictionary (self) != NULL ? get_paths (list->list) : NULL;
}

PYOVS_METHOD_1 (dictionary, get_paths, path_list)

static PyObject *
dictionary_get_path_strings (PyovsPathDictionary *self, PyObject *object)
{
  PyovsPathList *list = as_path_list (object);

  return list != NULL && get_dictionary (self) != NULL ? get_path_strings (list->list) : NULL;
}

PYOVS_METHOD_1 (dictionary, get_path_strings, path_list)

static PyObject *
dictionary_enter (PyObject *self, PyObject *unused)
{
  return Py_NewRef (self);
}

static PyObject *
dictionary_release (PyovsPathDictionary *self, PyObject *unused)
{
  g_clear_object (&self->dictionary);
  Py_RETURN_NONE;
}

static PyObject *
dictionary_exit (PyovsPathDictionary *self, PyObject *args)
{
  return dictionary_release (self, NULL);
}

static PyMethodDef dictionary_methods[] = {
  PYOVS_METHOD_1_DEF ("intern_token", dictionary_intern_token,
                      "intern_token($self, text)\n--\n\n"
                      "The id of a text, such as the name of an attribute. Equal texts have equal ids.\n\n"
                      "text: any text but \"\", without NUL.\n\n"
                      "Ids are never 0, and valid for the life of the stage."),
  PYOVS_METHOD_1_DEF ("token_to_string", dictionary_token_to_string,
                      "token_to_string($self, token)\n--\n\n"
                      "The text of a token; \"\" for 0.\n\n"
                      "token: what intern_token() gave. OvxError with INVALID_HANDLE for another number."),
  PYOVS_METHOD_1_DEF ("intern_path", dictionary_intern_path,
                      "intern_path($self, path)\n--\n\n"
                      "The id of an absolute prim path such as \"/World/A\". Equal paths have equal ids.\n\n"
                      "path: \"/\", or names that are parted by \"/\" with one at the beginning and none at the end. OvxError\n"
                      "  with INVALID_ARGUMENT for anything else."),
  PYOVS_METHOD_1_DEF ("path_to_string", dictionary_path_to_string,
                      "path_to_string($self, path)\n--\n\n"
                      "The text of a path id.\n\n"
                      "path: what intern_path() gave. OvxError with INVALID_HANDLE for another number."),
  PYOVS_METHOD_1_DEF ("create_path_list", dictionary_create_path_list,
                      "create_path_list($self, paths)\n--\n\n"
                      "An ordered list of paths, from their ids.\n\n"
                      "paths: a sequence or an array of ids. None twice, else OvxError with INVALID_ARGUMENT.\n\n"
                      "Gives a PathList."),
  PYOVS_METHOD_1_DEF ("create_path_list_from_strings", dictionary_create_path_list_from_strings,
                      "create_path_list_from_strings($self, paths)\n--\n\n"
                      "An ordered list of paths, from their texts.\n\n"
                      "paths: a sequence of str. None twice, else OvxError with INVALID_ARGUMENT.\n\n"
                      "Gives a PathList."),
  PYOVS_METHOD_1_DEF ("add_path_list_reference", dictionary_add_path_list_reference,
                      "add_path_list_reference($self, path_list)\n--\n\n"
                      "One more destroy_path_list() is needed to destroy the list.\n\n"
                      "path_list: a PathList, which is given back."),
  PYOVS_METHOD_1_DEF ("destroy_path_list", dictionary_destroy_path_list,
                      "destroy_path_list($self, path_list)\n--\n\n"
                      "Gives a reference back; after the last one the list is no longer usable: INVALID_HANDLE.\n\n"
                      "path_list: a PathList.\n\n"
                      "Queries and groups keep their lists. A list that is dropped is destroyed as well."),
  PYOVS_METHOD_1_DEF ("path_list_count", dictionary_path_list_count,
                      "path_list_count($self, path_list)\n--\n\n"
                      "How many paths the list has.\n\n"
                      "path_list: a PathList."),
  PYOVS_METHOD_1_DEF ("get_paths", dictionary_get_paths,
                      "get_paths($self, path_list)\n--\n\n"
                      "The ids of the paths, in order, as a list of int.\n\n"
                      "path_list: a PathList."),
  PYOVS_METHOD_1_DEF ("get_path_strings", dictionary_get_path_strings,
                      "get_path_strings($self, path_list)\n--\n\n"
                      "The texts of the paths, in order, as a list of str.\n\n"
                      "path_list: a PathList."),
  { "release", (PyCFunction) dictionary_release, METH_NOARGS,
    PyDoc_STR ("release($self)\n--\n\n"
               "Lets the dictionary go. Its ids and lists stay valid for the life of the stage.") },
  { "__enter__", dictionary_enter, METH_NOARGS, NULL },
  { "__exit__", (PyCFunction) dictionary_exit, METH_VARARGS, NULL },
  { NULL },
};

PyTypeObject pyovs_path_dictionary_type = {
  PyVarObject_HEAD_INIT (NULL, 0)
  .tp_name = "ovstage.PathDictionary",
  .tp_doc = PyDoc_STR ("PathDictionary(stage)\n--\n\n"
                       "The tokens, prim paths and path lists of a stage. A context manager. Its errors are OvxErrors.\n\n"
                       "stage: a Stage. Every dictionary of a stage has the same ids."),
  .tp_basicsize = sizeof (PyovsPathDictionary),
  .tp_flags = Py_TPFLAGS_DEFAULT,
  .tp_new = PyType_GenericNew,
  .tp_init = (initproc) dictionary_init,
  .tp_dealloc = (destructor) dictionary_dealloc,
  .tp_weaklistoffset = offsetof (PyovsPathDictionary, weakrefs),
  .tp_methods = dictionary_methods,
};
