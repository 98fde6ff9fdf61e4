/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The dictionary as a program sees it. The rules themselves are tested one by
 * one in test-path-dict.c. */

#include <ovstage/ovstage.h>

typedef struct
{
  OvstageStage *stage;
  OvstagePathDictionary *dictionary; /* (unowned) */
} Fixture;

static void
set_up (Fixture *fixture, gconstpointer data)
{
  fixture->stage = ovstage_stage_new (NULL);
  fixture->dictionary = ovstage_stage_get_path_dictionary (fixture->stage);
}

static void
tear_down (Fixture *fixture, gconstpointer data)
{
  g_object_unref (fixture->stage);
}

static void
test_stage (Fixture *fixture, gconstpointer data)
{
  g_assert_true (OVSTAGE_IS_PATH_DICTIONARY (fixture->dictionary));
  g_assert_true (ovstage_stage_get_path_dictionary (fixture->stage) == fixture->dictionary);
}

static void
test_outlives_stage (Fixture *fixture, gconstpointer data)
{
  OvstageStage *stage = ovstage_stage_new (NULL);
  OvstagePathDictionary *dictionary = g_object_ref (ovstage_stage_get_path_dictionary (stage));
  OvstageToken mass = ovstage_path_dictionary_intern_token (dictionary, "mass", NULL);
  const char *text = ovstage_path_dictionary_get_token_string (dictionary, mass);

  g_object_unref (stage);
  g_assert_cmpstr (text, ==, "mass");
  g_assert_cmpuint (ovstage_path_dictionary_intern_token (dictionary, "mass", NULL), ==, mass);
  g_object_unref (dictionary);
}

static void
test_alone (Fixture *fixture, gconstpointer data)
{
  g_autoptr (OvstagePathDictionary) dictionary = g_object_new (OVSTAGE_TYPE_PATH_DICTIONARY, NULL);

  g_test_summary ("What a language binding can construct must not crash");
  g_assert_cmpuint (ovstage_path_dictionary_intern_path (dictionary, "/A", NULL), !=, 0);
}

static void
test_token (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  OvstageToken mass = ovstage_path_dictionary_intern_token (fixture->dictionary, "mass", &error);

  g_assert_no_error (error);
  g_assert_cmpuint (mass, !=, 0);
  g_assert_cmpuint (ovstage_path_dictionary_intern_token (fixture->dictionary, "mass", NULL), ==, mass);
  g_assert_cmpuint (ovstage_path_dictionary_intern_token (fixture->dictionary, "Mass", NULL), !=, mass);
  g_assert_cmpstr (ovstage_path_dictionary_get_token_string (fixture->dictionary, mass), ==, "mass");
}

static void
test_token_zero (Fixture *fixture, gconstpointer data)
{
  g_assert_cmpstr (ovstage_path_dictionary_get_token_string (fixture->dictionary, 0), ==, "");
}

static void
test_token_unknown (Fixture *fixture, gconstpointer data)
{
  g_assert_null (ovstage_path_dictionary_get_token_string (fixture->dictionary, 1000000));
  g_assert_null (ovstage_path_dictionary_get_token_string (fixture->dictionary, G_GUINT64_CONSTANT (1) << 32));
}

static void
test_token_refused (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (ovstage_path_dictionary_intern_token (fixture->dictionary, "", &error), ==, 0);
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_cmpuint (ovstage_path_dictionary_intern_token (fixture->dictionary, "\xff", &error), ==, 0);
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_path (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  OvstagePath arm = ovstage_path_dictionary_intern_path (fixture->dictionary, "/World/Arm", &error);
  OvstagePath root = ovstage_path_dictionary_intern_path (fixture->dictionary, "/", NULL);
  g_autofree char *text = ovstage_path_dictionary_dup_path_string (fixture->dictionary, arm);
  g_autofree char *root_text = ovstage_path_dictionary_dup_path_string (fixture->dictionary, root);

  g_assert_no_error (error);
  g_assert_cmpuint (arm, !=, 0);
  g_assert_cmpuint (ovstage_path_dictionary_intern_path (fixture->dictionary, "/World/Arm", NULL), ==, arm);
  g_assert_cmpstr (text, ==, "/World/Arm");
  g_assert_cmpstr (root_text, ==, "/");
}

static void
test_path_unknown (Fixture *fixture, gconstpointer data)
{
  g_assert_null (ovstage_path_dictionary_dup_path_string (fixture->dictionary, 0));
  g_assert_null (ovstage_path_dictionary_dup_path_string (fixture->dictionary, 1000000));
  g_assert_null (ovstage_path_dictionary_dup_path_string (fixture->dictionary, G_GUINT64_CONSTANT (1) << 32 | 1));
}

static void
test_path_refused (Fixture *fixture, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (ovstage_path_dictionary_intern_path (fixture->dictionary, "/World//Arm", &error), ==, 0);
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpstr (error->message, ==, "path \"/World//Arm\" has an empty component at byte 7");
}

static void
test_list (Fixture *fixture, gconstpointer data)
{
  const char *paths[] = { "/World/B", "/World/A", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstagePathList) list = ovstage_path_dictionary_create_path_list (fixture->dictionary, paths, &error);
  g_autofree char *second = ovstage_path_list_dup_path_string (list, 1);

  g_assert_no_error (error);
  g_assert_cmpuint (ovstage_path_list_get_length (list), ==, 2);
  g_assert_cmpuint (ovstage_path_list_get_path (list, 0), ==,
                    ovstage_path_dictionary_intern_path (fixture->dictionary, "/World/B", NULL));
  g_assert_cmpstr (second, ==, "/World/A");
  g_test_summary ("Past the end there is nothing");
  g_assert_cmpuint (ovstage_path_list_get_path (list, 2), ==, 0);
  g_assert_cmpuint (ovstage_path_list_get_path (list, G_MAXSIZE), ==, 0);
  g_assert_null (ovstage_path_list_dup_path_string (list, 2));
}

static void
test_list_from_paths (Fixture *fixture, gconstpointer data)
{
  const char *texts[] = { "/World/B", "/World/A", NULL };
  OvstagePath paths[] = { 0, 0 };
  g_autoptr (OvstagePathList) list = NULL;
  g_autoptr (OvstagePathList) other = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++)
    paths[i] = ovstage_path_dictionary_intern_path (fixture->dictionary, texts[i], NULL);
  list = ovstage_path_dictionary_create_path_list_from_paths (fixture->dictionary, paths, 2, &error);
  g_assert_no_error (error);
  other = ovstage_path_dictionary_create_path_list (fixture->dictionary, texts, NULL);
  g_assert_true (list == other);
}

static void
test_list_empty (Fixture *fixture, gconstpointer data)
{
  const char *none[] = { NULL };
  g_autoptr (OvstagePathList) list = ovstage_path_dictionary_create_path_list (fixture->dictionary, none, NULL);
  g_autoptr (OvstagePathList) other =
    ovstage_path_dictionary_create_path_list_from_paths (fixture->dictionary, NULL, 0, NULL);

  g_assert_cmpuint (ovstage_path_list_get_length (list), ==, 0);
  g_assert_cmpuint (ovstage_path_list_get_length (other), ==, 0);
}

static void
test_list_unknown (Fixture *fixture, gconstpointer data)
{
  OvstagePath paths[] = { 1, 1000000 };
  g_autoptr (GError) error = NULL;

  g_assert_null (ovstage_path_dictionary_create_path_list_from_paths (fixture->dictionary, paths, 2, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  g_assert_true (g_str_has_prefix (error->message, "paths[1] is 1000000,"));
}

static void
test_list_repeat (Fixture *fixture, gconstpointer data)
{
  const char *paths[] = { "/World/A", "/World/B", "/World/A", NULL };
  g_autoptr (GError) error = NULL;

  g_assert_null (ovstage_path_dictionary_create_path_list (fixture->dictionary, paths, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpstr (error->message, ==, "paths[2] repeats paths[0], \"/World/A\": a list has each path once");
}

static void
test_list_boxed (Fixture *fixture, gconstpointer data)
{
  const char *paths[] = { "/World/A", NULL };
  OvstagePathList *list = ovstage_path_dictionary_create_path_list (fixture->dictionary, paths, NULL);
  OvstagePathList *copy = g_boxed_copy (OVSTAGE_TYPE_PATH_LIST, list);

  g_assert_true (copy == list);
  g_assert_true (ovstage_path_list_ref (list) == list);
  ovstage_path_list_unref (list);
  ovstage_path_list_unref (list);
  g_assert_cmpuint (ovstage_path_list_get_length (copy), ==, 1);
  g_boxed_free (OVSTAGE_TYPE_PATH_LIST, copy);
}

static void
test_list_outlives_stage (Fixture *fixture, gconstpointer data)
{
  const char *paths[] = { "/World/A", NULL };
  OvstageStage *stage = ovstage_stage_new (NULL);
  g_autoptr (OvstagePathList) list =
    ovstage_path_dictionary_create_path_list (ovstage_stage_get_path_dictionary (stage), paths, NULL);
  g_autofree char *text = NULL;

  g_object_unref (stage);
  text = ovstage_path_list_dup_path_string (list, 0);
  g_assert_cmpstr (text, ==, "/World/A");
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    void (*func) (Fixture *fixture, gconstpointer data);
  } cases[] = {
    { "/path-dictionary/stage", test_stage },
    { "/path-dictionary/outlives-stage", test_outlives_stage },
    { "/path-dictionary/alone", test_alone },
    { "/path-dictionary/token", test_token },
    { "/path-dictionary/token-zero", test_token_zero },
    { "/path-dictionary/token-unknown", test_token_unknown },
    { "/path-dictionary/token-refused", test_token_refused },
    { "/path-dictionary/path", test_path },
    { "/path-dictionary/path-unknown", test_path_unknown },
    { "/path-dictionary/path-refused", test_path_refused },
    { "/path-list/create", test_list },
    { "/path-list/from-paths", test_list_from_paths },
    { "/path-list/empty", test_list_empty },
    { "/path-list/unknown", test_list_unknown },
    { "/path-list/repeat", test_list_repeat },
    { "/path-list/boxed", test_list_boxed },
    { "/path-list/outlives-stage", test_list_outlives_stage },
  };

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    g_test_add (cases[i].path, Fixture, NULL, set_up, cases[i].func, tear_down);
  return g_test_run ();
}
