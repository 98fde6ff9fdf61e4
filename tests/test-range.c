/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Ranges through the public API: what the face adds to the engine's. */

#include "object-helpers.h"

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) of three prims */
  OvstageQuery *last;  /* (owned) of the last of them */
  OvstageToken mass;
} Fixture;

static void
seal_or_fail (Fixture *f, guint64 ordinal)
{
  assert_done (ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
}

/* Three values at 1, the last of them deleted at 2. */
static void
set_up (Fixture *f, gconstpointer unused)
{
  static const float values[] = { 1, 2, 3 };
  gint64 shape[] = { 3 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static (values, sizeof values);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, &error);
  g_autoptr (OvstageWriteData) data = NULL;

  g_assert_no_error (error);
  data = ovstage_write_data_new (tensor);
  f->stage = ovstage_stage_new ("test");
  f->query = query_or_fail (f->stage, (const char *const[]){ "/W/A", "/W/B", "/W/C", NULL });
  f->last = query_or_fail (f->stage, (const char *const[]){ "/W/C", NULL });
  f->mass = ovstage_path_dictionary_intern_token (ovstage_stage_get_path_dictionary (f->stage), "mass", &error);
  g_assert_no_error (error);
  assert_done (ovstage_stage_write_attribute (f->stage, f->query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  seal_or_fail (f, 1);
  assert_done (ovstage_stage_delete_attributes (f->stage, f->last, &f->mass, 1, 2));
  seal_or_fail (f, 2);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_object (&f->last);
  g_clear_object (&f->stage);
}

/* (nullable) */
static OvstageReadGroup *
next_or_fail (OvstageRead *read)
{
  g_autoptr (GError) error = NULL;
  OvstageReadGroup *group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);

  g_assert_no_error (error);
  return group;
}

static void
test_groups (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOrdinalRange) range = ovstage_ordinal_range_between (1, OVSTAGE_ORDINAL_NEWEST);
  g_autoptr (OvstageRead) read = ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, range, NULL);
  g_autoptr (OvstageReadGroup) values = next_or_fail (read);
  g_autoptr (OvstageReadGroup) deleted = next_or_fail (read);
  g_autofree guint32 *rows = NULL, *prims = NULL;
  gsize n = 9;

  g_assert_null (next_or_fail (read));
  g_assert_cmpuint (ovstage_read_get_as_of (read), ==, 2);
  g_assert_false (ovstage_read_group_is_delete (values));
  g_assert_cmpuint (ovstage_read_group_get_prim_count (values), ==, 2);
  g_assert_true (ovstage_read_group_is_delete (deleted));
  g_assert_cmpuint (ovstage_read_group_get_attribute (deleted), ==, f->mass);
  g_assert_cmpuint (ovstage_read_group_get_ordinal (deleted), ==, 2);
  g_assert_cmpuint (ovstage_read_group_get_prim_count (deleted), ==, 1);
  g_assert_cmpuint (ovstage_read_group_prim_index (deleted, 0), ==, 2);
  g_assert_cmpuint (ovstage_read_group_get_n_tensors (deleted), ==, 0);
  g_assert_null (ovstage_read_group_ref_tensor (deleted, 0));
  g_assert_cmpuint (ovstage_read_group_get_data_count (deleted), ==, 0);
  g_assert_cmpuint (ovstage_read_group_data_row_index (deleted, 0), ==, G_MAXUINT32);
  rows = ovstage_read_group_dup_data_rows (deleted, &n);
  g_assert_cmpuint (n, ==, 0);
  prims = ovstage_read_group_dup_prim_indices (deleted, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (prims[0], ==, 2);
  g_assert_cmpuint (ovstage_read_group_get_data_type (deleted)->lanes, ==, 0);
}

/* Groups of deleted prims outlive everything, as others do. */
static void
test_outlives (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageRead) read =
    ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, &OVSTAGE_ORDINAL_RANGE_BETWEEN (2, 2), NULL);
  g_autoptr (OvstageReadGroup) group = next_or_fail (read);

  g_clear_object (&read);
  g_clear_object (&f->query);
  g_clear_object (&f->last);
  g_clear_object (&f->stage);
  g_assert_true (ovstage_read_group_is_delete (group));
  g_assert_cmpuint (ovstage_path_list_get_length (ovstage_read_group_get_path_list (group)), ==, 3);
}

static void
test_arguments (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOrdinalRange) range = ovstage_ordinal_range_between (3, 7);
  g_autoptr (OvstageOrdinalRange) copy = ovstage_ordinal_range_copy (range);
  g_autoptr (OvstageRead) read = NULL;

  g_assert_true (copy->has_start_ordinal);
  g_assert_cmpuint (copy->start_ordinal, ==, 3);
  g_assert_cmpuint (copy->end_ordinal, ==, 7);
  read = ovstage_stage_read_attributes (f->stage, f->query, &f->mass, 1, &OVSTAGE_ORDINAL_RANGE_BETWEEN (3, 2), NULL);
  g_assert_true (ovstage_operation_is_done ((OvstageOperation *) read));
  g_assert_error (ovstage_operation_get_error ((OvstageOperation *) read), OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpuint (ovstage_operation_get_id ((OvstageOperation *) read), ==, 0);
  g_assert_cmpuint (ovstage_stage_get_oldest_preserved_ordinal (f->stage), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function) g_test_add ("/range/" name, Fixture, NULL, set_up, function, tear_down)
  ADD ("groups", test_groups);
  ADD ("outlives", test_outlives);
  ADD ("arguments", test_arguments);
#undef ADD
  return g_test_run ();
}
