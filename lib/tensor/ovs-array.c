/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-array.h"

#include "base/ovs-copy.h"

#include <string.h>

static const guint8 nothing[OVS_BUFFER_ALIGNMENT] __attribute__ ((aligned (OVS_BUFFER_ALIGNMENT)));

const guint8 *
ovs_array_row_get_data (const OvsArrayRow *row)
{
  return row->buffer != NULL ? row->buffer->data + row->offset : nothing;
}

OvsHeap *
ovs_heap_new (void)
{
  OvsHeap *heap = g_new0 (OvsHeap, 1);

  heap->refs = 1;
  return heap;
}

OvsHeap *
ovs_heap_ref (OvsHeap *heap)
{
  g_atomic_int_inc (&heap->refs);
  return heap;
}

void
ovs_heap_unref (OvsHeap *heap)
{
  if (!g_atomic_int_dec_and_test (&heap->refs))
    return;
  for (guint i = 0; i < heap->n; i++)
    ovs_buffer_unref (heap->buffers[i]);
  g_free (heap->buffers);
  g_free (heap);
}

void
ovs_heap_add (OvsHeap *heap, OvsBuffer *buffer)
{
  if (heap->n == heap->capacity)
    {
      heap->capacity = MAX (heap->capacity * 2, 1);
      heap->buffers = g_renew (OvsBuffer *, heap->buffers, heap->capacity);
    }
  heap->buffers[heap->n++] = buffer;
  heap->bytes += buffer->capacity;
}

OvsPackedRows *
ovs_packed_rows_new (OvstageTensor *values, OvstageTensor *offsets)
{
  OvsPackedRows *packed = g_new (OvsPackedRows, 1);

  packed->refs = 1;
  packed->values = values;
  packed->offsets = offsets;
  return packed;
}

OvsPackedRows *
ovs_packed_rows_ref (OvsPackedRows *packed)
{
  g_atomic_int_inc (&packed->refs);
  return packed;
}

void
ovs_packed_rows_unref (OvsPackedRows *packed)
{
  if (!g_atomic_int_dec_and_test (&packed->refs))
    return;
  ovs_tensor_unref (packed->values);
  ovs_tensor_unref (packed->offsets);
  g_free (packed);
}

OvsArrays *
ovs_arrays_ref (OvsArrays *arrays)
{
  g_atomic_int_inc (&arrays->refs);
  return arrays;
}

void
ovs_arrays_unref (OvsArrays *arrays)
{
  if (!g_atomic_int_dec_and_test (&arrays->refs))
    return;
  g_clear_pointer (&arrays->records, ovs_buffer_unref);
  g_clear_pointer (&arrays->heap, ovs_heap_unref);
  g_free (arrays->copies);
  ovs_payload_unref (arrays->payload);
  g_free (arrays);
}

void
ovs_arrays_drop_buffers (OvsArrays *arrays)
{
  g_clear_pointer (&arrays->records, ovs_buffer_unref);
  if (!arrays->adopts)
    g_clear_pointer (&arrays->heap, ovs_heap_unref);
}

/* Who builds the records. */
typedef struct
{
  OvsArrays *arrays;
  const OvstageWriteData *payload;
  OvsBuffer *adopted;  /* (nullable) the one tensor of packed and ragged rows */
  GArray *copies;      /* (nullable) OvsArrayCopy */
  guint32 *placed;     /* (owned) (nullable) of each row of the payload: 1 + the element that has it */
  GHashTable *far;     /* (owned) (nullable) the same, where rows are many and elements few */
} Placing;

static gboolean
can_adopt (const OvstageTensor *tensor)
{
  guint bytes = tensor->dtype.bits / 8;

  return ovs_tensor_is_compact (tensor) &&
         (bytes == 0 || (bytes & (bytes - 1)) != 0 || (guintptr) tensor->data % MIN (bytes, 16) == 0);
}

static OvsBuffer *
adopt (OvsArrays *arrays, const OvstageTensor *tensor, gsize size)
{
  OvsBuffer *buffer =
    ovs_buffer_new_adopted (tensor->data, size, (GDestroyNotify) ovs_tensor_unref, ovs_tensor_ref ((OvstageTensor *) tensor));

  arrays->adopts = TRUE;
  ovs_heap_add (arrays->heap, buffer);
  return buffer;
}

static gsize
get_size (const OvstageTensor *tensor)
{
  return (gsize) ovs_tensor_n_elements (tensor) * ovs_dtype_row_bits (tensor->dtype) / 8;
}

/* Where the bytes of a row begin in the one tensor, and how many they are. */
static gsize
find_row (const OvsArrays *arrays, guint32 row, gsize *size)
{
  const OvstageWriteData *payload = arrays->payload;
  gsize bits;

  if (payload->kind == OVS_PAYLOAD_PACKED)
    {
      *size = arrays->row_size;
      return row * arrays->row_size;
    }
  bits = ovs_dtype_row_bits (payload->tensor->dtype);
  *size = (gsize) (payload->offsets[row + 1] - payload->offsets[row]) * bits / 8;
  return (gsize) payload->offsets[row] * bits / 8;
}

/* The element that has row @row already; else notes that @element does. */
static gboolean
was_placed (Placing *placing, guint32 row, guint32 element, guint32 *before)
{
  gpointer value;

  if (placing->placed != NULL)
    {
      *before = placing->placed[row] - 1;
      if (placing->placed[row] != 0)
        return TRUE;
      placing->placed[row] = element + 1;
      return FALSE;
    }
  if (g_hash_table_lookup_extended (placing->far, GUINT_TO_POINTER (row), NULL, &value))
    {
      *before = GPOINTER_TO_UINT (value);
      return TRUE;
    }
  g_hash_table_insert (placing->far, GUINT_TO_POINTER (row), GUINT_TO_POINTER (element));
  return FALSE;
}

/* What is to be copied goes one behind another. */
static void
place_copy (Placing *placing, OvsArrayRow *record, guint32 element, guint32 row, gsize size)
{
  OvsArrays *arrays = placing->arrays;
  OvsArrayCopy copy = { element, row };

  record->offset = arrays->n_bytes;
  record->size = size;
  /* Beyond what there can be, which strides of 0 may lead to, there is no memory either. */
  if (__builtin_add_overflow (arrays->n_bytes, size, &arrays->n_bytes))
    arrays->n_bytes = G_MAXSIZE;
  arrays->n_copies++;
  if (placing->copies != NULL)
    g_array_append_val (placing->copies, copy);
}

static void
place_row (Placing *placing, OvsArrayRow *record, guint32 element, guint32 row)
{
  const OvstageWriteData *payload = placing->payload;
  gsize size, offset;

  record->buffer = NULL;
  record->offset = record->size = 0;
  if (payload->kind == OVS_PAYLOAD_ROWS)
    {
      const OvstageTensor *tensor = payload->tensors[row];

      size = get_size (tensor);
      if (size == 0)
        return;
      if (!payload->take || !can_adopt (tensor))
        place_copy (placing, record, element, row, size);
      else
        *record = (OvsArrayRow){ adopt (placing->arrays, tensor, size), 0, size };
      return;
    }

  offset = find_row (placing->arrays, row, &size);
  if (size == 0)
    return;
  if (placing->adopted != NULL)
    *record = (OvsArrayRow){ placing->adopted, offset, size };
  else
    place_copy (placing, record, element, row, size);
}

static void
place_all (Placing *placing, const OvsRows *rows, OvsArrayRow *records)
{
  for (guint32 i = 0; i < rows->count; i++)
    {
      guint32 row = rows->index_map != NULL ? rows->index_map[i] : i, before;

      if (!ovs_rows_is_selected (rows, i))
        records[i] = (OvsArrayRow){ NULL, 0, 0 };
      else if (rows->index_map != NULL && was_placed (placing, row, i, &before))
        records[i] = records[before];
      else
        place_row (placing, &records[i], i, row);
    }
}

/* Rows of a tensor each, all of which are copied: the usual case. */
static void
place_tensors (const OvsRowSource *sources, guint32 count, OvsBuffer *target, OvsArrayRow *records)
{
  gsize at = 0;

  for (guint32 i = 0; i < count; i++)
    {
      gsize size = sources[i].size;

      records[i] = size > 0 ? (OvsArrayRow){ target, at, size } : (OvsArrayRow){ NULL, 0, 0 };
      at += size;
    }
}

/* Rows of one tensor. @base: what @buffer begins with. */
static void
place_run (const OvsArrays *arrays, guint32 count, OvsBuffer *buffer, gsize base, OvsArrayRow *records)
{
  const OvstageWriteData *payload = arrays->payload;
  const guint64 *offsets = payload->offsets;
  gsize row_size = arrays->row_size, bits = ovs_dtype_row_bits (payload->tensor->dtype), at, end;

  at = end = payload->kind == OVS_PAYLOAD_RAGGED ? offsets[0] * bits / 8 : 0;
  for (guint32 i = 0; i < count; i++, at = end)
    {
      end = payload->kind == OVS_PAYLOAD_RAGGED ? offsets[i + 1] * bits / 8 : at + row_size;
      records[i] = end > at ? (OvsArrayRow){ buffer, at - base, end - at } : (OvsArrayRow){ NULL, 0, 0 };
    }
}

/* Every element is the row of its number. FALSE without memory. */
static gboolean
place_in_order (OvsArrays *arrays, guint32 count, OvsBuffer *adopted, OvsPool *pool)
{
  const OvstageWriteData *payload = arrays->payload;
  OvsArrayRow *records = (OvsArrayRow *) arrays->records->data;
  gsize base = 0, end, size;

  if (payload->kind == OVS_PAYLOAD_ROWS)
    end = payload->sources->n_bytes;
  else
    {
      base = find_row (arrays, 0, &size);
      end = find_row (arrays, count - 1, &size);
      end += size;
    }
  if (adopted != NULL)
    {
      place_run (arrays, count, adopted, 0, records);
      return TRUE;
    }
  if (end > base)
    {
      arrays->target = ovs_pool_alloc (pool, end - base);
      if (arrays->target == NULL)
        return FALSE;
      ovs_heap_add (arrays->heap, arrays->target);
      arrays->n_copies = count;
      arrays->n_bytes = end - base;
    }
  if (payload->kind == OVS_PAYLOAD_ROWS)
    place_tensors (payload->sources->rows, count, arrays->target, records);
  else
    place_run (arrays, count, arrays->target, base, records);
  return TRUE;
}

/* The memory for the copies, with a name to it in every record that needs one. */
static gboolean
place_copies (OvsArrays *arrays, guint32 count, OvsPool *pool)
{
  OvsArrayRow *records = (OvsArrayRow *) arrays->records->data;
  OvsBuffer *buffer;

  if (arrays->n_copies == 0)
    return TRUE;
  buffer = ovs_pool_alloc (pool, arrays->n_bytes);
  if (buffer == NULL)
    return FALSE;
  ovs_heap_add (arrays->heap, buffer);
  for (guint32 i = 0; i < count; i++)
    if (records[i].buffer == NULL && records[i].size > 0)
      records[i].buffer = buffer;
  return TRUE;
}

static void
place (OvsArrays *arrays, const OvsRows *rows, OvsPool *pool)
{
  const OvstageWriteData *payload = arrays->payload;
  Placing placing = { arrays, payload, NULL, NULL, NULL, NULL };

  arrays->records = ovs_pool_alloc (pool, (gsize) rows->count * sizeof (OvsArrayRow));
  if (arrays->records == NULL)
    return;

  if (payload->kind != OVS_PAYLOAD_ROWS)
    {
      gsize size = get_size (payload->tensor);

      arrays->row_size = rows->n_rows > 0 ? size / (gsize) rows->n_rows : 0;
      arrays->source.compact = ovs_tensor_is_compact (payload->tensor);
      arrays->source.base = payload->tensor->data;
      if (!arrays->source.compact)
        ovs_rows_plan (payload->tensor, TRUE, &arrays->source);
      if (payload->buffer != NULL)
        {
          placing.adopted = payload->buffer;
          ovs_heap_add (arrays->heap, ovs_buffer_ref (payload->buffer));
        }
      else if (payload->take && size > 0 && can_adopt (payload->tensor))
        placing.adopted = adopt (arrays, payload->tensor, size);
    }
  if (rows->index_map == NULL && rows->mask == NULL && rows->count > 0 &&
      (payload->kind != OVS_PAYLOAD_ROWS || (payload->sources != NULL && !payload->take)))
    {
      if (!place_in_order (arrays, rows->count, placing.adopted, pool))
        g_clear_pointer (&arrays->records, ovs_buffer_unref);
      return;
    }
  if (rows->index_map != NULL || rows->mask != NULL)
    placing.copies = g_array_new (FALSE, FALSE, sizeof (OvsArrayCopy));
  if (rows->index_map != NULL && rows->n_rows <= 4 * (gint64) rows->count + 4096)
    placing.placed = g_new0 (guint32, rows->n_rows);
  else if (rows->index_map != NULL)
    placing.far = g_hash_table_new (NULL, NULL);

  place_all (&placing, rows, (OvsArrayRow *) arrays->records->data);
  g_free (placing.placed);
  g_clear_pointer (&placing.far, g_hash_table_unref);
  if (placing.copies != NULL)
    arrays->copies = (OvsArrayCopy *) g_array_free (placing.copies, FALSE);
  else if (arrays->n_copies != rows->count)
    {
      /* Some rows are empty or adopted: those that are not are listed after all. */
      const OvsArrayRow *records = (const OvsArrayRow *) arrays->records->data;
      guint32 n = 0;

      arrays->copies = g_new (OvsArrayCopy, arrays->n_copies);
      for (guint32 i = 0; i < rows->count; i++)
        if (records[i].buffer == NULL && records[i].size > 0)
          arrays->copies[n++] = (OvsArrayCopy){ i, i };
    }
  if (!place_copies (arrays, rows->count, pool))
    g_clear_pointer (&arrays->records, ovs_buffer_unref);
}

void
ovs_rows_place (OvsRows *rows, OvstageWriteData *payload, OvsPool *pool)
{
  OvsArrays *arrays = g_new (OvsArrays, 1);

  arrays->refs = 1;
  arrays->payload = ovs_payload_ref (payload);
  arrays->records = NULL;
  arrays->heap = ovs_heap_new ();
  arrays->adopts = FALSE;
  arrays->n_copies = 0;
  arrays->copies = NULL;
  arrays->target = NULL;
  arrays->n_bytes = 0;
  arrays->row_size = 0;
  place (arrays, rows, pool);

  rows->arrays = arrays;
  rows->index_map = NULL;
  rows->n_rows = rows->count;
  rows->base = arrays->records != NULL ? arrays->records->data : NULL;
}

#define PREFETCH_ROWS 16

/* Rows that lie one behind another, as those of one array do, go together. */
static void
copy_tensors (guint8 *dst, const OvsRowSource *sources, guint32 n)
{
  for (guint32 i = 0; i < n;)
    {
      const guint8 *from = sources[i].data;
      gsize size = sources[i].size;

      while (++i < n && sources[i].data == from + size)
        size += sources[i].size;
      if (i + PREFETCH_ROWS < n)
        {
          __builtin_prefetch (sources[i + PREFETCH_ROWS].data);
          __builtin_prefetch (sources[i + PREFETCH_ROWS].data + 64);
        }
      if (ovs_copy_is_large (size))
        ovs_copy_large (dst, from, size);
      else if (size > 0)
        memcpy (dst, from, size);
      dst += size;
    }
}

/* What place_in_order() placed. */
static void
copy_in_order (const OvsArrays *arrays, guint32 first, guint32 n)
{
  const OvstageWriteData *payload = arrays->payload;
  const OvsArrayRow *records = (const OvsArrayRow *) arrays->records->data;
  guint32 end = first + n;
  gsize begin, last, size;

  while (first < end && records[first].size == 0)
    first++;
  if (first == end)
    return;
  if (payload->kind == OVS_PAYLOAD_ROWS)
    {
      copy_tensors (arrays->target->data + records[first].offset, payload->sources->rows + first, end - first);
      return;
    }
  begin = find_row (arrays, first, &size);
  last = find_row (arrays, end - 1, &size);
  ovs_rows_copy_bytes (&arrays->source, begin, last + size - begin, arrays->target->data + records[first].offset);
}

void
ovs_arrays_copy (const OvsArrays *arrays, guint32 first, guint32 n)
{
  const OvstageWriteData *payload = arrays->payload;
  const OvsArrayRow *records = (const OvsArrayRow *) arrays->records->data;

  if (arrays->target != NULL)
    {
      copy_in_order (arrays, first, n);
      return;
    }
  for (guint32 i = first; i < first + n; i++)
    {
      OvsArrayCopy copy = arrays->copies != NULL ? arrays->copies[i] : (OvsArrayCopy){ i, i };
      const OvsArrayRow *record = &records[copy.element];
      guint8 *dst = record->buffer->data + record->offset;

      if (payload->kind == OVS_PAYLOAD_ROWS)
        {
          const OvstageTensor *tensor = payload->tensors[copy.row];

          if (ovs_tensor_is_compact (tensor))
            memcpy (dst, tensor->data, record->size);
          else
            {
              OvsRows source;

              ovs_rows_plan (tensor, TRUE, &source);
              ovs_rows_copy_bytes (&source, 0, record->size, dst);
            }
        }
      else
        {
          gsize size;

          ovs_rows_copy_bytes (&arrays->source, find_row (arrays, copy.row, &size), record->size, dst);
        }
    }
}
