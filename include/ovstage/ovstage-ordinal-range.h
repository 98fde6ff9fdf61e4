/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_ORDINAL_RANGE (ovstage_ordinal_range_get_type ())

/**
 * OvstageOrdinalRange:
 * @start_ordinal: the first ordinal of the range, if it has one
 * @end_ordinal: the last ordinal, or %OVSTAGE_ORDINAL_NEWEST
 * @has_start_ordinal: whether this is a range of changes, else a snapshot at @end_ordinal
 *
 * What a read is about: the values as of an ordinal, or what changed from one
 * ordinal to another. `OVSTAGE_ORDINAL_NEWEST` is `0xffffffffffffffffn` in JavaScript
 * and `uint64.MAX` in Vala.
 *
 * Since: 1.0
 */
struct _OvstageOrdinalRange
{
  guint64 start_ordinal;
  guint64 end_ordinal;
  gboolean has_start_ordinal;
};

/**
 * OVSTAGE_ORDINAL_RANGE_LATEST:
 * @n: an ordinal
 *
 * A snapshot as of @n, as a value whose address can be taken in C.
 *
 * Since: 1.0
 */
#define OVSTAGE_ORDINAL_RANGE_LATEST(n) ((OvstageOrdinalRange) { 0, (n), FALSE })

/**
 * OVSTAGE_ORDINAL_RANGE_BETWEEN:
 * @a: the first ordinal
 * @b: the last ordinal, or %OVSTAGE_ORDINAL_NEWEST
 *
 * What changed from @a to @b, as a value whose address can be taken in C.
 *
 * Since: 1.0
 */
#define OVSTAGE_ORDINAL_RANGE_BETWEEN(a, b) ((OvstageOrdinalRange) { (a), (b), TRUE })

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_ordinal_range_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageOrdinalRange *ovstage_ordinal_range_latest (guint64 ordinal);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOrdinalRange *ovstage_ordinal_range_between (guint64 start_ordinal, guint64 end_ordinal);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOrdinalRange *ovstage_ordinal_range_newest (void);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOrdinalRange *ovstage_ordinal_range_copy (const OvstageOrdinalRange *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_ordinal_range_free (OvstageOrdinalRange *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageOrdinalRange, ovstage_ordinal_range_free)

G_END_DECLS
