/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A fold in slices on several threads gives what one thread gives, and what a plain array says. */

#include "config.h"

#include "engine-helpers.h"

#define N 4000
#define N_LANES 3

typedef struct
{
  guint n;
  guint prims[N];
} Choice;

static void
choose (GRand *rand, Choice *choice)
{
  guint kind = (guint) g_rand_int_range (rand, 0, 4);
  guint first = (guint) g_rand_int_range (rand, 0, N - 1), last = (guint) g_rand_int_range (rand, (gint) first, N);

  choice->n = 0;
  for (guint i = 0; i < N; i++)
    {
      guint prim = kind == 1 ? N - 1 - i : i;

      if (kind == 3 || (kind == 0 ? i >= first && i <= last : g_rand_int_range (rand, 0, 3) == 0))
        choice->prims[choice->n++] = prim;
    }
  if (kind == 2) /* in no order */
    for (guint i = 0; i + 1 < choice->n; i++)
      {
        guint other = (guint) g_rand_int_range (rand, (gint) i, (gint) choice->n), swap = choice->prims[i];

        choice->prims[i] = choice->prims[other];
        choice->prims[other] = swap;
      }
}

static void
check_values (Scene *scene, guint64 ordinal, float (*expected)[N_LANES])
{
  OvsOp *read = read_at (scene, scene->query, &scene->a, 1, ordinal);
  OvstageReadGroup *group;
  OvstageTensor *tensor;
  GError *error = NULL;

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_true (ovs_read_next (read, &group, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (group->prim_count, ==, N);
  tensor = ovs_read_group_ref_tensor (group, 0);
  for (guint i = 0; i < N; i++)
    for (guint lane = 0; lane < N_LANES; lane++)
      {
        guint32 row = ovs_read_group_data_row (group, i);

        g_assert_cmpfloat (((const float *) tensor->data)[row * N_LANES + lane], ==, expected[i][lane]);
      }
  ovs_tensor_unref (tensor);
  ovs_read_group_unref (group);
  ovs_op_unref (read);
}

static void
test_slices (gconstpointer data)
{
  guint n_threads = GPOINTER_TO_UINT (data) & 0xff, depth = GPOINTER_TO_UINT (data) >> 8;
  OvsStageConfig config = { .history_depth = depth, .queue_capacity = 4096, .n_threads = n_threads, .caller_limit = 1 };
  static float expected[N][N_LANES];
  GRand *rand = g_rand_new_with_seed (42 + GPOINTER_TO_UINT (data));
  g_autofree Choice *choice = g_new (Choice, 1);
  OvstageReadGroup *held = NULL;
  guint64 ordinal = 1;
  Scene scene;

  scene_init_full (&scene, N, &config);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  memset (expected, 0, sizeof expected);
  assert_ok (write_payload (&scene, scene.query, scene.a, ordinal, payload_fill (float32x3, N, 0)));
  assert_ok (advance (&scene, ordinal));

  for (guint frame = 0; frame < 40; frame++)
    {
      guint n_writes = (guint) g_rand_int_range (rand, 1, 4);

      for (guint w = 0; w < n_writes; w++)
        {
          OvstageWriteData *payload;
          OvsOp *query;

          if (g_rand_boolean (rand))
            ordinal++;
          if (w == 0 && frame > 0)
            ordinal++;
          else if (ordinal == 1)
            ordinal = 2;
          choose (rand, choice);
          query = query_prims_or_fail (scene.stage, choice->prims, choice->n);
          payload = payload_rows (float32x3, choice->n);
          for (guint i = 0; i < choice->n; i++)
            for (guint lane = 0; lane < N_LANES; lane++)
              expected[choice->prims[i]][lane] = payload_floats (payload)[i * N_LANES + lane] = (float) g_rand_int_range (rand, 0, 1 << 20);
          assert_ok (write_payload (&scene, query, scene.a, ordinal, payload));
          ovs_op_unref (query);
        }
      assert_ok (advance (&scene, ordinal));
      check_values (&scene, ordinal, expected);

      /* A held version makes the next fold copy. */
      g_clear_pointer (&held, ovs_read_group_unref);
      if (g_rand_boolean (rand))
        {
          OvsOp *read = read_at (&scene, scene.query, &scene.a, 1, ordinal);

          g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
          g_assert_true (ovs_read_next (read, &held, NULL));
          ovs_op_unref (read);
        }
    }
  g_clear_pointer (&held, ovs_read_group_unref);
  g_rand_free (rand);
  scene_clear (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint depth = 1; depth <= 3; depth += 2)
    for (guint n_threads = 1; n_threads <= 5; n_threads += 2)
      {
        g_autofree char *path = g_strdup_printf ("/engine-slices/depth-%u/threads-%u", depth, n_threads);

        g_test_add_data_func (path, GUINT_TO_POINTER (depth << 8 | n_threads), test_slices);
      }
  return g_test_run ();
}
