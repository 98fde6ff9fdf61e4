/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-ragged.h"

#include <string.h>

/* So much may be kept for nothing, however little rows name. */
#define WASTE_ALLOWED (64 * 1024)

OvsRagged *
ovs_ragged_new (guint32 n_rows)
{
  guint32 n_chunks = ovs_ragged_n_chunks (n_rows);
  OvsRagged *ragged = g_malloc0 (sizeof *ragged + sizeof *ragged->chunks * n_chunks);

  ragged->refs = 1;
  ragged->n_chunks = n_chunks;
  return ragged;
}

static void
unref_chunk (OvsChunk *chunk)
{
  if (!g_atomic_int_dec_and_test (&chunk->refs))
    return;
  for (guint32 i = 0; i < chunk->n_owners; i++)
    ovs_buffer_unref (chunk->owners[i].buffer);
  g_free (chunk->owners);
  ovs_buffer_unref (chunk->records);
  g_free (chunk);
}

OvsRagged *
ovs_ragged_ref (OvsRagged *ragged)
{
  g_atomic_int_inc (&ragged->refs);
  return ragged;
}

void
ovs_ragged_unref (OvsRagged *ragged)
{
  if (!g_atomic_int_dec_and_test (&ragged->refs))
    return;
  for (guint32 i = 0; i < ragged->n_chunks; i++)
    g_clear_pointer (&ragged->chunks[i], unref_chunk);
  g_free (ragged);
}

void
ovs_ragged_share (OvsRagged *ragged, const OvsRagged *base)
{
  if (base == NULL)
    return;
  for (guint32 i = 0; i < base->n_chunks; i++)
    {
      ragged->chunks[i] = base->chunks[i];
      if (ragged->chunks[i] != NULL)
        g_atomic_int_inc (&ragged->chunks[i]->refs);
    }
  ragged->named = base->named;
  ragged->waste = base->waste;
}

/* Takes @records. */
static OvsChunk *
new_chunk (OvsBuffer *records, OvsArrayRow *rows, guint32 n_rows)
{
  OvsChunk *chunk = g_new (OvsChunk, 1);

  chunk->refs = 1;
  chunk->n_rows = n_rows;
  chunk->n_owners = chunk->owners_capacity = 0;
  chunk->owners = NULL;
  chunk->records = records;
  chunk->rows = rows;
  return chunk;
}

/* @n more rows name @buffer. */
static void
add_owner (OvsChunk *chunk, OvsBuffer *buffer, guint32 n)
{
  /* The last that came is the likeliest. */
  for (guint32 i = chunk->n_owners; i > 0; i--)
    if (chunk->owners[i - 1].buffer == buffer)
      {
        chunk->owners[i - 1].n += n;
        return;
      }
  if (chunk->n_owners == chunk->owners_capacity)
    {
      chunk->owners_capacity = MAX (2 * chunk->owners_capacity, 2);
      chunk->owners = g_renew (OvsChunkOwner, chunk->owners, chunk->owners_capacity);
    }
  chunk->owners[chunk->n_owners++] = (OvsChunkOwner){ ovs_buffer_ref (buffer), n };
}

/* A row of @size bytes no longer names @buffer. */
static void
drop_owner (OvsRagged *ragged, OvsChunk *chunk, OvsBuffer *buffer, gsize size)
{
  guint32 i = 0;

  while (chunk->owners[i].buffer != buffer)
    i++;
  if (--chunk->owners[i].n > 0)
    {
      ragged->waste += size;
      return;
    }
  chunk->owners[i] = chunk->owners[--chunk->n_owners];
  /* What was counted of this buffer goes with it, unless somebody else has it: then it may be that of other rows. */
  if (g_atomic_int_get (&buffer->refs) == 1)
    ragged->waste -= MIN (ragged->waste, buffer->capacity - size);
  else
    ragged->waste += size;
  ovs_buffer_unref (buffer);
}

void
ovs_ragged_set_flat (OvsRagged *ragged, OvsBuffer *records, guint32 n)
{
  OvsArrayRow *rows = (OvsArrayRow *) records->data;

  for (guint32 first = 0, c = 0; first < n && c < ragged->n_chunks; first += OVS_CHUNK_ROWS, c++)
    {
      guint32 n_rows = MIN (n - first, OVS_CHUNK_ROWS), run = 0;
      OvsChunk *chunk = new_chunk (ovs_buffer_ref (records), rows + first, n_rows);
      OvsBuffer *buffer = NULL;

      for (guint32 i = 0; i < n_rows; i++)
        {
          ragged->named += chunk->rows[i].size;
          if (chunk->rows[i].buffer == buffer)
            {
              run++;
              continue;
            }
          if (buffer != NULL)
            add_owner (chunk, buffer, run);
          buffer = chunk->rows[i].buffer;
          run = 1;
        }
      if (buffer != NULL)
        add_owner (chunk, buffer, run);
      ragged->chunks[c] = chunk;
    }
}

gboolean
ovs_ragged_owns_chunk (const OvsRagged *ragged, guint32 row)
{
  const OvsChunk *chunk = ragged->chunks[row / OVS_CHUNK_ROWS];

  return chunk != NULL && row % OVS_CHUNK_ROWS < chunk->n_rows && g_atomic_int_get (&chunk->refs) == 1 &&
         g_atomic_int_get (&chunk->records->refs) == 1;
}

static guint32
get_chunk_rows (guint32 row, guint32 n_rows)
{
  guint32 first = row - row % OVS_CHUNK_ROWS;
  guint32 n = MIN (n_rows - first, OVS_CHUNK_ROWS);

  /* A small column need not pay for a large one. */
  return MIN ((n + 15) / 16 * 16, OVS_CHUNK_ROWS);
}

gsize
ovs_ragged_chunk_size (guint32 row, guint32 n_rows)
{
  return get_chunk_rows (row, n_rows) * sizeof (OvsArrayRow);
}

void
ovs_ragged_own_chunk (OvsRagged *ragged, guint32 row, OvsBuffer *records)
{
  OvsChunk **place = &ragged->chunks[row / OVS_CHUNK_ROWS];
  OvsChunk *old = *place, *chunk = new_chunk (records, (OvsArrayRow *) records->data, (guint32) (records->size / sizeof (OvsArrayRow)));
  guint32 n = old != NULL ? MIN (old->n_rows, chunk->n_rows) : 0;

  if (n > 0)
    memcpy (chunk->rows, old->rows, n * sizeof *chunk->rows);
  memset (chunk->rows + n, 0, (chunk->n_rows - n) * sizeof *chunk->rows);
  if (old != NULL)
    {
      chunk->n_owners = old->n_owners;
      chunk->owners_capacity = old->n_owners + 1;
      chunk->owners = g_new (OvsChunkOwner, chunk->owners_capacity);
      for (guint32 i = 0; i < old->n_owners; i++)
        chunk->owners[i] = (OvsChunkOwner){ ovs_buffer_ref (old->owners[i].buffer), old->owners[i].n };
      unref_chunk (old);
    }
  *place = chunk;
}

void
ovs_ragged_set_row (OvsRagged *ragged, guint32 row, const OvsArrayRow *record)
{
  OvsChunk *chunk = ragged->chunks[row / OVS_CHUNK_ROWS];
  OvsArrayRow *place = &chunk->rows[row % OVS_CHUNK_ROWS];
  OvsArrayRow old = *place;

  *place = *record;
  ragged->named += record->size;
  if (record->buffer != NULL)
    add_owner (chunk, record->buffer, 1);
  if (old.buffer == NULL)
    return;
  ragged->named -= old.size;
  drop_owner (ragged, chunk, old.buffer, old.size);
}

gboolean
ovs_ragged_is_wasteful (const OvsRagged *ragged)
{
  return ragged->waste > ragged->named + WASTE_ALLOWED;
}

/* Rows that are shared stay so. */
static guint
hash_place (gconstpointer data)
{
  const OvsArrayRow *row = data;

  return (guint) ((((guintptr) row->buffer >> 4) ^ row->offset) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) >> 32);
}

static gboolean
equal_place (gconstpointer a, gconstpointer b)
{
  const OvsArrayRow *x = a, *y = b;

  return x->buffer == y->buffer && x->offset == y->offset && x->size == y->size;
}

/* How many bytes rows name of each buffer. */
static void
survey (const OvsRagged *ragged, GHashTable *live)
{
  OvsBuffer *buffer = NULL;
  gsize bytes = 0;

  for (guint32 c = 0; c < ragged->n_chunks; c++)
    for (guint32 i = 0; ragged->chunks[c] != NULL && i < ragged->chunks[c]->n_rows; i++)
      {
        const OvsArrayRow *row = &ragged->chunks[c]->rows[i];

        if (row->buffer == NULL)
          continue;
        if (row->buffer != buffer)
          {
            if (buffer != NULL)
              g_hash_table_insert (live, buffer, GSIZE_TO_POINTER (bytes));
            buffer = row->buffer;
            bytes = GPOINTER_TO_SIZE (g_hash_table_lookup (live, buffer));
          }
        bytes += row->size;
      }
  if (buffer != NULL)
    g_hash_table_insert (live, buffer, GSIZE_TO_POINTER (bytes));
}

static gboolean
is_mostly_dead (GHashTable *live, const OvsBuffer *buffer)
{
  return GPOINTER_TO_SIZE (g_hash_table_lookup (live, buffer)) < buffer->capacity / 2;
}

/* Of the buffers that are mostly dead, what is live. @waste: (out) what is dead in the others. */
static gsize
count_live (GHashTable *live, gsize *waste)
{
  GHashTableIter iter;
  gpointer key, value;
  gsize n = 0;

  *waste = 0;
  g_hash_table_iter_init (&iter, live);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      if (is_mostly_dead (live, key))
        n += GPOINTER_TO_SIZE (value);
      else
        *waste += ((const OvsBuffer *) key)->capacity - MIN (GPOINTER_TO_SIZE (value), ((const OvsBuffer *) key)->capacity);
    }
  return n;
}

static gboolean
own_chunk (OvsRagged *ragged, guint32 c, OvsPool *pool)
{
  guint32 row = c * OVS_CHUNK_ROWS;
  OvsBuffer *records;

  if (ovs_ragged_owns_chunk (ragged, row))
    return TRUE;
  records = ovs_pool_alloc (pool, ragged->chunks[c]->n_rows * sizeof (OvsArrayRow));
  if (records != NULL)
    ovs_ragged_own_chunk (ragged, row, records);
  return records != NULL;
}

gsize
ovs_ragged_repack (OvsRagged *ragged, OvsPool *pool)
{
  g_autoptr (GHashTable) live = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) moved = g_hash_table_new_full (hash_place, equal_place, g_free, NULL);
  g_autoptr (OvsBuffer) target = NULL;
  gsize waste, n_bytes, used = 0;

  survey (ragged, live);
  n_bytes = count_live (live, &waste);
  ragged->waste = waste;
  if (n_bytes == 0 || (target = ovs_pool_alloc (pool, n_bytes)) == NULL)
    return 0;

  for (guint32 c = 0; c < ragged->n_chunks; c++)
    for (guint32 i = 0; ragged->chunks[c] != NULL && i < ragged->chunks[c]->n_rows; i++)
      {
        OvsArrayRow row = ragged->chunks[c]->rows[i], to = { target, used, row.size };
        gpointer value;

        if (row.buffer == NULL || !g_hash_table_contains (live, row.buffer) || !is_mostly_dead (live, row.buffer) ||
            !own_chunk (ragged, c, pool))
          continue;
        if (g_hash_table_lookup_extended (moved, &row, NULL, &value))
          to.offset = GPOINTER_TO_SIZE (value);
        else
          {
            g_hash_table_insert (moved, g_memdup2 (&row, sizeof row), GSIZE_TO_POINTER (used));
            memcpy (target->data + used, row.buffer->data + row.offset, row.size);
            used += row.size;
          }
        ovs_ragged_set_row (ragged, c * OVS_CHUNK_ROWS + i, &to);
      }
  ragged->waste = waste + target->capacity - used;
  return used;
}
