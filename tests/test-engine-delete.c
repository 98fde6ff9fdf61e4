/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Deletes of attributes and of whole prims, what may be written after them, and what
 * becomes of the rows that stay behind. */

#include "config.h"

#include "engine-helpers.h"

static OvsOp *
delete (Scene *scene, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  return ovs_stage_delete (scene->stage, query, attributes, n_attributes, ordinal);
}

static void
delete_or_fail (Scene *scene, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  assert_ok (delete (scene, query, attributes, n_attributes, ordinal));
}

static guint64
generation (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal)
{
  OvstageReadGroup *group = only_group_or_fail (scene, query, attribute, ordinal);
  guint64 found = group->layout_generation;

  ovs_read_group_unref (group);
  return found;
}

static guint64
group_ordinal (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal)
{
  OvstageReadGroup *group = only_group_or_fail (scene, query, attribute, ordinal);
  guint64 found = group->ordinal;

  ovs_read_group_unref (group);
  return found;
}

static OvsColumn *
column_of (Scene *scene, guint64 attribute, guint i)
{
  return ovs_stage_get_attr (scene->stage, (guint32) attribute)->columns->pdata[i];
}

#define include(scene, ordinal, ...) seal_scope_or_fail (scene, ordinal, OVSTAGE_SCOPE_INCLUDE, TOKENS (__VA_ARGS__))

/* --- what goes, and when --- */

static void
test_attribute (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, scene.query, scene.b, 1, "4 5 6");
  seal_or_fail (&scene, 1);
  delete_or_fail (&scene, one, TOKENS (scene.a), 2);
  assert_values (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 - 3");
  assert_values (&scene, scene.query, scene.b, 2, "4 5 6");

  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_several_attributes (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  write_text (&scene, scene.query, scene.b, 1, "3 4");
  write_text (&scene, scene.query, scene.c, 1, "5 6");
  /* An attribute named twice is deleted once. */
  delete_or_fail (&scene, scene.query, TOKENS (scene.a, scene.c, scene.a), 2);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "- -");
  assert_values (&scene, scene.query, scene.b, 2, "3 4");
  assert_values (&scene, scene.query, scene.c, 2, "- -");
  scene_clear (&scene);
}

static void
test_prims (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, scene.query, scene.b, 1, "4 5 6");
  seal_or_fail (&scene, 1);
  delete_or_fail (&scene, one, NO_TOKENS, 2);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 - 3");
  assert_values (&scene, scene.query, scene.b, 2, "4 - 6");
  assert_ok (write_mode (&scene, one, scene.c, 3, payload_text ("7"), OVSTAGE_PRIM_MODE_INSERT));

  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_order_in_one_ordinal (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 1);
  write_text (&scene, scene.query, scene.b, 1, "3 4");
  delete_or_fail (&scene, scene.query, TOKENS (scene.b), 1);
  write_text (&scene, scene.query, scene.b, 1, "5 6");
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- -");
  assert_values (&scene, scene.query, scene.b, 1, "5 6");
  scene_clear (&scene);
}

/* Small writes share an open part of the log: a delete between them parts it. */
static void
test_order_in_the_log (void)
{
  Scene scene;
  OvsOp *zero, *one;

  scene_init (&scene, 4);
  zero = query_or_fail (&scene, "0");
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_text (&scene, zero, scene.a, 2, "5");
  write_text (&scene, one, scene.a, 2, "6");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 2);
  write_text (&scene, one, scene.a, 2, "7");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "- 7 - -");

  ovs_op_unref (zero);
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_what_is_above_stays (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  write_text (&scene, scene.query, scene.a, 5, "5 6");
  delete_or_fail (&scene, scene.query, NO_TOKENS, 3);
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 2, "1 2");
  assert_values (&scene, scene.query, scene.a, 3, "- -");
  assert_values (&scene, scene.query, scene.a, 5, "5 6");
  scene_clear (&scene);
}

/* Also on prims that were sealed: the write, which changed nothing but values as it was submitted, has to make rows. */
static void
test_above_of_sealed_stays (gconstpointer whole)
{
  Scene scene;
  OvsOp *one;

  scene_init_depth (&scene, 3, 4);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  write_text (&scene, scene.query, scene.a, 5, "5 6 7");
  delete_or_fail (&scene, one, whole != NULL ? NULL : (guint64[]){ scene.a }, whole != NULL ? 0 : 1, 3);
  /* Sealed apart, the delete is gone by the time of the write. */
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "1 - 3");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 1, "1 2 3");
  assert_values (&scene, scene.query, scene.a, 3, "1 - 3");
  assert_values (&scene, scene.query, scene.a, 5, "5 6 7");
  /* One at the same ordinal comes before what is written after it. */
  write_text (&scene, scene.query, scene.a, 6, "8 8 8");
  delete_or_fail (&scene, one, whole != NULL ? NULL : (guint64[]){ scene.a }, whole != NULL ? 0 : 1, 6);
  write_text (&scene, one, scene.a, 6, "9");
  seal_or_fail (&scene, 6);
  assert_values (&scene, scene.query, scene.a, 6, "8 9 8");
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* The head is as of what is above, though that made no rows as it was submitted. */
static void
test_above_is_the_head (gconstpointer whole)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 2);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  write_text (&scene, scene.query, scene.a, 5, "5 6");
  delete_or_fail (&scene, one, whole != NULL ? NULL : (guint64[]){ scene.a }, whole != NULL ? 0 : 1, 3);
  assert_refused (&scene, write_mode (&scene, one, scene.b, 3, payload_text ("7"), OVSTAGE_PRIM_MODE_UPDATE), OVSTAGE_ERROR_NOT_FOUND, "'/p1'");
  assert_refused (&scene, write_mode (&scene, one, scene.b, 5, payload_text ("7"), OVSTAGE_PRIM_MODE_INSERT), OVSTAGE_ERROR_ALREADY_EXISTS,
                  "'/p1'");
  assert_ok (write_mode (&scene, one, scene.b, 5, payload_text ("7"), OVSTAGE_PRIM_MODE_UPDATE));
  assert_refused (&scene, write_payload (&scene, one, scene.a, 6, payload_fill (float32x3, 1, 1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "'/p1'",
                  "float32x3");
  seal_or_fail (&scene, 3);
  assert_refused (&scene, write_mode (&scene, one, scene.c, 4, payload_text ("7"), OVSTAGE_PRIM_MODE_UPDATE), OVSTAGE_ERROR_NOT_FOUND, "'/p1'");
  assert_ok (write_mode (&scene, one, scene.c, 5, payload_text ("8"), OVSTAGE_PRIM_MODE_UPDATE));
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "5 6");
  assert_values (&scene, scene.query, scene.b, 5, "- 7");
  assert_values (&scene, scene.query, scene.c, 5, "- 8");
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* Small writes that are staged in one part: those before the delete and those after it are not. */
static void
test_small_writes_around (void)
{
  Scene scene;
  OvsOp *prims[3], *both;

  scene_init_plain (&scene, 3);
  for (guint i = 0; i < 3; i++)
    prims[i] = query_prims_or_fail (scene.stage, &i, 1);
  both = query_or_fail (&scene, "0 1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  for (guint i = 0; i < 3; i++)
    write_text (&scene, prims[i], scene.a, 2, "5");
  delete_or_fail (&scene, both, TOKENS (scene.a), 2);
  write_text (&scene, prims[1], scene.a, 2, "7");
  write_text (&scene, prims[2], scene.a, 2, "8");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "- 7 8");
  for (guint i = 0; i < 3; i++)
    ovs_op_unref (prims[i]);
  ovs_op_unref (both);
  scene_clear (&scene);
}

/* A delete of what is not there kills what is submitted later at lower ordinals. */
static void
test_absent (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 4);
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 5);
  write_text (&scene, scene.query, scene.a, 4, "1 2");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 4, "1 2");
  assert_values (&scene, scene.query, scene.a, 5, "- -");
  scene_clear (&scene);
}

static void
test_absent_is_no_change (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 2);
  one = query_or_fail (&scene, "1");
  write_text (&scene, one, scene.a, 1, "1");
  seal_or_fail (&scene, 1);
  ovs_op_unref (one);
  one = query_or_fail (&scene, "0");
  delete_or_fail (&scene, one, TOKENS (scene.a), 2);
  delete_or_fail (&scene, one, NO_TOKENS, 3);
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 1, "- 1");
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 0);

  ovs_op_unref (one);
  scene_clear (&scene);
}

/* --- ENGINE 12 --- */

static void
test_attribute_that_comes_later (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  delete_or_fail (&scene, scene.query, NO_TOKENS, 5);
  write_text (&scene, scene.query, scene.b, 4, "3 4");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "- -");
  assert_values (&scene, scene.query, scene.b, 5, "- -");
  assert_ok (write_mode (&scene, scene.query, scene.c, 6, payload_text ("7 8"), OVSTAGE_PRIM_MODE_INSERT));
  scene_clear (&scene);
}

/* It is sealed below the delete first: the delete is still due. */
static void
test_attribute_sealed_below (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 4);
  delete_or_fail (&scene, scene.query, NO_TOKENS, 5);
  write_text (&scene, scene.query, scene.b, 3, "3 4");
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.b, 4, "3 4");
  assert_values (&scene, scene.query, scene.b, 5, "WRITE_FLOOR_VIOLATION");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.b, 5, "- -");
  assert_values (&scene, scene.query, scene.b, 4, "3 4");
  scene_clear (&scene);
}

static void
test_half_due (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  write_text (&scene, scene.query, scene.b, 1, "3 4");
  seal_or_fail (&scene, 1);
  delete_or_fail (&scene, scene.query, NO_TOKENS, 5);
  include (&scene, 5, scene.a);
  assert_values (&scene, scene.query, scene.a, 5, "- -");
  assert_values (&scene, scene.query, scene.b, 1, "3 4");
  assert_values (&scene, scene.query, scene.b, 5, "WRITE_FLOOR_VIOLATION");
  /* The prims still exist at 4, by the other attribute, and at 5 no more. */
  assert_refused (&scene, write_mode (&scene, scene.query, scene.c, 4, payload_text ("7 8"), OVSTAGE_PRIM_MODE_INSERT),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "INSERT");
  assert_ok (write_mode (&scene, scene.query, scene.c, 5, payload_text ("7 8"), OVSTAGE_PRIM_MODE_INSERT));
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.b, 5, "- -");
  assert_values (&scene, scene.query, scene.c, 5, "7 8");
  scene_clear (&scene);
}

/* Attribute a is sealed past the delete, and nothing lives in it then: its history stays. */
static void
test_sealed_history_stays (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 9);
  write_text (&scene, scene.query, scene.a, 4, "1 2");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 6);
  include (&scene, 8, scene.a);
  write_text (&scene, scene.query, scene.b, 1, "3 4");
  delete_or_fail (&scene, scene.query, NO_TOKENS, 5);
  write_text (&scene, scene.query, scene.a, 9, "5 6");
  seal_or_fail (&scene, 9);
  assert_values (&scene, scene.query, scene.a, 5, "1 2");
  assert_values (&scene, scene.query, scene.a, 6, "- -");
  assert_values (&scene, scene.query, scene.a, 9, "5 6");
  assert_values (&scene, scene.query, scene.b, 5, "- -");
  scene_clear (&scene);
}

/* The same while the advance still waits for bytes: what counts is that it was submitted. */
static void
test_closing_history_stays (void)
{
  Scene scene;
  OvsOp *zero, *one, *write, *seal;

  scene_init_depth (&scene, 2, 9);
  zero = query_or_fail (&scene, "0");
  one = query_or_fail (&scene, "1");
  write_text (&scene, zero, scene.a, 4, "1");
  delete_or_fail (&scene, zero, TOKENS (scene.a), 6);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, one, scene.a, 7, payload_text ("2"));
  seal = ovs_stage_advance (scene.stage, 8, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  g_assert_false (ovs_op_is_done (seal));

  delete_or_fail (&scene, zero, NO_TOKENS, 5);
  /* What lives once the advance is over has a say. */
  assert_refused (&scene, delete (&scene, one, NO_TOKENS, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "8");

  scene_resume (&scene);
  assert_ok (write);
  assert_ok (seal);
  seal_or_fail (&scene, 8);
  assert_values (&scene, scene.query, scene.a, 5, "1 -");
  assert_values (&scene, scene.query, scene.a, 8, "- 2");

  ovs_op_unref (zero);
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* It stays where the advance is withdrawn, too. */
static void
test_history_stays_without_the_advance (void)
{
  Scene scene;
  OvsOp *zero, *one, *write, *seal;

  scene_init (&scene, 2);
  zero = query_or_fail (&scene, "0");
  one = query_or_fail (&scene, "1");
  write_text (&scene, zero, scene.a, 1, "1");
  write_text (&scene, zero, scene.b, 1, "2");
  seal_or_fail (&scene, 1);
  delete_or_fail (&scene, zero, TOKENS (scene.a), 6);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, one, scene.a, 7, payload_text ("2"));
  seal = ovs_stage_advance (scene.stage, 8, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  delete_or_fail (&scene, zero, NO_TOKENS, 5);
  g_assert_true (ovs_op_cancel (seal));
  scene_resume (&scene);
  assert_ok (write);
  ovs_op_unref (seal);
  assert_values (&scene, zero, scene.a, 5, "1"); /* nothing of it is unsealed there */
  assert_refused (&scene, read_at (&scene, zero, TOKENS (scene.b), 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b'", "delete at ordinal 5");
  seal_or_fail (&scene, 5);
  assert_values (&scene, zero, scene.a, 5, "1");
  assert_values (&scene, zero, scene.b, 5, "-");
  ovs_op_unref (zero);
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* --- what is refused --- */

static void
test_arguments (void)
{
  Scene scene, other;
  OvsStage *stage;

  scene_init (&scene, 2);
  scene_init (&other, 2);
  stage = scene.stage;
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a), OVSTAGE_ORDINAL_NEWEST), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "ordinal", "delete");
  assert_refused (&scene, delete (&scene, scene.query, NULL, 2, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL", "2 tokens");
  assert_refused (&scene, delete (&scene, other.query, TOKENS (scene.a), 2), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a, 123456), 2), OVSTAGE_ERROR_INVALID_HANDLE, "attributes[1]",
                  "123456");
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a, 0), 2), OVSTAGE_ERROR_INVALID_HANDLE, "attributes[1]");
  /* Names are told before floors. */
  for (guint i = 0; i < OVS_N_READ_ONLY; i++)
    assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a, stage->reserved[i]), 1), OVSTAGE_ERROR_NOT_SUPPORTED,
                    ovs_stage_name (stage, stage->reserved[i]));
  delete_or_fail (&scene, scene.query, TOKENS (stage->reserved[4], stage->reserved[5]), 2);
  ovs_stage_close (stage);
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a), 3), OVSTAGE_ERROR_INVALID_HANDLE, "closed");
  scene_clear (&other);
  scene_clear (&scene);
}

static void
test_empty_query (void)
{
  Scene scene;
  OvsOp *none;
  g_autofree char *before = NULL, *after = NULL;

  scene_init (&scene, 1);
  none = query_or_fail (&scene, "");
  seal_or_fail (&scene, 3);
  before = dump_state (scene.stage);
  delete_or_fail (&scene, none, TOKENS (scene.a), 1);
  delete_or_fail (&scene, none, NO_TOKENS, 1);
  after = dump_state (scene.stage);
  g_assert_cmpstr (before, ==, after);
  assert_refused (&scene, delete (&scene, none, TOKENS (scene.stage->reserved[0]), 1), OVSTAGE_ERROR_NOT_SUPPORTED, "usd-path");

  ovs_op_unref (none);
  scene_clear (&scene);
}

static void
test_floors (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  include (&scene, 4, scene.b);
  seal_scope_or_fail (&scene, 2, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.b));
  /* Also of what was never written. */
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.c), 2), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'c'", "2");
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a, scene.b), 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b'", "4");
  assert_refused (&scene, delete (&scene, scene.query, NO_TOKENS, 2), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "default", "2");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 3);
  delete_or_fail (&scene, scene.query, NO_TOKENS, 3);
  scene_clear (&scene);
}

/* A floor of an attribute counts where it lives or is written on a target; a delete that is staged does neither. */
static void
test_floors_of_what_lives (void)
{
  Scene scene;
  OvsOp *zero, *one, *two;

  scene_init (&scene, 3);
  zero = query_or_fail (&scene, "0");
  one = query_or_fail (&scene, "1");
  two = query_or_fail (&scene, "2");
  write_text (&scene, zero, scene.a, 1, "1");
  include (&scene, 8, scene.a);
  write_text (&scene, one, scene.a, 9, "2");
  delete_or_fail (&scene, two, TOKENS (scene.a), 9);
  assert_refused (&scene, delete (&scene, zero, NO_TOKENS, 8), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "8");
  assert_refused (&scene, delete (&scene, one, NO_TOKENS, 8), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "8");
  delete_or_fail (&scene, two, NO_TOKENS, 8);
  delete_or_fail (&scene, scene.query, NO_TOKENS, 9);

  ovs_op_unref (zero);
  ovs_op_unref (one);
  ovs_op_unref (two);
  scene_clear (&scene);
}

static void
test_after_an_advance (void)
{
  Scene scene;
  OvsOp *write, *seal;

  scene_init_paused (&scene, 2);
  write = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2"));
  seal = advance (&scene, 5);
  g_assert_false (ovs_op_is_done (seal));
  assert_refused (&scene, delete (&scene, scene.query, TOKENS (scene.a), 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'", "5");
  assert_refused (&scene, delete (&scene, scene.query, NO_TOKENS, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "5");
  delete_or_fail (&scene, scene.query, NO_TOKENS, 6);
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (seal);
  assert_values (&scene, scene.query, scene.a, 5, "1 2");
  seal_or_fail (&scene, 6);
  assert_values (&scene, scene.query, scene.a, 6, "- -");
  scene_clear (&scene);
}

/* --- what may be written --- */

static void
test_other_schema (void)
{
  Scene scene;

  scene_init_depth (&scene, 2, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 5);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 4, payload_rows (float32x3, 2)), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "float32x3", "delete it");
  write_or_fail (&scene, scene.query, scene.a, 5, payload_fill (float32x3, 2, 7));
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 6, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_ARGUMENT, "float32");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 4, "1 2");
  assert_values (&scene, scene.query, scene.a, 5, "7,7,7 7,7,7");

  /* And back, as whole prims, at a higher ordinal. */
  delete_or_fail (&scene, scene.query, NO_TOKENS, 6);
  write_text (&scene, scene.query, scene.a, 8, "3 4");
  seal_or_fail (&scene, 8);
  assert_values (&scene, scene.query, scene.a, 7, "- -");
  assert_values (&scene, scene.query, scene.a, 8, "3 4");
  g_assert_cmpuint (ovs_stage_get_attr (scene.stage, (guint32) scene.a)->columns->len, ==, 2);
  scene_clear (&scene);
}

static void
test_other_schema_of_one_prim (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  delete_or_fail (&scene, one, TOKENS (scene.a), 1);
  write_or_fail (&scene, one, scene.a, 1, payload_fill (float32x3, 1, 7));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 7,7,7 3");
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_prim_modes (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  delete_or_fail (&scene, scene.query, NO_TOKENS, 5);
  assert_refused (&scene, write_mode (&scene, scene.query, scene.b, 4, payload_text ("3 4"), OVSTAGE_PRIM_MODE_INSERT),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "INSERT");
  assert_refused (&scene, write_mode (&scene, scene.query, scene.b, 5, payload_text ("3 4"), OVSTAGE_PRIM_MODE_UPDATE),
                  OVSTAGE_ERROR_NOT_FOUND, "UPDATE");
  assert_ok (write_mode (&scene, scene.query, scene.b, 5, payload_text ("3 4"), OVSTAGE_PRIM_MODE_INSERT));
  assert_ok (write_mode (&scene, scene.query, scene.a, 6, payload_text ("5 6"), OVSTAGE_PRIM_MODE_UPDATE));
  seal_or_fail (&scene, 6);
  assert_read (read_at (&scene, scene.query, TOKENS (scene.a), 6), "5 6");
  assert_read (read_at (&scene, scene.query, TOKENS (scene.b), 6), "3 4");
  scene_clear (&scene);
}

/* A delete is sealed for one attribute, above the ordinal of a write that asks what existed. */
static void
test_prim_modes_behind_a_scoped_seal (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 7);
  include (&scene, 10, scene.a);
  assert_refused (&scene, write_mode (&scene, scene.query, scene.b, 6, payload_text ("3 4"), OVSTAGE_PRIM_MODE_INSERT),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "INSERT");
  assert_ok (write_mode (&scene, scene.query, scene.b, 2, payload_text ("3 4"), OVSTAGE_PRIM_MODE_INSERT));
  delete_or_fail (&scene, scene.query, TOKENS (scene.b), 5);
  assert_ok (write_mode (&scene, scene.query, scene.c, 8, payload_text ("3 4"), OVSTAGE_PRIM_MODE_INSERT));
  scene_clear (&scene);
}

/* Checks run once: a delete that is submitted later at a lower ordinal does not open them again. */
static void
test_checks_are_not_run_again (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  assert_ok (write_mode (&scene, scene.query, scene.a, 5, payload_text ("3 4"), OVSTAGE_PRIM_MODE_UPDATE));
  delete_or_fail (&scene, scene.query, NO_TOKENS, 3);
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "3 4");
  scene_clear (&scene);
}

/* --- reads --- */

static void
test_unsealed_named (void)
{
  Scene scene;
  OvsOp *zero, *one;

  scene_init (&scene, 2);
  zero = query_or_fail (&scene, "0");
  one = query_or_fail (&scene, "1");
  delete_or_fail (&scene, zero, TOKENS (scene.a), 3);
  assert_refused (&scene, read_at (&scene, zero, TOKENS (scene.b, scene.a), 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'",
                  "delete at ordinal 3", "floor is 0", "read is at 4");
  assert_values (&scene, zero, scene.a, 3, "WRITE_FLOOR_VIOLATION");
  assert_values (&scene, zero, scene.a, 2, "-");
  assert_values (&scene, one, scene.a, 3, "-");
  assert_values (&scene, zero, scene.b, 3, "-");
  assert_values (&scene, zero, scene.a, OVSTAGE_ORDINAL_NEWEST, "-");

  ovs_op_unref (zero);
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_unsealed_prims (void)
{
  Scene scene;
  OvsOp *lives, *written, *deleted, *absent;

  scene_init (&scene, 4);
  lives = query_or_fail (&scene, "0");
  written = query_or_fail (&scene, "1");
  deleted = query_or_fail (&scene, "2");
  absent = query_or_fail (&scene, "3");
  write_text (&scene, lives, scene.a, 1, "1");
  seal_or_fail (&scene, 1);
  write_text (&scene, written, scene.a, 7, "2");
  delete_or_fail (&scene, deleted, TOKENS (scene.a), 9);
  delete_or_fail (&scene, scene.query, NO_TOKENS, 5);
  assert_values (&scene, lives, scene.a, 4, "1");
  assert_refused (&scene, read_at (&scene, lives, TOKENS (scene.a), 6), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a'",
                  "delete at ordinal 5", "floor is 1", "read is at 6");
  assert_values (&scene, lives, scene.a, 5, "WRITE_FLOOR_VIOLATION");
  assert_values (&scene, lives, scene.b, 5, "-");
  assert_values (&scene, written, scene.a, 6, "-");
  assert_values (&scene, written, scene.a, 7, "WRITE_FLOOR_VIOLATION");
  assert_values (&scene, deleted, scene.a, 8, "-");
  assert_values (&scene, absent, scene.a, 8, "-");

  ovs_op_unref (lives);
  ovs_op_unref (written);
  ovs_op_unref (deleted);
  ovs_op_unref (absent);
  scene_clear (&scene);
}

/* An attribute without rows, and without anything staged, does not hold as_of. */
static void
test_as_of (void)
{
  Scene scene;
  OvsOp *read;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  write_text (&scene, scene.query, scene.b, 1, "1 2");
  include (&scene, 3, scene.a);
  seal_scope_or_fail (&scene, 9, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.a));
  read = read_or_fail (&scene, scene.query, TOKENS (scene.a, scene.b), 20);
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, 3);
  ovs_op_unref (read);
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 4);
  include (&scene, 4, scene.a);
  read = read_or_fail (&scene, scene.query, TOKENS (scene.a, scene.b), 20);
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, 9);
  ovs_op_unref (read);
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 30);
  read = read_or_fail (&scene, scene.query, TOKENS (scene.a, scene.b), 20);
  g_assert_cmpuint (ovs_read_get_as_of (read), ==, 4);
  ovs_op_unref (read);
  scene_clear (&scene);
}

static void
test_depth_one (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 3);
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 2, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.a, 3, "- -");
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 3);
  scene_clear (&scene);
}

static void
test_depth_four (void)
{
  Scene scene;
  OvsOp *one;

  scene_init_depth (&scene, 2, 4);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  delete_or_fail (&scene, one, NO_TOKENS, 2);
  write_text (&scene, one, scene.a, 3, "3");
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 4);
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.a, 1, "1 2");
  assert_values (&scene, scene.query, scene.a, 2, "1 -");
  assert_values (&scene, scene.query, scene.a, 3, "1 3");
  assert_values (&scene, scene.query, scene.a, 4, "- -");
  write_text (&scene, scene.query, scene.a, 5, "5 6");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 1, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.a, 2, "1 -");

  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_generation (void)
{
  Scene scene;
  OvsOp *one;
  guint64 before;

  scene_init (&scene, 2);
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  before = generation (&scene, scene.query, scene.a, 1);

  /* Gone and back within one ordinal, or nothing that goes: no change. */
  delete_or_fail (&scene, one, TOKENS (scene.a), 2);
  write_text (&scene, one, scene.a, 2, "3");
  delete_or_fail (&scene, one, TOKENS (scene.b), 2);
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (generation (&scene, scene.query, scene.a, 2), ==, before);

  delete_or_fail (&scene, one, TOKENS (scene.a), 3);
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (generation (&scene, scene.query, scene.a, 3), ==, before + 1);

  write_text (&scene, one, scene.a, 4, "4");
  seal_or_fail (&scene, 4);
  g_assert_cmpuint (generation (&scene, scene.query, scene.a, 4), ==, before + 2);

  ovs_op_unref (one);
  scene_clear (&scene);
}

/* The newest change among the prims that are there: a delete of others is none. */
static void
test_group_ordinal (void)
{
  Scene scene;
  OvsOp *zero, *one;

  scene_init (&scene, 2);
  zero = query_or_fail (&scene, "0");
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  write_text (&scene, one, scene.a, 2, "3");
  delete_or_fail (&scene, one, TOKENS (scene.a), 3);
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (group_ordinal (&scene, scene.query, scene.a, 3), ==, 1);
  write_text (&scene, one, scene.a, 4, "4");
  seal_or_fail (&scene, 4);
  g_assert_cmpuint (group_ordinal (&scene, zero, scene.a, 4), ==, 1);
  g_assert_cmpuint (group_ordinal (&scene, scene.query, scene.a, 4), ==, 4);

  ovs_op_unref (zero);
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* What is only read stays, whatever is deleted and written again under it. */
static void
test_held_groups (void)
{
  Scene scene;
  OvsOp *read;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);
  read = read_or_fail (&scene, scene.query, TOKENS (scene.a), 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  delete_or_fail (&scene, scene.query, NO_TOKENS, 2);
  write_text (&scene, scene.query, scene.a, 2, "3 4");
  seal_or_fail (&scene, 2);
  assert_read (read, "1 2");
  assert_values (&scene, scene.query, scene.a, 2, "3 4");
  g_assert_cmpfloat (*(const float *) group_row (group, 0), ==, 1);
  g_assert_cmpfloat (*(const float *) group_row (group, 1), ==, 2);
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* Rows go without a byte being moved. */
static void
test_moves_no_bytes (void)
{
  Scene scene;
  OvsOp *one;
  guint64 before;

  scene_init_plain (&scene, 1000);
  one = query_or_fail (&scene, "7");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x4, 1000, 1));
  seal_or_fail (&scene, 1);
  before = scene.stage->n_bytes_folded;
  delete_or_fail (&scene, one, TOKENS (scene.a), 2);
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (scene.stage->n_bytes_folded, ==, before);
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* --- bytes in flight --- */

static void
test_in_flight (void)
{
  Scene scene;
  OvsOp *writes[3], *seal, *read;

  scene_init_paused (&scene, 4);
  writes[0] = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3 4"));
  writes[1] = write_payload (&scene, scene.query, scene.a, 2, with_mask (payload_text ("5 6 7 8"), "0110"));
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 1);
  /* The bytes of the masked write, and with them its row numbers, are not there yet. */
  delete_or_fail (&scene, scene.query, NO_TOKENS, 3);
  assert_values (&scene, scene.query, scene.a, 2, "WRITE_FLOOR_VIOLATION");
  writes[2] = write_mode (&scene, scene.query, scene.b, 3, payload_text ("1 2 3 4"), OVSTAGE_PRIM_MODE_INSERT);
  seal = advance (&scene, 3);
  read = read_at (&scene, scene.query, TOKENS (scene.a), 3);
  g_assert_false (ovs_op_is_done (read));
  scene_resume (&scene);
  for (guint i = 0; i < G_N_ELEMENTS (writes); i++)
    assert_ok (writes[i]);
  assert_ok (seal);
  assert_read (read, "- - - -");
  assert_values (&scene, scene.query, scene.b, 3, "1 2 3 4");
  scene_clear (&scene);
}

static void
test_in_flight_above (void)
{
  Scene scene;
  OvsOp *write;

  scene_init_depth (&scene, 4, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, scene.query, scene.a, 5, with_mask (payload_text ("5 6 7 8"), "0110"));
  delete_or_fail (&scene, scene.query, TOKENS (scene.a), 4);
  scene_resume (&scene);
  assert_ok (write);
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 3, "1 2 3 4");
  assert_values (&scene, scene.query, scene.a, 4, "- - - -");
  assert_values (&scene, scene.query, scene.a, 5, "- 6 7 -");
  scene_clear (&scene);
}

/* --- no memory --- */

/* Fails each allocation of a seal in turn: nothing has changed then, and it may be submitted again. */
static void
test_out_of_memory (void)
{
  guint n_failed = 0;

  for (gint after = 0;; after++)
    {
      Scene scene;
      OvsOp *seal, *one;
      g_autofree char *before = NULL, *failed = NULL;
      gboolean done;

      scene_init_depth (&scene, 100, 4);
      ovs_debug_set_flags (after % 2 == 0 ? OVS_DEBUG_COMPACT : 0);
      one = query_or_fail (&scene, "1");
      write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x4, 100, 1));
      write_or_fail (&scene, scene.query, scene.c, 1, payload_fill (float32x4, 100, 1));
      seal_or_fail (&scene, 1);
      delete_or_fail (&scene, one, NO_TOKENS, 2);
      write_or_fail (&scene, one, scene.c, 3, payload_fill (float32x4, 1, 3));
      delete_or_fail (&scene, one, TOKENS (scene.c), 4);
      write_or_fail (&scene, one, scene.c, 4, payload_fill (float32x4, 1, 4));
      write_or_fail (&scene, one, scene.a, 3, payload_fill (float32x3, 1, 3));
      write_or_fail (&scene, scene.query, scene.b, 3, payload_fill (float32x3, 100, 3));
      delete_or_fail (&scene, one, TOKENS (scene.b), 4);
      before = dump_state (scene.stage);
      ovs_pool_fail_after (scene.stage->pool, after / 2);
      seal = advance (&scene, 4);
      g_assert_cmpint (ovs_op_wait (seal, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      done = ovs_op_get_error (seal) == NULL;
      if (!done)
        {
          g_assert_error (ovs_op_get_error (seal), OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
          failed = dump_state (scene.stage);
          g_assert_cmpstr (before, ==, failed);
          n_failed++;
        }
      ovs_pool_fail_after (scene.stage->pool, -1);
      ovs_op_unref (seal);
      seal_or_fail (&scene, 4);
      assert_values (&scene, one, scene.a, 2, "-");
      assert_values (&scene, one, scene.a, 4, "3,3,3");
      assert_values (&scene, one, scene.b, 3, "3,3,3");
      assert_values (&scene, one, scene.b, 4, "-");
      assert_values (&scene, one, scene.c, 3, "3,3,3,3");
      assert_values (&scene, one, scene.c, 4, "4,4,4,4");
      ovs_op_unref (one);
      scene_clear (&scene);
      /* Room for a new layout may be missing: then the old one stays. */
      if (done && after > 40)
        break;
    }
  g_assert_cmpuint (n_failed, >=, 2);
}

/* --- threads --- */

#define N_FRAMES 300

typedef struct
{
  Scene *scene;
  guint64 attribute;
} Churn;

/* Writes fresh prims and takes others away, at whatever ordinal is still open. */
static gpointer
churn (gpointer data)
{
  const Churn *churn = data;
  Scene *scene = churn->scene;

  for (guint i = 0; i < N_FRAMES; i++)
    {
      guint prims[] = { 100 + i, 99 + i, i % 20 };
      OvsOp *query = query_prims_or_fail (scene->stage, prims, 3), *ops[3];
      guint64 ordinal = ovs_stage_get_floor (scene->stage) + 2;
      OvstageWriteData *payload = payload_fill (float32x4, 3, i);

      ops[0] = ovs_stage_delete (scene->stage, query, i % 2 == 0 ? &churn->attribute : NULL, i % 2 == 0 ? 1 : 0, ordinal);
      ops[1] = ovs_stage_write (scene->stage, query, churn->attribute, ordinal + 1, payload, OVSTAGE_PRIM_MODE_UPSERT, NULL);
      ops[2] = ovs_stage_delete (scene->stage, query, &churn->attribute, 1, ordinal + 2);
      for (guint k = 0; k < G_N_ELEMENTS (ops); k++)
        {
          ovs_op_wait (ops[k], OVSTAGE_TIMEOUT_INFINITE, NULL);
          if (ovs_op_get_error (ops[k]) != NULL)
            g_assert_error (ovs_op_get_error (ops[k]), OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
          ovs_op_unref (ops[k]);
        }
      ovs_payload_unref (payload);
      ovs_op_unref (query);
    }
  return NULL;
}

/* Two threads write and delete, one seals, one reads; in the end everything that is deleted is gone. */
static void
test_threads (void)
{
  Scene scene;
  Churn churns[2];
  GThread *threads[2];
  OvsOp *all;
  guint64 ordinal = 0;

  scene_init (&scene, 20);
  all = query_or_fail (&scene, "0-19 90-500");
  for (guint i = 0; i < 2; i++)
    {
      churns[i] = (Churn){ &scene, i == 0 ? scene.a : scene.b };
      threads[i] = g_thread_new ("churn", churn, &churns[i]);
    }
  for (guint i = 0; i < N_FRAMES; i++)
    {
      OvsOp *read;
      OvstageReadGroup *group;

      assert_ok (advance (&scene, ++ordinal));
      read = read_or_fail (&scene, all, TOKENS (scene.a, scene.b), OVSTAGE_ORDINAL_NEWEST);
      while ((group = next_group_or_fail (read)) != NULL)
        {
          for (guint32 k = 0; k < group->prim_count; k++)
            g_assert_cmpfloat (((const float *) group_row (group, k))[0], ==, ((const float *) group_row (group, k))[3]);
          ovs_read_group_unref (group);
        }
      ovs_op_unref (read);
    }
  for (guint i = 0; i < 2; i++)
    g_thread_join (threads[i]);
  delete_or_fail (&scene, all, NO_TOKENS, ordinal + 100);
  seal_or_fail (&scene, ordinal + 100);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->n_head_live + column_of (&scene, scene.b, 0)->n_head_live, ==, 0);
  for (gsize i = 0; i < scene.stage->n_live; i++)
    g_assert_cmpuint (scene.stage->live[i], ==, 0);

  ovs_op_unref (all);
  scene_clear (&scene);
}

/* --- rows that stay behind --- */

/* Fills a column with @n prims beside those of the scene, and takes them away again. */
static void
come_and_go (Scene *scene, guint first, guint n, guint64 ordinal)
{
  g_autofree char *text = g_strdup_printf ("%u-%u", first, first + n - 1);
  OvsOp *some = query_or_fail (scene, text);

  write_or_fail (scene, some, scene->a, ordinal, payload_fill (float32, n, 99));
  seal_or_fail (scene, ordinal);
  delete_or_fail (scene, some, NO_TOKENS, ordinal + 1);
  seal_or_fail (scene, ordinal + 1);
  ovs_op_unref (some);
}

static void
test_compact (void)
{
  Scene scene;
  OvsLayout *layout;
  guint64 before;

  scene_init_plain (&scene, 4);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  before = generation (&scene, scene.query, scene.a, 1);
  layout = column_of (&scene, scene.a, 0)->layout;
  come_and_go (&scene, 10, 200, 2);
  g_assert_true (column_of (&scene, scene.a, 0)->layout != layout);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->layout->n, ==, 4);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->n_head_rows, ==, 4);
  assert_values (&scene, scene.query, scene.a, 3, "1 2 3 4");
  g_assert_cmpuint (group_ordinal (&scene, scene.query, scene.a, 3), ==, 1);
  /* Two changes: they came and they went. A new layout is none. */
  g_assert_cmpuint (generation (&scene, scene.query, scene.a, 3), ==, before + 2);

  /* The column goes on as ever. */
  write_text (&scene, scene.query, scene.a, 4, "5 6 7 8");
  seal_or_fail (&scene, 4);
  g_assert_cmpuint (generation (&scene, scene.query, scene.a, 4), ==, before + 2);
  assert_values (&scene, scene.query, scene.a, 4, "5 6 7 8");
  scene_clear (&scene);
}

static void
test_compact_to_nothing (void)
{
  Scene scene;

  scene_init_plain (&scene, 2);
  come_and_go (&scene, 0, 200, 1);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->layout->n, ==, 0);
  assert_values (&scene, scene.query, scene.a, 2, "- -");
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "1 2");
  scene_clear (&scene);
}

/* Rows of the list stay, others move: values, changes told apart, and rows written next. */
static void
test_compact_moves_rows (void)
{
  Scene scene;
  OvsOp *zero, *late, *both;

  scene_init_depth (&scene, 4, 4);
  ovs_debug_set_flags (0);
  zero = query_or_fail (&scene, "0");
  late = query_or_fail (&scene, "500 501");
  both = query_or_fail (&scene, "501 0 3");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  come_and_go (&scene, 10, 40, 2);
  write_text (&scene, late, scene.a, 4, "5 6");
  seal_or_fail (&scene, 4);
  write_text (&scene, zero, scene.a, 5, "7");
  seal_or_fail (&scene, 5);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->layout->n, ==, 46);
  come_and_go (&scene, 60, 40, 6);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->layout->n, ==, 6);

  assert_values (&scene, both, scene.a, 7, "6 7 4");
  g_assert_cmpuint (group_ordinal (&scene, late, scene.a, 7), ==, 4);
  g_assert_cmpuint (group_ordinal (&scene, zero, scene.a, 7), ==, 5);
  g_assert_cmpuint (group_ordinal (&scene, scene.query, scene.a, 7), ==, 5);
  /* Older versions keep the rows that they had. */
  assert_values (&scene, both, scene.a, 4, "6 1 4");
  assert_values (&scene, both, scene.a, 6, "6 7 4");
  g_assert_cmpuint (group_ordinal (&scene, zero, scene.a, 4), ==, 1);
  g_assert_cmpuint (group_ordinal (&scene, late, scene.a, 6), ==, 4);

  write_text (&scene, both, scene.a, 8, "8 9 10");
  seal_or_fail (&scene, 8);
  assert_values (&scene, scene.query, scene.a, 8, "9 2 3 10");
  assert_values (&scene, late, scene.a, 8, "5 8");
  g_assert_cmpuint (group_ordinal (&scene, late, scene.a, 8), ==, 8);
  assert_values (&scene, both, scene.a, 7, "6 7 4");

  ovs_op_unref (zero);
  ovs_op_unref (late);
  ovs_op_unref (both);
  scene_clear (&scene);
}

static void
test_compact_under_held_groups (void)
{
  Scene scene;
  OvsOp *late, *read;
  OvstageReadGroup *group;

  scene_init_plain (&scene, 2);
  late = query_or_fail (&scene, "500");
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  come_and_go (&scene, 10, 60, 2);
  write_text (&scene, late, scene.a, 4, "3");
  seal_or_fail (&scene, 4);
  group = only_group_or_fail (&scene, late, scene.a, 4);
  read = read_or_fail (&scene, late, TOKENS (scene.a), 4);
  come_and_go (&scene, 100, 60, 5);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->layout->n, ==, 3);
  write_text (&scene, late, scene.a, 7, "4");
  seal_or_fail (&scene, 7);
  g_assert_cmpfloat (*(const float *) group_row (group, 0), ==, 3);
  assert_read (read, "3");
  assert_values (&scene, late, scene.a, 7, "4");
  ovs_read_group_unref (group);
  ovs_op_unref (late);
  scene_clear (&scene);
}

/* Staged writes name rows. */
static void
test_compact_waits_for_writes (void)
{
  Scene scene;
  OvsOp *some;
  OvsColumn *column;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "10-209");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_or_fail (&scene, some, scene.a, 1, payload_fill (float32, 200, 99));
  seal_or_fail (&scene, 1);
  column = column_of (&scene, scene.a, 0);
  delete_or_fail (&scene, some, NO_TOKENS, 2);
  write_text (&scene, scene.query, scene.a, 3, "5 6 7 8");
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (column->n_head_rows, ==, 204);
  delete_or_fail (&scene, scene.query, TOKENS (scene.b), 3);
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (column->n_head_rows, ==, 4);
  assert_values (&scene, scene.query, scene.a, 3, "5 6 7 8");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* A write that is booked while the fold runs names rows too. */
static void
test_compact_yields_to_a_write (void)
{
  Scene scene;
  OvsOp *some, *late, *seal, *write;
  OvsColumn *column;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "10-209");
  late = query_or_fail (&scene, "500");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_or_fail (&scene, some, scene.a, 1, payload_fill (float32, 200, 99));
  write_text (&scene, late, scene.a, 1, "5");
  seal_or_fail (&scene, 1);
  column = column_of (&scene, scene.a, 0);
  delete_or_fail (&scene, some, NO_TOKENS, 2);

  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  seal = advance (&scene, 2);
  g_assert_false (ovs_op_is_done (seal));
  write = write_payload (&scene, late, scene.a, 3, payload_text ("6"));
  scene_resume (&scene);
  assert_ok (seal);
  assert_ok (write);
  g_assert_cmpuint (column->n_head_rows, ==, 205);
  assert_values (&scene, late, scene.a, 2, "5");
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (column->n_head_rows, ==, 5);
  assert_values (&scene, scene.query, scene.a, 3, "1 2 3 4");
  assert_values (&scene, late, scene.a, 3, "6");

  ovs_op_unref (some);
  ovs_op_unref (late);
  scene_clear (&scene);
}

/* Deletes name prims: they need not be waited for, and the head knows of them afterwards. */
static void
test_compact_below_a_delete (void)
{
  Scene scene;
  OvsOp *some, *one;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "10-209");
  one = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_or_fail (&scene, some, scene.a, 1, payload_fill (float32, 200, 99));
  seal_or_fail (&scene, 1);
  delete_or_fail (&scene, some, TOKENS (scene.a), 2);
  delete_or_fail (&scene, one, TOKENS (scene.a), 5);
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->n_head_rows, ==, 4);
  g_assert_cmpuint (column_of (&scene, scene.a, 0)->n_head_live, ==, 3);
  assert_ok (write_mode (&scene, one, scene.b, 6, payload_text ("1"), OVSTAGE_PRIM_MODE_INSERT));
  assert_values (&scene, scene.query, scene.a, 2, "1 2 3 4");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "1 - 3 4");
  ovs_op_unref (some);
  ovs_op_unref (one);
  scene_clear (&scene);
}

typedef struct
{
  OvsPoolStats pool;
  guint32 n_rows;
  guint n_deltas, n_deaths, n_dirty, n_layouts, n_deletes, n_log;
  gsize bindings;
} Sizes;

static void
measure (Scene *scene, Sizes *sizes)
{
  OvsStage *stage = scene->stage;
  const OvsColumn *column = column_of (scene, scene->a, 0);

  ovs_mutex_lock (&stage->lock);
  ovs_pool_get_stats (stage->pool, &sizes->pool);
  sizes->n_rows = column->layout->n;
  sizes->n_deltas = column->changes.n;
  sizes->n_deaths = column->attr->deaths.n;
  sizes->n_dirty = stage->dirty->len;
  sizes->n_layouts = g_hash_table_size (stage->layouts);
  sizes->n_deletes = stage->prim_deletes->len + column->attr->deletes->len;
  sizes->n_log = stage->structure_log->len;
  sizes->bindings = ovs_binding_table_get_size (stage->bindings);
  ovs_mutex_unlock (&stage->lock);
}

/* Fresh prims come and go for ever, beside some that stay. */
static void
test_spawn_and_despawn (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096, .n_threads = 2, .change_budget = 16384 };
  Scene scene;
  Sizes middle, end;
  guint32 most = 0;

  scene_init_full (&scene, 10, &config);
  ovs_debug_set_flags (0);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, 10, 7));
  seal_or_fail (&scene, 1);
  for (guint64 frame = 2; frame <= 10001; frame++)
    {
      guint prims[] = { (guint) frame + 10, (guint) frame + 9 };
      OvsOp *spawned = query_prims_or_fail (scene.stage, &prims[0], 1);
      OvsOp *despawned = query_prims_or_fail (scene.stage, &prims[1], 1);

      write_or_fail (&scene, spawned, scene.a, frame, payload_fill (float32x3, 1, 9));
      if (frame % 2 == 0)
        delete_or_fail (&scene, despawned, NO_TOKENS, frame);
      else
        delete_or_fail (&scene, despawned, TOKENS (scene.a), frame);
      seal_or_fail (&scene, frame);
      most = MAX (most, column_of (&scene, scene.a, 0)->layout->n);
      if (frame % 500 == 0)
        assert_filled (&scene, scene.query, scene.a, frame, 7);
      ovs_op_unref (spawned);
      ovs_op_unref (despawned);
      if (frame == 5001)
        measure (&scene, &middle);
    }
  measure (&scene, &end);
  g_assert_cmpuint (most, <=, 128);
  g_assert_cmpuint (end.n_rows, <=, 128);
  g_assert_cmpuint (end.pool.live, <=, middle.pool.live + 65536);
  g_assert_cmpuint (end.pool.n_mapped, ==, middle.pool.n_mapped);
  g_assert_cmpuint (end.n_deltas, <=, middle.n_deltas + 1);
  g_assert_cmpuint (end.n_deaths, <=, middle.n_deaths + 1);
  g_assert_cmpuint (end.bindings, <=, middle.bindings + 65536);
  g_assert_cmpuint (end.n_layouts, <=, middle.n_layouts);
  g_assert_cmpuint (end.n_dirty + end.n_deletes + end.n_log, ==, 0);
  scene_clear (&scene);
}

/* Names of prims are tokens, as those of attributes are: only attributes count. */
static void
test_many_tokens (void)
{
  Scene scene;
  guint64 late;
  char name[16];

  scene_init (&scene, 2);
  for (guint i = 0; i < 1000; i++)
    {
      g_snprintf (name, sizeof name, "t%u", i);
      late = token_or_fail (scene.stage, name);
    }
  write_text (&scene, scene.query, late, 1, "1 2");
  write_text (&scene, scene.query, scene.a, 1, "3 4");
  g_assert_cmpuint (scene.stage->known->len, ==, 2);
  g_assert_true (scene.stage->known->pdata[0] == ovs_stage_get_attr (scene.stage, (guint32) scene.a));
  g_assert_true (scene.stage->known->pdata[1] == ovs_stage_get_attr (scene.stage, (guint32) late));
  assert_ok (ovs_stage_delete (scene.stage, scene.query, NO_TOKENS, 2));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, late, 2, "- -");
  assert_values (&scene, scene.query, scene.a, 2, "- -");
  scene_clear (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine/delete/attribute", test_attribute);
  g_test_add_func ("/engine/delete/several-attributes", test_several_attributes);
  g_test_add_func ("/engine/delete/prims", test_prims);
  g_test_add_func ("/engine/delete/order-in-one-ordinal", test_order_in_one_ordinal);
  g_test_add_func ("/engine/delete/order-in-the-log", test_order_in_the_log);
  g_test_add_func ("/engine/delete/what-is-above-stays", test_what_is_above_stays);
  g_test_add_func ("/engine/delete/small-writes-around", test_small_writes_around);
  g_test_add_data_func ("/engine/delete/above-of-sealed-stays/attribute", NULL, test_above_of_sealed_stays);
  g_test_add_data_func ("/engine/delete/above-of-sealed-stays/prims", "whole", test_above_of_sealed_stays);
  g_test_add_data_func ("/engine/delete/above-is-the-head/attribute", NULL, test_above_is_the_head);
  g_test_add_data_func ("/engine/delete/above-is-the-head/prims", "whole", test_above_is_the_head);
  g_test_add_func ("/engine/delete/absent", test_absent);
  g_test_add_func ("/engine/delete/absent-is-no-change", test_absent_is_no_change);
  g_test_add_func ("/engine/delete/attribute-that-comes-later", test_attribute_that_comes_later);
  g_test_add_func ("/engine/delete/attribute-sealed-below", test_attribute_sealed_below);
  g_test_add_func ("/engine/delete/half-due", test_half_due);
  g_test_add_func ("/engine/delete/sealed-history-stays", test_sealed_history_stays);
  g_test_add_func ("/engine/delete/closing-history-stays", test_closing_history_stays);
  g_test_add_func ("/engine/delete/history-stays-without-the-advance", test_history_stays_without_the_advance);
  g_test_add_func ("/engine/delete/arguments", test_arguments);
  g_test_add_func ("/engine/delete/empty-query", test_empty_query);
  g_test_add_func ("/engine/delete/floors", test_floors);
  g_test_add_func ("/engine/delete/floors-of-what-lives", test_floors_of_what_lives);
  g_test_add_func ("/engine/delete/after-an-advance", test_after_an_advance);
  g_test_add_func ("/engine/delete/other-schema", test_other_schema);
  g_test_add_func ("/engine/delete/other-schema-of-one-prim", test_other_schema_of_one_prim);
  g_test_add_func ("/engine/delete/prim-modes", test_prim_modes);
  g_test_add_func ("/engine/delete/prim-modes-behind-a-scoped-seal", test_prim_modes_behind_a_scoped_seal);
  g_test_add_func ("/engine/delete/checks-are-not-run-again", test_checks_are_not_run_again);
  g_test_add_func ("/engine/delete/unsealed-named", test_unsealed_named);
  g_test_add_func ("/engine/delete/unsealed-prims", test_unsealed_prims);
  g_test_add_func ("/engine/delete/as-of", test_as_of);
  g_test_add_func ("/engine/delete/depth-one", test_depth_one);
  g_test_add_func ("/engine/delete/depth-four", test_depth_four);
  g_test_add_func ("/engine/delete/generation", test_generation);
  g_test_add_func ("/engine/delete/group-ordinal", test_group_ordinal);
  g_test_add_func ("/engine/delete/held-groups", test_held_groups);
  g_test_add_func ("/engine/delete/moves-no-bytes", test_moves_no_bytes);
  g_test_add_func ("/engine/delete/in-flight", test_in_flight);
  g_test_add_func ("/engine/delete/in-flight-above", test_in_flight_above);
  g_test_add_func ("/engine/delete/out-of-memory", test_out_of_memory);
  g_test_add_func ("/engine/delete/threads", test_threads);
  g_test_add_func ("/engine/compact/rows", test_compact);
  g_test_add_func ("/engine/compact/to-nothing", test_compact_to_nothing);
  g_test_add_func ("/engine/compact/moves-rows", test_compact_moves_rows);
  g_test_add_func ("/engine/compact/under-held-groups", test_compact_under_held_groups);
  g_test_add_func ("/engine/compact/waits-for-writes", test_compact_waits_for_writes);
  g_test_add_func ("/engine/compact/yields-to-a-write", test_compact_yields_to_a_write);
  g_test_add_func ("/engine/compact/below-a-delete", test_compact_below_a_delete);
  g_test_add_func ("/engine/compact/spawn-and-despawn", test_spawn_and_despawn);
  g_test_add_func ("/engine/delete/many-tokens", test_many_tokens);
  return g_test_run ();
}
