/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: the path dictionary. */

#include "flat-helpers.h"

#define assert_fails(call, part) assert_not_in_dictionary (flat.dictionary, (call), (part))

static void
test_tokens (void)
{
  Flat flat;
  const ovx_string_t texts[] = { { "one", 3 }, { "twofold", 3 }, { "one", 3 } };
  ovx_token_t tokens[4] = { 0 };
  ovx_string_t back[4];

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_tokens_from_strings (flat.dictionary, texts, 3, tokens));
  g_assert_cmpuint (tokens[0], !=, 0);
  g_assert_cmpuint (tokens[0], ==, tokens[2]);
  g_assert_cmpuint (tokens[0], !=, tokens[1]);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_strings_from_tokens (flat.dictionary, tokens, 4, back));
  g_assert_cmpstr (back[0].ptr, ==, "one");
  g_assert_cmpstr (back[1].ptr, ==, "two");
  g_assert_cmpuint (back[1].length, ==, 3);
  g_assert_cmpuint (back[3].length, ==, 0);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_tokens_from_strings (flat.dictionary, NULL, 0, NULL));
  assert_in_dictionary (flat.dictionary, path_dictionary_get_strings_from_tokens (flat.dictionary, NULL, 0, NULL));
  flat_clear (&flat);
}

static void
test_token_faults (void)
{
  Flat flat;
  const ovx_string_t bad[][2] = {
    { { "good", 4 }, { "", 0 } }, { { "good", 4 }, { "\xff", 1 } }, { { "good", 4 }, { "a\0b", 3 } }, { { "good", 4 }, { NULL, 2 } },
  };
  ovx_token_t tokens[2] = { 8, 9 };
  ovx_string_t back[2] = { { "kept", 4 }, { "kept", 4 } };

  flat_init (&flat);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      assert_fails (path_dictionary_create_tokens_from_strings (flat.dictionary, bad[i], 2, tokens), "entry 1");
      g_assert_cmpuint (tokens[0], ==, 8);
    }
  assert_fails (path_dictionary_create_tokens_from_strings (flat.dictionary, NULL, 1, tokens), "strings is NULL");
  assert_fails (path_dictionary_create_tokens_from_strings (flat.dictionary, bad[0], 1, NULL), "out_tokens is NULL");
  tokens[0] = flat.mass;
  tokens[1] = 4711;
  assert_fails (path_dictionary_get_strings_from_tokens (flat.dictionary, tokens, 2, back), "entry 1: token 4711 is unknown");
  g_assert_cmpstr (back[0].ptr, ==, "kept");
  assert_fails (path_dictionary_get_strings_from_tokens (flat.dictionary, tokens, 1, NULL), "out_strings is NULL");
  assert_fails (path_dictionary_get_strings_from_tokens (flat.dictionary, NULL, 1, back), "tokens is NULL");
  tokens[1] = G_MAXUINT64;
  assert_fails (path_dictionary_get_strings_from_tokens (flat.dictionary, tokens, 2, back),
                "token 18446744073709551615 is unknown");
  flat_clear (&flat);
}

static void
test_paths (void)
{
  Flat flat;
  const ovx_string_t texts[] = { { "/World/A", 8 }, { "/", 1 }, { "/World/A", 8 } };
  const ovx_string_t bad[] = { { "/World/A", 8 }, { "World", 5 } };
  ovx_primpath_t paths[3] = { 0 };

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, texts, 3, paths));
  g_assert_cmpuint (paths[0], !=, 0);
  g_assert_cmpuint (paths[1], !=, 0);
  g_assert_cmpuint (paths[0], ==, paths[2]);
  paths[0] = 77;
  assert_fails (path_dictionary_create_paths_from_strings (flat.dictionary, bad, 2, paths), "World");
  g_assert_cmpuint (paths[0], ==, 77);
  assert_fails (path_dictionary_create_paths_from_strings (flat.dictionary, NULL, 2, paths), "strings is NULL");
  assert_fails (path_dictionary_create_paths_from_strings (flat.dictionary, texts, 2, NULL), "out_paths is NULL");
  flat_clear (&flat);
}

static void
test_paths_and_tokens (void)
{
  Flat flat;
  const ovx_string_t texts[] = { { "/World/A", 8 }, { "/", 1 }, { "/World", 6 } };
  ovx_primpath_t paths[3], again[3];
  ovx_token_t buffer[3];
  const ovx_token_t *tokens[3];
  size_t n_tokens[3];
  size_t done = 99;

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, texts, 3, paths));
  assert_in_dictionary (flat.dictionary,
                        path_dictionary_get_tokens_from_paths (flat.dictionary, paths, 3, buffer, 3, tokens, n_tokens, &done));
  g_assert_cmpuint (done, ==, 3);
  g_assert_cmpuint (n_tokens[0], ==, 2);
  g_assert_cmpuint (n_tokens[1], ==, 0);
  g_assert_null (tokens[1]);
  g_assert_cmpuint (n_tokens[2], ==, 1);
  g_assert_true (tokens[0] == buffer);
  g_assert_cmpuint (tokens[0][0], ==, make_token (flat.dictionary, "World"));
  g_assert_cmpuint (tokens[0][1], ==, make_token (flat.dictionary, "A"));
  g_assert_cmpuint (tokens[2][0], ==, tokens[0][0]);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_tokens (flat.dictionary, tokens, n_tokens, 3, again));
  g_assert_cmpmem (again, sizeof again, paths, sizeof paths);
  /* Of none. */
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, NULL, 0, NULL));
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_tokens (flat.dictionary, NULL, NULL, 0, NULL));
  assert_in_dictionary (flat.dictionary, path_dictionary_get_tokens_from_paths (flat.dictionary, NULL, 0, NULL, 0, NULL, NULL, &done));
  g_assert_cmpuint (done, ==, 0);
  flat_clear (&flat);
}

/* As many as fit, and where to go on. */
static void
test_short_buffer (void)
{
  Flat flat;
  const ovx_string_t texts[] = { { "/a/b", 4 }, { "/c", 2 }, { "/d/e/f", 6 }, { "/g", 2 } };
  ovx_primpath_t paths[4];
  ovx_token_t buffer[5];
  const ovx_token_t *tokens[4];
  size_t n_tokens[4], done;
  static const size_t fits[] = { 0, 0, 1, 2, 2, 2 };

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, texts, 4, paths));
  for (size_t size = 0; size <= 5; size++)
    {
      done = 99;
      assert_in_dictionary (flat.dictionary, path_dictionary_get_tokens_from_paths (flat.dictionary, paths, 4, size > 0 ? buffer : NULL,
                                                                                   size, tokens, n_tokens, &done));
      g_assert_cmpuint (done, ==, fits[size]);
    }
  assert_in_dictionary (flat.dictionary, path_dictionary_get_tokens_from_paths (flat.dictionary, paths + 2, 2, buffer, 5, tokens,
                                                                               n_tokens, &done));
  g_assert_cmpuint (done, ==, 2);
  g_assert_cmpuint (n_tokens[0], ==, 3);
  g_assert_cmpuint (n_tokens[1], ==, 1);
  flat_clear (&flat);
}

static void
test_token_path_faults (void)
{
  Flat flat;
  ovx_token_t slash, good, unknown = 4711, zero = 0;
  const ovx_token_t *names;
  size_t one = 1, done;
  ovx_primpath_t path = 7, wrong = 4711;
  ovx_token_t buffer[1];

  flat_init (&flat);
  slash = make_token (flat.dictionary, "a/b");
  good = make_token (flat.dictionary, "good");
  names = &slash;
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, &names, &one, 1, &path), "token 0 is no name of a prim");
  names = &unknown;
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, &names, &one, 1, &path), "token 0 is 4711, which is unknown");
  names = &zero;
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, &names, &one, 1, &path), "token 0 is empty");
  names = NULL;
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, &names, &one, 1, &path),
                "entry 0: tokens is NULL");
  names = &good;
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, NULL, &one, 1, &path), "tokens_per_path is NULL");
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, &names, NULL, 1, &path),
                "num_tokens_per_path is NULL");
  assert_fails (path_dictionary_create_paths_from_tokens (flat.dictionary, &names, &one, 1, NULL), "out_paths is NULL");
  g_assert_cmpuint (path, ==, 7);

  assert_fails (path_dictionary_get_tokens_from_paths (flat.dictionary, &wrong, 1, buffer, 1, &names, &one, &done),
                "entry 0: path 4711 is unknown");
  assert_fails (path_dictionary_get_tokens_from_paths (flat.dictionary, NULL, 1, buffer, 1, &names, &one, &done),
                "paths is NULL");
  assert_fails (path_dictionary_get_tokens_from_paths (flat.dictionary, &wrong, 1, NULL, 1, &names, &one, &done),
                "buffer is NULL");
  assert_fails (path_dictionary_get_tokens_from_paths (flat.dictionary, &wrong, 1, buffer, 1, NULL, &one, &done),
                "out_tokens_per_path is NULL");
  assert_fails (path_dictionary_get_tokens_from_paths (flat.dictionary, &wrong, 1, buffer, 1, &names, NULL, &done),
                "out_num_tokens_per_path is NULL");
  assert_fails (path_dictionary_get_tokens_from_paths (flat.dictionary, &wrong, 1, buffer, 1, &names, &one, NULL),
                "out_num_processed is NULL");
  flat_clear (&flat);
}

static void
test_lists (void)
{
  Flat flat;
  ovx_primpath_t paths[4];
  size_t n = 99;
  ovx_primpath_list_t again = 0, empty = 0;

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_num_paths_from_path_list (flat.dictionary, flat.prims, &n));
  g_assert_cmpuint (n, ==, 3);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, flat.prims, 0, 4, paths, &n));
  g_assert_cmpuint (n, ==, 3);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_path_list_from_paths (flat.dictionary, paths, 3, &again));
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, again, 1, 1, paths + 3, &n));
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (paths[3], ==, paths[1]);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, again, 3, 9, paths, &n));
  g_assert_cmpuint (n, ==, 0);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, again, G_MAXSIZE, 9, paths, &n));
  g_assert_cmpuint (n, ==, 0);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, again, 0, 0, NULL, &n));
  g_assert_cmpuint (n, ==, 0);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_path_list_from_strings (flat.dictionary, NULL, 0, &empty));
  assert_in_dictionary (flat.dictionary, path_dictionary_get_num_paths_from_path_list (flat.dictionary, empty, &n));
  g_assert_cmpuint (n, ==, 0);
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, empty));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, again));
  flat_clear (&flat);
}

static void
test_references (void)
{
  Flat flat, other;
  ovx_primpath_list_t list;
  size_t n;

  flat_init (&flat);
  flat_init (&other);
  list = make_list (flat.dictionary, 2, "/x", "/y");
  assert_in_dictionary (flat.dictionary, path_dictionary_add_path_list_reference (flat.dictionary, list));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, list));
  assert_in_dictionary (flat.dictionary, path_dictionary_get_num_paths_from_path_list (flat.dictionary, list, &n));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, list));
  assert_fails (path_dictionary_get_num_paths_from_path_list (flat.dictionary, list, &n), "path list");
  assert_fails (path_dictionary_add_path_list_reference (flat.dictionary, list), "path list");
  assert_fails (path_dictionary_release_path_list_reference (flat.dictionary, list), "path list");
  assert_fails (path_dictionary_add_path_list_reference (flat.dictionary, other.prims), "path list");
  assert_fails (path_dictionary_release_path_list_reference (flat.dictionary, flat.query), "path list");
  assert_in_dictionary (flat.dictionary, path_dictionary_add_path_list_reference (flat.dictionary, 0));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, 0));
  flat_clear (&flat);
  flat_clear (&other);
}

static void
test_list_faults (void)
{
  Flat flat;
  const ovx_string_t repeated[] = { { "/a", 2 }, { "/b", 2 }, { "/a", 2 } };
  ovx_primpath_t paths[] = { 1, 4711 };
  ovx_primpath_list_t list = 5;
  size_t n;

  flat_init (&flat);
  assert_fails (path_dictionary_create_path_list_from_strings (flat.dictionary, repeated, 3, &list), "/a");
  assert_fails (path_dictionary_create_path_list_from_strings (flat.dictionary, NULL, 3, &list), "strings is NULL");
  assert_fails (path_dictionary_create_path_list_from_strings (flat.dictionary, repeated, 2, NULL), "out_list");
  assert_fails (path_dictionary_create_path_list_from_paths (flat.dictionary, paths, 2, &list), "4711");
  assert_fails (path_dictionary_create_path_list_from_paths (flat.dictionary, NULL, 2, &list), "paths is NULL");
  assert_fails (path_dictionary_create_path_list_from_paths (flat.dictionary, paths, 1, NULL), "out_list");
  g_assert_cmpuint (list, ==, 5);
  assert_fails (path_dictionary_get_num_paths_from_path_list (flat.dictionary, flat.prims, NULL), "out_num_paths is NULL");
  assert_fails (path_dictionary_get_num_paths_from_path_list (flat.dictionary, 0, &n), "path list 0");
  assert_fails (path_dictionary_get_paths_from_path_list (flat.dictionary, flat.prims, 0, 2, paths, NULL),
                "out_num_paths is NULL");
  assert_fails (path_dictionary_get_paths_from_path_list (flat.dictionary, flat.prims, 0, 2, NULL, &n), "out_paths is NULL");
  assert_fails (path_dictionary_get_paths_from_path_list (flat.dictionary, 0, 0, 2, paths, &n), "path list 0");
  flat_clear (&flat);
}

static void
test_stale_dictionary (void)
{
  Flat flat;
  ovx_string_t text = { "x", 1 };
  path_dictionary_instance_t *wrong[4];
  uint64_t id = 1;
  const ovx_token_t *names = &id;
  size_t n = 1;
  int on_stack;

  flat_init (&flat);
  wrong[0] = flat.dictionary;
  wrong[1] = NULL;
  wrong[2] = (path_dictionary_instance_t *) &on_stack;
  wrong[3] = (path_dictionary_instance_t *) flat.stage;
  flat_clear (&flat);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      path_dictionary_instance_t *d = wrong[i];

      assert_not_in_dictionary (d, path_dictionary_create_tokens_from_strings (d, &text, 1, &id), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_get_strings_from_tokens (d, &id, 1, &text), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_create_paths_from_strings (d, &text, 1, &id), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_create_paths_from_tokens (d, &names, &n, 1, &id), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_get_tokens_from_paths (d, &id, 1, &id, 1, &names, &n, &n), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_create_path_list_from_paths (d, &id, 1, &id), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_create_path_list_from_strings (d, &text, 1, &id), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_add_path_list_reference (d, 1), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_release_path_list_reference (d, 1), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_get_num_paths_from_path_list (d, 1, &n), "dictionary");
      assert_not_in_dictionary (d, path_dictionary_get_paths_from_path_list (d, 1, 0, 1, &id, &n), "dictionary");
      path_dictionary_release_error (d, (ovx_string_t) { NULL, 0 });
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-paths/tokens", test_tokens);
  g_test_add_func ("/flat-paths/token-faults", test_token_faults);
  g_test_add_func ("/flat-paths/paths", test_paths);
  g_test_add_func ("/flat-paths/paths-and-tokens", test_paths_and_tokens);
  g_test_add_func ("/flat-paths/short-buffer", test_short_buffer);
  g_test_add_func ("/flat-paths/token-path-faults", test_token_path_faults);
  g_test_add_func ("/flat-paths/lists", test_lists);
  g_test_add_func ("/flat-paths/references", test_references);
  g_test_add_func ("/flat-paths/list-faults", test_list_faults);
  g_test_add_func ("/flat-paths/stale-dictionary", test_stale_dictionary);
  return g_test_run ();
}
