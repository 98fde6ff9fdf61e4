/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a booking checks, as of its ordinal and now, and where its targets are: what
 * most of the checks have to know. */

#include "config.h"

#include "op/ovs-booking-private.h"

#include "column/ovs-presence.h"
#include "op/ovs-existence.h"

gboolean
ovs_stage_check_write_floor (OvsStage *stage, guint32 attribute, guint64 ordinal, GError **error)
{
  guint64 floor = ovs_floors_get (&stage->closing, attribute);

  return ordinal > floor ||
         ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                   "ordinal is %" G_GUINT64_FORMAT ", expected above the write floor of '%s', %" G_GUINT64_FORMAT, ordinal,
                   ovs_stage_name (stage, attribute), floor);
}

/* One that waited was let in as it was submitted. */
gboolean
ovs_booking_check_floor (OvsBooking *booking, GError **error)
{
  return booking->write->op.blocked != NULL ||
         ovs_stage_check_write_floor (booking->stage, booking->attribute, booking->write->ordinal, error);
}

/* Whether the first @count entries of a binding stand on live rows. */
static gboolean
all_live (const OvsColumn *column, const OvsBinding *binding, guint32 count)
{
  if (binding->n_missing > 0 || count > binding->n)
    return FALSE;
  if (column->head_live == NULL)
    return (binding->rows == NULL ? binding->first + count : binding->end) <= column->n_head_rows;
  for (guint32 i = 0; i < count; i++)
    if (!ovs_column_is_head_live (column, ovs_binding_get_row (binding, i)))
      return FALSE;
  return TRUE;
}

/* The one column that carries every prim of the query's first elements, as of the ordinal. NULL: look at each prim. */
static OvsColumn *
find_only_column (OvsBooking *booking)
{
  OvsAttr *attr = booking->attr;
  guint32 count = booking->rows.count;
  OvsColumn *column;

  if (attr == NULL || attr->columns->len != 1 || booking->write->ordinal < ovs_stage_get_structure_max (booking->stage, attr))
    return NULL;
  column = attr->columns->pdata[0];
  booking->binding = booking->alone ? ovs_query_get_binding (booking->query, column->layout) : NULL;
  booking->is_lent = booking->binding != NULL;
  if (!booking->is_lent)
    booking->binding = ovs_stage_bind (booking->stage, booking->query, column->layout);
  if (booking->binding != NULL && all_live (column, booking->binding, count))
    return column;
  if (booking->binding != NULL && !booking->is_lent)
    ovs_binding_unref (booking->binding);
  booking->binding = NULL;
  return NULL;
}

static void
find_state (OvsBooking *booking)
{
  guint32 count = booking->rows.count;
  guint64 ordinal = booking->write->ordinal;

  booking->state = g_new0 (guint16, count);
  if (ordinal >= ovs_stage_get_structure_max (booking->stage, booking->attr))
    {
      if (booking->attr != NULL)
        ovs_presence_at_head (booking->attr, booking->query->list, count, booking->state);
      return;
    }
  booking->above = g_new0 (guint8, count);
  ovs_presence_as_of (booking->attr, booking->attribute, booking->stage->prim_deletes,
                      ovs_floors_get (&booking->stage->sealed, booking->attribute), booking->query->list, count, ordinal,
                      booking->state, booking->above);
}

void
ovs_booking_find_targets (OvsBooking *booking)
{
  booking->attr = ovs_stage_get_attr (booking->stage, booking->attribute);
  booking->only = find_only_column (booking);
  if (booking->only == NULL)
    find_state (booking);
}

static const char *
dup_prim (OvsBooking *booking, guint32 element, char **text)
{
  return *text = ovs_path_dict_dup_path (booking->stage->dict, booking->query->list->ids[element]);
}

gboolean
ovs_booking_check_prim_mode (OvsBooking *booking, GError **error)
{
  g_autofree guint32 *counts = NULL;
  g_autofree char *path = NULL;

  if (booking->prim_mode == OVSTAGE_PRIM_MODE_UPSERT)
    return TRUE;
  counts = ovs_stage_count_attributes (booking->stage, booking->query->list, booking->rows.count, booking->write->ordinal);
  for (guint32 i = 0; i < booking->rows.count; i++)
    {
      if (!ovs_rows_is_selected (&booking->rows, i))
        continue;
      if (booking->prim_mode == OVSTAGE_PRIM_MODE_INSERT && counts[i] != 0)
        return ovs_fail (error, OVSTAGE_ERROR_ALREADY_EXISTS,
                         "prim mode INSERT: prim %u of the query, '%s', exists at ordinal %" G_GUINT64_FORMAT, i,
                         dup_prim (booking, i, &path), booking->write->ordinal);
      if (booking->prim_mode == OVSTAGE_PRIM_MODE_UPDATE && counts[i] == 0)
        return ovs_fail (error, OVSTAGE_ERROR_NOT_FOUND,
                         "prim mode UPDATE: prim %u of the query, '%s', does not exist at ordinal %" G_GUINT64_FORMAT, i,
                         dup_prim (booking, i, &path), booking->write->ordinal);
    }
  return TRUE;
}

gboolean
ovs_booking_find (OvsBooking *booking, GError **error)
{
  if (!ovs_booking_check_floor (booking, error))
    return FALSE;
  ovs_booking_find_targets (booking);
  return ovs_booking_check_prim_mode (booking, error);
}

/* W20: the write's schema against what a prim has. A semantic of NONE keeps the prim's. */
static gboolean
check_against (OvsBooking *booking, const OvsColumn *column, guint32 element, GError **error)
{
  const OvsSchema *schema = &booking->schema;
  char found[OVS_SCHEMA_TEXT_MAX], wanted[OVS_SCHEMA_TEXT_MAX];
  g_autofree char *path = NULL;

  if (ovs_dtype_equal (schema->dtype, column->schema.dtype) && schema->is_array == column->schema.is_array &&
      (schema->semantic == OVSTAGE_SEMANTIC_NONE || schema->semantic == column->schema.semantic))
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   "attribute '%s' of prim %u of the query, '%s', is %s, the payload is %s: delete it before it gets another schema",
                   ovs_stage_name (booking->stage, booking->attribute), element, dup_prim (booking, element, &path),
                   ovs_schema_format (&column->schema, wanted), ovs_schema_format (schema, found));
}

static guint32
first_selected (const OvsRows *rows)
{
  guint32 i = 0;

  while (i < rows->count && !ovs_rows_is_selected (rows, i))
    i++;
  return i;
}

gboolean
ovs_booking_check_schema (OvsBooking *booking, GError **error)
{
  OvsColumn *only = booking->only;
  const OvsSchema *schema = &booking->schema;
  guint32 token = booking->attribute;
  char text[OVS_SCHEMA_TEXT_MAX];
  gboolean creates = FALSE;

  if (only != NULL)
    {
      if (!check_against (booking, only, first_selected (&booking->rows), error))
        return FALSE;
    }
  else
    {
      for (guint32 i = 0; i < booking->rows.count; i++)
        {
          if (!ovs_rows_is_selected (&booking->rows, i))
            continue;
          if (booking->state[i] == 0)
            creates = TRUE;
          else if (!check_against (booking, booking->attr->columns->pdata[booking->state[i] - 1], i, error))
            return FALSE;
        }
    }
  if (!ovs_schema_check (schema, error))
    return FALSE;
  /* States of prims are numbers of columns. */
  if (creates && booking->attr != NULL && booking->attr->columns->len >= G_MAXUINT16 - 1 && ovs_attr_find_column (booking->attr, schema) == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "attribute '%s' has %u schemas, expected no more for %s",
                     ovs_stage_name (booking->stage, token), booking->attr->columns->len, ovs_schema_format (schema, text));

  if (token == booking->stage->reserved[4] && creates && (schema->semantic != OVSTAGE_SEMANTIC_TOKEN_ID || schema->is_array))
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-prim-type: the payload is %s, semantic %s, expected fixed-size TOKEN_ID",
                     ovs_schema_format (schema, text), ovs_semantic_get_name (schema->semantic));
  if (token == booking->stage->reserved[5] && creates && (schema->semantic != OVSTAGE_SEMANTIC_TOKEN_ID || !schema->is_array))
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-schemas: the payload is %s, semantic %s, expected arrays of TOKEN_ID",
                     ovs_schema_format (schema, text), ovs_semantic_get_name (schema->semantic));
  return TRUE;
}

gboolean
ovs_stage_check_budget (OvsStage *stage, gsize bytes, GError **error)
{
  gsize unsealed = stage->staged_bytes + (gsize) g_atomic_pointer_get (&stage->mapped_bytes);

  if (bytes == 0 || (bytes <= stage->config.staging_budget && unsealed <= stage->config.staging_budget - bytes))
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY,
                   "%" G_GSIZE_FORMAT " unsealed bytes and %" G_GSIZE_FORMAT " more, staging-budget is %" G_GUINT64_FORMAT,
                   unsealed, bytes, stage->config.staging_budget);
}
