/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Batches and tensors that are handed over, through the public API. */

#include <ovstage/ovstage.h>

#define N 1000

typedef struct
{
  OvstageStage *stage;
  OvstagePathList *list;
  OvstageQuery *query;
  OvstageToken mass;
  OvstageToken speed;
  gint n_destroyed; /* (atomic) */
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused)
{
  g_auto (GStrv) paths = g_new0 (char *, N + 1);
  OvstagePathDictionary *dictionary;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N; i++)
    paths[i] = g_strdup_printf ("/World/P%u", i);
  f->stage = ovstage_stage_new ("test");
  dictionary = ovstage_stage_get_path_dictionary (f->stage);
  f->list = ovstage_path_dictionary_create_path_list (dictionary, (const char *const *) paths, &error);
  g_assert_no_error (error);
  f->query = ovstage_stage_query_path_list (f->stage, f->list);
  f->mass = ovstage_path_dictionary_intern_token (dictionary, "mass", &error);
  f->speed = ovstage_path_dictionary_intern_token (dictionary, "speed", &error);
  g_assert_no_error (error);
  f->n_destroyed = 0;
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_pointer (&f->list, ovstage_path_list_unref);
  g_clear_object (&f->stage);
}

typedef struct
{
  gint *n_destroyed;
  float values[];
} Values;

static void
values_free (gpointer data)
{
  Values *values = data;

  g_atomic_int_inc (values->n_destroyed);
  g_free (values);
}

/* Values first, first + 1, ... */
static OvstageTensor *
tensor_new (Fixture *f, gint64 n, float first)
{
  Values *values = g_malloc (sizeof *values + n * sizeof (float));
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float32", NULL);
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor;

  values->n_destroyed = &f->n_destroyed;
  for (gint64 i = 0; i < n; i++)
    values->values[i] = first + i;
  tensor = ovstage_tensor_new_take (values->values, 1, 0, dtype, &n, 1, NULL, values_free, values, &error);
  g_assert_no_error (error);
  return tensor;
}

static OvstageWriteData *
data_new (Fixture *f, gint64 n, float first, gboolean take)
{
  g_autoptr (OvstageTensor) tensor = tensor_new (f, n, first);

  return take ? ovstage_write_data_new_take (tensor) : ovstage_write_data_new (tensor);
}

static OvstageOperation *
write_both (Fixture *f, guint64 ordinal, OvstageWriteData *mass, OvstageWriteData *speed)
{
  const OvstageToken attributes[] = { f->mass, f->speed };
  OvstageWriteData *datas[] = { mass, speed };

  return ovstage_stage_write_attributes (f->stage, f->query, attributes, 2, datas, 2, ordinal, OVSTAGE_PRIM_MODE_UPSERT, NULL);
}

static void
take_well (gpointer op)
{
  g_autoptr (GError) error = NULL;

  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
  g_object_unref (op);
}

static void
take_failed (OvstageOperation *op, OvstageError code, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (ovstage_operation_is_done (op));
  g_assert_cmpuint (ovstage_operation_get_id (op), ==, 0);
  g_assert_false (ovstage_operation_wait (op, 0, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, (int) code);
  g_assert_nonnull (strstr (error->message, text));
  g_object_unref (op);
}

static void
seal (Fixture *f, guint64 ordinal)
{
  take_well (ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
}

static OvstageTensor *
read_tensor (Fixture *f, OvstageToken attribute, guint64 ordinal)
{
  g_autoptr (OvstageRead) read = NULL;
  g_autoptr (OvstageReadGroup) group = NULL;
  g_autoptr (GError) error = NULL;

  read = ovstage_stage_read_attributes (f->stage, f->query, &attribute, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (group);
  g_assert_cmpuint (ovstage_read_group_get_prim_count (group), ==, N);
  return ovstage_read_group_ref_tensor (group, 0);
}

static void
test_batch (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageWriteData) mass = data_new (f, N, 0, FALSE);
  g_autoptr (OvstageWriteData) speed = data_new (f, N, 5000, FALSE);
  OvstageOperation *op = write_both (f, 1, mass, speed);
  g_autoptr (OvstageTensor) read_mass = NULL;
  g_autoptr (OvstageTensor) read_speed = NULL;

  g_assert_cmpuint (ovstage_operation_get_id (op), >, 0);
  take_well (op);
  seal (f, 1);
  read_mass = read_tensor (f, f->mass, 1);
  read_speed = read_tensor (f, f->speed, 1);
  for (guint i = 0; i < N; i++)
    {
      g_assert_cmpfloat (((float *) ovstage_tensor_get_data (read_mass))[i], ==, i);
      g_assert_cmpfloat (((float *) ovstage_tensor_get_data (read_speed))[i], ==, 5000 + i);
    }
}

static void
test_lengths (Fixture *f, gconstpointer unused)
{
  const OvstageToken attributes[] = { f->mass, f->speed };
  g_autoptr (OvstageWriteData) data = data_new (f, N, 0, FALSE);
  OvstageWriteData *datas[] = { data, NULL };

  take_failed (ovstage_stage_write_attributes (f->stage, f->query, attributes, 2, datas, 1, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL),
               OVSTAGE_ERROR_INVALID_ARGUMENT, "datas has 1 entries, expected 2");
  take_failed (ovstage_stage_write_attributes (f->stage, f->query, NULL, 0, datas, 2, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL),
               OVSTAGE_ERROR_INVALID_ARGUMENT, "expected 0");
  take_failed (ovstage_stage_write_attributes (f->stage, f->query, attributes, 2, datas, 2, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL),
               OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1: data");
  take_well (ovstage_stage_write_attributes (f->stage, f->query, NULL, 0, NULL, 0, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL));
}

static void
test_refused (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageTensor) tensor = tensor_new (f, N, 0);
  OvstageWriteData *mass = data_new (f, N, 0, TRUE), *speed = data_new (f, N - 1, 0, TRUE);

  take_failed (write_both (f, 1, mass, speed), OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1: tensor: 999 rows");
  ovstage_write_data_unref (mass);
  ovstage_write_data_unref (speed);
  g_assert_cmpint (f->n_destroyed, ==, 2);

  mass = ovstage_write_data_new_take (tensor);
  speed = ovstage_write_data_new_take (tensor);
  take_failed (write_both (f, 1, mass, speed), OVSTAGE_ERROR_INVALID_ARGUMENT, "handed over in entry 0");
  ovstage_write_data_unref (mass);
  ovstage_write_data_unref (speed);
  g_assert_cmpint (f->n_destroyed, ==, 2);
}

static void
test_take (Fixture *f, gconstpointer unused)
{
  g_autoptr (GError) error = NULL;
  gpointer memory;

  {
    g_autoptr (OvstageTensor) tensor = tensor_new (f, N, 7);
    g_autoptr (OvstageWriteData) data = ovstage_write_data_new_take (tensor);

    memory = ovstage_tensor_get_data (tensor);
    take_well (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  }
  seal (f, 1);
  {
    g_autoptr (OvstageTensor) tensor = read_tensor (f, f->mass, 1);
    g_autoptr (GBytes) bytes = ovstage_tensor_ref_bytes (tensor, &error);
    g_autoptr (OvstageWriteData) data = data_new (f, N, 0, FALSE);

    g_assert_no_error (error);
    g_assert_true (ovstage_tensor_get_data (tensor) == memory);
    g_assert_true (ovstage_tensor_is_read_only (tensor));
    take_well (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 2, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
    seal (f, 2);
    g_clear_object (&f->stage);
    g_clear_object (&f->query);
    g_clear_pointer (&tensor, ovstage_tensor_unref);
    g_clear_pointer (&data, ovstage_write_data_unref);
    g_assert_cmpint (f->n_destroyed, ==, 1); /* that which was copied */
    g_assert_true (g_bytes_get_data (bytes, NULL) == memory);
    g_assert_cmpfloat (*(const float *) g_bytes_get_data (bytes, NULL), ==, 7);
  }
  g_assert_cmpint (f->n_destroyed, ==, 2);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

#define ADD(name, func) g_test_add ("/write-attributes/" name, Fixture, NULL, set_up, func, tear_down)
  ADD ("batch", test_batch);
  ADD ("lengths", test_lengths);
  ADD ("refused", test_refused);
  ADD ("take", test_take);

  return g_test_run ();
}
