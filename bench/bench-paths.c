/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A million prim paths, next to a GHashTable that owns its strings: memory,
 * making and interning the texts, and resolving at random and in order. Through the core, and through
 * the dictionary of a stage where a line says GObject. */

#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ovstage/ovstage-path-dictionary.h>
#include <ovstage/ovstage-stage.h>

#include "path/ovs-path-list.h"

#include "bench.h"

#define N_PATHS 1000000
#define N_LOOKUPS 300000
#define PATH_SIZE 64

typedef struct
{
  GHashTable *table;
  OvsPathDict *dict;
  OvstageStage *stage;
  OvstagePathDictionary *dictionary;
  char (*paths)[PATH_SIZE]; /* (owned) N_LOOKUPS of them */
  guint64 *ids;             /* (owned) of all N_PATHS */
  guint32 *found;           /* (owned) N_LOOKUPS ids */
} Bench;

static void
make_path (char *path, guint i)
{
  g_snprintf (path, PATH_SIZE, "/World/envs/env_%u/robot/link_%u", i / 20, i % 20);
}

static void
fill_table (gpointer data)
{
  Bench *bench = data;
  char path[PATH_SIZE];

  bench->table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < N_PATHS; i++)
    {
      make_path (path, i);
      g_hash_table_insert (bench->table, g_strdup (path), GUINT_TO_POINTER (i + 1));
    }
}

static void
drop_table (gpointer data)
{
  Bench *bench = data;

  g_clear_pointer (&bench->table, g_hash_table_unref);
}

static void
fill_dict (gpointer data)
{
  Bench *bench = data;
  char path[PATH_SIZE];

  bench->dict = ovs_path_dict_new ();
  for (guint i = 0; i < N_PATHS; i++)
    {
      make_path (path, i);
      BENCH_KEEP (ovs_path_dict_intern_path (bench->dict, path, -1, NULL));
    }
}

static void
drop_dict (gpointer data)
{
  Bench *bench = data;

  g_clear_pointer (&bench->dict, ovs_path_dict_unref);
}

static void
fill_stage (gpointer data)
{
  Bench *bench = data;
  char path[PATH_SIZE];

  bench->stage = ovstage_stage_new (NULL);
  bench->dictionary = ovstage_stage_get_path_dictionary (bench->stage);
  for (guint i = 0; i < N_PATHS; i++)
    {
      make_path (path, i);
      BENCH_KEEP (ovstage_path_dictionary_intern_path (bench->dictionary, path, NULL));
    }
}

static void
drop_stage (gpointer data)
{
  Bench *bench = data;

  g_clear_object (&bench->stage);
}

static void
resolve_table (gpointer data)
{
  Bench *bench = data;

  for (guint i = 0; i < N_LOOKUPS; i++)
    BENCH_KEEP (g_hash_table_lookup (bench->table, bench->paths[i]));
}

static void
resolve_dict (gpointer data)
{
  Bench *bench = data;

  for (guint i = 0; i < N_LOOKUPS; i++)
    bench->found[i] = ovs_path_dict_find_path (bench->dict, bench->paths[i], -1);
}

static void
resolve_stage (gpointer data)
{
  Bench *bench = data;

  for (guint i = 0; i < N_LOOKUPS; i++)
    bench->found[i] = ovstage_path_dictionary_intern_path (bench->dictionary, bench->paths[i], NULL);
}

static gsize
get_resident (void)
{
  gsize size, resident = 0;
  FILE *statm;

  malloc_trim (0);
  statm = fopen ("/proc/self/statm", "r");
  if (statm == NULL || fscanf (statm, "%zu %zu", &size, &resident) != 2)
    g_error ("/proc/self/statm tells nothing");
  fclose (statm);
  return resident * getpagesize ();
}

/* Resident bytes a path, in a process of its own. */
static double
measure_memory (BenchFunc fill)
{
  int ends[2];
  double bytes = 0;
  pid_t child;

  if (pipe (ends) != 0 || (child = fork ()) < 0)
    g_error ("no child process: %s", g_strerror (errno));
  if (child == 0)
    {
      Bench bench = { 0 };
      gsize before = get_resident ();

      fill (&bench);
      bytes = (double) (get_resident () - before) / N_PATHS;
      _exit (write (ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
    }
  close (ends[1]);
  if (read (ends[0], &bytes, sizeof bytes) != sizeof bytes)
    g_error ("a child process failed");
  close (ends[0]);
  waitpid (child, NULL, 0);
  return bytes;
}

static void
compare_memory (const char *name, BenchFunc fill)
{
  enum { ROUNDS = 3 };
  double ratios[ROUNDS], ours[ROUNDS], theirs[ROUNDS];

  for (guint i = 0; i < ROUNDS; i++)
    {
      ours[i] = measure_memory (fill);
      theirs[i] = measure_memory (fill_table);
      ratios[i] = ours[i] / theirs[i];
    }
  printf ("%s: %.2f (median of %d; ", name, bench_quantile (ratios, ROUNDS, 0.5), ROUNDS);
  printf ("%.2f-%.2f)   work %.1f B/path, yardstick %.1f B/path\n", ratios[0], ratios[ROUNDS - 1],
          bench_quantile (ours, ROUNDS, 0.5), bench_quantile (theirs, ROUNDS, 0.5));
  fflush (stdout);
}

static void
make_list (gpointer data)
{
  Bench *bench = data;

  ovs_path_list_unref (ovs_path_list_new (bench->dict, bench->ids, N_PATHS, NULL));
}

static void
copy_ids (gpointer data)
{
  Bench *bench = data;
  guint64 *copy = g_memdup2 (bench->ids, sizeof (guint64) * N_PATHS);

  BENCH_KEEP (copy);
  g_free (copy);
}

int
main (void)
{
  Bench bench = { 0 };
  BenchWork table = { fill_table, NULL, drop_table };
  BenchWork dict = { fill_dict, NULL, drop_dict };
  BenchWork stage = { fill_stage, NULL, drop_stage };
  char path[PATH_SIZE];
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  bench_noise ();
  compare_memory ("paths, memory of 1M / GHashTable", fill_dict);
  compare_memory ("paths, memory of 1M, GObject / GHashTable", fill_stage);
  bench_ratio_full ("paths, make and intern 1M / GHashTable", 7, &dict, &table, &bench);
  bench_ratio_full ("paths, make and intern 1M, GObject / GHashTable", 7, &stage, &table, &bench);

  fill_table (&bench);
  fill_dict (&bench);
  fill_stage (&bench);
  bench.paths = g_malloc (sizeof *bench.paths * N_LOOKUPS);
  bench.found = g_new (guint32, N_LOOKUPS);
  for (guint i = 0; i < N_LOOKUPS; i++)
    make_path (bench.paths[i], g_rand_int_range (rand, 0, N_PATHS));
  bench_ratio ("paths, resolve at random / GHashTable", 20, resolve_dict, resolve_table, &bench);
  bench_ratio ("paths, resolve at random, GObject / GHashTable", 20, resolve_stage, resolve_table, &bench);
  for (guint i = 0; i < N_LOOKUPS; i++)
    make_path (bench.paths[i], i);
  bench_ratio ("paths, resolve in order / GHashTable", 20, resolve_dict, resolve_table, &bench);
  bench_ratio ("paths, resolve in order, GObject / GHashTable", 20, resolve_stage, resolve_table, &bench);

  bench.ids = g_new (guint64, N_PATHS);
  for (guint i = 0; i < N_PATHS; i++)
    {
      make_path (path, i);
      bench.ids[i] = ovs_path_dict_find_path (bench.dict, path, -1);
    }
  bench_ratio ("paths, list of 1M ids / copy of the ids", 20, make_list, copy_ids, &bench);

  drop_table (&bench);
  drop_dict (&bench);
  drop_stage (&bench);
  g_free (bench.paths);
  g_free (bench.found);
  g_free (bench.ids);
  return 0;
}
