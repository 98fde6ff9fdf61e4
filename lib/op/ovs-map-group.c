/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-map-group.h"

#include <string.h>

#include "base/ovs-error.h"

OvstageMapGroup *
ovs_map_group_new (const OvsSchema *schema, OvstagePathList *list, guint32 prim_count, guint32 *prim_map, guint64 *offsets,
                   OvsBuffer *buffer)
{
  OvstageMapGroup *group = g_new0 (OvstageMapGroup, 1);

  group->refs = 1;
  group->state = OVS_MAP_GROUP_OPEN;
  group->schema = *schema;
  group->row_size = schema->is_array ? 0 : ovs_dtype_row_bits (schema->dtype) / 8;
  group->list = ovs_path_list_ref (list);
  group->prim_count = prim_count;
  group->prim_map = prim_map;
  group->offsets = offsets;
  group->buffer = buffer;
  return group;
}

OvstageMapGroup *
ovs_map_group_ref (OvstageMapGroup *group)
{
  g_atomic_int_inc (&group->refs);
  return group;
}

void
ovs_map_group_unref (OvstageMapGroup *group)
{
  if (!g_atomic_int_dec_and_test (&group->refs))
    return;
  ovs_buffer_unref (group->buffer);
  ovs_path_list_unref (group->list);
  g_free (group->prim_map);
  g_free (group->offsets);
  g_free (group);
}

gboolean
ovs_map_group_end (OvstageMapGroup *group, OvsMapGroupState state)
{
  return g_atomic_int_compare_and_exchange (&group->state, OVS_MAP_GROUP_OPEN, (gint) state);
}

guint
ovs_map_group_get_n_tensors (OvstageMapGroup *group)
{
  return group->offsets != NULL ? group->prim_count : 1;
}

/* The tensor holds the bytes, not the group: it may outlive it. */
static OvstageTensor *
new_tensor (OvstageMapGroup *group, guint64 first, gint64 n, gboolean is_open)
{
  return ovs_tensor_new (group->schema.dtype, OVS_DEVICE_CPU, 0, 1, &n, NULL,
                         group->buffer->data + (gsize) first * ovs_dtype_row_bits (group->schema.dtype) / 8,
                         is_open ? 0 : OVS_TENSOR_READ_ONLY, (GDestroyNotify) ovs_buffer_unref, ovs_buffer_ref (group->buffer));
}

OvstageTensor *
ovs_map_group_ref_values (OvstageMapGroup *group)
{
  return new_tensor (group, 0, group->offsets != NULL ? (gint64) group->offsets[group->prim_count] : group->prim_count, FALSE);
}

OvstageTensor *
ovs_map_group_ref_tensor (OvstageMapGroup *group, guint i)
{
  gint state = g_atomic_int_get (&group->state);

  if (i >= ovs_map_group_get_n_tensors (group) || state == OVS_MAP_GROUP_DROPPED)
    return NULL;
  if (group->offsets == NULL)
    return new_tensor (group, 0, group->prim_count, state == OVS_MAP_GROUP_OPEN);
  return new_tensor (group, group->offsets[i], (gint64) (group->offsets[i + 1] - group->offsets[i]), state == OVS_MAP_GROUP_OPEN);
}

gboolean
ovs_map_group_set_bytes (OvstageMapGroup *group, guint i, gsize offset, const void *bytes, gsize n, GError **error)
{
  g_autoptr (OvstageTensor) tensor = ovs_map_group_ref_tensor (group, i);
  gsize size;

  if (!ovs_map_group_is_open (group))
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "group: it was committed or discarded");
  if (tensor == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "i is %u, expected below %u (tensors)", i, ovs_map_group_get_n_tensors (group));
  size = (gsize) ovs_tensor_n_elements (tensor) * ovs_dtype_row_bits (group->schema.dtype) / 8;
  if (offset > size || n > size - offset)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "%" G_GSIZE_FORMAT " bytes at offset %" G_GSIZE_FORMAT ", the tensor has %" G_GSIZE_FORMAT, n, offset, size);
  if (n > 0)
    memcpy (tensor->data + offset, bytes, n);
  return TRUE;
}
