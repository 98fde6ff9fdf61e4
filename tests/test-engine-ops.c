/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "engine-helpers.h"

static void
assert_pending (OvsOp *op)
{
  g_assert_false (ovs_op_is_done (op));
  g_assert_null (ovs_op_get_error (op));
}

/* Takes @op. */
static void
assert_cancelled (OvsOp *op)
{
  g_assert_true (ovs_op_is_withdrawn (op));
  assert_failed (op, OVSTAGE_ERROR_OP_FAILED, "cancelled");
}

static OvsOp *
fill (Scene *scene, guint64 attribute, guint64 ordinal, double value)
{
  return write_payload (scene, scene->query, attribute, ordinal, payload_fill (float32, scene->n, value));
}

static OvsOp *
advance_scope (Scene *scene, guint64 ordinal, OvstageScope scope, const guint64 *attributes, gsize n)
{
  return ovs_stage_advance (scene->stage, ordinal, scope, attributes, n);
}

/* --- ordinals and floors --- */

static void
test_floor_rises (void)
{
  Scene scene;

  scene_init (&scene, 2);
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  seal_or_fail (&scene, 5);
  seal_or_fail (&scene, 3);
  seal_or_fail (&scene, 0);
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 5);
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.a), ==, 5);
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, G_MAXUINT64), ==, 5);
  scene_clear (&scene);
}

/* What the scope does not cover stays staged. */
static void
test_include (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.a, 3, 1));
  assert_ok (fill (&scene, scene.b, 3, 2));
  assert_ok (fill (&scene, scene.a, 5, 3));
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.a), ==, 4);
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.a + (G_GUINT64_CONSTANT (1) << 32)), ==, 0); /* no token */
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.b), ==, 0);
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  assert_values (&scene, scene.query, scene.a, 4, "1 1");
  assert_values (&scene, scene.query, scene.b, 3, "WRITE_FLOOR_VIOLATION");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "3 3");
  assert_values (&scene, scene.query, scene.b, 5, "2 2");
  scene_clear (&scene);
}

static void
test_exclude (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.a, 3, 1));
  assert_ok (fill (&scene, scene.b, 3, 2));
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.a));
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.a), ==, 0);
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.b), ==, 4);
  assert_values (&scene, scene.query, scene.b, 4, "2 2");
  assert_ok (fill (&scene, scene.a, 2, 7));
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_EXCLUDE, NULL, 0); /* the same as ALL */
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 4);
  assert_values (&scene, scene.query, scene.a, 4, "1 1");
  scene_clear (&scene);
}

/* An attribute that comes later has the default floor, or the one its name was given. */
static void
test_attributes_to_come (void)
{
  Scene scene;
  guint64 late;

  scene_init (&scene, 2);
  late = token_or_fail (scene.stage, "late");
  seal_scope_or_fail (&scene, 10, OVSTAGE_SCOPE_EXCLUDE, TOKENS (late));
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  assert_refused (&scene, fill (&scene, scene.a, 10, 1), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a', 10");
  assert_ok (fill (&scene, late, 1, 2));
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  seal_or_fail (&scene, 10);
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 10);
  assert_values (&scene, scene.query, late, 10, "2 2");
  scene_clear (&scene);
}

static void
test_scope_without_names (void)
{
  Scene scene;
  g_autofree char *before = NULL, *after = NULL;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.a, 1, 1));
  before = dump_state (scene.stage);
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_INCLUDE, NULL, 0);
  after = dump_state (scene.stage);
  g_assert_cmpstr (before, ==, after);
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_ALL, TOKENS (scene.b)); /* ALL ignores names */
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 4);
  scene_clear (&scene);
}

static void
test_advance_faults (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.a, 1, 1));
  assert_refused (&scene, advance_scope (&scene, 1, (OvstageScope) 3, NULL, 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "scope is 3",
                  "expected 0");
  assert_refused (&scene, advance_scope (&scene, 1, OVSTAGE_SCOPE_INCLUDE, NULL, 2), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "attributes is NULL", "2 tokens");
  assert_refused (&scene, advance_scope (&scene, 1, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.a, 0)), OVSTAGE_ERROR_INVALID_HANDLE,
                  "attributes[1]", "token 0");
  assert_refused (&scene, advance_scope (&scene, 1, OVSTAGE_SCOPE_INCLUDE, TOKENS (4711)), OVSTAGE_ERROR_INVALID_HANDLE,
                  "attributes[0]", "4711");
  assert_refused (&scene, advance (&scene, OVSTAGE_ORDINAL_NEWEST), OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal",
                  "OVSTAGE_ORDINAL_NEWEST");
  ovs_stage_close (scene.stage);
  assert_refused (&scene, advance (&scene, 1), OVSTAGE_ERROR_INVALID_HANDLE, "closed");
  scene_clear (&scene);
}

/* Rule 3: later submission wins within an ordinal, the higher ordinal across them; in every order of submission. */
static void
test_who_wins (void)
{
  static const guint64 orders[6][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };

  for (guint i = 0; i < 6; i++)
    {
      Scene scene;
      OvsOp *some;

      scene_init_depth (&scene, 3, 4);
      some = query_or_fail (&scene, "2 1");
      for (guint j = 0; j < 3; j++)
        {
          guint64 ordinal = orders[i][j];

          /* 2 is partial. */
          if (ordinal == 2)
            write_text (&scene, some, scene.a, 2, "20 21");
          else
            assert_ok (fill (&scene, scene.a, ordinal, (double) ordinal));
        }
      assert_ok (fill (&scene, scene.a, 1, 1.5));
      seal_or_fail (&scene, 3);
      assert_values (&scene, scene.query, scene.a, 1, "1.5 1.5 1.5");
      assert_values (&scene, scene.query, scene.a, 2, "1.5 21 20");
      assert_values (&scene, scene.query, scene.a, 3, "3 3 3");
      ovs_op_unref (some);
      scene_clear (&scene);
    }
}

/* Whether a write covers the column is found when it is sealed (ENGINE 6). */
static void
test_cover_is_decided_late (void)
{
  Scene scene;
  OvsOp *first, *others;

  scene_init (&scene, 6);
  first = query_or_fail (&scene, "0-3");
  others = query_or_fail (&scene, "5 4");
  write_text (&scene, first, scene.a, 1, "1 1 1 1");
  seal_or_fail (&scene, 1);
  write_text (&scene, first, scene.a, 3, "3 3 3 3");
  write_text (&scene, others, scene.a, 2, "2 2");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "3 3 3 3 2 2");
  ovs_op_unref (first);
  ovs_op_unref (others);
  scene_clear (&scene);
}

/* The same in a column that nothing of is sealed. */
static void
test_cover_of_new_column (void)
{
  Scene scene;
  OvsOp *first, *others;

  scene_init_depth (&scene, 6, 4);
  first = query_or_fail (&scene, "0-3");
  others = query_or_fail (&scene, "5 2 4");
  write_text (&scene, first, scene.a, 3, "3 3 3 3");
  write_text (&scene, others, scene.a, 2, "2 2 2");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 2, "- - 2 - 2 2");
  assert_values (&scene, scene.query, scene.a, 3, "3 3 3 3 2 2");
  ovs_op_unref (first);
  ovs_op_unref (others);
  scene_clear (&scene);
}

/* Columns that begin alike share a layout until they go on differently (ENGINE 25). */
static void
test_shared_layout (void)
{
  Scene scene;
  OvsOp *first, *one, *other;
  OvsAttr *a, *b;

  scene_init_plain (&scene, 6);
  first = query_or_fail (&scene, "0-3");
  one = query_or_fail (&scene, "4");
  other = query_or_fail (&scene, "5");
  write_text (&scene, first, scene.a, 1, "1 2 3 4");
  write_text (&scene, first, scene.b, 1, "5 6 7 8");
  a = ovs_stage_get_attr (scene.stage, (guint32) scene.a);
  b = ovs_stage_get_attr (scene.stage, (guint32) scene.b);
  g_assert_true (((OvsColumn *) a->columns->pdata[0])->layout == ((OvsColumn *) b->columns->pdata[0])->layout);
  write_text (&scene, one, scene.a, 2, "9");
  write_text (&scene, other, scene.b, 2, "8");
  write_text (&scene, one, scene.b, 3, "7");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "1 2 3 4 9 -");
  assert_values (&scene, scene.query, scene.b, 3, "5 6 7 8 7 8");
  ovs_op_unref (first);
  ovs_op_unref (one);
  ovs_op_unref (other);
  scene_clear (&scene);
}

/* --- pins and emissions (ENGINE 3) --- */

typedef struct
{
  gint wanted; /* (atomic) */
  gint n_risen;
  gint n_destroyed;
} Emission;

static gboolean
emission_wanted_cb (gpointer user_data)
{
  return g_atomic_int_get (&((Emission *) user_data)->wanted);
}

static void
emission_risen_cb (gpointer user_data)
{
  g_atomic_int_inc (&((Emission *) user_data)->n_risen);
}

static void
emission_destroy_cb (gpointer user_data)
{
  ((Emission *) user_data)->n_destroyed++;
}

/* What a handler was told of stays readable until it has returned, however fast the producer is. */
static void
test_pins (void)
{
  Emission emission = { TRUE, 0, 0 };
  Scene scene;
  OvsOp *some;

  scene_init_plain (&scene, 4);
  some = query_or_fail (&scene, "3 1");
  ovs_stage_set_floor_funcs (scene.stage, emission_wanted_cb, emission_risen_cb, &emission, NULL);
  assert_ok (fill (&scene, scene.a, 7, 7));
  seal_or_fail (&scene, 7);
  g_assert_cmpint (emission.n_risen, ==, 1);
  write_text (&scene, some, scene.a, 8, "8 8");
  seal_scope_or_fail (&scene, 8, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a)); /* the global floor does not rise */
  g_assert_cmpint (emission.n_risen, ==, 1);
  assert_values (&scene, scene.query, scene.a, 7, "7 7 7 7"); /* due */
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 7);
  write_text (&scene, some, scene.a, 9, "9 9");
  seal_or_fail (&scene, 9);
  assert_values (&scene, scene.query, scene.a, 7, "7 7 7 7"); /* running */
  assert_values (&scene, scene.query, scene.a, 9, "7 9 7 9");
  assert_values (&scene, scene.query, scene.a, 8, "OUT_OF_RANGE");
  ovs_stage_end_emission (scene.stage);
  write_text (&scene, some, scene.a, 10, "10 10");
  seal_or_fail (&scene, 10);
  assert_values (&scene, scene.query, scene.a, 7, "OUT_OF_RANGE");
  /* 9 and 10 were folded into one. */
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 10);
  ovs_stage_end_emission (scene.stage);
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 0);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Between two versions that are kept, a third is not (ENGINE 4). */
static void
test_pin_within_one_advance (void)
{
  Emission emission = { TRUE, 0, 0 };
  Scene scene;

  scene_init (&scene, 1);
  ovs_stage_set_floor_funcs (scene.stage, emission_wanted_cb, emission_risen_cb, &emission, NULL);
  assert_ok (fill (&scene, scene.a, 3, 3));
  seal_or_fail (&scene, 4);
  for (guint64 ordinal = 5; ordinal <= 9; ordinal++)
    assert_ok (fill (&scene, scene.a, ordinal, (double) ordinal));
  seal_scope_or_fail (&scene, 9, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_values (&scene, scene.query, scene.a, 4, "3");
  assert_values (&scene, scene.query, scene.a, 3, "3");
  for (guint64 ordinal = 5; ordinal <= 8; ordinal++)
    assert_values (&scene, scene.query, scene.a, ordinal, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.a, 9, "9");
  g_assert_cmpuint (ovs_stage_get_value_frontier (scene.stage), ==, 9);
  scene_clear (&scene);
}

/* `sealed' is for the global floor, when it rises, and when somebody listens. */
static void
test_emissions (void)
{
  Emission emission = { FALSE, 0, 0 };
  Scene scene;

  scene_init_plain (&scene, 2);
  ovs_stage_set_floor_funcs (scene.stage, emission_wanted_cb, emission_risen_cb, &emission, emission_destroy_cb);
  seal_or_fail (&scene, 1);
  g_assert_cmpint (emission.n_risen, ==, 0);
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 0);
  emission.wanted = TRUE;
  seal_or_fail (&scene, 1);
  seal_scope_or_fail (&scene, 6, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  g_assert_cmpint (emission.n_risen, ==, 0);
  seal_scope_or_fail (&scene, 4, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.b));
  g_assert_cmpint (emission.n_risen, ==, 0); /* b holds it */
  seal_scope_or_fail (&scene, 3, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  g_assert_cmpint (emission.n_risen, ==, 1);
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 3);
  ovs_stage_end_emission (scene.stage);
  seal_or_fail (&scene, 5);
  g_assert_cmpint (emission.n_risen, ==, 2);
  g_assert_cmpuint (ovs_stage_begin_emission (scene.stage), ==, 5);
  ovs_stage_end_emission (scene.stage);
  scene_clear (&scene);
  g_assert_cmpint (emission.n_destroyed, ==, 1);
}

/* --- order of operations --- */

/* An advance waits for the writes that it is about, and for no others (rule 2). */
static void
test_advance_waits (void)
{
  Scene scene;
  OvsOp *write, *above, *other, *seal;

  scene_init_paused (&scene, 4);
  write = fill (&scene, scene.a, 5, 5);
  above = fill (&scene, scene.a, 6, 6);
  other = fill (&scene, scene.b, 5, 5);
  ovs_debug_set_flags (0);
  seal = advance_scope (&scene, 4, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_ok (seal); /* nothing at or below 4 */
  seal = advance_scope (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_pending (seal);
  assert_ok (advance_scope (&scene, 9, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.a, scene.b)));
  g_assert_cmpuint (ovs_op_get_lowest_pending (seal), ==, ovs_op_get_id (write));
  assert_pending (above);
  scene_resume (&scene);
  assert_ok (seal);
  assert_ok (write);
  assert_ok (above);
  assert_ok (other);
  assert_values (&scene, scene.query, scene.a, 5, "5 5 5 5");
  scene_clear (&scene);
}

/* Rule 6: acceptance is decided by what was submitted, reads by what is published. */
static void
test_closing (void)
{
  Scene scene;
  OvsOp *write, *seal;

  scene_init_paused (&scene, 4);
  write = fill (&scene, scene.a, 3, 3);
  seal = advance (&scene, 5);
  assert_pending (seal);
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.a), ==, 0);
  assert_refused (&scene, fill (&scene, scene.a, 4, 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "ordinal is 4", "'a', 5");
  assert_refused (&scene, fill (&scene, scene.b, 5, 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b', 5");
  scene_resume (&scene);
  assert_ok (seal);
  assert_ok (write);
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 5);
  scene_clear (&scene);
}

/* Submitted one after another without a wait: exact (ENGINE 20). */
static void
test_pipeline (void)
{
  Scene scene;
  OvsOp *some, *ops[64], *reads[8];
  guint n = 0;

  scene_init_paused (&scene, 3);
  some = query_or_fail (&scene, "1");
  for (guint i = 0; i < 8; i++)
    {
      guint64 ordinal = i + 1;

      ops[n++] = i % 3 == 0 ? fill (&scene, scene.a, ordinal, (double) ordinal)
                            : write_payload (&scene, some, scene.a, ordinal, payload_fill (float32, 1, (double) ordinal));
      ops[n++] = advance (&scene, ordinal);
      reads[i] = read_at (&scene, scene.query, &scene.a, 1, i % 2 == 0 ? ordinal : OVSTAGE_ORDINAL_NEWEST);
      assert_pending (reads[i]);
    }
  scene_resume (&scene);
  assert_read (reads[0], "1 1 1");
  assert_read (reads[1], "1 2 1");
  assert_read (reads[2], "1 3 1");
  assert_read (reads[3], "4 4 4");
  assert_read (reads[4], "4 5 4");
  assert_read (reads[5], "4 6 4");
  assert_read (reads[6], "7 7 7");
  assert_read (reads[7], "7 8 7");
  for (guint i = 0; i < n; i++)
    assert_ok (ops[i]);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* A read behind an advance that is about other attributes does not wait. */
static void
test_read_passes (void)
{
  Scene scene;
  OvsOp *write, *seal;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.b, 1, 1));
  seal_or_fail (&scene, 1);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.a, 2, 2);
  seal = advance_scope (&scene, 2, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_pending (seal);
  assert_values (&scene, scene.query, scene.b, 5, "1 1");
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (seal);
  scene_clear (&scene);
}

/* Nor does an advance wait for a read that is about others. */
static void
test_advance_passes (void)
{
  Scene scene;
  OvsOp *write, *seal, *read;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 2, 2);
  seal = advance_scope (&scene, 2, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  read = read_at (&scene, scene.query, &scene.a, 1, 2);
  ovs_debug_set_flags (0);
  assert_ok (advance_scope (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b)));
  assert_ok (advance_scope (&scene, 5, OVSTAGE_SCOPE_EXCLUDE, TOKENS (scene.a)));
  assert_pending (read);
  scene_resume (&scene);
  assert_read (read, "2 2");
  assert_ok (write);
  assert_ok (seal);
  scene_clear (&scene);
}

/* A fold that runs outside the lock: reads of its attributes wait, writes above it go on. */
static void
test_write_during_fold (void)
{
  Scene scene;
  OvsOp *some, *seal, *read, *write, *grow, *next;

  scene_init (&scene, 3);
  some = query_or_fail (&scene, "1");
  assert_ok (fill (&scene, scene.a, 1, 1));
  seal_or_fail (&scene, 1);
  write_text (&scene, some, scene.a, 2, "2");
  ovs_workers_pause (scene.stage->workers);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  seal = advance (&scene, 2);
  assert_pending (seal);
  g_assert_false (ovs_op_cancel (seal)); /* it has begun */
  ovs_debug_set_flags (0);
  read = read_at (&scene, scene.query, &scene.a, 1, 2);
  assert_pending (read);
  write = fill (&scene, scene.a, 3, 3);
  g_assert_true (ovs_op_is_done (write));
  ovs_op_unref (some);
  some = query_or_fail (&scene, "8 9");
  grow = write_payload (&scene, some, scene.a, 3, payload_text ("8 9"));
  g_assert_true (ovs_op_is_done (grow));
  next = advance (&scene, 3);
  assert_pending (next);
  scene_resume (&scene);
  assert_ok (seal);
  assert_read (read, "1 2 1");
  assert_ok (write);
  assert_ok (grow);
  assert_ok (next);
  assert_values (&scene, scene.query, scene.a, 3, "3 3 3");
  assert_values (&scene, some, scene.a, 3, "8 9");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* A submitted read keeps what it is about (ENGINE 3), whatever is submitted after it. */
static void
test_pending_read_keeps (void)
{
  Scene scene;
  OvsOp *write, *first, *read, *later, *second;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 1, 1);
  first = advance (&scene, 1);
  read = read_at (&scene, scene.query, &scene.a, 1, 1);
  later = fill (&scene, scene.a, 2, 2);
  second = advance (&scene, 2);
  assert_pending (read);
  scene_resume (&scene);
  assert_ok (second);
  assert_read (read, "1 1");
  assert_ok (write);
  assert_ok (first);
  assert_ok (later);
  scene_clear (&scene);
}

/* Also while it waits for another of its attributes only. */
static void
test_pending_read_keeps_other (void)
{
  Scene scene;
  OvsOp *write, *first, *read, *newest, *second;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.a, 1, 1));
  seal_scope_or_fail (&scene, 1, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.b, 1, 5);
  first = advance_scope (&scene, 1, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  read = read_at (&scene, scene.query, TOKENS (scene.a, scene.b), 1);
  newest = read_at (&scene, scene.query, TOKENS (scene.b, scene.a), OVSTAGE_ORDINAL_NEWEST);
  ovs_debug_set_flags (0);
  assert_ok (fill (&scene, scene.a, 2, 2));
  second = advance_scope (&scene, 2, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_pending (second);
  scene_resume (&scene);
  assert_ok (second);
  for (guint i = 0; i < 2; i++)
    {
      OvsOp *op = i == 0 ? read : newest;
      OvstageReadGroup *group;

      assert_ok (ovs_op_ref (op));
      while ((group = next_group_or_fail (op)) != NULL)
        {
          g_assert_cmpfloat (((const float *) group_row (group, 1))[0], ==, group->attribute == scene.a ? 1 : 5);
          ovs_read_group_unref (group);
        }
      ovs_op_unref (op);
    }
  assert_ok (write);
  assert_ok (first);
  scene_clear (&scene);
}

/* --- operations --- */

static void
test_ids (void)
{
  Scene scene;
  OvsOp *first, *refused, *second;

  scene_init (&scene, 2);
  first = fill (&scene, scene.a, 1, 1);
  refused = fill (&scene, scene.a, 0, 1);
  second = advance (&scene, 1);
  g_assert_cmpuint (ovs_op_get_id (scene.query), >, 0);
  g_assert_cmpuint (ovs_op_get_id (first), >, ovs_op_get_id (scene.query));
  g_assert_cmpuint (ovs_op_get_id (refused), ==, 0);
  g_assert_cmpuint (ovs_op_get_id (second), >, ovs_op_get_id (first));
  ovs_op_unref (first);
  ovs_op_unref (refused);
  ovs_op_unref (second);
  scene_clear (&scene);
}

/* Small work is done when the call returns, without a thread. */
static void
test_inline (void)
{
  Scene scene;
  OvsOp *op;

  scene_init_plain (&scene, 100);
  ovs_workers_pause (scene.stage->workers);
  op = fill (&scene, scene.a, 1, 1);
  g_assert_true (ovs_op_is_done (op));
  ovs_op_unref (op);
  op = advance (&scene, 1);
  g_assert_true (ovs_op_is_done (op));
  ovs_op_unref (op);
  op = read_at (&scene, scene.query, &scene.a, 1, 1);
  g_assert_true (ovs_op_is_done (op));
  ovs_op_unref (op);
  scene_clear (&scene);
}

static void
test_wait (void)
{
  Scene scene;
  OvsOp *write, *other;
  gint64 before;

  scene_init_plain (&scene, N_LARGE);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.a, 1, 1);
  assert_pending (write);
  g_assert_cmpint (ovs_op_wait (write, 0, NULL), ==, OVS_WAIT_TIMEOUT);
  before = g_get_monotonic_time ();
  g_assert_cmpint (ovs_op_wait (write, 20 * 1000 * 1000, NULL), ==, OVS_WAIT_TIMEOUT);
  g_assert_cmpint (g_get_monotonic_time () - before, >=, 20 * 1000);
  g_assert_cmpint (ovs_op_wait (write, 1, NULL), ==, OVS_WAIT_TIMEOUT);
  assert_pending (write); /* as it was */

  /* Waiting for one does not wait for the others. */
  other = advance_scope (&scene, 1, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  g_assert_cmpint (ovs_op_wait (other, -1, NULL), ==, OVS_WAIT_DONE);
  ovs_op_unref (other);

  scene_resume (&scene);
  g_assert_cmpint (ovs_op_wait (write, G_MAXINT64, NULL), ==, OVS_WAIT_DONE);
  g_assert_cmpint (ovs_op_wait (write, 0, NULL), ==, OVS_WAIT_DONE);
  assert_ok (write);
  scene_clear (&scene);
}

static gpointer
interrupt_thread (gpointer user_data)
{
  gpointer *data = user_data;

  g_usleep (20000);
  g_atomic_int_set ((gint *) data[1], TRUE);
  ovs_op_wake (data[0]);
  return NULL;
}

static void
never_cb (OvsOp *op, gpointer user_data)
{
  g_assert_not_reached ();
}

/* What is done can be asked when its stage is gone. */
static void
test_outlives_stage (void)
{
  OvsOp *ops[3];
  Scene scene;

  /* Those that were pending keep it. */
  scene_init_plain (&scene, 2);
  ops[0] = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2"));
  ops[1] = advance (&scene, 1);
  ops[2] = read_at (&scene, scene.query, &scene.b, 1, 1);
  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    g_assert_cmpint (ovs_op_wait (ops[i], OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  scene_clear (&scene);

  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    {
      OvsOp *op = ops[i];

      g_assert_true (ovs_op_is_done (op));
      g_assert_null (ovs_op_get_error (op));
      g_assert_cmpint (ovs_op_wait (op, 0, NULL), ==, OVS_WAIT_DONE);
      g_assert_cmpuint (ovs_op_get_lowest_pending (op), ==, 0);
      g_assert_false (ovs_op_cancel (op));
      g_assert_false (ovs_op_add_watch (op, never_cb, NULL));
      g_assert_false (ovs_op_remove_watch (op, never_cb, NULL));
      ovs_op_wake (op);
      ovs_op_unref (op);
    }
}

/* Cancelling a wait ends the wait. */
static void
test_wait_interrupted (void)
{
  Scene scene;
  OvsOp *write;
  gint interrupted = FALSE;
  gpointer data[2];
  GThread *thread;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 1, 1);
  data[0] = write;
  data[1] = &interrupted;
  thread = g_thread_new ("interrupt", interrupt_thread, data);
  g_assert_cmpint (ovs_op_wait (write, -1, &interrupted), ==, OVS_WAIT_INTERRUPTED);
  g_thread_join (thread);
  assert_pending (write);
  scene_resume (&scene);
  assert_ok (write);
  scene_clear (&scene);
}

typedef struct
{
  Scene *scene;
  gint results[2]; /* (atomic) */
} Waiter;

static void
wait_in_deleter (gpointer user_data)
{
  Waiter *waiter = user_data;
  OvsOp *op;

  if (!ovs_workers_is_worker_thread ())
    return;
  ovs_workers_pause (waiter->scene->stage->workers);
  op = fill (waiter->scene, waiter->scene->b, 1, 1); /* it may submit, */
  g_atomic_int_set (&waiter->results[0], 1 + (gint) ovs_op_wait (op, -1, NULL)); /* and not wait */
  g_atomic_int_set (&waiter->results[1], 1 + (gint) ovs_op_wait (op, 0, NULL));
  ovs_op_unref (op);
  ovs_workers_resume (waiter->scene->stage->workers);
}

static void
test_wait_in_worker (void)
{
  Scene scene;
  Waiter waiter = { &scene, { 0, 0 } };
  gint64 shape = N_LARGE;
  g_autofree float *values = g_new0 (float, N_LARGE);
  OvsOp *write;

  scene_init_plain (&scene, N_LARGE);
  ovs_workers_pause (scene.stage->workers); /* until the payload is gone: the thread has the last reference */
  write = write_payload (&scene, scene.query, scene.a, 1, payload_new (float32, 1, &shape, NULL, values, wait_in_deleter, &waiter));
  scene_resume (&scene);
  assert_ok (write);
  while (g_atomic_int_get (&waiter.results[1]) == 0)
    g_usleep (1000);
  ovs_stage_close (scene.stage);
  g_assert_cmpint (waiter.results[0], ==, 1 + OVS_WAIT_REFUSED);
  g_assert_cmpint (waiter.results[1], ==, 1 + OVS_WAIT_TIMEOUT);
  scene_clear (&scene);
}

static void
count_cb (OvsOp *op, gpointer user_data)
{
  g_assert_true (ovs_op_is_done (op));
  g_atomic_int_inc ((gint *) user_data);
}

static void
test_watch (void)
{
  Scene scene;
  OvsOp *write;
  gint kept = 0, removed = 0;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 1, 1);
  g_assert_true (ovs_op_add_watch (write, count_cb, &kept));
  g_assert_true (ovs_op_add_watch (write, count_cb, &removed));
  g_assert_true (ovs_op_remove_watch (write, count_cb, &removed));
  g_assert_false (ovs_op_remove_watch (write, count_cb, &removed));
  g_assert_cmpint (kept, ==, 0);
  scene_resume (&scene);
  ovs_stage_close (scene.stage);
  g_assert_cmpint (g_atomic_int_get (&kept), ==, 1);
  g_assert_cmpint (g_atomic_int_get (&removed), ==, 0);
  g_assert_false (ovs_op_add_watch (write, count_cb, &kept));
  g_assert_false (ovs_op_remove_watch (write, count_cb, &kept));
  assert_ok (write);
  g_assert_cmpint (kept, ==, 1);
  scene_clear (&scene);
}

/* Of the chain that this one waits for, not of everything. */
static void
test_lowest_pending (void)
{
  Scene scene;
  OvsOp *unrelated, *write, *seal, *read, *ops[4];

  scene_init_paused (&scene, 2);
  unrelated = fill (&scene, scene.b, 1, 1);
  write = fill (&scene, scene.a, 1, 1);
  seal = advance_scope (&scene, 1, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  read = read_at (&scene, scene.query, &scene.a, 1, 1);
  g_assert_cmpuint (ovs_op_get_lowest_pending (write), ==, ovs_op_get_id (write));
  g_assert_cmpuint (ovs_op_get_lowest_pending (seal), ==, ovs_op_get_id (write));
  g_assert_cmpuint (ovs_op_get_lowest_pending (read), ==, ovs_op_get_id (write));
  scene_resume (&scene);
  ops[0] = unrelated;
  ops[1] = write;
  ops[2] = seal;
  ops[3] = read;
  for (guint i = 0; i < 4; i++)
    {
      ovs_op_wait (ops[i], -1, NULL);
      g_assert_cmpuint (ovs_op_get_lowest_pending (ops[i]), ==, 0);
      assert_ok (ops[i]);
    }
  scene_clear (&scene);
}

/* An operation keeps its error for its life. */
static void
test_error_lasts (void)
{
  Scene scene;
  OvsOp *op;
  const GError *error;

  scene_init (&scene, 2);
  op = fill (&scene, scene.a, 0, 1);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpint (ovs_op_wait (op, -1, NULL), ==, OVS_WAIT_DONE);
      error = ovs_op_get_error (op);
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    }
  ovs_op_unref (op);
  scene_clear (&scene);
}

/* Rule 4 */
static void
test_close (void)
{
  Scene scene;
  OvsOp *write, *seal, *read, *other;
  OvstageReadGroup *group;

  scene_init (&scene, 2);
  assert_ok (fill (&scene, scene.a, 1, 1));
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.a, 2, 2);
  seal = advance (&scene, 2);
  read = read_at (&scene, scene.query, &scene.a, 1, 2);
  other = advance (&scene, 3);
  ovs_stage_close (scene.stage);
  assert_ok (write);
  assert_cancelled (seal);
  assert_cancelled (read);
  assert_cancelled (other);
  ovs_stage_close (scene.stage);
  g_assert_cmpmem (group_row (group, 0), 8, ((float[]){ 1, 1 }), 8);
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* The last reference may go in a worker thread; nobody waits for itself. */
static void
test_last_reference_in_worker (void)
{
  gint64 shape = N_LARGE;
  g_autofree float *values = g_new0 (float, N_LARGE);
  gint n_destroyed = 0;
  Scene scene;
  OvsOp *write;
  OvsWorkers *workers;

  scene_init_plain (&scene, N_LARGE);
  workers = ovs_workers_ref (scene.stage->workers);
  ovs_workers_pause (workers);
  write = write_payload (&scene, scene.query, scene.a, 1,
                         payload_new (float32, 1, &shape, NULL, values, (GDestroyNotify) g_atomic_int_inc, &n_destroyed));
  ovs_op_unref (write);
  ovs_op_unref (scene.query);
  ovs_stage_unref (scene.stage);
  ovs_workers_resume (workers);
  while (g_atomic_int_get (&n_destroyed) == 0)
    g_usleep (1000);
  ovs_workers_stop (workers);
  ovs_workers_unref (workers);
  ovs_debug_set_flags (scene.flags);
}

static void
drop_stage (gpointer data)
{
  Scene *scene = data;

  g_assert_cmpuint (ovs_stage_get_floor (scene->stage), ==, 2);
  g_clear_pointer (&scene->stage, ovs_stage_unref);
}

/* Or in a deleter, which is called at the end of the call that submits. */
static void
test_last_reference_in_deleter (void)
{
  gint64 shape = 2;
  float values[] = { 1, 2 };
  OvstageTensor *tensor;
  OvstageWriteData *payload;
  Scene scene;
  OvsOp *seal;

  scene_init_plain (&scene, 2);
  tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &shape, NULL, values, 0, drop_stage, &scene);
  payload = ovs_payload_new_take (tensor);
  ovs_tensor_unref (tensor);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32, 2, 3));
  ovs_op_unref (scene.query);
  seal = advance (&scene, 2);
  g_assert_null (scene.stage);
  g_assert_true (ovs_op_is_done (seal));
  ovs_op_unref (seal);
  ovs_debug_set_flags (scene.flags);
}

/* Rule 5 */
static void
test_queue_full (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 1, .n_threads = 2, .caller_limit = 256 * 1024 };
  Scene scene;
  OvsOp *write;

  scene_init_full (&scene, N_LARGE, &config);
  ovs_debug_set_flags (0);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.a, 1, 1);
  assert_pending (write);
  assert_refused (&scene, fill (&scene, scene.a, 2, 2), OVSTAGE_ERROR_QUEUE_FULL, "1 operations", "queue-capacity is 1");
  assert_refused (&scene, advance (&scene, 1), OVSTAGE_ERROR_QUEUE_FULL, "queue-capacity is 1");
  write_or_fail (&scene, scene.query, scene.b, 2, with_count (payload_text ("1 2"), 2)); /* nothing to queue */
  assert_ok (advance_scope (&scene, 2, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b)));
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (fill (&scene, scene.a, 2, 2));
  seal_or_fail (&scene, 2);
  scene_clear (&scene);
}

static void
test_queue_full_read (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 2, .n_threads = 2, .caller_limit = 256 * 1024 };
  Scene scene;
  OvsOp *write, *seal;

  scene_init_full (&scene, 2, &config);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.a, 1, 1);
  seal = advance (&scene, 1);
  assert_refused (&scene, read_at (&scene, scene.query, &scene.a, 1, 1), OVSTAGE_ERROR_QUEUE_FULL, "2 operations",
                  "queue-capacity is 2");
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (seal);
  assert_values (&scene, scene.query, scene.a, 1, "1 1");
  scene_clear (&scene);
}

/* Who asks for a floor waits for the advances that raise it, and for no other. */
static void
test_queue_full_floors (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 3, .n_threads = 2, .caller_limit = 256 * 1024 };
  Scene scene;
  OvsOp *write, *seal, *a, *b;

  scene_init_full (&scene, 2, &config);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = fill (&scene, scene.a, 3, 1);
  seal = advance_scope (&scene, 4, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  b = ovs_stage_query_ordinal (scene.stage, OVS_ORDINAL_ATTRIBUTE_FLOOR, scene.b);
  g_assert_true (ovs_op_is_done (b));
  g_assert_cmpuint (ovs_ordinal_get_value (b), ==, 0);
  a = ovs_stage_query_ordinal (scene.stage, OVS_ORDINAL_ATTRIBUTE_FLOOR, scene.a);
  assert_pending (a);
  g_assert_cmpuint (ovs_ordinal_get_value (a), ==, 0);
  assert_refused (&scene, ovs_stage_query_ordinal (scene.stage, OVS_ORDINAL_ATTRIBUTE_FLOOR, scene.a), OVSTAGE_ERROR_QUEUE_FULL, "3 operations",
                  "queue-capacity is 3");
  assert_refused (&scene, ovs_stage_query_ordinal (scene.stage, OVS_ORDINAL_FLOOR, 0), OVSTAGE_ERROR_QUEUE_FULL, "3 operations");
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (seal);
  g_assert_cmpint (ovs_op_wait (a, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_cmpuint (ovs_ordinal_get_value (a), ==, 4);
  ovs_op_unref (a);
  ovs_op_unref (b);
  scene_clear (&scene);
}

/* --- cancelling (rule 6) --- */

static void
test_cancel_advance (void)
{
  Scene scene;
  OvsOp *write, *first, *second;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 3, 3);
  first = advance (&scene, 5);
  second = advance_scope (&scene, 4, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_refused (&scene, fill (&scene, scene.b, 5, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'b', 5");
  g_assert_true (ovs_op_cancel (first));
  g_assert_false (ovs_op_cancel (first));
  assert_cancelled (first);
  /* What the others will close stays closed. */
  assert_refused (&scene, fill (&scene, scene.a, 4, 5), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "'a', 4");
  ovs_debug_set_flags (0);
  assert_ok (fill (&scene, scene.a, 5, 5));
  assert_ok (fill (&scene, scene.b, 1, 1));
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  scene_resume (&scene);
  assert_ok (write);
  assert_ok (second);
  assert_values (&scene, scene.query, scene.a, 4, "3 3");
  g_assert_cmpuint (ovs_stage_get_attribute_floor (scene.stage, scene.b), ==, 0);
  seal_or_fail (&scene, 5); /* nothing was lost */
  assert_values (&scene, scene.query, scene.a, 5, "5 5");
  assert_values (&scene, scene.query, scene.b, 5, "1 1");
  scene_clear (&scene);
}

/* A read that counted on it cannot be exact any more. */
static void
test_cancel_under_read (void)
{
  Scene scene;
  OvsOp *write, *seal, *read;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 3, 3);
  seal = advance (&scene, 5);
  read = read_at (&scene, scene.query, &scene.a, 1, 3);
  g_assert_true (ovs_op_cancel (seal));
  scene_resume (&scene);
  assert_failed (read, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  g_assert_cmpuint (ovs_stage_get_floor (scene.stage), ==, 0);
  assert_ok (write);
  assert_cancelled (seal);
  scene_clear (&scene);
}

static void
test_cancel_read (void)
{
  Scene scene;
  OvsOp *write, *seal, *read, *next;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 3, 3);
  seal = advance (&scene, 3);
  read = read_at (&scene, scene.query, &scene.a, 1, 3);
  next = advance (&scene, 4); /* waits for the read */
  g_assert_true (ovs_op_cancel (read));
  assert_cancelled (read);
  scene_resume (&scene);
  assert_ok (next);
  assert_ok (write);
  assert_ok (seal);
  scene_clear (&scene);
}

/* What has begun completes: a write, whose row others may count on, and what is done. */
static void
test_cancel_too_late (void)
{
  Scene scene;
  OvsOp *write, *done;

  scene_init_paused (&scene, 2);
  write = write_mode (&scene, scene.query, scene.a, 3, payload_text ("1 2"), OVSTAGE_PRIM_MODE_INSERT);
  g_assert_false (ovs_op_cancel (write));
  scene_resume (&scene);
  assert_ok (write);
  done = advance (&scene, 3);
  ovs_op_wait (done, -1, NULL);
  g_assert_false (ovs_op_cancel (done));
  assert_ok (done);
  g_assert_false (ovs_op_cancel (scene.query));
  assert_values (&scene, scene.query, scene.a, 3, "1 2");
  scene_clear (&scene);
}

/* What waited for the one in the middle waits for what that one waited for. */
static void
test_cancel_middle_of_chain (void)
{
  Scene scene;
  OvsOp *some, *first, *middle, *last, *read;

  scene_init (&scene, 3);
  some = query_or_fail (&scene, "1");
  assert_ok (fill (&scene, scene.a, 1, 1));
  seal_or_fail (&scene, 1);
  write_text (&scene, some, scene.a, 2, "2");
  write_text (&scene, some, scene.a, 3, "3");
  ovs_workers_pause (scene.stage->workers);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  first = advance (&scene, 2); /* folds, on a thread that stands still */
  middle = advance (&scene, 3);
  last = advance (&scene, 4);
  read = read_at (&scene, scene.query, &scene.a, 1, 4);
  g_assert_true (ovs_op_cancel (middle));
  assert_pending (last);
  assert_pending (first);
  g_assert_cmpuint (ovs_op_get_lowest_pending (last), ==, ovs_op_get_id (first));
  scene_resume (&scene);
  assert_ok (first);
  assert_ok (last);
  assert_cancelled (middle);
  g_assert_cmpint (ovs_op_wait (read, -1, NULL), ==, OVS_WAIT_DONE);
  ovs_op_unref (read);
  assert_values (&scene, scene.query, scene.a, 4, "1 3 1");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Out-of-the-middle again, with scoped ones and with a whole tail. */
static void
test_cancel_everything (void)
{
  for (guint round = 0; round < 200; round++)
    {
      Scene scene;
      OvsOp *ops[12];
      guint n = 0;

      scene_init_paused (&scene, 2);
      for (guint64 ordinal = 1; ordinal <= 4; ordinal++)
        {
          ops[n++] = fill (&scene, ordinal % 2 == 0 ? scene.a : scene.b, ordinal, (double) ordinal);
          ops[n++] = ordinal == 3 ? advance_scope (&scene, ordinal, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a)) : advance (&scene, ordinal);
          ops[n++] = read_at (&scene, scene.query, TOKENS (scene.a, scene.b), OVSTAGE_ORDINAL_NEWEST);
        }
      if (round % 2 == 0)
        scene_resume (&scene);
      for (guint i = 0; i < 6; i++)
        ovs_op_cancel (ops[g_test_rand_int_range (0, (gint32) n)]);
      scene_resume (&scene);
      for (guint i = 0; i < n; i++)
        {
          g_assert_cmpint (ovs_op_wait (ops[i], -1, NULL), ==, OVS_WAIT_DONE);
          ovs_op_unref (ops[i]);
        }
      g_assert_cmpuint (scene.stage->pending.length, ==, 0);
      seal_or_fail (&scene, 9);
      assert_values (&scene, scene.query, scene.a, 9, "4 4");
      assert_values (&scene, scene.query, scene.b, 9, "3 3");
      scene_clear (&scene);
    }
}

/* One is left of many; the others go newest first. */
static void
test_cancel_newest_first (void)
{
  Scene scene;
  OvsOp *write, *ops[60], *last;

  scene_init_paused (&scene, 2);
  write = fill (&scene, scene.a, 1, 1);
  for (guint i = 0; i < G_N_ELEMENTS (ops); i += 2)
    {
      ops[i] = advance (&scene, i + 1);
      ops[i + 1] = read_at (&scene, scene.query, &scene.a, 1, OVSTAGE_ORDINAL_NEWEST);
    }
  last = advance (&scene, 100);
  for (guint i = G_N_ELEMENTS (ops); i > 0; i--)
    {
      g_assert_true (ovs_op_cancel (ops[i - 1]));
      assert_cancelled (ops[i - 1]);
    }
  assert_pending (last);
  g_assert_cmpuint (last->n_deps, <, 100);
  scene_resume (&scene);
  assert_ok (last);
  assert_ok (write);
  assert_values (&scene, scene.query, scene.a, 100, "1 1");
  scene_clear (&scene);
}

/* --- what a seal costs --- */

/* Columns that nothing was written to are not touched (ENGINE 27). */
static void
test_columns_touched (void)
{
  Scene scene;
  guint64 attributes[1000];
  char name[16];

  scene_init_plain (&scene, 2);
  for (guint i = 0; i < G_N_ELEMENTS (attributes); i++)
    {
      g_snprintf (name, sizeof name, "many%u", i);
      attributes[i] = token_or_fail (scene.stage, name);
      assert_ok (fill (&scene, attributes[i], 1, i));
    }
  seal_or_fail (&scene, 1);
  g_assert_cmpuint (scene.stage->n_columns_sealed, ==, 1000);
  for (guint64 ordinal = 2; ordinal < 12; ordinal++)
    {
      for (guint i = 0; i < 3; i++)
        assert_ok (fill (&scene, attributes[i * 300], ordinal, 5));
      seal_or_fail (&scene, ordinal);
    }
  g_assert_cmpuint (scene.stage->n_columns_sealed, ==, 1000 + 10 * 3);
  g_assert_cmpuint (scene.stage->dirty->len, ==, 0);
  seal_or_fail (&scene, 20);
  g_assert_cmpuint (scene.stage->n_columns_sealed, ==, 1000 + 10 * 3);
  scene_clear (&scene);
}

/* Bytes that a seal moves: none for a cover, its rows for the rest; a copy where it may not work in place. */
static void
test_bytes_folded (void)
{
  Scene scene;
  OvsOp *some, *run;
  OvstageReadGroup *group;
  guint64 before;

#define assert_moved(n)                                                                                                \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_assert_cmpuint (scene.stage->n_bytes_folded - before, ==, n);                                                  \
      before = scene.stage->n_bytes_folded;                                                                            \
    }                                                                                                                  \
  G_STMT_END

  scene_init_plain (&scene, 1000);
  before = 0;
  some = query_or_fail (&scene, "100-109 3");
  run = query_or_fail (&scene, "10-29");
  assert_ok (fill (&scene, scene.a, 1, 1));
  seal_or_fail (&scene, 1);
  assert_moved (0);
  assert_ok (fill (&scene, scene.a, 2, 1));
  seal_or_fail (&scene, 2);
  assert_moved (0);
  write_or_fail (&scene, some, scene.a, 3, payload_fill (float32, 11, 1));
  seal_or_fail (&scene, 3);
  assert_moved (11 * 4);
  write_or_fail (&scene, run, scene.a, 4, payload_fill (float32, 20, 1));
  seal_or_fail (&scene, 4);
  assert_moved (20 * 4);
  /* A cover makes what was before it moot; what comes after it is put into it. */
  write_or_fail (&scene, run, scene.a, 5, payload_fill (float32, 20, 1));
  assert_ok (fill (&scene, scene.a, 6, 1));
  write_or_fail (&scene, some, scene.a, 7, payload_fill (float32, 11, 1));
  seal_or_fail (&scene, 7);
  assert_moved (11 * 4);
  group = only_group_or_fail (&scene, scene.query, scene.a, 7);
  write_or_fail (&scene, run, scene.a, 8, payload_fill (float32, 20, 1));
  seal_or_fail (&scene, 8);
  assert_moved (1000 * 4 + 20 * 4);
  ovs_read_group_unref (group);
#undef assert_moved
  ovs_op_unref (some);
  ovs_op_unref (run);
  scene_clear (&scene);
}

/* A frame loop over the same query: no growth, and no new mapping once it is warm. */
static void
test_frame_loop (void)
{
  guint n = is_slow () ? 50000 : 1000000;
  Scene scene;
  OvsPoolStats warm, stats;
  OvstageWriteData *payload;

  scene_init_plain (&scene, n);
  payload = payload_fill (float32x3, n, 1);
  for (guint64 frame = 1; frame <= 100; frame++)
    {
      OvstageReadGroup *group;

      payload_floats (payload)[0] = (float) frame;
      payload_floats (payload)[3 * n - 1] = (float) frame;
      write_or_fail (&scene, scene.query, scene.a, frame, ovs_payload_ref (payload));
      seal_or_fail (&scene, frame);
      group = only_group_or_fail (&scene, scene.query, scene.a, frame);
      g_assert_cmpfloat (((const float *) group_row (group, 0))[0], ==, (float) frame);
      g_assert_cmpfloat (((const float *) group_row (group, n - 1))[2], ==, (float) frame);
      ovs_read_group_unref (group);
      if (frame == 10)
        ovs_pool_get_stats (scene.stage->pool, &warm);
    }
  ovs_pool_get_stats (scene.stage->pool, &stats);
  g_assert_cmpuint (stats.n_mapped, ==, warm.n_mapped);
  g_assert_cmpuint (stats.live, <=, warm.live);
  g_assert_cmpuint (stats.free, <=, warm.free);
  g_assert_cmpuint (stats.live + stats.free, <, (gsize) n * 12 * 4);
  ovs_payload_unref (payload);
  scene_clear (&scene);
}

/* The same with a part of the rows, by list and by mask. */
static void
test_frame_loop_partial (void)
{
  guint n = 100000, n_some = 10000;
  g_autofree guint *prims = g_new (guint, n_some);
  g_autofree guint64 *words = g_new0 (guint64, n / 64 + 1);
  Scene scene;
  OvsOp *some;
  OvsPoolStats warm, stats;
  OvstageWriteData *masked, *part;

  scene_init_plain (&scene, n);
  for (guint i = 0; i < n_some; i++)
    {
      prims[i] = i * 10 + 3;
      words[(i * 10 + 7) / 64] |= G_GUINT64_CONSTANT (1) << ((i * 10 + 7) % 64);
    }
  some = query_prims_or_fail (scene.stage, prims, n_some);
  masked = with_count (payload_fill (float32x3, n, 1), n);
  ovs_payload_set_mask (masked, words, n / 64 + 1);
  part = payload_fill (float32x3, n_some, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, n, 0));
  seal_or_fail (&scene, 1);
  for (guint64 frame = 2; frame <= 400; frame++)
    {
      OvstageReadGroup *group;

      write_or_fail (&scene, some, scene.a, frame, ovs_payload_ref (part));
      write_or_fail (&scene, scene.query, scene.a, frame, ovs_payload_ref (masked));
      seal_or_fail (&scene, frame);
      group = only_group_or_fail (&scene, scene.query, scene.a, frame);
      g_assert_cmpuint (group->ordinal, ==, frame);
      ovs_read_group_unref (group);
      if (frame == 100)
        ovs_pool_get_stats (scene.stage->pool, &warm);
    }
  ovs_pool_get_stats (scene.stage->pool, &stats);
  g_assert_cmpuint (stats.n_mapped, ==, warm.n_mapped);
  g_assert_cmpuint (stats.live, <=, warm.live);
  ovs_payload_unref (masked);
  ovs_payload_unref (part);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Records of what changed are within their budget, also where every frame comes with a list of its own. */
static void
test_changes_through_new_lists (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 10, .n_threads = 2, .caller_limit = 256 * 1024, .change_budget = 1 << 20 };
  guint n = 50000, n_some = 10000;
  g_autofree guint *prims = g_new (guint, n_some);
  Scene scene;
  OvsPoolStats stats;
  OvstageWriteData *payload;

  scene_init_full (&scene, n, &config);
  payload = payload_fill (float32, n_some, 2);
  assert_ok (fill (&scene, scene.a, 1, 0));
  for (guint64 ordinal = 2; ordinal < 80; ordinal++)
    {
      OvsOp *query;

      for (guint i = 0; i < n_some; i++)
        prims[i] = (guint) ((i * 5 + ordinal % 5 + (i == 0 ? ordinal * 5 : 0)) % n);
      for (guint i = 1; i < n_some; i++)
        if (prims[i] == prims[0])
          prims[i] = (prims[0] + 1) % n; /* distinct */
      query = query_prims_or_fail (scene.stage, prims, n_some);
      write_or_fail (&scene, query, scene.a, ordinal, ovs_payload_ref (payload));
      ovs_op_unref (query);
      seal_or_fail (&scene, ordinal);
    }
  ovs_stage_trim (scene.stage); /* the bindings go, the records stay */
  ovs_pool_get_stats (scene.stage->pool, &stats);
  g_assert_cmpuint (stats.live, <, n * 4 + (2 << 20));
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (scene.stage), >, 0);
  ovs_payload_unref (payload);
  scene_clear (&scene);
}

/* Layouts and bindings of lists that nobody uses any more do not pile up without end. */
static void
test_lists_come_and_go (void)
{
  Scene scene;

  scene_init_plain (&scene, 100);
  for (guint round = 0; round < 500; round++)
    {
      guint prims[10];
      OvsOp *query;

      for (guint i = 0; i < 10; i++)
        prims[i] = 1000 + round * 10 + i;
      query = query_prims_or_fail (scene.stage, prims, 10);
      write_or_fail (&scene, query, scene.a, round + 1, payload_fill (float32, 10, round));
      seal_or_fail (&scene, round + 1);
      assert_filled (&scene, query, scene.a, round + 1, round);
      ovs_op_unref (query);
    }
  ovs_stage_trim (scene.stage);
  g_assert_cmpuint (g_hash_table_size (scene.stage->layouts), <, 40);
  scene_clear (&scene);
}

/* Neither do layouts that no column has any more: a mask that leaves out too much makes one of its own. */
static void
test_layouts_come_and_go (void)
{
  g_autofree char *mask = g_strnfill (400, '0');
  Scene scene;

  scene_init_plain (&scene, 1);
  for (guint i = 0; i < 400; i += 2)
    mask[i] = '1';
  for (guint round = 0; round < 100; round++)
    {
      guint prims[400];
      char name[16];
      OvsOp *query;
      guint64 attribute;

      g_snprintf (name, sizeof name, "many%u", round);
      attribute = token_or_fail (scene.stage, name);
      for (guint i = 0; i < 400; i++)
        prims[i] = round * 3 + i;
      query = query_prims_or_fail (scene.stage, prims, 400);
      write_or_fail (&scene, query, attribute, 1, with_mask (payload_fill (float32, 400, round), mask));
      ovs_op_unref (query);
    }
  seal_or_fail (&scene, 1);
  g_assert_cmpuint (g_hash_table_size (scene.stage->layouts), <, 60);
  ovs_op_unref (scene.query);
  scene.query = query_or_fail (&scene, "0-3 400");
  assert_values (&scene, scene.query, token_or_fail (scene.stage, "many0"), 1, "0 - 0 - -");
  scene_clear (&scene);
}

/* A layout that another column has gone on with is left alone, with the rows beyond the list it began with. */
static void
test_fork_beyond_list (void)
{
  Scene scene;
  OvsOp *first, *one, *other, *third;

  scene_init (&scene, 8);
  first = query_or_fail (&scene, "0-2");
  one = query_or_fail (&scene, "3");
  other = query_or_fail (&scene, "5");
  third = query_or_fail (&scene, "6");
  write_text (&scene, first, scene.a, 1, "1 2 3");
  write_text (&scene, first, scene.b, 1, "1 2 3");
  write_text (&scene, one, scene.a, 1, "4");
  write_text (&scene, one, scene.b, 1, "5"); /* the same row of the same layout */
  write_text (&scene, other, scene.a, 1, "6");
  write_text (&scene, third, scene.b, 1, "7"); /* parts company */
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 2 3 4 - 6 - -");
  assert_values (&scene, scene.query, scene.b, 1, "1 2 3 5 - - 7 -");
  write_or_fail (&scene, scene.query, scene.a, 2, payload_fill (float32, 8, 8));
  write_or_fail (&scene, scene.query, scene.b, 2, payload_fill (float32, 8, 9));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "8 8 8 8 8 8 8 8");
  assert_values (&scene, scene.query, scene.b, 2, "9 9 9 9 9 9 9 9");
  ovs_op_unref (first);
  ovs_op_unref (one);
  ovs_op_unref (other);
  ovs_op_unref (third);
  scene_clear (&scene);
}

/* Rows of lists are kept within a budget, and a binding that is held survives its entry. */
static void
test_bindings_within_budget (void)
{
  Scene scene;
  OvsBindingTable *table;
  OvsBinding *held, *again;
  OvsLayout *layout;
  OvstagePathList *list;

  scene_init (&scene, 1000);
  table = ovs_binding_table_new (scene.stage->pool, 32768);
  layout = ovs_layout_new (scene.list);
  list = list_or_fail (scene.stage, (guint[]){ 5, 3 }, 2);
  held = ovs_binding_table_get (table, list, layout);
  again = ovs_binding_table_get (table, list, layout);
  g_assert_true (again == held);
  ovs_binding_unref (again);
  for (guint i = 0; i < 100; i++)
    {
      guint prims[100];
      OvstagePathList *other;

      for (guint j = 0; j < 100; j++)
        prims[j] = (i + j * 7) % 1000;
      other = list_or_fail (scene.stage, prims, 100);
      again = ovs_binding_table_get (table, other, layout);
      g_assert_cmpuint (ovs_binding_get_row (again, 99), ==, prims[99]);
      ovs_binding_unref (again);
      ovs_path_list_unref (other);
      g_assert_cmpuint (ovs_binding_table_get_size (table), <=, 32768);
    }
  g_assert_cmpuint (ovs_binding_get_row (held, 0), ==, 5);
  g_assert_cmpuint (ovs_binding_get_row (held, 1), ==, 3);
  again = ovs_binding_table_get (table, list, layout);
  g_assert_true (again != held);
  ovs_binding_unref (again);
  ovs_binding_unref (held);
  ovs_binding_table_free (table);
  ovs_layout_unref (layout);
  ovs_path_list_unref (list);
  scene_clear (&scene);
}

/* --- the ways of a fold --- */

/* One random sequence, played with each set of flags, gives the same values. */
static void
test_ways_agree (void)
{
  static const OvsDebugFlags ways[] = {
    0, OVS_DEBUG_COPY, OVS_DEBUG_RANDOM, OVS_DEBUG_ASYNC | OVS_DEBUG_SHUFFLE, OVS_DEBUG_ASYNC | OVS_DEBUG_RANDOM | OVS_DEBUG_POISON,
  };

  for (guint round = 0; round < 60; round++)
    {
      guint32 seed = g_test_rand_int ();
      g_autofree char *expected = NULL;

      for (guint way = 0; way < G_N_ELEMENTS (ways); way++)
        {
          g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
          g_autoptr (GString) text = g_string_new (NULL);
          Scene scene;
          guint64 floor = 0;

          scene_init_depth (&scene, 20, round % 2 == 0 ? 1 : 3);
          ovs_debug_set_flags (ways[way]);
          for (guint step = 0; step < 40; step++)
            {
              guint n = (guint) g_rand_int_range (rand, 1, 21), first = (guint) g_rand_int_range (rand, 0, 20);
              guint stride = (guint[]){ 1, 3, 7, 19 }[g_rand_int_range (rand, 0, 4)], prims[20];
              guint64 attribute = g_rand_boolean (rand) ? scene.a : scene.b;
              guint64 ordinal = floor + (guint64) g_rand_int_range (rand, 1, 4);
              OvstageWriteData *payload;
              OvsOp *query, *read;

              for (guint i = 0; i < n; i++)
                prims[i] = (first + i * stride) % 20;
              query = query_prims_or_fail (scene.stage, prims, n);
              payload = payload_rows (float32, n);
              for (guint i = 0; i < n; i++)
                payload_floats (payload)[i] = (float) g_rand_int_range (rand, 0, 1000);
              if (g_rand_int_range (rand, 0, 3) == 0)
                {
                  guint64 word = g_rand_int (rand);

                  payload->count = n;
                  ovs_payload_set_mask (payload, &word, 1);
                }
              ovs_op_unref (write_payload (&scene, query, attribute, ordinal, payload));
              if (g_rand_int_range (rand, 0, 3) == 0)
                {
                  floor += (guint64) g_rand_int_range (rand, 1, 3);
                  ovs_op_unref (advance (&scene, floor));
                }
              read = read_at (&scene, query, TOKENS (attribute), g_rand_boolean (rand) ? floor : OVSTAGE_ORDINAL_NEWEST);
              {
                g_autofree char *values = read_to_text (read);

                g_string_append_printf (text, "%u: %s\n", step, values);
              }
              ovs_op_unref (query);
            }
          seal_or_fail (&scene, floor + 3);
          for (guint i = 0; i < 2; i++)
            {
              g_autofree char *values = read_to_text (read_at (&scene, scene.query, i == 0 ? &scene.a : &scene.b, 1, floor + 3));

              g_string_append_printf (text, "%s\n", values);
            }
          scene_clear (&scene);
          if (expected == NULL)
            expected = g_strdup (text->str);
          else
            g_assert_cmpstr (text->str, ==, expected);
        }
    }
}

/* --- no memory --- */

/* Everything that can make a plan allocate: three columns, two of them of one attribute, moves, history, pins. */
static void
stage_much (Scene *scene)
{
  OvsOp *some = query_or_fail (scene, "5 1 3"), *odd = query_or_fail (scene, "1 3 5 7");

  write_or_fail (scene, some, scene->a, 2, payload_text ("1 2 3"));
  write_or_fail (scene, odd, scene->a, 3, with_mask (payload_text ("4 5 6 7"), "0101"));
  write_or_fail (scene, scene->query, scene->b, 4, payload_fill (float32x3, scene->n, 4));
  write_or_fail (scene, odd, scene->b, 3, payload_fill (float32x4, 4, 3));
  write_or_fail (scene, some, scene->c, 2, payload_text ("1 2 3"));
  write_or_fail (scene, odd, scene->c, 2, payload_text ("4 5 6 7"));
  ovs_op_unref (some);
  ovs_op_unref (odd);
}

static void
test_advance_out_of_memory (void)
{
  for (guint depth = 1; depth <= 2; depth++)
    {
      g_autofree char *expected = NULL;
      guint n_failed = 0;

      for (gint after = 30; after >= 0; after--) /* the first one succeeds, and shows how it should be */
        {
          Scene scene;
          OvsOp *seal;
          OvstageReadGroup *group;
          g_autofree char *before = NULL, *failed = NULL, *state = NULL;

          scene_init_depth (&scene, 8, depth);
          ovs_debug_set_flags (0);
          write_text (&scene, scene.query, scene.a, 1, "1 1 1 1 1 1 1 1");
          seal_or_fail (&scene, 1);
          group = only_group_or_fail (&scene, scene.query, scene.a, 1); /* no work in place */
          stage_much (&scene);
          before = dump_state (scene.stage);
          ovs_pool_fail_after (scene.stage->pool, after);
          seal = advance (&scene, 5);
          ovs_pool_fail_after (scene.stage->pool, -1);
          g_assert_true (ovs_op_is_done (seal));
          if (ovs_op_get_error (seal) != NULL)
            {
              n_failed++;
              assert_failed (seal, OVSTAGE_ERROR_OUT_OF_MEMORY, "advance: no memory for");
              failed = dump_state (scene.stage);
              g_assert_cmpstr (before, ==, failed);
              assert_values (&scene, scene.query, scene.a, 1, "1 1 1 1 1 1 1 1");
              /* The ordinal is open again. */
              write_or_fail (&scene, scene.query, scene.a, 1 + 1, with_mask (payload_fill (float32, 8, 9), "00000000"));
              seal_or_fail (&scene, 5);
            }
          else
            assert_ok (seal);
          state = dump_state (scene.stage);
          if (expected == NULL)
            expected = g_strdup (state);
          g_assert_cmpstr (state, ==, expected);
          ovs_read_group_unref (group);
          scene_clear (&scene);
        }
      g_assert_cmpuint (n_failed, >, depth);
    }
}

/* A pending advance that fails: what waited for it fails if it needs it, and goes on if not. */
static void
test_pending_advance_out_of_memory (void)
{
  Scene scene;
  OvsOp *some, *write, *seal, *read, *next;
  g_autofree char *waited_for = NULL;
  OvstageReadGroup *group;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "2 0");
  assert_ok (fill (&scene, scene.a, 1, 1));
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, some, scene.a, 2, payload_text ("2 2"));
  seal = advance (&scene, 2);
  read = read_at (&scene, scene.query, &scene.a, 1, 2);
  next = advance (&scene, 3);
  ovs_pool_fail_after (scene.stage->pool, 0);
  scene_resume (&scene);
  assert_ok (write);
  waited_for = g_strdup_printf ("read: operation %" G_GUINT64_FORMAT ", which it waits for, failed", ovs_op_get_id (seal));
  assert_failed (seal, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory");
  assert_failed (read, OVSTAGE_ERROR_OP_FAILED, waited_for);
  assert_ok (next);
  ovs_pool_fail_after (scene.stage->pool, -1);
  assert_values (&scene, scene.query, scene.a, 3, "2 1 2 1");
  ovs_read_group_unref (group);
  ovs_op_unref (some);
  scene_clear (&scene);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/engine-ops/floors/rises", test_floor_rises);
  g_test_add_func ("/engine-ops/floors/include", test_include);
  g_test_add_func ("/engine-ops/floors/exclude", test_exclude);
  g_test_add_func ("/engine-ops/floors/attributes-to-come", test_attributes_to_come);
  g_test_add_func ("/engine-ops/floors/scope-without-names", test_scope_without_names);
  g_test_add_func ("/engine-ops/floors/faults", test_advance_faults);
  g_test_add_func ("/engine-ops/floors/who-wins", test_who_wins);
  g_test_add_func ("/engine-ops/fold/cover-is-decided-late", test_cover_is_decided_late);
  g_test_add_func ("/engine-ops/fold/cover-of-new-column", test_cover_of_new_column);
  g_test_add_func ("/engine-ops/fold/shared-layout", test_shared_layout);
  g_test_add_func ("/engine-ops/fold/fork-beyond-list", test_fork_beyond_list);
  g_test_add_func ("/engine-ops/fold/ways-agree", test_ways_agree);
  g_test_add_func ("/engine-ops/pins/emission", test_pins);
  g_test_add_func ("/engine-ops/pins/within-one-advance", test_pin_within_one_advance);
  g_test_add_func ("/engine-ops/pins/risen", test_emissions);
  g_test_add_func ("/engine-ops/pins/pending-read", test_pending_read_keeps);
  g_test_add_func ("/engine-ops/pins/pending-read-of-others", test_pending_read_keeps_other);
  g_test_add_func ("/engine-ops/order/advance-waits", test_advance_waits);
  g_test_add_func ("/engine-ops/order/closing", test_closing);
  g_test_add_func ("/engine-ops/order/pipeline", test_pipeline);
  g_test_add_func ("/engine-ops/order/read-passes", test_read_passes);
  g_test_add_func ("/engine-ops/order/advance-passes", test_advance_passes);
  g_test_add_func ("/engine-ops/order/write-during-fold", test_write_during_fold);
  g_test_add_func ("/engine-ops/ids", test_ids);
  g_test_add_func ("/engine-ops/inline", test_inline);
  g_test_add_func ("/engine-ops/wait/timeouts", test_wait);
  g_test_add_func ("/engine-ops/wait/outlives-stage", test_outlives_stage);
  g_test_add_func ("/engine-ops/wait/interrupted", test_wait_interrupted);
  g_test_add_func ("/engine-ops/wait/in-worker", test_wait_in_worker);
  g_test_add_func ("/engine-ops/wait/lowest-pending", test_lowest_pending);
  g_test_add_func ("/engine-ops/watch", test_watch);
  g_test_add_func ("/engine-ops/error-lasts", test_error_lasts);
  g_test_add_func ("/engine-ops/close/in-flight", test_close);
  g_test_add_func ("/engine-ops/close/last-reference-in-worker", test_last_reference_in_worker);
  g_test_add_func ("/engine-ops/close/last-reference-in-deleter", test_last_reference_in_deleter);
  g_test_add_func ("/engine-ops/queue-full/write-and-advance", test_queue_full);
  g_test_add_func ("/engine-ops/queue-full/read", test_queue_full_read);
  g_test_add_func ("/engine-ops/queue-full/floors", test_queue_full_floors);
  g_test_add_func ("/engine-ops/cancel/advance", test_cancel_advance);
  g_test_add_func ("/engine-ops/cancel/under-read", test_cancel_under_read);
  g_test_add_func ("/engine-ops/cancel/read", test_cancel_read);
  g_test_add_func ("/engine-ops/cancel/too-late", test_cancel_too_late);
  g_test_add_func ("/engine-ops/cancel/middle-of-chain", test_cancel_middle_of_chain);
  g_test_add_func ("/engine-ops/cancel/newest-first", test_cancel_newest_first);
  g_test_add_func ("/engine-ops/cancel/everything", test_cancel_everything);
  g_test_add_func ("/engine-ops/cost/columns-touched", test_columns_touched);
  g_test_add_func ("/engine-ops/cost/bytes-folded", test_bytes_folded);
  g_test_add_func ("/engine-ops/memory/frame-loop", test_frame_loop);
  g_test_add_func ("/engine-ops/memory/frame-loop-partial", test_frame_loop_partial);
  g_test_add_func ("/engine-ops/memory/changes-through-new-lists", test_changes_through_new_lists);
  g_test_add_func ("/engine-ops/memory/lists-come-and-go", test_lists_come_and_go);
  g_test_add_func ("/engine-ops/memory/layouts-come-and-go", test_layouts_come_and_go);
  g_test_add_func ("/engine-ops/memory/bindings-within-budget", test_bindings_within_budget);
  g_test_add_func ("/engine-ops/out-of-memory/advance", test_advance_out_of_memory);
  g_test_add_func ("/engine-ops/out-of-memory/pending-advance", test_pending_advance_out_of_memory);

  return g_test_run ();
}
