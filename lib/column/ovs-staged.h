/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What was written and is not sealed: one write set for each (column, ordinal).
 *
 * A set is a list of parts in submission order, later rows win. A part stores its
 * target, never a verdict about what it covers: that is for the fold to find
 * (ENGINE rule 6). Small partial writes are appended to an open part instead of
 * each making one. Protected by the stage lock, but for the bytes of values and
 * rows: the operation that brought them fills those. */

#pragma once

#include "base/ovs-pool.h"
#include "path/ovs-path-list.h"
#include "tensor/ovs-array.h"

typedef struct _OvsColumn OvsColumn;

/* A delete that is not sealed: of one attribute, or of whole prims. It is staged also where nothing is there, since it
 * kills what is submitted later at lower ordinals. */
typedef struct
{
  guint64 ordinal;
  guint64 seq;
  OvstagePathList *list; /* (owned) */
  guint n_spared;
  guint32 *spared; /* (owned) (nullable) attributes that are let alone */
} OvsDelete;

/* By ordinal, then by submission. */
typedef GPtrArray OvsDeletes; /* (owned) OvsDelete */

OvsDeletes *ovs_deletes_new (void);
OvsDelete *ovs_deletes_add (OvsDeletes *deletes, guint64 ordinal, guint64 seq, OvstagePathList *list);
/* An attribute that a delete of whole prims does not touch. */
void ovs_delete_spare (OvsDelete *delete, guint32 attribute);
gboolean ovs_delete_touches (const OvsDelete *delete, guint32 attribute);
/* Drops those at or below @ordinal. */
void ovs_deletes_retire (OvsDeletes *deletes, guint64 ordinal);
/* The highest ordinal; 0 for none. */
guint64 ovs_deletes_get_last (const OvsDeletes *deletes);

/* Row numbers that the bytes of a masked write bring along. Until they are there, the mask tells them. */
typedef struct
{
  gint refs;   /* (atomic) */
  gint filled; /* (atomic) */
  guint32 count;       /* elements */
  const guint64 *mask; /* (owned) g_atomic_rc_box, ceil (count / 64) words */
  guint32 first;       /* row of element 0, when elements stand on consecutive rows */
  OvsBuffer *of;       /* (owned) (nullable) row of each element; NULL: consecutive */
} OvsRowPromise;

OvsRowPromise *ovs_row_promise_new (const guint64 *mask, guint32 count, guint32 first, OvsBuffer *of);
OvsRowPromise *ovs_row_promise_ref (OvsRowPromise *promise);
void ovs_row_promise_unref (OvsRowPromise *promise);

typedef struct
{
  guint64 seq;       /* of the first write in it */
  guint32 n;         /* rows */
  guint32 first;     /* row of the first, when they are a run */
  OvsBuffer *rows;   /* (owned) (nullable) guint32 row numbers; NULL: a run */
  OvsBuffer *values; /* (owned) n rows, one after another; records of arrays */
  OvsHeap *heap;     /* (owned) (nullable) what records name; that of an open part grows */
  gsize heap_bytes;
  OvsRowPromise *promise; /* (owned) (nullable) rows may not be there yet */
  guint32 capacity;  /* > 0: an open part, with room for so many rows, some perhaps twice */
} OvsPart;

typedef struct
{
  OvsColumn *column;
  guint64 ordinal;
  gboolean structural; /* it may make rows appear or move */
  gsize bytes;         /* of the parts, as counted against the staging budget */
  guint n_parts;
  guint parts_capacity;
  OvsPart *parts;
  OvsPart first_part; /* parts points here while there is one */
} OvsWriteSet;

OvsWriteSet *ovs_write_set_new (OvsColumn *column, guint64 ordinal);
void ovs_write_set_free (OvsWriteSet *set);
/* The set as it is now, with references to its buffers: it may then grow, be replaced or be sealed. */
OvsWriteSet *ovs_write_set_freeze (const OvsWriteSet *set);
void ovs_write_set_free_frozen (OvsWriteSet *frozen);

/* Takes @rows and @values, refs @heap and @promise (nullable). @n_head_rows: no part of the set targets a row from there on. Drops the parts that the new one
 * overwrites whole. */
void ovs_write_set_add (OvsWriteSet *set, guint64 seq, guint32 first, guint32 n, OvsBuffer *rows, OvsBuffer *values,
                        OvsHeap *heap, OvsRowPromise *promise, guint32 n_head_rows);
/* Makes sure of room for @n rows at the end of the open part; FALSE without memory. */
gboolean ovs_write_set_reserve (OvsWriteSet *set, OvsPool *pool, guint64 seq, guint32 n, guint32 row_size);
/* Gives back what the last ovs_write_set_reserve() added, if nothing was put there. */
void ovs_write_set_unreserve (OvsWriteSet *set);
/* Takes that room. The caller fills it before the stage lock is let go. */
void ovs_write_set_append (OvsWriteSet *set, guint32 n, guint32 row_size, guint32 **rows, guint8 **values);
/* What the records that were appended name. */
void ovs_write_set_append_heap (OvsWriteSet *set, const OvsHeap *heap);

/* What is written from here on starts a part of its own. */
void ovs_write_set_close_part (OvsWriteSet *set);

/* Once the write is done: a fold waits for that. */
static inline const guint32 *
ovs_part_get_rows (const OvsPart *part)
{
  return part->rows != NULL ? (const guint32 *) part->rows->data : NULL;
}

/* At any time. @scratch: (out) freed by the caller, if not NULL. */
const guint32 *ovs_part_peek_rows (const OvsPart *part, guint32 **scratch);

/* One past the highest row it targets. @rows: (nullable) its row numbers. */
guint32 ovs_part_get_end (const OvsPart *part, const guint32 *rows);
