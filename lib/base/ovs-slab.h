/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Memory comes in slabs: one mapping, cut into equal buffers of one size class.
 * A slab of large buffers holds a single one, so small and large sizes share
 * all of the code. A slab with a free buffer hangs in its class's list, the one
 * used last in front, since its bytes may still be in the cache. The OvsBuffer
 * structs live in the slab's descriptor and are recycled with their memory. */

#pragma once

#include "base/ovs-pool.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void) 0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void) 0)
#endif

#define OVS_SLAB_SHARED_MAX ((gsize) 64 << 10) /* largest buffer that shares a slab */
#define OVS_SLAB_MAX_SIZE (G_MAXSIZE >> 2)     /* far beyond what can be mapped; keeps sums from wrapping */

/* One class for each of the first four units, then four for each power of two. */
#define OVS_N_SIZE_CLASSES (4 * (GLIB_SIZEOF_SIZE_T * 8 - 8))

typedef struct _OvsSlab OvsSlab;

struct _OvsSlab
{
  OvsSlab *prev, *next; /* in the class's list, or in one of slabs to give back */
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
  OvsSlab *first, *last; /* slabs with a free buffer */
  gsize n_live;
  gsize n_total;
  gsize peak;      /* highest n_live in this half window */
  gsize last_peak; /* and in the one before */
  guint n_idle;    /* slabs with no live buffer */
} OvsSizeClass;

static inline guint
ovs_size_class_for (gsize size)
{
  gsize last = size > 0 ? (size - 1) / OVS_BUFFER_ALIGNMENT : 0;
  guint shift;

  if (last < 4)
    return (guint) last;

  shift = 61 - (guint) __builtin_clzll (last);
  return 4 * shift + (guint) (last >> shift);
}

gsize ovs_size_class_get_capacity (guint size_class);
/* NULL when memory is used up. @size: whole pages. */
guint8 *ovs_map_pages (gsize size, gboolean huge, gsize page_size);

/* NULL when memory is used up. */
OvsSlab *ovs_slab_new (guint size_class, gsize page_size);
/* @slabs: linked by `next` */
void ovs_slabs_free (OvsSlab *slabs);

/* Takes idle slabs out of a class while @keep buffers are left, those used longest ago first. */
void ovs_size_class_steal_idle (OvsSizeClass *class, gsize keep, OvsSlab **stolen);

static inline void
ovs_size_class_prepend (OvsSizeClass *class, OvsSlab *slab)
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
ovs_size_class_append (OvsSizeClass *class, OvsSlab *slab)
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
ovs_size_class_unlink (OvsSizeClass *class, OvsSlab *slab)
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
