/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A query for a number over a million prims, next to a loop over the same numbers
 * that keeps the indices of those that match. */

#include "config.h"

#include "bench-column.h"

#define N_PRIMS 1000000

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageFilter *filter; /* (owned) */
  OvstageToken token;
  float *values;   /* (owned) */
  guint32 *found;  /* (owned) */
  float threshold;
  guint n_found;
} Search;

static void
run_filter (gpointer data)
{
  Search *search = data;
  OvstageQuery *query = ovstage_stage_query_filter (search->stage, search->filter, &search->token, 1);

  ovstage_operation_wait (OVSTAGE_OPERATION (query), OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  if (ovstage_query_get_prim_count (query) != search->n_found)
    g_error ("%u prims, not %u", ovstage_query_get_prim_count (query), search->n_found);
  g_object_unref (query);
}

static void
run_loop (gpointer data)
{
  Search *search = data;
  guint n = 0;

  for (guint32 i = 0; i < N_PRIMS; i++)
    if (search->values[i] > search->threshold)
      search->found[n++] = i;
  search->n_found = n;
  BENCH_KEEP (search->found);
}

static void
compare (Search *search, const char *name, float threshold)
{
  search->threshold = threshold;
  search->filter = ovstage_filter_new_compare (search->token, OVSTAGE_FILTER_OP_GT, g_variant_new_double (threshold));
  run_loop (search);
  bench_ratio (name, 100, run_filter, run_loop, search);
  ovstage_filter_unref (search->filter);
}

static void
run (int n_cpus)
{
  const gint64 shape = N_PRIMS;
  Search search = { NULL };
  OvstagePathDictionary *dictionary;
  OvstageWriteData *data;
  OvstageTensor *tensor;
  OvstageQuery *all;
  OvstagePath *paths;
  GRand *random = g_rand_new_with_seed (1);
  GBytes *bytes;

  search.values = bench_alloc (sizeof (float) * N_PRIMS);
  search.found = bench_alloc (sizeof (guint32) * N_PRIMS);
  for (guint i = 0; i < N_PRIMS; i++)
    search.values[i] = (float) g_rand_double (random);
  search.stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (search.stage);
  search.token = ovstage_path_dictionary_intern_token (dictionary, "mass", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  all = bench_query (search.stage, paths, N_PRIMS);
  g_free (paths);
  bytes = g_bytes_new_static (search.values, sizeof (float) * N_PRIMS);
  tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, &shape, 1, NULL);
  data = ovstage_write_data_new (tensor);
  bench_end (ovstage_stage_write_attribute (search.stage, all, search.token, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  bench_end (ovstage_stage_advance_write_floor (search.stage, 1, OVSTAGE_SCOPE_ALL, NULL, 0));

  compare (&search, n_cpus == 1 ? "filter 1M floats, one CPU: 1 % match / loop" : "filter 1M floats, two CPUs: 1 % match / loop", 0.99f);
  compare (&search, n_cpus == 1 ? "filter 1M floats, one CPU: 50 % match / loop" : "filter 1M floats, two CPUs: 50 % match / loop", 0.5f);

  ovstage_write_data_unref (data);
  ovstage_tensor_unref (tensor);
  g_bytes_unref (bytes);
  g_object_unref (all);
  g_object_unref (search.stage);
  g_rand_free (random);
  free (search.values);
  free (search.found);
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
