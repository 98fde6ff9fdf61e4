/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ovs-debug.h"
#include "base/ovs-sync.h"
#include "base/ovs-worker.h"

typedef struct
{
  OvsWorkers *workers;
  OvsMutex lock;
  OvsCond changed;
  guint n_done;      /* protected by lock, as is the order */
  guint order[1000];
  guint n_left; /* jobs that a chain has still to push */
  gboolean open;
} Fixture;

typedef struct
{
  Fixture *fixture;
  guint number;
} Job;

static void
fixture_init (Fixture *fixture, guint n_threads)
{
  memset (fixture, 0, sizeof (Fixture));
  fixture->workers = ovs_workers_new (n_threads);
  ovs_mutex_init (&fixture->lock);
  ovs_cond_init (&fixture->changed);
}

static void
fixture_clear (Fixture *fixture)
{
  ovs_workers_unref (fixture->workers);
  ovs_cond_clear (&fixture->changed);
  ovs_mutex_clear (&fixture->lock);
}

static void
wait_done (Fixture *fixture, guint n)
{
  ovs_mutex_lock (&fixture->lock);
  while (fixture->n_done < n)
    ovs_cond_wait (&fixture->changed, &fixture->lock);
  ovs_mutex_unlock (&fixture->lock);
}

static guint
get_done (Fixture *fixture)
{
  guint n_done;

  ovs_mutex_lock (&fixture->lock);
  n_done = fixture->n_done;
  ovs_mutex_unlock (&fixture->lock);

  return n_done;
}

static void
record (Fixture *fixture, guint number)
{
  ovs_mutex_lock (&fixture->lock);
  fixture->order[fixture->n_done++ % G_N_ELEMENTS (fixture->order)] = number;
  ovs_cond_broadcast (&fixture->changed);
  ovs_mutex_unlock (&fixture->lock);
}

static void
record_cb (gpointer user_data)
{
  Job *job = user_data;

  g_assert_true (ovs_workers_is_worker_thread ());
  record (job->fixture, job->number);
  g_free (job);
}

static void
push_number (Fixture *fixture, guint number)
{
  Job *job = g_new (Job, 1);

  job->fixture = fixture;
  job->number = number;
  ovs_workers_push (fixture->workers, record_cb, job);
}

static void
test_order (void)
{
  Fixture fixture;
  guint i;

  fixture_init (&fixture, 1);
  g_assert_cmpuint (ovs_workers_get_n_threads (fixture.workers), ==, 1);
  g_assert_false (ovs_workers_is_worker_thread ());

  for (i = 0; i < 1000; i++)
    push_number (&fixture, i);
  ovs_workers_stop (fixture.workers);

  g_assert_cmpuint (fixture.n_done, ==, 1000);
  for (i = 0; i < 1000; i++)
    g_assert_cmpuint (fixture.order[i], ==, i);
  fixture_clear (&fixture);
}

/* The ring grows while its head is in the middle. */
static void
test_order_while_growing (void)
{
  Fixture fixture;
  guint i;

  fixture_init (&fixture, 1);
  for (i = 0; i < 50; i++)
    push_number (&fixture, i);
  wait_done (&fixture, 50);

  ovs_workers_pause (fixture.workers);
  for (; i < 900; i++)
    push_number (&fixture, i);
  ovs_workers_stop (fixture.workers);

  g_assert_cmpuint (fixture.n_done, ==, 900);
  for (i = 0; i < 900; i++)
    g_assert_cmpuint (fixture.order[i], ==, i);
  fixture_clear (&fixture);
}

static void
test_shuffle (void)
{
  OvsDebugFlags flags = ovs_debug_flags ();
  gboolean seen[200] = { FALSE };
  gboolean in_order = TRUE;
  Fixture fixture;
  guint i;

  ovs_debug_set_flags (flags | OVS_DEBUG_SHUFFLE);
  fixture_init (&fixture, 1);
  ovs_workers_pause (fixture.workers);
  for (i = 0; i < 200; i++)
    push_number (&fixture, i);
  ovs_workers_stop (fixture.workers);
  ovs_debug_set_flags (flags);

  g_assert_cmpuint (fixture.n_done, ==, 200);
  for (i = 0; i < 200; i++)
    {
      g_assert_false (seen[fixture.order[i]]);
      seen[fixture.order[i]] = TRUE;
      in_order = in_order && fixture.order[i] == i;
    }
  g_assert_false (in_order);
  fixture_clear (&fixture);
}

/* A thread that waited a moment may find that others took all there was, or that it is to stop. */
static void
test_linger (void)
{
  OvsDebugFlags flags = ovs_debug_flags ();
  Fixture fixture;
  guint before = 0;

  ovs_debug_set_flags (flags | OVS_DEBUG_LINGER);
  fixture_init (&fixture, 3);
  for (guint i = 0; i < 200; i++)
    push_number (&fixture, i);
  ovs_workers_stop (fixture.workers);
  ovs_debug_set_flags (flags);

  g_assert_cmpuint (fixture.n_done, ==, 200);
  for (guint i = 0; i < 200; i++)
    before += fixture.order[i];
  g_assert_cmpuint (before, ==, 199 * 200 / 2);
  fixture_clear (&fixture);
}

static void
test_never_started (void)
{
  OvsWorkers *workers = ovs_workers_new (4);

  ovs_workers_stop (workers);
  ovs_workers_unref (workers);

  workers = ovs_workers_new (0);
  g_assert_cmpuint (ovs_workers_get_n_threads (workers), ==, 1);
  ovs_workers_unref (workers);
}

static void
meet_cb (gpointer user_data)
{
  Fixture *fixture = user_data;

  record (fixture, 0);
  wait_done (fixture, 3);
}

/* Three jobs that wait for each other: ends only if three threads run them. */
static void
test_parallel (void)
{
  Fixture fixture;
  guint i;

  fixture_init (&fixture, 3);
  for (i = 0; i < 3; i++)
    ovs_workers_push (fixture.workers, meet_cb, &fixture);
  wait_done (&fixture, 3);
  ovs_workers_stop (fixture.workers);
  fixture_clear (&fixture);
}

static void
chain_cb (gpointer user_data)
{
  Fixture *fixture = user_data;
  gboolean more;

  ovs_mutex_lock (&fixture->lock);
  more = fixture->n_left > 0;
  if (more)
    fixture->n_left--;
  ovs_mutex_unlock (&fixture->lock);

  if (more)
    {
      ovs_workers_push (fixture->workers, chain_cb, fixture);
      ovs_workers_push (fixture->workers, chain_cb, fixture);
    }
  record (fixture, 0);
}

static void
test_jobs_push_jobs (void)
{
  Fixture fixture;

  fixture_init (&fixture, 2);
  fixture.n_left = 500;
  ovs_workers_push (fixture.workers, chain_cb, &fixture);
  ovs_workers_stop (fixture.workers);
  g_assert_cmpuint (fixture.n_done, ==, 1001);
  fixture_clear (&fixture);
}

static void
gate_cb (gpointer user_data)
{
  Fixture *fixture = user_data;

  record (fixture, 0);
  ovs_mutex_lock (&fixture->lock);
  while (!fixture->open)
    ovs_cond_wait (&fixture->changed, &fixture->lock);
  ovs_mutex_unlock (&fixture->lock);
  record (fixture, 1);
}

static void
test_pause (void)
{
  Fixture fixture;

  fixture_init (&fixture, 2);
  ovs_workers_push (fixture.workers, gate_cb, &fixture);
  wait_done (&fixture, 1);

  ovs_workers_pause (fixture.workers);
  push_number (&fixture, 7);
  ovs_mutex_lock (&fixture.lock);
  fixture.open = TRUE;
  ovs_cond_broadcast (&fixture.changed);
  ovs_mutex_unlock (&fixture.lock);

  /* The job that ran goes on to its end, the other does not start. */
  wait_done (&fixture, 2);
  g_usleep (20000);
  g_assert_cmpuint (get_done (&fixture), ==, 2);

  ovs_workers_resume (fixture.workers);
  wait_done (&fixture, 3);
  g_assert_cmpuint (fixture.order[2], ==, 7);

  ovs_workers_stop (fixture.workers);
  fixture_clear (&fixture);
}

static void
stop_cb (gpointer user_data)
{
  Fixture *fixture = user_data;

  ovs_workers_stop (fixture->workers);
  ovs_workers_unref (fixture->workers);
  record (fixture, 0);
}

/* ENGINE 22: the last owner may be a worker, which cannot join itself. */
static void
test_stopped_by_worker (void)
{
  static Fixture fixture; /* nobody joins the thread, which is on its way out of the lock */

  fixture_init (&fixture, 2);
  ovs_workers_push (fixture.workers, stop_cb, &fixture);
  wait_done (&fixture, 1);
}

static void
test_push_after_stop (void)
{
  Fixture fixture;

  fixture_init (&fixture, 2);
  push_number (&fixture, 1);
  ovs_workers_stop (fixture.workers);
  g_assert_cmpuint (fixture.n_done, ==, 1);

  push_number (&fixture, 2);
  wait_done (&fixture, 2);
  ovs_workers_stop (fixture.workers);
  fixture_clear (&fixture);
}

static gpointer
push_thread (gpointer user_data)
{
  Fixture *fixture = user_data;
  guint i;

  for (i = 0; i < 500; i++)
    push_number (fixture, i);

  return NULL;
}

static void
test_many_pushers (void)
{
  Fixture fixture;
  GThread *threads[4];
  guint i;

  fixture_init (&fixture, 3);
  for (i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("pusher", push_thread, &fixture);
  for (i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  ovs_workers_stop (fixture.workers);
  g_assert_cmpuint (fixture.n_done, ==, 2000);
  fixture_clear (&fixture);
}

static gpointer
stop_thread (gpointer user_data)
{
  Fixture *fixture = user_data;

  ovs_workers_stop (fixture->workers);
  g_assert_cmpuint (get_done (fixture), ==, 100);

  return NULL;
}

static void
test_stopped_twice (void)
{
  Fixture fixture;
  GThread *thread;
  guint i;

  fixture_init (&fixture, 2);
  for (i = 0; i < 100; i++)
    push_number (&fixture, i);
  thread = g_thread_new ("stop", stop_thread, &fixture);
  ovs_workers_stop (fixture.workers);
  g_assert_cmpuint (get_done (&fixture), ==, 100);
  g_thread_join (thread);
  fixture_clear (&fixture);
}

#ifndef __SANITIZE_THREAD__
/* fork() takes no threads along: the child gets its own. */
static void
test_fork (void)
{
  Fixture fixture;
  int status = -1;
  pid_t child;

  fixture_init (&fixture, 3);
  for (guint i = 0; i < 10; i++)
    push_number (&fixture, i);
  wait_done (&fixture, 10);

  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      alarm (20);
      for (guint i = 10; i < 20; i++)
        push_number (&fixture, i);
      wait_done (&fixture, 20);
      ovs_workers_stop (fixture.workers);
      _exit (get_done (&fixture) == 20 ? 0 : 1);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_assert_cmpuint (get_done (&fixture), ==, 10);
  ovs_workers_stop (fixture.workers);
  fixture_clear (&fixture);
}
#endif

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  /* Most look at the order of jobs, whatever the environment says. */
  ovs_debug_set_flags (0);

  g_test_add_func ("/workers/order", test_order);
  g_test_add_func ("/workers/order-while-growing", test_order_while_growing);
  g_test_add_func ("/workers/shuffle", test_shuffle);
  g_test_add_func ("/workers/linger", test_linger);
  g_test_add_func ("/workers/never-started", test_never_started);
  g_test_add_func ("/workers/parallel", test_parallel);
  g_test_add_func ("/workers/jobs-push-jobs", test_jobs_push_jobs);
  g_test_add_func ("/workers/pause", test_pause);
  g_test_add_func ("/workers/stopped-by-worker", test_stopped_by_worker);
  g_test_add_func ("/workers/push-after-stop", test_push_after_stop);
  g_test_add_func ("/workers/many-pushers", test_many_pushers);
  g_test_add_func ("/workers/stopped-twice", test_stopped_twice);
#ifndef __SANITIZE_THREAD__
  g_test_add_func ("/workers/fork", test_fork);
#endif

  return g_test_run ();
}
