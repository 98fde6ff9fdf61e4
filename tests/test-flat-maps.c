/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: maps. */

#include "flat-helpers.h"

static const ovstage_cuda_sync_t no_sync = { 0, 0 };

static ovstage_map_desc_t
describe (const char *name)
{
  return (ovstage_map_desc_t) { .attribute = { .string = text_of (name) }, .dtype = { kDLFloat, 32, 1 } };
}

static ovstage_map_handle_t
map_or_fail (Flat *flat, ovstage_ordinal_t ordinal)
{
  ovstage_map_desc_t desc = describe ("mass");
  ovstage_map_handle_t map = 0;

  assert_done (flat->stage, ovstage_map_attribute (flat->stage, flat->query, &desc, ordinal, NULL, 0, &map));
  g_assert_cmpuint (map, !=, 0);
  return map;
}

static void
fill (Flat *flat, ovstage_map_handle_t map, ovstage_map_group_t *group, float first)
{
  const DLTensor *tensor;

  assert_ok (ovstage_fetch_map_next (flat->stage, map, OVSTAGE_TIMEOUT_INFINITE, group));
  g_assert_cmpuint (group->data.tensor_count, ==, 1);
  g_assert_cmpuint (group->data.count, ==, 3);
  g_assert_null (group->data.index_map);
  g_assert_cmpuint (group->prims.list, ==, flat->prims);
  g_assert_cmpuint (group->prims.count, ==, 3);
  tensor = &group->data.tensors[0];
  g_assert_cmpint (tensor->ndim, ==, 1);
  g_assert_cmpint (tensor->shape[0], ==, 3);
  g_assert_cmpuint (tensor->dtype.bits, ==, 32);
  for (guint i = 0; i < 3; i++)
    ((float *) tensor->data)[i] = first + (float) i;
}

static void
assert_first (Flat *flat, ovstage_ordinal_t ordinal, float first)
{
  ovstage_read_handle_t read = read_at (flat, ordinal);
  ovstage_read_group_t group;

  assert_ok (ovstage_fetch_read_next (flat->stage, read, OVSTAGE_TIMEOUT_INFINITE, &group));
  for (guint i = 0; i < 3; i++)
    g_assert_cmpfloat (((const float *) group.data.tensors[0].data)[i], ==, first + (float) i);
  assert_ok (ovstage_release_group (flat->stage, &group));
  assert_done (flat->stage, ovstage_release_read (flat->stage, read));
}

static void
test_commit_group (void)
{
  Flat flat;
  ovstage_map_handle_t map;
  ovstage_map_group_t group, end;

  flat_init (&flat);
  map = map_or_fail (&flat, 1);
  fill (&flat, map, &group, 5);
  assert_status (ovstage_fetch_map_next (flat.stage, map, 0, &end), OVSTAGE_ERROR_END_OF_ITERATION);
  g_assert_null (end.data.tensors);
  assert_done (flat.stage, ovstage_unmap_group (flat.stage, map, &group, no_sync));
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  seal (&flat, 1);
  assert_first (&flat, 1, 5);
  /* The rest: nothing. */
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, map, no_sync));
  assert_refused (ovstage_unmap_attribute (flat.stage, map, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  flat_clear (&flat);
}

static void
test_commit_rest (void)
{
  Flat flat;
  ovstage_map_handle_t map;
  ovstage_map_group_t group;
  ovstage_map_desc_t desc = describe ("mass");

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  /* As what is there. */
  desc.dtype = (DLDataType) { 0, 0, 0 };
  desc.prim_mode = OVSTAGE_PRIM_MODE_UPDATE;
  assert_done (flat.stage, ovstage_map_attribute (flat.stage, flat.query, &desc, 2, NULL, 0, &map));
  fill (&flat, map, &group, 7);
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, map, no_sync));
  seal (&flat, 2);
  assert_first (&flat, 2, 7);
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  flat_clear (&flat);
}

static void
test_discard (void)
{
  Flat flat;
  ovstage_map_handle_t map;
  ovstage_map_group_t group;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  map = map_or_fail (&flat, 2);
  fill (&flat, map, &group, 9);
  assert_done (flat.stage, ovstage_discard_map (flat.stage, map));
  assert_refused (ovstage_discard_map (flat.stage, map), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_status (ovstage_fetch_map_next (flat.stage, map, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE);
  seal (&flat, 2);
  assert_first (&flat, 2, 1);
  flat_clear (&flat);
}

/* The list of a group is there until the group is committed, or its map is let go of. */
static void
test_list_of_group (void)
{
  Flat flat;
  ovstage_map_handle_t maps[3];
  ovstage_map_group_t groups[3];
  size_t n;

  flat_init (&flat);
  for (guint i = 0; i < 3; i++)
    {
      maps[i] = map_or_fail (&flat, 1);
      fill (&flat, maps[i], &groups[i], 1);
    }
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, flat.prims));
  for (guint i = 0; i < 3; i++)
    {
      assert_in_dictionary (flat.dictionary, path_dictionary_get_num_paths_from_path_list (flat.dictionary, groups[i].prims.list, &n));
      g_assert_cmpuint (n, ==, 3);
      /* It is not the caller's. */
      assert_not_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, groups[i].prims.list),
                                "path list");
      assert_done (flat.stage, i == 0   ? ovstage_unmap_attribute (flat.stage, maps[i], no_sync)
                               : i == 1 ? ovstage_discard_map (flat.stage, maps[i])
                                        : ovstage_unmap_group (flat.stage, maps[i], &groups[i], no_sync));
    }
  assert_not_in_dictionary (flat.dictionary,
                            path_dictionary_get_num_paths_from_path_list (flat.dictionary, groups[0].prims.list, &n), "path list");
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, maps[2], no_sync));
  flat.prims = 0;
  flat_clear (&flat);
}

/* A failed commit lets go of the handle all the same. */
static void
test_late_commit (void)
{
  Flat flat;
  ovstage_map_handle_t map;
  ovstage_map_group_t group;

  flat_init (&flat);
  map = map_or_fail (&flat, 1);
  fill (&flat, map, &group, 9);
  seal (&flat, 3);
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, no_sync), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  assert_done (flat.stage, ovstage_discard_map (flat.stage, map));
  map = map_or_fail (&flat, 4);
  seal (&flat, 5);
  assert_refused (ovstage_unmap_attribute (flat.stage, map, no_sync), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  assert_refused (ovstage_unmap_attribute (flat.stage, map, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  flat_clear (&flat);
}

static void
test_two_maps (void)
{
  Flat flat;
  ovstage_map_handle_t a, b;
  ovstage_map_group_t of_a, of_b;

  flat_init (&flat);
  a = map_or_fail (&flat, 1);
  b = map_or_fail (&flat, 1);
  fill (&flat, a, &of_a, 10);
  fill (&flat, b, &of_b, 20);
  assert_refused (ovstage_unmap_group (flat.stage, a, &of_b, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  assert_done (flat.stage, ovstage_unmap_group (flat.stage, b, &of_b, no_sync));
  assert_done (flat.stage, ovstage_unmap_group (flat.stage, a, &of_a, no_sync));
  seal (&flat, 1);
  assert_first (&flat, 1, 10);
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, a, no_sync));
  assert_done (flat.stage, ovstage_discard_map (flat.stage, b));
  flat_clear (&flat);
}

static void
test_faults (void)
{
  Flat flat;
  ovstage_map_desc_t desc = describe ("mass");
  ovstage_map_handle_t map = 9;
  ovstage_map_group_t group = { 0 };
  ovstage_cuda_sync_t sync = { 1, 0 };

  flat_init (&flat);
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, NULL, 1, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "desc");
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, NULL, 0, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_map");
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, NULL, 2, &map), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "element_sizes");
  assert_refused (ovstage_map_attribute (flat.stage, 0, &desc, 1, NULL, 0, &map), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  g_assert_cmpuint (map, ==, 0);
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 0, NULL, 0, &map), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  desc.dtype.lanes = 0;
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "lanes");
  desc = describe ("\xff");
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  desc = describe ("mass");
  desc.prim_mode = (ovstage_prim_mode_t) 5;
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode");
  assert_refused (ovstage_map_attribute (NULL, flat.query, &desc, 1, NULL, 0, &map), OVSTAGE_ERROR_INVALID_HANDLE, "instance");

  assert_error (ovstage_fetch_map_next (flat.stage, 1, 0, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_group");
  assert_error (ovstage_fetch_map_next (flat.stage, 0, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, "map 0");
  assert_error (ovstage_fetch_map_next (flat.stage, flat.query, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_error (ovstage_fetch_map_next (NULL, 0, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  assert_refused (ovstage_unmap_group (flat.stage, 1, NULL, no_sync), OVSTAGE_ERROR_INVALID_ARGUMENT, "group");
  assert_refused (ovstage_unmap_group (flat.stage, 0, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map 0");
  assert_refused (ovstage_unmap_group (NULL, 0, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  assert_refused (ovstage_unmap_attribute (flat.stage, 0, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map 0");
  assert_refused (ovstage_unmap_attribute (NULL, 0, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  assert_refused (ovstage_discard_map (flat.stage, 0), OVSTAGE_ERROR_INVALID_HANDLE, "map 0");
  assert_refused (ovstage_discard_map (NULL, 0), OVSTAGE_ERROR_INVALID_HANDLE, "instance");

  map = map_or_fail (&flat, 1);
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  fill (&flat, map, &group, 1);
  assert_refused (ovstage_unmap_group (flat.stage, map, &group, sync), OVSTAGE_ERROR_NOT_SUPPORTED, "sync");
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, map, no_sync));
  flat_clear (&flat);
}

static void
test_arrays (void)
{
  Flat flat;
  ovstage_map_desc_t desc = describe ("mass");
  const size_t sizes[] = { 2, 0, 1 };
  ovstage_map_handle_t map;
  ovstage_map_group_t group;
  ovstage_read_handle_t read;
  ovstage_read_group_t values;

  flat_init (&flat);
  assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, sizes, 2, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "2");
  assert_done (flat.stage, ovstage_map_attribute (flat.stage, flat.query, &desc, 1, sizes, 3, &map));
  assert_ok (ovstage_fetch_map_next (flat.stage, map, OVSTAGE_TIMEOUT_INFINITE, &group));
  g_assert_cmpuint (group.data.tensor_count, ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpint (group.data.tensors[i].shape[0], ==, (gint64) sizes[i]);
      for (size_t j = 0; j < sizes[i]; j++)
        ((float *) group.data.tensors[i].data)[j] = (float) (10 * i + j);
    }
  assert_done (flat.stage, ovstage_unmap_group (flat.stage, map, &group, no_sync));
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, map, no_sync));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  assert_ok (ovstage_fetch_read_next (flat.stage, read, OVSTAGE_TIMEOUT_INFINITE, &values));
  g_assert_true (values.is_array);
  g_assert_cmpuint (values.data.tensor_count, ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      const DLTensor *row = &values.data.tensors[values.data.index_map != NULL ? values.data.index_map[i] : i];

      g_assert_cmpint (row->shape[0], ==, (gint64) sizes[i]);
      for (size_t j = 0; j < sizes[i]; j++)
        g_assert_cmpfloat (((const float *) row->data)[j], ==, (float) (10 * i + j));
    }
  assert_ok (ovstage_release_group (flat.stage, &values));
  assert_done (flat.stage, ovstage_release_read (flat.stage, read));
  flat_clear (&flat);
}

/* One that is left open is dropped with its instance, and named. */
static void
test_left_open (void)
{
  Flat flat;
  ovstage_map_group_t group;

  flat_init (&flat);
  fill (&flat, map_or_fail (&flat, 1), &group, 1);
  g_test_expect_message ("ovstage", G_LOG_LEVEL_WARNING, "*3 open handles*map*");
  ovstage_destroy_instance (flat.stage);
  g_test_assert_expected_messages ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-maps/commit-group", test_commit_group);
  g_test_add_func ("/flat-maps/commit-rest", test_commit_rest);
  g_test_add_func ("/flat-maps/discard", test_discard);
  g_test_add_func ("/flat-maps/list-of-group", test_list_of_group);
  g_test_add_func ("/flat-maps/late-commit", test_late_commit);
  g_test_add_func ("/flat-maps/two-maps", test_two_maps);
  g_test_add_func ("/flat-maps/arrays", test_arrays);
  g_test_add_func ("/flat-maps/faults", test_faults);
  g_test_add_func ("/flat-maps/left-open", test_left_open);
  return g_test_run ();
}
