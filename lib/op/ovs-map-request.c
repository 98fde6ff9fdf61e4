/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a map is asked for: checks, and the schema where the data type is left open. */

#include "config.h"

#include "op/ovs-map.h"

#include "column/ovs-presence.h"
#include "op/ovs-existence.h"

static gboolean
is_left_open (OvstageDataType dtype)
{
  return dtype.code == 0 && dtype.bits == 0 && dtype.lanes == 0;
}

/* NULLs and enum ranges. */
static gboolean
check_enums (const OvsMapRequest *request, guint64 ordinal, OvstagePrimMode prim_mode, GError **error)
{
  if (!ovs_check_prim_mode (prim_mode, error) || !ovs_check_semantic (request->semantic, error))
    return FALSE;
  if (request->element_counts == NULL && request->n_element_counts > 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts: NULL, expected %" G_GSIZE_FORMAT " counts",
                     request->n_element_counts);
  if (((guint) request->flags & ~(guint) OVSTAGE_MAP_FLAGS_INITIALIZE) != 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "flags are 0x%x, expected 0 (NONE) or 1 (INITIALIZE)",
                     (guint) request->flags);
  return ovs_check_ordinal (ordinal, "a map", error);
}

/* W24, W25 */
static gboolean
check_dtype (OvstageDataType dtype, gboolean is_array, GError **error)
{
  char text[OVS_DTYPE_TEXT_MAX];

  if (is_left_open (dtype))
    return TRUE;
  if (dtype.bits == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype: bits are 0, expected 1 to 255");
  if (dtype.lanes == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype: lanes are 0, expected 1 to 65535");
  if (!is_array && ovs_dtype_row_bits (dtype) % 8 != 0)
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "dtype: a row of %s is not a whole number of bytes",
                     ovs_dtype_format (dtype, text));
  return TRUE;
}

/* The same of arrays: each is a whole number of bytes, and together they can be counted. */
static gboolean
check_sizes (const gsize *counts, gsize n, OvstageDataType dtype, GError **error)
{
  guint32 bits = ovs_dtype_row_bits (dtype);
  char text[OVS_DTYPE_TEXT_MAX];
  gsize total = 0, total_bits;

  for (gsize i = 0; i < n; i++)
    {
      if (__builtin_add_overflow (total, counts[i], &total) || __builtin_mul_overflow (total, bits, &total_bits) ||
          total_bits > G_MAXINT64)
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts: the size overflows at [%" G_GSIZE_FORMAT
                         "], which is %" G_GSIZE_FORMAT, i, counts[i]);
      if ((counts[i] % 8) * bits % 8 != 0)
        return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "element counts: [%" G_GSIZE_FORMAT "] is %" G_GSIZE_FORMAT
                         ", of %s not a whole number of bytes", i, counts[i], ovs_dtype_format (dtype, text));
    }
  return TRUE;
}

gboolean
ovs_map_check_counts (const OvsMap *map, GError **error)
{
  guint32 n_prims = map->query->list->n;

  return map->counts == NULL || map->n_counts == n_prims ||
         ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts: %" G_GSIZE_FORMAT " entries, expected %u (prims of the query)",
                   map->n_counts, n_prims);
}

gboolean
ovs_map_check_request (OvsMap *map, OvsOp *query, guint64 attribute, const OvsMapRequest *request, GError **error)
{
  OvsStage *stage = map->op.stage;

  if (!check_enums (request, map->ordinal, map->prim_mode, error) || !ovs_stage_check_query (stage, query, error) ||
      !ovs_stage_check_attribute (stage, attribute, error) || !check_dtype (request->dtype, request->element_counts != NULL, error))
    return FALSE;
  if (!is_left_open (request->dtype) && !check_sizes (request->element_counts, request->n_element_counts, request->dtype, error))
    return FALSE;
  if (!ovs_stage_check_writable (stage, (guint32) attribute, error))
    return FALSE;
  map->attribute = (guint32) attribute;
  map->query = (OvsQuery *) ovs_op_ref (query);
  if (request->element_counts != NULL)
    {
      /* Not NULL without prims either: it stands for a map of arrays. */
      map->counts = g_new0 (gsize, MAX (request->n_element_counts, 1));
      for (gsize i = 0; i < request->n_element_counts; i++)
        map->counts[i] = request->element_counts[i];
    }
  map->n_counts = request->n_element_counts;
  return !ovs_query_has_list (query) || ovs_map_check_counts (map, error);
}

/* --- the schema --- */

/* Notes the schema of a column that is in question. */
static gboolean
add_candidate (OvsBooking *booking, const OvsColumn *column, const OvsColumn **candidate, GError **error)
{
  char one[OVS_SCHEMA_TEXT_MAX], other[OVS_SCHEMA_TEXT_MAX];

  if (*candidate == NULL || *candidate == column)
    {
      *candidate = column;
      return TRUE;
    }
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype is left open, and '%s' is %s as well as %s",
                   ovs_stage_name (booking->stage, booking->attribute), ovs_schema_format (&(*candidate)->schema, one),
                   ovs_schema_format (&column->schema, other));
}

/* That of the prims of the query. */
static gboolean
find_target_schema (OvsBooking *booking, const OvsColumn **found, GError **error)
{
  *found = booking->only;
  for (guint32 i = 0; booking->only == NULL && i < booking->rows.count; i++)
    if (booking->state[i] != 0 && !add_candidate (booking, booking->attr->columns->pdata[booking->state[i] - 1], found, error))
      return FALSE;
  return TRUE;
}

/* That of any prim of the stage. */
static gboolean
find_stage_schema (OvsBooking *booking, const OvsColumn **found, GError **error)
{
  OvsStage *stage = booking->stage;
  OvsAttr *attr = booking->attr;
  g_autofree gboolean *lives = NULL;

  *found = NULL;
  if (attr == NULL)
    return TRUE;
  lives = g_new0 (gboolean, attr->columns->len + 1);
  if (booking->write->ordinal >= ovs_stage_get_structure_max (stage, attr))
    for (guint c = 0; c < attr->columns->len; c++)
      lives[c] = ((OvsColumn *) attr->columns->pdata[c])->n_head_live > 0;
  else
    ovs_presence_of_columns (attr, stage->dict, stage->prim_deletes, ovs_floors_get (&stage->sealed, attr->token),
                             booking->write->ordinal, lives);
  for (guint c = 0; c < attr->columns->len; c++)
    if (lives[c] && !add_candidate (booking, attr->columns->pdata[c], found, error))
      return FALSE;
  return TRUE;
}

gboolean
ovs_map_find_schema (OvsMap *map, OvsBooking *booking, GError **error)
{
  const char *name = ovs_stage_name (booking->stage, booking->attribute);
  char text[OVS_SCHEMA_TEXT_MAX];
  const OvsColumn *found;

  if (!is_left_open (map->schema.dtype))
    return TRUE;
  if (!find_target_schema (booking, &found, error) || (found == NULL && !find_stage_schema (booking, &found, error)))
    return FALSE;
  if (found == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype is left open, and no prim has '%s' at ordinal %" G_GUINT64_FORMAT,
                     name, map->ordinal);
  ovs_schema_format (&found->schema, text);
  if (found->schema.is_array != map->schema.is_array)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts: '%s' is %s, expected %s", name, text,
                     found->schema.is_array ? "one count for each prim" : "none");
  if (map->schema.semantic != OVSTAGE_SEMANTIC_NONE && map->schema.semantic != found->schema.semantic)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic is %s, '%s' is %s", ovs_semantic_get_name (map->schema.semantic),
                     name, text);
  map->schema = found->schema;
  return map->counts == NULL || check_sizes (map->counts, map->n_counts, map->schema.dtype, error);
}
