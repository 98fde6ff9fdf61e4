/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-worker.h"

#include <string.h>
#include <unistd.h>

#include "base/ovs-debug.h"
#include "base/ovs-sync.h"

typedef struct
{
  void (*func) (gpointer);
  gpointer data;
} Job;

struct _OvsWorkers
{
  gint refs; /* (atomic) */
  guint n_threads;
  gint pid; /* (atomic) of the process whose threads these are, or BEGINNING */

  OvsMutex lock; /* protects all below */
  OvsCond work;  /* a job came, a pause ended, or the end is near */
  OvsCond ended; /* a thread is over */
  Job *jobs;     /* (owned) ring */
  guint n_allocated; /* a power of two */
  guint head;
  guint n_jobs;
  guint n_running; /* threads that will look for a job again */
  guint n_waiting; /* those of them that wait for one */
  gboolean paused;
  gboolean stopping;
  GPtrArray *threads; /* (owned) (nullable) GThread, to be joined; NULL once stopped */
};

/* A child of fork() is about to get threads of its own. */
#define BEGINNING (-1)

static __thread gboolean in_worker;

OvsWorkers *
ovs_workers_new (guint n_threads)
{
  OvsWorkers *workers = g_new0 (OvsWorkers, 1);

  workers->refs = 1;
  workers->n_threads = MAX (n_threads, 1);
  workers->pid = getpid ();
  workers->n_allocated = 64;
  workers->jobs = g_new (Job, workers->n_allocated);
  workers->threads = g_ptr_array_new ();
  ovs_mutex_init (&workers->lock);
  ovs_cond_init (&workers->work);
  ovs_cond_init (&workers->ended);

  return workers;
}

OvsWorkers *
ovs_workers_ref (OvsWorkers *workers)
{
  g_atomic_int_inc (&workers->refs);
  return workers;
}

void
ovs_workers_unref (OvsWorkers *workers)
{
  if (!g_atomic_int_dec_and_test (&workers->refs))
    return;

  g_clear_pointer (&workers->threads, g_ptr_array_unref);
  g_free (workers->jobs);
  ovs_cond_clear (&workers->ended);
  ovs_cond_clear (&workers->work);
  ovs_mutex_clear (&workers->lock);
  g_free (workers);
}

static inline Job *
get_job (OvsWorkers *workers, guint i)
{
  return &workers->jobs[(workers->head + i) & (workers->n_allocated - 1)];
}

static void
append_job (OvsWorkers *workers, Job job)
{
  if (workers->n_jobs == workers->n_allocated)
    {
      /* The part before the head moves behind what was the end. */
      workers->jobs = g_renew (Job, workers->jobs, 2 * (gsize) workers->n_allocated);
      memcpy (workers->jobs + workers->n_allocated, workers->jobs, workers->head * sizeof (Job));
      workers->n_allocated *= 2;
    }

  workers->n_jobs++;
  *get_job (workers, workers->n_jobs - 1) = job;
}

static Job
take_job (OvsWorkers *workers)
{
  Job job;

  if (G_UNLIKELY (ovs_debug_flags () & OVS_DEBUG_SHUFFLE) && workers->n_jobs > 1)
    {
      Job *picked = get_job (workers, (guint) g_random_int_range (0, (gint32) MIN (workers->n_jobs, G_MAXINT32)));

      job = *picked;
      *picked = *get_job (workers, 0);
    }
  else
    {
      job = *get_job (workers, 0);
    }

  workers->head = (workers->head + 1) & (workers->n_allocated - 1);
  workers->n_jobs--;

  return job;
}

/* Lets go of the lock for a moment. */
static void
linger (OvsWorkers *workers)
{
  ovs_mutex_unlock (&workers->lock);
  g_usleep ((gulong) g_random_int_range (0, 2000));
  ovs_mutex_lock (&workers->lock);
}

static gpointer
run_jobs (gpointer user_data)
{
  OvsWorkers *workers = user_data;

  in_worker = TRUE;

  ovs_mutex_lock (&workers->lock);
  for (;;)
    {
      Job job;

      if (workers->n_jobs == 0 && workers->stopping)
        break;

      if (workers->n_jobs == 0 || workers->paused)
        {
          workers->n_waiting++;
          ovs_cond_wait (&workers->work, &workers->lock);
          workers->n_waiting--;
          continue;
        }

      if (G_UNLIKELY (ovs_debug_flags () & OVS_DEBUG_LINGER) && g_random_boolean ())
        linger (workers);
      if (workers->n_jobs == 0 || workers->paused)
        continue;
      job = take_job (workers);
      ovs_mutex_unlock (&workers->lock);
      job.func (job.data);
      ovs_mutex_lock (&workers->lock);
    }
  workers->n_running--;
  ovs_cond_broadcast (&workers->ended);
  ovs_mutex_unlock (&workers->lock);

  ovs_workers_unref (workers);

  return NULL;
}

/* Called with the lock held, so that the count is right for the next push. */
static void
start_thread (OvsWorkers *workers)
{
  g_autoptr (GThread) thread = NULL;

  ovs_workers_ref (workers);

  /* One thread there must be; without the others the work only takes longer. */
  if (workers->n_running == 0)
    thread = g_thread_new ("ovstage", run_jobs, workers);
  else
    thread = g_thread_try_new ("ovstage", run_jobs, workers, NULL);

  if (thread == NULL)
    {
      ovs_workers_unref (workers);
      return;
    }

  workers->n_running++;
  if (workers->threads != NULL)
    g_ptr_array_add (workers->threads, g_steal_pointer (&thread));
}

/* A child of fork() has none of the threads, and conditions that they seem to wait for. What they ran is lost; what they
 * had not begun is the child's, too. */
static void
begin_again (OvsWorkers *workers)
{
  ovs_mutex_init (&workers->lock);
  ovs_cond_init (&workers->work);
  ovs_cond_init (&workers->ended);
  workers->n_running = workers->n_waiting = 0;
  if (workers->threads != NULL)
    workers->threads = g_ptr_array_new ();
}

static void
ensure_process (OvsWorkers *workers)
{
  gint pid = getpid (), known;

  while (G_UNLIKELY ((known = g_atomic_int_get (&workers->pid)) != pid))
    if (known == BEGINNING)
      g_thread_yield ();
    else if (g_atomic_int_compare_and_exchange (&workers->pid, known, BEGINNING))
      {
        begin_again (workers);
        g_atomic_int_set (&workers->pid, pid);
      }
}

void
ovs_workers_push (OvsWorkers *workers, void (*func) (gpointer), gpointer data)
{
  Job job = { func, data };

  ensure_process (workers);
  ovs_mutex_lock (&workers->lock);
  append_job (workers, job);
  if (workers->n_jobs > workers->n_waiting && workers->n_running < workers->n_threads)
    start_thread (workers);
  else if (workers->n_waiting > 0)
    ovs_cond_signal (&workers->work);
  ovs_mutex_unlock (&workers->lock);
}

guint
ovs_workers_get_n_threads (OvsWorkers *workers)
{
  return workers->n_threads;
}

gboolean
ovs_workers_is_worker_thread (void)
{
  return in_worker;
}

void
ovs_workers_pause (OvsWorkers *workers)
{
  ovs_mutex_lock (&workers->lock);
  workers->paused = TRUE;
  ovs_mutex_unlock (&workers->lock);
}

void
ovs_workers_resume (OvsWorkers *workers)
{
  ovs_mutex_lock (&workers->lock);
  workers->paused = FALSE;
  ovs_cond_broadcast (&workers->work);
  ovs_mutex_unlock (&workers->lock);
}

void
ovs_workers_stop (OvsWorkers *workers)
{
  g_autoptr (GPtrArray) threads = NULL;
  guint i;

  /* In a child of fork() that pushed nothing there is nobody to wait for, and perhaps a lock that one of them held. */
  if (getpid () != g_atomic_int_get (&workers->pid))
    return;

  ovs_mutex_lock (&workers->lock);
  workers->stopping = TRUE;
  workers->paused = FALSE;
  threads = g_steal_pointer (&workers->threads);
  ovs_cond_broadcast (&workers->work);
  /* Another thread may be stopping the same workers, and have taken the threads. */
  while (!in_worker && workers->n_running > 0)
    ovs_cond_wait (&workers->ended, &workers->lock);
  ovs_mutex_unlock (&workers->lock);

  for (i = 0; threads != NULL && i < threads->len; i++)
    {
      if (in_worker)
        g_thread_unref (threads->pdata[i]);
      else
        g_thread_join (threads->pdata[i]);
    }
}
