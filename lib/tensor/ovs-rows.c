/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-rows.h"

#include "base/ovs-copy.h"
#include "base/ovs-sync.h"

#include <string.h>

/* Where the values of the rows are: base, strides and the axes within a row.
 * Everything is counted in bits first; a step or run that is not whole bytes
 * cannot be addressed, and FALSE says so. */
gboolean
ovs_rows_plan (const OvstageTensor *tensor, gboolean whole, OvsRows *rows)
{
  gint64 element_bits = ovs_dtype_row_bits (tensor->dtype);
  gint64 run = element_bits;
  gint64 row_bits = element_bits * (whole ? ovs_tensor_n_elements (tensor) : ovs_tensor_n_row_elements (tensor));
  gint64 row_stride;
  gint n_inner = 0;

  rows->base = tensor->data;
  rows->n_rows = tensor->ndim > 0 && !whole ? tensor->shape[0] : 1;
  row_stride = row_bits;

  if (tensor->compact)
    {
      run = row_bits;
    }
  else if (row_bits > 0 && rows->n_rows > 0)
    {
      if (rows->n_rows > 1)
        row_stride = tensor->strides[0] * element_bits;

      /* Innermost first. Axes that continue the run join it; the others are kept,
       * merged with the one before where their steps allow. */
      for (gint i = tensor->ndim - 1; i >= (whole ? 0 : 1); i--)
        {
          gint64 extent = tensor->shape[i];
          gint64 step = tensor->strides[i] * element_bits;

          if (extent == 1)
            continue;
          if (n_inner == 0 && step == run)
            {
              run *= extent;
            }
          else if (n_inner > 0 && step == rows->inner_stride[n_inner - 1] * rows->inner_extent[n_inner - 1])
            {
              rows->inner_extent[n_inner - 1] *= extent;
            }
          else
            {
              rows->inner_extent[n_inner] = extent;
              rows->inner_stride[n_inner] = step;
              n_inner++;
            }
        }
    }
  else
    {
      run = row_bits;
    }

  if (run % 8 != 0 || row_stride % 8 != 0)
    return FALSE;

  /* Outermost first, in bytes. */
  for (gint i = 0; i < n_inner / 2; i++)
    {
      gint j = n_inner - 1 - i;
      gint64 extent = rows->inner_extent[i];
      gint64 step = rows->inner_stride[i];

      rows->inner_extent[i] = rows->inner_extent[j];
      rows->inner_stride[i] = rows->inner_stride[j];
      rows->inner_extent[j] = extent;
      rows->inner_stride[j] = step;
    }
  for (gint i = 0; i < n_inner; i++)
    {
      if (rows->inner_stride[i] % 8 != 0)
        return FALSE;
      rows->inner_stride[i] /= 8;
    }

  rows->n_inner = n_inner;
  rows->item_size = (gsize) run / 8;
  rows->row_size = (gsize) row_bits / 8;
  rows->row_stride = row_stride / 8;
  rows->row_compact = n_inner == 0;
  rows->compact = rows->row_compact && rows->row_stride == (gint64) rows->row_size;
  return TRUE;
}

void
ovs_rows_hold (OvsRows *rows)
{
  if (rows->tensor != NULL)
    ovs_tensor_ref (rows->tensor);
  if (rows->index_map != NULL)
    g_atomic_rc_box_acquire ((gpointer) rows->index_map);
  if (rows->mask != NULL)
    g_atomic_rc_box_acquire ((gpointer) rows->mask);
}

void
ovs_rows_release (OvsRows *rows)
{
  g_clear_pointer (&rows->tensor, ovs_tensor_unref);
  ovs_rc_box_release (g_steal_pointer (&rows->index_map));
  ovs_rc_box_release (g_steal_pointer (&rows->mask));
}

/* The copy loops are written once and made for each common size of a row, which
 * turns the memcpy() into a few moves. Rows need no alignment. */
#define FOR_ROW_SIZE(size, call)                                                                                       \
  switch (size)                                                                                                        \
    {                                                                                                                  \
    case 1: call (1); break;                                                                                           \
    case 2: call (2); break;                                                                                           \
    case 3: call (3); break;                                                                                           \
    case 4: call (4); break;                                                                                           \
    case 6: call (6); break;                                                                                           \
    case 8: call (8); break;                                                                                           \
    case 12: call (12); break;                                                                                         \
    case 16: call (16); break;                                                                                         \
    case 24: call (24); break;                                                                                         \
    case 32: call (32); break;                                                                                         \
    case 48: call (48); break;                                                                                         \
    case 64: call (64); break;                                                                                         \
    case 128: call (128); break;                                                                                       \
    default: call (size); break;                                                                                       \
    }

static inline __attribute__ ((always_inline)) void
copy_stepped (guint8 *restrict dst, const guint8 *restrict src, gsize n, gint64 step, gsize size)
{
  for (; n > 0; n--)
    {
      memcpy (dst, src, size);
      dst += size;
      src += step;
    }
}

enum
{
  CACHE_LINE = 64,
  PREFETCH_ROWS = 32,  /* how far ahead of a gather */
  PREFETCH_WORDS = 4,  /* and of a mask, in words of 64 rows */
};

static inline __attribute__ ((always_inline)) void
copy_gathered (guint8 *restrict dst, const guint8 *restrict src, const guint32 *restrict map, gsize n, gint64 step,
               gsize size)
{
  gsize i = 0;

  /* Sparse rows wait for memory one after another unless asked for ahead of time. */
  for (; i + PREFETCH_ROWS < n; i++)
    {
      __builtin_prefetch (src + (gint64) map[i + PREFETCH_ROWS] * step);
      memcpy (dst + i * size, src + (gint64) map[i] * step, size);
    }
  for (; i < n; i++)
    memcpy (dst + i * size, src + (gint64) map[i] * step, size);
}

static void
copy_run (guint8 *dst, const guint8 *src, gsize n, gint64 step, gsize size)
{
  if (step == (gint64) size)
    {
      memcpy (dst, src, n * size);
      return;
    }
#define CALL(s) copy_stepped (dst, src, n, step, s)
  FOR_ROW_SIZE (size, CALL)
#undef CALL
}

static void
gather_runs (guint8 *dst, const guint8 *src, const guint32 *map, gsize n, gint64 step, gsize size)
{
  if (step == (gint64) size)
    {
      /* The step is a constant as well. */
#define CALL(s) copy_gathered (dst, src, map, n, (gint64) (s), s)
      FOR_ROW_SIZE (size, CALL)
#undef CALL
    }
  else
    {
#define CALL(s) copy_gathered (dst, src, map, n, step, s)
      FOR_ROW_SIZE (size, CALL)
#undef CALL
    }
}

/* One row whose bytes do not lie together: outer axes counted by hand, the last one in a loop. */
static guint8 *
copy_row (const OvsRows *rows, const guint8 *src, guint8 *dst)
{
  gint last = rows->n_inner - 1;
  gsize extent = (gsize) rows->inner_extent[last];
  gsize chunk = extent * rows->item_size;
  gint64 at[OVS_MAX_DIMS] = { 0 };

  for (;;)
    {
      gint axis;

      copy_run (dst, src, extent, rows->inner_stride[last], rows->item_size);
      dst += chunk;

      for (axis = last - 1; axis >= 0; axis--)
        {
          src += rows->inner_stride[axis];
          if (++at[axis] < rows->inner_extent[axis])
            break;
          src -= rows->inner_stride[axis] * rows->inner_extent[axis];
          at[axis] = 0;
        }
      if (axis < 0)
        return dst;
    }
}

/* Rows with a single inner axis, such as a transposed matrix. */
static inline __attribute__ ((always_inline)) void
copy_two_axes (guint8 *restrict dst, const guint8 *restrict src, gsize n, gint64 row_step, gsize extent, gint64 step,
               gsize size)
{
  for (; n > 0; n--)
    {
      const guint8 *item = src;

      for (gsize j = 0; j < extent; j++)
        {
          memcpy (dst, item, size);
          dst += size;
          item += step;
        }
      src += row_step;
    }
}

static void
copy_inner (const OvsRows *rows, const guint32 *map, gsize first, gsize n, guint8 *dst)
{
  if (map == NULL && rows->n_inner == 1)
    {
      const guint8 *src = rows->base + (gint64) first * rows->row_stride;

#define CALL(s)                                                                                                        \
  copy_two_axes (dst, src, n, rows->row_stride, (gsize) rows->inner_extent[0], rows->inner_stride[0], s)
      FOR_ROW_SIZE (rows->item_size, CALL)
#undef CALL
      return;
    }

  for (gsize i = 0; i < n; i++)
    {
      gint64 row = map != NULL ? (gint64) map[i] : (gint64) (first + i);

      dst = copy_row (rows, rows->base + row * rows->row_stride, dst);
    }
}

void
ovs_rows_copy_bytes (const OvsRows *rows, gsize first, gsize n, guint8 *dst)
{
  gint64 at[OVS_MAX_DIMS + 1];
  gsize item, skip;
  const guint8 *src = rows->base;
  gint n_axes = rows->n_inner + 1;

  if (n == 0)
    return;
  if (rows->compact)
    {
      if (ovs_copy_is_large (n))
        ovs_copy_large (dst, src + first, n);
      else
        memcpy (dst, src + first, n);
      return;
    }

  /* Axis 0 is that of the rows. Where the first byte is, counted in runs and bytes within one. */
  item = first / rows->item_size;
  skip = first % rows->item_size;
  for (gint axis = n_axes - 1; axis >= 0; axis--)
    {
      gsize extent = axis > 0 ? (gsize) rows->inner_extent[axis - 1] : (gsize) rows->n_rows;
      gint64 stride = axis > 0 ? rows->inner_stride[axis - 1] : rows->row_stride;

      at[axis] = (gint64) (item % extent);
      item /= extent;
      src += at[axis] * stride;
    }

  for (;;)
    {
      gint axis = n_axes - 1;
      gint64 extent = axis > 0 ? rows->inner_extent[axis - 1] : rows->n_rows;
      gint64 stride = axis > 0 ? rows->inner_stride[axis - 1] : rows->row_stride;
      gsize n_runs = 1, size = MIN (rows->item_size - skip, n);

      if (size == rows->item_size)
        n_runs = MIN ((gsize) (extent - at[axis]), n / size);
      copy_run (dst, src + skip, n_runs, stride, size);
      dst += n_runs * size;
      n -= n_runs * size;
      if (n == 0)
        return;
      skip = 0;
      src += (gint64) n_runs * stride;
      at[axis] += (gint64) n_runs;
      while (at[axis] == extent)
        {
          src -= stride * extent;
          at[axis--] = 0;
          extent = axis > 0 ? rows->inner_extent[axis - 1] : rows->n_rows;
          stride = axis > 0 ? rows->inner_stride[axis - 1] : rows->row_stride;
          at[axis]++;
          src += stride;
        }
    }
}

void
ovs_rows_copy (const OvsRows *rows, guint32 first, guint32 n, guint8 *dst)
{
  if (n == 0)
    return;

  if (rows->index_map != NULL)
    {
      const guint32 *map = rows->index_map + first;

      if (rows->row_compact)
        gather_runs (dst, rows->base, map, n, rows->row_stride, rows->row_size);
      else
        copy_inner (rows, map, 0, n, dst);
    }
  else if (rows->compact && ovs_copy_is_large ((gsize) rows->count * rows->row_size))
    {
      /* Large as a whole: this may be a slice of it. */
      ovs_copy_large (dst, rows->base + (gint64) first * rows->row_stride, n * rows->row_size);
    }
  else if (rows->row_compact)
    {
      copy_run (dst, rows->base + (gint64) first * rows->row_stride, n, rows->row_stride, rows->row_size);
    }
  else
    {
      copy_inner (rows, NULL, first, n, dst);
    }
}

/* A bit at a time with the copy in between: decoding several at once to save
 * branches was measured and is slower, as it parts the loads from one another.
 * With @prefetch, which is for rows that are compact, all of them are asked for
 * a few words ahead, selected or not. */
static inline __attribute__ ((always_inline)) gsize
copy_selected (const guint8 *restrict base, const guint64 *restrict mask, guint32 first, guint32 end, gint64 step,
               gsize size, gboolean prefetch, guint8 *restrict dst, guint32 *restrict elements)
{
  gsize n = 0;

  for (guint64 at = first; at < end; at += 64)
    {
      guint64 word = mask[at / 64];
      const guint8 *src = base + (gint64) at * step;

      if (prefetch && end - at >= (PREFETCH_WORDS + 1) * 64)
        {
          const guint8 *ahead = src + PREFETCH_WORDS * 64 * size;

          for (gsize i = 0; i < 64 * size; i += CACHE_LINE)
            __builtin_prefetch (ahead + i);
        }

      if (end - at < 64)
        word &= (G_GUINT64_CONSTANT (1) << (end - at)) - 1;

      if (word == G_MAXUINT64)
        {
          if (step == (gint64) size)
            memcpy (dst + n * size, src, 64 * size);
          else
            copy_stepped (dst + n * size, src, 64, step, size);
          for (guint32 i = 0; i < 64; i++)
            elements[n + i] = (guint32) at + i;
          n += 64;
          continue;
        }

      for (; word != 0; word &= word - 1)
        {
          guint32 bit = (guint32) __builtin_ctzll (word);

          memcpy (dst + n * size, src + (gint64) bit * step, size);
          elements[n++] = (guint32) at + bit;
        }
    }
  return n;
}

/* Whether most cache lines hold a selected row, so that asking for all of them
 * is the quickest way to those. Halves the time of a tenth of 12-byte rows. */
static gboolean
selects_most_lines (const OvsRows *rows)
{
  guint64 rows_per_line = CACHE_LINE / rows->row_size + 1;

  return rows->n_selected > 0 && rows->row_size <= CACHE_LINE && 2 * rows_per_line * rows->n_selected >= rows->count;
}

gsize
ovs_rows_copy_masked (const OvsRows *rows, guint32 first, guint32 n, guint8 *dst, guint32 *elements)
{
  guint32 end = first + n;
  gsize n_selected = 0;

  if (n == 0)
    return 0;

  if (!rows->row_compact)
    {
      /* With rows of no bytes this only lists the elements. */
      n_selected = copy_selected (rows->base, rows->mask, first, end, 0, 0, FALSE, dst, elements);
      copy_inner (rows, elements, 0, n_selected, dst);
    }
  else if (rows->row_stride == (gint64) rows->row_size && selects_most_lines (rows))
    {
#define CALL(s) n_selected = copy_selected (rows->base, rows->mask, first, end, (gint64) (s), s, TRUE, dst, elements)
      FOR_ROW_SIZE (rows->row_size, CALL)
#undef CALL
    }
  else
    {
#define CALL(s)                                                                                                        \
  n_selected = copy_selected (rows->base, rows->mask, first, end, rows->row_stride, s, FALSE, dst, elements)
      FOR_ROW_SIZE (rows->row_size, CALL)
#undef CALL
    }
  return n_selected;
}
