/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A small harness: a work and its yardstick take turns within one run, and the
 * ratio of each round counts. The machine's own drift so hits both alike. What
 * is printed is for people to read; no time decides anything.
 *
 *   name: ratio (median of N; min-max)   work 1.2 us, yardstick 1.1 us
 *
 * BENCH_ROUNDS in the environment sets the number of rounds. */

#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <glib.h>

#ifndef BENCH_WARM_CALLS
#define BENCH_WARM_CALLS 3
#endif
#define BENCH_WARM_NS 20000000 /* enough of that */
#define BENCH_SAMPLE_NS 1000000 /* short works are repeated until a sample lasts this long */

/* Keeps the compiler from dropping a result. */
#define BENCH_KEEP(value) __asm__ volatile ("" : : "g"(value) : "memory")

typedef void (*BenchFunc) (gpointer data);

/* @before and @after, where there are any, are not timed and run around every call. */
typedef struct
{
  BenchFunc run;
  BenchFunc before;
  BenchFunc after;
} BenchWork;

static inline guint64
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (guint64) now.tv_sec * G_GUINT64_CONSTANT (1000000000) + now.tv_nsec;
}

static inline int
bench_compare_numbers (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* Sorts @values in place. */
static inline double
bench_quantile (double *values, guint n, double q)
{
  qsort (values, n, sizeof *values, bench_compare_numbers);
  return values[(guint) (q * (n - 1) + 0.5)];
}

static inline double
bench_sample (const BenchWork *work, guint n_calls, gpointer data)
{
  gboolean plain = work->before == NULL && work->after == NULL;
  guint inner = plain ? n_calls : 1;
  guint64 total = 0;
  guint64 start = bench_now ();

  for (guint i = 0; plain && i < BENCH_WARM_CALLS && bench_now () - start < BENCH_WARM_NS; i++)
    work->run (data);
  for (guint i = 0; i < n_calls; i += inner)
    {

      if (work->before != NULL)
        work->before (data);
      start = bench_now ();
      for (guint k = 0; k < inner; k++)
        work->run (data);
      total += bench_now () - start;
      if (work->after != NULL)
        work->after (data);
    }
  return (double) total / n_calls;
}

/* How many calls make a sample; this is the warm-up, too. */
static inline guint
bench_count_calls (const BenchWork *work, gpointer data)
{
  double ns = bench_sample (work, 1, data);

  if (ns < BENCH_SAMPLE_NS)
    ns = MIN (ns, bench_sample (work, 1, data));
  return CLAMP (BENCH_SAMPLE_NS / MAX (ns, 1), 1, 1000000);
}

static inline void
bench_print_time (const char *name, double ns)
{
  if (ns < 1e4)
    printf ("%s %.1f ns", name, ns);
  else if (ns < 1e7)
    printf ("%s %.1f us", name, ns / 1e3);
  else
    printf ("%s %.1f ms", name, ns / 1e6);
}

/* Gives the median of the ratios, too, for whoever wants to print more. */
static inline double
bench_ratio_full (const char *name, guint rounds, const BenchWork *work, const BenchWork *yardstick, gpointer data)
{
  const char *wish = g_getenv ("BENCH_ROUNDS");
  guint n = MAX (wish != NULL ? (guint) atoi (wish) : rounds, 1);
  g_autofree double *ratios = g_new (double, n);
  g_autofree double *ours = g_new (double, n);
  g_autofree double *theirs = g_new (double, n);
  guint our_calls = bench_count_calls (work, data);
  guint their_calls = bench_count_calls (yardstick, data);
  double median;

  for (guint i = 0; i < n; i++)
    {
      /* Who goes first changes from round to round. */
      if (i % 2 == 0)
        ours[i] = bench_sample (work, our_calls, data);
      theirs[i] = bench_sample (yardstick, their_calls, data);
      if (i % 2 == 1)
        ours[i] = bench_sample (work, our_calls, data);
      ratios[i] = ours[i] / theirs[i];
    }
  median = bench_quantile (ratios, n, 0.5);
  printf ("%s: %.2f (median of %u; %.2f-%.2f)   ", name, median, n, ratios[0], ratios[n - 1]);
  bench_print_time ("work", bench_quantile (ours, n, 0.5));
  bench_print_time (", yardstick", bench_quantile (theirs, n, 0.5));
  printf ("\n");
  fflush (stdout);
  return median;
}

static inline double
bench_ratio (const char *name, guint rounds, BenchFunc func, BenchFunc yardstick, gpointer data)
{
  return bench_ratio_full (name, rounds, &(BenchWork) { .run = func }, &(BenchWork) { .run = yardstick }, data);
}

/* Tells how steady the machine is: the spread of a loop that only adds and multiplies. */
static inline void
bench_noise (void)
{
  double samples[200];
  const guint n = G_N_ELEMENTS (samples);
  double p10, p50, p90;

  for (guint i = 0; i < n; i++)
    {
      guint64 start = bench_now ();
      guint64 x = start;

      for (guint k = 0; k < 200000; k++)
        x = x * G_GUINT64_CONSTANT (6364136223846793005) + 1;
      BENCH_KEEP (x);
      samples[i] = bench_now () - start;
    }
  p50 = bench_quantile (samples, n, 0.5);
  p10 = bench_quantile (samples, n, 0.1);
  p90 = bench_quantile (samples, n, 0.9);
  printf ("noise: a fixed loop takes %.1f us, p10-p90 %.2f-%.2f of that, worst %.2f\n", p50 / 1e3, p10 / p50, p90 / p50,
          samples[n - 1] / p50);
  fflush (stdout);
}
