/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: queries, writes, deletes and reads. */

#include "flat-helpers.h"

static void
assert_values (const ovstage_read_group_t *group, guint n, ...)
{
  const float *values = group->data.tensors[0].data;
  va_list args;

  g_assert_cmpuint (group->prims.count, ==, n);
  va_start (args, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (values[group->data.index_map != NULL ? group->data.index_map[i] : i], ==, (float) va_arg (args, double));
  va_end (args);
}

static void
fetch (Flat *flat, ovstage_read_handle_t read, ovstage_read_group_t *group)
{
  assert_ok (ovstage_fetch_read_next (flat->stage, read, OVSTAGE_TIMEOUT_INFINITE, group));
}

static void
end_read (Flat *flat, ovstage_read_handle_t read)
{
  ovstage_read_group_t group;

  assert_status (ovstage_fetch_read_next (flat->stage, read, OVSTAGE_TIMEOUT_INFINITE, &group), OVSTAGE_ERROR_END_OF_ITERATION);
  g_assert_cmpuint (group.read_group_id, ==, 0);
  g_assert_null (ovstage_get_last_error ().ptr);
  assert_done (flat->stage, ovstage_release_read (flat->stage, read));
}

static void
test_round_trip (void)
{
  Flat flat;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  const DLTensor *tensor;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 3, 1, 2, 3));
  seal (&flat, 4);
  read = read_at (&flat, 4);
  fetch (&flat, read, &group);
  g_assert_cmpuint (group.read_group_id, !=, 0);
  g_assert_cmpuint (group.attribute, ==, flat.mass);
  g_assert_cmpuint (group.ordinal, ==, 3);
  g_assert_false (group.is_delete);
  g_assert_false (group.is_array);
  g_assert_cmpint (group.semantic, ==, OVSTAGE_SEMANTIC_NONE);
  g_assert_cmpuint (group.prims.list, ==, flat.prims);
  g_assert_cmpuint (group.prims.offset, ==, 0);
  g_assert_null (group.prims.index_map);
  g_assert_cmpuint (group.data.tensor_count, ==, 1);
  g_assert_cmpuint (group.data.count, ==, 3);
  g_assert_null (group.data.index_map);
  g_assert_null (group.data.mask);
  g_assert_cmpuint (group.data.cuda_sync.stream, ==, 0);
  g_assert_cmpuint (group.data.cuda_sync.wait_event, ==, 0);
  g_assert_cmpuint (group.meta.attribute_write_floor_ordinal, ==, 4);
  g_assert_cmpuint (group.meta.layout_generation, >, 0);
  tensor = &group.data.tensors[0];
  g_assert_cmpint (tensor->device.device_type, ==, kDLCPU);
  g_assert_cmpint (tensor->device.device_id, ==, 0);
  g_assert_cmpint (tensor->ndim, ==, 1);
  g_assert_cmpint (tensor->shape[0], ==, 3);
  g_assert_cmpint (tensor->strides[0], ==, 1);
  g_assert_cmpuint (tensor->byte_offset, ==, 0);
  g_assert_cmpuint (tensor->dtype.code, ==, kDLFloat);
  g_assert_cmpuint (tensor->dtype.bits, ==, 32);
  g_assert_cmpuint (tensor->dtype.lanes, ==, 1);
  assert_values (&group, 3, 1.0, 2.0, 3.0);
  end_read (&flat, read);
  assert_ok (ovstage_release_group (flat.stage, &group));
  flat_clear (&flat);
}

static void
test_group_outlives_read (void)
{
  Flat flat;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  size_t n = 0;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  fetch (&flat, read, &group);
  assert_done (flat.stage, ovstage_release_read (flat.stage, read));
  /* Its list is there, too, without anybody else. */
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, flat.prims));
  for (guint i = 2; i < 10; i++)
    {
      assert_done (flat.stage, write_floats (&flat, i, 7, 7, 7));
      seal (&flat, i);
    }
  assert_values (&group, 3, 1.0, 2.0, 3.0);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_num_paths_from_path_list (flat.dictionary, group.prims.list, &n));
  g_assert_cmpuint (n, ==, 3);
  assert_ok (ovstage_release_group (flat.stage, &group));
  assert_not_in_dictionary (flat.dictionary,
                            path_dictionary_get_num_paths_from_path_list (flat.dictionary, group.prims.list, &n), "path list");
  flat.prims = 0;
  flat_clear (&flat);
}

static void
test_some_prims (void)
{
  Flat flat;
  ovx_primpath_list_t list;
  ovstage_query_handle_t query, whole;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  list = make_list (flat.dictionary, 3, "/World/C", "/Nowhere", "/World/A");
  assert_ok (ovstage_query_from_path_list (flat.stage, list, &query));
  whole = flat.query;
  flat.query = query;
  read = read_at (&flat, 1);
  flat.query = whole;
  fetch (&flat, read, &group);
  g_assert_cmpuint (group.prims.list, ==, list);
  g_assert_cmpuint (group.prims.count, ==, 2);
  g_assert_nonnull (group.prims.index_map);
  g_assert_cmpuint (group.prims.index_map[0], ==, 0);
  g_assert_cmpuint (group.prims.index_map[1], ==, 2);
  assert_values (&group, 2, 3.0, 1.0);
  end_read (&flat, read);
  assert_ok (ovstage_release_group (flat.stage, &group));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, list));
  flat_clear (&flat);
}

static void
test_read_faults (void)
{
  Flat flat;
  ovstage_read_handle_t read = 9;
  ovstage_read_group_t group = { 0 };
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_ordinal_range_t reversed = { 2, 1, true };
  ovx_token_t unknown = 4711;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, range, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "out_read");
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, range, &read),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  g_assert_cmpuint (read, ==, 0);
  seal (&flat, 1);
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, NULL, 1, range, &read), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "attributes");
  assert_refused (ovstage_read_attributes (flat.stage, 0, &flat.mass, 1, range, &read), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_refused (ovstage_read_attributes (flat.stage, flat.prims, &flat.mass, 1, range, &read), OVSTAGE_ERROR_INVALID_HANDLE,
                  "query");
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &unknown, 1, range, &read), OVSTAGE_ERROR_INVALID_HANDLE, "4711");
  g_assert_cmpint (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, reversed, &read).status, !=, OVSTAGE_OK);

  assert_error (ovstage_fetch_read_next (flat.stage, 1, 0, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_group");
  assert_error (ovstage_fetch_read_next (flat.stage, 0, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, "read 0");
  assert_error (ovstage_fetch_read_next (flat.stage, flat.query, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, "read");
  assert_error (ovstage_release_group (flat.stage, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "group");
  assert_error (ovstage_release_group (flat.stage, &group), OVSTAGE_ERROR_INVALID_HANDLE, "read group 0");

  read = read_at (&flat, 1);
  fetch (&flat, read, &group);
  assert_ok (ovstage_release_group (flat.stage, &group));
  assert_error (ovstage_release_group (flat.stage, &group), OVSTAGE_ERROR_INVALID_HANDLE, "read group");
  end_read (&flat, read);
  assert_error (ovstage_fetch_read_next (flat.stage, read, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, "read");
  assert_refused (ovstage_release_read (flat.stage, read), OVSTAGE_ERROR_INVALID_HANDLE, "read");
  flat_clear (&flat);
}

static void
test_out_of_range (void)
{
  Flat flat;
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_read_handle_t read;

  flat_init (&flat);
  for (guint i = 1; i <= 3; i++)
    {
      assert_done (flat.stage, write_floats (&flat, i, 1, 2, 3));
      seal (&flat, i);
    }
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, range, &read), OVSTAGE_ERROR_OUT_OF_RANGE, "mass");
  range.end_ordinal = OVSTAGE_ORDINAL_NEWEST;
  assert_done (flat.stage, ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, range, &read));
  assert_done (flat.stage, ovstage_release_read (flat.stage, read));
  flat_clear (&flat);
}

static void
test_query_result (void)
{
  Flat flat;
  ovstage_query_result_t result;
  ovstage_query_handle_t query, whole;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  assert_ok (ovstage_query_from_path_list (flat.stage, flat.prims, &query));
  g_assert_cmpuint (query, !=, flat.query);
  assert_ok (ovstage_fetch_query_result (flat.stage, query, OVSTAGE_TIMEOUT_INFINITE, &result));
  g_assert_cmpuint (result.query_result_id, !=, 0);
  g_assert_cmpuint (result.total_prim_count, ==, 3);
  g_assert_cmpuint (result.attribute_count, ==, 0);
  g_assert_cmpuint (result.all_handle, !=, 0);
  /* It stays when the query goes, and goes with the result. */
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  whole = flat.query;
  flat.query = result.all_handle;
  read = read_at (&flat, 1);
  fetch (&flat, read, &group);
  assert_values (&group, 3, 1.0, 2.0, 3.0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  flat.query = whole;
  assert_ok (ovstage_release_query_result (flat.stage, &result));
  assert_refused (ovstage_release_query (flat.stage, result.all_handle), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_error (ovstage_release_query_result (flat.stage, &result), OVSTAGE_ERROR_INVALID_HANDLE, "query result");
  flat_clear (&flat);
}

static void
test_query_faults (void)
{
  Flat flat, other;
  ovstage_query_handle_t query = 9;
  ovstage_query_result_t result;

  flat_init (&flat);
  flat_init (&other);
  assert_error (ovstage_query_from_path_list (flat.stage, flat.prims, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query");
  assert_error (ovstage_query_from_path_list (flat.stage, 0, &query), OVSTAGE_ERROR_INVALID_HANDLE, "path list 0");
  g_assert_cmpuint (query, ==, 0);
  assert_error (ovstage_query_from_path_list (flat.stage, other.prims, &query), OVSTAGE_ERROR_INVALID_HANDLE, "path list");
  assert_error (ovstage_query_from_path_list (flat.stage, flat.query, &query), OVSTAGE_ERROR_INVALID_HANDLE, "path list");
  assert_error (ovstage_fetch_query_result (flat.stage, flat.query, 0, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_result");
  assert_error (ovstage_fetch_query_result (flat.stage, other.query, 0, &result), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_error (ovstage_fetch_query_result (flat.stage, 0, 0, &result), OVSTAGE_ERROR_INVALID_HANDLE, "query 0");
  assert_error (ovstage_release_query_result (flat.stage, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "result");
  assert_refused (ovstage_release_query (flat.stage, 0), OVSTAGE_ERROR_INVALID_HANDLE, "query 0");
  assert_refused (ovstage_release_query (flat.stage, other.query), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_ok (ovstage_query_from_path_list (flat.stage, flat.prims, &query));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  assert_refused (ovstage_release_query (flat.stage, query), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  flat_clear (&flat);
  flat_clear (&other);
}

static void
test_write_names (void)
{
  Flat flat;
  float values[] = { 4, 5, 6 };
  int64_t n = 3;
  DLTensor tensor = float_tensor (values, &n);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  ovx_string_or_token_t both = { flat.mass, { "ignored", 7 } };
  ovx_string_or_token_t longer = { .string = { "massive", 4 } };
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  both.token = flat.mass;
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT));
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, both, 2, data, OVSTAGE_PRIM_MODE_UPDATE));
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, longer, 3, data, OVSTAGE_PRIM_MODE_UPDATE));
  seal (&flat, 3);
  read = read_at (&flat, 3);
  fetch (&flat, read, &group);
  g_assert_cmpuint (group.ordinal, ==, 3);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named (""), 4, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "token 0");
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, token_of (999), 4, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "999");
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("\xff"), 4, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  flat_clear (&flat);
}

static void
test_w1 (void)
{
  Flat flat;
  Owned owned;
  const DLManagedTensorVersioned *managed = &owned.managed;
  float values[] = { 1, 2, 3 };
  int64_t n = 3;
  DLTensor tensor = float_tensor (values, &n);
  ovstage_write_data_t neither = { .tensor_count = 1 };
  ovstage_write_data_t both = { .tensors = &tensor, .managed_tensors = &managed, .tensor_count = 1 };

  flat_init (&flat);
  owned_init (&owned);
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, neither, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "neither");
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, both, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "both");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  flat_clear (&flat);
}

static void
test_w2 (void)
{
  Flat flat;
  float values[] = { 1, 2, 3 };
  int64_t n = 3;
  DLTensor tensors[2] = { float_tensor (values, &n), float_tensor (values, &n) };
  ovstage_write_data_t data = { .tensors = tensors };

  flat_init (&flat);
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor_count is 0");
  data.tensor_count = 2;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor_count is 2");
  flat_clear (&flat);
}

/* Enums, then handles, then form. */
static void
test_order_of_faults (void)
{
  Flat flat;
  ovstage_write_data_t neither = { 0 };

  flat_init (&flat);
  assert_refused (ovstage_write_attribute (flat.stage, 0, named ("x"), 1, neither, (ovstage_prim_mode_t) 9),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode");
  assert_refused (ovstage_write_attribute (flat.stage, 0, named ("x"), 1, neither, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "query");
  neither.semantic = (ovstage_semantic_t) 99;
  assert_refused (ovstage_write_attribute (flat.stage, 0, named ("x"), 1, neither, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic");
  flat_clear (&flat);
}

static void
test_map_and_mask (void)
{
  Flat flat;
  float values[] = { 10, 20 };
  int64_t n = 2;
  DLTensor tensor = float_tensor (values, &n);
  uint32_t map[] = { 1, 0, 1 };
  uint64_t mask[] = { 5 };
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1, .count = 3, .index_map = map };
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_INSERT));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  fetch (&flat, read, &group);
  assert_values (&group, 3, 20.0, 10.0, 20.0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);

  data.mask = mask;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "mask");
  data.mask = NULL;
  data.count = 0;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "count");
  data.index_map = NULL;
  data.mask = mask;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "count");
  map[1] = 2;
  data = (ovstage_write_data_t) { .tensors = &tensor, .tensor_count = 1, .count = 3, .index_map = map };
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map[1]");
  {
    float three[] = { 1, 2, 3 };
    int64_t n_three = 3;
    DLTensor whole = float_tensor (three, &n_three);

    data = (ovstage_write_data_t) { .tensors = &whole, .tensor_count = 1, .count = 3, .mask = mask };
    assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT));
  }
  seal (&flat, 2);
  read = read_at (&flat, 2);
  fetch (&flat, read, &group);
  assert_values (&group, 3, 1.0, 10.0, 3.0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  flat_clear (&flat);
}

static void
test_managed (void)
{
  Flat flat;
  Owned owned;
  const DLManagedTensorVersioned *managed = &owned.managed;
  ovstage_write_data_t data = { .managed_tensors = &managed, .tensor_count = 1 };
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  owned_init (&owned);
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  fetch (&flat, read, &group);
  assert_values (&group, 3, 7.0, 8.0, 9.0);
  end_read (&flat, read);
  assert_ok (ovstage_release_group (flat.stage, &group));
  g_assert_cmpint (owned.n_deleted, <=, 1);
  flat_clear (&flat);
  g_assert_cmpint (owned.n_deleted, ==, 1);
}

/* The deleter runs once whatever becomes of the write. */
static void
test_managed_refused (void)
{
  Flat flat;
  Owned owned[2];
  const DLManagedTensorVersioned *managed[] = { &owned[0].managed, &owned[1].managed };
  ovstage_write_data_t data = { .managed_tensors = managed, .tensor_count = 1 };
  ovstage_attribute_write_t twice[2];

  flat_init (&flat);

  owned_init (&owned[0]);
  assert_refused (ovstage_write_attribute (NULL, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);

  owned_init (&owned[0]);
  assert_refused (ovstage_write_attribute (flat.stage, 0, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "query");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);

  owned_init (&owned[0]);
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("\xff"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);

  owned_init (&owned[0]);
  owned_init (&owned[1]);
  data.tensor_count = 2;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor_count");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);
  g_assert_cmpint (owned[1].n_deleted, ==, 1);

  owned_init (&owned[0]);
  owned[0].managed.version.major = 2;
  data.tensor_count = 1;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "version");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);

  /* W28 */
  owned_init (&owned[0]);
  twice[0] = (ovstage_attribute_write_t) { named ("x"), data };
  twice[1] = (ovstage_attribute_write_t) { named ("y"), data };
  assert_refused (ovstage_write_attributes (flat.stage, flat.query, twice, 2, 1, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);

  /* One that is refused before, and not looked at again. */
  owned_init (&owned[0]);
  owned[0].managed.version.major = 2;
  assert_refused (ovstage_write_attributes (flat.stage, flat.query, twice, 2, 1, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "version");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);

  managed[0] = NULL;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "managed_tensors[0]");
  data.tensor_count = 0;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor_count is 0");
  flat_clear (&flat);
}

/* Rows of an array: the first fault is told, and each is let go of once, however often it is there. */
static void
test_managed_rows (void)
{
  Flat flat;
  Owned owned[2];
  const DLManagedTensorVersioned *same[] = { &owned[0].managed, &owned[0].managed, &owned[0].managed };
  const DLManagedTensorVersioned *second[] = { &owned[0].managed, &owned[1].managed, &owned[1].managed };
  const DLManagedTensorVersioned *missing[] = { &owned[0].managed, NULL, &owned[1].managed };
  ovstage_write_data_t data = { .tensor_count = 3, .is_array = true };
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  owned_init (&owned[0]);
  owned_init (&owned[1]);
  owned[1].managed.version.major = 2;
  data.managed_tensors = second;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "managed_tensors[1]");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);
  g_assert_cmpint (owned[1].n_deleted, ==, 1);

  owned_init (&owned[0]);
  owned_init (&owned[1]);
  data.managed_tensors = missing;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "managed_tensors[1]");
  g_assert_cmpint (owned[0].n_deleted, ==, 1);
  g_assert_cmpint (owned[1].n_deleted, ==, 1);

  owned_init (&owned[0]);
  data.managed_tensors = same;
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  fetch (&flat, read, &group);
  g_assert_cmpuint (group.prims.count, ==, 3);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  flat_clear (&flat);
  g_assert_cmpint (owned[0].n_deleted, ==, 1);
}

static void
test_batch (void)
{
  Flat flat;
  float masses[] = { 1, 2, 3 }, speeds[] = { 4, 5, 6 };
  int64_t n = 3;
  DLTensor mass = float_tensor (masses, &n), speed = float_tensor (speeds, &n);
  ovstage_attribute_write_t writes[] = {
    { { .string = { "mass", 4 } }, { .tensors = &mass, .tensor_count = 1 } },
    { { .string = { "speed", 5 } }, { .tensors = &speed, .tensor_count = 1, .semantic = OVSTAGE_SEMANTIC_VECTOR } },
  };
  ovx_token_t names[2];
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_read_handle_t read;
  ovstage_read_group_t groups[2];

  flat_init (&flat);
  assert_done (flat.stage, ovstage_write_attributes (flat.stage, flat.query, writes, 2, 1, OVSTAGE_PRIM_MODE_INSERT));
  seal (&flat, 1);
  names[0] = make_token (flat.dictionary, "speed");
  names[1] = flat.mass;
  assert_done (flat.stage, ovstage_read_attributes (flat.stage, flat.query, names, 2, range, &read));
  fetch (&flat, read, &groups[0]);
  fetch (&flat, read, &groups[1]);
  g_assert_cmpuint (groups[0].attribute, ==, names[0]);
  g_assert_cmpint (groups[0].semantic, ==, OVSTAGE_SEMANTIC_VECTOR);
  assert_values (&groups[0], 3, 4.0, 5.0, 6.0);
  assert_values (&groups[1], 3, 1.0, 2.0, 3.0);
  end_read (&flat, read);
  assert_ok (ovstage_release_group (flat.stage, &groups[0]));
  assert_ok (ovstage_release_group (flat.stage, &groups[1]));

  assert_refused (ovstage_write_attributes (flat.stage, flat.query, writes, 2, 2, OVSTAGE_PRIM_MODE_INSERT),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "/World/A");
  assert_refused (ovstage_write_attributes (flat.stage, flat.query, NULL, 2, 2, OVSTAGE_PRIM_MODE_INSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "writes");
  writes[1].attribute = named ("mass");
  assert_refused (ovstage_write_attributes (flat.stage, flat.query, writes, 2, 2, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "mass");
  assert_done (flat.stage, ovstage_write_attributes (flat.stage, flat.query, NULL, 0, 2, OVSTAGE_PRIM_MODE_UPSERT));
  flat_clear (&flat);
}

static void
test_delete (void)
{
  Flat flat;
  ovx_string_or_token_t name = { .string = { "mass", 4 } }, bad = { .string = { NULL, 1 } };
  ovstage_read_handle_t read;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_done (flat.stage, ovstage_delete_attributes (flat.stage, flat.query, &name, 1, 2));
  seal (&flat, 2);
  read = read_at (&flat, 2);
  end_read (&flat, read);
  assert_done (flat.stage, write_floats (&flat, 3, 1, 2, 3));
  assert_done (flat.stage, ovstage_delete_attributes (flat.stage, flat.query, NULL, 0, 4));
  seal (&flat, 4);
  read = read_at (&flat, 4);
  end_read (&flat, read);
  assert_refused (ovstage_delete_attributes (flat.stage, flat.query, NULL, 1, 5), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
  assert_refused (ovstage_delete_attributes (flat.stage, flat.query, &bad, 1, 5), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes[0]");
  assert_refused (ovstage_delete_attributes (flat.stage, 0, &name, 1, 5), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_refused (ovstage_delete_attributes (flat.stage, flat.query, &name, 1, 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  flat_clear (&flat);
}

static void
write_array (Flat *flat, ovstage_write_data_t data, ovstage_ordinal_t ordinal)
{
  data.is_array = true;
  assert_done (flat->stage, ovstage_write_attribute (flat->stage, flat->query, named ("mass"), ordinal, data, OVSTAGE_PRIM_MODE_UPSERT));
  seal (flat, ordinal);
}

static void
assert_rows (Flat *flat, ovstage_ordinal_t ordinal, const char *expected)
{
  ovstage_read_handle_t read = read_at (flat, ordinal);
  ovstage_read_group_t group;
  g_autoptr (GString) text = g_string_new (NULL);

  fetch (flat, read, &group);
  g_assert_true (group.is_array);
  for (guint32 i = 0; i < group.prims.count; i++)
    {
      const DLTensor *row = &group.data.tensors[group.data.index_map != NULL ? group.data.index_map[i] : i];

      g_assert_cmpint (row->ndim, ==, 1);
      for (int64_t j = 0; j < row->shape[0]; j++)
        g_string_append_printf (text, "%s%g", j > 0 ? "," : "", (double) ((const float *) row->data)[j]);
      g_string_append_c (text, ' ');
    }
  g_assert_cmpstr (text->str, ==, expected);
  assert_done (flat->stage, ovstage_release_read (flat->stage, read));
  assert_ok (ovstage_release_group (flat->stage, &group));
}

static void
test_arrays (void)
{
  Flat flat;
  float values[] = { 1, 2, 3, 4, 5, 6 };
  int64_t sizes[] = { 1, 0, 3, 6, 5 };
  DLTensor rows[] = { float_tensor (values, &sizes[0]), float_tensor (values, &sizes[1]), float_tensor (values + 1, &sizes[2]) };
  DLTensor packed = float_tensor (values, &sizes[3]), uneven = float_tensor (values, &sizes[4]);
  uint32_t map[] = { 0, 0, 1 };
  Owned owned[3];
  const DLManagedTensorVersioned *managed[3];

  flat_init (&flat);
  write_array (&flat, (ovstage_write_data_t) { .tensors = rows, .tensor_count = 3 }, 1);
  assert_rows (&flat, 1, "1  2,3,4 ");
  write_array (&flat, (ovstage_write_data_t) { .tensors = &packed, .tensor_count = 1 }, 2);
  assert_rows (&flat, 2, "1,2 3,4 5,6 ");
  write_array (&flat, (ovstage_write_data_t) { .tensors = &packed, .tensor_count = 1, .count = 3, .index_map = map }, 3);
  assert_rows (&flat, 3, "1,2,3 1,2,3 4,5,6 ");
  for (guint i = 0; i < 3; i++)
    {
      owned_init (&owned[i]);
      owned[i].n = i + 1;
      managed[i] = &owned[i].managed;
    }
  write_array (&flat, (ovstage_write_data_t) { .managed_tensors = managed, .tensor_count = 3 }, 4);
  assert_rows (&flat, 4, "7 7,8 7,8,9 ");
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 5,
                                           (ovstage_write_data_t) { .tensors = &uneven, .tensor_count = 1, .is_array = true },
                                           OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "5");
  /* W31 */
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 5,
                                           (ovstage_write_data_t) { .tensors = rows, .tensor_count = 2, .is_array = true },
                                           OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "2");
  flat_clear (&flat);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpint (owned[i].n_deleted, ==, 1);
}

/* What changed, with those that lost it last. */
static void
test_range (void)
{
  Flat flat;
  ovx_primpath_list_t list;
  ovstage_query_handle_t one;
  ovstage_ordinal_range_t range = { 2, 3, true };
  ovx_string_or_token_t name = { .string = { "mass", 4 } };
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  float value = 9;
  int64_t n = 1;
  DLTensor tensor = float_tensor (&value, &n);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1, .count = 1 };

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, name, 2, data, OVSTAGE_PRIM_MODE_UPDATE));
  list = make_list (flat.dictionary, 1, "/World/C");
  assert_ok (ovstage_query_from_path_list (flat.stage, list, &one));
  assert_done (flat.stage, ovstage_delete_attributes (flat.stage, one, &name, 1, 3));
  seal (&flat, 3);
  assert_done (flat.stage, ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, range, &read));
  fetch (&flat, read, &group);
  g_assert_false (group.is_delete);
  g_assert_cmpuint (group.ordinal, ==, 2);
  g_assert_cmpuint (group.prims.count, ==, 1);
  assert_values (&group, 1, 9.0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  fetch (&flat, read, &group);
  g_assert_true (group.is_delete);
  g_assert_cmpuint (group.ordinal, ==, 3);
  g_assert_cmpuint (group.prims.count, ==, 1);
  g_assert_cmpuint (group.prims.index_map != NULL ? group.prims.index_map[0] : group.prims.offset, ==, 2);
  g_assert_null (group.data.tensors);
  g_assert_cmpuint (group.data.tensor_count, ==, 0);
  g_assert_cmpuint (group.data.count, ==, 0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  assert_done (flat.stage, ovstage_release_query (flat.stage, one));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, list));
  flat_clear (&flat);
}

static ovstage_query_handle_t
query_or_fail (Flat *flat, const ovstage_predicate_t *predicates, size_t n, ovstage_query_result_t *result)
{
  ovstage_filter_t filter = { predicates, n };
  ovstage_query_handle_t query = 0;

  assert_done (flat->stage, ovstage_query (flat->stage, &filter, NULL, 0, &query));
  g_assert_cmpuint (query, !=, 0);
  assert_ok (ovstage_fetch_query_result (flat->stage, query, OVSTAGE_TIMEOUT_INFINITE, result));
  return query;
}

static void
test_filter (void)
{
  Flat flat;
  const ovx_string_t two = { "2", 1 }, below = { "/World/C", 8 };
  ovstage_predicate_t predicates[] = {
    { named ("mass"), OVSTAGE_FILTER_OP_GE, &two, 1 },
    { { 0 }, OVSTAGE_FILTER_OP_SUBTREE, &below, 1 },
  };
  ovstage_query_handle_t query, whole;
  ovstage_query_result_t result;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  query = query_or_fail (&flat, predicates, 1, &result);
  g_assert_cmpuint (result.total_prim_count, ==, 2);
  g_assert_cmpuint (result.attribute_count, ==, 1);
  g_assert_cmpuint (result.attributes[0], ==, flat.mass);
  whole = flat.query;
  flat.query = result.all_handle;
  read = read_at (&flat, 1);
  flat.query = whole;
  fetch (&flat, read, &group);
  assert_values (&group, 2, 2.0, 3.0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  assert_ok (ovstage_release_query_result (flat.stage, &result));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));

  query = query_or_fail (&flat, predicates, 2, &result);
  g_assert_cmpuint (result.total_prim_count, ==, 1);
  assert_ok (ovstage_release_query_result (flat.stage, &result));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));

  /* Of nothing: everything. */
  query = query_or_fail (&flat, NULL, 0, &result);
  g_assert_cmpuint (result.total_prim_count, ==, 3);
  assert_ok (ovstage_release_query_result (flat.stage, &result));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  assert_done (flat.stage, ovstage_query (flat.stage, NULL, &flat.mass, 1, &query));
  assert_ok (ovstage_fetch_query_result (flat.stage, query, OVSTAGE_TIMEOUT_INFINITE, &result));
  g_assert_cmpuint (result.total_prim_count, ==, 3);
  g_assert_cmpuint (result.attribute_count, ==, 1);
  assert_ok (ovstage_release_query_result (flat.stage, &result));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  flat_clear (&flat);
}

static void
test_filter_faults (void)
{
  Flat flat;
  const ovx_string_t text = { "x", 1 }, bad = { NULL, 3 };
  ovstage_predicate_t predicate = { named ("mass"), OVSTAGE_FILTER_OP_IN, &text, 1 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_query_handle_t query = 9;
  ovx_token_t unknown = 4711;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query");
  assert_refused (ovstage_query (NULL, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 1, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
  assert_refused (ovstage_query (flat.stage, NULL, &unknown, 1, &query), OVSTAGE_ERROR_INVALID_HANDLE, "4711");
  g_assert_cmpuint (query, ==, 0);
  predicate.values = NULL;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates[0]");
  predicate.values = &bad;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "values[0]");
  predicate.values = &text;
  predicate.op = (ovstage_filter_op_t) 77;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "77");
  predicate.op = OVSTAGE_FILTER_OP_HAS;
  predicate.value_count = 0;
  predicate.attribute = named ("\xff");
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  filter.predicates = NULL;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates");
  flat_clear (&flat);
}

static void
test_clone (void)
{
  Flat flat;
  const ovx_string_t source = { "/World/A", 8 }, targets[] = { { "/Copy/A", 7 }, { "/Copy/B, cut", 7 } };
  const ovx_string_t with_nul = { "/Wo\0ld", 7 }, none = { "/Nowhere", 8 }, bad = { NULL, 1 }, relative = { "Copy", 4 };
  ovx_primpath_list_t list;
  ovstage_query_handle_t query, whole;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_done (flat.stage, ovstage_clone (flat.stage, source, targets, 2, 2));
  seal (&flat, 2);
  list = make_list (flat.dictionary, 2, "/Copy/A", "/Copy/B");
  assert_ok (ovstage_query_from_path_list (flat.stage, list, &query));
  whole = flat.query;
  flat.query = query;
  read = read_at (&flat, 2);
  flat.query = whole;
  fetch (&flat, read, &group);
  assert_values (&group, 2, 1.0, 1.0);
  assert_ok (ovstage_release_group (flat.stage, &group));
  end_read (&flat, read);
  assert_refused (ovstage_clone (flat.stage, source, targets, 1, 3), OVSTAGE_ERROR_ALREADY_EXISTS, "/Copy/A");
  assert_refused (ovstage_clone (flat.stage, none, targets, 1, 3), OVSTAGE_ERROR_NOT_FOUND, "/Nowhere");
  assert_refused (ovstage_clone (flat.stage, with_nul, targets, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "source");
  assert_refused (ovstage_clone (flat.stage, source, &with_nul, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[0]");
  assert_refused (ovstage_clone (flat.stage, source, &bad, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[0]");
  assert_refused (ovstage_clone (flat.stage, source, &relative, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "Copy");
  assert_refused (ovstage_clone (flat.stage, source, NULL, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "targets");
  assert_refused (ovstage_clone (NULL, source, targets, 1, 3), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, list));
  flat_clear (&flat);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-data/round-trip", test_round_trip);
  g_test_add_func ("/flat-data/group-outlives-read", test_group_outlives_read);
  g_test_add_func ("/flat-data/some-prims", test_some_prims);
  g_test_add_func ("/flat-data/read-faults", test_read_faults);
  g_test_add_func ("/flat-data/out-of-range", test_out_of_range);
  g_test_add_func ("/flat-data/query-result", test_query_result);
  g_test_add_func ("/flat-data/query-faults", test_query_faults);
  g_test_add_func ("/flat-data/write-names", test_write_names);
  g_test_add_func ("/flat-data/w1", test_w1);
  g_test_add_func ("/flat-data/w2", test_w2);
  g_test_add_func ("/flat-data/order-of-faults", test_order_of_faults);
  g_test_add_func ("/flat-data/map-and-mask", test_map_and_mask);
  g_test_add_func ("/flat-data/managed", test_managed);
  g_test_add_func ("/flat-data/managed-refused", test_managed_refused);
  g_test_add_func ("/flat-data/managed-rows", test_managed_rows);
  g_test_add_func ("/flat-data/batch", test_batch);
  g_test_add_func ("/flat-data/delete", test_delete);
  g_test_add_func ("/flat-data/arrays", test_arrays);
  g_test_add_func ("/flat-data/range", test_range);
  g_test_add_func ("/flat-data/filter", test_filter);
  g_test_add_func ("/flat-data/filter-faults", test_filter_faults);
  g_test_add_func ("/flat-data/clone", test_clone);
  return g_test_run ();
}
