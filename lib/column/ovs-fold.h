/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Turns staged writes into versions: plan, run, publish (ENGINE, short form 2 and 3).
 *
 * The fold is total and pure. It walks the write sets of an attribute in (ordinal,
 * submission) order, never checks and never fails; the last entry of a prim decides
 * its value and its schema. All columns of an attribute are folded together, since
 * a prim may move from one to another. Only the plan can fail, for want of memory,
 * and then nothing has happened.
 *
 * Between plan and publish nobody else may fold the attribute or take its current
 * versions: the caller sees to that. */

#pragma once

#include "base/ovs-error.h"
#include "column/ovs-column.h"

typedef struct _OvsFold OvsFold;

#define OVS_FOLD_MAX_PINS 2

typedef struct
{
  OvsPool *pool;
  OvsSpares *spares;    /* (nullable) */
  guint history_depth;
  gsize change_budget;  /* 0: a share of the columns */
  const GPtrArray *holds; /* OvsChangeHold, those that are there when the fold is published */
  const guint64 *pins;  /* ordinals that must stay readable, copied */
  guint n_pins;         /* up to OVS_FOLD_MAX_PINS */
  guint64 lowest_floor; /* of all attributes, once this is published */
  const OvsDeletes *prim_deletes;
  gboolean is_peek;     /* it is never published, and writes to nothing that is there */
} OvsFoldContext;

/* Prims that came to carry an attribute, or ceased to, at an ordinal that is sealed while writes of other attributes may
 * still ask what existed before it: the first rows of a layout, or those listed. */
typedef struct
{
  guint64 ordinal;
  gint change;       /* 1 or -1 */
  OvsLayout *layout; /* (owned) (nullable) */
  guint32 n_rows;
  GArray *prims;     /* (owned) (nullable) guint32 */
} OvsStructureChange;

void ovs_structure_change_clear (OvsStructureChange *change);

OvsFold *ovs_fold_new (const OvsFoldContext *context);
/* Drops what was planned and not published. */
void ovs_fold_free (OvsFold *fold);
/* The same, to be begun anew: a frame loop needs one fold after another. */
void ovs_fold_clear (OvsFold *fold);
void ovs_fold_begin (OvsFold *fold, const OvsFoldContext *context);

/* Stage lock held. Plans everything staged above @floor, what is sealed of the attribute, and at or below @ordinal. */
gboolean ovs_fold_plan (OvsFold *fold, OvsAttr *attr, guint64 floor, guint64 ordinal, GError **error);
/* Bytes that ovs_fold_run() moves. */
gsize ovs_fold_get_work (OvsFold *fold);
/* No lock needed. Slices of the rows may run at the same time; all of them make the fold. */
void ovs_fold_run (OvsFold *fold, guint slice, guint n_slices);
/* No lock needed. What is left once all slices are made: versions of arrays, and layouts that are made anew. */
void ovs_fold_finish (OvsFold *fold);
/* Stage lock held. Gives the number of bytes that are staged no more. */
gsize ovs_fold_publish (OvsFold *fold);
/* OvsStructureChange, of the ordinals above the lowest floor; NULL for none. */
GArray *ovs_fold_steal_structure (OvsFold *fold);
/* Layouts that columns went away from; NULL for none. */
GPtrArray *ovs_fold_steal_retired (OvsFold *fold);
/* What versions held that are there no more, to be let go of without the lock; NULL for none. */
GPtrArray *ovs_fold_steal_dropped (OvsFold *fold);
/* The columns that got a version. */
guint ovs_fold_get_n_columns (OvsFold *fold);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsFold, ovs_fold_free)
