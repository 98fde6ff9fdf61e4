/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Rows of array attributes. A row is a record that says where its elements are;
 * who wants to keep it keeps the buffer. So all that is done with rows of a fixed size,
 * masks, index maps, parts, folds, is done with records, and the elements stay where
 * they are. */

#pragma once

#include "base/ovs-pool.h"
#include "tensor/ovs-payload.h"

typedef struct
{
  OvsBuffer *buffer; /* (nullable) NULL: no elements */
  gsize offset;      /* bytes */
  gsize size;        /* bytes */
} OvsArrayRow;

G_STATIC_ASSERT (sizeof (OvsArrayRow) == OVS_ARRAY_ROW_SIZE);

/* Never NULL: what holds no elements points somewhere too. */
const guint8 *ovs_array_row_get_data (const OvsArrayRow *row);

static inline gint64
ovs_array_row_n_elements (const OvsArrayRow *row, OvstageDataType dtype)
{
  return (gint64) (row->size * 8 / ovs_dtype_row_bits (dtype));
}

/* Buffers that records name, held together. */
typedef struct
{
  gint refs; /* (atomic) */
  guint n;
  guint capacity;
  OvsBuffer **buffers; /* (owned) each */
  gsize bytes;
} OvsHeap;

OvsHeap *ovs_heap_new (void);
OvsHeap *ovs_heap_ref (OvsHeap *heap);
void ovs_heap_unref (OvsHeap *heap);
/* Takes @buffer. For one thread at a time; others may hold the heap meanwhile. */
void ovs_heap_add (OvsHeap *heap, OvsBuffer *buffer);

/* Rows one behind another. */
typedef struct
{
  gint refs; /* (atomic) */
  OvstageTensor *values;  /* (owned) */
  OvstageTensor *offsets; /* (owned) where each row begins in them, and the last ends */
} OvsPackedRows;

/* Takes both. */
OvsPackedRows *ovs_packed_rows_new (OvstageTensor *values, OvstageTensor *offsets);
OvsPackedRows *ovs_packed_rows_ref (OvsPackedRows *packed);
void ovs_packed_rows_unref (OvsPackedRows *packed);

typedef struct
{
  guint32 element;
  guint32 row; /* of the payload */
} OvsArrayCopy;

/* The rows of an array payload on their way in: a record for each element, and what must be copied for them. */
struct _OvsArrays
{
  gint refs; /* (atomic) */
  OvstageWriteData *payload; /* (owned) */
  OvsBuffer *records; /* (owned) (nullable) OvsArrayRow, one an element; NULL: there was no memory */
  OvsHeap *heap;      /* (owned) (nullable) */
  gboolean adopts;    /* some buffers were handed over */
  guint32 n_copies;
  OvsArrayCopy *copies; /* (owned) (nullable) NULL: element i from row i, */
  OvsBuffer *target;    /* (nullable) all of them one behind another, from the start of this, which heap lends */
  gsize n_bytes;        /* of the copies */
  gsize row_size;       /* of packed rows */
  OvsRows source;       /* of packed and ragged rows */
};

/* Places the rows of @rows, which an array payload was resolved to: makes a record for each element, adopts what was
 * handed over and makes room for the rest. From then on @rows are the records. Without memory that is missing in
 * @rows->arrays, and a matter for later. */
void ovs_rows_place (OvsRows *rows, OvstageWriteData *payload, OvsPool *pool);
OvsArrays *ovs_arrays_ref (OvsArrays *arrays);
void ovs_arrays_unref (OvsArrays *arrays);
/* Everything is moved: lets go of the memory that later writes may use. What was handed over and the payload are kept. */
void ovs_arrays_drop_buffers (OvsArrays *arrays);
/* Moves the bytes of copies [first, first + n). */
void ovs_arrays_copy (const OvsArrays *arrays, guint32 first, guint32 n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsHeap, ovs_heap_unref)
