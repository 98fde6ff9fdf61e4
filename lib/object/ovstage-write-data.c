/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/**
 * OvstageWriteData:
 *
 * What a write brings: a tensor, and which of its rows go to which elements.
 *
 * Without more, the tensor has one row for every prim of the query. A count
 * addresses the leading prims only. An index map names a row for each element:
 * rows may repeat or stay unused. A mask selects which elements are written at
 * all; the tensor still has a row for every element. Index map and mask
 * exclude each other, and either needs the count.
 *
 * The same data may be used for several writes. A write sees it as it is when
 * it is submitted; setting something later does not disturb it. Setters are not
 * for several threads at a time, nor for one thread while another submits.
 *
 * Arrays, which have a length of their own on every prim, come as one tensor for
 * each row or as rows of equal length in one tensor.
 *
 * What is set is checked by the write, whose operation tells what is wrong.
 *
 * Since: 1.0
 */

#include "config.h"

#include <ovstage/ovstage-write-data.h>

#include "tensor/ovs-payload.h"

G_DEFINE_BOXED_TYPE (OvstageWriteData, ovstage_write_data, ovstage_write_data_ref, ovstage_write_data_unref)

/**
 * ovstage_write_data_new:
 * @tensor: the rows
 *
 * Makes the data of a write to a fixed-size attribute.
 *
 * The tensor is kept until the data and every write that uses it are done.
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new (OvstageTensor *tensor)
{
  g_return_val_if_fail (tensor != NULL, NULL);

  return ovs_payload_new (tensor);
}

/**
 * ovstage_write_data_new_take:
 * @tensor: the rows, in memory that is handed over
 *
 * Makes the data of a write that may keep the memory of its tensor.
 *
 * Where the rows lie as the stage wants them, they are not copied: the memory
 * becomes the stage's and what reads give later points into it. That takes
 * elements that are compact and aligned, a row for each element, neither index map
 * nor mask, and prims that all have the attribute or none of which has it.
 * Anything else is copied, as by [ctor@Ovstage.WriteData.new].
 *
 * From here on nobody may write to the memory, whether it is kept or copied, and
 * whatever becomes of the write. The stage does not write to it either. It is let
 * go of with the last reference to @tensor: of the caller, of this data, and, once
 * the memory was kept, of the values in the stage and of the groups, tensors and
 * bytes that were read from there. A destroy notify of @tensor therefore runs
 * exactly once, in any thread, and never with a lock held.
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new_take (OvstageTensor *tensor)
{
  g_return_val_if_fail (tensor != NULL, NULL);

  return ovs_payload_new_take (tensor);
}

/**
 * ovstage_write_data_new_array:
 * @tensors: (array length=n_tensors): the rows, one tensor each
 * @n_tensors: how many there are
 *
 * Makes the data of a write to an array attribute, whose values have a length of
 * their own on every prim.
 *
 * Each tensor is one row, of as many elements as it has in all: axes of a row are
 * never folded into lanes, and an axis of extent 0 makes a row without elements.
 * All tensors have the same data type and device. Index map and mask are about
 * tensors then; what an index map names several times is stored once.
 *
 * The tensors are kept until the data and every write that uses it are done.
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new_array (OvstageTensor *const *tensors, gsize n_tensors)
{
  g_return_val_if_fail (tensors != NULL || n_tensors == 0, NULL);

  return ovs_payload_new_rows (tensors, n_tensors, FALSE);
}

/**
 * ovstage_write_data_new_array_take:
 * @tensors: (array length=n_tensors): the rows, one tensor each, in memory that is handed over
 * @n_tensors: how many there are
 *
 * Makes the data of a write to an array attribute that may keep the memory of its
 * tensors.
 *
 * The memory of each tensor whose elements are compact and aligned becomes the
 * stage's, and what reads give later points into it; this goes for any index map
 * and mask. The others are copied, as by [ctor@Ovstage.WriteData.new_array]. What
 * [ctor@Ovstage.WriteData.new_take] says of handed-over memory holds for each
 * tensor by itself: it is let go of when no row needs it.
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new_array_take (OvstageTensor *const *tensors, gsize n_tensors)
{
  g_return_val_if_fail (tensors != NULL || n_tensors == 0, NULL);

  return ovs_payload_new_rows (tensors, n_tensors, TRUE);
}

/**
 * ovstage_write_data_new_packed_array:
 * @tensor: the rows, one behind another
 *
 * Makes the data of a write to an array attribute whose rows are equally long and
 * lie in one tensor.
 *
 * There are as many rows as elements are written, or one more than the highest
 * entry of an index map; all elements of the tensor, whatever its axes, must divide
 * evenly among them.
 *
 * The tensor is kept until the data and every write that uses it are done.
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new_packed_array (OvstageTensor *tensor)
{
  g_return_val_if_fail (tensor != NULL, NULL);

  return ovs_payload_new_packed (tensor, FALSE);
}

/**
 * ovstage_write_data_new_packed_array_take:
 * @tensor: the rows, one behind another, in memory that is handed over
 *
 * Makes the data of a write like [ctor@Ovstage.WriteData.new_packed_array] that may
 * keep the memory of its tensor, on the terms of
 * [ctor@Ovstage.WriteData.new_array_take].
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new_packed_array_take (OvstageTensor *tensor)
{
  g_return_val_if_fail (tensor != NULL, NULL);

  return ovs_payload_new_packed (tensor, TRUE);
}

/**
 * ovstage_write_data_new_strings:
 * @strings: (array zero-terminated=1): the rows, UTF-8
 *
 * Makes the data of a write of texts: an array attribute of the bytes, with the
 * semantic `OVSTAGE_SEMANTIC_STRING`.
 *
 * The strings are copied. [method@Ovstage.ReadGroup.dup_string] reads them.
 *
 * Returns: (transfer full): the data
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_new_strings (const char *const *strings)
{
  g_return_val_if_fail (strings != NULL, NULL);

  return ovs_payload_new_strings (strings);
}

/**
 * ovstage_write_data_ref:
 * @self: the data of a write
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
OvstageWriteData *
ovstage_write_data_ref (OvstageWriteData *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_payload_ref (self);
}

/**
 * ovstage_write_data_unref:
 * @self: (transfer full): the data of a write
 *
 * Drops a reference, and with the last one lets go of the tensor.
 *
 * Since: 1.0
 */
void
ovstage_write_data_unref (OvstageWriteData *self)
{
  g_return_if_fail (self != NULL);

  ovs_payload_unref (self);
}

/**
 * ovstage_write_data_set_count:
 * @self: the data of a write
 * @count: a number of elements, or 0 for every prim of the query
 *
 * Sets how many prims of the query are addressed, from the first one on.
 *
 * Since: 1.0
 */
void
ovstage_write_data_set_count (OvstageWriteData *self, guint32 count)
{
  g_return_if_fail (self != NULL);

  self->count = count;
}

/**
 * ovstage_write_data_set_index_map:
 * @self: the data of a write
 * @index_map: (array length=n_index_map) (nullable): the row of each element, or `NULL` for none
 * @n_index_map: how many there are, at least the count
 *
 * Sets which row of the tensor, or which tensor of an array, each element takes.
 *
 * Entry i is a row of the tensor, not a prim. Rows may repeat, and may be left
 * out. The map is copied; a count is needed with it.
 *
 * Since: 1.0
 */
void
ovstage_write_data_set_index_map (OvstageWriteData *self, const guint32 *index_map, gsize n_index_map)
{
  g_return_if_fail (self != NULL);
  g_return_if_fail (index_map != NULL || n_index_map == 0);

  ovs_payload_set_index_map (self, index_map, n_index_map);
}

/**
 * ovstage_write_data_set_mask:
 * @self: the data of a write
 * @words: (array length=n_words) (nullable): a bit for each element, or `NULL` for none
 * @n_words: how many words there are, at least a 64th of the count, rounded up
 *
 * Sets which elements are written.
 *
 * Element i is bit `i % 64` of word `i / 64`; bits past the count are ignored.
 * Prims that are not selected keep their value, or its absence. The words are
 * copied; a count is needed with them.
 *
 * Since: 1.0
 */
void
ovstage_write_data_set_mask (OvstageWriteData *self, const guint64 *words, gsize n_words)
{
  g_return_if_fail (self != NULL);
  g_return_if_fail (words != NULL || n_words == 0);

  ovs_payload_set_mask (self, words, n_words);
}

/**
 * ovstage_write_data_set_semantic:
 * @self: the data of a write
 * @semantic: what the values mean, or `OVSTAGE_SEMANTIC_NONE` to keep what an attribute has
 *
 * Sets what the values mean.
 *
 * Since: 1.0
 */
void
ovstage_write_data_set_semantic (OvstageWriteData *self, OvstageSemantic semantic)
{
  g_return_if_fail (self != NULL);

  self->semantic = semantic;
}

/**
 * ovstage_write_data_set_sync:
 * @self: the data of a write
 * @stream: a `cudaStream_t`, 1 for the default stream, or 0 for none
 * @event: a `cudaEvent_t`, or 0 for none
 *
 * Sets what the values of a tensor on a device wait for before they are read.
 *
 * Stream and event are independent of each other. For values in CPU memory both have
 * to be 0: a write with others is refused with `OVSTAGE_ERROR_NOT_SUPPORTED`.
 *
 * Since: 1.0
 */
void
ovstage_write_data_set_sync (OvstageWriteData *self, guint64 stream, guint64 event)
{
  g_return_if_fail (self != NULL);

  self->sync_stream = stream;
  self->sync_event = event;
}
