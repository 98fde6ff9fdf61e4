/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* All functions of the flat API with handles that are stale, made up, of another kind
 * or of another instance, from four threads, while instances come and go. Whatever
 * they are given, they give a status and nothing breaks: the sanitizers watch. */

#include "flat-helpers.h"

#define N_THREADS 4
#define N_INSTANCES 3
#define N_POOL 64

static ovstage_instance_t *instances[N_INSTANCES]; /* (atomic) the last is made anew all the time */
static guint64 pool[N_POOL];                       /* (atomic) handles and ids of all kinds and instances */
static gint n_done[2];                             /* (atomic) refused, done */

typedef struct
{
  GRand *rand;
  ovstage_read_group_t group;
  ovstage_map_group_t piece;
  ovstage_query_result_t result;
} Fuzz;

static guint
pick (Fuzz *fuzz, guint n)
{
  return (guint) g_rand_int_range (fuzz->rand, 0, (gint32) n);
}

static ovstage_instance_t *
pick_instance (Fuzz *fuzz)
{
  guint choice = pick (fuzz, 20);

  if (choice == 0)
    return NULL;
  if (choice == 1)
    return (ovstage_instance_t *) (gsize) (((guint64) g_rand_int (fuzz->rand) << 32) | g_rand_int (fuzz->rand));
  return g_atomic_pointer_get (&instances[pick (fuzz, N_INSTANCES)]);
}

static guint64
pick_handle (Fuzz *fuzz)
{
  switch (pick (fuzz, 12))
    {
    case 0:
      return 0;
    case 1:
      return pick (fuzz, 10000);
    case 2:
      return ((guint64) g_rand_int (fuzz->rand) << 32) | g_rand_int (fuzz->rand);
    default:
      return __atomic_load_n (&pool[pick (fuzz, N_POOL)], __ATOMIC_RELAXED);
    }
}

static void
keep (Fuzz *fuzz, guint64 handle)
{
  if (handle != 0)
    __atomic_store_n (&pool[pick (fuzz, N_POOL)], handle, __ATOMIC_RELAXED);
}

static void
check (ovstage_api_status_t status)
{
  g_assert_true ((status >= OVSTAGE_OK && status <= OVSTAGE_ERROR_OUT_OF_RANGE) || status == OVSTAGE_ERROR_INTERNAL);
  g_assert_cmpint (status, !=, OVSTAGE_ERROR_INTERNAL);
  g_atomic_int_inc (&n_done[status == OVSTAGE_OK]);
}

static void
check_request (Fuzz *fuzz, ovstage_enqueue_result_t result)
{
  check (result.status);
  g_assert_cmpint (result.status == OVSTAGE_OK, ==, result.op_index != 0);
  keep (fuzz, result.op_index);
}

static void
check_dictionary (ovx_api_result_t result)
{
  g_assert_cmpint (result.status == OVX_API_SUCCESS, ==, result.error.ptr == NULL);
  g_atomic_int_inc (&n_done[result.status == OVX_API_SUCCESS]);
  path_dictionary_release_error (NULL, result.error);
}

static void
delete_cb (DLManagedTensorVersioned *managed)
{
  g_free (managed);
}

static ovstage_write_data_t
some_data (Fuzz *fuzz, DLTensor *tensor, const DLManagedTensorVersioned **managed)
{
  static float values[3] = { 1, 2, 3 };
  static int64_t three = 3;
  ovstage_write_data_t data = { .tensor_count = 1, .is_array = pick (fuzz, 4) == 0 };

  *tensor = float_tensor (values, &three);
  if (pick (fuzz, 2) == 0)
    data.tensors = tensor;
  else
    {
      DLManagedTensorVersioned *made = g_new0 (DLManagedTensorVersioned, 1);

      made->version.major = 1;
      made->deleter = delete_cb;
      made->dl_tensor = *tensor;
      *managed = made;
      data.managed_tensors = managed;
    }
  return data;
}

static ovx_string_or_token_t
some_name (Fuzz *fuzz)
{
  return pick (fuzz, 3) == 0 ? token_of (pick_handle (fuzz)) : named (pick (fuzz, 2) == 0 ? "mass" : "speed");
}

static void
paths_step (Fuzz *fuzz)
{
  path_dictionary_instance_t *d = ovstage_get_path_dictionary (pick_instance (fuzz));
  const ovx_string_t names[] = { { "/World/A", 8 }, { "/World/B", 8 }, { "/World/C", 8 } };
  ovx_string_t text;
  uint64_t ids[3] = { pick_handle (fuzz), pick_handle (fuzz), pick_handle (fuzz) }, list = 0;
  uint64_t buffer[4];
  const uint64_t *tokens[3] = { ids, ids, ids };
  size_t sizes[3] = { pick (fuzz, 3), 1, 0 }, n = 0;

  if (pick (fuzz, 16) == 0)
    d = (path_dictionary_instance_t *) pick_instance (fuzz);
  switch (pick (fuzz, 11))
    {
    case 0:
      check_dictionary (path_dictionary_create_tokens_from_strings (d, names, 3, ids));
      break;
    case 1:
      check_dictionary (path_dictionary_get_strings_from_tokens (d, ids, 1, &text));
      break;
    case 2:
      check_dictionary (path_dictionary_create_paths_from_strings (d, names, 3, ids));
      break;
    case 3:
      check_dictionary (path_dictionary_create_paths_from_tokens (d, tokens, sizes, 3, buffer));
      break;
    case 4:
      check_dictionary (path_dictionary_get_tokens_from_paths (d, ids, 3, buffer, 4, tokens, sizes, &n));
      break;
    case 5:
      check_dictionary (path_dictionary_create_path_list_from_paths (d, ids, pick (fuzz, 3), &list));
      break;
    case 6:
    case 7:
      check_dictionary (path_dictionary_create_path_list_from_strings (d, names, 3, &list));
      break;
    case 8:
      check_dictionary (path_dictionary_add_path_list_reference (d, pick_handle (fuzz)));
      break;
    case 9:
      check_dictionary (path_dictionary_release_path_list_reference (d, pick_handle (fuzz)));
      break;
    default:
      check_dictionary (path_dictionary_get_num_paths_from_path_list (d, pick_handle (fuzz), &n));
      check_dictionary (path_dictionary_get_paths_from_path_list (d, pick_handle (fuzz), pick (fuzz, 3), 3, ids, &n));
      break;
    }
  keep (fuzz, list);
  keep (fuzz, ids[0]);
}

static void
release_step (Fuzz *fuzz, ovstage_instance_t *s)
{
  const ovstage_cuda_sync_t sync = { 0, 0 };

  switch (pick (fuzz, 9))
    {
    case 0:
      check (ovstage_release_op (s, pick_handle (fuzz)));
      break;
    case 1:
      check_request (fuzz, ovstage_release_query (s, pick_handle (fuzz)));
      break;
    case 2:
      check_request (fuzz, ovstage_release_read (s, pick_handle (fuzz)));
      break;
    case 3:
      check_request (fuzz, ovstage_release_ordinal_query (s, pick_handle (fuzz)));
      break;
    case 4:
      if (pick (fuzz, 2) == 0)
        fuzz->group.read_group_id = pick_handle (fuzz);
      check (ovstage_release_group (s, &fuzz->group));
      break;
    case 5:
      if (pick (fuzz, 2) == 0)
        fuzz->result.query_result_id = pick_handle (fuzz);
      check (ovstage_release_query_result (s, &fuzz->result));
      break;
    case 6:
      check_request (fuzz, ovstage_unmap_group (s, pick_handle (fuzz), &fuzz->piece, sync));
      break;
    case 7:
      check_request (fuzz, ovstage_unmap_attribute (s, pick_handle (fuzz), sync));
      break;
    default:
      check_request (fuzz, ovstage_discard_map (s, pick_handle (fuzz)));
      break;
    }
}

static void
fetch_step (Fuzz *fuzz, ovstage_instance_t *s)
{
  ovstage_timeout_ns_t timeout = pick (fuzz, 3) == 0 ? 100000 : 0;
  ovstage_op_wait_result_t wait;
  ovstage_ordinal_t ordinal;
  const void *extension;
  uint64_t handle;

  switch (pick (fuzz, 7))
    {
    case 0:
      check (ovstage_wait_op (s, pick_handle (fuzz), timeout, &wait));
      for (size_t i = 0; i < wait.error_op_id_count; i++)
        ovstage_get_last_op_error (s, wait.error_op_ids[i]);
      break;
    case 1:
      check (ovstage_fetch_ordinal (s, pick_handle (fuzz), timeout, &ordinal));
      break;
    case 2:
      check (ovstage_fetch_read_next (s, pick_handle (fuzz), timeout, &fuzz->group));
      keep (fuzz, fuzz->group.read_group_id);
      keep (fuzz, fuzz->group.prims.list);
      break;
    case 3:
      check (ovstage_fetch_map_next (s, pick_handle (fuzz), timeout, &fuzz->piece));
      keep (fuzz, fuzz->piece.prims.list);
      break;
    case 4:
      check (ovstage_fetch_query_result (s, pick_handle (fuzz), timeout, &fuzz->result));
      keep (fuzz, fuzz->result.query_result_id);
      keep (fuzz, fuzz->result.all_handle);
      break;
    case 5:
      check (ovstage_query_from_path_list (s, pick_handle (fuzz), &handle));
      keep (fuzz, handle);
      break;
    default:
      check (ovstage_query_extension (s, "ovstage.placement", &extension));
      ovstage_get_last_op_error (s, pick_handle (fuzz));
      ovstage_get_last_error ();
      ovstage_get_version (s, NULL, NULL, NULL);
      ovstage_get_error_string (s, (ovstage_api_status_t) pick (fuzz, 100));
      break;
    }
}

static void
request_step (Fuzz *fuzz, ovstage_instance_t *s)
{
  DLTensor tensors[2];
  const DLManagedTensorVersioned *managed[2];
  ovstage_attribute_write_t writes[2];
  ovx_string_or_token_t name = some_name (fuzz);
  ovstage_map_desc_t desc = { .attribute = name, .dtype = { kDLFloat, 32, 1 } };
  ovx_token_t tokens[2] = { pick_handle (fuzz), pick_handle (fuzz) };
  ovstage_ordinal_range_t range = { pick (fuzz, 60), pick (fuzz, 60), pick (fuzz, 2) == 0 };
  ovstage_write_floor_desc_t floor = { pick (fuzz, 40), (ovstage_scope_t) pick (fuzz, 4), tokens, pick (fuzz, 3) };
  ovstage_ordinal_t ordinal = pick (fuzz, 60);
  const ovx_string_t source = { "/World/A", 8 }, targets[] = { { "/Copy/A", 7 }, { "/Copy/B", 7 } };
  ovstage_predicate_t predicate = { name, (ovstage_filter_op_t) pick (fuzz, 10), targets, pick (fuzz, 2) };
  ovstage_filter_t filter = { &predicate, 1 };
  uint64_t handle = 0;

  switch (pick (fuzz, 10))
    {
    case 8:
      check_request (fuzz, ovstage_query (s, pick (fuzz, 2) == 0 ? &filter : NULL, tokens, pick (fuzz, 3), &handle));
      break;
    case 9:
      check_request (fuzz, ovstage_clone (s, source, targets, pick (fuzz, 3), ordinal));
      break;
    case 0:
      check_request (fuzz, ovstage_write_attribute (s, pick_handle (fuzz), name, ordinal, some_data (fuzz, &tensors[0], &managed[0]),
                                                    (ovstage_prim_mode_t) pick (fuzz, 4)));
      break;
    case 1:
      for (guint i = 0; i < 2; i++)
        writes[i] = (ovstage_attribute_write_t) { some_name (fuzz), some_data (fuzz, &tensors[i], &managed[i]) };
      if (pick (fuzz, 4) == 0 && writes[0].data.managed_tensors != NULL && writes[1].data.managed_tensors == NULL)
        writes[1].data = writes[0].data;
      check_request (fuzz, ovstage_write_attributes (s, pick_handle (fuzz), writes, 2, ordinal, OVSTAGE_PRIM_MODE_UPSERT));
      break;
    case 2:
      check_request (fuzz, ovstage_delete_attributes (s, pick_handle (fuzz), &name, pick (fuzz, 2), ordinal));
      break;
    case 3:
      check_request (fuzz, ovstage_read_attributes (s, pick_handle (fuzz), tokens, pick (fuzz, 3), range, &handle));
      break;
    case 4:
      check_request (fuzz, ovstage_map_attribute (s, pick_handle (fuzz), &desc, ordinal, NULL, 0, &handle));
      break;
    case 5:
      check_request (fuzz, ovstage_get_attribute_write_floor (s, name, &handle));
      break;
    case 6:
      check_request (fuzz, ovstage_get_oldest_preserved_ordinal (s, &handle));
      break;
    default:
      check_request (fuzz, ovstage_advance_write_floor (s, &floor));
      break;
    }
  keep (fuzz, handle);
}

/* Two threads may do it at once: the second finds nothing to destroy. */
static void
replace_instance (void)
{
  ovstage_instance_t *made;

  assert_ok (ovstage_create_instance (NULL, &made));
  ovstage_destroy_instance (g_atomic_pointer_exchange (&instances[N_INSTANCES - 1], made));
}

static gpointer
fuzz_thread (gpointer data)
{
  Fuzz fuzz = { .rand = g_rand_new_with_seed (GPOINTER_TO_UINT (data)) };
  guint n = g_test_slow () ? 100000 : 10000;

  for (guint i = 0; i < n; i++)
    switch (pick (&fuzz, 4))
      {
      case 0:
        paths_step (&fuzz);
        break;
      case 1:
        release_step (&fuzz, pick_instance (&fuzz));
        break;
      case 2:
        fetch_step (&fuzz, pick_instance (&fuzz));
        break;
      default:
        if (pick (&fuzz, 200) == 0)
          replace_instance ();
        request_step (&fuzz, pick_instance (&fuzz));
        break;
      }
  g_rand_free (fuzz.rand);
  return NULL;
}

/* Instances are destroyed with handles open, on purpose. */
static void
ignore_cb (const char *domain, GLogLevelFlags level, const char *message, gpointer user_data)
{
}

static void
test_handles (void)
{
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  guint handler = g_log_set_handler ("ovstage", G_LOG_LEVEL_WARNING, ignore_cb, NULL);
  GThread *threads[N_THREADS];

  for (guint i = 0; i < N_INSTANCES; i++)
    assert_ok (ovstage_create_instance (NULL, &instances[i]));
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("fuzz", fuzz_thread, GUINT_TO_POINTER ((guint) g_test_rand_int ()));
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < N_INSTANCES; i++)
    ovstage_destroy_instance (instances[i]);
  g_test_message ("%d calls refused, %d done", n_done[0], n_done[1]);
  /* It must not have been all nonsense. */
  g_assert_cmpint (n_done[0], >, 1000);
  g_assert_cmpint (n_done[1], >, 1000);
  g_log_remove_handler ("ovstage", handler);
  g_log_set_always_fatal (fatal);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-fuzz/handles", test_handles);
  return g_test_run ();
}
