/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <ovstage/ovstage-enums.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

/**
 * OVSTAGE_ERROR:
 *
 * The error domain of the library, with codes of [error@Ovstage.Error].
 *
 * Since: 1.0
 */
#define OVSTAGE_ERROR (ovstage_error_quark ())

OVSTAGE_AVAILABLE_IN_1_0
GQuark ovstage_error_quark (void);

G_END_DECLS
