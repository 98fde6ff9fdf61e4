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

#define OVSTAGE_TYPE_PLACEMENT (ovstage_placement_get_type ())

/**
 * OvstagePlacement:
 * @device_type: a `DLDeviceType` of DLPack, 1 for the CPU
 * @device_id: which device of that type, 0 for the CPU
 * @stream: the stream the work is ordered on, 0 for one of the library's own
 * @availability_event: an event that is recorded once the data is available on @stream, 0 for none
 *
 * Where an operation works, and how the caller learns that its data is there.
 *
 * The placement is independent of what a payload says of its source. The CPU
 * has neither streams nor events: both are 0 there.
 *
 * Since: 1.0
 */
struct _OvstagePlacement
{
  gint32 device_type;
  gint32 device_id;
  guint64 stream;
  guint64 availability_event;
};

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_placement_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePlacement *ovstage_placement_new (gint32 device_type,
                                         gint32 device_id,
                                         guint64 stream,
                                         guint64 availability_event);
OVSTAGE_AVAILABLE_IN_1_0
OvstagePlacement *ovstage_placement_copy (const OvstagePlacement *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_placement_free (OvstagePlacement *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstagePlacement, ovstage_placement_free)

G_END_DECLS
