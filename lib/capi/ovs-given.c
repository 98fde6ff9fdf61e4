/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-given.h"

#include "tensor/ovs-dlpack.h"

typedef OvstageTensor *(*RefTensorFunc) (gpointer group, guint i);

static void
fill_tensors (OvsGivenTensors *given, guint n, RefTensorFunc ref_tensor, gpointer group)
{
  given->n = n;
  given->tensors = n > 1 ? g_new (DLTensor, n) : &given->one;
  given->refs = n > 1 ? g_new (OvstageTensor *, n) : &given->one_ref;
  for (guint i = 0; i < n; i++)
    {
      /* NULL where another thread discarded the map by now. */
      given->refs[i] = ref_tensor (group, i);
      if (given->refs[i] != NULL)
        ovs_dlpack_lend (given->refs[i], &given->tensors[i]);
      else
        given->tensors[i] = (DLTensor) { 0 };
    }
}

static void
let_go_of_tensors (OvsGivenTensors *given)
{
  for (guint i = 0; given->refs != NULL && i < given->n; i++)
    g_clear_pointer (&given->refs[i], ovs_tensor_unref);
  if (given->refs != &given->one_ref)
    g_free (given->refs);
  given->refs = NULL;
}

static void
clear_tensors (OvsGivenTensors *given)
{
  let_go_of_tensors (given);
  if (given->tensors != &given->one)
    g_free (given->tensors);
}

OvsGivenGroup *
ovs_given_group_new (OvstageReadGroup *group)
{
  OvsGivenGroup *given = g_new0 (OvsGivenGroup, 1);

  given->group = group;
  fill_tensors (&given->tensors, group->n_tensors, (RefTensorFunc) ovs_read_group_ref_tensor, group);
  return given;
}

void
ovs_given_group_free (OvsGivenGroup *given)
{
  clear_tensors (&given->tensors);
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
      .tensors = given->tensors.n > 0 ? given->tensors.tensors : NULL,
      .tensor_count = given->tensors.n,
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

static void
free_piece (gpointer data)
{
  OvsGivenPiece *piece = data;

  clear_tensors (&piece->tensors);
  g_clear_pointer (&piece->group, ovs_map_group_unref);
  g_free (piece);
}

OvsGivenMap *
ovs_given_map_new (OvsOp *op)
{
  OvsGivenMap *map = g_new (OvsGivenMap, 1);

  *map = (OvsGivenMap) { 1, ovs_op_ref (op), g_ptr_array_new_with_free_func (free_piece) };
  return map;
}

void
ovs_given_map_unref (OvsInstance *instance, OvsGivenMap *map)
{
  if (!g_atomic_int_dec_and_test (&map->refs))
    return;
  for (guint i = 0; i < map->pieces->len; i++)
    {
      const OvsGivenPiece *piece = map->pieces->pdata[i];

      if (piece->group != NULL)
        ovs_instance_unref_list_handle (instance, piece->list, TRUE);
    }
  g_ptr_array_unref (map->pieces);
  ovs_op_unref (map->op);
  g_free (map);
}

OvsGivenPiece *
ovs_given_piece_new (OvstageMapGroup *group)
{
  OvsGivenPiece *piece = g_new0 (OvsGivenPiece, 1);

  piece->group = group;
  fill_tensors (&piece->tensors, ovs_map_group_get_n_tensors (group), (RefTensorFunc) ovs_map_group_ref_tensor, group);
  return piece;
}

void
ovs_given_piece_fill (const OvsGivenPiece *piece, ovstage_map_group_t *out)
{
  const OvstageMapGroup *group = piece->group;

  *out = (ovstage_map_group_t) {
    .prims = {
      .list = piece->list,
      .offset = group->prim_offset,
      .count = group->prim_count,
      .index_map = group->prim_map,
    },
    .data = {
      .tensors = piece->tensors.n > 0 ? piece->tensors.tensors : NULL,
      .tensor_count = piece->tensors.n,
      .count = group->prim_count,
    },
    .meta = {
      .attribute_write_floor_ordinal = group->write_floor,
      .layout_generation = group->layout_generation,
    },
  };
}

void
ovs_given_piece_let_go (OvsGivenPiece *piece)
{
  let_go_of_tensors (&piece->tensors);
}
