/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Tokens and prim paths as small ids.
 *
 * A path is a node (parent id, name token) behind an index keyed by the hash of
 * the whole path. Ids are dense and start at 1; they are never given back. Nodes
 * and texts live in append-only segments, so looking up by id takes no lock.
 * Finding what exists takes none either; interning something new takes one. */

#pragma once

#include <glib.h>

#include "base/ovs-error.h"
#include "base/ovs-sync.h"

typedef struct _OvsPathDict OvsPathDict;

#define OVS_ID_NONE 0u

/* The living lists of a dictionary, by content. Belongs to ovs-path-list.c. */
typedef struct
{
  OvsMutex lock; /* a leaf; taken for the last unref of a list, too */
  OvstagePathList **buckets; /* (owned) (nullable) chains of lists, none of which is owned */
  guint32 n_buckets;
  guint32 n_lists;
} OvsPathListTable;

OvsPathDict *ovs_path_dict_new (void);
OvsPathDict *ovs_path_dict_ref (OvsPathDict *dict);
void ovs_path_dict_unref (OvsPathDict *dict);

/* @length: bytes, or -1 for a terminated string. 0 with an error: BEHAVIOUR "Path dictionary" 2. */
guint32 ovs_path_dict_intern_token (OvsPathDict *dict, const char *text, gssize length, GError **error);
/* 0: no such token. */
guint32 ovs_path_dict_find_token (OvsPathDict *dict, const char *text, gssize length);
/* Lent for the life of the dictionary, terminated. Token 0 is "". NULL: unknown. */
const char *ovs_path_dict_get_token_text (OvsPathDict *dict, guint64 token, gsize *length);

guint32 ovs_path_dict_intern_path (OvsPathDict *dict, const char *path, gssize length, GError **error);
guint32 ovs_path_dict_find_path (OvsPathDict *dict, const char *path, gssize length);
/* The child of @parent named @token. 0: an id is unknown, the token is no prim name, or memory is used up. */
guint32 ovs_path_dict_intern_child (OvsPathDict *dict, guint32 parent, guint32 token);
gboolean ovs_path_dict_has_path (OvsPathDict *dict, guint64 path);
/* NULL: unknown. */
char *ovs_path_dict_dup_path (OvsPathDict *dict, guint64 path);
/* 0 for the root, whose id is ovs_path_dict_get_root(). */
guint32 ovs_path_dict_get_parent (OvsPathDict *dict, guint32 path);
guint32 ovs_path_dict_get_name (OvsPathDict *dict, guint32 path);
guint32 ovs_path_dict_get_depth (OvsPathDict *dict, guint32 path);
guint32 ovs_path_dict_get_root (OvsPathDict *dict);
/* Ids run from 1 to this. */
guint32 ovs_path_dict_get_last_path (OvsPathDict *dict);
guint32 ovs_path_dict_get_last_token (OvsPathDict *dict);

OvsPathListTable *ovs_path_dict_get_lists (OvsPathDict *dict);

/* For tests: while interning is blocked, whatever needs its lock hangs. */
void ovs_path_dict_block (OvsPathDict *dict);
void ovs_path_dict_unblock (OvsPathDict *dict);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsPathDict, ovs_path_dict_unref)
