/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The bytes of a booked write on their way: at once, in the calling thread, or in
 * slices on the stage's threads. */

#pragma once

#include "op/ovs-op-private.h"
#include "tensor/ovs-array.h"

/* What is to be moved for one column. */
typedef struct _OvsTransfer OvsTransfer;

struct _OvsTransfer
{
  OvsTransfer *next;
  OvsRows rows;
  gboolean holds_rows;    /* they are referenced: they outlive the call */
  gboolean owns_map;      /* the index map was made for it, and is its own g_atomic_rc_box */
  OvsBuffer *values;      /* (owned) */
  OvsBuffer *row_numbers; /* (owned) (nullable) to be filled: those of the elements that the mask selects */
  OvsBinding *binding;    /* (owned) (nullable) element -> row, for row_numbers */
  OvsRowPromise *promise; /* (owned) (nullable) of row_numbers */
  OvsArrays *arrays;      /* (owned) (nullable) what the rows are records of; */
  gboolean copies;        /* not these are to be moved, but their elements */
};

/* Refs @values, @row_numbers and @binding. */
OvsTransfer *ovs_transfer_new (OvsTransfer *next, const OvsRows *rows, OvsBuffer *values, OvsBuffer *row_numbers,
                               OvsBinding *binding);
/* The elements of arrays. Refs @arrays. */
OvsTransfer *ovs_transfer_new_copies (OvsTransfer *next, OvsArrays *arrays);
/* Moves elements [first, first + n), of which @offset were selected before. @row_numbers: as in OvsTransfer. */
void ovs_transfer_elements (const OvsRows *rows, OvsBuffer *values, OvsBuffer *row_numbers, const OvsBinding *binding,
                            guint32 first, guint32 n, gsize offset);
/* Element numbers -> rows, in place. */
void ovs_transfer_map_rows (const OvsBinding *binding, guint32 *rows, gsize n);

/* About how many bytes they move. */
gsize ovs_transfers_get_work (const OvsTransfer *transfers);
/* For transfers that wait: what they move from outlives the call. */
void ovs_transfers_hold (OvsTransfer *transfers);
/* Moves everything and frees @transfers. */
void ovs_transfers_run (OvsTransfer *transfers);
/* The same on the stage's threads; ends @write, which is pending. */
void ovs_transfers_push (OvsTransfer *transfers, OvsWrite *write);
/* The bytes of a pending write are there. No lock held. */
void ovs_write_end (OvsWrite *write);
