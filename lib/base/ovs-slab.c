/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-slab.h"

#include <sys/mman.h>

#define HUGE_PAGE ((gsize) 2 << 20)
#define SLAB_SIZE ((gsize) 256 << 10)

gsize
ovs_size_class_get_capacity (guint size_class)
{
  guint shift;

  if (size_class < 8)
    return (size_class + 1) * (gsize) OVS_BUFFER_ALIGNMENT;

  shift = size_class / 4 - 1;
  return ((gsize) (size_class % 4 + 5) << shift) * OVS_BUFFER_ALIGNMENT;
}

guint8 *
ovs_map_pages (gsize size, gboolean huge, gsize page_size)
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

OvsSlab *
ovs_slab_new (guint size_class, gsize page_size)
{
  gsize capacity = ovs_size_class_get_capacity (size_class);
  guint n_buffers = capacity <= OVS_SLAB_SHARED_MAX ? SLAB_SIZE / capacity : 1;
  gsize map_size = (capacity * n_buffers + page_size - 1) & ~(page_size - 1);
  OvsSlab *slab;

  /* The structs of the buffers are set up when these are cut, so that a barely used slab stays small. */
  slab = g_try_malloc (sizeof (OvsSlab) + n_buffers * sizeof (OvsBuffer));
  if (slab == NULL)
    return NULL;

  slab->map = ovs_map_pages (map_size, map_size >= HUGE_PAGE, page_size);
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

void
ovs_slabs_free (OvsSlab *slabs)
{
  while (slabs != NULL)
    {
      OvsSlab *next = slabs->next;

      ASAN_UNPOISON_MEMORY_REGION (slabs->map, slabs->map_size);
      munmap (slabs->map, slabs->map_size);
      g_free (slabs);
      slabs = next;
    }
}

void
ovs_size_class_steal_idle (OvsSizeClass *class, gsize keep, OvsSlab **stolen)
{
  OvsSlab *slab = class->last;

  while (class->n_idle > 0 && slab != NULL && class->n_total > keep)
    {
      OvsSlab *prev = slab->prev;

      if (slab->n_live == 0 && class->n_total - slab->n_buffers >= keep)
        {
          ovs_size_class_unlink (class, slab);
          class->n_total -= slab->n_buffers;
          class->n_idle--;
          slab->next = *stolen;
          *stolen = slab;
        }
      slab = prev;
    }
}
