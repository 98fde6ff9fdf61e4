/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* An immutable value of a column as of an ordinal. It answers for the ordinals
 * from its own up to, not including, the next at which the column changed. */

#pragma once

#include "base/ovs-pool.h"
#include "column/ovs-bits.h"
#include "column/ovs-layout.h"
#include "column/ovs-ragged.h"
#include "column/ovs-schema.h"

typedef struct
{
  gint refs; /* (atomic) */
  OvsSchema schema;
  guint32 row_size;
  guint32 n_rows; /* of the layout's rows, how many this version sees */
  guint32 n_live;
  guint64 ordinal;
  guint64 until;     /* protected by the stage lock; OVSTAGE_ORDINAL_NEWEST while nothing came after */
  OvsBits *live;     /* (owned) (nullable) NULL: every row */
  OvsLayout *layout; /* (owned) */
  guint numbering;   /* of the column's rows, see there */
  OvsBuffer *values; /* (owned) (nullable) n_rows rows of row_size bytes; those of dead rows mean nothing; NULL for arrays */
  OvsRagged *ragged; /* (owned) (nullable) the rows of arrays; dead ones have no elements */
  OvsPackedRows *packed; /* (atomic) (owned) (nullable) all of them one behind another, made on first use */
} OvsVersion;

/* Takes @live and @values (nullable); refs @layout. The rows of arrays are for the caller to set. */
OvsVersion *ovs_version_new (const OvsSchema *schema, guint32 row_size, guint64 ordinal, OvsLayout *layout, guint32 n_rows,
                             guint32 n_live, OvsBits *live, OvsBuffer *values);
/* The same in one that was retired. @version: (nullable) */
OvsVersion *ovs_version_renew (OvsVersion *version, const OvsSchema *schema, guint32 row_size, guint64 ordinal, OvsLayout *layout,
                               guint32 n_rows, guint32 n_live, OvsBits *live, OvsBuffer *values);
OvsVersion *ovs_version_ref (OvsVersion *version);
void ovs_version_unref (OvsVersion *version);
/* Drops a reference. TRUE if it was the last: what is left, the memory and the layout, is the caller's then, for ovs_version_renew() or
 * ovs_version_free_retired(). */
gboolean ovs_version_retire (OvsVersion *version);
void ovs_version_free_retired (OvsVersion *version);

static inline gboolean
ovs_version_has_row (const OvsVersion *version, guint32 row)
{
  return row < version->n_rows && (version->live == NULL || ovs_bits_get (version->live, row));
}

/* Every pointer into a version comes from here: the replica for a device, with the fence of the work that
 * makes it (borrowed; NULL: the bytes are there). */
static inline guint8 *
ovs_version_get_values (const OvsVersion *version, OvsFence **ready)
{
  *ready = version->values->ready;
  return version->values->data;
}

/* A row of an array column. */
static inline const OvsArrayRow *
ovs_version_get_array (const OvsVersion *version, guint32 row)
{
  return ovs_ragged_get_row (version->ragged, row);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsVersion, ovs_version_unref)
