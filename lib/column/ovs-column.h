/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Attributes and their columns. A column is all rows of one (attribute, schema):
 * the versions that are kept, the head (the state after all that was accepted,
 * sealed or not) and what is staged. Protected by the stage lock. */

#pragma once

#include "column/ovs-changes.h"
#include "column/ovs-staged.h"
#include "column/ovs-version.h"

typedef struct _OvsAttr OvsAttr;

struct _OvsColumn
{
  OvsAttr *attr;
  guint index; /* order of creation within the attribute */
  OvsSchema schema;
  guint32 row_size;

  OvsLayout *layout; /* (owned) of the head */
  guint numbering;   /* rises where rows get other numbers: layouts of one numbering agree on the rows they share */
  guint32 n_head_rows;
  guint32 n_head_live;
  OvsBits *head_live; /* (owned) (nullable) NULL: every row */

  GPtrArray *versions; /* (owned) OvsVersion, ordinals ascending; the last is current */
  OvsVersion *spare_version; /* (owned) (nullable) a retired one, of the layout, for the next one */
  guint64 frontier;    /* ordinal of the oldest version kept by history, once one was dropped; else 0 */

  OvsChanges changes; /* of OvsDelta */
};

typedef struct
{
  guint64 ordinal;
  guint64 generation;
} OvsGeneration;

struct _OvsAttr
{
  guint32 token;
  gint dirty_index;      /* in the stage's list of attributes with staged work; -1: not there */
  GPtrArray *columns;    /* (owned) OvsColumn */
  GPtrArray *sets;       /* (owned) OvsWriteSet, ordinals ascending */
  OvsDeletes *deletes;   /* (owned) of this attribute alone */
  OvsChanges deaths;     /* of OvsDeaths */
  gsize change_bytes;    /* of these and of what the columns changed */
  guint64 change_frontier; /* changes up to here may be forgotten; 0: none is */
  guint64 merged;        /* up to here, changes that were followed by another may be forgotten; 0: none is */
  gsize merged_bytes;    /* that were left then */
  OvsWriteSet *spare_set; /* (owned) (nullable) one that was sealed, to be used again */
  guint64 structure_max; /* at this ordinal and above, the head tells what exists; 0: nothing structural is staged */
  GArray *generations;   /* (owned) OvsGeneration, ordinals ascending: of the set and order of prims, as sealed */
};

OvsAttr *ovs_attr_new (guint32 token);
void ovs_attr_free (OvsAttr *attr);
OvsColumn *ovs_attr_find_column (OvsAttr *attr, const OvsSchema *schema);
OvsColumn *ovs_attr_add_column (OvsAttr *attr, const OvsSchema *schema, guint32 row_size, OvsLayout *layout);
/* The set of @column at @ordinal; NULL if there is none. */
OvsWriteSet *ovs_attr_find_set (OvsAttr *attr, OvsColumn *column, guint64 ordinal);
/* Adds a set that is not there. */
void ovs_attr_add_set (OvsAttr *attr, OvsWriteSet *set);
/* Takes out and frees a set. */
void ovs_attr_remove_set (OvsAttr *attr, OvsWriteSet *set);
/* Takes out and frees the first @n sets. */
void ovs_attr_remove_sets (OvsAttr *attr, guint n);
/* The number of sets at or below @ordinal. */
guint ovs_attr_count_sets (OvsAttr *attr, guint64 ordinal);
/* One entry of the fold: a part of a set, or a delete. */
typedef struct
{
  guint64 ordinal;
  guint64 seq;
  OvsWriteSet *set;
  OvsPart *part;           /* (nullable) NULL: a delete */
  const OvsDelete *delete;
} OvsEntry;

/* Everything staged for attribute @token at or below @ordinal in (ordinal, submission) order. @attr: (nullable) it, if it was
 * written. @prim_deletes: of whole prims; those at or below @floor, what is sealed of the attribute, do not touch it. */
GArray *ovs_attr_list_entries (OvsAttr *attr, guint32 token, const OvsDeletes *prim_deletes, guint64 floor, guint64 ordinal);
/* The highest ordinal with a set or a delete of its own; 0 for none. */
guint64 ovs_attr_get_last_ordinal (OvsAttr *attr);
guint64 ovs_attr_get_generation (OvsAttr *attr, guint64 ordinal);
/* Notes a structural write at @ordinal: below this and everything staged, the head no longer tells what exists. */
void ovs_attr_note_structure (OvsAttr *attr, guint64 ordinal);
/* The highest frontier of its columns. */
guint64 ovs_attr_get_frontier (OvsAttr *attr);

/* The version that answers for @ordinal. NULL: none does; *@dropped then tells whether one did. */
OvsVersion *ovs_column_find_version (OvsColumn *column, guint64 ordinal, gboolean *dropped);
static inline OvsVersion *
ovs_column_get_current (OvsColumn *column)
{
  return column->versions->len > 0 ? column->versions->pdata[column->versions->len - 1] : NULL;
}

static inline gboolean
ovs_column_is_head_live (const OvsColumn *column, guint32 row)
{
  return row < column->n_head_rows && (column->head_live == NULL || ovs_bits_get (column->head_live, row));
}

/* Rows for prims that the column will carry: finds or appends each in the layout, which may fork, and grows the head without
 * making the new rows live. @rows: @n row numbers. */
void ovs_column_ensure_rows (OvsColumn *column, const guint32 *prims, guint32 n, guint32 *rows);
/* The column goes to another layout. Takes @layout, and gives the one before. */
OvsLayout *ovs_column_change_layout (OvsColumn *column, OvsLayout *layout);
/* Tells whether the row was not live. */
gboolean ovs_column_set_head_live (OvsColumn *column, guint32 row);
/* Tells whether the row was live. */
gboolean ovs_column_clear_head_live (OvsColumn *column, guint32 row);
/* Rows [0, n) are all of the head, and live. */
void ovs_column_set_head_all (OvsColumn *column, guint32 n);

/* Takes @delta. What is like one of the last few records shares it. */
void ovs_column_add_change (OvsColumn *column, guint64 ordinal, OvsDelta *delta);
/* The same for what the write of a whole column brings: rows [0, n). */
void ovs_column_add_change_of_run (OvsColumn *column, guint64 ordinal, guint32 n);
/* The rows are about to get new numbers: from now on the layout may be there for the records alone, and counts among them. */
void ovs_column_charge_layout (OvsColumn *column);
/* Takes @deaths. */
void ovs_attr_add_deaths (OvsAttr *attr, OvsDeaths *deaths);
static inline gsize
ovs_deaths_get_bytes (const OvsDeaths *deaths)
{
  return OVS_CHANGE_BYTES + sizeof *deaths + sizeof (guint32) * deaths->n;
}

/* Of a record that is no longer in a log. The log holds what several records point to once. */
void ovs_attr_drop_delta (OvsAttr *attr, OvsDelta *delta);
/* Forgets what was followed by another change of the same prim: for ranges that end at the newest, nothing is lost. */
void ovs_attr_merge_changes (OvsAttr *attr);
/* Forgets the oldest changes beyond @budget bytes and some more, up to @held; but of each column the last. What is held
 * beyond the budget is merged. */
void ovs_attr_trim_changes (OvsAttr *attr, gsize budget, guint64 held);
