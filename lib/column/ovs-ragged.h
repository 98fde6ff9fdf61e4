/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The rows of a version of an array column: records in chunks, which tables share.
 *
 * A chunk keeps the buffers that its records name, each once, with how many rows name
 * it: what no row names is let go of at once, and copying a chunk costs a reference a
 * buffer, not one a row. Changing a row of a table that others see copies its chunk
 * first; where nobody else does, it changes in place.
 *
 * A buffer with many rows outlives most of them if one stays. How many bytes may be
 * kept for nothing is counted, and when that is more than what rows name, the rows of
 * buffers that are mostly dead are gathered in a new one. */

#pragma once

#include "tensor/ovs-array.h"

#define OVS_CHUNK_ROWS 256

typedef struct
{
  OvsBuffer *buffer; /* (owned) */
  guint32 n;         /* rows that name it */
} OvsChunkOwner;

typedef struct
{
  gint refs; /* (atomic) */
  guint32 n_rows;    /* with room in records */
  guint32 n_owners;
  guint32 owners_capacity;
  OvsChunkOwner *owners; /* (owned) */
  OvsBuffer *records;    /* (owned) perhaps those of other chunks too */
  OvsArrayRow *rows;     /* within records */
} OvsChunk;

typedef struct
{
  gint refs; /* (atomic) */
  guint32 n_chunks;
  gsize named; /* bytes that rows name; those of shared rows count for each */
  gsize waste; /* of the buffers, bytes that perhaps no row names */
  OvsChunk *chunks[]; /* (owned) (nullable) NULL: rows without elements */
} OvsRagged;

static inline guint32
ovs_ragged_n_chunks (guint32 n_rows)
{
  return n_rows / OVS_CHUNK_ROWS + (n_rows % OVS_CHUNK_ROWS != 0);
}

/* Of rows without elements. */
OvsRagged *ovs_ragged_new (guint32 n_rows);
/* Fills in the chunks of @base (nullable), which are shared from then on. */
void ovs_ragged_share (OvsRagged *ragged, const OvsRagged *base);
/* The first @n rows are those of a buffer of records, which becomes theirs and need not be copied. */
void ovs_ragged_set_flat (OvsRagged *ragged, OvsBuffer *records, guint32 n);
OvsRagged *ovs_ragged_ref (OvsRagged *ragged);
void ovs_ragged_unref (OvsRagged *ragged);

/* Whether row @row can be set without memory for its chunk. */
gboolean ovs_ragged_owns_chunk (const OvsRagged *ragged, guint32 row);
/* How much memory its chunk needs, for @n_rows rows in all. */
gsize ovs_ragged_chunk_size (guint32 row, guint32 n_rows);
/* Takes @records, memory of that size: the chunk becomes the table's own. */
void ovs_ragged_own_chunk (OvsRagged *ragged, guint32 row, OvsBuffer *records);
/* The chunk is owned; the caller has the record's buffer. */
void ovs_ragged_set_row (OvsRagged *ragged, guint32 row, const OvsArrayRow *record);

static inline const OvsArrayRow *
ovs_ragged_get_row (const OvsRagged *ragged, guint32 row)
{
  static const OvsArrayRow none = { NULL, 0, 0 };
  const OvsChunk *chunk = row / OVS_CHUNK_ROWS < ragged->n_chunks ? ragged->chunks[row / OVS_CHUNK_ROWS] : NULL;

  return chunk != NULL && row % OVS_CHUNK_ROWS < chunk->n_rows ? &chunk->rows[row % OVS_CHUNK_ROWS] : &none;
}

/* The rows from @row on that lie together, @n at most. Gives how many; *@rows is NULL where they have no elements. */
static inline guint32
ovs_ragged_get_run (const OvsRagged *ragged, guint32 row, guint32 n, const OvsArrayRow **rows)
{
  guint32 at = row % OVS_CHUNK_ROWS;
  const OvsChunk *chunk = row / OVS_CHUNK_ROWS < ragged->n_chunks ? ragged->chunks[row / OVS_CHUNK_ROWS] : NULL;

  *rows = chunk != NULL && at < chunk->n_rows ? &chunk->rows[at] : NULL;
  return MIN (n, (*rows != NULL ? chunk->n_rows : OVS_CHUNK_ROWS) - at);
}

/* Whether there is more that rows do not name than what they do. */
gboolean ovs_ragged_is_wasteful (const OvsRagged *ragged);
/* Gathers the rows of buffers that are mostly dead. Whose chunks are not the table's own stay as they are, and so does
 * everything without memory. Gives how many bytes were moved. */
gsize ovs_ragged_repack (OvsRagged *ragged, OvsPool *pool);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsRagged, ovs_ragged_unref)
