/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Strings and prim paths as ids, and lists of paths. Plain C11 and C++17.
 *
 * Equal strings have equal tokens and equal paths have equal ids, for the life
 * of the dictionary, which is that of its stage. A prim path is "/", or "/" and
 * names joined by single "/".
 *
 * A function that fails writes nothing to where its results go. Its error names the
 * entry and what is wrong with it, and belongs to the caller: give it back with
 * path_dictionary_release_error(). All functions may be called from any thread. */

#pragma once

#include <ovx/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lent by ovstage_get_path_dictionary(). */
typedef struct path_dictionary_instance_t path_dictionary_instance_t;

/* Tokens of strings, made where they are new. No string may be empty or have a NUL. */
OVX_API ovx_api_result_t path_dictionary_create_tokens_from_strings (path_dictionary_instance_t *dictionary,
                                                                     const ovx_string_t *strings, size_t num_strings,
                                                                     ovx_token_t *out_tokens);

/* The strings live as long as the dictionary, and are terminated. That of token 0 is empty. */
OVX_API ovx_api_result_t path_dictionary_get_strings_from_tokens (path_dictionary_instance_t *dictionary,
                                                                  const ovx_token_t *tokens, size_t num_tokens,
                                                                  ovx_string_t *out_strings);

OVX_API ovx_api_result_t path_dictionary_create_paths_from_strings (path_dictionary_instance_t *dictionary,
                                                                    const ovx_string_t *strings, size_t num_strings,
                                                                    ovx_primpath_t *out_paths);

/* Paths of their names, outermost first. No names make "/". */
OVX_API ovx_api_result_t path_dictionary_create_paths_from_tokens (path_dictionary_instance_t *dictionary,
                                                                   const ovx_token_t *const *tokens_per_path,
                                                                   const size_t *num_tokens_per_path, size_t num_paths,
                                                                   ovx_primpath_t *out_paths);

/* The names of paths, outermost first, one path after the other in a buffer of @buffer_size tokens.
 * @out_tokens_per_path and @out_num_tokens_per_path tell for each path where its names begin, and how many there are.
 * Where the buffer is too short for all, the leading paths that fit are done: @out_num_processed tells how many. */
OVX_API ovx_api_result_t path_dictionary_get_tokens_from_paths (path_dictionary_instance_t *dictionary,
                                                                const ovx_primpath_t *paths, size_t num_paths,
                                                                ovx_token_t *buffer, size_t buffer_size,
                                                                const ovx_token_t **out_tokens_per_path,
                                                                size_t *out_num_tokens_per_path,
                                                                size_t *out_num_processed);

/* Lists in the order given. A path may not be in one twice. The caller has one reference. */
OVX_API ovx_api_result_t path_dictionary_create_path_list_from_paths (path_dictionary_instance_t *dictionary,
                                                                      const ovx_primpath_t *paths, size_t num_paths,
                                                                      ovx_primpath_list_t *out_list);
OVX_API ovx_api_result_t path_dictionary_create_path_list_from_strings (path_dictionary_instance_t *dictionary,
                                                                        const ovx_string_t *strings, size_t num_strings,
                                                                        ovx_primpath_list_t *out_list);

/* Nothing happens to list 0. The list of a group is the group's: who wants it for longer adds a reference. */
OVX_API ovx_api_result_t path_dictionary_add_path_list_reference (path_dictionary_instance_t *dictionary,
                                                                  ovx_primpath_list_t list);
OVX_API ovx_api_result_t path_dictionary_release_path_list_reference (path_dictionary_instance_t *dictionary,
                                                                      ovx_primpath_list_t list);

OVX_API ovx_api_result_t path_dictionary_get_num_paths_from_path_list (path_dictionary_instance_t *dictionary,
                                                                       ovx_primpath_list_t list, size_t *out_num_paths);

/* Up to @max_paths paths from entry @start on. A start at or past the end gives none. */
OVX_API ovx_api_result_t path_dictionary_get_paths_from_path_list (path_dictionary_instance_t *dictionary,
                                                                   ovx_primpath_list_t list, size_t start,
                                                                   size_t max_paths, ovx_primpath_t *out_paths,
                                                                   size_t *out_num_paths);

/* Frees the error of a result; { NULL, 0 } is fine. The dictionary may be gone. */
OVX_API void path_dictionary_release_error (path_dictionary_instance_t *dictionary, ovx_string_t error);

#ifdef __cplusplus
}
#endif
