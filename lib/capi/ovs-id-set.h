/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A set of ids that are mostly added in order: kept as intervals, so that it takes
 * as much as it has gaps. */

#pragma once

#include <glib.h>

typedef struct
{
  guint64 first;
  guint64 last;
} OvsIdRange;

typedef struct
{
  OvsIdRange newest; /* the highest; none where first is 0 */
  GTree *others;     /* (owned) (nullable) OvsIdRange by itself */
} OvsIdSet;

void ovs_id_set_clear (OvsIdSet *set);
/* @id: not 0. FALSE: it is in there. */
gboolean ovs_id_set_add (OvsIdSet *set, guint64 id);
gboolean ovs_id_set_has (const OvsIdSet *set, guint64 id);
guint ovs_id_set_get_n_ranges (const OvsIdSet *set);
