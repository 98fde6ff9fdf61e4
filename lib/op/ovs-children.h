/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Which prims exist below which: a chain of children for each path.
 *
 * Made when somebody first asks, in one pass, and kept from then on: a prim that
 * comes or goes costs the same whatever exists beside it. Protected by the stage
 * lock. */

#pragma once

#include "path/ovs-path-dict.h"

typedef struct _OvsChildren OvsChildren;

OvsChildren *ovs_children_new (OvsPathDict *dict);
void ovs_children_free (OvsChildren *children);
/* A prim that was not there, and one that was. */
void ovs_children_add (OvsChildren *children, guint32 prim);
void ovs_children_remove (OvsChildren *children, guint32 prim);
/* Through the children of @prim, in no order; 0 at the end. */
guint32 ovs_children_get_first (const OvsChildren *children, guint32 prim);
guint32 ovs_children_get_next (const OvsChildren *children, guint32 child);
