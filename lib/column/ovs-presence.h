/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Which column of an attribute carries a prim, at the head or as of an ordinal.
 * Stage lock held. */

#pragma once

#include "column/ovs-column.h"

/* @state: for each of the first @n paths of @list, 1 + the index of the column, 0 for none. */
void ovs_presence_at_head (OvsAttr *attr, OvstagePathList *list, guint32 n, guint16 *state);
/* As of @ordinal and all that was submitted. @above: whether something is staged on the prim above @ordinal.
 * @attr, @token, @prim_deletes, @floor: as for ovs_attr_list_entries(). */
void ovs_presence_as_of (OvsAttr *attr, guint32 token, const OvsDeletes *prim_deletes, guint64 floor, OvstagePathList *list, guint32 n,
                         guint64 ordinal, guint16 *state, guint8 *above);
/* Which columns carry some prim, as of @ordinal. @lives: one for each column, FALSE. */
void ovs_presence_of_columns (OvsAttr *attr, OvsPathDict *dict, const OvsDeletes *prim_deletes, guint64 floor, guint64 ordinal,
                              gboolean *lives);
/* Whether a path of @list that is in @within (nullable) too has a value as of @closing, the floor that advances were submitted
 * for, or a write staged above that at or below @ordinal. */
gboolean ovs_presence_touches (OvsAttr *attr, const OvsDeletes *prim_deletes, guint64 floor, guint64 closing, OvstagePathList *list,
                               OvstagePathList *within, guint64 ordinal);
