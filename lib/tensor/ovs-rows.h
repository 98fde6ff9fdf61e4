/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The rows that a payload comes to, where they lie in memory, and how they get from
 * there to where they are wanted: through strides, an index map or a mask. */

#pragma once

#include "tensor/ovs-tensor.h"

/* Rows of array attributes are records, see ovs-array.h. */
#define OVS_ARRAY_ROW_SIZE (3 * sizeof (gpointer))
typedef struct _OvsArrays OvsArrays;

/* The rows of a payload for a query of some length. Borrows from the payload
 * unless ovs_rows_hold() was called. */
typedef struct
{
  OvstageDataType dtype; /* canonical: trailing axes folded into lanes */
  gsize row_size;        /* bytes, > 0 */
  guint32 count;         /* logical elements */
  gint64 n_rows;         /* rows in the source */
  OvstageTensor *tensor; /* (nullable) NULL for arrays */
  OvsArrays *arrays;     /* (nullable) of arrays, once they are placed: the rows are records from then on */
  const guint32 *index_map; /* (nullable) count entries, all below n_rows */
  const guint64 *mask;      /* (nullable) ceil (count / 64) words; NULL too when all of them are selected */
  gsize n_selected;         /* elements the mask selects; count without one */
  /* The source, with extents of 1 dropped and runs that are compact merged. */
  const guint8 *base;
  gint64 row_stride;     /* bytes from one row to the next */
  gboolean row_compact;  /* the bytes of one row lie together */
  gboolean compact;      /* the rows do too: row_compact and row_stride == row_size */
  gint n_inner;          /* axes within a row, when not row_compact */
  gint64 inner_extent[OVS_MAX_DIMS];
  gint64 inner_stride[OVS_MAX_DIMS]; /* bytes */
  gsize item_size;       /* bytes of the innermost run */
} OvsRows;

static inline gboolean
ovs_rows_is_selected (const OvsRows *rows, guint32 element)
{
  return rows->mask == NULL || (rows->mask[element / 64] >> (element % 64)) & 1;
}

/* How the elements of a tensor lie in memory, without a look at maps and masks: its first axis is that of rows, or it is one
 * row, @whole. FALSE: some do not begin at a byte. */
gboolean ovs_rows_plan (const OvstageTensor *tensor, gboolean whole, OvsRows *rows);
/* @n bytes of a planned tensor from the @first on, as if its elements lay one behind another. */
void ovs_rows_copy_bytes (const OvsRows *rows, gsize first, gsize n, guint8 *dst);

/* References to tensor, map and mask, so that the rows outlive the payload and its setters. */
void ovs_rows_hold (OvsRows *rows);
void ovs_rows_release (OvsRows *rows);

/* Elements [first, first + n) to @dst, row after row, through the index map and whatever strides. Ignores the mask. */
void ovs_rows_copy (const OvsRows *rows, guint32 first, guint32 n, guint8 *dst);
/* Of elements [first, first + n) with first a multiple of 64, those the mask selects: their rows to @dst, one after
 * another, and their element numbers to @elements. Gives how many. */
gsize ovs_rows_copy_masked (const OvsRows *rows, guint32 first, guint32 n, guint8 *dst, guint32 *elements);
