/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The paths at and below one, in other places. */

#pragma once

#include "path/ovs-path-dict.h"

typedef struct
{
  OvsPathDict *dict;  /* (owned) */
  guint32 source;
  guint32 n_targets;
  guint32 *targets;   /* (owned) */
  GByteArray *inside; /* (owned) for each path from the source on: whether it is at or below that */
} OvsRebase;

OvsRebase *ovs_rebase_new (OvsPathDict *dict);
void ovs_rebase_free (OvsRebase *rebase);
/* INVALID_ARGUMENT for malformed paths, and for targets that repeat or contain one another. */
gboolean ovs_rebase_resolve (OvsRebase *rebase, const char *source, const char *const *targets, gsize n, GError **error);
/* Makes sure of all paths known by now: looks at each that is not yet in @inside. */
void ovs_rebase_find_inside (OvsRebase *rebase);
/* Of a path, or any number. */
gboolean ovs_rebase_is_inside (const OvsRebase *rebase, guint64 path);

/* Who asks for many paths of a target. */
typedef struct
{
  guint32 target;      /* which */
  guint32 last_parent; /* paths come in flocks */
  guint32 last_copy;
  GString *text;       /* (owned) (nullable) of a copy */
  gsize n_target;      /* what of that is the target's path, */
  gsize n_source;      /* and of the text of a path, the source's */
} OvsRebaseCursor;

#define OVS_REBASE_CURSOR(target) ((OvsRebaseCursor){ target, OVS_ID_NONE, OVS_ID_NONE, NULL, 0, 0 })
void ovs_rebase_cursor_clear (OvsRebaseCursor *cursor);
/* @path is at or below the source. 0: the dictionary is full. */
guint32 ovs_rebase_path (OvsRebase *rebase, OvsRebaseCursor *cursor, guint32 path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsRebase, ovs_rebase_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (OvsRebaseCursor, ovs_rebase_cursor_clear)
