/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A query for a number over a million prims, next to a loop over the same numbers
 * that keeps the indices of those that match. Then one for any of ten thousand
 * numbers, next to bisection, and one for how texts begin. */

#include "config.h"

#include "bench-column.h"

#define N_PRIMS 1000000
#define N_WANTED 10000
#define N_TEXTS 100000

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageFilter *filter; /* (owned) */
  OvstageToken token;
  float *values;   /* (owned) */
  guint32 *found;  /* (owned) */
  float threshold;
  guint n_found;
  double *wanted; /* (owned) N_WANTED, ascending */
  char **texts;   /* (owned) N_TEXTS */
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
run_bisection (gpointer data)
{
  Search *search = data;
  guint n = 0;

  for (guint32 i = 0; i < N_PRIMS; i++)
    {
      double value = search->values[i];
      guint low = 0, high = N_WANTED;

      while (low < high)
        {
          guint middle = low + (high - low) / 2;

          if (search->wanted[middle] < value)
            low = middle + 1;
          else
            high = middle;
        }
      if (low < N_WANTED && search->wanted[low] == value)
        search->found[n++] = i;
    }
  search->n_found = n;
  BENCH_KEEP (search->found);
}

static void
run_texts (gpointer data)
{
  Search *search = data;
  guint n = 0;

  for (guint32 i = 0; i < N_TEXTS; i++)
    if (strncmp (search->texts[i], "box/", 4) == 0)
      search->found[n++] = i;
  search->n_found = n;
  BENCH_KEEP (search->found);
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* Half of them are there. */
static void
compare_in (Search *search, int n_cpus)
{
  search->wanted = g_new (double, N_WANTED);
  for (guint i = 0; i < N_WANTED; i++)
    search->wanted[i] = i % 2 == 0 ? search->values[i * (N_PRIMS / N_WANTED)] : 1 + i;
  search->filter = ovstage_filter_new_in (search->token, g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, search->wanted, N_WANTED,
                                                                                    sizeof (double)));
  qsort (search->wanted, N_WANTED, sizeof (double), compare_doubles);
  run_bisection (search);
  bench_ratio (n_cpus == 1 ? "filter 1M floats for 10k values, one CPU / loop that bisects" : "filter 1M floats for 10k values, two CPUs / loop that bisects",
               30, run_filter, run_bisection, search);
  ovstage_filter_unref (search->filter);
  g_free (search->wanted);
}

static void
compare_texts (Search *search, const OvstagePath *paths, int n_cpus)
{
  OvstageQuery *some = bench_query (search->stage, paths, N_TEXTS);
  OvstageToken token = ovstage_path_dictionary_intern_token (ovstage_stage_get_path_dictionary (search->stage), "shape", NULL);
  OvstageWriteData *data;

  search->texts = g_new0 (char *, N_TEXTS + 1);
  for (guint i = 0; i < N_TEXTS; i++)
    search->texts[i] = g_strdup_printf ("%s/%u", i % 10 == 0 ? "box" : "bowl", i);
  data = ovstage_write_data_new_strings ((const char *const *) search->texts);
  bench_end (ovstage_stage_write_attribute (search->stage, some, token, 2, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  bench_end (ovstage_stage_advance_write_floor (search->stage, 2, OVSTAGE_SCOPE_ALL, NULL, 0));
  search->filter = ovstage_filter_new_prefix (token, "box/");
  run_texts (search);
  bench_ratio (n_cpus == 1 ? "filter 100k texts for how they begin, one CPU / strncmp()" : "filter 100k texts for how they begin, two CPUs / strncmp()", 60,
               run_filter, run_texts, search);
  ovstage_filter_unref (search->filter);
  ovstage_write_data_unref (data);
  g_object_unref (some);
  g_strfreev (search->texts);
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
  bytes = g_bytes_new_static (search.values, sizeof (float) * N_PRIMS);
  tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, &shape, 1, NULL);
  data = ovstage_write_data_new (tensor);
  bench_end (ovstage_stage_write_attribute (search.stage, all, search.token, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  bench_end (ovstage_stage_advance_write_floor (search.stage, 1, OVSTAGE_SCOPE_ALL, NULL, 0));

  compare (&search, n_cpus == 1 ? "filter 1M floats, one CPU: 1 % match / loop" : "filter 1M floats, two CPUs: 1 % match / loop", 0.99f);
  compare (&search, n_cpus == 1 ? "filter 1M floats, one CPU: 50 % match / loop" : "filter 1M floats, two CPUs: 50 % match / loop", 0.5f);
  compare_in (&search, n_cpus);
  compare_texts (&search, paths, n_cpus);
  g_free (paths);

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
