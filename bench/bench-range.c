/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A hundredth of a column has changed, and a consumer brings its copy up to date:
 * from a range, which tells what changed. Next to a snapshot, of which all is copied,
 * and to the plain C loop over the rows, known beforehand. Then the same of changes that
 * were sealed at a hundred ordinals, each a thousandth of the column. */

#include "config.h"

#define BENCH_WARM_CALLS 8

#include "bench-column.h"

#define N_PRIMS 1000000
#define N_CHANGED (N_PRIMS / 100)
#define N_SEALS 100
#define N_EACH (N_PRIMS / 1000) /* changed at each of them */

typedef struct
{
  guint32 rows[N_CHANGED]; /* ascending */
  guint32 many[N_SEALS * N_EACH]; /* those of all seals, in their order */
  guint64 start; /* of the range */
  Float3 *values; /* (owned) N_PRIMS */
  Float3 *copy;   /* (owned) N_PRIMS, of the consumer */
  OvstageStage *stage; /* (owned) */
  OvstageToken token;
  OvstageQuery *all; /* (owned) */
} Range;

static void
apply_loop (gpointer data)
{
  Range *range = data;
  const Float3 *values = range->values;
  Float3 *copy = range->copy;

  for (guint i = 0; i < N_CHANGED; i++)
    copy[range->rows[i]] = values[range->rows[i]];
  BENCH_KEEP (copy);
}

static void
apply_many_loop (gpointer data)
{
  Range *range = data;
  const Float3 *values = range->values;
  Float3 *copy = range->copy;

  for (guint i = 0; i < N_SEALS * N_EACH; i++)
    copy[range->many[i]] = values[range->many[i]];
  BENCH_KEEP (copy);
}

static OvstageReadGroup *
read_group (Range *range, OvstageOrdinalRange ordinals)
{
  OvstageRead *read = ovstage_stage_read_attributes (range->stage, range->all, &range->token, 1, &ordinals, NULL);
  OvstageReadGroup *group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);

  g_assert (group != NULL);
  bench_end (OVSTAGE_OPERATION (read));
  return group;
}

static void
apply_snapshot (gpointer data)
{
  Range *range = data;
  g_autoptr (OvstageReadGroup) group = read_group (range, OVSTAGE_ORDINAL_RANGE_LATEST (OVSTAGE_ORDINAL_NEWEST));
  g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (group, 0);
  g_autoptr (GBytes) bytes = ovstage_tensor_ref_bytes (tensor, NULL);

  memcpy (range->copy, g_bytes_get_data (bytes, NULL), sizeof (Float3) * N_PRIMS);
  BENCH_KEEP (range->copy);
}

static void
apply_range (gpointer data)
{
  Range *range = data;
  g_autoptr (OvstageReadGroup) group = read_group (range, OVSTAGE_ORDINAL_RANGE_BETWEEN (range->start, OVSTAGE_ORDINAL_NEWEST));
  g_autoptr (OvstageTensor) tensor = ovstage_read_group_ref_tensor (group, 0);
  g_autoptr (GBytes) bytes = ovstage_tensor_ref_bytes (tensor, NULL);
  const Float3 *values = g_bytes_get_data (bytes, NULL);
  gsize n;
  g_autofree guint32 *prims = ovstage_read_group_dup_prim_indices (group, &n);
  g_autofree guint32 *rows = ovstage_read_group_dup_data_rows (group, &n);

  g_assert (n == (range->start == 2 ? N_CHANGED : N_SEALS * N_EACH));
  for (gsize i = 0; i < n; i++)
    range->copy[prims[i]] = values[rows[i]];
  BENCH_KEEP (range->copy);
}

static void
write_and_seal (Range *range, guint64 ordinal, OvstageWriteData *data)
{
  bench_end (ovstage_stage_write_attribute (range->stage, range->all, range->token, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  bench_end (ovstage_stage_advance_write_floor (range->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
  ovstage_write_data_unref (data);
}

static void
change (Range *range, guint64 ordinal, const guint32 *rows, guint n)
{
  g_autofree guint64 *mask = g_new0 (guint64, N_PRIMS / 64);
  OvstageWriteData *data = bench_write_data (range->values, N_PRIMS);

  for (guint i = 0; i < n; i++)
    mask[rows[i] / 64] |= G_GUINT64_CONSTANT (1) << (rows[i] % 64);
  ovstage_write_data_set_count (data, N_PRIMS);
  ovstage_write_data_set_mask (data, mask, N_PRIMS / 64);
  write_and_seal (range, ordinal, data);
}

static void
open_stage (Range *range)
{
  g_autofree OvstagePath *paths = NULL;
  OvstagePathDictionary *dictionary;

  range->stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (range->stage);
  range->token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  range->all = bench_query (range->stage, paths, N_PRIMS);
  write_and_seal (range, 1, bench_write_data (range->values, N_PRIMS));

  for (guint i = 0; i < N_CHANGED; i++)
    range->rows[i] = i * 100 + (i * 31) % 100;
  change (range, 2, range->rows, N_CHANGED);
}

/* No row twice. */
static void
change_many (Range *range)
{
  for (guint s = 0; s < N_SEALS; s++)
    {
      guint32 *rows = range->many + s * N_EACH;

      for (guint i = 0; i < N_EACH; i++)
        rows[i] = i * 1000 + (s * 7 + i * 13) % 1000;
      change (range, 3 + s, rows, N_EACH);
    }
  range->start = 3;
}

int
main (void)
{
  Range *range = g_new0 (Range, 1);

  bench_noise ();
  range->values = bench_new_values (N_PRIMS);
  range->copy = bench_new_values (N_PRIMS);
  range->start = 2;
  open_stage (range);
  bench_ratio ("changes of 1 % of 1M float3 from a range / from a snapshot, all copied", 60, apply_range, apply_snapshot, range);
  bench_ratio ("changes of 1 % of 1M float3 from a range / loop by index", 60, apply_range, apply_loop, range);
  change_many (range);
  bench_ratio ("changes at 100 ordinals, 10 % of 1M float3, from one range / from a snapshot, all copied", 60, apply_range, apply_snapshot, range);
  bench_ratio ("changes at 100 ordinals, 10 % of 1M float3, from one range / loop by index", 60, apply_range, apply_many_loop, range);
  g_object_unref (range->all);
  g_object_unref (range->stage);
  free (range->values);
  free (range->copy);
  g_free (range);
  return 0;
}
