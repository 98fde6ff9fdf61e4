/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-filter.h>

#include "query/ovs-filter.h"

/**
 * OvstageFilter:
 *
 * What the prims of a query have in common: a tree of predicates.
 *
 * A predicate looks at one attribute. A prim that does not have it matches none;
 * [ctor@Ovstage.Filter.new_not] gives the other prims that exist, so those without
 * the attribute are among them.
 *
 * Values are given as [struct@GLib.Variant]: integers of any width, doubles and
 * booleans for attributes of numbers, strings for texts and for ids, which stand
 * for the text behind them. Numbers are compared as numbers, exactly: an `int64`
 * with a double, or 0.1 with a `float32`, which is another number. NaN
 * matches nothing, and an id that nobody made has no text. Texts are compared byte
 * by byte.
 *
 * A filter is checked by the query that evaluates it: an operator that does not fit
 * what the attribute is on some prim gives `OVSTAGE_ERROR_NOT_SUPPORTED`, a text for a
 * number or a number for a text `OVSTAGE_ERROR_INVALID_ARGUMENT`. So does a filter that is
 * nested more than 1000 deep; all-of in all-of and any-of in any-of nest nothing.
 *
 * ```c
 * g_autoptr (OvstageFilter) heavy = ovstage_filter_new_compare (mass, OVSTAGE_FILTER_OP_GT, g_variant_new_double (10));
 * g_autoptr (OvstageFilter) below = ovstage_filter_new_subtree ("/World/Robot");
 * g_autoptr (OvstageFilter) both = ovstage_filter_new_all_of ((OvstageFilter *[]) { heavy, below }, 2);
 * g_autoptr (OvstageQuery) query = ovstage_stage_query_filter (stage, both, NULL, 0);
 * ```
 *
 * A filter is never changed, and counted; all functions may be called from any thread.
 *
 * Since: 1.0
 */

G_DEFINE_BOXED_TYPE (OvstageFilter, ovstage_filter, ovstage_filter_ref, ovstage_filter_unref)

static OvsValue
read_bytes (GVariant *variant)
{
  gsize n;
  const char *bytes = g_variant_get_fixed_array (variant, &n, 1);

  /* A bytestring ends so. */
  if (n > 0 && bytes[n - 1] == '\0')
    n--;
  return ovs_value_new_text (OVS_VALUE_TEXT, bytes, (gssize) n);
}

static OvsValue
read_value (GVariant *variant)
{
  OvsValue value = { .kind = OVS_VALUE_INT };
  g_autofree char *type = NULL;

  switch (g_variant_classify (variant))
    {
    case G_VARIANT_CLASS_BOOLEAN:
      value.i = g_variant_get_boolean (variant);
      return value;
    case G_VARIANT_CLASS_BYTE:
      value.i = g_variant_get_byte (variant);
      return value;
    case G_VARIANT_CLASS_INT16:
      value.i = g_variant_get_int16 (variant);
      return value;
    case G_VARIANT_CLASS_UINT16:
      value.i = g_variant_get_uint16 (variant);
      return value;
    case G_VARIANT_CLASS_INT32:
      value.i = g_variant_get_int32 (variant);
      return value;
    case G_VARIANT_CLASS_UINT32:
      value.i = g_variant_get_uint32 (variant);
      return value;
    case G_VARIANT_CLASS_INT64:
      value.i = g_variant_get_int64 (variant);
      return value;
    case G_VARIANT_CLASS_UINT64:
      value.kind = OVS_VALUE_UINT;
      value.u = g_variant_get_uint64 (variant);
      return value;
    case G_VARIANT_CLASS_DOUBLE:
      value.kind = OVS_VALUE_DOUBLE;
      value.d = g_variant_get_double (variant);
      return value;
    case G_VARIANT_CLASS_VARIANT:
      {
        g_autoptr (GVariant) inner = g_variant_get_variant (variant);

        return read_value (inner);
      }
    case G_VARIANT_CLASS_STRING:
    case G_VARIANT_CLASS_OBJECT_PATH:
    case G_VARIANT_CLASS_SIGNATURE:
      return ovs_value_new_text (OVS_VALUE_TEXT, g_variant_get_string (variant, NULL), -1);
    default:
      if (g_variant_is_of_type (variant, G_VARIANT_TYPE_BYTESTRING))
        return read_bytes (variant);
      type = g_strdup_printf ("a variant of type '%s'", g_variant_get_type_string (variant));
      return ovs_value_new_text (OVS_VALUE_INVALID, type, -1);
    }
}

/* Takes a floating reference to @variant. */
static OvstageFilter *
new_of_one (OvstageToken attribute, OvstageFilterOp op, GVariant *variant)
{
  g_autoptr (GVariant) held = g_variant_ref_sink (variant);
  OvsValue value = read_value (held);

  return ovs_filter_new_predicate (attribute, op, &value, 1);
}

/**
 * ovstage_filter_new_has: (constructor)
 * @attribute: an attribute
 *
 * Makes a filter for prims that have an attribute.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_has (OvstageToken attribute)
{
  return ovs_filter_new_predicate (attribute, OVSTAGE_FILTER_OP_HAS, NULL, 0);
}

/**
 * ovstage_filter_new_in: (constructor)
 * @attribute: an attribute
 * @values: an array or a tuple of values, or one value; a floating reference is taken
 *
 * Makes a filter for prims where an attribute is one of several values.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_in (OvstageToken attribute, GVariant *values)
{
  g_autoptr (GVariant) held = NULL;
  g_autofree OvsValue *list = NULL;
  gsize n;

  g_return_val_if_fail (values != NULL, NULL);

  held = g_variant_ref_sink (values);
  if (!g_variant_is_container (held) || g_variant_is_of_type (held, G_VARIANT_TYPE_VARIANT))
    return new_of_one (attribute, OVSTAGE_FILTER_OP_IN, held);
  n = g_variant_n_children (held);
  list = g_new (OvsValue, MAX (n, 1));
  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (held, i);

      list[i] = read_value (child);
    }
  return ovs_filter_new_predicate (attribute, OVSTAGE_FILTER_OP_IN, list, n);
}

/**
 * ovstage_filter_new_contains: (constructor)
 * @attribute: an attribute
 * @value: a value; a floating reference is taken
 *
 * Makes a filter for prims where an attribute of arrays has a value among its elements,
 * or a text has another in it.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_contains (OvstageToken attribute, GVariant *value)
{
  g_return_val_if_fail (value != NULL, NULL);

  return new_of_one (attribute, OVSTAGE_FILTER_OP_CONTAINS, value);
}

/**
 * ovstage_filter_new_prefix: (constructor)
 * @attribute: an attribute of texts or ids
 * @text: how the text begins
 *
 * Makes a filter for prims where a text begins with another, byte by byte.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_prefix (OvstageToken attribute, const char *text)
{
  OvsValue value;

  g_return_val_if_fail (text != NULL, NULL);

  value = ovs_value_new_text (OVS_VALUE_TEXT, text, -1);
  return ovs_filter_new_predicate (attribute, OVSTAGE_FILTER_OP_PREFIX, &value, 1);
}

/**
 * ovstage_filter_new_compare: (constructor)
 * @attribute: an attribute
 * @op: how to compare; any operator but %OVSTAGE_FILTER_OP_HAS, which takes no value
 * @value: a value; a floating reference is taken
 *
 * Makes a filter for prims where an attribute compares with a value.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_compare (OvstageToken attribute, OvstageFilterOp op, GVariant *value)
{
  g_return_val_if_fail (value != NULL, NULL);

  return new_of_one (attribute, op, value);
}

/**
 * ovstage_filter_new_subtree: (constructor)
 * @path: a prim path
 *
 * Makes a filter for a prim and all prims below it. A text that is no path, such
 * as `World`, is told by the query: `OVSTAGE_ERROR_INVALID_ARGUMENT`.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_subtree (const char *path)
{
  OvsValue value;

  g_return_val_if_fail (path != NULL, NULL);

  value = ovs_value_new_text (OVS_VALUE_TEXT, path, -1);
  return ovs_filter_new_predicate (0, OVSTAGE_FILTER_OP_SUBTREE, &value, 1);
}

/**
 * ovstage_filter_new_all_of: (constructor)
 * @filters: (array length=n_filters) (nullable): filters
 * @n_filters: the number of @filters
 *
 * Makes a filter for prims that match all of several. Without any, that is every
 * prim that exists.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_all_of (OvstageFilter *const *filters, gsize n_filters)
{
  g_return_val_if_fail (filters != NULL || n_filters == 0, NULL);

  return ovs_filter_new_combined (OVS_FILTER_ALL, filters, n_filters);
}

/**
 * ovstage_filter_new_any_of: (constructor)
 * @filters: (array length=n_filters) (nullable): filters
 * @n_filters: the number of @filters
 *
 * Makes a filter for prims that match one or more of several. Without any, that is
 * no prim.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_any_of (OvstageFilter *const *filters, gsize n_filters)
{
  g_return_val_if_fail (filters != NULL || n_filters == 0, NULL);

  return ovs_filter_new_combined (OVS_FILTER_ANY, filters, n_filters);
}

/**
 * ovstage_filter_new_not: (constructor)
 * @filter: a filter
 *
 * Makes a filter for the prims that exist and do not match another.
 *
 * Returns: (transfer full): a new filter
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_new_not (OvstageFilter *filter)
{
  g_return_val_if_fail (filter != NULL, NULL);

  return ovs_filter_new_combined (OVS_FILTER_NOT, &filter, 1);
}

/**
 * ovstage_filter_ref:
 * @self: a filter
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
OvstageFilter *
ovstage_filter_ref (OvstageFilter *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_filter_ref (self);
}

/**
 * ovstage_filter_unref:
 * @self: (transfer full): a filter
 *
 * Drops a reference.
 *
 * Since: 1.0
 */
void
ovstage_filter_unref (OvstageFilter *self)
{
  g_return_if_fail (self != NULL);

  ovs_filter_unref (self);
}
