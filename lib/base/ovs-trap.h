/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Mappings that were given up, and are kept without a page for a while, so that whoever
 * still uses an address meets a fault, and not the memory of somebody else. */

#pragma once

#include <glib.h>

/* Takes the mapping. */
void ovs_trap_set (guint8 *data, gsize size);
