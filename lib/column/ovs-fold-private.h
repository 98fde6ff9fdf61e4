/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include "column/ovs-fold.h"

/* One ordinal at which a column changes. */
typedef struct
{
  guint64 ordinal;
  const OvsWriteSet *set; /* (nullable) NULL: rows only moved away */
  OvsBits *live;    /* (owned) (nullable) afterwards */
  guint32 n_rows;
  guint32 n_live;
  gboolean keep;

  /* Of those that are kept: */
  OvsVersion *version; /* (owned) */
  guint from_step;     /* the bytes start with part from_part of this step, */
  guint from_part;
  const OvsVersion *base; /* (nullable) on top of a copy of this */
  gboolean lent;       /* the version's bytes are still those of the part before from_part, until they are published */

  /* Of arrays: */
  gboolean in_place; /* on top of this itself */
  gboolean flat;     /* part from_part is a run of all rows, whose records need not be copied */
  gboolean repack;   /* look for buffers that are mostly dead */
  GArray *fresh;     /* (owned) (nullable) OvsFreshChunk, chunks that become the version's own */
} OvsFoldStep;

typedef struct
{
  guint32 row;        /* the last of the chunk */
  OvsBuffer *records; /* (owned) (nullable) until the chunk has it */
} OvsFreshChunk;

typedef struct _OvsCompaction OvsCompaction;
typedef struct _FoldColumn OvsFoldColumn;

struct _FoldColumn
{
  OvsFoldColumn *next;
  OvsColumn *column;
  gboolean keep_base; /* the current version stays */
  gboolean moved;     /* some rows went to another column */
  guint n_steps;
  guint steps_capacity;
  OvsFoldStep *steps;
  OvsFoldStep first_step; /* steps points here while there is one */
  OvsCompaction *compaction; /* (owned) (nullable) of the last step */
};

typedef struct _FoldAttr OvsFoldAttr;

struct _FoldAttr
{
  OvsFoldAttr *next;
  OvsAttr *attr;
  guint64 ordinal;
  guint n_sets;
  OvsFoldColumn *columns;
  GArray *changes; /* (owned) (nullable) guint64, ordinals at which prims appeared, went or moved */
  GPtrArray *deaths; /* (owned) (nullable) OvsDeaths */
  OvsFoldColumn first_column; /* one of columns, if there is one: most attributes have no more */
};

struct _OvsFold
{
  OvsFoldContext context;
  guint64 pins[OVS_FOLD_MAX_PINS];
  OvsFoldAttr *attrs;
  gsize work;
  gboolean finishes; /* something is left to do after the slices: arrays, compactions */
  guint n_columns;
  GArray *structure; /* (owned) (nullable) OvsStructureChange */
  GPtrArray *retired; /* (owned) (nullable) OvsLayout */
  GPtrArray *dropped; /* (owned) (nullable) OvsRagged */
  OvsFoldAttr first_attr; /* one of attrs, if there is one */
};

/* The first half of a plan: which rows are live after each ordinal. FALSE without memory. */
gboolean ovs_fold_plan_sets (OvsFold *fold, OvsFoldAttr *attr);
/* The same with deletes among them: the entries go one by one. */
gboolean ovs_fold_plan_entries (OvsFold *fold, OvsFoldAttr *attr, guint64 floor);

/* After a step, no row is live from @n on. */
gboolean ovs_fold_covers_live (const OvsFoldStep *step, guint32 n);

/* After a step, no row is live beside those of a part of it. */
static inline gboolean
ovs_fold_part_covers (const OvsFoldColumn *column, const OvsFoldStep *step, const OvsPart *part)
{
  if (part->rows == NULL)
    return part->first == 0 && (part->n >= step->n_rows || ovs_fold_covers_live (step, part->n));
  return part->capacity == 0 && !column->moved && part->n == step->n_live;
}

/* A version of an array column: plan_version() and run_step() for records. */
gboolean ovs_fold_plan_array (OvsFold *fold, OvsFoldColumn *column, gboolean may_fold_in_place, guint s);
void ovs_fold_run_array (OvsFold *fold, OvsFoldColumn *column, guint s);

/* Lays the live rows of a column's last step out anew, if that is worth it: planned after the step, run after it,
 * published after it. */
void ovs_fold_plan_compaction (OvsFold *fold, OvsFoldAttr *attr, OvsFoldColumn *column);
void ovs_fold_run_compaction (OvsFoldColumn *column);
void ovs_fold_publish_compaction (OvsFold *fold, OvsFoldAttr *attr, OvsFoldColumn *column);
void ovs_compaction_free (OvsCompaction *compaction);
