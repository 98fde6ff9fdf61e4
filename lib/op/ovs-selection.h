/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a filter query looks at, and what it makes of it. Under the stage lock a
 * selection takes all that it is going to look at: the values of attributes by peeks,
 * which may have to wait for bytes in flight, and which rows live of those that it only
 * asks for. What is submitted later does not reach it. Then it works on sets of prims,
 * one bit for each path. */

#pragma once

#include "op/ovs-op-private.h"

/* @filter: (nullable) all prims that exist. */
OvsSelection *ovs_selection_new (OvstageFilter *filter);
void ovs_selection_free (OvsSelection *selection);

/* Checks what is asked for: the form of the filter, handles, and what is never supported. @attributes: as for
 * ovs_stage_query_filter(). */
gboolean ovs_selection_prepare (OvsSelection *selection, OvsStage *stage, const guint64 *attributes, gsize n_attributes, GError **error);
/* Stage lock held. Takes everything; @query waits for the bytes among it. */
gboolean ovs_selection_take (OvsSelection *selection, OvsOp *query, GError **error);
/* About how many bytes it looks at, once it took them. */
gsize ovs_selection_get_work (const OvsSelection *selection);
/* No lock held. The bytes are there. Gives @query its prims and attributes. */
gboolean ovs_selection_run (OvsSelection *selection, OvsQuery *query, GError **error);
