/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The stage through the public API: properties, floors, what is refused, the
 * signal, and how it ends. */

#include <sys/wait.h>
#include <unistd.h>

#include <ovstage/ovstage.h>

/* 32 MiB: more than a call moves by itself. */
#define N_BIG (32 * 1024)
#define N_BIG_LANES 128

typedef struct
{
  OvstageStage *stage;               /* (owned) (nullable) */
  OvstagePathDictionary *dictionary; /* (owned) */
  OvstagePathList *list;             /* (owned) three paths */
  OvstageQuery *query;               /* (owned) over list */
  OvstageToken mass;
  OvstageToken speed;
} Fixture;

static const char *const paths[] = { "/W/A", "/W/B", "/W/C", NULL };

/* ---- helpers ---- */

static void
set_up_stage (Fixture *f, OvstageStage *stage)
{
  g_autoptr (GError) error = NULL;

  f->stage = stage;
  f->dictionary = g_object_ref (ovstage_stage_get_path_dictionary (stage));
  f->list = ovstage_path_dictionary_create_path_list (f->dictionary, paths, &error);
  g_assert_no_error (error);
  f->query = ovstage_stage_query_path_list (stage, f->list);
  f->mass = ovstage_path_dictionary_intern_token (f->dictionary, "mass", &error);
  f->speed = ovstage_path_dictionary_intern_token (f->dictionary, "speed", &error);
  g_assert_no_error (error);
}

static void
set_up (Fixture *f, gconstpointer unused)
{
  set_up_stage (f, ovstage_stage_new ("test"));
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_pointer (&f->list, ovstage_path_list_unref);
  g_clear_object (&f->dictionary);
  g_clear_object (&f->stage);
}

static OvstageWriteData *
data_for (const float *values, gsize n)
{
  gint64 shape[] = { n };
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float32", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (values, n * sizeof *values);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, dtype, shape, 1, &error);

  g_assert_no_error (error);
  return ovstage_write_data_new (tensor);
}

/* Three rows: first, first + 1, first + 2. */
static OvstageOperation *
write_from (Fixture *f, OvstageToken attribute, guint64 ordinal, float first)
{
  const float values[] = { first, first + 1, first + 2 };
  g_autoptr (OvstageWriteData) data = data_for (values, G_N_ELEMENTS (values));

  return ovstage_stage_write_attribute (f->stage, f->query, attribute, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
}

/* Ends @op, which was expected to go well. */
static void
take_well (OvstageOperation *op)
{
  g_autoptr (GError) error = NULL;

  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
  g_object_unref (op);
}

static void
take_failed (gpointer op, OvstageError code)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, (int) code);
  g_assert_cmpstr (error->message, !=, "");
  g_object_unref (op);
}

static OvstageOperation *
advance (Fixture *f, guint64 ordinal)
{
  return ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
}

static OvstageRead *
read_at (Fixture *f, OvstageToken attribute, guint64 ordinal)
{
  return ovstage_stage_read_attributes (f->stage, f->query, &attribute, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
}

static float
first_value (OvstageReadGroup *group)
{
  g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (group, 0);
  g_autoptr (GBytes) bytes = ovstage_tensor_ref_bytes (tensor, NULL);

  return ((const float *) g_bytes_get_data (bytes, NULL))[ovstage_read_group_data_row_index (group, 0)];
}

static float
value_at (Fixture *f, OvstageToken attribute, guint64 ordinal)
{
  g_autoptr (OvstageRead) read = read_at (f, attribute, ordinal);
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageReadGroup) group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (group);
  return first_value (group);
}

static void
spin_dry (void)
{
  while (g_main_context_iteration (g_main_context_get_thread_default (), FALSE))
    ;
}

/* ---- properties ---- */

static void
test_defaults (void)
{
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("example");
  g_autofree char *name = NULL;
  guint depth, capacity;
  guint64 changes, staging, floor;

  g_object_get (stage, "name", &name, "history-depth", &depth, "queue-capacity", &capacity, "change-budget", &changes,
                "staging-budget", &staging, "write-floor", &floor, NULL);
  g_assert_cmpstr (name, ==, "example");
  g_assert_cmpuint (depth, ==, 1);
  g_assert_cmpuint (capacity, ==, 4096);
  g_assert_cmpuint (changes, ==, 0);
  g_assert_cmpuint (staging, ==, 0);
  g_assert_cmpuint (floor, ==, 0);
  g_assert_cmpuint (ovstage_stage_get_write_floor (stage), ==, 0);
  g_assert_cmpuint (ovstage_stage_get_value_frontier (stage), ==, 0);
}

static void
test_construct (void)
{
  g_autoptr (OvstageStage) stage =
    g_object_new (OVSTAGE_TYPE_STAGE, "history-depth", 4, "queue-capacity", 16, "change-budget", G_GUINT64_CONSTANT (1000),
                  "staging-budget", G_GUINT64_CONSTANT (2000), NULL);
  g_autofree char *name = NULL;
  guint depth, capacity;
  guint64 changes, staging;

  g_object_get (stage, "name", &name, "history-depth", &depth, "queue-capacity", &capacity, "change-budget", &changes,
                "staging-budget", &staging, NULL);
  g_assert_null (name);
  g_assert_cmpuint (depth, ==, 4);
  g_assert_cmpuint (capacity, ==, 16);
  g_assert_cmpuint (changes, ==, 1000);
  g_assert_cmpuint (staging, ==, 2000);
}

static void
test_dictionary_outlives_stage (void)
{
  OvstageStage *stage = ovstage_stage_new (NULL);
  g_autoptr (OvstagePathDictionary) dictionary = g_object_ref (ovstage_stage_get_path_dictionary (stage));
  OvstageToken token = ovstage_path_dictionary_intern_token (dictionary, "mass", NULL);

  g_object_unref (stage);
  g_assert_cmpuint (ovstage_path_dictionary_intern_token (dictionary, "mass", NULL), ==, token);
}

static void
test_history_depth (void)
{
  Fixture f = { 0 };

  set_up_stage (&f, g_object_new (OVSTAGE_TYPE_STAGE, "history-depth", 3, NULL));
  for (guint i = 1; i <= 5; i++)
    {
      take_well (write_from (&f, f.mass, i, 10.0f * i));
      take_well (advance (&f, i));
    }
  for (guint i = 3; i <= 5; i++)
    g_assert_cmpfloat (value_at (&f, f.mass, i), ==, 10.0f * i);
  take_failed (read_at (&f, f.mass, 2), OVSTAGE_ERROR_OUT_OF_RANGE);
  g_assert_cmpuint (ovstage_stage_get_value_frontier (f.stage), ==, 3);
  tear_down (&f, NULL);
}

static void
test_history_depth_default (Fixture *f, gconstpointer unused)
{
  for (guint i = 1; i <= 2; i++)
    {
      take_well (write_from (f, f->mass, i, 10.0f * i));
      take_well (advance (f, i));
    }
  g_assert_cmpfloat (value_at (f, f->mass, 2), ==, 20.0f);
  take_failed (read_at (f, f->mass, 1), OVSTAGE_ERROR_OUT_OF_RANGE);
}

/* BEHAVIOUR, W33. What a row takes is the stage's to say. */
static void
test_staging_budget (void)
{
  Fixture f = { 0 };
  guint64 ordinal = 1;
  OvstageOperation *op;

  set_up_stage (&f, g_object_new (OVSTAGE_TYPE_STAGE, "staging-budget", G_GUINT64_CONSTANT (1000), NULL));
  while (ovstage_operation_get_error (op = write_from (&f, f.mass, ordinal, 1.0f)) == NULL && ordinal <= 1000 / 12)
    {
      take_well (op);
      ordinal++;
    }
  g_assert_cmpuint (ordinal, >, 1);
  take_failed (op, OVSTAGE_ERROR_OUT_OF_MEMORY);
  take_well (advance (&f, ordinal));
  take_well (write_from (&f, f.mass, ordinal + 1, 1.0f));
  tear_down (&f, NULL);
}

/* ---- floors ---- */

static void
test_floor (Fixture *f, gconstpointer unused)
{
  guint64 floor;

  take_well (write_from (f, f->mass, 3, 1.0f));
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 0);
  take_well (advance (f, 3));
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 3);
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->mass), ==, 3);
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->speed), ==, 3);
  g_object_get (f->stage, "write-floor", &floor, NULL);
  g_assert_cmpuint (floor, ==, 3);
  take_well (advance (f, 2));
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 3);
}

static void
test_scopes (Fixture *f, gconstpointer unused)
{
  take_well (ovstage_stage_advance_write_floor (f->stage, 5, OVSTAGE_SCOPE_INCLUDE, &f->mass, 1));
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->mass), ==, 5);
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->speed), ==, 0);
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 0);

  take_well (ovstage_stage_advance_write_floor (f->stage, 7, OVSTAGE_SCOPE_EXCLUDE, &f->mass, 1));
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->mass), ==, 5);
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->speed), ==, 7);
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 5);

  take_well (advance (f, 8));
  g_assert_cmpuint (ovstage_stage_get_attribute_write_floor (f->stage, f->mass), ==, 8);
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 8);
}

static void
test_read_newest (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOrdinalRange) newest = ovstage_ordinal_range_newest ();
  g_autoptr (OvstageRead) read = NULL;
  g_autoptr (OvstageReadGroup) group = NULL;

  take_well (write_from (f, f->mass, 4, 40.0f));
  take_well (advance (f, 4));
  take_well (write_from (f, f->mass, 5, 50.0f));
  read = ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, newest, NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  g_assert_cmpfloat (first_value (group), ==, 40.0f);
  g_assert_cmpuint (ovstage_read_get_as_of (read), ==, 4);
}

/* ---- refused ---- */

static void
test_refused_floor (Fixture *f, gconstpointer unused)
{
  OvstageOperation *op;

  take_failed (write_from (f, f->mass, 0, 1.0f), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  take_well (advance (f, 2));
  op = write_from (f, f->mass, 2, 1.0f);
  g_assert_true (ovstage_operation_is_done (op));
  g_assert_cmpuint (ovstage_operation_get_id (op), ==, 0);
  take_failed (op, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  take_failed (write_from (f, f->mass, OVSTAGE_ORDINAL_NEWEST, 1.0f), OVSTAGE_ERROR_INVALID_ARGUMENT);
  take_failed (advance (f, OVSTAGE_ORDINAL_NEWEST), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_refused_enums (Fixture *f, gconstpointer unused)
{
  const float values[] = { 1.0f, 2.0f, 3.0f };
  g_autoptr (OvstageWriteData) data = data_for (values, 3);

  take_failed (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, (OvstagePrimMode) 99, NULL),
               OVSTAGE_ERROR_INVALID_ARGUMENT);
  take_failed (ovstage_stage_advance_write_floor (f->stage, 1, (OvstageScope) 99, NULL, 0), OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_refused_rows (Fixture *f, gconstpointer unused)
{
  const float values[] = { 1.0f, 2.0f };
  g_autoptr (OvstageWriteData) data = data_for (values, 2);

  take_failed (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL),
               OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_refused_prim_modes (Fixture *f, gconstpointer unused)
{
  const float values[] = { 1.0f, 2.0f, 3.0f };
  g_autoptr (OvstageWriteData) data = data_for (values, 3);

  take_failed (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPDATE, NULL),
               OVSTAGE_ERROR_NOT_FOUND);
  take_well (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_INSERT, NULL));
  take_failed (ovstage_stage_write_attribute (f->stage, f->query, f->speed, 1, data, OVSTAGE_PRIM_MODE_INSERT, NULL),
               OVSTAGE_ERROR_ALREADY_EXISTS);
}

static void
test_refused_handles (Fixture *f, gconstpointer unused)
{
  const float values[] = { 1.0f, 2.0f, 3.0f };
  g_autoptr (OvstageWriteData) data = data_for (values, 3);
  g_autoptr (OvstageStage) other = ovstage_stage_new ("other");
  g_autoptr (OvstageQuery) foreign = ovstage_stage_query_path_list (other, f->list);
  g_autoptr (OvstageQuery) orphan = g_object_new (OVSTAGE_TYPE_QUERY, NULL);

  g_assert_error (ovstage_operation_get_error (OVSTAGE_OPERATION (foreign)), OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  g_assert_cmpuint (ovstage_query_get_prim_count (foreign), ==, 0);
  g_assert_null (ovstage_query_ref_path_list (foreign));
  take_failed (ovstage_stage_write_attribute (other, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL),
               OVSTAGE_ERROR_INVALID_HANDLE);
  take_failed (ovstage_stage_read_attributes (other, f->query, NULL, 0, &OVSTAGE_ORDINAL_RANGE_LATEST (0), NULL),
               OVSTAGE_ERROR_INVALID_HANDLE);
  take_failed (ovstage_stage_write_attribute (f->stage, orphan, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL),
               OVSTAGE_ERROR_INVALID_HANDLE);
}

static void
test_placement (Fixture *f, gconstpointer unused)
{
  const float values[] = { 1.0f, 2.0f, 3.0f };
  g_autoptr (OvstageWriteData) data = data_for (values, 3);
  g_autoptr (OvstagePlacement) cpu = ovstage_placement_new (1, 0, 0, 0);
  g_autoptr (OvstagePlacement) cuda = ovstage_placement_new (2, 0, 0, 0);
  g_autoptr (OvstagePlacement) copy = ovstage_placement_copy (cuda);

  g_assert_cmpint (copy->device_type, ==, 2);
  take_well (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, cpu));
  take_failed (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, cuda),
               OVSTAGE_ERROR_NOT_SUPPORTED);
  take_failed (ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (0), cuda),
               OVSTAGE_ERROR_NOT_SUPPORTED);
}

static void
test_null (Fixture *f, gconstpointer unused)
{
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*data != NULL*");
  g_assert_null (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, NULL, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  g_test_assert_expected_messages ();
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_STAGE*");
  g_assert_cmpuint (ovstage_stage_get_write_floor (NULL), ==, 0);
  g_test_assert_expected_messages ();
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_QUERY*");
  g_assert_null (ovstage_stage_read_attributes (f->stage, NULL, NULL, 0, &OVSTAGE_ORDINAL_RANGE_LATEST (0), NULL));
  g_test_assert_expected_messages ();
}

/* ---- reads of nothing ---- */

static void
assert_no_groups (OvstageRead *read)
{
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 2; i++)
    {
      g_assert_null (ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
      g_assert_no_error (error);
    }
  g_object_unref (read);
}

static void
test_empty (Fixture *f, gconstpointer unused)
{
  static const char *const none[] = { NULL };
  g_autoptr (OvstagePathList) list = ovstage_path_dictionary_create_path_list (f->dictionary, none, NULL);
  g_autoptr (OvstageQuery) query = ovstage_stage_query_path_list (f->stage, list);
  const float value = 1.0f;
  g_autoptr (OvstageWriteData) data = data_for (&value, 0);

  g_assert_cmpuint (ovstage_query_get_prim_count (query), ==, 0);
  take_well (ovstage_stage_write_attribute (f->stage, query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  take_well (write_from (f, f->mass, 1, 1.0f));
  take_well (advance (f, 1));
  assert_no_groups (ovstage_stage_read_attributes (f->stage, query, &f->mass, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (1), NULL));
  assert_no_groups (ovstage_stage_read_attributes (f->stage, f->query, NULL, 0, &OVSTAGE_ORDINAL_RANGE_LATEST (1), NULL));
  assert_no_groups (read_at (f, f->speed, 1));
}

static void
test_query (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstagePathList) list = ovstage_query_ref_path_list (f->query);

  g_assert_true (ovstage_operation_is_done (OVSTAGE_OPERATION (f->query)));
  g_assert_cmpuint (ovstage_operation_get_id (OVSTAGE_OPERATION (f->query)), >, 0);
  g_assert_cmpuint (ovstage_query_get_prim_count (f->query), ==, 3);
  g_assert_true (list == f->list);
}

static void
test_trim (Fixture *f, gconstpointer unused)
{
  take_well (write_from (f, f->mass, 1, 10.0f));
  take_well (advance (f, 1));
  ovstage_stage_trim (f->stage);
  g_assert_cmpfloat (value_at (f, f->mass, 1), ==, 10.0f);
}

/* ---- signals ---- */

typedef struct
{
  Fixture *f;
  guint n_sealed;
  guint n_notified;
  guint64 ordinal;
  GThread *thread;
} Emissions;

static void
sealed_cb (OvstageStage *stage, guint64 ordinal, gpointer user_data)
{
  Emissions *emissions = user_data;

  g_assert_cmpuint (ordinal, >, emissions->ordinal);
  emissions->n_sealed++;
  emissions->ordinal = ordinal;
  emissions->thread = g_thread_self ();
}

static void
notify_cb (OvstageStage *stage, GParamSpec *pspec, gpointer user_data)
{
  Emissions *emissions = user_data;

  emissions->n_notified++;
}

static void
test_sealed (Fixture *f, gconstpointer unused)
{
  Emissions emissions = { 0 };

  g_signal_connect (f->stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  g_signal_connect (f->stage, "notify::write-floor", G_CALLBACK (notify_cb), &emissions);
  for (guint i = 1; i <= 10; i++)
    take_well (advance (f, i));
  g_assert_cmpuint (emissions.n_sealed, ==, 0);
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 1);
  g_assert_cmpuint (emissions.n_notified, ==, 1);
  g_assert_cmpuint (emissions.ordinal, ==, 10);
  take_well (advance (f, 10));
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 1);
}

static void
test_sealed_scoped (Fixture *f, gconstpointer unused)
{
  Emissions emissions = { 0 };

  g_signal_connect (f->stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  take_well (ovstage_stage_advance_write_floor (f->stage, 5, OVSTAGE_SCOPE_INCLUDE, &f->mass, 1));
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 0);
  take_well (ovstage_stage_advance_write_floor (f->stage, 7, OVSTAGE_SCOPE_EXCLUDE, &f->mass, 1));
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 1);
  g_assert_cmpuint (emissions.ordinal, ==, 5);
}

static void
test_notify_only (Fixture *f, gconstpointer unused)
{
  Emissions emissions = { 0 };

  g_signal_connect (f->stage, "notify::write-floor", G_CALLBACK (notify_cb), &emissions);
  take_well (advance (f, 1));
  spin_dry ();
  g_assert_cmpuint (emissions.n_notified, ==, 1);
}

static void
read_sealed_cb (OvstageStage *stage, guint64 ordinal, gpointer user_data)
{
  Emissions *emissions = user_data;

  g_assert_cmpfloat (value_at (emissions->f, emissions->f->mass, ordinal), ==, 10.0f * ordinal);
  sealed_cb (stage, ordinal, user_data);
}

static gpointer
produce (gpointer user_data)
{
  Fixture *f = user_data;

  for (guint64 ordinal = 1; ordinal <= 300; ordinal++)
    {
      take_well (write_from (f, f->mass, ordinal, 10.0f * ordinal));
      take_well (advance (f, ordinal));
    }
  return NULL;
}

/* ENGINE 3: what a handler was told of can be read, however fast the producer is, with no history kept. */
static void
test_sealed_pinned (Fixture *f, gconstpointer unused)
{
  Emissions emissions = { f, 0, 0, 0, NULL };
  GThread *thread;

  g_signal_connect (f->stage, "sealed", G_CALLBACK (read_sealed_cb), &emissions);
  thread = g_thread_new ("produce", produce, f);
  while (emissions.ordinal < 300)
    g_main_context_iteration (NULL, TRUE);
  g_thread_join (thread);
  g_assert_true (emissions.thread == g_thread_self ());
}

static void
test_sealed_own_context (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  Emissions emissions = { 0 };
  Fixture f = { 0 };

  g_main_context_push_thread_default (context);
  set_up (&f, NULL);
  g_main_context_pop_thread_default (context);
  g_signal_connect (f.stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  take_well (advance (&f, 1));
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 0);
  while (g_main_context_iteration (context, FALSE))
    ;
  g_assert_cmpuint (emissions.n_sealed, ==, 1);
  tear_down (&f, NULL);
}

static void
test_sealed_disposed (Fixture *f, gconstpointer unused)
{
  Emissions emissions = { 0 };

  g_signal_connect (f->stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  take_well (advance (f, 1));
  tear_down (f, NULL);
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 0);
}

/* ---- work in flight ---- */

static OvstageQuery *
big_query (Fixture *f)
{
  g_autofree OvstagePath *ids = g_new (OvstagePath, N_BIG);
  g_autoptr (OvstagePathList) list = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N_BIG; i++)
    {
      char path[32];

      g_snprintf (path, sizeof path, "/big/%u", i);
      ids[i] = ovstage_path_dictionary_intern_path (f->dictionary, path, NULL);
    }
  list = ovstage_path_dictionary_create_path_list_from_paths (f->dictionary, ids, N_BIG, &error);
  g_assert_no_error (error);
  return ovstage_stage_query_path_list (f->stage, list);
}

static OvstageWriteData *
big_data (void)
{
  gint64 shape[] = { N_BIG };
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float64x128", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (N_BIG * N_BIG_LANES * sizeof (double)),
                                             N_BIG * N_BIG_LANES * sizeof (double));
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, dtype, shape, 1, NULL);

  return ovstage_write_data_new (tensor);
}

static void
count_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  guint *n_calls = user_data;
  g_autoptr (GError) error = NULL;

  if (!ovstage_operation_wait_finish (OVSTAGE_OPERATION (source), result, &error))
    g_assert_nonnull (error);
  ++*n_calls;
}

/* BEHAVIOUR, Operations 4 and 5. */
static void
test_in_flight (void)
{
  Fixture f = { 0 };
  g_autoptr (OvstageQuery) query = NULL;
  g_autoptr (OvstageWriteData) data = NULL;
  g_autoptr (OvstageReadGroup) group = NULL;
  OvstageRead *read;
  guint n_waits = 0, n_calls = 0, n_full = 0;

  set_up_stage (&f, g_object_new (OVSTAGE_TYPE_STAGE, "queue-capacity", 4, NULL));
  take_well (write_from (&f, f.mass, 1, 10.0f));
  take_well (advance (&f, 1));
  read = read_at (&f, f.mass, 1);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  g_object_unref (read);

  query = big_query (&f);
  data = big_data ();
  for (guint i = 0; i < 12; i++)
    {
      g_autoptr (OvstageOperation) op =
        i % 3 != 2 ? ovstage_stage_write_attribute (f.stage, query, f.speed, 2 + i, data, OVSTAGE_PRIM_MODE_UPSERT, NULL)
                   : advance (&f, i);
      const GError *error = ovstage_operation_get_error (op);

      if (g_error_matches (error, OVSTAGE_ERROR, OVSTAGE_ERROR_QUEUE_FULL))
        n_full++;
      ovstage_operation_wait_async (op, G_PRIORITY_DEFAULT, NULL, count_cb, &n_calls);
      n_waits++;
    }
  g_assert_cmpuint (n_full, >, 0);
  tear_down (&f, NULL);
  while (n_calls < n_waits)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpfloat (first_value (group), ==, 10.0f);
  spin_dry ();
  g_assert_cmpuint (n_calls, ==, n_waits);
}

/* Requests after dispose are refused; the object is safe to use. */
static void
test_closed (Fixture *f, gconstpointer unused)
{
  OvstageOperation *op;

  take_well (write_from (f, f->mass, 1, 10.0f));
  g_object_run_dispose (G_OBJECT (f->stage));
  op = write_from (f, f->mass, 2, 10.0f);
  g_assert_nonnull (ovstage_operation_get_error (op));
  g_object_unref (op);
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 0);
  g_object_run_dispose (G_OBJECT (f->stage));
}

typedef struct
{
  Fixture *f;
  OvstageToken attribute;
} Producer;

static gpointer
produce_own (gpointer user_data)
{
  Producer *producer = user_data;
  Fixture *f = producer->f;

  for (guint64 ordinal = 1; ordinal <= 200; ordinal++)
    {
      take_well (write_from (f, producer->attribute, ordinal, ordinal));
      take_well (ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_INCLUDE, &producer->attribute, 1));
      g_assert_cmpfloat (value_at (f, producer->attribute, ordinal), ==, ordinal);
    }
  return NULL;
}

static void
test_threads (Fixture *f, gconstpointer unused)
{
  GThread *threads[3];
  Producer producers[3];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      g_autofree char *name = g_strdup_printf ("attribute%u", i);

      producers[i].f = f;
      producers[i].attribute = ovstage_path_dictionary_intern_token (f->dictionary, name, NULL);
      threads[i] = g_thread_new ("produce", produce_own, &producers[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

#ifndef __SANITIZE_THREAD__
/* A child of fork() has its own copy of an idle stage, and threads of its own for large work. */
static void
test_fork (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageQuery) query = big_query (f);
  g_autoptr (OvstageWriteData) data = big_data ();
  int status = -1;
  pid_t child;

  take_well (ovstage_stage_write_attribute (f->stage, query, f->speed, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  take_well (advance (f, 1));
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      alarm (20);
      take_well (ovstage_stage_write_attribute (f->stage, query, f->speed, 2, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
      take_well (advance (f, 2));
      g_clear_object (&query);
      g_clear_object (&f->query);
      g_clear_object (&f->stage);
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_assert_cmpuint (ovstage_stage_get_write_floor (f->stage), ==, 1);
  take_well (ovstage_stage_write_attribute (f->stage, query, f->speed, 2, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
}
#endif

#define ADD(name, func) g_test_add ("/stage/" name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/stage/properties/defaults", test_defaults);
  g_test_add_func ("/stage/properties/construct", test_construct);
  g_test_add_func ("/stage/properties/dictionary", test_dictionary_outlives_stage);
  g_test_add_func ("/stage/properties/history-depth", test_history_depth);
  ADD ("properties/history-depth-default", test_history_depth_default);
  g_test_add_func ("/stage/properties/staging-budget", test_staging_budget);
  ADD ("floor/all", test_floor);
  ADD ("floor/scopes", test_scopes);
  ADD ("read/newest", test_read_newest);
  ADD ("read/empty", test_empty);
  ADD ("query", test_query);
  ADD ("trim", test_trim);
  ADD ("refused/floor", test_refused_floor);
  ADD ("refused/enums", test_refused_enums);
  ADD ("refused/rows", test_refused_rows);
  ADD ("refused/prim-modes", test_refused_prim_modes);
  ADD ("refused/handles", test_refused_handles);
  ADD ("refused/placement", test_placement);
  ADD ("refused/null", test_null);
  ADD ("sealed/folded", test_sealed);
  ADD ("sealed/scoped", test_sealed_scoped);
  ADD ("sealed/notify-only", test_notify_only);
  ADD ("sealed/pinned", test_sealed_pinned);
  g_test_add_func ("/stage/sealed/own-context", test_sealed_own_context);
  ADD ("sealed/disposed", test_sealed_disposed);
  g_test_add_func ("/stage/in-flight", test_in_flight);
#ifndef __SANITIZE_THREAD__
  ADD ("fork", test_fork);
#endif
  ADD ("closed", test_closed);
  ADD ("threads", test_threads);
  return g_test_run ();
}
