/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The values of an attribute as of an ordinal and of now, what is staged at or below
 * it included: a fold that is never published. What is there stays as it is, so the
 * attribute goes on being written, sealed and read while the bytes of a peek are made.
 *
 * A peek is planned under the stage lock and is what it is from then on: later writes
 * do not reach it. Its bytes are made without the lock, once those of the writes it
 * covers are there, and once no advance folds the attribute: that is for the caller
 * to wait for. */

#pragma once

#include "column/ovs-fold.h"

typedef struct _OvsPeek OvsPeek;

/* Stage lock held. @floor, @prim_deletes: as for ovs_attr_list_entries(). NULL: no memory, or OUT_OF_RANGE where the
 * values at @ordinal are no longer kept. */
OvsPeek *ovs_peek_new (OvsAttr *attr, OvsPool *pool, const OvsDeletes *prim_deletes, guint64 floor, guint64 ordinal, GError **error);
/* Bytes that ovs_peek_run() moves; 0: no need to call it. */
gsize ovs_peek_get_work (OvsPeek *peek);
/* No lock needed. */
void ovs_peek_run (OvsPeek *peek);
void ovs_peek_free (OvsPeek *peek);

/* One version for each column of the attribute on which prims live, in the order of the columns. Rows, liveness and prims are
 * known from the start, values once it ran. Its layout is append-only: looking at one takes the stage lock, like that of any
 * version. Lent. */
guint ovs_peek_get_n_versions (OvsPeek *peek);
OvsVersion *ovs_peek_get_version (OvsPeek *peek, guint i);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsPeek, ovs_peek_free)
