/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A subtree of ten thousand prims and its clone, next to what cannot be done without:
 * the paths of the clone, made of text and interned, and a copy of the values. */

#include "config.h"

#define BENCH_WARM_CALLS 1

#include "bench-column.h"

#define N_PRIMS 10000

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) of the subtree */
  OvstageToken token;
  Float3 *values; /* (owned) */
  Float3 *copy;   /* (owned) */
  guint64 ordinal;
  guint n_targets;
  OvstageStage *other; /* (owned) */
  OvstagePathDictionary *dictionary; /* of that, for the yardstick: as large as the stage's */
  guint n_names;
} Clone;

static void
clone_subtree (gpointer data)
{
  Clone *bench = data;
  g_autofree char *target = g_strdup_printf ("/Copy_%u", bench->n_targets++);
  const char *targets[] = { target, NULL };

  bench_end (ovstage_stage_clone (bench->stage, "/World", targets, ++bench->ordinal));
}

/* So that nothing piles up unsealed. */
static void
seal (gpointer data)
{
  Clone *bench = data;

  bench_end (ovstage_stage_advance_write_floor (bench->stage, bench->ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
}

static void
make_paths (gpointer data)
{
  Clone *bench = data;
  guint n = bench->n_names++;

  for (guint i = 0; i < N_PRIMS; i++)
    {
      char path[64];

      g_snprintf (path, sizeof path, "/Copy_%u/envs/env_%u/robot/link_%u", n, i / 20, i % 20);
      BENCH_KEEP (ovstage_path_dictionary_intern_path (bench->dictionary, path, NULL));
    }
  memcpy (bench->copy, bench->values, sizeof (Float3) * N_PRIMS);
  BENCH_KEEP (bench->copy);
}

int
main (void)
{
  Clone bench = { .values = bench_new_values (N_PRIMS), .copy = bench_new_values (N_PRIMS) };
  OvstagePathDictionary *dictionary;
  OvstageWriteData *data;
  g_autofree OvstagePath *paths = NULL, *more = NULL;

  bench_noise ();
  bench.stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (bench.stage);
  bench.token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  bench.query = bench_query (bench.stage, paths, N_PRIMS);
  data = bench_write_data (bench.values, N_PRIMS);
  bench_end (ovstage_stage_write_attribute (bench.stage, bench.query, bench.token, ++bench.ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  seal (&bench);
  bench.other = ovstage_stage_new ("other");
  bench.dictionary = ovstage_stage_get_path_dictionary (bench.other);
  more = bench_intern_prims (bench.dictionary, N_PRIMS);

  bench_ratio_full ("clone of 10k prims with a float3 each / paths made and interned, values copied", 20,
                    &(BenchWork){ .run = clone_subtree, .after = seal }, &(BenchWork){ .run = make_paths }, &bench);

  ovstage_write_data_unref (data);
  g_object_unref (bench.query);
  g_object_unref (bench.stage);
  g_object_unref (bench.other);
  free (bench.values);
  free (bench.copy);
  return 0;
}
