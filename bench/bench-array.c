/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Array attributes: one row of a large column next to one row of a small one, with and
 * without a reader that holds the column. And a frame of a hundred thousand rows, as
 * tensors, each in memory of its own or all views of one array, and as values with
 * offsets, next to one copy of the packed values. */

#include "config.h"

#define BENCH_WARM_CALLS 8

#include "bench-column.h"

#define N_ROWS 100000

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageQuery *one;   /* (owned) of one of its prims */
  OvstageToken token;
  OvstageWriteData *row; /* (owned) for it */
  guint64 ordinal;
} Column;

static OvstageTensor *
new_row (const Float3 *values, gint64 n)
{
  gint64 shape[] = { n, 3 };

  return ovstage_tensor_new_take ((gpointer) values, 1, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 2, NULL, NULL, NULL, NULL);
}

static void
seal (Column *column)
{
  bench_end (ovstage_stage_advance_write_floor (column->stage, column->ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
}

static OvstageReadGroup *
read_all (Column *column)
{
  OvstageRead *read = ovstage_stage_read_attributes (column->stage, column->query, &column->token, 1,
                                                     &OVSTAGE_ORDINAL_RANGE_LATEST (column->ordinal), NULL);
  OvstageReadGroup *group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);

  if (group == NULL)
    g_error ("the stage reads nothing");
  bench_end (OVSTAGE_OPERATION (read));
  return group;
}

static void
column_init (Column *column, guint n, const Float3 *values)
{
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;
  OvstageTensor *all = new_row (values, (gint64) n * 8), *row = new_row (values, 8);
  OvstageWriteData *data = ovstage_write_data_new_packed_array (all);

  column->stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (column->stage);
  column->token = ovstage_path_dictionary_intern_token (dictionary, "points", NULL);
  paths = bench_intern_prims (dictionary, n);
  column->query = bench_query (column->stage, paths, n);
  column->one = bench_query (column->stage, paths + n / 2, 1);
  column->row = ovstage_write_data_new_array (&row, 1);
  column->ordinal = 1;
  bench_end (ovstage_stage_write_attribute (column->stage, column->query, column->token, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  seal (column);
  ovstage_write_data_unref (data);
  ovstage_tensor_unref (all);
  ovstage_tensor_unref (row);
  g_free (paths);
}

static void
column_clear (Column *column)
{
  ovstage_write_data_unref (column->row);
  g_object_unref (column->query);
  g_object_unref (column->one);
  g_object_unref (column->stage);
}

static void
update_one (Column *column)
{
  column->ordinal++;
  bench_end (ovstage_stage_write_attribute (column->stage, column->one, column->token, column->ordinal, column->row,
                                            OVSTAGE_PRIM_MODE_UPSERT, NULL));
  seal (column);
}

typedef struct
{
  Column large;
  Column small;
} Both;

static void
run_large (gpointer data)
{
  update_one (&((Both *) data)->large);
}

static void
run_small (gpointer data)
{
  update_one (&((Both *) data)->small);
}

static void
update_held (Column *column)
{
  OvstageReadGroup *group = read_all (column);

  update_one (column);
  ovstage_read_group_unref (group);
}

static void
run_large_held (gpointer data)
{
  update_held (&((Both *) data)->large);
}

static void
run_small_held (gpointer data)
{
  update_held (&((Both *) data)->small);
}

static void
compare_updates (void)
{
  Float3 *values = bench_new_values (10000 * 8);
  Both both;

  column_init (&both.large, 10000, values);
  column_init (&both.small, 10, values);
  bench_ratio ("one array row of 10k: write, seal / one of 10", 60, run_large, run_small, &both);
  bench_ratio ("(the same while a group is held)", 60, run_large_held, run_small_held, &both);
  column_clear (&both.large);
  column_clear (&both.small);
  free (values);
}

typedef struct
{
  Column column;
  Float3 *values; /* (owned) */
  Float3 *copy;   /* (owned) */
  gsize n_values;
  OvstageTensor **rows;     /* (owned) */
  OvstageWriteData *data;   /* (owned) */
} Ragged;

static void
run_copy (gpointer data)
{
  Ragged *ragged = data;

  memcpy (ragged->copy, ragged->values, ragged->n_values * sizeof (Float3));
  BENCH_KEEP (ragged->copy);
}

static OvstageReadGroup *
write_rows (Ragged *ragged)
{
  Column *column = &ragged->column;

  column->ordinal++;
  bench_end (ovstage_stage_write_attribute (column->stage, column->query, column->token, column->ordinal, ragged->data,
                                            OVSTAGE_PRIM_MODE_UPSERT, NULL));
  seal (column);
  return read_all (column);
}

static void
run_rows (gpointer data)
{
  OvstageReadGroup *group = write_rows (data);
  OvstageTensor *values = ovstage_read_group_ref_values (group, NULL);
  OvstageTensor *offsets = ovstage_read_group_ref_offsets (group, NULL);

  BENCH_KEEP (ovstage_tensor_get_data (values));
  ovstage_tensor_unref (values);
  ovstage_tensor_unref (offsets);
  ovstage_read_group_unref (group);
}

static void
run_tensors (gpointer data)
{
  OvstageReadGroup *group = write_rows (data);

  for (guint i = 0; i < N_ROWS; i++)
    {
      OvstageTensor *row = ovstage_read_group_ref_tensor (group, i);

      BENCH_KEEP (row);
      ovstage_tensor_unref (row);
    }
  ovstage_read_group_unref (group);
}

static void
compare_tensors (Ragged *ragged, const char *what, int n_cpus)
{
  g_autofree char *packed = g_strdup_printf ("%s, %d CPU%s: write, seal, values + offsets / memcpy of all", what, n_cpus, n_cpus > 1 ? "s" : "");
  g_autofree char *apart = g_strdup_printf ("(the same, %d CPU%s, read as 100k tensors)", n_cpus, n_cpus > 1 ? "s" : "");

  ragged->data = ovstage_write_data_new_array (ragged->rows, N_ROWS);
  bench_ratio (packed, 40, run_rows, run_copy, ragged);
  bench_ratio (apart, 40, run_tensors, run_copy, ragged);
  ovstage_write_data_unref (ragged->data);
}

static void
free_rows (Ragged *ragged)
{
  for (guint i = 0; i < N_ROWS; i++)
    ovstage_tensor_unref (ragged->rows[i]);
}

static void
compare_ragged (int n_cpus)
{
  Ragged ragged = { .n_values = 0 };
  g_autofree gsize *ends = g_new (gsize, N_ROWS);
  Float3 **apart = g_new (Float3 *, N_ROWS);
  guint seed = 1;

  ragged.values = bench_new_values (N_ROWS * 15);
  ragged.copy = bench_new_values (N_ROWS * 15);
  ragged.rows = g_new (OvstageTensor *, N_ROWS);
  for (guint i = 0; i < N_ROWS; i++)
    {
      gint64 n = 1 + (seed >> 16) % 15;

      seed = seed * 1103515245 + 12345;
      ragged.rows[i] = new_row (ragged.values + ragged.n_values, n);
      ragged.n_values += (gsize) n;
      ends[i] = ragged.n_values;
    }
  column_init (&ragged.column, N_ROWS, ragged.values);
  compare_tensors (&ragged, "100k tensors of 1-15 float3 of one array", n_cpus);
  free_rows (&ragged);
  for (guint i = 0; i < N_ROWS; i++)
    {
      gsize first = i > 0 ? ends[i - 1] : 0, n = ends[i] - first;

      apart[i] = g_memdup2 (ragged.values + first, sizeof (Float3) * n);
      ragged.rows[i] = new_row (apart[i], (gint64) n);
    }
  compare_tensors (&ragged, "100k tensors of 1-15 float3, each apart", n_cpus);
  free_rows (&ragged);
  for (guint i = 0; i < N_ROWS; i++)
    g_free (apart[i]);
  g_free (apart);
  column_clear (&ragged.column);
  g_free (ragged.rows);
  free (ragged.values);
  free (ragged.copy);
}

static void
run (int n_cpus)
{
  if (n_cpus == 1)
    compare_updates ();
  compare_ragged (n_cpus);
}

int
main (void)
{
  bench_noise ();
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
