/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Memory comes in slabs: one mapping, cut into equal buffers of one size class.
 * A slab of large buffers holds a single one, so small and large sizes share
 * all of the code. A slab with a free buffer hangs in its class's list, the one
 * used last in front, since its bytes may still be in the cache. The OvsBuffer
 * structs live in the slab's descriptor and are recycled with their memory.
 *
 * The pool's count of users and the live buffers of its classes are both kept
 * under its lock, so a buffer keeps its pool alive without an atomic of its own.
 * The lock is never held over mmap(), munmap() or a callback. */

#include "config.h"

#include "base/ovs-pool.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ovs-debug.h"
#include "base/ovs-sync.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void) 0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void) 0)
#endif

#define HUGE_PAGE ((gsize) 2 << 20)
#define SLAB_SIZE ((gsize) 256 << 10)
#define SHARED_MAX ((gsize) 64 << 10) /* largest buffer that shares a slab */
#define MAX_SIZE (G_MAXSIZE >> 2)     /* far beyond what can be mapped; keeps sums from wrapping */

/* One class for each of the first four units, then four for each power of two. */
#define N_CLASSES (4 * (GLIB_SIZEOF_SIZE_T * 8 - 8))

/* The high-water mark is looked at once per half window, over the last two halves. */
#define HALF_WINDOW 32

typedef struct _Slab Slab;

struct _Slab
{
  Slab *prev, *next; /* in the class's list, or in one of slabs to give back */
  OvsBuffer *free;   /* buffers that came back, linked by `link`, */
  OvsBuffer *last_free; /* and the last of them */
  guint n_buffers;
  guint n_cut;  /* buffers used at least once: the first ones */
  guint n_live; /* handed out */
  guint size_class;
  guint8 *map;
  gsize map_size;
  OvsBuffer buffers[];
};

typedef struct
{
  Slab *first, *last; /* slabs with a free buffer */
  gsize n_live;
  gsize n_total;
  gsize peak;      /* highest n_live in this half window */
  gsize last_peak; /* and in the one before */
  guint n_idle;    /* slabs with no live buffer */
} SizeClass;

struct _OvsPool
{
  OvsMutex lock; /* a leaf: protects all below */
  gsize refs;
  gsize n_live;
  gsize n_mapped;
  gint fail_after;
  gsize page_size;
  guint n_frames; /* not under lock: that one may be missed does not matter */
  SizeClass classes[N_CLASSES];
};

static inline guint
high_bit (gsize value)
{
  return 63 - (guint) __builtin_clzll (value);
}

static inline guint
get_size_class (gsize size)
{
  gsize last = size > 0 ? (size - 1) / OVS_BUFFER_ALIGNMENT : 0;
  guint shift;

  if (last < 4)
    return (guint) last;

  shift = high_bit (last) - 2;
  return 4 * shift + (guint) (last >> shift);
}

static gsize
get_class_capacity (guint size_class)
{
  guint shift;

  if (size_class < 8)
    return (size_class + 1) * (gsize) OVS_BUFFER_ALIGNMENT;

  shift = size_class / 4 - 1;
  return ((gsize) (size_class % 4 + 5) << shift) * OVS_BUFFER_ALIGNMENT;
}

/* --- mappings --- */

static guint8 *
map_pages (gsize size, gboolean huge, gsize page_size)
{
  gsize extra = huge ? HUGE_PAGE - page_size : 0;
  gsize head;
  guint8 *map;

  map = mmap (NULL, size + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return NULL;

  if (!huge)
    return map;

  head = -(guintptr) map & (HUGE_PAGE - 1);
  if (head > 0)
    munmap (map, head);
  if (extra > head)
    munmap (map + head + size, extra - head);
  map += head;
#ifdef MADV_HUGEPAGE
  /* Advice: without it the pages are small, and nothing else changes. */
  madvise (map, size, MADV_HUGEPAGE);
#endif

  return map;
}

static Slab *
slab_new (guint size_class, gsize page_size)
{
  gsize capacity = get_class_capacity (size_class);
  guint n_buffers = capacity <= SHARED_MAX ? SLAB_SIZE / capacity : 1;
  gsize map_size = (capacity * n_buffers + page_size - 1) & ~(page_size - 1);
  Slab *slab;

  /* The structs of the buffers are set up when these are cut, so that a barely used slab stays small. */
  slab = g_try_malloc (sizeof (Slab) + n_buffers * sizeof (OvsBuffer));
  if (slab == NULL)
    return NULL;

  slab->map = map_pages (map_size, map_size >= HUGE_PAGE, page_size);
  if (slab->map == NULL)
    {
      g_free (slab);
      return NULL;
    }
  ASAN_POISON_MEMORY_REGION (slab->map, map_size);

  slab->prev = slab->next = NULL;
  slab->free = slab->last_free = NULL;
  slab->n_buffers = n_buffers;
  slab->n_cut = 0;
  slab->n_live = 0;
  slab->size_class = size_class;
  slab->map_size = map_size;

  return slab;
}

/* @slabs: linked by `next` */
static void
free_slabs (Slab *slabs)
{
  while (slabs != NULL)
    {
      Slab *next = slabs->next;

      ASAN_UNPOISON_MEMORY_REGION (slabs->map, slabs->map_size);
      munmap (slabs->map, slabs->map_size);
      g_free (slabs);
      slabs = next;
    }
}

/* --- what happens under the lock --- */

static inline void
link_slab (SizeClass *class, Slab *slab)
{
  slab->prev = NULL;
  slab->next = class->first;
  if (slab->next != NULL)
    slab->next->prev = slab;
  else
    class->last = slab;
  class->first = slab;
}

static inline void
link_slab_last (SizeClass *class, Slab *slab)
{
  slab->next = NULL;
  slab->prev = class->last;
  if (slab->prev != NULL)
    slab->prev->next = slab;
  else
    class->first = slab;
  class->last = slab;
}

static inline void
unlink_slab (SizeClass *class, Slab *slab)
{
  if (slab->prev != NULL)
    slab->prev->next = slab->next;
  else
    class->first = slab->next;

  if (slab->next != NULL)
    slab->next->prev = slab->prev;
  else
    class->last = slab->prev;
}

static void
add_slab (OvsPool *pool, Slab *slab)
{
  SizeClass *class = &pool->classes[slab->size_class];

  link_slab (class, slab);
  class->n_total += slab->n_buffers;
  class->n_idle++;
  pool->n_mapped++;
}

static OvsBuffer *
cut_buffer (OvsPool *pool, Slab *slab)
{
  OvsBuffer *buffer = &slab->buffers[slab->n_cut];

  memset (buffer, 0, sizeof (OvsBuffer));
  buffer->capacity = get_class_capacity (slab->size_class);
  buffer->data = slab->map + slab->n_cut * buffer->capacity;
  buffer->pool = pool;
  buffer->size_class = slab->size_class;
  slab->n_cut++;

  return buffer;
}

static inline OvsBuffer *
take_buffer (OvsPool *pool, SizeClass *class)
{
  Slab *slab = class->first;
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
    unlink_slab (class, slab);

  pool->n_live++;
  if (++class->n_live > class->peak)
    class->peak = class->n_live;

  return buffer;
}

static inline void
put_buffer (OvsPool *pool, OvsBuffer *buffer)
{
  SizeClass *class = &pool->classes[buffer->size_class];
  Slab *slab = buffer->link;
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
        link_slab (class, slab);
      else
        link_slab_last (class, slab);
    }
  if (--slab->n_live == 0)
    class->n_idle++;

  class->n_live--;
  pool->n_live--;
}

/* Takes idle slabs out of @class while @keep buffers are left, those used longest ago first. */
static void
steal_idle_slabs (SizeClass *class, gsize keep, Slab **stolen)
{
  Slab *slab = class->last;

  while (class->n_idle > 0 && slab != NULL && class->n_total > keep)
    {
      Slab *prev = slab->prev;

      if (slab->n_live == 0 && class->n_total - slab->n_buffers >= keep)
        {
          unlink_slab (class, slab);
          class->n_total -= slab->n_buffers;
          class->n_idle--;
          slab->next = *stolen;
          *stolen = slab;
        }
      slab = prev;
    }
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
  Slab *stolen = NULL;
  guint i;

  for (i = 0; i < N_CLASSES; i++)
    steal_idle_slabs (&pool->classes[i], 0, &stolen);
  free_slabs (stolen);

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
  Slab *slab;

  slab = slab_new (size_class, pool->page_size);
  if (slab == NULL)
    {
      ovs_pool_trim (pool);
      slab = slab_new (size_class, pool->page_size);
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
  guint size_class = get_size_class (size);
  OvsBuffer *buffer;

  if (size > MAX_SIZE)
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
  Slab *stolen = NULL;
  guint i;

  ovs_mutex_lock (&pool->lock);
  for (i = 0; i < N_CLASSES; i++)
    {
      SizeClass *class = &pool->classes[i];
      gsize keep;

      if (class->n_total == 0)
        continue;

      /* Per class, so that a loop that comes round within the window never maps anything anew;
       * an eighth more is for loops that vary a little. */
      keep = MAX (class->peak, class->last_peak);
      steal_idle_slabs (class, keep + keep / 8, &stolen);
      class->last_peak = class->peak;
      class->peak = class->n_live;
    }
  ovs_mutex_unlock (&pool->lock);

  free_slabs (stolen);
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
  Slab *stolen = NULL;
  guint i;

  ovs_mutex_lock (&pool->lock);
  for (i = 0; i < N_CLASSES; i++)
    steal_idle_slabs (&pool->classes[i], 0, &stolen);
  ovs_mutex_unlock (&pool->lock);

  free_slabs (stolen);
}

void
ovs_pool_get_stats (OvsPool *pool, OvsPoolStats *stats)
{
  guint i;

  memset (stats, 0, sizeof (OvsPoolStats));

  ovs_mutex_lock (&pool->lock);
  for (i = 0; i < N_CLASSES; i++)
    {
      const SizeClass *class = &pool->classes[i];
      gsize capacity = get_class_capacity (i);

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

/* So many mappings, and bytes of them, stay behind as a trap for who still uses an address. */
#define N_TRAPS 64
#define TRAP_BYTES ((gsize) 64 << 20)

typedef struct
{
  guint8 *data;
  gsize size;
} Trap;

static OvsMutex trap_lock; /* a leaf */
static Trap traps[N_TRAPS]; /* protected by trap_lock, as is what follows: the oldest is replaced */
static guint next_trap;
static gsize trapped_bytes;

static void
set_trap (guint8 *data, gsize size)
{
  Trap gone[N_TRAPS];
  guint n_gone = 0;

  madvise (data, size, MADV_DONTNEED);
  if (mprotect (data, size, PROT_NONE) != 0 || size > TRAP_BYTES)
    {
      munmap (data, size);
      return;
    }
  ovs_mutex_lock (&trap_lock);
  for (guint i = 0; i < N_TRAPS && (i == 0 || trapped_bytes > TRAP_BYTES - size); i++)
    {
      Trap *oldest = &traps[(next_trap + i) % N_TRAPS];

      trapped_bytes -= oldest->size;
      gone[n_gone++] = *oldest;
      *oldest = (Trap){ NULL, 0 };
    }
  traps[next_trap] = (Trap){ data, size };
  trapped_bytes += size;
  next_trap = (next_trap + 1) % N_TRAPS;
  ovs_mutex_unlock (&trap_lock);

  for (guint i = 0; i < n_gone; i++)
    if (gone[i].data != NULL)
      munmap (gone[i].data, gone[i].size);
}

/* Counted as if it were of the pool, so that the pool lives as long. */
static OvsBuffer *
map_buffer (OvsPool *pool, gsize size)
{
  guint size_class = get_size_class (size);
  OvsBuffer *buffer;
  gboolean fails;
  guint8 *data;

  if (size > MAX_SIZE)
    return NULL;
  size = (get_class_capacity (size_class) + pool->page_size - 1) & ~(pool->page_size - 1);
  ovs_mutex_lock (&pool->lock);
  fails = G_UNLIKELY (pool->fail_after >= 0) && is_to_fail (pool);
  ovs_mutex_unlock (&pool->lock);
  data = fails ? NULL : map_pages (size, FALSE, pool->page_size);
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
      set_trap (buffer->data, buffer->capacity);
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
  guint size_class = get_size_class (size);
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

  if (buffer->capacity > SHARED_MAX || buffer->origin != OVS_BUFFER_POOL || buffer->ready != NULL || g_atomic_int_get (&buffer->refs) != 1)
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
