/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: each function with each error that it can give to a request that is
 * well formed. Those of NULLs and handles are beside the good cases of each function. */

#include "flat-helpers.h"

static float three_values[] = { 1, 2, 3 };
static int64_t three = 3;

/* The functions that change something at an ordinal. */
typedef enum
{
  WRITE,
  WRITE_BATCH,
  DELETE_NAMED,
  DELETE_PRIMS,
  CLONE,
  MAP,
  ADVANCE,
  N_CHANGES,
} Change;

static ovstage_map_handle_t last_map;

static ovstage_enqueue_result_t
change_named (Flat *flat, Change change, ovx_string_or_token_t name, ovstage_ordinal_t ordinal, ovstage_prim_mode_t mode)
{
  DLTensor tensor = float_tensor (three_values, &three);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  ovstage_attribute_write_t writes[] = { { named ("other"), data }, { name, data } };
  ovstage_map_desc_t desc = { .attribute = name, .dtype = { kDLFloat, 32, 1 }, .prim_mode = mode };
  ovstage_write_floor_desc_t floor = { .ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL };
  ovx_string_t target = text_of ("/Copy");

  switch (change)
    {
    case WRITE:
      return ovstage_write_attribute (flat->stage, flat->query, name, ordinal, data, mode);
    case WRITE_BATCH:
      return ovstage_write_attributes (flat->stage, flat->query, writes, 2, ordinal, mode);
    case DELETE_NAMED:
      return ovstage_delete_attributes (flat->stage, flat->query, &name, 1, ordinal);
    case DELETE_PRIMS:
      return ovstage_delete_attributes (flat->stage, flat->query, NULL, 0, ordinal);
    case CLONE:
      return ovstage_clone (flat->stage, text_of ("/World"), &target, 1, ordinal);
    case MAP:
      last_map = 9;
      return ovstage_map_attribute (flat->stage, flat->query, &desc, ordinal, NULL, 0, &last_map);
    case ADVANCE:
      return ovstage_advance_write_floor (flat->stage, &floor);
    case N_CHANGES:
    default:
      g_assert_not_reached ();
    }
}

static ovstage_enqueue_result_t
change_at (Flat *flat, Change change, ovstage_ordinal_t ordinal)
{
  return change_named (flat, change, named ("mass"), ordinal, OVSTAGE_PRIM_MODE_UPSERT);
}

static void
test_newest (void)
{
  Flat flat;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  for (Change change = WRITE; change < N_CHANGES; change++)
    assert_refused (change_at (&flat, change, OVSTAGE_ORDINAL_NEWEST), OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal");
  g_assert_cmpuint (last_map, ==, 0);
  flat_clear (&flat);
}

static void
test_floor (void)
{
  Flat flat;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 3, 1, 2, 3));
  seal (&flat, 5);
  for (Change change = WRITE; change < ADVANCE; change++)
    for (ovstage_ordinal_t ordinal = 0; ordinal <= 5; ordinal += 5)
      assert_refused (change_at (&flat, change, ordinal), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "5");
  g_assert_cmpuint (last_map, ==, 0);
  /* A lower one of this kind is fine, and does nothing. */
  assert_done (flat.stage, change_at (&flat, ADVANCE, 4));
  flat_clear (&flat);
}

static void
test_reserved_names (void)
{
  static const char *const names[] = { "usd-path", "usd-parent", "usd-children", "usd-active" };
  static const Change changes[] = { WRITE, WRITE_BATCH, DELETE_NAMED, MAP };
  Flat flat;

  flat_init (&flat);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (guint j = 0; j < G_N_ELEMENTS (changes); j++)
      {
        ovx_token_t token = make_token (flat.dictionary, names[i]);

        assert_refused (change_named (&flat, changes[j], named (names[i]), 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_NOT_SUPPORTED,
                        names[i]);
        assert_refused (change_named (&flat, changes[j], token_of (token), 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_NOT_SUPPORTED,
                        names[i]);
      }
  g_assert_cmpuint (last_map, ==, 0);
  flat_clear (&flat);
}

/* A name of no bytes names nothing, and a token that is none is no handle. */
static void
test_names (void)
{
  static const Change changes[] = { WRITE, WRITE_BATCH, DELETE_NAMED, MAP };
  const ovx_string_or_token_t long_name = { .string = { "x", G_MAXSIZE } }, with_nul = { .string = { "a\0b", 3 } };
  const ovx_string_or_token_t no_text = { .string = { NULL, 3 } };
  Flat flat;

  flat_init (&flat);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      assert_refused (change_named (&flat, changes[i], named (""), 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_HANDLE, "0");
      assert_refused (change_named (&flat, changes[i], token_of (4711), 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_HANDLE,
                      "4711");
      assert_refused (change_named (&flat, changes[i], token_of (G_MAXUINT64), 1, OVSTAGE_PRIM_MODE_UPSERT),
                      OVSTAGE_ERROR_INVALID_HANDLE, "18446744073709551615");
      assert_refused (change_named (&flat, changes[i], long_name, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_ARGUMENT,
                      "18446744073709551615");
      assert_refused (change_named (&flat, changes[i], with_nul, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_ARGUMENT, "NUL");
      assert_refused (change_named (&flat, changes[i], no_text, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_ARGUMENT,
                      changes[i] == WRITE_BATCH ? "entry 1: attribute: string: NULL, expected 3 bytes"
                                                : "attribute");
    }
  assert_refused (change_named (&flat, WRITE, no_text, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute: ");
  g_assert_true (g_str_has_prefix (ovstage_get_last_error ().ptr, "attribute: "));
  flat_clear (&flat);
}

static void
test_prim_mode (void)
{
  static const Change changes[] = { WRITE, WRITE_BATCH, MAP };
  Flat flat;

  flat_init (&flat);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    assert_refused (change_named (&flat, changes[i], named ("mass"), 1, OVSTAGE_PRIM_MODE_UPDATE), OVSTAGE_ERROR_NOT_FOUND, "/World/A");
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      assert_refused (change_named (&flat, changes[i], named ("new"), 1, OVSTAGE_PRIM_MODE_INSERT), OVSTAGE_ERROR_ALREADY_EXISTS,
                      "/World/A");
      assert_refused (change_named (&flat, changes[i], named ("mass"), 1, (ovstage_prim_mode_t) 3), OVSTAGE_ERROR_INVALID_ARGUMENT,
                      "prim mode");
      assert_refused (change_named (&flat, changes[i], named ("mass"), 1, (ovstage_prim_mode_t) -1), OVSTAGE_ERROR_INVALID_ARGUMENT,
                      "prim mode");
    }
  flat_clear (&flat);
}

/* W20 */
static void
test_schema (void)
{
  Flat flat;
  DLTensor tensor = float_tensor (three_values, &three);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  ovstage_map_desc_t desc = { .attribute = named ("mass"), .dtype = { kDLInt, 32, 1 } };
  const size_t sizes[] = { 1, 1, 1 };
  ovstage_map_handle_t map = 9;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  tensor.dtype.code = kDLInt;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "float32");
  tensor.dtype.code = kDLFloat;
  data.is_array = true;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "float32");
  data.is_array = false;
  data.semantic = OVSTAGE_SEMANTIC_POINT;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "POINT");
  data.semantic = OVSTAGE_SEMANTIC_TOKEN_ID; /* W21 */
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("other"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "TOKEN_ID");
  data.semantic = (ovstage_semantic_t) 16;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("other"), 2, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic");
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 2, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "float32");
  desc.dtype.code = kDLFloat;
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 2, sizes, 3, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "float32");
  desc.semantic = OVSTAGE_SEMANTIC_POINT;
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 2, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "POINT");
  desc.semantic = (ovstage_semantic_t) 16;
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 2, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic");
  desc = (ovstage_map_desc_t) { .attribute = named ("unknown") };
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 2, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype");
  g_assert_cmpuint (map, ==, 0);
  flat_clear (&flat);
}

/* Rows that do not fit: W6, W10, W12; a batch tells its entry. */
static void
test_rows (void)
{
  Flat flat;
  int64_t two = 2;
  uint32_t map[] = { 0, 1, 9, 0 };
  DLTensor short_tensor = float_tensor (three_values, &two), tensor = float_tensor (three_values, &three);
  ovstage_write_data_t good = { .tensors = &tensor, .tensor_count = 1 }, bad = { .tensors = &short_tensor, .tensor_count = 1 };
  ovstage_attribute_write_t writes[2];

  flat_init (&flat);
  for (guint i = 0; i < 3; i++)
    {
      bad.count = i == 0 ? 0 : i == 1 ? 4 : 3;
      bad.index_map = i == 2 ? map : NULL;
      writes[0] = (ovstage_attribute_write_t) { named ("mass"), good };
      writes[1] = (ovstage_attribute_write_t) { named ("other"), bad };
      assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("other"), 1, bad, OVSTAGE_PRIM_MODE_UPSERT),
                      OVSTAGE_ERROR_INVALID_ARGUMENT, i == 1 ? "4" : "2");
      assert_refused (ovstage_write_attributes (flat.stage, flat.query, writes, 2, 1, OVSTAGE_PRIM_MODE_UPSERT),
                      OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1");
    }
  flat_clear (&flat);
}

/* W25, W27, W32, and what there is to wait for. */
static void
test_devices (void)
{
  Flat flat;
  DLTensor tensor = float_tensor (three_values, &three);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  const ovstage_cuda_sync_t stream = { 1, 0 }, event = { 0, 8 }, none = { 0, 0 };
  ovstage_map_group_t group;

  flat_init (&flat);
  tensor.device = (DLDevice) { kDLCUDA, 0 };
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "device");
  tensor.device = (DLDevice) { kDLCUDAManaged, 0 };
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "kDLCUDAManaged");
  tensor.device = (DLDevice) { kDLCPU, 1 };
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "device");
  tensor.device = (DLDevice) { (DLDeviceType) 99, 0 };
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "device");
  tensor.device = (DLDevice) { kDLCPU, 0 };
  tensor.dtype = (DLDataType) { kDLFloat4_e2m1fn, 4, 1 };
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "4");
  tensor.dtype = (DLDataType) { kDLFloat, 32, 1 };
  data.cuda_sync = stream;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "sync");
  data.cuda_sync = event;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "sync");

  assert_done (flat.stage, change_at (&flat, MAP, 1));
  assert_ok (ovstage_fetch_map_next (flat.stage, last_map, OVSTAGE_TIMEOUT_INFINITE, &group));
  assert_refused (ovstage_unmap_group (flat.stage, last_map, &group, event), OVSTAGE_ERROR_NOT_SUPPORTED, "sync");
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, last_map, none));
  assert_done (flat.stage, change_at (&flat, MAP, 1));
  assert_refused (ovstage_unmap_attribute (flat.stage, last_map, stream), OVSTAGE_ERROR_NOT_SUPPORTED, "sync");
  assert_refused (ovstage_unmap_attribute (flat.stage, last_map, none), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_done (flat.stage, change_at (&flat, MAP, 1));
  assert_refused (ovstage_unmap_attribute (flat.stage, last_map, event), OVSTAGE_ERROR_NOT_SUPPORTED, "sync");
  flat_clear (&flat);
}

static void
test_active (void)
{
  Flat flat;
  ovx_token_t names[2];
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_predicate_t predicate = { named ("usd-active"), OVSTAGE_FILTER_OP_HAS, NULL, 0 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_read_handle_t read = 9;
  ovstage_query_handle_t query = 9;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  names[0] = flat.mass;
  names[1] = make_token (flat.dictionary, "usd-active");
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, names, 2, range, &read), OVSTAGE_ERROR_NOT_SUPPORTED, "usd-active");
  g_assert_cmpuint (read, ==, 0);
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_NOT_SUPPORTED, "usd-active");
  g_assert_cmpuint (query, ==, 0);
  flat_clear (&flat);
}

static void
test_ranges (void)
{
  Flat flat;
  ovstage_ordinal_range_t backwards = { 3, 2, true }, unsealed = { 1, 9, true }, newest = { 5, OVSTAGE_ORDINAL_NEWEST, true };
  ovstage_ordinal_range_t old = { 1, 2, true };
  ovstage_read_handle_t read = 9;

  flat_init (&flat);
  for (guint i = 1; i <= 4; i++)
    {
      assert_done (flat.stage, write_floats (&flat, i, 1, 2, 3));
      seal (&flat, i);
    }
  assert_done (flat.stage, write_floats (&flat, 7, 1, 2, 3));
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, backwards, &read), OVSTAGE_ERROR_INVALID_ARGUMENT, "3");
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, unsealed, &read), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                  "mass");
  assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, old, &read), OVSTAGE_ERROR_OUT_OF_RANGE, "mass");
  g_assert_cmpuint (read, ==, 0);
  assert_done (flat.stage, ovstage_read_attributes (flat.stage, flat.query, &flat.mass, 1, newest, &read));
  assert_done (flat.stage, ovstage_release_read (flat.stage, read));
  flat_clear (&flat);
}

/* What does not fit the schema that it meets is told by the request, or by the fetch. */
static void
test_filters (void)
{
  Flat flat;
  const ovx_string_t text = text_of ("x"), number = text_of ("1");
  ovstage_predicate_t predicate = { named ("mass"), OVSTAGE_FILTER_OP_PREFIX, &text, 1 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_query_handle_t query = 9;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_NOT_SUPPORTED, "mass");
  predicate.op = OVSTAGE_FILTER_OP_CONTAINS;
  predicate.values = &number;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_NOT_SUPPORTED, "mass");
  predicate.op = OVSTAGE_FILTER_OP_IN;
  predicate.values = &text;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "mass");
  predicate.op = OVSTAGE_FILTER_OP_LT;
  predicate.value_count = 0;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "LT");
  predicate.op = OVSTAGE_FILTER_OP_HAS;
  predicate.value_count = 1;
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "HAS");
  predicate = (ovstage_predicate_t) { token_of (4711), OVSTAGE_FILTER_OP_HAS, NULL, 0 };
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_HANDLE, "4711");
  predicate = (ovstage_predicate_t) { named (""), OVSTAGE_FILTER_OP_HAS, NULL, 0 };
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_HANDLE, "0");
  g_assert_cmpuint (query, ==, 0);
  flat_clear (&flat);
}

static void
test_clone (void)
{
  Flat flat;
  const ovx_string_t source = text_of ("/World"), nested[] = { { "/Copy", 5 }, { "/Copy/Below", 11 } };
  const ovx_string_t twice[] = { { "/Copy", 5 }, { "/Copy", 5 } }, no_path = text_of ("World");

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_refused (ovstage_clone (flat.stage, source, nested, 2, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "/Copy");
  assert_refused (ovstage_clone (flat.stage, source, twice, 2, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "/Copy");
  assert_refused (ovstage_clone (flat.stage, no_path, twice, 1, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "World");
  assert_refused (ovstage_clone (flat.stage, (ovx_string_t) { NULL, 0 }, twice, 1, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "source");
  /* To nowhere. */
  assert_done (flat.stage, ovstage_clone (flat.stage, source, NULL, 0, 2));
  flat_clear (&flat);
}

static gboolean
is_zero (gconstpointer data, gsize size)
{
  const guint8 *bytes = data;

  for (gsize i = 0; i < size; i++)
    if (bytes[i] != 0)
      return FALSE;
  return TRUE;
}

#define assert_cleared(call, expected, place)                                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    memset (&(place), 0xff, sizeof (place));                                                                           \
    assert_status (call, expected);                                                                                    \
    g_assert_true (is_zero (&(place), sizeof (place)));                                                                \
  }                                                                                                                    \
  G_STMT_END

/* Where nothing is given, nothing is left of what was there before. */
static void
test_places (void)
{
  Flat flat;
  ovstage_op_wait_result_t wait;
  ovstage_query_result_t result;
  ovstage_read_group_t group;
  ovstage_map_group_t piece;
  ovstage_query_handle_t query;
  ovstage_read_handle_t read;
  ovstage_map_handle_t map;
  ovstage_ordinal_query_handle_t ordinal;
  ovstage_map_desc_t desc = { .attribute = named ("\xff") };
  ovstage_predicate_t predicate = { named ("\xff"), OVSTAGE_FILTER_OP_HAS, NULL, 0 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_ordinal_range_t range = { 0, 0, false };
  ovstage_instance_t *instances[2] = { NULL };
  const void *extension;
  const ovstage_cuda_sync_t no_sync = { 0, 0 };

  flat_init (&flat);
  instances[1] = flat.stage;
  for (guint i = 0; i < 2; i++)
    {
      ovstage_instance_t *s = instances[i];
      ovstage_api_status_t bad_name = s != NULL ? OVSTAGE_ERROR_INVALID_ARGUMENT : OVSTAGE_ERROR_INVALID_HANDLE;

      assert_cleared (ovstage_wait_op (s, 0, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, wait);
      assert_cleared (ovstage_query_extension (s, "none", &extension), s != NULL ? OVSTAGE_ERROR_NOT_FOUND : OVSTAGE_ERROR_INVALID_HANDLE,
                      extension);
      assert_cleared (ovstage_query_from_path_list (s, 0, &query), OVSTAGE_ERROR_INVALID_HANDLE, query);
      assert_cleared (ovstage_query (s, &filter, NULL, 0, &query).status, bad_name, query);
      assert_cleared (ovstage_query (s, NULL, NULL, 1, &query).status, OVSTAGE_ERROR_INVALID_ARGUMENT, query);
      assert_cleared (ovstage_fetch_query_result (s, 0, 0, &result), OVSTAGE_ERROR_INVALID_HANDLE, result);
      assert_cleared (ovstage_read_attributes (s, 0, NULL, 0, range, &read).status, OVSTAGE_ERROR_INVALID_HANDLE, read);
      assert_cleared (ovstage_read_attributes (s, 0, NULL, 1, range, &read).status, OVSTAGE_ERROR_INVALID_ARGUMENT, read);
      assert_cleared (ovstage_fetch_read_next (s, 0, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, group);
      assert_cleared (ovstage_map_attribute (s, 0, &desc, 1, NULL, 0, &map).status, bad_name, map);
      assert_cleared (ovstage_map_attribute (s, 0, &desc, 1, NULL, 1, &map).status, OVSTAGE_ERROR_INVALID_ARGUMENT, map);
      assert_cleared (ovstage_fetch_map_next (s, 0, 0, &piece), OVSTAGE_ERROR_INVALID_HANDLE, piece);
      assert_cleared (ovstage_get_attribute_write_floor (s, named ("\xff"), &ordinal).status, bad_name, ordinal);
      assert_cleared (ovstage_get_oldest_preserved_ordinal (NULL, &ordinal).status, OVSTAGE_ERROR_INVALID_HANDLE, ordinal);
    }
  /* After the last, too. */
  assert_done (flat.stage, ovstage_read_attributes (flat.stage, flat.query, NULL, 0, range, &read));
  assert_cleared (ovstage_fetch_read_next (flat.stage, read, 0, &group), OVSTAGE_ERROR_END_OF_ITERATION, group);
  assert_done (flat.stage, ovstage_release_read (flat.stage, read));
  assert_done (flat.stage, change_at (&flat, MAP, 1));
  assert_ok (ovstage_fetch_map_next (flat.stage, last_map, 0, &piece));
  assert_cleared (ovstage_fetch_map_next (flat.stage, last_map, 0, &piece), OVSTAGE_ERROR_END_OF_ITERATION, piece);
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, last_map, no_sync));
  /* And where all is well but for failures, of which there are none. */
  memset (&wait, 0xff, sizeof wait);
  assert_ok (ovstage_wait_op (flat.stage, write_floats (&flat, 2, 1, 2, 3).op_index, 0, &wait));
  g_assert_true (is_zero (&wait, sizeof wait));
  flat_clear (&flat);
}

/* All there is room for; the thread is told why the next one is not made. */
static void
test_create (void)
{
  enum
  {
    MOST = 16384,
  };
  ovstage_instance_t **all;
  guint n = 0;

  if (g_strcmp0 (g_getenv ("SANITIZER"), "thread") == 0)
    {
      g_test_skip ("they take gigabytes under ThreadSanitizer");
      return;
    }
  all = g_new0 (ovstage_instance_t *, MOST + 1);
  while (n <= MOST && ovstage_create_instance (NULL, &all[n]) == OVSTAGE_OK)
    n++;
  g_assert_cmpuint (n, >, 1000);
  g_assert_cmpuint (n, <=, MOST);
  assert_last_error ("instances");
  g_assert_null (all[n]);
  all[n] = all[0];
  assert_error (ovstage_create_instance (NULL, &all[n]), OVSTAGE_ERROR_OUT_OF_MEMORY, "instances");
  g_assert_null (all[n]);
  ovstage_destroy_instance (all[--n]);
  assert_ok (ovstage_create_instance (NULL, &all[n]));
  g_assert_null (ovstage_get_last_error ().ptr);
  for (guint i = 0; i <= n; i++)
    ovstage_destroy_instance (all[i]);
  g_free (all);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-errors/newest", test_newest);
  g_test_add_func ("/flat-errors/floor", test_floor);
  g_test_add_func ("/flat-errors/reserved-names", test_reserved_names);
  g_test_add_func ("/flat-errors/names", test_names);
  g_test_add_func ("/flat-errors/prim-mode", test_prim_mode);
  g_test_add_func ("/flat-errors/schema", test_schema);
  g_test_add_func ("/flat-errors/rows", test_rows);
  g_test_add_func ("/flat-errors/devices", test_devices);
  g_test_add_func ("/flat-errors/active", test_active);
  g_test_add_func ("/flat-errors/ranges", test_ranges);
  g_test_add_func ("/flat-errors/filters", test_filters);
  g_test_add_func ("/flat-errors/clone", test_clone);
  g_test_add_func ("/flat-errors/places", test_places);
  g_test_add_func ("/flat-errors/create", test_create);
  return g_test_run ();
}
