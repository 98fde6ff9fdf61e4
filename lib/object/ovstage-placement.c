/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-placement.h>

G_DEFINE_BOXED_TYPE (OvstagePlacement, ovstage_placement, ovstage_placement_copy, ovstage_placement_free)

/**
 * ovstage_placement_new: (constructor)
 * @device_type: a `DLDeviceType` of DLPack, 1 for the CPU
 * @device_id: which device of that type, 0 for the CPU
 * @stream: the stream the work is ordered on, 0 for one of the library's own
 * @availability_event: an event to record once the data is available, 0 for none
 *
 * Makes a placement. Whether such a device exists is told by the operation that
 * uses it.
 *
 * Returns: (transfer full): a new placement, freed with [method@Ovstage.Placement.free]
 *
 * Since: 1.0
 */
OvstagePlacement *
ovstage_placement_new (gint32 device_type, gint32 device_id, guint64 stream, guint64 availability_event)
{
  OvstagePlacement *self = g_new (OvstagePlacement, 1);

  self->device_type = device_type;
  self->device_id = device_id;
  self->stream = stream;
  self->availability_event = availability_event;
  return self;
}

/**
 * ovstage_placement_copy:
 * @self: a placement
 *
 * Copies a placement.
 *
 * Returns: (transfer full): the copy, freed with [method@Ovstage.Placement.free]
 *
 * Since: 1.0
 */
OvstagePlacement *
ovstage_placement_copy (const OvstagePlacement *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return g_memdup2 (self, sizeof *self);
}

/**
 * ovstage_placement_free:
 * @self: (transfer full): a placement
 *
 * Frees a placement. Never touches the stream or event it names.
 *
 * Since: 1.0
 */
void
ovstage_placement_free (OvstagePlacement *self)
{
  g_return_if_fail (self != NULL);

  g_free (self);
}
