/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the benchmarks of the data plane have in common: a stage with a query, three
 * floats for each of its prims and room for the yardstick to copy them to, and a
 * choice of processors. */

#pragma once

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ovstage/ovstage.h>

#include "bench.h"

typedef struct
{
  float x, y, z;
} Float3;

/* Pages as the library's own buffers have them, so that both sides of a ratio pay the same for addresses. */
static inline gpointer
bench_alloc (gsize size)
{
  const gsize huge = (gsize) 2 << 20;
  gsize aligned = (size + huge - 1) / huge * huge;
  gpointer data;

  if (size < huge)
    return memset (aligned_alloc (256, (size + 255) / 256 * 256), 0, size);
  data = aligned_alloc (huge, aligned);
  if (data == NULL)
    g_error ("no memory for %" G_GSIZE_FORMAT " bytes", size);
  madvise (data, aligned, MADV_HUGEPAGE);
  return memset (data, 0, size);
}

static inline Float3 *
bench_new_values (guint n)
{
  Float3 *values = bench_alloc (sizeof *values * n);

  for (guint i = 0; i < n; i++)
    values[i] = (Float3){ i, i + 0.25f, i + 0.5f };
  return values;
}

static inline OvstagePath *
bench_intern_prims (OvstagePathDictionary *dictionary, guint n)
{
  OvstagePath *paths = g_new (OvstagePath, n);

  for (guint i = 0; i < n; i++)
    {
      char path[64];

      g_snprintf (path, sizeof path, "/World/envs/env_%u/robot/link_%u", i / 20, i % 20);
      paths[i] = ovstage_path_dictionary_intern_path (dictionary, path, NULL);
    }
  return paths;
}

static inline OvstageQuery *
bench_query (OvstageStage *stage, const OvstagePath *paths, guint n)
{
  OvstagePathDictionary *dictionary = ovstage_stage_get_path_dictionary (stage);
  OvstagePathList *list = ovstage_path_dictionary_create_path_list_from_paths (dictionary, paths, n, NULL);
  OvstageQuery *query = ovstage_stage_query_path_list (stage, list);

  ovstage_path_list_unref (list);
  return query;
}

/* Rows of three floats, which stay the caller's. */
static inline OvstageWriteData *
bench_write_data (const Float3 *values, guint n)
{
  const gint64 shape[] = { n, 3 };
  OvstageTensor *tensor = ovstage_tensor_new_take ((gpointer) values, 1, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 2, NULL, NULL, NULL,
                                                   NULL);
  OvstageWriteData *data = ovstage_write_data_new (tensor);

  ovstage_tensor_unref (tensor);
  return data;
}

/* Waits for an operation, which must go well, and drops it. */
static inline void
bench_end (OvstageOperation *operation)
{
  GError *error = NULL;

  if (!ovstage_operation_wait (operation, OVSTAGE_TIMEOUT_INFINITE, NULL, &error))
    g_error ("an operation failed: %s", error->message);
  g_object_unref (operation);
}

/* Runs @func in a process that has @n_cpus processors, chosen before any thread of it starts. */
static inline void
bench_run_on (int n_cpus, void (*func) (int n_cpus))
{
  cpu_set_t all, chosen;
  pid_t child;
  int status, n = 0;

  if (sched_getaffinity (0, sizeof all, &all) != 0)
    g_error ("sched_getaffinity: %s", g_strerror (errno));
  CPU_ZERO (&chosen);
  /* The first one often has the interrupts. */
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && n < n_cpus; cpu--)
    if (CPU_ISSET (cpu, &all))
      {
        CPU_SET (cpu, &chosen);
        n++;
      }
  if (n < n_cpus)
    {
      printf ("(%d processors were asked for, there are %d: left out)\n", n_cpus, n);
      return;
    }

  fflush (stdout);
  child = fork ();
  if (child == 0)
    {
      if (sched_setaffinity (0, sizeof chosen, &chosen) != 0)
        g_error ("sched_setaffinity: %s", g_strerror (errno));
      func (n_cpus);
      exit (0);
    }
  if (child < 0 || waitpid (child, &status, 0) != child || !WIFEXITED (status) || WEXITSTATUS (status) != 0)
    g_error ("a child process failed");
}
