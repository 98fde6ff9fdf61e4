/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* An array that only grows and never moves.
 *
 * Elements live in segments that double: growing copies nothing, and the address
 * of an element is good for the life of the arena. Appending is for one thread at
 * a time. Any thread may read without a lock an element below a length it saw, or
 * whose index reached it by a release/acquire pair of its own. */

#pragma once

#include <glib.h>

#define OVS_ARENA_FIRST_SHIFT 8
#define OVS_ARENA_MAX_SEGMENTS (33 - OVS_ARENA_FIRST_SHIFT)

typedef struct
{
  guint32 length; /* (atomic) */
  guint32 next;   /* where what is prepared will be */
  gsize element_size;
  guint8 *segments[OVS_ARENA_MAX_SEGMENTS]; /* (owned); segment k holds 256 << k elements */
} OvsArena;

/* Memory that may be refused: NULL then. Freed with g_free(). */
gpointer ovs_try_alloc (gsize size);
gpointer ovs_try_alloc0 (gsize size);
/* Zeroed, and on huge pages where it is large and the system has them. */
gpointer ovs_segment_alloc (gsize size);
void ovs_segment_free (gpointer segment, gsize size);
/* For tests: after @n more of these, one is refused. Negative: never. */
void ovs_try_alloc_fail_after (gint n);

void ovs_arena_init (OvsArena *arena, gsize element_size);
void ovs_arena_clear (OvsArena *arena);

/* The place of @n elements to come, side by side, zeroed unless it was prepared before. Nobody else
 * sees it yet. Indices are left out where a segment ends too early. NULL when memory is used up. */
gpointer ovs_arena_prepare (OvsArena *arena, guint32 n);

/* Publishes the @n elements that were prepared, and gives the index of the first. */
static inline guint32
ovs_arena_commit (OvsArena *arena, guint32 n)
{
  guint32 index = arena->next;

  __atomic_store_n (&arena->length, index + n, __ATOMIC_RELEASE);
  return index;
}

static inline guint32
ovs_arena_get_length (const OvsArena *arena)
{
  return __atomic_load_n (&arena->length, __ATOMIC_ACQUIRE);
}

static inline guint
ovs_arena_locate (guint32 index, gsize *offset)
{
  guint64 place = (guint64) index + (1u << OVS_ARENA_FIRST_SHIFT);
  guint shift = 63 - __builtin_clzll (place);

  *offset = place - (G_GUINT64_CONSTANT (1) << shift);
  return shift - OVS_ARENA_FIRST_SHIFT;
}

static inline gpointer
ovs_arena_get (const OvsArena *arena, guint32 index, gsize element_size)
{
  gsize offset;
  guint segment = ovs_arena_locate (index, &offset);

  return arena->segments[segment] + offset * element_size;
}

/* The address of an element; the type gives the compiler the size. */
#define OVS_ARENA_AT(arena, type, index) ((type *) ovs_arena_get ((arena), (index), sizeof (type)))
