/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The rows of an array column on their way to the targets of a clone. Elements are
 * shared with the source, where that keeps little alive that is not needed; paths that are
 * values and lie inside the source are put in their new place. */

#pragma once

#include "column/ovs-version.h"
#include "path/ovs-rebase.h"

typedef struct
{
  const OvsVersion *version; /* lent */
  guint32 n;
  guint32 *rows;     /* (owned) of the version */
  OvsArrays *arrays; /* (owned) with a record for each of these rows for each target, once they are filled */
} OvsCloneArrays;

/* NULL without memory. @rows: copied. @n_targets * @n rows are made. */
OvsCloneArrays *ovs_clone_arrays_new (OvsPool *pool, const OvsVersion *version, const guint32 *rows, guint32 n, guint32 n_targets,
                                      OvstageWriteData **data);
void ovs_clone_arrays_free (OvsCloneArrays *self);
/* No lock held; the values of the version are there. Cannot fail. */
void ovs_clone_arrays_fill (OvsCloneArrays *self, OvsRebase *rebase, OvsPool *pool);
