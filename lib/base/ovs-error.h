/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include <ovstage/ovstage-error.h>
#include <ovstage/ovstage-types.h>

/* Sets an error of our domain and gives FALSE, so that a check is one statement. */
gboolean ovs_fail (GError **error, OvstageError code, const char *format, ...) G_GNUC_PRINTF (3, 4);
