/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: a stage as functions, structs and 64-bit handles. Plain C11 and C++17.
 *
 * Requests give an operation at once; ovstage_wait_op() observes it. All functions
 * may be called from any thread. A handle that is zero, released, of another kind
 * or of another instance is told by OVSTAGE_ERROR_INVALID_HANDLE, at any time, and
 * so is an instance that was destroyed. Strings need not be terminated. */

#pragma once

#include <ovstage/ovstage_api/ovstage_api_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Process */

/* Counted, and not needed for anything yet. @config may be NULL. A shutdown too many is INVALID_ARGUMENT. */
OVX_API ovstage_api_status_t ovstage_initialize (const ovstage_config_t *config);
OVX_API ovstage_api_status_t ovstage_shutdown (void);

/* Who gets the library's messages instead of GLib's log. NULL: GLib's log again. */
OVX_API ovstage_api_status_t ovstage_set_log_callback (ovstage_log_callback_t callback, void *user_data);

/* Of the library. None of the pointers need be given. */
OVX_API void ovstage_get_version (ovstage_instance_t *instance, uint32_t *out_major, uint32_t *out_minor,
                                  uint32_t *out_patch);
/* A text for each status, never NULL. */
OVX_API const char *ovstage_get_error_string (ovstage_instance_t *instance, ovstage_api_status_t status);
/* What the last call of this thread that gives a status did not like; { NULL, 0 } if it went well. Lives until the next
 * call of the thread. */
OVX_API ovx_string_t ovstage_get_last_error (void);

/* Instance */

/* @desc may be NULL. */
OVX_API ovstage_api_status_t ovstage_create_instance (const ovstage_instance_desc_t *desc,
                                                      ovstage_instance_t **out_instance);
/* Work that has not begun is withdrawn, waits end, and all handles become invalid. A warning names those that were still
 * open. NULL is fine. */
OVX_API void ovstage_destroy_instance (ovstage_instance_t *instance);
/* NOT_FOUND for an extension that is not there, or cannot work here. */
OVX_API ovstage_api_status_t ovstage_query_extension (ovstage_instance_t *instance, const char *name,
                                                      const void **out_extension);
/* Lives as long as the instance. NULL for an instance that is none. */
OVX_API path_dictionary_instance_t *ovstage_get_path_dictionary (ovstage_instance_t *instance);

/* Operations */

/* OK when the operation is finished, failed or not; @out_result (may be NULL) lists what failed. TIMEOUT when it is not
 * finished in time, which leaves it as it was. */
OVX_API ovstage_api_status_t ovstage_wait_op (ovstage_instance_t *instance, ovstage_op_id_t op,
                                              ovstage_timeout_ns_t timeout, ovstage_op_wait_result_t *out_result);
/* Why an operation failed that the last wait of this thread listed, or that no wait listed yet. { NULL, 0 } otherwise.
 * Lives until the next wait of the thread. */
OVX_API ovx_string_t ovstage_get_last_op_error (ovstage_instance_t *instance, ovstage_op_id_t op);
/* Forgets the id; the operation runs to its end. */
OVX_API ovstage_api_status_t ovstage_release_op (ovstage_instance_t *instance, ovstage_op_id_t op);

/* Floors */

OVX_API ovstage_enqueue_result_t ovstage_advance_write_floor (ovstage_instance_t *instance,
                                                              const ovstage_write_floor_desc_t *desc);
/* An empty name stands for the floor of all attributes. */
OVX_API ovstage_enqueue_result_t ovstage_get_attribute_write_floor (ovstage_instance_t *instance,
                                                                    ovx_string_or_token_t attribute,
                                                                    ovstage_ordinal_query_handle_t *out_query);
OVX_API ovstage_enqueue_result_t ovstage_get_oldest_preserved_ordinal (ovstage_instance_t *instance,
                                                                       ovstage_ordinal_query_handle_t *out_query);
OVX_API ovstage_api_status_t ovstage_fetch_ordinal (ovstage_instance_t *instance, ovstage_ordinal_query_handle_t query,
                                                    ovstage_timeout_ns_t timeout, ovstage_ordinal_t *out_ordinal);
OVX_API ovstage_enqueue_result_t ovstage_release_ordinal_query (ovstage_instance_t *instance,
                                                                ovstage_ordinal_query_handle_t query);

/* Queries */

/* The prims that match a filter (NULL: all that exist), as of all that was submitted before. The result tells which of
 * the attributes occur on them; of no attributes: which ones do. */
OVX_API ovstage_enqueue_result_t ovstage_query (ovstage_instance_t *instance, const ovstage_filter_t *filter,
                                                const ovx_token_t *attributes, size_t num_attributes,
                                                ovstage_query_handle_t *out_query);
/* The query keeps the list. */
OVX_API ovstage_api_status_t ovstage_query_from_path_list (ovstage_instance_t *instance, ovx_primpath_list_t list,
                                                           ovstage_query_handle_t *out_query);
OVX_API ovstage_api_status_t ovstage_fetch_query_result (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                         ovstage_timeout_ns_t timeout,
                                                         ovstage_query_result_t *out_result);
OVX_API ovstage_api_status_t ovstage_release_query_result (ovstage_instance_t *instance,
                                                           const ovstage_query_result_t *result);
/* Requests that use the query are not disturbed. */
OVX_API ovstage_enqueue_result_t ovstage_release_query (ovstage_instance_t *instance, ovstage_query_handle_t query);

/* Writes */

OVX_API ovstage_enqueue_result_t ovstage_write_attribute (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                          ovx_string_or_token_t attribute, ovstage_ordinal_t ordinal,
                                                          ovstage_write_data_t data, ovstage_prim_mode_t prim_mode);
/* Several attributes at once: accepted, refused and staged as one. */
OVX_API ovstage_enqueue_result_t ovstage_write_attributes (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                           const ovstage_attribute_write_t *writes, size_t num_writes,
                                                           ovstage_ordinal_t ordinal, ovstage_prim_mode_t prim_mode);
/* No attributes: whole prims. */
OVX_API ovstage_enqueue_result_t ovstage_delete_attributes (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                            const ovx_string_or_token_t *attributes,
                                                            size_t num_attributes, ovstage_ordinal_t ordinal);
/* Everything at and below the source, on each of the targets in its place. */
OVX_API ovstage_enqueue_result_t ovstage_clone (ovstage_instance_t *instance, ovx_string_t source,
                                                const ovx_string_t *targets, size_t num_targets,
                                                ovstage_ordinal_t ordinal);

/* Maps: memory of the stage that becomes the values, without a copy. */

/* An array attribute takes the number of elements of each prim; a fixed one none. The memory is not initialized. */
OVX_API ovstage_enqueue_result_t ovstage_map_attribute (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                        const ovstage_map_desc_t *desc, ovstage_ordinal_t ordinal,
                                                        const size_t *element_sizes, size_t num_element_sizes,
                                                        ovstage_map_handle_t *out_map);
/* Waits for the map, then gives one group after the other; END_OF_ITERATION after the last. */
OVX_API ovstage_api_status_t ovstage_fetch_map_next (ovstage_instance_t *instance, ovstage_map_handle_t map,
                                                     ovstage_timeout_ns_t timeout, ovstage_map_group_t *out_group);
/* Commits a group, as a write at the ordinal of the map. Nobody may touch its memory from here on. */
OVX_API ovstage_enqueue_result_t ovstage_unmap_group (ovstage_instance_t *instance, ovstage_map_handle_t map,
                                                      const ovstage_map_group_t *group,
                                                      ovstage_cuda_sync_t write_done_sync);
/* Commits what was not committed yet, fetched or not, and lets go of the handle. */
OVX_API ovstage_enqueue_result_t ovstage_unmap_attribute (ovstage_instance_t *instance, ovstage_map_handle_t map,
                                                          ovstage_cuda_sync_t write_done_sync);
/* Drops what was not committed yet, and lets go of the handle. */
OVX_API ovstage_enqueue_result_t ovstage_discard_map (ovstage_instance_t *instance, ovstage_map_handle_t map);

/* Reads */

OVX_API ovstage_enqueue_result_t ovstage_read_attributes (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                          const ovx_token_t *attributes, size_t num_attributes,
                                                          ovstage_ordinal_range_t range,
                                                          ovstage_read_handle_t *out_read);
/* Waits for the read, then gives one group after the other; END_OF_ITERATION after the last. */
OVX_API ovstage_api_status_t ovstage_fetch_read_next (ovstage_instance_t *instance, ovstage_read_handle_t read,
                                                      ovstage_timeout_ns_t timeout, ovstage_read_group_t *out_group);
OVX_API ovstage_api_status_t ovstage_release_group (ovstage_instance_t *instance, const ovstage_read_group_t *group);
/* Groups that were fetched stay. */
OVX_API ovstage_enqueue_result_t ovstage_release_read (ovstage_instance_t *instance, ovstage_read_handle_t read);

#ifdef __cplusplus
}
#endif
