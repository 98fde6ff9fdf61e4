/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-read-group.h"

#include "base/ovs-block.h"
#include "tensor/ovs-array.h"

#include "query/ovs-binding.h"

OvstageReadGroup *
ovs_read_group_ref (OvstageReadGroup *group)
{
  g_atomic_int_inc (&group->refs);
  return group;
}

void
ovs_read_group_unref (OvstageReadGroup *group)
{
  if (g_atomic_int_get (&group->refs) != 1 && !g_atomic_int_dec_and_test (&group->refs))
    return;
  g_clear_pointer (&group->tensor, ovs_tensor_unref);
  for (guint i = 0; group->tensors != NULL && i < group->n_tensors; i++)
    g_clear_pointer (&group->tensors[i], ovs_tensor_unref);
  g_free (group->tensors);
  g_clear_pointer ((OvsPackedRows **) &group->packed, ovs_packed_rows_unref);
  g_clear_pointer ((OvsPlaces **) &group->places, ovs_places_unref);
  g_clear_pointer ((OvsVersion **) &group->version, ovs_version_unref);
  ovs_path_list_unref (group->list);
  ovs_block_free (group, sizeof *group);
}

/* The tensor holds the bytes, not the group: it may outlive it. */
static OvstageTensor *
new_tensor (OvstageReadGroup *group)
{
  const OvsVersion *version = group->version;
  gint64 shape = group->data_count;
  OvsFence *ready;
  guint8 *values = ovs_version_get_values (version, &ready);

  g_assert (ready == NULL);
  return ovs_tensor_new (group->dtype, OVS_DEVICE_CPU, 0, 1, &shape, NULL, values + (gsize) group->first_row * version->row_size,
                         OVS_TENSOR_READ_ONLY, (GDestroyNotify) ovs_buffer_unref, ovs_buffer_ref (version->values));
}

static const OvsArrayRow *
get_array (const OvstageReadGroup *group, guint32 i)
{
  return ovs_version_get_array (group->version, group->row_map != NULL ? group->row_map[i] : group->first_row + i);
}

static OvstageTensor *
new_array_tensor (OvstageDataType dtype, OvsBuffer *buffer, gsize offset, gint64 n)
{
  OvsArrayRow at = { buffer, offset, 0 };

  return ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, 1, &n, NULL, (gpointer) ovs_array_row_get_data (&at), OVS_TENSOR_READ_ONLY,
                         buffer != NULL ? (GDestroyNotify) ovs_buffer_unref : NULL, buffer != NULL ? ovs_buffer_ref (buffer) : NULL);
}

/* The cache for the tensors of the rows. */
static OvstageTensor **
get_tensors (OvstageReadGroup *group)
{
  OvstageTensor **tensors = g_atomic_pointer_get (&group->tensors), **made;

  if (tensors != NULL)
    return tensors;
  made = g_new0 (OvstageTensor *, group->n_tensors);
  if (g_atomic_pointer_compare_and_exchange (&group->tensors, NULL, made))
    return made;
  g_free (made);
  return g_atomic_pointer_get (&group->tensors);
}

OvstageTensor *
ovs_read_group_ref_tensor (OvstageReadGroup *group, guint i)
{
  OvstageTensor *tensor, **place;

  if (i >= group->n_tensors)
    return NULL;
  place = group->is_array ? &get_tensors (group)[i] : &group->tensor;
  tensor = g_atomic_pointer_get (place);
  if (tensor == NULL)
    {
      OvstageTensor *made;

      if (group->is_array)
        {
          const OvsArrayRow *row = get_array (group, i);

          made = new_array_tensor (group->dtype, row->buffer, row->offset, ovs_array_row_n_elements (row, group->dtype));
        }
      else
        made = new_tensor (group);
      made->refs = 2; /* the group's and the caller's: nobody else has it yet */
      if (g_atomic_pointer_compare_and_exchange (place, NULL, made))
        return made;
      made->refs = 1;
      ovs_tensor_unref (made);
      tensor = g_atomic_pointer_get (place);
    }
  return ovs_tensor_ref (tensor);
}

/* The rows of a group from row @i on that lie together. Gives how many; *@rows is NULL where they have no elements. */
static guint32
get_run (const OvstageReadGroup *group, guint32 i, const OvsArrayRow **rows)
{
  if (group->row_map == NULL)
    return ovs_ragged_get_run (((const OvsVersion *) group->version)->ragged, group->first_row + i, group->n_tensors - i, rows);
  *rows = get_array (group, i);
  return 1;
}

/* What is found out about the rows on the way through them. */
typedef struct
{
  gboolean together;        /* they lie one behind another in one buffer */
  const OvsArrayRow *first; /* (nullable) the first that has elements */
  gsize size;               /* bytes of all */
} Survey;

/* @offsets: (out) (optional) n_tensors + 1, in elements, where each row begins. */
static Survey
survey (const OvstageReadGroup *group, guint64 *offsets)
{
  Survey all = { TRUE, NULL, 0 };
  guint32 bits = ovs_dtype_row_bits (group->dtype), n;
  gboolean even = (bits & (bits - 1)) == 0;
  guint shift = (guint) __builtin_ctz (bits);
  const OvsArrayRow *rows;
  gsize size = 0, differs = 0;

  if (offsets != NULL)
    offsets[0] = 0;
  for (guint32 i = 0; i < group->n_tensors; i += n)
    {
      n = get_run (group, i, &rows);
      for (guint32 k = 0; k < n; k++)
        {
          if (rows != NULL && rows[k].size > 0)
            {
              if (all.first == NULL)
                all.first = &rows[k];
              differs |= ((guintptr) rows[k].buffer ^ (guintptr) all.first->buffer) | (rows[k].offset ^ (all.first->offset + size));
              size += rows[k].size;
            }
          /* Each is a whole number of elements, so their sum is. */
          if (offsets != NULL)
            offsets[i + k + 1] = even ? size * 8 >> shift : size * 8 / bits;
        }
    }
  all.together = differs == 0;
  all.size = size;
  return all;
}

static OvsBuffer *
gather (const OvstageReadGroup *group, OvsPool *pool, gsize size)
{
  OvsBuffer *buffer = ovs_pool_alloc (pool, size);
  gsize at = 0;

  for (guint32 i = 0; buffer != NULL && i < group->n_tensors; i++)
    {
      const OvsArrayRow *row = get_array (group, i);

      memcpy (buffer->data + at, ovs_array_row_get_data (row), row->size);
      at += row->size;
    }
  return buffer;
}

static OvsPool *
find_pool (const OvsRagged *ragged)
{
  guint32 c = 0;

  while (ragged->chunks[c] == NULL)
    c++;
  return ragged->chunks[c]->records->pool;
}

static OvsPackedRows *
pack (const OvstageReadGroup *group, GError **error)
{
  OvsPool *pool = find_pool (((const OvsVersion *) group->version)->ragged);
  g_autoptr (OvsBuffer) offsets = ovs_pool_alloc (pool, ((gsize) group->n_tensors + 1) * sizeof (guint64));
  g_autoptr (OvsBuffer) gathered = NULL;
  OvstageDataType uint64 = { OVS_CODE_UINT, 64, 1 };
  guint64 *offset = offsets != NULL ? (guint64 *) offsets->data : NULL;
  Survey all = survey (group, offset);

  if (!all.together)
    gathered = gather (group, pool, all.size);
  if (offset == NULL || (!all.together && gathered == NULL))
    {
      ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for the %" G_GSIZE_FORMAT " bytes and the offsets of %u rows",
                all.together ? 0 : all.size, group->n_tensors);
      return NULL;
    }
  return ovs_packed_rows_new (new_array_tensor (group->dtype, gathered != NULL ? gathered : all.first != NULL ? all.first->buffer : NULL,
                                                all.together && all.first != NULL ? all.first->offset : 0, (gint64) offset[group->n_tensors]),
                              new_array_tensor (uint64, offsets, 0, (gint64) group->n_tensors + 1));
}

/* What stands in @place; else @made, which is taken. */
static OvsPackedRows *
keep_packed (gpointer *place, OvsPackedRows *made)
{
  if (g_atomic_pointer_compare_and_exchange (place, NULL, made))
    return made;
  ovs_packed_rows_unref (made);
  return g_atomic_pointer_get (place);
}

static gboolean
check_is_array (const OvstageReadGroup *group, GError **error)
{
  OvsSchema schema = { group->dtype, group->is_array, group->semantic };
  char text[OVS_SCHEMA_TEXT_MAX];

  if (group->is_array)
    return TRUE;
  if (group->is_delete)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "the group tells of prims that lost the attribute, expected one with arrays");
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "the values of the group are %s, expected arrays",
                   ovs_schema_format (&schema, text));
}

gboolean
ovs_read_group_get_packed (OvstageReadGroup *group, OvstageTensor **values, OvstageTensor **offsets, GError **error)
{
  OvsVersion *version = group->version;
  OvsPackedRows *packed = g_atomic_pointer_get (&group->packed), *made;
  gboolean whole;

  if (!check_is_array (group, error))
    return FALSE;
  /* Groups of all rows share what one of them made. */
  whole = group->row_map == NULL && group->first_row == 0 && group->n_tensors == version->n_rows;
  if (packed == NULL && whole && (packed = g_atomic_pointer_get (&version->packed)) != NULL)
    packed = keep_packed (&group->packed, ovs_packed_rows_ref (packed));
  if (packed == NULL)
    {
      made = pack (group, error);
      if (made == NULL)
        return FALSE;
      if (whole)
        made = ovs_packed_rows_ref (keep_packed ((gpointer *) &version->packed, made));
      packed = keep_packed (&group->packed, made);
    }
  *values = packed->values;
  *offsets = packed->offsets;
  return TRUE;
}

static gboolean
check_is_text (const OvstageReadGroup *group, GError **error)
{
  OvsSchema schema = { group->dtype, group->is_array, group->semantic };
  char text[OVS_SCHEMA_TEXT_MAX];

  if (!check_is_array (group, error))
    return FALSE;
  if (group->dtype.code == OVS_CODE_UINT && group->dtype.bits == 8 && group->dtype.lanes == 1)
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "the values of the group are %s, expected text, which is uint8[]",
                   ovs_schema_format (&schema, text));
}

static char *
dup_string (const OvstageReadGroup *group, guint32 i, GError **error)
{
  const OvsArrayRow *row = get_array (group, i);
  const char *bytes = (const char *) ovs_array_row_get_data (row), *end;

  if (g_utf8_validate_len (bytes, row->size, &end))
    return g_strndup (bytes, row->size);
  ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "row %u: byte %" G_GSIZE_FORMAT " is 0x%02x, expected UTF-8 text without NUL", i,
            (gsize) (end - bytes), *(const guint8 *) end);
  return NULL;
}

char *
ovs_read_group_dup_string (OvstageReadGroup *group, guint32 i, GError **error)
{
  if (!check_is_text (group, error))
    return NULL;
  if (i < group->n_tensors)
    return dup_string (group, i, error);
  ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "row is %u, expected below %u", i, group->n_tensors);
  return NULL;
}

char **
ovs_read_group_dup_strings (OvstageReadGroup *group, GError **error)
{
  g_auto (GStrv) strings = NULL;

  if (!check_is_text (group, error))
    return NULL;
  strings = g_new0 (char *, (gsize) group->n_tensors + 1);
  for (guint32 i = 0; i < group->n_tensors; i++)
    if ((strings[i] = dup_string (group, i, error)) == NULL)
      return NULL;
  return g_steal_pointer (&strings);
}
