/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: the placement extension, as it is without a device, and with
 * tables that stand in for one. */

#include "flat-helpers.h"

static const void *fake_table; /* NULL: what the library says */

static ovstage_api_status_t
query_extension (ovstage_instance_t *instance, const char *name, const void **out_extension)
{
  if (fake_table == NULL || out_extension == NULL || strcmp (name, "ovstage.placement") != 0)
    return ovstage_query_extension (instance, name, out_extension);
  *out_extension = fake_table;
  return OVSTAGE_OK;
}

#define ovstage_query_extension query_extension
#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

static gint n_deleted;

static void
delete_cb (DLManagedTensorVersioned *managed)
{
  n_deleted++;
}

static void
test_init (void)
{
  ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;

  g_assert_cmpuint (placement.struct_size, ==, sizeof placement);
  g_assert_cmpint (placement.device.device_type, ==, kDLCPU);
  g_assert_cmpint (placement.device.device_id, ==, 0);
  g_assert_cmpuint (placement.stream, ==, 0);
  g_assert_cmpuint (placement.availability_event, ==, 0);
}

/* All five, with and without a placement; whatever was handed over is let go of. */
static void
assert_not_found (Flat *flat, const ovstage_placement_t *placement)
{
  const ovstage_placement_extension_v1_t *extension = (gconstpointer) flat;
  DLManagedTensorVersioned managed = { .version = { 1, 0 }, .deleter = delete_cb };
  const DLManagedTensorVersioned *const handed_over[] = { &managed };
  ovstage_attribute_write_t writes[] = { { named ("a"), { .managed_tensors = handed_over, .tensor_count = 1 } },
                                         { named ("b"), { .managed_tensors = handed_over, .tensor_count = 1 } } };
  ovstage_map_desc_t desc = { .attribute = named ("a") };
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_read_handle_t read = 9;
  ovstage_map_handle_t map = 9;

  assert_error (ovstage_query_placement_extension (flat->stage, &extension), OVSTAGE_ERROR_NOT_FOUND, "ovstage.placement");
  g_assert_null (extension);
  n_deleted = 0;
  assert_refused (ovstage_write_attribute_on_device (flat->stage, flat->query, named ("a"), 1, writes[0].data, OVSTAGE_PRIM_MODE_UPSERT,
                                                     placement),
                  OVSTAGE_ERROR_NOT_FOUND, "ovstage.placement");
  g_assert_cmpint (n_deleted, ==, 1);
  assert_refused (ovstage_write_attributes_on_device (flat->stage, flat->query, writes, 2, 1, OVSTAGE_PRIM_MODE_UPSERT, placement),
                  OVSTAGE_ERROR_NOT_FOUND, "ovstage.placement");
  g_assert_cmpint (n_deleted, ==, 2);
  assert_refused (ovstage_read_attributes_on_device (flat->stage, flat->query, &flat->mass, 1, range, placement, &read),
                  OVSTAGE_ERROR_NOT_FOUND, "ovstage.placement");
  g_assert_cmpuint (read, ==, 0);
  assert_refused (ovstage_map_attribute_on_device (flat->stage, flat->query, &desc, 1, NULL, 0, placement, &map),
                  OVSTAGE_ERROR_NOT_FOUND, "ovstage.placement");
  g_assert_cmpuint (map, ==, 0);
}

static void
test_without_device (void)
{
  Flat flat;
  const ovstage_placement_extension_v1_t *extension;
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_read_handle_t read = 9;
  ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;

  flat_init (&flat);
  assert_not_found (&flat, &placement);
  assert_not_found (&flat, NULL);
  assert_error (ovstage_query_placement_extension (flat.stage, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_extension");
  assert_error (ovstage_query_placement_extension (NULL, &extension), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  g_assert_null (extension);
  assert_refused (ovstage_read_attributes_on_device (NULL, flat.query, &flat.mass, 1, range, NULL, &read), OVSTAGE_ERROR_INVALID_HANDLE,
                  "instance");
  g_assert_cmpuint (read, ==, 0);
  flat_clear (&flat);
}

/* What the wrappers are called with, which is what the functions of the table are to get. */
typedef struct
{
  Flat flat;
  ovstage_write_data_t data;
  ovstage_attribute_write_t writes[3];
  ovstage_map_desc_t desc;
  ovstage_ordinal_range_t range;
  size_t sizes[2];
} Call;

static Call call;
static const ovstage_placement_t *expected_placement;

static void
check_call (ovstage_instance_t *instance, ovstage_query_handle_t query, const ovstage_placement_t *placement)
{
  g_assert_true (instance == call.flat.stage);
  g_assert_cmpuint (query, ==, call.flat.query);
  g_assert_true (placement == expected_placement);
}

static ovstage_enqueue_result_t
write_cb (ovstage_instance_t *instance, ovstage_query_handle_t query, ovx_string_or_token_t attribute, ovstage_ordinal_t ordinal,
          ovstage_write_data_t data, ovstage_prim_mode_t prim_mode, const ovstage_placement_t *placement)
{
  check_call (instance, query, placement);
  g_assert_cmpuint (attribute.token, ==, call.flat.mass);
  g_assert_cmpuint (ordinal, ==, 4);
  g_assert_cmpmem (&data, sizeof data, &call.data, sizeof call.data);
  g_assert_cmpint (prim_mode, ==, OVSTAGE_PRIM_MODE_UPDATE);
  return (ovstage_enqueue_result_t) { OVSTAGE_OK, 11 };
}

static ovstage_enqueue_result_t
write_all_cb (ovstage_instance_t *instance, ovstage_query_handle_t query, const ovstage_attribute_write_t *writes, size_t num_writes,
              ovstage_ordinal_t ordinal, ovstage_prim_mode_t prim_mode, const ovstage_placement_t *placement)
{
  check_call (instance, query, placement);
  g_assert_true (writes == call.writes);
  g_assert_cmpuint (num_writes, ==, 3);
  g_assert_cmpuint (ordinal, ==, 5);
  g_assert_cmpint (prim_mode, ==, OVSTAGE_PRIM_MODE_INSERT);
  return (ovstage_enqueue_result_t) { OVSTAGE_OK, 12 };
}

static ovstage_enqueue_result_t
read_cb (ovstage_instance_t *instance, ovstage_query_handle_t query, const ovx_token_t *attributes, size_t num_attributes,
         ovstage_ordinal_range_t range, const ovstage_placement_t *placement, ovstage_read_handle_t *out_read)
{
  check_call (instance, query, placement);
  g_assert_true (attributes == &call.flat.mass);
  g_assert_cmpuint (num_attributes, ==, 1);
  g_assert_cmpuint (range.start_ordinal, ==, 2);
  g_assert_cmpuint (range.end_ordinal, ==, 6);
  g_assert_true (range.has_start_ordinal);
  *out_read = 77;
  return (ovstage_enqueue_result_t) { OVSTAGE_OK, 13 };
}

static ovstage_enqueue_result_t
map_cb (ovstage_instance_t *instance, ovstage_query_handle_t query, const ovstage_map_desc_t *desc, ovstage_ordinal_t ordinal,
        const size_t *element_sizes, size_t num_element_sizes, const ovstage_placement_t *placement, ovstage_map_handle_t *out_map)
{
  check_call (instance, query, placement);
  g_assert_true (desc == &call.desc);
  g_assert_cmpuint (ordinal, ==, 7);
  g_assert_true (element_sizes == call.sizes);
  g_assert_cmpuint (num_element_sizes, ==, 2);
  *out_map = 78;
  return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_TIMEOUT, 14 };
}

/* All four pass on what they get, and give what they are given. */
static void
assert_passed_on (const ovstage_placement_t *placement)
{
  ovstage_instance_t *s = call.flat.stage;
  ovstage_query_handle_t query = call.flat.query;
  ovstage_read_handle_t read = 0;
  ovstage_map_handle_t map = 0;
  ovstage_enqueue_result_t result;

  expected_placement = placement;
  result = ovstage_write_attribute_on_device (s, query, token_of (call.flat.mass), 4, call.data, OVSTAGE_PRIM_MODE_UPDATE, placement);
  assert_ok (result.status);
  g_assert_cmpuint (result.op_index, ==, 11);
  result = ovstage_write_attributes_on_device (s, query, call.writes, 3, 5, OVSTAGE_PRIM_MODE_INSERT, placement);
  g_assert_cmpuint (result.op_index, ==, 12);
  result = ovstage_read_attributes_on_device (s, query, &call.flat.mass, 1, call.range, placement, &read);
  g_assert_cmpuint (result.op_index, ==, 13);
  g_assert_cmpuint (read, ==, 77);
  result = ovstage_map_attribute_on_device (s, query, &call.desc, 7, call.sizes, 2, placement, &map);
  assert_status (result.status, OVSTAGE_ERROR_TIMEOUT);
  g_assert_cmpuint (result.op_index, ==, 14);
  g_assert_cmpuint (map, ==, 78);
}

static void
test_table (void)
{
  ovstage_placement_t placement = OVSTAGE_PLACEMENT_INIT;
  ovstage_placement_extension_v1_t table = {
    1, sizeof table, write_cb, write_all_cb, read_cb, map_cb,
  };
  const ovstage_placement_extension_v1_t *extension;

  memset (&call, 0, sizeof call);
  call.data.count = 9;
  call.range = (ovstage_ordinal_range_t) { 2, 6, true };
  flat_init (&call.flat);
  fake_table = &table;
  assert_ok (ovstage_query_placement_extension (call.flat.stage, &extension));
  g_assert_true (extension == &table);
  assert_passed_on (&placement);
  assert_passed_on (NULL);

  /* Another version, or a smaller table. A larger one begins the same. */
  table.version = 2;
  assert_not_found (&call.flat, NULL);
  table.version = 1;
  table.struct_size = sizeof table - 1;
  assert_not_found (&call.flat, &placement);
  table.struct_size = sizeof table + 8;
  assert_ok (ovstage_query_placement_extension (call.flat.stage, &extension));
  fake_table = NULL;
  flat_clear (&call.flat);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-placement/init", test_init);
  g_test_add_func ("/flat-placement/without-device", test_without_device);
  g_test_add_func ("/flat-placement/table", test_table);
  return g_test_run ();
}
