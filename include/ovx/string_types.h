/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Strings with a length. Plain C11 and C++17. */

#pragma once

#include <stddef.h>

/* The library is built with hidden visibility; what has this in front is shown. */
#ifdef OVSTAGE_COMPILATION
#define OVX_API __attribute__ ((visibility ("default"))) extern
#else
#define OVX_API extern
#endif

/* UTF-8, not necessarily terminated. { NULL, 0 } is no string, or an empty one where one is asked for. */
typedef struct ovx_string_t
{
  const char *ptr;
  size_t length;
} ovx_string_t;

/* An ovx_string_t of a string literal. */
#ifdef __cplusplus
#define literal_to_ovx_string(literal) (ovx_string_t{ "" literal, sizeof (literal) - 1 })
#else
#define literal_to_ovx_string(literal) ((ovx_string_t) { "" literal, sizeof (literal) - 1 })
#endif
