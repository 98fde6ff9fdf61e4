/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib.h>

#include <ovstage/ovstage-version.h>

/* Everything is built with hidden visibility; what has a version is shown. */
#ifdef OVSTAGE_COMPILATION
#define _OVSTAGE_API __attribute__ ((visibility ("default")))
#else
#define _OVSTAGE_API
#endif
#define _OVSTAGE_EXTERN _OVSTAGE_API extern

/**
 * OVSTAGE_VERSION_1_0:
 *
 * Version 1.0, in a form that the preprocessor can compare.
 *
 * Since: 1.0
 */
#define OVSTAGE_VERSION_1_0 (G_ENCODE_VERSION (1, 0))

/**
 * OVSTAGE_VERSION_MAX_ALLOWED:
 *
 * The newest version whose symbols may be used without a warning.
 *
 * Define it before including the header to the version that the program must
 * build with, for example `OVSTAGE_VERSION_1_0`. It is the version of the
 * headers otherwise.
 *
 * Since: 1.0
 */
#ifndef OVSTAGE_VERSION_MAX_ALLOWED
#define OVSTAGE_VERSION_MAX_ALLOWED (G_ENCODE_VERSION (OVSTAGE_MAJOR_VERSION, OVSTAGE_MINOR_VERSION))
#endif

#if OVSTAGE_VERSION_MAX_ALLOWED < OVSTAGE_VERSION_1_0
#define OVSTAGE_AVAILABLE_IN_1_0 G_UNAVAILABLE (1, 0) _OVSTAGE_EXTERN
#else
#define OVSTAGE_AVAILABLE_IN_1_0 _OVSTAGE_EXTERN
#endif
