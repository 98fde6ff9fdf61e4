/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Process, instances, operations and floors. */

#include "config.h"

#include <string.h>

#include "capi/ovs-instance.h"

static OvsMutex process_lock;
static guint n_initialized; /* protected by process_lock */

static ovstage_log_callback_t log_callback; /* protected by process_lock */
static gpointer log_data;                   /* protected by process_lock */
static guint log_handler;                   /* protected by process_lock; 0: none */

ovstage_api_status_t
ovstage_initialize (const ovstage_config_t *config)
{
  if (config != NULL && config->reserved != NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "config: reserved is %p, expected NULL", config->reserved);
  ovs_mutex_lock (&process_lock);
  n_initialized++;
  ovs_mutex_unlock (&process_lock);
  return ovs_thread_succeed ();
}

ovstage_api_status_t
ovstage_shutdown (void)
{
  gboolean matched;

  ovs_mutex_lock (&process_lock);
  matched = n_initialized > 0;
  if (matched)
    n_initialized--;
  ovs_mutex_unlock (&process_lock);
  if (!matched)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "shutdown: no ovstage_initialize() is left that it would belong to");
  return ovs_thread_succeed ();
}

static void
log_cb (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
  ovstage_log_callback_t callback;
  gpointer data;
  ovstage_log_level_t flat_level = OVSTAGE_LOG_LEVEL_DEBUG;

  ovs_mutex_lock (&process_lock);
  callback = log_callback;
  data = log_data;
  ovs_mutex_unlock (&process_lock);
  if (callback == NULL)
    return;

  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0)
    flat_level = OVSTAGE_LOG_LEVEL_ERROR;
  else if ((level & G_LOG_LEVEL_WARNING) != 0)
    flat_level = OVSTAGE_LOG_LEVEL_WARNING;
  else if ((level & (G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_INFO)) != 0)
    flat_level = OVSTAGE_LOG_LEVEL_INFO;
  callback (flat_level, (ovx_string_t) { message, strlen (message) }, data);
}

ovstage_api_status_t
ovstage_set_log_callback (ovstage_log_callback_t callback, void *user_data)
{
  ovs_mutex_lock (&process_lock);
  log_callback = callback;
  log_data = user_data;
  if (callback != NULL && log_handler == 0)
    log_handler = g_log_set_handler (G_LOG_DOMAIN, G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION, log_cb, NULL);
  else if (callback == NULL && log_handler != 0)
    {
      g_log_remove_handler (G_LOG_DOMAIN, log_handler);
      log_handler = 0;
    }
  ovs_mutex_unlock (&process_lock);
  return ovs_thread_succeed ();
}

void
ovstage_get_version (ovstage_instance_t *instance, uint32_t *out_major, uint32_t *out_minor, uint32_t *out_patch)
{
  if (out_major != NULL)
    *out_major = OVSTAGE_VERSION_MAJOR;
  if (out_minor != NULL)
    *out_minor = OVSTAGE_VERSION_MINOR;
  if (out_patch != NULL)
    *out_patch = OVSTAGE_VERSION_PATCH;
}

const char *
ovstage_get_error_string (ovstage_instance_t *instance, ovstage_api_status_t status)
{
  switch (status)
    {
    case OVSTAGE_OK:
      return "success";
    case OVSTAGE_ERROR_INVALID_ARGUMENT:
      return "invalid argument";
    case OVSTAGE_ERROR_INVALID_HANDLE:
      return "invalid handle";
    case OVSTAGE_ERROR_NOT_FOUND:
      return "not found";
    case OVSTAGE_ERROR_ALREADY_EXISTS:
      return "already exists";
    case OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION:
      return "write floor violation";
    case OVSTAGE_ERROR_NOT_SUPPORTED:
      return "not supported";
    case OVSTAGE_ERROR_QUEUE_FULL:
      return "queue full";
    case OVSTAGE_ERROR_END_OF_ITERATION:
      return "end of iteration";
    case OVSTAGE_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case OVSTAGE_ERROR_LAYOUT_CHANGED:
      return "layout changed";
    case OVSTAGE_ERROR_TIMEOUT:
      return "timeout";
    case OVSTAGE_ERROR_OP_FAILED:
      return "operation failed";
    case OVSTAGE_ERROR_OUT_OF_RANGE:
      return "out of range";
    case OVSTAGE_ERROR_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
    }
}

ovx_string_t
ovstage_get_last_error (void)
{
  ovx_string_t text;

  text.ptr = ovs_thread_get_error (&text.length);
  return text;
}

ovstage_api_status_t
ovstage_create_instance (const ovstage_instance_desc_t *desc, ovstage_instance_t **out_instance)
{
  GError *error = NULL;
  ovstage_instance_t *instance;

  if (out_instance == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_instance is NULL, expected where to put the instance");
  instance = ovs_instance_new (desc != NULL ? desc->name : NULL, &error);
  *out_instance = instance;
  return instance != NULL ? ovs_thread_succeed () : ovs_thread_fail (error);
}

void
ovstage_destroy_instance (ovstage_instance_t *instance)
{
  if (instance == NULL || ovs_instance_destroy (instance))
    ovs_thread_succeed ();
}

ovstage_api_status_t
ovstage_query_extension (ovstage_instance_t *pointer, const char *name, const void **out_extension)
{
  OvsInstance *instance;

  if (name == NULL || out_extension == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL", name == NULL ? "name" : "out_extension");
  *out_extension = NULL;
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  ovs_instance_leave (instance);
  return ovs_thread_fail_with (OVSTAGE_ERROR_NOT_FOUND, "extension '%s' is not there", name);
}

path_dictionary_instance_t *
ovstage_get_path_dictionary (ovstage_instance_t *pointer)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  path_dictionary_instance_t *dictionary;

  if (instance == NULL)
    return NULL;
  dictionary = ovs_instance_get_dictionary (instance);
  ovs_instance_leave (instance);
  ovs_thread_succeed ();
  return dictionary;
}

/* Operations */

static OvstageError
wait_known (OvsInstance *instance, OvsOp *op, guint64 timeout, ovstage_op_wait_result_t *result)
{
  OvstageError status = OVSTAGE_OK;

  /* A failure is no failure of the wait. */
  if (op != NULL)
    {
      status = ovs_instance_wait (instance, op, timeout);
      if (ovs_op_is_done (op))
        status = ovs_thread_succeed ();
      else if (status == OVSTAGE_ERROR_TIMEOUT)
        result->lowest_pending_op_id = ovs_records_get_id (instance->records, ovs_op_get_lowest_pending (op));
    }
  else
    ovs_thread_succeed ();
  ovs_records_tell (instance->records);
  result->error_op_ids = ovs_thread_get_report (&result->error_op_id_count);
  return status;
}

ovstage_api_status_t
ovstage_wait_op (ovstage_instance_t *pointer, ovstage_op_id_t op_id, ovstage_timeout_ns_t timeout,
                 ovstage_op_wait_result_t *out_result)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  ovstage_op_wait_result_t result = { 0 };
  OvstageError status;
  OvsOp *op;

  if (out_result != NULL)
    *out_result = result;
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  if (ovs_records_find (instance->records, op_id, &op))
    status = wait_known (instance, op, timeout, &result);
  else
    status = ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "operation %" G_GUINT64_FORMAT " is unknown or was released", op_id);
  g_clear_pointer (&op, ovs_op_unref);
  ovs_instance_leave (instance);
  if (out_result != NULL)
    *out_result = result;
  return status;
}

ovx_string_t
ovstage_get_last_op_error (ovstage_instance_t *pointer, ovstage_op_id_t op)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  const char *text = NULL;

  if (instance == NULL)
    return (ovx_string_t) { NULL, 0 };
  if (ovs_records_gave (instance->records, op))
    text = ovs_thread_find_text (op);
  if (text == NULL)
    {
      char *recorded = ovs_records_dup_text (instance->records, op);

      text = recorded != NULL ? ovs_thread_keep_text (op, recorded) : NULL;
    }
  ovs_instance_leave (instance);
  return (ovx_string_t) { text, text != NULL ? strlen (text) : 0 };
}

ovstage_api_status_t
ovstage_release_op (ovstage_instance_t *pointer, ovstage_op_id_t op)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  gboolean known;

  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  known = ovs_records_release (instance->records, op);
  ovs_instance_leave (instance);
  if (!known)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "operation %" G_GUINT64_FORMAT " is unknown or was released", op);
  return ovs_thread_succeed ();
}

/* Floors */

ovstage_enqueue_result_t
ovstage_advance_write_floor (ovstage_instance_t *pointer, const ovstage_write_floor_desc_t *desc)
{
  OvsInstance *instance;
  ovstage_enqueue_result_t result;
  GError *error = NULL;

  if (desc == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "desc is NULL, expected a write floor");
  if (desc->scope != OVSTAGE_SCOPE_ALL && !ovs_check_array (desc->attributes, desc->attribute_count, "attributes", &error))
    return ovs_enqueue_fail (error);
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  result = ovs_instance_finish (instance, ovs_stage_advance (instance->stage, desc->ordinal, desc->scope, desc->attributes,
                                                             desc->attribute_count));
  ovs_instance_leave (instance);
  return result;
}

/* Takes @op. */
static ovstage_enqueue_result_t
finish_ordinal_query (OvsInstance *instance, OvsOp *op, ovstage_ordinal_query_handle_t *out_query)
{
  if (ovs_op_get_id (op) != 0)
    *out_query = ovs_instance_add_op (instance, OVS_HANDLE_ORDINAL_QUERY, op);
  return ovs_instance_finish (instance, op);
}

static ovstage_enqueue_result_t
query_ordinal (ovstage_instance_t *pointer, OvsOrdinalKind what, ovx_string_or_token_t attribute,
               ovstage_ordinal_query_handle_t *out_query)
{
  OvsInstance *instance;
  ovstage_enqueue_result_t result;
  GError *error = NULL;
  guint64 token;

  if (out_query == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query is NULL, expected where to put the handle");
  *out_query = OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE;
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  if (!ovs_instance_resolve (instance, attribute, &token, &error))
    result = ovs_enqueue_fail (error);
  else
    {
      if (what == OVS_ORDINAL_FLOOR && token != 0)
        what = OVS_ORDINAL_ATTRIBUTE_FLOOR;
      result = finish_ordinal_query (instance, ovs_stage_query_ordinal (instance->stage, what, token), out_query);
    }
  ovs_instance_leave (instance);
  return result;
}

ovstage_enqueue_result_t
ovstage_get_attribute_write_floor (ovstage_instance_t *pointer, ovx_string_or_token_t attribute,
                                   ovstage_ordinal_query_handle_t *out_query)
{
  return query_ordinal (pointer, OVS_ORDINAL_FLOOR, attribute, out_query);
}

ovstage_enqueue_result_t
ovstage_get_oldest_preserved_ordinal (ovstage_instance_t *pointer, ovstage_ordinal_query_handle_t *out_query)
{
  return query_ordinal (pointer, OVS_ORDINAL_OLDEST_PRESERVED, (ovx_string_or_token_t) { 0 }, out_query);
}

ovstage_api_status_t
ovstage_fetch_ordinal (ovstage_instance_t *pointer, ovstage_ordinal_query_handle_t query, ovstage_timeout_ns_t timeout,
                       ovstage_ordinal_t *out_ordinal)
{
  OvsInstance *instance;
  OvsOp *op;
  OvstageError status;

  if (out_ordinal == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_ordinal is NULL, expected where to put the ordinal");
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  op = ovs_instance_ref_op (instance, OVS_HANDLE_ORDINAL_QUERY, query);
  if (op == NULL)
    status = ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "ordinal query %" G_GUINT64_FORMAT " is unknown or was released", query);
  else
    status = ovs_instance_wait (instance, op, timeout);
  if (status == OVSTAGE_OK)
    {
      *out_ordinal = ovs_ordinal_get_value (op);
      ovs_thread_succeed ();
    }
  g_clear_pointer (&op, ovs_op_unref);
  ovs_instance_leave (instance);
  return status;
}

ovstage_enqueue_result_t
ovstage_release_ordinal_query (ovstage_instance_t *pointer, ovstage_ordinal_query_handle_t query)
{
  return ovs_release_handle (pointer, OVS_HANDLE_ORDINAL_QUERY, query, "ordinal query");
}
