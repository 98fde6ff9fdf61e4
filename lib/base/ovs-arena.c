/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <sys/mman.h>

#include "base/ovs-arena.h"

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

static gsize
round_to_huge_page (gsize size)
{
  return (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* Tables that are probed at random spend their time in misses of the TLB, which
 * huge pages save. A mapping of our own is also known to be zero without a touch. */
gpointer
ovs_segment_alloc (gsize size)
{
  gsize before;
  guint8 *map;

  if (size < HUGE_PAGE)
    return ovs_try_alloc0 (size);
  if (is_refused () || size > G_MAXSIZE / 2)
    return NULL;
  size = round_to_huge_page (size);
  map = mmap (NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return NULL;
  before = -GPOINTER_TO_SIZE (map) % HUGE_PAGE;
  if (before > 0)
    munmap (map, before);
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
    munmap (segment, round_to_huge_page (size));
}

static gboolean
get_segment_size (const OvsArena *arena, guint segment, gsize *size)
{
  guint shift = OVS_ARENA_FIRST_SHIFT + segment;

  return shift < GLIB_SIZEOF_SIZE_T * 8 && g_size_checked_mul (size, (gsize) 1 << shift, arena->element_size);
}

void
ovs_arena_init (OvsArena *arena, gsize element_size)
{
  *arena = (OvsArena) { .element_size = element_size };
}

void
ovs_arena_clear (OvsArena *arena)
{
  for (guint i = 0; i < OVS_ARENA_MAX_SEGMENTS; i++)
    {
      gsize size;

      if (arena->segments[i] != NULL && get_segment_size (arena, i, &size))
        ovs_segment_free (arena->segments[i], size);
    }
  ovs_arena_init (arena, arena->element_size);
}

gpointer
ovs_arena_prepare (OvsArena *arena, guint32 n)
{
  guint64 index = arena->length;
  gsize offset, size;
  guint segment;

  segment = ovs_arena_locate (index, &offset);
  while (offset + n > (gsize) 1 << (OVS_ARENA_FIRST_SHIFT + segment))
    {
      index += ((guint64) 1 << (OVS_ARENA_FIRST_SHIFT + segment)) - offset;
      if (index > G_MAXUINT32)
        return NULL;
      segment = ovs_arena_locate (index, &offset);
    }
  if (index + n > G_MAXUINT32)
    return NULL;
  if (arena->segments[segment] == NULL)
    {
      if (!get_segment_size (arena, segment, &size))
        return NULL;
      arena->segments[segment] = ovs_segment_alloc (size);
      if (arena->segments[segment] == NULL)
        return NULL;
    }
  arena->next = index;
  return arena->segments[segment] + offset * arena->element_size;
}
