/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-read-group.h"

#include "query/ovs-binding.h"

OvstageReadGroup *
ovs_read_group_ref (OvstageReadGroup *group)
{
  g_atomic_int_inc (&group->refs);
  return group;
}

void
ovs_read_group_unref (OvstageReadGroup *group)
{
  if (g_atomic_int_get (&group->refs) != 1 && !g_atomic_int_dec_and_test (&group->refs))
    return;
  g_clear_pointer (&group->tensor, ovs_tensor_unref);
  g_clear_pointer ((OvsPlaces **) &group->places, ovs_places_unref);
  g_clear_pointer ((OvsVersion **) &group->version, ovs_version_unref);
  ovs_path_list_unref (group->list);
  g_free (group);
}

/* The tensor holds the bytes, not the group: it may outlive it. */
static OvstageTensor *
new_tensor (OvstageReadGroup *group)
{
  const OvsVersion *version = group->version;
  gint64 shape = group->data_count;
  OvsFence *ready;
  guint8 *values = ovs_version_get_values (version, &ready);

  g_assert (ready == NULL);
  return ovs_tensor_new (group->dtype, OVS_DEVICE_CPU, 0, 1, &shape, NULL, values + (gsize) group->first_row * version->row_size,
                         OVS_TENSOR_READ_ONLY, (GDestroyNotify) ovs_buffer_unref, ovs_buffer_ref (version->values));
}

OvstageTensor *
ovs_read_group_ref_tensor (OvstageReadGroup *group, guint i)
{
  OvstageTensor *tensor;

  if (i >= group->n_tensors)
    return NULL;
  tensor = g_atomic_pointer_get (&group->tensor);
  if (tensor == NULL)
    {
      OvstageTensor *made = new_tensor (group);

      if (g_atomic_pointer_compare_and_exchange (&group->tensor, NULL, made))
        tensor = made;
      else
        {
          ovs_tensor_unref (made);
          tensor = g_atomic_pointer_get (&group->tensor);
        }
    }
  return ovs_tensor_ref (tensor);
}
