/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Tells of risen floors in the main context that was thread-default when the stage was
 * made: `notify::write-floor`, then `sealed`, once for rises that come faster than it turns. */

#pragma once

#include <ovstage/ovstage-stage.h>

#include "op/ovs-stage.h"

typedef struct _OvstageEmitter OvstageEmitter;

/* Listens to @core, which is the stage's. @sealed: the signal's id. */
OvstageEmitter *_ovstage_emitter_new (OvstageStage *stage, OvsStage *core, GParamSpec *write_floor, guint sealed);
/* Tells nothing from now on. */
void _ovstage_emitter_close (OvstageEmitter *emitter);
void _ovstage_emitter_unref (gpointer emitter);
