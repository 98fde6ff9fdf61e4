/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Operations whose query is not done, and later ones that can see them (ENGINE rules
 * 16, 17, 20, 23; BEHAVIOUR, Operations 2 and 6). The query is a stand-in that the
 * test ends when it likes. */

#include "config.h"

#include "engine-helpers.h"
#include "op/ovs-map-group.h"

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
end_query (OvsOp *query, OvstagePathList *list, GError *error)
{
  GQueue ready = G_QUEUE_INIT;

  ovs_stage_lock (query->stage);
  query->begun = TRUE;
  ((OvsQuery *) query)->list = list;
  ovs_op_unset_pending (query, error, &ready);
  ovs_stage_unlock (query->stage);
  ovs_op_end (query);
  ovs_ops_run (&ready);
}

/* @prims: as for query_or_fail() */
static void
resolve (Scene *scene, OvsOp *query, const char *prims)
{
  OvsOp *like = query_or_fail (scene, prims);

  end_query (query, ovs_path_list_ref (ovs_query_get_list (like)), NULL);
  ovs_op_unref (like);
}

static void
assert_pending (OvsOp *op)
{
  g_assert_false (ovs_op_is_done (op));
  g_assert_cmpuint (ovs_op_get_id (op), >, 0);
}

static void
test_write (void)
{
  Scene scene;
  OvsOp *query, *write;

  scene_init_plain (&scene, 4);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, payload_text ("1 2"));
  assert_pending (write);
  g_assert_cmpuint (ovs_op_get_lowest_pending (write), ==, ovs_op_get_id (query));
  resolve (&scene, query, "3 1");
  assert_ok (write);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- 2 - 1");
  write_text (&scene, query, scene.a, 2, "3 4");
  seal_or_fail (&scene, 2);
  assert_values (&scene, query, scene.a, 2, "3 4");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_large_write (void)
{
  Scene scene;
  OvsOp *query, *write;

  scene_init (&scene, N_LARGE);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, payload_fill (float32, N_LARGE, 5));
  end_query (query, ovs_path_list_ref (scene.list), NULL);
  assert_ok (write);
  seal_or_fail (&scene, 1);
  assert_filled (&scene, scene.query, scene.a, 1, 5);
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_same_attribute (void)
{
  Scene scene;
  OvsOp *query, *first, *second, *other;

  scene_init_plain (&scene, 2);
  query = pending_query (&scene);
  first = write_payload (&scene, query, scene.a, 1, payload_text ("1 2"));
  second = write_payload (&scene, scene.query, scene.a, 1, payload_text ("3 4"));
  other = write_payload (&scene, scene.query, scene.b, 1, payload_text ("5 6"));
  assert_pending (second);
  g_assert_cmpuint (ovs_op_get_lowest_pending (second), ==, ovs_op_get_id (query));
  assert_ok (other);
  resolve (&scene, query, "0 1");
  assert_ok (first);
  assert_ok (second);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "3 4");
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Whoever asks which prims exist waits for what may make them exist, and is not told of what comes later. */
static void
test_existence (void)
{
  Scene scene;
  OvsOp *query, *update, *above, *below, *insert, *one;

  scene_init_plain (&scene, 2);
  one = query_or_fail (&scene, "1");
  query = pending_query (&scene);
  update = write_mode (&scene, query, scene.a, 7, payload_text ("1"), OVSTAGE_PRIM_MODE_UPDATE);
  above = write_payload (&scene, scene.query, scene.b, 8, payload_text ("1 2"));
  assert_ok (above);
  below = write_payload (&scene, scene.query, scene.b, 6, payload_text ("3 4"));
  assert_pending (below);
  insert = write_mode (&scene, one, scene.c, 7, payload_text ("1"), OVSTAGE_PRIM_MODE_INSERT);
  assert_pending (insert);
  resolve (&scene, query, "1");
  assert_failed (update, OVSTAGE_ERROR_NOT_FOUND, "'/p1'"); /* what came later does not make it exist */
  assert_ok (below);
  assert_failed (insert, OVSTAGE_ERROR_ALREADY_EXISTS, "'/p1'");
  ovs_op_unref (query);
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_rows (void)
{
  Scene scene;
  OvsOp *query, *write;

  scene_init_plain (&scene, 3);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, with_count (payload_text ("1 2 3"), 3));
  resolve (&scene, query, "0 1");
  assert_failed (write, OVSTAGE_ERROR_INVALID_ARGUMENT, "3");
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- - -");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_no_targets (void)
{
  Scene scene;
  OvsOp *query, *write, *delete, *read;

  scene_init_plain (&scene, 3);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, payload_text ("1"));
  delete = ovs_stage_delete (scene.stage, query, NULL, 0, 1);
  read = read_at (&scene, query, &scene.b, 1, 1);
  assert_ok (ovs_stage_write_batch (scene.stage, query, NULL, 0, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  resolve (&scene, query, "");
  assert_ok (write);
  assert_ok (delete);
  assert_read (read, "");
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Form, handles and the floor are told at once. */
static void
test_refused_at_once (void)
{
  Scene scene;
  OvsOp *query, *write, *seal;

  scene_init_plain (&scene, 2);
  seal_or_fail (&scene, 3);
  query = pending_query (&scene);
  assert_refused (&scene, write_payload (&scene, query, scene.a, 3, payload_text ("1")), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'",
                  "3");
  assert_refused (&scene, ovs_stage_delete (scene.stage, query, &scene.a, 1, 2), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'");
  assert_refused (&scene, ovs_stage_delete (scene.stage, query, NULL, 0, 2), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "default");
  assert_refused (&scene, write_payload (&scene, query, 0, 4, payload_text ("1")), OVSTAGE_ERROR_INVALID_HANDLE, "attribute");
  assert_refused (&scene, ovs_stage_write (scene.stage, query, scene.a, 4, NULL, OVSTAGE_PRIM_MODE_UPSERT, NULL),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "data");

  /* An advance decides from its submission on, also what it waits for. */
  write = write_payload (&scene, query, scene.a, 5, payload_text ("1"));
  seal = advance (&scene, 6);
  assert_pending (seal);
  assert_refused (&scene, write_payload (&scene, query, scene.a, 6, payload_text ("1")), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "6");
  resolve (&scene, query, "1");
  assert_ok (write);
  assert_ok (seal);
  assert_values (&scene, scene.query, scene.a, 6, "- 1");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_advance (void)
{
  Scene scene;
  OvsOp *query, *write, *delete, *above, *seals[4];

  scene_init_plain (&scene, 2);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 4, payload_text ("1"));
  seals[0] = ovs_stage_advance (scene.stage, 3, OVSTAGE_SCOPE_ALL, NULL, 0);
  seals[1] = ovs_stage_advance (scene.stage, 9, OVSTAGE_SCOPE_INCLUDE, &scene.b, 1);
  assert_ok (seals[0]);
  assert_ok (seals[1]);
  seals[2] = ovs_stage_advance (scene.stage, 4, OVSTAGE_SCOPE_INCLUDE, &scene.a, 1);
  assert_pending (seals[2]);
  g_assert_cmpuint (ovs_op_get_lowest_pending (seals[2]), ==, ovs_op_get_id (query));

  delete = ovs_stage_delete (scene.stage, query, NULL, 0, 10);
  seals[3] = ovs_stage_advance (scene.stage, 10, OVSTAGE_SCOPE_INCLUDE, &scene.c, 1);
  assert_pending (seals[3]);
  above = ovs_stage_advance (scene.stage, 9, OVSTAGE_SCOPE_INCLUDE, &scene.c, 1);
  g_assert_cmpuint (ovs_op_get_id (above), >, 0);
  resolve (&scene, query, "0");
  assert_ok (write);
  assert_ok (delete);
  assert_ok (seals[2]);
  assert_ok (seals[3]);
  assert_ok (above);
  assert_values (&scene, scene.query, scene.a, 4, "1 -");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
count_call (gpointer data)
{
  (*(guint *) data)++;
}

static OvstageWriteData *
counted_payload (guint *n_calls)
{
  static float values[2] = { 1, 2 };

  return payload_new (float32, 1, &(gint64){ 2 }, NULL, values, count_call, n_calls);
}

/* What a payload was at the call counts, and it is let go of once, after the operation is done. */
static void
test_payload_is_held (void)
{
  Scene scene;
  OvsOp *query, *write;
  OvstageWriteData *payload;
  guint n_calls = 0;

  scene_init_plain (&scene, 3);
  query = pending_query (&scene);
  payload = with_map (counted_payload (&n_calls), "110");
  write = ovs_stage_write (scene.stage, query, scene.a, 1, payload, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  with_map (payload, "000");
  ovs_payload_set_index_map (payload, NULL, 0);
  ovs_payload_unref (payload);
  g_assert_cmpuint (n_calls, ==, 0);
  resolve (&scene, query, "0-2");
  assert_ok (write);
  g_assert_cmpuint (n_calls, ==, 1);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "2 2 1");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_withdraw_write (void)
{
  Scene scene;
  OvsOp *query, *write, *later, *seal, *read;
  guint n_calls = 0;

  scene_init_plain (&scene, 2);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, counted_payload (&n_calls));
  later = write_payload (&scene, scene.query, scene.a, 1, payload_text ("3 4"));
  seal = advance (&scene, 1);
  read = read_at (&scene, scene.query, &scene.a, 1, 1);
  g_assert_true (ovs_op_cancel (write));
  g_assert_cmpuint (n_calls, ==, 1);
  g_assert_false (ovs_op_cancel (write));
  g_assert_true (ovs_op_is_withdrawn (write));
  assert_failed (write, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  assert_ok (later);
  assert_ok (seal);
  assert_read (read, "3 4");
  resolve (&scene, query, "0 1");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_withdraw_query (void)
{
  Scene scene;
  OvsOp *query, *write, *delete, *read, *later, *seal, *again;
  guint n_calls = 0;

  scene_init_plain (&scene, 2);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, counted_payload (&n_calls));
  delete = ovs_stage_delete (scene.stage, query, &scene.a, 1, 1);
  read = read_at (&scene, query, &scene.b, 1, 0);
  later = write_payload (&scene, scene.query, scene.a, 1, payload_text ("3 4"));
  seal = advance (&scene, 1);
  g_assert_true (ovs_op_cancel (query));
  g_assert_cmpuint (n_calls, ==, 1);
  assert_failed (write, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  assert_failed (delete, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  assert_failed (read, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  assert_ok (later);
  assert_ok (seal);
  assert_values (&scene, scene.query, scene.a, 1, "3 4");
  again = read_at (&scene, query, &scene.a, 1, 1);
  g_assert_cmpuint (ovs_op_get_id (again), ==, 0);
  g_assert_error (ovs_op_get_error (again), OVSTAGE_ERROR, OVSTAGE_ERROR_OP_FAILED);
  ovs_op_unref (again);
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_failed_query (void)
{
  Scene scene;
  OvsOp *query, *write;
  GError *error = g_error_new_literal (OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_SUPPORTED, "no such luck");

  scene_init_plain (&scene, 2);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, payload_text ("1"));
  end_query (query, NULL, error);
  assert_failed (write, OVSTAGE_ERROR_OP_FAILED, "no such luck");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_close (void)
{
  Scene scene;
  OvsOp *query, *ops[4];
  guint n_calls = 0;

  scene_init_plain (&scene, 2);
  query = pending_query (&scene);
  ops[0] = write_payload (&scene, query, scene.a, 1, counted_payload (&n_calls));
  ops[1] = write_payload (&scene, scene.query, scene.a, 1, counted_payload (&n_calls));
  ops[2] = ovs_stage_delete (scene.stage, scene.query, NULL, 0, 1);
  ops[3] = read_at (&scene, query, &scene.a, 1, 0);
  ovs_stage_close (scene.stage);
  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    {
      g_assert_true (ovs_op_is_withdrawn (ops[i]));
      assert_failed (ops[i], OVSTAGE_ERROR_OP_FAILED, "cancelled");
    }
  g_assert_cmpuint (n_calls, ==, 2);
  g_assert_true (ovs_op_is_withdrawn (query));
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_reads (void)
{
  Scene scene;
  OvsOp *query, *some, *write, *later, *above, *unseen, *other, *newest, *unrelated;

  scene_init_plain (&scene, 3);
  some = query_or_fail (&scene, "0");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, scene.query, scene.b, 1, "1 2 3");
  seal_or_fail (&scene, 1);

  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 2, payload_text ("20"));
  above = read_at (&scene, scene.query, &scene.a, 1, 2);    /* the write will turn out to be on one of its prims, */
  other = read_at (&scene, some, &scene.a, 1, 2);           /* and on none of these */
  newest = read_at (&scene, scene.query, &scene.a, 1, OVSTAGE_ORDINAL_NEWEST);
  unrelated = read_at (&scene, scene.query, &scene.b, 1, 2);
  later = write_payload (&scene, some, scene.a, 2, payload_text ("10"));
  unseen = read_at (&scene, some, &scene.a, 1, 2); /* of the one before */
  g_assert_true (ovs_op_is_done (newest));
  assert_read (newest, "1 2 3");
  assert_read (unrelated, "1 2 3");
  assert_pending (above);
  assert_pending (other);
  assert_pending (later);
  resolve (&scene, query, "1");
  assert_read (above, "WRITE_FLOOR_VIOLATION");
  assert_ok (write);
  assert_ok (later);
  assert_read (other, "1");
  assert_read (unseen, "WRITE_FLOOR_VIOLATION");
  ovs_op_unref (query);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Write, advance, read through one query, without a wait in between. */
static void
test_pipeline (void)
{
  Scene scene;
  OvsOp *query, *ops[6], *reads[2];

  scene_init_plain (&scene, 3);
  query = pending_query (&scene);
  ops[0] = write_payload (&scene, query, scene.a, 1, payload_text ("1 2"));
  ops[1] = advance (&scene, 1);
  reads[0] = read_at (&scene, query, &scene.a, 1, 1);
  ops[2] = write_payload (&scene, query, scene.a, 2, payload_text ("3 4"));
  ops[3] = advance (&scene, 2);
  reads[1] = read_at (&scene, scene.query, &scene.a, 1, 2);
  ops[4] = ovs_stage_delete (scene.stage, query, &scene.a, 1, 3);
  ops[5] = advance (&scene, 3);
  resolve (&scene, query, "2 0");
  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    assert_ok (ops[i]);
  assert_read (reads[0], "1 2");
  assert_read (reads[1], "4 - 3");
  assert_values (&scene, scene.query, scene.a, 3, "- - -");
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* A delete of whole prims goes by the floors there were as it was submitted. */
static void
test_deletes (void)
{
  Scene scene;
  OvsOp *query, *delete, *refused, *seal;

  scene_init_plain (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  write_text (&scene, scene.query, scene.b, 1, "3 4");
  seal_or_fail (&scene, 1);
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.c));
  query = pending_query (&scene);
  delete = ovs_stage_delete (scene.stage, query, NULL, 0, 3);
  seal = ovs_stage_advance (scene.stage, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_pending (seal);
  refused = ovs_stage_delete (scene.stage, query, NULL, 0, 4); /* A lives, and is closing at 5 */
  assert_pending (refused);
  resolve (&scene, query, "1");
  assert_ok (delete);
  assert_ok (seal);
  assert_ok (refused); /* nothing lives on the prim any more */
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "1 -");
  assert_values (&scene, scene.query, scene.b, 5, "3 -");

  ovs_op_unref (query);
  query = pending_query (&scene);
  seal_scope_or_fail (&scene, 9, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  delete = ovs_stage_delete (scene.stage, query, NULL, 0, 8);
  resolve (&scene, query, "0");
  assert_failed (delete, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_queue_capacity (void)
{
  Scene scene;
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 2, .n_threads = 1 };
  OvsOp *query, *write;

  scene_init_full (&scene, 2, &config);
  query = pending_query (&scene);
  write = write_payload (&scene, query, scene.a, 1, payload_text ("1"));
  assert_refused (&scene, write_payload (&scene, query, scene.a, 1, payload_text ("1")), OVSTAGE_ERROR_QUEUE_FULL, "2");
  assert_refused (&scene, ovs_stage_delete (scene.stage, query, NULL, 0, 1), OVSTAGE_ERROR_QUEUE_FULL, "2");
  assert_refused (&scene, read_at (&scene, query, &scene.a, 1, 0), OVSTAGE_ERROR_QUEUE_FULL, "2");
  resolve (&scene, query, "0");
  assert_ok (write);
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_batch (void)
{
  Scene scene;
  OvsOp *query, *good, *bad;
  g_autoptr (OvstageWriteData) a = payload_text ("1 2");
  g_autoptr (OvstageWriteData) b = payload_text ("3 4 5");
  OvsAttributeWrite entries[2] = { { 0, a }, { 0, b } };

  scene_init_plain (&scene, 2);
  entries[0].attribute = scene.a;
  entries[1].attribute = scene.b;
  query = pending_query (&scene);
  bad = ovs_stage_write_batch (scene.stage, query, entries, 2, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  entries[1].data = a;
  good = ovs_stage_write_batch (scene.stage, query, entries, 2, 2, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  resolve (&scene, query, "1 0");
  assert_failed (bad, OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1");
  assert_ok (good);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "2 1");
  assert_values (&scene, scene.query, scene.b, 2, "2 1");
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* The only group of a map, as text: prim:value. Fills it with @value and what is there. */
static char *
add_to_map (OvsOp *map, float value)
{
  GString *text = g_string_new (NULL);
  OvstageMapGroup *group, *end;
  OvstageTensor *tensor;

  g_assert_cmpint (ovs_op_wait (map, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_true (ovs_map_next (map, &group, NULL));
  g_assert_nonnull (group);
  g_assert_true (ovs_map_next (map, &end, NULL));
  g_assert_null (end);
  tensor = ovs_map_group_ref_tensor (group, 0);
  for (guint32 i = 0; i < group->prim_count; i++)
    {
      g_string_append_printf (text, "%s%g", i > 0 ? " " : "", ((float *) tensor->data)[i]);
      ((float *) tensor->data)[i] += value;
    }
  ovs_tensor_unref (tensor);
  ovs_map_group_unref (group);
  return g_string_free (text, FALSE);
}

#define assert_map(map, value, expected)                                                                               \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *text_ = add_to_map (map, value);                                                                \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
    }                                                                                                                  \
  G_STMT_END

static OvsOp *
map_current (Scene *scene, OvsOp *query, guint64 ordinal, OvstagePrimMode mode)
{
  OvsMapRequest request = { .flags = OVSTAGE_MAP_FLAGS_INITIALIZE };

  return ovs_stage_map (scene->stage, query, scene->a, &request, ordinal, mode, NULL);
}

/* A map of prims that are not known, and one that must not pass a write of such. */
static void
test_map (void)
{
  Scene scene;
  OvsOp *query, *map, *write, *after, *seal;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  query = pending_query (&scene);
  map = map_current (&scene, query, 2, OVSTAGE_PRIM_MODE_UPDATE);
  assert_pending (map);
  write = write_payload (&scene, scene.query, scene.a, 2, payload_text ("10 20 30")); /* after it */
  assert_pending (write);
  after = map_current (&scene, scene.query, 2, OVSTAGE_PRIM_MODE_UPDATE);
  assert_pending (after);
  seal = advance (&scene, 1);
  assert_pending (seal);

  resolve (&scene, query, "2 0");
  assert_map (map, 100, "3 1");
  assert_ok (write);
  assert_map (after, 0, "10 20 30");
  assert_ok (seal);
  assert_ok (ovs_map_commit (map, 0, 0));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "101 20 103");
  ovs_op_unref (map);
  ovs_op_unref (after);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* What is told when the prims are known. */
static void
test_map_fails (void)
{
  const gsize counts[] = { 1, 1 };
  OvsMapRequest arrays = { .dtype = float32, .element_counts = counts, .n_element_counts = 2 };
  Scene scene;
  OvsOp *query, *counted, *missing, *commit, *discarded;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  query = pending_query (&scene);
  assert_refused (&scene, map_current (&scene, query, 0, OVSTAGE_PRIM_MODE_UPDATE), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "0");
  counted = ovs_stage_map (scene.stage, query, scene.b, &arrays, 2, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  missing = map_current (&scene, query, 2, OVSTAGE_PRIM_MODE_UPDATE);
  commit = ovs_map_commit (missing, 0, 0);
  discarded = map_current (&scene, query, 2, OVSTAGE_PRIM_MODE_UPSERT);
  ovs_map_discard (discarded);
  g_assert_true (ovs_op_is_withdrawn (discarded));
  resolve (&scene, query, "7");
  assert_failed (counted, OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts");
  assert_failed (missing, OVSTAGE_ERROR_NOT_FOUND, "/p7");
  assert_failed (commit, OVSTAGE_ERROR_OP_FAILED, "/p7");
  g_assert_cmpint (scene.stage->mapped_bytes, ==, 0);
  ovs_op_unref (discarded);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* A map is committed before anybody knows its prims; what comes later waits for that. */
static void
test_map_and_commit (void)
{
  Scene scene;
  OvsOp *query, *map, *commit, *seal, *read;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  query = pending_query (&scene);
  map = map_current (&scene, query, 2, OVSTAGE_PRIM_MODE_UPSERT);
  commit = ovs_map_commit (map, 0, 0);
  assert_pending (commit);
  check_refused (ovs_map_commit (map, 0, 0), OVSTAGE_ERROR_INVALID_HANDLE, (const char *const[]){ NULL });
  ovs_map_discard (map); /* too late */
  ovs_op_unref (map);
  seal = advance (&scene, 2);
  read = read_at (&scene, scene.query, &scene.a, 1, 2);
  check_refused (map_current (&scene, scene.query, 2, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                 (const char *const[]){ NULL });
  resolve (&scene, query, "5 1");
  assert_ok (commit);
  assert_ok (seal);
  assert_read (read, "1 2 3");
  assert_values (&scene, query, scene.a, 2, "0 2");
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Withdrawn by hand, and by the end of the stage. */
static void
test_map_withdrawn (void)
{
  Scene scene;
  OvsOp *query, *map, *commit, *closed;

  scene_init (&scene, 1);
  write_text (&scene, scene.query, scene.a, 1, "1");
  query = pending_query (&scene);
  map = map_current (&scene, query, 2, OVSTAGE_PRIM_MODE_UPSERT);
  commit = ovs_map_commit (map, 0, 0);
  closed = map_current (&scene, query, 3, OVSTAGE_PRIM_MODE_UPSERT);
  g_assert_true (ovs_op_cancel (map));
  assert_failed (commit, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  ovs_stage_close (scene.stage);
  g_assert_true (ovs_op_is_withdrawn (closed));
  ovs_op_unref (closed);
  ovs_op_unref (map);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* The commit of a map is a write like any other. */
static void
test_commit (void)
{
  Scene scene;
  OvsOp *query, *map, *first, *commit;
  OvsMapRequest request = { .dtype = float32 };
  OvstageMapGroup *group;
  OvstageTensor *tensor;

  scene_init_plain (&scene, 2);
  map = ovs_stage_map (scene.stage, scene.query, scene.a, &request, 2, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  g_assert_true (ovs_map_next (map, &group, NULL));
  tensor = ovs_map_group_ref_tensor (group, 0);
  ((float *) tensor->data)[0] = 7;
  ((float *) tensor->data)[1] = 8;
  query = pending_query (&scene);
  first = write_payload (&scene, query, scene.a, 2, payload_text ("1"));
  commit = ovs_map_commit (map, 0, 0);
  assert_pending (commit);
  ovs_tensor_unref (tensor);
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  resolve (&scene, query, "1");
  assert_ok (first);
  assert_ok (commit);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "7 8");
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* --- the same sequence, with queries that are done and with queries that are not --- */

#define N_PRIMS 6
#define N_LISTS 5
#define N_STEPS 24

static const char *const lists[N_LISTS] = { "0-5", "1 3", "5", "2 0 4", "3-5" };

typedef enum
{
  STEP_WRITE,
  STEP_DELETE,
  STEP_ADVANCE,
  STEP_READ,
} StepKind;

typedef struct
{
  StepKind kind;
  guint list;
  gboolean pending; /* through a query that is not done */
  guint attribute;
  guint64 ordinal;
  OvstagePrimMode mode;
  double value;
  gboolean is_wide;
} Step;

static void
make_steps (Step *steps)
{
  guint64 at = 1;

  for (guint i = 0; i < N_STEPS; i++)
    {
      gint kind = g_random_int_range (0, 12);

      steps[i].kind = kind < 6 ? STEP_WRITE : kind < 8 ? STEP_DELETE : kind < 9 ? STEP_ADVANCE : STEP_READ;
      steps[i].list = (guint) g_random_int_range (0, N_LISTS);
      steps[i].pending = g_random_boolean ();
      steps[i].attribute = (guint) g_random_int_range (0, steps[i].kind == STEP_DELETE ? 3 : 2);
      steps[i].ordinal = at + (guint64) g_random_int_range (0, 5);
      steps[i].mode = g_random_boolean () ? OVSTAGE_PRIM_MODE_UPSERT : (OvstagePrimMode) g_random_int_range (0, 3);
      steps[i].value = i + 1;
      steps[i].is_wide = g_random_int_range (0, 5) == 0;
      if (steps[i].kind == STEP_ADVANCE)
        at = MAX (at, steps[i].ordinal);
    }
}

static OvsOp *
do_step (Scene *scene, OvsOp *query, const Step *step)
{
  guint64 attribute = step->attribute == 0 ? scene->a : scene->b;
  guint n = (guint) strlen (lists[step->list]);

  switch (step->kind)
    {
    case STEP_WRITE:
      n = step->list == 0 ? 6 : step->list == 4 ? 3 : (n + 1) / 2;
      return write_mode (scene, query, attribute, step->ordinal, payload_fill (step->is_wide ? float32x3 : float32, n, step->value),
                         step->mode);
    case STEP_DELETE:
      return ovs_stage_delete (scene->stage, query, &attribute, step->attribute == 2 ? 0 : 1, step->ordinal);
    case STEP_ADVANCE:
      if (step->attribute == 0)
        return ovs_stage_advance (scene->stage, step->ordinal, OVSTAGE_SCOPE_INCLUDE, &attribute, 1);
      return advance (scene, step->ordinal);
    case STEP_READ:
    default:
      return read_at (scene, query, &attribute, 1, step->ordinal);
    }
}

/* What became of each step, and in the end of everything. */
static char *
run_steps (const Step *steps, gboolean may_wait)
{
  Scene scene;
  OvsOp *queries[N_STEPS], *ops[N_STEPS];
  gboolean open[N_STEPS] = { FALSE };
  GString *text = g_string_new (NULL);

  scene_init (&scene, N_PRIMS);
  for (guint i = 0; i < N_STEPS; i++)
    {
      open[i] = may_wait && steps[i].pending;
      queries[i] = open[i] ? pending_query (&scene) : query_or_fail (&scene, lists[steps[i].list]);
      ops[i] = do_step (&scene, queries[i], &steps[i]);
      for (guint j = 0; j <= i; j++)
        if (open[j] && g_random_int_range (0, 8) == 0)
          {
            resolve (&scene, queries[j], lists[steps[j].list]);
            open[j] = FALSE;
          }
    }
  for (guint i = 0; i < N_STEPS; i++)
    {
      guint j = (i * 7 + 3) % N_STEPS;

      if (open[j])
        resolve (&scene, queries[j], lists[steps[j].list]);
    }
  for (guint i = 0; i < N_STEPS; i++)
    {
      g_assert_cmpint (ovs_op_wait (ops[i], 20 * G_GINT64_CONSTANT (1000000000), NULL), ==, OVS_WAIT_DONE);
      g_string_append_printf (text, "%u:%d ", i, ovs_op_get_error (ops[i]) != NULL ? ovs_op_get_error (ops[i])->code : 0);
      if (steps[i].kind == STEP_READ && ovs_op_get_error (ops[i]) == NULL)
        {
          g_autofree char *values = read_to_text (ovs_op_ref (ops[i]));

          g_string_append_printf (text, "%s ", values);
        }
      ovs_op_unref (ops[i]);
      ovs_op_unref (queries[i]);
    }
  seal_or_fail (&scene, 100);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *values = read_to_text (read_at (&scene, scene.query, i == 0 ? &scene.a : &scene.b, 1, 100));

      g_string_append_printf (text, "%s ", values);
    }
  scene_clear (&scene);
  return g_string_free (text, FALSE);
}

static void
test_random (void)
{
  guint n_rounds = is_slow () ? 200 : 3000;

  for (guint round = 0; round < n_rounds; round++)
    {
      Step steps[N_STEPS];
      g_autofree char *expected = NULL, *found = NULL;

      make_steps (steps);
      expected = run_steps (steps, FALSE);
      found = run_steps (steps, TRUE);
      g_assert_cmpstr (found, ==, expected);
    }
}

/* --- threads --- */

typedef struct
{
  Scene *scene;
  OvsOp *query;
  guint64 attribute;
} Writer;

static gpointer
write_many (gpointer data)
{
  Writer *writer = data;
  guint n_cancelled = 0;

  for (guint64 i = 1; i <= 200; i++)
    {
      OvsOp *op = write_payload (writer->scene, writer->query, writer->attribute, i, payload_fill (float32, 4, (double) i));

      if (i % 5 == 0 && i < 200 && ovs_op_cancel (op))
        n_cancelled++;
      ovs_op_unref (op);
    }
  return GUINT_TO_POINTER (n_cancelled);
}

static void
test_threads (void)
{
  Scene scene;
  guint n_rounds = is_slow () ? 5 : 40;

  for (guint round = 0; round < n_rounds; round++)
    {
      Writer writers[3];
      GThread *threads[3];

      scene_init (&scene, 4);
      for (guint i = 0; i < 3; i++)
        {
          writers[i] = (Writer){ &scene, pending_query (&scene), i == 0 ? scene.a : i == 1 ? scene.b : scene.a };
          threads[i] = g_thread_new ("writer", write_many, &writers[i]);
        }
      for (guint i = 0; i < 3; i++)
        {
          g_usleep (200);
          end_query (writers[i].query, ovs_path_list_ref (scene.list), NULL);
        }
      for (guint i = 0; i < 3; i++)
        g_thread_join (threads[i]);
      seal_or_fail (&scene, 200);
      assert_values (&scene, scene.query, scene.a, 200, "200 200 200 200");
      assert_values (&scene, scene.query, scene.b, 200, "200 200 200 200");
      for (guint i = 0; i < 3; i++)
        ovs_op_unref (writers[i].query);
      scene_clear (&scene);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/engine/pending/write", test_write);
  g_test_add_func ("/engine/pending/large-write", test_large_write);
  g_test_add_func ("/engine/pending/same-attribute", test_same_attribute);
  g_test_add_func ("/engine/pending/existence", test_existence);
  g_test_add_func ("/engine/pending/rows", test_rows);
  g_test_add_func ("/engine/pending/no-targets", test_no_targets);
  g_test_add_func ("/engine/pending/refused-at-once", test_refused_at_once);
  g_test_add_func ("/engine/pending/advance", test_advance);
  g_test_add_func ("/engine/pending/payload-is-held", test_payload_is_held);
  g_test_add_func ("/engine/pending/withdraw-write", test_withdraw_write);
  g_test_add_func ("/engine/pending/withdraw-query", test_withdraw_query);
  g_test_add_func ("/engine/pending/failed-query", test_failed_query);
  g_test_add_func ("/engine/pending/close", test_close);
  g_test_add_func ("/engine/pending/reads", test_reads);
  g_test_add_func ("/engine/pending/pipeline", test_pipeline);
  g_test_add_func ("/engine/pending/deletes", test_deletes);
  g_test_add_func ("/engine/pending/queue-capacity", test_queue_capacity);
  g_test_add_func ("/engine/pending/batch", test_batch);
  g_test_add_func ("/engine/pending/commit", test_commit);
  g_test_add_func ("/engine/pending/map", test_map);
  g_test_add_func ("/engine/pending/map-fails", test_map_fails);
  g_test_add_func ("/engine/pending/map-and-commit", test_map_and_commit);
  g_test_add_func ("/engine/pending/map-withdrawn", test_map_withdrawn);
  g_test_add_func ("/engine/pending/random", test_random);
  g_test_add_func ("/engine/pending/threads", test_threads);

  return g_test_run ();
}
