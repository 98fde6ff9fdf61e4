/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Operations of a real stage through the public API. Their timing is the stage's:
 * test-face.c has each moment of a wait under control. */

#include <string.h>

#include <ovstage/ovstage.h>

/* 8 MiB: more than a call moves by itself. */
#define N_BIG (32 * 1024)
#define N_LANES 64

typedef struct
{
  OvstageStage *stage;               /* (owned) (nullable) */
  OvstagePathDictionary *dictionary; /* (owned) */
  OvstageQuery *query;               /* (owned) over N_BIG prims */
  OvstageToken mass;
} Fixture;

typedef struct
{
  guint n_calls;
  gboolean ok;
  GError *error;           /* (owned) (nullable) */
  OvstageReadGroup *group; /* (owned) (nullable) */
  GThread *thread;
} Outcome;

/* ---- helpers ---- */

static void
set_up (Fixture *f, gconstpointer n_prims)
{
  gsize n = GPOINTER_TO_SIZE (n_prims);
  g_autofree OvstagePath *ids = g_new (OvstagePath, n);
  g_autoptr (OvstagePathList) list = NULL;
  g_autoptr (GError) error = NULL;

  f->stage = ovstage_stage_new ("test");
  f->dictionary = g_object_ref (ovstage_stage_get_path_dictionary (f->stage));
  f->mass = ovstage_path_dictionary_intern_token (f->dictionary, "mass", NULL);
  for (gsize i = 0; i < n; i++)
    {
      char path[32];

      g_snprintf (path, sizeof path, "/W/%" G_GSIZE_FORMAT, i);
      ids[i] = ovstage_path_dictionary_intern_path (f->dictionary, path, NULL);
    }
  list = ovstage_path_dictionary_create_path_list_from_paths (f->dictionary, ids, n, &error);
  g_assert_no_error (error);
  f->query = ovstage_stage_query_path_list (f->stage, list);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_object (&f->dictionary);
  g_clear_object (&f->stage);
}

static void
destroy_cb (gpointer user_data)
{
  g_free (user_data);
}

/* Every number is @ordinal. */
static OvstageOperation *
write_filled (Fixture *f, guint64 ordinal)
{
  gsize n = ovstage_query_get_prim_count (f->query);
  gint64 shape[] = { n };
  float *values = g_new (float, n * N_LANES);
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float32x64", NULL);
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (OvstageWriteData) data = NULL;

  for (gsize i = 0; i < n * N_LANES; i++)
    values[i] = ordinal;
  tensor = ovstage_tensor_new_take (values, 1, 0, dtype, shape, 1, NULL, destroy_cb, values, &error);
  g_assert_no_error (error);
  data = ovstage_write_data_new (tensor);
  return ovstage_stage_write_attribute (f->stage, f->query, f->mass, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
}

static OvstageOperation *
advance (Fixture *f, guint64 ordinal)
{
  return ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
}

static OvstageRead *
read_at (Fixture *f, guint64 ordinal)
{
  return ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
}

static void
assert_filled (OvstageReadGroup *group, guint64 ordinal)
{
  g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (group, 0);
  g_autoptr (GBytes) bytes = ovstage_tensor_ref_bytes (tensor, NULL);
  gsize size;
  const float *values = g_bytes_get_data (bytes, &size);

  g_assert_cmpuint (size, ==, (gsize) ovstage_read_group_get_data_count (group) * N_LANES * sizeof (float));
  for (gsize i = 0; i < size / sizeof (float); i++)
    if (values[i] != ordinal)
      g_error ("number %" G_GSIZE_FORMAT " is %g", i, values[i]);
}

static void
wait_or_fail (OvstageOperation *op)
{
  g_autoptr (GError) error = NULL;

  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
}

static void
waited_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Outcome *outcome = user_data;

  outcome->n_calls++;
  outcome->thread = g_thread_self ();
  outcome->ok = ovstage_operation_wait_finish (OVSTAGE_OPERATION (source), result, &outcome->error);
}

static void
fetched_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Outcome *outcome = user_data;

  outcome->n_calls++;
  outcome->thread = g_thread_self ();
  outcome->group = ovstage_read_fetch_next_finish (OVSTAGE_READ (source), result, &outcome->error);
}

static void
spin_until_called (Outcome *outcome)
{
  while (outcome->n_calls == 0)
    g_main_context_iteration (g_main_context_get_thread_default (), TRUE);
}

/* ---- cases ---- */

/* BEHAVIOUR, Operations 1. */
static void
test_ids (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) first = write_filled (f, 1);
  g_autoptr (OvstageOperation) second = write_filled (f, 2);
  g_autoptr (OvstageOperation) third = advance (f, 2);
  g_autoptr (OvstageRead) fourth = read_at (f, 2);

  g_assert_cmpuint (ovstage_operation_get_id (first), >, 0);
  g_assert_cmpuint (ovstage_operation_get_id (second), >, ovstage_operation_get_id (first));
  g_assert_cmpuint (ovstage_operation_get_id (third), >, ovstage_operation_get_id (second));
  g_assert_cmpuint (ovstage_operation_get_id (OVSTAGE_OPERATION (fourth)), >, ovstage_operation_get_id (third));
}

static void
test_small_is_done (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = NULL;
  g_autoptr (OvstageOperation) seal = NULL;

  if (strstr (g_getenv ("OVSTAGE_DEBUG") != NULL ? g_getenv ("OVSTAGE_DEBUG") : "", "async") != NULL)
    {
      g_test_skip ("nothing is done at once with OVSTAGE_DEBUG=async");
      return;
    }
  write = write_filled (f, 1);
  seal = advance (f, 1);
  g_assert_true (ovstage_operation_is_done (write));
  g_assert_true (ovstage_operation_is_done (seal));
  g_assert_cmpuint (ovstage_operation_get_lowest_pending_id (seal), ==, 0);
  g_assert_false (ovstage_operation_cancel (write));
  g_assert_true (ovstage_operation_wait (seal, 0, NULL, NULL));
}

/* BEHAVIOUR, Operations 3. */
static void
test_error_lasts (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) op = write_filled (f, 0);
  Outcome outcome = { 0 };

  g_assert_cmpuint (ovstage_operation_get_id (op), ==, 0);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    }
  ovstage_operation_wait_async (op, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_error (outcome.error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  g_clear_error (&outcome.error);
  g_assert_error (ovstage_operation_get_error (op), OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
}

/* Write, seal and read without a wait in between. */
static void
test_pipeline (Fixture *f, gconstpointer unused)
{
  for (guint64 ordinal = 1; ordinal <= 3; ordinal++)
    {
      g_autoptr (OvstageOperation) write = write_filled (f, ordinal);
      g_autoptr (OvstageOperation) seal = advance (f, ordinal);
      g_autoptr (OvstageRead) read = read_at (f, ordinal);
      g_autoptr (GError) error = NULL;
      g_autoptr (OvstageReadGroup) group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);

      g_assert_no_error (error);
      assert_filled (group, ordinal);
      g_assert_true (ovstage_operation_is_done (write));
      g_assert_true (ovstage_operation_is_done (seal));
      g_assert_cmpuint (ovstage_read_get_as_of (read), ==, ordinal);
    }
}

/* BEHAVIOUR, Operations 1 and 2: a poll leaves all as it was and names what is lowest. */
static void
test_timeout (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageOperation) seal = advance (f, 1);
  g_autoptr (GError) error = NULL;
  guint64 lowest = ovstage_operation_get_lowest_pending_id (seal);

  if (lowest != 0)
    {
      g_assert_cmpuint (lowest, >=, ovstage_operation_get_id (write));
      g_assert_cmpuint (lowest, <=, ovstage_operation_get_id (seal));
    }
  if (!ovstage_operation_wait (seal, 0, NULL, &error))
    {
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT);
      g_assert_null (ovstage_operation_get_error (seal));
    }
  g_clear_error (&error);
  if (!ovstage_operation_wait (seal, 1, NULL, &error))
    g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT);
  wait_or_fail (seal);
  g_assert_cmpuint (ovstage_operation_get_lowest_pending_id (seal), ==, 0);
}

static void
test_wait_async (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageOperation) seal = advance (f, 1);
  Outcome written = { 0 };
  Outcome sealed = { 0 };

  ovstage_operation_wait_async (write, G_PRIORITY_DEFAULT, NULL, waited_cb, &written);
  ovstage_operation_wait_async (seal, G_PRIORITY_DEFAULT, NULL, waited_cb, &sealed);
  g_assert_cmpuint (written.n_calls, ==, 0);
  spin_until_called (&written);
  spin_until_called (&sealed);
  g_assert_no_error (written.error);
  g_assert_no_error (sealed.error);
  g_assert_true (sealed.thread == g_thread_self ());
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 1);
}

static void
test_fetch_async (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageOperation) seal = advance (f, 1);
  g_autoptr (OvstageRead) read = read_at (f, 1);
  Outcome outcome = { 0 };
  Outcome end = { 0 };

  ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, fetched_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_no_error (outcome.error);
  assert_filled (outcome.group, 1);
  ovstage_read_group_unref (outcome.group);
  ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, fetched_cb, &end);
  spin_until_called (&end);
  g_assert_no_error (end.error);
  g_assert_null (end.group);
}

static void
test_fetch_failed (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageRead) read = read_at (f, 1);
  g_autoptr (GError) error = NULL;
  Outcome outcome = { 0 };

  ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, fetched_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_null (outcome.group);
  g_assert_error (outcome.error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  g_clear_error (&outcome.error);
  g_assert_null (ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
}

/* A cancelled wait leaves its operation alone. */
static void
test_cancel_wait (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Outcome outcome = { 0 };

  ovstage_operation_wait_async (write, G_PRIORITY_DEFAULT, cancellable, waited_cb, &outcome);
  g_cancellable_cancel (cancellable);
  spin_until_called (&outcome);
  if (!outcome.ok)
    g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&outcome.error);
  g_assert_false (ovstage_operation_wait (write, OVSTAGE_TIMEOUT_INFINITE, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  wait_or_fail (write);
}

/* BEHAVIOUR, Operations 6: an advance that waits can be withdrawn, and its floor is as before. */
static void
test_withdraw (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageOperation) seal = advance (f, 1);
  g_autoptr (OvstageOperation) again = NULL;

  if (ovstage_operation_cancel (seal))
    {
      g_autoptr (GError) error = NULL;

      g_assert_true (ovstage_operation_is_done (seal));
      g_assert_false (ovstage_operation_wait (seal, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 0);
      again = write_filled (f, 1);
      wait_or_fail (again);
    }
  else
    {
      g_test_message ("the advance had begun");
      wait_or_fail (seal);
    }
  g_assert_false (ovstage_operation_cancel (seal));
  wait_or_fail (write);
  g_assert_false (ovstage_operation_cancel (write));
}

static gpointer
wait_in_own_context (gpointer user_data)
{
  OvstageOperation *op = user_data;
  g_autoptr (GMainContext) context = g_main_context_new ();
  Outcome outcome = { 0 };

  g_main_context_push_thread_default (context);
  ovstage_operation_wait_async (op, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_no_error (outcome.error);
  g_assert_true (outcome.thread == g_thread_self ());
  g_main_context_pop_thread_default (context);
  wait_or_fail (op);
  return NULL;
}

static void
test_threads (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageOperation) seal = advance (f, 1);
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("wait", wait_in_own_context, i % 2 == 0 ? write : seal);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

/* What nobody holds or waits for runs all the same. */
static void
test_dropped (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageRead) read = NULL;
  g_autoptr (OvstageReadGroup) group = NULL;

  g_object_unref (write_filled (f, 1));
  g_object_unref (advance (f, 1));
  read = read_at (f, 1);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  assert_filled (group, 1);
}

static void
test_outlives_stage (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) write = write_filled (f, 1);
  g_autoptr (OvstageOperation) seal = advance (f, 1);
  g_autoptr (OvstageRead) read = read_at (f, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageReadGroup) group = NULL;
  Outcome outcome = { 0 };

  ovstage_operation_wait_async (seal, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  tear_down (f, NULL);
  spin_until_called (&outcome);
  if (!outcome.ok)
    g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_clear_error (&outcome.error);
  wait_or_fail (write);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  if (group != NULL)
    assert_filled (group, 1);
  else
    g_assert_nonnull (error);
}

typedef struct
{
  GThread *thread; /* (atomic) that destroyed */
  OvstageOperation *op;
  OvstageError code;
  gint destroyed; /* (atomic) */
} Deleter;

static void
wait_in_deleter_cb (gpointer user_data)
{
  Deleter *deleter = user_data;
  g_autoptr (GError) error = NULL;

  if (!ovstage_operation_is_done (deleter->op)
      && !ovstage_operation_wait (deleter->op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error))
    deleter->code = error->code;
  deleter->thread = g_thread_self ();
  g_atomic_int_set (&deleter->destroyed, TRUE);
}

/* ENGINE 21: a destroy notify may run in a thread of the stage, which must not block. */
static void
test_wait_in_deleter (Fixture *f, gconstpointer unused)
{
  g_autofree float *values = g_new0 (float, N_BIG * N_LANES);
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float32x64", NULL);
  gint64 shape[] = { N_BIG };
  Deleter deleter = { 0 };
  OvstageTensor *tensor;
  OvstageWriteData *data;
  g_autoptr (OvstageOperation) first = NULL;
  g_autoptr (OvstageOperation) write = NULL;

  tensor = ovstage_tensor_new_take (values, 1, 0, dtype, shape, 1, NULL, wait_in_deleter_cb, &deleter, NULL);
  data = ovstage_write_data_new (tensor);
  ovstage_tensor_unref (tensor);
  first = ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  write = write_filled (f, 2);
  deleter.op = write;
  ovstage_write_data_unref (data);
  wait_or_fail (first);
  wait_or_fail (write);
  while (!g_atomic_int_get (&deleter.destroyed))
    g_usleep (100);
  if (deleter.thread == g_thread_self ())
    g_assert_cmpint (deleter.code, ==, 0);
  else if (deleter.code != 0)
    g_assert_cmpint (deleter.code, ==, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

/* `targets/mainloop`: nothing blocks. */
typedef struct
{
  Fixture *f;
  GMainLoop *loop;
  guint64 ordinal;
} App;

static void
app_fetched_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  App *app = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageReadGroup) group = ovstage_read_fetch_next_finish (OVSTAGE_READ (source), result, &error);

  g_assert_no_error (error);
  assert_filled (group, app->ordinal);
  g_main_loop_quit (app->loop);
}

static void
app_sealed_cb (OvstageStage *stage, guint64 ordinal, gpointer user_data)
{
  App *app = user_data;
  g_autoptr (OvstageRead) read = read_at (app->f, ordinal);

  app->ordinal = ordinal;
  ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, app_fetched_cb, app);
}

static void
app_written_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  App *app = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageOperation) seal = NULL;

  ovstage_operation_wait_finish (OVSTAGE_OPERATION (source), result, &error);
  g_assert_no_error (error);
  seal = advance (app->f, 1);
}

static void
test_main_loop (Fixture *f, gconstpointer unused)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (OvstageOperation) write = NULL;
  App app = { f, loop, 0 };

  g_signal_connect (f->stage, "sealed", G_CALLBACK (app_sealed_cb), &app);
  write = write_filled (f, 1);
  ovstage_operation_wait_async (write, G_PRIORITY_DEFAULT, NULL, app_written_cb, &app);
  g_main_loop_run (loop);
  g_assert_cmpuint (app.ordinal, ==, 1);
}

static void
test_finish_of_another (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageRead) read = read_at (f, 0);
  g_autoptr (GTask) task = g_task_new (read, NULL, NULL, NULL);

  g_task_return_boolean (task, TRUE);
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*g_task_get_source_tag*");
  g_assert_false (ovstage_operation_wait_finish (OVSTAGE_OPERATION (read), G_ASYNC_RESULT (task), NULL));
  g_test_assert_expected_messages ();
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*g_task_get_source_tag*");
  g_assert_null (ovstage_read_fetch_next_finish (read, G_ASYNC_RESULT (task), NULL));
  g_test_assert_expected_messages ();
  g_assert_true (g_task_propagate_boolean (task, NULL));
}

#define ADD(name, n_prims, func) \
  g_test_add ("/operation/" name, Fixture, GSIZE_TO_POINTER (n_prims), set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("ids", 8, test_ids);
  ADD ("small-is-done", 8, test_small_is_done);
  ADD ("error-lasts", 8, test_error_lasts);
  ADD ("pipeline/small", 8, test_pipeline);
  ADD ("pipeline/big", N_BIG, test_pipeline);
  ADD ("timeout", N_BIG, test_timeout);
  ADD ("wait-async/small", 8, test_wait_async);
  ADD ("wait-async/big", N_BIG, test_wait_async);
  ADD ("fetch-async/small", 8, test_fetch_async);
  ADD ("fetch-async/big", N_BIG, test_fetch_async);
  ADD ("fetch-failed", 8, test_fetch_failed);
  ADD ("cancel-wait", N_BIG, test_cancel_wait);
  ADD ("withdraw", N_BIG, test_withdraw);
  ADD ("threads", N_BIG, test_threads);
  ADD ("dropped", N_BIG, test_dropped);
  ADD ("outlives-stage", N_BIG, test_outlives_stage);
  ADD ("wait-in-deleter", N_BIG, test_wait_in_deleter);
  ADD ("main-loop/small", 8, test_main_loop);
  ADD ("main-loop/big", N_BIG, test_main_loop);
  ADD ("finish-of-another", 8, test_finish_of_another);
  return g_test_run ();
}
