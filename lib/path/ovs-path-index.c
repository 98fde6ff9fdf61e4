/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "path/ovs-path-index.h"

#include "base/ovs-arena.h"

static inline void
index_store (OvsPathIndex *index, guint64 i, guint64 slot)
{
  __atomic_store_n (ovs_path_index_slot (index, i), slot, __ATOMIC_RELEASE);
}

void
ovs_path_index_init (OvsPathIndex *index)
{
  *index = (OvsPathIndex) { .mask = (1u << OVS_PATH_INDEX_FIRST_SHIFT) - 1 };
  index->segments[0] = g_new0 (guint64, 1u << OVS_PATH_INDEX_FIRST_SHIFT);
}

void
ovs_path_index_clear (OvsPathIndex *index)
{
  guint64 n = 1u << OVS_PATH_INDEX_FIRST_SHIFT;

  for (guint i = 0; i < G_N_ELEMENTS (index->segments) && index->segments[i] != NULL; i++)
    {
      ovs_segment_free (index->segments[i], n * sizeof (guint64));
      n = 1u << OVS_PATH_INDEX_FIRST_SHIFT << i;
    }
}

static void
index_place (OvsPathIndex *index, guint64 slot)
{
  guint64 i = (slot >> 32) & index->mask;

  while (*ovs_path_index_slot (index, i) != 0)
    i = (i + 1) & index->mask;
  index_store (index, i, slot);
}

/* Doubles the table in place. Going up from the first empty slot, an entry finds
 * its new place at or before its old one, in either half. The entries before that
 * slot may have come round the end of the table, so they step aside meanwhile. */
static void
index_spread (OvsPathIndex *index)
{
  guint64 n = index->mask + 1;
  guint64 first = 0;
  g_autofree guint64 *aside = NULL;

  while (*ovs_path_index_slot (index, first) != 0)
    first++;
  aside = g_new (guint64, first + 1);

  __atomic_store_n (&index->sequence, index->sequence + 1, __ATOMIC_RELEASE);
  __atomic_store_n (&index->mask, n * 2 - 1, __ATOMIC_RELEASE);
  for (guint64 i = 0; i < first; i++)
    {
      aside[i] = *ovs_path_index_slot (index, i);
      index_store (index, i, 0);
    }
  for (guint64 i = first; i < n; i++)
    {
      guint64 slot = *ovs_path_index_slot (index, i);

      if (slot == 0)
        continue;
      index_store (index, i, 0);
      index_place (index, slot);
    }
  for (guint64 i = 0; i < first; i++)
    index_place (index, aside[i]);
  __atomic_store_n (&index->sequence, index->sequence + 1, __ATOMIC_RELEASE);
}

gboolean
ovs_path_index_make_room (OvsPathIndex *index)
{
  guint64 n = index->mask + 1;
  guint64 **segment;

  if (((guint64) index->count + 1) * 4 <= n * 3)
    return TRUE;
  if (n >> OVS_PATH_INDEX_MAX_SHIFT != 0 || n > G_MAXSIZE / sizeof (guint64))
    return FALSE;
  segment = &index->segments[63 - __builtin_clzll (n) - (OVS_PATH_INDEX_FIRST_SHIFT - 1)];
  *segment = ovs_segment_alloc (n * sizeof (guint64));
  if (*segment == NULL)
    return FALSE;
  index_spread (index);
  return TRUE;
}

void
ovs_path_index_add (OvsPathIndex *index, guint32 hash, guint32 id)
{
  index_place (index, (guint64) hash << 32 | id);
  __atomic_store_n (&index->count, index->count + 1, __ATOMIC_RELEASE);
}
