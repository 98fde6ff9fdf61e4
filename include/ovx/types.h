/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Ids and results that the flat headers share. Plain C11 and C++17. */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ovx/string_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An interned string. 0 stands for the empty one. */
typedef uint64_t ovx_token_t;
/* An interned prim path. */
typedef uint64_t ovx_primpath_t;
/* A counted list of prim paths. */
typedef uint64_t ovx_primpath_list_t;

#define OVX_INVALID_TOKEN ((ovx_token_t) 0)
#define OVX_INVALID_PRIMPATH ((ovx_primpath_t) 0)
#define OVX_INVALID_PRIMPATH_LIST ((ovx_primpath_list_t) 0)

/* A name: the token if it is not 0, the string otherwise. */
typedef struct ovx_string_or_token_t
{
  ovx_token_t token;
  ovx_string_t string;
} ovx_string_or_token_t;

typedef enum
{
  OVX_API_SUCCESS = 0,
  OVX_API_ERROR = 1,
} ovx_api_status_t;

/* With OVX_API_ERROR, the error is a text that the caller gives back to path_dictionary_release_error(). */
typedef struct ovx_api_result_t
{
  ovx_api_status_t status;
  ovx_string_t error;
} ovx_api_result_t;

#ifdef __cplusplus
}
#endif
