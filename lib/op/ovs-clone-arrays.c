/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-clone-arrays.h"

#include <string.h>

OvsCloneArrays *
ovs_clone_arrays_new (OvsPool *pool, const OvsVersion *version, const guint32 *rows, guint32 n, guint32 n_targets,
                      OvstageWriteData **data)
{
  /* To a booking, records are rows like any other. */
  static const OvstageDataType record = { OVS_CODE_UINT, 64, OVS_ARRAY_ROW_SIZE / sizeof (guint64) };
  gint64 n_records = (gint64) n_targets * n;
  OvsBuffer *records = ovs_pool_alloc (pool, (gsize) n_records * sizeof (OvsArrayRow));
  OvsCloneArrays *self;
  OvstageTensor *tensor;

  if (records == NULL)
    return NULL;
  tensor = ovs_tensor_new (record, OVS_DEVICE_CPU, 0, 1, &n_records, NULL, records->data, 0, (GDestroyNotify) ovs_buffer_unref,
                           ovs_buffer_ref (records));
  *data = ovs_payload_new (tensor);
  (*data)->semantic = version->schema.semantic;
  ovs_tensor_unref (tensor);

  self = g_new0 (OvsCloneArrays, 1);
  self->version = version;
  self->n = n;
  self->rows = g_memdup2 (rows, sizeof *rows * n);
  self->arrays = g_new0 (OvsArrays, 1);
  self->arrays->refs = 1;
  self->arrays->payload = ovs_payload_ref (*data);
  self->arrays->records = records;
  self->arrays->heap = ovs_heap_new ();
  self->arrays->adopts = TRUE; /* perhaps: some that the source has */
  return self;
}

void
ovs_clone_arrays_free (OvsCloneArrays *self)
{
  ovs_arrays_unref (self->arrays);
  g_free (self->rows);
  g_free (self);
}

/* Who fills the records. */
typedef struct
{
  OvsCloneArrays *self;
  OvsRebase *rebase;
  OvsPool *pool;
  guint stride;         /* ids of an element, the first of which is a path; 0: the values are no paths */
  GHashTable *named;    /* (owned) buffer -> bytes that the rows name */
} Filling;

static guint
get_stride (const OvsSchema *schema)
{
  if (schema->semantic == OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID)
    return 1;
  return schema->semantic == OVSTAGE_SEMANTIC_CONNECTION_PATH_ID ? 2 : 0;
}

static gboolean
names_inside (const Filling *filling, const OvsArrayRow *row)
{
  const guint64 *ids = (const guint64 *) ovs_array_row_get_data (row);

  for (gsize i = 0; filling->stride > 0 && i < row->size / sizeof (guint64); i += filling->stride)
    if (ovs_rebase_is_inside (filling->rebase, ids[i]))
      return TRUE;
  return FALSE;
}

/* Half of a buffer and more is worth keeping. */
static gboolean
is_worth_sharing (const Filling *filling, const OvsBuffer *buffer)
{
  return GPOINTER_TO_SIZE (g_hash_table_lookup (filling->named, buffer)) >= buffer->capacity / 2;
}

/* Memory that the heap holds. */
static OvsBuffer *
new_buffer (Filling *filling, gsize size)
{
  OvsBuffer *buffer = ovs_pool_alloc (filling->pool, size);

  if (buffer == NULL)
    {
      gpointer bytes = g_malloc (size);

      buffer = ovs_buffer_new_adopted (bytes, size, g_free, bytes);
    }
  ovs_heap_add (filling->self->arrays->heap, buffer);
  return buffer;
}

static void
rebase_ids (Filling *filling, guint32 target, const OvsArrayRow *row)
{
  guint64 *ids = (guint64 *) (row->buffer->data + row->offset);
  g_auto (OvsRebaseCursor) cursor = OVS_REBASE_CURSOR (target);

  for (gsize i = 0; i < row->size / sizeof (guint64); i += filling->stride)
    if (ovs_rebase_is_inside (filling->rebase, ids[i]))
      {
        guint32 copy = ovs_rebase_path (filling->rebase, &cursor, (guint32) ids[i]);

        if (copy == OVS_ID_NONE)
          g_error ("out of memory for paths");
        ids[i] = copy;
      }
}

/* Copies of the rows that are picked, one behind another. */
static void
copy_rows (Filling *filling, const guint8 *picked, guint8 pick, OvsArrayRow *records)
{
  OvsCloneArrays *self = filling->self;
  OvsBuffer *buffer;
  gsize size = 0;

  for (guint32 i = 0; i < self->n; i++)
    if (picked[i] == pick)
      size += ovs_version_get_array (self->version, self->rows[i])->size;
  if (size == 0)
    return;
  buffer = new_buffer (filling, size);
  size = 0;
  for (guint32 i = 0; i < self->n; i++)
    {
      const OvsArrayRow *row = ovs_version_get_array (self->version, self->rows[i]);

      if (picked[i] != pick)
        continue;
      memcpy (buffer->data + size, ovs_array_row_get_data (row), row->size);
      records[i] = (OvsArrayRow){ buffer, size, row->size };
      size += row->size;
    }
}

enum
{
  SHARE,
  COPY,   /* once for all targets */
  REBASE, /* for each of them */
};

void
ovs_clone_arrays_fill (OvsCloneArrays *self, OvsRebase *rebase, OvsPool *pool)
{
  Filling filling = { self, rebase, pool, get_stride (&self->version->schema), g_hash_table_new (NULL, NULL) };
  OvsArrayRow *records = (OvsArrayRow *) self->arrays->records->data;
  g_autofree guint8 *picked = g_new (guint8, self->n);
  GHashTableIter iter;
  gpointer buffer;

  for (guint32 i = 0; i < self->n; i++)
    {
      const OvsArrayRow *row = ovs_version_get_array (self->version, self->rows[i]);
      gsize named = row->buffer != NULL ? GPOINTER_TO_SIZE (g_hash_table_lookup (filling.named, row->buffer)) : 0;

      records[i] = (OvsArrayRow){ NULL, 0, 0 };
      picked[i] = names_inside (&filling, row) ? REBASE : SHARE;
      if (picked[i] == SHARE && row->buffer != NULL)
        g_hash_table_insert (filling.named, row->buffer, GSIZE_TO_POINTER (named + row->size));
    }
  g_hash_table_iter_init (&iter, filling.named);
  while (g_hash_table_iter_next (&iter, &buffer, NULL))
    if (is_worth_sharing (&filling, buffer))
      ovs_heap_add (self->arrays->heap, ovs_buffer_ref (buffer));
  for (guint32 i = 0; i < self->n; i++)
    {
      const OvsArrayRow *row = ovs_version_get_array (self->version, self->rows[i]);

      if (picked[i] != SHARE || row->size == 0)
        continue;
      if (is_worth_sharing (&filling, row->buffer))
        records[i] = *row;
      else
        picked[i] = COPY;
    }
  copy_rows (&filling, picked, COPY, records);
  for (guint32 t = 1; t < rebase->n_targets; t++)
    memcpy (records + (gsize) t * self->n, records, sizeof *records * self->n);
  for (guint32 t = 0; t < rebase->n_targets; t++)
    {
      OvsArrayRow *copies = records + (gsize) t * self->n;

      copy_rows (&filling, picked, REBASE, copies);
      for (guint32 i = 0; i < self->n; i++)
        if (picked[i] == REBASE)
          rebase_ids (&filling, t, &copies[i]);
    }
  g_hash_table_unref (filling.named);
}
