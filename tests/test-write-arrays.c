/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Array attributes and texts through the public API. */

#include <ovstage/ovstage.h>

typedef struct
{
  OvstageStage *stage;
  OvstagePathList *list;
  OvstageQuery *query;
  OvstageToken name;
  gint n_destroyed; /* (atomic) */
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused)
{
  const char *paths[] = { "/World/A", "/World/B", "/World/C", NULL };
  OvstagePathDictionary *dictionary;
  g_autoptr (GError) error = NULL;

  f->stage = ovstage_stage_new ("test");
  dictionary = ovstage_stage_get_path_dictionary (f->stage);
  f->list = ovstage_path_dictionary_create_path_list (dictionary, paths, &error);
  g_assert_no_error (error);
  f->query = ovstage_stage_query_path_list (f->stage, f->list);
  f->name = ovstage_path_dictionary_intern_token (dictionary, "name", &error);
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

static void
count_destroyed (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

static OvstageTensor *
tensor_new (Fixture *f, float *values, gint64 n)
{
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float32", NULL);
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor = ovstage_tensor_new_take (values, 1, 0, dtype, &n, 1, NULL, count_destroyed, &f->n_destroyed, &error);

  g_assert_no_error (error);
  return tensor;
}

/* Takes @data. Gives the error of the operation. */
static GError *
write_data (Fixture *f, guint64 ordinal, OvstageWriteData *data)
{
  g_autoptr (OvstageOperation) op =
    ovstage_stage_write_attribute (f->stage, f->query, f->name, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  GError *error = NULL;

  ovstage_write_data_unref (data);
  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  return error;
}

static void
write_or_fail (Fixture *f, guint64 ordinal, OvstageWriteData *data)
{
  g_autoptr (GError) error = write_data (f, ordinal, data);

  g_assert_no_error (error);
}

static OvstageReadGroup *
read_or_fail (Fixture *f, guint64 ordinal)
{
  g_autoptr (OvstageOperation) seal = ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  g_autoptr (OvstageRead) read =
    ovstage_stage_read_attributes (f->stage, f->query, &f->name, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
  g_autoptr (GError) error = NULL;
  OvstageReadGroup *group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (group);
  return group;
}

/* A thread of the stage may run destroy functions once the operation is done. */
static void
assert_destroyed (Fixture *f, gint n)
{
  for (guint i = 0; i < 10000 && g_atomic_int_get (&f->n_destroyed) < n; i++)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (&f->n_destroyed), ==, n);
}

static void
test_rows (Fixture *f, gconstpointer take)
{
  float values[] __attribute__ ((aligned (16))) = { 1, 2, 0, 0, 3 };
  gint64 sizes[] = { 2, 0, 1 };
  gsize starts[] = { 0, 2, 4 };
  OvstageTensor *rows[3];
  OvstageReadGroup *group;
  g_autoptr (OvstageTensor) all = NULL;
  g_autoptr (OvstageTensor) offsets = NULL;

  for (guint i = 0; i < 3; i++)
    rows[i] = tensor_new (f, values + starts[i], sizes[i]);
  write_or_fail (f, 1, take != NULL ? ovstage_write_data_new_array_take (rows, 3) : ovstage_write_data_new_array (rows, 3));
  for (guint i = 0; i < 3; i++)
    ovstage_tensor_unref (rows[i]);
  /* What has no elements is not kept. */
  assert_destroyed (f, take != NULL ? 1 : 3);

  group = read_or_fail (f, 1);
  g_assert_true (ovstage_read_group_is_array (group));
  g_assert_cmpuint (ovstage_read_group_get_n_tensors (group), ==, 3);
  g_assert_cmpuint (ovstage_read_group_get_data_count (group), ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (OvstageTensor) row = ovstage_read_group_ref_tensor (group, i);
      gsize n_dims;
      const gint64 *shape = ovstage_tensor_get_shape (row, &n_dims);

      g_assert_cmpuint (n_dims, ==, 1);
      g_assert_cmpint (shape[0], ==, sizes[i]);
      g_assert_cmpuint (ovstage_read_group_data_row_index (group, i), ==, i);
      if (take != NULL && sizes[i] > 0)
        g_assert_true (ovstage_tensor_get_data (row) == values + starts[i]);
      else if (sizes[i] > 0)
        g_assert_cmpmem (ovstage_tensor_get_data (row), sizeof (float), values + starts[i], sizeof (float));
    }
  all = ovstage_read_group_ref_values (group, NULL);
  offsets = ovstage_read_group_ref_offsets (group, NULL);
  g_assert_cmpmem (ovstage_tensor_get_data (all), 3 * sizeof (float), ((float[]){ 1, 2, 3 }), 3 * sizeof (float));
  g_assert_cmpmem (ovstage_tensor_get_data (offsets), 4 * sizeof (guint64), ((guint64[]){ 0, 2, 2, 3 }), 4 * sizeof (guint64));
  ovstage_read_group_unref (group);
  g_clear_object (&f->query);
  g_clear_object (&f->stage);
  assert_destroyed (f, 3);
}

static void
test_packed (Fixture *f, gconstpointer take)
{
  /* The stage may keep them for longer than this function runs. */
  static float values[] __attribute__ ((aligned (16))) = { 1, 2, 3, 4, 5, 6 };
  OvstageTensor *tensor = tensor_new (f, values, 6);
  OvstageReadGroup *group;
  g_autoptr (OvstageTensor) last = NULL;

  write_or_fail (f, 1, take != NULL ? ovstage_write_data_new_packed_array_take (tensor) : ovstage_write_data_new_packed_array (tensor));
  ovstage_tensor_unref (tensor);
  group = read_or_fail (f, 1);
  last = ovstage_read_group_ref_tensor (group, 2);
  g_assert_cmpmem (ovstage_tensor_get_data (last), 2 * sizeof (float), values + 4, 2 * sizeof (float));
  g_assert_true ((ovstage_tensor_get_data (last) == values + 4) == (take != NULL));
  ovstage_read_group_unref (group);
}

static void
test_strings (Fixture *f, gconstpointer unused)
{
  const char *texts[] = { "wheel", "", "\xc3\xa4", NULL }, *two[] = { "a", "b", NULL }, *none[] = { NULL };
  OvstageReadGroup *group;
  g_auto (GStrv) found = NULL;
  g_autofree char *one = NULL;
  g_autoptr (GError) error = NULL;

  write_or_fail (f, 1, ovstage_write_data_new_strings (texts));
  group = read_or_fail (f, 1);
  g_assert_cmpint (ovstage_read_group_get_semantic (group), ==, OVSTAGE_SEMANTIC_STRING);
  found = ovstage_read_group_dup_strings (group, &error);
  g_assert_no_error (error);
  g_assert_true (g_strv_equal ((const char *const *) found, texts));
  one = ovstage_read_group_dup_string (group, 2, &error);
  g_assert_cmpstr (one, ==, texts[2]);
  g_assert_null (ovstage_read_group_dup_string (group, 3, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  ovstage_read_group_unref (group);

  error = write_data (f, 2, ovstage_write_data_new_strings (two));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  error = write_data (f, 2, ovstage_write_data_new_strings (none));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_not_arrays (Fixture *f, gconstpointer unused)
{
  float values[] = { 1, 2, 3 };
  OvstageTensor *tensor = tensor_new (f, values, 3);
  OvstageReadGroup *group;
  g_autoptr (GError) error = NULL;

  write_or_fail (f, 1, ovstage_write_data_new (tensor));
  ovstage_tensor_unref (tensor);
  group = read_or_fail (f, 1);
  g_assert_null (ovstage_read_group_ref_values (group, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_null (ovstage_read_group_ref_offsets (group, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_null (ovstage_read_group_dup_strings (group, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  ovstage_read_group_unref (group);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, data, test) g_test_add ("/write-arrays/" path, Fixture, data, set_up, test, tear_down)
  ADD ("rows", NULL, test_rows);
  ADD ("rows/take", "take", test_rows);
  ADD ("packed", NULL, test_packed);
  ADD ("packed/take", "take", test_packed);
  ADD ("strings", NULL, test_strings);
  ADD ("not-arrays", NULL, test_not_arrays);
#undef ADD
  return g_test_run ();
}
