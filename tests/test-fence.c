/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-fence.h"

static void
append_cb (OvsFence *fence, gpointer user_data)
{
  g_string_append_c (user_data, ovs_fence_get_state (fence) == OVS_FENCE_DONE ? 'd' : 'f');
}

static void
test_null_is_done (void)
{
  g_assert_cmpint (ovs_fence_get_state (NULL), ==, OVS_FENCE_DONE);
  g_assert_cmpuint (ovs_fence_get_handle (NULL), ==, 0);
  g_assert_false (ovs_fence_add_callback (NULL, append_cb, NULL));
}

static void
test_done (void)
{
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, G_GUINT64_CONSTANT (0xfedcba9876543210));
  g_autoptr (GString) calls = g_string_new (NULL);

  g_assert_cmpint (ovs_fence_get_state (fence), ==, OVS_FENCE_PENDING);
  g_assert_cmphex (ovs_fence_get_handle (fence), ==, G_GUINT64_CONSTANT (0xfedcba9876543210));
  g_assert_true (ovs_fence_add_callback (fence, append_cb, calls));
  g_assert_cmpstr (calls->str, ==, "");

  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_cmpint (ovs_fence_get_state (fence), ==, OVS_FENCE_DONE);
  g_assert_cmpstr (calls->str, ==, "d");
}

static void
test_failed (void)
{
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, 0);
  g_autoptr (GString) calls = g_string_new (NULL);

  g_assert_true (ovs_fence_add_callback (fence, append_cb, calls));
  ovs_fence_complete (fence, OVS_FENCE_FAILED);
  g_assert_cmpint (ovs_fence_get_state (fence), ==, OVS_FENCE_FAILED);
  g_assert_cmpstr (calls->str, ==, "f");
}

static void
test_completed_once (void)
{
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, 0);
  g_autoptr (GString) calls = g_string_new (NULL);

  g_assert_true (ovs_fence_add_callback (fence, append_cb, calls));
  ovs_fence_complete (fence, OVS_FENCE_DONE);
  ovs_fence_complete (fence, OVS_FENCE_FAILED);
  g_assert_cmpint (ovs_fence_get_state (fence), ==, OVS_FENCE_DONE);
  g_assert_cmpstr (calls->str, ==, "d");
}

static void
test_callback_after_the_end (void)
{
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, 0);
  g_autoptr (GString) calls = g_string_new (NULL);

  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_false (ovs_fence_add_callback (fence, append_cb, calls));
  g_assert_cmpstr (calls->str, ==, "");
}

typedef struct
{
  GString *order;
  char name;
} Entry;

static void
append_name_cb (OvsFence *fence, gpointer user_data)
{
  Entry *entry = user_data;

  g_string_append_c (entry->order, entry->name);
}

static void
test_callbacks_in_order (void)
{
  g_autoptr (OvsFence) fence = ovs_fence_new (2, 0, 0);
  g_autoptr (GString) order = g_string_new (NULL);
  Entry entries[] = { { order, 'a' }, { order, 'b' }, { order, 'c' } };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (entries); i++)
    g_assert_true (ovs_fence_add_callback (fence, append_name_cb, &entries[i]));
  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_cmpstr (order->str, ==, "abc");
}

static void
use_fence_cb (OvsFence *fence, gpointer user_data)
{
  gint *n_calls = user_data;

  g_assert_cmpint (ovs_fence_get_state (fence), ==, OVS_FENCE_DONE);
  g_assert_false (ovs_fence_add_callback (fence, use_fence_cb, user_data));
  ovs_fence_unref (fence);
  ++*n_calls;
}

/* A lock held over the callback would hang here; a missing reference is seen by ASan. */
static void
test_callback_drops_fence (void)
{
  OvsFence *fence = ovs_fence_new (2, 0, 0);
  gint n_calls = 0;

  g_assert_true (ovs_fence_add_callback (fence, use_fence_cb, &n_calls));
  ovs_fence_complete (fence, OVS_FENCE_DONE);
  g_assert_cmpint (n_calls, ==, 1);
}

static void
test_dropped_while_pending (void)
{
  OvsFence *fence = ovs_fence_new (2, 0, 0);
  g_autoptr (GString) calls = g_string_new (NULL);

  g_assert_true (ovs_fence_add_callback (fence, append_cb, calls));
  ovs_fence_ref (fence);
  ovs_fence_unref (fence);
  g_assert_cmpstr (calls->str, ==, "");
  ovs_fence_unref (fence);
  g_assert_cmpstr (calls->str, ==, "f");
}

typedef struct
{
  OvsFence *fence;
  gint *payload;
  gint n_calls; /* (atomic) */
} Race;

static void
race_cb (OvsFence *fence, gpointer user_data)
{
  Race *race = user_data;

  g_assert_cmpint (*race->payload, ==, 5);
  g_atomic_int_inc (&race->n_calls);
}

static gpointer
add_callback_thread (gpointer user_data)
{
  Race *race = user_data;

  if (!ovs_fence_add_callback (race->fence, race_cb, race))
    race_cb (race->fence, race);
  ovs_fence_unref (race->fence);

  return NULL;
}

/* What was written before the end is seen after it, however the two meet. */
static void
test_threads (void)
{
  guint round, i;

  for (round = 0; round < 200; round++)
    {
      gint payload = 0;
      Race race = { ovs_fence_new (2, 0, 0), &payload, 0 };
      GThread *threads[3];

      for (i = 0; i < G_N_ELEMENTS (threads); i++)
        {
          ovs_fence_ref (race.fence);
          threads[i] = g_thread_new ("fence", add_callback_thread, &race);
        }
      payload = 5;
      ovs_fence_complete (race.fence, OVS_FENCE_DONE);
      for (i = 0; i < G_N_ELEMENTS (threads); i++)
        g_thread_join (threads[i]);

      g_assert_cmpint (g_atomic_int_get (&race.n_calls), ==, G_N_ELEMENTS (threads));
      ovs_fence_unref (race.fence);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/fence/null-is-done", test_null_is_done);
  g_test_add_func ("/fence/done", test_done);
  g_test_add_func ("/fence/failed", test_failed);
  g_test_add_func ("/fence/completed-once", test_completed_once);
  g_test_add_func ("/fence/callback-after-the-end", test_callback_after_the_end);
  g_test_add_func ("/fence/callbacks-in-order", test_callbacks_in_order);
  g_test_add_func ("/fence/callback-drops-fence", test_callback_drops_fence);
  g_test_add_func ("/fence/dropped-while-pending", test_dropped_while_pending);
  g_test_add_func ("/fence/threads", test_threads);

  return g_test_run ();
}
