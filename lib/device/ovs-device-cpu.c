/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "device/ovs-device.h"

#include <string.h>

#include "base/ovs-copy.h"

/* Many rows reach beyond the caches, and asking for them ahead saves up to a third
 * when they come in no order. A few rows are slowed down by it. */
#define PREFETCH_MIN_ROWS 32768
#define PREFETCH_DISTANCE 32

/* A copy of constant size becomes a few moves, which need no alignment. */
#define DEFINE_KERNELS(size)                                                                                          \
  static void scatter_##size (guint8 *restrict dst, const guint8 *restrict src, const guint32 *restrict rows,         \
                              gsize n_rows)                                                                           \
  {                                                                                                                   \
    gsize n_ahead = n_rows >= PREFETCH_MIN_ROWS ? n_rows - PREFETCH_DISTANCE : 0;                                     \
    gsize i;                                                                                                          \
                                                                                                                      \
    for (i = 0; i < n_ahead; i++)                                                                                     \
      {                                                                                                               \
        __builtin_prefetch (dst + (gsize) rows[i + PREFETCH_DISTANCE] * size, 1);                                     \
        __builtin_memcpy (dst + (gsize) rows[i] * size, src + i * size, size);                                        \
      }                                                                                                               \
    for (; i < n_rows; i++)                                                                                           \
      __builtin_memcpy (dst + (gsize) rows[i] * size, src + i * size, size);                                          \
  }                                                                                                                   \
                                                                                                                      \
  static void gather_##size (guint8 *restrict dst, const guint8 *restrict src, const guint32 *restrict rows,          \
                             gsize n_rows)                                                                            \
  {                                                                                                                   \
    gsize n_ahead = n_rows >= PREFETCH_MIN_ROWS ? n_rows - PREFETCH_DISTANCE : 0;                                     \
    gsize i;                                                                                                          \
                                                                                                                      \
    for (i = 0; i < n_ahead; i++)                                                                                     \
      {                                                                                                               \
        __builtin_prefetch (src + (gsize) rows[i + PREFETCH_DISTANCE] * size, 0);                                     \
        __builtin_memcpy (dst + i * size, src + (gsize) rows[i] * size, size);                                        \
      }                                                                                                               \
    for (; i < n_rows; i++)                                                                                           \
      __builtin_memcpy (dst + i * size, src + (gsize) rows[i] * size, size);                                          \
  }

#define FOR_EACH_SIZE(macro)                                                                                          \
  macro (1) macro (2) macro (4) macro (8) macro (12) macro (16) macro (24) macro (32) macro (48) macro (64) macro (128)

FOR_EACH_SIZE (DEFINE_KERNELS)

void
ovs_cpu_scatter (guint8 *dst, const guint8 *src, const guint32 *rows, gsize n_rows, gsize row_size)
{
  gsize i;

  switch (row_size)
    {
#define SCATTER_CASE(size)                                                                                            \
    case size:                                                                                                        \
      scatter_##size (dst, src, rows, n_rows);                                                                        \
      return;

      FOR_EACH_SIZE (SCATTER_CASE)

    default:
      for (i = 0; i < n_rows; i++)
        memcpy (dst + (gsize) rows[i] * row_size, src + i * row_size, row_size);
    }
}

void
ovs_cpu_gather (guint8 *dst, const guint8 *src, const guint32 *rows, gsize n_rows, gsize row_size)
{
  gsize i;

  switch (row_size)
    {
#define GATHER_CASE(size)                                                                                             \
    case size:                                                                                                        \
      gather_##size (dst, src, rows, n_rows);                                                                         \
      return;

      FOR_EACH_SIZE (GATHER_CASE)

    default:
      for (i = 0; i < n_rows; i++)
        memcpy (dst + i * row_size, src + (gsize) rows[i] * row_size, row_size);
    }
}

#define SCRATCH_SIZE 16384

void
ovs_cpu_copy_and_scatter (guint8 *dst, const guint8 *base, gsize first, gsize n_base, const guint8 *src, const guint32 *rows,
                          gsize n_rows, gsize row_size, gboolean large)
{
  guint8 scratch[SCRATCH_SIZE] __attribute__ ((aligned (64)));
  /* Whole cache lines, whatever the size of a row. */
  gsize block = SCRATCH_SIZE / row_size / 64 * 64;
  gsize next = 0;

  if (block == 0 || !large)
    {
      memcpy (dst + first * row_size, base + first * row_size, n_base * row_size);
      ovs_cpu_scatter (dst, src, rows, n_rows, row_size);
      return;
    }

  for (gsize at = first; at < first + n_base; at += block)
    {
      gsize n = MIN (block, first + n_base - at), end = next;

      memcpy (scratch, base + at * row_size, n * row_size);
      while (end < n_rows && rows[end] - at < n)
        end++;
      /* As if the scratch were the whole of it. */
      ovs_cpu_scatter ((guint8 *) ((guintptr) scratch - at * row_size), src + next * row_size, rows + next, end - next, row_size);
      ovs_copy_piece (dst + at * row_size, scratch, n * row_size, base + (at + n) * row_size);
      next = end;
    }
  ovs_copy_end_pieces ();
  /* What did not come in the order of the rows. */
  ovs_cpu_scatter (dst, src + next * row_size, rows + next, n_rows - next, row_size);
}

/* Vector units compare signed numbers sooner than unsigned ones: the top bit is flipped on the way in and out. */
typedef gint32 Vector __attribute__ ((vector_size (16)));

static inline Vector
load (const guint32 *values)
{
  Vector v;

  __builtin_memcpy (&v, values, sizeof v);
  return v ^ G_MININT32;
}

static inline Vector
max_vector (Vector a, Vector b)
{
  Vector greater = a > b;

  return (a & greater) | (b & ~greater);
}

guint32
ovs_cpu_max_u32 (const guint32 *values, gsize n)
{
  guint32 max = 0;
  gsize i = 0, lane;

  if (n >= 16)
    {
      Vector a = load (values), b = load (values + 4), c = load (values + 8), d = load (values + 12);

      for (i = 16; i + 16 <= n; i += 16)
        {
          a = max_vector (a, load (values + i));
          b = max_vector (b, load (values + i + 4));
          c = max_vector (c, load (values + i + 8));
          d = max_vector (d, load (values + i + 12));
        }

      a = max_vector (max_vector (a, b), max_vector (c, d)) ^ G_MININT32;
      for (lane = 0; lane < 4; lane++)
        max = MAX (max, (guint32) a[lane]);
    }

  for (; i < n; i++)
    max = MAX (max, values[i]);

  return max;
}

/* The CPU has no queue to leave work in, and a thread of ours must not sleep: callers come when the waits are over. */
static gboolean
check_waits (OvsFence *const *waits, gsize n_waits, OvsFence **done, GError **error)
{
  gsize i;

  if (done != NULL)
    *done = NULL;

  for (i = 0; i < n_waits; i++)
    {
      switch (ovs_fence_get_state (waits[i]))
        {
        case OVS_FENCE_DONE:
          break;
        case OVS_FENCE_FAILED:
          return ovs_fail (error, OVSTAGE_ERROR_OP_FAILED, "Work on a device that this depends on failed");
        case OVS_FENCE_PENDING:
        default:
          return ovs_fail (error, OVSTAGE_ERROR_INTERNAL, "The CPU was given work whose waits are not over");
        }
    }

  return TRUE;
}

static gboolean
cpu_copy (OvsDevice *device, OvsFence *const *waits, gsize n_waits, guint8 *dst, const guint8 *src, gsize n_bytes,
          OvsFence **done, GError **error)
{
  if (!check_waits (waits, n_waits, done, error))
    return FALSE;

  if (n_bytes > 0)
    memcpy (dst, src, n_bytes);

  return TRUE;
}

static gboolean
cpu_scatter (OvsDevice *device, OvsFence *const *waits, gsize n_waits, guint8 *dst, const guint8 *src,
             const guint32 *rows, gsize n_rows, gsize row_size, OvsFence **done, GError **error)
{
  if (!check_waits (waits, n_waits, done, error))
    return FALSE;

  ovs_cpu_scatter (dst, src, rows, n_rows, row_size);

  return TRUE;
}

static gboolean
cpu_gather (OvsDevice *device, OvsFence *const *waits, gsize n_waits, guint8 *dst, const guint8 *src,
            const guint32 *rows, gsize n_rows, gsize row_size, OvsFence **done, GError **error)
{
  if (!check_waits (waits, n_waits, done, error))
    return FALSE;

  ovs_cpu_gather (dst, src, rows, n_rows, row_size);

  return TRUE;
}

OvsDevice *
ovs_device_cpu (void)
{
  static OvsDevice cpu = {
    .device_type = 1,
    .device_id = 0,
    .name = "CPU",
    .copy = cpu_copy,
    .scatter = cpu_scatter,
    .gather = cpu_gather,
  };

  return &cpu;
}
