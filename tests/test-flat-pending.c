/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The flat API: what is refused or fails because of what is not done yet, and handles
 * that go while somebody waits. */

#include "config.h"

#include "flat-paused.h"

static const ovstage_cuda_sync_t no_sync = { 0, 0 };

static ovstage_map_desc_t
describe_mass (void)
{
  return (ovstage_map_desc_t) { .attribute = named ("mass"), .dtype = { kDLFloat, 32, 1 } };
}

static const ovx_string_t zero = { "0", 1 };

/* Waits for the value of "mass". */
static ovstage_enqueue_result_t
query_later (Paused *paused, ovstage_filter_op_t op, ovstage_query_handle_t *query)
{
  ovstage_predicate_t predicate = { named ("mass"), op, &zero, 1 };
  ovstage_filter_t filter = { &predicate, 1 };

  return ovstage_query (paused->flat.stage, &filter, NULL, 0, query);
}

/* It ended with an error that has this in it. */
static void
assert_failed (Paused *paused, ovstage_op_id_t id, const char *part)
{
  ovstage_op_wait_result_t wait;
  ovx_string_t text;

  assert_ok (ovstage_wait_op (paused->flat.stage, id, OVSTAGE_TIMEOUT_INFINITE, &wait));
  text = ovstage_get_last_op_error (paused->flat.stage, id);
  g_assert_nonnull (text.ptr);
  if (strstr (text.ptr, part) == NULL)
    g_error ("'%s' is not in '%s'", part, text.ptr);
}

/* Past the capacity a request that would have to wait is refused, and whatever lets go of something is not. */
static void
test_queue_full (void)
{
  Paused paused;
  ovstage_instance_t *s;
  Owned owned;
  const DLManagedTensorVersioned *managed = &owned.managed;
  ovstage_write_data_t taken = { .managed_tensors = &managed, .tensor_count = 1 };
  ovstage_attribute_write_t write = { named ("mass"), taken };
  ovstage_map_desc_t desc = describe_mass ();
  ovstage_write_floor_desc_t floor = { .ordinal = 3 };
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  ovx_string_or_token_t name = named ("mass");
  ovx_string_t target = text_of ("/Copy");
  ovstage_query_handle_t query, another;
  ovstage_read_handle_t read, refused_read = 9;
  ovstage_map_handle_t map, discarded, refused_map = 9;
  ovstage_ordinal_query_handle_t ordinal, refused_ordinal = 9;
  ovstage_query_result_t result;
  ovstage_op_id_t last;

  pause_init (&paused);
  s = paused.flat.stage;
  assert_ok (ovstage_map_attribute (s, paused.flat.query, &desc, 9, NULL, 0, &map).status);
  assert_ok (ovstage_map_attribute (s, paused.flat.query, &desc, 9, NULL, 0, &discarded).status);
  write_later (&paused, 1);
  last = seal_later (&paused, 1);
  assert_ok (ovstage_read_attributes (s, paused.flat.query, &paused.flat.mass, 1, range, &read).status);
  assert_ok (ovstage_get_oldest_preserved_ordinal (s, &ordinal).status);
  assert_ok (query_later (&paused, OVSTAGE_FILTER_OP_GE, &query).status);
  assert_ok (ovstage_write_attribute (s, query, name, 2, paused.data, OVSTAGE_PRIM_MODE_UPSERT).status);
  paused.instance->stage->config.queue_capacity = 6;

  owned_init (&owned);
  assert_refused (ovstage_write_attribute (s, paused.flat.query, name, 2, taken, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_QUEUE_FULL,
                  "queue-capacity is 6");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  owned_init (&owned);
  assert_refused (ovstage_write_attributes (s, paused.flat.query, &write, 1, 2, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_QUEUE_FULL,
                  "queue-capacity is 6");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  owned_init (&owned);
  assert_refused (ovstage_write_attribute (s, query, name, 2, taken, OVSTAGE_PRIM_MODE_UPSERT), OVSTAGE_ERROR_QUEUE_FULL, "6");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  assert_refused (ovstage_delete_attributes (s, query, &name, 1, 2), OVSTAGE_ERROR_QUEUE_FULL, "6");
  assert_refused (ovstage_delete_attributes (s, query, NULL, 0, 2), OVSTAGE_ERROR_QUEUE_FULL, "6");
  assert_refused (ovstage_clone (s, text_of ("/World"), &target, 1, 2), OVSTAGE_ERROR_QUEUE_FULL, "6");
  assert_refused (ovstage_map_attribute (s, query, &desc, 2, NULL, 0, &refused_map), OVSTAGE_ERROR_QUEUE_FULL, "6");
  g_assert_cmpuint (refused_map, ==, 0);
  assert_refused (ovstage_read_attributes (s, paused.flat.query, &paused.flat.mass, 1, range, &refused_read), OVSTAGE_ERROR_QUEUE_FULL,
                  "6");
  g_assert_cmpuint (refused_read, ==, 0);
  assert_refused (query_later (&paused, OVSTAGE_FILTER_OP_GE, &another), OVSTAGE_ERROR_QUEUE_FULL, "6");
  g_assert_cmpuint (another, ==, 0);
  assert_refused (ovstage_advance_write_floor (s, &floor), OVSTAGE_ERROR_QUEUE_FULL, "6");
  assert_refused (ovstage_get_attribute_write_floor (s, named ("mass"), &refused_ordinal), OVSTAGE_ERROR_QUEUE_FULL, "6");
  g_assert_cmpuint (refused_ordinal, ==, 0);
  assert_refused (ovstage_get_oldest_preserved_ordinal (s, &refused_ordinal), OVSTAGE_ERROR_QUEUE_FULL, "6");
  g_assert_cmpuint (refused_ordinal, ==, 0);

  assert_ok (ovstage_query_from_path_list (s, paused.flat.prims, &another));
  assert_ok (ovstage_fetch_query_result (s, another, 0, &result));
  assert_ok (ovstage_release_query_result (s, &result));
  assert_ok (ovstage_release_query (s, another).status);
  assert_ok (ovstage_release_query (s, query).status);
  assert_ok (ovstage_release_read (s, read).status);
  assert_ok (ovstage_release_ordinal_query (s, ordinal).status);
  assert_ok (ovstage_discard_map (s, discarded).status);
  resume (&paused);
  assert_ok (ovstage_wait_op (s, last, OVSTAGE_TIMEOUT_INFINITE, NULL));
  assert_done (s, ovstage_unmap_attribute (s, map, no_sync));
  pause_clear (&paused);
}

/* W33 */
static void
test_staging_budget (void)
{
  Paused paused;
  Owned owned;
  const DLManagedTensorVersioned *managed = &owned.managed;
  ovstage_write_data_t taken = { .managed_tensors = &managed, .tensor_count = 1 };
  ovstage_attribute_write_t writes[] = { { named ("a"), { 0 } }, { named ("b"), taken } };
  ovstage_map_desc_t desc = describe_mass ();
  ovstage_map_handle_t map = 9;

  pause_init (&paused);
  writes[0].data = paused.data;
  ovs_debug_set_flags (paused.flags);
  paused.instance->stage->config.staging_budget = 16;
  owned_init (&owned);
  assert_refused (ovstage_write_attributes (paused.flat.stage, paused.flat.query, writes, 2, 1, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget is 16");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  owned_init (&owned);
  paused.instance->stage->config.staging_budget = 8;
  assert_refused (ovstage_write_attribute (paused.flat.stage, paused.flat.query, named ("a"), 1, taken, OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget is 8");
  g_assert_cmpint (owned.n_deleted, ==, 1);
  assert_refused (ovstage_map_attribute (paused.flat.stage, paused.flat.query, &desc, 1, NULL, 0, &map), OVSTAGE_ERROR_OUT_OF_MEMORY,
                  "staging-budget is 8");
  g_assert_cmpuint (map, ==, 0);
  resume (&paused);
  pause_clear (&paused);
}

/* A request that was fine when it was made, and is not when its query is there. */
static void
test_own_failures (void)
{
  Paused paused;
  ovstage_instance_t *s;
  ovstage_query_handle_t query, unfit;
  ovstage_read_handle_t read, range_read;
  ovstage_map_handle_t map;
  ovstage_map_desc_t desc = describe_mass ();
  ovstage_ordinal_range_t unsealed = { .end_ordinal = 2 }, range = { 1, 2, true };
  ovstage_enqueue_result_t query_op, write_op, read_op, map_op;
  ovstage_query_result_t result;
  ovstage_read_group_t group;
  ovstage_map_group_t piece;
  ovx_string_or_token_t name = named ("mass");
  ovstage_predicate_t predicate = { named ("later"), OVSTAGE_FILTER_OP_PREFIX, &zero, 1 };
  ovstage_filter_t filter = { &predicate, 1 };

  pause_init (&paused);
  s = paused.flat.stage;
  write_later (&paused, 1);
  write_later (&paused, 2);
  assert_ok (query_later (&paused, OVSTAGE_FILTER_OP_GE, &query).status);
  /* Nobody knows yet what "later" is. */
  assert_ok (ovstage_write_attribute (s, query, named ("later"), 3, paused.data, OVSTAGE_PRIM_MODE_UPSERT).status);
  query_op = ovstage_query (s, &filter, NULL, 0, &unfit);
  assert_ok (query_op.status);
  paused.data.count = 4;
  write_op = ovstage_write_attribute (s, query, name, 3, paused.data, OVSTAGE_PRIM_MODE_UPSERT);
  assert_ok (write_op.status);
  read_op = ovstage_read_attributes (s, query, &paused.flat.mass, 1, unsealed, &read);
  assert_ok (read_op.status);
  assert_ok (ovstage_read_attributes (s, query, &paused.flat.mass, 1, range, &range_read).status);
  desc.prim_mode = OVSTAGE_PRIM_MODE_INSERT;
  map_op = ovstage_map_attribute (s, query, &desc, 4, NULL, 0, &map);
  assert_ok (map_op.status);
  resume (&paused);

  assert_error (ovstage_fetch_query_result (s, unfit, OVSTAGE_TIMEOUT_INFINITE, &result), OVSTAGE_ERROR_NOT_SUPPORTED, "later");
  g_assert_cmpuint (result.query_result_id, ==, 0);
  assert_error (ovstage_fetch_read_next (s, read, OVSTAGE_TIMEOUT_INFINITE, &group), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  g_assert_cmpuint (group.read_group_id, ==, 0);
  assert_error (ovstage_fetch_read_next (s, range_read, OVSTAGE_TIMEOUT_INFINITE, &group), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  /* As often as one asks. */
  assert_error (ovstage_fetch_read_next (s, read, 0, &group), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "mass");
  assert_error (ovstage_fetch_map_next (s, map, OVSTAGE_TIMEOUT_INFINITE, &piece), OVSTAGE_ERROR_ALREADY_EXISTS, "/World/A");
  g_assert_null (piece.data.tensors);
  assert_failed (&paused, write_op.op_index, "4");
  assert_failed (&paused, query_op.op_index, "later");
  assert_failed (&paused, read_op.op_index, "mass");
  assert_failed (&paused, map_op.op_index, "/World/A");
  g_assert_null (ovstage_get_last_error ().ptr);

  assert_ok (ovstage_release_query (s, unfit).status);
  assert_ok (ovstage_release_query (s, query).status);
  assert_ok (ovstage_release_read (s, read).status);
  assert_ok (ovstage_release_read (s, range_read).status);
  assert_ok (ovstage_discard_map (s, map).status);
  pause_clear (&paused);
}

/* What a fetch tells when the request that its own depends on was withdrawn. */
static void
test_fetch_of_withdrawn (void)
{
  Paused paused;
  ovstage_instance_t *s;
  ovstage_query_handle_t query;
  ovstage_read_handle_t read;
  ovstage_map_handle_t map;
  ovstage_map_desc_t desc = describe_mass ();
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  ovstage_enqueue_result_t request, commit;
  ovstage_read_group_t group;
  ovstage_map_group_t piece;

  pause_init (&paused);
  s = paused.flat.stage;
  write_later (&paused, 1);
  request = query_later (&paused, OVSTAGE_FILTER_OP_GE, &query);
  assert_ok (request.status);
  assert_ok (ovstage_map_attribute (s, query, &desc, 2, NULL, 0, &map).status);
  assert_ok (ovstage_read_attributes (s, query, &paused.flat.mass, 1, range, &read).status);
  assert_error (ovstage_fetch_map_next (s, map, 0, &piece), OVSTAGE_ERROR_TIMEOUT, "not done");
  assert_error (ovstage_fetch_map_next (s, map, 1000, &piece), OVSTAGE_ERROR_TIMEOUT, "not done");
  cancel (&paused, request.op_index);
  assert_error (ovstage_fetch_map_next (s, map, OVSTAGE_TIMEOUT_INFINITE, &piece), OVSTAGE_ERROR_OP_FAILED, "query");
  assert_error (ovstage_fetch_read_next (s, read, OVSTAGE_TIMEOUT_INFINITE, &group), OVSTAGE_ERROR_OP_FAILED, "query");
  resume (&paused);
  commit = ovstage_unmap_attribute (s, map, no_sync);
  g_assert_cmpint (commit.status, !=, OVSTAGE_OK);
  assert_refused (ovstage_discard_map (s, map), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_ok (ovstage_release_read (s, read).status);
  assert_ok (ovstage_release_query (s, query).status);
  pause_clear (&paused);
}

static void
test_fetch_ordinal_of_withdrawn (void)
{
  Paused paused;
  ovstage_ordinal_query_handle_t query, other;
  ovstage_enqueue_result_t request;
  ovstage_ordinal_t ordinal = 77;
  ovstage_op_id_t seal;

  pause_init (&paused);
  write_later (&paused, 1);
  seal = seal_later (&paused, 1);
  request = ovstage_get_attribute_write_floor (paused.flat.stage, named (""), &query);
  assert_ok (request.status);
  assert_error (ovstage_fetch_ordinal (paused.flat.stage, query, 1000, &ordinal), OVSTAGE_ERROR_TIMEOUT, "not done");
  assert_ok (ovstage_get_attribute_write_floor (paused.flat.stage, named (""), &other).status);
  cancel (&paused, request.op_index);
  cancel (&paused, seal);
  resume (&paused);
  assert_error (ovstage_fetch_ordinal (paused.flat.stage, query, OVSTAGE_TIMEOUT_INFINITE, &ordinal), OVSTAGE_ERROR_OP_FAILED,
                "cancelled");
  g_assert_cmpuint (ordinal, ==, 77);
  /* Nothing was sealed, which is an answer. */
  assert_ok (ovstage_fetch_ordinal (paused.flat.stage, other, OVSTAGE_TIMEOUT_INFINITE, &ordinal));
  g_assert_cmpuint (ordinal, ==, 0);
  assert_ok (ovstage_release_ordinal_query (paused.flat.stage, query).status);
  assert_ok (ovstage_release_ordinal_query (paused.flat.stage, other).status);
  pause_clear (&paused);
}

/* The text of a failure is there before it was told and after, the same for as long as there is no other wait; not
 * through another instance, though. */
static void
test_texts (void)
{
  Paused paused;
  Flat other;
  ovstage_op_id_t write, seal;
  ovstage_op_wait_result_t wait;
  const char *text, *told;

  pause_init (&paused);
  flat_init (&other);
  write = write_later (&paused, 1);
  seal = seal_later (&paused, 1);
  cancel (&paused, seal);
  text = ovstage_get_last_op_error (paused.flat.stage, seal).ptr;
  g_assert_cmpstr (text, ==, "cancelled");
  for (guint i = 0; i < 10; i++)
    g_assert_true (ovstage_get_last_op_error (paused.flat.stage, seal).ptr == text);
  g_assert_null (ovstage_get_last_op_error (other.stage, seal).ptr);
  g_assert_null (ovstage_get_last_op_error (NULL, seal).ptr);
  assert_last_error ("instance");

  /* To ask is not to be told. */
  assert_status (ovstage_wait_op (paused.flat.stage, write, 0, &wait), OVSTAGE_ERROR_TIMEOUT);
  g_assert_cmpuint (wait.error_op_id_count, ==, 1);
  g_assert_cmpuint (wait.error_op_ids[0], ==, seal);
  told = ovstage_get_last_op_error (paused.flat.stage, seal).ptr;
  g_assert_cmpstr (told, ==, "cancelled");
  g_assert_null (ovstage_get_last_op_error (other.stage, seal).ptr);
  /* What is retired keeps its text for whoever was just told. */
  assert_ok (ovstage_release_op (paused.flat.stage, seal));
  g_assert_true (ovstage_get_last_op_error (paused.flat.stage, seal).ptr == told);
  assert_status (ovstage_wait_op (paused.flat.stage, write, 0, &wait), OVSTAGE_ERROR_TIMEOUT);
  g_assert_cmpuint (wait.error_op_id_count, ==, 0);
  g_assert_null (wait.error_op_ids);
  g_assert_null (ovstage_get_last_op_error (paused.flat.stage, seal).ptr);
  resume (&paused);
  pause_clear (&paused);
  flat_clear (&other);
}

typedef struct
{
  Paused *paused;
  ovstage_op_id_t op;
  ovstage_timeout_ns_t timeout;
  ovstage_query_handle_t query;
  ovstage_read_handle_t read;
  ovstage_map_handle_t map;
  ovstage_ordinal_query_handle_t ordinal;
  gint n_started; /* (atomic) */
  gboolean refused; /* (atomic) */
} Wait;

static gpointer
wait_thread (gpointer data)
{
  Wait *wait = data;

  assert_ok (ovstage_wait_op (wait->paused->flat.stage, wait->op, wait->timeout, NULL));
  return NULL;
}

static void
wait_for_waiters (Paused *paused, guint n)
{
  OvsStage *stage = paused->instance->stage;
  guint n_waiters = 0;

  while (n_waiters < n)
    {
      ovs_mutex_lock (&stage->wait_lock);
      n_waiters = stage->n_waiters;
      ovs_mutex_unlock (&stage->wait_lock);
      g_usleep (100);
    }
}

/* Longer than there is time. */
static void
test_long_timeouts (void)
{
  static const ovstage_timeout_ns_t timeouts[] = {
    G_MAXUINT64, G_MAXUINT64 - 1, G_MAXINT64, (guint64) G_MAXINT64 + 1, G_MAXINT64 - 1, G_GUINT64_CONSTANT (1) << 62,
  };
  Paused paused;
  Wait waits[G_N_ELEMENTS (timeouts)];
  GThread *threads[G_N_ELEMENTS (timeouts)];
  ovstage_op_id_t op;

  pause_init (&paused);
  op = write_later (&paused, 1);
  for (guint i = 0; i < G_N_ELEMENTS (timeouts); i++)
    {
      waits[i] = (Wait) { .paused = &paused, .op = op, .timeout = timeouts[i] };
      threads[i] = g_thread_new ("wait", wait_thread, &waits[i]);
    }
  wait_for_waiters (&paused, G_N_ELEMENTS (threads));
  resume (&paused);
  for (guint i = 0; i < G_N_ELEMENTS (timeouts); i++)
    g_thread_join (threads[i]);
  pause_clear (&paused);
}

static gpointer
fetch_query_thread (gpointer data)
{
  Wait *wait = data;
  ovstage_query_result_t result;

  assert_ok (ovstage_fetch_query_result (wait->paused->flat.stage, wait->query, OVSTAGE_TIMEOUT_INFINITE, &result));
  g_assert_cmpuint (result.total_prim_count, ==, 3);
  assert_ok (ovstage_release_query_result (wait->paused->flat.stage, &result));
  return NULL;
}

static gpointer
fetch_read_thread (gpointer data)
{
  Wait *wait = data;
  ovstage_read_group_t group;

  assert_ok (ovstage_fetch_read_next (wait->paused->flat.stage, wait->read, OVSTAGE_TIMEOUT_INFINITE, &group));
  g_assert_cmpuint (group.prims.count, ==, 3);
  assert_ok (ovstage_release_group (wait->paused->flat.stage, &group));
  return NULL;
}

static gpointer
fetch_ordinal_thread (gpointer data)
{
  Wait *wait = data;
  ovstage_ordinal_t ordinal = 0;

  assert_ok (ovstage_fetch_ordinal (wait->paused->flat.stage, wait->ordinal, OVSTAGE_TIMEOUT_INFINITE, &ordinal));
  g_assert_cmpuint (ordinal, ==, 1);
  return NULL;
}

/* A map that was discarded has nothing to fetch any more. */
static gpointer
fetch_map_thread (gpointer data)
{
  Wait *wait = data;
  ovstage_map_group_t piece;
  ovstage_api_status_t status;

  status = ovstage_fetch_map_next (wait->paused->flat.stage, wait->map, OVSTAGE_TIMEOUT_INFINITE, &piece);
  g_assert_cmpint (status, !=, OVSTAGE_OK);
  g_assert_null (piece.data.tensors);
  return NULL;
}

/* Who waits already gets what the handle stood for. */
static void
test_release_while_waiting (void)
{
  Paused paused;
  ovstage_instance_t *s;
  ovstage_map_desc_t desc = describe_mass ();
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  GThread *threads[5];
  Wait wait = { .paused = &paused, .timeout = OVSTAGE_TIMEOUT_INFINITE };

  pause_init (&paused);
  s = paused.flat.stage;
  write_later (&paused, 1);
  wait.op = seal_later (&paused, 1);
  assert_ok (query_later (&paused, OVSTAGE_FILTER_OP_GE, &wait.query).status);
  assert_ok (ovstage_read_attributes (s, paused.flat.query, &paused.flat.mass, 1, range, &wait.read).status);
  assert_ok (ovstage_get_attribute_write_floor (s, named ("mass"), &wait.ordinal).status);
  assert_ok (ovstage_map_attribute (s, wait.query, &desc, 2, NULL, 0, &wait.map).status);
  threads[0] = g_thread_new ("op", wait_thread, &wait);
  threads[1] = g_thread_new ("query", fetch_query_thread, &wait);
  threads[2] = g_thread_new ("read", fetch_read_thread, &wait);
  threads[3] = g_thread_new ("ordinal", fetch_ordinal_thread, &wait);
  threads[4] = g_thread_new ("map", fetch_map_thread, &wait);
  wait_for_waiters (&paused, 5);
  assert_ok (ovstage_release_op (s, wait.op));
  assert_ok (ovstage_release_query (s, wait.query).status);
  assert_ok (ovstage_release_read (s, wait.read).status);
  assert_ok (ovstage_release_ordinal_query (s, wait.ordinal).status);
  assert_ok (ovstage_discard_map (s, wait.map).status);
  resume (&paused);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  assert_error (ovstage_wait_op (s, wait.op, 0, NULL), OVSTAGE_ERROR_INVALID_HANDLE, "operation");
  pause_clear (&paused);
}

static void
wait_in_deleter (gpointer data)
{
  Wait *wait = data;
  ovstage_instance_t *s = wait->paused->flat.stage;
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  ovstage_read_group_t group;
  ovstage_op_wait_result_t result = { .error_op_id_count = 9, .lowest_pending_op_id = 9 };

  if (!ovs_workers_is_worker_thread ())
    return;
  /* No other thread of the stage does it, either. */
  ovs_workers_pause (wait->paused->instance->stage->workers);
  wait->op = seal_later (wait->paused, 1);
  assert_ok (ovstage_read_attributes (s, wait->paused->flat.query, &wait->paused->flat.mass, 1, range, &wait->read).status);
  assert_error (ovstage_wait_op (s, wait->op, OVSTAGE_TIMEOUT_INFINITE, &result), OVSTAGE_ERROR_INVALID_ARGUMENT, "own threads");
  g_assert_cmpuint (result.error_op_id_count, ==, 0);
  g_assert_cmpuint (result.lowest_pending_op_id, ==, 0);
  assert_error (ovstage_fetch_read_next (s, wait->read, 1000, &group), OVSTAGE_ERROR_INVALID_ARGUMENT, "own threads");
  /* It may look. */
  assert_error (ovstage_wait_op (s, wait->op, 0, NULL), OVSTAGE_ERROR_TIMEOUT, "not done");
  resume (wait->paused);
  g_atomic_int_set (&wait->refused, TRUE);
}

/* A thread of the stage cannot wait for what it might have to do itself. */
static void
test_wait_in_deleter (void)
{
  Paused paused;
  Owned owned;
  Wait wait = { .paused = &paused };
  int64_t stride = 2;
  const DLManagedTensorVersioned *managed = &owned.managed;
  ovstage_write_data_t taken = { .managed_tensors = &managed, .tensor_count = 1 };
  ovstage_enqueue_result_t write;

  pause_init (&paused);
  owned_init (&owned);
  /* Every other value: it is copied, and then let go of. */
  owned.managed.dl_tensor.strides = &stride;
  owned.deleted = wait_in_deleter;
  owned.data = &wait;
  write = ovstage_write_attribute (paused.flat.stage, paused.flat.query, named ("mass"), 1, taken, OVSTAGE_PRIM_MODE_UPSERT);
  assert_ok (write.status);
  resume (&paused);
  assert_ok (ovstage_wait_op (paused.flat.stage, write.op_index, OVSTAGE_TIMEOUT_INFINITE, NULL));
  while (!g_atomic_int_get (&wait.refused))
    g_usleep (100);
  assert_ok (ovstage_wait_op (paused.flat.stage, wait.op, OVSTAGE_TIMEOUT_INFINITE, NULL));
  assert_ok (ovstage_release_read (paused.flat.stage, wait.read).status);
  pause_clear (&paused);
  g_assert_cmpint (owned.n_deleted, ==, 1);
}

static gpointer
destroyed_thread (gpointer data)
{
  Wait *wait = data;
  ovstage_instance_t *s = wait->paused->flat.stage;
  ovstage_op_wait_result_t result;
  ovstage_query_result_t query_result;
  ovstage_read_group_t group;
  ovstage_map_group_t piece;
  ovstage_ordinal_t ordinal;
  ovstage_api_status_t status = OVSTAGE_OK;
  gint number = g_atomic_int_add (&wait->n_started, 1);

  switch (number % 5)
    {
    case 0:
      status = ovstage_wait_op (s, wait->op, OVSTAGE_TIMEOUT_INFINITE, &result);
      g_assert_true (status == OVSTAGE_ERROR_INVALID_HANDLE || (status == OVSTAGE_OK && result.error_op_id_count > 0));
      return NULL;
    case 1:
      status = ovstage_fetch_query_result (s, wait->query, OVSTAGE_TIMEOUT_INFINITE, &query_result);
      break;
    case 2:
      status = ovstage_fetch_read_next (s, wait->read, OVSTAGE_TIMEOUT_INFINITE, &group);
      break;
    case 3:
      status = ovstage_fetch_map_next (s, wait->map, OVSTAGE_TIMEOUT_INFINITE, &piece);
      break;
    case 4:
    default:
      status = ovstage_fetch_ordinal (s, wait->ordinal, OVSTAGE_TIMEOUT_INFINITE, &ordinal);
      break;
    }
  g_assert_true (status == OVSTAGE_ERROR_INVALID_HANDLE || status == OVSTAGE_ERROR_OP_FAILED);
  assert_last_error ("");
  return NULL;
}

static void
test_destroy_with_everything (void)
{
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  Paused paused;
  ovstage_instance_t *s;
  ovstage_map_desc_t desc = describe_mass ();
  ovstage_ordinal_range_t range = { .end_ordinal = OVSTAGE_ORDINAL_NEWEST };
  ovstage_read_handle_t old_read;
  ovstage_read_group_t group;
  ovstage_query_result_t result;
  ovstage_map_handle_t map;
  ovstage_map_group_t piece;
  GThread *threads[10];
  Wait wait = { .paused = &paused };
  Logged logged = { 0 };
  OvsStage *stage;
  const struct
  {
    const char *kind;
    guint64 handle;
  } *expected;

  pause_init (&paused);
  s = paused.flat.stage;
  ovs_debug_set_flags (0);
  resume (&paused);
  assert_done (s, write_floats (&paused.flat, 1, 1, 2, 3));
  seal (&paused.flat, 1);
  old_read = read_at (&paused.flat, 1);
  assert_ok (ovstage_fetch_read_next (s, old_read, 0, &group));
  assert_ok (ovstage_fetch_query_result (s, paused.flat.query, 0, &result));
  assert_done (s, ovstage_map_attribute (s, paused.flat.query, &desc, 4, NULL, 0, &map));
  assert_ok (ovstage_fetch_map_next (s, map, 0, &piece));
  ovs_workers_pause (paused.instance->stage->workers);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  write_later (&paused, 2);
  wait.op = seal_later (&paused, 2);
  assert_ok (query_later (&paused, OVSTAGE_FILTER_OP_GE, &wait.query).status);
  assert_ok (ovstage_read_attributes (s, wait.query, &paused.flat.mass, 1, range, &wait.read).status);
  assert_ok (ovstage_get_oldest_preserved_ordinal (s, &wait.ordinal).status);
  assert_ok (ovstage_map_attribute (s, wait.query, &desc, 3, NULL, 0, &wait.map).status);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("inside", destroyed_thread, &wait);
  wait_for_waiters (&paused, G_N_ELEMENTS (threads));

  assert_ok (ovstage_set_log_callback (log_cb, &logged));
  stage = ovs_stage_ref (paused.instance->stage);
  ovs_instance_leave (paused.instance);
  ovstage_destroy_instance (s);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  ovs_workers_resume (stage->workers);
  ovs_stage_unref (stage);
  ovs_debug_set_flags (paused.flags);
  assert_ok (ovstage_set_log_callback (NULL, NULL));
  g_log_set_always_fatal (fatal);

  g_assert_cmpuint (logged.n, ==, 1);
  g_assert_nonnull (strstr (logged.text, " 10 open handles: "));
  expected = (const typeof (*expected)[]) {
    { "path list", paused.flat.prims }, { "query", paused.flat.query }, { "read", old_read },
    { "read group", group.read_group_id }, { "query result", result.query_result_id }, { "map", map },
    { "query", wait.query }, { "read", wait.read }, { "ordinal query", wait.ordinal }, { "map", wait.map },
  };
  for (guint i = 0; i < 10; i++)
    {
      g_autofree char *entry = g_strdup_printf ("%s %" G_GUINT64_FORMAT "%s", expected[i].kind, expected[i].handle, i < 9 ? "," : "");

      if (strstr (logged.text, entry) == NULL)
        g_error ("'%s' is not in '%s'", entry, logged.text);
    }
  g_free (logged.text);
  assert_error (ovstage_release_group (s, &group), OVSTAGE_ERROR_INVALID_HANDLE, "instance");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/flat-pending/queue-full", test_queue_full);
  g_test_add_func ("/flat-pending/staging-budget", test_staging_budget);
  g_test_add_func ("/flat-pending/own-failures", test_own_failures);
  g_test_add_func ("/flat-pending/fetch-of-withdrawn", test_fetch_of_withdrawn);
  g_test_add_func ("/flat-pending/fetch-ordinal-of-withdrawn", test_fetch_ordinal_of_withdrawn);
  g_test_add_func ("/flat-pending/texts", test_texts);
  g_test_add_func ("/flat-pending/long-timeouts", test_long_timeouts);
  g_test_add_func ("/flat-pending/release-while-waiting", test_release_while_waiting);
  g_test_add_func ("/flat-pending/wait-in-deleter", test_wait_in_deleter);
  g_test_add_func ("/flat-pending/destroy-with-everything", test_destroy_with_everything);
  return g_test_run ();
}
