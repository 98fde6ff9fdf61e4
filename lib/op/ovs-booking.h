/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Booking a write: every check against the state as of (ordinal, now), the memory
 * it needs, and its entry into the write sets. Of the rules of BEHAVIOUR, the tiers
 * from the floor on live here. */

#pragma once

#include "op/ovs-op-private.h"
#include "op/ovs-op-transfer.h"
#include "tensor/ovs-array.h"

/* How a write enters the write sets. */
typedef enum
{
  OVS_WAY_LOG,   /* a few rows of one column: into its open part */
  OVS_WAY_PLAIN, /* every target is carried by one column already: nothing appears and nothing moves */
  OVS_WAY_FIRST, /* the usual first write: every element, in the order of the list, into a new column */
  OVS_WAY_EACH,  /* prims appear, or the targets stand in several columns: one part for each of these */
} OvsBookingWay;

/* One attribute that is being written. Stage lock held from ovs_booking_find_targets() on. */
typedef struct
{
  OvsStage *stage;
  OvsQuery *query;
  OvsWrite *write;
  guint32 attribute;
  gsize entry; /* which of its batch it is */
  OvstageWriteData *data;
  OvstagePrimMode prim_mode;
  gboolean locked; /* the bytes are moved while the lock is held */
  OvsSchema schema;
  OvsRows rows;

  OvsAttr *attr; /* (nullable) */
  OvsColumn *only;     /* (nullable) the column that carries every target, at ... */
  OvsBinding *binding; /* (nullable) ... these rows, owned unless the query lends them */
  gboolean alone;      /* nobody else of the same write binds the query */
  gboolean is_lent;
  guint16 *state; /* (owned) (nullable) of each element: 1 + column that carries it as of the ordinal, 0 for none */
  guint8 *above;  /* (owned) (nullable) of each element: something is staged on it at a higher ordinal */

  OvsBookingWay way;
  OvsBuffer *few[2];    /* (owned) what the way needs, in the order of its use, */
  GPtrArray *more;      /* (owned) (nullable) and from the third on */
  guint n_buffers;
  guint next_buffer;
  OvsTransfer *transfers; /* (owned) */
} OvsBooking;

/* @booking->rows is resolved already; the rows of arrays are placed. */
void ovs_booking_begin (OvsBooking *booking, OvsWrite *write, OvsQuery *query, const OvsAttributeWrite *entry,
                        OvstagePrimMode prim_mode);
void ovs_booking_clear (OvsBooking *booking);

static inline gsize
ovs_booking_get_bytes (const OvsBooking *booking)
{
  return booking->rows.n_selected * booking->rows.row_size + (booking->rows.arrays != NULL ? booking->rows.arrays->heap->bytes : 0);
}

/* Says of an error which entry of a batch it is about. Gives FALSE. */
gboolean ovs_fail_entry (GError **error, gsize entry, gsize n_entries);

/* Stage lock held for these. What is told of a write that is going to wait. */
gboolean ovs_stage_check_write_floor (OvsStage *stage, guint32 attribute, guint64 ordinal, GError **error);
/* The tiers of faults from the floor to the prim mode; finds where the targets are. */
gboolean ovs_booking_find (OvsBooking *booking, GError **error);
/* W20 to W22 */
gboolean ovs_booking_check_schema (OvsBooking *booking, GError **error);
/* W33 */
gboolean ovs_stage_check_budget (OvsStage *stage, gsize bytes, GError **error);

/* Stage lock held. Everything of a write but the bytes that are left in the transfers. Faults are told tier by tier over all
 * bookings; nothing is there before all of them passed. @n_entries: of the batch, those without targets included. */
gboolean ovs_bookings_book (OvsBooking *bookings, gsize n, gsize n_entries, OvsWrite *write, const OvstagePlacement *placement,
                            GError **error);
OvsTransfer *ovs_bookings_take_transfers (OvsBooking *bookings, gsize n);

/* No lock held. Books @write, moves its bytes or has them moved, and gives the operation; clears @bookings. Of no bookings: done,
 * without effect. @error: it is refused with that; taken. @after: (nullable) a map whose memory the bookings bring: its bytes are
 * there once it is done. */
OvsOp *ovs_write_submit (OvsWrite *write, OvsBooking *bookings, gsize n, gsize n_entries, const OvstagePlacement *placement,
                         OvsOp *after, GError *error);
/* What a map brings, once it is done: gives how many bookings there are at most, and for booking @i the prims, lent, and the data,
 * full, or NULL for none. */
typedef guint (*OvsWriteFindFunc) (OvsOp *map, guint i, OvsOp **query, OvstageWriteData **data);
/* The same for a map that is blocked, of the one attribute that @write has. */
OvsOp *ovs_write_submit_later (OvsWrite *write, OvsOp *map, OvstagePrimMode prim_mode, OvsWriteFindFunc find, GError *error);
