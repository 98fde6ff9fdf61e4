/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-ordinal-range.h>

G_DEFINE_BOXED_TYPE (OvstageOrdinalRange, ovstage_ordinal_range, ovstage_ordinal_range_copy, ovstage_ordinal_range_free)

/**
 * ovstage_ordinal_range_latest:
 * @ordinal: an ordinal
 *
 * Asks for a snapshot as of @ordinal: for each prim the value that the newest
 * change at or below it left. C code may use
 * `OVSTAGE_ORDINAL_RANGE_LATEST()` and allocate nothing.
 *
 * Returns: (transfer full): a new range, freed with [method@Ovstage.OrdinalRange.free]
 *
 * Since: 1.0
 */
OvstageOrdinalRange *
ovstage_ordinal_range_latest (guint64 ordinal)
{
  OvstageOrdinalRange *self = g_new (OvstageOrdinalRange, 1);

  *self = OVSTAGE_ORDINAL_RANGE_LATEST (ordinal);
  return self;
}

/**
 * ovstage_ordinal_range_between:
 * @start_ordinal: the first ordinal
 * @end_ordinal: the last ordinal, not below @start_ordinal, or
 *   %OVSTAGE_ORDINAL_NEWEST
 *
 * Asks for what changed from @start_ordinal to @end_ordinal, both included: the prims
 * that were written, with their values as of @end_ordinal, and those that were deleted.
 * With `OVSTAGE_ORDINAL_NEWEST` as the end, each attribute is read up to its own write
 * floor, whatever is staged above it.
 *
 * Who reads from the ordinal after `as_of` of the read before, see
 * [method@Ovstage.Read.get_as_of], sees every change once. C code may use
 * `OVSTAGE_ORDINAL_RANGE_BETWEEN()` and allocate nothing.
 *
 * Returns: (transfer full): a new range, freed with [method@Ovstage.OrdinalRange.free]
 *
 * Since: 1.0
 */
OvstageOrdinalRange *
ovstage_ordinal_range_between (guint64 start_ordinal, guint64 end_ordinal)
{
  OvstageOrdinalRange *self = g_new (OvstageOrdinalRange, 1);

  *self = OVSTAGE_ORDINAL_RANGE_BETWEEN (start_ordinal, end_ordinal);
  return self;
}

/**
 * ovstage_ordinal_range_newest:
 *
 * Asks for a snapshot of each attribute as of its own write floor when the read
 * runs. Such a read never fails for lack of history.
 *
 * Returns: (transfer full): a new range, freed with [method@Ovstage.OrdinalRange.free]
 *
 * Since: 1.0
 */
OvstageOrdinalRange *
ovstage_ordinal_range_newest (void)
{
  return ovstage_ordinal_range_latest (OVSTAGE_ORDINAL_NEWEST);
}

/**
 * ovstage_ordinal_range_copy:
 * @self: a range
 *
 * Copies a range.
 *
 * Returns: (transfer full): the copy, freed with [method@Ovstage.OrdinalRange.free]
 *
 * Since: 1.0
 */
OvstageOrdinalRange *
ovstage_ordinal_range_copy (const OvstageOrdinalRange *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return g_memdup2 (self, sizeof *self);
}

/**
 * ovstage_ordinal_range_free:
 * @self: (transfer full): a range
 *
 * Frees a range.
 *
 * Since: 1.0
 */
void
ovstage_ordinal_range_free (OvstageOrdinalRange *self)
{
  g_return_if_fail (self != NULL);

  g_free (self);
}
