/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Watching attributes: what is told, when, where, and how it ends. */

#include <string.h>

#include "object-helpers.h"

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) of /A, /B, /C */
  OvstageQuery *other; /* (owned) of /D */
  OvstageToken a, b;
  OvstageWatch *watch; /* (owned) (nullable) */
  GString *told;       /* (owned) of each call "[...]", its groups */
  guint n_destroyed;
  gint n_counted;      /* (atomic) destroyed, in any thread */
  GThread *thread;     /* of the last call */
  gboolean cancels, drops, writes, iterates;
  guint64 next;
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  OvstagePathDictionary *dictionary;

  f->stage = ovstage_stage_new ("test");
  dictionary = ovstage_stage_get_path_dictionary (f->stage);
  f->query = query_or_fail (f->stage, (const char *const[]){ "/A", "/B", "/C", NULL });
  f->other = query_or_fail (f->stage, (const char *const[]){ "/D", NULL });
  f->a = ovstage_path_dictionary_intern_token (dictionary, "a", &error);
  f->b = ovstage_path_dictionary_intern_token (dictionary, "b", &error);
  g_assert_no_error (error);
  f->told = g_string_new (NULL);
}

static void
turn (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->watch);
  g_clear_object (&f->query);
  g_clear_object (&f->other);
  g_clear_object (&f->stage);
  /* Who waits is told that it ended. */
  turn ();
  g_string_free (f->told, TRUE);
}

static void
write_value (Fixture *f, OvstageQuery *query, OvstageToken attribute, guint64 ordinal, float value)
{
  gint64 n = ovstage_query_get_prim_count (query);
  g_autofree float *values = g_new (float, n);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (OvstageWriteData) data = NULL;
  g_autoptr (OvstageOperation) op = NULL;
  g_autoptr (GError) error = NULL;

  for (gint64 i = 0; i < n; i++)
    values[i] = value;
  bytes = g_bytes_new (values, sizeof *values * n);
  tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, &n, 1, &error);
  g_assert_no_error (error);
  data = ovstage_write_data_new (tensor);
  op = ovstage_stage_write_attribute (f->stage, query, attribute, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
}

static void
seal_scope (Fixture *f, guint64 ordinal, OvstageScope scope, const OvstageToken *attributes, gsize n)
{
  g_autoptr (OvstageOperation) op = ovstage_stage_advance_write_floor (f->stage, ordinal, scope, attributes, n);
  g_autoptr (GError) error = NULL;

  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
}

static void
seal (Fixture *f, guint64 ordinal)
{
  seal_scope (f, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
}

static void
append_groups (Fixture *f, GPtrArray *groups)
{
  g_assert_cmpuint (groups->len, >, 0);
  f->thread = g_thread_self ();
  g_string_append_c (f->told, '[');
  for (guint i = 0; i < groups->len; i++)
    {
      OvstageReadGroup *group = groups->pdata[i];
      OvstageToken attribute = ovstage_read_group_get_attribute (group);

      g_string_append_printf (f->told, "%s%s%s@%" G_GUINT64_FORMAT " %u", i > 0 ? " " : "", ovstage_read_group_is_delete (group) ? "-" : "",
                              ovstage_path_dictionary_get_token_string (ovstage_stage_get_path_dictionary (f->stage), attribute),
                              ovstage_read_group_get_ordinal (group), ovstage_read_group_get_prim_count (group));
      if (!ovstage_read_group_is_delete (group))
        {
          g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (group, 0);
          g_autoptr (GBytes) bytes = ovstage_tensor_ref_bytes (tensor, NULL);

          g_string_append_printf (f->told, "=%g", ((const float *) g_bytes_get_data (bytes, NULL))[ovstage_read_group_data_row_index (group, 0)]);
        }
    }
  g_string_append_c (f->told, ']');
}

static void
changed_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  Fixture *f = user_data;

  g_assert_true (OVSTAGE_IS_WATCH (watch));
  append_groups (f, groups);
  if (f->cancels)
    ovstage_watch_cancel (watch);
  if (f->drops)
    g_clear_object (&f->watch);
  if (f->writes)
    {
      f->writes = FALSE;
      write_value (f, f->query, f->a, f->next, 50);
      seal (f, f->next);
    }
  if (f->iterates)
    {
      f->iterates = FALSE;
      write_value (f, f->query, f->a, f->next, 60);
      seal (f, f->next);
      turn ();
      g_string_append_c (f->told, ';');
    }
}

static void
destroyed_cb (gpointer user_data)
{
  ((Fixture *) user_data)->n_destroyed++;
}

static void
count_cb (gpointer user_data)
{
  g_atomic_int_inc (&((Fixture *) user_data)->n_counted);
}

static OvstageWatch *
watch_or_fail (Fixture *f, OvstageQuery *query, const OvstageToken *attributes, gsize n)
{
  g_autoptr (GError) error = NULL;
  OvstageWatch *watch = ovstage_stage_watch (f->stage, query, attributes, n, changed_cb, f, destroyed_cb, &error);

  g_assert_no_error (error);
  g_assert_nonnull (watch);
  return watch;
}

static gboolean
late_cb (gpointer late)
{
  *(gboolean *) late = TRUE;
  return G_SOURCE_CONTINUE;
}

/* Reads may run on the stage's threads: what is to come may take a moment. */
static void
turn_until (Fixture *f, gsize length, guint64 cursor)
{
  gboolean late = FALSE;
  guint timeout = g_timeout_add_seconds (20, late_cb, &late);

  while (!late && (f->told->len < length || (f->watch != NULL && ovstage_watch_get_cursor (f->watch) < cursor)))
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (timeout);
  turn ();
}

static void
assert_told (Fixture *f, const char *expected)
{
  turn_until (f, strlen (expected), 0);
  g_assert_cmpstr (f->told->str, ==, expected);
  g_string_truncate (f->told, 0);
}

static void
assert_cursor (Fixture *f, guint64 expected)
{
  turn_until (f, 0, expected);
  g_assert_cmpuint (ovstage_watch_get_cursor (f->watch), ==, expected);
}

#define both (OvstageToken[]){ f->a, f->b }, 2

/* Nothing of what was there, then each seal that changes something selected. */
static void
test_changes (Fixture *f, gconstpointer unused)
{
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  f->watch = watch_or_fail (f, f->query, both);
  assert_cursor (f, 1);
  assert_told (f, "");
  write_value (f, f->query, f->a, 2, 2);
  assert_told (f, "");
  seal (f, 2);
  assert_told (f, "[a@2 3=2]");
  assert_cursor (f, 2);
  write_value (f, f->query, f->b, 3, 3);
  write_value (f, f->query, f->a, 3, 4);
  seal (f, 3);
  assert_told (f, "[a@3 3=4 b@3 3=3]");
  g_assert_true (f->thread == g_thread_self ());
}

static void
test_nothing_selected (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  write_value (f, f->other, f->a, 1, 1);
  write_value (f, f->query, f->b, 1, 1);
  seal (f, 1);
  seal (f, 2);
  assert_told (f, "");
  assert_cursor (f, 2);
}

static void
test_deletes (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) op = NULL;

  f->watch = watch_or_fail (f, f->query, both);
  write_value (f, f->query, f->a, 1, 1);
  write_value (f, f->query, f->b, 1, 2);
  seal (f, 1);
  assert_told (f, "[a@1 3=1 b@1 3=2]");
  op = ovstage_stage_delete_attributes (f->stage, f->query, &f->b, 1, 2);
  seal (f, 2);
  assert_told (f, "[-b@2 3]");
}

/* One call for all that was missed. */
static void
test_slow (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  for (guint64 ordinal = 1; ordinal <= 100; ordinal++)
    {
      write_value (f, f->query, f->a, ordinal, (float) ordinal);
      seal (f, ordinal);
    }
  assert_told (f, "[a@100 3=100]");
  write_value (f, f->query, f->a, 101, 7);
  seal (f, 101);
  assert_told (f, "[a@101 3=7]");
}

/* Attributes that are sealed apart are told once each. */
static void
test_scopes (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, both);
  write_value (f, f->query, f->a, 5, 1);
  write_value (f, f->query, f->b, 3, 2);
  seal_scope (f, 5, OVSTAGE_SCOPE_INCLUDE, &f->a, 1);
  assert_told (f, "[a@5 3=1]");
  assert_cursor (f, 0);
  seal_scope (f, 4, OVSTAGE_SCOPE_INCLUDE, &f->b, 1);
  assert_told (f, "[b@3 3=2]");
  assert_cursor (f, 4);
  write_value (f, f->query, f->a, 8, 3);
  write_value (f, f->query, f->b, 6, 4);
  seal (f, 8);
  assert_told (f, "[a@8 3=3 b@6 3=4]");
}

/* Within the callback. */
static void
test_cancel (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  f->cancels = TRUE;
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "[a@1 3=1]");
  g_assert_cmpuint (f->n_destroyed, ==, 1);
  write_value (f, f->query, f->a, 2, 1);
  seal (f, 2);
  ovstage_watch_cancel (f->watch);
  assert_told (f, "");
  g_clear_object (&f->watch);
  g_assert_cmpuint (f->n_destroyed, ==, 1);
}

/* A call that was due is not made. */
static void
test_cancel_due (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  ovstage_watch_cancel (f->watch);
  g_assert_cmpuint (f->n_destroyed, ==, 1);
  assert_told (f, "");
}

static void
test_drop (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  f->drops = TRUE;
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "[a@1 3=1]");
  g_assert_null (f->watch);
  g_assert_cmpuint (f->n_destroyed, ==, 1);
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  write_value (f, f->query, f->a, 2, 1);
  seal (f, 2);
  g_clear_object (&f->watch);
  g_assert_cmpuint (f->n_destroyed, ==, 2);
  assert_told (f, "");
}

/* The callback writes and seals: it is called again. */
static void
test_writes (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  f->writes = TRUE;
  f->next = 2;
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "[a@1 3=1][a@2 3=50]");
}

/* It turns the main context: no call within the call. */
static void
test_iterates (Fixture *f, gconstpointer unused)
{
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  f->iterates = TRUE;
  f->next = 2;
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "[a@1 3=1];[a@2 3=60]");
}

static void
test_stage_gone (Fixture *f, gconstpointer unused)
{
  OvstageStage *weak = f->stage;

  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  g_object_add_weak_pointer ((GObject *) weak, (gpointer *) &weak);
  g_clear_object (&f->stage);
  g_assert_null (weak);
  assert_told (f, "");
  assert_cursor (f, 0);
}

typedef struct
{
  Fixture *f;
  GMainLoop *loop;
  gint ready; /* (atomic) */
} Elsewhere;

static void
quit_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  Elsewhere *elsewhere = user_data;

  changed_cb (watch, groups, elsewhere->f);
  g_main_loop_quit (elsewhere->loop);
}

static gpointer
run_elsewhere (gpointer data)
{
  Elsewhere *elsewhere = data;
  GMainContext *context = g_main_context_new ();
  g_autoptr (OvstageWatch) watch = NULL;
  g_autoptr (GError) error = NULL;

  g_main_context_push_thread_default (context);
  elsewhere->loop = g_main_loop_new (context, FALSE);
  watch = ovstage_stage_watch (elsewhere->f->stage, elsewhere->f->query, &elsewhere->f->a, 1, quit_cb, elsewhere, NULL, &error);
  g_assert_no_error (error);
  g_atomic_int_set (&elsewhere->ready, TRUE);
  g_main_loop_run (elsewhere->loop);
  g_clear_object (&watch);
  g_main_loop_unref (elsewhere->loop);
  g_main_context_pop_thread_default (context);
  g_main_context_unref (context);
  return NULL;
}

/* The context is that of the thread that made the watch. */
static void
test_other_context (Fixture *f, gconstpointer unused)
{
  Elsewhere elsewhere = { f, NULL, FALSE };
  GThread *thread = g_thread_new ("elsewhere", run_elsewhere, &elsewhere);

  while (!g_atomic_int_get (&elsewhere.ready))
    g_thread_yield ();
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  g_thread_join (thread);
  g_assert_true (f->thread == thread);
  assert_told (f, "[a@1 3=1]");
}

static void
test_refused (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("other");
  g_autoptr (GError) error = NULL;
  OvstageToken wrong = 12345, active = ovstage_path_dictionary_intern_token (ovstage_stage_get_path_dictionary (f->stage), "usd-active", NULL);

  g_assert_null (ovstage_stage_watch (stage, f->query, NULL, 0, changed_cb, f, destroyed_cb, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  g_clear_error (&error);
  g_assert_null (ovstage_stage_watch (f->stage, f->query, &wrong, 1, changed_cb, f, destroyed_cb, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  g_clear_error (&error);
  g_assert_null (ovstage_stage_watch (f->stage, f->query, (OvstageToken[]){ f->a, active }, 2, changed_cb, f, destroyed_cb, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "attributes[1]: 'usd-active'"));
  g_clear_error (&error);
  g_object_run_dispose ((GObject *) f->stage);
  g_assert_null (ovstage_stage_watch (f->stage, f->query, &f->a, 1, changed_cb, f, destroyed_cb, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  g_assert_cmpuint (f->n_destroyed, ==, 0);
}

/* An attribute twice is told once; none is nothing; what is built in never changes. */
static void
test_attributes (Fixture *f, gconstpointer unused)
{
  OvstageToken path = ovstage_path_dictionary_intern_token (ovstage_stage_get_path_dictionary (f->stage), "usd-path", NULL);
  g_autoptr (OvstageWatch) none = watch_or_fail (f, f->query, NULL, 0);

  f->watch = watch_or_fail (f, f->query, (OvstageToken[]){ f->a, path, f->a }, 3);
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "[a@1 3=1]");
  assert_cursor (f, 1);
}

/* Of a watch that is asked: "[...]" or "end" or what went wrong. */
static void
next_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Fixture *f = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) groups = ovstage_watch_next_finish ((OvstageWatch *) source, result, &error);

  if (groups != NULL)
    append_groups (f, groups);
  else
    g_string_append (f->told, error == NULL ? "end;" : g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? "cancelled;" :
                     g_error_matches (error, G_IO_ERROR, G_IO_ERROR_PENDING) ? "pending;" :
                     g_error_matches (error, OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_SUPPORTED) ? "callback;" : error->message);
  if (f->iterates && groups != NULL)
    ovstage_watch_next_async ((OvstageWatch *) source, G_PRIORITY_DEFAULT, NULL, next_cb, f);
}

static void
ask (Fixture *f, GCancellable *cancellable)
{
  ovstage_watch_next_async (f->watch, G_PRIORITY_DEFAULT, cancellable, next_cb, f);
}

static void
asked_or_fail (Fixture *f, const OvstageToken *attributes, gsize n)
{
  g_autoptr (GError) error = NULL;

  f->watch = ovstage_stage_watch (f->stage, f->query, attributes, n, NULL, f, destroyed_cb, &error);
  g_assert_no_error (error);
  g_assert_nonnull (f->watch);
}

static void
test_next (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOperation) op = NULL;

  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  asked_or_fail (f, both);
  ask (f, NULL);
  assert_told (f, "");
  write_value (f, f->other, f->a, 2, 2);
  seal (f, 2);
  assert_told (f, "");
  assert_cursor (f, 2);
  write_value (f, f->query, f->a, 3, 2);
  assert_told (f, "");
  seal (f, 3);
  assert_told (f, "[a@3 3=2]");
  op = ovstage_stage_delete_attributes (f->stage, f->query, &f->a, 1, 4);
  seal (f, 4);
  assert_told (f, "");
  ask (f, NULL);
  assert_told (f, "[-a@4 3]");
}

/* Nothing is made of what nobody asks for, and one list of it then. */
static void
test_next_slow (Fixture *f, gconstpointer unused)
{
  asked_or_fail (f, &f->a, 1);
  for (guint64 ordinal = 1; ordinal <= 100; ordinal++)
    {
      write_value (f, f->query, f->a, ordinal, (float) ordinal);
      seal (f, ordinal);
    }
  assert_cursor (f, 0);
  f->iterates = TRUE;
  ask (f, NULL);
  assert_told (f, "[a@100 3=100]");
  write_value (f, f->query, f->a, 101, 7);
  seal (f, 101);
  assert_told (f, "[a@101 3=7]");
  ovstage_watch_cancel (f->watch);
  assert_told (f, "end;");
}

static void
test_next_scopes (Fixture *f, gconstpointer unused)
{
  asked_or_fail (f, both);
  f->iterates = TRUE;
  ask (f, NULL);
  write_value (f, f->query, f->a, 5, 1);
  write_value (f, f->query, f->b, 3, 2);
  seal_scope (f, 5, OVSTAGE_SCOPE_INCLUDE, &f->a, 1);
  assert_told (f, "[a@5 3=1]");
  seal_scope (f, 4, OVSTAGE_SCOPE_INCLUDE, &f->b, 1);
  assert_told (f, "[b@3 3=2]");
}

/* What a cancelled wait would have given is for the next. */
static void
test_next_cancelled (Fixture *f, gconstpointer unused)
{
  g_autoptr (GCancellable) before = g_cancellable_new (), during = g_cancellable_new (), after = g_cancellable_new ();

  asked_or_fail (f, &f->a, 1);
  g_cancellable_cancel (before);
  ask (f, before);
  assert_told (f, "cancelled;");
  ask (f, during);
  turn ();
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  g_cancellable_cancel (during);
  assert_told (f, "cancelled;");
  ask (f, after);
  assert_told (f, "[a@1 3=1]");
  g_cancellable_cancel (after);
  assert_told (f, "");
}

static void
test_next_pending (Fixture *f, gconstpointer unused)
{
  asked_or_fail (f, &f->a, 1);
  ask (f, NULL);
  ask (f, NULL);
  assert_told (f, "pending;");
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "[a@1 3=1]");
  g_clear_object (&f->watch);
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  ask (f, NULL);
  assert_told (f, "callback;");
}

static void
test_next_ends (Fixture *f, gconstpointer unused)
{
  OvstageWatch *watch;

  asked_or_fail (f, &f->a, 1);
  ask (f, NULL);
  turn ();
  ovstage_watch_cancel (f->watch);
  g_assert_cmpuint (f->n_destroyed, ==, 1);
  ask (f, NULL);
  assert_told (f, "end;end;");
  g_clear_object (&f->watch);

  /* Who waits keeps the watch, not the stage. */
  asked_or_fail (f, NULL, 0);
  ask (f, NULL);
  watch = f->watch;
  g_object_add_weak_pointer ((GObject *) watch, (gpointer *) &watch);
  g_clear_object (&f->watch);
  turn ();
  g_assert_nonnull (watch);
  g_clear_object (&f->stage);
  assert_told (f, "end;");
  g_assert_null (watch);
}

static void
test_next_no_callback (Fixture *f, gconstpointer unused)
{
  asked_or_fail (f, &f->a, 1);
  ovstage_watch_next_async (f->watch, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  turn ();
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "");
  assert_cursor (f, 1);
}

/* Writers in threads, and waits that are cancelled from another: each value comes, in order, the last one too. */
typedef struct
{
  Fixture *f;
  gint done; /* (atomic) */
  GCancellable *cancellable; /* (atomic) of the wait at hand */
  gint n_made; /* (atomic) */
} Race;

#define N_RACE 300

static gpointer
seal_many (gpointer data)
{
  Race *race = data;

  for (guint64 ordinal = 1; ordinal <= N_RACE; ordinal++)
    {
      write_value (race->f, race->f->query, race->f->a, ordinal, (float) ordinal);
      seal (race->f, ordinal);
    }
  g_atomic_int_set (&race->done, TRUE);
  return NULL;
}

static gpointer
cancel_many (gpointer data)
{
  Race *race = data;

  while (!g_atomic_int_get (&race->done))
    {
      GCancellable *cancellable = g_atomic_pointer_exchange (&race->cancellable, NULL);

      if (cancellable != NULL)
        {
          g_cancellable_cancel (cancellable);
          g_object_unref (cancellable);
        }
      g_thread_yield ();
    }
  return NULL;
}

/* The callback lets go of the stage: its other watches end, and the groups are still there. */
static void
drop_stage_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  Fixture *f = user_data;
  g_autoptr (OvstageTensor) tensor = NULL;

  g_clear_object (&f->query);
  g_clear_object (&f->other);
  g_clear_object (&f->stage);
  g_clear_object (&f->watch);
  tensor = ovstage_read_group_ref_tensor (groups->pdata[0], 0);
  g_assert_cmpint (ovstage_tensor_get_shape (tensor, NULL)[0], ==, 3);
  g_string_append (f->told, "dropped;");
}

static void
test_drops_stage (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageWatch) later = NULL;
  g_autoptr (GError) error = NULL;

  f->watch = ovstage_stage_watch (f->stage, f->query, &f->a, 1, drop_stage_cb, f, destroyed_cb, &error);
  g_assert_no_error (error);
  later = ovstage_stage_watch (f->stage, f->query, &f->a, 1, drop_stage_cb, f, destroyed_cb, &error);
  g_assert_no_error (error);
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  assert_told (f, "dropped;");
  g_assert_cmpuint (f->n_destroyed, ==, 1);
  g_clear_object (&later);
  g_assert_cmpuint (f->n_destroyed, ==, 2);
}

/* Of two that are due the first ends the other. */
static void
cancel_other_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  OvstageWatch **both_watches = user_data;

  for (guint i = 0; i < 2; i++)
    if (both_watches[i] != watch)
      ovstage_watch_cancel (both_watches[i]);
  both_watches[2] = watch;
}

static void
test_cancels_other (Fixture *f, gconstpointer unused)
{
  OvstageWatch *watches[3] = { NULL };

  for (guint i = 0; i < 2; i++)
    watches[i] = ovstage_stage_watch (f->stage, f->query, &f->a, 1, cancel_other_cb, watches, NULL, NULL);
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  while (watches[2] == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (watches[2] == watches[0] || watches[2] == watches[1]);
  write_value (f, f->query, f->a, 2, 1);
  seal (f, 2);
  turn ();
  g_object_unref (watches[0]);
  g_object_unref (watches[1]);
}

/* What became of a prim in the end, however often it went and came back in between. */
static void
test_back_and_forth (Fixture *f, gconstpointer unused)
{
  write_value (f, f->query, f->a, 1, 1);
  seal (f, 1);
  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  for (guint64 ordinal = 2; ordinal <= 5; ordinal++)
    {
      g_autoptr (OvstageOperation) op = NULL;

      if (ordinal % 2 == 1)
        write_value (f, f->query, f->a, ordinal, (float) ordinal);
      else
        op = ovstage_stage_delete_attributes (f->stage, f->query, &f->a, 1, ordinal);
      seal (f, ordinal);
      if (ordinal == 4)
        assert_told (f, "[-a@4 3]");
    }
  assert_told (f, "[a@5 3=5]");
}

static void
nothing_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
}

static gpointer
make_many (gpointer data)
{
  Race *race = data;

  while (!g_atomic_int_get (&race->done))
    {
      g_autoptr (OvstageWatch) watch = ovstage_stage_watch (race->f->stage, race->f->query, &race->f->a, 1, nothing_cb, race->f,
                                                            count_cb, NULL);

      g_assert_nonnull (watch);
      g_atomic_int_inc (&race->n_made);
      g_thread_yield ();
    }
  return NULL;
}

/* A thread without a context of its own makes watches for the default one, which is turned meanwhile. */
static void
test_made_elsewhere (Fixture *f, gconstpointer unused)
{
  Race race = { f, FALSE, NULL, 0 };
  GThread *sealer = g_thread_new ("sealer", seal_many, &race);
  GThread *maker = g_thread_new ("maker", make_many, &race);

  while (!g_atomic_int_get (&race.done))
    g_main_context_iteration (NULL, FALSE);
  g_thread_join (sealer);
  g_thread_join (maker);
  turn ();
  g_assert_cmpint (g_atomic_int_get (&f->n_counted), ==, race.n_made);
}

/* The last one is told, also if the read of an earlier one takes its time. */
static void
test_threads (Fixture *f, gconstpointer unused)
{
  Race race = { f, FALSE, NULL, 0 };
  GThread *sealer;

  f->watch = watch_or_fail (f, f->query, &f->a, 1);
  sealer = g_thread_new ("sealer", seal_many, &race);
  while (!g_str_has_suffix (f->told->str, "[a@300 3=300]"))
    g_main_context_iteration (NULL, TRUE);
  g_thread_join (sealer);
}

static void
result_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

static void
test_next_threads (Fixture *f, gconstpointer unused)
{
  Race race = { f, FALSE, NULL, 0 };
  GThread *sealer, *canceller;
  guint64 last = 0;

  asked_or_fail (f, &f->a, 1);
  sealer = g_thread_new ("sealer", seal_many, &race);
  canceller = g_thread_new ("canceller", cancel_many, &race);
  for (guint i = 0; last < N_RACE; i++)
    {
      GMainContext *context = g_main_context_new ();
      GCancellable *cancellable = g_cancellable_new (), *old;
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GPtrArray) groups = NULL;
      g_autoptr (GError) error = NULL;

      /* Each wait in a context of its own. */
      g_main_context_push_thread_default (context);
      ovstage_watch_next_async (f->watch, G_PRIORITY_DEFAULT, cancellable, result_cb, &result);
      old = g_atomic_pointer_exchange (&race.cancellable, cancellable);
      g_clear_object (&old);
      while (result == NULL)
        g_main_context_iteration (context, TRUE);
      groups = ovstage_watch_next_finish (f->watch, result, &error);
      if (groups == NULL)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      else
        {
          g_assert_cmpuint (groups->len, ==, 1);
          g_assert_cmpuint (ovstage_read_group_get_ordinal (groups->pdata[0]), >, last);
          last = ovstage_read_group_get_ordinal (groups->pdata[0]);
        }
      g_main_context_pop_thread_default (context);
      g_main_context_unref (context);
    }
  g_thread_join (sealer);
  g_thread_join (canceller);
  g_clear_object (&race.cancellable);
}

/* Askers that come in each other's way, each in a context of its own, and waits that are cancelled while they are looked after. */
static gpointer
ask_many (gpointer data)
{
  Race *race = data;
  GMainContext *context = g_main_context_new ();
  gboolean ended = FALSE;

  g_main_context_push_thread_default (context);
  while (!ended)
    {
      GCancellable *cancellable = g_cancellable_new (), *old;
      g_autoptr (GAsyncResult) result = NULL;
      g_autoptr (GPtrArray) groups = NULL;
      g_autoptr (GError) error = NULL;

      ovstage_watch_next_async (race->f->watch, G_PRIORITY_DEFAULT, cancellable, result_cb, &result);
      old = g_atomic_pointer_exchange (&race->cancellable, cancellable);
      g_clear_object (&old);
      while (result == NULL)
        g_main_context_iteration (context, TRUE);
      groups = ovstage_watch_next_finish (race->f->watch, result, &error);
      if (groups != NULL)
        g_atomic_int_set (&race->n_made, (gint) ovstage_read_group_get_ordinal (groups->pdata[0]));
      else if (error != NULL)
        g_assert_true (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || g_error_matches (error, G_IO_ERROR, G_IO_ERROR_PENDING));
      else
        ended = TRUE;
    }
  g_main_context_pop_thread_default (context);
  g_main_context_unref (context);
  return NULL;
}

static void
test_next_askers (Fixture *f, gconstpointer unused)
{
  Race race = { f, FALSE, g_cancellable_new (), 0 };
  GThread *sealer, *canceller, *askers[3];

  asked_or_fail (f, &f->a, 1);
  for (guint i = 0; i < G_N_ELEMENTS (askers); i++)
    askers[i] = g_thread_new ("asker", ask_many, &race);
  sealer = g_thread_new ("sealer", seal_many, &race);
  canceller = g_thread_new ("canceller", cancel_many, &race);
  g_thread_join (sealer);
  g_thread_join (canceller);
  while (g_atomic_int_get (&race.n_made) != N_RACE)
    g_thread_yield ();
  ovstage_watch_cancel (f->watch);
  for (guint i = 0; i < G_N_ELEMENTS (askers); i++)
    g_thread_join (askers[i]);
  g_clear_object (&race.cancellable);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)
  ADD ("/watch/changes", test_changes);
  ADD ("/watch/nothing-selected", test_nothing_selected);
  ADD ("/watch/deletes", test_deletes);
  ADD ("/watch/slow", test_slow);
  ADD ("/watch/scopes", test_scopes);
  ADD ("/watch/cancel", test_cancel);
  ADD ("/watch/cancel-due", test_cancel_due);
  ADD ("/watch/drop", test_drop);
  ADD ("/watch/writes", test_writes);
  ADD ("/watch/iterates", test_iterates);
  ADD ("/watch/stage-gone", test_stage_gone);
  ADD ("/watch/other-context", test_other_context);
  ADD ("/watch/refused", test_refused);
  ADD ("/watch/attributes", test_attributes);
  ADD ("/watch/drops-stage", test_drops_stage);
  ADD ("/watch/cancels-other", test_cancels_other);
  ADD ("/watch/back-and-forth", test_back_and_forth);
  ADD ("/watch/made-elsewhere", test_made_elsewhere);
  ADD ("/watch/threads", test_threads);
  ADD ("/watch/next/changes", test_next);
  ADD ("/watch/next/slow", test_next_slow);
  ADD ("/watch/next/scopes", test_next_scopes);
  ADD ("/watch/next/cancelled", test_next_cancelled);
  ADD ("/watch/next/pending", test_next_pending);
  ADD ("/watch/next/ends", test_next_ends);
  ADD ("/watch/next/no-callback", test_next_no_callback);
  ADD ("/watch/next/threads", test_next_threads);
  ADD ("/watch/next/askers", test_next_askers);
#undef ADD
  return g_test_run ();
}
