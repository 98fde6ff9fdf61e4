/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Types of the flat API. Plain C11 and C++17; needs libc and dlpack.h only. */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ovstage/ovstage-dlpack-types.h>
#include <ovstage/ovstage-enums.h>
#define __OVSTAGE_API_INSIDE__
#include <ovstage/ovstage-version.h>
#undef __OVSTAGE_API_INSIDE__
#include <ovx/path_dictionary/path_dictionary.h>
#include <ovx/string_types.h>
#include <ovx/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers; ovstage_get_version() tells that of the library. */
#define OVSTAGE_VERSION_MAJOR OVSTAGE_MAJOR_VERSION
#define OVSTAGE_VERSION_MINOR OVSTAGE_MINOR_VERSION
#define OVSTAGE_VERSION_PATCH OVSTAGE_MICRO_VERSION

/* One stage. Not to be looked into. */
typedef struct ovstage_instance_t ovstage_instance_t;

/* Ids are never 0, and those of handles are never given out twice. */
typedef uint64_t ovstage_op_id_t;
typedef uint64_t ovstage_query_handle_t;
typedef uint64_t ovstage_query_result_id_t;
typedef uint64_t ovstage_read_handle_t;
typedef uint64_t ovstage_read_group_id_t;
typedef uint64_t ovstage_map_handle_t;
typedef uint64_t ovstage_ordinal_query_handle_t;

#define OVSTAGE_INVALID_OP_ID ((ovstage_op_id_t) 0)
#define OVSTAGE_INVALID_QUERY_HANDLE ((ovstage_query_handle_t) 0)
#define OVSTAGE_INVALID_QUERY_RESULT_ID ((ovstage_query_result_id_t) 0)
#define OVSTAGE_INVALID_READ_HANDLE ((ovstage_read_handle_t) 0)
#define OVSTAGE_INVALID_READ_GROUP_ID ((ovstage_read_group_id_t) 0)
#define OVSTAGE_INVALID_MAP_HANDLE ((ovstage_map_handle_t) 0)
#define OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE ((ovstage_ordinal_query_handle_t) 0)

/* The caller's clock. */
typedef uint64_t ovstage_ordinal_t;

/* As the end of the range of a read: each attribute as of its own write floor. */
#ifndef OVSTAGE_ORDINAL_NEWEST
#define OVSTAGE_ORDINAL_NEWEST UINT64_MAX
#endif

/* Nanoseconds; 0 polls. */
typedef uint64_t ovstage_timeout_ns_t;

/* <ovstage/ovstage.h> has the same bits with a sign, which C++ does not take everywhere. */
#if defined(__cplusplus) || !defined(OVSTAGE_TIMEOUT_INFINITE)
#undef OVSTAGE_TIMEOUT_INFINITE
#define OVSTAGE_TIMEOUT_INFINITE UINT64_MAX
#endif

/* OVSTAGE_OK or OVSTAGE_ERROR_… */
typedef OvstageError ovstage_api_status_t;
typedef OvstagePrimMode ovstage_prim_mode_t;
typedef OvstageScope ovstage_scope_t;
typedef OvstageSemantic ovstage_semantic_t;
typedef OvstageFilterOp ovstage_filter_op_t;

typedef enum
{
  OVSTAGE_LOG_LEVEL_ERROR = 0,
  OVSTAGE_LOG_LEVEL_WARNING = 1,
  OVSTAGE_LOG_LEVEL_INFO = 2,
  OVSTAGE_LOG_LEVEL_DEBUG = 3,
} ovstage_log_level_t;

/* Called in whatever thread has something to tell. The message lives for the length of the call. */
typedef void (*ovstage_log_callback_t) (ovstage_log_level_t level, ovx_string_t message, void *user_data);

/* Of the process. There is nothing to configure yet: all zero. */
typedef struct ovstage_config_t
{
  const void *reserved; /* NULL */
} ovstage_config_t;

typedef struct ovstage_instance_desc_t
{
  const char *name; /* for messages; may be NULL */
} ovstage_instance_desc_t;

/* What a request gives at once. One that is refused has its error as the status, and op 0. */
typedef struct ovstage_enqueue_result_t
{
  ovstage_api_status_t status;
  ovstage_op_id_t op_index;
} ovstage_enqueue_result_t;

/* The ids live until the next wait of the thread. */
typedef struct ovstage_op_wait_result_t
{
  const ovstage_op_id_t *error_op_ids; /* that failed since the last wait of this thread */
  size_t error_op_id_count;
  ovstage_op_id_t lowest_pending_op_id; /* on TIMEOUT: of what is waited for; else 0 */
} ovstage_op_wait_result_t;

/* What has to be over before data is touched. Stream: 0 none, 1 the default stream, else a handle. Event: 0 none. */
typedef struct ovstage_cuda_sync_t
{
  uintptr_t stream;
  uintptr_t wait_event;
} ovstage_cuda_sync_t;

/* Bit i % 64 of word i / 64 is for element i. */
typedef const uint64_t *ovstage_mask_t;

/* Values that are read. Element i has row index_map[i], or i where that is NULL. */
typedef struct ovstage_data_t
{
  const DLTensor *tensors; /* one for a fixed attribute, one a row for an array attribute */
  uint32_t tensor_count;
  uint32_t count;
  const uint32_t *index_map; /* may be NULL; count entries */
  ovstage_mask_t mask;       /* may be NULL */
  ovstage_cuda_sync_t cuda_sync;
} ovstage_data_t;

/* Values to write: either tensors, whose memory stays the caller's and must stay until the operation is done, or
 * managed tensors, which are handed over by the call, whatever comes of it. The structs, shapes, strides, map and mask
 * are read during the call. */
typedef struct ovstage_write_data_t
{
  const DLTensor *tensors;
  const DLManagedTensorVersioned *const *managed_tensors;
  uint32_t tensor_count;
  uint32_t count;            /* elements, from the first prim on; 0: one for every prim */
  const uint32_t *index_map; /* may be NULL; the row of each of count elements */
  ovstage_mask_t mask;       /* may be NULL; which of count elements are written */
  ovstage_cuda_sync_t cuda_sync;
  ovstage_semantic_t semantic;
  bool is_array;
} ovstage_write_data_t;

typedef struct ovstage_attribute_write_t
{
  ovx_string_or_token_t attribute;
  ovstage_write_data_t data;
} ovstage_attribute_write_t;

/* Prim i is entry index_map[i] of the list, or offset + i where that is NULL. */
typedef struct ovstage_prim_group_t
{
  ovx_primpath_list_t list;
  uint32_t offset;
  uint32_t count;
  const uint32_t *index_map;
} ovstage_prim_group_t;

typedef struct ovstage_attribute_meta_t
{
  ovstage_ordinal_t attribute_write_floor_ordinal;
  uint64_t layout_generation; /* rises when rows appear, go or move */
} ovstage_attribute_meta_t;

/* All it points to lives until it is released. */
typedef struct ovstage_read_group_t
{
  ovstage_read_group_id_t read_group_id;
  ovx_token_t attribute;
  ovstage_ordinal_t ordinal; /* newest change among its prims */
  bool is_delete;
  bool is_array;
  ovstage_semantic_t semantic;
  ovstage_prim_group_t prims;
  ovstage_data_t data;
  ovstage_attribute_meta_t meta;
} ovstage_read_group_t;

/* Memory to fill: all of it is written by the commit. Lives until the group or its map is committed or discarded. */
typedef struct ovstage_map_group_t
{
  ovstage_prim_group_t prims;
  ovstage_data_t data;
  ovstage_attribute_meta_t meta;
} ovstage_map_group_t;

/* The memory that a map asks for. */
typedef struct ovstage_map_desc_t
{
  ovx_string_or_token_t attribute;
  DLDataType dtype; /* all zero: that of what is there */
  ovstage_semantic_t semantic;
  ovstage_prim_mode_t prim_mode;
} ovstage_map_desc_t;

/* Without a start: values as of the end. With one: what changed from start to end. */
typedef struct ovstage_ordinal_range_t
{
  ovstage_ordinal_t start_ordinal;
  ovstage_ordinal_t end_ordinal;
  bool has_start_ordinal;
} ovstage_ordinal_range_t;

typedef struct ovstage_write_floor_desc_t
{
  ovstage_ordinal_t ordinal;
  ovstage_scope_t scope;
  const ovx_token_t *attributes; /* of INCLUDE and EXCLUDE */
  size_t attribute_count;
} ovstage_write_floor_desc_t;

/* Values are texts: where the attribute holds numbers, what they spell. Of the path of the prim itself with an empty
 * name, for SUBTREE. */
typedef struct ovstage_predicate_t
{
  ovx_string_or_token_t attribute;
  ovstage_filter_op_t op;
  const ovx_string_t *values;
  size_t value_count;
} ovstage_predicate_t;

/* All of them must match. */
typedef struct ovstage_filter_t
{
  const ovstage_predicate_t *predicates;
  size_t count;
} ovstage_filter_t;

/* What a query found. Lives until it is released. */
typedef struct ovstage_query_result_t
{
  ovstage_query_result_id_t query_result_id;
  const ovx_token_t *attributes;
  size_t attribute_count;
  ovstage_query_handle_t all_handle; /* the prims found; goes with the result */
  size_t total_prim_count;
} ovstage_query_result_t;

#ifdef __cplusplus
}
#endif
