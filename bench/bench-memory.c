/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a loop of frames over a million prims takes: resident memory above the
 * caller's own data, growth once it is warm, page faults of a frame. Counts and
 * bytes; there is no yardstick but zero. */

#include "config.h"

#include <sys/resource.h>

#include "bench-column.h"

#define N_PRIMS 1000000
#define N_FRAMES 100
#define N_COLD 10

typedef struct
{
  OvstageStage *stage;
  OvstageQuery *query;
  OvstageToken token;
  OvstageWriteData *data;
  const Float3 *values;
} Memory;

static gsize
get_resident (const char *field)
{
  g_autofree char *status = NULL;
  const char *line;

  if (!g_file_get_contents ("/proc/self/status", &status, NULL, NULL) || (line = strstr (status, field)) == NULL)
    g_error ("/proc/self/status tells no %s", field);
  return g_ascii_strtoull (line + strlen (field), NULL, 10) * 1024;
}

static double
count_faults (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) usage.ru_minflt + (double) usage.ru_majflt;
}

static void
run_frame (Memory *memory, guint64 ordinal)
{
  OvstageOperation *write, *seal;
  OvstageRead *read;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  write = ovstage_stage_write_attribute (memory->stage, memory->query, memory->token, ordinal, memory->data,
                                         OVSTAGE_PRIM_MODE_UPSERT, NULL);
  seal = ovstage_stage_advance_write_floor (memory->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  read = ovstage_stage_read_attributes (memory->stage, memory->query, &memory->token, 1, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal),
                                        NULL);
  group = ovstage_read_fetch_next (read, OVSTAGE_TIMEOUT_INFINITE, NULL, NULL);
  tensor = ovstage_read_group_ref_tensor (group, 0);
  if (memcmp (ovstage_tensor_get_data (tensor), memory->values, sizeof (Float3) * N_PRIMS) != 0)
    g_error ("frame %" G_GUINT64_FORMAT " reads something else than it wrote", ordinal);

  ovstage_tensor_unref (tensor);
  ovstage_read_group_unref (group);
  bench_end (OVSTAGE_OPERATION (read));
  bench_end (seal);
  bench_end (write);
}

static void
run (int n_cpus)
{
  const char *cpus = n_cpus == 1 ? "one CPU" : "two CPUs";
  Float3 *values = bench_new_values (N_PRIMS);
  Memory memory = { .values = values };
  OvstagePathDictionary *dictionary;
  OvstagePath *paths;
  double faults[N_FRAMES];
  gsize before, warm, after, peak;
  double median;

  before = get_resident ("VmRSS:");
  memory.stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (memory.stage);
  memory.token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  memory.query = bench_query (memory.stage, paths, N_PRIMS);
  g_free (paths);
  memory.data = bench_write_data (values, N_PRIMS);

  warm = 0;
  for (guint i = 0; i < N_FRAMES; i++)
    {
      double faults_before;

      if (i == N_COLD)
        warm = get_resident ("VmRSS:");
      faults_before = count_faults ();
      run_frame (&memory, i + 1);
      faults[i] = count_faults () - faults_before;
    }
  after = get_resident ("VmRSS:");
  peak = get_resident ("VmHWM:");

  printf ("memory of 1M float3 and their paths above the data, %s: %.1f MB after %d frames, %.1f MB at most\n", cpus,
          (warm - before) / 1e6, N_COLD, (peak - before) / 1e6);
  printf ("memory growth from frame %d to %d, %s: %.1f KB\n", N_COLD, N_FRAMES, cpus, ((double) after - (double) warm) / 1e3);
  median = bench_quantile (faults + N_COLD, N_FRAMES - N_COLD, 0.5);
  printf ("page faults of a frame, %s: %.0f (median of %d; %.0f-%.0f)\n", cpus, median, N_FRAMES - N_COLD, faults[N_COLD],
          faults[N_FRAMES - 1]);
  fflush (stdout);

  ovstage_write_data_unref (memory.data);
  g_object_unref (memory.query);
  g_object_unref (memory.stage);
  free (values);
}

int
main (void)
{
  bench_run_on (1, run);
  bench_run_on (2, run);
  return 0;
}
