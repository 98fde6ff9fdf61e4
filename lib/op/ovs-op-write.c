/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-booking.h"

#include "base/ovs-debug.h"
#include "device/ovs-device.h"

/* Says of an error which entry of a batch it is about. */
static gboolean
fail_entry (GError **error, gsize i, gsize n)
{
  if (n > 1)
    g_prefix_error (error, "entry %" G_GSIZE_FORMAT ": ", i);
  return FALSE;
}

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
      return fail_entry (error, i, n);
    }
  return ovs_check_ordinal (ordinal, "a write", error);
}

static gboolean
check_device (const OvstageWriteData *data, GError **error)
{
  GError *local = NULL;

  if (ovs_device_lookup (data->tensor->device_type, data->tensor->device_id, &local) == NULL)
    {
      g_propagate_prefixed_error (error, local, "tensor: ");
      return FALSE;
    }
  if (data->sync_stream != 0 || data->sync_event != 0)
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "sync: a CPU has neither stream nor event, expected 0 for both");
  return TRUE;
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
          return fail_entry (error, i, n);
        }
      if (!entries[i].data->take)
        continue;
      if (taken == NULL)
        taken = g_hash_table_new (NULL, NULL);
      if (was_seen (taken, entries[i].data->tensor, i, &before))
        {
          ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: it is handed over in entry %" G_GSIZE_FORMAT " too", before);
          return fail_entry (error, i, n);
        }
    }
  return TRUE;
}

static gboolean
check_form (OvsStage *stage, const OvsAttributeWrite *entries, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!ovs_payload_check_form (entries[i].data, error) || !check_device (entries[i].data, error))
      return fail_entry (error, i, n);
  if (!check_repeats (stage, entries, n, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_writable (stage, (guint32) entries[i].attribute, error))
      return fail_entry (error, i, n);
  return TRUE;
}

/* Everything that needs no lock. Gives the number of bookings, those of entries with targets. */
static gsize
begin_bookings (OvsWrite *write, OvsOp *query, const OvsAttributeWrite *entries, gsize n, OvstagePrimMode prim_mode, OvsBooking *bookings,
                GError **error)
{
  OvsStage *stage = write->op.stage;
  OvstagePathList *list;
  gsize n_bookings = 0;

  if (!check_enums (entries, n, write->ordinal, prim_mode, error) || !ovs_stage_check_query (stage, query, error))
    return 0;
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_attribute (stage, entries[i].attribute, error))
      {
        fail_entry (error, i, n);
        return 0;
      }
  if (!check_form (stage, entries, n, error))
    return 0;

  list = ((OvsQuery *) query)->list;
  for (gsize i = 0; i < n; i++)
    {
      OvsBooking *booking = &bookings[n_bookings];

      if (!has_targets (entries[i].data, list))
        continue;
      if (!ovs_payload_resolve (entries[i].data, list->n, &booking->rows, error))
        {
          fail_entry (error, i, n);
          return 0;
        }
      ovs_booking_begin (booking, write, (OvsQuery *) query, &entries[i], prim_mode);
      booking->entry = i;
      write->attributes[write->n_attributes++] = booking->attribute;
      n_bookings++;
    }
  return n_bookings;
}

/* Booked, and has to wait for the bytes that @after brings. */
static void
wait_for_map (OvsWrite *write, OvsOp *after, OvsTransfer *transfers)
{
  write->transfers = transfers;
  write->op.begun = FALSE;
  write->op.booked = TRUE;
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

OvsOp *
ovs_write_submit (OvsWrite *write, OvsBooking *bookings, gsize n, gsize n_entries, const OvstagePlacement *placement, OvsOp *after,
                  GError *error)
{
  OvsStage *stage = write->op.stage;
  gboolean locked = (ovs_debug_flags () & OVS_DEBUG_ASYNC) == 0 && (after == NULL || ovs_op_is_done (after)), booked = FALSE;
  OvsTransfer *transfers = NULL;
  gsize work = 0;

  write->op.begun = TRUE;
  for (gsize i = 0; i < n; i++)
    work += MAX (ovs_booking_get_bytes (&bookings[i]), bookings[i].rows.count / 8);
  locked = locked && work <= OVS_LOCKED_LIMIT;
  for (gsize i = 0; i < n; i++)
    bookings[i].locked = locked;

  ovs_stage_lock (stage);
  if (error == NULL && n > 0)
    booked = ovs_bookings_book (bookings, n, n_entries, write, placement, &error);
  else if (error == NULL && ovs_stage_check_open (stage, &error))
    ovs_op_book (&write->op);
  if (booked)
    transfers = ovs_bookings_take_transfers (bookings, n);
  if (booked && locked)
    ovs_transfers_run (g_steal_pointer (&transfers));
  else if (booked && after != NULL && after->pending)
    wait_for_map (write, after, g_steal_pointer (&transfers));
  else if (transfers != NULL)
    ovs_op_set_pending (&write->op);
  booked = write->op.booked;
  ovs_stage_unlock (stage);

  for (gsize i = 0; i < n; i++)
    ovs_booking_clear (&bookings[i]);

  if (booked)
    return &write->op;
  /* Without a transfer there is nothing to wait for: it was refused, or the bytes are where they will stay. */
  if (transfers == NULL)
    return ovs_op_end_new (&write->op, error);
  move_bytes (write, transfers);
  return &write->op;
}

OvsOp *
ovs_stage_write_batch (OvsStage *stage, OvsOp *query, const OvsAttributeWrite *entries, gsize n, guint64 ordinal,
                       OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  OvsWrite *write = ovs_op_new (stage, OVS_OP_WRITE, sizeof *write + sizeof (guint32) * n);
  OvsBooking one, *bookings = n > 1 ? g_new (OvsBooking, n) : &one;
  GError *error = NULL;
  gsize n_bookings;
  OvsOp *op;

  write->ordinal = ordinal;
  n_bookings = begin_bookings (write, query, entries, n, prim_mode, bookings, &error);
  op = ovs_write_submit (write, bookings, n_bookings, n, placement, NULL, error);
  if (bookings != &one)
    g_free (bookings);
  return op;
}

OvsOp *
ovs_stage_refuse (OvsStage *stage, GError *error)
{
  return ovs_op_end_new (ovs_op_new (stage, OVS_OP_WRITE, sizeof (OvsWrite)), error);
}

OvsOp *
ovs_stage_write (OvsStage *stage, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *data,
                 OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  OvsAttributeWrite entry = { attribute, data };

  return ovs_stage_write_batch (stage, query, &entry, 1, ordinal, prim_mode, placement);
}
