/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Watches whose read takes its time: the stage's threads stand still, so that what
 * comes meanwhile comes at a known moment. The watch is compiled in. */

#include "object/ovstage-watch.c"

#include "engine-helpers.h"

typedef struct
{
  Scene scene;
  OvstageWatch *watch; /* (owned) (nullable) */
  GString *told;       /* (owned) of each list "[...]" */
  OvsOp *ops[4];       /* (owned) that are pending */
  guint n_ops;
  gboolean paused;
} Fixture;

static void
tell (Fixture *f, GPtrArray *groups)
{
  g_assert_cmpuint (groups->len, ==, 1);
  g_string_append_printf (f->told, "[a@%" G_GUINT64_FORMAT "=", ((OvstageReadGroup *) groups->pdata[0])->ordinal);
  append_row (f->told, float32, group_row (groups->pdata[0], 0));
  g_string_append_c (f->told, ']');
}

static void
changed_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  tell (user_data, groups);
}

static void
next_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Fixture *f = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) groups = ovstage_watch_next_finish ((OvstageWatch *) source, result, &error);

  if (groups != NULL)
    {
      tell (f, groups);
      ovstage_watch_next_async ((OvstageWatch *) source, G_PRIORITY_DEFAULT, NULL, next_cb, f);
    }
  else
    g_string_append (f->told, error == NULL ? "end;" : g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? "cancelled;" : error->message);
}

static void
turn (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
assert_told (Fixture *f, const char *expected)
{
  turn ();
  g_assert_cmpstr (f->told->str, ==, expected);
  g_string_truncate (f->told, 0);
}

static void
watch_or_fail (Fixture *f, gconstpointer asked)
{
  g_autoptr (GError) error = NULL;

  f->watch = _ovstage_watch_new (f->scene.stage, f->scene.query, &f->scene.a, 1, asked != NULL ? NULL : changed_cb, f, NULL, &error);
  g_assert_no_error (error);
}

static void
set_up (Fixture *f, gconstpointer asked)
{
  scene_init_plain (&f->scene, 2);
  f->told = g_string_new (NULL);
  watch_or_fail (f, asked);
}

/* A write and an advance that wait for the stage's threads. */
static void
seal_later (Fixture *f, guint64 attribute, guint64 ordinal, const char *values)
{
  f->ops[f->n_ops++] = write_payload (&f->scene, f->scene.query, attribute, ordinal, payload_text (values));
  f->ops[f->n_ops++] = advance (&f->scene, ordinal);
  g_assert_false (ovs_op_is_done (f->ops[f->n_ops - 1]));
}

/* The watch looks at what an advance to 2, on its way, seals of @attribute: its read waits for that. Then one to 3 sets off. */
static void
look (Fixture *f, guint64 attribute)
{
  write_text (&f->scene, f->scene.query, attribute, 1, "1 1");
  seal_or_fail (&f->scene, 1);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (f->scene.stage->workers);
  f->paused = TRUE;
  seal_later (f, attribute, 2, "2 2");
  assert_told (f, "");
  g_assert_nonnull (f->watch->read);
  g_assert_false (ovs_op_is_done (f->watch->read));
  seal_later (f, f->scene.a, 3, "3 3");
}

static gboolean
is_due (Fixture *f)
{
  gboolean due;

  ovs_mutex_lock (&f->watch->link->lock);
  due = f->watch->link->due;
  ovs_mutex_unlock (&f->watch->link->lock);
  return due;
}

static void
resume (Fixture *f)
{
  if (f->paused)
    scene_resume (&f->scene);
  f->paused = FALSE;
  while (f->n_ops > 0)
    assert_ok (f->ops[--f->n_ops]);
}

/* Everything is sealed and read, and the watch was told, before the main context turns again. */
static void
resume_and_read (Fixture *f)
{
  resume (f);
  g_assert_cmpint (ovs_op_wait (f->watch->read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  while (!is_due (f))
    g_thread_yield ();
}

static void
tear_down (Fixture *f, gconstpointer asked)
{
  resume (f);
  /* Who waits keeps the watch until it is told that it ended. */
  ovstage_watch_cancel (f->watch);
  turn ();
  g_clear_object (&f->watch);
  g_string_free (f->told, TRUE);
  scene_clear (&f->scene);
}

static void
ask (Fixture *f, GCancellable *cancellable)
{
  ovstage_watch_next_async (f->watch, G_PRIORITY_DEFAULT, cancellable, next_cb, f);
}

/* The source that takes the read may be the one of the advance that came after it: that one is looked at, too. */
static void
test_none_lost (Fixture *f, gconstpointer asked)
{
  if (asked != NULL)
    ask (f, NULL);
  look (f, f->scene.a);
  resume_and_read (f);
  assert_told (f, "[a@2=2][a@3=3]");
  g_assert_cmpuint (ovstage_watch_get_cursor (f->watch), ==, 3);
}

/* Also where the read has nothing to tell. */
static void
test_nothing_before (Fixture *f, gconstpointer asked)
{
  if (asked != NULL)
    ask (f, NULL);
  look (f, f->scene.b);
  resume_and_read (f);
  assert_told (f, "[a@3=3]");
}

/* The read is for the next one who asks. */
static void
test_cancelled_wait (Fixture *f, gconstpointer asked)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  ask (f, cancellable);
  look (f, f->scene.a);
  g_cancellable_cancel (cancellable);
  assert_told (f, "cancelled;");
  ask (f, NULL);
  assert_told (f, "");
  resume_and_read (f);
  assert_told (f, "[a@2=2][a@3=3]");
}

/* What was read is told to nobody. */
static void
test_ended (Fixture *f, gconstpointer asked)
{
  if (asked != NULL)
    ask (f, NULL);
  look (f, f->scene.a);
  ovstage_watch_cancel (f->watch);
  resume (f);
  g_assert_cmpint (ovs_op_wait (f->watch->read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  assert_told (f, asked != NULL ? "end;" : "");
}

static void
write_and_seal (Fixture *f, guint64 from, guint64 to)
{
  OvsOp *one = query_or_fail (&f->scene, "1");

  for (guint64 ordinal = from; ordinal <= to; ordinal++)
    {
      write_text (&f->scene, one, f->scene.a, ordinal, "7");
      seal_or_fail (&f->scene, ordinal);
    }
  ovs_op_unref (one);
}

/* Changes that were not told are kept past the budget; those that were are not, nor are any for a watch that ended. */
static void
test_holds (Fixture *f, gconstpointer asked)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096, .n_threads = 2, .caller_limit = 256 * 1024, .change_budget = 1024 };

  ovstage_watch_cancel (f->watch);
  g_clear_object (&f->watch);
  scene_clear (&f->scene);
  scene_init_full (&f->scene, 2, &config);
  ovs_debug_set_flags (0);
  watch_or_fail (f, asked);
  write_text (&f->scene, f->scene.query, f->scene.a, 1, "1 2");
  seal_or_fail (&f->scene, 1);
  write_and_seal (f, 2, 199);
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (f->scene.stage), ==, 0);
  /* The first prim changed at 1 only. */
  assert_told (f, "[a@199=1]");
  write_and_seal (f, 200, 299);
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (f->scene.stage), >, 100);
  assert_told (f, "[a@299=7]");

  write_and_seal (f, 300, 499);
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (f->scene.stage), <=, 299);
  ovstage_watch_cancel (f->watch);
  write_and_seal (f, 500, 599);
  g_assert_cmpuint (ovs_stage_get_oldest_preserved (f->scene.stage), >, 400);
  assert_told (f, "");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, asked, func) g_test_add (path, Fixture, asked, set_up, func, tear_down)
  ADD ("/engine-watch/none-lost", NULL, test_none_lost);
  ADD ("/engine-watch/nothing-before", NULL, test_nothing_before);
  ADD ("/engine-watch/ended", NULL, test_ended);
  ADD ("/engine-watch/holds", NULL, test_holds);
  ADD ("/engine-watch/next/none-lost", "asked", test_none_lost);
  ADD ("/engine-watch/next/nothing-before", "asked", test_nothing_before);
  ADD ("/engine-watch/next/cancelled", "asked", test_cancelled_wait);
  ADD ("/engine-watch/next/ended", "asked", test_ended);
#undef ADD
  return g_test_run ();
}
