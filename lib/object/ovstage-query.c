/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-query.h>

#include "object/ovstage-operation-private.h"
#include "op/ovs-stage.h"

/**
 * OvstageQuery:
 *
 * A set of prims that writes and reads are about.
 *
 * A query is an operation: one over a path list is done when it is made, unless
 * the list belongs to the dictionary of another stage. One that evaluates a filter
 * has to wait where values that the filter looks at are still on their way. It may be
 * used before it is done: requests with it wait for it, and later ones wait
 * for these where they could tell the difference. If it fails or is withdrawn by
 * [method@Ovstage.Operation.cancel], requests that wait for it fail with
 * `OVSTAGE_ERROR_OP_FAILED`.
 *
 * A query keeps its prims, is never changed, and may be used for any number of
 * requests, from any thread. It is worth keeping: what the stage knows about its
 * rows stays warm.
 *
 * Since: 1.0
 */
struct _OvstageQuery
{
  OvstageOperation parent_instance;
};

G_DEFINE_FINAL_TYPE (OvstageQuery, ovstage_query, OVSTAGE_TYPE_OPERATION)

static void
ovstage_query_class_init (OvstageQueryClass *klass)
{
}

static void
ovstage_query_init (OvstageQuery *self)
{
}

static OvstagePathList *
get_list (OvstageQuery *self)
{
  OvsOp *op = _ovstage_operation_get_op ((OvstageOperation *) self);

  if (op == NULL || !ovs_op_is_done (op) || ovs_op_get_error (op) != NULL)
    return NULL;
  return ovs_query_get_list (op);
}

/**
 * ovstage_query_get_prim_count:
 * @self: a query
 *
 * Gets the number of prims.
 *
 * Returns: the number of prims; 0 for a query that failed or is not done
 *
 * Since: 1.0
 */
guint32
ovstage_query_get_prim_count (OvstageQuery *self)
{
  OvstagePathList *list;

  g_return_val_if_fail (OVSTAGE_IS_QUERY (self), 0);

  list = get_list (self);
  return list != NULL ? list->n : 0;
}

/**
 * ovstage_query_ref_path_list:
 * @self: a query
 *
 * Gets the prims, in the order in which rows are written and read.
 *
 * Returns: (transfer full) (nullable): the list; `NULL` for a query that failed
 *   or is not done
 *
 * Since: 1.0
 */
OvstagePathList *
ovstage_query_ref_path_list (OvstageQuery *self)
{
  OvstagePathList *list;

  g_return_val_if_fail (OVSTAGE_IS_QUERY (self), NULL);

  list = get_list (self);
  return list != NULL ? ovs_path_list_ref (list) : NULL;
}

/**
 * ovstage_query_dup_attributes:
 * @self: a query
 * @n_attributes: (out): the number of tokens
 *
 * Gets the attributes that a filter query found on its prims: of those that it was
 * asked about, or of all, the ones that live on one prim or more.
 *
 * Returns: (array length=n_attributes) (transfer full) (nullable): tokens, ascending, freed with
 *   [func@GLib.free]; `NULL` for none, as a query over a path list has
 *
 * Since: 1.0
 */
guint64 *
ovstage_query_dup_attributes (OvstageQuery *self, gsize *n_attributes)
{
  const guint32 *attributes;
  OvstageToken *tokens;

  g_return_val_if_fail (OVSTAGE_IS_QUERY (self), NULL);
  g_return_val_if_fail (n_attributes != NULL, NULL);

  *n_attributes = 0;
  if (get_list (self) == NULL)
    return NULL;
  attributes = ovs_query_get_attributes (_ovstage_operation_get_op ((OvstageOperation *) self), n_attributes);
  if (*n_attributes == 0)
    return NULL;
  tokens = g_new (OvstageToken, *n_attributes);
  for (gsize i = 0; i < *n_attributes; i++)
    tokens[i] = attributes[i];
  return tokens;
}
