/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The steps of a booking. Stage lock held for all of them. */

#pragma once

#include "op/ovs-booking.h"

/* One that waited was let in as it was submitted. */
gboolean ovs_booking_check_floor (OvsBooking *booking, GError **error);
/* Finds the attribute, and the column, or columns, that carry the targets. */
void ovs_booking_find_targets (OvsBooking *booking);
/* W19 */
gboolean ovs_booking_check_prim_mode (OvsBooking *booking, GError **error);

/* Chooses the way, and allocates all that it needs. */
gboolean ovs_booking_prepare (OvsBooking *booking, GError **error);
/* It was prepared, and will not be entered, as another one of the batch failed. */
void ovs_booking_unprepare (OvsBooking *booking);
/* Cannot fail. What is left to be moved without the lock is in the transfers. */
void ovs_booking_enter (OvsBooking *booking);
/* Those that were prepared and not used. */
void ovs_booking_drop_buffers (OvsBooking *booking);
