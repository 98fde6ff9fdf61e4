/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-booking.h"

#include "base/ovs-debug.h"
#include "device/ovs-device.h"

/* NULLs and enum ranges. */
static gboolean
check_enums (const OvsAttributeWrite *entries, gsize n, guint64 ordinal, OvstagePrimMode prim_mode, GError **error)
{
  if (!ovs_check_prim_mode (prim_mode, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    {
      const OvstageWriteData *data = entries[i].data;

      if (data == NULL)
        ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "data: none given, expected the data of a write");
      else if (ovs_check_semantic (data->semantic, error))
        continue;
      return ovs_fail_entry (error, i, n);
    }
  return ovs_check_ordinal (ordinal, "a write", error);
}

static gboolean
check_device (const OvstageWriteData *data, GError **error)
{
  const OvstageTensor *tensor = ovs_payload_get_tensor (data, 0);
  GError *local = NULL;

  if (ovs_device_lookup (tensor->device_type, tensor->device_id, &local) == NULL)
    {
      g_propagate_prefixed_error (error, local, data->kind == OVS_PAYLOAD_ROWS ? "tensors: " : "tensor: ");
      return FALSE;
    }
  return ovs_check_no_sync (data->sync_stream, data->sync_event, "sync", error);
}

/* An empty query, or a mask that selects nothing. */
static gboolean
has_targets (const OvstageWriteData *data, const OvstagePathList *list)
{
  if (list->n == 0)
    return FALSE;
  if (data->mask == NULL)
    return TRUE;
  for (guint32 i = 0; i < data->count / 64; i++)
    if (data->mask[i] != 0)
      return TRUE;
  return data->count % 64 != 0 && (data->mask[data->count / 64] & ((G_GUINT64_CONSTANT (1) << (data->count % 64)) - 1)) != 0;
}

/* Notes a key. TRUE with the entry that had it before, if one had. */
static gboolean
was_seen (GHashTable *seen, gpointer key, gsize i, gsize *before)
{
  gpointer value;

  if (g_hash_table_lookup_extended (seen, key, NULL, &value))
    {
      *before = GPOINTER_TO_SIZE (value);
      return TRUE;
    }
  g_hash_table_insert (seen, key, GSIZE_TO_POINTER (i));
  return FALSE;
}

/* W28 */
static gboolean
check_repeats (OvsStage *stage, const OvsAttributeWrite *entries, gsize n, GError **error)
{
  g_autoptr (GHashTable) attributes = NULL;
  g_autoptr (GHashTable) taken = NULL;

  if (n < 2)
    return TRUE;
  attributes = g_hash_table_new (NULL, NULL);
  for (gsize i = 0; i < n; i++)
    {
      gsize before;

      if (was_seen (attributes, GSIZE_TO_POINTER (entries[i].attribute), i, &before))
        {
          ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute '%s' stands in entry %" G_GSIZE_FORMAT " too",
                    ovs_stage_name (stage, (guint32) entries[i].attribute), before);
          return ovs_fail_entry (error, i, n);
        }
      if (!entries[i].data->take)
        continue;
      if (taken == NULL)
        taken = g_hash_table_new (NULL, NULL);
      for (gsize t = 0; t < ovs_payload_n_tensors (entries[i].data); t++)
        if (was_seen (taken, ovs_payload_get_tensor (entries[i].data, t), i, &before))
          {
            ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: it is handed over in entry %" G_GSIZE_FORMAT " too", before);
            return ovs_fail_entry (error, i, n);
          }
    }
  return TRUE;
}

static gboolean
check_form (OvsStage *stage, const OvsAttributeWrite *entries, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!ovs_payload_check_form (entries[i].data, error) || !check_device (entries[i].data, error))
      return ovs_fail_entry (error, i, n);
  if (!check_repeats (stage, entries, n, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_writable (stage, (guint32) entries[i].attribute, error))
      return ovs_fail_entry (error, i, n);
  return TRUE;
}

static gboolean
check_write (OvsWrite *write, OvsOp *query, const OvsAttributeWrite *entries, gsize n, OvstagePrimMode prim_mode, GError **error)
{
  OvsStage *stage = write->op.stage;

  if (!check_enums (entries, n, write->ordinal, prim_mode, error) || !ovs_stage_check_query (stage, query, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_attribute (stage, entries[i].attribute, error))
      return ovs_fail_entry (error, i, n);
  if (!check_form (stage, entries, n, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    write->attributes[write->n_attributes++] = (guint32) entries[i].attribute;
  return TRUE;
}

/* Everything that needs no lock. Tells in @begun whether the entry has targets, and there is a booking. */
static gboolean
begin_booking (OvsWrite *write, OvsOp *query, const OvsAttributeWrite *entry, OvstagePrimMode prim_mode, OvsBooking *booking,
               gboolean *begun, GError **error)
{
  OvstagePathList *list = ((OvsQuery *) query)->list;

  *begun = has_targets (entry->data, list);
  if (!*begun)
    return TRUE;
  if (!ovs_payload_resolve (entry->data, list->n, &booking->rows, error))
    return FALSE;
  ovs_booking_begin (booking, write, (OvsQuery *) query, entry, prim_mode);
  return TRUE;
}

/* Gives the number of bookings, those of entries with targets. */
static gsize
begin_bookings (OvsWrite *write, OvsOp *query, const OvsAttributeWrite *entries, gsize n, OvstagePrimMode prim_mode, OvsBooking *bookings,
                GError **error)
{
  gsize n_bookings = 0;
  gboolean begun;

  for (gsize i = 0; i < n; i++)
    {
      if (!begin_booking (write, query, &entries[i], prim_mode, &bookings[n_bookings], &begun, error))
        {
          ovs_fail_entry (error, i, n);
          break;
        }
      bookings[n_bookings].entry = i;
      n_bookings += begun;
    }
  return n_bookings;
}

/* Booked, and has to wait for the bytes that @after brings. */
static void
wait_for_map (OvsWrite *write, OvsOp *after, OvsTransfer *transfers)
{
  ovs_transfers_hold (transfers);
  write->transfers = transfers;
  write->op.begun = FALSE;
  write->op.booked = TRUE;
  if (!write->op.pending)
    ovs_op_set_pending (&write->op);
  ovs_op_add_dep (&write->op, after);
}

static void
move_bytes (OvsWrite *write, OvsTransfer *transfers)
{
  OvsStage *stage = write->op.stage;

  if ((ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0 ||
      (ovs_transfers_get_work (transfers) > stage->config.caller_limit && ovs_workers_get_n_threads (stage->workers) > 1))
    ovs_transfers_push (transfers, write);
  else
    {
      ovs_transfers_run (transfers);
      ovs_write_end (write);
    }
}

void
ovs_write_run (OvsWrite *write)
{
  OvsTransfer *transfers = g_steal_pointer (&write->transfers);

  if (transfers != NULL)
    move_bytes (write, transfers);
  else
    ovs_write_end (write);
}

/* What a blocked write keeps of one of its bookings, */
typedef struct
{
  OvsOp *query;           /* (owned) */
  OvstageWriteData *data; /* (owned) */
  guint32 attribute;
  gsize entry;
} HeldBooking;

/* and of the rest. */
typedef struct
{
  OvstagePrimMode prim_mode;
  gboolean has_placement;
  OvstagePlacement placement;
  OvsOp *after; /* (owned) (nullable) */
  gsize n_entries;
  gsize n;
  HeldBooking bookings[];
} Held;

static Held *
hold (gsize n, gsize n_entries, OvstagePrimMode prim_mode, const OvstagePlacement *placement, OvsOp *after)
{
  Held *held = g_malloc0 (sizeof *held + sizeof *held->bookings * n);

  held->prim_mode = prim_mode;
  held->has_placement = placement != NULL;
  if (placement != NULL)
    held->placement = *placement;
  held->after = after != NULL ? ovs_op_ref (after) : NULL;
  held->n_entries = n_entries;
  held->n = n;
  return held;
}

static void
hold_booking (HeldBooking *held, OvsOp *query, guint32 attribute, OvstageWriteData *data, gsize entry)
{
  held->query = ovs_op_ref (query);
  held->data = ovs_payload_dup (data);
  held->attribute = attribute;
  held->entry = entry;
}

static void
free_held (gpointer data)
{
  Held *held = data;

  for (gsize i = 0; i < held->n; i++)
    {
      ovs_payload_unref (held->bookings[i].data);
      ovs_op_unref (held->bookings[i].query);
    }
  g_clear_pointer (&held->after, ovs_op_unref);
  g_free (held);
}

static gsize
begin_held (OvsWrite *write, const Held *held, OvsBooking *bookings, GError **error)
{
  gsize n = 0;
  gboolean begun;

  for (gsize i = 0; i < held->n; i++)
    {
      const HeldBooking *one = &held->bookings[i];
      OvsAttributeWrite entry = { one->attribute, one->data };

      if (!begin_booking (write, one->query, &entry, held->prim_mode, &bookings[n], &begun, error))
        {
          ovs_fail_entry (error, one->entry, held->n_entries);
          break;
        }
      bookings[n].entry = one->entry;
      n += begun;
    }
  return n;
}

/* Whether the bytes are moved while the lock is held. */
static gboolean
choose_lock (OvsBooking *bookings, gsize n, OvsOp *after)
{
  gboolean locked = (ovs_debug_flags () & OVS_DEBUG_ASYNC) == 0 && (after == NULL || ovs_op_is_done (after));
  gsize work = 0;

  for (gsize i = 0; i < n; i++)
    work += MAX (ovs_booking_get_bytes (&bookings[i]), bookings[i].rows.count / 8);
  locked = locked && work <= OVS_LOCKED_LIMIT;
  for (gsize i = 0; i < n; i++)
    bookings[i].locked = locked;
  return locked;
}

/* Stage lock held. Gives what is left to be moved without it. The write is pending then, or where it has to wait for a map. */
static OvsTransfer *
book (OvsWrite *write, OvsBooking *bookings, gsize n, gsize n_entries, gboolean locked, const OvstagePlacement *placement, OvsOp *after,
      GError **error)
{
  OvsTransfer *transfers;

  if (n == 0)
    {
      if (ovs_stage_check_open (write->op.stage, error))
        ovs_op_book (&write->op);
      return NULL;
    }
  if (!ovs_bookings_book (bookings, n, n_entries, write, placement, error))
    return NULL;
  transfers = ovs_bookings_take_transfers (bookings, n);
  if (locked)
    ovs_transfers_run (g_steal_pointer (&transfers));
  else if (after != NULL && after->pending)
    wait_for_map (write, after, g_steal_pointer (&transfers));
  else if (transfers != NULL && !write->op.pending)
    ovs_op_set_pending (&write->op);
  return transfers;
}

static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsWrite *write = (OvsWrite *) op;
  OvsOp *query = op->blocked->query;
  const Held *held = op->blocked->data;
  OvsBooking one, *bookings = held->n > 1 ? g_new (OvsBooking, held->n) : &one;
  OvsTransfer *transfers = NULL;
  OvsBlocked *blocked;
  GError *error = NULL;
  gboolean locked, done;
  gsize n = 0;

  if (query == NULL || ovs_query_has_list (query))
    n = begin_held (write, held, bookings, &error);
  locked = choose_lock (bookings, n, held->after);

  ovs_stage_lock (op->stage);
  if (error == NULL && ovs_op_check_blocked (op, &error))
    transfers = book (write, bookings, n, held->n_entries, locked, held->has_placement ? &held->placement : NULL, held->after, &error);
  blocked = ovs_op_unblock (op, ready);
  done = transfers == NULL && !op->booked;
  if (done)
    ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);

  for (gsize i = 0; i < n; i++)
    ovs_booking_clear (&bookings[i]);
  if (bookings != &one)
    g_free (bookings);
  if (done)
    ovs_op_end (op);
  else if (transfers != NULL)
    move_bytes (write, transfers);
  ovs_blocked_free (blocked);
}

/* Stage lock held. Refused, or blocked. Takes @held. */
static gboolean
block (OvsWrite *write, OvsOp *query, const OvsFootprint *footprint, Held *held, GQueue *ready, GError **error)
{
  for (gsize i = 0; i < held->n; i++)
    if (!ovs_stage_check_write_floor (write->op.stage, held->bookings[i].attribute, write->ordinal, error))
      {
        ovs_fail_entry (error, held->bookings[i].entry, held->n_entries);
        free_held (held);
        return FALSE;
      }
  return ovs_op_block (&write->op, query, footprint, book_blocked, held, free_held, ready, error);
}

static OvsFootprint
get_footprint (const OvsWrite *write, OvstagePrimMode prim_mode)
{
  return (OvsFootprint){
    .changes = TRUE, .ordinal = write->ordinal, .attributes = write->attributes, .n_attributes = write->n_attributes,
    .asks = prim_mode != OVSTAGE_PRIM_MODE_UPSERT, .asks_at = write->ordinal,
  };
}

OvsOp *
ovs_write_submit (OvsWrite *write, OvsBooking *bookings, gsize n, gsize n_entries, const OvstagePlacement *placement, OvsOp *after,
                  GError *error)
{
  OvsStage *stage = write->op.stage;
  OvsFootprint footprint = get_footprint (write, n > 0 ? bookings[0].prim_mode : OVSTAGE_PRIM_MODE_UPSERT);
  gboolean locked = choose_lock (bookings, n, after), waits = FALSE;
  OvsTransfer *transfers = NULL;
  GQueue ready = G_QUEUE_INIT;

  ovs_stage_lock (stage);
  if (error == NULL && n > 0 && ovs_op_must_block (&write->op, NULL, &footprint))
    {
      Held *held = hold (n, n_entries, bookings[0].prim_mode, placement, after);

      for (gsize i = 0; i < n; i++)
        hold_booking (&held->bookings[i], &bookings[i].query->op, bookings[i].attribute, bookings[i].data, bookings[i].entry);
      waits = block (write, NULL, &footprint, held, &ready, &error);
    }
  else if (error == NULL)
    {
      write->op.begun = TRUE;
      transfers = book (write, bookings, n, n_entries, locked, placement, after, &error);
      waits = write->op.booked;
    }
  ovs_stage_unlock (stage);

  for (gsize i = 0; i < n; i++)
    ovs_booking_clear (&bookings[i]);
  ovs_ops_run (&ready);
  if (waits)
    return &write->op;
  /* Without a transfer there is nothing to wait for: it was refused, or the bytes are where they will stay. */
  if (transfers == NULL)
    return ovs_op_end_new (&write->op, error);
  move_bytes (write, transfers);
  return &write->op;
}

/* The query is not done, or was not a moment ago. */
static OvsOp *
submit_blocked (OvsWrite *write, OvsOp *query, const OvsAttributeWrite *entries, gsize n, OvstagePrimMode prim_mode,
                const OvstagePlacement *placement)
{
  OvsFootprint footprint = get_footprint (write, prim_mode);
  Held *held = hold (n, n, prim_mode, placement, NULL);
  GQueue ready = G_QUEUE_INIT;
  GError *error = NULL;
  gboolean blocked;

  for (gsize i = 0; i < n; i++)
    hold_booking (&held->bookings[i], query, (guint32) entries[i].attribute, entries[i].data, i);
  ovs_stage_lock (write->op.stage);
  blocked = block (write, query, &footprint, held, &ready, &error);
  ovs_stage_unlock (write->op.stage);
  ovs_ops_run (&ready);
  return blocked ? &write->op : ovs_op_end_new (&write->op, error);
}

typedef struct
{
  OvsWriteFindFunc find;
  OvstagePrimMode prim_mode;
} Later;

/* The map is done: its groups are what would have been held, had they been known. */
static void
book_later (OvsOp *op, GQueue *ready)
{
  OvsWrite *write = (OvsWrite *) op;
  OvsBlocked *blocked = op->blocked;
  g_autofree Later *later = blocked->data;
  OvsOp *map = blocked->query;
  gboolean failed = ovs_op_get_error (map) != NULL;
  OvstageWriteData *data;
  OvsOp *query;
  guint n = failed ? 0 : later->find (map, G_MAXUINT, &query, &data);
  Held *held = hold (n, 1, later->prim_mode, NULL, NULL);

  held->n = 0;
  for (guint i = 0; i < n; i++)
    {
      later->find (map, i, &query, &data);
      if (data == NULL)
        continue;
      hold_booking (&held->bookings[held->n++], query, write->attributes[0], data, i);
      ovs_payload_unref (data);
    }
  blocked->data = held;
  blocked->free_data = free_held;
  if (!failed)
    g_clear_pointer (&blocked->query, ovs_op_unref);
  book_blocked (op, ready);
}

OvsOp *
ovs_write_submit_later (OvsWrite *write, OvsOp *map, OvstagePrimMode prim_mode, OvsWriteFindFunc find, GError *error)
{
  OvsStage *stage = write->op.stage;
  OvsFootprint footprint = get_footprint (write, prim_mode);
  GQueue ready = G_QUEUE_INIT;
  gboolean waits = FALSE;
  Later *later;

  ovs_stage_lock (stage);
  if (error == NULL && ovs_stage_check_open (stage, &error) &&
      ovs_stage_check_write_floor (stage, write->attributes[0], write->ordinal, &error))
    {
      later = g_new (Later, 1);
      later->find = find;
      later->prim_mode = prim_mode;
      waits = ovs_op_block (&write->op, map, &footprint, book_later, later, g_free, &ready, &error);
    }
  ovs_stage_unlock (stage);
  ovs_ops_run (&ready);
  return waits ? &write->op : ovs_op_end_new (&write->op, error);
}

OvsOp *
ovs_stage_write_batch (OvsStage *stage, OvsOp *query, const OvsAttributeWrite *entries, gsize n, guint64 ordinal,
                       OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  OvsWrite *write = ovs_write_new (stage, ordinal, n);
  OvsBooking one, *bookings;
  GError *error = NULL;
  gsize n_bookings = 0;
  OvsOp *op;

  if (!check_write (write, query, entries, n, prim_mode, &error))
    return ovs_op_end_new (&write->op, error);
  if (n > 0 && !ovs_query_has_list (query))
    return submit_blocked (write, query, entries, n, prim_mode, placement);
  bookings = n > 1 ? g_new (OvsBooking, n) : &one;
  if (n > 0)
    n_bookings = begin_bookings (write, query, entries, n, prim_mode, bookings, &error);
  op = ovs_write_submit (write, bookings, n_bookings, n, placement, NULL, error);
  if (bookings != &one)
    g_free (bookings);
  return op;
}

OvsOp *
ovs_stage_accept (OvsStage *stage)
{
  OvsOp *op = &ovs_write_new (stage, 0, 0)->op;
  GError *error = NULL;

  ovs_stage_lock (stage);
  if (ovs_stage_check_open (stage, &error))
    ovs_op_book (op);
  ovs_stage_unlock (stage);
  return ovs_op_end_new (op, error);
}

OvsOp *
ovs_stage_refuse (OvsStage *stage, GError *error)
{
  return ovs_op_end_new (&ovs_write_new (stage, 0, 0)->op, error);
}

OvsOp *
ovs_stage_write (OvsStage *stage, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *data,
                 OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  OvsAttributeWrite entry = { attribute, data };

  return ovs_stage_write_batch (stage, query, &entry, 1, ordinal, prim_mode, placement);
}
