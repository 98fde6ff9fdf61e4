/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A read: what was asked for, and what it took. It takes all of it in one hold of the
 * stage lock, as it runs; groups are made of that when they are fetched. */

#pragma once

#include "op/ovs-op-private.h"
#include "op/ovs-taken.h"

typedef struct _OvsRangeWork OvsRangeWork;

typedef struct
{
  OvsOp op;
  OvstagePathList *list; /* (owned) */
  OvsQuery *query;       /* (nullable) lent by the caller, while it submits */
  guint64 ordinal;
  guint64 start; /* of a range */
  guint64 *starts; /* (owned) (nullable) of a watch: that of each attribute, and once it ran, that of what comes next */
  gboolean is_range;
  OvsRangeWork *range; /* (owned) (nullable) what was taken and is to be sorted out */
  guint64 as_of;
  GPtrArray *builtins; /* (owned) (nullable) OvsBuiltin of each attribute that is one, as it was booked */
  GArray *taken; /* (owned) (nullable) OvsTaken */
  OvsTaken first_taken; /* the only one, when taken is NULL and n_taken 1 */
  guint n_taken;
  guint next; /* (atomic) */
  gsize n_attributes;
  guint32 attributes[];
} OvsRead;

/* No lock held. The read has begun, and waits for nothing. */
void ovs_read_run (OvsRead *read, GQueue *ready);
void ovs_read_clear (OvsRead *read);
/* The changes of attributes, each once, from their @starts on. */
OvsOp *ovs_stage_read_from (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, const guint64 *starts);
/* It tells the global floor, which any advance may raise: no attribute that is stored was asked for. */
gboolean ovs_read_tells_floor (const OvsRead *read);

/* Stage lock held. What is staged above every advance submitted so far, at or below the ordinal, on a selected prim. Later writes do
 * not matter, so this is found when the read is submitted. */
gboolean ovs_read_check_unsealed (OvsRead *read, guint32 token, GError **error);
/* Stage lock held. A new reference; NULL without memory. */
OvsBinding *ovs_read_bind (OvsRead *read, OvsLayout *layout, GError **error);
/* Takes what @taken holds. */
void ovs_read_add_taken (OvsRead *read, const OvsTaken *taken);

/* Stage lock held. What one attribute changed in the range of the read, which has prims. */
gboolean ovs_read_take_range (OvsRead *read, guint32 token, GError **error);
/* No lock needed. Makes groups of all that was taken, if it can be told. */
gboolean ovs_read_settle_range (OvsRead *read, GError **error);
void ovs_range_work_free (OvsRangeWork *work);
