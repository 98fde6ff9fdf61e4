/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What changed at which ordinal. Columns log the rows that their writes brought,
 * attributes the prims that ceased to carry them (ENGINE rule 7, 9). Nothing is noted
 * per row: a record points to row numbers that the write brought anyway, and a frame
 * loop through one list adds sixteen bytes a frame, whatever its size.
 *
 * Logs are protected by the stage lock. What they point to never changes once made,
 * so that reads can keep it without a lock. */

#pragma once

#include "base/ovs-pool.h"
#include "column/ovs-layout.h"

typedef struct
{
  guint32 first;
  guint32 n;
  OvsBuffer *rows; /* (owned) (nullable) NULL: a run */
} OvsTarget;

/* Rows of a column that writes brought. Several ordinals share one where they brought the same. */
typedef struct
{
  gint refs; /* (atomic) */
  guint n_records; /* protected by the stage lock: of the log that point here */
  gboolean all;      /* the rows are all that were live then */
  guint numbering;   /* of the rows, */
  OvsLayout *layout; /* (owned) and where they stand */
  gsize bytes;       /* protected by the stage lock */
  guint n_targets;
  OvsTarget targets[];
} OvsDelta;

/* The prims that ceased to carry an attribute at an ordinal. */
typedef struct
{
  gint refs; /* (atomic) */
  guint64 ordinal;
  guint32 n;
  guint32 prims[];
} OvsDeaths;

typedef struct
{
  guint64 ordinal;
  gpointer what; /* (owned) OvsDelta or OvsDeaths */
} OvsChange;

/* Ordinals ascending: added at the end, forgotten from the front. */
typedef struct
{
  OvsChange *records; /* (owned) (nullable) those that are left begin at first */
  guint first;
  guint n;
  guint capacity;
} OvsChanges;

/* What a record of an ordinal counts for beside what it points to: itself, and a generation of the attribute. */
#define OVS_CHANGE_BYTES (2 * sizeof (OvsChange))

OvsDelta *ovs_delta_new (guint numbering, OvsLayout *layout, guint n_targets);
OvsDelta *ovs_delta_ref (OvsDelta *delta);
void ovs_delta_unref (OvsDelta *delta);
gboolean ovs_delta_equal (const OvsDelta *a, const OvsDelta *b);

OvsDeaths *ovs_deaths_new (guint64 ordinal, const guint32 *prims, guint32 n);
OvsDeaths *ovs_deaths_ref (OvsDeaths *deaths);
void ovs_deaths_unref (OvsDeaths *deaths);

/* The number of records at or below @ordinal. */
guint ovs_changes_count (const OvsChanges *changes, guint64 ordinal);
/* Makes room for another record. */
void ovs_changes_grow (OvsChanges *changes);

static inline const OvsChange *
ovs_changes_get (const OvsChanges *changes, guint i)
{
  return &changes->records[changes->first + i];
}

static inline void
ovs_changes_append (OvsChanges *changes, guint64 ordinal, gpointer what)
{
  if (changes->first + changes->n == changes->capacity)
    ovs_changes_grow (changes);
  changes->records[changes->first + changes->n++] = (OvsChange){ ordinal, what };
}

/* Takes the first record out, which there must be. */
static inline gpointer
ovs_changes_shift (OvsChanges *changes)
{
  changes->n--;
  return changes->records[changes->first++].what;
}

/* Somebody has seen the changes up to @ordinal, and wants to see those above it: they are not forgotten. */
typedef struct
{
  guint64 ordinal;
  gsize n_attributes; /* 0: all */
  guint32 attributes[];
} OvsChangeHold;

/* The lowest ordinal of those that are about @attribute; OVSTAGE_ORDINAL_NEWEST if none is. @holds: of OvsChangeHold */
guint64 ovs_change_holds_get_lowest (const GPtrArray *holds, guint32 attribute);
