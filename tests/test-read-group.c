/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a read gives, through the public API. */

#include <string.h>

#include "object-helpers.h"

#define N_PRIMS 8

typedef struct
{
  OvstageStage *stage;               /* (owned) (nullable) */
  OvstagePathDictionary *dictionary; /* (owned) */
  OvstagePathList *list;             /* (owned) N_PRIMS paths */
  OvstageQuery *query;               /* (owned) over list */
  OvstageToken mass;
} Fixture;

static const char *const paths[N_PRIMS + 1] = { "/W/A", "/W/B", "/W/C", "/W/D", "/W/E", "/W/F", "/W/G", "/W/H", NULL };

/* ---- helpers ---- */

static void
set_up (Fixture *f, gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  f->stage = ovstage_stage_new ("test");
  f->dictionary = g_object_ref (ovstage_stage_get_path_dictionary (f->stage));
  f->list = ovstage_path_dictionary_create_path_list (f->dictionary, paths, &error);
  g_assert_no_error (error);
  f->query = ovstage_stage_query_path_list (f->stage, f->list);
  f->mass = ovstage_path_dictionary_intern_token (f->dictionary, "mass", &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_pointer (&f->list, ovstage_path_list_unref);
  g_clear_object (&f->dictionary);
  g_clear_object (&f->stage);
}

static void
wait_or_fail (OvstageOperation *op)
{
  g_autoptr (GError) error = NULL;

  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
}

/* One float for each of @n prims: 10 * ordinal + i. */
static void
write_or_fail (Fixture *f, OvstageQuery *query, guint n, guint64 ordinal, OvstageSemantic semantic)
{
  float values[N_PRIMS];
  gint64 shape[] = { n };
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float32", NULL);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (OvstageWriteData) data = NULL;
  g_autoptr (OvstageOperation) write = NULL;

  for (guint i = 0; i < n; i++)
    values[i] = 10.0f * ordinal + i;
  bytes = g_bytes_new (values, n * sizeof *values);
  tensor = ovstage_tensor_new_for_bytes (bytes, dtype, shape, 1, &error);
  g_assert_no_error (error);
  data = ovstage_write_data_new (tensor);
  ovstage_write_data_set_semantic (data, semantic);
  write = ovstage_stage_write_attribute (f->stage, query, f->mass, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  wait_or_fail (write);
}

static void
seal_or_fail (Fixture *f, guint64 ordinal)
{
  g_autoptr (OvstageOperation) seal =
    ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);

  wait_or_fail (seal);
}

/* The only group of a read. */
static OvstageReadGroup *
read_or_fail (Fixture *f, OvstageQuery *query, guint64 ordinal)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageRead) read =
    ovstage_stage_read_attributes (f->stage, query, &f->mass, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
  OvstageReadGroup *group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (group);
  g_assert_null (ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
  g_assert_no_error (error);
  return group;
}

static GBytes *
bytes_or_fail (OvstageReadGroup *group)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (group, 0);
  GBytes *bytes;

  g_assert_nonnull (tensor);
  bytes = ovstage_tensor_ref_bytes (tensor, &error);
  g_assert_no_error (error);
  return bytes;
}

static float
get_value (OvstageReadGroup *group, guint32 i)
{
  g_autoptr (GBytes) bytes = bytes_or_fail (group);
  gsize size;
  const float *values = g_bytes_get_data (bytes, &size);
  guint32 row = ovstage_read_group_data_row_index (group, i);

  g_assert_cmpuint (row, <, size / sizeof *values);
  return values[row];
}

/* ---- cases ---- */

static void
test_dense (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autofree char *dtype = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);

  g_assert_cmpuint (ovstage_read_group_get_attribute (group), ==, f->mass);
  g_assert_cmpuint (ovstage_read_group_get_ordinal (group), ==, 1);
  g_assert_cmpuint (ovstage_read_group_get_write_floor (group), ==, 1);
  g_assert_false (ovstage_read_group_is_delete (group));
  g_assert_false (ovstage_read_group_is_array (group));
  g_assert_cmpint (ovstage_read_group_get_semantic (group), ==, OVSTAGE_SEMANTIC_NONE);
  dtype = ovstage_data_type_to_string (ovstage_read_group_get_data_type (group));
  g_assert_cmpstr (dtype, ==, "float32");
  g_assert_cmpuint (ovstage_path_list_get_length (ovstage_read_group_get_path_list (group)), ==, N_PRIMS);
  g_assert_cmpuint (ovstage_read_group_get_prim_offset (group), ==, 0);
  g_assert_cmpuint (ovstage_read_group_get_prim_count (group), ==, N_PRIMS);
  g_assert_false (ovstage_read_group_has_prim_index_map (group));
  g_assert_false (ovstage_read_group_has_data_index_map (group));
  g_assert_cmpuint (ovstage_read_group_get_n_tensors (group), ==, 1);
  g_assert_cmpuint (ovstage_read_group_get_data_count (group), ==, N_PRIMS);
  g_assert_cmpuint (ovstage_read_group_get_layout_generation (group), >, 0);
  g_assert_cmpuint (ovstage_read_group_get_sync_stream (group), ==, 0);
  g_assert_cmpuint (ovstage_read_group_get_sync_event (group), ==, 0);

  tensor = ovstage_read_group_ref_tensor (group, 0);
  g_assert_true (ovstage_tensor_is_read_only (tensor));
  for (guint i = 0; i < N_PRIMS; i++)
    {
      g_assert_cmpuint (ovstage_read_group_prim_index (group, i), ==, i);
      g_assert_cmpuint (ovstage_read_group_data_row_index (group, i), ==, i);
      g_assert_cmpfloat (get_value (group, i), ==, 10.0f + i);
    }
}

static void
test_out_of_range (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  g_assert_cmpuint (ovstage_read_group_prim_index (group, N_PRIMS), ==, G_MAXUINT32);
  g_assert_cmpuint (ovstage_read_group_prim_index (group, G_MAXUINT32), ==, G_MAXUINT32);
  g_assert_cmpuint (ovstage_read_group_data_row_index (group, N_PRIMS), ==, G_MAXUINT32);
  g_assert_cmpuint (ovstage_read_group_data_row_index (group, G_MAXUINT32), ==, G_MAXUINT32);
  g_assert_null (ovstage_read_group_ref_tensor (group, 1));
  g_assert_null (ovstage_read_group_ref_tensor (group, G_MAXUINT));
}

/* The prims in another order: rows through a map. */
static void
test_data_map (Fixture *f, gconstpointer unused)
{
  static const char *const some[] = { "/W/F", "/W/A", "/W/C", NULL };
  static const guint32 expected[] = { 5, 0, 2 };
  g_autoptr (OvstageQuery) query = query_or_fail (f->stage, some);
  g_autoptr (OvstageReadGroup) group = NULL;
  g_autofree guint32 *rows = NULL;
  g_autofree guint32 *indices = NULL;
  gsize n;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, query, 1);
  g_assert_true (ovstage_read_group_has_data_index_map (group));
  g_assert_cmpuint (ovstage_read_group_get_prim_count (group), ==, 3);
  rows = ovstage_read_group_dup_data_rows (group, &n);
  g_assert_cmpuint (n, ==, 3);
  indices = ovstage_read_group_dup_prim_indices (group, &n);
  g_assert_cmpuint (n, ==, 3);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (indices[i], ==, i);
      g_assert_cmpuint (rows[i], ==, ovstage_read_group_data_row_index (group, i));
      g_assert_cmpfloat (get_value (group, i), ==, 10.0f + expected[i]);
    }
}

/* A run of a column in its order needs no map. */
static void
test_run (Fixture *f, gconstpointer unused)
{
  static const char *const some[] = { "/W/C", "/W/D", "/W/E", NULL };
  g_autoptr (OvstageQuery) query = query_or_fail (f->stage, some);
  g_autoptr (OvstageReadGroup) group = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, query, 1);
  g_assert_false (ovstage_read_group_has_prim_index_map (group));
  g_assert_false (ovstage_read_group_has_data_index_map (group));
  g_assert_cmpuint (ovstage_read_group_get_data_count (group), ==, 3);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpfloat (get_value (group, i), ==, 12.0f + i);
}

/* Prims without a value have no place. */
static void
test_prim_map (Fixture *f, gconstpointer unused)
{
  static const char *const some[] = { "/W/B", "/W/D", "/W/H", NULL };
  static const guint32 expected[] = { 1, 3, 7 };
  g_autoptr (OvstageQuery) query = query_or_fail (f->stage, some);
  g_autoptr (OvstageReadGroup) group = NULL;
  g_autofree guint32 *indices = NULL;
  gsize n;

  write_or_fail (f, query, 3, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  g_assert_true (ovstage_read_group_has_prim_index_map (group));
  indices = ovstage_read_group_dup_prim_indices (group, &n);
  g_assert_cmpmem (indices, n * sizeof *indices, expected, sizeof expected);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (ovstage_read_group_prim_index (group, i), ==, expected[i]);
      g_assert_cmpfloat (get_value (group, i), ==, 10.0f + i);
    }
}

/* A run of the list that has values is told by an offset, or by a map: the indices agree. */
static void
test_prim_offset (Fixture *f, gconstpointer unused)
{
  static const char *const some[] = { "/W/D", "/W/E", NULL };
  g_autoptr (OvstageQuery) query = query_or_fail (f->stage, some);
  g_autoptr (OvstageReadGroup) group = NULL;
  g_autofree guint32 *indices = NULL;
  gsize n;

  write_or_fail (f, query, 2, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  g_assert_cmpuint (ovstage_read_group_get_prim_count (group), ==, 2);
  indices = ovstage_read_group_dup_prim_indices (group, &n);
  g_assert_cmpuint (n, ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpuint (indices[i], ==, 3 + i);
      g_assert_cmpuint (ovstage_read_group_prim_index (group, i), ==, 3 + i);
    }
  if (!ovstage_read_group_has_prim_index_map (group))
    g_assert_cmpuint (ovstage_read_group_get_prim_offset (group), ==, 3);
}

static void
test_semantic (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_COLOR);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  g_assert_cmpint (ovstage_read_group_get_semantic (group), ==, OVSTAGE_SEMANTIC_COLOR);
}

/* Two reads of one ordinal show the same memory: nothing is copied. */
static void
test_zero_copy (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) first = NULL;
  g_autoptr (OvstageReadGroup) second = NULL;
  g_autoptr (OvstageTensor) a = NULL;
  g_autoptr (OvstageTensor) b = NULL;
  g_autoptr (OvstageTensor) again = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  first = read_or_fail (f, f->query, 1);
  second = read_or_fail (f, f->query, 1);
  a = ovstage_read_group_ref_tensor (first, 0);
  b = ovstage_read_group_ref_tensor (second, 0);
  again = ovstage_read_group_ref_tensor (first, 0);
  g_assert_true (ovstage_tensor_get_data (a) == ovstage_tensor_get_data (b));
  g_assert_true (a == again);
  g_assert_cmpuint (ovstage_tensor_get_alignment (a), >=, 256);
}

static void
test_layout_generation (Fixture *f, gconstpointer unused)
{
  static const char *const more[] = { "/W/X", NULL };
  g_autoptr (OvstageQuery) query = query_or_fail (f->stage, more);
  g_autoptr (OvstageReadGroup) first = NULL;
  g_autoptr (OvstageReadGroup) second = NULL;
  g_autoptr (OvstageReadGroup) third = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  first = read_or_fail (f, f->query, 1);
  write_or_fail (f, f->query, N_PRIMS, 2, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 2);
  second = read_or_fail (f, f->query, 2);
  g_assert_cmpuint (ovstage_read_group_get_layout_generation (second), ==,
                    ovstage_read_group_get_layout_generation (first));
  write_or_fail (f, query, 1, 3, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 3);
  third = read_or_fail (f, f->query, 3);
  g_assert_cmpuint (ovstage_read_group_get_layout_generation (third), >,
                    ovstage_read_group_get_layout_generation (second));
}

/* BEHAVIOUR, Reads 6: a held group keeps its values, and nobody's write fails. */
static void
test_held (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  for (guint64 ordinal = 2; ordinal <= 1001; ordinal++)
    {
      write_or_fail (f, f->query, N_PRIMS, ordinal, OVSTAGE_SEMANTIC_NONE);
      seal_or_fail (f, ordinal);
    }
  g_assert_cmpuint (ovstage_read_group_get_ordinal (group), ==, 1);
  for (guint i = 0; i < N_PRIMS; i++)
    g_assert_cmpfloat (get_value (group, i), ==, 10.0f + i);
}

static void
test_outlives_stage (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  tear_down (f, NULL);
  g_assert_cmpuint (ovstage_path_list_get_length (ovstage_read_group_get_path_list (group)), ==, N_PRIMS);
  for (guint i = 0; i < N_PRIMS; i++)
    g_assert_cmpfloat (get_value (group, i), ==, 10.0f + i);
}

static void
test_tensor_outlives_group (Fixture *f, gconstpointer unused)
{
  OvstageReadGroup *group;
  OvstageTensor *tensor;
  g_autoptr (GBytes) bytes = NULL;
  const float *values;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  tensor = ovstage_read_group_ref_tensor (group, 0);
  ovstage_read_group_unref (group);
  write_or_fail (f, f->query, N_PRIMS, 2, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 2);
  tear_down (f, NULL);

  bytes = ovstage_tensor_ref_bytes (tensor, NULL);
  ovstage_tensor_unref (tensor);
  values = g_bytes_get_data (bytes, NULL);
  for (guint i = 0; i < N_PRIMS; i++)
    g_assert_cmpfloat (values[i], ==, 10.0f + i);
}

static gpointer
take_tensors (gpointer group)
{
  for (int i = 0; i < 200; i++)
    {
      g_autoptr (OvstageReadGroup) held = ovstage_read_group_ref (group);
      g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (held, 0);

      g_assert_nonnull (tensor);
    }
  return NULL;
}

static void
test_threads (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;
  GThread *threads[4];

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("take", take_tensors, group);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_boxed (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageReadGroup) group = NULL;
  g_auto (GValue) value = G_VALUE_INIT;
  OvstageReadGroup *copy;

  write_or_fail (f, f->query, N_PRIMS, 1, OVSTAGE_SEMANTIC_NONE);
  seal_or_fail (f, 1);
  group = read_or_fail (f, f->query, 1);
  copy = g_boxed_copy (OVSTAGE_TYPE_READ_GROUP, group);
  g_assert_true (copy == group);
  g_value_init (&value, OVSTAGE_TYPE_READ_GROUP);
  g_value_take_boxed (&value, copy);
  g_assert_true (g_value_get_boxed (&value) == group);
}

static void
test_null (Fixture *f, gconstpointer unused)
{
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*self != NULL*");
  g_assert_cmpuint (ovstage_read_group_prim_index (NULL, 0), ==, G_MAXUINT32);
  g_test_assert_expected_messages ();
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*self != NULL*");
  g_assert_null (ovstage_read_group_ref_tensor (NULL, 0));
  g_test_assert_expected_messages ();
}

#define ADD(name, func) g_test_add ("/read-group/" name, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("dense", test_dense);
  ADD ("out-of-range", test_out_of_range);
  ADD ("data-map", test_data_map);
  ADD ("run", test_run);
  ADD ("prim-map", test_prim_map);
  ADD ("prim-offset", test_prim_offset);
  ADD ("semantic", test_semantic);
  ADD ("zero-copy", test_zero_copy);
  ADD ("layout-generation", test_layout_generation);
  ADD ("held", test_held);
  ADD ("outlives-stage", test_outlives_stage);
  ADD ("tensor-outlives-group", test_tensor_outlives_group);
  ADD ("threads", test_threads);
  ADD ("boxed", test_boxed);
  ADD ("null", test_null);
  return g_test_run ();
}
