/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-map-group.h>

#include "op/ovs-map-group.h"

/**
 * OvstageMapGroup:
 *
 * One writable piece of a map: prims, and the memory of their values.
 *
 * Prim `i` of the group is an entry of the path list of the query, told by
 * [method@Ovstage.MapGroup.prim_index]; its value is row `i` of the tensor, or
 * tensor `i` of an attribute of arrays. A map has one group, of all prims of its
 * query in their order, unless they carry the attribute with different semantics:
 * then it has one for each of these.
 *
 * The memory is the user's until the group is committed or the map ends. After a
 * commit, tensors are read-only and those that were taken before must not be written
 * to any more; see [class@Ovstage.Map].
 *
 * All functions may be called from any thread. What is written into the tensors is
 * for their users to order.
 *
 * Since: 1.0
 */

G_DEFINE_BOXED_TYPE (OvstageMapGroup, ovstage_map_group, ovstage_map_group_ref, ovstage_map_group_unref)

/**
 * ovstage_map_group_ref:
 * @self: a group
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
OvstageMapGroup *
ovstage_map_group_ref (OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_map_group_ref (self);
}

/**
 * ovstage_map_group_unref:
 * @self: (transfer full): a group
 *
 * Drops a reference. The map has one of its own: dropping the others does not
 * commit the group and does not discard it.
 *
 * Since: 1.0
 */
void
ovstage_map_group_unref (OvstageMapGroup *self)
{
  g_return_if_fail (self != NULL);

  ovs_map_group_unref (self);
}

/**
 * ovstage_map_group_get_attribute:
 * @self: a group
 *
 * Gets the attribute.
 *
 * Returns: the token of its name
 *
 * Since: 1.0
 */
OvstageToken
ovstage_map_group_get_attribute (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->attribute;
}

/**
 * ovstage_map_group_get_ordinal:
 * @self: a group
 *
 * Gets the ordinal that the values will have.
 *
 * Returns: the ordinal of the map
 *
 * Since: 1.0
 */
guint64
ovstage_map_group_get_ordinal (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->ordinal;
}

/**
 * ovstage_map_group_is_array:
 * @self: a group
 *
 * Tells whether each prim has an array of rows, rather than one row.
 *
 * Returns: `TRUE` for an array attribute
 *
 * Since: 1.0
 */
gboolean
ovstage_map_group_is_array (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return self->schema.is_array;
}

/**
 * ovstage_map_group_get_semantic:
 * @self: a group
 *
 * Gets what the values mean.
 *
 * Returns: the semantic of the attribute
 *
 * Since: 1.0
 */
OvstageSemantic
ovstage_map_group_get_semantic (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, OVSTAGE_SEMANTIC_NONE);

  return self->schema.semantic;
}

/**
 * ovstage_map_group_get_data_type:
 * @self: a group
 *
 * Gets the type of one row.
 *
 * Returns: (transfer none): the data type, which lives as long as the group
 *
 * Since: 1.0
 */
const OvstageDataType *
ovstage_map_group_get_data_type (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return &self->schema.dtype;
}

/**
 * ovstage_map_group_get_path_list:
 * @self: a group
 *
 * Gets the path list of the query, which the prims of the group are entries of.
 *
 * Returns: (transfer none): the list, which lives as long as the group
 *
 * Since: 1.0
 */
OvstagePathList *
ovstage_map_group_get_path_list (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->list;
}

/**
 * ovstage_map_group_get_prim_offset:
 * @self: a group
 *
 * Gets the entry of the path list that the first prim is, if there is no index map.
 *
 * Returns: the entry
 *
 * Since: 1.0
 */
guint32
ovstage_map_group_get_prim_offset (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->prim_offset;
}

/**
 * ovstage_map_group_get_prim_count:
 * @self: a group
 *
 * Gets the number of prims.
 *
 * Returns: the number of prims
 *
 * Since: 1.0
 */
guint32
ovstage_map_group_get_prim_count (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->prim_count;
}

/**
 * ovstage_map_group_has_prim_index_map:
 * @self: a group
 *
 * Tells whether the prims do not lie side by side in the path list.
 *
 * Returns: `TRUE` if they do not
 *
 * Since: 1.0
 */
gboolean
ovstage_map_group_has_prim_index_map (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return self->prim_map != NULL;
}

/**
 * ovstage_map_group_prim_index:
 * @self: a group
 * @i: which prim of the group
 *
 * Gets the entry of the path list that prim @i is, with the offset included.
 *
 * Returns: the entry; `G_MAXUINT32` if there is no prim @i
 *
 * Since: 1.0
 */
guint32
ovstage_map_group_prim_index (const OvstageMapGroup *self, guint32 i)
{
  g_return_val_if_fail (self != NULL, G_MAXUINT32);

  return i < self->prim_count ? ovs_map_group_prim_index (self, i) : G_MAXUINT32;
}

/**
 * ovstage_map_group_dup_prim_indices:
 * @self: a group
 * @n_indices: (out): return location for the number of prims
 *
 * Gets for all prims what [method@Ovstage.MapGroup.prim_index] tells of one.
 *
 * Returns: (array length=n_indices) (transfer full): one entry of the path list a prim
 *
 * Since: 1.0
 */
guint32 *
ovstage_map_group_dup_prim_indices (const OvstageMapGroup *self, gsize *n_indices)
{
  guint32 *indices;

  g_return_val_if_fail (self != NULL, NULL);
  g_return_val_if_fail (n_indices != NULL, NULL);

  *n_indices = self->prim_count;
  indices = g_new (guint32, MAX (self->prim_count, 1));
  for (guint32 i = 0; i < self->prim_count; i++)
    indices[i] = ovs_map_group_prim_index (self, i);
  return indices;
}

/**
 * ovstage_map_group_get_n_tensors:
 * @self: a group
 *
 * Gets the number of tensors: 1, or one for each prim of an attribute of arrays.
 *
 * Returns: the number of tensors
 *
 * Since: 1.0
 */
guint
ovstage_map_group_get_n_tensors (OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return ovs_map_group_get_n_tensors (self);
}

/**
 * ovstage_map_group_ref_tensor:
 * @self: a group
 * @i: which tensor
 *
 * Takes a tensor over the memory of the group.
 *
 * The tensor of a fixed attribute has one axis, of a row for each prim, with compact
 * strides; its memory is aligned to 256 bytes. It is writable until the group is
 * committed, and read-only after that. It may be held for longer than the group.
 *
 * Returns: (transfer full) (nullable): a new tensor; `NULL` if there is no tensor @i, or the
 *   group was discarded
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_map_group_ref_tensor (OvstageMapGroup *self, guint i)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_map_group_ref_tensor (self, i);
}

/**
 * ovstage_map_group_set_bytes:
 * @self: a group
 * @i: which tensor
 * @offset: where to begin in the tensor, in bytes
 * @bytes: what to copy there
 * @error: return location for a [error@Ovstage.Error]
 *
 * Copies bytes into the memory of the group, for languages that cannot write through
 * the pointer of a tensor.
 *
 * Bytes past the end of the tensor, or no such tensor, give
 * `OVSTAGE_ERROR_INVALID_ARGUMENT`; a group that was committed or discarded
 * `OVSTAGE_ERROR_INVALID_HANDLE`. Nothing is copied then.
 *
 * Returns: `TRUE` if it was copied, `FALSE` with @error set otherwise
 *
 * Since: 1.0
 */
gboolean
ovstage_map_group_set_bytes (OvstageMapGroup *self, guint i, gsize offset, GBytes *bytes, GError **error)
{
  gconstpointer data;
  gsize n;

  g_return_val_if_fail (self != NULL, FALSE);
  g_return_val_if_fail (bytes != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  data = g_bytes_get_data (bytes, &n);
  return ovs_map_group_set_bytes (self, i, offset, data, n, error);
}

/**
 * ovstage_map_group_is_writable:
 * @self: a group
 *
 * Tells whether the group was neither committed nor discarded.
 *
 * Returns: `TRUE` while its memory may be written
 *
 * Since: 1.0
 */
gboolean
ovstage_map_group_is_writable (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return ovs_map_group_is_open (self);
}

/**
 * ovstage_map_group_get_write_floor:
 * @self: a group
 *
 * Gets the write floor that the attribute had when the map was made.
 *
 * Returns: the write floor
 *
 * Since: 1.0
 */
guint64
ovstage_map_group_get_write_floor (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->write_floor;
}

/**
 * ovstage_map_group_get_layout_generation:
 * @self: a group
 *
 * Gets a number of the attribute that rises when the set or order of the prims that
 * carry it changes, as it was when the map was made.
 *
 * Returns: the generation
 *
 * Since: 1.0
 */
guint64
ovstage_map_group_get_layout_generation (const OvstageMapGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->layout_generation;
}
