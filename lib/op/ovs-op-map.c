/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-map.h"

#include "base/ovs-debug.h"

void
ovs_map_clear (OvsOp *op)
{
  OvsMap *map = (OvsMap *) op;

  ovs_map_clear_pieces (map);
  g_free (map->counts);
  if (map->query != NULL)
    ovs_op_unref (&map->query->op);
}

void
ovs_map_run (OvsOp *op, GQueue *ready)
{
  OvsStage *stage = op->stage;

  ovs_map_fill ((OvsMap *) op);
  ovs_stage_lock (stage);
  ovs_op_unset_pending (op, NULL, ready);
  ovs_stage_unlock (stage);
  ovs_op_end (op);
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
  if (!ovs_booking_find (booking, error) || !ovs_map_find_schema (map, booking, error))
    return FALSE;
  booking->schema = map->schema;
  if (!ovs_booking_check_schema (booking, error) || !ovs_check_placement (placement, error) ||
      !ovs_stage_check_budget (stage, get_bytes (map), error) || !ovs_map_make_pieces (map, booking, error))
    return FALSE;
  return !ovs_map_fills (map) || ovs_map_plan_fill (map, booking->attr, error);
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
  *async = !*waits && ovs_map_fills (map) &&
           ((ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0 || ovs_map_get_work (map) > map->op.stage->config.caller_limit);
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

  if (has_list && ovs_map_check_counts (map, &error))
    begin_probe (map, &booking, &probe, &data);
  ovs_stage_lock (op->stage);
  if (error == NULL && ovs_op_check_blocked (op, &error) && book (map, &booking, placement, &error))
    begin_fill (map, &waits, &async);
  blocked = ovs_op_unblock (op, ready);
  done = error != NULL || !ovs_map_fills (map);
  if (error != NULL)
    ovs_map_clear_pieces (map);
  if (done)
    ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);

  ovs_booking_clear (&booking);
  if (done)
    ovs_op_end (op);
  else if (async)
    ovs_op_push (op);
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
  if (!ovs_map_check_request (map, query, attribute, request, &error))
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
    ovs_op_push (&map->op);
  if (waits || async)
    return &map->op;
  if (booked && ovs_map_fills (map))
    ovs_map_fill (map);
  if (!booked)
    ovs_map_clear_pieces (map);
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

/* Takes @error: refused. */
static OvsOp *
commit_pieces (OvsMap *map, OvsMapPiece *const *pieces, guint n, GError *error)
{
  OvsWrite *write = ovs_write_new (map->op.stage, map->ordinal, 1);
  g_autofree OvsBooking *bookings = g_new (OvsBooking, MAX (n, 1));
  g_autofree OvstageWriteData **datas = g_new (OvstageWriteData *, MAX (n, 1));
  OvsOp *op;

  write->attributes[write->n_attributes++] = map->attribute;
  for (guint i = 0; i < n; i++)
    {
      OvsAttributeWrite entry = { map->attribute, datas[i] = ovs_map_new_data (map, pieces[i]) };

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
  OvsMapPiece *piece = NULL;

  for (guint i = 0; ovs_op_is_done (op) && i < map->n_pieces; i++)
    if (map->pieces[i].group == group)
      piece = &map->pieces[i];
  if (piece == NULL)
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_HANDLE, "group: it is of another map");
  else if (!ovs_map_end_piece (map, piece, OVS_MAP_GROUP_COMMITTED))
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_HANDLE, "group: it was committed or discarded");
  if (error != NULL)
    return ovs_stage_refuse (op->stage, error);
  ovs_check_no_sync (stream, event, "sync", &error);
  return commit_pieces (map, &piece, 1, error);
}

static guint
find_rest (OvsOp *op, guint i, OvsOp **query, OvstageWriteData **data)
{
  OvsMap *map = (OvsMap *) op;

  *data = NULL;
  if (i < map->n_pieces && ovs_map_end_piece (map, &map->pieces[i], OVS_MAP_GROUP_COMMITTED))
    {
      *query = &map->pieces[i].query->op;
      *data = ovs_map_new_data (map, &map->pieces[i]);
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
  ovs_check_no_sync (stream, event, "sync", &error);
  return ovs_write_submit_later (write, &map->op, map->prim_mode, find_rest, error);
}

OvsOp *
ovs_map_commit (OvsOp *op, guint64 stream, guint64 event)
{
  OvsMap *map = (OvsMap *) op;
  g_autofree OvsMapPiece **pieces = NULL;
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
  pieces = g_new (OvsMapPiece *, MAX (map->n_pieces, 1));
  for (guint i = 0; i < map->n_pieces; i++)
    if (ovs_map_end_piece (map, &map->pieces[i], OVS_MAP_GROUP_COMMITTED))
      pieces[n++] = &map->pieces[i];
  ovs_check_no_sync (stream, event, "sync", &error);
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
  ovs_map_drop_pieces (map);
  ovs_stage_unlock (op->stage);
}
