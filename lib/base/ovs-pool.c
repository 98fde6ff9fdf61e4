/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The pool's count of users and the live buffers of its classes are both kept
 * under its lock, so a buffer keeps its pool alive without an atomic of its own.
 * The lock is never held over mmap(), munmap() or a callback. */

#include "config.h"

#include "base/ovs-pool.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ovs-debug.h"
#include "base/ovs-slab.h"
#include "base/ovs-sync.h"
#include "base/ovs-trap.h"

/* The high-water mark is looked at once per half window, over the last two halves. */
#define HALF_WINDOW 32

struct _OvsPool
{
  OvsMutex lock; /* a leaf: protects all below */
  gsize refs;
  gsize n_live;
  gsize n_mapped;
  gint fail_after;
  gsize page_size;
  guint n_frames; /* not under lock: that one may be missed does not matter */
  OvsSizeClass classes[OVS_N_SIZE_CLASSES];
};

/* --- what happens under the lock --- */

static void
add_slab (OvsPool *pool, OvsSlab *slab)
{
  OvsSizeClass *class = &pool->classes[slab->size_class];

  ovs_size_class_prepend (class, slab);
  class->n_total += slab->n_buffers;
  class->n_idle++;
  pool->n_mapped++;
}

static OvsBuffer *
cut_buffer (OvsPool *pool, OvsSlab *slab)
{
  OvsBuffer *buffer = &slab->buffers[slab->n_cut];

  memset (buffer, 0, sizeof (OvsBuffer));
  buffer->capacity = ovs_size_class_get_capacity (slab->size_class);
  buffer->data = slab->map + slab->n_cut * buffer->capacity;
  buffer->pool = pool;
  buffer->size_class = slab->size_class;
  slab->n_cut++;

  return buffer;
}

static inline OvsBuffer *
take_buffer (OvsPool *pool, OvsSizeClass *class)
{
  OvsSlab *slab = class->first;
  OvsBuffer *buffer;

  if (G_UNLIKELY (slab == NULL))
    return NULL;

  buffer = slab->free;
  if (G_LIKELY (buffer != NULL))
    slab->free = buffer->link;
  else
    buffer = cut_buffer (pool, slab);

  buffer->link = slab;
  if (slab->n_live++ == 0)
    class->n_idle--;
  if (slab->n_live == slab->n_buffers)
    ovs_size_class_unlink (class, slab);

  pool->n_live++;
  if (++class->n_live > class->peak)
    class->peak = class->n_live;

  return buffer;
}

static inline void
put_buffer (OvsPool *pool, OvsBuffer *buffer)
{
  OvsSizeClass *class = &pool->classes[buffer->size_class];
  OvsSlab *slab = buffer->link;
  gboolean to_front = buffer->origin == OVS_BUFFER_POOL || slab->free == NULL;

  buffer->link = to_front ? slab->free : NULL;
  if (!to_front)
    slab->last_free->link = buffer;
  if (to_front)
    slab->free = buffer;
  if (!to_front || buffer->link == NULL)
    slab->last_free = buffer;
  if (slab->n_live == slab->n_buffers)
    {
      if (buffer->origin == OVS_BUFFER_POOL)
        ovs_size_class_prepend (class, slab);
      else
        ovs_size_class_append (class, slab);
    }
  if (--slab->n_live == 0)
    class->n_idle++;

  class->n_live--;
  pool->n_live--;
}

/* --- the pool --- */

OvsPool *
ovs_pool_new (void)
{
  OvsPool *pool = g_new0 (OvsPool, 1);

  ovs_mutex_init (&pool->lock);
  pool->refs = 1;
  pool->fail_after = -1;
  pool->page_size = (gsize) sysconf (_SC_PAGESIZE);

  return pool;
}

/* Nobody has a pointer to @pool any more. */
static void
pool_free (OvsPool *pool)
{
  OvsSlab *stolen = NULL;
  guint i;

  for (i = 0; i < OVS_N_SIZE_CLASSES; i++)
    ovs_size_class_steal_idle (&pool->classes[i], 0, &stolen);
  ovs_slabs_free (stolen);

  ovs_mutex_clear (&pool->lock);
  g_free (pool);
}

OvsPool *
ovs_pool_ref (OvsPool *pool)
{
  ovs_mutex_lock (&pool->lock);
  pool->refs++;
  ovs_mutex_unlock (&pool->lock);

  return pool;
}

void
ovs_pool_unref (OvsPool *pool)
{
  gboolean unused;

  ovs_mutex_lock (&pool->lock);
  pool->refs--;
  unused = pool->refs == 0 && pool->n_live == 0;
  ovs_mutex_unlock (&pool->lock);

  if (unused)
    pool_free (pool);
}

static OvsBuffer *
take_from_new_slab (OvsPool *pool, guint size_class)
{
  OvsBuffer *buffer;
  OvsSlab *slab;

  slab = ovs_slab_new (size_class, pool->page_size);
  if (slab == NULL)
    {
      ovs_pool_trim (pool);
      slab = ovs_slab_new (size_class, pool->page_size);
      if (slab == NULL)
        return NULL;
    }

  ovs_mutex_lock (&pool->lock);
  add_slab (pool, slab);
  buffer = take_buffer (pool, &pool->classes[size_class]);
  ovs_mutex_unlock (&pool->lock);

  return buffer;
}

/* Written with the lock, and read without it by those who have spares. */
static gboolean
is_to_fail (OvsPool *pool)
{
  __atomic_store_n (&pool->fail_after, pool->fail_after - 1, __ATOMIC_RELAXED);
  return pool->fail_after < 0;
}

static inline OvsBuffer *
set_up_buffer (OvsBuffer *buffer, gsize size)
{
  buffer->refs = 1;
  buffer->origin = OVS_BUFFER_POOL;
  buffer->size = size;
  ASAN_UNPOISON_MEMORY_REGION (buffer->data, buffer->capacity);
  if (G_UNLIKELY (ovs_debug_flags () & OVS_DEBUG_POISON))
    memset (buffer->data, 0xa5, buffer->capacity);

  return buffer;
}

OvsBuffer *
ovs_pool_alloc (OvsPool *pool, gsize size)
{
  guint size_class = ovs_size_class_for (size);
  OvsBuffer *buffer;

  if (size > OVS_SLAB_MAX_SIZE)
    return NULL;

  ovs_mutex_lock (&pool->lock);
  if (G_UNLIKELY (pool->fail_after >= 0) && is_to_fail (pool))
    {
      ovs_mutex_unlock (&pool->lock);
      return NULL;
    }
  buffer = take_buffer (pool, &pool->classes[size_class]);
  ovs_mutex_unlock (&pool->lock);

  if (G_UNLIKELY (buffer == NULL))
    {
      buffer = take_from_new_slab (pool, size_class);
      if (buffer == NULL)
        return NULL;
    }

  return set_up_buffer (buffer, size);
}

static __attribute__ ((noinline)) void
end_half_window (OvsPool *pool)
{
  OvsSlab *stolen = NULL;
  guint i;

  ovs_mutex_lock (&pool->lock);
  for (i = 0; i < OVS_N_SIZE_CLASSES; i++)
    {
      OvsSizeClass *class = &pool->classes[i];
      gsize keep;

      if (class->n_total == 0)
        continue;

      /* Per class, so that a loop that comes round within the window never maps anything anew;
       * an eighth more is for loops that vary a little. */
      keep = MAX (class->peak, class->last_peak);
      ovs_size_class_steal_idle (class, keep + keep / 8, &stolen);
      class->last_peak = class->peak;
      class->peak = class->n_live;
    }
  ovs_mutex_unlock (&pool->lock);

  ovs_slabs_free (stolen);
}

void
ovs_pool_mark_frame (OvsPool *pool)
{
  guint n = __atomic_load_n (&pool->n_frames, __ATOMIC_RELAXED);

  __atomic_store_n (&pool->n_frames, n + 1, __ATOMIC_RELAXED);
  if (n % HALF_WINDOW == HALF_WINDOW - 1)
    end_half_window (pool);
}

void
ovs_pool_trim (OvsPool *pool)
{
  OvsSlab *stolen = NULL;
  guint i;

  ovs_mutex_lock (&pool->lock);
  for (i = 0; i < OVS_N_SIZE_CLASSES; i++)
    ovs_size_class_steal_idle (&pool->classes[i], 0, &stolen);
  ovs_mutex_unlock (&pool->lock);

  ovs_slabs_free (stolen);
}

void
ovs_pool_get_stats (OvsPool *pool, OvsPoolStats *stats)
{
  guint i;

  memset (stats, 0, sizeof (OvsPoolStats));

  ovs_mutex_lock (&pool->lock);
  for (i = 0; i < OVS_N_SIZE_CLASSES; i++)
    {
      const OvsSizeClass *class = &pool->classes[i];
      gsize capacity = ovs_size_class_get_capacity (i);

      stats->live += class->n_live * capacity;
      stats->free += (class->n_total - class->n_live) * capacity;
    }
  stats->n_live = pool->n_live;
  stats->n_mapped = pool->n_mapped;
  ovs_mutex_unlock (&pool->lock);
}

void
ovs_pool_fail_after (OvsPool *pool, gint n)
{
  ovs_mutex_lock (&pool->lock);
  __atomic_store_n (&pool->fail_after, MAX (n, -1), __ATOMIC_RELAXED);
  ovs_mutex_unlock (&pool->lock);
}

/* --- memory that users write to --- */

/* Counted as if it were of the pool, so that the pool lives as long. */
static OvsBuffer *
map_buffer (OvsPool *pool, gsize size)
{
  guint size_class = ovs_size_class_for (size);
  OvsBuffer *buffer;
  gboolean fails;
  guint8 *data;

  if (size > OVS_SLAB_MAX_SIZE)
    return NULL;
  size = (ovs_size_class_get_capacity (size_class) + pool->page_size - 1) & ~(pool->page_size - 1);
  ovs_mutex_lock (&pool->lock);
  fails = G_UNLIKELY (pool->fail_after >= 0) && is_to_fail (pool);
  ovs_mutex_unlock (&pool->lock);
  data = fails ? NULL : ovs_map_pages (size, FALSE, pool->page_size);
  if (data == NULL)
    return NULL;

  buffer = g_new0 (OvsBuffer, 1);
  buffer->refs = 1;
  buffer->data = data;
  buffer->capacity = size;
  buffer->pool = pool;
  buffer->own_mapping = TRUE;
  memset (data, 0xa5, size);

  ovs_mutex_lock (&pool->lock);
  pool->n_live++;
  ovs_mutex_unlock (&pool->lock);
  return buffer;
}

OvsBuffer *
ovs_pool_alloc_map (OvsPool *pool, gsize size)
{
  OvsBuffer *buffer;

  if (G_UNLIKELY (ovs_debug_flags () & OVS_DEBUG_POISON))
    buffer = map_buffer (pool, size);
  else
    buffer = ovs_pool_alloc (pool, size);
  if (buffer == NULL)
    return NULL;
  buffer->size = size;
  buffer->origin = OVS_BUFFER_MAP;
  return buffer;
}

void
ovs_buffer_protect (OvsBuffer *buffer)
{
  if (buffer->own_mapping)
    mprotect (buffer->data, buffer->capacity, PROT_READ);
}

void
ovs_buffer_abandon (OvsBuffer *buffer)
{
  if (buffer->own_mapping)
    memset (buffer->data, 0xa5, buffer->capacity);
}

/* --- buffers --- */

/* Never 0. */
static guint64
get_checksum (const OvsBuffer *buffer)
{
  guint64 sum = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  for (gsize i = 0; i < buffer->size; i++)
    sum = (sum ^ buffer->data[i]) * G_GUINT64_CONSTANT (0x100000001b3);
  return sum != 0 ? sum : 1;
}

OvsBuffer *
ovs_buffer_new_adopted (gpointer data, gsize size, GDestroyNotify destroy, gpointer owner)
{
  OvsBuffer *buffer = g_new0 (OvsBuffer, 1);

  buffer->refs = 1;
  buffer->origin = OVS_BUFFER_ADOPTED;
  buffer->data = data;
  buffer->size = size;
  buffer->capacity = size;
  buffer->destroy = destroy;
  buffer->owner = owner;
  if (G_UNLIKELY (ovs_debug_flags () & OVS_DEBUG_POISON))
    buffer->checksum = get_checksum (buffer);

  return buffer;
}

OVS_THREAD_LOCAL gint ovs_buffers_n_holds;
OVS_THREAD_LOCAL OvsBuffer *ovs_buffers_held;

static void
destroy_adopted (OvsBuffer *buffer)
{
  GDestroyNotify destroy = buffer->destroy;
  gpointer owner = buffer->owner;

  if (G_UNLIKELY (buffer->checksum != 0) && buffer->checksum != get_checksum (buffer))
    g_critical ("%" G_GSIZE_FORMAT " bytes at %p were written to after they had been handed over", buffer->size,
                (gpointer) buffer->data);
  g_free (buffer);
  if (destroy != NULL)
    destroy (owner);
}

void
ovs_buffers_destroy_held (void)
{
  /* A deleter may call in, and so come here again. */
  while (ovs_buffers_held != NULL)
    {
      OvsBuffer *buffer = ovs_buffers_held;

      ovs_buffers_held = buffer->link;
      destroy_adopted (buffer);
    }
}

/* No reference is left, and no device works on the bytes. */
static void
retire_buffer (OvsBuffer *buffer)
{
  OvsPool *pool = buffer->pool;
  gboolean own_mapping = buffer->own_mapping, unused;

  g_clear_pointer (&buffer->ready, ovs_fence_unref);

  if (buffer->origin == OVS_BUFFER_ADOPTED)
    {
      if (ovs_buffers_n_holds == 0)
        {
          destroy_adopted (buffer);
          return;
        }
      buffer->link = ovs_buffers_held;
      ovs_buffers_held = buffer;
      return;
    }

  if (G_UNLIKELY (own_mapping))
    {
      ovs_trap_set (buffer->data, buffer->capacity);
      ovs_mutex_lock (&pool->lock);
      pool->n_live--;
    }
  else
    {
      ASAN_POISON_MEMORY_REGION (buffer->data, buffer->capacity);
      ovs_mutex_lock (&pool->lock);
      put_buffer (pool, buffer);
    }
  unused = pool->refs == 0 && pool->n_live == 0;
  ovs_mutex_unlock (&pool->lock);

  if (G_UNLIKELY (own_mapping))
    g_free (buffer);
  if (unused)
    pool_free (pool);
}

static void
retire_buffer_cb (OvsFence *fence, gpointer user_data)
{
  retire_buffer (user_data);
}

void
ovs_buffer_unref (OvsBuffer *buffer)
{
  /* Whoever has the only reference is alone, and need not pay for an atomic write. */
  if (g_atomic_int_get (&buffer->refs) != 1 && !g_atomic_int_dec_and_test (&buffer->refs))
    return;

  if (G_UNLIKELY (buffer->ready != NULL) && ovs_fence_add_callback (buffer->ready, retire_buffer_cb, buffer))
    return;

  retire_buffer (buffer);
}

OvsBuffer *
ovs_spares_alloc (OvsSpares *spares, OvsPool *pool, gsize size)
{
  guint size_class = ovs_size_class_for (size);
  OvsBuffer **place = &spares->buffers[size_class % G_N_ELEMENTS (spares->buffers)], *buffer = *place;

  /* Where a test counts allocations, all of them are the pool's. */
  if (buffer == NULL || buffer->size_class != size_class || __atomic_load_n (&pool->fail_after, __ATOMIC_RELAXED) >= 0)
    return ovs_pool_alloc (pool, size);
  *place = NULL;
  return set_up_buffer (buffer, size);
}

void
ovs_spares_unref (OvsSpares *spares, OvsBuffer *buffer)
{
  OvsBuffer **place = &spares->buffers[buffer->size_class % G_N_ELEMENTS (spares->buffers)], *before = *place;

  if (buffer->capacity > OVS_SLAB_SHARED_MAX || buffer->origin != OVS_BUFFER_POOL || buffer->ready != NULL || g_atomic_int_get (&buffer->refs) != 1)
    {
      ovs_buffer_unref (buffer);
      return;
    }
  ASAN_POISON_MEMORY_REGION (buffer->data, buffer->capacity);
  *place = buffer;
  if (before != NULL)
    ovs_buffer_unref (before);
}

void
ovs_spares_clear (OvsSpares *spares)
{
  for (guint i = 0; i < G_N_ELEMENTS (spares->buffers); i++)
    g_clear_pointer (&spares->buffers[i], ovs_buffer_unref);
}

gboolean
ovs_buffer_is_exclusive (OvsBuffer *buffer)
{
  return g_atomic_int_get (&buffer->refs) == 1 && ovs_fence_get_state (buffer->ready) != OVS_FENCE_PENDING;
}
