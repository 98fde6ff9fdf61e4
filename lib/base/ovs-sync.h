/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Locks, conditions and hand-offs between threads. GLib is not built with
 * ThreadSanitizer, so its futex locks look like races there: these wrappers
 * tell the sanitizer what they do and cost nothing elsewhere. */

#pragma once

#include <glib.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define OVS_TSAN_ACQUIRE(p) __tsan_acquire ((void *) (p))
#define OVS_TSAN_RELEASE(p) __tsan_release ((void *) (p))
#define OVS_TSAN_MUTEX(call, ...) __tsan_mutex_##call (__VA_ARGS__)
#else
#define OVS_TSAN_ACQUIRE(p) ((void) (p))
#define OVS_TSAN_RELEASE(p) ((void) (p))
#define OVS_TSAN_MUTEX(call, ...) ((void) 0)
#endif

typedef struct
{
  GMutex gmutex;
} OvsMutex;

typedef struct
{
  GCond gcond;
} OvsCond;

static inline void
ovs_mutex_init (OvsMutex *mutex)
{
  g_mutex_init (&mutex->gmutex);
  OVS_TSAN_MUTEX (create, mutex, 0);
}

static inline void
ovs_mutex_clear (OvsMutex *mutex)
{
  OVS_TSAN_MUTEX (destroy, mutex, 0);
  g_mutex_clear (&mutex->gmutex);
}

static inline void
ovs_mutex_lock (OvsMutex *mutex)
{
  OVS_TSAN_MUTEX (pre_lock, mutex, 0);
  g_mutex_lock (&mutex->gmutex);
  OVS_TSAN_MUTEX (post_lock, mutex, 0, 0);
}

static inline void
ovs_mutex_unlock (OvsMutex *mutex)
{
  OVS_TSAN_MUTEX (pre_unlock, mutex, 0);
  g_mutex_unlock (&mutex->gmutex);
  OVS_TSAN_MUTEX (post_unlock, mutex, 0);
}

static inline void
ovs_cond_init (OvsCond *cond)
{
  g_cond_init (&cond->gcond);
}

static inline void
ovs_cond_clear (OvsCond *cond)
{
  g_cond_clear (&cond->gcond);
}

static inline void
ovs_cond_wait (OvsCond *cond, OvsMutex *mutex)
{
  OVS_TSAN_MUTEX (pre_unlock, mutex, 0);
  OVS_TSAN_MUTEX (post_unlock, mutex, 0);
  g_cond_wait (&cond->gcond, &mutex->gmutex);
  OVS_TSAN_MUTEX (pre_lock, mutex, 0);
  OVS_TSAN_MUTEX (post_lock, mutex, 0, 0);
}

/* @deadline: monotonic time in microseconds */
static inline gboolean
ovs_cond_wait_until (OvsCond *cond, OvsMutex *mutex, gint64 deadline)
{
  gboolean signalled;

  OVS_TSAN_MUTEX (pre_unlock, mutex, 0);
  OVS_TSAN_MUTEX (post_unlock, mutex, 0);
  signalled = g_cond_wait_until (&cond->gcond, &mutex->gmutex, deadline);
  OVS_TSAN_MUTEX (pre_lock, mutex, 0);
  OVS_TSAN_MUTEX (post_lock, mutex, 0, 0);
  return signalled;
}

static inline void
ovs_cond_signal (OvsCond *cond)
{
  g_cond_signal (&cond->gcond);
}

static inline void
ovs_cond_broadcast (OvsCond *cond)
{
  g_cond_broadcast (&cond->gcond);
}

/* GLib counts these blocks where ThreadSanitizer cannot see it. */
static inline void
ovs_rc_box_forget (gpointer box)
{
  OVS_TSAN_ACQUIRE (box);
}

/* @box: (nullable) from g_atomic_rc_box_alloc() */
static inline void
ovs_rc_box_release (gconstpointer box)
{
  if (box == NULL)
    return;
  OVS_TSAN_RELEASE (box);
  g_atomic_rc_box_release_full ((gpointer) box, ovs_rc_box_forget);
}
