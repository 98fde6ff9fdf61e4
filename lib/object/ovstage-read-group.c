/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include <ovstage/ovstage-read-group.h>

#include "op/ovs-read-group.h"

/**
 * OvstageReadGroup:
 *
 * One result of a read: prims that carry one attribute in one schema, and where
 * their values are.
 *
 * Prim `i` of the group is an entry of the path list of the query, told by
 * [method@Ovstage.ReadGroup.prim_index]; its value is a row of the tensor, told by
 * [method@Ovstage.ReadGroup.data_row_index], or the tensor `i` for an attribute of
 * arrays. Every selected prim that carries the attribute is in exactly one place.
 *
 * A group is immutable. It keeps its values alive for as long as it is held, past
 * the read, later writes and the stage, and delays none of them; so do the tensors
 * taken from it. All functions may be called from any thread.
 *
 * Since: 1.0
 */

G_DEFINE_BOXED_TYPE (OvstageReadGroup, ovstage_read_group, ovstage_read_group_ref, ovstage_read_group_unref)

/**
 * ovstage_read_group_ref:
 * @self: a group
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
OvstageReadGroup *
ovstage_read_group_ref (OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_read_group_ref (self);
}

/**
 * ovstage_read_group_unref:
 * @self: (transfer full): a group
 *
 * Drops a reference. The last one releases the values, unless a tensor taken from
 * the group still holds them.
 *
 * Since: 1.0
 */
void
ovstage_read_group_unref (OvstageReadGroup *self)
{
  g_return_if_fail (self != NULL);

  ovs_read_group_unref (self);
}

/**
 * ovstage_read_group_get_attribute:
 * @self: a group
 *
 * Gets the attribute.
 *
 * Returns: the token of its name
 *
 * Since: 1.0
 */
OvstageToken
ovstage_read_group_get_attribute (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->attribute;
}

/**
 * ovstage_read_group_get_ordinal:
 * @self: a group
 *
 * Gets the ordinal of the newest change, up to what was read, among the prims of
 * the group.
 *
 * Returns: the ordinal
 *
 * Since: 1.0
 */
guint64
ovstage_read_group_get_ordinal (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->ordinal;
}

/**
 * ovstage_read_group_is_delete:
 * @self: a group
 *
 * Tells whether the group lists prims that lost the attribute in the range that was
 * read. Such a group has no tensors and no data type; it comes after the groups with
 * values. Reads of a snapshot give none.
 *
 * Returns: `TRUE` if it does
 *
 * Since: 1.0
 */
gboolean
ovstage_read_group_is_delete (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return self->is_delete;
}

/**
 * ovstage_read_group_is_array:
 * @self: a group
 *
 * Tells whether each prim has an array of rows, rather than one row.
 *
 * Returns: `TRUE` for an array attribute
 *
 * Since: 1.0
 */
gboolean
ovstage_read_group_is_array (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return self->is_array;
}

/**
 * ovstage_read_group_get_semantic:
 * @self: a group
 *
 * Gets what the values mean.
 *
 * Returns: the semantic of the attribute
 *
 * Since: 1.0
 */
OvstageSemantic
ovstage_read_group_get_semantic (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, OVSTAGE_SEMANTIC_NONE);

  return self->semantic;
}

/**
 * ovstage_read_group_get_data_type:
 * @self: a group
 *
 * Gets the type of one row; all zero for a group of deleted prims.
 *
 * Returns: (transfer none): the data type, which lives as long as the group
 *
 * Since: 1.0
 */
const OvstageDataType *
ovstage_read_group_get_data_type (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return &self->dtype;
}

/**
 * ovstage_read_group_get_path_list:
 * @self: a group
 *
 * Gets the path list of the query, which the prims of the group are entries of.
 *
 * Returns: (transfer none): the list, which lives as long as the group
 *
 * Since: 1.0
 */
OvstagePathList *
ovstage_read_group_get_path_list (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->list;
}

/**
 * ovstage_read_group_get_prim_offset:
 * @self: a group
 *
 * Gets the entry of the path list that prim 0 is, where the group has no index map:
 * prim `i` is then entry `offset + i`.
 *
 * Returns: the offset; 0 with an index map
 *
 * Since: 1.0
 */
guint32
ovstage_read_group_get_prim_offset (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->prim_offset;
}

/**
 * ovstage_read_group_get_prim_count:
 * @self: a group
 *
 * Gets the number of prims.
 *
 * Returns: the number of prims in the group
 *
 * Since: 1.0
 */
guint32
ovstage_read_group_get_prim_count (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->prim_count;
}

/**
 * ovstage_read_group_has_prim_index_map:
 * @self: a group
 *
 * Tells whether the prims are scattered over the path list, rather than a run of it.
 *
 * Returns: `TRUE` if there is an index map
 *
 * Since: 1.0
 */
gboolean
ovstage_read_group_has_prim_index_map (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return self->prim_map != NULL;
}

/**
 * ovstage_read_group_prim_index:
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
ovstage_read_group_prim_index (const OvstageReadGroup *self, guint32 i)
{
  g_return_val_if_fail (self != NULL, G_MAXUINT32);

  return i < self->prim_count ? ovs_read_group_prim_index (self, i) : G_MAXUINT32;
}

/* Entries @first and up, or a copy of @map. */
static guint32 *
dup_indices (const guint32 *map, guint32 first, guint32 n)
{
  guint32 *indices;

  if (n == 0)
    return NULL;
  indices = g_new (guint32, n);
  if (map != NULL)
    memcpy (indices, map, n * sizeof (guint32));
  else
    for (guint32 i = 0; i < n; i++)
      indices[i] = first + i;
  return indices;
}

/**
 * ovstage_read_group_dup_prim_indices:
 * @self: a group
 * @n_indices: (out): return location for the number of prims
 *
 * Gets for all prims what [method@Ovstage.ReadGroup.prim_index] tells of one.
 *
 * Returns: (array length=n_indices) (transfer full): one entry of the path list a prim
 *
 * Since: 1.0
 */
guint32 *
ovstage_read_group_dup_prim_indices (const OvstageReadGroup *self, gsize *n_indices)
{
  g_return_val_if_fail (self != NULL, NULL);
  g_return_val_if_fail (n_indices != NULL, NULL);

  *n_indices = self->prim_count;
  return dup_indices (self->prim_map, self->prim_offset, self->prim_count);
}

/**
 * ovstage_read_group_get_n_tensors:
 * @self: a group
 *
 * Gets the number of tensors: one for a fixed attribute, one for each prim for an
 * array attribute, none for deleted prims.
 *
 * Returns: the number of tensors
 *
 * Since: 1.0
 */
guint
ovstage_read_group_get_n_tensors (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->n_tensors;
}

/**
 * ovstage_read_group_ref_tensor:
 * @self: a group
 * @i: which tensor
 *
 * Takes a tensor, without copying its data.
 *
 * The tensor of a fixed attribute has one axis, of
 * [method@Ovstage.ReadGroup.get_data_count] rows, with compact strides. It is
 * read-only and never changes; it may be held for longer than the group.
 *
 * Its rows need not stand in the order of the prims, and there may be more of
 * them: prim `i` has row [method@Ovstage.ReadGroup.data_row_index] of `i`.
 *
 * For an array attribute, tensor @i holds the elements of prim @i: it has one axis,
 * whose extent is their number. Where prims took the same row through an index map,
 * their tensors share its memory.
 *
 * Returns: (transfer full) (nullable): the tensor; `NULL` if there is no tensor @i
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_read_group_ref_tensor (OvstageReadGroup *self, guint i)
{
  g_return_val_if_fail (self != NULL, NULL);

  return i < self->n_tensors ? ovs_read_group_ref_tensor (self, i) : NULL;
}

/**
 * ovstage_read_group_ref_values:
 * @self: a group of an array attribute
 * @error: return location for an error
 *
 * Takes the elements of all prims, one behind another, as one tensor.
 *
 * The elements of prim `i` are those from offset `i` up to, not including, offset
 * `i + 1` of [method@Ovstage.ReadGroup.ref_offsets]. Where the rows were written
 * together and in order, nothing is copied; otherwise they are once for all groups
 * that show the same rows.
 *
 * Fails with [error@Ovstage.Error.INVALID_ARGUMENT] for a fixed-size attribute and
 * for prims that lost the attribute, and with [error@Ovstage.Error.OUT_OF_MEMORY].
 *
 * Returns: (transfer full): the elements; `NULL` with an error set
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_read_group_ref_values (OvstageReadGroup *self, GError **error)
{
  OvstageTensor *values, *offsets;

  g_return_val_if_fail (self != NULL, NULL);

  return ovs_read_group_get_packed (self, &values, &offsets, error) ? ovs_tensor_ref (values) : NULL;
}

/**
 * ovstage_read_group_ref_offsets:
 * @self: a group of an array attribute
 * @error: return location for an error
 *
 * Takes where the elements of each prim begin among
 * [method@Ovstage.ReadGroup.ref_values], and where those of the last end.
 *
 * That is one `uint64` more than there are prims, the first of which is 0. A prim
 * without elements has the offset of the next.
 *
 * Returns: (transfer full): the offsets; `NULL` with an error set
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_read_group_ref_offsets (OvstageReadGroup *self, GError **error)
{
  OvstageTensor *values, *offsets;

  g_return_val_if_fail (self != NULL, NULL);

  return ovs_read_group_get_packed (self, &values, &offsets, error) ? ovs_tensor_ref (offsets) : NULL;
}

/**
 * ovstage_read_group_dup_string:
 * @self: a group of texts
 * @i: which prim of the group
 * @error: return location for an error
 *
 * Gets the text of prim @i, which an attribute of arrays of bytes carries, as
 * [ctor@Ovstage.WriteData.new_strings] writes them.
 *
 * Fails with [error@Ovstage.Error.INVALID_ARGUMENT] where there is no such prim, the
 * values are no arrays of bytes, or the bytes are not UTF-8 without NUL; these can be
 * had from [method@Ovstage.ReadGroup.ref_tensor].
 *
 * Returns: (transfer full): the text; `NULL` with an error set
 *
 * Since: 1.0
 */
char *
ovstage_read_group_dup_string (OvstageReadGroup *self, guint32 i, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_read_group_dup_string (self, i, error);
}

/**
 * ovstage_read_group_dup_strings:
 * @self: a group of texts
 * @error: return location for an error
 *
 * Gets for all prims what [method@Ovstage.ReadGroup.dup_string] tells of one.
 *
 * Returns: (array zero-terminated=1) (transfer full): one text a prim; `NULL` with an error set
 *
 * Since: 1.0
 */
char **
ovstage_read_group_dup_strings (OvstageReadGroup *self, GError **error)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_read_group_dup_strings (self, error);
}

/**
 * ovstage_read_group_get_data_count:
 * @self: a group
 *
 * Gets the number of rows of the data, which may be more than there are prims.
 *
 * Returns: the number of rows
 *
 * Since: 1.0
 */
guint32
ovstage_read_group_get_data_count (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->data_count;
}

/**
 * ovstage_read_group_has_data_index_map:
 * @self: a group
 *
 * Tells whether the rows are in another order than the prims. Without a map the
 * group is dense: the value of prim `i` is row `i`.
 *
 * Returns: `TRUE` if there is an index map
 *
 * Since: 1.0
 */
gboolean
ovstage_read_group_has_data_index_map (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return self->data_map != NULL;
}

/* Prims that have a row. */
static guint32
get_n_placed (const OvstageReadGroup *self)
{
  return self->is_delete ? 0 : self->prim_count;
}

/**
 * ovstage_read_group_data_row_index:
 * @self: a group
 * @i: which prim of the group
 *
 * Gets the row that holds the value of prim @i.
 *
 * Returns: the row; `G_MAXUINT32` if there is no prim @i or it has no value
 *
 * Since: 1.0
 */
guint32
ovstage_read_group_data_row_index (const OvstageReadGroup *self, guint32 i)
{
  g_return_val_if_fail (self != NULL, G_MAXUINT32);

  return i < get_n_placed (self) ? ovs_read_group_data_row (self, i) : G_MAXUINT32;
}

/**
 * ovstage_read_group_dup_data_rows:
 * @self: a group
 * @n_rows: (out): return location for the number of prims that have a row
 *
 * Gets for all prims what [method@Ovstage.ReadGroup.data_row_index] tells of one.
 *
 * Returns: (array length=n_rows) (transfer full): one row of the data a prim
 *
 * Since: 1.0
 */
guint32 *
ovstage_read_group_dup_data_rows (const OvstageReadGroup *self, gsize *n_rows)
{
  g_return_val_if_fail (self != NULL, NULL);
  g_return_val_if_fail (n_rows != NULL, NULL);

  *n_rows = get_n_placed (self);
  return dup_indices (self->data_map, 0, get_n_placed (self));
}

/**
 * ovstage_read_group_get_write_floor:
 * @self: a group
 *
 * Gets the write floor that the attribute had when it was read.
 *
 * Returns: the write floor
 *
 * Since: 1.0
 */
guint64
ovstage_read_group_get_write_floor (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->write_floor;
}

/**
 * ovstage_read_group_get_layout_generation:
 * @self: a group
 *
 * Gets a number of the attribute that rises when the set or order of the prims that
 * carry it changes, and only then. While it stays the same, so do the rows.
 *
 * Returns: the generation
 *
 * Since: 1.0
 */
guint64
ovstage_read_group_get_layout_generation (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->layout_generation;
}

/**
 * ovstage_read_group_get_sync_stream:
 * @self: a group
 *
 * Gets the stream that the data is ordered on.
 *
 * Returns: the stream; 0 for data on the CPU
 *
 * Since: 1.0
 */
guint64
ovstage_read_group_get_sync_stream (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return 0;
}

/**
 * ovstage_read_group_get_sync_event:
 * @self: a group
 *
 * Gets the event to wait for before the data is read.
 *
 * Returns: the event; 0 for data on the CPU
 *
 * Since: 1.0
 */
guint64
ovstage_read_group_get_sync_event (const OvstageReadGroup *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return 0;
}
