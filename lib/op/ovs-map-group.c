/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-map-group.h"

#include <string.h>

#include "base/ovs-error.h"

OvstageMapGroup *
ovs_map_group_new (const OvsSchema *schema, OvstagePathList *list, guint32 prim_count, guint32 *prim_map, OvsBuffer *buffer)
{
  OvstageMapGroup *group = g_new0 (OvstageMapGroup, 1);

  group->refs = 1;
  group->state = OVS_MAP_GROUP_OPEN;
  group->schema = *schema;
  group->row_size = ovs_dtype_row_bits (schema->dtype) / 8;
  group->list = ovs_path_list_ref (list);
  group->prim_count = prim_count;
  group->prim_map = prim_map;
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
  return 1;
}

OvstageTensor *
ovs_map_group_ref_tensor (OvstageMapGroup *group, guint i)
{
  gint state = g_atomic_int_get (&group->state);
  gint64 shape = group->prim_count;

  if (i >= ovs_map_group_get_n_tensors (group) || state == OVS_MAP_GROUP_DROPPED)
    return NULL;
  /* The tensor holds the bytes, not the group: it may outlive it. */
  return ovs_tensor_new (group->schema.dtype, OVS_DEVICE_CPU, 0, 1, &shape, NULL, group->buffer->data,
                         state == OVS_MAP_GROUP_OPEN ? 0 : OVS_TENSOR_READ_ONLY, (GDestroyNotify) ovs_buffer_unref,
                         ovs_buffer_ref (group->buffer));
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
  size = (gsize) ovs_tensor_n_elements (tensor) * group->row_size;
  if (offset > size || n > size - offset)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "%" G_GSIZE_FORMAT " bytes at offset %" G_GSIZE_FORMAT ", the tensor has %" G_GSIZE_FORMAT, n, offset, size);
  if (n > 0)
    memcpy (tensor->data + offset, bytes, n);
  return TRUE;
}
