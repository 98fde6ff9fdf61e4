/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ovs-debug.h"
#include "base/ovs-error.h"
#include "base/ovs-pool.h"

#define KIB ((gsize) 1 << 10)
#define MIB ((gsize) 1 << 20)

static OvsBuffer *
alloc_or_fail (OvsPool *pool, gsize size)
{
  OvsBuffer *buffer = ovs_pool_alloc (pool, size);

  g_assert_nonnull (buffer);
  return buffer;
}

static OvsPoolStats
get_stats (OvsPool *pool)
{
  OvsPoolStats stats;

  ovs_pool_get_stats (pool, &stats);
  return stats;
}

/* The kernel's word for whether something is mapped there. */
static gboolean
is_mapped (gconstpointer address)
{
  gsize page_size = (gsize) sysconf (_SC_PAGESIZE);
  unsigned char in_core;

  return mincore ((gpointer) ((guintptr) address & ~(page_size - 1)), page_size, &in_core) == 0;
}

static void
test_error (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (ovs_fail (&error, OVSTAGE_ERROR_NOT_FOUND, "row %d", 7));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_FOUND);
  g_assert_cmpstr (error->message, ==, "row 7");
  g_assert_cmpstr (g_quark_to_string (OVSTAGE_ERROR), ==, "ovstage-error-quark");

  g_assert_false (ovs_fail (NULL, OVSTAGE_ERROR_NOT_FOUND, "nobody asks"));
}

static void
test_sizes (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  gsize size;

  for (size = 0; size < 3 * MIB; size += 1 + size / 37)
    {
      g_autoptr (OvsBuffer) buffer = alloc_or_fail (pool, size);

      g_assert_cmpint (buffer->origin, ==, OVS_BUFFER_POOL);
      g_assert_cmpuint (buffer->size, ==, size);
      g_assert_cmpuint (buffer->capacity, >=, MAX (size, 1));
      g_assert_cmpuint ((guintptr) buffer->data % OVS_BUFFER_ALIGNMENT, ==, 0);
      g_assert_null (buffer->ready);

      /* Four classes for each power of two waste less than a quarter, from four units up. */
      if (size > 4 * OVS_BUFFER_ALIGNMENT)
        g_assert_cmpuint (buffer->capacity, <, size + size / 4 + OVS_BUFFER_ALIGNMENT);

      buffer->data[0] = 1;
      buffer->data[buffer->capacity - 1] = 1;
    }
}

static void
test_class_bounds (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  gsize unit = OVS_BUFFER_ALIGNMENT;
  guint shift, step;

  for (shift = 0; shift < 14; shift++)
    {
      for (step = 5; step <= 8; step++)
        {
          gsize bound = (step * unit) << shift;
          g_autoptr (OvsBuffer) exact = alloc_or_fail (pool, bound);
          g_autoptr (OvsBuffer) above = alloc_or_fail (pool, bound + 1);

          g_assert_cmpuint (exact->capacity, ==, bound);
          g_assert_cmpuint (above->capacity, >, bound);
        }
    }
}

static void
test_too_large (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  const guint8 *data;
  OvsBuffer *buffer;

  buffer = alloc_or_fail (pool, 3 * MIB);
  data = buffer->data;
  ovs_buffer_unref (buffer);

  g_assert_null (ovs_pool_alloc (pool, G_MAXSIZE));
  g_assert_null (ovs_pool_alloc (pool, G_MAXSIZE - 1));
  g_assert_null (ovs_pool_alloc (pool, G_MAXSIZE / 2 + 1));
  g_assert_cmpuint (get_stats (pool).free, ==, 3 * MIB);

  /* More than there are addresses: the system refuses, and free memory is given back before a second try. */
  g_assert_null (ovs_pool_alloc (pool, G_MAXSIZE / 4));
  g_assert_cmpuint (get_stats (pool).free, ==, 0);
  g_assert_false (is_mapped (data));

  buffer = alloc_or_fail (pool, 3 * MIB);
  ovs_buffer_unref (buffer);
}

static void
test_recycled (void)
{
  static const gsize sizes[] = { 100, 12000, 64 * KIB, 100 * KIB, 12000000 };
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  guint i, round;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      OvsBuffer *buffer = alloc_or_fail (pool, sizes[i]);
      const guint8 *data = buffer->data;
      gsize n_mapped = get_stats (pool).n_mapped;

      for (round = 0; round < 10; round++)
        {
          ovs_buffer_unref (buffer);
          buffer = alloc_or_fail (pool, sizes[i] - round);
          g_assert_true (buffer->data == data);
          g_assert_cmpuint (buffer->size, ==, sizes[i] - round);
        }
      ovs_buffer_unref (buffer);

      g_assert_cmpuint (get_stats (pool).n_mapped, ==, n_mapped);
    }
}

static void
test_distinct (void)
{
  static const gsize sizes[] = { 1, 700, 5000, 40 * KIB, 64 * KIB, 64 * KIB + 1 };
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  guint i, j;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (GPtrArray) buffers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_buffer_unref);

      for (j = 0; j < 200; j++)
        {
          OvsBuffer *buffer = alloc_or_fail (pool, sizes[i]);

          memset (buffer->data, (gint) j, buffer->capacity);
          g_ptr_array_add (buffers, buffer);
        }

      for (j = 0; j < 200; j++)
        {
          OvsBuffer *buffer = buffers->pdata[j];

          g_assert_cmpuint (buffer->data[0], ==, j);
          g_assert_true (memcmp (buffer->data, buffer->data + 1, buffer->capacity - 1) == 0);
        }
    }
}

static void
test_slabs (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  g_autoptr (GPtrArray) buffers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_buffer_unref);
  guint i;

  for (i = 0; i < 1024; i++)
    g_ptr_array_add (buffers, alloc_or_fail (pool, 256));

  g_assert_cmpuint (get_stats (pool).n_mapped, ==, 1);
  g_assert_cmpuint (get_stats (pool).live, ==, 1024 * 256);

  g_ptr_array_add (buffers, alloc_or_fail (pool, 256));
  g_assert_cmpuint (get_stats (pool).n_mapped, ==, 2);
}

static void
test_slab_given_back (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  g_autoptr (GPtrArray) buffers = g_ptr_array_new ();
  const guint8 *data;
  OvsBuffer *kept;
  guint i;

  for (i = 0; i < 64; i++)
    g_ptr_array_add (buffers, alloc_or_fail (pool, 16 * KIB));
  g_assert_cmpuint (get_stats (pool).n_mapped, ==, 4);

  /* One buffer left holds its slab, and no other. */
  kept = buffers->pdata[40];
  data = ((OvsBuffer *) buffers->pdata[0])->data;
  for (i = 0; i < 64; i++)
    {
      if (i != 40)
        ovs_buffer_unref (buffers->pdata[i]);
    }
  ovs_pool_trim (pool);
  g_assert_cmpuint (get_stats (pool).live, ==, 16 * KIB);
  g_assert_cmpuint (get_stats (pool).free, ==, 15 * 16 * KIB);
  g_assert_false (is_mapped (data));
  memset (kept->data, 1, kept->capacity);

  data = kept->data;
  ovs_buffer_unref (kept);
  g_assert_true (is_mapped (data));
  ovs_pool_trim (pool);
  g_assert_cmpuint (get_stats (pool).free, ==, 0);
  g_assert_false (is_mapped (data));
}

static void
test_huge_pages (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  gsize size;

  for (size = 2 * MIB; size < 40 * MIB; size += 3 * MIB + 12345)
    {
      g_autoptr (OvsBuffer) buffer = alloc_or_fail (pool, size);

      g_assert_cmpuint ((guintptr) buffer->data % (2 * MIB), ==, 0);
      g_assert_true (is_mapped (buffer->data + buffer->capacity - 1));
    }
}

static void
test_first_use_is_zero (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  g_autoptr (OvsBuffer) small = NULL, large = NULL;

  if (ovs_debug_flags () & OVS_DEBUG_POISON)
    {
      g_test_skip ("OVSTAGE_DEBUG=poison fills what is handed out");
      return;
    }
  small = alloc_or_fail (pool, 4096);
  large = alloc_or_fail (pool, 3 * MIB);
  g_assert_true (small->data[0] == 0 && memcmp (small->data, small->data + 1, 4095) == 0);
  g_assert_true (large->data[0] == 0 && memcmp (large->data, large->data + 1, 3 * MIB - 1) == 0);
}

static void
test_stats (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsBuffer *buffer;

  g_assert_cmpuint (get_stats (pool).live, ==, 0);
  g_assert_cmpuint (get_stats (pool).n_mapped, ==, 0);

  buffer = alloc_or_fail (pool, 300 * KIB);
  g_assert_cmpuint (get_stats (pool).live, ==, 320 * KIB);
  g_assert_cmpuint (get_stats (pool).free, ==, 0);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 1);
  g_assert_cmpuint (get_stats (pool).n_mapped, ==, 1);

  ovs_buffer_unref (buffer);
  g_assert_cmpuint (get_stats (pool).live, ==, 0);
  g_assert_cmpuint (get_stats (pool).free, ==, 320 * KIB);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 0);
}

/* ENGINE 28 */
static void
test_steady_loop (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  gsize n_mapped = 0;
  guint frame;

  /* Comes round every 60 frames; now and then three large buffers are live together. */
  for (frame = 0; frame < 1000; frame++)
    {
      OvsBuffer *buffers[4] = { NULL };
      guint i, n = frame % 60 == 0 ? 3 : 1;

      for (i = 0; i < n; i++)
        buffers[i] = alloc_or_fail (pool, MIB);
      buffers[3] = alloc_or_fail (pool, 64 * (frame % 60) + 1);
      for (i = 0; i < 4; i++)
        g_clear_pointer (&buffers[i], ovs_buffer_unref);
      ovs_pool_mark_frame (pool);

      if (frame == 60)
        n_mapped = get_stats (pool).n_mapped;
    }

  g_assert_cmpuint (get_stats (pool).n_mapped, ==, n_mapped);
}

static void
test_burst_given_back (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsBuffer *buffers[20];
  OvsBuffer *held;
  guint i;

  held = alloc_or_fail (pool, MIB);
  for (i = 0; i < 20; i++)
    buffers[i] = alloc_or_fail (pool, MIB);
  for (i = 0; i < 20; i++)
    ovs_buffer_unref (buffers[i]);
  g_assert_cmpuint (get_stats (pool).free, ==, 20 * MIB);

  for (i = 0; i < 63; i++)
    ovs_pool_mark_frame (pool);
  g_assert_cmpuint (get_stats (pool).free, ==, 20 * MIB);

  for (i = 0; i < 33; i++)
    ovs_pool_mark_frame (pool);
  g_assert_cmpuint (get_stats (pool).free, ==, 0);
  g_assert_cmpuint (get_stats (pool).live, ==, MIB);

  ovs_buffer_unref (held);
}

static void
test_trim (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsBuffer *live = alloc_or_fail (pool, MIB);
  OvsBuffer *gone = alloc_or_fail (pool, MIB);
  const guint8 *data = gone->data;

  memset (live->data, 3, MIB);
  ovs_buffer_unref (gone);
  ovs_pool_trim (pool);

  g_assert_cmpuint (get_stats (pool).free, ==, 0);
  g_assert_false (is_mapped (data));
  g_assert_cmpuint (live->data[MIB - 1], ==, 3);
  ovs_buffer_unref (live);
}

static void
test_outlives_owner (void)
{
  OvsPool *pool = ovs_pool_new ();
  OvsBuffer *small = alloc_or_fail (pool, 1000);
  OvsBuffer *large = alloc_or_fail (pool, 5 * MIB);
  const guint8 *data = large->data;

  ovs_pool_ref (pool);
  ovs_pool_unref (pool);
  ovs_pool_unref (pool);

  memset (large->data, 1, large->capacity);
  ovs_buffer_unref (large);
  g_assert_true (is_mapped (data));
  memset (small->data, 1, small->capacity);
  ovs_buffer_unref (small);
  g_assert_false (is_mapped (data));
}

static void
test_references (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsBuffer *buffer = alloc_or_fail (pool, 100);

  g_assert_true (ovs_buffer_is_exclusive (buffer));
  g_assert_true (ovs_buffer_ref (buffer) == buffer);
  g_assert_false (ovs_buffer_is_exclusive (buffer));
  ovs_buffer_unref (buffer);
  g_assert_true (ovs_buffer_is_exclusive (buffer));
  g_assert_cmpuint (get_stats (pool).n_live, ==, 1);
  ovs_buffer_unref (buffer);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 0);
}

/* ENGINE 31, 32 */
static void
test_pending_fence (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, 0);
  OvsBuffer *buffer = alloc_or_fail (pool, 1000);
  const guint8 *data = buffer->data;
  OvsBuffer *other;

  buffer->ready = ovs_fence_ref (fence);
  g_assert_false (ovs_buffer_is_exclusive (buffer));
  ovs_buffer_unref (buffer);

  g_assert_cmpuint (get_stats (pool).n_live, ==, 1);
  other = alloc_or_fail (pool, 1000);
  g_assert_true (other->data != data);
  ovs_buffer_unref (other);

  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 0);
  other = alloc_or_fail (pool, 1000);
  g_assert_true (other->data == data);
  g_assert_null (other->ready);
  ovs_buffer_unref (other);
}

static void
test_finished_fence (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsBuffer *buffer = alloc_or_fail (pool, 1000);

  buffer->ready = ovs_fence_new (2, 0, 0);
  ovs_fence_complete (buffer->ready, OVS_FENCE_FAILED);
  g_assert_true (ovs_buffer_is_exclusive (buffer));
  ovs_buffer_unref (buffer);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 0);
}

static void
test_pool_waits_for_fence (void)
{
  OvsPool *pool = ovs_pool_new ();
  OvsFence *fence = ovs_fence_new (2, 0, 0);
  OvsBuffer *buffer = alloc_or_fail (pool, MIB);
  const guint8 *data = buffer->data;

  buffer->ready = ovs_fence_ref (fence);
  ovs_buffer_unref (buffer);
  ovs_pool_unref (pool);
  g_assert_true (is_mapped (data));

  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_false (is_mapped (data));
  ovs_fence_unref (fence);
}

static void
count_cb (gpointer data)
{
  ++*(gint *) data;
}

static void
test_adopted (void)
{
  guint8 bytes[16] = { 42 };
  gint n_destroyed = 0;
  OvsBuffer *buffer = ovs_buffer_new_adopted (bytes, sizeof bytes, count_cb, &n_destroyed);

  g_assert_cmpint (buffer->origin, ==, OVS_BUFFER_ADOPTED);
  g_assert_true (buffer->data == bytes);
  g_assert_cmpuint (buffer->size, ==, 16);

  ovs_buffer_ref (buffer);
  ovs_buffer_unref (buffer);
  g_assert_cmpint (n_destroyed, ==, 0);
  ovs_buffer_unref (buffer);
  g_assert_cmpint (n_destroyed, ==, 1);
  g_assert_cmpint (bytes[0], ==, 42);

  ovs_buffer_unref (ovs_buffer_new_adopted (bytes, sizeof bytes, NULL, NULL));
}

static void
test_adopted_pending (void)
{
  guint8 bytes[16];
  gint n_destroyed = 0;
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, 0);
  OvsBuffer *buffer = ovs_buffer_new_adopted (bytes, sizeof bytes, count_cb, &n_destroyed);

  buffer->ready = ovs_fence_ref (fence);
  ovs_buffer_unref (buffer);
  g_assert_cmpint (n_destroyed, ==, 0);
  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_cmpint (n_destroyed, ==, 1);
}

static void
use_pool_cb (gpointer data)
{
  ovs_buffer_unref (alloc_or_fail (data, 5000));
}

static void
test_destroy_may_call_back (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  guint8 byte;

  ovs_buffer_unref (ovs_buffer_new_adopted (&byte, 1, use_pool_cb, pool));
}

static void
test_fail_after (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  g_autoptr (OvsBuffer) a = NULL;
  g_autoptr (OvsBuffer) b = NULL;
  g_autoptr (OvsBuffer) c = NULL;

  ovs_pool_fail_after (pool, 2);
  a = alloc_or_fail (pool, 100);
  b = alloc_or_fail (pool, MIB);
  g_assert_null (ovs_pool_alloc (pool, 100));
  c = alloc_or_fail (pool, 100);

  ovs_pool_fail_after (pool, 0);
  ovs_pool_fail_after (pool, -1);
  ovs_buffer_unref (alloc_or_fail (pool, 100));
}

static OvsBuffer *
alloc_map_or_fail (OvsPool *pool, gsize size)
{
  OvsBuffer *buffer = ovs_pool_alloc_map (pool, size);

  g_assert_nonnull (buffer);
  g_assert_cmpint (buffer->origin, ==, OVS_BUFFER_MAP);
  g_assert_cmpuint (buffer->size, ==, size);
  g_assert_cmpuint ((guintptr) buffer->data % OVS_BUFFER_ALIGNMENT, ==, 0);
  return buffer;
}

static void
test_spares (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsSpares spares = { { NULL } };
  OvsBuffer *a = ovs_spares_alloc (&spares, pool, 1000), *b = alloc_or_fail (pool, 1000), *large, *adopted;

  /* The last that came is there for whoever needs the like, */
  ovs_spares_unref (&spares, a);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 2);
  ovs_spares_unref (&spares, b);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 1);
  g_assert_true (ovs_spares_alloc (&spares, pool, 900) == b);
  g_assert_cmpuint (b->size, ==, 900);
  memset (b->data, 1, b->capacity);
  /* but never one of another size, which may share its place, */
  for (gsize size = 1; size <= 64 * 1024; size *= 2)
    {
      ovs_spares_unref (&spares, b);
      b = ovs_spares_alloc (&spares, pool, size);
      g_assert_cmpuint (b->capacity, >=, size);
    }
  ovs_spares_unref (&spares, b);
  ovs_spares_clear (&spares);
  b = ovs_spares_alloc (&spares, pool, 900);
  /* nor one that somebody holds, one that is large, or one that is not of the pool. */
  a = ovs_buffer_ref (b);
  ovs_spares_unref (&spares, b);
  g_assert_cmpint (a->refs, ==, 1);
  b = ovs_spares_alloc (&spares, pool, 900);
  g_assert_true (a != b);
  large = alloc_or_fail (pool, MIB);
  ovs_spares_unref (&spares, large);
  adopted = ovs_buffer_new_adopted (&spares, sizeof spares, NULL, NULL);
  ovs_spares_unref (&spares, adopted);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 2);

  /* Memory that is used up for a test is used up. */
  ovs_spares_unref (&spares, a);
  ovs_pool_fail_after (pool, 0);
  g_assert_null (ovs_spares_alloc (&spares, pool, 900));
  g_assert_true (ovs_spares_alloc (&spares, pool, 900) == a);
  ovs_spares_unref (&spares, a);
  ovs_spares_unref (&spares, b);
  ovs_spares_clear (&spares);
  g_assert_cmpuint (get_stats (pool).n_live, ==, 0);
}

/* What users had the address of is used again as late as can be, as plain memory. */
static void
test_map_used_last (void)
{
  const gsize sizes[] = { 100, 60 * KIB, 1 * MIB };
  OvsDebugFlags flags = ovs_debug_flags ();

  ovs_debug_set_flags (flags & ~(guint) OVS_DEBUG_POISON);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (OvsPool) pool = ovs_pool_new ();
      OvsBuffer *plain = alloc_or_fail (pool, sizes[i]);
      OvsBuffer *map = alloc_map_or_fail (pool, sizes[i]);
      OvsBuffer *other = alloc_map_or_fail (pool, sizes[i]);
      guint8 *data[] = { plain->data, map->data, other->data };

      g_assert_true (ovs_buffer_is_writable (map));
      ovs_buffer_unref (plain);
      ovs_buffer_unref (map);
      ovs_buffer_unref (other);
      for (guint b = 0; b < 3; b++)
        {
          OvsBuffer *again = alloc_or_fail (pool, sizes[i]);

          g_assert_true (again->data == data[b]);
          g_assert_cmpint (again->origin, ==, OVS_BUFFER_POOL);
          data[b] = (guint8 *) again;
        }
      for (guint b = 0; b < 3; b++)
        ovs_buffer_unref ((OvsBuffer *) data[b]);
      g_assert_cmpuint (get_stats (pool).n_live, ==, 0);
    }
  ovs_debug_set_flags (flags);
}

/* To find who goes on using it, it is a mapping of its own, which nobody gets after that. */
static void
test_map_poison (void)
{
  OvsDebugFlags flags = ovs_debug_flags ();
  OvsPool *pool = ovs_pool_new ();
  OvsBuffer *buffer;
  guint8 *data;

  ovs_debug_set_flags (OVS_DEBUG_POISON);
  for (guint i = 0; i < 200; i++)
    {
      buffer = alloc_map_or_fail (pool, 10 * KIB);
      g_assert_cmpuint (buffer->data[0], ==, 0xa5);
      g_assert_cmpuint (buffer->data[buffer->capacity - 1], ==, 0xa5);
      buffer->data[0] = 1;
      ovs_buffer_abandon (buffer);
      g_assert_cmpuint (buffer->data[0], ==, 0xa5);
      ovs_buffer_protect (buffer);
      g_assert_false (ovs_buffer_is_writable (buffer));
      g_assert_cmpuint (buffer->data[1], ==, 0xa5);
      g_assert_cmpuint (get_stats (pool).n_live, ==, 1);
      ovs_buffer_unref (buffer);
    }
  g_assert_cmpuint (get_stats (pool).n_live, ==, 0);

  /* Larger than all that is kept as a trap. */
  buffer = alloc_map_or_fail (pool, 65 * MIB);
  data = buffer->data;
  ovs_buffer_unref (buffer);
  g_assert_false (is_mapped (data));

  /* It outlives the pool's owner. */
  buffer = alloc_map_or_fail (pool, 100);
  ovs_pool_fail_after (pool, 0);
  g_assert_null (ovs_pool_alloc_map (pool, 100));
  ovs_pool_unref (pool);
  buffer->data[99] = 1;
  ovs_buffer_unref (buffer);
  ovs_debug_set_flags (flags);
}

static void
test_poison (void)
{
  g_autoptr (OvsPool) pool = ovs_pool_new ();
  OvsDebugFlags flags = ovs_debug_flags ();
  OvsBuffer *buffer;
  gsize i;

  ovs_debug_set_flags (flags | OVS_DEBUG_POISON);
  buffer = alloc_or_fail (pool, 1000);
  memset (buffer->data, 0, buffer->capacity);
  ovs_buffer_unref (buffer);
  buffer = alloc_or_fail (pool, 1000);
  for (i = 0; i < buffer->capacity; i++)
    g_assert_cmpuint (buffer->data[i], ==, 0xa5);
  ovs_buffer_unref (buffer);
  ovs_debug_set_flags (flags);
}

static void
test_debug_environment (void)
{
  if (g_test_subprocess ())
    {
      g_assert_cmpint (ovs_debug_flags (), ==, OVS_DEBUG_COPY | OVS_DEBUG_ASYNC);
      g_setenv ("OVSTAGE_DEBUG", "random", TRUE);
      g_assert_cmpint (ovs_debug_flags (), ==, OVS_DEBUG_COPY | OVS_DEBUG_ASYNC);
      return;
    }

  g_setenv ("OVSTAGE_DEBUG", "copy,async,unknown", TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_unsetenv ("OVSTAGE_DEBUG");
  g_test_trap_assert_passed ();
}

#ifdef __SANITIZE_ADDRESS__
static void
test_use_after_free (void)
{
  if (g_test_subprocess ())
    {
      g_autoptr (OvsPool) pool = ovs_pool_new ();
      OvsBuffer *buffer = alloc_or_fail (pool, 1000);
      guint8 *data = buffer->data;

      ovs_buffer_unref (buffer);
      *(volatile guint8 *) data = 1;
      return;
    }

  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr ("*use-after-poison*");
}
#endif

typedef struct
{
  OvsPool *pool;
  OvsBuffer *shared;
  guint8 mark;
} ThreadData;

static gpointer
use_pool_thread (gpointer user_data)
{
  ThreadData *data = user_data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (data->mark);
  OvsBuffer *held[16] = { NULL };
  guint i, j;

  for (i = 0; i < 5000; i++)
    {
      guint slot = (guint) g_rand_int_range (rand, 0, G_N_ELEMENTS (held));
      gsize size = (gsize) 1 << g_rand_int_range (rand, 0, 18);

      if (held[slot] != NULL)
        {
          g_assert_cmpuint (held[slot]->data[0], ==, data->mark);
          g_assert_cmpuint (held[slot]->data[held[slot]->size - 1], ==, data->mark);
          g_clear_pointer (&held[slot], ovs_buffer_unref);
        }
      else
        {
          held[slot] = alloc_or_fail (data->pool, size);
          held[slot]->data[0] = data->mark;
          held[slot]->data[size - 1] = data->mark;
        }

      ovs_buffer_ref (data->shared);
      ovs_pool_mark_frame (data->pool);
      if (i % 1000 == 0)
        ovs_pool_trim (data->pool);
      ovs_buffer_unref (data->shared);
    }

  for (j = 0; j < G_N_ELEMENTS (held); j++)
    g_clear_pointer (&held[j], ovs_buffer_unref);
  ovs_buffer_unref (data->shared);
  ovs_pool_unref (data->pool);

  return NULL;
}

static void
test_threads (void)
{
  OvsPool *pool = ovs_pool_new ();
  OvsBuffer *shared = alloc_or_fail (pool, 777);
  ThreadData data[4];
  GThread *threads[4];
  guint i;

  for (i = 0; i < 4; i++)
    {
      data[i] = (ThreadData){ ovs_pool_ref (pool), ovs_buffer_ref (shared), (guint8) (i + 1) };
      threads[i] = g_thread_new ("pool", use_pool_thread, &data[i]);
    }
  ovs_buffer_unref (shared);
  ovs_pool_unref (pool);

  for (i = 0; i < 4; i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/error/fail", test_error);
  g_test_add_func ("/pool/sizes", test_sizes);
  g_test_add_func ("/pool/class-bounds", test_class_bounds);
  g_test_add_func ("/pool/too-large", test_too_large);
  g_test_add_func ("/pool/recycled", test_recycled);
  g_test_add_func ("/pool/distinct", test_distinct);
  g_test_add_func ("/pool/slabs", test_slabs);
  g_test_add_func ("/pool/slab-given-back", test_slab_given_back);
  g_test_add_func ("/pool/huge-pages", test_huge_pages);
  g_test_add_func ("/pool/first-use-is-zero", test_first_use_is_zero);
  g_test_add_func ("/pool/stats", test_stats);
  g_test_add_func ("/pool/steady-loop", test_steady_loop);
  g_test_add_func ("/pool/burst-given-back", test_burst_given_back);
  g_test_add_func ("/pool/trim", test_trim);
  g_test_add_func ("/pool/outlives-owner", test_outlives_owner);
  g_test_add_func ("/pool/references", test_references);
  g_test_add_func ("/pool/pending-fence", test_pending_fence);
  g_test_add_func ("/pool/finished-fence", test_finished_fence);
  g_test_add_func ("/pool/waits-for-fence", test_pool_waits_for_fence);
  g_test_add_func ("/pool/adopted", test_adopted);
  g_test_add_func ("/pool/adopted-pending", test_adopted_pending);
  g_test_add_func ("/pool/destroy-may-call-back", test_destroy_may_call_back);
  g_test_add_func ("/pool/fail-after", test_fail_after);
  g_test_add_func ("/pool/spares", test_spares);
  g_test_add_func ("/pool/map-used-last", test_map_used_last);
  g_test_add_func ("/pool/map-poison", test_map_poison);
  g_test_add_func ("/pool/poison", test_poison);
  g_test_add_func ("/debug/environment", test_debug_environment);
#ifdef __SANITIZE_ADDRESS__
  g_test_add_func ("/pool/use-after-free", test_use_after_free);
#endif
  g_test_add_func ("/pool/threads", test_threads);

  return g_test_run ();
}
