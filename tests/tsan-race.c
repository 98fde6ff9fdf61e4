/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A race on purpose, in threads that GLib made. test-tsan.sh checks that the
 * ThreadSanitizer run reports it, so that its suppressions hide none of ours. */

#include <glib.h>

static volatile int counter;

static gpointer
count (gpointer data)
{
  for (guint i = 0; i < 1000; i++)
    counter = counter + 1;
  return NULL;
}

int
main (void)
{
  GThread *a = g_thread_new ("a", count, NULL);
  GThread *b = g_thread_new ("b", count, NULL);

  g_thread_join (a);
  g_thread_join (b);
  return 0;
}
