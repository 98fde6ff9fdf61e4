/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a read took of one column under the stage lock: enough to make a group of it
 * without the lock, whatever becomes of the stage meanwhile. */

#pragma once

#include "op/ovs-builtin.h"
#include "op/ovs-read-group.h"
#include "query/ovs-binding.h"

typedef struct
{
  guint32 attribute;
  OvsBuiltin *builtin; /* (owned) (nullable) then only attribute and floor count */
  guint64 floor;
  guint64 generation;
  guint64 newest;      /* its newest change; where deltas are there, it is to be found among them first */
  GArray *deltas;      /* (owned) (nullable) of Delta, newest first */
  OvsVersion *version; /* (owned) (nullable) NULL: what ceased to be */
  OvsBinding *binding; /* (owned) (nullable) of all that carry it, */
  OvsPlaces *places;   /* (owned) (nullable) or of some; neither: all prims of the query stand */
  guint32 first;       /* from this row on, one after another, */
  guint32 n;           /* and are so many */
} OvsTaken;

void ovs_taken_clear (OvsTaken *taken);
/* Stage lock held; version and binding are there. Finds the newest change up to the version that meets the rows of the query @list,
 * or takes what is to be looked through for it. */
void ovs_taken_note_newest (OvsTaken *taken, const OvsColumn *column, OvstagePathList *list);
/* After that: whether the group needs nothing of the binding but two numbers, which are kept. */
gboolean ovs_taken_is_settled (OvsTaken *taken);
/* No lock needed. Takes @list and what the group holds, so once. NULL: no prim of the query is in it. */
OvstageReadGroup *ovs_taken_new_group (OvsTaken *taken, OvstagePathList *list, guint64 as_of);
