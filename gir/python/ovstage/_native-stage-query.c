/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Queries.
 *
 * Filters are trees of tuples, as ovstage.Filter makes them: (kind, parts) or (attribute, op, values). */

#include "config.h"

#include "_native-stage.h"

enum
{
  FILTER_ALL,
  FILTER_ANY,
  FILTER_NOT,
};

static GVariant *
new_value (PyObject *object)
{
  int overflow;
  gint64 number;

  if (PyBytes_Check (object)) /* terminated, which tells it from one that ends with a zero */
    return g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, PyBytes_AS_STRING (object), (gsize) PyBytes_GET_SIZE (object) + 1, 1);
  if (PyFloat_Check (object))
    return g_variant_new_double (PyFloat_AS_DOUBLE (object));
  number = PyLong_AsLongLongAndOverflow (object, &overflow);
  if (overflow == 0)
    return g_variant_new_int64 (number);
  return g_variant_new_uint64 (PyLong_AsUnsignedLongLong (object));
}

static OvstageFilter *
new_predicate (PyovsStage *self, PyObject *tree, PyovsRefusal *refusal)
{
  PyObject *values = PyTuple_GET_ITEM (tree, 2);
  long op = PyLong_AsLong (PyTuple_GET_ITEM (tree, 1));
  GVariantBuilder builder;
  OvstageToken token;

  if (!pyovs_stage_as_attribute (self, PyTuple_GET_ITEM (tree, 0), refusal, &token))
    return NULL;
  if (op == OVSTAGE_FILTER_OP_HAS)
    return ovstage_filter_new_has (token);
  if (op != OVSTAGE_FILTER_OP_IN)
    return ovstage_filter_new_compare (token, (OvstageFilterOp) op, new_value (PyTuple_GET_ITEM (values, 0)));
  g_variant_builder_init (&builder, G_VARIANT_TYPE ("av"));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE (values); i++)
    g_variant_builder_add (&builder, "v", new_value (PyTuple_GET_ITEM (values, i)));
  return ovstage_filter_new_in (token, g_variant_builder_end (&builder));
}

/* One whose parts are being made. */
typedef struct
{
  PyObject *tree; /* borrowed */
  GPtrArray *parts; /* (owned) OvstageFilter */
} Open;

static void
clear_open (Open *open)
{
  g_ptr_array_unref (open->parts);
}

static OvstageFilter *
combine (const Open *open)
{
  OvstageFilter *const *parts = (OvstageFilter *const *) open->parts->pdata;
  gsize n = open->parts->len;

  switch (PyLong_AsLong (PyTuple_GET_ITEM (open->tree, 0)))
    {
    case FILTER_NOT:
      return ovstage_filter_new_not (parts[0]);
    case FILTER_ANY:
      return ovstage_filter_new_any_of (parts, n);
    case FILTER_ALL:
    default:
      return ovstage_filter_new_all_of (parts, n);
    }
}

/* NULL with a Python error, or a refusal. Without recursion, so that it is the core that tells of a tree which is too deep. */
static OvstageFilter *
new_filter (PyovsStage *self, PyObject *tree, PyovsRefusal *refusal)
{
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (Open));
  OvstageFilter *filter;

  g_array_set_clear_func (stack, (GDestroyNotify) clear_open);
  for (;;)
    {
      if (PyTuple_GET_SIZE (tree) == 3)
        {
          filter = new_predicate (self, tree, refusal);
          if (filter == NULL)
            return NULL;
        }
      else
        {
          Open open = { tree, g_ptr_array_new_with_free_func ((GDestroyNotify) ovstage_filter_unref) };

          g_array_append_val (stack, open);
          filter = NULL;
        }

      /* Up to the one that wants another part. */
      for (;;)
        {
          Open *open;
          PyObject *items;

          if (stack->len == 0)
            return filter;
          open = &g_array_index (stack, Open, stack->len - 1);
          items = PyTuple_GET_ITEM (open->tree, 1);
          if (filter != NULL)
            g_ptr_array_add (open->parts, filter);
          if (open->parts->len < PyTuple_GET_SIZE (items))
            {
              tree = PyTuple_GET_ITEM (items, open->parts->len);
              break;
            }
          filter = combine (open);
          g_array_set_size (stack, stack->len - 1);
        }
    }
}

/* The tree of an ovstage.Filter: a new reference. */
static PyObject *
get_tree (PyObject *object)
{
  PyObject *tree = PyObject_GetAttrString (object, "_tree");

  if (tree != NULL && PyTuple_Check (tree))
    return tree;
  Py_XDECREF (tree);
  PyErr_Format (PyExc_TypeError, "filter: a Filter is needed, not %s", Py_TYPE (object)->tp_name);
  return NULL;
}

PyObject *
pyovs_stage_query (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = { .function = "query", .n_positional = 2, .n_required = 0, .names = { "filter", "attributes" } };
  PyovsRefusal refusal = { 0, NULL };
  g_autoptr (OvstageFilter) filter = NULL;
  PyObject *values[2], *tree = NULL, *result = NULL;
  PyovsTokens tokens;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  if (values[0] != NULL && values[0] != Py_None && (tree = get_tree (values[0])) == NULL)
    return NULL;
  pyovs_stage_check_open (self, &refusal);
  if (tree != NULL)
    filter = new_filter (self, tree, &refusal);
  Py_XDECREF (tree);
  if (PyErr_Occurred ())
    {
      g_free (refusal.message);
      return NULL;
    }
  if (pyovs_stage_as_attributes (self, values[1] != Py_None ? values[1] : NULL, &refusal, &tokens))
    {
      OvstageStage *stage = self->stage;
      OvstageQuery *query;

      pyovs_stage_check_open (self, &refusal);
      if (refusal.code != 0)
        result = pyovs_operation_new_refused (&pyovs_query_type, &refusal);
      else
        {
          g_object_ref (stage);
          Py_BEGIN_ALLOW_THREADS
          query = ovstage_stage_query_filter (stage, filter, tokens.tokens, tokens.n);
          Py_END_ALLOW_THREADS
          g_object_unref (stage);
          result = pyovs_stage_new_operation (self, &pyovs_query_type, query);
        }
    }
  else
    g_free (refusal.message);
  pyovs_tokens_clear (&tokens);
  return result;
}

PyObject *
pyovs_stage_query_from_path_list (PyovsStage *self, PyObject *object)
{
  PyovsPathList *list = (PyovsPathList *) object;
  PyovsRefusal refusal = { 0, NULL };

  if (!PyObject_TypeCheck (object, &pyovs_path_list_type))
    {
      PyErr_Format (PyExc_TypeError, "path_list: a PathList is needed, not %s", Py_TYPE (object)->tp_name);
      return NULL;
    }
  pyovs_stage_check_open (self, &refusal);
  if (list->list == NULL)
    pyovs_refuse (&refusal, OVSTAGE_ERROR_INVALID_HANDLE, "path_list: the list was destroyed");
  if (refusal.code != 0)
    return pyovs_operation_new_refused (&pyovs_query_type, &refusal);
  return pyovs_stage_new_operation (self, &pyovs_query_type, ovstage_stage_query_path_list (self->stage, list->list));
}
