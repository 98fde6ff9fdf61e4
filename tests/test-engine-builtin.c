/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Attributes that are built in: what exists, and where. */

#include "config.h"

#include "engine-helpers.h"

#include "op/ovs-existence.h"

typedef struct
{
  Scene scene;
  OvsOp *query; /* of /, /World, /World/A, /World/B, /World/A/C */
  guint64 path, parent;
} Tree;

static OvsOp *
query_paths_or_fail (OvsStage *stage, const char *text)
{
  g_auto (GStrv) paths = g_strsplit (text, " ", -1);
  guint n = g_strv_length (paths);
  g_autoptr (GError) error = NULL;
  OvstagePathList *list = ovs_path_list_new_for_strings (ovs_stage_get_dict (stage), (const char *const *) paths,
                                                         text[0] != '\0' ? n : 0, &error);
  OvsOp *query;

  g_assert_no_error (error);
  query = ovs_stage_query_list (stage, list);
  ovs_path_list_unref (list);
  return query;
}

static void
tree_init (Tree *tree)
{
  scene_init (&tree->scene, 1);
  tree->query = query_paths_or_fail (tree->scene.stage, "/ /World /World/A /World/B /World/A/C");
  tree->path = token_or_fail (tree->scene.stage, "usd-path");
  tree->parent = token_or_fail (tree->scene.stage, "usd-parent");
}

static void
tree_clear (Tree *tree)
{
  ovs_op_unref (tree->query);
  scene_clear (&tree->scene);
}

static void
write_paths (Scene *scene, const char *paths, guint64 attribute, guint64 ordinal)
{
  OvsOp *query = query_paths_or_fail (scene->stage, paths);

  write_or_fail (scene, query, attribute, ordinal, payload_fill (float32, ovs_query_get_list (query)->n, 1));
  ovs_op_unref (query);
}

static void
delete_paths (Scene *scene, const char *paths, guint64 ordinal)
{
  OvsOp *query = query_paths_or_fail (scene->stage, paths);

  assert_ok (ovs_stage_delete (scene->stage, query, NO_TOKENS, ordinal));
  ovs_op_unref (query);
}

/* For each prim of the query, the path that it was given; "-" for no row. Takes @read. */
static char *
paths_to_text (Scene *scene, OvsOp *read)
{
  OvsPathDict *dict = ovs_stage_get_dict (scene->stage);
  g_autofree char *numbers = read_to_text (read);
  g_auto (GStrv) words = g_strsplit (numbers, " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (g_ascii_isdigit (words[i][0]))
      {
        char *path = ovs_path_dict_dup_path (dict, (guint32) g_ascii_strtoull (words[i], NULL, 10));

        g_free (words[i]);
        words[i] = path;
      }
  return g_strjoinv (" ", words);
}

static void
assert_paths (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, const char *expected)
{
  g_autofree char *text = paths_to_text (scene, read_at (scene, query, &attribute, 1, ordinal));

  g_assert_cmpstr (text, ==, expected);
}

static void
test_path (void)
{
  Tree tree;

  tree_init (&tree);
  assert_paths (&tree.scene, tree.query, tree.path, 0, "- - - - -");
  write_paths (&tree.scene, "/World /World/A/C", tree.scene.a, 1);
  assert_paths (&tree.scene, tree.query, tree.path, 0, "- /World - - /World/A/C");
  write_paths (&tree.scene, "/ /World/A /World/B", tree.scene.b, 1);
  assert_paths (&tree.scene, tree.query, tree.path, 0, "/ /World /World/A /World/B /World/A/C");
  tree_clear (&tree);
}

/* The path above, whether it exists or not; the root has none. */
static void
test_parent (void)
{
  Tree tree;

  tree_init (&tree);
  write_paths (&tree.scene, "/World /World/A/C", tree.scene.a, 1);
  assert_paths (&tree.scene, tree.query, tree.parent, 0, "- / - - /World/A");
  write_paths (&tree.scene, "/ /World/A /World/B", tree.scene.a, 1);
  assert_paths (&tree.scene, tree.query, tree.parent, 0, "- / /World /World /World/A");
  tree_clear (&tree);
}

/* For each prim of the query, "path:" and its children, or "path-" where it has no row. */
static void
assert_children (Tree *tree, const char *expected)
{
  guint64 token = token_or_fail (tree->scene.stage, "usd-children");
  OvsOp *read = read_or_fail (&tree->scene, tree->query, &token, 1, 0);
  OvstageReadGroup *group = next_group_or_fail (read);
  OvstagePathList *list = ovs_query_get_list (tree->query);
  OvsPathDict *dict = ovs_stage_get_dict (tree->scene.stage);
  GString *text = g_string_new (NULL);
  guint32 next = 0;

  for (guint32 entry = 0; entry < list->n; entry++)
    {
      g_autofree char *path = ovs_path_dict_dup_path (dict, list->ids[entry]);
      gboolean has_row = group != NULL && next < group->prim_count && ovs_read_group_prim_index (group, next) == entry;
      OvstageTensor *row = NULL;

      g_string_append_printf (text, "%s%s%s", entry > 0 ? " " : "", path, has_row ? ":" : "-");
      if (!has_row)
        continue;
      row = ovs_read_group_ref_tensor (group, ovs_read_group_data_row (group, next++));
      for (gint64 i = 0; i < row->shape[0]; i++)
        {
          g_autofree char *child = ovs_path_dict_dup_path (dict, ((const guint64 *) row->data)[i]);

          g_string_append_printf (text, "%s%s", i > 0 ? "," : "", child);
        }
      ovs_tensor_unref (row);
    }
  g_assert_cmpstr (text->str, ==, expected);
  g_string_free (text, TRUE);
  if (group != NULL)
    {
      g_assert_true (group->is_array);
      g_assert_true (ovs_dtype_equal (group->dtype, uint64x1));
      g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_NONE);
      g_assert_cmpuint (group->n_tensors, ==, group->prim_count);
      g_assert_cmpuint (group->ordinal, ==, 0);
      ovs_read_group_unref (group);
    }
  ovs_op_unref (read);
}

/* Those one level below that exist, in the order of their ids, however they come and go. */
static void
test_children (void)
{
  Tree tree;

  tree_init (&tree);
  assert_children (&tree, "/- /World- /World/A- /World/B- /World/A/C-");
  write_paths (&tree.scene, "/World/B / /World/A/C", tree.scene.a, 1);
  assert_children (&tree, "/: /World- /World/A- /World/B: /World/A/C:");
  write_paths (&tree.scene, "/World/A /World /Other /World/B/D", tree.scene.a, 1);
  assert_children (&tree, "/:/World,/Other /World:/World/A,/World/B /World/A:/World/A/C /World/B:/World/B/D /World/A/C:");
  delete_paths (&tree.scene, "/World/A /World/B/D", 2);
  assert_children (&tree, "/:/World,/Other /World:/World/B /World/A- /World/B: /World/A/C:");
  delete_paths (&tree.scene, "/World", 2);
  write_paths (&tree.scene, "/World/A", tree.scene.b, 2);
  assert_children (&tree, "/:/Other /World- /World/A:/World/A/C /World/B: /World/A/C:");
  write_paths (&tree.scene, "/World", tree.scene.b, 3);
  assert_children (&tree, "/:/World,/Other /World:/World/A,/World/B /World/A:/World/A/C /World/B: /World/A/C:");
  tree_clear (&tree);
}

/* Against each prim's parent, over many that come and go. */
static void
test_children_random (void)
{
  Scene scene;
  GString *paths = g_string_new ("/p");
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  guint64 token;
  OvsOp *all;
  OvstagePathList *list;
  guint64 ordinal = 1;

  scene_init (&scene, 1);
  token = token_or_fail (scene.stage, "usd-children");
  for (guint i = 0; i < 200; i++)
    g_string_append_printf (paths, " /p/%u%s%u", i % 14, i % 3 == 0 ? "/x/" : i % 3 == 1 ? "/" : "", i);
  all = query_paths_or_fail (scene.stage, paths->str);
  list = ovs_query_get_list (all);
  for (guint round = 0; round < 30; round++)
    {
      g_autoptr (GArray) some = g_array_new (FALSE, FALSE, sizeof (guint64));
      g_autoptr (GHashTable) found = g_hash_table_new (NULL, NULL);
      OvstagePathList *picked;
      OvstageReadGroup *group;
      OvsOp *query;
      guint n = 0, n_found = 0;

      for (guint32 i = 0; i < list->n; i++)
        {
          guint64 id = list->ids[i];

          if (g_rand_int_range (rand, 0, 3) == 0)
            g_array_append_val (some, id);
        }
      picked = ovs_path_list_new (ovs_stage_get_dict (scene.stage), (const guint64 *) some->data, some->len, NULL);
      query = ovs_stage_query_list (scene.stage, picked);
      if (round % 2 == 0)
        write_or_fail (&scene, query, scene.a, ordinal, payload_fill (float32, picked->n, 1));
      else
        assert_ok (ovs_stage_delete (scene.stage, query, NO_TOKENS, ordinal));
      ovs_op_unref (query);
      ovs_path_list_unref (picked);
      seal_or_fail (&scene, ordinal++);

      group = only_group_or_fail (&scene, all, token, 0);
      for (guint32 i = 0; i < group->prim_count; i++)
        {
          OvstageTensor *row = ovs_read_group_ref_tensor (group, i);

          for (gint64 c = 0; c < row->shape[0]; c++)
            {
              guint32 child = (guint32) ((const guint64 *) row->data)[c];

              g_assert_cmpuint (ovs_path_dict_get_parent (ovs_stage_get_dict (scene.stage), child), ==,
                                list->ids[ovs_read_group_prim_index (group, i)]);
              g_assert_true (g_hash_table_add (found, GUINT_TO_POINTER (child)));
              n_found++;
            }
          ovs_tensor_unref (row);
        }
      ovs_read_group_unref (group);
      for (guint32 i = 0; i < list->n; i++)
        n += ovs_stage_has_prim (scene.stage, list->ids[i]) &&
             ovs_stage_has_prim (scene.stage, ovs_path_dict_get_parent (ovs_stage_get_dict (scene.stage), list->ids[i]));
      g_assert_cmpuint (n_found, ==, n);
    }
  g_string_free (paths, TRUE);
  ovs_op_unref (all);
  scene_clear (&scene);
}

/* A prim that has lost one of its attributes is there, one that has lost all is not. */
static void
test_deleted (void)
{
  Tree tree;
  OvsOp *world;

  tree_init (&tree);
  world = query_paths_or_fail (tree.scene.stage, "/World");
  write_paths (&tree.scene, "/ /World /World/A", tree.scene.a, 1);
  write_paths (&tree.scene, "/World", tree.scene.b, 1);
  assert_ok (ovs_stage_delete (tree.scene.stage, world, TOKENS (tree.scene.a), 2));
  assert_paths (&tree.scene, tree.query, tree.path, 0, "/ /World /World/A - -");
  delete_paths (&tree.scene, "/World", 3);
  assert_paths (&tree.scene, tree.query, tree.path, 0, "/ - /World/A - -");
  assert_paths (&tree.scene, tree.query, tree.parent, 0, "- - /World - -");
  write_paths (&tree.scene, "/World", tree.scene.c, 3);
  assert_paths (&tree.scene, tree.query, tree.path, 0, "/ /World /World/A - -");
  ovs_op_unref (world);
  tree_clear (&tree);
}

/* The newest structure, whatever the ordinal; nothing unsealed is in the way, at depth 1 either. */
static void
test_newest (void)
{
  Tree tree;

  tree_init (&tree);
  write_paths (&tree.scene, "/World", tree.scene.a, 1);
  write_paths (&tree.scene, "/World", tree.scene.a, 2);
  seal_or_fail (&tree.scene, 2);
  write_paths (&tree.scene, "/World/A", tree.scene.a, 9);
  assert_paths (&tree.scene, tree.query, tree.path, 0, "- /World /World/A - -");
  assert_paths (&tree.scene, tree.query, tree.path, 1, "- /World /World/A - -");
  assert_paths (&tree.scene, tree.query, tree.path, 100, "- /World /World/A - -");
  assert_paths (&tree.scene, tree.query, tree.path, OVSTAGE_ORDINAL_NEWEST, "- /World /World/A - -");
  /* Written below a delete that is there already: it comes to nothing. */
  delete_paths (&tree.scene, "/World/B", 9);
  write_paths (&tree.scene, "/World/B", tree.scene.a, 5);
  assert_paths (&tree.scene, tree.query, tree.path, 100, "- /World /World/A - -");
  tree_clear (&tree);
}

static void
test_group (void)
{
  Tree tree;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  tree_init (&tree);
  write_paths (&tree.scene, "/World/A /World/B", tree.scene.a, 7);
  seal_or_fail (&tree.scene, 5);
  group = only_group_or_fail (&tree.scene, tree.query, tree.path, 4);
  g_assert_cmpuint (group->attribute, ==, tree.path);
  g_assert_true (ovs_dtype_equal (group->dtype, uint64x1));
  g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_NONE);
  g_assert_false (group->is_array);
  g_assert_false (group->is_delete);
  g_assert_cmpuint (group->ordinal, ==, 4);
  g_assert_cmpuint (group->write_floor, ==, 5);
  /* A run of the list, in its order: no maps. */
  g_assert_cmpuint (group->prim_offset, ==, 2);
  g_assert_cmpuint (group->prim_count, ==, 2);
  g_assert_null (group->prim_map);
  g_assert_cmpuint (group->data_count, ==, 2);
  g_assert_null (group->data_map);
  g_assert_cmpuint (group->n_tensors, ==, 1);
  tensor = ovs_read_group_ref_tensor (group, 0);
  g_assert_cmpint (tensor->ndim, ==, 1);
  g_assert_cmpint (tensor->shape[0], ==, 2);
  ovs_tensor_unref (tensor);
  ovs_read_group_unref (group);

  write_paths (&tree.scene, "/", tree.scene.a, 7);
  group = only_group_or_fail (&tree.scene, tree.query, tree.path, 4);
  g_assert_cmpuint (group->prim_count, ==, 3);
  g_assert_nonnull (group->prim_map);
  g_assert_cmpuint (ovs_read_group_prim_index (group, 0), ==, 0);
  g_assert_cmpuint (ovs_read_group_prim_index (group, 1), ==, 2);
  g_assert_cmpuint (group->prim_offset, ==, 0);
  ovs_read_group_unref (group);
  tree_clear (&tree);
}

/* They are placed where they were asked for, and say nothing about how far the read is complete. */
static void
test_among_others (void)
{
  Tree tree;
  OvsOp *read;
  guint64 wanted[5];
  guint64 order[] = { 0, 0, 0 };

  tree_init (&tree);
  wanted[0] = tree.parent;
  wanted[1] = tree.scene.a;
  wanted[2] = tree.path;
  wanted[3] = tree.parent;
  wanted[4] = tree.scene.a;
  write_paths (&tree.scene, "/World/A /World/B", tree.scene.a, 3);
  seal_or_fail (&tree.scene, 3);
  seal_scope_or_fail (&tree.scene, 8, OVSTAGE_SCOPE_INCLUDE, TOKENS (tree.scene.a));
  read = read_or_fail (&tree.scene, tree.query, wanted, 5, 20);
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, 8);
  for (guint i = 0; i < 3; i++)
    {
      OvstageReadGroup *group = next_group_or_fail (read);

      g_assert_nonnull (group);
      order[i] = group->attribute;
      g_assert_cmpuint (group->ordinal, ==, group->attribute == tree.scene.a ? 3 : 8);
      ovs_read_group_unref (group);
    }
  g_assert_null (next_group_or_fail (read));
  g_assert_cmpuint (order[0], ==, tree.parent);
  g_assert_cmpuint (order[1], ==, tree.scene.a);
  g_assert_cmpuint (order[2], ==, tree.path);
  ovs_op_unref (read);

  /* Alone: the global floor. */
  read = read_or_fail (&tree.scene, tree.query, &tree.path, 1, 20);
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, 3);
  ovs_op_unref (read);
  tree_clear (&tree);
}

/* What exists is looked up as the read is submitted; how far it is complete is told by the advances before it. */
static void
test_behind_an_advance (void)
{
  Scene scene;
  OvsOp *write, *sealed, *read, *later;
  guint64 path;

  scene_init_paused (&scene, 2);
  path = token_or_fail (scene.stage, "usd-path");
  later = query_or_fail (&scene, "1");
  write = write_payload (&scene, later, scene.a, 4, payload_text ("1"));
  sealed = advance (&scene, 4);
  read = read_at (&scene, scene.query, &path, 1, OVSTAGE_ORDINAL_NEWEST);
  g_assert_false (ovs_op_is_done (read));
  ovs_debug_set_flags (0);
  write_text (&scene, scene.query, scene.b, 9, "1 2");
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (sealed);
  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, 4);
  {
    g_autofree char *text = paths_to_text (&scene, read);

    g_assert_cmpstr (text, ==, "- /p1");
  }
  ovs_op_unref (later);
  scene_clear (&scene);
}

static guint64
generation (Tree *tree)
{
  OvstageReadGroup *group = only_group_or_fail (&tree->scene, tree->query, tree->path, OVSTAGE_ORDINAL_NEWEST);
  guint64 found = group->layout_generation;

  ovs_read_group_unref (group);
  return found;
}

static void
test_generation (void)
{
  Tree tree;
  guint64 before, after;

  tree_init (&tree);
  write_paths (&tree.scene, "/World", tree.scene.a, 1);
  before = generation (&tree);
  write_paths (&tree.scene, "/World", tree.scene.a, 2);
  write_paths (&tree.scene, "/World", tree.scene.b, 2);
  seal_or_fail (&tree.scene, 2);
  g_assert_cmpuint (generation (&tree), ==, before);
  write_paths (&tree.scene, "/World/A", tree.scene.a, 3);
  after = generation (&tree);
  g_assert_cmpuint (after, >, before);
  delete_paths (&tree.scene, "/World/A", 3);
  g_assert_cmpuint (generation (&tree), >, after);
  tree_clear (&tree);
}

static void
test_active (void)
{
  Tree tree;
  guint64 wanted[2];

  tree_init (&tree);
  wanted[0] = tree.scene.a;
  wanted[1] = token_or_fail (tree.scene.stage, "usd-active");
  assert_refused (&tree.scene, read_at (&tree.scene, tree.query, wanted, 2, 0), OVSTAGE_ERROR_NOT_SUPPORTED, "attributes[1]",
                  "usd-active");
  tree_clear (&tree);
}

static void
test_nothing (void)
{
  Tree tree;
  OvsOp *none, *read;

  tree_init (&tree);
  none = query_paths_or_fail (tree.scene.stage, "");
  write_paths (&tree.scene, "/World", tree.scene.a, 1);
  read = read_or_fail (&tree.scene, none, &tree.path, 1, 0);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  delete_paths (&tree.scene, "/World", 1);
  read = read_or_fail (&tree.scene, tree.query, &tree.path, 1, 0);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  ovs_op_unref (none);
  tree_clear (&tree);
}

/* A group stays as it is, past writes, deletes and the stage. */
static void
test_held (void)
{
  Tree tree;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  tree_init (&tree);
  write_paths (&tree.scene, "/World /World/A", tree.scene.a, 1);
  group = only_group_or_fail (&tree.scene, tree.query, tree.parent, 0);
  tensor = ovs_read_group_ref_tensor (group, 0);
  delete_paths (&tree.scene, "/World", 1);
  g_assert_cmpuint (((guint64 *) tensor->data)[1], ==, ovs_query_get_list (tree.query)->ids[1]);
  ovs_tensor_unref (tensor);
  g_assert_cmpuint (*(const guint64 *) group_row (group, 0), ==, ovs_path_dict_get_root (ovs_stage_get_dict (tree.scene.stage)));
  ovs_read_group_unref (group);
  tree_clear (&tree);
}

static void
test_out_of_memory (void)
{
  Tree tree;
  guint64 wanted;

  tree_init (&tree);
  write_paths (&tree.scene, "/World", tree.scene.a, 1);
  ovs_pool_fail_after (tree.scene.stage->pool, 0);
  assert_refused (&tree.scene, read_at (&tree.scene, tree.query, &tree.path, 1, 0), OVSTAGE_ERROR_OUT_OF_MEMORY, "8 bytes", "usd-path");
  wanted = token_or_fail (tree.scene.stage, "usd-children");
  for (gint after = 0; after < 2; after++)
    {
      ovs_pool_fail_after (tree.scene.stage->pool, after);
      assert_refused (&tree.scene, read_at (&tree.scene, tree.query, &wanted, 1, 0), OVSTAGE_ERROR_OUT_OF_MEMORY, "usd-children");
    }
  assert_paths (&tree.scene, tree.query, tree.path, 0, "- /World - - -");
  tree_clear (&tree);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine-builtin/path", test_path);
  g_test_add_func ("/engine-builtin/parent", test_parent);
  g_test_add_func ("/engine-builtin/children", test_children);
  g_test_add_func ("/engine-builtin/children-random", test_children_random);
  g_test_add_func ("/engine-builtin/deleted", test_deleted);
  g_test_add_func ("/engine-builtin/newest", test_newest);
  g_test_add_func ("/engine-builtin/group", test_group);
  g_test_add_func ("/engine-builtin/among-others", test_among_others);
  g_test_add_func ("/engine-builtin/behind-an-advance", test_behind_an_advance);
  g_test_add_func ("/engine-builtin/generation", test_generation);
  g_test_add_func ("/engine-builtin/active", test_active);
  g_test_add_func ("/engine-builtin/nothing", test_nothing);
  g_test_add_func ("/engine-builtin/held", test_held);
  g_test_add_func ("/engine-builtin/out-of-memory", test_out_of_memory);
  return g_test_run ();
}
