/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The values of an attribute as of an ordinal, unsealed ones included, without
 * anything being published (lib/column/ovs-peek.h). */

#include "config.h"

#include "engine-helpers.h"

static OvsPeek *
plan (Scene *scene, guint64 attribute, guint64 ordinal, GError **error)
{
  OvsPeek *peek;

  ovs_stage_lock (scene->stage);
  peek = ovs_stage_peek (scene->stage, ovs_stage_get_attr (scene->stage, (guint32) attribute), ordinal, error);
  ovs_stage_unlock (scene->stage);
  return peek;
}

static OvsPeek *
plan_or_fail (Scene *scene, guint64 attribute, guint64 ordinal)
{
  g_autoptr (GError) error = NULL;
  OvsPeek *peek = plan (scene, attribute, ordinal, &error);

  g_assert_no_error (error);
  g_assert_nonnull (peek);
  return peek;
}

/* The values of each prim of the scene, "-" where there is none. Takes @peek, which ran. */
static char *
peek_to_text (Scene *scene, OvsPeek *peek)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);

  g_ptr_array_set_size (rows, (gint) scene->n);
  for (guint v = 0; v < ovs_peek_get_n_versions (peek); v++)
    {
      OvsVersion *version = ovs_peek_get_version (peek, v);
      guint32 n_live = 0;

      ovs_stage_lock (scene->stage);
      for (guint32 row = 0; row < version->n_rows; row++)
        {
          guint32 entry;
          GString *one;

          if (!ovs_version_has_row (version, row))
            continue;
          n_live++;
          entry = ovs_path_list_index_of (scene->list, ovs_layout_get_prim (version->layout, row));
          g_assert_cmpuint (entry, <, scene->n);
          g_assert_null (rows->pdata[entry]);
          one = g_string_new (NULL);
          append_row (one, version->schema.dtype, version->values->data + (gsize) row * version->row_size);
          rows->pdata[entry] = g_string_free (one, FALSE);
        }
      ovs_stage_unlock (scene->stage);
      g_assert_cmpuint (n_live, ==, version->n_live);
    }
  for (guint i = 0; i < rows->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", rows->pdata[i] != NULL ? (char *) rows->pdata[i] : "-");
  ovs_peek_free (peek);
  return g_string_free (text, FALSE);
}

static void
assert_peek (Scene *scene, OvsPeek *peek, const char *expected)
{
  g_autofree char *text = NULL;

  ovs_peek_run (peek);
  text = peek_to_text (scene, peek);
  g_assert_cmpstr (text, ==, expected);
}

static const OvsBuffer *
get_values (OvsPeek *peek)
{
  g_assert_cmpuint (ovs_peek_get_n_versions (peek), ==, 1);
  return ovs_peek_get_version (peek, 0)->values;
}

static void
test_sealed (void)
{
  Scene scene;
  OvsPeek *peek;

  scene_init_plain (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  peek = plan_or_fail (&scene, scene.a, 7);
  g_assert_cmpuint (ovs_peek_get_work (peek), ==, 0);
  g_assert_true (ovs_peek_get_version (peek, 0) ==
                 ovs_column_get_current (ovs_stage_get_attr (scene.stage, (guint32) scene.a)->columns->pdata[0]));
  assert_peek (&scene, peek, "1 2 3");
  assert_peek (&scene, plan_or_fail (&scene, scene.a, OVSTAGE_ORDINAL_NEWEST), "1 2 3");
  scene_clear (&scene);
}

static void
test_no_copy_of_a_covering_write (void)
{
  Scene scene;
  OvsPeek *peek;
  const OvsBuffer *values;
  OvstageReadGroup *group;

  scene_init_plain (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  peek = plan_or_fail (&scene, scene.a, 1);
  values = get_values (peek);
  g_assert_cmpuint (ovs_peek_get_work (peek), ==, 0);
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  g_assert_true (group_row (group, 0) == values->data);
  ovs_read_group_unref (group);
  assert_peek (&scene, peek, "1 2 3");
  scene_clear (&scene);
}

static void
test_staged_bytes_stay (void)
{
  Scene scene;
  OvsOp *some;
  OvsPeek *one, *both;

  scene_init_plain (&scene, 3);
  some = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, some, scene.a, 2, "20");
  one = plan_or_fail (&scene, scene.a, 1);
  both = plan_or_fail (&scene, scene.a, 2);
  g_assert_true (get_values (one) != get_values (both));
  ovs_peek_run (both);
  assert_peek (&scene, one, "1 2 3");

  /* A seal of both scatters into the staged run, unless somebody looks at it. */
  one = plan_or_fail (&scene, scene.a, 1);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 20 3");
  assert_peek (&scene, one, "1 2 3");
  assert_peek (&scene, both, "1 20 3");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_sealed_bytes_stay (void)
{
  Scene scene;
  OvsOp *some;
  OvsPeek *before, *after;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "1 3");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_text (&scene, some, scene.a, 2, "20 40");
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 2), "1 20 3 40");
  assert_values (&scene, scene.query, scene.a, 1, "1 2 3 4");

  before = plan_or_fail (&scene, scene.a, 1);
  after = plan_or_fail (&scene, scene.a, 2);
  seal_or_fail (&scene, 2);
  write_text (&scene, some, scene.a, 3, "21 41");
  seal_or_fail (&scene, 3);
  assert_peek (&scene, before, "1 2 3 4");
  assert_peek (&scene, after, "1 20 3 40");
  assert_values (&scene, scene.query, scene.a, 3, "1 21 3 41");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_later_writes (void)
{
  Scene scene;
  OvsOp *some;
  OvsPeek *peek;

  scene_init_plain (&scene, 70);
  some = query_or_fail (&scene, "0 2");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 70, 1));
  seal_or_fail (&scene, 1);
  write_text (&scene, some, scene.a, 2, "5 6"); /* into an open part */
  peek = plan_or_fail (&scene, scene.a, 2);
  for (guint i = 0; i < 50; i++)
    write_text (&scene, some, scene.a, 2, "7 8");
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32, 70, 9)); /* drops what was staged before */
  seal_or_fail (&scene, 2);
  ovs_peek_run (peek);
  g_assert_cmpfloat (((const float *) get_values (peek)->data)[0], ==, 5);
  g_assert_cmpfloat (((const float *) get_values (peek)->data)[1], ==, 1);
  g_assert_cmpfloat (((const float *) get_values (peek)->data)[2], ==, 6);
  ovs_peek_free (peek);
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_deletes_and_schemas (void)
{
  Scene scene;
  OvsOp *some, *other;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "1 2");
  other = query_or_fail (&scene, "2 3");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  assert_ok (ovs_stage_delete (scene.stage, some, &scene.a, 1, 2));
  write_or_fail (&scene, some, scene.a, 3, payload_fill (float32x3, 2, 9));
  assert_ok (ovs_stage_delete (scene.stage, other, NULL, 0, 4));
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 1), "1 2 3 4");
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 2), "1 - - 4");
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 3), "1 9,9,9 9,9,9 4");
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 4), "1 9,9,9 - -");
  assert_peek (&scene, plan_or_fail (&scene, scene.a, OVSTAGE_ORDINAL_NEWEST), "1 9,9,9 - -");
  seal_or_fail (&scene, 3);
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 5), "1 9,9,9 - -");
  ovs_op_unref (some);
  ovs_op_unref (other);
  scene_clear (&scene);
}

static void
test_history (void)
{
  Scene scene;
  g_autoptr (GError) error = NULL;

  scene_init_depth (&scene, 2, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 1");
  seal_or_fail (&scene, 1);
  write_text (&scene, scene.query, scene.a, 3, "3 3");
  seal_or_fail (&scene, 3);
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 2), "1 1");
  write_text (&scene, scene.query, scene.a, 4, "4 4");
  seal_or_fail (&scene, 4);
  g_assert_null (plan (&scene, scene.a, 2, &error));
  assert_error_says (error, OVSTAGE_ERROR_OUT_OF_RANGE,
                     (const char *const[]){ "'a'", "ordinal 2", "of 3", NULL });
  scene_clear (&scene);
}

/* The rows of a masked write are known before its bytes are there. */
static void
test_bytes_in_flight (void)
{
  Scene scene;
  OvsOp *first, *second, *waits;
  OvsPeek *peek;

  scene_init_paused (&scene, 4);
  first = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3 4"));
  second = write_payload (&scene, scene.query, scene.a, 2, with_mask (payload_text ("10 20 30 40"), "0110"));
  /* A delete makes the fold look at every row. */
  assert_ok (ovs_stage_delete (scene.stage, scene.query, &scene.b, 1, 3));
  assert_ok (ovs_stage_delete (scene.stage, scene.query, &scene.a, 1, 3));
  peek = plan_or_fail (&scene, scene.a, 2);
  g_assert_cmpuint (ovs_peek_get_version (peek, 0)->n_live, ==, 4);

  waits = ovs_op_new (scene.stage, OVS_OP_READ, sizeof (OvsRead));
  ovs_stage_lock (scene.stage);
  ovs_op_add_peek_deps (waits, (guint32) scene.a, 1);
  g_assert_cmpuint (waits->n_deps, ==, 1);
  ovs_op_add_peek_deps (waits, (guint32) scene.a, 2);
  g_assert_cmpuint (waits->n_deps, ==, 3);
  ovs_op_add_peek_deps (waits, (guint32) scene.b, 2);
  g_assert_cmpuint (waits->n_deps, ==, 3);
  ovs_op_drop_deps (waits);
  ovs_stage_unlock (scene.stage);
  ovs_op_unref (waits);

  scene_resume (&scene);
  assert_ok (first);
  assert_ok (second);
  assert_peek (&scene, peek, "1 20 30 4");
  scene_clear (&scene);
}

static void
test_out_of_memory (void)
{
  Scene scene;
  OvsOp *some;
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr (GError) error = NULL;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "1 2");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_text (&scene, some, scene.a, 2, "20 30");
  before = dump_state (scene.stage);
  ovs_pool_fail_after (scene.stage->pool, 0);
  g_assert_null (plan (&scene, scene.a, 2, &error));
  assert_error_says (error, OVSTAGE_ERROR_OUT_OF_MEMORY, (const char *const[]){ "'a'", "4 rows of 4 bytes", NULL });
  ovs_pool_fail_after (scene.stage->pool, -1);
  after = dump_state (scene.stage);
  g_assert_cmpstr (before, ==, after);
  assert_peek (&scene, plan_or_fail (&scene, scene.a, 2), "1 20 30 4");
  ovs_op_unref (some);
  scene_clear (&scene);
}

#define N_PRIMS 9
#define N_QUERIES 6

static void
do_something (Scene *scene, OvsOp **queries, guint64 floor)
{
  OvsOp *query = queries[g_random_int_range (0, N_QUERIES)];
  guint n = ovs_query_get_list (query)->n;
  guint64 ordinal = floor + (guint64) g_random_int_range (1, 6);
  OvstageDataType dtype = g_random_int_range (0, 4) == 0 ? float32x3 : float32;
  char mask[N_PRIMS + 1] = "";

  switch (g_random_int_range (0, 6))
    {
    case 0:
      ovs_op_unref (ovs_stage_delete (scene->stage, query, &scene->a, 1, ordinal));
      break;
    case 1:
      ovs_op_unref (ovs_stage_delete (scene->stage, query, NULL, 0, ordinal));
      break;
    case 2:
      for (guint i = 0; i < n; i++)
        mask[i] = g_random_boolean () ? '1' : '0';
      ovs_op_unref (write_payload (scene, query, scene->a, ordinal, with_mask (payload_fill (dtype, n, g_random_int_range (0, 1000)), mask)));
      break;
    default:
      ovs_op_unref (write_payload (scene, query, scene->a, ordinal, payload_fill (dtype, n, g_random_int_range (0, 1000))));
      break;
    }
}

static void
wait_for_writes (Scene *scene)
{
  gboolean pending = TRUE;

  while (pending)
    {
      ovs_stage_lock (scene->stage);
      pending = scene->stage->pending.length > 0;
      ovs_stage_unlock (scene->stage);
      if (pending)
        g_thread_yield ();
    }
}

/* What a peek gives is what a seal would. */
static void
test_random (void)
{
  static const char *const lists[N_QUERIES] = { "0-8", "1 3 5", "8-8", "0-3", "8 7 6", "4 0" };
  guint n_rounds = is_slow () ? 200 : 2000;

  for (guint round = 0; round < n_rounds; round++)
    {
      Scene scene;
      OvsOp *queries[N_QUERIES];
      guint64 floor = 0;

      scene_init (&scene, N_PRIMS);
      for (guint i = 0; i < N_QUERIES; i++)
        queries[i] = query_or_fail (&scene, lists[i]);
      write_text (&scene, queries[5], scene.b, 9, "0 0"); /* something lives on, whatever is deleted */

      for (guint step = 0; step < 3; step++)
        {
          OvsPeek *peek;
          guint64 target = floor + (guint64) g_random_int_range (1, 7);
          g_autofree char *found = NULL, *expected = NULL;

          for (gint i = g_random_int_range (0, 8); i > 0; i--)
            do_something (&scene, queries, floor);
          if (ovs_stage_get_attr (scene.stage, (guint32) scene.a) == NULL)
            continue;
          peek = plan_or_fail (&scene, scene.a, target);
          for (gint i = g_random_int_range (0, 3); i > 0; i--)
            do_something (&scene, queries, target); /* above it */
          wait_for_writes (&scene);
          if (g_random_boolean ())
            ovs_peek_run (peek);
          seal_or_fail (&scene, target);
          floor = target;
          expected = read_to_text (read_at (&scene, scene.query, &scene.a, 1, OVSTAGE_ORDINAL_NEWEST));
          if (g_random_boolean ())
            seal_or_fail (&scene, floor += 6);
          ovs_peek_run (peek);
          found = peek_to_text (&scene, peek);
          g_assert_cmpstr (found, ==, expected);
        }
      for (guint i = 0; i < N_QUERIES; i++)
        ovs_op_unref (queries[i]);
      scene_clear (&scene);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/engine/peek/sealed", test_sealed);
  g_test_add_func ("/engine/peek/no-copy-of-a-covering-write", test_no_copy_of_a_covering_write);
  g_test_add_func ("/engine/peek/staged-bytes-stay", test_staged_bytes_stay);
  g_test_add_func ("/engine/peek/sealed-bytes-stay", test_sealed_bytes_stay);
  g_test_add_func ("/engine/peek/later-writes", test_later_writes);
  g_test_add_func ("/engine/peek/deletes-and-schemas", test_deletes_and_schemas);
  g_test_add_func ("/engine/peek/history", test_history);
  g_test_add_func ("/engine/peek/bytes-in-flight", test_bytes_in_flight);
  g_test_add_func ("/engine/peek/out-of-memory", test_out_of_memory);
  g_test_add_func ("/engine/peek/random", test_random);

  return g_test_run ();
}
