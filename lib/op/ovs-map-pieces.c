/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The pieces of a map: a group each, its memory, and the values that are there. */

#include "config.h"

#include "op/ovs-map.h"

#include <string.h>

/* A query that nobody submits. */
static OvsQuery *
new_query (OvsStage *stage, OvstagePathList *list)
{
  OvsQuery *query = ovs_op_new (stage, OVS_OP_QUERY, sizeof *query);

  query->list = list;
  ovs_op_set_done (&query->op, NULL);
  return query;
}

/* The prims of the elements @elements, which ascend. */
static OvsQuery *
select_query (OvsMap *map, const guint32 *elements, guint32 n)
{
  OvstagePathList *list = map->query->list;
  g_autofree guint64 *ids = NULL;

  if (n == list->n)
    return (OvsQuery *) ovs_op_ref (&map->query->op);
  ids = g_new (guint64, n);
  for (guint32 i = 0; i < n; i++)
    ids[i] = list->ids[elements[i]];
  return new_query (map->op.stage, ovs_path_list_new (list->dict, ids, n, NULL));
}

/* Where the array of each element begins, and the last ends. */
static guint64 *
add_up (const OvsMap *map, const guint32 *elements, guint32 n)
{
  guint64 *offsets = g_new (guint64, (gsize) n + 1);

  offsets[0] = 0;
  for (guint32 i = 0; i < n; i++)
    offsets[i + 1] = offsets[i] + map->counts[elements != NULL ? elements[i] : i];
  return offsets;
}

/* @column: (nullable) what carries the prims. @elements: (nullable) entries of the list; all of them. */
static gboolean
add_piece (OvsMap *map, OvsColumn *column, const guint32 *elements, guint32 n, GError **error)
{
  OvsStage *stage = map->op.stage;
  const OvsSchema *schema = column != NULL ? &column->schema : &map->schema;
  g_autofree guint64 *offsets = map->counts != NULL ? add_up (map, elements, n) : NULL;
  gsize bytes = (offsets != NULL ? (gsize) offsets[n] : n) * ovs_dtype_row_bits (schema->dtype) / 8;
  OvsBuffer *buffer = ovs_pool_alloc_map (stage->pool, bytes);
  OvstageMapGroup *group;
  OvsMapPiece *piece;

  if (buffer == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " bytes to map", bytes);
  group = ovs_map_group_new (schema, map->query->list, n, n < map->query->list->n ? g_memdup2 (elements, sizeof *elements * n) : NULL,
                             g_steal_pointer (&offsets), buffer);
  group->attribute = map->attribute;
  group->ordinal = map->ordinal;
  group->write_floor = ovs_floors_get (&stage->sealed, map->attribute);
  if (column != NULL)
    group->layout_generation = ovs_attr_get_generation (column->attr, group->write_floor);

  map->pieces = g_renew (OvsMapPiece, map->pieces, map->n_pieces + 1);
  piece = &map->pieces[map->n_pieces++];
  memset (piece, 0, sizeof *piece);
  piece->group = group;
  piece->query = select_query (map, elements, n);
  piece->mapped = buffer->capacity;
  g_atomic_pointer_add (&stage->mapped_bytes, (gssize) piece->mapped);
  return TRUE;
}

/* One group for each schema that the prims will have, which can differ in the semantic only: as a read of the attribute would
 * give them, prims in the order of the query. So the common map has one group, the whole query. */
gboolean
ovs_map_make_pieces (OvsMap *map, OvsBooking *booking, GError **error)
{
  guint n_columns = booking->attr != NULL ? booking->attr->columns->len : 0;
  OvsColumn *joined = booking->attr != NULL ? ovs_attr_find_column (booking->attr, &map->schema) : NULL;
  guint32 n_prims = booking->rows.count;
  g_autofree guint32 *elements = NULL;

  if (booking->only != NULL)
    return add_piece (map, booking->only, NULL, n_prims, error);
  elements = g_new (guint32, n_prims);
  for (guint c = 0; c <= n_columns; c++)
    {
      OvsColumn *column = c < n_columns ? booking->attr->columns->pdata[c] : NULL;
      guint32 n = 0;

      /* Prims that do not have the attribute will be in the column of their schema; the last round is for when there is none. */
      for (guint32 i = 0; i < n_prims; i++)
        {
          OvsColumn *own = booking->state[i] != 0 ? booking->attr->columns->pdata[booking->state[i] - 1] : joined;

          if (own == column)
            elements[n++] = i;
        }
      if (n > 0 && !add_piece (map, column, elements, n, error))
        return FALSE;
    }
  return TRUE;
}

/* --- the current values --- */

gboolean
ovs_map_plan_fill (OvsMap *map, OvsAttr *attr, GError **error)
{
  OvsStage *stage = map->op.stage;

  if (attr == NULL)
    return TRUE;
  map->peek = ovs_stage_peek (stage, attr, map->ordinal, error);
  if (map->peek == NULL)
    return FALSE;
  for (guint v = 0; v < ovs_peek_get_n_versions (map->peek); v++)
    {
      OvsVersion *version = ovs_peek_get_version (map->peek, v);

      for (guint i = 0; i < map->n_pieces; i++)
        {
          OvsMapPiece *piece = &map->pieces[i];

          if (!ovs_schema_equal (&piece->group->schema, &version->schema))
            continue;
          piece->binding = ovs_stage_bind (stage, piece->query, version->layout);
          if (piece->binding == NULL)
            return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for the rows of %u prims", piece->group->prim_count);
          piece->version = ovs_version_ref (version);
        }
    }
  ovs_op_add_peek_deps (&map->op, map->attribute, map->ordinal);
  return TRUE;
}

gsize
ovs_map_get_work (const OvsMap *map)
{
  gsize work = map->peek != NULL ? ovs_peek_get_work (map->peek) : 0;

  for (guint i = 0; i < map->n_pieces; i++)
    work += map->pieces[i].mapped;
  return work;
}

static void
fill_arrays (OvsMapPiece *piece)
{
  const OvstageMapGroup *group = piece->group;
  guint32 bits = ovs_dtype_row_bits (group->schema.dtype);

  for (guint32 i = 0; i < group->prim_count; i++)
    {
      guint32 row = piece->version != NULL ? ovs_binding_get_row (piece->binding, i) : OVS_INDEX_NONE;
      guint8 *to = group->buffer->data + (gsize) group->offsets[i] * bits / 8;
      gsize size = (gsize) (group->offsets[i + 1] - group->offsets[i]) * bits / 8, n = 0;

      if (row != OVS_INDEX_NONE && ovs_version_has_row (piece->version, row))
        {
          const OvsArrayRow *array = ovs_version_get_array (piece->version, row);

          n = MIN (size, array->size);
          if (n > 0)
            memcpy (to, ovs_array_row_get_data (array), n);
        }
      if (size > n)
        memset (to + n, 0, size - n);
    }
}

static void
fill_piece (OvsMapPiece *piece)
{
  const OvsVersion *version = piece->version;
  OvsBinding *binding = piece->binding;
  gsize row_size = piece->group->row_size;
  guint32 n = piece->group->prim_count;
  guint8 *to = piece->group->buffer->data;
  const guint8 *from;
  OvsFence *ready;

  if (piece->group->offsets != NULL)
    {
      fill_arrays (piece);
      return;
    }
  if (version == NULL)
    {
      memset (to, 0, (gsize) n * row_size);
      return;
    }
  from = ovs_version_get_values (version, &ready);
  g_assert (ready == NULL);
  if (binding->rows == NULL && version->live == NULL && binding->end <= version->n_rows && n > 0)
    {
      memcpy (to, from + (gsize) binding->first * row_size, (gsize) n * row_size);
      return;
    }
  for (guint32 i = 0; i < n; i++, to += row_size)
    {
      guint32 row = ovs_binding_get_row (binding, i);

      if (row != OVS_INDEX_NONE && ovs_version_has_row (version, row))
        memcpy (to, from + (gsize) row * row_size, row_size);
      else
        memset (to, 0, row_size);
    }
}

static void
clear_fill (OvsMap *map)
{
  for (guint i = 0; i < map->n_pieces; i++)
    {
      g_clear_pointer (&map->pieces[i].version, ovs_version_unref);
      g_clear_pointer (&map->pieces[i].binding, ovs_binding_unref);
    }
  g_clear_pointer (&map->peek, ovs_peek_free);
}

/* The memory is no longer the user's. */
static void
close_memory (OvsMapPiece *piece)
{
  OvsBuffer *buffer = piece->group->buffer;

  if (g_atomic_int_get (&piece->group->state) == OVS_MAP_GROUP_DROPPED)
    ovs_buffer_abandon (buffer);
  else
    ovs_buffer_protect (buffer);
}

void
ovs_map_fill (OvsMap *map)
{
  if (map->peek != NULL)
    ovs_peek_run (map->peek);
  for (guint i = 0; i < map->n_pieces; i++)
    {
      fill_piece (&map->pieces[i]);
      if (!ovs_map_group_is_open (map->pieces[i].group))
        close_memory (&map->pieces[i]);
    }
  clear_fill (map);
}

/* --- what becomes of them --- */

gboolean
ovs_map_end_piece (OvsMap *map, OvsMapPiece *piece, OvsMapGroupState state)
{
  if (!ovs_map_group_end (piece->group, state))
    return FALSE;
  g_atomic_pointer_add (&map->op.stage->mapped_bytes, -(gssize) piece->mapped);
  /* Before it is done it is still to be filled. */
  if (ovs_op_is_done (&map->op))
    close_memory (piece);
  return TRUE;
}

void
ovs_map_drop_pieces (OvsMap *map)
{
  for (guint i = 0; i < map->n_pieces; i++)
    ovs_map_end_piece (map, &map->pieces[i], OVS_MAP_GROUP_DROPPED);
}

void
ovs_map_clear_pieces (OvsMap *map)
{
  ovs_map_drop_pieces (map);
  clear_fill (map);
  for (guint i = 0; i < map->n_pieces; i++)
    {
      ovs_map_group_unref (map->pieces[i].group);
      ovs_op_unref (&map->pieces[i].query->op);
    }
  g_clear_pointer (&map->pieces, g_free);
  map->n_pieces = 0;
}

OvstageWriteData *
ovs_map_new_data (OvsMap *map, OvsMapPiece *piece)
{
  const OvstageMapGroup *group = piece->group;
  OvstageTensor *tensor = ovs_map_group_ref_values (piece->group);
  OvstageWriteData *data;

  if (group->offsets != NULL)
    data = ovs_payload_new_ragged (tensor, group->offsets, group->prim_count, FALSE);
  else
    data = ovs_payload_new (tensor);
  data->buffer = ovs_buffer_ref (group->buffer);
  data->semantic = map->schema.semantic;
  ovs_tensor_unref (tensor);
  return data;
}
