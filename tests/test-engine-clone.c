/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Clones of a subtree to other paths. */

#include "config.h"

#include "engine-helpers.h"

static OvsOp *
query_paths_or_fail (OvsStage *stage, const char *text)
{
  g_auto (GStrv) paths = g_strsplit (text, " ", -1);
  g_autoptr (GError) error = NULL;
  OvstagePathList *list = ovs_path_list_new_for_strings (ovs_stage_get_dict (stage), (const char *const *) paths,
                                                         g_strv_length (paths), &error);
  OvsOp *query;

  g_assert_no_error (error);
  query = ovs_stage_query_list (stage, list);
  ovs_path_list_unref (list);
  return query;
}

/* @values: one for each path */
static void
write_paths (Scene *scene, const char *paths, guint64 attribute, guint64 ordinal, const char *values)
{
  OvsOp *query = query_paths_or_fail (scene->stage, paths);

  write_text (scene, query, attribute, ordinal, values);
  ovs_op_unref (query);
}

static void
delete_paths (Scene *scene, const char *paths, const guint64 *attributes, gsize n, guint64 ordinal)
{
  OvsOp *query = query_paths_or_fail (scene->stage, paths);

  assert_ok (ovs_stage_delete (scene->stage, query, attributes, n, ordinal));
  ovs_op_unref (query);
}

#define assert_paths(scene, paths, attribute, ordinal, expected)                                                       \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      OvsOp *query_ = query_paths_or_fail ((scene)->stage, paths);                                                     \
      assert_values (scene, query_, attribute, ordinal, expected);                                                     \
      ovs_op_unref (query_);                                                                                           \
    }                                                                                                                  \
  G_STMT_END

/* @targets: separated by spaces */
static OvsOp *
copy (Scene *scene, const char *source, const char *targets, guint64 ordinal)
{
  g_auto (GStrv) paths = g_strsplit (targets, " ", -1);

  return ovs_stage_clone (scene->stage, source, (const char *const *) paths, g_strv_length (paths), ordinal);
}

/* The names that a clone interns stay, whatever becomes of it: they are no part of the state. */
static void
intern_names (Scene *scene, const char *paths)
{
  g_auto (GStrv) names = g_strsplit_set (paths, " /", -1);

  for (guint i = 0; names[i] != NULL; i++)
    if (names[i][0] != '\0')
      token_or_fail (scene->stage, names[i]);
}

#define assert_copy_refused(scene, source, targets, ordinal, ...)                                                      \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      intern_names (scene, source " " targets);                                                                        \
      assert_refused (scene, copy (scene, source, targets, ordinal), __VA_ARGS__);                                     \
    }                                                                                                                  \
  G_STMT_END

static void
clone_or_fail (Scene *scene, const char *source, const char *targets, guint64 ordinal)
{
  assert_ok (copy (scene, source, targets, ordinal));
}

/* --- what is copied --- */

static void
test_subtree (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /S/A /S/A/B /Sx /T", scene.a, 1, "1 2 3 4 5");
  write_paths (&scene, "/S/A/B /S/C", scene.b, 1, "6 7");
  clone_or_fail (&scene, "/S", "/X /Y/Z", 2);
  seal_or_fail (&scene, 2);
  assert_paths (&scene, "/X /X/A /X/A/B /X/C /Xx /X/B", scene.a, 2, "1 2 3 - - -");
  assert_paths (&scene, "/X /X/A /X/A/B /X/C", scene.b, 2, "- - 6 7");
  assert_paths (&scene, "/Y /Y/Z /Y/Z/A /Y/Z/A/B /Y/Z/C", scene.a, 2, "- 1 2 3 -");
  assert_paths (&scene, "/Y /Y/Z /Y/Z/A /Y/Z/A/B /Y/Z/C", scene.b, 2, "- - - 6 7");
  assert_paths (&scene, "/S /S/A /S/A/B /Sx /T", scene.a, 2, "1 2 3 4 5");
  scene_clear (&scene);
}

/* One prim within another, far down: what a copy costs goes with the length of its path. */
static void
test_deep (void)
{
  enum { DEPTH = 600 };
  Scene scene;
  g_autoptr (GString) source = g_string_new ("/S"), copied = g_string_new ("/X");
  g_autoptr (GString) sources = g_string_new (NULL), copies = g_string_new (NULL), values = g_string_new (NULL);

  for (guint i = 0; i < DEPTH; i++)
    {
      const char *space = i > 0 ? " " : "";

      g_string_append (source, "/S");
      g_string_append (copied, "/S");
      g_string_append_printf (sources, "%s%s", space, source->str);
      g_string_append_printf (copies, "%s%s", space, copied->str);
      g_string_append_printf (values, "%s%u", space, i);
    }
  scene_init (&scene, 1);
  write_paths (&scene, sources->str, scene.a, 1, values->str);
  clone_or_fail (&scene, "/S", "/X", 1);
  seal_or_fail (&scene, 1);
  assert_paths (&scene, copies->str, scene.a, 1, values->str);
  scene_clear (&scene);
}

/* A leaf, a source that does not exist itself, everything. */
static void
test_sources (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S/A/B /S/C", scene.a, 1, "1 2");
  clone_or_fail (&scene, "/S/C", "/leaf", 1);
  clone_or_fail (&scene, "/S", "/above", 1);
  clone_or_fail (&scene, "/", "/all", 2);
  seal_or_fail (&scene, 2);
  assert_paths (&scene, "/leaf", scene.a, 2, "2");
  assert_paths (&scene, "/above /above/A /above/A/B /above/C", scene.a, 2, "- - 1 2");
  assert_paths (&scene, "/all /all/S/A/B /all/S/C /all/leaf /all/above/A/B /all/above/C", scene.a, 2, "- 1 2 2 1 2");
  scene_clear (&scene);
}

/* What the target stands in is copied as it was. */
static void
test_target_inside_source (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /S/A", scene.a, 1, "1 2");
  clone_or_fail (&scene, "/S", "/S/B", 1);
  clone_or_fail (&scene, "/S", "/S/A/B", 2);
  seal_or_fail (&scene, 2);
  assert_paths (&scene, "/S /S/A /S/B /S/B/A /S/B/B", scene.a, 2, "1 2 1 2 -");
  assert_paths (&scene, "/S/A/B /S/A/B/A /S/A/B/B /S/A/B/B/A", scene.a, 2, "1 2 1 2");
  scene_clear (&scene);
}

/* A target above the source, where nothing is. */
static void
test_target_above_source (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S/A /S/A/B", scene.a, 1, "1 2");
  clone_or_fail (&scene, "/S/A", "/S", 1);
  seal_or_fail (&scene, 1);
  assert_paths (&scene, "/S /S/B /S/A /S/A/B", scene.a, 1, "1 2 1 2");
  scene_clear (&scene);
}

static void
test_schemas (void)
{
  Scene scene;
  OvsOp *query;
  OvstageReadGroup *group;
  guint64 type;

  scene_init (&scene, 1);
  type = token_or_fail (scene.stage, "usd-prim-type");
  query = query_paths_or_fail (scene.stage, "/S");
  write_or_fail (&scene, query, scene.a, 1, with_semantic (payload_fill (float32x3, 1, 3), OVSTAGE_SEMANTIC_COLOR));
  write_or_fail (&scene, query, type, 1, with_semantic (payload_rows (uint64x1, 1), OVSTAGE_SEMANTIC_TOKEN_ID));
  ovs_op_unref (query);
  write_paths (&scene, "/S/A", scene.a, 1, "1");
  clone_or_fail (&scene, "/S", "/X", 1);
  seal_or_fail (&scene, 1);
  assert_paths (&scene, "/X /X/A", scene.a, 1, "3,3,3 1");
  query = query_paths_or_fail (scene.stage, "/X");
  group = only_group_or_fail (&scene, query, scene.a, 1);
  g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_COLOR);
  g_assert_true (ovs_dtype_equal (group->dtype, float32x3));
  ovs_read_group_unref (group);
  group = only_group_or_fail (&scene, query, type, 1);
  g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_TOKEN_ID);
  ovs_read_group_unref (group);
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_written_again (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /S/A", scene.a, 1, "1 2");
  clone_or_fail (&scene, "/S", "/X", 1);
  write_paths (&scene, "/X/A", scene.a, 1, "5");
  write_paths (&scene, "/S", scene.a, 1, "9");
  seal_or_fail (&scene, 1);
  assert_paths (&scene, "/X /X/A /S /S/A", scene.a, 1, "1 5 9 2");
  delete_paths (&scene, "/X", NO_TOKENS, 2);
  delete_paths (&scene, "/X/A", NO_TOKENS, 2);
  clone_or_fail (&scene, "/S", "/X", 2);
  seal_or_fail (&scene, 2);
  assert_paths (&scene, "/X /X/A", scene.a, 2, "9 2");
  scene_clear (&scene);
}

/* --- arrays --- */

static void
write_arrays (Scene *scene, const char *paths, guint64 attribute, guint64 ordinal, const char *values)
{
  OvsOp *query = query_paths_or_fail (scene->stage, paths);

  write_or_fail (scene, query, attribute, ordinal, payload_arrays (values));
  ovs_op_unref (query);
}

static void
test_arrays (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_arrays (&scene, "/S /S/A /S/B /T", scene.a, 1, "1,2,3 . 4 9,9");
  write_paths (&scene, "/S/A /S/C", scene.b, 1, "5 6");
  seal_or_fail (&scene, 1);
  write_arrays (&scene, "/S/B", scene.a, 2, "7,8");
  clone_or_fail (&scene, "/S", "/X /Y", 3);
  write_arrays (&scene, "/X/A /S", scene.a, 3, "1,1 2");
  delete_paths (&scene, "/S", NO_TOKENS, 4);
  seal_or_fail (&scene, 4);
  assert_paths (&scene, "/X /X/A /X/B /X/C /Y /Y/A /Y/B /S/B", scene.a, 4, "1,2,3 1,1 7,8 - 1,2,3 . 7,8 7,8");
  assert_paths (&scene, "/X/A /X/C /Y/A /Y/C", scene.b, 4, "5 6 5 6");
  scene_clear (&scene);
}

/* Elements are not copied where the source keeps them anyway; a few rows of a large buffer are. */
static void
test_arrays_shared (void)
{
  Scene scene;
  OvsOp *query;
  OvstageReadGroup *group;
  OvstageTensor *row[4];
  g_autofree float *values = g_new0 (float, 100000);
  guint64 offsets[] = { 0, 99990, 100000 };
  gint64 n = 100000;
  OvstageTensor *tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, NULL, values, 0, NULL, NULL);

  scene_init (&scene, 1);
  query = query_paths_or_fail (scene.stage, "/S/large /T/small");
  write_or_fail (&scene, query, scene.a, 1, ovs_payload_new_ragged (tensor, offsets, 2, FALSE));
  ovs_op_unref (query);
  clone_or_fail (&scene, "/S", "/X", 2);
  clone_or_fail (&scene, "/T", "/Y", 2);
  seal_or_fail (&scene, 2);
  query = query_paths_or_fail (scene.stage, "/S/large /T/small /X/large /Y/small");
  group = only_group_or_fail (&scene, query, scene.a, 2);
  for (guint i = 0; i < 4; i++)
    row[i] = ovs_read_group_ref_tensor (group, i);
  g_assert_true (row[0]->data == row[2]->data);
  g_assert_cmpint (row[2]->shape[0], ==, 99990);
  g_assert_true (row[1]->data != row[3]->data);
  g_assert_cmpint (row[3]->shape[0], ==, 10);
  for (guint i = 0; i < 4; i++)
    ovs_tensor_unref (row[i]);
  ovs_read_group_unref (group);
  ovs_op_unref (query);
  ovs_tensor_unref (tensor);
  scene_clear (&scene);
}

static guint64
path_or_fail (Scene *scene, const char *path)
{
  g_autoptr (GError) error = NULL;
  guint64 id = ovs_path_dict_intern_path (ovs_stage_get_dict (scene->stage), path, -1, &error);

  g_assert_no_error (error);
  return id;
}

/* Arrays of ids: those of the paths in @text, separated by commas, rows by spaces. "7" is the number. */
static OvstageWriteData *
payload_ids (Scene *scene, OvstageDataType dtype, OvstageSemantic semantic, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_tensor_unref);

  for (guint i = 0; words[i] != NULL; i++)
    {
      g_auto (GStrv) names = g_strsplit (words[i], ",", -1);
      gint64 n = g_strv_length (names) / dtype.lanes;
      guint64 *ids = g_new0 (guint64, g_strv_length (names));

      for (guint j = 0; names[j] != NULL; j++)
        ids[j] = names[j][0] == '/' ? path_or_fail (scene, names[j]) : g_ascii_strtoull (names[j], NULL, 10);
      g_ptr_array_add (tensors, ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, 1, &n, NULL, ids, 0, g_free, ids));
    }
  return with_semantic (ovs_payload_new_rows ((OvstageTensor *const *) tensors->pdata, tensors->len, FALSE), semantic);
}

/* The ids of one prim, as payload_ids() takes them. */
static void
assert_ids (Scene *scene, const char *path, guint64 attribute, const char *expected)
{
  OvsOp *query = query_paths_or_fail (scene->stage, path);
  OvstageReadGroup *group = only_group_or_fail (scene, query, attribute, OVSTAGE_ORDINAL_NEWEST);
  OvstageTensor *tensor = ovs_read_group_ref_tensor (group, 0);
  GString *text = g_string_new (NULL);

  for (gint64 i = 0; i < tensor->shape[0] * group->dtype.lanes; i++)
    {
      guint64 id = ((const guint64 *) tensor->data)[i];
      g_autofree char *name = ovs_path_dict_dup_path (ovs_stage_get_dict (scene->stage), id);

      if (i % group->dtype.lanes == 1 || name == NULL)
        g_string_append_printf (text, ",%" G_GUINT64_FORMAT, id);
      else
        g_string_append_printf (text, "%s%s", i > 0 ? "," : "", name);
    }
  g_assert_cmpstr (text->str, ==, expected);
  g_string_free (text, TRUE);
  ovs_tensor_unref (tensor);
  ovs_read_group_unref (group);
  ovs_op_unref (query);
}

/* Ids of paths inside the source are rebased; those beside it, those that only look like it, and other numbers are not. */
static void
test_rebased (void)
{
  OvstageDataType uint64x2 = { OVS_CODE_UINT, 64, 2 };
  Scene scene;
  OvsOp *query;

  scene_init (&scene, 1);
  path_or_fail (&scene, "/S/not/yet");
  query = query_paths_or_fail (scene.stage, "/S /S/A /S/B");
  write_or_fail (&scene, query, scene.a, 1,
                 payload_ids (&scene, uint64x1, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, "/S/A,/Sx,/,/S,/S/not/yet,4000000000 /T /S/B,/S/A"));
  ovs_op_unref (query);
  query = query_paths_or_fail (scene.stage, "/S/A");
  write_or_fail (&scene, query, scene.b, 1,
                 payload_ids (&scene, uint64x2, OVSTAGE_SEMANTIC_CONNECTION_PATH_ID, "/S/B,3,/T,/S/A,/S,/S"));
  write_or_fail (&scene, query, scene.c, 1, payload_ids (&scene, uint64x1, OVSTAGE_SEMANTIC_NONE, "/S/B"));
  ovs_op_unref (query);
  clone_or_fail (&scene, "/S", "/X /Y/Z", 1);
  seal_or_fail (&scene, 1);
  assert_ids (&scene, "/X", scene.a, "/X/A,/Sx,/,/X,/X/not/yet,4000000000");
  assert_ids (&scene, "/Y/Z", scene.a, "/Y/Z/A,/Sx,/,/Y/Z,/Y/Z/not/yet,4000000000");
  assert_ids (&scene, "/X/A", scene.a, "/T");
  assert_ids (&scene, "/X/B", scene.a, "/X/B,/X/A");
  assert_ids (&scene, "/S", scene.a, "/S/A,/Sx,/,/S,/S/not/yet,4000000000");
  {
    g_autofree char *ids = g_strdup_printf ("/Y/Z/B,3,/T,%" G_GUINT64_FORMAT ",/Y/Z,%" G_GUINT64_FORMAT, path_or_fail (&scene, "/S/A"),
                                            path_or_fail (&scene, "/S"));

    assert_ids (&scene, "/Y/Z/A", scene.b, ids);
  }
  assert_ids (&scene, "/X/A", scene.c, "/S/B");
  scene_clear (&scene);
}

static void
test_arrays_in_flight (void)
{
  Scene scene;
  OvsOp *source, *ops[4];

  scene_init_paused (&scene, 1);
  source = query_paths_or_fail (scene.stage, "/S /S/A");
  ops[0] = write_payload (&scene, source, scene.a, 1, payload_arrays ("1,2 3"));
  ops[1] = write_payload (&scene, source, scene.b, 1,
                          payload_ids (&scene, uint64x1, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, "/S/A /S,/S"));
  ops[2] = copy (&scene, "/S", "/X /Y", 1);
  ops[3] = copy (&scene, "/Y", "/Z", 1);
  g_assert_false (ovs_op_is_done (ops[2]));
  scene_resume (&scene);
  for (guint i = 0; i < 4; i++)
    assert_ok (ops[i]);
  seal_or_fail (&scene, 1);
  assert_paths (&scene, "/X /X/A /Y /Z /Z/A", scene.a, 1, "1,2 3 1,2 1,2 3");
  assert_ids (&scene, "/X", scene.b, "/X/A");
  assert_ids (&scene, "/Z/A", scene.b, "/Z,/Z");
  ovs_op_unref (source);
  scene_clear (&scene);
}

/* --- as of when --- */

static void
test_as_of (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  seal_or_fail (&scene, 1);
  write_paths (&scene, "/S", scene.a, 3, "3");
  write_paths (&scene, "/S/new", scene.a, 3, "4");
  write_paths (&scene, "/S", scene.a, 7, "7");
  write_paths (&scene, "/S", scene.b, 7, "8");
  write_paths (&scene, "/S/newer", scene.a, 7, "9");
  clone_or_fail (&scene, "/S", "/X", 5);
  clone_or_fail (&scene, "/S", "/Y", 2);
  write_paths (&scene, "/S", scene.a, 4, "0");
  seal_or_fail (&scene, 7);
  assert_paths (&scene, "/X /X/new /X/newer", scene.a, 7, "3 4 -");
  assert_paths (&scene, "/X", scene.b, 7, "-");
  assert_paths (&scene, "/Y /Y/new /Y/newer", scene.a, 7, "1 - -");
  scene_clear (&scene);
}

static void
test_as_of_deletes (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /S/A /S/B", scene.a, 1, "1 2 3");
  write_paths (&scene, "/S /S/A /S/B", scene.b, 1, "4 5 6");
  seal_or_fail (&scene, 1);
  delete_paths (&scene, "/S/A", NO_TOKENS, 3);
  delete_paths (&scene, "/S/B", TOKENS (scene.b), 3);
  delete_paths (&scene, "/S", NO_TOKENS, 6);
  clone_or_fail (&scene, "/S", "/X", 2);
  clone_or_fail (&scene, "/S", "/Y", 4);
  clone_or_fail (&scene, "/S", "/Z", 6);
  seal_or_fail (&scene, 6);
  assert_paths (&scene, "/X /X/A /X/B /Y /Y/A /Y/B /Z /Z/A /Z/B", scene.a, 6, "1 2 3 1 - 3 - - 3");
  assert_paths (&scene, "/X /X/A /X/B /Y /Y/A /Y/B /Z /Z/A /Z/B", scene.b, 6, "4 5 6 4 - - - - -");
  scene_clear (&scene);
}

/* Sealed apart: what is sealed above the ordinal does not count, and what is below comes along. */
static void
test_sealed_apart (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  write_paths (&scene, "/S/A", scene.b, 1, "2");
  seal_or_fail (&scene, 1);
  write_paths (&scene, "/S/A /T", scene.b, 9, "3 4");
  delete_paths (&scene, "/S/A", TOKENS (scene.b), 9);
  seal_scope_or_fail (&scene, 9, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  /* /S/A is there at 5, with an attribute whose floor is 9; at 10 it is not. */
  assert_copy_refused (&scene, "/S", "/X", 5, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b'", "5", "9");
  clone_or_fail (&scene, "/S", "/X", 10);
  /* Nothing of b is there at 5: it has no say. */
  delete_paths (&scene, "/S/A", NO_TOKENS, 10);
  seal_or_fail (&scene, 10);
  write_paths (&scene, "/U", scene.a, 11, "1");
  seal_scope_or_fail (&scene, 20, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  clone_or_fail (&scene, "/U", "/V", 12);
  seal_or_fail (&scene, 20);
  assert_paths (&scene, "/X /X/A /V", scene.a, 20, "1 - 1");
  assert_paths (&scene, "/X /X/A /V", scene.b, 20, "- - -");
  scene_clear (&scene);
}

/* --- changes --- */

static void
test_changes (void)
{
  Scene scene;
  OvsOp *query;
  OvstageReadGroup *group;
  guint64 before;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /X", scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  query = query_paths_or_fail (scene.stage, "/S");
  group = only_group_or_fail (&scene, query, scene.a, 1);
  before = group->layout_generation;
  ovs_read_group_unref (group);
  clone_or_fail (&scene, "/S", "/Y", 4);
  seal_or_fail (&scene, 5);
  group = only_group_or_fail (&scene, query, scene.a, 5);
  g_assert_cmpuint (group->ordinal, ==, 1);
  g_assert_cmpuint (group->layout_generation, >, before);
  ovs_read_group_unref (group);
  ovs_op_unref (query);
  query = query_paths_or_fail (scene.stage, "/Y");
  group = only_group_or_fail (&scene, query, scene.a, 5);
  g_assert_cmpuint (group->ordinal, ==, 4);
  ovs_read_group_unref (group);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Unsealed, it is in the way of a snapshot like any write. */
static void
test_unsealed (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  seal_or_fail (&scene, 1);
  clone_or_fail (&scene, "/S", "/X", 2);
  assert_paths (&scene, "/S", scene.a, 2, "1");
  assert_paths (&scene, "/X", scene.a, 2, "WRITE_FLOOR_VIOLATION");
  assert_paths (&scene, "/X", scene.a, 1, "-");
  scene_clear (&scene);
}

/* --- faults --- */

static void
test_paths (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /S/A", scene.a, 1, "1 2");
  assert_copy_refused (&scene, "S", "/X", 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "source: ", "\"S\"");
  assert_refused (&scene, ovs_stage_clone (scene.stage, NULL, NULL, 0, 1), OVSTAGE_ERROR_INVALID_ARGUMENT, "source: ", "NULL");
  assert_refused (&scene, ovs_stage_clone (scene.stage, "/S", NULL, 2, 1), OVSTAGE_ERROR_INVALID_ARGUMENT, "targets is NULL", "2");
  assert_refused (&scene, ovs_stage_clone (scene.stage, "/S", (const char *[]) { "/X", NULL }, 2, 1), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "targets[1]: ", "NULL");
  assert_copy_refused (&scene, "/S", "/X /Y//Z", 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[1]: ", "/Y//Z");
  assert_copy_refused (&scene, "/S", "/X /Y /X", 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[2]: ", "'/X'", "targets[0]");
  assert_copy_refused (&scene, "/S", "/X/B/C /X", 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[0]: ", "'/X/B/C'",
                  "targets[1]", "'/X'");
  assert_copy_refused (&scene, "/S", "/X", OVSTAGE_ORDINAL_NEWEST, OVSTAGE_ERROR_INVALID_ARGUMENT, "OVSTAGE_ORDINAL_NEWEST");
  clone_or_fail (&scene, "/S", "/X/B /Xx /X/Bb", 1);
  scene_clear (&scene);
}

static void
test_not_found (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 5, "1");
  assert_copy_refused (&scene, "/none", "/X", 5, OVSTAGE_ERROR_NOT_FOUND, "'/none'", "5");
  assert_copy_refused (&scene, "/S", "/X", 4, OVSTAGE_ERROR_NOT_FOUND, "'/S'", "4");
  assert_copy_refused (&scene, "/S/A", "/X", 5, OVSTAGE_ERROR_NOT_FOUND, "'/S/A'");
  delete_paths (&scene, "/S", NO_TOKENS, 6);
  clone_or_fail (&scene, "/S", "/X", 5);
  assert_copy_refused (&scene, "/S", "/Y", 6, OVSTAGE_ERROR_NOT_FOUND, "'/S'");
  scene_clear (&scene);
}

/* The floors of what is copied, and of nothing else; those of advances to come, too. */
static void
test_floors (void)
{
  Scene scene;
  OvsOp *write, *sealed;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  write_paths (&scene, "/T", scene.b, 1, "2");
  seal_or_fail (&scene, 3);
  assert_copy_refused (&scene, "/S", "/X", 3, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "3");
  assert_copy_refused (&scene, "/S", "/X", 0, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "0", "3");
  seal_scope_or_fail (&scene, 6, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_copy_refused (&scene, "/S", "/X", 5, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "5", "6");
  clone_or_fail (&scene, "/T", "/Y", 5);

  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, scene.query, scene.a, 8, payload_text ("1"));
  sealed = advance (&scene, 8);
  assert_copy_refused (&scene, "/S", "/X", 8, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "8");
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (sealed);
  scene_clear (&scene);
}

static void
test_already_exists (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /S/A", scene.a, 1, "1 2");
  write_paths (&scene, "/X /Y/A /Z/other", scene.b, 1, "1 2 3");
  assert_copy_refused (&scene, "/S", "/new /X", 1, OVSTAGE_ERROR_ALREADY_EXISTS, "targets[1]: ", "'/X'");
  assert_copy_refused (&scene, "/S", "/Y", 1, OVSTAGE_ERROR_ALREADY_EXISTS, "targets[0]: ", "'/Y/A'");
  assert_copy_refused (&scene, "/S", "/S", 1, OVSTAGE_ERROR_ALREADY_EXISTS, "targets[0]: ", "'/S'");
  /* What is beside the copies is let alone. */
  clone_or_fail (&scene, "/S", "/Z", 1);
  /* The target itself counts, also where nothing would be written to it. */
  write_paths (&scene, "/U/A", scene.a, 1, "1");
  write_paths (&scene, "/V", scene.b, 1, "1");
  assert_copy_refused (&scene, "/U", "/V", 1, OVSTAGE_ERROR_ALREADY_EXISTS, "'/V'");
  scene_clear (&scene);
}

/* As of the ordinal: what comes later does not exist yet, what is gone by then does no more. */
static void
test_exists_as_of (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  write_paths (&scene, "/later", scene.a, 5, "5");
  write_paths (&scene, "/gone", scene.a, 1, "6");
  delete_paths (&scene, "/gone", NO_TOKENS, 3);
  assert_copy_refused (&scene, "/S", "/later", 5, OVSTAGE_ERROR_ALREADY_EXISTS, "'/later'");
  assert_copy_refused (&scene, "/S", "/gone", 2, OVSTAGE_ERROR_ALREADY_EXISTS, "'/gone'");
  clone_or_fail (&scene, "/S", "/later /gone", 4);
  seal_or_fail (&scene, 4);
  assert_paths (&scene, "/later /gone", scene.a, 4, "1 1");
  seal_or_fail (&scene, 5);
  assert_paths (&scene, "/later /gone", scene.a, 5, "5 1");
  scene_clear (&scene);
}

/* NOT_FOUND, floor, ALREADY_EXISTS */
static void
test_order_of_faults (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /X", scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  assert_copy_refused (&scene, "/none", "/X /X", 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[1]");
  assert_copy_refused (&scene, "/none", "/X", 1, OVSTAGE_ERROR_NOT_FOUND, "/none");
  assert_copy_refused (&scene, "/S", "/X", 1, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'");
  assert_copy_refused (&scene, "/S", "/X", 2, OVSTAGE_ERROR_ALREADY_EXISTS, "/X");
  scene_clear (&scene);
}

static void
test_no_targets (void)
{
  Scene scene;

  scene_init (&scene, 1);
  assert_ok (ovs_stage_clone (scene.stage, "/S", NULL, 0, 1));
  scene_clear (&scene);
}

static void
test_closed (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  ovs_stage_close (scene.stage);
  assert_copy_refused (&scene, "/S", "/X", 1, OVSTAGE_ERROR_INVALID_HANDLE, "closed");
  scene_clear (&scene);
}

static void
test_out_of_memory (void)
{
  guint n_failures = 0;

  for (gint after = 0; after < 40; after++)
    {
      Scene scene;
      OvsOp *op;

      scene_init_plain (&scene, 1);
      write_paths (&scene, "/S /S/A /S/B", scene.a, 1, "1 2 3");
      write_paths (&scene, "/S/A", scene.b, 1, "4");
      write_arrays (&scene, "/S/B", scene.c, 1, "5,6");
      seal_or_fail (&scene, 1);
      write_arrays (&scene, "/S", scene.c, 2, "7");
      write_paths (&scene, "/S/A", scene.a, 2, "5");
      ovs_pool_fail_after (scene.stage->pool, after);
      {
        g_autofree char *before = NULL, *now = NULL;

        intern_names (&scene, "/X /Y");
        before = dump_state (scene.stage);
        op = copy (&scene, "/S", "/X /Y", 3);
        ovs_pool_fail_after (scene.stage->pool, -1);
        if (ovs_op_get_error (op) != NULL)
          {
            n_failures++;
            g_assert_error (ovs_op_get_error (op), OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
            now = dump_state (scene.stage);
            g_assert_cmpstr (before, ==, now);
            clone_or_fail (&scene, "/S", "/X /Y", 3);
          }
      }
      ovs_op_unref (op);
      seal_or_fail (&scene, 3);
      assert_paths (&scene, "/X /X/A /X/B /Y /Y/A /Y/B", scene.a, 3, "1 5 3 1 5 3");
      assert_paths (&scene, "/X/A /Y/A", scene.b, 3, "4 4");
      assert_paths (&scene, "/X /Y/B", scene.c, 3, "7 5,6");
      scene_clear (&scene);
    }
  g_assert_cmpuint (n_failures, >, 2);
  g_assert_cmpuint (n_failures, <, 40);
}

static void
test_budget (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096, .staging_budget = 4096, .n_threads = 1 };
  g_autofree char *targets = NULL;
  GString *text = g_string_new ("/T0");
  Scene scene;

  scene_init_full (&scene, 1, &config);
  write_paths (&scene, "/S", scene.a, 1, "1");
  seal_or_fail (&scene, 1);
  for (guint i = 1; i < 2000; i++)
    g_string_append_printf (text, " /T%u", i);
  targets = g_string_free (text, FALSE);
  intern_names (&scene, targets);
  assert_refused (&scene, copy (&scene, "/S", targets, 2), OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget is 4096");
  scene_clear (&scene);
}

/* --- bytes --- */

/* Earlier bytes are on their way: the clone is booked, and its own follow. Later writes do not reach it. */
static void
test_in_flight (void)
{
  Scene scene;
  OvsOp *source, *write, *copied, *later, *sealed;

  scene_init_paused (&scene, 1);
  source = query_paths_or_fail (scene.stage, "/S /S/A");
  write = write_payload (&scene, source, scene.a, 1, payload_text ("1 2"));
  copied = copy (&scene, "/S", "/X", 2);
  g_assert_false (ovs_op_is_done (copied));
  g_assert_cmpuint (ovs_op_get_id (copied), >, ovs_op_get_id (write));
  g_assert_cmpuint (ovs_op_get_lowest_pending (copied), ==, ovs_op_get_id (write));
  /* It is booked: the next one sees it, and it is not to be withdrawn. */
  assert_copy_refused (&scene, "/S", "/X", 2, OVSTAGE_ERROR_ALREADY_EXISTS, "/X");
  g_assert_false (ovs_op_cancel (copied));
  later = write_payload (&scene, source, scene.a, 2, payload_text ("8 9"));
  sealed = advance (&scene, 2);
  scene_resume (&scene);
  assert_ok (sealed);
  assert_ok (write);
  assert_ok (later);
  assert_ok (copied);
  assert_paths (&scene, "/X /X/A /S /S/A", scene.a, 2, "1 2 8 9");
  ovs_op_unref (source);
  scene_clear (&scene);
}

/* Which fault is told does not depend on how far an advance has come: the source exists as of what it will seal. */
static void
test_closing (void)
{
  Scene scene;
  OvsOp *source, *write, *sealed;

  scene_init_paused (&scene, 1);
  source = query_paths_or_fail (scene.stage, "/S /S/A");
  write = write_payload (&scene, source, scene.a, 2, payload_text ("1 2"));
  sealed = advance (&scene, 4);
  g_assert_false (ovs_op_is_done (sealed));
  assert_copy_refused (&scene, "/S", "/X", 0, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "0");
  assert_copy_refused (&scene, "/S", "/X", 4, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "4");
  assert_copy_refused (&scene, "/T", "/X", 4, OVSTAGE_ERROR_NOT_FOUND, "/T");
  scene_resume (&scene);
  assert_ok (sealed);
  assert_ok (write);
  assert_copy_refused (&scene, "/S", "/X", 0, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "0");
  ovs_op_unref (source);
  scene_clear (&scene);
}

/* The floor of what the source does not have has no say, however far an advance will raise it. */
static void
test_closing_elsewhere (void)
{
  Scene scene;
  OvsOp *write, *sealed, *made;

  scene_init (&scene, 1);
  write_paths (&scene, "/S", scene.a, 1, "1");
  write_paths (&scene, "/T", scene.b, 1, "2");
  seal_or_fail (&scene, 1);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, scene.query, scene.b, 8, payload_text ("1"));
  sealed = ovs_stage_advance (scene.stage, 9, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  g_assert_false (ovs_op_is_done (sealed));
  assert_copy_refused (&scene, "/T", "/Y", 5, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b'", "5", "9");
  made = ovs_stage_clone (scene.stage, "/S", (const char *const[]){ "/X" }, 1, 5);
  scene_resume (&scene);
  assert_ok (made);
  assert_ok (write);
  assert_ok (sealed);
  seal_or_fail (&scene, 9);
  assert_paths (&scene, "/X", scene.a, 9, "1");
  scene_clear (&scene);
}

/* What the source had at the ordinal is not kept any more, but that it had something is known. */
static void
test_forgotten (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_paths (&scene, "/S /T", scene.a, 1, "1 2");
  write_paths (&scene, "/S", scene.b, 1, "3");
  seal_or_fail (&scene, 1);
  delete_paths (&scene, "/S", TOKENS (scene.a), 5);
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  write_paths (&scene, "/T", scene.a, 6, "4");
  seal_scope_or_fail (&scene, 7, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_copy_refused (&scene, "/S", "/X", 4, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "4", "7");
  clone_or_fail (&scene, "/S", "/Y", 6);
  clone_or_fail (&scene, "/S", "/Z", 8);
  seal_or_fail (&scene, 8);
  assert_paths (&scene, "/Y /Z", scene.a, 8, "- -");
  assert_paths (&scene, "/Y /Z", scene.b, 8, "3 3");
  scene_clear (&scene);
}

/* Behind a clone that is on its way: another clone, a masked write of what it copies, a seal. */
static void
test_chain (void)
{
  Scene scene;
  OvsOp *source, *ops[5];

  scene_init_paused (&scene, 1);
  source = query_paths_or_fail (scene.stage, "/S /S/A /S/B");
  ops[0] = write_payload (&scene, source, scene.a, 1, payload_text ("1 2 3"));
  ops[1] = write_payload (&scene, source, scene.a, 1, with_mask (payload_text ("7 8 9"), "010"));
  ops[2] = copy (&scene, "/S", "/X /Y", 1);
  ops[3] = copy (&scene, "/X", "/Z", 1);
  ops[4] = advance (&scene, 1);
  scene_resume (&scene);
  for (guint i = 0; i < 5; i++)
    assert_ok (ops[4 - i]);
  assert_paths (&scene, "/X /X/A /X/B /Y/A /Z /Z/A /Z/B", scene.a, 1, "1 8 3 8 1 8 3");
  ovs_op_unref (source);
  scene_clear (&scene);
}

/* The stage is closed in between: what is booked comes to its end. */
static void
test_close (void)
{
  Scene scene;
  OvsOp *source, *write, *copied;

  scene_init_paused (&scene, 1);
  source = query_paths_or_fail (scene.stage, "/S /S/A");
  write = write_payload (&scene, source, scene.a, 1, payload_text ("1 2"));
  copied = copy (&scene, "/S", "/X", 2);
  ovs_op_unref (source);
  ovs_stage_close (scene.stage);
  assert_ok (write);
  assert_ok (copied);
  scene_clear (&scene);
}

static void
test_queue_full (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 1, .n_threads = 1 };
  Scene scene;
  OvsOp *source, *write;

  scene_init_full (&scene, 1, &config);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  source = query_paths_or_fail (scene.stage, "/S");
  write = write_payload (&scene, source, scene.a, 1, payload_text ("1"));
  assert_copy_refused (&scene, "/S", "/X", 1, OVSTAGE_ERROR_QUEUE_FULL, "queue-capacity is 1");
  scene_resume (&scene);
  assert_ok (write);
  ovs_op_unref (source);
  scene_clear (&scene);
}

/* A query that the test ends when it likes. */
static OvsOp *
pending_query (Scene *scene)
{
  OvsOp *query = ovs_op_new (scene->stage, OVS_OP_QUERY, sizeof (OvsQuery));

  ovs_stage_lock (scene->stage);
  ovs_op_book (query);
  ovs_op_set_pending (query);
  ovs_stage_unlock (scene->stage);
  return query;
}

static void
end_query (OvsOp *query, OvsOp *like)
{
  GQueue ready = G_QUEUE_INIT;

  ovs_stage_lock (query->stage);
  query->begun = TRUE;
  ((OvsQuery *) query)->list = ovs_path_list_ref (ovs_query_get_list (like));
  ovs_op_unset_pending (query, NULL, &ready);
  ovs_stage_unlock (query->stage);
  ovs_op_end (query);
  ovs_ops_run (&ready);
}

/* Earlier writes that wait for their prims come first, later ones do not reach it, and its floor is that of its submission. */
static void
test_behind_a_query (void)
{
  for (guint async = 0; async < 2; async++)
    {
      Scene scene;
      OvsOp *source, *query, *ops[6], *withdrawn, *failed;

      scene_init (&scene, 1);
      ovs_debug_set_flags (async ? OVS_DEBUG_ASYNC : 0);
      source = query_paths_or_fail (scene.stage, "/S /S/A");
      query = pending_query (&scene);
      ops[0] = write_payload (&scene, query, scene.a, 3, payload_text ("1 2"));
      ops[1] = copy (&scene, "/S", "/X", 3);
      ops[2] = write_payload (&scene, source, scene.a, 3, payload_text ("8 9"));
      ops[3] = copy (&scene, "/X", "/Y", 3);
      failed = copy (&scene, "/none", "/Z", 3);
      withdrawn = copy (&scene, "/S", "/Z", 3);
      ops[4] = write_payload (&scene, source, scene.b, 4, payload_text ("5 6"));
      ops[5] = advance (&scene, 3);
      for (guint i = 0; i < 4; i++)
        g_assert_false (ovs_op_is_done (ops[i]));
      g_assert_cmpuint (ovs_op_get_lowest_pending (ops[1]), ==, ovs_op_get_id (query));
      g_assert_true (ovs_op_cancel (withdrawn));
      g_assert_true (ovs_op_is_withdrawn (withdrawn));
      ovs_op_unref (withdrawn);
      end_query (query, source);
      for (guint i = 0; i < 6; i++)
        assert_ok (ops[i]);
      assert_failed (failed, OVSTAGE_ERROR_NOT_FOUND, "/none");
      ovs_debug_set_flags (0);
      assert_paths (&scene, "/X /X/A /Y /Y/A /Z /S /S/A", scene.a, 3, "1 2 1 2 - 8 9");
      ovs_op_unref (query);
      ovs_op_unref (source);
      scene_clear (&scene);
    }
}

/* Many prims, many targets, with bytes that the stage's threads move. */
static void
test_large (void)
{
  Scene scene;
  OvsOp *source, *copies;
  guint n = 5000, n_targets = 20;
  GString *paths = g_string_new ("/S"), *targets = g_string_new (NULL), *copy_paths = g_string_new (NULL);
  OvstageWriteData *payload;
  OvstageReadGroup *group;

  scene_init (&scene, 1);
  for (guint i = 1; i < n; i++)
    g_string_append_printf (paths, " /S/%u/%u", i % 70, i);
  for (guint t = 0; t < n_targets; t++)
    {
      g_string_append_printf (targets, "%s/T/%u", t > 0 ? " " : "", t);
      for (guint i = 1; i < n; i++)
        g_string_append_printf (copy_paths, "%s/T/%u/%u/%u", copy_paths->len > 0 ? " " : "", t, i % 70, i);
    }
  source = query_paths_or_fail (scene.stage, paths->str);
  payload = payload_rows (float32x4, n);
  for (guint i = 0; i < 4 * n; i++)
    payload_floats (payload)[i] = (float) i;
  write_or_fail (&scene, source, scene.a, 1, payload);
  clone_or_fail (&scene, "/S", targets->str, 1);
  seal_or_fail (&scene, 1);
  copies = query_paths_or_fail (scene.stage, copy_paths->str);
  group = only_group_or_fail (&scene, copies, scene.a, 1);
  g_assert_cmpuint (group->prim_count, ==, (n - 1) * n_targets);
  for (guint32 i = 0; i < group->prim_count; i++)
    {
      guint32 prim = ovs_read_group_prim_index (group, i) % (n - 1) + 1;
      const float *row = (const float *) group_row (group, i);

      if (row[0] != (float) (4 * prim) || row[3] != (float) (4 * prim + 3))
        g_error ("copy %u is %g, not %u", i, row[0], 4 * prim);
    }
  ovs_read_group_unref (group);
  ovs_op_unref (copies);
  ovs_op_unref (source);
  g_string_free (paths, TRUE);
  g_string_free (targets, TRUE);
  g_string_free (copy_paths, TRUE);
  scene_clear (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine-clone/subtree", test_subtree);
  g_test_add_func ("/engine-clone/deep", test_deep);
  g_test_add_func ("/engine-clone/sources", test_sources);
  g_test_add_func ("/engine-clone/target-inside-source", test_target_inside_source);
  g_test_add_func ("/engine-clone/target-above-source", test_target_above_source);
  g_test_add_func ("/engine-clone/schemas", test_schemas);
  g_test_add_func ("/engine-clone/written-again", test_written_again);
  g_test_add_func ("/engine-clone/arrays", test_arrays);
  g_test_add_func ("/engine-clone/arrays-shared", test_arrays_shared);
  g_test_add_func ("/engine-clone/rebased", test_rebased);
  g_test_add_func ("/engine-clone/arrays-in-flight", test_arrays_in_flight);
  g_test_add_func ("/engine-clone/as-of", test_as_of);
  g_test_add_func ("/engine-clone/as-of-deletes", test_as_of_deletes);
  g_test_add_func ("/engine-clone/sealed-apart", test_sealed_apart);
  g_test_add_func ("/engine-clone/changes", test_changes);
  g_test_add_func ("/engine-clone/unsealed", test_unsealed);
  g_test_add_func ("/engine-clone/faults/paths", test_paths);
  g_test_add_func ("/engine-clone/faults/not-found", test_not_found);
  g_test_add_func ("/engine-clone/faults/floors", test_floors);
  g_test_add_func ("/engine-clone/faults/already-exists", test_already_exists);
  g_test_add_func ("/engine-clone/faults/exists-as-of", test_exists_as_of);
  g_test_add_func ("/engine-clone/faults/order", test_order_of_faults);
  g_test_add_func ("/engine-clone/faults/no-targets", test_no_targets);
  g_test_add_func ("/engine-clone/faults/closed", test_closed);
  g_test_add_func ("/engine-clone/faults/out-of-memory", test_out_of_memory);
  g_test_add_func ("/engine-clone/faults/budget", test_budget);
  g_test_add_func ("/engine-clone/faults/queue-full", test_queue_full);
  g_test_add_func ("/engine-clone/in-flight", test_in_flight);
  g_test_add_func ("/engine-clone/closing", test_closing);
  g_test_add_func ("/engine-clone/closing-elsewhere", test_closing_elsewhere);
  g_test_add_func ("/engine-clone/forgotten", test_forgotten);
  g_test_add_func ("/engine-clone/chain", test_chain);
  g_test_add_func ("/engine-clone/close", test_close);
  g_test_add_func ("/engine-clone/behind-a-query", test_behind_a_query);
  g_test_add_func ("/engine-clone/large", test_large);
  return g_test_run ();
}
