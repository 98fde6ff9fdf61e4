/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-filter.h"

#include <string.h>

/* Whoever walks a tree calls itself, so what is deeper has no parts: only how deep it is is kept, to be told. */
#define MAX_DEPTH 1000

static const char *const op_names[] = { "HAS", "IN", "CONTAINS", "PREFIX", "LT", "LE", "GT", "GE", "SUBTREE" };

const char *
ovs_filter_op_get_name (gint op)
{
  return op >= 0 && (gsize) op < G_N_ELEMENTS (op_names) ? op_names[op] : "unknown";
}

OvsValue
ovs_value_new_text (OvsValueKind kind, const char *text, gssize length)
{
  OvsValue value = { .kind = kind, .length = length < 0 ? strlen (text) : (gsize) length };

  value.text = g_malloc (value.length + 1);
  if (value.length > 0)
    memcpy (value.text, text, value.length);
  value.text[value.length] = '\0';
  return value;
}

static OvstageFilter *
new_filter (OvsFilterKind kind)
{
  OvstageFilter *filter = g_new0 (OvstageFilter, 1);

  filter->refs = 1;
  filter->kind = kind;
  filter->depth = 1;
  return filter;
}

OvstageFilter *
ovs_filter_new_predicate (guint64 attribute, gint op, const OvsValue *values, gsize n_values)
{
  OvstageFilter *filter = new_filter (OVS_FILTER_PREDICATE);

  filter->attribute = attribute;
  filter->op = op;
  filter->values = n_values > 0 ? g_memdup2 (values, sizeof *values * n_values) : NULL;
  filter->n_values = n_values;
  return filter;
}

/* Parts of the same kind are taken in: a chain of ANDs is one list, however long. */
static gboolean
is_taken_in (const OvstageFilter *part, OvsFilterKind kind)
{
  return kind != OVS_FILTER_NOT && part->kind == kind && part->depth <= MAX_DEPTH;
}

static void
drop_parts (OvstageFilter *filter)
{
  while (filter->n_parts > 0)
    ovs_filter_unref (filter->parts[--filter->n_parts]);
}

OvstageFilter *
ovs_filter_new_combined (OvsFilterKind kind, OvstageFilter *const *parts, gsize n_parts)
{
  OvstageFilter *filter = new_filter (kind);
  gsize n = 0;

  for (gsize i = 0; i < n_parts; i++)
    n += is_taken_in (parts[i], kind) ? parts[i]->n_parts : 1;
  filter->parts = g_new (OvstageFilter *, MAX (n, 1));
  for (gsize i = 0; i < n_parts; i++)
    {
      OvstageFilter *const *from = is_taken_in (parts[i], kind) ? parts[i]->parts : &parts[i];
      gsize n_from = is_taken_in (parts[i], kind) ? parts[i]->n_parts : 1;

      for (gsize j = 0; j < n_from; j++)
        {
          filter->parts[filter->n_parts++] = ovs_filter_ref (from[j]);
          filter->depth = MAX (filter->depth, from[j]->depth + 1);
        }
    }
  if (filter->depth > MAX_DEPTH)
    drop_parts (filter);
  return filter;
}

OvstageFilter *
ovs_filter_ref (OvstageFilter *filter)
{
  g_atomic_int_inc (&filter->refs);
  return filter;
}

void
ovs_filter_unref (OvstageFilter *filter)
{
  if (!g_atomic_int_dec_and_test (&filter->refs))
    return;
  drop_parts (filter);
  for (gsize i = 0; i < filter->n_values; i++)
    g_free (filter->values[i].text);
  g_free (filter->parts);
  g_free (filter->values);
  g_free (filter);
}

static void
list_predicates (OvstageFilter *filter, GPtrArray *predicates)
{
  if (filter->kind == OVS_FILTER_PREDICATE)
    g_ptr_array_add (predicates, filter);
  for (gsize i = 0; i < filter->n_parts; i++)
    list_predicates (filter->parts[i], predicates);
}

GPtrArray *
ovs_filter_list_predicates (OvstageFilter *filter)
{
  GPtrArray *predicates = g_ptr_array_new ();

  if (filter != NULL)
    list_predicates (filter, predicates);
  return predicates;
}

static gboolean
check_predicate (const OvstageFilter *predicate, GError **error)
{
  gint op = predicate->op;

  if (op < 0 || op > OVSTAGE_FILTER_OP_SUBTREE)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "op is %d, expected 0 (HAS) to 8 (SUBTREE)", op);
  if (op == OVSTAGE_FILTER_OP_HAS && predicate->n_values > 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "HAS takes no value, %" G_GSIZE_FORMAT " are given", predicate->n_values);
  if (op > OVSTAGE_FILTER_OP_IN && predicate->n_values != 1)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s takes one value, %" G_GSIZE_FORMAT " are given",
                     ovs_filter_op_get_name (op), predicate->n_values);
  for (gsize i = 0; i < predicate->n_values; i++)
    if (predicate->values[i].kind == OVS_VALUE_INVALID)
      return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "values[%" G_GSIZE_FORMAT "] is %s, expected a number or a text", i,
                       predicate->values[i].text);
  return TRUE;
}

gboolean
ovs_filter_check_form (OvstageFilter *filter, GError **error)
{
  g_autoptr (GPtrArray) predicates = NULL;

  if (filter != NULL && filter->depth > MAX_DEPTH)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "filter: it is nested %u deep, expected %u at most", filter->depth, MAX_DEPTH);
  predicates = ovs_filter_list_predicates (filter);
  for (guint i = 0; i < predicates->len; i++)
    if (!check_predicate (predicates->pdata[i], error))
      {
        g_prefix_error (error, "predicates[%u]: ", i);
        return FALSE;
      }
  return TRUE;
}
