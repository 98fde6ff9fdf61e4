/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The prims that carry an attribute in one schema: the rows of a column that live, and
 * which prims stand on them. Made under the stage lock; it may be looked at without
 * it, while the column and its layout go on. */

#pragma once

#include "column/ovs-version.h"

typedef struct
{
  OvsLayout *layout; /* (owned) */
  guint32 n_rows;
  OvsBits *live;  /* (owned) (nullable) NULL: every row */
  guint32 *more;  /* (owned) (nullable) prims of the rows that are not in the layout's list: those may move as it grows */
  OvsVersion *version; /* (owned) (nullable) where the values count */
} OvsCarriers;

/* Stage lock held. Takes @live (nullable) and @version (nullable). */
void ovs_carriers_init (OvsCarriers *carriers, OvsLayout *layout, guint32 n_rows, OvsBits *live, OvsVersion *version);
void ovs_carriers_clear (OvsCarriers *carriers);

/* Adds the prims of the rows that live, and of @rows (nullable: all), to @prims, a bit for each path. */
void ovs_carriers_add_to (const OvsCarriers *carriers, const OvsBits *rows, OvsBits *prims);
/* Whether one of them is in @prims. */
gboolean ovs_carriers_meet (const OvsCarriers *carriers, const OvsBits *prims);
/* G_MAXUINT32: there is none. */
guint32 ovs_carriers_find_lowest (const OvsCarriers *carriers);
