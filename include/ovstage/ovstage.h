/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The one header a program includes, for the GObject API and the flat one. The
 * flat headers, below ovstage/ovstage_api/ and ovx/, also stand alone, without
 * GLib. <ovstage/ovstage-dlpack.h> comes on top for those who hand DLPack structs
 * to the GObject API. */

#pragma once

#define __OVSTAGE_H_INSIDE__

#include <ovstage/ovstage-data-type.h>
#include <ovstage/ovstage-enum-types.h>
#include <ovstage/ovstage-enums.h>
#include <ovstage/ovstage-error.h>
#include <ovstage/ovstage-filter.h>
#include <ovstage/ovstage-map-group.h>
#include <ovstage/ovstage-map.h>
#include <ovstage/ovstage-operation.h>
#include <ovstage/ovstage-ordinal-range.h>
#include <ovstage/ovstage-path-dictionary.h>
#include <ovstage/ovstage-path-list.h>
#include <ovstage/ovstage-placement.h>
#include <ovstage/ovstage-query.h>
#include <ovstage/ovstage-read-group.h>
#include <ovstage/ovstage-read.h>
#include <ovstage/ovstage-stage.h>
#include <ovstage/ovstage-tensor.h>
#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>
#include <ovstage/ovstage-version.h>
#include <ovstage/ovstage-watch.h>
#include <ovstage/ovstage-write-data.h>

#undef __OVSTAGE_H_INSIDE__

#ifndef __GI_SCANNER__
#include <ovstage/ovstage_api/ovstage_api.h>
#endif
