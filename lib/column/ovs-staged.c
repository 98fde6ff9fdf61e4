/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-staged.h"

#include "base/ovs-sync.h"
#include "column/ovs-column.h"
#include "device/ovs-device.h"

#include <string.h>

#define FIRST_CAPACITY 64
#define LAST_CAPACITY 65536

static void
free_delete (gpointer data)
{
  OvsDelete *entry = data;

  ovs_path_list_unref (entry->list);
  g_free (entry->spared);
  g_free (entry);
}

OvsDeletes *
ovs_deletes_new (void)
{
  return g_ptr_array_new_with_free_func (free_delete);
}

OvsDelete *
ovs_deletes_add (OvsDeletes *deletes, guint64 ordinal, guint64 seq, OvstagePathList *list)
{
  OvsDelete *entry = g_new0 (OvsDelete, 1);
  guint at = deletes->len;

  entry->ordinal = ordinal;
  entry->seq = seq;
  entry->list = ovs_path_list_ref (list);
  while (at > 0 && ((OvsDelete *) deletes->pdata[at - 1])->ordinal > ordinal)
    at--;
  g_ptr_array_insert (deletes, (gint) at, entry);
  return entry;
}

void
ovs_delete_spare (OvsDelete *delete, guint32 attribute)
{
  delete->spared = g_renew (guint32, delete->spared, delete->n_spared + 1);
  delete->spared[delete->n_spared++] = attribute;
}

gboolean
ovs_delete_touches (const OvsDelete *delete, guint32 attribute)
{
  for (guint i = 0; i < delete->n_spared; i++)
    if (delete->spared[i] == attribute)
      return FALSE;
  return TRUE;
}

void
ovs_deletes_retire (OvsDeletes *deletes, guint64 ordinal)
{
  guint n = 0;

  while (n < deletes->len && ((OvsDelete *) deletes->pdata[n])->ordinal <= ordinal)
    n++;
  if (n > 0)
    g_ptr_array_remove_range (deletes, 0, n);
}

guint64
ovs_deletes_get_last (const OvsDeletes *deletes)
{
  return deletes->len > 0 ? ((OvsDelete *) deletes->pdata[deletes->len - 1])->ordinal : 0;
}

OvsRowPromise *
ovs_row_promise_new (const guint64 *mask, guint32 count, guint32 first, OvsBuffer *of)
{
  OvsRowPromise *promise = g_new (OvsRowPromise, 1);

  promise->refs = 1;
  promise->filled = FALSE;
  promise->count = count;
  promise->mask = g_atomic_rc_box_acquire ((gpointer) mask);
  promise->first = first;
  promise->of = of != NULL ? ovs_buffer_ref (of) : NULL;
  return promise;
}

OvsRowPromise *
ovs_row_promise_ref (OvsRowPromise *promise)
{
  g_atomic_int_inc (&promise->refs);
  return promise;
}

void
ovs_row_promise_unref (OvsRowPromise *promise)
{
  if (!g_atomic_int_dec_and_test (&promise->refs))
    return;
  ovs_rc_box_release (promise->mask);
  g_clear_pointer (&promise->of, ovs_buffer_unref);
  g_free (promise);
}

const guint32 *
ovs_part_peek_rows (const OvsPart *part, guint32 **scratch)
{
  const OvsRowPromise *promise = part->promise;
  guint32 n = 0, *rows;

  *scratch = NULL;
  if (promise == NULL || g_atomic_int_get (&promise->filled))
    return ovs_part_get_rows (part);
  rows = *scratch = g_new (guint32, MAX (part->n, 1));
  for (guint32 i = 0; i < promise->count; i++)
    if ((promise->mask[i / 64] >> (i % 64)) & 1)
      rows[n++] = promise->of != NULL ? ((const guint32 *) promise->of->data)[i] : promise->first + i;
  return rows;
}

OvsWriteSet *
ovs_write_set_new (OvsColumn *column, guint64 ordinal)
{
  OvsWriteSet *set = g_steal_pointer (&column->attr->spare_set);

  if (set == NULL)
    set = g_new (OvsWriteSet, 1);
  set->column = column;
  set->ordinal = ordinal;
  set->structural = FALSE;
  set->bytes = 0;
  set->n_parts = 0;
  set->parts_capacity = 1;
  set->parts = &set->first_part;
  return set;
}

static void
clear_part (OvsPart *part)
{
  g_clear_pointer (&part->rows, ovs_buffer_unref);
  g_clear_pointer (&part->values, ovs_buffer_unref);
  g_clear_pointer (&part->heap, ovs_heap_unref);
  g_clear_pointer (&part->promise, ovs_row_promise_unref);
}

void
ovs_write_set_free (OvsWriteSet *set)
{
  for (guint i = 0; i < set->n_parts; i++)
    clear_part (&set->parts[i]);
  if (set->parts != &set->first_part)
    g_free (set->parts);
  if (set->column->attr->spare_set == NULL)
    set->column->attr->spare_set = set;
  else
    g_free (set);
}

OvsWriteSet *
ovs_write_set_freeze (const OvsWriteSet *set)
{
  OvsWriteSet *frozen = g_new (OvsWriteSet, 1);

  *frozen = *set;
  frozen->parts_capacity = set->n_parts;
  frozen->parts = set->n_parts == 1 ? &frozen->first_part : g_new (OvsPart, set->n_parts);
  for (guint i = 0; i < set->n_parts; i++)
    {
      OvsPart *part = &frozen->parts[i];

      *part = set->parts[i];
      if (part->rows != NULL)
        ovs_buffer_ref (part->rows);
      if (part->promise != NULL)
        ovs_row_promise_ref (part->promise);
      if (part->heap != NULL)
        ovs_heap_ref (part->heap);
      ovs_buffer_ref (part->values);
    }
  return frozen;
}

void
ovs_write_set_free_frozen (OvsWriteSet *frozen)
{
  for (guint i = 0; i < frozen->n_parts; i++)
    clear_part (&frozen->parts[i]);
  if (frozen->parts != &frozen->first_part)
    g_free (frozen->parts);
  g_free (frozen);
}

static gsize
part_bytes (const OvsPart *part)
{
  return part->values->capacity + (part->rows != NULL ? part->rows->capacity : 0) + part->heap_bytes;
}

static OvsPart *
push_part (OvsWriteSet *set)
{
  if (set->n_parts == set->parts_capacity)
    {
      OvsPart *parts = g_new (OvsPart, set->parts_capacity * 2);

      memcpy (parts, set->parts, sizeof *parts * set->n_parts);
      if (set->parts != &set->first_part)
        g_free (set->parts);
      set->parts = parts;
      set->parts_capacity *= 2;
    }
  return &set->parts[set->n_parts++];
}

static gboolean
overwrites (const OvsPart *part, guint32 first, guint32 n, OvsBuffer *rows, guint32 n_head_rows)
{
  if (rows != NULL)
    return part->rows == rows && part->n <= n;
  if (first == 0 && n >= n_head_rows)
    return TRUE;
  return part->rows == NULL && part->first >= first && part->first + part->n <= first + n;
}

void
ovs_write_set_add (OvsWriteSet *set, guint64 seq, guint32 first, guint32 n, OvsBuffer *rows, OvsBuffer *values,
                   OvsHeap *heap, OvsRowPromise *promise, guint32 n_head_rows)
{
  guint n_kept = 0;
  OvsPart *part;

  for (guint i = 0; i < set->n_parts; i++)
    {
      if (overwrites (&set->parts[i], first, n, rows, n_head_rows))
        {
          set->bytes -= part_bytes (&set->parts[i]);
          clear_part (&set->parts[i]);
        }
      else
        set->parts[n_kept++] = set->parts[i];
    }
  set->n_parts = n_kept;

  part = push_part (set);
  part->seq = seq;
  part->n = n;
  part->first = first;
  part->rows = rows;
  part->values = values;
  part->heap = heap != NULL ? ovs_heap_ref (heap) : NULL;
  part->heap_bytes = heap != NULL ? heap->bytes : 0;
  part->promise = promise != NULL ? ovs_row_promise_ref (promise) : NULL;
  part->capacity = 0;
  set->bytes += part_bytes (part);
}

gboolean
ovs_write_set_reserve (OvsWriteSet *set, OvsPool *pool, guint64 seq, guint32 n, guint32 row_size)
{
  OvsPart *part = set->n_parts > 0 ? &set->parts[set->n_parts - 1] : NULL;

  if (part == NULL || part->capacity - MIN (part->n, part->capacity) < n)
    {
      guint32 capacity = part != NULL && part->capacity > 0 ? MIN (part->capacity * 2, LAST_CAPACITY) : FIRST_CAPACITY;
      OvsBuffer *row_buffer, *value_buffer;

      capacity = MAX (capacity, n);
      row_buffer = ovs_pool_alloc (pool, (gsize) capacity * sizeof (guint32));
      value_buffer = row_buffer != NULL ? ovs_pool_alloc (pool, (gsize) capacity * row_size) : NULL;
      if (value_buffer == NULL)
        {
          g_clear_pointer (&row_buffer, ovs_buffer_unref);
          return FALSE;
        }
      part = push_part (set);
      part->seq = seq;
      part->n = 0;
      part->first = 0;
      part->rows = row_buffer;
      part->values = value_buffer;
      part->heap = NULL;
      part->heap_bytes = 0;
      part->promise = NULL;
      part->capacity = capacity;
      set->bytes += part_bytes (part);
    }
  return TRUE;
}

void
ovs_write_set_unreserve (OvsWriteSet *set)
{
  OvsPart *part = &set->parts[set->n_parts - 1];

  if (part->n > 0)
    return;
  set->bytes -= part_bytes (part);
  clear_part (part);
  set->n_parts--;
}

void
ovs_write_set_append (OvsWriteSet *set, guint32 n, guint32 row_size, guint32 **rows, guint8 **values)
{
  OvsPart *part = &set->parts[set->n_parts - 1];

  *rows = (guint32 *) part->rows->data + part->n;
  *values = part->values->data + (gsize) part->n * row_size;
  part->n += n;
}

void
ovs_write_set_append_heap (OvsWriteSet *set, const OvsHeap *heap)
{
  OvsPart *part = &set->parts[set->n_parts - 1];

  if (part->heap == NULL)
    part->heap = ovs_heap_new ();
  for (guint i = 0; i < heap->n; i++)
    ovs_heap_add (part->heap, ovs_buffer_ref (heap->buffers[i]));
  part->heap_bytes += heap->bytes;
  set->bytes += heap->bytes;
}

void
ovs_write_set_close_part (OvsWriteSet *set)
{
  if (set->n_parts > 0 && set->parts[set->n_parts - 1].capacity > 0)
    set->parts[set->n_parts - 1].capacity = set->parts[set->n_parts - 1].n;
}

guint32
ovs_part_get_end (const OvsPart *part, const guint32 *rows)
{
  if (part->n == 0)
    return 0;
  if (rows == NULL)
    return part->first + part->n;
  return ovs_cpu_max_u32 (rows, part->n) + 1;
}
