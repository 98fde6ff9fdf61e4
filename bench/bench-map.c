/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A frame of a producer that fills memory of the stage in place, next to the filling
 * alone, into two buffers in turn as the stage has them. */

#include "config.h"

#include "bench-column.h"

#define N_PRIMS 1000000
#define BYTES (sizeof (Float3) * N_PRIMS)

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageToken token;
  guint64 ordinal;
  float *buffers[2]; /* (owned) */
  guint turn;
} Frame;

static void
fill (float *values, guint64 frame)
{
  float base = (float) frame;

  for (guint i = 0; i < 3 * N_PRIMS; i++)
    values[i] = base + (float) i * 0.5f;
}

static void
run_frame (gpointer data)
{
  Frame *frame = data;
  guint64 ordinal = ++frame->ordinal;
  OvstageMapGroup *filled;
  OvstageReadGroup *group;
  OvstageOperation *commit, *seal;
  OvstageTensor *tensor;
  OvstageMap *map;
  OvstageRead *read;
  gpointer values;
  OvstageDataType float32x3 = OVSTAGE_DATA_TYPE_FLOAT32;

  float32x3.lanes = 3;
  map = ovstage_stage_map_attribute (frame->stage, frame->query, frame->token, &float32x3, OVSTAGE_SEMANTIC_NONE, NULL, 0, ordinal,
                                     OVSTAGE_PRIM_MODE_UPSERT, OVSTAGE_MAP_FLAGS_NONE, NULL);
  filled = ovstage_map_fetch_next (map, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  tensor = ovstage_map_group_ref_tensor (filled, 0);
  values = ovstage_tensor_get_data (tensor);
  fill (values, ordinal);
  ovstage_tensor_unref (tensor);
  ovstage_map_group_unref (filled);
  commit = ovstage_map_commit (map, 0, 0);
  seal = ovstage_stage_advance_write_floor (frame->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  read = ovstage_stage_read_attributes (frame->stage, frame->query, &frame->token, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  tensor = ovstage_read_group_ref_tensor (group, 0);
  if (ovstage_tensor_get_data (tensor) != values)
    g_error ("the values were copied");
  ovstage_tensor_unref (tensor);
  ovstage_read_group_unref (group);
  bench_end (OVSTAGE_OPERATION (read));
  bench_end (seal);
  bench_end (commit);
  g_object_unref (map);
}

static void
run_fill (gpointer data)
{
  Frame *frame = data;

  frame->turn = !frame->turn;
  fill (frame->buffers[frame->turn], ++frame->ordinal);
  BENCH_KEEP (frame->buffers[frame->turn]);
}

static void
run (int n_cpus)
{
  Frame frame = { NULL };
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;

  frame.stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (frame.stage);
  frame.token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  frame.query = bench_query (frame.stage, paths, N_PRIMS);
  g_free (paths);
  for (guint i = 0; i < 2; i++)
    {
      frame.buffers[i] = bench_alloc (BYTES);
      fill (frame.buffers[i], i);
    }

  bench_ratio (n_cpus == 1 ? "12 MB by map, one CPU: fill, commit, seal, read / fill"
                           : "12 MB by map, two CPUs: fill, commit, seal, read / fill", 100, run_frame, run_fill, &frame);

  for (guint i = 0; i < 2; i++)
    free (frame.buffers[i]);
  g_object_unref (frame.query);
  g_object_unref (frame.stage);
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
