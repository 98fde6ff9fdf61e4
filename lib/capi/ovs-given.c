/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-given.h"

#include "tensor/ovs-dlpack.h"

OvsGivenGroup *
ovs_given_group_new (OvstageReadGroup *group)
{
  OvsGivenGroup *given = g_new0 (OvsGivenGroup, 1);
  guint n = group->n_tensors;

  given->group = group;
  given->tensors = &given->one;
  if (n > 1)
    {
      given->tensors = g_new (DLTensor, n);
      given->refs = g_new (OvstageTensor *, n);
    }
  for (guint i = 0; i < n; i++)
    {
      OvstageTensor *tensor = ovs_read_group_ref_tensor (group, i);

      ovs_dlpack_lend (tensor, &given->tensors[i]);
      if (n > 1)
        given->refs[i] = tensor;
      else
        given->one_ref = tensor;
    }
  return given;
}

void
ovs_given_group_free (OvsGivenGroup *given)
{
  for (guint i = 0; given->refs != NULL && i < given->group->n_tensors; i++)
    ovs_tensor_unref (given->refs[i]);
  g_free (given->refs);
  if (given->tensors != &given->one)
    g_free (given->tensors);
  g_clear_pointer (&given->one_ref, ovs_tensor_unref);
  ovs_read_group_unref (given->group);
  g_free (given);
}

void
ovs_given_group_fill (const OvsGivenGroup *given, ovstage_read_group_t *out)
{
  const OvstageReadGroup *group = given->group;

  *out = (ovstage_read_group_t) {
    .attribute = group->attribute,
    .ordinal = group->ordinal,
    .is_delete = group->is_delete,
    .is_array = group->is_array,
    .semantic = group->semantic,
    .prims = {
      .list = given->list,
      .offset = group->prim_offset,
      .count = group->prim_count,
      .index_map = group->prim_map,
    },
    .data = {
      .tensors = group->n_tensors > 0 ? given->tensors : NULL,
      .tensor_count = group->n_tensors,
      .count = group->is_delete ? 0 : group->prim_count,
      .index_map = group->data_map,
    },
    .meta = {
      .attribute_write_floor_ordinal = group->write_floor,
      .layout_generation = group->layout_generation,
    },
  };
}

void
ovs_given_result_free (OvsGivenResult *given)
{
  g_free (given->attributes);
  g_free (given);
}
