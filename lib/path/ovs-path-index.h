/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* An open-addressed table of slots (hash << 32 | id), looked into without a lock while
 * one thread adds. It doubles in place, see ovs-path-dict.c. */

#pragma once

#include "path/ovs-path-dict.h"

#define OVS_PATH_INDEX_FIRST_SHIFT 8
#define OVS_PATH_INDEX_MAX_SHIFT 32

typedef struct
{
  guint32 sequence; /* (atomic) odd while entries move */
  guint32 count;    /* (atomic) goes up after the slot is there */
  guint64 mask;     /* (atomic) */
  /* Segment 0 holds the first 256 slots, segment k > 0 the upper half of 256 << k. */
  guint64 *segments[OVS_PATH_INDEX_MAX_SHIFT - OVS_PATH_INDEX_FIRST_SHIFT + 1]; /* (owned) of atomic slots */
} OvsPathIndex;

/* Whether the text behind an id is this one. */
typedef gboolean (*OvsPathSameFunc) (OvsPathDict *dict, guint32 id, const char *text, gsize length);

void ovs_path_index_init (OvsPathIndex *index);
void ovs_path_index_clear (OvsPathIndex *index);
/* Room for one more at a load of three quarters. FALSE when memory is used up. */
gboolean ovs_path_index_make_room (OvsPathIndex *index);
/* There is room. */
void ovs_path_index_add (OvsPathIndex *index, guint32 hash, guint32 id);

static inline guint64 *
ovs_path_index_slot (OvsPathIndex *index, guint64 i)
{
  guint shift = 63 - __builtin_clzll (i | 1u << (OVS_PATH_INDEX_FIRST_SHIFT - 1));
  guint segment = shift - (OVS_PATH_INDEX_FIRST_SHIFT - 1);

  return index->segments[segment] + (segment == 0 ? i : i ^ G_GUINT64_CONSTANT (1) << shift);
}

static inline void
ovs_path_index_prefetch (OvsPathIndex *index, guint32 hash)
{
  __builtin_prefetch (ovs_path_index_slot (index, hash & __atomic_load_n (&index->mask, __ATOMIC_ACQUIRE)));
}

/* Without the lock, a miss is one only if the sequence was even and has not changed. */
static inline guint32
ovs_path_index_probe (OvsPathIndex *index, OvsPathDict *dict, guint32 hash, OvsPathSameFunc same, const char *text, gsize length)
{
  guint64 mask = __atomic_load_n (&index->mask, __ATOMIC_ACQUIRE);
  guint64 i = hash & mask;

  for (guint64 n = 0; n <= mask; n++, i = (i + 1) & mask)
    {
      guint64 slot = __atomic_load_n (ovs_path_index_slot (index, i), __ATOMIC_ACQUIRE);

      if (slot == 0)
        break;
      if (slot >> 32 == hash && same (dict, (guint32) slot, text, length))
        return (guint32) slot;
    }
  return OVS_ID_NONE;
}
