/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A small write whose end is told to a callback in the main context, next to a
 * GTask that does nothing but return. One at a time, and many before the first
 * callback runs. */

#include "config.h"

#include "bench-column.h"

#define N_PRIMS 100
#define N_MANY 1000

typedef struct
{
  guint n_pending;
  Float3 *values; /* (owned) */
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageToken token;
  OvstageWriteData *data; /* (owned) */
} Async;

static void
turn_context (Async *async)
{
  while (async->n_pending > 0)
    g_main_context_iteration (NULL, TRUE);
}

static void
returned_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Async *async = user_data;

  if (!g_task_propagate_boolean (G_TASK (result), NULL))
    g_error ("a task failed");
  async->n_pending--;
}

static void
return_task (Async *async)
{
  GTask *task = g_task_new (async->stage, NULL, returned_cb, async);

  async->n_pending++;
  g_task_set_source_tag (task, return_task);
  g_task_return_boolean (task, TRUE);
  g_object_unref (task);
}

static void
written_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Async *async = user_data;

  if (!ovstage_operation_wait_finish (OVSTAGE_OPERATION (source), result, NULL))
    g_error ("a write failed");
  async->n_pending--;
}

/* Each overwrites the one before: nothing is sealed, and nothing piles up. */
static void
start_write (Async *async)
{
  OvstageOperation *write = ovstage_stage_write_attribute (async->stage, async->query, async->token, 2, async->data,
                                                           OVSTAGE_PRIM_MODE_UPSERT, NULL);

  async->n_pending++;
  ovstage_operation_wait_async (write, G_PRIORITY_DEFAULT, NULL, written_cb, async);
  g_object_unref (write);
}

static void
one_task (gpointer data)
{
  return_task (data);
  turn_context (data);
}

static void
one_write (gpointer data)
{
  start_write (data);
  turn_context (data);
}

static void
many_tasks (gpointer data)
{
  for (guint i = 0; i < N_MANY; i++)
    return_task (data);
  turn_context (data);
}

static void
many_writes (gpointer data)
{
  for (guint i = 0; i < N_MANY; i++)
    start_write (data);
  turn_context (data);
}

/* The write alone, to tell what the callback adds. */
static void
plain_write (gpointer data)
{
  Async *async = data;

  bench_end (ovstage_stage_write_attribute (async->stage, async->query, async->token, 2, async->data, OVSTAGE_PRIM_MODE_UPSERT,
                                              NULL));
}

static void
run (int n_cpus)
{
  Async async = { .values = bench_new_values (N_PRIMS) };
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;

  async.stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (async.stage);
  async.token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  async.query = bench_query (async.stage, paths, N_PRIMS);
  async.data = bench_write_data (async.values, N_PRIMS);
  bench_end (ovstage_stage_write_attribute (async.stage, async.query, async.token, 1, async.data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  bench_end (ovstage_stage_advance_write_floor (async.stage, 1, OVSTAGE_SCOPE_ALL, NULL, 0));

  bench_ratio ("async write of 100 float3 to its callback, one at a time / bare GTask", 60, one_write, one_task, &async);
  bench_ratio ("async write of 100 float3 to its callback, 1000 in flight / bare GTask", 60, many_writes, many_tasks, &async);
  bench_ratio ("write of 100 float3 without a callback / bare GTask", 60, plain_write, one_task, &async);

  g_free (paths);
  ovstage_write_data_unref (async.data);
  g_object_unref (async.query);
  g_object_unref (async.stage);
  free (async.values);
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  return 0;
}
