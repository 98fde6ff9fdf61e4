/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* An immutable, ordered list of distinct prim paths.
 *
 * Lists with the same content are one object while anybody holds it: the
 * dictionary knows its living lists by content hash, weakly. What the core
 * derives from a list (row layouts, bindings) can so be keyed by its address. */

#pragma once

#include "path/ovs-path-dict.h"

#define OVS_INDEX_NONE G_MAXUINT32

struct _OvstagePathList
{
  gint refs; /* (atomic) */
  OvsPathDict *dict; /* (owned) */
  guint32 n;
  guint32 hash;
  gboolean consecutive; /* ids[i] is ids[0] + i */
  guint32 *slots; /* (atomic) (owned) (nullable) path id -> index + 1, made on first use */
  guint32 slot_mask;
  OvstagePathList *next; /* protected by the lock of the dictionary's table of lists */
  guint32 ids[];
};

/* INVALID_HANDLE for an unknown id, INVALID_ARGUMENT for one that is repeated: both name the entry. */
OvstagePathList *ovs_path_list_new (OvsPathDict *dict, const guint64 *paths, gsize n, GError **error);
OvstagePathList *ovs_path_list_new_for_strings (OvsPathDict *dict, const char *const *paths, gsize n, GError **error);
/* The paths whose bits are set, in the order of their ids, which exist. @count: how many there are. */
OvstagePathList *ovs_path_list_new_for_bits (OvsPathDict *dict, const guint64 *words, gsize n_words, gsize count, GError **error);
OvstagePathList *ovs_path_list_ref (OvstagePathList *list);
void ovs_path_list_unref (OvstagePathList *list);

/* OVS_INDEX_NONE: not in the list. Safe from any thread. */
guint32 ovs_path_list_index_of (OvstagePathList *list, guint32 path);
