/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <sys/mman.h>

#include "base/ovs-arena.h"

#define FIRST_CHUNK 1024
#define LARGEST_CHUNK (64 * 1024)
#define CHUNK_ALIGNMENT 4
#define HUGE_PAGE ((gsize) 2 * 1024 * 1024)

static gint fail_after = -1; /* (atomic) */

static gboolean
is_refused (void)
{
  return g_atomic_int_get (&fail_after) >= 0 && g_atomic_int_add (&fail_after, -1) == 0;
}

gpointer
ovs_try_alloc (gsize size)
{
  return is_refused () ? NULL : g_try_malloc (size);
}

gpointer
ovs_try_alloc0 (gsize size)
{
  return is_refused () ? NULL : g_try_malloc0 (size);
}

void
ovs_try_alloc_fail_after (gint n)
{
  g_atomic_int_set (&fail_after, n);
}

/* Tables that are probed at random spend their time in misses of the TLB, which
 * huge pages save. A mapping of our own is also known to be zero without a touch. */
gpointer
ovs_segment_alloc (gsize size)
{
  gsize whole, before;
  guint8 *map;

  if (size < HUGE_PAGE)
    return ovs_try_alloc0 (size);
  if (is_refused () || !g_size_checked_add (&whole, size, HUGE_PAGE))
    return NULL;
  map = mmap (NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return NULL;
  before = -GPOINTER_TO_SIZE (map) % HUGE_PAGE;
  if (before > 0)
    munmap (map, before);
  if (before < HUGE_PAGE)
    munmap (map + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
  madvise (map + before, size, MADV_HUGEPAGE);
#endif
  return map + before;
}

void
ovs_segment_free (gpointer segment, gsize size)
{
  if (size < HUGE_PAGE)
    g_free (segment);
  else if (segment != NULL)
    munmap (segment, size);
}

static gboolean
get_segment_size (const OvsArena *arena, guint segment, gsize *size)
{
  gsize n_elements;

  return g_size_checked_mul (&n_elements, 1u << OVS_ARENA_FIRST_SHIFT, (gsize) 1 << segment) &&
         g_size_checked_mul (size, n_elements, arena->element_size);
}

void
ovs_arena_init (OvsArena *arena, gsize element_size)
{
  *arena = (OvsArena) { .element_size = element_size };
}

void
ovs_arena_clear (OvsArena *arena)
{
  gsize size;

  for (guint i = 0; i < OVS_ARENA_MAX_SEGMENTS && arena->segments[i] != NULL; i++)
    {
      get_segment_size (arena, i, &size);
      ovs_segment_free (arena->segments[i], size);
      arena->segments[i] = NULL;
    }
  arena->length = 0;
}

gpointer
ovs_arena_prepare (OvsArena *arena)
{
  gsize offset, size;
  guint segment;

  if (arena->length == G_MAXUINT32)
    return NULL;
  segment = ovs_arena_locate (arena->length, &offset);
  if (arena->segments[segment] == NULL)
    {
      if (!get_segment_size (arena, segment, &size))
        return NULL;
      arena->segments[segment] = ovs_segment_alloc (size);
      if (arena->segments[segment] == NULL)
        return NULL;
    }
  return arena->segments[segment] + offset * arena->element_size;
}

void
ovs_chunks_init (OvsChunks *chunks)
{
  *chunks = (OvsChunks) { .chunk_size = FIRST_CHUNK };
}

void
ovs_chunks_clear (OvsChunks *chunks)
{
  while (chunks->chunks != NULL)
    {
      gpointer before = *(gpointer *) chunks->chunks;

      g_free (chunks->chunks);
      chunks->chunks = before;
    }
  ovs_chunks_init (chunks);
}

gpointer
ovs_chunks_alloc (OvsChunks *chunks, gsize size)
{
  gpointer result;

  if (size > G_MAXSIZE / 2)
    return NULL;
  size = (size + CHUNK_ALIGNMENT - 1) / CHUNK_ALIGNMENT * CHUNK_ALIGNMENT;
  if (size > chunks->left)
    {
      /* A large text gets a chunk of its own, and the rest of the current one stays in use. */
      gboolean own = size > chunks->chunk_size / 4;
      gpointer *chunk = ovs_try_alloc (sizeof (gpointer) + (own ? size : chunks->chunk_size));

      if (chunk == NULL)
        return NULL;
      *chunk = chunks->chunks;
      chunks->chunks = chunk;
      if (own)
        return chunk + 1;
      chunks->next = (guint8 *) (chunk + 1);
      chunks->left = chunks->chunk_size;
      chunks->chunk_size = MIN (chunks->chunk_size * 2, LARGEST_CHUNK);
    }
  result = chunks->next;
  chunks->next += size;
  chunks->left -= size;
  return result;
}
