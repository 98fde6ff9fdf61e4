/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Memory that is handed over: a frame of a large column next to one of a single row.
 * And many attributes in one write, next to the copies that it contains and as many
 * writes of nothing. */

#include "config.h"

#define BENCH_WARM_CALLS 8

#include "bench-column.h"

#define N_ATTRIBUTES 100
#define N_PRIMS 1000

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageToken token;
  Float3 *values; /* (owned) */
  guint n;
  guint64 ordinal;
} Column;

static void
column_init (Column *column, guint n)
{
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;

  column->stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (column->stage);
  column->token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, n);
  column->query = bench_query (column->stage, paths, n);
  column->values = bench_new_values (n);
  column->n = n;
  column->ordinal = 0;
  g_free (paths);
}

static void
column_clear (Column *column)
{
  g_object_unref (column->query);
  g_object_unref (column->stage);
  free (column->values);
}

/* Hands the values over, seals, reads them back at their own address, and lets go. */
static void
run_column (Column *column)
{
  const gint64 shape[] = { column->n, 3 };
  guint64 ordinal = ++column->ordinal;
  OvstageOperation *write, *seal;
  OvstageReadGroup *group;
  OvstageWriteData *data;
  OvstageTensor *tensor;
  OvstageRead *read;

  tensor = ovstage_tensor_new_take (column->values, 1, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 2, NULL, NULL, NULL, NULL);
  data = ovstage_write_data_new_take (tensor);
  ovstage_tensor_unref (tensor);
  write = ovstage_stage_write_attribute (column->stage, column->query, column->token, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  ovstage_write_data_unref (data);
  seal = ovstage_stage_advance_write_floor (column->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  read = ovstage_stage_read_attributes (column->stage, column->query, &column->token, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal),
                                        NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  if (group == NULL)
    g_error ("the stage reads nothing");
  tensor = ovstage_read_group_ref_tensor (group, 0);
  if (ovstage_tensor_get_data (tensor) != column->values)
    g_error ("the values were copied");
  ovstage_tensor_unref (tensor);
  ovstage_read_group_unref (group);
  bench_end (OVSTAGE_OPERATION (read));
  bench_end (seal);
  bench_end (write);
}

typedef struct
{
  Column large;
  Column small;
} Taken;

static void
run_large (gpointer data)
{
  run_column (&((Taken *) data)->large);
}

static void
run_small (gpointer data)
{
  run_column (&((Taken *) data)->small);
}

static void
compare_taken (void)
{
  Taken taken;

  column_init (&taken.large, 1000000);
  column_init (&taken.small, 1);
  bench_ratio ("12 MB handed over: write, seal, read / 12 bytes", 60, run_large, run_small, &taken);
  column_clear (&taken.large);
  column_clear (&taken.small);
}

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageQuery *none;  /* (owned) of no prims */
  OvstageToken tokens[N_ATTRIBUTES];
  Float3 *values[N_ATTRIBUTES];           /* (owned) */
  Float3 *copies[N_ATTRIBUTES];           /* (owned) */
  OvstageWriteData *datas[N_ATTRIBUTES];  /* (owned) */
} Batch;

static void
run_batch (gpointer data)
{
  Batch *batch = data;

  bench_end (ovstage_stage_write_attributes (batch->stage, batch->query, batch->tokens, N_ATTRIBUTES, batch->datas, N_ATTRIBUTES, 1,
                                             OVSTAGE_PRIM_MODE_UPSERT, NULL));
}

static void
run_one_by_one (gpointer data)
{
  Batch *batch = data;

  for (guint i = 0; i < N_ATTRIBUTES; i++)
    bench_end (ovstage_stage_write_attribute (batch->stage, batch->query, batch->tokens[i], 1, batch->datas[i],
                                              OVSTAGE_PRIM_MODE_UPSERT, NULL));
}

static void
run_copies (gpointer data)
{
  Batch *batch = data;

  for (guint i = 0; i < N_ATTRIBUTES; i++)
    {
      memcpy (batch->copies[i], batch->values[i], sizeof (Float3) * N_PRIMS);
      BENCH_KEEP (batch->copies[i]);
    }
}

static void
run_copies_and_writes (gpointer data)
{
  Batch *batch = data;

  run_copies (data);
  for (guint i = 0; i < N_ATTRIBUTES; i++)
    bench_end (ovstage_stage_write_attribute (batch->stage, batch->none, batch->tokens[i], 1, batch->datas[i],
                                              OVSTAGE_PRIM_MODE_UPSERT, NULL));
}

static void
compare_batch (int n_cpus)
{
  g_autofree char *suffix = g_strdup_printf ("%d CPU%s", n_cpus, n_cpus > 1 ? "s" : "");
  g_autofree char *goal = g_strdup_printf ("batch of 100 x 1k float3, %s / its copies and 100 empty writes", suffix);
  g_autofree char *bare = g_strdup_printf ("(batch of 100 x 1k float3, %s / its copies)", suffix);
  g_autofree char *apart = g_strdup_printf ("(batch of 100 x 1k float3, %s / 100 writes)", suffix);
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;
  Batch batch;

  batch.stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (batch.stage);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  batch.query = bench_query (batch.stage, paths, N_PRIMS);
  batch.none = bench_query (batch.stage, paths, 0);
  for (guint i = 0; i < N_ATTRIBUTES; i++)
    {
      g_autofree char *name = g_strdup_printf ("attribute-%u", i);

      batch.tokens[i] = ovstage_path_dictionary_intern_token (dictionary, name, NULL);
      batch.values[i] = bench_new_values (N_PRIMS);
      batch.copies[i] = bench_new_values (N_PRIMS);
      batch.datas[i] = bench_write_data (batch.values[i], N_PRIMS);
    }
  bench_ratio (goal, 60, run_batch, run_copies_and_writes, &batch);
  bench_ratio (bare, 60, run_batch, run_copies, &batch);
  bench_ratio (apart, 60, run_batch, run_one_by_one, &batch);
  for (guint i = 0; i < N_ATTRIBUTES; i++)
    {
      ovstage_write_data_unref (batch.datas[i]);
      free (batch.values[i]);
      free (batch.copies[i]);
    }
  g_object_unref (batch.query);
  g_object_unref (batch.none);
  g_object_unref (batch.stage);
  g_free (paths);
}

static void
run (int n_cpus)
{
  if (n_cpus == 1)
    compare_taken ();
  compare_batch (n_cpus);
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
