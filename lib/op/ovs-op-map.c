/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A map hands out the memory of a write before the write: whoever fills it need not
 * copy. It is an operation and keeps a query, an attribute, a schema, an ordinal and
 * a prim mode; a commit is an ordinary write of all these, checked and booked when it
 * comes, whose values are in the store's memory already (ENGINE rules 35, 36). What
 * is checked when the map is made is a courtesy: it blocks nobody, and nothing holds
 * the stage to what it found. */

#include "config.h"

#include "op/ovs-booking.h"

#include <string.h>

#include "base/ovs-debug.h"
#include "column/ovs-peek.h"
#include "column/ovs-presence.h"
#include "op/ovs-existence.h"
#include "op/ovs-map-group.h"
#include "tensor/ovs-array.h"

/* What one group is made of. */
typedef struct
{
  OvstageMapGroup *group; /* (owned) */
  OvsQuery *query;        /* (owned) its prims */
  gsize mapped;           /* bytes that count while it is open */
  OvsVersion *version;    /* (owned) (nullable) what it is filled with, */
  OvsBinding *binding;    /* (owned) (nullable) from these rows */
} Piece;

typedef struct
{
  OvsOp op;
  OvsQuery *query; /* (owned) */
  guint32 attribute;
  guint64 ordinal;
  OvstagePrimMode prim_mode;
  OvstageMapFlags flags;
  gsize *counts;    /* (owned) (nullable) of arrays: elements of each prim of the query */
  gsize n_counts;
  OvsSchema schema; /* of the writes: a semantic of NONE keeps that of the prims */
  gint next;        /* (atomic) group to be fetched */
  gint ended;       /* (atomic) */
  OvsPeek *peek;    /* (owned) (nullable) to be run before the groups are filled */
  guint n_pieces;
  Piece *pieces;    /* (owned) */
} OvsMap;

/* The memory is no longer the user's. */
static void
close_memory (Piece *piece)
{
  OvsBuffer *buffer = piece->group->buffer;

  if (g_atomic_int_get (&piece->group->state) == OVS_MAP_GROUP_DROPPED)
    ovs_buffer_abandon (buffer);
  else
    ovs_buffer_protect (buffer);
}

/* Tells whether the piece was open. */
static gboolean
end_piece (OvsMap *map, Piece *piece, OvsMapGroupState state)
{
  if (!ovs_map_group_end (piece->group, state))
    return FALSE;
  g_atomic_pointer_add (&map->op.stage->mapped_bytes, -(gssize) piece->mapped);
  /* Before it is done it is still to be filled. */
  if (ovs_op_is_done (&map->op))
    close_memory (piece);
  return TRUE;
}

static void
drop_pieces (OvsMap *map)
{
  for (guint i = 0; i < map->n_pieces; i++)
    end_piece (map, &map->pieces[i], OVS_MAP_GROUP_DROPPED);
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

static void
clear_pieces (OvsMap *map)
{
  drop_pieces (map);
  clear_fill (map);
  for (guint i = 0; i < map->n_pieces; i++)
    {
      ovs_map_group_unref (map->pieces[i].group);
      ovs_op_unref (&map->pieces[i].query->op);
    }
  g_clear_pointer (&map->pieces, g_free);
  map->n_pieces = 0;
}

void
ovs_map_clear (OvsOp *op)
{
  OvsMap *map = (OvsMap *) op;

  clear_pieces (map);
  g_free (map->counts);
  if (map->query != NULL)
    ovs_op_unref (&map->query->op);
}

/* --- what is asked for --- */

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
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element_counts is NULL, expected %" G_GSIZE_FORMAT " counts",
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
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element_counts: the size overflows at [%" G_GSIZE_FORMAT
                         "], which is %" G_GSIZE_FORMAT, i, counts[i]);
      if ((counts[i] % 8) * bits % 8 != 0)
        return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "element_counts[%" G_GSIZE_FORMAT "]: %" G_GSIZE_FORMAT
                         " x %s is not a whole number of bytes", i, counts[i], ovs_dtype_format (dtype, text));
    }
  return TRUE;
}

static gboolean
check_counts (const OvsMap *map, GError **error)
{
  guint32 n_prims = map->query->list->n;

  return map->counts == NULL || map->n_counts == n_prims ||
         ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element_counts has %" G_GSIZE_FORMAT " entries, expected %u (prims of the query)",
                   map->n_counts, n_prims);
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

/* A data type that is left open is taken, with all that belongs to the schema, from what is there. */
static gboolean
take_schema (OvsMap *map, OvsBooking *booking, GError **error)
{
  const char *name = ovs_stage_name (booking->stage, booking->attribute);
  char text[OVS_SCHEMA_TEXT_MAX];
  const OvsColumn *found;

  if (!find_target_schema (booking, &found, error) || (found == NULL && !find_stage_schema (booking, &found, error)))
    return FALSE;
  if (found == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype is left open, and no prim has '%s' at ordinal %" G_GUINT64_FORMAT,
                     name, map->ordinal);
  ovs_schema_format (&found->schema, text);
  if (found->schema.is_array != map->schema.is_array)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "element_counts: '%s' is %s, expected %s", name, text,
                     found->schema.is_array ? "one count for each prim" : "none");
  if (map->schema.semantic != OVSTAGE_SEMANTIC_NONE && map->schema.semantic != found->schema.semantic)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic is %s, '%s' is %s", ovs_semantic_get_name (map->schema.semantic),
                     name, text);
  map->schema = found->schema;
  return map->counts == NULL || check_sizes (map->counts, map->n_counts, map->schema.dtype, error);
}

/* --- groups --- */

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
  Piece *piece;

  if (buffer == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " bytes to map", bytes);
  group = ovs_map_group_new (schema, map->query->list, n, n < map->query->list->n ? g_memdup2 (elements, sizeof *elements * n) : NULL,
                             g_steal_pointer (&offsets), buffer);
  group->attribute = map->attribute;
  group->ordinal = map->ordinal;
  group->write_floor = ovs_floors_get (&stage->sealed, map->attribute);
  if (column != NULL)
    group->layout_generation = ovs_attr_get_generation (column->attr, group->write_floor);

  map->pieces = g_renew (Piece, map->pieces, map->n_pieces + 1);
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
static gboolean
make_pieces (OvsMap *map, OvsBooking *booking, GError **error)
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

static gboolean
plan_fill (OvsMap *map, OvsAttr *attr, GError **error)
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
          Piece *piece = &map->pieces[i];

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

static void
fill_arrays (Piece *piece)
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
fill_piece (Piece *piece)
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
fill (OvsMap *map)
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

void
ovs_map_run (OvsOp *op, GQueue *ready)
{
  OvsStage *stage = op->stage;

  fill ((OvsMap *) op);
  ovs_stage_lock (stage);
  ovs_op_unset_pending (op, NULL, ready);
  ovs_stage_unlock (stage);
  ovs_op_end (op);
}

/* In a thread of the stage. Takes @data. */
static void
run_job (gpointer data)
{
  OvsOp *op = data;
  GQueue ready = G_QUEUE_INIT;

  ovs_map_run (op, &ready);
  ovs_ops_run (&ready);
  ovs_op_unref (op);
}

static gboolean
fills (const OvsMap *map)
{
  return (map->flags & OVSTAGE_MAP_FLAGS_INITIALIZE) != 0;
}

static gsize
get_work (const OvsMap *map)
{
  gsize work = map->peek != NULL ? ovs_peek_get_work (map->peek) : 0;

  for (guint i = 0; i < map->n_pieces; i++)
    work += map->pieces[i].mapped;
  return work;
}

/* --- making one --- */

static gsize
get_bytes (const OvsMap *map)
{
  guint32 bits = ovs_dtype_row_bits (map->schema.dtype);
  gsize n = map->counts == NULL ? map->query->list->n : 0;

  for (gsize i = 0; i < map->n_counts; i++)
    n += map->counts[i];
  return n * bits / 8;
}

/* Stage lock held. In the order of a write's faults. */
static gboolean
book (OvsMap *map, OvsBooking *booking, const OvstagePlacement *placement, GError **error)
{
  OvsStage *stage = map->op.stage;

  if (!ovs_stage_check_open (stage, error))
    return FALSE;
  if (map->query->list->n == 0)
    return TRUE;
  if (!ovs_booking_find (booking, error) || (is_left_open (map->schema.dtype) && !take_schema (map, booking, error)))
    return FALSE;
  booking->schema = map->schema;
  if (!ovs_booking_check_schema (booking, error) || !ovs_check_placement (placement, error) ||
      !ovs_stage_check_budget (stage, get_bytes (map), error) || !make_pieces (map, booking, error))
    return FALSE;
  return !fills (map) || plan_fill (map, booking->attr, error);
}

/* Of what is booked only the courtesy of its checks is wanted. @probe stands for the write that a commit would be. */
static void
begin_probe (OvsMap *map, OvsBooking *booking, OvsWrite *probe, OvstageWriteData *data)
{
  OvsAttributeWrite entry = { map->attribute, data };

  probe->op.stage = map->op.stage;
  probe->op.blocked = map->op.blocked;
  probe->ordinal = map->ordinal;
  data->semantic = map->schema.semantic;
  booking->rows.dtype = map->schema.dtype;
  booking->rows.count = booking->rows.n_selected = map->query->list->n;
  ovs_booking_begin (booking, probe, map->query, &entry, map->prim_mode);
}

/* Stage lock held, the map is booked. Whether it is on the pending list then, and whether a thread has to be told. */
static void
begin_fill (OvsMap *map, gboolean *waits, gboolean *async)
{
  map->op.booked = TRUE;
  *waits = map->op.n_deps > 0;
  *async = !*waits && fills (map) &&
           ((ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0 || get_work (map) > map->op.stage->config.caller_limit);
  map->op.begun = !*waits;
  if ((*waits || *async) && !map->op.pending)
    ovs_op_set_pending (&map->op);
}

/* The bookkeeping of a map whose prims were not known, or which came after something it must not pass. */
static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsMap *map = (OvsMap *) op;
  const OvstagePlacement *placement = op->blocked->data;
  gboolean has_list = ovs_query_has_list (&map->query->op), done, waits = FALSE, async = FALSE;
  OvsBooking booking = { 0 };
  OvstageWriteData data = { 0 };
  OvsBlocked *blocked;
  GError *error = NULL;
  OvsWrite probe = { 0 };

  if (has_list && check_counts (map, &error))
    begin_probe (map, &booking, &probe, &data);
  ovs_stage_lock (op->stage);
  if (error == NULL && ovs_op_check_blocked (op, &error) && book (map, &booking, placement, &error))
    begin_fill (map, &waits, &async);
  blocked = ovs_op_unblock (op, ready);
  done = error != NULL || !fills (map);
  if (error != NULL)
    clear_pieces (map);
  if (done)
    ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);

  ovs_booking_clear (&booking);
  if (done)
    ovs_op_end (op);
  else if (async)
    ovs_workers_push (op->stage->workers, run_job, ovs_op_ref (op));
  else if (!waits)
    ovs_map_run (op, ready);
  ovs_blocked_free (blocked);
}

/* Stage lock held. Refused, or blocked. */
static gboolean
block (OvsMap *map, const OvsFootprint *footprint, const OvstagePlacement *placement, GQueue *ready, GError **error)
{
  return ovs_stage_check_open (map->op.stage, error) &&
         ovs_stage_check_write_floor (map->op.stage, map->attribute, map->ordinal, error) &&
         ovs_op_block (&map->op, &map->query->op, footprint, book_blocked, placement != NULL ? g_memdup2 (placement, sizeof *placement) : NULL,
                       g_free, ready, error);
}

static gboolean
check_request (OvsMap *map, OvsOp *query, guint64 attribute, const OvsMapRequest *request, GError **error)
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
  return !ovs_query_has_list (query) || check_counts (map, error);
}

OvsOp *
ovs_stage_map (OvsStage *stage, OvsOp *query, guint64 attribute, const OvsMapRequest *request, guint64 ordinal,
               OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  OvsMap *map = ovs_op_new (stage, OVS_OP_MAP, sizeof *map);
  gboolean has_list, blocked, booked = FALSE, waits = FALSE, async = FALSE;
  OvsFootprint footprint = { .ordinal = ordinal, .attributes = &map->attribute, .n_attributes = 1,
                             .asks = prim_mode != OVSTAGE_PRIM_MODE_UPSERT, .asks_at = ordinal };
  OvsBooking booking = { 0 };
  OvstageWriteData data = { 0 };
  OvsWrite probe = { 0 };
  GQueue ready = G_QUEUE_INIT;
  GError *error = NULL;

  map->ordinal = ordinal;
  map->prim_mode = prim_mode;
  map->flags = request->flags;
  map->schema = (OvsSchema){ request->dtype, request->element_counts != NULL, request->semantic };
  if (!check_request (map, query, attribute, request, &error))
    return ovs_op_end_new (&map->op, error);

  has_list = ovs_query_has_list (query);
  if (has_list)
    begin_probe (map, &booking, &probe, &data);
  ovs_stage_lock (stage);
  blocked = !has_list || ovs_op_must_block (&map->op, query, &footprint);
  if (blocked)
    waits = block (map, &footprint, placement, &ready, &error);
  else
    booked = book (map, &booking, placement, &error) && (map->op.n_deps == 0 || ovs_stage_check_queue (stage, &error));
  if (booked)
    {
      ovs_op_book (&map->op);
      begin_fill (map, &waits, &async);
    }
  else if (!waits && map->op.n_deps > 0)
    ovs_op_drop_deps (&map->op);
  ovs_stage_unlock (stage);
  ovs_booking_clear (&booking);
  ovs_ops_run (&ready);

  if (async)
    ovs_workers_push (stage->workers, run_job, ovs_op_ref (&map->op));
  if (waits || async)
    return &map->op;
  if (booked && fills (map))
    fill (map);
  if (!booked)
    clear_pieces (map);
  return ovs_op_end_new (&map->op, error);
}

/* --- what becomes of it --- */

gboolean
ovs_map_next (OvsOp *op, OvstageMapGroup **group, GError **error)
{
  OvsMap *map = (OvsMap *) op;
  gint i;

  *group = NULL;
  if (op->error != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (op->error);
      return FALSE;
    }
  /* What was committed or dropped is passed over. */
  while (*group == NULL && !g_atomic_int_get (&map->ended) && (guint) g_atomic_int_get (&map->next) < map->n_pieces)
    {
      i = g_atomic_int_add (&map->next, 1);
      if ((guint) i < map->n_pieces && ovs_map_group_is_open (map->pieces[i].group))
        *group = ovs_map_group_ref (map->pieces[i].group);
    }
  return TRUE;
}

/* What a piece brings to its write: a tensor like any other, but of the store's own memory. */
static OvstageWriteData *
new_data (OvsMap *map, Piece *piece)
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

static gboolean
check_sync (guint64 stream, guint64 event, GError **error)
{
  return (stream == 0 && event == 0) ||
         ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "sync: a CPU has neither stream nor event, expected 0 for both");
}

/* Takes @error: refused. */
static OvsOp *
commit_pieces (OvsMap *map, Piece *const *pieces, guint n, GError *error)
{
  OvsWrite *write = ovs_write_new (map->op.stage, map->ordinal, 1);
  g_autofree OvsBooking *bookings = g_new (OvsBooking, MAX (n, 1));
  g_autofree OvstageWriteData **datas = g_new (OvstageWriteData *, MAX (n, 1));
  OvsOp *op;

  write->attributes[write->n_attributes++] = map->attribute;
  for (guint i = 0; i < n; i++)
    {
      OvsAttributeWrite entry = { map->attribute, datas[i] = new_data (map, pieces[i]) };

      if (!ovs_payload_resolve (datas[i], pieces[i]->group->prim_count, &bookings[i].rows, NULL))
        g_assert_not_reached ();
      ovs_booking_begin (&bookings[i], write, pieces[i]->query, &entry, map->prim_mode);
    }
  op = ovs_write_submit (write, bookings, n, 1, NULL, &map->op, error);
  for (guint i = 0; i < n; i++)
    ovs_payload_unref (datas[i]);
  return op;
}

OvsOp *
ovs_map_commit_group (OvsOp *op, OvstageMapGroup *group, guint64 stream, guint64 event)
{
  OvsMap *map = (OvsMap *) op;
  GError *error = NULL;
  Piece *piece = NULL;

  for (guint i = 0; ovs_op_is_done (op) && i < map->n_pieces; i++)
    if (map->pieces[i].group == group)
      piece = &map->pieces[i];
  if (piece == NULL)
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_HANDLE, "group: it is of another map");
  else if (!end_piece (map, piece, OVS_MAP_GROUP_COMMITTED))
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_HANDLE, "group: it was committed or discarded");
  if (error != NULL)
    return ovs_stage_refuse (op->stage, error);
  check_sync (stream, event, &error);
  return commit_pieces (map, &piece, 1, error);
}

static guint
find_rest (OvsOp *op, guint i, OvsOp **query, OvstageWriteData **data)
{
  OvsMap *map = (OvsMap *) op;

  *data = NULL;
  if (i < map->n_pieces && end_piece (map, &map->pieces[i], OVS_MAP_GROUP_COMMITTED))
    {
      *query = &map->pieces[i].query->op;
      *data = new_data (map, &map->pieces[i]);
    }
  return map->n_pieces;
}

/* Everything is left: nobody had a group before. */
static OvsOp *
commit_later (OvsMap *map, guint64 stream, guint64 event)
{
  OvsWrite *write = ovs_write_new (map->op.stage, map->ordinal, 1);
  GError *error = NULL;

  write->attributes[write->n_attributes++] = map->attribute;
  check_sync (stream, event, &error);
  return ovs_write_submit_later (write, &map->op, map->prim_mode, find_rest, error);
}

OvsOp *
ovs_map_commit (OvsOp *op, guint64 stream, guint64 event)
{
  OvsMap *map = (OvsMap *) op;
  g_autofree Piece **pieces = NULL;
  GError *error = NULL;
  gboolean is_blocked;
  guint n = 0;

  ovs_stage_lock (op->stage);
  is_blocked = op->blocked != NULL;
  ovs_stage_unlock (op->stage);
  if (!g_atomic_int_compare_and_exchange (&map->ended, FALSE, TRUE))
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_HANDLE, "map: it was committed or discarded");
  else if (ovs_op_get_error (op) != NULL)
    ovs_fail (&error, OVSTAGE_ERROR_OP_FAILED, "map: it failed: %s", ovs_op_get_error (op)->message);
  if (error != NULL)
    return ovs_stage_refuse (op->stage, error);
  if (is_blocked)
    return commit_later (map, stream, event);
  pieces = g_new (Piece *, MAX (map->n_pieces, 1));
  for (guint i = 0; i < map->n_pieces; i++)
    if (end_piece (map, &map->pieces[i], OVS_MAP_GROUP_COMMITTED))
      pieces[n++] = &map->pieces[i];
  check_sync (stream, event, &error);
  return commit_pieces (map, pieces, n, error);
}

void
ovs_map_discard (OvsOp *op)
{
  OvsMap *map = (OvsMap *) op;

  /* A commit may still have to take what it wants. */
  if (!g_atomic_int_compare_and_exchange (&map->ended, FALSE, TRUE))
    return;
  /* One whose prims are not known is withdrawn; one that is just being booked drops its groups with its last reference. */
  ovs_op_cancel (op);
  ovs_stage_lock (op->stage);
  drop_pieces (map);
  ovs_stage_unlock (op->stage);
}
