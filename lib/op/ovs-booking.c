/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-booking-private.h"

void
ovs_booking_begin (OvsBooking *booking, OvsWrite *write, OvsQuery *query, const OvsAttributeWrite *entry, OvstagePrimMode prim_mode)
{
  booking->stage = write->op.stage;
  booking->query = query;
  booking->write = write;
  booking->attribute = (guint32) entry->attribute;
  booking->data = entry->data;
  booking->prim_mode = prim_mode;
  booking->locked = FALSE;
  booking->schema = (OvsSchema){ booking->rows.dtype, ovs_payload_is_array (entry->data), entry->data->semantic };
  booking->attr = NULL;
  booking->only = NULL;
  booking->binding = NULL;
  booking->alone = booking->is_lent = FALSE;
  booking->state = NULL;
  booking->above = NULL;
  booking->more = NULL;
  booking->n_buffers = booking->next_buffer = 0;
  booking->transfers = NULL;
  if (booking->schema.is_array)
    ovs_rows_place (&booking->rows, booking->data, booking->stage->pool);
}

void
ovs_booking_clear (OvsBooking *booking)
{
  ovs_booking_drop_buffers (booking);
  if (booking->binding != NULL && !booking->is_lent)
    ovs_binding_unref (booking->binding);
  g_clear_pointer (&booking->rows.arrays, ovs_arrays_unref);
  g_free (booking->state);
  g_free (booking->above);
}

static gboolean
prepare_all (OvsBooking *bookings, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    {
      if (ovs_booking_prepare (&bookings[i], error))
        continue;
      while (i > 0)
        ovs_booking_unprepare (&bookings[--i]);
      return FALSE;
    }
  return TRUE;
}

gboolean
ovs_fail_entry (GError **error, gsize entry, gsize n_entries)
{
  if (n_entries > 1)
    g_prefix_error (error, "entry %" G_GSIZE_FORMAT ": ", entry);
  return FALSE;
}

gboolean
ovs_bookings_book (OvsBooking *bookings, gsize n, gsize n_entries, OvsWrite *write, const OvstagePlacement *placement,
                   GError **error)
{
  OvsStage *stage = write->op.stage;
  gsize bytes = 0;

  if (!ovs_stage_check_open (stage, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!ovs_booking_check_floor (&bookings[i], error))
      return ovs_fail_entry (error, bookings[i].entry, n_entries);
  bookings[0].alone = n == 1;
  for (gsize i = 0; i < n; i++)
    {
      ovs_booking_find_targets (&bookings[i]);
      if (!ovs_booking_check_prim_mode (&bookings[i], error))
        return ovs_fail_entry (error, bookings[i].entry, n_entries);
    }
  for (gsize i = 0; i < n; i++)
    {
      if (!ovs_booking_check_schema (&bookings[i], error))
        return ovs_fail_entry (error, bookings[i].entry, n_entries);
      /* What was mapped has been let in already. */
      if (bookings[i].data->buffer == NULL)
        bytes += ovs_booking_get_bytes (&bookings[i]);
    }
  if (!ovs_check_placement (placement, error) || !ovs_stage_check_budget (stage, bytes, error) ||
      (!bookings[0].locked && !write->op.pending && !ovs_stage_check_queue (stage, error)))
    return FALSE;

  ovs_op_book (&write->op);
  if (!prepare_all (bookings, n, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    ovs_booking_enter (&bookings[i]);
  return TRUE;
}

OvsTransfer *
ovs_bookings_take_transfers (OvsBooking *bookings, gsize n)
{
  OvsTransfer *all = NULL;

  for (gsize i = 0; i < n; i++)
    while (bookings[i].transfers != NULL)
      {
        OvsTransfer *transfer = bookings[i].transfers;

        bookings[i].transfers = transfer->next;
        transfer->next = all;
        all = transfer;
      }
  return all;
}
