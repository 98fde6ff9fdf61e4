/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "engine-helpers.h"

/* A payload over @data, which stays; compact when @strides is NULL. */
#define OVER(dtype, data, strides, ...)                                                                                \
  payload_new (dtype, G_N_ELEMENTS (((gint64[]) { __VA_ARGS__ })), (gint64[]){ __VA_ARGS__ }, strides, data, NULL, NULL)

#define assert_write_refused(scene, payload, code, ...)                                                                \
  assert_refused (scene, write_payload (scene, (scene)->query, (scene)->a, 1, payload), code, __VA_ARGS__)

static float counting[4096]; /* 0, 1, 2, ... */

/* W2 */
static void
test_no_tensor (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_write_refused (&scene, ovs_payload_new (NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor");
  scene_clear (&scene);
}

/* W3 */
static void
test_canonical (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, OVER (float32x3, counting, NULL, 3));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "0,1,2 3,4,5 6,7,8");
  scene_clear (&scene);
}

/* W3: a row is longer than what one thread would copy. */
static void
test_huge_rows (void)
{
  static const OvstageDataType wide = { OVS_CODE_FLOAT, 64, G_MAXUINT16 };
  Scene scene;
  OvstageReadGroup *group;
  OvstageWriteData *payload;

  scene_init (&scene, 2);
  payload = payload_rows (wide, 2);
  ((double *) payload->tensor->data)[2 * G_MAXUINT16 - 1] = 4711;
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  g_assert_cmpfloat (((const double *) group_row (group, 1))[G_MAXUINT16 - 1], ==, 4711);
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* W4: one column, however the lanes were spelled */
static void
test_folded (void)
{
  Scene scene;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, OVER (float32, counting, NULL, 2, 3));
  write_or_fail (&scene, scene.query, scene.a, 2, OVER (float32x3, counting + 1, NULL, 2));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1,2,3 4,5,6");

  write_or_fail (&scene, scene.query, scene.b, 3, OVER (float32, counting, NULL, 2, 4, 4));
  write_or_fail (&scene, scene.query, scene.b, 4, OVER (float32x4, counting + 5, NULL, 2, 4));
  seal_or_fail (&scene, 4);
  group = only_group_or_fail (&scene, scene.query, scene.b, 4);
  g_assert_cmpuint (group->dtype.lanes, ==, 16);
  g_assert_cmpmem (group_row (group, 1), 64, counting + 5 + 16, 64);
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* W5 */
static void
test_flat_onto_wide (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "0");
  write_or_fail (&scene, one, scene.a, 1, OVER (float32x3, counting, NULL, 1));
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, OVER (float32, counting, NULL, 3)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "'a'", "prim 0", "'/p0'", "float32x3", "payload is float32:");
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* W5 */
static void
test_flat_onto_prims (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_write_refused (&scene, OVER (float32, counting, NULL, 9), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "9 rows", "3 elements");
  scene_clear (&scene);
}

/* W6 */
static void
test_rows (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_write_refused (&scene, payload_text ("1 2"), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "2 rows", "3 elements");
  assert_write_refused (&scene, with_count (payload_text ("1 2 3"), 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "3 rows", "2 elements",
                        "count");
  assert_write_refused (&scene, with_mask (payload_text ("1 2"), "110"), OVSTAGE_ERROR_INVALID_ARGUMENT, "2 rows", "3 elements");
  scene_clear (&scene);
}

/* W7: against the definition of strides */
static void
test_strides (void)
{
  static const gint64 cases[][2] = {
    { 3, 1 }, { -3, 1 }, { 0, 1 }, { 7, 2 }, { 1, 4 }, { -5, -1 }, { 0, 0 }, { 2, 100 },
  };
  Scene scene;
  guint64 ordinal = 0;

  scene_init (&scene, 4);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) expected = g_string_new (NULL);

      for (guint row = 0; row < 4; row++)
        for (guint lane = 0; lane < 3; lane++)
          g_string_append_printf (expected, "%s%" G_GINT64_FORMAT, lane > 0 ? "," : row > 0 ? " " : "",
                                  1000 + row * cases[i][0] + lane * cases[i][1]);
      write_or_fail (&scene, scene.query, scene.a, ++ordinal, OVER (float32, counting + 1000, cases[i], 4, 3));
      seal_or_fail (&scene, ordinal);
      assert_values (&scene, scene.query, scene.a, ordinal, expected->str);
    }
  scene_clear (&scene);
}

/* W7 */
static void
test_unaligned (void)
{
  guint8 bytes[4 * 3 + 1] = { 0 };
  Scene scene;

  scene_init (&scene, 3);
  memcpy (bytes + 1, (float[]){ 5, 6, 7 }, 12);
  write_or_fail (&scene, scene.query, scene.a, 1, OVER (float32, bytes + 1, NULL, 3));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "5 6 7");
  scene_clear (&scene);
}

/* W7: strides on axes of extent 0 or 1 mean nothing */
static void
test_strides_of_one (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_or_fail (&scene, scene.query, scene.a, 1, OVER (float32, counting, ((gint64[]){ 99, 1, -77 }), 1, 3, 1));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "0,1,2");
  scene_clear (&scene);
}

/* W8 */
static void
test_count_zero (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, with_count (payload_text ("1 2 3"), 0));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 2 3");
  scene_clear (&scene);
}

/* W9 */
static void
test_count_leads (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_or_fail (&scene, scene.query, scene.a, 1, with_count (payload_text ("1 2"), 2));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 2 - -");
  write_or_fail (&scene, scene.query, scene.a, 2, with_count (payload_text ("5 6 7"), 3));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "5 6 7 -");
  write_or_fail (&scene, scene.query, scene.a, 3, with_count (payload_text ("9"), 1));
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "9 6 7 -");
  scene_clear (&scene);
}

/* W10 */
static void
test_count_above (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_write_refused (&scene, with_count (payload_text ("1 2 3 4"), 4), OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 4", "at most 3");
  scene_clear (&scene);
}

/* W11 */
static void
test_map_and_mask (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_write_refused (&scene, with_mask (with_map (payload_text ("1 2 3"), "012"), "111"), OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "index_map and mask");
  assert_write_refused (&scene, with_count (with_map (payload_text ("1 2 3"), "012"), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "count is 0", "index_map");
  assert_write_refused (&scene, with_count (with_mask (payload_text ("1 2 3"), "111"), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "count is 0", "mask");
  scene_clear (&scene);
}

/* W12 */
static void
test_map_entry (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_write_refused (&scene, with_map (payload_text ("1 2"), "012"), OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map[2] is 2",
                        "below 2");
  scene_clear (&scene);
}

/* W13 */
static void
test_map_gathers (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_or_fail (&scene, scene.query, scene.a, 1, with_map (payload_text ("10 20 30"), "2002"));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "30 10 10 30");
  write_or_fail (&scene, scene.query, scene.a, 2, with_map (payload_text ("7"), "00"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "7 7 10 30");
  scene_clear (&scene);
}

/* W14 */
static void
test_mask_keeps_value (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_or_fail (&scene, scene.query, scene.a, 2, with_mask (payload_text ("5 6 7 8"), "0101"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 6 3 8");
  scene_clear (&scene);
}

/* W14 */
static void
test_mask_keeps_absence (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_or_fail (&scene, scene.query, scene.a, 1, with_mask (payload_text ("5 6 7 8"), "0110"));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- 6 7 -");
  write_or_fail (&scene, scene.query, scene.a, 2, with_mask (payload_text ("1 2 3 4"), "1010"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 6 3 -");
  scene_clear (&scene);
}

/* W14 */
static void
test_mask_bits_past_count (void)
{
  guint64 word = G_MAXUINT64;
  Scene scene;
  OvstageWriteData *payload;

  scene_init (&scene, 4);
  payload = with_count (payload_text ("5 6"), 2);
  ovs_payload_set_mask (payload, &word, 1);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "5 6 - -");
  scene_clear (&scene);
}

/* W14: exactly ceil(count/64) words are asked for */
static void
test_mask_words (void)
{
  guint64 words[2] = { 1, 1 };
  Scene scene;
  OvstageWriteData *payload;

  scene_init (&scene, 65);
  payload = with_count (payload_fill (float32, 65, 3), 65);
  ovs_payload_set_mask (payload, words, 1);
  assert_write_refused (&scene, payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "mask has 1 words", "at least 2", "count 65");
  payload = with_count (payload_fill (float32, 65, 3), 65);
  ovs_payload_set_mask (payload, words, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  ovs_op_unref (scene.query);
  scene.query = query_or_fail (&scene, "0-1 63-64");
  assert_values (&scene, scene.query, scene.a, 1, "3 - - 3");
  scene_clear (&scene);
}

/* An all-false mask is no targets: done, whatever the floor says. */
static void
test_mask_of_nothing (void)
{
  Scene scene;
  g_autofree char *before = NULL, *after = NULL;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 5, "1 2 3");
  seal_or_fail (&scene, 5);
  before = dump_state (scene.stage);
  write_or_fail (&scene, scene.query, scene.a, 5, with_mask (payload_text ("1 2 3"), "000"));
  after = dump_state (scene.stage);
  g_assert_cmpstr (before, ==, after);
  scene_clear (&scene);
}

/* W18 */
static void
test_ordinal_zero (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 0, payload_text ("1 2 3")),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "ordinal is 0", "floor of 'a', 0");
  scene_clear (&scene);
}

/* W18 */
static void
test_at_floor (void)
{
  Scene scene;

  scene_init (&scene, 3);
  seal_or_fail (&scene, 5);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 5, payload_text ("1 2 3")),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "ordinal is 5", "floor of 'a', 5");
  write_text (&scene, scene.query, scene.a, 6, "1 2 3");
  scene_clear (&scene);
}

/* W18 */
static void
test_floor_of_that_attribute (void)
{
  Scene scene;

  scene_init (&scene, 3);
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 4, payload_text ("1 2 3")),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "ordinal is 4", "floor of 'a', 5");
  write_text (&scene, scene.query, scene.b, 4, "1 2 3");
  scene_clear (&scene);
}

static OvsOp *
insert_text (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, const char *text)
{
  return write_mode (scene, query, attribute, ordinal, payload_text (text), OVSTAGE_PRIM_MODE_INSERT);
}

static OvsOp *
update_text (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, const char *text)
{
  return write_mode (scene, query, attribute, ordinal, payload_text (text), OVSTAGE_PRIM_MODE_UPDATE);
}

/* W19 */
static void
test_insert (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "1 2");
  assert_ok (insert_text (&scene, some, scene.a, 1, "1 2"));
  seal_or_fail (&scene, 1);
  assert_refused (&scene, insert_text (&scene, scene.query, scene.a, 2, "1 2 3 4"), OVSTAGE_ERROR_ALREADY_EXISTS, "INSERT",
                  "prim 1", "'/p1'", "ordinal 2");
  ovs_op_unref (some);
  some = query_or_fail (&scene, "3 0");
  assert_ok (insert_text (&scene, some, scene.a, 2, "8 9"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "9 1 2 8");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* W19: it is the prim that must not exist, with whatever attribute */
static void
test_insert_other_attribute (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  assert_refused (&scene, insert_text (&scene, scene.query, scene.b, 2, "1 2"), OVSTAGE_ERROR_ALREADY_EXISTS, "prim 0", "'/p0'");
  scene_clear (&scene);
}

/* W19: unsealed work at or below the ordinal counts, work above it does not. */
static void
test_insert_as_of (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 5, "1 2");
  assert_refused (&scene, insert_text (&scene, scene.query, scene.b, 5, "1 2"), OVSTAGE_ERROR_ALREADY_EXISTS, "ordinal 5");
  assert_refused (&scene, insert_text (&scene, scene.query, scene.b, 9, "1 2"), OVSTAGE_ERROR_ALREADY_EXISTS, "ordinal 9");
  assert_ok (insert_text (&scene, scene.query, scene.b, 4, "3 4"));
  assert_refused (&scene, insert_text (&scene, scene.query, scene.a, 4, "3 4"), OVSTAGE_ERROR_ALREADY_EXISTS, "ordinal 4");
  assert_ok (insert_text (&scene, scene.query, scene.c, 3, "3 4"));
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "1 2");
  assert_values (&scene, scene.query, scene.b, 5, "3 4");
  scene_clear (&scene);
}

/* W19 */
static void
test_update (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 3);
  some = query_or_fail (&scene, "0 2");
  write_text (&scene, some, scene.a, 1, "1 2");
  assert_refused (&scene, update_text (&scene, scene.query, scene.a, 1, "4 5 6"), OVSTAGE_ERROR_NOT_FOUND, "UPDATE", "prim 1",
                  "'/p1'", "ordinal 1");
  assert_ok (update_text (&scene, some, scene.a, 1, "4 6"));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "4 - 6");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* W19: UPDATE may add an attribute to a prim that exists */
static void
test_update_adds_attribute (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  assert_ok (update_text (&scene, scene.query, scene.b, 2, "3 4"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.b, 2, "3 4");
  scene_clear (&scene);
}

/* W19: also where the other attribute is sealed beyond the ordinal */
static void
test_as_of_sealed_apart (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "2 1");
  write_text (&scene, some, scene.a, 5, "1 2");
  write_text (&scene, scene.query, scene.c, 8, "1 2 3 4");
  seal_scope_or_fail (&scene, 9, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.b));
  g_assert_cmpuint (scene.stage->structure_log->len, >, 0);
  /* At 4 nothing exists, at 5 two of them do, at 8 all. */
  assert_refused (&scene, update_text (&scene, scene.query, scene.b, 4, "1 2 3 4"), OVSTAGE_ERROR_NOT_FOUND, "prim 0", "ordinal 4");
  assert_refused (&scene, update_text (&scene, scene.query, scene.b, 7, "1 2 3 4"), OVSTAGE_ERROR_NOT_FOUND, "prim 0", "ordinal 7");
  assert_refused (&scene, update_text (&scene, some, scene.b, 4, "1 2"), OVSTAGE_ERROR_NOT_FOUND, "prim 0", "'/p2'");
  assert_refused (&scene, insert_text (&scene, scene.query, scene.b, 5, "1 2 3 4"), OVSTAGE_ERROR_ALREADY_EXISTS, "prim 1", "ordinal 5");
  assert_ok (update_text (&scene, some, scene.b, 5, "5 6"));
  assert_ok (update_text (&scene, scene.query, scene.b, 8, "1 2 3 4"));
  assert_ok (insert_text (&scene, scene.query, scene.b, 4, "1 2 3 4"));
  seal_or_fail (&scene, 9);
  g_assert_cmpuint (scene.stage->structure_log->len, ==, 0);
  assert_values (&scene, scene.query, scene.b, 9, "1 2 3 4");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* W19: what is created above the ordinal does not exist at it */
static void
test_update_as_of (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 5, "1 2");
  assert_refused (&scene, update_text (&scene, scene.query, scene.b, 4, "3 4"), OVSTAGE_ERROR_NOT_FOUND, "prim 0", "ordinal 4");
  assert_ok (update_text (&scene, scene.query, scene.b, 5, "3 4"));

  /* A seal below changes nothing about that. */
  ovs_op_unref (scene.query);
  scene.query = query_or_fail (&scene, "7");
  write_text (&scene, scene.query, scene.a, 9, "1");
  seal_or_fail (&scene, 6);
  assert_refused (&scene, update_text (&scene, scene.query, scene.a, 8, "3"), OVSTAGE_ERROR_NOT_FOUND, "prim 0", "ordinal 8");
  assert_ok (insert_text (&scene, scene.query, scene.a, 8, "3"));
  scene_clear (&scene);
}

/* W19: targets are the prims that are really written */
static void
test_prim_mode_targets (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "0 1");
  write_text (&scene, some, scene.a, 1, "1 2");
  assert_ok (write_mode (&scene, scene.query, scene.a, 2, with_mask (payload_text ("5 6 7 8"), "1100"), OVSTAGE_PRIM_MODE_UPDATE));
  assert_ok (write_mode (&scene, scene.query, scene.a, 2, with_count (payload_text ("3"), 1), OVSTAGE_PRIM_MODE_UPDATE));
  assert_ok (write_mode (&scene, scene.query, scene.a, 2, with_mask (payload_text ("5 6 7 8"), "0010"), OVSTAGE_PRIM_MODE_INSERT));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "3 6 7 -");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* W19: exact while the rows of a masked write are still on their way */
static void
test_prim_mode_in_flight (void)
{
  Scene scene;
  OvsOp *write;
  g_autofree char *mask = NULL;

  scene_init_paused (&scene, 256);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC | OVS_DEBUG_POISON);
  mask = g_strnfill (256, '0');
  for (guint i = 0; i < 256; i += 2)
    mask[i] = '1';
  assert_refused (&scene, update_text (&scene, scene.query, scene.b, 1, "1"), OVSTAGE_ERROR_INVALID_ARGUMENT, "rows");
  ovs_debug_set_flags (0);
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32, 256, 1));
  ovs_debug_set_flags (OVS_DEBUG_ASYNC | OVS_DEBUG_POISON);
  write = write_payload (&scene, scene.query, scene.a, 2, with_mask (payload_fill (float32, 256, 2), mask));
  g_assert_false (ovs_op_is_done (write));
  /* As of 1 nothing is there, as of 2 everything. */
  assert_refused (&scene, write_mode (&scene, scene.query, scene.b, 1, payload_fill (float32, 256, 3), OVSTAGE_PRIM_MODE_UPDATE),
                  OVSTAGE_ERROR_NOT_FOUND, "prim 0");
  assert_refused (&scene, write_mode (&scene, scene.query, scene.b, 2, payload_fill (float32, 256, 3), OVSTAGE_PRIM_MODE_INSERT),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "prim 0");
  scene_resume (&scene);
  assert_ok (write);
  seal_or_fail (&scene, 2);
  scene_clear (&scene);
}

/* W20 */
static void
test_other_schema (void)
{
  static const OvstageDataType dtypes[] = {
    { OVS_CODE_FLOAT, 64, 3 }, { OVS_CODE_INT, 32, 3 }, { OVS_CODE_FLOAT, 32, 2 }, { OVS_CODE_UINT, 8, 12 }, { OVS_CODE_BFLOAT, 16, 6 },
  };
  char text[OVS_DTYPE_TEXT_MAX];
  Scene scene;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, 2, 1));
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, payload_rows (dtypes[i], 2)),
                    OVSTAGE_ERROR_INVALID_ARGUMENT, "'a'", "prim 0", "'/p0'", "float32x3", ovs_dtype_format (dtypes[i], text));
  seal_or_fail (&scene, 1);
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, payload_rows (dtypes[i], 2)),
                    OVSTAGE_ERROR_INVALID_ARGUMENT, "'a'", "prim 0", "'/p0'", "float32x3", ovs_dtype_format (dtypes[i], text));
  scene_clear (&scene);
}

/* W20: the prim that is in the way is named, not the first. */
static void
test_other_schema_names_prim (void)
{
  Scene scene;
  OvsOp *last;

  scene_init (&scene, 4);
  last = query_or_fail (&scene, "3");
  write_or_fail (&scene, last, scene.a, 1, payload_fill (float32x3, 1, 1));
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, payload_text ("1 2 3 4")), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "prim 3", "'/p3'");
  /* Not a target: nothing in the way. */
  write_or_fail (&scene, scene.query, scene.a, 2, with_mask (payload_text ("1 2 3 4"), "1110"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 2 3 1,1,1");
  ovs_op_unref (last);
  scene_clear (&scene);
}

/* W20 */
static void
test_other_semantic (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, with_semantic (payload_fill (float32x3, 2, 1), OVSTAGE_SEMANTIC_POINT));
  assert_refused (&scene,
                  write_payload (&scene, scene.query, scene.a, 2, with_semantic (payload_fill (float32x3, 2, 1), OVSTAGE_SEMANTIC_COLOR)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "POINT", "COLOR");
  scene_clear (&scene);
}

/* W20: NONE keeps */
static void
test_no_semantic_keeps (void)
{
  Scene scene;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, with_semantic (payload_fill (float32x3, 2, 1), OVSTAGE_SEMANTIC_POINT));
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32x3, 2, 2));
  seal_or_fail (&scene, 2);
  group = only_group_or_fail (&scene, scene.query, scene.a, 2);
  g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_POINT);
  ovs_read_group_unref (group);
  assert_values (&scene, scene.query, scene.a, 2, "2,2,2 2,2,2");
  scene_clear (&scene);
}

/* W20: NONE on a prim without the attribute means NONE, in the same write too. */
static void
test_no_semantic_on_absent (void)
{
  Scene scene;
  OvsOp *some, *read;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  some = query_or_fail (&scene, "1");
  write_or_fail (&scene, some, scene.a, 1, with_semantic (payload_fill (float32x3, 1, 1), OVSTAGE_SEMANTIC_POINT));
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32x3, 2, 2));
  seal_or_fail (&scene, 2);
  read = read_or_fail (&scene, scene.query, &scene.a, 1, 2);
  group = next_group_or_fail (read);
  g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_POINT);
  g_assert_cmpuint (ovs_read_group_prim_index (group, 0), ==, 1);
  ovs_read_group_unref (group);
  group = next_group_or_fail (read);
  g_assert_cmpint (group->semantic, ==, OVSTAGE_SEMANTIC_NONE);
  g_assert_cmpuint (ovs_read_group_prim_index (group, 0), ==, 0);
  ovs_read_group_unref (group);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* W20: a semantic on an attribute without one is another schema */
static void
test_semantic_on_plain (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, 2, 1));
  assert_refused (&scene,
                  write_payload (&scene, scene.query, scene.a, 2, with_semantic (payload_fill (float32x3, 2, 1), OVSTAGE_SEMANTIC_POINT)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "is float32x3,", "float32x3 POINT");
  scene_clear (&scene);
}

/* W21 */
static void
test_id_semantics (void)
{
  static const OvstageDataType uint64x2 = { OVS_CODE_UINT, 64, 2 }, int64 = { OVS_CODE_INT, 64, 1 }, uint8 = { OVS_CODE_UINT, 8, 1 };
  static const struct
  {
    OvstageSemantic semantic;
    const OvstageDataType *dtype;
    gboolean good;
    const char *name, *expected;
  } cases[] = {
    { OVSTAGE_SEMANTIC_TOKEN_ID, &uint64x1, TRUE, NULL, NULL },
    { OVSTAGE_SEMANTIC_TOKEN_ID, &int64, FALSE, "TOKEN_ID", "expected uint64 " },
    { OVSTAGE_SEMANTIC_TOKEN_ID, &uint64x2, FALSE, "TOKEN_ID", "expected uint64 " },
    { OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING, &uint64x1, TRUE, NULL, NULL },
    { OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING, &uint8, FALSE, "PATH_EXPRESSION_STRING", "expected uint64 " },
    { OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, &uint64x1, FALSE, "RELATIONSHIP_PATH_ID", "expected uint64[]" },
    { OVSTAGE_SEMANTIC_CONNECTION_PATH_ID, &uint64x2, FALSE, "CONNECTION_PATH_ID", "expected uint64x2[]" },
    { OVSTAGE_SEMANTIC_ASSET_PATH_ID, &uint64x2, TRUE, NULL, NULL },
    { OVSTAGE_SEMANTIC_ASSET_PATH_ID, &uint64x1, FALSE, "ASSET_PATH_ID", "expected uint64x2" },
    { OVSTAGE_SEMANTIC_STRING, &uint8, FALSE, "STRING", "expected uint8[]" },
    { OVSTAGE_SEMANTIC_TIME_CODE, &uint8, TRUE, NULL, NULL },
    { OVSTAGE_SEMANTIC_FRAME, &float32x4, TRUE, NULL, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OvstageWriteData *payload = with_semantic (payload_rows (*cases[i].dtype, 2), cases[i].semantic); /* id 0 is fine */
      Scene scene;

      scene_init (&scene, 2);
      if (cases[i].good)
        write_or_fail (&scene, scene.query, scene.a, 1, payload);
      else
        assert_write_refused (&scene, payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic", cases[i].name, cases[i].expected);
      scene_clear (&scene);
    }
}

/* W22 */
static void
test_usd_names (void)
{
  Scene scene;
  guint64 prim_type, schemas;

  scene_init (&scene, 2);
  prim_type = token_or_fail (scene.stage, "usd-prim-type");
  schemas = token_or_fail (scene.stage, "usd-schemas");
  assert_refused (&scene, write_payload (&scene, scene.query, prim_type, 1, payload_rows (uint64x1, 2)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-prim-type", "NONE", "TOKEN_ID");
  assert_refused (&scene, write_payload (&scene, scene.query, prim_type, 1, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "usd-prim-type", "TOKEN_ID");
  assert_refused (&scene,
                  write_payload (&scene, scene.query, schemas, 1, with_semantic (payload_rows (uint64x1, 2), OVSTAGE_SEMANTIC_TOKEN_ID)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-schemas", "array");
  write_or_fail (&scene, scene.query, prim_type, 1, with_semantic (payload_rows (uint64x1, 2), OVSTAGE_SEMANTIC_TOKEN_ID));
  write_or_fail (&scene, scene.query, prim_type, 2, payload_rows (uint64x1, 2)); /* keeps its semantic */
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, prim_type, 2, "0 0");
  scene_clear (&scene);
}

/* W23 */
static void
test_reserved_names (void)
{
  static const char *const names[] = { "usd-path", "usd-parent", "usd-children", "usd-active" };
  Scene scene;

  scene_init (&scene, 2);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    assert_refused (&scene, write_payload (&scene, scene.query, token_or_fail (scene.stage, names[i]), 1, payload_text ("1 2")),
                    OVSTAGE_ERROR_NOT_SUPPORTED, names[i]);
  scene_clear (&scene);
}

/* W24: the data pointer leads nowhere. */
static void
test_malformed (void)
{
  static const OvstageDataType no_lanes = { OVS_CODE_FLOAT, 32, 0 }, no_bits = { OVS_CODE_FLOAT, 0, 1 };
  static const gint64 many[33] = { 1 };
  gpointer nowhere = GSIZE_TO_POINTER (16);
  Scene scene;

  scene_init (&scene, 2);
  assert_write_refused (&scene, OVER (no_lanes, nowhere, NULL, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "lanes");
  assert_write_refused (&scene, OVER (no_bits, nowhere, NULL, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "bits");
  assert_write_refused (&scene, OVER (float32, nowhere, NULL, -2), OVSTAGE_ERROR_INVALID_ARGUMENT, "shape[0] is -2");
  assert_write_refused (&scene, OVER (float32, nowhere, NULL, 2, -1), OVSTAGE_ERROR_INVALID_ARGUMENT, "shape[1] is -1");
  assert_write_refused (&scene, OVER (float32, nowhere, NULL, G_MAXINT64 / 4, 8), OVSTAGE_ERROR_INVALID_ARGUMENT, "overflows");
  assert_write_refused (&scene, OVER (float32, nowhere, ((gint64[]){ G_MAXINT64 / 2 }), 2), OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "overflows", "strides[0]");
  assert_write_refused (&scene, payload_new (float32, 33, many, NULL, nowhere, NULL, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "ndim is 33",
                        "0 to 32");
  assert_write_refused (&scene, payload_new (float32, -1, many, NULL, nowhere, NULL, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "ndim is -1", "0 to 32");
  scene_clear (&scene);
}

/* W24: 0-d is one row */
static void
test_scalar (void)
{
  Scene scene;

  scene_init (&scene, 1);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_new (float32, 0, NULL, NULL, counting + 7, NULL, NULL));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "7");
  scene_clear (&scene);
}

/* W25 */
static void
test_part_of_byte (void)
{
  static const OvstageDataType fp4 = { OVS_CODE_FLOAT4_E2M1FN, 4, 1 }, bit = { OVS_CODE_UINT, 1, 1 };
  Scene scene;

  scene_init (&scene, 2);
  assert_write_refused (&scene, payload_rows (fp4, 2), OVSTAGE_ERROR_NOT_SUPPORTED, "float4_e2m1fn", "whole number of bytes");
  assert_write_refused (&scene, payload_rows (bit, 2), OVSTAGE_ERROR_NOT_SUPPORTED, "uint1", "whole number of bytes");
  scene_clear (&scene);
}

/* W25: every other code comes back bit by bit with its own code. */
static void
test_all_codes (void)
{
  for (guint code = 0; code <= OVS_CODE_FLOAT4_E2M1FN; code++)
    for (guint bits = 1; bits <= 128; bits++)
      for (guint lanes = 1; lanes <= 8; lanes += 7)
        {
          OvstageDataType dtype = { (guint8) code, (guint8) bits, (guint16) lanes };
          gsize row_size = bits * lanes / 8;
          g_autofree guint8 *bytes = NULL;
          OvstageReadGroup *group;
          OvstageTensor *tensor;
          Scene scene;

          if (bits * lanes % 8 != 0 || (bits > 8 && bits % 16 != 0))
            continue;
          bytes = g_malloc (3 * row_size);
          for (gsize i = 0; i < 3 * row_size; i++)
            bytes[i] = (guint8) g_test_rand_int ();
          scene_init (&scene, 3);
          write_or_fail (&scene, scene.query, scene.a, 1, OVER (dtype, bytes, NULL, 3));
          seal_or_fail (&scene, 1);
          group = only_group_or_fail (&scene, scene.query, scene.a, 1);
          tensor = ovs_read_group_ref_tensor (group, 0);
          g_assert_true (ovs_dtype_equal (tensor->dtype, dtype));
          g_assert_cmpmem (tensor->data, 3 * row_size, bytes, 3 * row_size);
          ovs_tensor_unref (tensor);
          ovs_read_group_unref (group);
          scene_clear (&scene);
        }
}

/* W26 */
static void
test_null_data (void)
{
  Scene scene;
  OvsOp *none;

  scene_init (&scene, 2);
  none = query_or_fail (&scene, "");
  write_or_fail (&scene, none, scene.a, 1, OVER (float32, NULL, NULL, 0));
  assert_write_refused (&scene, OVER (float32, NULL, NULL, 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "0 rows", "2 elements");
  assert_write_refused (&scene, with_map (OVER (float32, NULL, NULL, 0), "00"), OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map[0]",
                        "below 0");
  assert_write_refused (&scene, OVER (float32, NULL, NULL, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "data is NULL");
  assert_write_refused (&scene, OVER (float32, NULL, NULL, 2, 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "0 lanes");
  ovs_op_unref (none);
  scene_clear (&scene);
}

static OvstageWriteData *
payload_on (gint32 device_type, gint32 device_id)
{
  OvstageWriteData *payload = payload_text ("1 2");

  payload->tensor->device_type = device_type;
  payload->tensor->device_id = device_id;
  return payload;
}

/* W27 */
static void
test_device (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_write_refused (&scene, payload_on (OVS_DEVICE_CUDA, 0), OVSTAGE_ERROR_NOT_SUPPORTED, "tensor", "kDLCUDA");
  assert_write_refused (&scene, payload_on (OVS_DEVICE_CUDA, -1), OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "-1");
  assert_write_refused (&scene, payload_on (10, 0), OVSTAGE_ERROR_NOT_SUPPORTED, "tensor", "kDLROCM");
  assert_write_refused (&scene, payload_on (4711, 0), OVSTAGE_ERROR_NOT_SUPPORTED, "tensor", "4711");
  scene_clear (&scene);
}

/* W32 */
static void
test_host_memory (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_on (OVS_DEVICE_CUDA_HOST, 0));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 2");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, payload_on (OVS_DEVICE_CUDA_MANAGED, 0)),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "tensor", "kDLCUDAManaged");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, payload_on (OVS_DEVICE_CPU, 1)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor", "1");
  scene_clear (&scene);
}

/* W27: what only devices have */
static void
test_sync_and_placement (void)
{
  static const OvstagePlacement cpu = { OVS_DEVICE_CPU, 0, 0, 0 }, cuda = { OVS_DEVICE_CUDA, 0, 0, 0 }, stream = { OVS_DEVICE_CPU, 0, 2, 0 };
  Scene scene;
  OvstageWriteData *payload;

  scene_init (&scene, 2);
  payload = payload_text ("1 2");
  payload->sync_stream = 2;
  assert_write_refused (&scene, payload, OVSTAGE_ERROR_NOT_SUPPORTED, "sync: stream is 2 and event is 0", "expected 0 for both");
  payload = payload_text ("1 2");
  payload->sync_event = 3;
  assert_write_refused (&scene, payload, OVSTAGE_ERROR_NOT_SUPPORTED, "sync: stream is 0 and event is 3");

  payload = payload_text ("1 2");
  assert_refused (&scene, ovs_stage_write (scene.stage, scene.query, scene.a, 1, payload, OVSTAGE_PRIM_MODE_UPSERT, &cuda),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "placement", "kDLCUDA");
  assert_refused (&scene, ovs_stage_write (scene.stage, scene.query, scene.a, 1, payload, OVSTAGE_PRIM_MODE_UPSERT, &stream),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "placement: stream is 2 and event is 0");
  assert_ok (ovs_stage_write (scene.stage, scene.query, scene.a, 1, payload, OVSTAGE_PRIM_MODE_UPSERT, &cpu));
  ovs_payload_unref (payload);
  scene_clear (&scene);
}

static void
count_destroyed (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* W30: and the memory is let go of, once */
static void
test_empty_query (void)
{
  gint n_destroyed = 0;
  gint64 shape = 2;
  Scene scene;
  OvsOp *none;
  g_autofree char *before = NULL, *after = NULL;

  scene_init (&scene, 2);
  none = query_or_fail (&scene, "");
  before = dump_state (scene.stage);
  write_or_fail (&scene, none, scene.a, 1, payload_new (float32, 1, &shape, NULL, counting, count_destroyed, &n_destroyed));
  after = dump_state (scene.stage);
  g_assert_cmpstr (before, ==, after);
  g_assert_cmpint (n_destroyed, ==, 1);
  ovs_op_unref (none);
  scene_clear (&scene);
}

/* Empty queries and masks pass only after the form, the device and the name were looked at. */
static void
test_empty_query_checks (void)
{
  static const OvstageDataType no_lanes = { OVS_CODE_FLOAT, 32, 0 };
  Scene scene;
  OvsOp *none;

  scene_init (&scene, 2);
  none = query_or_fail (&scene, "");
  assert_refused (&scene, write_payload (&scene, none, scene.a, 1, payload_rows (no_lanes, 2)), OVSTAGE_ERROR_INVALID_ARGUMENT, "lanes");
  assert_refused (&scene, write_payload (&scene, none, token_or_fail (scene.stage, "usd-path"), 1, payload_text ("1 2")),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "usd-path");
  assert_refused (&scene, write_payload (&scene, none, scene.a, 1, payload_on (OVS_DEVICE_CUDA, 0)), OVSTAGE_ERROR_NOT_SUPPORTED,
                  "kDLCUDA");
  ovs_op_unref (none);
  scene_clear (&scene);
}

/* The memory of a source is let go of once, whether the write went well, was refused or ran on a thread. */
static void
test_source_let_go (void)
{
  gint64 shape = N_LARGE, wrong = 3;
  gint n_destroyed = 0;
  Scene scene;
  g_autofree float *values = g_new0 (float, N_LARGE);

  scene_init (&scene, N_LARGE);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_new (float32, 1, &shape, NULL, values, count_destroyed, &n_destroyed));
  ovs_stage_close (scene.stage); /* the threads are over */
  g_assert_cmpint (n_destroyed, ==, 1);
  scene_clear (&scene);

  n_destroyed = 0;
  scene_init (&scene, 2);
  assert_write_refused (&scene, payload_new (float32, 1, &wrong, NULL, values, count_destroyed, &n_destroyed),
                        OVSTAGE_ERROR_INVALID_ARGUMENT, "rows");
  g_assert_cmpint (n_destroyed, ==, 1);
  scene_clear (&scene);
}

/* W33 */
static void
test_budget (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 10, .n_threads = 2, .caller_limit = 256 * 1024, .staging_budget = 100000 };
  Scene scene;

  scene_init_full (&scene, 10000, &config);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 10000, 1));
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32, 10000, 2));
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 3, payload_fill (float32, 10000, 3)),
                  OVSTAGE_ERROR_OUT_OF_MEMORY, "40000 more", "staging-budget is 100000");
  seal_or_fail (&scene, 1);
  write_or_fail (&scene, scene.query, scene.a, 3, payload_fill (float32, 10000, 3));
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (scene.stage->staged_bytes, ==, 0);
  assert_filled (&scene, scene.query, scene.a, 3, 3);
  scene_clear (&scene);
}

/* W33: what a write brings counts, not the length of the column it goes to. */
static void
test_budget_of_prefix (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 10, .n_threads = 2, .caller_limit = 256 * 1024, .staging_budget = 1000000 };
  Scene scene;

  scene_init_full (&scene, 100000, &config);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 100000, 1));
  seal_or_fail (&scene, 1);
  for (guint64 ordinal = 2; ordinal < 12; ordinal++)
    write_or_fail (&scene, scene.query, scene.a, ordinal, with_count (payload_fill (float32, 1500, 2), 1500));
  g_assert_cmpuint (scene.stage->staged_bytes, <, 300000);
  seal_or_fail (&scene, 11);
  scene_clear (&scene);
}

/* W33: the rewrites of a frame replace one another. */
static void
test_budget_of_rewrites (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 10, .n_threads = 2, .caller_limit = 256 * 1024, .staging_budget = 100000 };
  Scene scene;

  scene_init_full (&scene, 10000, &config);
  for (guint i = 0; i < 100; i++)
    write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 10000, i));
  seal_or_fail (&scene, 1);
  assert_filled (&scene, scene.query, scene.a, 1, 99);
  scene_clear (&scene);
}

/* One write set, however many writes one frame has (ENGINE 11). */
static void
test_many_small (void)
{
  Scene scene;

  scene_init_plain (&scene, 2000);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 2000, 1));
  seal_or_fail (&scene, 1);
  for (guint i = 0; i < 1000; i++)
    {
      guint prim = (i * 7) % 1000 + 500;
      OvsOp *one = query_prims_or_fail (scene.stage, &prim, 1);
      float value = (float) prim;

      write_or_fail (&scene, one, scene.a, 2, OVER (float32, &value, NULL, 1));
      ovs_op_unref (one);
    }
  {
    OvsAttr *attr = ovs_stage_get_attr (scene.stage, (guint32) scene.a);

    g_assert_cmpuint (attr->sets->len, ==, 1);
    g_assert_cmpuint (((OvsWriteSet *) attr->sets->pdata[0])->n_parts, <, 10);
  }
  seal_or_fail (&scene, 2);
  ovs_op_unref (scene.query);
  scene.query = query_or_fail (&scene, "0 499-502 1499-1501");
  assert_values (&scene, scene.query, scene.a, 2, "1 1 500 501 502 1499 1 1");
  scene_clear (&scene);
}

/* Later rows of the same prim win, in one ordinal and among small writes. */
static void
test_small_again (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 5);
  some = query_or_fail (&scene, "3 1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4 5");
  for (guint i = 0; i < 100; i++)
    write_or_fail (&scene, some, scene.a, 1, payload_fill (float32, 2, i));
  write_or_fail (&scene, some, scene.a, 1, with_count (payload_text ("7"), 1));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 99 3 7 5");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Shape, map and mask are read during the call: the caller may drop all but the tensor's memory. */
static void
test_in_flight (void)
{
  Scene scene;
  OvsOp *write;
  OvstageWriteData *payload;
  gpointer memory;
  g_autofree char *expected = NULL;

  scene_init_paused (&scene, 4);
  memory = g_memdup2 ((float[]){ 10, 20, 30 }, 12);
  payload = with_map (payload_new (float32, 1, (gint64[]){ 3 }, NULL, memory, g_free, memory), "2101");
  write = write_payload (&scene, scene.query, scene.a, 1, payload);
  payload = with_mask (payload_text ("5 6 7 8"), "0110");
  g_assert_false (ovs_op_is_done (write));
  scene_resume (&scene);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  assert_ok (write);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "30 6 7 20");
  scene_clear (&scene);
}

/* As above with the threads' slices: every layout of targets, in sizes that are no round numbers. */
static void
test_slices (void)
{
  guint n = 3 * N_LARGE + 77;
  g_autofree guint64 *words = g_new0 (guint64, n / 64 + 1);
  g_autofree guint32 *map = g_new (guint32, n);
  OvstageReadGroup *group;
  OvstageWriteData *payload;
  Scene scene;

  scene_init_plain (&scene, n);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, n, 0));
  payload = with_count (payload_rows (float32x3, n), n);
  for (guint i = 0; i < 3 * n; i++)
    payload_floats (payload)[i] = (float) (i / 3 + 1);
  for (guint i = 0; i < n; i++)
    if (i % 3 == 1 || i / 1000 == 7)
      words[i / 64] |= G_GUINT64_CONSTANT (1) << (i % 64);
  ovs_payload_set_mask (payload, words, n / 64 + 1);
  write_or_fail (&scene, scene.query, scene.a, 2, ovs_payload_ref (payload));
  ovs_payload_set_mask (payload, NULL, 0);
  for (guint i = 0; i < n; i++)
    map[i] = n - 1 - i;
  ovs_payload_set_index_map (payload, map, n);
  write_or_fail (&scene, scene.query, scene.b, 2, payload);
  seal_or_fail (&scene, 2);

  group = only_group_or_fail (&scene, scene.query, scene.a, 2);
  g_assert_cmpuint (group->prim_count, ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (((const float *) group_row (group, i))[2], ==, i % 3 == 1 || i / 1000 == 7 ? (float) (i + 1) : 0);
  ovs_read_group_unref (group);
  group = only_group_or_fail (&scene, scene.query, scene.b, 2);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (((const float *) group_row (group, i))[2], ==, (float) (n - i));
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* --- faults --- */

static void
test_enums (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_refused (&scene, write_mode (&scene, scene.query, scene.a, 1, payload_text ("1 2"), (OvstagePrimMode) 3),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode is 3", "expected 0");
  assert_refused (&scene, write_mode (&scene, scene.query, scene.a, 1, payload_text ("1 2"), (OvstagePrimMode) -1),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode is -1");
  assert_write_refused (&scene, with_semantic (payload_text ("1 2"), (OvstageSemantic) 16), OVSTAGE_ERROR_INVALID_ARGUMENT,
                        "semantic is 16", "expected 0");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, OVSTAGE_ORDINAL_NEWEST, payload_text ("1 2")),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal", "OVSTAGE_ORDINAL_NEWEST");
  scene_clear (&scene);
}

static void
test_handles (void)
{
  Scene scene, other;
  OvsOp *query;

  scene_init (&scene, 2);
  scene_init (&other, 2);
  assert_refused (&scene, write_payload (&scene, other.query, scene.a, 1, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_HANDLE, "query",
                  "another stage");
  assert_refused (&scene, write_payload (&scene, scene.query, 0, 1, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_HANDLE, "attribute",
                  "token 0");
  assert_refused (&scene, write_payload (&scene, scene.query, 4711, 1, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_HANDLE, "attribute",
                  "4711");
  /* Not one whose lower half is known. */
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a + (G_GUINT64_CONSTANT (1) << 32), 1, payload_text ("1 2")),
                  OVSTAGE_ERROR_INVALID_HANDLE, "attribute", "unknown");
  assert_refused (&scene, write_payload (&scene, scene.query, G_MAXUINT64, 1, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_HANDLE,
                  "attribute");
  query = ovs_stage_query_list (scene.stage, other.list);
  check_refused (ovs_op_ref (query), OVSTAGE_ERROR_INVALID_HANDLE, (const char *const[]){ "path list", "another dictionary", NULL });
  assert_refused (&scene, write_payload (&scene, query, scene.a, 1, payload_text ("1 2")), OVSTAGE_ERROR_OP_FAILED, "query",
                  "another dictionary");
  ovs_op_unref (query);
  scene_clear (&scene);
  scene_clear (&other);
}

static void
test_closed (void)
{
  Scene scene;

  scene_init (&scene, 2);
  ovs_stage_close (scene.stage);
  assert_write_refused (&scene, payload_text ("1 2"), OVSTAGE_ERROR_INVALID_HANDLE, "closed");
  scene_clear (&scene);
}

/* A write with every fault there is; they are taken away in the order in which they have to be told. */
static void
test_order_of_faults (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 1, .n_threads = 2, .caller_limit = 256 * 1024, .staging_budget = 10 };
  Scene scene, other;
  OvstageWriteData *payload;
  OvstagePlacement placement = { OVS_DEVICE_CUDA, 0, 0, 0 };
  OvstagePrimMode mode = (OvstagePrimMode) 9;
  guint64 ordinal = 3, attribute = 4711;
  OvsOp *query;

#define assert_fault(code, text)                                                                                       \
  assert_refused (&scene, ovs_stage_write (scene.stage, query, attribute, ordinal, payload, mode, &placement), code, text)

  scene_init_full (&scene, 2, &config);
  scene_init (&other, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_rows ((OvstageDataType){ OVS_CODE_UINT, 8, 1 }, 2));
  seal_or_fail (&scene, 3);
  query = other.query;
  payload = with_semantic (with_map (payload_fill (float32, 1, 1), "01"), OVSTAGE_SEMANTIC_TOKEN_ID);
  payload->tensor->device_type = OVS_DEVICE_CUDA;
  payload->count = 0;

  assert_fault (OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode");
  mode = OVSTAGE_PRIM_MODE_INSERT;
  assert_fault (OVSTAGE_ERROR_INVALID_HANDLE, "query");
  query = scene.query;
  assert_fault (OVSTAGE_ERROR_INVALID_HANDLE, "attribute");
  attribute = token_or_fail (scene.stage, "usd-path");
  assert_fault (OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 0"); /* W11 */
  payload->count = 2;
  assert_fault (OVSTAGE_ERROR_NOT_SUPPORTED, "kDLCUDA"); /* W27 */
  payload->tensor->device_type = OVS_DEVICE_CPU;
  assert_fault (OVSTAGE_ERROR_NOT_SUPPORTED, "usd-path"); /* W23 */
  attribute = scene.a;
  assert_fault (OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map[1]"); /* W12 */
  ovs_payload_set_index_map (payload, (guint32[]){ 0, 0 }, 2);
  assert_fault (OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "floor");
  ordinal = 4;
  assert_fault (OVSTAGE_ERROR_ALREADY_EXISTS, "INSERT");
  mode = OVSTAGE_PRIM_MODE_UPDATE;
  assert_fault (OVSTAGE_ERROR_INVALID_ARGUMENT, "delete it before"); /* W20 */
  attribute = scene.b;
  assert_fault (OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic TOKEN_ID"); /* W21 */
  payload->semantic = OVSTAGE_SEMANTIC_NONE;
  assert_fault (OVSTAGE_ERROR_NOT_SUPPORTED, "placement");
  placement.device_type = OVS_DEVICE_CPU;
  ovs_payload_unref (payload);
  payload = payload_fill (float32x4, 2, 1);
  assert_fault (OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget"); /* W33 */
  ovs_payload_unref (payload);
#undef assert_fault

  scene_clear (&other);
  scene_clear (&scene);
}

/* --- no memory --- */

typedef void (*Attempt) (Scene *scene, guint64 ordinal, OvsOp **op);

/* Fails each allocation in turn; the write is then refused, nothing has changed, and it may be submitted again. */
static void
check_out_of_memory (guint n_prims, void (*prepare) (Scene *), Attempt attempt, guint least)
{
  guint n_failed = 0;

  for (gint after = 0;; after++)
    {
      Scene scene;
      OvsOp *op = NULL;
      g_autofree char *before = NULL, *refused = NULL;

      scene_init_plain (&scene, n_prims);
      prepare (&scene);
      ovs_stage_trim (scene.stage); /* bindings are made anew */
      before = dump_state (scene.stage);
      ovs_pool_fail_after (scene.stage->pool, after);
      attempt (&scene, 10, &op);
      g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      ovs_pool_fail_after (scene.stage->pool, -1);
      if (ovs_op_get_error (op) == NULL)
        {
          ovs_op_unref (op);
          seal_or_fail (&scene, 10);
          scene_clear (&scene);
          if (after > 8)
            break;
          continue;
        }
      n_failed++;
      check_refused (op, OVSTAGE_ERROR_OUT_OF_MEMORY, (const char *const[]){ "no memory for", NULL });
      refused = dump_state (scene.stage);
      g_assert_cmpstr (before, ==, refused);
      attempt (&scene, 10, &op);
      assert_ok (op);
      seal_or_fail (&scene, 10);
      assert_filled (&scene, scene.query, scene.a, 10, 7);
      scene_clear (&scene);
    }
  g_assert_cmpuint (n_failed, >=, least);
}

static void
prepare_nothing (Scene *scene)
{
}

static void
prepare_all (Scene *scene)
{
  write_or_fail (scene, scene->query, scene->a, 1, payload_fill (float32, scene->n, 7));
  seal_or_fail (scene, 1);
}

static void
prepare_some (Scene *scene)
{
  OvsOp *some = query_or_fail (scene, "3 1");

  write_or_fail (scene, some, scene->a, 1, payload_fill (float32, 2, 7));
  write_or_fail (scene, some, scene->b, 1, payload_fill (float32, 2, 7));
  ovs_op_unref (some);
}

static void
attempt_all (Scene *scene, guint64 ordinal, OvsOp **op)
{
  *op = write_payload (scene, scene->query, scene->a, ordinal, payload_fill (float32, scene->n, 7));
}

static void
attempt_mask (Scene *scene, guint64 ordinal, OvsOp **op)
{
  g_autofree char *mask = g_strnfill (scene->n, '1');

  mask[1] = '0';
  *op = write_payload (scene, scene->query, scene->a, ordinal, with_mask (payload_fill (float32, scene->n, 7), mask));
}

static void
attempt_one (Scene *scene, guint64 ordinal, OvsOp **op)
{
  OvsOp *one = query_or_fail (scene, "2");

  *op = write_payload (scene, one, scene->a, ordinal, payload_fill (float32, 1, 7));
  ovs_op_unref (one);
}

static void
test_out_of_memory_first (void)
{
  check_out_of_memory (5, prepare_nothing, attempt_all, 1);
}

static void
test_out_of_memory_plain (void)
{
  check_out_of_memory (5, prepare_all, attempt_all, 1);
  check_out_of_memory (5, prepare_all, attempt_one, 2);
  check_out_of_memory (5, prepare_all, attempt_mask, 2);
  check_out_of_memory (5000, prepare_all, attempt_mask, 2);
  if (!is_slow ())
    check_out_of_memory (N_LARGE, prepare_all, attempt_mask, 2);
}

static void
test_out_of_memory_growing (void)
{
  check_out_of_memory (5, prepare_some, attempt_all, 2);
}

/* Of one attribute there are 65534 schemas at most; those that are there can still be written. */
static void
test_too_many_schemas (void)
{
  Scene scene;
  OvsAttr *attr;
  OvsOp *one;

  scene_init (&scene, 2);
  one = query_or_fail (&scene, "0");
  write_text (&scene, one, scene.a, 1, "1");
  ovs_stage_lock (scene.stage);
  attr = ovs_stage_get_attr (scene.stage, (guint32) scene.a);
  while (attr->columns->len < G_MAXUINT16 - 1)
    {
      OvsSchema schema = { { OVS_CODE_UINT, 8, (guint16) attr->columns->len }, FALSE, OVSTAGE_SEMANTIC_NONE };
      g_autoptr (OvsLayout) layout = ovs_layout_new (NULL);

      ovs_attr_add_column (attr, &schema, attr->columns->len, layout);
    }
  ovs_stage_unlock (scene.stage);
  assert_ok (ovs_stage_delete (scene.stage, one, TOKENS (scene.a), 1));
  check_refused (write_payload (&scene, one, scene.a, 1, payload_fill (float32x3, 1, 1)), OVSTAGE_ERROR_NOT_SUPPORTED,
                 (const char *const[]){ "'a'", "65534", "float32x3", NULL });
  write_text (&scene, one, scene.a, 1, "2");
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "2 -");
  ovs_op_unref (one);
  scene_clear (&scene);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (counting); i++)
    counting[i] = (float) i;

  g_test_add_func ("/engine-write/w2/no-tensor", test_no_tensor);
  g_test_add_func ("/engine-write/w3/canonical", test_canonical);
  g_test_add_func ("/engine-write/w3/huge-rows", test_huge_rows);
  g_test_add_func ("/engine-write/w4/folded", test_folded);
  g_test_add_func ("/engine-write/w5/onto-wide-column", test_flat_onto_wide);
  g_test_add_func ("/engine-write/w5/onto-prims", test_flat_onto_prims);
  g_test_add_func ("/engine-write/w6/rows", test_rows);
  g_test_add_func ("/engine-write/w7/strides", test_strides);
  g_test_add_func ("/engine-write/w7/strides-of-one", test_strides_of_one);
  g_test_add_func ("/engine-write/w7/unaligned", test_unaligned);
  g_test_add_func ("/engine-write/w8/count-zero", test_count_zero);
  g_test_add_func ("/engine-write/w9/count-leads", test_count_leads);
  g_test_add_func ("/engine-write/w10/count-above", test_count_above);
  g_test_add_func ("/engine-write/w11/map-and-mask", test_map_and_mask);
  g_test_add_func ("/engine-write/w12/map-entry", test_map_entry);
  g_test_add_func ("/engine-write/w13/map-gathers", test_map_gathers);
  g_test_add_func ("/engine-write/w14/keeps-value", test_mask_keeps_value);
  g_test_add_func ("/engine-write/w14/keeps-absence", test_mask_keeps_absence);
  g_test_add_func ("/engine-write/w14/bits-past-count", test_mask_bits_past_count);
  g_test_add_func ("/engine-write/w14/words", test_mask_words);
  g_test_add_func ("/engine-write/w14/nothing", test_mask_of_nothing);
  g_test_add_func ("/engine-write/w18/ordinal-zero", test_ordinal_zero);
  g_test_add_func ("/engine-write/w18/at-floor", test_at_floor);
  g_test_add_func ("/engine-write/w18/own-floor", test_floor_of_that_attribute);
  g_test_add_func ("/engine-write/w19/insert", test_insert);
  g_test_add_func ("/engine-write/w19/insert-other-attribute", test_insert_other_attribute);
  g_test_add_func ("/engine-write/w19/insert-as-of", test_insert_as_of);
  g_test_add_func ("/engine-write/w19/update", test_update);
  g_test_add_func ("/engine-write/w19/update-adds-attribute", test_update_adds_attribute);
  g_test_add_func ("/engine-write/w19/update-as-of", test_update_as_of);
  g_test_add_func ("/engine-write/w19/as-of-sealed-apart", test_as_of_sealed_apart);
  g_test_add_func ("/engine-write/w19/targets", test_prim_mode_targets);
  g_test_add_func ("/engine-write/w19/in-flight", test_prim_mode_in_flight);
  g_test_add_func ("/engine-write/w20/other-schema", test_other_schema);
  g_test_add_func ("/engine-write/w20/names-prim", test_other_schema_names_prim);
  g_test_add_func ("/engine-write/w20/other-semantic", test_other_semantic);
  g_test_add_func ("/engine-write/w20/no-semantic-keeps", test_no_semantic_keeps);
  g_test_add_func ("/engine-write/w20/no-semantic-on-absent", test_no_semantic_on_absent);
  g_test_add_func ("/engine-write/w20/semantic-on-plain", test_semantic_on_plain);
  g_test_add_func ("/engine-write/w21/id-semantics", test_id_semantics);
  g_test_add_func ("/engine-write/w22/usd-names", test_usd_names);
  g_test_add_func ("/engine-write/too-many-schemas", test_too_many_schemas);
  g_test_add_func ("/engine-write/w23/reserved-names", test_reserved_names);
  g_test_add_func ("/engine-write/w24/malformed", test_malformed);
  g_test_add_func ("/engine-write/w24/scalar", test_scalar);
  g_test_add_func ("/engine-write/w25/part-of-byte", test_part_of_byte);
  g_test_add_func ("/engine-write/w25/all-codes", test_all_codes);
  g_test_add_func ("/engine-write/w26/null-data", test_null_data);
  g_test_add_func ("/engine-write/w27/device", test_device);
  g_test_add_func ("/engine-write/w27/sync-and-placement", test_sync_and_placement);
  g_test_add_func ("/engine-write/w30/empty-query", test_empty_query);
  g_test_add_func ("/engine-write/w30/empty-query-checks", test_empty_query_checks);
  g_test_add_func ("/engine-write/w32/host-memory", test_host_memory);
  g_test_add_func ("/engine-write/w33/budget", test_budget);
  g_test_add_func ("/engine-write/w33/prefix", test_budget_of_prefix);
  g_test_add_func ("/engine-write/w33/rewrites", test_budget_of_rewrites);
  g_test_add_func ("/engine-write/source-let-go", test_source_let_go);
  g_test_add_func ("/engine-write/many-small", test_many_small);
  g_test_add_func ("/engine-write/small-again", test_small_again);
  g_test_add_func ("/engine-write/in-flight", test_in_flight);
  g_test_add_func ("/engine-write/slices", test_slices);
  g_test_add_func ("/engine-write/faults/enums", test_enums);
  g_test_add_func ("/engine-write/faults/handles", test_handles);
  g_test_add_func ("/engine-write/faults/closed", test_closed);
  g_test_add_func ("/engine-write/faults/order", test_order_of_faults);
  g_test_add_func ("/engine-write/out-of-memory/first", test_out_of_memory_first);
  g_test_add_func ("/engine-write/out-of-memory/plain", test_out_of_memory_plain);
  g_test_add_func ("/engine-write/out-of-memory/growing", test_out_of_memory_growing);

  return g_test_run ();
}
