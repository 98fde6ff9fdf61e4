/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The stage's own threads. GLib's shared pool is small and belongs to everyone,
 * so a stage that used it could starve its application, and the other way round.
 * Jobs start in the order they were pushed. A job may push jobs, and must never
 * wait for one: whoever needs a result is a job that is pushed later.
 *
 * A child of fork() gets threads of its own with its first push, if no other thread was in here when it came to be. */

#pragma once

#include <glib.h>

typedef struct _OvsWorkers OvsWorkers;

/* Threads start when there is work for them, @n_threads (at least 1) at most. */
OvsWorkers *ovs_workers_new (guint n_threads);
OvsWorkers *ovs_workers_ref (OvsWorkers *workers);
/* Each thread holds a reference, so the owner calls ovs_workers_stop() before it drops its own. */
void ovs_workers_unref (OvsWorkers *workers);

void ovs_workers_push (OvsWorkers *workers, void (*func) (gpointer), gpointer data);
/* The highest number of threads. */
guint ovs_workers_get_n_threads (OvsWorkers *workers);
/* The caller is a thread of some stage, which must not wait. */
gboolean ovs_workers_is_worker_thread (void);

/* For tests: jobs that run go on to their end, and none starts until resume. Does not wait. */
void ovs_workers_pause (OvsWorkers *workers);
void ovs_workers_resume (OvsWorkers *workers);

/* Ends a pause, lets what was pushed run to the end and the threads exit. Waits for that, but not in a worker
 * thread, which would wait for itself. What is pushed later still runs, in threads that nobody waits for. */
void ovs_workers_stop (OvsWorkers *workers);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsWorkers, ovs_workers_unref)
