/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* One frame of a simulation: write a column, seal it, read it back without a copy,
 * let go of everything. Next to a memcpy() of the same bytes. Through the public API,
 * and through the core alone to tell what its objects cost. */

#include "config.h"

/* The buffers of a column take turns, so each needs some calls to get warm. */
#define BENCH_WARM_CALLS 8

#include "bench-column.h"

#include "op/ovs-read-group.h"
#include "op/ovs-stage.h"

typedef struct
{
  gsize n_bytes;
  Float3 *values; /* (owned) */
  Float3 *copy;   /* (owned) */
  guint64 ordinal;

  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageToken token;
  OvstageWriteData *data; /* (owned) */

  OvsStage *core;         /* (owned) another stage */
  OvsOp *core_query;      /* (owned) */
  guint64 core_token;
  OvstageWriteData *core_data; /* (owned) made by the core: the library has functions of its own */
} Frame;

static void
copy_values (gpointer data)
{
  Frame *frame = data;

  memcpy (frame->copy, frame->values, frame->n_bytes);
  BENCH_KEEP (frame->copy);
}

static void
run_frame (gpointer data)
{
  Frame *frame = data;
  guint64 ordinal = ++frame->ordinal;
  OvstageOperation *write, *seal;
  OvstageRead *read;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  write = ovstage_stage_write_attribute (frame->stage, frame->query, frame->token, ordinal, frame->data,
                                         OVSTAGE_PRIM_MODE_UPSERT, NULL);
  seal = ovstage_stage_advance_write_floor (frame->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  read = ovstage_stage_read_attributes (frame->stage, frame->query, &frame->token, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal),
                                        NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  if (group == NULL)
    g_error ("the stage reads nothing");
  tensor = ovstage_read_group_ref_tensor (group, 0);
  BENCH_KEEP (ovstage_tensor_get_data (tensor));

  ovstage_tensor_unref (tensor);
  ovstage_read_group_unref (group);
  bench_end (OVSTAGE_OPERATION (read));
  bench_end (seal);
  bench_end (write);
}

static void
end_op (OvsOp *op)
{
  ovs_op_wait (op, -1, NULL);
  if (ovs_op_get_error (op) != NULL)
    g_error ("an operation of the core failed: %s", ovs_op_get_error (op)->message);
  ovs_op_unref (op);
}

static void
run_core_frame (gpointer data)
{
  Frame *frame = data;
  guint64 ordinal = ++frame->ordinal;
  OvsOp *write, *seal, *read;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  write = ovs_stage_write (frame->core, frame->core_query, frame->core_token, ordinal, frame->core_data, OVSTAGE_PRIM_MODE_UPSERT,
                           NULL);
  seal = ovs_stage_advance (frame->core, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  read = ovs_stage_read (frame->core, frame->core_query, &frame->core_token, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
  ovs_op_wait (read, -1, NULL);
  if (!ovs_read_next (read, &group, NULL) || group == NULL)
    g_error ("the core reads nothing");
  tensor = ovs_read_group_ref_tensor (group, 0);
  BENCH_KEEP (tensor->data);

  ovs_tensor_unref (tensor);
  ovs_read_group_unref (group);
  end_op (read);
  end_op (seal);
  end_op (write);
}

static void
open_stage (Frame *frame, guint n)
{
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;

  frame->stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (frame->stage);
  frame->token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, n);
  frame->query = bench_query (frame->stage, paths, n);
  frame->data = bench_write_data (frame->values, n);
  g_free (paths);
}

static void
open_core (Frame *frame, guint n)
{
  const OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096 };
  const gint64 shape[] = { n, 3 };
  guint64 *paths = g_new (guint64, n);
  OvstageTensor *tensor;
  OvstagePathList *list;
  OvsPathDict *dict;

  frame->core = ovs_stage_new (&config);
  dict = ovs_stage_get_dict (frame->core);
  frame->core_token = ovs_path_dict_intern_token (dict, "position", -1, NULL);
  for (guint i = 0; i < n; i++)
    {
      char path[64];

      g_snprintf (path, sizeof path, "/World/envs/env_%u/robot/link_%u", i / 20, i % 20);
      paths[i] = ovs_path_dict_intern_path (dict, path, -1, NULL);
    }
  list = ovs_path_list_new (dict, paths, n, NULL);
  frame->core_query = ovs_stage_query_list (frame->core, list);
  tensor = ovs_tensor_new (OVSTAGE_DATA_TYPE_FLOAT32, OVS_DEVICE_CPU, 0, 2, shape, NULL, frame->values, 0, NULL, NULL);
  frame->core_data = ovs_payload_new (tensor);
  ovs_tensor_unref (tensor);
  ovs_path_list_unref (list);
  g_free (paths);
}

static void
close_frame (Frame *frame)
{
  ovstage_write_data_unref (frame->data);
  g_object_unref (frame->query);
  g_object_unref (frame->stage);
  ovs_payload_unref (frame->core_data);
  ovs_op_unref (frame->core_query);
  ovs_stage_close (frame->core);
  ovs_stage_unref (frame->core);
  free (frame->values);
  free (frame->copy);
}

static void
compare (guint n, const char *size, const char *copied, int n_cpus, guint rounds)
{
  const char *cpus = n_cpus == 1 ? "one CPU" : "two CPUs";
  Frame frame = { .n_bytes = sizeof (Float3) * n, .values = bench_new_values (n), .copy = bench_alloc (sizeof (Float3) * n) };
  g_autofree char *public_name = g_strdup_printf ("frame of %s float3, %s, GObject / memcpy of %s", size, cpus, copied);
  g_autofree char *core_name = g_strdup_printf ("frame of %s float3, %s, core / memcpy of %s", size, cpus, copied);

  open_stage (&frame, n);
  open_core (&frame, n);
  bench_ratio (public_name, rounds, run_frame, copy_values, &frame);
  bench_ratio (core_name, rounds, run_core_frame, copy_values, &frame);
  close_frame (&frame);
}

static void
run (int n_cpus)
{
  compare (1000000, "1M", "12 MB", n_cpus, 60);
  if (n_cpus == 1)
    {
      compare (100000, "100k", "1.2 MB", n_cpus, 60);
      compare (1000, "1k", "12 KB", n_cpus, 60);
    }
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
