/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Clones through the public API: what the face adds to the engine's. */

#include "object-helpers.h"

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageToken mass;
} Fixture;

static void
set_up (Fixture *f, gconstpointer unused)
{
  static const float value = 7;
  gint64 shape[] = { 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static (&value, sizeof value);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, &error);
  g_autoptr (OvstageWriteData) data = NULL;
  g_autoptr (OvstageQuery) query = NULL;

  g_assert_no_error (error);
  data = ovstage_write_data_new (tensor);
  f->stage = ovstage_stage_new ("test");
  f->mass = ovstage_path_dictionary_intern_token (ovstage_stage_get_path_dictionary (f->stage), "mass", &error);
  g_assert_no_error (error);
  query = query_or_fail (f->stage, (const char *const[]){ "/W/A", NULL });
  assert_done (ovstage_stage_write_attribute (f->stage, query, f->mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_clear_object (&f->stage);
}

static OvstageOperation *
copy (Fixture *f, const char *source, const char *target)
{
  return ovstage_stage_clone (f->stage, source, (const char *const[]){ target, NULL }, 1);
}

static void
test_copies (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageOrdinalRange) range = ovstage_ordinal_range_newest ();
  g_autoptr (OvstageQuery) query = query_or_fail (f->stage, (const char *const[]){ "/X/Y/A", NULL });
  g_autoptr (OvstageRead) read = NULL;
  g_autoptr (OvstageReadGroup) group = NULL;
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;

  assert_done (copy (f, "/W", "/X/Y"));
  assert_done (ovstage_stage_advance_write_floor (f->stage, 1, OVSTAGE_SCOPE_ALL, NULL, 0));
  read = ovstage_stage_read_attributes (f->stage, query, &f->mass, 1, range, NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (group);
  tensor = ovstage_read_group_ref_tensor (group, 0);
  bytes = ovstage_tensor_ref_bytes (tensor, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (*(const float *) g_bytes_get_data (bytes, NULL), ==, 7);
}

static void
test_refused (Fixture *f, gconstpointer unused)
{
  assert_refused (copy (f, "W", "/X"), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (copy (f, "/W", "/X/"), OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (copy (f, "/V", "/X"), OVSTAGE_ERROR_NOT_FOUND);
  assert_refused (copy (f, "/W", "/W"), OVSTAGE_ERROR_ALREADY_EXISTS);
  g_object_run_dispose (G_OBJECT (f->stage));
  assert_refused (copy (f, "/W", "/X"), OVSTAGE_ERROR_INVALID_HANDLE);
}

static void
test_preconditions (Fixture *f, gconstpointer unused)
{
  const char *const none[] = { NULL };

  assert_done (ovstage_stage_clone (f->stage, "/W", none, 1));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*OVSTAGE_IS_STAGE*");
  g_assert_null (ovstage_stage_clone (NULL, "/W", none, 1));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*source != NULL*");
  g_assert_null (ovstage_stage_clone (f->stage, NULL, none, 1));
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*targets != NULL*");
  g_assert_null (ovstage_stage_clone (f->stage, "/W", NULL, 1));
  g_test_assert_expected_messages ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)
  ADD ("/clone/copies", test_copies);
  ADD ("/clone/refused", test_refused);
  ADD ("/clone/preconditions", test_preconditions);
#undef ADD
  return g_test_run ();
}
