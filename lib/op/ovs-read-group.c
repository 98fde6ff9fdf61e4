/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-read-group.h"

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
  g_free (group);
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

/* Whether the rows lie one behind another in one buffer. @first: (out) (nullable) the first that has elements; @size: (out)
 * what they take. */
static gboolean
lie_together (const OvstageReadGroup *group, const OvsArrayRow **first, gsize *size)
{
  gboolean together = TRUE;

  *first = NULL;
  *size = 0;
  for (guint32 i = 0; i < group->n_tensors; i++)
    {
      const OvsArrayRow *row = get_array (group, i);

      if (row->size == 0)
        continue;
      if (*first == NULL)
        *first = row;
      together = together && row->buffer == (*first)->buffer && row->offset == (*first)->offset + *size;
      *size += row->size;
    }
  return together;
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
  const OvsVersion *version = group->version;
  const OvsArrayRow *first;
  OvsPool *pool = find_pool (version->ragged);
  g_autoptr (OvsBuffer) offsets = ovs_pool_alloc (pool, ((gsize) group->n_tensors + 1) * sizeof (guint64));
  g_autoptr (OvsBuffer) gathered = NULL;
  OvstageDataType uint64 = { OVS_CODE_UINT, 64, 1 };
  guint64 *offset = offsets != NULL ? (guint64 *) offsets->data : NULL;
  gsize size;
  gboolean together = lie_together (group, &first, &size);

  if (!together)
    gathered = gather (group, pool, size);
  if (offset == NULL || (!together && gathered == NULL))
    {
      ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for the %" G_GSIZE_FORMAT " bytes and the offsets of %u rows",
                together ? 0 : size, group->n_tensors);
      return NULL;
    }
  offset[0] = 0;
  for (guint32 i = 0; i < group->n_tensors; i++)
    offset[i + 1] = offset[i] + (guint64) ovs_array_row_n_elements (get_array (group, i), group->dtype);
  return ovs_packed_rows_new (new_array_tensor (group->dtype, gathered != NULL ? gathered : first != NULL ? first->buffer : NULL,
                                                together && first != NULL ? first->offset : 0, (gint64) offset[group->n_tensors]),
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
