/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Deletes through the public API: what the face adds to the engine's. */

#include "object-helpers.h"

typedef struct
{
  OvstageStage *stage;               /* (owned) */
  OvstagePathDictionary *dictionary; /* of the stage */
  OvstageQuery *query;               /* (owned) of three prims */
  OvstageQuery *second;              /* (owned) of the second of them */
  OvstageToken mass;
  OvstageToken speed;
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused)
{
  g_autoptr (GError) error = NULL;

  f->stage = ovstage_stage_new ("test");
  f->dictionary = ovstage_stage_get_path_dictionary (f->stage);
  f->query = query_or_fail (f->stage, (const char *const[]){ "/W/A", "/W/B", "/W/C", NULL });
  f->second = query_or_fail (f->stage, (const char *const[]){ "/W/B", NULL });
  f->mass = ovstage_path_dictionary_intern_token (f->dictionary, "mass", &error);
  g_assert_no_error (error);
  f->speed = ovstage_path_dictionary_intern_token (f->dictionary, "speed", &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->query);
  g_clear_object (&f->second);
  g_clear_object (&f->stage);
}

/* As many rows as the data type has no say in: @text is "float32" or "float64". */
static OvstageOperation *
write_zeroes (Fixture *f, OvstageQuery *query, OvstageToken attribute, guint64 ordinal, const char *text, OvstagePrimMode mode)
{
  static const double zeroes[3] = { 0 };
  gint64 shape[] = { ovstage_query_get_prim_count (query) };
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse (text, NULL);
  g_autoptr (GBytes) bytes = g_bytes_new_static (zeroes, shape[0] * ovstage_data_type_get_row_size (dtype));
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, dtype, shape, 1, &error);
  g_autoptr (OvstageWriteData) data = NULL;

  g_assert_no_error (error);
  data = ovstage_write_data_new (tensor);
  return ovstage_stage_write_attribute (f->stage, query, attribute, ordinal, data, mode, NULL);
}

static void
seal_or_fail (Fixture *f, guint64 ordinal)
{
  assert_done (ovstage_stage_advance_write_floor (f->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
}

/* How many prims have the attribute. */
static guint
count (Fixture *f, OvstageToken attribute)
{
  g_autoptr (OvstageOrdinalRange) range = ovstage_ordinal_range_newest ();
  g_autoptr (OvstageRead) read = ovstage_stage_read_attributes (f->stage, f->query, &attribute, 1, range, NULL);
  g_autoptr (GError) error = NULL;
  OvstageReadGroup *group;
  guint n = 0;

  while ((group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error)) != NULL)
    {
      g_assert_false (ovstage_read_group_is_delete (group));
      n += ovstage_read_group_get_prim_count (group);
      ovstage_read_group_unref (group);
    }
  g_assert_no_error (error);
  return n;
}

static void
test_attributes (Fixture *f, gconstpointer unused)
{
  assert_done (write_zeroes (f, f->query, f->mass, 1, "float32", OVSTAGE_PRIM_MODE_UPSERT));
  assert_done (write_zeroes (f, f->query, f->speed, 1, "float32", OVSTAGE_PRIM_MODE_UPSERT));
  assert_done (ovstage_stage_delete_attributes (f->stage, f->second, &f->mass, 1, 2));
  seal_or_fail (f, 1);
  g_assert_cmpuint (count (f, f->mass), ==, 3);
  seal_or_fail (f, 2);
  g_assert_cmpuint (count (f, f->mass), ==, 2);
  g_assert_cmpuint (count (f, f->speed), ==, 3);
}

static void
test_prims (Fixture *f, gconstpointer unused)
{
  assert_done (write_zeroes (f, f->query, f->mass, 1, "float32", OVSTAGE_PRIM_MODE_UPSERT));
  assert_done (write_zeroes (f, f->query, f->speed, 1, "float32", OVSTAGE_PRIM_MODE_UPSERT));
  assert_done (ovstage_stage_delete_attributes (f->stage, f->second, NULL, 0, 2));
  seal_or_fail (f, 2);
  g_assert_cmpuint (count (f, f->mass), ==, 2);
  g_assert_cmpuint (count (f, f->speed), ==, 2);
  assert_refused (write_zeroes (f, f->second, f->mass, 3, "float32", OVSTAGE_PRIM_MODE_UPDATE), OVSTAGE_ERROR_NOT_FOUND);
  assert_done (write_zeroes (f, f->second, f->mass, 3, "float32", OVSTAGE_PRIM_MODE_INSERT));
}

static void
test_other_schema (Fixture *f, gconstpointer unused)
{
  assert_done (write_zeroes (f, f->query, f->mass, 1, "float32", OVSTAGE_PRIM_MODE_UPSERT));
  assert_refused (write_zeroes (f, f->second, f->mass, 2, "float64", OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_done (ovstage_stage_delete_attributes (f->stage, f->second, &f->mass, 1, 2));
  assert_done (write_zeroes (f, f->second, f->mass, 2, "float64", OVSTAGE_PRIM_MODE_UPSERT));
  seal_or_fail (f, 2);
  g_assert_cmpuint (count (f, f->mass), ==, 3);
}

static void
test_refused (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageStage) other = ovstage_stage_new ("other");
  g_autoptr (GError) error = NULL;
  OvstageToken path = ovstage_path_dictionary_intern_token (f->dictionary, "usd-path", &error);
  OvstageToken unknown = 123456;

  g_assert_no_error (error);
  seal_or_fail (f, 4);
  assert_refused (ovstage_stage_delete_attributes (f->stage, f->query, &f->mass, 1, 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  assert_refused (ovstage_stage_delete_attributes (f->stage, f->query, NULL, 0, 4), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  assert_refused (ovstage_stage_delete_attributes (f->stage, f->query, &f->mass, 1, OVSTAGE_ORDINAL_NEWEST),
                  OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (ovstage_stage_delete_attributes (f->stage, f->query, &path, 1, 5), OVSTAGE_ERROR_NOT_SUPPORTED);
  assert_refused (ovstage_stage_delete_attributes (f->stage, f->query, &unknown, 1, 5), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_refused (ovstage_stage_delete_attributes (other, f->query, &f->mass, 1, 5), OVSTAGE_ERROR_INVALID_HANDLE);
  g_object_run_dispose (G_OBJECT (f->stage));
  assert_refused (ovstage_stage_delete_attributes (f->stage, f->query, &f->mass, 1, 5), OVSTAGE_ERROR_INVALID_HANDLE);
}

static void
test_preconditions (Fixture *f, gconstpointer unused)
{
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_STAGE*");
  g_assert_null (ovstage_stage_delete_attributes (NULL, f->query, NULL, 0, 1));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_QUERY*");
  g_assert_null (ovstage_stage_delete_attributes (f->stage, NULL, NULL, 0, 1));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*attributes != NULL*");
  g_assert_null (ovstage_stage_delete_attributes (f->stage, f->query, NULL, 1, 1));
  g_test_assert_expected_messages ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)
  ADD ("/delete-attributes/attributes", test_attributes);
  ADD ("/delete-attributes/prims", test_prims);
  ADD ("/delete-attributes/other-schema", test_other_schema);
  ADD ("/delete-attributes/refused", test_refused);
  ADD ("/delete-attributes/preconditions", test_preconditions);
#undef ADD
  return g_test_run ();
}
