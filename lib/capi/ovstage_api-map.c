/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-given.h"
#include "capi/ovs-instance.h"

ovstage_enqueue_result_t
ovstage_map_attribute (ovstage_instance_t *pointer, ovstage_query_handle_t handle, const ovstage_map_desc_t *desc,
                       ovstage_ordinal_t ordinal, const size_t *element_sizes, size_t num_element_sizes,
                       ovstage_map_handle_t *out_map)
{
  OvsMapRequest request = { .element_counts = element_sizes, .n_element_counts = num_element_sizes };
  OvsInstance *instance;
  ovstage_enqueue_result_t result;
  GError *error = NULL;
  guint64 token;

  if (desc == NULL || out_map == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL", desc == NULL ? "desc" : "out_map");
  *out_map = OVSTAGE_INVALID_MAP_HANDLE;
  if (!ovs_check_array (element_sizes, num_element_sizes, "element_sizes", &error))
    return ovs_enqueue_fail (error);
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  if (!ovs_instance_resolve (instance, desc->attribute, &token, &error))
    result = ovs_enqueue_fail (error);
  else
    {
      OvsOp *query = ovs_instance_ref_op (instance, OVS_HANDLE_QUERY, handle), *map;

      request.dtype = (OvstageDataType) { desc->dtype.code, desc->dtype.bits, desc->dtype.lanes };
      request.semantic = desc->semantic;
      map = ovs_stage_map (instance->stage, query, token, &request, ordinal, desc->prim_mode, NULL);
      if (ovs_op_get_id (map) != 0)
        {
          OvsGivenMap *given = ovs_given_map_new (map);

          ovs_mutex_lock (&instance->lock);
          *out_map = ovs_handles_add (&instance->handles, OVS_HANDLE_MAP, given);
          ovs_mutex_unlock (&instance->lock);
        }
      result = ovs_instance_finish (instance, map);
      g_clear_pointer (&query, ovs_op_unref);
    }
  ovs_instance_leave (instance);
  return result;
}

static OvsGivenMap *
ref_map (OvsInstance *instance, ovstage_map_handle_t handle)
{
  OvsGivenMap *map;

  ovs_mutex_lock (&instance->lock);
  map = ovs_handles_find (&instance->handles, OVS_HANDLE_MAP, handle);
  if (map != NULL)
    g_atomic_int_inc (&map->refs);
  ovs_mutex_unlock (&instance->lock);
  return map;
}

/* Takes @group. */
static void
give_piece (OvsInstance *instance, OvsGivenMap *map, OvstageMapGroup *group, ovstage_map_group_t *out)
{
  OvsGivenPiece *piece = ovs_given_piece_new (group);

  piece->list = ovs_instance_add_list (instance, group->list, TRUE);
  ovs_given_piece_fill (piece, out);
  ovs_mutex_lock (&instance->lock);
  g_ptr_array_add (map->pieces, piece);
  ovs_mutex_unlock (&instance->lock);
}

ovstage_api_status_t
ovstage_fetch_map_next (ovstage_instance_t *pointer, ovstage_map_handle_t handle, ovstage_timeout_ns_t timeout,
                        ovstage_map_group_t *out_group)
{
  OvsInstance *instance;
  OvsGivenMap *map;
  OvstageMapGroup *group = NULL;
  OvstageError status;
  GError *error = NULL;

  if (out_group == NULL)
    return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "out_group is NULL, expected where to put the group");
  *out_group = (ovstage_map_group_t) { 0 };
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return OVSTAGE_ERROR_INVALID_HANDLE;
  map = ref_map (instance, handle);
  if (map == NULL)
    status = ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "map %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    status = ovs_instance_wait (instance, map->op, timeout);
  if (status == OVSTAGE_OK)
    {
      if (!ovs_map_next (map->op, &group, &error))
        status = ovs_thread_fail (error);
      else
        {
          ovs_thread_succeed ();
          if (group != NULL)
            give_piece (instance, map, group, out_group);
          else
            status = OVSTAGE_ERROR_END_OF_ITERATION;
        }
    }
  if (map != NULL)
    ovs_given_map_unref (instance, map);
  ovs_instance_leave (instance);
  return status;
}

/* A new reference to the group that was given out as @out; NULL: it is none, or was committed. */
static OvstageMapGroup *
ref_group (OvsInstance *instance, OvsGivenMap *map, const ovstage_map_group_t *out, OvsGivenPiece **found)
{
  OvstageMapGroup *group = NULL;

  ovs_mutex_lock (&instance->lock);
  for (guint i = 0; group == NULL && i < map->pieces->len; i++)
    {
      OvsGivenPiece *piece = map->pieces->pdata[i];

      if (piece->tensors.tensors != out->data.tensors || piece->group == NULL)
        continue;
      group = ovs_map_group_ref (piece->group);
      *found = piece;
    }
  ovs_mutex_unlock (&instance->lock);
  return group;
}

static ovstage_enqueue_result_t
unmap_group (OvsInstance *instance, OvsGivenMap *map, const ovstage_map_group_t *out, ovstage_cuda_sync_t sync)
{
  OvsGivenPiece *piece = NULL;
  OvstageMapGroup *group = ref_group (instance, map, out, &piece);
  OvstageMapGroup *gone;
  OvsOp *op;

  if (group == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "group: it is of another map, or was committed");
  op = ovs_map_commit_group (map->op, group, sync.stream, sync.wait_event);

  /* Once, whoever else commits it now. */
  ovs_mutex_lock (&instance->lock);
  gone = g_steal_pointer (&piece->group);
  ovs_mutex_unlock (&instance->lock);
  if (gone != NULL)
    {
      ovs_given_piece_let_go (piece);
      ovs_map_group_unref (gone);
      ovs_instance_unref_list_handle (instance, piece->list, TRUE);
    }
  ovs_map_group_unref (group);
  return ovs_instance_finish (instance, op);
}

ovstage_enqueue_result_t
ovstage_unmap_group (ovstage_instance_t *pointer, ovstage_map_handle_t handle, const ovstage_map_group_t *group,
                     ovstage_cuda_sync_t write_done_sync)
{
  OvsInstance *instance;
  ovstage_enqueue_result_t result;
  OvsGivenMap *map;

  if (group == NULL)
    return ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT, "group is NULL, expected one that was fetched");
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  map = ref_map (instance, handle);
  if (map == NULL)
    result = ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "map %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    result = unmap_group (instance, map, group, write_done_sync);
  if (map != NULL)
    ovs_given_map_unref (instance, map);
  ovs_instance_leave (instance);
  return result;
}

/* The handle goes; what another thread still does with the map ends first. */
static OvsGivenMap *
steal_map (OvsInstance *instance, ovstage_map_handle_t handle)
{
  OvsGivenMap *map;

  ovs_mutex_lock (&instance->lock);
  map = ovs_handles_steal (&instance->handles, OVS_HANDLE_MAP, handle);
  ovs_mutex_unlock (&instance->lock);
  return map;
}

ovstage_enqueue_result_t
ovstage_unmap_attribute (ovstage_instance_t *pointer, ovstage_map_handle_t handle, ovstage_cuda_sync_t write_done_sync)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  ovstage_enqueue_result_t result;
  OvsGivenMap *map;

  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  map = steal_map (instance, handle);
  if (map == NULL)
    result = ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "map %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    {
      OvsOp *op = ovs_map_commit (map->op, write_done_sync.stream, write_done_sync.wait_event);

      ovs_given_map_unref (instance, map);
      result = ovs_instance_finish (instance, op);
    }
  ovs_instance_leave (instance);
  return result;
}

ovstage_enqueue_result_t
ovstage_discard_map (ovstage_instance_t *pointer, ovstage_map_handle_t handle)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  ovstage_enqueue_result_t result;
  OvsGivenMap *map;

  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  map = steal_map (instance, handle);
  if (map == NULL)
    result = ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "map %" G_GUINT64_FORMAT " is unknown or was released", handle);
  else
    {
      ovs_map_discard (map->op);
      ovs_given_map_unref (instance, map);
      result = ovs_instance_finish (instance, ovs_stage_accept (instance->stage));
    }
  ovs_instance_leave (instance);
  return result;
}
