/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: process, instances, errors, operations and floors. */

#include "flat-helpers.h"

static void
test_initialize (void)
{
  ovstage_config_t config = { NULL };
  ovstage_config_t wrong = { &config };

  assert_error (ovstage_shutdown (), OVSTAGE_ERROR_INVALID_ARGUMENT, "shutdown");
  assert_ok (ovstage_initialize (NULL));
  assert_ok (ovstage_initialize (&config));
  assert_error (ovstage_initialize (&wrong), OVSTAGE_ERROR_INVALID_ARGUMENT, "reserved");
  assert_ok (ovstage_shutdown ());
  assert_ok (ovstage_shutdown ());
  assert_error (ovstage_shutdown (), OVSTAGE_ERROR_INVALID_ARGUMENT, "shutdown");
}

static void
test_create (void)
{
  ovstage_instance_t *a = NULL, *b = NULL;
  ovstage_instance_desc_t unnamed = { NULL };

  assert_ok (ovstage_create_instance (NULL, &a));
  assert_ok (ovstage_create_instance (&unnamed, &b));
  g_assert_nonnull (a);
  g_assert_true (a != b);
  assert_error (ovstage_create_instance (NULL, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_instance");
  ovstage_destroy_instance (a);
  ovstage_destroy_instance (b);
  ovstage_destroy_instance (NULL);
}

/* A program may make and destroy them without end. */
static void
test_many_instances (void)
{
  ovstage_instance_t *first = NULL;
  const void *extension;

  assert_ok (ovstage_create_instance (NULL, &first));
  ovstage_destroy_instance (first);
  for (guint i = 0; i < 2000; i++)
    {
      ovstage_instance_t *stage;

      assert_ok (ovstage_create_instance (NULL, &stage));
      g_assert_true (stage != first);
      /* Nor is it taken for the one that has its place by now. */
      assert_error (ovstage_query_extension (first, "none", &extension), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      ovstage_destroy_instance (stage);
    }
  assert_error (ovstage_release_op (first, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
}

static void
test_stale_instance (void)
{
  ovstage_instance_t *stage, *wrong[4];
  ovstage_query_handle_t query = 1;
  ovstage_read_handle_t read = 1;
  ovstage_ordinal_t ordinal;
  ovstage_ordinal_query_handle_t ordinal_query = 1;
  ovstage_query_result_t result = { .query_result_id = 1 };
  ovstage_read_group_t group = { .read_group_id = 1 };
  ovstage_write_floor_desc_t floor = { .ordinal = 1 };
  ovstage_write_data_t data = { 0 };
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  const void *extension;
  int on_stack;

  assert_ok (ovstage_create_instance (NULL, &stage));
  ovstage_destroy_instance (stage);
  wrong[0] = stage;
  wrong[1] = NULL;
  wrong[2] = (ovstage_instance_t *) &on_stack;
  wrong[3] = (ovstage_instance_t *) G_MAXSIZE;
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      ovstage_instance_t *s = wrong[i];

      assert_status (ovstage_query_extension (s, "x", &extension), OVSTAGE_ERROR_INVALID_HANDLE);
      g_assert_null (ovstage_get_path_dictionary (s));
      assert_last_error ("instance");
      assert_status (ovstage_wait_op (s, 1, 0, NULL), OVSTAGE_ERROR_INVALID_HANDLE);
      assert_status (ovstage_release_op (s, 1), OVSTAGE_ERROR_INVALID_HANDLE);
      g_assert_null (ovstage_get_last_op_error (s, 1).ptr);
      assert_refused (ovstage_advance_write_floor (s, &floor), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_refused (ovstage_get_attribute_write_floor (s, named ("x"), &ordinal_query), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      g_assert_cmpuint (ordinal_query, ==, 0);
      assert_refused (ovstage_get_oldest_preserved_ordinal (s, &ordinal_query), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_status (ovstage_fetch_ordinal (s, 1, 0, &ordinal), OVSTAGE_ERROR_INVALID_HANDLE);
      assert_refused (ovstage_release_ordinal_query (s, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_status (ovstage_query_from_path_list (s, 1, &query), OVSTAGE_ERROR_INVALID_HANDLE);
      g_assert_cmpuint (query, ==, 0);
      assert_status (ovstage_release_query_result (s, &result), OVSTAGE_ERROR_INVALID_HANDLE);
      assert_status (ovstage_fetch_query_result (s, 1, 0, &result), OVSTAGE_ERROR_INVALID_HANDLE);
      assert_refused (ovstage_release_query (s, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_refused (ovstage_write_attribute (s, 1, named ("x"), 1, data, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_HANDLE,
                      "instance");
      assert_refused (ovstage_write_attributes (s, 1, NULL, 0, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_refused (ovstage_delete_attributes (s, 1, NULL, 0, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_refused (ovstage_read_attributes (s, 1, NULL, 0, range, &read), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      assert_status (ovstage_release_group (s, &group), OVSTAGE_ERROR_INVALID_HANDLE);
      assert_status (ovstage_fetch_read_next (s, 1, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE);
      assert_refused (ovstage_release_read (s, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
      ovstage_destroy_instance (s);
    }
}

/* Pointers of the right look: of a place that nobody had yet, and those of the other kind, while all is there. */
static void
test_crossed_instance (void)
{
  Flat flat;
  ovstage_instance_t *unused = (ovstage_instance_t *) (G_MAXSIZE - 2);
  ovx_api_result_t result;
  size_t n;

  flat_init (&flat);
  assert_error (ovstage_release_op (unused, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  ovstage_destroy_instance (unused);
  assert_last_error ("instance");
  assert_error (ovstage_release_op ((ovstage_instance_t *) flat.dictionary, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
  ovstage_destroy_instance ((ovstage_instance_t *) flat.dictionary);
  assert_last_error ("instance");
  result = path_dictionary_get_num_paths_from_path_list ((path_dictionary_instance_t *) flat.stage, flat.prims, &n);
  assert_not_in_dictionary (flat.dictionary, result, "dictionary");
  assert_in_dictionary (flat.dictionary, path_dictionary_get_num_paths_from_path_list (flat.dictionary, flat.prims, &n));

  assert_status (ovstage_release_op (NULL, 1), OVSTAGE_ERROR_INVALID_HANDLE);
  ovstage_destroy_instance (NULL);
  g_assert_null (ovstage_get_last_error ().ptr);
  assert_status (ovstage_release_op (NULL, 1), OVSTAGE_ERROR_INVALID_HANDLE);
  flat_clear (&flat);
  g_assert_null (ovstage_get_last_error ().ptr);
}

static void
test_version (void)
{
  ovstage_instance_t *stage;
  uint32_t major = 99, minor = 99, patch = 99;

  assert_ok (ovstage_create_instance (NULL, &stage));
  ovstage_get_version (stage, &major, &minor, &patch);
  g_assert_cmpuint (major, ==, OVSTAGE_VERSION_MAJOR);
  g_assert_cmpuint (minor, ==, OVSTAGE_VERSION_MINOR);
  g_assert_cmpuint (patch, ==, OVSTAGE_VERSION_PATCH);
  ovstage_destroy_instance (stage);
  ovstage_get_version (NULL, NULL, NULL, NULL);
}

static void
test_error_string (void)
{
  static const struct
  {
    ovstage_api_status_t status;
    const char *text;
  } texts[] = {
    { OVSTAGE_OK, "success" },
    { OVSTAGE_ERROR_INVALID_ARGUMENT, "invalid argument" },
    { OVSTAGE_ERROR_INVALID_HANDLE, "invalid handle" },
    { OVSTAGE_ERROR_NOT_FOUND, "not found" },
    { OVSTAGE_ERROR_ALREADY_EXISTS, "already exists" },
    { OVSTAGE_ERROR_PRIM_NOT_FOUND, "already exists" },
    { OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "write floor violation" },
    { OVSTAGE_ERROR_NOT_SUPPORTED, "not supported" },
    { OVSTAGE_ERROR_QUEUE_FULL, "queue full" },
    { OVSTAGE_ERROR_END_OF_ITERATION, "end of iteration" },
    { OVSTAGE_ERROR_OUT_OF_MEMORY, "out of memory" },
    { OVSTAGE_ERROR_LAYOUT_CHANGED, "layout changed" },
    { OVSTAGE_ERROR_TIMEOUT, "timeout" },
    { OVSTAGE_ERROR_OP_FAILED, "operation failed" },
    { OVSTAGE_ERROR_OUT_OF_RANGE, "out of range" },
    { OVSTAGE_ERROR_INTERNAL, "internal error" },
  };
  const char *ok = ovstage_get_error_string (NULL, OVSTAGE_OK);

  for (int i = -2; i < 120; i++)
    {
      const char *text = ovstage_get_error_string (NULL, (ovstage_api_status_t) i);

      g_assert_nonnull (text);
      g_assert_cmpuint (strlen (text), >, 0);
      if (i != 0)
        g_assert_cmpstr (text, !=, ok);
    }
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_cmpstr (ovstage_get_error_string (NULL, texts[i].status), ==, texts[i].text);
  g_assert_cmpstr (ovstage_get_error_string (NULL, (ovstage_api_status_t) 98), ==, "unknown status");
  g_assert_cmpstr (ovstage_get_error_string (NULL, (ovstage_api_status_t) -1), ==, "unknown status");
}

static gpointer
fresh_thread (gpointer data)
{
  g_assert_null (ovstage_get_last_error ().ptr);
  g_assert_cmpuint (ovstage_get_last_error ().length, ==, 0);
  assert_error (ovstage_create_instance (NULL, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_instance");
  return NULL;
}

static void
test_last_error (void)
{
  ovstage_instance_t *stage;

  assert_ok (ovstage_create_instance (NULL, &stage));
  g_assert_null (ovstage_get_last_error ().ptr);
  assert_error (ovstage_release_op (stage, 77), OVSTAGE_ERROR_INVALID_HANDLE, "operation 77");
  g_thread_join (g_thread_new ("fresh", fresh_thread, NULL));
  assert_last_error ("operation 77");
  assert_ok (ovstage_initialize (NULL));
  g_assert_null (ovstage_get_last_error ().ptr);
  assert_ok (ovstage_shutdown ());
  ovstage_destroy_instance (stage);
}

static void
test_extension (void)
{
  ovstage_instance_t *stage;
  const void *extension = &stage;

  assert_ok (ovstage_create_instance (NULL, &stage));
  assert_error (ovstage_query_extension (stage, "no.such", &extension), OVSTAGE_ERROR_NOT_FOUND, "no.such");
  g_assert_null (extension);
  assert_error (ovstage_query_extension (stage, NULL, &extension), OVSTAGE_ERROR_INVALID_ARGUMENT, "name");
  assert_error (ovstage_query_extension (stage, "no.such", NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_extension");
  ovstage_destroy_instance (stage);
}

static void
test_ids (void)
{
  Flat flat;
  ovstage_op_id_t last = 0;

  flat_init (&flat);
  for (guint i = 1; i <= 10; i++)
    {
      ovstage_enqueue_result_t result = write_floats (&flat, i, 1, 2, 3);

      assert_ok (result.status);
      g_assert_cmpuint (result.op_index, >, last);
      last = result.op_index;
    }
  flat_clear (&flat);
}

static void
test_wait (void)
{
  Flat flat;
  ovstage_enqueue_result_t write;
  ovstage_op_wait_result_t wait = { .error_op_id_count = 9, .lowest_pending_op_id = 9 };

  flat_init (&flat);
  write = write_floats (&flat, 1, 1, 2, 3);
  /* Any number of times, and without a place for the result. */
  assert_ok (ovstage_wait_op (flat.stage, write.op_index, 0, NULL));
  assert_ok (ovstage_wait_op (flat.stage, write.op_index, 1000, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  g_assert_null (wait.error_op_ids);
  g_assert_cmpuint (wait.lowest_pending_op_id, ==, 0);
  flat_clear (&flat);
}

static void
test_wait_invalid (void)
{
  Flat flat, other;
  ovstage_enqueue_result_t write, foreign;
  ovstage_op_wait_result_t wait;

  flat_init (&flat);
  flat_init (&other);
  write = write_floats (&flat, 1, 1, 2, 3);
  foreign = write_floats (&other, 1, 1, 2, 3);
  assert_error (ovstage_wait_op (flat.stage, 0, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation 0");
  /* That of the query, which nobody was told. */
  assert_error (ovstage_wait_op (flat.stage, write.op_index - 1, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_error (ovstage_wait_op (flat.stage, write.op_index + 100, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_error (ovstage_wait_op (flat.stage, G_MAXUINT64, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_error (ovstage_wait_op (flat.stage, foreign.op_index, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_ok (ovstage_release_op (flat.stage, write.op_index));
  assert_error (ovstage_wait_op (flat.stage, write.op_index, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_error (ovstage_release_op (flat.stage, write.op_index), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_error (ovstage_release_op (flat.stage, 0), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  assert_error (ovstage_release_op (flat.stage, foreign.op_index), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  flat_clear (&flat);
  flat_clear (&other);
}

static void
test_refused_has_no_id (void)
{
  Flat flat;
  ovstage_op_wait_result_t wait;
  ovstage_enqueue_result_t good;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 5, 1, 2, 3));
  seal (&flat, 5);
  assert_refused (write_floats (&flat, 5, 1, 2, 3), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  good = write_floats (&flat, 6, 1, 2, 3);
  /* It is told by the call, and by no wait. */
  assert_ok (ovstage_wait_op (flat.stage, good.op_index, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  flat_clear (&flat);
}

static guint64
fetch_floor (Flat *flat, ovx_string_or_token_t attribute)
{
  ovstage_ordinal_query_handle_t query = 0;
  ovstage_ordinal_t ordinal = 99;

  assert_done (flat->stage, ovstage_get_attribute_write_floor (flat->stage, attribute, &query));
  assert_ok (ovstage_fetch_ordinal (flat->stage, query, OVSTAGE_TIMEOUT_INFINITE, &ordinal));
  assert_done (flat->stage, ovstage_release_ordinal_query (flat->stage, query));
  assert_error (ovstage_fetch_ordinal (flat->stage, query, 0, &ordinal), OVSTAGE_ERROR_INVALID_HANDLE, "ordinal query");
  assert_refused (ovstage_release_ordinal_query (flat->stage, query), OVSTAGE_ERROR_INVALID_HANDLE, "ordinal query");
  return ordinal;
}

static void
test_floors (void)
{
  Flat flat;
  ovstage_write_floor_desc_t desc = { .ordinal = 7, .scope = OVSTAGE_SCOPE_INCLUDE };
  ovx_token_t unknown = 123456;

  flat_init (&flat);
  desc.attributes = &flat.mass;
  desc.attribute_count = 1;
  g_assert_cmpuint (fetch_floor (&flat, named ("")), ==, 0);
  assert_done (flat.stage, ovstage_advance_write_floor (flat.stage, &desc));
  g_assert_cmpuint (fetch_floor (&flat, named ("mass")), ==, 7);
  g_assert_cmpuint (fetch_floor (&flat, token_of (flat.mass)), ==, 7);
  g_assert_cmpuint (fetch_floor (&flat, named ("never seen")), ==, 0);
  g_assert_cmpuint (fetch_floor (&flat, (ovx_string_or_token_t) { 0 }), ==, 0);
  seal (&flat, 9);
  g_assert_cmpuint (fetch_floor (&flat, named ("mass")), ==, 9);
  g_assert_cmpuint (fetch_floor (&flat, named ("never seen")), ==, 9);
  g_assert_cmpuint (fetch_floor (&flat, named ("")), ==, 9);

  assert_refused (ovstage_advance_write_floor (flat.stage, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "desc");
  desc.scope = (ovstage_scope_t) 7;
  assert_refused (ovstage_advance_write_floor (flat.stage, &desc), OVSTAGE_ERROR_INVALID_ARGUMENT, "scope");
  desc.scope = OVSTAGE_SCOPE_INCLUDE;
  desc.attributes = &unknown;
  assert_refused (ovstage_advance_write_floor (flat.stage, &desc), OVSTAGE_ERROR_INVALID_HANDLE, "token");
  desc.attributes = NULL;
  assert_refused (ovstage_advance_write_floor (flat.stage, &desc), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
  flat_clear (&flat);
}

static void
test_ordinal_faults (void)
{
  Flat flat;
  ovstage_ordinal_query_handle_t query = 9;
  ovx_string_or_token_t bad = { .string = { NULL, 4 } };
  ovstage_ordinal_t ordinal;

  flat_init (&flat);
  assert_refused (ovstage_get_attribute_write_floor (flat.stage, named ("mass"), NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query");
  assert_refused (ovstage_get_oldest_preserved_ordinal (flat.stage, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_query");
  assert_refused (ovstage_get_attribute_write_floor (flat.stage, token_of (5555), &query), OVSTAGE_ERROR_INVALID_HANDLE, "5555");
  g_assert_cmpuint (query, ==, 0);
  assert_refused (ovstage_get_attribute_write_floor (flat.stage, bad, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "string");
  assert_refused (ovstage_get_attribute_write_floor (flat.stage, named ("\xff"), &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  assert_error (ovstage_fetch_ordinal (flat.stage, 0, 0, &ordinal), OVSTAGE_ERROR_INVALID_HANDLE, "ordinal query");
  /* Of another kind. */
  assert_error (ovstage_fetch_ordinal (flat.stage, flat.query, 0, &ordinal), OVSTAGE_ERROR_INVALID_HANDLE, "ordinal query");
  assert_error (ovstage_fetch_ordinal (flat.stage, 1, 0, NULL), OVSTAGE_ERROR_INVALID_ARGUMENT, "out_ordinal");
  flat_clear (&flat);
}

static void
test_oldest_preserved (void)
{
  Flat flat;
  ovstage_ordinal_query_handle_t query;
  ovstage_ordinal_t oldest = 99;

  flat_init (&flat);
  assert_done (flat.stage, ovstage_get_oldest_preserved_ordinal (flat.stage, &query));
  assert_ok (ovstage_fetch_ordinal (flat.stage, query, OVSTAGE_TIMEOUT_INFINITE, &oldest));
  g_assert_cmpuint (oldest, ==, 0);
  assert_done (flat.stage, ovstage_release_ordinal_query (flat.stage, query));
  flat_clear (&flat);
}

static void
test_leaks (void)
{
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  Logged logged = { 0 };
  Flat flat;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  ovstage_query_result_t result;
  ovstage_ordinal_query_handle_t ordinal;
  g_autofree char *expected = NULL;

  assert_ok (ovstage_set_log_callback (log_cb, &logged));
  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  assert_ok (ovstage_fetch_read_next (flat.stage, read, 0, &group));
  assert_ok (ovstage_fetch_query_result (flat.stage, flat.query, 0, &result));
  assert_ok (ovstage_get_oldest_preserved_ordinal (flat.stage, &ordinal).status);
  ovstage_destroy_instance (flat.stage);
  g_assert_cmpuint (logged.n, ==, 1);
  g_assert_cmpint (logged.level, ==, OVSTAGE_LOG_LEVEL_WARNING);
  expected = g_strdup_printf ("instance \"test.flat\" was destroyed with 6 open handles: path list %" G_GUINT64_FORMAT
                              ", query %" G_GUINT64_FORMAT ", read %" G_GUINT64_FORMAT ", read group %" G_GUINT64_FORMAT
                              ", query result %" G_GUINT64_FORMAT ", ordinal query %" G_GUINT64_FORMAT,
                              flat.prims, flat.query, read, group.read_group_id, result.query_result_id, ordinal);
  g_assert_cmpstr (logged.text, ==, expected);

  /* Nothing open, nothing said. */
  flat_init (&flat);
  flat_clear (&flat);
  g_assert_cmpuint (logged.n, ==, 1);
  g_free (logged.text);
  assert_ok (ovstage_set_log_callback (NULL, NULL));
  g_log_set_always_fatal (fatal);

  /* The list that goes with a group is not the caller's to release. */
  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  read = read_at (&flat, 1);
  assert_ok (ovstage_fetch_read_next (flat.stage, read, 0, &group));
  assert_ok (ovstage_release_read (flat.stage, read).status);
  g_test_expect_message ("ovstage", G_LOG_LEVEL_WARNING, "*destroyed with 1 open handles: read group *");
  flat_clear (&flat);
  g_test_assert_expected_messages ();

  g_test_expect_message ("ovstage", G_LOG_LEVEL_WARNING, "*destroyed with 2 open handles: path list*, query*");
  flat_init (&flat);
  ovstage_destroy_instance (flat.stage);
  g_test_assert_expected_messages ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat/initialize", test_initialize);
  g_test_add_func ("/flat/create", test_create);
  g_test_add_func ("/flat/many-instances", test_many_instances);
  g_test_add_func ("/flat/stale-instance", test_stale_instance);
  g_test_add_func ("/flat/crossed-instance", test_crossed_instance);
  g_test_add_func ("/flat/version", test_version);
  g_test_add_func ("/flat/error-string", test_error_string);
  g_test_add_func ("/flat/last-error", test_last_error);
  g_test_add_func ("/flat/extension", test_extension);
  g_test_add_func ("/flat/ids", test_ids);
  g_test_add_func ("/flat/wait", test_wait);
  g_test_add_func ("/flat/wait-invalid", test_wait_invalid);
  g_test_add_func ("/flat/refused-has-no-id", test_refused_has_no_id);
  g_test_add_func ("/flat/floors", test_floors);
  g_test_add_func ("/flat/ordinal-faults", test_ordinal_faults);
  g_test_add_func ("/flat/oldest-preserved", test_oldest_preserved);
  g_test_add_func ("/flat/leaks", test_leaks);
  return g_test_run ();
}
