/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: every struct, number and function as it is documented, by name, order
 * and type. Most of it is found out by compiling, as C11 and as C++17 (in
 * test-flat-types-cxx.cc), as a program does that knows nothing of GLib. */

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#include <type_traits>
#define ASSERT(condition) static_assert (condition, #condition)
#define ASSERT_SAME(type, other) static_assert (std::is_same<type, other>::value, #type " is " #other)
#define ASSERT_MEMBER(name, type, member) static_assert (std::is_same<decltype (name::member), type>::value, #name "." #member)
#define ASSERT_FUNCTION(name, type) static_assert (std::is_same<decltype (&name), type>::value, #name)
#else
#define ASSERT(condition) _Static_assert (condition, #condition)
#define ASSERT_SAME(type, other) _Static_assert (_Generic ((type *) NULL, other *: 1, default: 0), #type " is " #other)
#define ASSERT_MEMBER(name, type, member) \
  _Static_assert (_Generic (&((name *) NULL)->member, type *: 1, default: 0), #name "." #member)
#define ASSERT_FUNCTION(name, type) _Static_assert (_Generic (&name, type: 1, default: 0), #name)
#endif

/* A struct of the same members in the same order has the same layout, and nothing is left over. */
#define DECLARE_MEMBER(name, type, member) type member;
#define CHECK_MEMBER(name, type, member)                                 \
  ASSERT (offsetof (name, member) == offsetof (name##_as_told, member)); \
  ASSERT_MEMBER (name, type, member);
#define CHECK_STRUCT(name, MEMBERS) \
  typedef struct                    \
  {                                 \
    MEMBERS (DECLARE_MEMBER, name)  \
  } name##_as_told;                 \
  ASSERT (sizeof (name) == sizeof (name##_as_told)); \
  MEMBERS (CHECK_MEMBER, name)

/* Ids */

ASSERT_SAME (ovx_token_t, uint64_t);
ASSERT_SAME (ovx_primpath_t, uint64_t);
ASSERT_SAME (ovx_primpath_list_t, uint64_t);
ASSERT_SAME (ovstage_op_id_t, uint64_t);
ASSERT_SAME (ovstage_query_handle_t, uint64_t);
ASSERT_SAME (ovstage_query_result_id_t, uint64_t);
ASSERT_SAME (ovstage_read_handle_t, uint64_t);
ASSERT_SAME (ovstage_read_group_id_t, uint64_t);
ASSERT_SAME (ovstage_map_handle_t, uint64_t);
ASSERT_SAME (ovstage_ordinal_query_handle_t, uint64_t);
ASSERT_SAME (ovstage_ordinal_t, uint64_t);
ASSERT_SAME (ovstage_timeout_ns_t, uint64_t);
typedef const uint64_t *const_words;
ASSERT_SAME (ovstage_mask_t, const_words);

ASSERT (OVX_INVALID_TOKEN == 0);
ASSERT (OVX_INVALID_PRIMPATH == 0);
ASSERT (OVX_INVALID_PRIMPATH_LIST == 0);
ASSERT (OVSTAGE_INVALID_OP_ID == 0);
ASSERT (OVSTAGE_INVALID_QUERY_HANDLE == 0);
ASSERT (OVSTAGE_INVALID_QUERY_RESULT_ID == 0);
ASSERT (OVSTAGE_INVALID_READ_HANDLE == 0);
ASSERT (OVSTAGE_INVALID_READ_GROUP_ID == 0);
ASSERT (OVSTAGE_INVALID_MAP_HANDLE == 0);
ASSERT (OVSTAGE_INVALID_ORDINAL_QUERY_HANDLE == 0);
ASSERT (OVSTAGE_ORDINAL_NEWEST == UINT64_MAX);
ASSERT (OVSTAGE_TIMEOUT_INFINITE == UINT64_MAX);
ASSERT (OVSTAGE_VERSION_MAJOR == 1);
ASSERT (OVSTAGE_VERSION_MINOR >= 0);
ASSERT (OVSTAGE_VERSION_PATCH >= 0);

/* Numbers */

ASSERT (OVX_API_SUCCESS == 0);
ASSERT (OVX_API_ERROR == 1);
ASSERT (OVSTAGE_OK == 0);
ASSERT (OVSTAGE_ERROR_INVALID_ARGUMENT == 1);
ASSERT (OVSTAGE_ERROR_INVALID_HANDLE == 2);
ASSERT (OVSTAGE_ERROR_NOT_FOUND == 3);
ASSERT (OVSTAGE_ERROR_PRIM_NOT_FOUND == 4);
ASSERT (OVSTAGE_ERROR_ALREADY_EXISTS == 4);
ASSERT (OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION == 5);
ASSERT (OVSTAGE_ERROR_NOT_SUPPORTED == 6);
ASSERT (OVSTAGE_ERROR_QUEUE_FULL == 7);
ASSERT (OVSTAGE_ERROR_END_OF_ITERATION == 8);
ASSERT (OVSTAGE_ERROR_OUT_OF_MEMORY == 9);
ASSERT (OVSTAGE_ERROR_LAYOUT_CHANGED == 10);
ASSERT (OVSTAGE_ERROR_TIMEOUT == 11);
ASSERT (OVSTAGE_ERROR_OP_FAILED == 12);
ASSERT (OVSTAGE_ERROR_OUT_OF_RANGE == 13);
ASSERT (OVSTAGE_ERROR_INTERNAL == 99);
ASSERT (OVSTAGE_PRIM_MODE_UPSERT == 0);
ASSERT (OVSTAGE_PRIM_MODE_INSERT == 1);
ASSERT (OVSTAGE_PRIM_MODE_UPDATE == 2);
ASSERT (OVSTAGE_SCOPE_ALL == 0);
ASSERT (OVSTAGE_SCOPE_INCLUDE == 1);
ASSERT (OVSTAGE_SCOPE_EXCLUDE == 2);
ASSERT (OVSTAGE_FILTER_OP_HAS == 0);
ASSERT (OVSTAGE_FILTER_OP_IN == 1);
ASSERT (OVSTAGE_FILTER_OP_CONTAINS == 2);
ASSERT (OVSTAGE_FILTER_OP_PREFIX == 3);
ASSERT (OVSTAGE_FILTER_OP_LT == 4);
ASSERT (OVSTAGE_FILTER_OP_LE == 5);
ASSERT (OVSTAGE_FILTER_OP_GT == 6);
ASSERT (OVSTAGE_FILTER_OP_GE == 7);
ASSERT (OVSTAGE_FILTER_OP_SUBTREE == 8);
ASSERT (OVSTAGE_SEMANTIC_NONE == 0);
ASSERT (OVSTAGE_SEMANTIC_ASSET_PATH_ID == 1);
ASSERT (OVSTAGE_SEMANTIC_TOKEN_ID == 2);
ASSERT (OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING == 3);
ASSERT (OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID == 4);
ASSERT (OVSTAGE_SEMANTIC_POINT == 5);
ASSERT (OVSTAGE_SEMANTIC_VECTOR == 6);
ASSERT (OVSTAGE_SEMANTIC_NORMAL == 7);
ASSERT (OVSTAGE_SEMANTIC_COLOR == 8);
ASSERT (OVSTAGE_SEMANTIC_QUATERNION == 9);
ASSERT (OVSTAGE_SEMANTIC_MATRIX == 10);
ASSERT (OVSTAGE_SEMANTIC_TEXTURE_COORDINATE == 11);
ASSERT (OVSTAGE_SEMANTIC_CONNECTION_PATH_ID == 12);
ASSERT (OVSTAGE_SEMANTIC_STRING == 13);
ASSERT (OVSTAGE_SEMANTIC_TIME_CODE == 14);
ASSERT (OVSTAGE_SEMANTIC_FRAME == 15);

/* One set of enums serves both faces. */
ASSERT_SAME (ovstage_api_status_t, OvstageError);
ASSERT_SAME (ovstage_prim_mode_t, OvstagePrimMode);
ASSERT_SAME (ovstage_scope_t, OvstageScope);
ASSERT_SAME (ovstage_semantic_t, OvstageSemantic);
ASSERT_SAME (ovstage_filter_op_t, OvstageFilterOp);

/* Structs */

#define STRING(M, s) M (s, const char *, ptr) M (s, size_t, length)
CHECK_STRUCT (ovx_string_t, STRING)
#define STRING_OR_TOKEN(M, s) M (s, ovx_token_t, token) M (s, ovx_string_t, string)
CHECK_STRUCT (ovx_string_or_token_t, STRING_OR_TOKEN)
#define API_RESULT(M, s) M (s, ovx_api_status_t, status) M (s, ovx_string_t, error)
CHECK_STRUCT (ovx_api_result_t, API_RESULT)
#define INSTANCE_DESC(M, s) M (s, const char *, name)
CHECK_STRUCT (ovstage_instance_desc_t, INSTANCE_DESC)
#define ENQUEUE_RESULT(M, s) M (s, ovstage_api_status_t, status) M (s, ovstage_op_id_t, op_index)
CHECK_STRUCT (ovstage_enqueue_result_t, ENQUEUE_RESULT)
#define OP_WAIT_RESULT(M, s) \
  M (s, const ovstage_op_id_t *, error_op_ids) M (s, size_t, error_op_id_count) M (s, ovstage_op_id_t, lowest_pending_op_id)
CHECK_STRUCT (ovstage_op_wait_result_t, OP_WAIT_RESULT)
#define CUDA_SYNC(M, s) M (s, uintptr_t, stream) M (s, uintptr_t, wait_event)
CHECK_STRUCT (ovstage_cuda_sync_t, CUDA_SYNC)
#define DATA(M, s)                                                                                                          \
  M (s, const DLTensor *, tensors) M (s, uint32_t, tensor_count) M (s, uint32_t, count)                               \
  M (s, const uint32_t *, index_map) M (s, ovstage_mask_t, mask) M (s, ovstage_cuda_sync_t, cuda_sync)
CHECK_STRUCT (ovstage_data_t, DATA)
#define WRITE_DATA(M, s)                                                                                                    \
  M (s, const DLTensor *, tensors) M (s, const DLManagedTensorVersioned *const *, managed_tensors)                       \
  M (s, uint32_t, tensor_count) M (s, uint32_t, count) M (s, const uint32_t *, index_map) M (s, ovstage_mask_t, mask) \
  M (s, ovstage_cuda_sync_t, cuda_sync) M (s, ovstage_semantic_t, semantic) M (s, bool, is_array)
CHECK_STRUCT (ovstage_write_data_t, WRITE_DATA)
#define ATTRIBUTE_WRITE(M, s) M (s, ovx_string_or_token_t, attribute) M (s, ovstage_write_data_t, data)
CHECK_STRUCT (ovstage_attribute_write_t, ATTRIBUTE_WRITE)
#define PRIM_GROUP(M, s)                                                                                                    \
  M (s, ovx_primpath_list_t, list) M (s, uint32_t, offset) M (s, uint32_t, count) M (s, const uint32_t *, index_map)
CHECK_STRUCT (ovstage_prim_group_t, PRIM_GROUP)
#define ATTRIBUTE_META(M, s) M (s, ovstage_ordinal_t, attribute_write_floor_ordinal) M (s, uint64_t, layout_generation)
CHECK_STRUCT (ovstage_attribute_meta_t, ATTRIBUTE_META)
#define READ_GROUP(M, s)                                                                                                    \
  M (s, ovstage_read_group_id_t, read_group_id) M (s, ovx_token_t, attribute) M (s, ovstage_ordinal_t, ordinal)       \
  M (s, bool, is_delete) M (s, bool, is_array) M (s, ovstage_semantic_t, semantic)                                    \
  M (s, ovstage_prim_group_t, prims) M (s, ovstage_data_t, data) M (s, ovstage_attribute_meta_t, meta)
CHECK_STRUCT (ovstage_read_group_t, READ_GROUP)
#define MAP_GROUP(M, s)                                                                                                     \
  M (s, ovstage_prim_group_t, prims) M (s, ovstage_data_t, data) M (s, ovstage_attribute_meta_t, meta)
CHECK_STRUCT (ovstage_map_group_t, MAP_GROUP)
#define MAP_DESC(M, s)                                                                                                      \
  M (s, ovx_string_or_token_t, attribute) M (s, DLDataType, dtype) M (s, ovstage_semantic_t, semantic)                \
  M (s, ovstage_prim_mode_t, prim_mode)
CHECK_STRUCT (ovstage_map_desc_t, MAP_DESC)
#define ORDINAL_RANGE(M, s)                                                                                                 \
  M (s, ovstage_ordinal_t, start_ordinal) M (s, ovstage_ordinal_t, end_ordinal) M (s, bool, has_start_ordinal)
CHECK_STRUCT (ovstage_ordinal_range_t, ORDINAL_RANGE)
#define WRITE_FLOOR_DESC(M, s)                                                                                              \
  M (s, ovstage_ordinal_t, ordinal) M (s, ovstage_scope_t, scope) M (s, const ovx_token_t *, attributes)              \
  M (s, size_t, attribute_count)
CHECK_STRUCT (ovstage_write_floor_desc_t, WRITE_FLOOR_DESC)
#define PREDICATE(M, s)                                                                                                     \
  M (s, ovx_string_or_token_t, attribute) M (s, ovstage_filter_op_t, op) M (s, const ovx_string_t *, values)          \
  M (s, size_t, value_count)
CHECK_STRUCT (ovstage_predicate_t, PREDICATE)
#define FILTER(M, s) M (s, const ovstage_predicate_t *, predicates) M (s, size_t, count)
CHECK_STRUCT (ovstage_filter_t, FILTER)
#define QUERY_RESULT(M, s)                                                                                                  \
  M (s, ovstage_query_result_id_t, query_result_id) M (s, const ovx_token_t *, attributes)                               \
  M (s, size_t, attribute_count) M (s, ovstage_query_handle_t, all_handle) M (s, size_t, total_prim_count)
CHECK_STRUCT (ovstage_query_result_t, QUERY_RESULT)
#define PLACEMENT(M, s)                                                                                                     \
  M (s, uint32_t, struct_size) M (s, DLDevice, device) M (s, uintptr_t, stream) M (s, uintptr_t, availability_event)
CHECK_STRUCT (ovstage_placement_t, PLACEMENT)

/* Functions. S and R as the documents write them. */

typedef ovstage_instance_t *I;
typedef path_dictionary_instance_t *D;
typedef ovstage_api_status_t S;
typedef ovstage_enqueue_result_t R;
typedef ovx_api_result_t A;
typedef const ovstage_placement_t *P;

#define FUNCTIONS(F)                                                                                                           \
  F (ovstage_initialize, S, (const ovstage_config_t *))                                                                        \
  F (ovstage_shutdown, S, (void))                                                                                              \
  F (ovstage_create_instance, S, (const ovstage_instance_desc_t *, ovstage_instance_t **))                                     \
  F (ovstage_destroy_instance, void, (I))                                                                                      \
  F (ovstage_get_version, void, (I, uint32_t *, uint32_t *, uint32_t *))                                                       \
  F (ovstage_get_error_string, const char *, (I, S))                                                                           \
  F (ovstage_get_last_error, ovx_string_t, (void))                                                                             \
  F (ovstage_get_last_op_error, ovx_string_t, (I, ovstage_op_id_t))                                                            \
  F (ovstage_query_extension, S, (I, const char *, const void **))                                                             \
  F (ovstage_get_path_dictionary, D, (I))                                                                                      \
  F (ovstage_set_log_callback, S, (ovstage_log_callback_t, void *))                                                            \
  F (ovstage_wait_op, S, (I, ovstage_op_id_t, ovstage_timeout_ns_t, ovstage_op_wait_result_t *))                               \
  F (ovstage_release_op, S, (I, ovstage_op_id_t))                                                                              \
  F (ovstage_advance_write_floor, R, (I, const ovstage_write_floor_desc_t *))                                                  \
  F (ovstage_get_attribute_write_floor, R, (I, ovx_string_or_token_t, ovstage_ordinal_query_handle_t *))                       \
  F (ovstage_get_oldest_preserved_ordinal, R, (I, ovstage_ordinal_query_handle_t *))                                           \
  F (ovstage_fetch_ordinal, S, (I, ovstage_ordinal_query_handle_t, ovstage_timeout_ns_t, ovstage_ordinal_t *))                 \
  F (ovstage_release_ordinal_query, R, (I, ovstage_ordinal_query_handle_t))                                                    \
  F (ovstage_query, R, (I, const ovstage_filter_t *, const ovx_token_t *, size_t, ovstage_query_handle_t *))                   \
  F (ovstage_query_from_path_list, S, (I, ovx_primpath_list_t, ovstage_query_handle_t *))                                      \
  F (ovstage_fetch_query_result, S, (I, ovstage_query_handle_t, ovstage_timeout_ns_t, ovstage_query_result_t *))               \
  F (ovstage_release_query_result, S, (I, const ovstage_query_result_t *))                                                     \
  F (ovstage_release_query, R, (I, ovstage_query_handle_t))                                                                    \
  F (ovstage_read_attributes, R,                                                                                               \
     (I, ovstage_query_handle_t, const ovx_token_t *, size_t, ovstage_ordinal_range_t, ovstage_read_handle_t *))               \
  F (ovstage_fetch_read_next, S, (I, ovstage_read_handle_t, ovstage_timeout_ns_t, ovstage_read_group_t *))                     \
  F (ovstage_release_group, S, (I, const ovstage_read_group_t *))                                                              \
  F (ovstage_release_read, R, (I, ovstage_read_handle_t))                                                                      \
  F (ovstage_write_attribute, R,                                                                                               \
     (I, ovstage_query_handle_t, ovx_string_or_token_t, ovstage_ordinal_t, ovstage_write_data_t, ovstage_prim_mode_t))         \
  F (ovstage_write_attributes, R,                                                                                              \
     (I, ovstage_query_handle_t, const ovstage_attribute_write_t *, size_t, ovstage_ordinal_t, ovstage_prim_mode_t))           \
  F (ovstage_delete_attributes, R, (I, ovstage_query_handle_t, const ovx_string_or_token_t *, size_t, ovstage_ordinal_t))      \
  F (ovstage_clone, R, (I, ovx_string_t, const ovx_string_t *, size_t, ovstage_ordinal_t))                                     \
  F (ovstage_map_attribute, R,                                                                                                 \
     (I, ovstage_query_handle_t, const ovstage_map_desc_t *, ovstage_ordinal_t, const size_t *, size_t, ovstage_map_handle_t *)) \
  F (ovstage_fetch_map_next, S, (I, ovstage_map_handle_t, ovstage_timeout_ns_t, ovstage_map_group_t *))                        \
  F (ovstage_unmap_group, R, (I, ovstage_map_handle_t, const ovstage_map_group_t *, ovstage_cuda_sync_t))                      \
  F (ovstage_unmap_attribute, R, (I, ovstage_map_handle_t, ovstage_cuda_sync_t))                                               \
  F (ovstage_discard_map, R, (I, ovstage_map_handle_t))                                                                        \
  F (path_dictionary_create_tokens_from_strings, A, (D, const ovx_string_t *, size_t, ovx_token_t *))                          \
  F (path_dictionary_get_strings_from_tokens, A, (D, const ovx_token_t *, size_t, ovx_string_t *))                             \
  F (path_dictionary_create_paths_from_strings, A, (D, const ovx_string_t *, size_t, ovx_primpath_t *))                        \
  F (path_dictionary_create_paths_from_tokens, A, (D, const ovx_token_t *const *, const size_t *, size_t, ovx_primpath_t *))   \
  F (path_dictionary_get_tokens_from_paths, A,                                                                                 \
     (D, const ovx_primpath_t *, size_t, ovx_token_t *, size_t, const ovx_token_t **, size_t *, size_t *))                     \
  F (path_dictionary_create_path_list_from_paths, A, (D, const ovx_primpath_t *, size_t, ovx_primpath_list_t *))               \
  F (path_dictionary_create_path_list_from_strings, A, (D, const ovx_string_t *, size_t, ovx_primpath_list_t *))               \
  F (path_dictionary_add_path_list_reference, A, (D, ovx_primpath_list_t))                                                     \
  F (path_dictionary_release_path_list_reference, A, (D, ovx_primpath_list_t))                                                 \
  F (path_dictionary_get_num_paths_from_path_list, A, (D, ovx_primpath_list_t, size_t *))                                      \
  F (path_dictionary_get_paths_from_path_list, A, (D, ovx_primpath_list_t, size_t, size_t, ovx_primpath_t *, size_t *))        \
  F (path_dictionary_release_error, void, (D, ovx_string_t))                                                                   \
  F (ovstage_query_placement_extension, S, (I, const ovstage_placement_extension_v1_t **))                                     \
  F (ovstage_write_attribute_on_device, R,                                                                                     \
     (I, ovstage_query_handle_t, ovx_string_or_token_t, ovstage_ordinal_t, ovstage_write_data_t, ovstage_prim_mode_t, P))      \
  F (ovstage_write_attributes_on_device, R,                                                                                    \
     (I, ovstage_query_handle_t, const ovstage_attribute_write_t *, size_t, ovstage_ordinal_t, ovstage_prim_mode_t, P))        \
  F (ovstage_read_attributes_on_device, R,                                                                                     \
     (I, ovstage_query_handle_t, const ovx_token_t *, size_t, ovstage_ordinal_range_t, P, ovstage_read_handle_t *))            \
  F (ovstage_map_attribute_on_device, R,                                                                                       \
     (I, ovstage_query_handle_t, const ovstage_map_desc_t *, ovstage_ordinal_t, const size_t *, size_t, P, ovstage_map_handle_t *))

#define CHECK_FUNCTION(name, result, arguments)  \
  typedef result (*name##_as_told) arguments;    \
  ASSERT_FUNCTION (name, name##_as_told);
FUNCTIONS (CHECK_FUNCTION)

#define EXTENSION(M, s)                                                                                                     \
  M (s, uint32_t, version) M (s, uint32_t, struct_size) M (s, ovstage_write_attribute_on_device_as_told, write_attribute) \
  M (s, ovstage_write_attributes_on_device_as_told, write_attributes)                                                       \
  M (s, ovstage_read_attributes_on_device_as_told, read_attributes)                                                         \
  M (s, ovstage_map_attribute_on_device_as_told, map_attribute)
CHECK_STRUCT (ovstage_placement_extension_v1_t, EXTENSION)

/* What is left for the program to do. */

static int n_checked, n_failed;

static void
check (int good, const char *what)
{
  printf ("%s %d /flat-types/%s\n", good ? "ok" : "not ok", ++n_checked, what);
  n_failed += !good;
}

/* Each is a symbol of the library, or of the header. */
static int
all_are_linked (void)
{
  typedef void (*Any) (void);
#define ADDRESS(name, result, arguments) (Any) name,
  const Any functions[] = { FUNCTIONS (ADDRESS) };
  size_t n = 0;

  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    n += functions[i] != NULL;
  return n == sizeof functions / sizeof *functions;
}

static int
literals_have_lengths (void)
{
  const ovx_string_t text = literal_to_ovx_string ("three");
  const ovx_string_t empty = literal_to_ovx_string ("");

  return text.length == 5 && strcmp (text.ptr, "three") == 0 && empty.length == 0 && literal_to_ovx_string ("a\0b").length == 3;
}

/* Members in their order, as programs write them. */
static int
aggregates_initialize (void)
{
  const ovx_string_or_token_t by_token = { 5, { NULL, 0 } }, by_name = { OVX_INVALID_TOKEN, literal_to_ovx_string ("mass") };
  const ovstage_ordinal_range_t range = { 0, 7, false };
  const ovstage_cuda_sync_t sync = { 1, 2 };
  const ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
  const ovstage_write_floor_desc_t floor = { 3, OVSTAGE_SCOPE_EXCLUDE, NULL, 0 };
  const ovstage_map_desc_t desc = { by_name, { kDLFloat, 32, 3 }, OVSTAGE_SEMANTIC_POINT, OVSTAGE_PRIM_MODE_INSERT };
#ifdef __cplusplus
  const ovstage_attribute_write_t write = { by_token, {} };
  const ovx_string_or_token_t short_form = { 5, {} };
#else
  const ovstage_attribute_write_t write = { .attribute = by_token };
  const ovx_string_or_token_t short_form = { .token = 5 };
#endif

  return by_token.token == 5 && by_name.string.length == 4 && range.end_ordinal == 7 && sync.stream == 1 && sync.wait_event == 2
         && placement.struct_size == sizeof placement && placement.device.device_type == kDLCPU && floor.scope == 2
         && desc.dtype.lanes == 3 && desc.semantic == OVSTAGE_SEMANTIC_POINT && desc.prim_mode == OVSTAGE_PRIM_MODE_INSERT
         && write.attribute.token == 5 && write.data.tensor_count == 0 && !write.data.is_array && short_form.token == 5;
}

int
main (void)
{
  check (all_are_linked (), "all-are-linked");
  check (literals_have_lengths (), "literals");
  check (aggregates_initialize (), "aggregates");
  printf ("1..%d\n", n_checked);
  return n_failed > 0;
}
