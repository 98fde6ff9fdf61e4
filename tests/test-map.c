/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Maps through the public API: what the face adds to the engine's. */

#include "object-helpers.h"

typedef struct
{
  OvstageStage *stage;               /* (owned) */
  OvstagePathDictionary *dictionary; /* of the stage */
  OvstageQuery *query;               /* (owned) of three prims */
  OvstageToken mass;
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused)
{
  const char *const paths[] = { "/W/A", "/W/B", "/W/C", NULL };
  g_autoptr (OvstagePathList) list = NULL;
  g_autoptr (GError) error = NULL;

  f->stage = ovstage_stage_new ("test");
  f->dictionary = ovstage_stage_get_path_dictionary (f->stage);
  list = ovstage_path_dictionary_create_path_list (f->dictionary, paths, &error);
  g_assert_no_error (error);
  f->query = ovstage_stage_query_path_list (f->stage, list);
  f->mass = ovstage_path_dictionary_intern_token (f->dictionary, "mass", &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_object (&f->stage);
}

static OvstageMap *
map_floats (Fixture *f, guint64 ordinal, OvstageMapFlags flags)
{
  return ovstage_stage_map_attribute (f->stage, f->query, f->mass, &OVSTAGE_DATA_TYPE_FLOAT32, OVSTAGE_SEMANTIC_POINT, NULL, 0,
                                      ordinal, OVSTAGE_PRIM_MODE_UPSERT, flags, NULL);
}

static OvstageMapGroup *
fetch_or_fail (OvstageMap *map)
{
  g_autoptr (GError) error = NULL;
  OvstageMapGroup *group = ovstage_map_fetch_next (map, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (group);
  return group;
}

static void
fill (OvstageMapGroup *group, float value)
{
  g_autoptr (OvstageTensor) tensor = ovstage_map_group_ref_tensor (group, 0);
  float *values = ovstage_tensor_get_data (tensor);

  g_assert_false (ovstage_tensor_is_read_only (tensor));
  for (guint i = 0; i < ovstage_map_group_get_prim_count (group); i++)
    values[i] = value + (float) i;
}

static void
assert_values (Fixture *f, guint64 ordinal, float value)
{
  g_autoptr (OvstageOperation) seal = ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  g_autoptr (OvstageOrdinalRange) range = ovstage_ordinal_range_latest (ordinal);
  g_autoptr (OvstageRead) read = ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, range, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageReadGroup) group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_autoptr (OvstageTensor) tensor = NULL;

  g_assert_no_error (error);
  tensor = ovstage_read_group_ref_tensor (group, 0);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpfloat (((float *) ovstage_tensor_get_data (tensor))[i], ==, value + (float) i);
}

static void
test_way_through (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageMap) map = map_floats (f, 4, OVSTAGE_MAP_FLAGS_NONE);
  g_autoptr (OvstageMap) again = NULL;
  g_autoptr (OvstageMapGroup) group = fetch_or_fail (map);
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree guint32 *indices = NULL;
  gsize n_indices;

  g_assert_cmpuint (ovstage_map_group_get_attribute (group), ==, f->mass);
  g_assert_cmpuint (ovstage_map_group_get_ordinal (group), ==, 4);
  g_assert_false (ovstage_map_group_is_array (group));
  g_assert_cmpint (ovstage_map_group_get_semantic (group), ==, OVSTAGE_SEMANTIC_POINT);
  g_assert_true (ovstage_data_type_equal (ovstage_map_group_get_data_type (group), &OVSTAGE_DATA_TYPE_FLOAT32));
  g_assert_cmpuint (ovstage_path_list_get_length (ovstage_map_group_get_path_list (group)), ==, 3);
  g_assert_cmpuint (ovstage_map_group_get_prim_offset (group), ==, 0);
  g_assert_cmpuint (ovstage_map_group_get_prim_count (group), ==, 3);
  g_assert_false (ovstage_map_group_has_prim_index_map (group));
  g_assert_cmpuint (ovstage_map_group_prim_index (group, 2), ==, 2);
  g_assert_cmpuint (ovstage_map_group_prim_index (group, 3), ==, G_MAXUINT32);
  indices = ovstage_map_group_dup_prim_indices (group, &n_indices);
  g_assert_cmpuint (n_indices, ==, 3);
  g_assert_cmpuint (indices[1], ==, 1);
  g_assert_cmpuint (ovstage_map_group_get_n_tensors (group), ==, 1);
  g_assert_null (ovstage_map_group_ref_tensor (group, 1));
  g_assert_cmpuint (ovstage_map_group_get_write_floor (group), ==, 0);
  g_assert_cmpuint (ovstage_map_group_get_layout_generation (group), ==, 0);

  fill (group, 5);
  g_assert_true (ovstage_map_group_is_writable (group));
  assert_done (ovstage_map_commit_group (map, group, 0, 0));
  g_assert_false (ovstage_map_group_is_writable (group));
  tensor = ovstage_map_group_ref_tensor (group, 0);
  g_assert_true (ovstage_tensor_is_read_only (tensor));
  g_assert_null (ovstage_map_fetch_next (map, 0, NULL, &error));
  g_assert_no_error (error);
  assert_values (f, 4, 5);

  /* Of what is there. */
  again = ovstage_stage_map_attribute (f->stage, f->query, f->mass, NULL, OVSTAGE_SEMANTIC_NONE, NULL, 0, 5,
                                       OVSTAGE_PRIM_MODE_UPDATE, OVSTAGE_MAP_FLAGS_INITIALIZE, NULL);
  assert_done (ovstage_map_commit (again, 0, 0));
  assert_values (f, 5, 5);
}

static void
test_end (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageMap) map = map_floats (f, 1, OVSTAGE_MAP_FLAGS_NONE);
  g_autoptr (OvstageMap) other = map_floats (f, 1, OVSTAGE_MAP_FLAGS_NONE);
  g_autoptr (OvstageMapGroup) group = fetch_or_fail (map);
  g_autoptr (OvstageMapGroup) dropped = NULL;

  fill (group, 1);
  assert_refused (ovstage_map_commit_group (other, group, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_done (ovstage_map_commit (map, 0, 0));
  assert_refused (ovstage_map_commit (map, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_refused (ovstage_map_commit_group (map, group, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE);
  dropped = fetch_or_fail (other);
  fill (dropped, 2);
  ovstage_map_discard (other);
  g_assert_null (ovstage_map_group_ref_tensor (dropped, 0));
  g_assert_false (ovstage_map_group_is_writable (dropped));
  assert_refused (ovstage_map_commit (other, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_values (f, 1, 1);
}

static void
assert_bytes_refused (OvstageMapGroup *group, guint i, gsize offset, GBytes *bytes, OvstageError code, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (ovstage_map_group_set_bytes (group, i, offset, bytes, &error));
  g_assert_error (error, OVSTAGE_ERROR, (gint) code);
  g_assert_nonnull (strstr (error->message, text));
}

static void
test_set_bytes (Fixture *f, gconstpointer unused)
{
  static const float values[] = { 8, 9, 10, 11 };
  g_autoptr (OvstageMap) map = map_floats (f, 1, OVSTAGE_MAP_FLAGS_INITIALIZE);
  g_autoptr (OvstageMapGroup) group = fetch_or_fail (map);
  g_autoptr (GBytes) all = g_bytes_new_static (values, sizeof (float) * 3);
  g_autoptr (GBytes) more = g_bytes_new_static (values, sizeof values);
  g_autoptr (GBytes) none = g_bytes_new (NULL, 0);
  g_autoptr (GError) error = NULL;

  g_assert_true (ovstage_map_group_set_bytes (group, 0, 0, all, &error));
  g_assert_true (ovstage_map_group_set_bytes (group, 0, 12, none, &error));
  g_assert_no_error (error);
  assert_bytes_refused (group, 0, 0, more, OVSTAGE_ERROR_INVALID_ARGUMENT, "16 bytes at offset 0, the tensor has 12");
  assert_bytes_refused (group, 0, 4, all, OVSTAGE_ERROR_INVALID_ARGUMENT, "12 bytes at offset 4, the tensor has 12");
  assert_bytes_refused (group, 0, G_MAXSIZE, all, OVSTAGE_ERROR_INVALID_ARGUMENT, "the tensor has 12");
  g_assert_false (ovstage_map_group_set_bytes (group, 0, G_MAXSIZE, all, NULL));
  assert_bytes_refused (group, 1, 0, none, OVSTAGE_ERROR_INVALID_ARGUMENT, "i is 1, expected below 1");
  assert_done (ovstage_map_commit (map, 0, 0));
  assert_bytes_refused (group, 0, 0, all, OVSTAGE_ERROR_INVALID_HANDLE, "group: it was committed");
  assert_values (f, 1, 8);
}

/* The last reference discards. */
static void
test_dropped (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageMapGroup) group = NULL;
  OvstageMap *map = map_floats (f, 1, OVSTAGE_MAP_FLAGS_NONE);

  group = fetch_or_fail (map);
  g_object_unref (map);
  g_assert_false (ovstage_map_group_is_writable (group));
  g_assert_null (ovstage_map_group_ref_tensor (group, 0));
}

static void
test_refused (Fixture *f, gconstpointer unused)
{
  OvstageDataType wrong = { 2, 32, 0 };
  OvstageDataType open = { 0, 0, 0 };
  gsize counts[] = { 1, 2 };
  g_autoptr (OvstageMap) orphan = g_object_new (OVSTAGE_TYPE_MAP, NULL);
  g_autoptr (GError) error = NULL;

#define MAP(dtype, counts, n, flags) \
  ovstage_stage_map_attribute (f->stage, f->query, f->mass, dtype, OVSTAGE_SEMANTIC_NONE, counts, n, 1, OVSTAGE_PRIM_MODE_UPSERT, flags, NULL)
  assert_refused (MAP (&wrong, NULL, 0, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (MAP (&open, NULL, 0, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (MAP (NULL, NULL, 0, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (MAP (&OVSTAGE_DATA_TYPE_FLOAT32, counts, 2, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (MAP (&OVSTAGE_DATA_TYPE_FLOAT32, NULL, 0, (OvstageMapFlags) 6), OVSTAGE_ERROR_INVALID_ARGUMENT);
#undef MAP
  assert_refused (ovstage_map_commit (orphan, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE);
  g_assert_null (ovstage_map_fetch_next (orphan, 0, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  ovstage_map_discard (orphan);
}

static void
fetched_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

/* Iterates @context until the callback has come. */
static GAsyncResult *
fetch_async (OvstageMap *map, GMainContext *context, GCancellable *cancellable)
{
  GAsyncResult *result = NULL;

  ovstage_map_fetch_next_async (map, G_PRIORITY_DEFAULT, cancellable, fetched_cb, &result);
  g_assert_null (result);
  while (result == NULL)
    g_main_context_iteration (context, TRUE);
  return result;
}

static void
test_async (Fixture *f, gconstpointer unused)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (OvstageMap) map = map_floats (f, 1, OVSTAGE_MAP_FLAGS_INITIALIZE);
  g_autoptr (OvstageMap) failed = ovstage_stage_map_attribute (f->stage, f->query, f->mass, NULL, OVSTAGE_SEMANTIC_NONE, NULL, 0, 2,
                                                               OVSTAGE_PRIM_MODE_UPSERT, OVSTAGE_MAP_FLAGS_NONE, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (OvstageMapGroup) group = NULL;
  g_autoptr (GError) error = NULL;
  GAsyncResult *result;

  g_main_context_push_thread_default (context);
  g_cancellable_cancel (cancellable);
  result = fetch_async (map, context, cancellable);
  g_assert_null (ovstage_map_fetch_next_finish (map, result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&error);
  g_object_unref (result);

  result = fetch_async (map, context, NULL);
  group = ovstage_map_fetch_next_finish (map, result, &error);
  g_assert_no_error (error);
  g_assert_nonnull (group);
  g_object_unref (result);
  result = fetch_async (map, context, NULL);
  g_assert_null (ovstage_map_fetch_next_finish (map, result, &error));
  g_assert_no_error (error);
  g_object_unref (result);

  result = fetch_async (failed, context, NULL);
  g_assert_null (ovstage_map_fetch_next_finish (failed, result, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_object_unref (result);
  /* Nobody needs to be told. */
  ovstage_map_fetch_next_async (map, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  while (g_main_context_iteration (context, FALSE))
    ;
  g_main_context_pop_thread_default (context);
}

/* The stage goes with a map open: what was mapped stays, and is committed nowhere. */
static void
test_stage_gone (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageMap) map = map_floats (f, 1, OVSTAGE_MAP_FLAGS_NONE);
  g_autoptr (OvstageMapGroup) group = fetch_or_fail (map);
  g_autoptr (OvstageTensor) tensor = ovstage_map_group_ref_tensor (group, 0);

  g_clear_object (&f->query);
  g_clear_object (&f->stage);
  fill (group, 1);
  assert_refused (ovstage_map_commit_group (map, group, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE);
  g_clear_pointer (&group, ovstage_map_group_unref);
  g_clear_object (&map);
  g_assert_cmpfloat (((float *) ovstage_tensor_get_data (tensor))[0], ==, 1);
}

static void
test_preconditions (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageMap) map = map_floats (f, 1, OVSTAGE_MAP_FLAGS_NONE);

#define MAP(stage, query, n) \
  ovstage_stage_map_attribute (stage, query, 1, NULL, OVSTAGE_SEMANTIC_NONE, NULL, n, 1, OVSTAGE_PRIM_MODE_UPSERT, OVSTAGE_MAP_FLAGS_NONE, NULL)
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_STAGE*");
  g_assert_null (MAP (NULL, f->query, 0));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_QUERY*");
  g_assert_null (MAP (f->stage, NULL, 0));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*element_counts != NULL*");
  g_assert_null (MAP (f->stage, f->query, 1));
#undef MAP
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_MAP*");
  g_assert_null (ovstage_map_commit (NULL, 0, 0));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*group != NULL*");
  g_assert_null (ovstage_map_commit_group (map, NULL, 0, 0));
  g_test_assert_expected_messages ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)
  ADD ("/map/way-through", test_way_through);
  ADD ("/map/end", test_end);
  ADD ("/map/set-bytes", test_set_bytes);
  ADD ("/map/dropped", test_dropped);
  ADD ("/map/refused", test_refused);
  ADD ("/map/async", test_async);
  ADD ("/map/stage-gone", test_stage_gone);
  ADD ("/map/preconditions", test_preconditions);
#undef ADD
  return g_test_run ();
}
