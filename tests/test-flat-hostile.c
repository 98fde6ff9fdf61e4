/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: counts that nothing has, strings that end where memory does, deleters
 * and log callbacks that call back in, and what each thread is told. */

#include "flat-helpers.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const size_t huge_counts[] = {
  G_MAXSIZE, G_MAXSIZE / 2 + 1, G_MAXSIZE / 4 + 1, G_MAXSIZE / 8 + 2, G_MAXSIZE / 16 + 2, (size_t) G_MAXUINT32 + 1,
};

/* The arrays are there, and far shorter. */
static void
test_huge_counts_in_requests (void)
{
  Flat flat;
  ovstage_attribute_write_t write = { named ("mass"), { 0 } };
  ovx_string_or_token_t name = named ("mass");
  ovx_string_t text = text_of ("/World/A");
  ovstage_ordinal_range_t range = { .end_ordinal = 0 };
  ovstage_map_desc_t desc = { .attribute = name, .dtype = { kDLFloat, 32, 1 } };
  ovstage_query_handle_t query;
  ovstage_read_handle_t read;
  ovstage_map_handle_t map;

  flat_init (&flat);
  for (guint i = 0; i < G_N_ELEMENTS (huge_counts); i++)
    {
      size_t n = huge_counts[i];
      ovstage_predicate_t predicate = { name, OVSTAGE_FILTER_OP_IN, &text, n };
      ovstage_filter_t one = { &predicate, 1 }, many = { &predicate, n };
      ovstage_write_floor_desc_t floor = { 1, OVSTAGE_SCOPE_INCLUDE, &flat.mass, n };

      assert_refused (ovstage_write_attributes (flat.stage, flat.query, &write, n, 1, OVSTAGE_PRIM_MODE_UPSERT),
                      OVSTAGE_ERROR_INVALID_ARGUMENT, "writes");
      assert_refused (ovstage_delete_attributes (flat.stage, flat.query, &name, n, 1), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
      assert_refused (ovstage_clone (flat.stage, text, &text, n, 1), OVSTAGE_ERROR_INVALID_ARGUMENT, "targets");
      assert_refused (ovstage_map_attribute (flat.stage, flat.query, &desc, 1, &n, n, &map), OVSTAGE_ERROR_INVALID_ARGUMENT,
                      "element_sizes");
      assert_refused (ovstage_read_attributes (flat.stage, flat.query, &flat.mass, n, range, &read), OVSTAGE_ERROR_INVALID_ARGUMENT,
                      "attributes");
      assert_refused (ovstage_query (flat.stage, NULL, &flat.mass, n, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
      assert_refused (ovstage_query (flat.stage, &one, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "values");
      predicate.value_count = 1;
      assert_refused (ovstage_query (flat.stage, &many, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates");
      assert_refused (ovstage_advance_write_floor (flat.stage, &floor), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
      floor.scope = OVSTAGE_SCOPE_EXCLUDE;
      assert_refused (ovstage_advance_write_floor (flat.stage, &floor), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes");
      /* Nobody looks at them. */
      floor.scope = OVSTAGE_SCOPE_ALL;
      floor.ordinal = 0;
      assert_done (flat.stage, ovstage_advance_write_floor (flat.stage, &floor));
    }
  flat_clear (&flat);
}

static void
test_huge_counts_in_dictionary (void)
{
  Flat flat;
  path_dictionary_instance_t *d;
  ovx_string_t text = text_of ("/World/A");
  uint64_t id = 1, list = 9;
  const uint64_t *ids = &id;
  size_t n_ids = 1, n_done = 9;

  flat_init (&flat);
  d = flat.dictionary;
  for (guint i = 0; i < G_N_ELEMENTS (huge_counts); i++)
    {
      size_t n = huge_counts[i];

      assert_not_in_dictionary (d, path_dictionary_create_tokens_from_strings (d, &text, n, &id), "strings");
      assert_not_in_dictionary (d, path_dictionary_get_strings_from_tokens (d, &id, n, &text), "tokens");
      assert_not_in_dictionary (d, path_dictionary_create_paths_from_strings (d, &text, n, &id), "strings");
      assert_not_in_dictionary (d, path_dictionary_create_paths_from_tokens (d, &ids, &n_ids, n, &id), "tokens_per_path");
      assert_not_in_dictionary (d, path_dictionary_create_paths_from_tokens (d, &ids, &n, 1, &id), "entry 0: tokens");
      assert_not_in_dictionary (d, path_dictionary_get_tokens_from_paths (d, &id, n, &id, 1, &ids, &n_ids, &n_done), "paths");
      assert_not_in_dictionary (d, path_dictionary_create_path_list_from_paths (d, &id, n, &list), "paths");
      assert_not_in_dictionary (d, path_dictionary_create_path_list_from_strings (d, &text, n, &list), "strings");
    }
  g_assert_cmpuint (id, ==, 1);
  g_assert_cmpuint (list, ==, 9);
  g_assert_cmpuint (n_done, ==, 9);
  flat_clear (&flat);
}

/* A buffer may claim to be as long as it likes. */
static void
test_huge_buffers (void)
{
  Flat flat;
  ovx_primpath_t paths[3];
  ovx_token_t buffer[6];
  const ovx_token_t *tokens[3];
  size_t n_tokens[3], n = 0;

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, flat.prims, 0, G_MAXSIZE, paths, &n));
  g_assert_cmpuint (n, ==, 3);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, flat.prims, 2, G_MAXSIZE, paths, &n));
  g_assert_cmpuint (n, ==, 1);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_paths_from_path_list (flat.dictionary, flat.prims, 0, 3, paths, &n));
  assert_in_dictionary (flat.dictionary, path_dictionary_get_tokens_from_paths (flat.dictionary, paths, 3, buffer, G_MAXSIZE, tokens,
                                                                               n_tokens, &n));
  g_assert_cmpuint (n, ==, 3);
  flat_clear (&flat);
}

/* As many entries as may be asked for, which are all there, and no room for what is made of them. */
static void
test_no_memory (void)
{
  const gsize n = G_MAXUINT32;
  struct rlimit limit;
  Flat flat;
  gpointer zeroes;
  uint64_t id = 7;
  ovstage_query_handle_t query;
  ovstage_predicate_t predicate = { .op = OVSTAGE_FILTER_OP_IN, .value_count = n };
  ovstage_filter_t filter = { &predicate, 1 };

  if (sizeof (gsize) < 8 || (g_getenv ("SANITIZER") != NULL && g_strcmp0 (g_getenv ("SANITIZER"), "no") != 0)
      || g_getenv ("OVSTAGE_TEST_VALGRIND") != NULL)
    {
      g_test_skip ("needs its own way with memory");
      return;
    }
  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }
  flat_init (&flat);
  predicate.attribute = token_of (flat.mass);
  zeroes = mmap (NULL, n * sizeof (ovstage_attribute_write_t), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (zeroes == MAP_FAILED)
    exit (0);
  /* Less than is there by now: nothing large can be had any more. */
  limit.rlim_cur = limit.rlim_max = (rlim_t) 1 << 30;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  predicate.values = zeroes;
  assert_refused (ovstage_write_attributes (flat.stage, flat.query, zeroes, n, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_OUT_OF_MEMORY,
                  "4294967295 entries");
  assert_refused (ovstage_delete_attributes (flat.stage, flat.query, zeroes, n, 1), OVSTAGE_ERROR_OUT_OF_MEMORY, "4294967295 entries");
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_OUT_OF_MEMORY, "4294967295 entries");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_tokens_from_strings (flat.dictionary, zeroes, n, &id), "no memory");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, zeroes, n, &id), "no memory");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_path_list_from_strings (flat.dictionary, zeroes, n, &id), "no memory");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_tokens (flat.dictionary, zeroes, zeroes, n, &id), "no memory");
  g_assert_cmpuint (id, ==, 7);
  flat_clear (&flat);
}

/* A text whose last byte is the last that may be read. */
typedef struct
{
  char *pages;
  size_t size;
} Edge;

static void
edge_init (Edge *edge)
{
  edge->size = (size_t) sysconf (_SC_PAGESIZE);
  edge->pages = mmap (NULL, 2 * edge->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true (edge->pages != MAP_FAILED);
  g_assert_cmpint (mprotect (edge->pages + edge->size, edge->size, PROT_NONE), ==, 0);
}

static void
edge_clear (Edge *edge)
{
  munmap (edge->pages, 2 * edge->size);
}

static ovx_string_t
at_edge (Edge *edge, const char *text, size_t length)
{
  char *start = edge->pages + edge->size - length;

  memcpy (start, text, length);
  return (ovx_string_t) { start, length };
}

static void
test_unterminated (void)
{
  Flat flat;
  Edge edge;
  ovx_string_t text, back;
  ovx_string_or_token_t name = { 0 };
  ovstage_ordinal_query_handle_t ordinal;
  ovstage_query_handle_t query;
  ovstage_map_handle_t map;
  ovx_token_t token;
  ovx_primpath_t path;
  ovx_primpath_list_t list;
  float value = 1;
  int64_t one = 1;
  DLTensor tensor = float_tensor (&value, &one);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1, .count = 1 };
  ovstage_attribute_write_t write;
  ovstage_map_desc_t desc = { .dtype = { kDLFloat, 32, 1 } };
  ovstage_predicate_t predicate = { .op = OVSTAGE_FILTER_OP_SUBTREE, .values = &text, .value_count = 1 };
  ovstage_filter_t filter = { &predicate, 1 };
  const ovstage_cuda_sync_t no_sync = { 0, 0 };

  flat_init (&flat);
  edge_init (&edge);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  name.string = text = at_edge (&edge, "mass", 4);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_tokens_from_strings (flat.dictionary, &text, 1, &token));
  g_assert_cmpuint (token, ==, flat.mass);
  assert_in_dictionary (flat.dictionary, path_dictionary_get_strings_from_tokens (flat.dictionary, &token, 1, &back));
  g_assert_cmpstr (back.ptr, ==, "mass");
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, name, 2, data, OVSTAGE_PRIM_MODE_UPDATE));
  write = (ovstage_attribute_write_t) { name, data };
  assert_done (flat.stage, ovstage_write_attributes (flat.stage, flat.query, &write, 1, 2, OVSTAGE_PRIM_MODE_UPDATE));
  assert_done (flat.stage, ovstage_delete_attributes (flat.stage, flat.query, &name, 1, 3));
  desc.attribute = name;
  assert_done (flat.stage, ovstage_map_attribute (flat.stage, flat.query, &desc, 4, NULL, 0, &map));
  assert_done (flat.stage, ovstage_unmap_attribute (flat.stage, map, no_sync));
  assert_done (flat.stage, ovstage_get_attribute_write_floor (flat.stage, name, &ordinal));
  assert_done (flat.stage, ovstage_release_ordinal_query (flat.stage, ordinal));
  predicate = (ovstage_predicate_t) { name, OVSTAGE_FILTER_OP_HAS, NULL, 0 };
  assert_done (flat.stage, ovstage_query (flat.stage, &filter, NULL, 0, &query));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));

  text = at_edge (&edge, "/World/A", 8);
  assert_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, &text, 1, &path));
  assert_in_dictionary (flat.dictionary, path_dictionary_create_path_list_from_strings (flat.dictionary, &text, 1, &list));
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, list));
  predicate = (ovstage_predicate_t) { { 0 }, OVSTAGE_FILTER_OP_SUBTREE, &text, 1 };
  assert_done (flat.stage, ovstage_query (flat.stage, &filter, NULL, 0, &query));
  assert_done (flat.stage, ovstage_release_query (flat.stage, query));
  assert_refused (ovstage_clone (flat.stage, text, &text, 1, 5), OVSTAGE_ERROR_ALREADY_EXISTS, "/World/A");

  /* A number that would go on, a character that is not all there. */
  text = at_edge (&edge, "1e", 2);
  predicate = (ovstage_predicate_t) { named ("mass"), OVSTAGE_FILTER_OP_IN, &text, 1 };
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "mass");
  text = at_edge (&edge, "/\xe2\x82", 3);
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, &text, 1, &path), "UTF-8");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_tokens_from_strings (flat.dictionary, &text, 1, &token), "UTF-8");
  assert_refused (ovstage_clone (flat.stage, text, NULL, 0, 5), OVSTAGE_ERROR_INVALID_ARGUMENT, "source");
  name.string = text;
  assert_refused (ovstage_get_attribute_write_floor (flat.stage, name, &ordinal), OVSTAGE_ERROR_INVALID_ARGUMENT, "UTF-8");

  /* No bytes at all, where none may be read. */
  text = at_edge (&edge, "", 0);
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_tokens_from_strings (flat.dictionary, &text, 1, &token), "empty");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, &text, 1, &path), "empty");
  edge_clear (&edge);
  flat_clear (&flat);
}

/* Length counts, and a NUL is no end. */
static void
test_embedded_nul (void)
{
  Flat flat;
  const ovx_string_t path = { "/World/A\0B", 10 }, value = { "1\0002", 3 };
  ovstage_predicate_t predicate = { named ("mass"), OVSTAGE_FILTER_OP_IN, &value, 1 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_query_handle_t query;
  ovx_primpath_t id = 7;
  ovx_primpath_list_t list = 7;
  ovx_string_or_token_t name = { .string = { "mass\0", 5 } };
  ovstage_ordinal_query_handle_t ordinal;

  flat_init (&flat);
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_paths_from_strings (flat.dictionary, &path, 1, &id), "NUL");
  assert_not_in_dictionary (flat.dictionary, path_dictionary_create_path_list_from_strings (flat.dictionary, &path, 1, &list), "NUL");
  assert_refused (ovstage_clone (flat.stage, path, NULL, 0, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "NUL");
  assert_refused (ovstage_clone (flat.stage, text_of ("/World"), &path, 1, 2), OVSTAGE_ERROR_INVALID_ARGUMENT, "NUL");
  assert_refused (ovstage_get_attribute_write_floor (flat.stage, name, &ordinal), OVSTAGE_ERROR_INVALID_ARGUMENT, "NUL");
  assert_refused (ovstage_query (flat.stage, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "mass");
  flat_clear (&flat);
}

static ovstage_write_data_t
take (Owned *owned, const DLManagedTensorVersioned **managed, void (*deleted) (gpointer data), gpointer data)
{
  owned_init (owned);
  owned->deleted = deleted;
  owned->data = data;
  *managed = &owned->managed;
  return (ovstage_write_data_t) { .managed_tensors = managed, .tensor_count = 1 };
}

static void
go_well (gpointer data)
{
  assert_ok (ovstage_initialize (NULL));
  assert_ok (ovstage_shutdown ());
}

static void
go_wrong (gpointer data)
{
  assert_error (ovstage_release_op (NULL, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
}

/* What a deleter does is not what the thread is told of the call that ran it. */
static void
test_deleters_call_in (void)
{
  Flat flat;
  Owned owned;
  const DLManagedTensorVersioned *managed;
  ovstage_write_data_t data;
  ovstage_attribute_write_t write;
  uint64_t none = 0;

  flat_init (&flat);
  data = take (&owned, &managed, go_well, NULL);
  assert_refused (ovstage_write_attribute (flat.stage, 0, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "query");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  data = take (&owned, &managed, go_well, NULL);
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("\xff"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  data = take (&owned, &managed, go_well, NULL);
  assert_refused (ovstage_write_attribute ((ovstage_instance_t *) 4, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "instance: 0x4");
  data = take (&owned, &managed, go_well, NULL);
  owned.managed.version.major = 2;
  assert_refused (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "version");
  write = (ovstage_attribute_write_t) { named ("mass"), take (&owned, &managed, go_well, NULL) };
  assert_refused (ovstage_write_attributes (flat.stage, 0, &write, 1, 1, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  g_assert_cmpint (owned.n_deleted, ==, 1);

  /* Nothing of it is written. */
  data = take (&owned, &managed, go_wrong, NULL);
  data.count = 3;
  data.mask = &none;
  assert_ok (ovstage_write_attribute (flat.stage, flat.query, named ("mass"), 1, data, OVSTAGE_PRIM_MODE_UPSERT).status);
  g_assert_null (ovstage_get_last_error ().ptr);
  g_assert_cmpint (owned.n_deleted, ==, 1);
  flat_clear (&flat);
}

static void
destroy_instance (gpointer data)
{
  ovstage_destroy_instance (data);
}

/* Within a call to it. */
static void
test_destroy_in_deleter (void)
{
  Flat flat;
  Owned owned;
  const DLManagedTensorVersioned *managed;

  flat_init (&flat);
  assert_in_dictionary (flat.dictionary, path_dictionary_release_path_list_reference (flat.dictionary, flat.prims));
  assert_ok (ovstage_release_query (flat.stage, flat.query).status);
  assert_refused (ovstage_write_attribute (flat.stage, 0, named ("mass"), 1, take (&owned, &managed, destroy_instance, flat.stage),
                                           OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_HANDLE, "query");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  assert_error (ovstage_release_op (flat.stage, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
}

static void
do_nothing (gpointer data)
{
}

/* After a call that went well the thread has no last error, whatever was before. */
#define assert_ok_and_quiet(call)                                                                                      \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    assert_error (ovstage_release_op (NULL, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");                             \
    assert_ok (call);                                                                                                  \
    g_assert_null (ovstage_get_last_error ().ptr);                                                                     \
  }                                                                                                                    \
  G_STMT_END

#define assert_done_and_quiet(stage, call)                                                                             \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    ovstage_enqueue_result_t accepted_;                                                                                \
                                                                                                                       \
    assert_error (ovstage_release_op (NULL, 1), OVSTAGE_ERROR_INVALID_HANDLE, "instance");                             \
    accepted_ = (call);                                                                                                \
    g_assert_null (ovstage_get_last_error ().ptr);                                                                     \
    assert_done (stage, accepted_);                                                                                    \
  }                                                                                                                    \
  G_STMT_END

/* Each function, with what it can do and with what it cannot. */
static void
call_all_requests (Flat *flat)
{
  ovstage_instance_t *s = flat->stage;
  const ovx_string_t source = text_of ("/World/A"), target = text_of ("/Copy"), nul = { "/a\0b", 4 };
  const ovx_string_or_token_t name = named ("mass"), bad = named ("\xff");
  const ovstage_cuda_sync_t no_sync = { 0, 0 };
  ovstage_map_desc_t desc = { .attribute = name, .dtype = { kDLFloat, 32, 1 } }, bad_desc = { .attribute = bad };
  ovstage_predicate_t predicate = { bad, OVSTAGE_FILTER_OP_HAS, NULL, 0 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_write_floor_desc_t floor = { .ordinal = 2 };
  ovstage_write_data_t nothing = { 0 };
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  ovstage_query_handle_t query;
  ovstage_read_handle_t read;
  ovstage_map_handle_t map, another;
  ovstage_ordinal_query_handle_t ordinals[2];
  ovstage_query_result_t result;
  ovstage_read_group_t group;
  ovstage_map_group_t piece;
  ovstage_ordinal_t ordinal;
  const void *extension;
  ovstage_enqueue_result_t request = write_floats (flat, 2, 1, 2, 3);

  assert_ok_and_quiet (ovstage_wait_op (s, request.op_index, 0, NULL));
  g_assert_null (ovstage_get_last_op_error (s, request.op_index).ptr);
  assert_ok_and_quiet (ovstage_release_op (s, request.op_index));
  assert_status (ovstage_release_op (s, request.op_index), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_status (ovstage_wait_op (s, 0, 0, NULL), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_status (ovstage_query_extension (s, "none", &extension), OVSTAGE_ERROR_NOT_FOUND);
  assert_done_and_quiet (s, ovstage_advance_write_floor (s, &floor));
  assert_done_and_quiet (s, ovstage_get_attribute_write_floor (s, name, &ordinals[0]));
  assert_refused (ovstage_get_attribute_write_floor (s, bad, &ordinals[1]), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  assert_done_and_quiet (s, ovstage_get_oldest_preserved_ordinal (s, &ordinals[1]));
  assert_ok_and_quiet (ovstage_fetch_ordinal (s, ordinals[0], 0, &ordinal));
  assert_status (ovstage_fetch_ordinal (s, 0, 0, &ordinal), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_done_and_quiet (s, ovstage_release_ordinal_query (s, ordinals[0]));
  assert_done_and_quiet (s, ovstage_release_ordinal_query (s, ordinals[1]));
  assert_refused (ovstage_release_ordinal_query (s, 0), OVSTAGE_ERROR_INVALID_HANDLE, "ordinal query");
  assert_refused (ovstage_query (s, &filter, NULL, 0, &query), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  assert_done_and_quiet (s, ovstage_query (s, NULL, NULL, 0, &query));
  assert_ok_and_quiet (ovstage_fetch_query_result (s, query, 0, &result));
  assert_status (ovstage_fetch_query_result (s, 0, 0, &(ovstage_query_result_t) { 0 }), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_ok_and_quiet (ovstage_release_query_result (s, &result));
  assert_status (ovstage_release_query_result (s, &result), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_done_and_quiet (s, ovstage_release_query (s, query));
  assert_refused (ovstage_release_query (s, query), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_status (ovstage_query_from_path_list (s, 0, &query), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_ok_and_quiet (ovstage_query_from_path_list (s, flat->prims, &query));
  assert_done_and_quiet (s, ovstage_release_query (s, query));
  assert_status (ovstage_release_op (NULL, 1), OVSTAGE_ERROR_INVALID_HANDLE);
  g_assert_nonnull (ovstage_get_path_dictionary (s));
  g_assert_null (ovstage_get_last_error ().ptr);
  assert_done_and_quiet (s, ovstage_read_attributes (s, flat->query, &flat->mass, 1, range, &read));
  assert_ok_and_quiet (ovstage_fetch_read_next (s, read, 0, &group));
  assert_ok_and_quiet (ovstage_release_group (s, &group));
  assert_status (ovstage_release_group (s, &group), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_status (ovstage_fetch_read_next (s, read, 0, &group), OVSTAGE_ERROR_END_OF_ITERATION);
  assert_done_and_quiet (s, ovstage_release_read (s, read));
  assert_status (ovstage_fetch_read_next (s, read, 0, &group), OVSTAGE_ERROR_INVALID_HANDLE);
  assert_refused (ovstage_read_attributes (s, 0, NULL, 0, range, &read), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  assert_refused (ovstage_write_attribute (s, flat->query, bad, 3, nothing, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "attribute");
  assert_done_and_quiet (s, ovstage_write_attributes (s, flat->query, NULL, 0, 3, OVSTAGE_PRIM_MODE_UPSERT));
  assert_done_and_quiet (s, ovstage_delete_attributes (s, flat->query, &name, 0, 3));
  assert_refused (ovstage_delete_attributes (s, flat->query, &bad, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  assert_refused (ovstage_clone (s, source, &target, 1, 3), OVSTAGE_ERROR_NOT_FOUND, "/World/A");
  assert_refused (ovstage_clone (s, nul, &target, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "source");
  assert_refused (ovstage_clone (s, source, &nul, 1, 3), OVSTAGE_ERROR_INVALID_ARGUMENT, "targets");
  assert_refused (ovstage_map_attribute (s, flat->query, &bad_desc, 4, NULL, 0, &map), OVSTAGE_ERROR_INVALID_ARGUMENT, "attribute");
  assert_done_and_quiet (s, ovstage_map_attribute (s, flat->query, &desc, 4, NULL, 0, &map));
  assert_done_and_quiet (s, ovstage_map_attribute (s, flat->query, &desc, 4, NULL, 0, &another));
  assert_ok_and_quiet (ovstage_fetch_map_next (s, map, 0, &piece));
  assert_done_and_quiet (s, ovstage_unmap_group (s, map, &piece, no_sync));
  assert_refused (ovstage_unmap_group (s, map, &piece, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  assert_status (ovstage_fetch_map_next (s, map, 0, &piece), OVSTAGE_ERROR_END_OF_ITERATION);
  g_assert_null (ovstage_get_last_error ().ptr);
  assert_done_and_quiet (s, ovstage_unmap_attribute (s, map, no_sync));
  assert_done_and_quiet (s, ovstage_discard_map (s, another));
  assert_refused (ovstage_unmap_group (s, map, &piece, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_refused (ovstage_unmap_attribute (s, map, no_sync), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_refused (ovstage_discard_map (s, map), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_status (ovstage_fetch_map_next (s, map, 0, &piece), OVSTAGE_ERROR_INVALID_HANDLE);
}

static void
call_all_of_dictionary (path_dictionary_instance_t *d)
{
  const ovx_string_t good[] = { { "/a", 2 }, { "/b", 2 } }, bad[] = { { "/a", 2 }, { "", 0 } };
  ovx_token_t tokens[2], unknown = 4711, buffer[4];
  ovx_primpath_t paths[2];
  ovx_string_t strings[2];
  const ovx_token_t *names[2];
  size_t sizes[2], n;
  ovx_primpath_list_t lists[2];

  assert_in_dictionary (d, path_dictionary_create_tokens_from_strings (d, good, 2, tokens));
  assert_not_in_dictionary (d, path_dictionary_create_tokens_from_strings (d, bad, 2, tokens), "entry 1");
  assert_in_dictionary (d, path_dictionary_get_strings_from_tokens (d, tokens, 2, strings));
  assert_not_in_dictionary (d, path_dictionary_get_strings_from_tokens (d, &unknown, 1, strings), "4711");
  assert_in_dictionary (d, path_dictionary_create_paths_from_strings (d, good, 2, paths));
  assert_in_dictionary (d, path_dictionary_get_tokens_from_paths (d, paths, 2, buffer, 4, names, sizes, &n));
  assert_not_in_dictionary (d, path_dictionary_get_tokens_from_paths (d, &unknown, 1, buffer, 4, names, sizes, &n), "4711");
  assert_in_dictionary (d, path_dictionary_create_paths_from_tokens (d, names, sizes, 1, paths));
  assert_not_in_dictionary (d, path_dictionary_create_paths_from_tokens (d, NULL, sizes, 1, paths), "NULL");
  assert_in_dictionary (d, path_dictionary_create_path_list_from_paths (d, paths, 2, &lists[0]));
  assert_not_in_dictionary (d, path_dictionary_create_path_list_from_paths (d, &unknown, 1, &lists[1]), "4711");
  assert_in_dictionary (d, path_dictionary_create_path_list_from_strings (d, good, 2, &lists[1]));
  assert_in_dictionary (d, path_dictionary_add_path_list_reference (d, lists[0]));
  assert_in_dictionary (d, path_dictionary_get_num_paths_from_path_list (d, lists[0], &n));
  assert_in_dictionary (d, path_dictionary_get_paths_from_path_list (d, lists[0], 0, 2, paths, &n));
  for (guint i = 0; i < 3; i++)
    assert_in_dictionary (d, path_dictionary_release_path_list_reference (d, lists[i / 2]));
  assert_not_in_dictionary (d, path_dictionary_release_path_list_reference (d, lists[0]), "path list");
  assert_not_in_dictionary (d, path_dictionary_add_path_list_reference (d, lists[0]), "path list");
  assert_not_in_dictionary (d, path_dictionary_get_num_paths_from_path_list (d, lists[0], &n), "path list");
  assert_not_in_dictionary (d, path_dictionary_get_paths_from_path_list (d, lists[0], 0, 2, paths, &n), "path list");
}

/* After all of that nobody is inside any more: destroying lets go of the values. */
static void
test_nobody_stays (void)
{
  Flat flat;
  Owned owned;
  const DLManagedTensorVersioned *managed;
  ovstage_write_data_t data = take (&owned, &managed, do_nothing, NULL);
  int64_t shape[] = { 3, 20000 };
  gpointer values = aligned_alloc (256, 3 * 20000 * 4 + 128);

  /* Too much to be copied. */
  memset (values, 0, 3 * 20000 * 4);
  owned.managed.dl_tensor.data = values;
  owned.managed.dl_tensor.ndim = 2;
  owned.managed.dl_tensor.shape = shape;
  flat_init (&flat);
  assert_done (flat.stage, ovstage_write_attribute (flat.stage, flat.query, named ("kept"), 5, data, OVSTAGE_PRIM_MODE_UPSERT));
  call_all_requests (&flat);
  call_all_of_dictionary (flat.dictionary);
  g_assert_cmpint (owned.n_deleted, ==, 0);
  flat_clear (&flat);
  g_assert_cmpint (owned.n_deleted, ==, 1);
  free (values);
}

typedef struct
{
  Flat *flat;
  guint n;
} Callback;

static void
log_and_destroy (ovstage_log_level_t level, ovx_string_t message, void *user_data)
{
  Callback *callback = user_data;
  ovstage_instance_t *another;

  callback->n++;
  ovstage_destroy_instance (callback->flat->stage);
  assert_last_error ("instance");
  assert_ok (ovstage_create_instance (NULL, &another));
  ovstage_destroy_instance (another);
  assert_ok (ovstage_set_log_callback (NULL, NULL));
}

static void
test_log_calls_in (void)
{
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  Flat flat;
  Callback callback = { &flat, 0 };

  flat_init (&flat);
  assert_ok (ovstage_set_log_callback (log_and_destroy, &callback));
  ovstage_destroy_instance (flat.stage);
  g_assert_cmpuint (callback.n, ==, 1);
  g_log_set_always_fatal (fatal);
}

static void
other_handler (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
  (*(guint *) user_data)++;
}

/* What the library says has one of four levels; what others say is not for the callback. */
static void
test_log_levels (void)
{
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  Logged first = { 0 }, second = { 0 };
  guint n_before = 0, n_others = 0, before, handler;

  before = g_log_set_handler ("ovstage", G_LOG_LEVEL_MASK, other_handler, &n_before);
  assert_ok (ovstage_set_log_callback (log_cb, &first));
  g_log ("ovstage", G_LOG_LEVEL_CRITICAL, "told");
  g_assert_cmpint (first.level, ==, OVSTAGE_LOG_LEVEL_ERROR);
  g_log ("ovstage", G_LOG_LEVEL_WARNING, "told");
  g_assert_cmpint (first.level, ==, OVSTAGE_LOG_LEVEL_WARNING);
  g_log ("ovstage", G_LOG_LEVEL_MESSAGE, "told");
  g_assert_cmpint (first.level, ==, OVSTAGE_LOG_LEVEL_INFO);
  g_log ("ovstage", G_LOG_LEVEL_DEBUG, "told");
  g_assert_cmpint (first.level, ==, OVSTAGE_LOG_LEVEL_DEBUG);
  g_log ("ovstage", G_LOG_LEVEL_INFO, "told");
  g_assert_cmpint (first.level, ==, OVSTAGE_LOG_LEVEL_INFO);
  g_assert_cmpuint (first.n, ==, 5);
  g_assert_cmpstr (first.text, ==, "told");

  assert_ok_and_quiet (ovstage_set_log_callback (log_cb, &second));
  g_log ("ovstage", G_LOG_LEVEL_WARNING, "told");
  g_assert_cmpuint (first.n, ==, 5);
  g_assert_cmpuint (second.n, ==, 1);
  handler = g_log_set_handler ("another", G_LOG_LEVEL_MASK, other_handler, &n_others);
  g_log ("another", G_LOG_LEVEL_WARNING, "told");
  g_assert_cmpuint (n_others, ==, 1);
  g_assert_cmpuint (second.n, ==, 1);
  g_log_remove_handler ("another", handler);

  /* GLib's again, as often as one says so. */
  g_assert_cmpuint (n_before, ==, 0);
  handler = g_log_set_handler ("GLib", G_LOG_LEVEL_MASK, other_handler, &n_others);
  assert_ok (ovstage_set_log_callback (NULL, &second));
  assert_ok (ovstage_set_log_callback (NULL, NULL));
  g_log ("ovstage", G_LOG_LEVEL_WARNING, "told");
  g_assert_cmpuint (second.n, ==, 1);
  g_assert_cmpuint (n_before, ==, 1);
  g_assert_cmpuint (n_others, ==, 1);
  g_log_remove_handler ("GLib", handler);
  g_log_remove_handler ("ovstage", before);
  g_log_set_always_fatal (fatal);
  g_free (first.text);
  g_free (second.text);
}

static void
test_shutdown_early (void)
{
  Flat flat;

  assert_ok (ovstage_initialize (NULL));
  flat_init (&flat);
  assert_ok (ovstage_shutdown ());
  assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
  seal (&flat, 1);
  flat_clear (&flat);
}

static gpointer
fail_thread (gpointer data)
{
  for (guint i = 0; i < 500; i++)
    {
      guint64 number = (guint64) GPOINTER_TO_UINT (data) * 1000 + i + 1000000;
      g_autofree char *expected = g_strdup_printf ("instance: 0x%" G_GINT64_MODIFIER "x ", number << 16);

      g_assert_null (ovstage_get_last_error ().ptr);
      assert_error (ovstage_release_op ((ovstage_instance_t *) (gsize) (number << 16), 0), OVSTAGE_ERROR_INVALID_HANDLE, expected);
      g_thread_yield ();
      assert_last_error (expected);
      assert_ok (ovstage_initialize (NULL));
      assert_ok (ovstage_shutdown ());
    }
  return NULL;
}

static void
test_errors_of_threads (void)
{
  GThread *threads[6];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("fail", fail_thread, GUINT_TO_POINTER (i));
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

typedef struct
{
  Flat *flat;
  ovstage_map_handle_t map;
  ovstage_map_group_t piece;
  ovstage_read_group_t group;
  ovstage_query_result_t result;
  gint n_ready, n_unmapped, n_released, n_results, n_lists; /* (atomic) */
} Race;

static gpointer
race_thread (gpointer data)
{
  Race *race = data;
  ovstage_instance_t *s = race->flat->stage;
  ovx_api_result_t list;

  g_atomic_int_inc (&race->n_ready);
  while (g_atomic_int_get (&race->n_ready) < 4)
    ;
  if (ovstage_unmap_group (s, race->map, &race->piece, (ovstage_cuda_sync_t) { 0, 0 }).status == OVSTAGE_OK)
    g_atomic_int_inc (&race->n_unmapped);
  if (ovstage_release_group (s, &race->group) == OVSTAGE_OK)
    g_atomic_int_inc (&race->n_released);
  if (ovstage_release_query_result (s, &race->result) == OVSTAGE_OK)
    g_atomic_int_inc (&race->n_results);
  list = path_dictionary_release_path_list_reference (race->flat->dictionary, race->flat->prims);
  if (list.status == OVX_API_SUCCESS)
    g_atomic_int_inc (&race->n_lists);
  path_dictionary_release_error (race->flat->dictionary, list.error);
  return NULL;
}

/* Of several that let go of the same thing, one does. */
static void
test_release_once (void)
{
  for (guint round = 0; round < 50; round++)
    {
      Flat flat;
      Race race = { .flat = &flat };
      ovstage_map_desc_t desc = { .attribute = named ("mass"), .dtype = { kDLFloat, 32, 1 } };
      ovstage_read_handle_t read;
      GThread *threads[4];

      flat_init (&flat);
      assert_done (flat.stage, write_floats (&flat, 1, 1, 2, 3));
      seal (&flat, 1);
      read = read_at (&flat, 1);
      assert_ok (ovstage_fetch_read_next (flat.stage, read, OVSTAGE_TIMEOUT_INFINITE, &race.group));
      assert_ok (ovstage_fetch_query_result (flat.stage, flat.query, OVSTAGE_TIMEOUT_INFINITE, &race.result));
      assert_done (flat.stage, ovstage_map_attribute (flat.stage, flat.query, &desc, 2, NULL, 0, &race.map));
      assert_ok (ovstage_fetch_map_next (flat.stage, race.map, OVSTAGE_TIMEOUT_INFINITE, &race.piece));
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        threads[i] = g_thread_new ("race", race_thread, &race);
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        g_thread_join (threads[i]);
      g_assert_cmpint (race.n_unmapped, ==, 1);
      g_assert_cmpint (race.n_released, ==, 1);
      g_assert_cmpint (race.n_results, ==, 1);
      g_assert_cmpint (race.n_lists, ==, 1);
      assert_done (flat.stage, ovstage_discard_map (flat.stage, race.map));
      assert_done (flat.stage, ovstage_release_read (flat.stage, read));
      assert_done (flat.stage, ovstage_release_query (flat.stage, flat.query));
      ovstage_destroy_instance (flat.stage);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-hostile/huge-counts/requests", test_huge_counts_in_requests);
  g_test_add_func ("/flat-hostile/huge-counts/dictionary", test_huge_counts_in_dictionary);
  g_test_add_func ("/flat-hostile/huge-counts/buffers", test_huge_buffers);
  g_test_add_func ("/flat-hostile/no-memory", test_no_memory);
  g_test_add_func ("/flat-hostile/unterminated", test_unterminated);
  g_test_add_func ("/flat-hostile/embedded-nul", test_embedded_nul);
  g_test_add_func ("/flat-hostile/deleters-call-in", test_deleters_call_in);
  g_test_add_func ("/flat-hostile/destroy-in-deleter", test_destroy_in_deleter);
  g_test_add_func ("/flat-hostile/nobody-stays", test_nobody_stays);
  g_test_add_func ("/flat-hostile/log-calls-in", test_log_calls_in);
  g_test_add_func ("/flat-hostile/log-levels", test_log_levels);
  g_test_add_func ("/flat-hostile/shutdown-early", test_shutdown_early);
  g_test_add_func ("/flat-hostile/errors-of-threads", test_errors_of_threads);
  g_test_add_func ("/flat-hostile/release-once", test_release_once);
  return g_test_run ();
}
