/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Reads of a range, and what is kept for them. The groups of a read are told as text:
 * "a1@5 0=7 3=8" is a value group of attribute a with one lane, whose newest change is
 * of 5, with entries 0 and 3 of the list; "a[]@5" is one of arrays, "a-@6 2" a tombstone
 * group. */

#include "config.h"

#include "engine-helpers.h"

#define NEWEST OVSTAGE_ORDINAL_NEWEST

static OvsOp *
range_at (Scene *scene, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 a, guint64 b)
{
  OvstageOrdinalRange range = { a, b, TRUE };

  return ovs_stage_read (scene->stage, query, attributes, n_attributes, &range, NULL);
}

/* In place of a number of lanes. */
#define ARRAY 2u

static void
append_label (GString *text, guint lanes, guint64 ordinal)
{
  if (lanes == ARRAY)
    g_string_append (text, "[]");
  else
    g_string_append_printf (text, "%u", lanes);
  g_string_append_printf (text, "@%" G_GUINT64_FORMAT, ordinal);
}

static void
append_group (GString *text, Scene *scene, OvstageReadGroup *group)
{
  g_assert_cmpuint (group->prim_count, >, 0);
  g_string_append_printf (text, "%s%s", text->len > 0 ? "; " : "", ovs_stage_name (scene->stage, group->attribute));
  if (group->is_delete)
    {
      g_assert_cmpuint (group->n_tensors, ==, 0);
      g_assert_cmpuint (group->data_count, ==, 0);
      g_assert_null (ovs_read_group_ref_tensor (group, 0));
      g_string_append_printf (text, "-@%" G_GUINT64_FORMAT, group->ordinal);
    }
  else
    append_label (text, group->is_array ? ARRAY : group->dtype.lanes, group->ordinal);
  for (guint32 i = 0; i < group->prim_count; i++)
    {
      g_string_append_printf (text, " %u", ovs_read_group_prim_index (group, i));
      if (group->is_delete)
        continue;
      g_string_append_c (text, '=');
      if (group->is_array)
        append_array (text, group, i);
      else
        append_row (text, group->dtype, group_row (group, i));
    }
}

/* @keep: (nullable) the groups go there. Takes @read. */
static char *
groups_to_text (Scene *scene, OvsOp *read, GPtrArray *keep)
{
  GString *text = g_string_new (NULL);
  OvstageReadGroup *group;

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  if (ovs_op_get_error (read) != NULL)
    g_string_append (text, error_name (ovs_op_get_error (read)));
  else
    while ((group = next_group_or_fail (read)) != NULL)
      {
        append_group (text, scene, group);
        if (keep != NULL)
          g_ptr_array_add (keep, group);
        else
          ovs_read_group_unref (group);
      }
  ovs_op_unref (read);
  return g_string_free (text, FALSE);
}

#define assert_groups(scene, read, expected)                                                                           \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *text_ = groups_to_text (scene, read, NULL);                                                     \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
    }                                                                                                                  \
  G_STMT_END

#define assert_range(scene, attribute, a, b, expected)                                                                 \
  assert_groups (scene, range_at (scene, (scene)->query, (guint64[]){ attribute }, 1, a, b), expected)

static void
delete_text (Scene *scene, const char *prims, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  OvsOp *query = query_or_fail (scene, prims);

  assert_ok (ovs_stage_delete (scene->stage, query, attributes, n_attributes, ordinal));
  ovs_op_unref (query);
}

static void
write_some (Scene *scene, const char *prims, guint64 attribute, guint64 ordinal, const char *values)
{
  OvsOp *query = query_or_fail (scene, prims);

  write_text (scene, query, attribute, ordinal, values);
  ovs_op_unref (query);
}

static void
write_wide (Scene *scene, const char *prims, guint64 attribute, guint64 ordinal, double value)
{
  OvsOp *query = query_or_fail (scene, prims);

  write_or_fail (scene, query, attribute, ordinal, payload_fill (float32x3, ovs_query_get_list (query)->n, value));
  ovs_op_unref (query);
}

static OvsAttr *
attr_of (Scene *scene, guint64 token)
{
  return ovs_stage_get_attr (scene->stage, (guint32) token);
}

/* --- what a range tells --- */

static void
test_values (void)
{
  Scene scene;

  scene_init (&scene, 5);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4 5");
  seal_or_fail (&scene, 1);
  write_some (&scene, "3 1", scene.a, 2, "14 12");
  seal_or_fail (&scene, 2);
  write_some (&scene, "1 4", scene.a, 4, "22 25");
  seal_or_fail (&scene, 6);
  assert_range (&scene, scene.a, 2, 6, "a1@4 1=22 3=14 4=25");
  assert_range (&scene, scene.a, 3, 6, "a1@4 1=22 4=25");
  assert_range (&scene, scene.a, 3, NEWEST, "a1@4 1=22 4=25");
  assert_range (&scene, scene.a, 0, NEWEST, "a1@4 0=1 1=22 2=3 3=14 4=25");
  assert_range (&scene, scene.a, 5, 6, "");
  assert_range (&scene, scene.a, 7, NEWEST, "");
  assert_range (&scene, scene.a, NEWEST, NEWEST, "");
  scene_clear (&scene);
}

/* Several ordinals in one seal, and in one version, are told apart. */
static void
test_merged (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 2, "1 2 3 4");
  write_some (&scene, "0", scene.a, 12, "11");
  write_some (&scene, "1", scene.a, 15, "12");
  write_some (&scene, "0", scene.a, 18, "21");
  seal_or_fail (&scene, 20);
  assert_range (&scene, scene.a, 16, 20, "a1@18 0=21");
  assert_range (&scene, scene.a, 13, 20, "a1@18 0=21 1=12");
  assert_range (&scene, scene.a, 1, 20, "a1@18 0=21 1=12 2=3 3=4");
  scene_clear (&scene);
}

static void
test_deletes (void)
{
  Scene scene;

  scene_init (&scene, 6);
  write_some (&scene, "0-3", scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  /* Deleted, then written: a value. Written, then deleted: gone. Created and deleted: gone. Absent and deleted: nothing. */
  delete_text (&scene, "0", TOKENS (scene.a), 2);
  write_some (&scene, "0", scene.a, 2, "11");
  write_some (&scene, "1", scene.a, 2, "12");
  delete_text (&scene, "1", TOKENS (scene.a), 2);
  write_some (&scene, "4", scene.a, 2, "15");
  delete_text (&scene, "4 5", TOKENS (scene.a), 3);
  seal_or_fail (&scene, 3);
  assert_range (&scene, scene.a, 2, 3, "a1@2 0=11; a-@3 1 4");
  assert_range (&scene, scene.a, 3, 3, "a-@3 4");
  write_some (&scene, "4", scene.a, 4, "25");
  delete_text (&scene, "2", NO_TOKENS, 5);
  seal_or_fail (&scene, 5);
  assert_range (&scene, scene.a, 2, 5, "a1@4 0=11 4=25; a-@5 1 2");
  assert_range (&scene, scene.a, 4, 5, "a1@4 4=25; a-@5 2");
  assert_range (&scene, scene.a, 5, 5, "a-@5 2");
  assert_range (&scene, scene.a, 6, NEWEST, "");
  scene_clear (&scene);
}

/* Created and deleted within one ordinal. */
static void
test_short_life (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  delete_text (&scene, "1", TOKENS (scene.a), 3);
  seal_or_fail (&scene, 3);
  assert_range (&scene, scene.a, 3, 3, "a1@3 0=1; a-@3 1");
  scene_clear (&scene);
}

static void
test_moves (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  delete_text (&scene, "1 2", TOKENS (scene.a), 2);
  write_wide (&scene, "2", scene.a, 2, 7);
  write_some (&scene, "3", scene.a, 3, "14");
  seal_or_fail (&scene, 3);
  assert_range (&scene, scene.a, 2, 3, "a1@3 3=14; a3@2 2=7,7,7; a-@2 1");
  assert_range (&scene, scene.a, 1, 3, "a1@3 0=1 3=14; a3@2 2=7,7,7; a-@2 1");
  /* And back. */
  delete_text (&scene, "2", TOKENS (scene.a), 4);
  write_some (&scene, "2", scene.a, 5, "23");
  seal_or_fail (&scene, 5);
  assert_range (&scene, scene.a, 2, 5, "a1@5 2=23 3=14; a-@2 1");
  assert_range (&scene, scene.a, 4, NEWEST, "a1@5 2=23");
  scene_clear (&scene);
}

static void
test_arrays (void)
{
  Scene scene;

  scene_init (&scene, 5);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_arrays ("1,2 3 . 4,5,6 7"));
  seal_or_fail (&scene, 1);
  write_or_fail (&scene, scene.query, scene.a, 2, with_mask (payload_arrays ("0 8,9 0 . 0"), "01010"));
  delete_text (&scene, "4", TOKENS (scene.a), 2);
  seal_or_fail (&scene, 2);
  assert_range (&scene, scene.a, 2, 2, "a[]@2 1=8,9 3=.; a-@2 4");
  assert_range (&scene, scene.a, 1, 2, "a[]@2 0=1,2 1=8,9 2=. 3=.; a-@2 4");
  scene_clear (&scene);
}

/* The same bytes are a change, a row that the mask leaves out is none. */
static void
test_what_is_a_change (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_or_fail (&scene, scene.query, scene.a, 2, with_mask (payload_text ("1 2 3 4"), "0101"));
  seal_or_fail (&scene, 2);
  assert_range (&scene, scene.a, 2, 2, "a1@2 1=2 3=4");
  write_text (&scene, scene.query, scene.a, 3, "1 2 3 4");
  seal_or_fail (&scene, 3);
  assert_range (&scene, scene.a, 3, 3, "a1@3 0=1 1=2 2=3 3=4");
  write_or_fail (&scene, scene.query, scene.a, 4, with_mask (payload_text ("1 2 3 4"), "0000"));
  delete_text (&scene, "0-3", TOKENS (scene.b), 4);
  seal_or_fail (&scene, 4);
  assert_range (&scene, scene.a, 4, 4, "");
  assert_range (&scene, scene.b, 0, 4, "");
  scene_clear (&scene);
}

/* Value groups by attribute and schema, then the tombstones by attribute. */
static void
test_order_of_groups (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, scene.query, scene.b, 1, "4 5 6");
  seal_or_fail (&scene, 1);
  delete_text (&scene, "2", NO_TOKENS, 2);
  write_some (&scene, "0", scene.a, 2, "11");
  write_some (&scene, "1", scene.b, 2, "15");
  seal_or_fail (&scene, 2);
  assert_groups (&scene, range_at (&scene, scene.query, TOKENS (scene.b, scene.a, scene.c, scene.b), 2, NEWEST),
                 "b1@2 1=15; a1@2 0=11; b-@2 2; a-@2 2");
  assert_groups (&scene, range_at (&scene, scene.query, NO_TOKENS, 2, NEWEST), "");
  scene_clear (&scene);
}

/* Only the prims of the query, in its order; other rows and lists than those that were written through. */
static void
test_queries (void)
{
  Scene scene;
  OvsOp *query, *empty;

  scene_init (&scene, 200);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 200, 1));
  seal_or_fail (&scene, 1);
  write_some (&scene, "190 20-22 5", scene.a, 2, "1 2 3 4 5");
  delete_text (&scene, "7 100", TOKENS (scene.a), 2);
  seal_or_fail (&scene, 2);
  query = query_or_fail (&scene, "100 22 5 7 21 190 199");
  assert_groups (&scene, range_at (&scene, query, TOKENS (scene.a), 2, 2), "a1@2 1=4 2=5 4=3 5=1; a-@2 0 3");
  assert_groups (&scene, range_at (&scene, query, TOKENS (scene.a), 1, 2), "a1@2 1=4 2=5 4=3 5=1 6=1; a-@2 0 3");
  ovs_op_unref (query);
  query = query_or_fail (&scene, "190 20-22 5");
  assert_groups (&scene, range_at (&scene, query, TOKENS (scene.a), 2, 2), "a1@2 0=1 1=2 2=3 3=4 4=5");
  ovs_op_unref (query);
  query = query_or_fail (&scene, "0-4 8");
  assert_groups (&scene, range_at (&scene, query, TOKENS (scene.a), 2, 2), "");
  ovs_op_unref (query);
  empty = query_or_fail (&scene, "");
  assert_groups (&scene, range_at (&scene, empty, TOKENS (scene.a), 1, 2), "");
  ovs_op_unref (empty);
  scene_clear (&scene);
}

static guint32
count_changed (Scene *scene, OvsOp *query, guint64 a, guint64 b)
{
  OvsOp *read = range_at (scene, query, TOKENS (scene->a), a, b);
  OvstageReadGroup *group;
  guint32 n;

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (read));
  group = next_group_or_fail (read);
  n = group->prim_count;
  g_assert_cmpuint (ovs_read_group_prim_index (group, n - 1), ==, n - 1);
  ovs_read_group_unref (group);
  ovs_op_unref (read);
  return n;
}

/* Writes through one list, of all its prims and of the first ones: they share the numbers of its rows, and records. */
static void
test_leading (void)
{
  guint n = 30000, n_some = 20004;
  Scene scene;
  OvsOp *query;
  gsize bytes = 0;

  scene_init (&scene, n);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, n, 1));
  seal_or_fail (&scene, 1);
  query = query_or_fail (&scene, "5-20004 0-3");
  for (guint64 ordinal = 2; ordinal < 20; ordinal++)
    {
      guint count = ordinal % 2 == 0 ? n_some : n_some / 2;

      write_or_fail (&scene, query, scene.a, ordinal, with_count (payload_fill (float32, count, 2), count));
      seal_or_fail (&scene, ordinal);
      g_assert_cmpuint (count_changed (&scene, query, ordinal, NEWEST), ==, count);
      if (ordinal == 3)
        bytes = attr_of (&scene, scene.a)->change_bytes;
    }
  g_assert_cmpuint (attr_of (&scene, scene.a)->change_bytes, ==, bytes + 16 * OVS_CHANGE_BYTES);
  g_assert_cmpuint (count_changed (&scene, query, 2, NEWEST), ==, n_some);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Also where the version at the end is gone, the generation is that of the end. */
static void
test_old_generations (void)
{
  Scene scene;

  scene_init (&scene, 64);
  write_some (&scene, "0", scene.a, 1, "1");
  seal_or_fail (&scene, 1);
  for (guint64 ordinal = 2; ordinal < 60; ordinal++)
    {
      char prim[8];

      g_snprintf (prim, sizeof prim, "%u", (guint) ordinal);
      write_some (&scene, prim, scene.a, ordinal, "2");
      seal_or_fail (&scene, ordinal);
    }
  for (guint64 ordinal = 1; ordinal < 60; ordinal++)
    {
      OvsOp *read = range_at (&scene, scene.query, TOKENS (scene.a), ordinal, ordinal);
      OvstageReadGroup *group = next_group_or_fail (read);

      g_assert_cmpuint (group->layout_generation, ==, ordinal);
      ovs_read_group_unref (group);
      ovs_op_unref (read);
    }
  scene_clear (&scene);
}

static void
test_group_fields (void)
{
  Scene scene;
  OvsOp *read;
  OvstageReadGroup *group;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_some (&scene, "1 2", scene.a, 2, "12 13");
  delete_text (&scene, "3", TOKENS (scene.a), 3);
  seal_or_fail (&scene, 5);
  read = range_at (&scene, scene.query, TOKENS (scene.a), 2, 4);
  group = next_group_or_fail (read);
  g_assert_false (group->is_delete);
  g_assert_cmpuint (group->write_floor, ==, 5);
  g_assert_cmpuint (group->layout_generation, ==, 2);
  g_assert_null (group->prim_map); /* a run of entries and of rows */
  g_assert_null (group->data_map);
  g_assert_cmpuint (group->prim_offset, ==, 1);
  g_assert_cmpuint (group->data_count, ==, 2);
  g_assert_true (group->list == scene.list);
  ovs_read_group_unref (group);
  group = next_group_or_fail (read);
  g_assert_true (group->is_delete);
  g_assert_cmpuint (group->ordinal, ==, 3);
  g_assert_cmpuint (group->write_floor, ==, 5);
  g_assert_cmpuint (group->layout_generation, ==, 2);
  g_assert_cmpuint (group->prim_offset, ==, 3);
  g_assert_cmpuint (group->prim_count, ==, 1);
  ovs_read_group_unref (group);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  scene_clear (&scene);
}

/* --- faults and floors --- */

static void
test_arguments (void)
{
  Scene scene;
  guint64 path = 0;

  scene_init (&scene, 2);
  path = token_or_fail (scene.stage, "usd-active");
  assert_refused (&scene, range_at (&scene, scene.query, TOKENS (scene.a), 3, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal range", "3", "2");
  assert_refused (&scene, range_at (&scene, scene.query, TOKENS (path), 3, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal range");
  assert_refused (&scene, range_at (&scene, scene.query, TOKENS (scene.a), NEWEST, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal range");
  assert_range (&scene, scene.a, 0, 0, "");
  scene_clear (&scene);
}

/* Keys with unsealed work at or below the end, told before a range that is no longer kept. */
static void
test_unsealed (void)
{
  Scene scene;
  OvsOp *query;

  scene_init (&scene, 4);
  for (guint64 ordinal = 1; ordinal < 4; ordinal++)
    {
      write_text (&scene, scene.query, scene.a, ordinal, "1 2 3 4");
      seal_or_fail (&scene, ordinal);
    }
  write_some (&scene, "1", scene.a, 6, "9");
  assert_range (&scene, scene.a, 1, 5, "a1@3 0=1 1=2 2=3 3=4");
  assert_range (&scene, scene.a, 1, 6, "WRITE_FLOOR_VIOLATION");
  assert_range (&scene, scene.a, 7, 9, "WRITE_FLOOR_VIOLATION");
  assert_range (&scene, scene.a, 1, NEWEST, "a1@3 0=1 1=2 2=3 3=4");
  query = query_or_fail (&scene, "0 2");
  assert_groups (&scene, range_at (&scene, query, TOKENS (scene.a), 1, 9), "a1@3 0=1 1=3");
  ovs_op_unref (query);
  assert_range (&scene, scene.a, 1, 2, "OUT_OF_RANGE");
  delete_text (&scene, "3", TOKENS (scene.a), 4);
  assert_range (&scene, scene.a, 1, 4, "WRITE_FLOOR_VIOLATION");
  scene_clear (&scene);
}

static void
assert_as_of (Scene *scene, const guint64 *attributes, gsize n, guint64 a, guint64 b, guint64 expected)
{
  OvsOp *read = range_at (scene, scene->query, attributes, n, a, b);

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (read));
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, expected);
  ovs_op_unref (read);
}

/* Each attribute up to its own floor; the cursor never goes back. */
static void
test_floors (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 2, "1 2");
  write_text (&scene, scene.query, scene.b, 2, "3 4");
  seal_or_fail (&scene, 2);
  write_some (&scene, "0", scene.a, 4, "11");
  write_some (&scene, "1", scene.b, 4, "14");
  seal_scope_or_fail (&scene, 6, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_groups (&scene, range_at (&scene, scene.query, TOKENS (scene.a, scene.b), 3, NEWEST), "a1@4 0=11");
  assert_as_of (&scene, TOKENS (scene.a, scene.b), 3, NEWEST, 2);
  assert_as_of (&scene, TOKENS (scene.a), 3, NEWEST, 6);
  assert_as_of (&scene, TOKENS (scene.a), 3, 5, 5);
  assert_as_of (&scene, TOKENS (scene.a), 9, NEWEST, 8);
  assert_as_of (&scene, TOKENS (scene.c), 0, NEWEST, 2); /* of none: the global floor */
  assert_as_of (&scene, NO_TOKENS, 9, 12, 8);
  scene_clear (&scene);
}

/* A range is decided after the advances that were submitted before it, and before those after it. */
static void
test_pipeline (void)
{
  Scene scene;
  OvsOp *first, *second;

  scene_init_paused (&scene, 3);
  ovs_op_unref (write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3")));
  ovs_op_unref (advance (&scene, 1));
  first = range_at (&scene, scene.query, TOKENS (scene.a), 1, NEWEST);
  ovs_op_unref (write_payload (&scene, scene.query, scene.a, 2, with_mask (payload_text ("4 5 6"), "001")));
  ovs_op_unref (advance (&scene, 2));
  second = range_at (&scene, scene.query, TOKENS (scene.a), 2, NEWEST);
  scene_resume (&scene);
  assert_groups (&scene, first, "a1@1 0=1 1=2 2=3");
  assert_groups (&scene, second, "a1@2 2=6");
  scene_clear (&scene);
}

/* A pending range that can not be told fails, with its code. */
static void
test_pending_out_of_range (void)
{
  Scene scene;
  OvsOp *read;

  scene_init_paused (&scene, 3);
  for (guint64 ordinal = 1; ordinal < 4; ordinal++)
    ovs_op_unref (write_payload (&scene, scene.query, scene.a, ordinal, payload_text ("1 2 3")));
  ovs_op_unref (advance (&scene, 3));
  read = range_at (&scene, scene.query, TOKENS (scene.a), 1, 2);
  scene_resume (&scene);
  assert_failed (read, OVSTAGE_ERROR_OUT_OF_RANGE, "'a'");
  scene_clear (&scene);
}

/* --- values that are gone --- */

static void
test_gone (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_some (&scene, "0 1", scene.a, 2, "11 12");
  delete_text (&scene, "3", TOKENS (scene.a), 2);
  seal_or_fail (&scene, 2);
  write_some (&scene, "1", scene.a, 3, "22");
  seal_or_fail (&scene, 3);

  /* Prim 1 has changed since 2. */
  assert_range (&scene, scene.a, 2, 2, "OUT_OF_RANGE");
  assert_range (&scene, scene.a, 2, 3, "a1@3 0=11 1=22; a-@2 3");
  assert_refused (&scene, range_at (&scene, scene.query, TOKENS (scene.a), 2, 2), OVSTAGE_ERROR_OUT_OF_RANGE, "'a'", "2 to 2", "of 3");
  some = query_or_fail (&scene, "3 2 0");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 2, 2), "a1@2 2=11; a-@2 0");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 1, 2), "a1@2 1=3 2=11; a-@2 0");
  ovs_op_unref (some);

  /* It did not change in this range, but was not there: nobody knows more, nor needs to. */
  write_some (&scene, "3", scene.a, 4, "34");
  seal_or_fail (&scene, 4);
  assert_range (&scene, scene.a, 3, 3, "a1@3 1=22");
  /* Deleted in the range, created again after it. */
  some = query_or_fail (&scene, "3");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 2, 3), "OUT_OF_RANGE");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 3, 4), "a1@4 0=34");
  ovs_op_unref (some);

  /* One attribute fails the whole read. */
  write_text (&scene, scene.query, scene.b, 5, "1 1 1 1");
  seal_or_fail (&scene, 5);
  assert_groups (&scene, range_at (&scene, scene.query, TOKENS (scene.b, scene.a), 2, 2), "OUT_OF_RANGE");
  assert_groups (&scene, range_at (&scene, scene.query, TOKENS (scene.b), 2, 2), "");
  scene_clear (&scene);
}

/* A write of everything that lived before does not count for what came later. */
static void
test_gone_whole (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 6);
  some = query_or_fail (&scene, "0-3");
  for (guint64 ordinal = 1; ordinal < 4; ordinal++)
    {
      write_text (&scene, some, scene.a, ordinal, "1 2 3 4");
      seal_or_fail (&scene, ordinal);
    }
  write_some (&scene, "4", scene.a, 5, "15");
  write_some (&scene, "5", scene.a, 6, "16");
  seal_or_fail (&scene, 6);
  assert_range (&scene, scene.a, 3, 3, "a1@3 0=1 1=2 2=3 3=4");
  assert_range (&scene, scene.a, 2, 3, "a1@3 0=1 1=2 2=3 3=4");
  assert_range (&scene, scene.a, 2, 5, "a1@5 0=1 1=2 2=3 3=4 4=15");
  assert_range (&scene, scene.a, 2, 2, "OUT_OF_RANGE");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* The highest frontier of the schemas counts, and a prim that moved on has changed. */
static void
test_gone_schemas (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  write_some (&scene, "0 1", scene.a, 1, "1 2");
  write_wide (&scene, "2 3", scene.a, 1, 5);
  seal_or_fail (&scene, 1);
  write_wide (&scene, "2", scene.a, 3, 6);
  seal_or_fail (&scene, 3);
  write_wide (&scene, "2", scene.a, 4, 7);
  delete_text (&scene, "1", TOKENS (scene.a), 4);
  write_wide (&scene, "1", scene.a, 4, 8);
  seal_or_fail (&scene, 4);
  assert_range (&scene, scene.a, 1, 1, "OUT_OF_RANGE");
  some = query_or_fail (&scene, "0 3");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 1, 2), "a1@1 0=1; a3@1 1=5,5,5");
  ovs_op_unref (some);
  some = query_or_fail (&scene, "1");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 1, 3), "OUT_OF_RANGE");
  assert_groups (&scene, range_at (&scene, some, TOKENS (scene.a), 2, 3), "");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* A version that a scheduled emission holds answers, too. */
static gboolean
is_wanted (gpointer user_data)
{
  return TRUE;
}

static void
ignore_rise (gpointer user_data)
{
}

static void
test_pinned (void)
{
  Scene scene;

  scene_init (&scene, 2);
  ovs_stage_set_floor_funcs (scene.stage, is_wanted, ignore_rise, NULL, NULL);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  write_some (&scene, "1", scene.a, 2, "12");
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 2);
  write_text (&scene, scene.query, scene.a, 3, "21 22");
  seal_or_fail (&scene, 3);
  write_text (&scene, scene.query, scene.a, 4, "31 32");
  seal_or_fail (&scene, 4);
  assert_range (&scene, scene.a, 2, 2, "a1@2 1=12");
  ovs_stage_end_emission (scene.stage);
  write_text (&scene, scene.query, scene.a, 5, "41 42");
  seal_or_fail (&scene, 5);
  assert_range (&scene, scene.a, 2, 2, "OUT_OF_RANGE");
  scene_clear (&scene);
}

/* --- records within a budget --- */

static void
scene_init_budget (Scene *scene, guint n, guint64 budget)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096, .n_threads = 2, .caller_limit = 256 * 1024, .change_budget = budget };

  scene_init_full (scene, n, &config);
}

static void
test_budget (void)
{
  Scene scene;
  guint64 frontier;

  scene_init_budget (&scene, 4, 2048);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_text (&scene, scene.query, scene.b, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (scene.stage), ==, 0);
  for (guint64 ordinal = 2; ordinal < 500; ordinal++)
    {
      write_some (&scene, ordinal % 2 == 0 ? "1" : "2", scene.a, ordinal, "7");
      if (ordinal % 5 == 0)
        delete_text (&scene, "3", TOKENS (scene.a), ordinal);
      else if (ordinal % 5 == 1)
        write_some (&scene, "3", scene.a, ordinal, "9");
      seal_or_fail (&scene, ordinal);
      g_assert_cmpuint (attr_of (&scene, scene.a)->change_bytes, <=, 2048);
    }
  frontier = ovs_stage_get_oldest_preserved (scene.stage);
  g_assert_cmpuint (frontier, >, 400);
  g_assert_cmpuint (frontier, <, 499);
  /* Whose cursor is at the frontier misses nothing. */
  assert_range (&scene, scene.a, frontier + 1, NEWEST, "a1@499 1=7 2=7 3=9");
  assert_range (&scene, scene.a, frontier, NEWEST, "OUT_OF_RANGE");
  assert_range (&scene, scene.a, 0, NEWEST, "OUT_OF_RANGE");
  assert_refused (&scene, range_at (&scene, scene.query, TOKENS (scene.b, scene.a), 1, NEWEST), OVSTAGE_ERROR_OUT_OF_RANGE, "'a'", "1");
  /* Each attribute has its own. */
  assert_range (&scene, scene.b, 0, NEWEST, "b1@1 0=1 1=2 2=3 3=4");
  scene_clear (&scene);
}

/* Records keep the layouts of rows that got other numbers; they count. */
static void
test_old_layouts (void)
{
  Scene scene;

  scene_init_budget (&scene, 10, 30000);
  ovs_debug_set_flags (0);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 10, 7));
  seal_or_fail (&scene, 1);
  for (guint64 ordinal = 2; ordinal < 40; ordinal++)
    {
      guint prims[1000];
      OvsOp *query;

      for (guint i = 0; i < G_N_ELEMENTS (prims); i++)
        prims[i] = 100 + ((guint) ordinal / 2 % 5) * 500 + i;
      query = query_prims_or_fail (scene.stage, prims, G_N_ELEMENTS (prims));
      if (ordinal % 2 == 0)
        write_or_fail (&scene, query, scene.a, ordinal, payload_fill (float32, G_N_ELEMENTS (prims), 1));
      else
        assert_ok (ovs_stage_delete (scene.stage, query, TOKENS (scene.a), ordinal));
      seal_or_fail (&scene, ordinal);
      ovs_op_unref (query);
      /* Rows that were all new: one layout is more than the budget, and its record goes with the next. */
      g_assert_cmpuint (attr_of (&scene, scene.a)->change_bytes, <, 30000 + 1000 * 60);
    }
  g_assert_cmpuint (((OvsColumn *) attr_of (&scene, scene.a)->columns->pdata[0])->changes.n, <=, 3);
  assert_range (&scene, scene.a, 39, NEWEST, "");
  scene_clear (&scene);
}

/* A frame loop over a whole column keeps within the default budget, for ever, and remembers thousands of frames. */
static void
test_frames (void)
{
  Scene scene;
  guint64 n = is_slow () ? 20000 : 200000, frontier;
  OvstageWriteData *payload;

  scene_init (&scene, 3);
  payload = payload_text ("1 2 3");
  for (guint64 ordinal = 1; ordinal <= n; ordinal++)
    {
      write_or_fail (&scene, scene.query, scene.a, ordinal, ovs_payload_ref (payload));
      seal_or_fail (&scene, ordinal);
    }
  g_assert_cmpuint (attr_of (&scene, scene.a)->change_bytes, <=, 256 * 1024);
  g_assert_cmpuint (((OvsColumn *) attr_of (&scene, scene.a)->columns->pdata[0])->changes.capacity, <=, 32768);
  frontier = ovs_stage_get_oldest_preserved (scene.stage);
  g_assert_cmpuint (frontier, <, n - 7000);
  g_assert_cmpuint (frontier, >, n - 20000);
  assert_range (&scene, scene.a, frontier + 1, NEWEST, (n == 200000 ? "a1@200000 0=1 1=2 2=3" : "a1@20000 0=1 1=2 2=3"));
  ovs_payload_unref (payload);
  scene_clear (&scene);
}

/* A cursor keeps what is above it. */
static void
test_holds (void)
{
  Scene scene;
  OvsChangeHold *hold, *other;
  guint32 b = 0;

  scene_init_budget (&scene, 4, 1024);
  b = (guint32) scene.b;
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 10);
  ovs_mutex_lock (&scene.stage->lock);
  hold = ovs_stage_hold_changes (scene.stage, NULL, 0, 10);
  other = ovs_stage_hold_changes (scene.stage, &b, 1, 3);
  ovs_mutex_unlock (&scene.stage->lock);
  for (guint64 ordinal = 11; ordinal < 200; ordinal++)
    {
      write_some (&scene, ordinal % 2 == 0 ? "1" : "2", scene.a, ordinal, "7");
      if (ordinal == 20)
        delete_text (&scene, "3", TOKENS (scene.a), ordinal);
      seal_or_fail (&scene, ordinal);
    }
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (scene.stage), <=, 10);
  assert_range (&scene, scene.a, 11, NEWEST, "a1@199 1=7 2=7; a-@20 3");
  assert_range (&scene, scene.a, 150, NEWEST, "a1@199 1=7 2=7");
  ovs_mutex_lock (&scene.stage->lock);
  ovs_stage_move_hold (scene.stage, hold, 100);
  ovs_mutex_unlock (&scene.stage->lock);
  for (guint64 ordinal = 200; ordinal < 300; ordinal++)
    {
      write_some (&scene, "1", scene.a, ordinal, "8");
      seal_or_fail (&scene, ordinal);
    }
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (scene.stage), <=, 100);
  assert_range (&scene, scene.a, 101, NEWEST, "a1@299 1=8 2=7");
  ovs_mutex_lock (&scene.stage->lock);
  ovs_stage_drop_hold (scene.stage, hold);
  ovs_stage_drop_hold (scene.stage, other);
  ovs_mutex_unlock (&scene.stage->lock);
  for (guint64 ordinal = 300; ordinal < 400; ordinal++)
    {
      write_some (&scene, "1", scene.a, ordinal, "8");
      seal_or_fail (&scene, ordinal);
    }
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (scene.stage), >, 250);
  scene_clear (&scene);
}

static guint
count_layouts (OvsColumn *column)
{
  g_autoptr (GHashTable) layouts = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < column->changes.n; i++)
    g_hash_table_add (layouts, ((OvsDelta *) ovs_changes_get (&column->changes, i)->what)->layout);
  return g_hash_table_size (layouts);
}

/* Who never looks keeps what changed, in a space that rows bound and not seals. */
static void
test_held_for_long (gconstpointer data)
{
  guint64 n = is_slow () ? 5000 : 100000;
  const char *kind = data;
  gsize most = 0;
  guint most_records = 0, most_generations = 0, most_layouts;
  Scene scene;
  OvsChangeHold *hold;
  OvsAttr *attr;
  g_autofree char *told = NULL;

  scene_init_budget (&scene, 50, 8192);
  ovs_debug_set_flags (g_str_equal (kind, "compact") ? OVS_DEBUG_COMPACT : 0);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 50, 0));
  seal_or_fail (&scene, 1);
  ovs_stage_lock (scene.stage);
  hold = ovs_stage_hold_changes (scene.stage, NULL, 0, 1);
  ovs_stage_unlock (scene.stage);
  attr = attr_of (&scene, scene.a);
  for (guint64 ordinal = 2; ordinal <= n; ordinal++)
    {
      guint turn = (guint) (g_str_equal (kind, "some") ? ordinal : ordinal / 3);
      g_autofree char *prim = g_strdup_printf ("%u", turn * 7 % 40);
      g_autofree char *value = g_strdup_printf ("%u", (guint) ordinal);

      if (g_str_equal (kind, "whole"))
        write_or_fail (&scene, scene.query, scene.a, ordinal, payload_fill (float32, 50, (double) ordinal));
      else if (!g_str_equal (kind, "some") && ordinal % 3 == 0)
        delete_text (&scene, prim, TOKENS (scene.a), ordinal);
      else
        write_some (&scene, prim, scene.a, ordinal, value);
      seal_or_fail (&scene, ordinal);
      most = MAX (most, attr->change_bytes);
      most_records = MAX (most_records, attr->deaths.n + ((OvsColumn *) attr->columns->pdata[0])->changes.n);
      most_generations = MAX (most_generations, attr->generations->len);
    }
  most_layouts = count_layouts (attr->columns->pdata[0]);
  g_assert_cmpuint (attr->change_frontier, <=, 1);
  g_assert_cmpuint (most, <, 50000);
  g_assert_cmpuint (most_records, <, 1000);
  g_assert_cmpuint (most_generations, <, 2000);
  g_assert_cmpuint (most_layouts, <, 500);
  if (g_str_equal (kind, "some"))
    {
      GString *text = g_string_new (NULL);

      for (guint prim = 0; prim < 40; prim++)
        {
          guint64 ordinal = n;

          while (ordinal * 7 % 40 != prim)
            ordinal--;
          g_string_append_printf (text, " %u=%u", prim, (guint) ordinal);
        }
      told = g_strdup_printf ("a1@%u%s", (guint) n, text->str);
      g_string_free (text, TRUE);
      assert_range (&scene, scene.a, 2, NEWEST, told);
      /* Also for who has seen some of it. */
      g_free (told);
      told = g_strdup_printf ("a1@%u %u=%u", (guint) n, (guint) (n * 7 % 40), (guint) n);
      assert_range (&scene, scene.a, n, NEWEST, told);
      assert_range (&scene, scene.a, 2, attr->merged - 1, "OUT_OF_RANGE");
    }
  ovs_stage_lock (scene.stage);
  ovs_stage_drop_hold (scene.stage, hold);
  ovs_stage_unlock (scene.stage);
  scene_clear (&scene);
}

/* --- what it costs --- */

/* A masked write of 1% of a million rows, seal and read do not touch the other 99%. */
static void
test_one_percent (void)
{
  guint n = is_slow () ? 100000 : 1000000;
  g_autofree guint64 *mask = g_new0 (guint64, (n + 63) / 64);
  Scene scene;
  OvstageWriteData *payload;
  OvstageReadGroup *group;
  OvsOp *read;
  guint64 before;

  scene_init_plain (&scene, n);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, n, 1));
  seal_or_fail (&scene, 1);
  payload = payload_fill (float32x3, n, 2);
  for (guint i = 0; i < n; i += 100)
    mask[i / 64] |= G_GUINT64_CONSTANT (1) << (i % 64);
  payload->count = n;
  ovs_payload_set_mask (payload, mask, (n + 63) / 64);
  before = scene.stage->n_bytes_folded;
  write_or_fail (&scene, scene.query, scene.a, 2, payload);
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (scene.stage->n_bytes_folded - before, ==, (guint64) n / 100 * 12);
  g_assert_cmpuint (attr_of (&scene, scene.a)->change_bytes, <, n / 100 * 4 * 2);

  read = range_at (&scene, scene.query, TOKENS (scene.a), 2, NEWEST);
  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  group = next_group_or_fail (read);
  g_assert_cmpuint (group->prim_count, ==, n / 100);
  for (guint i = 0; i < n / 100; i++)
    {
      g_assert_cmpuint (ovs_read_group_prim_index (group, i), ==, i * 100);
      g_assert_cmpfloat (*(const float *) group_row (group, i), ==, 2);
    }
  /* Nothing was gathered: the rows are those of the version. */
  g_assert_true (group_row (group, 0) == ovs_column_get_current (attr_of (&scene, scene.a)->columns->pdata[0])->values->data);
  ovs_read_group_unref (group);
  ovs_op_unref (read);
  scene_clear (&scene);
}

/* --- against a plain list of all that was ever accepted --- */

#define N_PRIMS 12
#define MAX_ENTRIES 4000

typedef struct
{
  guint64 ordinal;
  guint lanes; /* 0: a delete, */
  gboolean whole; /* of whole prims */
  guint prims; /* a bit each */
  float values[N_PRIMS];
} Entry;

/* One attribute. */
typedef struct
{
  guint n;
  Entry entries[MAX_ENTRIES]; /* in the order of submission */
  guint lanes[3]; /* schemas in order of creation */
  guint n_schemas;
} Log;

typedef struct
{
  Scene scene;
  guint depth;
  Log logs[2];
  guint64 tokens[2];
  OvsChangeHold *holds[2]; /* (nullable) */
  guint64 held[2];         /* the ordinals of these, */
  guint64 known[2][2];     /* and what was forgotten of each attribute before */
  GRand *rand;
} World;

static guint64
floor_of (World *world, guint at)
{
  return ovs_stage_get_attribute_floor (world->scene.stage, world->tokens[at]);
}

/* The entries of a key up to an ordinal in the order of the fold: their indices. */
static guint
list_history (const Log *log, guint prim, guint64 ordinal, guint *indices)
{
  guint n = 0;

  for (guint i = 0; i < log->n; i++)
    {
      guint at;

      if (!((log->entries[i].prims >> prim) & 1) || log->entries[i].ordinal > ordinal)
        continue;
      for (at = n++; at > 0 && log->entries[indices[at - 1]].ordinal > log->entries[i].ordinal; at--)
        indices[at] = indices[at - 1];
      indices[at] = i;
    }
  return n;
}

typedef struct
{
  guint lanes; /* 0: absent */
  float value;
  guint64 newest; /* effective change in the range asked for; 0: none */
  gboolean later; /* and one after it */
} Key;

static Key
ask_key (const Log *log, guint prim, guint64 a, guint64 b, guint64 floor)
{
  guint indices[MAX_ENTRIES], n = list_history (log, prim, floor, indices), lanes = 0;
  Key key = { 0 };

  for (guint i = 0; i < n; i++)
    {
      const Entry *entry = &log->entries[indices[i]];
      gboolean effective = entry->lanes > 0 || lanes > 0;

      lanes = entry->lanes;
      if (entry->ordinal <= b)
        {
          key.lanes = lanes;
          key.value = entry->values[prim];
          if (effective && entry->ordinal >= a)
            key.newest = entry->ordinal;
        }
      else
        key.later = key.later || effective;
    }
  return key;
}

/* Of the column of a schema. */
static guint64
ask_frontier (World *world, const Log *log, guint lanes, guint64 floor)
{
  g_autoptr (GArray) changed = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 kept = G_MAXUINT64;

  for (guint prim = 0; prim < N_PRIMS; prim++)
    {
      guint indices[MAX_ENTRIES], n = list_history (log, prim, floor, indices), before = 0;

      for (guint i = 0; i < n; i++)
        {
          const Entry *entry = &log->entries[indices[i]];

          if (entry->lanes == lanes || before == lanes)
            g_array_append_val (changed, entry->ordinal);
          before = entry->lanes;
        }
    }
  /* The newest ones, each once. */
  for (guint i = 0; i <= world->depth; i++)
    {
      guint64 next = 0;

      for (guint j = 0; j < changed->len; j++)
        if (g_array_index (changed, guint64, j) < kept)
          next = MAX (next, g_array_index (changed, guint64, j));
      if (next == 0)
        return 0;
      if (i == world->depth)
        return kept;
      kept = next;
    }
  g_assert_not_reached ();
}

static gboolean
is_unsealed (World *world, guint at, const guint *prims, guint n, guint64 b)
{
  const Log *log = &world->logs[at];
  guint64 floor = floor_of (world, at);

  for (guint i = 0; i < log->n && b != NEWEST; i++)
    {
      const Entry *entry = &log->entries[i];

      if (entry->ordinal <= floor || entry->ordinal > b)
        continue;
      for (guint p = 0; p < n; p++)
        {
          gboolean counts = !entry->whole || ask_key (log, prims[p], 0, floor, floor).lanes > 0;

          for (guint j = 0; j < log->n && !counts; j++)
            counts = log->entries[j].lanes > 0 && log->entries[j].ordinal > floor && log->entries[j].ordinal <= b &&
                     ((log->entries[j].prims >> prims[p]) & 1);
          if (counts && ((entry->prims >> prims[p]) & 1))
            return TRUE;
        }
    }
  return FALSE;
}

static void
append_expected (GString *text, const char *name, guint lanes, const Key *keys, guint n)
{
  guint64 newest = 0;

  for (guint p = 0; p < n; p++)
    if (keys[p].newest != 0 && keys[p].lanes == lanes)
      newest = MAX (newest, keys[p].newest);
  if (newest == 0)
    return;
  g_string_append_printf (text, "%s%s", text->len > 0 ? "; " : "", name);
  if (lanes == 0)
    g_string_append_printf (text, "-@%" G_GUINT64_FORMAT, newest);
  else
    append_label (text, lanes, newest);
  for (guint p = 0; p < n; p++)
    {
      if (keys[p].newest == 0 || keys[p].lanes != lanes)
        continue;
      g_string_append_printf (text, " %u", p);
      for (guint lane = 0; lane < lanes; lane++)
        g_string_append_printf (text, "%c%g", lane == 0 ? '=' : ',', keys[p].value);
    }
}

/* @a: 0 and @snapshot for a snapshot */
static char *
ask (World *world, const guint *prims, guint n, guint64 a, guint64 b, gboolean snapshot)
{
  GString *text = g_string_new (NULL);
  Key keys[2][N_PRIMS];
  const char *failure = NULL;

  for (guint at = 0; at < 2; at++)
    {
      const Log *log = &world->logs[at];
      guint64 floor = floor_of (world, at), end = MIN (b, floor), frontier = 0;
      const OvsAttr *attr = attr_of (&world->scene, world->tokens[at]);

      if (is_unsealed (world, at, prims, n, b))
        failure = "WRITE_FLOOR_VIOLATION";
      for (guint s = 0; s < log->n_schemas; s++)
        frontier = MAX (frontier, ask_frontier (world, log, log->lanes[s], floor));
      if (failure == NULL && n > 0 && snapshot && end < frontier)
        failure = "OUT_OF_RANGE";
      if (failure == NULL && n > 0 && !snapshot && attr != NULL &&
          ((attr->change_frontier > 0 && a <= attr->change_frontier) || end < attr->merged))
        failure = "OUT_OF_RANGE";
      for (guint p = 0; p < n; p++)
        {
          keys[at][p] = ask_key (log, prims[p], a, end, floor);
          if (failure == NULL && !snapshot && end < frontier && keys[at][p].newest != 0 && keys[at][p].later)
            failure = "OUT_OF_RANGE";
        }
    }
  /* What is unsealed is told first, whichever attribute has it. */
  for (guint at = 0; at < 2; at++)
    if (is_unsealed (world, at, prims, n, b))
      failure = "WRITE_FLOOR_VIOLATION";
  if (failure != NULL)
    {
      g_string_append (text, failure);
      return g_string_free (text, FALSE);
    }
  for (guint at = 0; at < 2; at++)
    for (guint s = 0; s < world->logs[at].n_schemas; s++)
      append_expected (text, at == 0 ? "a" : "b", world->logs[at].lanes[s], keys[at], n);
  for (guint at = 0; at < 2 && !snapshot; at++)
    append_expected (text, at == 0 ? "a" : "b", 0, keys[at], n);
  return g_string_free (text, FALSE);
}

static guint
pick (World *world, guint n)
{
  return (guint) g_rand_int_range (world->rand, 0, (gint) n);
}

static OvsOp *
pick_prims (World *world, guint *prims, guint *n)
{
  gboolean in_order = pick (world, 2) == 0;

  *n = 0;
  for (guint prim = 0; prim < N_PRIMS; prim++)
    if (pick (world, 3) != 0)
      prims[(*n)++] = prim;
  for (guint i = *n; i > 1 && !in_order; i--)
    {
      guint j = pick (world, i), swap = prims[j];

      prims[j] = prims[i - 1];
      prims[i - 1] = swap;
    }
  /* All of them are one list, and so one object. */
  if (pick (world, 4) == 0)
    {
      for (*n = 0; *n < N_PRIMS; (*n)++)
        prims[*n] = *n;
      return ovs_op_ref (world->scene.query);
    }
  return query_prims_or_fail (world->scene.stage, prims, *n);
}

static void
note (Log *log, const Entry *entry)
{
  g_assert_cmpuint (log->n, <, MAX_ENTRIES);
  log->entries[log->n++] = *entry;
  if (entry->lanes == 0 || log->lanes[0] == entry->lanes || log->lanes[1] == entry->lanes || log->lanes[2] == entry->lanes)
    return;
  log->lanes[log->n_schemas++] = entry->lanes;
}

/* Of an array, two elements. */
static OvstageWriteData *
payload_values (guint lanes, const float *values, guint n)
{
  OvstageWriteData *payload = lanes != ARRAY ? payload_rows (lanes == 1 ? float32 : float32x3, n) : NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    if (lanes == ARRAY)
      g_string_append_printf (text, "%s%g,%g", i > 0 ? " " : "", values[i], values[i]);
    else
      for (guint lane = 0; lane < lanes; lane++)
        payload_floats (payload)[i * lanes + lane] = values[i];
  return payload != NULL ? payload : payload_arrays (text->str);
}

static void
write_random (World *world)
{
  static const guint lanes[] = { 1, 1, 1, 3, ARRAY };
  guint at = pick (world, 2), prims[N_PRIMS], n;
  OvsOp *query = pick_prims (world, prims, &n), *op;
  Entry entry = { .ordinal = floor_of (world, at) + 1 + pick (world, 4), .lanes = lanes[pick (world, G_N_ELEMENTS (lanes))] };
  float values[N_PRIMS];
  OvstageWriteData *payload;
  gboolean masked = pick (world, 3) == 0;
  char mask[N_PRIMS + 1] = { 0 };

  for (guint i = 0; i < n; i++)
    {
      values[i] = (float) pick (world, 1000);
      mask[i] = masked && pick (world, 2) == 0 ? '0' : '1';
      if (mask[i] == '0')
        continue;
      entry.prims |= 1u << prims[i];
      entry.values[prims[i]] = values[i];
    }
  payload = payload_values (entry.lanes, values, n);
  if (masked && n > 0)
    payload = with_mask (payload, mask);
  op = write_payload (&world->scene, query, world->tokens[at], entry.ordinal, payload);
  g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  if (ovs_op_get_error (op) == NULL && entry.prims != 0)
    note (&world->logs[at], &entry);
  ovs_op_unref (op);
  ovs_op_unref (query);
}

static void
delete_random (World *world)
{
  guint at = pick (world, 3), prims[N_PRIMS], n;
  OvsOp *query = pick_prims (world, prims, &n), *op;
  guint64 highest = MAX (floor_of (world, 0), floor_of (world, 1));
  Entry entry = { .ordinal = highest + 1 + pick (world, 3), .whole = at == 2 };
  guint64 floors[2] = { floor_of (world, 0), floor_of (world, 1) };

  for (guint i = 0; i < n; i++)
    entry.prims |= 1u << prims[i];
  op = ovs_stage_delete (world->scene.stage, query, &world->tokens[at % 2], at == 2 ? 0 : 1, entry.ordinal);
  g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  for (guint i = 0; i < 2; i++)
    if (ovs_op_get_error (op) == NULL && (at == 2 || at == i) && entry.ordinal > floors[i])
      note (&world->logs[i], &entry);
  ovs_op_unref (op);
  ovs_op_unref (query);
}

/* Somebody comes, or looks at what changed, or goes. */
static void
move_random_hold (World *world)
{
  guint at = pick (world, 2);
  guint64 ordinal = MIN (floor_of (world, 0), floor_of (world, 1));

  ovs_stage_lock (world->scene.stage);
  if (world->holds[at] == NULL)
    world->holds[at] = ovs_stage_hold_changes (world->scene.stage, NULL, 0, ordinal);
  else if (pick (world, 3) == 0)
    ovs_stage_drop_hold (world->scene.stage, g_steal_pointer (&world->holds[at]));
  else
    ovs_stage_move_hold (world->scene.stage, world->holds[at], ordinal);
  ovs_stage_unlock (world->scene.stage);
  world->held[at] = ordinal;
  for (guint i = 0; i < 2; i++)
    world->known[at][i] = attr_of (&world->scene, world->tokens[i]) != NULL ? attr_of (&world->scene, world->tokens[i])->change_frontier : 0;
}

/* The records count for what is there, each that several share once. */
static void
check_bytes (OvsAttr *attr)
{
  gsize bytes = 0;

  for (guint c = 0; c < attr->columns->len; c++)
    {
      const OvsChanges *changes = &((OvsColumn *) attr->columns->pdata[c])->changes;
      g_autoptr (GHashTable) n_of = g_hash_table_new (NULL, NULL);
      GHashTableIter iter;
      gpointer delta, n;

      for (guint i = 0; i < changes->n; i++)
        {
          const OvsChange *change = ovs_changes_get (changes, i);

          g_assert_cmpuint (change->ordinal, >=, i > 0 ? ovs_changes_get (changes, i - 1)->ordinal : 0);
          n = g_hash_table_lookup (n_of, change->what);
          g_hash_table_insert (n_of, change->what, GUINT_TO_POINTER (GPOINTER_TO_UINT (n) + 1));
        }
      g_hash_table_iter_init (&iter, n_of);
      while (g_hash_table_iter_next (&iter, &delta, &n))
        {
          g_assert_cmpuint (((OvsDelta *) delta)->n_records, ==, GPOINTER_TO_UINT (n));
          bytes += ((OvsDelta *) delta)->bytes;
        }
      bytes += changes->n * OVS_CHANGE_BYTES;
    }
  for (guint i = 0; i < attr->deaths.n; i++)
    bytes += ovs_deaths_get_bytes (ovs_changes_get (&attr->deaths, i)->what);
  g_assert_cmpuint (attr->change_bytes, ==, bytes);
}

/* What is held can be told up to the newest. */
static void
check_holds (World *world)
{
  for (guint at = 0; at < 2; at++)
    if (attr_of (&world->scene, world->tokens[at]) != NULL)
      check_bytes (attr_of (&world->scene, world->tokens[at]));
  for (guint i = 0; i < 2; i++)
    for (guint at = 0; at < 2; at++)
      if (world->holds[i] != NULL && attr_of (&world->scene, world->tokens[at]) != NULL)
        {
          g_assert_cmpuint (attr_of (&world->scene, world->tokens[at])->change_frontier, <=, MAX (world->held[i], world->known[i][at]));
          g_assert_cmpuint (attr_of (&world->scene, world->tokens[at])->merged, <=, floor_of (world, at));
        }
}

typedef struct
{
  GPtrArray *groups;
  char *text;
} Held;

static void
check_read (World *world, guint64 a, guint64 b, gboolean snapshot, GArray *held)
{
  guint prims[N_PRIMS], n;
  OvsOp *query = pick_prims (world, prims, &n);
  g_autofree char *expected = ask (world, prims, n, a, b, snapshot), *text = NULL;
  Held keep = { g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_read_group_unref), NULL };

  text = groups_to_text (&world->scene,
                         snapshot ? read_at (&world->scene, query, world->tokens, 2, b) : range_at (&world->scene, query, world->tokens, 2, a, b),
                         keep.groups);
  if (g_strcmp0 (text, expected) != 0)
    g_error ("%s %" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT ", depth %u: \"%s\", expected \"%s\"", snapshot ? "snapshot" : "range", a, b,
             world->depth, text, expected);
  if (keep.groups->len > 0 && pick (world, 8) == 0)
    {
      keep.text = g_steal_pointer (&text);
      g_array_append_val (held, keep);
    }
  else
    g_ptr_array_unref (keep.groups);
  ovs_op_unref (query);
}

static void
release_one (World *world, GArray *held)
{
  Held *keep = &g_array_index (held, Held, pick (world, held->len));
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < keep->groups->len; i++)
    append_group (text, &world->scene, keep->groups->pdata[i]);
  g_assert_cmpstr (text->str, ==, keep->text);
  g_string_free (text, TRUE);
  g_ptr_array_unref (keep->groups);
  g_free (keep->text);
  g_array_remove_index_fast (held, (guint) (keep - (Held *) held->data));
}

static void
run_world (guint32 seed, guint n_steps)
{
  static const OvsDebugFlags flags[] = { 0, OVS_DEBUG_COMPACT, OVS_DEBUG_COMPACT | OVS_DEBUG_RANDOM, OVS_DEBUG_COPY, OVS_DEBUG_ASYNC };
  World *world = g_new0 (World, 1);
  OvsStageConfig config = { .queue_capacity = 100, .n_threads = 2, .caller_limit = 256 * 1024 };
  g_autoptr (GArray) held = g_array_new (FALSE, FALSE, sizeof (Held));

  world->rand = g_rand_new_with_seed (seed);
  world->depth = config.history_depth = 1 + pick (world, 4);
  config.change_budget = pick (world, 2) == 0 ? 0 : 200 + pick (world, 2000);
  scene_init_full (&world->scene, N_PRIMS, &config);
  ovs_debug_set_flags (flags[pick (world, G_N_ELEMENTS (flags))]);
  world->tokens[0] = world->scene.a;
  world->tokens[1] = world->scene.b;

  for (guint step = 0; step < n_steps; step++)
    {
      guint64 top;

      for (guint i = pick (world, 4); i > 0; i--)
        if (pick (world, 3) != 0)
          write_random (world);
        else
          delete_random (world);
      if (pick (world, 6) == 0)
        seal_scope_or_fail (&world->scene, floor_of (world, 0) + 1, OVSTAGE_SCOPE_INCLUDE, &world->tokens[0], 1);
      else
        seal_or_fail (&world->scene, MAX (floor_of (world, 0), floor_of (world, 1)) + pick (world, 3));

      if (pick (world, 8) == 0)
        move_random_hold (world);
      check_holds (world);
      for (guint i = 0; i < 2; i++)
        if (world->holds[i] != NULL && pick (world, 2) == 0)
          check_read (world, world->held[i] + 1, NEWEST, FALSE, held);

      top = MAX (floor_of (world, 0), floor_of (world, 1)) + 3;
      for (guint i = 0; i < 4; i++)
        {
          guint64 b = pick (world, 5) == 0 ? NEWEST : pick (world, (guint) top + 1);
          guint64 a = pick (world, (guint) MIN (b, top) + 1);

          if (pick (world, 2) == 0 && top > 10)
            a = MAX (a, MIN (b, top - 8));
          check_read (world, a, b, FALSE, held);
        }
      for (guint64 b = top > 8 ? top - 8 : 0; b <= top && ovs_stage_get_oldest_preserved (world->scene.stage) == 0; b++)
        check_read (world, 0, b, TRUE, held);
      if (held->len > 4)
        release_one (world, held);
    }
  while (held->len > 0)
    release_one (world, held);
  ovs_stage_lock (world->scene.stage);
  for (guint i = 0; i < 2; i++)
    if (world->holds[i] != NULL)
      ovs_stage_drop_hold (world->scene.stage, world->holds[i]);
  ovs_stage_unlock (world->scene.stage);
  scene_clear (&world->scene);
  g_rand_free (world->rand);
  g_free (world);
}

static void
test_random (void)
{
  guint n = is_slow () ? 20 : 200;

  for (guint i = 0; i < n; i++)
    run_world (g_test_rand_int (), 30);
}

/* --- several threads --- */

#define N_FOLLOWED 300

typedef struct
{
  Scene scene;
  OvsOp *parts[7];
  gint n_left; /* (atomic) steps */
} Followed;

typedef struct
{
  Followed *followed;
  guint64 cursor;
  float values[N_FOLLOWED]; /* 0: not there */
} Follower;

/* Prims come, change and go: other ones in each part. */
static gpointer
produce_thread (gpointer user_data)
{
  Followed *followed = user_data;
  Scene *scene = &followed->scene;

  for (guint64 step = 1; g_atomic_int_get (&followed->n_left) > 0; step++)
    {
      OvsOp *part = followed->parts[step % G_N_ELEMENTS (followed->parts)];
      OvsOp *other = followed->parts[(step * 3 + 1) % G_N_ELEMENTS (followed->parts)];

      ovs_op_unref (write_payload (scene, part, scene->a, step, payload_fill (float32, ovs_query_get_list (part)->n, (double) step)));
      if (step % 3 == 0)
        ovs_op_unref (ovs_stage_delete (scene->stage, other, &scene->a, step % 2, step));
      assert_ok (advance (scene, step));
      g_atomic_int_add (&followed->n_left, -1);
    }
  return NULL;
}

static void
follow (Follower *follower)
{
  Scene *scene = &follower->followed->scene;
  OvsOp *read = range_at (scene, scene->query, TOKENS (scene->a), follower->cursor + 1, NEWEST);
  OvstageReadGroup *group;

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (read));
  while ((group = next_group_or_fail (read)) != NULL)
    {
      for (guint32 i = 0; i < group->prim_count; i++)
        follower->values[ovs_read_group_prim_index (group, i)] = group->is_delete ? 0 : *(const float *) group_row (group, i);
      ovs_read_group_unref (group);
    }
  follower->cursor = ovs_read_get_as_of (read);
  ovs_op_unref (read);
}

static gpointer
follow_thread (gpointer user_data)
{
  Follower *follower = user_data;

  while (g_atomic_int_get (&follower->followed->n_left) > 0)
    follow (follower);
  return NULL;
}

static void
test_threads (gconstpointer flags)
{
  Followed followed = { .n_left = is_slow () ? 150 : 1500 };
  Scene *scene = &followed.scene;
  Follower followers[2] = { { .followed = &followed }, { .followed = &followed } };
  GThread *threads[3];
  OvstageReadGroup *group;
  float values[N_FOLLOWED] = { 0 };

  scene_init_budget (scene, N_FOLLOWED, 64 << 20); /* whoever is slow is not to miss anything */
  ovs_debug_set_flags ((OvsDebugFlags) GPOINTER_TO_UINT (flags));
  for (guint p = 0; p < G_N_ELEMENTS (followed.parts); p++)
    {
      guint prims[N_FOLLOWED], n = 0;

      for (guint i = p; i < N_FOLLOWED; i += p + 2)
        prims[n++] = (i * 7 + p) % N_FOLLOWED;
      followed.parts[p] = query_prims_or_fail (scene->stage, prims, n);
    }
  threads[0] = g_thread_new ("produce", produce_thread, &followed);
  for (guint i = 0; i < 2; i++)
    threads[i + 1] = g_thread_new ("follow", follow_thread, &followers[i]);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);

  group = only_group_or_fail (scene, scene->query, scene->a, NEWEST);
  for (guint32 i = 0; i < group->prim_count; i++)
    values[ovs_read_group_prim_index (group, i)] = *(const float *) group_row (group, i);
  ovs_read_group_unref (group);
  for (guint i = 0; i < 2; i++)
    {
      follow (&followers[i]);
      for (guint prim = 0; prim < N_FOLLOWED; prim++)
        g_assert_cmpfloat (followers[i].values[prim], ==, values[prim]);
    }
  for (guint p = 0; p < G_N_ELEMENTS (followed.parts); p++)
    ovs_op_unref (followed.parts[p]);
  scene_clear (scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine-range/values", test_values);
  g_test_add_func ("/engine-range/merged", test_merged);
  g_test_add_func ("/engine-range/deletes", test_deletes);
  g_test_add_func ("/engine-range/short-life", test_short_life);
  g_test_add_func ("/engine-range/moves", test_moves);
  g_test_add_func ("/engine-range/arrays", test_arrays);
  g_test_add_func ("/engine-range/what-is-a-change", test_what_is_a_change);
  g_test_add_func ("/engine-range/order-of-groups", test_order_of_groups);
  g_test_add_func ("/engine-range/queries", test_queries);
  g_test_add_func ("/engine-range/leading", test_leading);
  g_test_add_func ("/engine-range/old-generations", test_old_generations);
  g_test_add_func ("/engine-range/group-fields", test_group_fields);
  g_test_add_func ("/engine-range/arguments", test_arguments);
  g_test_add_func ("/engine-range/unsealed", test_unsealed);
  g_test_add_func ("/engine-range/floors", test_floors);
  g_test_add_func ("/engine-range/pipeline", test_pipeline);
  g_test_add_func ("/engine-range/pending-out-of-range", test_pending_out_of_range);
  g_test_add_func ("/engine-range/gone", test_gone);
  g_test_add_func ("/engine-range/gone-whole", test_gone_whole);
  g_test_add_func ("/engine-range/gone-schemas", test_gone_schemas);
  g_test_add_func ("/engine-range/pinned", test_pinned);
  g_test_add_func ("/engine-range/budget", test_budget);
  g_test_add_func ("/engine-range/old-layouts", test_old_layouts);
  g_test_add_func ("/engine-range/frames", test_frames);
  g_test_add_func ("/engine-range/holds", test_holds);
  g_test_add_data_func ("/engine-range/held-for-long/whole", "whole", test_held_for_long);
  g_test_add_data_func ("/engine-range/held-for-long/some", "some", test_held_for_long);
  g_test_add_data_func ("/engine-range/held-for-long/deletes", "deletes", test_held_for_long);
  g_test_add_data_func ("/engine-range/held-for-long/compact", "compact", test_held_for_long);
  g_test_add_func ("/engine-range/one-percent", test_one_percent);
  g_test_add_func ("/engine-range/random", test_random);
  g_test_add_data_func ("/engine-range/threads/plain", GUINT_TO_POINTER (0), test_threads);
  g_test_add_data_func ("/engine-range/threads/compact", GUINT_TO_POINTER (OVS_DEBUG_COMPACT), test_threads);
  g_test_add_data_func ("/engine-range/threads/async", GUINT_TO_POINTER (OVS_DEBUG_ASYNC), test_threads);
  return g_test_run ();
}
