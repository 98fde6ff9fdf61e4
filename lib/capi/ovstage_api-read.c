/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-given.h"
#include "capi/ovs-instance.h"

ovstage_enqueue_result_t
ovstage_read_attributes (ovstage_instance_t *pointer, ovstage_query_handle_t handle, const ovx_token_t *attributes,
                         size_t num_attributes, ovstage_ordinal_range_t range, ovstage_read_handle_t *out_read)
{
  const OvstageOrdinalRange core_range = { range.start_ordinal, range.end_ordinal, range.has_start_ordinal };
  OvsInstance *instance;
  ovstage_enqueue_result_t result;
  OvsOp *query, *read;
  GError *error = NULL;

  if (out_read == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_read is NULL, expected where to put the handle");
  *out_read = OVSTAGE_INVALID_READ_HANDLE;
  if (!ovs_check_array (attributes, num_attributes, "attributes", &error))
    return ovs_enqueue_fail (error);
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  query = ovs_instance_ref_op (instance, OVS_HANDLE_QUERY, handle);
  read = ovs_stage_read (instance->stage, query, attributes, num_attributes, &core_range, NULL);
  if (ovs_op_get_id (read) != 0)
    *out_read = ovs_instance_add_op (instance, OVS_HANDLE_READ, read);
  result = ovs_instance_finish (instance, read);
  g_clear_pointer (&query, ovs_op_unref);
  ovs_instance_leave (instance);
  return result;
}

/* Takes @group. */
static void
give_group (OvsInstance *instance, OvstageReadGroup *group, ovstage_read_group_t *out)
{
  OvsGivenGroup *given = ovs_given_group_new (group);

  given->list = ovs_instance_add_list (instance, group->list, TRUE);
  ovs_given_group_fill (given, out);
  ovs_mutex_lock (&instance->lock);
  out->read_group_id = ovs_handles_add (&instance->handles, OVS_HANDLE_READ_GROUP, given);
  ovs_mutex_unlock (&instance->lock);
}

ovstage_api_status_t
ovstage_fetch_read_next (ovstage_instance_t *pointer, ovstage_read_handle_t handle, ovstage_timeout_ns_t timeout,
                         ovstage_read_group_t *out_group)
{
  OvsInstance *instance;
  OvsOp *read;
  OvstageReadGroup *group = NULL;
  OvstageError status;
  GError *error = NULL;

  if (out_group == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_group is NULL, expected where to put the group");
  *out_group = (ovstage_read_group_t) { 0 };
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  read = ovs_instance_ref_op (instance, OVS_HANDLE_READ, handle);
  if (read == NULL)
    status = ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "read %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    status = ovs_instance_wait (instance, read, timeout);
  if (status == OVSTAGE_OK)
    {
      if (!ovs_read_next (read, &group, &error))
        status = ovs_thread_fail (error);
      else
        {
          ovs_thread_succeed ();
          if (group != NULL)
            give_group (instance, group, out_group);
          else
            status = OVSTAGE_ERROR_END_OF_ITERATION;
        }
    }
  g_clear_pointer (&read, ovs_op_unref);
  ovs_instance_leave (instance);
  return status;
}

ovstage_api_status_t
ovstage_release_group (ovstage_instance_t *pointer, const ovstage_read_group_t *group)
{
  OvsInstance *instance;
  OvsGivenGroup *given;
  guint64 handle;

  if (group == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "group is NULL, expected one that was fetched");
  handle = group->read_group_id;
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  ovs_mutex_lock (&instance->lock);
  given = ovs_handles_steal (&instance->handles, OVS_HANDLE_READ_GROUP, handle);
  ovs_mutex_unlock (&instance->lock);
  if (given != NULL)
    {
      ovs_instance_unref_list_handle (instance, given->list, TRUE);
      ovs_given_group_free (given);
    }
  ovs_instance_leave (instance);
  if (given == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "read group %" G_GUINT64_FORMAT " is unknown or was released", handle);
  return ovs_thread_succeed ();
}

ovstage_enqueue_result_t
ovstage_release_read (ovstage_instance_t *pointer, ovstage_read_handle_t read)
{
  return ovs_release_handle (pointer, OVS_HANDLE_READ, read, "read");
}
