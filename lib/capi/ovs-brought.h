/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a write brings, as the core has it. */

#pragma once

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "tensor/ovs-payload.h"

/* Managed tensors that several writes of one call may name: each is taken once. */
GHashTable *ovs_brought_seen_new (void);
/* Never NULL: what makes no payload is one that the core refuses. Managed tensors are taken in any case.
 * @seen: (nullable) where it is one write of several. */
OvstageWriteData *ovs_brought_new (const ovstage_write_data_t *data, GHashTable *seen);
