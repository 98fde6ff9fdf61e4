/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A tenth of a column, written and sealed: through a query of those prims, whose
 * rows are an index, and through a mask over the query of all. Next to the plain
 * C loop that does the same to an array. */

#include "config.h"

#define BENCH_WARM_CALLS 8

#include "bench-column.h"

#define N_PRIMS 1000000

typedef struct
{
  guint n_chosen;
  guint32 *rows; /* (owned) n_chosen, ascending */
  guint64 *mask; /* (owned) the same as bits */
  Float3 *values; /* (owned) N_PRIMS */
  Float3 *array;  /* (owned) N_PRIMS: what the loops write to */
  Float3 *copies[2]; /* (owned) N_PRIMS */
  guint n_copies;

  OvstageStage *stage; /* (owned) */
  OvstageToken token;
  OvstageQuery *all;     /* (owned) */
  OvstageQuery *chosen;  /* (owned) */
  OvstageWriteData *data;        /* (owned) for all */
  OvstageWriteData *chosen_data; /* (owned) */
  OvstageWriteData *masked_data; /* (owned) */
  guint64 ordinal;
} Scatter;

static void
loop_by_index (gpointer data)
{
  Scatter *scatter = data;
  const guint32 *rows = scatter->rows;
  const Float3 *values = scatter->values;
  Float3 *array = scatter->array;

  for (guint i = 0; i < scatter->n_chosen; i++)
    array[rows[i]] = values[i];
  BENCH_KEEP (array);
}

static void
loop_by_mask (gpointer data)
{
  Scatter *scatter = data;
  const Float3 *values = scatter->values;
  Float3 *array = scatter->array;

  for (guint i = 0; i < N_PRIMS / 64; i++)
    for (guint64 word = scatter->mask[i]; word != 0; word &= word - 1)
      {
        guint row = i * 64 + (guint) __builtin_ctzll (word);

        array[row] = values[row];
      }
  BENCH_KEEP (array);
}

/* What no write beside a reader can do without: the column goes from one buffer to the other. */
static void
copy_all (gpointer data)
{
  Scatter *scatter = data;
  guint to = scatter->n_copies++ % 2;

  memcpy (scatter->copies[to], scatter->copies[1 - to], sizeof (Float3) * N_PRIMS);
  BENCH_KEEP (scatter->copies[to]);
}

static void
write_and_seal (Scatter *scatter, OvstageQuery *query, OvstageWriteData *data)
{
  guint64 ordinal = ++scatter->ordinal;
  OvstageOperation *write, *seal;

  write = ovstage_stage_write_attribute (scatter->stage, query, scatter->token, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  seal = ovstage_stage_advance_write_floor (scatter->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  bench_end (seal);
  bench_end (write);
}

static void
write_by_index (gpointer data)
{
  Scatter *scatter = data;

  write_and_seal (scatter, scatter->chosen, scatter->chosen_data);
}

static void
write_by_mask (gpointer data)
{
  Scatter *scatter = data;

  write_and_seal (scatter, scatter->all, scatter->masked_data);
}

static OvstageReadGroup *
read_group (Scatter *scatter)
{
  OvstageRead *read = ovstage_stage_read_attributes (scatter->stage, scatter->all, &scatter->token, 1,
                                                     &OVSTAGE_ORDINAL_RANGE_LATEST (scatter->ordinal), NULL);
  OvstageReadGroup *group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);

  g_assert (group != NULL);
  bench_end (OVSTAGE_OPERATION (read));
  return group;
}

/* The reader always has what is current, so no write may touch it. */
static void
write_beside_reader (gpointer data)
{
  Scatter *scatter = data;
  OvstageReadGroup *group = read_group (scatter);

  write_by_index (scatter);
  ovstage_read_group_unref (group);
}

static void
write_by_mask_beside_reader (gpointer data)
{
  Scatter *scatter = data;
  OvstageReadGroup *group = read_group (scatter);

  write_by_mask (scatter);
  ovstage_read_group_unref (group);
}

static void
choose (Scatter *scatter)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (42);

  scatter->rows = g_new (guint32, N_PRIMS);
  scatter->mask = g_new0 (guint64, N_PRIMS / 64);
  for (guint i = 0; i < N_PRIMS; i++)
    if (g_rand_int_range (rand, 0, 10) == 0)
      {
        scatter->rows[scatter->n_chosen++] = i;
        scatter->mask[i / 64] |= G_GUINT64_CONSTANT (1) << (i % 64);
      }
}

static void
open_stage (Scatter *scatter)
{
  OvstagePathDictionary *dictionary;
  g_autofree OvstagePath *paths = NULL, *chosen = NULL;

  scatter->stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (scatter->stage);
  scatter->token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  chosen = g_new (OvstagePath, scatter->n_chosen);
  for (guint i = 0; i < scatter->n_chosen; i++)
    chosen[i] = paths[scatter->rows[i]];
  scatter->all = bench_query (scatter->stage, paths, N_PRIMS);
  scatter->chosen = bench_query (scatter->stage, chosen, scatter->n_chosen);

  scatter->data = bench_write_data (scatter->values, N_PRIMS);
  scatter->chosen_data = bench_write_data (scatter->values, scatter->n_chosen);
  scatter->masked_data = bench_write_data (scatter->values, N_PRIMS);
  ovstage_write_data_set_count (scatter->masked_data, N_PRIMS);
  ovstage_write_data_set_mask (scatter->masked_data, scatter->mask, N_PRIMS / 64);
  write_and_seal (scatter, scatter->all, scatter->data);
}

static void
run (int n_cpus)
{
  Scatter scatter = { .values = bench_new_values (N_PRIMS), .array = bench_new_values (N_PRIMS) };
  const char *cpus = n_cpus == 1 ? "one CPU" : "two CPUs";
  const struct
  {
    const char *name;
    BenchFunc func;
    BenchFunc yardstick;
  } works[] = {
    { "scatter of 10 %% of 1M float3 by query, %s / loop by index", write_by_index, loop_by_index },
    { "scatter of 10 %% of 1M float3 by mask, %s / loop by bits", write_by_mask, loop_by_mask },
    { "(memcpy of the whole column, %s / loop by index)", copy_all, loop_by_index },
    { "scatter of 10 %% of 1M float3 by query beside a reader, %s / loop by index", write_beside_reader, loop_by_index },
    { "scatter of 10 %% of 1M float3 by mask beside a reader, %s / loop by bits", write_by_mask_beside_reader, loop_by_mask },
  };

  for (guint i = 0; i < 2; i++)
    scatter.copies[i] = bench_new_values (N_PRIMS);
  choose (&scatter);
  open_stage (&scatter);
  for (guint i = 0; i < G_N_ELEMENTS (works); i++)
    {
      char name[128];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      g_snprintf (name, sizeof name, works[i].name, cpus);
#pragma GCC diagnostic pop
      bench_ratio (name, 60, works[i].func, works[i].yardstick, &scatter);
    }

  ovstage_write_data_unref (scatter.data);
  ovstage_write_data_unref (scatter.chosen_data);
  ovstage_write_data_unref (scatter.masked_data);
  g_object_unref (scatter.all);
  g_object_unref (scatter.chosen);
  g_object_unref (scatter.stage);
  g_free (scatter.rows);
  g_free (scatter.mask);
  free (scatter.values);
  free (scatter.array);
  free (scatter.copies[0]);
  free (scatter.copies[1]);
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
