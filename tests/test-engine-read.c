/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "engine-helpers.h"

#define assert_read_refused(scene, query, attributes, ordinal, code, ...)                                              \
  assert_refused (scene, read_at (scene, query, attributes, ordinal), code, __VA_ARGS__)

#define assert_as_of(scene, query, attributes, ordinal, expected)                                                      \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      OvsOp *read_ = read_or_fail (scene, query, attributes, ordinal);                                                 \
      g_assert_cmpuint (ovs_read_get_as_of (read_), ==, expected);                                                     \
      ovs_op_unref (read_);                                                                                            \
    }                                                                                                                  \
  G_STMT_END

/* --- rule 1 --- */

static void
test_snapshot (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 4);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 4);
  write_text (&scene, scene.query, scene.a, 6, "3 4");
  seal_or_fail (&scene, 7);
  assert_values (&scene, scene.query, scene.a, 0, "- -");
  assert_values (&scene, scene.query, scene.a, 2, "- -");
  assert_values (&scene, scene.query, scene.a, 3, "1 2");
  assert_values (&scene, scene.query, scene.a, 5, "1 2");
  assert_values (&scene, scene.query, scene.a, 6, "3 4");
  assert_values (&scene, scene.query, scene.a, 7, "3 4");
  scene_clear (&scene);
}

/* Above the floor, with nothing pending: the value as of the floor. */
static void
test_above_floor (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 100, "1 2");
  assert_as_of (&scene, scene.query, TOKENS (scene.a), 100, 5);
  scene_clear (&scene);
}

static void
test_unsealed (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 3, "1 2 3");
  seal_or_fail (&scene, 3);
  write_text (&scene, scene.query, scene.a, 5, "4 5 6");
  assert_read_refused (&scene, scene.query, TOKENS (scene.a), 5, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "ordinal 5",
                       "floor is 3", "read is at 5");
  assert_read_refused (&scene, scene.query, TOKENS (scene.b, scene.a), 9, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "ordinal 5",
                       "read is at 9");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "4 5 6");
  scene_clear (&scene);
}

/* Also what only makes the prim appear. */
static void
test_unsealed_new_key (void)
{
  Scene scene;
  OvsOp *some, *others;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "0 1");
  others = query_or_fail (&scene, "1 2");
  write_text (&scene, some, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  write_text (&scene, others, scene.a, 4, "3 4");
  assert_values (&scene, others, scene.a, 4, "WRITE_FLOOR_VIOLATION");
  assert_values (&scene, some, scene.a, 4, "WRITE_FLOOR_VIOLATION");
  ovs_op_unref (some);
  some = query_or_fail (&scene, "2");
  assert_values (&scene, some, scene.a, 4, "WRITE_FLOOR_VIOLATION");
  ovs_op_unref (some);
  ovs_op_unref (others);
  scene_clear (&scene);
}

static void
test_unsealed_elsewhere (void)
{
  Scene scene;
  OvsOp *some, *others;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "0 1");
  others = query_or_fail (&scene, "3 2");
  write_text (&scene, scene.query, scene.a, 3, "1 2 3 4");
  seal_or_fail (&scene, 3);
  write_text (&scene, others, scene.a, 4, "9 9");       /* other prims */
  write_text (&scene, some, scene.b, 4, "9 9");         /* another attribute */
  write_text (&scene, some, scene.a, 6, "9 9");         /* above the read */
  write_or_fail (&scene, scene.query, scene.a, 5, with_mask (payload_text ("9 9 9 9"), "0011")); /* not selected */
  assert_values (&scene, some, scene.a, 5, "1 2");
  assert_values (&scene, some, scene.a, 6, "WRITE_FLOOR_VIOLATION");
  ovs_op_unref (some);
  ovs_op_unref (others);
  scene_clear (&scene);
}

/* What a masked write targets is known from its submission on, wherever its bytes are. */
static void
test_unsealed_in_flight (void)
{
  Scene scene;
  OvsOp *write, *even, *odd;
  g_autofree char *mask = g_strnfill (1000, '0');
  GString *even_text = g_string_new (NULL), *odd_text = g_string_new (NULL);

  scene_init_paused (&scene, 1000);
  for (guint i = 0; i < 1000; i++)
    {
      mask[i] = i % 2 == 0 ? '1' : '0';
      g_string_append_printf (i % 2 == 0 ? even_text : odd_text, "%s%u", i > 1 ? " " : "", i);
    }
  ovs_debug_set_flags (OVS_DEBUG_POISON);
  even = query_or_fail (&scene, even_text->str);
  odd = query_or_fail (&scene, odd_text->str);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 1000, 1));
  seal_or_fail (&scene, 1);
  ovs_debug_set_flags (OVS_DEBUG_POISON | OVS_DEBUG_ASYNC);
  write = write_payload (&scene, scene.query, scene.a, 2, with_mask (payload_fill (float32, 1000, 2), mask));
  g_assert_false (ovs_op_is_done (write));
  assert_read_refused (&scene, even, TOKENS (scene.a), 2, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'");
  assert_filled (&scene, odd, scene.a, 2, 1);
  scene_resume (&scene);
  assert_ok (write);
  seal_or_fail (&scene, 2);
  assert_filled (&scene, even, scene.a, 2, 2);
  assert_filled (&scene, odd, scene.a, 2, 1);
  ovs_op_unref (even);
  ovs_op_unref (odd);
  g_string_free (even_text, TRUE);
  g_string_free (odd_text, TRUE);
  scene_clear (&scene);
}

static void
test_out_of_range (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 0);
  write_text (&scene, scene.query, scene.a, 5, "3 4");
  seal_or_fail (&scene, 8);
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 5);
  assert_read_refused (&scene, scene.query, TOKENS (scene.a), 4, OVSTAGE_ERROR_OUT_OF_RANGE, "'a'", "ordinal 4", "of 5");
  assert_read_refused (&scene, scene.query, TOKENS (scene.a), 2, OVSTAGE_ERROR_OUT_OF_RANGE, "'a'", "ordinal 2", "of 5");
  assert_values (&scene, scene.query, scene.a, 5, "3 4");
  assert_values (&scene, scene.query, scene.b, 4, "- -");
  scene_clear (&scene);
}

/* WRITE_FLOOR_VIOLATION is told first. */
static void
test_violation_before_range (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  write_text (&scene, scene.query, scene.a, 5, "3 4");
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  write_text (&scene, scene.query, scene.b, 4, "3 4");
  assert_read_refused (&scene, scene.query, TOKENS (scene.a, scene.b), 4, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b'");
  assert_read_refused (&scene, scene.query, TOKENS (scene.a), 4, OVSTAGE_ERROR_OUT_OF_RANGE, "'a'");
  scene_clear (&scene);
}

/* Each attribute as of its own floor; never for lack of history, whatever is staged. */
static void
test_newest (void)
{
  Scene scene;
  OvsOp *read;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  write_text (&scene, scene.query, scene.b, 3, "3 4");
  seal_or_fail (&scene, 3);
  for (guint64 ordinal = 4; ordinal < 20; ordinal++)
    {
      write_or_fail (&scene, scene.query, scene.a, ordinal, payload_fill (float32, 2, (double) ordinal));
      seal_scope_or_fail (&scene, ordinal, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
    }
  write_text (&scene, scene.query, scene.a, 25, "8 8");
  write_text (&scene, scene.query, scene.b, 5, "8 8");
  assert_values (&scene, scene.query, scene.a, OVSTAGE_ORDINAL_NEWEST, "19 19");
  assert_values (&scene, scene.query, scene.b, OVSTAGE_ORDINAL_NEWEST, "3 4");
  assert_as_of (&scene, scene.query, TOKENS (scene.a, scene.b), OVSTAGE_ORDINAL_NEWEST, 3);
  assert_as_of (&scene, scene.query, TOKENS (scene.a), OVSTAGE_ORDINAL_NEWEST, 19);

  read = read_or_fail (&scene, scene.query, TOKENS (scene.a, scene.b), OVSTAGE_ORDINAL_NEWEST);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->attribute, ==, scene.a);
  g_assert_cmpuint (group->write_floor, ==, 19);
  ovs_read_group_unref (group);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->attribute, ==, scene.b);
  g_assert_cmpuint (group->write_floor, ==, 3);
  ovs_read_group_unref (group);
  ovs_op_unref (read);
  scene_clear (&scene);
}

static void
test_as_of (void)
{
  Scene scene;
  guint64 nobody;

  scene_init_depth (&scene, 2, 8);
  nobody = token_or_fail (scene.stage, "nobody");
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  write_text (&scene, scene.query, scene.b, 3, "3 4");
  seal_scope_or_fail (&scene, 8, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  seal_scope_or_fail (&scene, 6, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_INCLUDE, TOKENS (nobody));
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  assert_as_of (&scene, scene.query, TOKENS (scene.a, scene.b), 9, 6);
  assert_as_of (&scene, scene.query, TOKENS (scene.a, scene.b), 7, 6);
  assert_as_of (&scene, scene.query, TOKENS (scene.a, scene.b), 5, 5);
  assert_as_of (&scene, scene.query, TOKENS (scene.a), 9, 8);
  assert_as_of (&scene, scene.query, TOKENS (scene.a, nobody), 9, 8);
  /* Of those that exist; of none, the global floor. */
  assert_as_of (&scene, scene.query, TOKENS (nobody), 9, 0);
  assert_as_of (&scene, scene.query, NO_TOKENS, 9, 0);
  seal_or_fail (&scene, 7);
  assert_as_of (&scene, scene.query, TOKENS (nobody), 9, 7);
  assert_as_of (&scene, scene.query, TOKENS (nobody), 5, 5);
  assert_as_of (&scene, scene.query, NO_TOKENS, OVSTAGE_ORDINAL_NEWEST, 7);
  scene_clear (&scene);
}

/* An attribute exists when it has rows or staged work. */
static void
test_as_of_staged_only (void)
{
  Scene scene;

  scene_init (&scene, 2);
  seal_scope_or_fail (&scene, 6, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.b));
  write_text (&scene, scene.query, scene.a, 7, "1 2");
  seal_or_fail (&scene, 2);
  assert_as_of (&scene, scene.query, TOKENS (scene.b), OVSTAGE_ORDINAL_NEWEST, 2);
  assert_as_of (&scene, scene.query, TOKENS (scene.a, scene.b), OVSTAGE_ORDINAL_NEWEST, 6);
  write_text (&scene, scene.query, scene.b, 3, "1 2");
  assert_as_of (&scene, scene.query, TOKENS (scene.a, scene.b), OVSTAGE_ORDINAL_NEWEST, 2);
  scene_clear (&scene);
}

/* Attributes that were sealed apart are read apart. */
static void
test_own_floors (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 4);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  write_text (&scene, scene.query, scene.b, 3, "3 4");
  seal_or_fail (&scene, 3);
  write_text (&scene, scene.query, scene.a, 5, "5 6");
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_values (&scene, scene.query, scene.a, 5, "5 6");
  assert_values (&scene, scene.query, scene.b, 5, "3 4");
  assert_values (&scene, scene.query, scene.a, 3, "1 2");
  write_text (&scene, scene.query, scene.b, 4, "7 8");
  assert_values (&scene, scene.query, scene.b, 5, "WRITE_FLOOR_VIOLATION");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.b, 5, "7 8");
  scene_clear (&scene);
}

/* --- rule 3 --- */

static void
test_nothing (void)
{
  Scene scene;
  OvsOp *none, *read;

  scene_init (&scene, 2);
  none = query_or_fail (&scene, "");
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  write_text (&scene, scene.query, scene.a, 4, "1 2");

  read = read_or_fail (&scene, scene.query, TOKENS (token_or_fail (scene.stage, "nobody")), 3);
  g_assert_null (next_group_or_fail (read));
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  read = read_or_fail (&scene, none, TOKENS (scene.a), 4);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  read = read_or_fail (&scene, scene.query, NULL, 0, 4);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  ovs_op_unref (none);
  scene_clear (&scene);
}

/* No prim of the query carries it: no group, rather than an empty one. */
static void
test_no_prim (void)
{
  Scene scene;
  OvsOp *some, *others, *read;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "0 1");
  others = query_or_fail (&scene, "3 2");
  write_text (&scene, some, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  read = read_or_fail (&scene, others, TOKENS (scene.a), 3);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  ovs_op_unref (some);
  ovs_op_unref (others);
  scene_clear (&scene);
}

static void
test_named_twice (void)
{
  Scene scene;
  OvsOp *read;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  write_text (&scene, scene.query, scene.b, 3, "1 2");
  seal_or_fail (&scene, 3);
  read = read_or_fail (&scene, scene.query, TOKENS (scene.b, scene.a, scene.b, scene.a), 3);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->attribute, ==, scene.b);
  ovs_read_group_unref (group);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->attribute, ==, scene.a);
  ovs_read_group_unref (group);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  scene_clear (&scene);
}

/* --- rule 4 --- */

/* A group as text: prims, then rows: "dense", "+n" for an offset, or the map. */
static char *
placement_to_text (OvstageReadGroup *group)
{
  GString *text = g_string_new (NULL);

  if (group->prim_map == NULL)
    g_string_append_printf (text, "+%u n%u", group->prim_offset, group->prim_count);
  else
    for (guint32 i = 0; i < group->prim_count; i++)
      g_string_append_printf (text, "%s%u", i > 0 ? " " : "", group->prim_map[i]);
  g_string_append (text, " |");
  if (group->data_map == NULL)
    g_string_append_printf (text, " n%u", group->data_count);
  else
    for (guint32 i = 0; i < group->prim_count; i++)
      g_string_append_printf (text, " %u", group->data_map[i]);
  return g_string_free (text, FALSE);
}

#define assert_placement(scene, query, attribute, ordinal, expected)                                                   \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      OvstageReadGroup *group_ = only_group_or_fail (scene, query, attribute, ordinal);                                \
      g_autofree char *text_ = placement_to_text (group_);                                                             \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
      ovs_read_group_unref (group_);                                                                                   \
    }                                                                                                                  \
  G_STMT_END

static void
test_dense (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 3, "1 2 3 4");
  seal_or_fail (&scene, 3);
  assert_placement (&scene, scene.query, scene.a, 3, "+0 n4 | n4");
  scene_clear (&scene);
}

static void
test_run_of_column (void)
{
  Scene scene;
  OvsOp *some;
  OvstageReadGroup *group;

  scene_init (&scene, 6);
  some = query_or_fail (&scene, "2-4");
  write_text (&scene, scene.query, scene.a, 3, "1 2 3 4 5 6");
  seal_or_fail (&scene, 3);
  assert_placement (&scene, some, scene.a, 3, "+0 n3 | n3");
  group = only_group_or_fail (&scene, some, scene.a, 3);
  g_assert_cmpmem (group_row (group, 0), 12, ((float[]){ 3, 4, 5 }), 12);
  ovs_read_group_unref (group);
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_prim_offset (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 6);
  some = query_or_fail (&scene, "2-4");
  write_text (&scene, some, scene.a, 3, "1 2 3");
  seal_or_fail (&scene, 3);
  assert_placement (&scene, scene.query, scene.a, 3, "+2 n3 | n3");
  assert_values (&scene, scene.query, scene.a, 3, "- - 1 2 3 -");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_prim_map (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 6);
  some = query_or_fail (&scene, "1 3 4");
  write_text (&scene, some, scene.a, 3, "1 2 3");
  seal_or_fail (&scene, 3);
  assert_placement (&scene, scene.query, scene.a, 3, "1 3 4 | n3");
  assert_values (&scene, scene.query, scene.a, 3, "- 1 - 2 3 -");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_data_map (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "3 1 2");
  write_text (&scene, scene.query, scene.a, 3, "1 2 3 4");
  seal_or_fail (&scene, 3);
  assert_placement (&scene, some, scene.a, 3, "+0 n3 | 3 1 2");
  assert_values (&scene, some, scene.a, 3, "4 2 3");
  ovs_op_unref (some);
  some = query_or_fail (&scene, "3 9 1");
  assert_placement (&scene, some, scene.a, 3, "0 2 | 3 1");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* A list that another column's layout begins with is bound by content. */
static void
test_same_list_again (void)
{
  Scene scene;
  OvsOp *again;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 3, "1 2 3 4");
  seal_or_fail (&scene, 3);
  again = query_or_fail (&scene, "0-3");
  assert_placement (&scene, again, scene.a, 3, "+0 n4 | n4");
  write_text (&scene, again, scene.b, 4, "1 2 3 4");
  seal_or_fail (&scene, 4);
  assert_placement (&scene, scene.query, scene.b, 4, "+0 n4 | n4");
  ovs_op_unref (again);
  scene_clear (&scene);
}

/* One group for each schema, in the order in which these came to be; every prim once. */
static void
test_two_schemas (void)
{
  Scene scene;
  OvsOp *wide, *narrow, *read;
  OvstageReadGroup *group;

  scene_init (&scene, 5);
  wide = query_or_fail (&scene, "4 0");
  narrow = query_or_fail (&scene, "1 2 3");
  write_or_fail (&scene, wide, scene.a, 2, payload_fill (float32x3, 2, 8));
  write_text (&scene, narrow, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 2);
  read = read_or_fail (&scene, scene.query, &scene.a, 1, 2);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->dtype.lanes, ==, 3);
  g_assert_cmpuint (group->prim_count, ==, 2);
  g_assert_cmpuint (group->ordinal, ==, 2);
  ovs_read_group_unref (group);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->dtype.lanes, ==, 1);
  g_assert_cmpuint (group->prim_count, ==, 3);
  g_assert_cmpuint (group->ordinal, ==, 1);
  ovs_read_group_unref (group);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  assert_values (&scene, scene.query, scene.a, 2, "8,8,8 1 2 3 8,8,8");
  ovs_op_unref (wide);
  ovs_op_unref (narrow);
  scene_clear (&scene);
}

#define assert_group_ordinal(scene, query, attribute, at, expected)                                                    \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      OvstageReadGroup *group_ = only_group_or_fail (scene, query, attribute, at);                                     \
      g_assert_cmpuint (group_->ordinal, ==, expected);                                                                \
      ovs_read_group_unref (group_);                                                                                   \
    }                                                                                                                  \
  G_STMT_END

/* The newest change that meets the rows of the group, up to what was read. */
static void
test_group_ordinal (void)
{
  Scene scene;
  OvsOp *first, *last, *middle;

  scene_init_depth (&scene, 100, 4);
  first = query_or_fail (&scene, "0-9");
  middle = query_or_fail (&scene, "51 53 50");
  last = query_or_fail (&scene, "99 97");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 100, 1));
  seal_or_fail (&scene, 1);
  write_or_fail (&scene, first, scene.a, 3, payload_fill (float32, 10, 3));
  write_or_fail (&scene, middle, scene.a, 4, payload_fill (float32, 3, 4));
  write_or_fail (&scene, last, scene.a, 5, with_mask (payload_fill (float32, 2, 5), "01"));
  seal_or_fail (&scene, 7);
  assert_group_ordinal (&scene, scene.query, scene.a, 7, 5);
  assert_group_ordinal (&scene, first, scene.a, 7, 3);
  assert_group_ordinal (&scene, middle, scene.a, 7, 4);
  assert_group_ordinal (&scene, last, scene.a, 7, 5);
  assert_group_ordinal (&scene, scene.query, scene.a, 4, 4);
  assert_group_ordinal (&scene, first, scene.a, 2, 1);
  ovs_op_unref (last);
  last = query_or_fail (&scene, "99"); /* not selected by the mask */
  assert_group_ordinal (&scene, last, scene.a, 7, 1);
  ovs_op_unref (last);
  last = query_or_fail (&scene, "60-70 9");
  assert_group_ordinal (&scene, last, scene.a, 7, 3);
  ovs_op_unref (last);
  ovs_op_unref (first);
  ovs_op_unref (middle);
  scene_clear (&scene);
}

/* Several ordinals folded into one version keep their own. */
static void
test_group_ordinal_merged (void)
{
  Scene scene;
  OvsOp *first, *second;

  scene_init (&scene, 10);
  first = query_or_fail (&scene, "0 1");
  second = query_or_fail (&scene, "2 3");
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32, 10, 1));
  write_or_fail (&scene, first, scene.a, 12, payload_fill (float32, 2, 1));
  write_or_fail (&scene, second, scene.a, 15, payload_fill (float32, 2, 1));
  seal_or_fail (&scene, 20);
  assert_group_ordinal (&scene, scene.query, scene.a, 20, 15);
  assert_group_ordinal (&scene, first, scene.a, 20, 12);
  ovs_op_unref (first);
  first = query_or_fail (&scene, "7");
  assert_group_ordinal (&scene, first, scene.a, 20, 2);
  ovs_op_unref (first);
  ovs_op_unref (second);
  scene_clear (&scene);
}

/* The same bytes written again are a change; of the whole column, too. */
static void
test_group_ordinal_same_bytes (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_text (&scene, scene.query, scene.a, 2, "1 2 3 4");
  seal_or_fail (&scene, 9);
  assert_group_ordinal (&scene, scene.query, scene.a, 9, 2);
  scene_clear (&scene);
}

/* Changes older than what is tracked count as the frontier. */
static void
test_group_ordinal_frontier (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 100, .n_threads = 2, .caller_limit = 256 * 1024, .change_budget = 4096 };
  Scene scene;
  OvsOp *one, *other;
  guint64 frontier;

  scene_init_full (&scene, 1000, &config);
  one = query_or_fail (&scene, "17");
  other = query_or_fail (&scene, "500-600 3 7 9");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 1000, 1));
  write_or_fail (&scene, one, scene.a, 2, payload_fill (float32, 1, 1));
  seal_or_fail (&scene, 2);
  assert_group_ordinal (&scene, one, scene.a, 2, 2);
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (scene.stage), ==, 0);
  for (guint64 ordinal = 3; ordinal < 200; ordinal++)
    {
      write_or_fail (&scene, other, scene.a, ordinal, payload_fill (float32, 104, 2));
      seal_or_fail (&scene, ordinal);
    }
  frontier = ovs_stage_get_oldest_preserved (scene.stage);
  g_assert_cmpuint (frontier, >, 2);
  g_assert_cmpuint (frontier, <, 199);
  assert_group_ordinal (&scene, other, scene.a, 199, 199);
  assert_group_ordinal (&scene, one, scene.a, 199, frontier);
  ovs_op_unref (one);
  ovs_op_unref (other);
  scene_clear (&scene);
}

/* --- rule 5 --- */

static void
test_tensor (void)
{
  Scene scene;
  OvstageReadGroup *group;
  OvstageTensor *tensor, *again;

  scene_init (&scene, 5);
  write_or_fail (&scene, scene.query, scene.a, 3, payload_fill (float32x3, 5, 4));
  seal_or_fail (&scene, 3);
  group = only_group_or_fail (&scene, scene.query, scene.a, 3);
  g_assert_cmpuint (group->n_tensors, ==, 1);
  g_assert_false (group->is_array);
  g_assert_false (group->is_delete);
  tensor = ovs_read_group_ref_tensor (group, 0);
  g_assert_null (ovs_read_group_ref_tensor (group, 1));
  g_assert_cmpint (tensor->ndim, ==, 1);
  g_assert_cmpint (tensor->shape[0], ==, 5);
  g_assert_nonnull (tensor->strides);
  g_assert_cmpint (tensor->strides[0], ==, 1);
  g_assert_true (ovs_dtype_equal (tensor->dtype, float32x3));
  g_assert_cmpint (tensor->device_type, ==, OVS_DEVICE_CPU);
  g_assert_cmpint (tensor->device_id, ==, 0);
  g_assert_cmpuint (tensor->flags & OVS_TENSOR_READ_ONLY, !=, 0);
  g_assert_cmpuint (GPOINTER_TO_SIZE (tensor->data) % 256, ==, 0);
  again = ovs_read_group_ref_tensor (group, 0);
  g_assert_true (again == tensor);
  ovs_tensor_unref (again);
  ovs_tensor_unref (tensor);
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* No copy: what was staged is what is read, and two reads see the same bytes. */
static void
test_zero_copy (void)
{
  Scene scene;
  OvsAttr *attr;
  const guint8 *staged;
  OvstageReadGroup *group, *other;

  scene_init_plain (&scene, 5);
  for (guint64 ordinal = 1; ordinal < 4; ordinal++)
    {
      write_or_fail (&scene, scene.query, scene.a, ordinal, payload_fill (float32x3, 5, (double) ordinal));
      attr = ovs_stage_get_attr (scene.stage, (guint32) scene.a);
      staged = ((OvsWriteSet *) attr->sets->pdata[0])->parts[0].values->data;
      seal_or_fail (&scene, ordinal);
      group = only_group_or_fail (&scene, scene.query, scene.a, ordinal);
      other = only_group_or_fail (&scene, scene.query, scene.a, ordinal);
      g_assert_true (group_row (group, 0) == staged);
      g_assert_true (group_row (other, 0) == staged);
      ovs_read_group_unref (group);
      ovs_read_group_unref (other);
    }
  scene_clear (&scene);
}

/* --- rule 6 --- */

static void
test_held_blocks_nobody (void)
{
  for (guint whole = 0; whole < 2; whole++)
    {
      Scene scene;
      OvsOp *query;
      OvstageReadGroup *group;
      g_autofree float *before = NULL;

      scene_init (&scene, 300);
      query = whole ? ovs_op_ref (scene.query) : query_or_fail (&scene, "7-20 250 3");
      write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 300, 0.5));
      seal_or_fail (&scene, 1);
      group = only_group_or_fail (&scene, scene.query, scene.a, 1);
      before = g_memdup2 (group_row (group, 0), 300 * sizeof (float));
      for (guint64 ordinal = 2; ordinal <= 1001; ordinal++)
        {
          write_or_fail (&scene, query, scene.a, ordinal,
                         payload_fill (float32, ovs_query_get_list (query)->n, (double) ordinal));
          seal_or_fail (&scene, ordinal);
        }
      g_assert_cmpmem (group_row (group, 0), 300 * sizeof (float), before, 300 * sizeof (float));
      g_assert_cmpuint (group->ordinal, ==, 1);
      assert_filled (&scene, query, scene.a, 1001, 1001);
      ovs_read_group_unref (group);
      ovs_op_unref (query);
      scene_clear (&scene);
    }
}

/* A held one costs one copy, not one a frame. */
static void
test_held_costs_one_copy (void)
{
  Scene scene;
  OvsOp *some;
  OvstageReadGroup *group;
  guint64 before;

  scene_init_plain (&scene, 1000);
  some = query_or_fail (&scene, "5 9 2");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 1000, 1));
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  before = scene.stage->n_bytes_folded;
  for (guint64 ordinal = 2; ordinal < 102; ordinal++)
    {
      write_or_fail (&scene, some, scene.a, ordinal, payload_fill (float32, 3, 2));
      seal_or_fail (&scene, ordinal);
    }
  g_assert_cmpuint (scene.stage->n_bytes_folded - before, ==, 1000 * 4 + 100 * 12);
  ovs_read_group_unref (group);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Groups outlive their read, the next seals and the stage; tensors outlive the group. */
static void
test_outlives (void)
{
  Scene scene;
  OvsPool *pool;
  OvsPoolStats stats;
  OvsOp *read;
  OvstageReadGroup *group, *second;
  OvstageTensor *tensor;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, scene.query, scene.b, 1, "4 5 6");
  seal_or_fail (&scene, 1);
  read = read_or_fail (&scene, scene.query, TOKENS (scene.a, scene.b), 1);
  group = next_group_or_fail (read);
  second = next_group_or_fail (read);
  ovs_op_unref (read);
  write_text (&scene, scene.query, scene.a, 2, "7 8 9");
  seal_or_fail (&scene, 2);
  tensor = ovs_read_group_ref_tensor (group, 0);
  ovs_read_group_unref (group);

  pool = ovs_pool_ref (scene.stage->pool);
  ovs_op_unref (scene.query);
  ovs_stage_close (scene.stage);
  ovs_stage_unref (scene.stage);
  ovs_debug_set_flags (scene.flags);
  ovs_pool_get_stats (pool, &stats);
  g_assert_cmpuint (stats.n_live, ==, 2);
  g_assert_cmpmem (tensor->data, 12, ((float[]){ 1, 2, 3 }), 12);
  g_assert_cmpmem (group_row (second, 0), 12, ((float[]){ 4, 5, 6 }), 12);
  g_assert_cmpuint (second->list->n, ==, 3);
  ovs_tensor_unref (tensor);
  ovs_read_group_unref (second);
  ovs_pool_get_stats (pool, &stats);
  g_assert_cmpuint (stats.n_live, ==, 0);
  ovs_pool_unref (pool);
}

/* A tensor that somebody kept is a reader, too: no fold works on its bytes. */
static void
test_held_tensor (void)
{
  Scene scene;
  OvsOp *some;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  scene_init (&scene, 3);
  some = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  tensor = ovs_read_group_ref_tensor (group, 0);
  ovs_read_group_unref (group);
  write_text (&scene, some, scene.a, 2, "9");
  seal_or_fail (&scene, 2);
  g_assert_cmpmem (tensor->data, 12, ((float[]){ 1, 2, 3 }), 12);
  assert_values (&scene, scene.query, scene.a, 2, "1 9 3");
  ovs_tensor_unref (tensor);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* A read that is not yet fetched shows what it took. */
static void
test_late_fetch (void)
{
  Scene scene;
  OvsOp *some, *read;

  scene_init (&scene, 3);
  some = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  read = read_at (&scene, scene.query, &scene.a, 1, 1);
  write_text (&scene, some, scene.a, 2, "9");
  seal_or_fail (&scene, 2);
  assert_read (read, "1 2 3");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* --- rule 8 --- */

static guint64
generation_at (Scene *scene, guint64 attribute, guint64 ordinal)
{
  OvsOp *read = read_or_fail (scene, scene->query, &attribute, 1, ordinal);
  OvstageReadGroup *group = next_group_or_fail (read);
  guint64 generation = group->layout_generation;

  ovs_read_group_unref (group);
  while ((group = next_group_or_fail (read)) != NULL)
    {
      g_assert_cmpuint (group->layout_generation, ==, generation);
      ovs_read_group_unref (group);
    }
  ovs_op_unref (read);
  return generation;
}

static void
test_generation (void)
{
  Scene scene;
  OvsOp *some, *last;
  guint64 first, grown;

  scene_init_depth (&scene, 5, 8);
  some = query_or_fail (&scene, "0-3");
  last = query_or_fail (&scene, "4");
  write_text (&scene, some, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  first = generation_at (&scene, scene.a, 1);
  g_assert_cmpuint (first, >, 0);

  write_text (&scene, some, scene.a, 2, "1 2 3 4");
  write_or_fail (&scene, some, scene.a, 3, with_mask (payload_text ("1 2 3 4"), "0110"));
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (generation_at (&scene, scene.a, 3), ==, first);

  write_text (&scene, last, scene.a, 5, "5");
  g_assert_cmpuint (generation_at (&scene, scene.a, 4), ==, first); /* of the version, not the head */
  seal_or_fail (&scene, 5);
  grown = generation_at (&scene, scene.a, 5);
  g_assert_cmpuint (grown, >, first);
  g_assert_cmpuint (generation_at (&scene, scene.a, 4), ==, first);

  write_text (&scene, scene.query, scene.a, 6, "5 4 3 2 1");
  seal_or_fail (&scene, 6);
  g_assert_cmpuint (generation_at (&scene, scene.a, 6), ==, grown);
  write_text (&scene, some, scene.b, 7, "1 2 3 4");
  seal_or_fail (&scene, 7);
  g_assert_cmpuint (generation_at (&scene, scene.a, 7), ==, grown);
  ovs_op_unref (some);
  ovs_op_unref (last);
  scene_clear (&scene);
}

/* A move to another schema is a change of layout. */
static void
test_generation_of_move (void)
{
  Scene scene;
  guint64 before;

  scene_init_depth (&scene, 2, 8);
  write_text (&scene, scene.query, scene.a, 5, "1 2");
  write_or_fail (&scene, scene.query, scene.a, 3, payload_fill (float32x3, 2, 8));
  seal_or_fail (&scene, 4);
  before = generation_at (&scene, scene.a, 4);
  seal_or_fail (&scene, 5);
  g_assert_cmpuint (generation_at (&scene, scene.a, 5), >, before);
  g_assert_cmpuint (generation_at (&scene, scene.a, 4), ==, before);
  scene_clear (&scene);
}

/* --- rule 9 --- */

/* Nothing is at 3 when float32x4 comes: accepted. At 5 the later entry decides (ENGINE 10). */
static void
test_schemas_out_of_order (void)
{
  Scene scene;
  OvsOp *some;

  scene_init_depth (&scene, 3, 4);
  some = query_or_fail (&scene, "0 1");
  write_or_fail (&scene, scene.query, scene.a, 5, payload_fill (float32x3, 3, 5));
  write_or_fail (&scene, some, scene.a, 3, payload_fill (float32x4, 2, 3));
  /* Now both ordinals have a schema. */
  assert_refused (&scene, write_payload (&scene, some, scene.a, 4, payload_fill (float32x3, 2, 4)), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "float32x4", "float32x3");
  assert_refused (&scene, write_payload (&scene, some, scene.a, 5, payload_fill (float32x4, 2, 4)), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "float32x4", "float32x3");
  write_or_fail (&scene, some, scene.a, 4, payload_fill (float32x4, 2, 4));
  seal_or_fail (&scene, 6);
  assert_values (&scene, scene.query, scene.a, 3, "3,3,3,3 3,3,3,3 -");
  assert_values (&scene, scene.query, scene.a, 4, "4,4,4,4 4,4,4,4 -");
  assert_values (&scene, scene.query, scene.a, 5, "5,5,5 5,5,5 5,5,5");
  /* What lives now is float32x3. */
  write_or_fail (&scene, some, scene.a, 7, payload_fill (float32x3, 2, 7));
  seal_or_fail (&scene, 7);
  assert_values (&scene, scene.query, scene.a, 7, "7,7,7 7,7,7 5,5,5");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* The same, sealed one by one. */
static void
test_schemas_sealed_apart (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 5, payload_fill (float32x3, 3, 5));
  write_or_fail (&scene, scene.query, scene.a, 3, payload_fill (float32x4, 3, 3));
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "3,3,3,3 3,3,3,3 3,3,3,3");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "5,5,5 5,5,5 5,5,5");
  assert_values (&scene, scene.query, scene.a, 4, "OUT_OF_RANGE");
  scene_clear (&scene);
}

/* Some prims move, some stay. */
static void
test_schemas_move_some (void)
{
  Scene scene;
  OvsOp *some, *moved;

  scene_init_depth (&scene, 5, 4);
  some = query_or_fail (&scene, "1 2");
  moved = query_or_fail (&scene, "3 2 1");
  write_or_fail (&scene, some, scene.a, 5, payload_fill (float32x3, 2, 5));
  write_or_fail (&scene, moved, scene.a, 3, payload_fill (float32x4, 3, 3));
  write_text (&scene, some, scene.a, 2, "8 9");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 2, "- 8 9 - -");
  assert_values (&scene, scene.query, scene.a, 3, "- 3,3,3,3 3,3,3,3 3,3,3,3 -");
  assert_values (&scene, scene.query, scene.a, 5, "- 5,5,5 5,5,5 3,3,3,3 -");
  ovs_op_unref (some);
  ovs_op_unref (moved);
  scene_clear (&scene);
}

/* --- history --- */

/* Depth counts the ordinals at which that column changed. */
static void
test_history (void)
{
  Scene scene;

  scene_init_depth (&scene, 1, 4);
  write_text (&scene, scene.query, scene.b, 5, "55");
  for (guint64 ordinal = 1; ordinal <= 10; ordinal++)
    write_or_fail (&scene, scene.query, scene.a, ordinal, payload_fill (float32, 1, (double) ordinal));
  seal_or_fail (&scene, 10); /* one advance, four versions */
  assert_values (&scene, scene.query, scene.a, 7, "7");
  assert_values (&scene, scene.query, scene.a, 10, "10");
  assert_values (&scene, scene.query, scene.a, 6, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.b, 6, "55");
  assert_values (&scene, scene.query, scene.b, 4, "-");
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 7);
  write_text (&scene, scene.query, scene.a, 20, "20");
  seal_or_fail (&scene, 20);
  assert_values (&scene, scene.query, scene.a, 7, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.a, 8, "8");
  assert_values (&scene, scene.query, scene.a, 19, "10");
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 8);
  scene_clear (&scene);
}

static void
test_history_partial (void)
{
  Scene scene;
  OvsOp *some;

  scene_init_depth (&scene, 4, 4);
  some = query_or_fail (&scene, "2 0");
  write_text (&scene, scene.query, scene.a, 1, "1 1 1 1");
  for (guint64 ordinal = 2; ordinal <= 9; ordinal++)
    {
      write_or_fail (&scene, some, scene.a, ordinal, payload_fill (float32, 2, (double) ordinal));
      if (ordinal % 3 == 0)
        seal_or_fail (&scene, ordinal);
    }
  assert_values (&scene, scene.query, scene.a, 5, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.a, 6, "6 1 6 1");
  assert_values (&scene, scene.query, scene.a, 7, "7 1 7 1");
  assert_values (&scene, scene.query, scene.a, 8, "8 1 8 1");
  assert_values (&scene, scene.query, scene.a, 9, "9 1 9 1");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* --- faults --- */

static void
test_faults (void)
{
  static const OvstagePlacement cuda = { OVS_DEVICE_CUDA, 0, 0, 0 };
  Scene scene, other;

  scene_init (&scene, 2);
  scene_init (&other, 2);
  assert_read_refused (&scene, other.query, TOKENS (scene.a), 1, OVSTAGE_ERROR_INVALID_HANDLE, "query", "another stage");
  assert_read_refused (&scene, scene.query, TOKENS (scene.a, 0), 1, OVSTAGE_ERROR_INVALID_HANDLE, "attributes[1]", "token 0");
  assert_read_refused (&scene, scene.query, TOKENS (4711), 1, OVSTAGE_ERROR_INVALID_HANDLE, "attributes[0]", "4711");
  assert_refused (&scene, read_at (&scene, scene.query, NULL, 2, 1), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL", "2 tokens");
  assert_refused (&scene,
                  ovs_stage_read (scene.stage, scene.query, TOKENS (scene.a), &OVSTAGE_ORDINAL_RANGE_LATEST (1), &cuda),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "placement", "kDLCUDA");
  ovs_stage_close (scene.stage);
  assert_read_refused (&scene, scene.query, TOKENS (scene.a), 1, OVSTAGE_ERROR_INVALID_HANDLE, "closed");
  scene_clear (&scene);
  scene_clear (&other);
}

/* A failed read tells its error at each fetch. */
static void
test_fetch_of_failed (void)
{
  Scene scene;
  OvsOp *read;

  scene_init (&scene, 2);
  read = read_at (&scene, scene.query, TOKENS (4711), 1);
  for (guint i = 0; i < 2; i++)
    {
      OvstageReadGroup *group = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_false (ovs_read_next (read, &group, &error));
      g_assert_null (group);
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
    }
  ovs_op_unref (read);
  scene_clear (&scene);
}

static void
test_out_of_memory (void)
{
  Scene scene;
  OvsOp *some;
  guint n_failed = 0;

  scene_init_plain (&scene, 6);
  some = query_or_fail (&scene, "5 3 0");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4 5 6");
  write_text (&scene, some, scene.b, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  write_text (&scene, some, scene.a, 2, "1 2 3");
  for (gint after = 0;; after++)
    {
      OvsOp *read;

      ovs_stage_trim (scene.stage);
      ovs_op_unref (some); /* a query remembers its rows */
      some = query_or_fail (&scene, "5 3 0");
      ovs_pool_fail_after (scene.stage->pool, after);
      read = read_at (&scene, some, TOKENS (scene.a, scene.b), 1);
      ovs_pool_fail_after (scene.stage->pool, -1);
      if (ovs_op_get_error (read) == NULL)
        {
          ovs_op_unref (read);
          break;
        }
      n_failed++;
      check_refused (read, OVSTAGE_ERROR_OUT_OF_MEMORY, (const char *const[]){ "read", "3 prims", NULL });
    }
  g_assert_cmpuint (n_failed, >, 0);
  assert_values (&scene, some, scene.a, 1, "6 4 1");
  ovs_op_unref (some);
  scene_clear (&scene);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/engine-read/r1/snapshot", test_snapshot);
  g_test_add_func ("/engine-read/r1/above-floor", test_above_floor);
  g_test_add_func ("/engine-read/r1/unsealed", test_unsealed);
  g_test_add_func ("/engine-read/r1/unsealed-new-key", test_unsealed_new_key);
  g_test_add_func ("/engine-read/r1/unsealed-elsewhere", test_unsealed_elsewhere);
  g_test_add_func ("/engine-read/r1/unsealed-in-flight", test_unsealed_in_flight);
  g_test_add_func ("/engine-read/r1/out-of-range", test_out_of_range);
  g_test_add_func ("/engine-read/r1/violation-before-range", test_violation_before_range);
  g_test_add_func ("/engine-read/r1/newest", test_newest);
  g_test_add_func ("/engine-read/r1/as-of", test_as_of);
  g_test_add_func ("/engine-read/r1/as-of-staged-only", test_as_of_staged_only);
  g_test_add_func ("/engine-read/r1/own-floors", test_own_floors);
  g_test_add_func ("/engine-read/r3/nothing", test_nothing);
  g_test_add_func ("/engine-read/r3/no-prim", test_no_prim);
  g_test_add_func ("/engine-read/r3/named-twice", test_named_twice);
  g_test_add_func ("/engine-read/r4/dense", test_dense);
  g_test_add_func ("/engine-read/r4/run-of-column", test_run_of_column);
  g_test_add_func ("/engine-read/r4/prim-offset", test_prim_offset);
  g_test_add_func ("/engine-read/r4/prim-map", test_prim_map);
  g_test_add_func ("/engine-read/r4/data-map", test_data_map);
  g_test_add_func ("/engine-read/r4/same-list-again", test_same_list_again);
  g_test_add_func ("/engine-read/r4/two-schemas", test_two_schemas);
  g_test_add_func ("/engine-read/r4/ordinal", test_group_ordinal);
  g_test_add_func ("/engine-read/r4/ordinal-merged", test_group_ordinal_merged);
  g_test_add_func ("/engine-read/r4/ordinal-same-bytes", test_group_ordinal_same_bytes);
  g_test_add_func ("/engine-read/r4/ordinal-frontier", test_group_ordinal_frontier);
  g_test_add_func ("/engine-read/r5/tensor", test_tensor);
  g_test_add_func ("/engine-read/r5/zero-copy", test_zero_copy);
  g_test_add_func ("/engine-read/r6/held-blocks-nobody", test_held_blocks_nobody);
  g_test_add_func ("/engine-read/r6/held-costs-one-copy", test_held_costs_one_copy);
  g_test_add_func ("/engine-read/r6/outlives", test_outlives);
  g_test_add_func ("/engine-read/r6/held-tensor", test_held_tensor);
  g_test_add_func ("/engine-read/r6/late-fetch", test_late_fetch);
  g_test_add_func ("/engine-read/r8/generation", test_generation);
  g_test_add_func ("/engine-read/r8/move", test_generation_of_move);
  g_test_add_func ("/engine-read/r9/schemas-out-of-order", test_schemas_out_of_order);
  g_test_add_func ("/engine-read/r9/schemas-sealed-apart", test_schemas_sealed_apart);
  g_test_add_func ("/engine-read/r9/schemas-move-some", test_schemas_move_some);
  g_test_add_func ("/engine-read/history/depth", test_history);
  g_test_add_func ("/engine-read/history/partial", test_history_partial);
  g_test_add_func ("/engine-read/faults/refused", test_faults);
  g_test_add_func ("/engine-read/faults/fetch-of-failed", test_fetch_of_failed);
  g_test_add_func ("/engine-read/faults/out-of-memory", test_out_of_memory);

  return g_test_run ();
}
