/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Attributes that nobody writes: usd-path, usd-parent, usd-children. What they tell
 * follows from which prims exist as a read is booked, so it is taken then, whatever the
 * read has to wait for; what follows from the paths is made at the fetch. */

#pragma once

#include "op/ovs-op.h"
#include "path/ovs-path-list.h"

/* Attributes that nobody writes, in the order of the reserved names. */
typedef enum
{
  OVS_BUILTIN_NONE,
  OVS_BUILTIN_PATH,
  OVS_BUILTIN_PARENT,
  OVS_BUILTIN_CHILDREN,
  OVS_BUILTIN_ACTIVE,
} OvsBuiltinKind;

/* One of them, as a read took it. */
typedef struct _OvsBuiltin OvsBuiltin;

/* Stage lock held. NULL without memory. */
OvsBuiltin *ovs_builtin_take (OvsStage *stage, guint32 attribute, OvstagePathList *list, GError **error);
/* No lock held for these. NULL if no prim has a row. Once. */
OvstageReadGroup *ovs_builtin_new_group (OvsBuiltin *builtin, OvstagePathList *list, guint64 as_of, guint64 floor);
void ovs_builtin_free (OvsBuiltin *builtin); /* (nullable) */
