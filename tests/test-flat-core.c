/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What is behind the flat API: id sets, handles, records, and operations that are
 * not done. */

#include "config.h"

#include "flat-paused.h"

#include "capi/ovs-id-set.h"

static void
test_id_set_in_order (void)
{
  OvsIdSet set = { 0 };

  g_assert_false (ovs_id_set_has (&set, 1));
  for (guint64 i = 1; i <= 100000; i++)
    g_assert_true (ovs_id_set_add (&set, i));
  g_assert_false (ovs_id_set_add (&set, 5));
  g_assert_cmpuint (ovs_id_set_get_n_ranges (&set), ==, 1);
  g_assert_true (ovs_id_set_has (&set, 100000));
  g_assert_false (ovs_id_set_has (&set, 100001));
  ovs_id_set_clear (&set);
}

static void
test_id_set_random (void)
{
  enum
  {
    N = 400,
  };

  for (guint round = 0; round < 50; round++)
    {
      OvsIdSet set = { 0 };
      gboolean there[N + 2] = { FALSE };
      guint n_ranges = 0;

      for (guint i = 0; i < N; i++)
        {
          guint id = (guint) g_test_rand_int_range (1, N + 1);

          g_assert_cmpint (ovs_id_set_add (&set, id), ==, !there[id]);
          there[id] = TRUE;
        }
      for (guint id = 1; id <= N; id++)
        {
          g_assert_cmpint (ovs_id_set_has (&set, id), ==, there[id]);
          n_ranges += there[id] && !there[id - 1];
        }
      g_assert_cmpuint (ovs_id_set_get_n_ranges (&set), ==, n_ranges);
      for (guint id = N; id >= 1; id--)
        ovs_id_set_add (&set, id);
      g_assert_cmpuint (ovs_id_set_get_n_ranges (&set), ==, 1);
      ovs_id_set_clear (&set);
    }
}

static void
test_handles (void)
{
  OvsHandles tables[2];
  g_autoptr (GHashTable) ever = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 position = 0;
  guint n = 0;

  ovs_handles_init (&tables[0]);
  ovs_handles_init (&tables[1]);
  for (guint i = 0; i < 5000; i++)
    {
      guint64 handle = ovs_handles_add (&tables[0], OVS_HANDLE_READ, GUINT_TO_POINTER (i + 1));

      g_assert_true (g_hash_table_add (ever, g_memdup2 (&handle, sizeof handle)));
      g_assert_true (ovs_handles_find (&tables[0], OVS_HANDLE_READ, handle) == GUINT_TO_POINTER (i + 1));
      g_assert_null (ovs_handles_find (&tables[0], OVS_HANDLE_QUERY, handle));
      g_assert_null (ovs_handles_find (&tables[1], OVS_HANDLE_READ, handle));
      if (g_test_rand_bit ())
        g_array_append_val (open, handle);
      else
        {
          g_assert_nonnull (ovs_handles_steal (&tables[0], OVS_HANDLE_READ, handle));
          g_assert_null (ovs_handles_steal (&tables[0], OVS_HANDLE_READ, handle));
        }
    }
  for (guint i = 0; i < open->len; i++)
    g_assert_nonnull (ovs_handles_find (&tables[0], OVS_HANDLE_READ, g_array_index (open, guint64, i)));
  while (ovs_handles_next (&tables[0], &position) != NULL)
    n++;
  g_assert_cmpuint (n, ==, open->len);
  g_assert_null (ovs_handles_find (&tables[0], OVS_HANDLE_NONE, 0));
  ovs_handles_clear (&tables[0]);
  ovs_handles_clear (&tables[1]);
}

static void
test_timeout (void)
{
  Paused paused;
  ovstage_op_id_t write, seal;
  ovstage_op_wait_result_t wait;

  pause_init (&paused);
  write = write_later (&paused, 1);
  seal = seal_later (&paused, 1);
  assert_error (ovstage_wait_op (paused.flat.stage, seal, 0, &wait), OVSTAGE_ERROR_TIMEOUT, "not done");
  g_assert_cmpuint (wait.lowest_pending_op_id, ==, write);
  assert_error (ovstage_wait_op (paused.flat.stage, seal, 1000000, &wait), OVSTAGE_ERROR_TIMEOUT, "not done");
  assert_status (ovstage_wait_op (paused.flat.stage, write, 0, NULL), OVSTAGE_ERROR_TIMEOUT);
  resume (&paused);
  assert_ok (ovstage_wait_op (paused.flat.stage, seal, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.lowest_pending_op_id, ==, 0);
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  pause_clear (&paused);
}

/* Reads and floors are told in the order of requests, and can be fetched before they are there. */
static void
test_in_order (void)
{
  Paused paused;
  ovstage_ordinal_query_handle_t floor, name_floor, oldest;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  ovstage_ordinal_t ordinal = 99;
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };

  pause_init (&paused);
  write_later (&paused, 2);
  seal_later (&paused, 2);
  assert_ok (ovstage_get_attribute_write_floor (paused.flat.stage, named (""), &floor).status);
  assert_ok (ovstage_get_attribute_write_floor (paused.flat.stage, named ("mass"), &name_floor).status);
  assert_ok (ovstage_get_oldest_preserved_ordinal (paused.flat.stage, &oldest).status);
  assert_ok (ovstage_read_attributes (paused.flat.stage, paused.flat.query, &paused.flat.mass, 1, range, &read).status);
  seal_later (&paused, 5);
  assert_error (ovstage_fetch_ordinal (paused.flat.stage, floor, 0, &ordinal), OVSTAGE_ERROR_TIMEOUT, "not done");
  assert_error (ovstage_fetch_read_next (paused.flat.stage, read, 0, &group), OVSTAGE_ERROR_TIMEOUT, "not done");
  g_assert_cmpuint (ordinal, ==, 99);
  resume (&paused);
  assert_ok (ovstage_fetch_ordinal (paused.flat.stage, floor, OVSTAGE_TIMEOUT_INFINITE, &ordinal));
  g_assert_cmpuint (ordinal, ==, 2);
  assert_ok (ovstage_fetch_ordinal (paused.flat.stage, name_floor, OVSTAGE_TIMEOUT_INFINITE, &ordinal));
  g_assert_cmpuint (ordinal, ==, 2);
  assert_ok (ovstage_fetch_ordinal (paused.flat.stage, oldest, OVSTAGE_TIMEOUT_INFINITE, &ordinal));
  g_assert_cmpuint (ordinal, ==, 0);
  assert_ok (ovstage_fetch_read_next (paused.flat.stage, read, OVSTAGE_TIMEOUT_INFINITE, &group));
  g_assert_cmpuint (group.meta.attribute_write_floor_ordinal, ==, 2);
  assert_ok (ovstage_release_group (paused.flat.stage, &group));
  assert_ok (ovstage_release_read (paused.flat.stage, read).status);
  assert_ok (ovstage_release_ordinal_query (paused.flat.stage, floor).status);
  assert_ok (ovstage_release_ordinal_query (paused.flat.stage, name_floor).status);
  assert_ok (ovstage_release_ordinal_query (paused.flat.stage, oldest).status);
  pause_clear (&paused);
}

/* A filter may wait for values, and what uses it waits with it; the handles are there at once. */
static void
test_pending_query (void)
{
  Paused paused;
  const ovx_string_t zero = { "0", 1 };
  ovstage_predicate_t predicate = { named ("mass"), OVSTAGE_FILTER_OP_GE, &zero, 1 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_query_handle_t query = 0;
  ovstage_query_result_t result;
  ovstage_enqueue_result_t write;
  ovstage_op_wait_result_t wait;

  pause_init (&paused);
  write_later (&paused, 1);
  assert_ok (ovstage_query (paused.flat.stage, &filter, NULL, 0, &query).status);
  g_assert_cmpuint (query, !=, 0);
  assert_error (ovstage_fetch_query_result (paused.flat.stage, query, 0, &result), OVSTAGE_ERROR_TIMEOUT, "not done");
  g_assert_cmpuint (result.query_result_id, ==, 0);
  write = ovstage_write_attribute (paused.flat.stage, query, named ("mass"), 2, paused.data, OVSTAGE_PRIM_MODE_UPDATE);
  assert_ok (write.status);
  assert_ok (ovstage_release_query (paused.flat.stage, query).status);
  resume (&paused);
  assert_ok (ovstage_wait_op (paused.flat.stage, write.op_index, OVSTAGE_TIMEOUT_INFINITE, &wait));
  if (wait.error_op_id_count > 0)
    g_error ("%s", ovstage_get_last_op_error (paused.flat.stage, wait.error_op_ids[0]).ptr);
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  assert_error (ovstage_fetch_query_result (paused.flat.stage, query, 0, &result), OVSTAGE_ERROR_INVALID_HANDLE, "query");
  pause_clear (&paused);
}

/* A query that was withdrawn fails what depends on it, whose deleters run. */
static void
test_failed_query (void)
{
  Paused paused;
  const ovx_string_t zero = { "0", 1 };
  ovstage_predicate_t predicate = { named ("mass"), OVSTAGE_FILTER_OP_GE, &zero, 1 };
  ovstage_filter_t filter = { &predicate, 1 };
  ovstage_query_handle_t query = 0;
  ovstage_query_result_t result;
  ovstage_enqueue_result_t request, write;
  ovstage_op_wait_result_t wait;

  pause_init (&paused);
  write_later (&paused, 1);
  request = ovstage_query (paused.flat.stage, &filter, NULL, 0, &query);
  assert_ok (request.status);
  write = ovstage_write_attribute (paused.flat.stage, query, named ("mass"), 2, paused.data, OVSTAGE_PRIM_MODE_UPDATE);
  assert_ok (write.status);
  cancel (&paused, request.op_index);
  assert_error (ovstage_fetch_query_result (paused.flat.stage, query, OVSTAGE_TIMEOUT_INFINITE, &result), OVSTAGE_ERROR_OP_FAILED,
                "cancelled");
  assert_ok (ovstage_wait_op (paused.flat.stage, write.op_index, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 2);
  g_assert_cmpuint (wait.error_op_ids[0], ==, request.op_index);
  g_assert_cmpuint (wait.error_op_ids[1], ==, write.op_index);
  g_assert_nonnull (ovstage_get_last_op_error (paused.flat.stage, write.op_index).ptr);
  assert_ok (ovstage_release_query (paused.flat.stage, query).status);
  resume (&paused);
  pause_clear (&paused);
}

typedef struct
{
  Paused *paused;
  ovstage_op_id_t wait_for;
  ovstage_op_id_t failed;
} Waiter;

static gpointer
wait_in_thread (gpointer data)
{
  Waiter *waiter = data;
  ovstage_op_wait_result_t wait;

  assert_ok (ovstage_wait_op (waiter->paused->flat.stage, waiter->wait_for, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 1);
  g_assert_cmpuint (wait.error_op_ids[0], ==, waiter->failed);
  g_assert_cmpstr (ovstage_get_last_op_error (waiter->paused->flat.stage, waiter->failed).ptr, ==, "cancelled");
  assert_ok (ovstage_wait_op (waiter->paused->flat.stage, waiter->wait_for, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  return NULL;
}

/* A wait for whatever lists what failed since the last wait, to each thread once. */
static void
test_failures (void)
{
  Paused paused;
  ovstage_op_id_t write, seal, other;
  ovstage_op_wait_result_t wait;
  Waiter waiter;

  pause_init (&paused);
  write = write_later (&paused, 1);
  seal = seal_later (&paused, 1);
  g_assert_null (ovstage_get_last_op_error (paused.flat.stage, seal).ptr);
  cancel (&paused, seal);
  /* Nobody was told yet, and one may ask. */
  g_assert_cmpstr (ovstage_get_last_op_error (paused.flat.stage, seal).ptr, ==, "cancelled");
  resume (&paused);
  assert_ok (ovstage_wait_op (paused.flat.stage, write, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 1);
  g_assert_cmpuint (wait.error_op_ids[0], ==, seal);
  g_assert_cmpstr (ovstage_get_last_op_error (paused.flat.stage, seal).ptr, ==, "cancelled");
  g_assert_cmpuint (ovstage_get_last_op_error (paused.flat.stage, seal).length, ==, strlen ("cancelled"));
  g_assert_null (ovstage_get_last_op_error (paused.flat.stage, write).ptr);

  waiter = (Waiter) { &paused, seal, seal };
  g_thread_join (g_thread_new ("waiter", wait_in_thread, &waiter));

  assert_ok (ovstage_wait_op (paused.flat.stage, seal, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  assert_ok (ovstage_release_op (paused.flat.stage, seal));
  g_assert_null (ovstage_get_last_op_error (paused.flat.stage, seal).ptr);
  assert_error (ovstage_wait_op (paused.flat.stage, seal, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE, "operation");

  /* One that was released before it failed is nobody's business. */
  ovs_workers_pause (paused.instance->stage->workers);
  write_later (&paused, 7);
  seal = seal_later (&paused, 7);
  other = seal_later (&paused, 8);
  {
    OvsOp *op;

    g_assert_true (ovs_records_find (paused.instance->records, seal, &op));
    assert_ok (ovstage_release_op (paused.flat.stage, seal));
    g_assert_true (ovs_op_cancel (op));
    ovs_op_unref (op);
  }
  resume (&paused);
  assert_ok (ovstage_wait_op (paused.flat.stage, other, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  pause_clear (&paused);
}

/* What depended on a withdrawn operation tells so when it is fetched. */
static void
test_failed_read (void)
{
  Paused paused;
  ovstage_op_id_t seal;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  ovstage_enqueue_result_t request;
  ovstage_op_wait_result_t wait;

  pause_init (&paused);
  write_later (&paused, 1);
  seal = seal_later (&paused, 1);
  request = ovstage_read_attributes (paused.flat.stage, paused.flat.query, &paused.flat.mass, 1, range, &read);
  assert_ok (request.status);
  cancel (&paused, seal);
  resume (&paused);
  assert_error (ovstage_fetch_read_next (paused.flat.stage, read, OVSTAGE_TIMEOUT_INFINITE, &group), OVSTAGE_ERROR_OP_FAILED, "read");
  g_assert_cmpuint (group.read_group_id, ==, 0);
  assert_ok (ovstage_wait_op (paused.flat.stage, request.op_index, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 2);
  g_assert_cmpuint (wait.error_op_ids[0], ==, seal);
  g_assert_cmpuint (wait.error_op_ids[1], ==, request.op_index);
  assert_ok (ovstage_release_read (paused.flat.stage, read).status);
  pause_clear (&paused);
}

/* Failures that nobody asks about keep their ids, and the newest their texts; those that were told go. */
static void
test_many_failures (void)
{
  enum
  {
    N = OVS_RECORDS_TEXTS + 100,
  };
  Paused paused;
  ovstage_op_wait_result_t wait;
  ovstage_op_id_t first = 0, write;

  pause_init (&paused);
  write = write_later (&paused, 1);
  for (guint i = 0; i < N; i++)
    {
      ovstage_op_id_t id = seal_later (&paused, 1);

      if (i == 0)
        first = id;
      cancel (&paused, id);
    }
  g_assert_cmpuint (ovs_records_get_n (paused.instance->records), ==, N + 1);
  resume (&paused);
  assert_ok (ovstage_wait_op (paused.flat.stage, write, OVSTAGE_TIMEOUT_INFINITE, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, N);
  g_assert_cmpuint (wait.error_op_ids[0], ==, first);
  g_assert_null (ovstage_get_last_op_error (paused.flat.stage, wait.error_op_ids[99]).ptr);
  g_assert_cmpstr (ovstage_get_last_op_error (paused.flat.stage, wait.error_op_ids[100]).ptr, ==, "cancelled");
  g_assert_cmpuint (ovs_records_get_n (paused.instance->records), ==, OVS_RECORDS_TOLD);
  /* It is still a finished one, until it is released. */
  assert_ok (ovstage_wait_op (paused.flat.stage, first, 0, &wait));
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  assert_ok (ovstage_release_op (paused.flat.stage, first));
  assert_status (ovstage_wait_op (paused.flat.stage, first, 0, &wait), OVSTAGE_ERROR_INVALID_HANDLE);
  pause_clear (&paused);
}

/* A program that never releases an operation keeps none. */
static void
test_no_growth (void)
{
  Paused paused;
  ovstage_op_id_t first = 0, last = 0;

  pause_init (&paused);
  ovs_debug_set_flags (0);
  resume (&paused);
  for (guint i = 1; i <= 2000; i++)
    {
      ovstage_read_handle_t read;
      ovstage_ordinal_range_t range = { .end_ordinal = i };

      last = write_later (&paused, i);
      first = first != 0 ? first : last;
      seal_later (&paused, i);
      assert_ok (ovstage_read_attributes (paused.flat.stage, paused.flat.query, &paused.flat.mass, 1, range, &read).status);
      assert_ok (ovstage_release_read (paused.flat.stage, read).status);
    }
  g_assert_cmpuint (ovs_records_get_n (paused.instance->records), ==, 0);
  assert_ok (ovstage_wait_op (paused.flat.stage, first, 0, NULL));
  assert_ok (ovstage_wait_op (paused.flat.stage, last, 0, NULL));
  assert_ok (ovstage_release_op (paused.flat.stage, first));
  assert_status (ovstage_wait_op (paused.flat.stage, first, 0, NULL), OVSTAGE_ERROR_INVALID_HANDLE);
  pause_clear (&paused);
}

static gpointer
wait_for_end (gpointer data)
{
  Waiter *waiter = data;
  ovstage_op_wait_result_t wait;
  ovstage_api_status_t status = ovstage_wait_op (waiter->paused->flat.stage, waiter->wait_for, OVSTAGE_TIMEOUT_INFINITE, &wait);

  /* It was inside in time, or not. */
  if (status == OVSTAGE_OK)
    {
      g_assert_cmpuint (wait.error_op_id_count, ==, 1);
      g_assert_cmpuint (wait.error_op_ids[0], ==, waiter->wait_for);
    }
  else
    g_assert_cmpint (status, ==, OVSTAGE_ERROR_INVALID_HANDLE);
  return NULL;
}

/* Work that has not begun is withdrawn, and who waits for it gets through. */
static void
test_destroy_in_flight (void)
{
  Paused paused;
  Waiter waiter;
  GThread *thread;
  OvsStage *stage;

  pause_init (&paused);
  assert_in_dictionary (paused.flat.dictionary, path_dictionary_release_path_list_reference (paused.flat.dictionary, paused.flat.prims));
  write_later (&paused, 1);
  waiter = (Waiter) { &paused, seal_later (&paused, 1), 0 };
  assert_ok (ovstage_release_query (paused.flat.stage, paused.flat.query).status);
  thread = g_thread_new ("waiter", wait_for_end, &waiter);
  g_usleep (5000);
  stage = ovs_stage_ref (paused.instance->stage);
  ovs_instance_leave (paused.instance);
  ovstage_destroy_instance (paused.flat.stage);
  g_thread_join (thread);
  ovs_workers_resume (stage->workers);
  ovs_stage_unref (stage);
  ovs_debug_set_flags (paused.flags);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-core/id-set/in-order", test_id_set_in_order);
  g_test_add_func ("/flat-core/id-set/random", test_id_set_random);
  g_test_add_func ("/flat-core/handles", test_handles);
  g_test_add_func ("/flat-core/timeout", test_timeout);
  g_test_add_func ("/flat-core/in-order", test_in_order);
  g_test_add_func ("/flat-core/pending-query", test_pending_query);
  g_test_add_func ("/flat-core/failed-query", test_failed_query);
  g_test_add_func ("/flat-core/failures", test_failures);
  g_test_add_func ("/flat-core/failed-read", test_failed_read);
  g_test_add_func ("/flat-core/many-failures", test_many_failures);
  g_test_add_func ("/flat-core/no-growth", test_no_growth);
  g_test_add_func ("/flat-core/destroy-in-flight", test_destroy_in_flight);
  return g_test_run ();
}
