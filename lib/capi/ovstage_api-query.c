/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-given.h"
#include "capi/ovs-instance.h"

static OvstageFilter *
new_predicate (OvsInstance *instance, const ovstage_predicate_t *predicate, GError **error)
{
  g_autofree OvsValue *values = NULL;
  guint64 token;

  if (!ovs_instance_resolve (instance, predicate->attribute, &token, error))
    return NULL;
  if (!ovs_check_array (predicate->values, predicate->value_count, "values", error))
    return NULL;
  values = g_try_new (OvsValue, predicate->value_count);
  if (!ovs_check_room (values, predicate->value_count, error))
    return NULL;
  for (gsize i = 0; i < predicate->value_count; i++)
    if (!ovs_check_string (predicate->values[i], error))
      {
        g_prefix_error (error, "values[%" G_GSIZE_FORMAT "]: ", i);
        return NULL;
      }
  for (gsize i = 0; i < predicate->value_count; i++)
    {
      const ovx_string_t *text = &predicate->values[i];

      values[i] = ovs_value_new_text (OVS_VALUE_LITERAL, text->ptr != NULL ? text->ptr : "", (gssize) text->length);
    }
  return ovs_filter_new_predicate (token, (gint) predicate->op, values, predicate->value_count);
}

/* NULL without an error: everything. */
static OvstageFilter *
new_filter (OvsInstance *instance, const ovstage_filter_t *filter, GError **error)
{
  g_autoptr (GPtrArray) parts = NULL;

  if (filter == NULL || filter->count == 0)
    return NULL;
  if (!ovs_check_array (filter->predicates, filter->count, "predicates", error))
    return NULL;
  parts = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_filter_unref);
  for (gsize i = 0; i < filter->count; i++)
    {
      OvstageFilter *predicate = new_predicate (instance, &filter->predicates[i], error);

      if (predicate == NULL)
        {
          g_prefix_error (error, "predicates[%" G_GSIZE_FORMAT "]: ", i);
          return NULL;
        }
      g_ptr_array_add (parts, predicate);
    }
  return ovs_filter_new_combined (OVS_FILTER_ALL, (OvstageFilter *const *) parts->pdata, parts->len);
}

ovstage_enqueue_result_t
ovstage_query (ovstage_instance_t *pointer, const ovstage_filter_t *filter, const ovx_token_t *attributes, size_t num_attributes,
               ovstage_query_handle_t *out_query)
{
  OvsInstance *instance;
  OvstageFilter *core_filter;
  ovstage_enqueue_result_t result;
  GError *error = NULL;

  if (out_query == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query is NULL, expected where to put the handle");
  *out_query = OVSTAGE_INVALID_QUERY_HANDLE;
  if (!ovs_check_array (attributes, num_attributes, "attributes", &error))
    return ovs_enqueue_fail (error);
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  core_filter = new_filter (instance, filter, &error);
  if (error != NULL)
    result = ovs_enqueue_fail (error);
  else
    {
      OvsOp *query = ovs_stage_query_filter (instance->stage, core_filter, attributes, num_attributes);

      if (ovs_op_get_id (query) != 0)
        *out_query = ovs_instance_add_op (instance, OVS_HANDLE_QUERY, query);
      result = ovs_instance_finish (instance, query);
    }
  g_clear_pointer (&core_filter, ovs_filter_unref);
  ovs_instance_leave (instance);
  return result;
}

ovstage_api_status_t
ovstage_query_from_path_list (ovstage_instance_t *pointer, ovx_primpath_list_t handle, ovstage_query_handle_t *out_query)
{
  OvsInstance *instance;
  OvstagePathList *list;
  OvstageError status;

  if (out_query == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query is NULL, expected where to put the handle");
  *out_query = OVSTAGE_INVALID_QUERY_HANDLE;
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  list = ovs_instance_ref_list (instance, handle);
  if (list == NULL)
    status = ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "path list %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    {
      OvsOp *op = ovs_stage_query_list (instance->stage, list);
      const GError *error = ovs_op_get_error (op);

      status = error != NULL ? ovs_thread_fail (g_error_copy (error)) : ovs_thread_succeed ();
      if (status == OVSTAGE_OK)
        {
          ovs_records_skip (instance->records, op);
          *out_query = ovs_instance_add_op (instance, OVS_HANDLE_QUERY, op);
        }
      ovs_op_unref (op);
      ovs_path_list_unref (list);
    }
  ovs_instance_leave (instance);
  return status;
}

static void
give_result (OvsInstance *instance, OvsOp *query, ovstage_query_result_t *out)
{
  OvsGivenResult *given = g_new0 (OvsGivenResult, 1);
  const guint32 *attributes = ovs_query_get_attributes (query, &given->n_attributes);

  if (given->n_attributes > 0)
    given->attributes = g_new (guint64, given->n_attributes);
  for (gsize i = 0; i < given->n_attributes; i++)
    given->attributes[i] = attributes[i];
  ovs_op_ref (query);
  ovs_mutex_lock (&instance->lock);
  given->query = ovs_handles_add (&instance->handles, OVS_HANDLE_QUERY, query);
  out->query_result_id = ovs_handles_add (&instance->handles, OVS_HANDLE_QUERY_RESULT, given);
  ovs_mutex_unlock (&instance->lock);
  out->attributes = given->attributes;
  out->attribute_count = given->n_attributes;
  out->all_handle = given->query;
  out->total_prim_count = ovs_query_get_list (query)->n;
}

ovstage_api_status_t
ovstage_fetch_query_result (ovstage_instance_t *pointer, ovstage_query_handle_t handle, ovstage_timeout_ns_t timeout,
                            ovstage_query_result_t *out_result)
{
  OvsInstance *instance;
  OvsOp *query;
  OvstageError status;

  if (out_result == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_result is NULL, expected where to put the result");
  *out_result = (ovstage_query_result_t) { 0 };
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  query = ovs_instance_ref_op (instance, OVS_HANDLE_QUERY, handle);
  if (query == NULL)
    status = ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "query %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    status = ovs_instance_wait (instance, query, timeout);
  if (status == OVSTAGE_OK)
    {
      give_result (instance, query, out_result);
      ovs_thread_succeed ();
    }
  g_clear_pointer (&query, ovs_op_unref);
  ovs_instance_leave (instance);
  return status;
}

ovstage_api_status_t
ovstage_release_query_result (ovstage_instance_t *pointer, const ovstage_query_result_t *result)
{
  OvsInstance *instance;
  OvsGivenResult *given;
  OvsOp *query = NULL;

  if (result == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "result is NULL, expected one that was fetched");
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  ovs_mutex_lock (&instance->lock);
  given = ovs_handles_steal (&instance->handles, OVS_HANDLE_QUERY_RESULT, result->query_result_id);
  if (given != NULL)
    query = ovs_handles_steal (&instance->handles, OVS_HANDLE_QUERY, given->query);
  ovs_mutex_unlock (&instance->lock);
  g_clear_pointer (&query, ovs_op_unref);
  ovs_instance_leave (instance);
  if (given == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "query result %" G_GUINT64_FORMAT " is unknown or was released",
                                 result->query_result_id);
  ovs_given_result_free (given);
  return ovs_thread_succeed ();
}

ovstage_enqueue_result_t
ovstage_release_query (ovstage_instance_t *pointer, ovstage_query_handle_t query)
{
  return ovs_release_handle (pointer, OVS_HANDLE_QUERY, query, "query");
}
