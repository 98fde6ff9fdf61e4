/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Which prims exist: those on which an attribute lives. The stage counts attributes for
 * each prim at the head, which has all that was submitted; for an ordinal below, the
 * counts are put right by what is staged above it, and by the log of what was sealed
 * above it while other attributes were not. Stage lock held for all of these. */

#pragma once

#include "op/ovs-children.h"
#include "op/ovs-op-private.h"

/* Whether a prim exists, as of all that was submitted. */
static inline gboolean
ovs_stage_has_prim (const OvsStage *stage, guint32 prim)
{
  return prim < stage->n_live && stage->live[prim] > 0;
}

/* At this ordinal and above, the head of @attr (nullable) tells what exists. */
guint64 ovs_stage_get_structure_max (OvsStage *stage, OvsAttr *attr);
/* The same of all attributes: at @ordinal, the head does. */
gboolean ovs_stage_head_tells (OvsStage *stage, guint64 ordinal);
/* @by attributes more live on a prim, at the head. */
void ovs_stage_add_live (OvsStage *stage, guint32 prim, gint by);
/* How many attributes live on each of the first @n prims of @list, as of @ordinal and now. */
guint32 *ovs_stage_count_attributes (OvsStage *stage, OvstagePathList *list, guint32 n, guint64 ordinal);
OvsChildren *ovs_stage_ensure_children (OvsStage *stage); /* lent */
/* An advance published, and changed @structure (nullable), which is taken. Keeps of the log what a write may still ask about. */
void ovs_stage_keep_structure (OvsStage *stage, GArray *structure, guint64 lowest_floor);
