/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Everything at once, for ThreadSanitizer above all. Each column is filled with one
 * number at a time, so that a value that is torn, or of two ordinals, shows. */

#include "config.h"

#include "engine-helpers.h"

/* Whole writes of four lanes go to the stage's threads, those of three are copied by their caller, a few rows are
 * written under the lock. */
#define N_PRIMS 20000u
#define N_WRITERS 3

typedef struct
{
  Scene scene;
  OvsOp *parts[3];      /* of the first, the middle and some prims */
  guint64 own[N_WRITERS]; /* attributes that one thread writes */
  guint64 shared;       /* one that all of them do */
  gint ordinal;         /* (atomic) everybody writes above it */
  gint writers_left;    /* (atomic) */
  gint n_watched;       /* (atomic) */
  gint n_watches;       /* (atomic) */
  gint n_risen;         /* (atomic) */
  gint n_values;        /* (atomic) values that somebody looked at */
  guint rounds;
} World;

typedef struct
{
  World *world;
  guint number;
} Actor;

static void
watch_cb (OvsOp *op, gpointer user_data)
{
  g_assert_true (ovs_op_is_done (op));
  g_atomic_int_inc (&((World *) user_data)->n_watched);
}

/* Takes @op. */
static void
observe (World *world, OvsOp *op, guint how)
{
  switch (how % 5)
    {
    case 0:
      ovs_op_wait (op, -1, NULL);
      break;
    case 1:
      ovs_op_wait (op, 1000, NULL);
      break;
    case 2:
      g_atomic_int_inc (&world->n_watches);
      if (!ovs_op_add_watch (op, watch_cb, world))
        g_atomic_int_inc (&world->n_watched);
      break;
    case 3:
      /* Taken back in time, or called. */
      if (ovs_op_add_watch (op, watch_cb, world) && !ovs_op_remove_watch (op, watch_cb, world))
        g_atomic_int_inc (&world->n_watches);
      ovs_op_get_lowest_pending (op);
      break;
    default:
      break;
    }
  ovs_op_unref (op);
}

/* Whether a failure is one that the race explains. */
static void
assert_expected (OvsOp *op)
{
  const GError *error;

  ovs_op_wait (op, -1, NULL);
  error = ovs_op_get_error (op);
  if (error != NULL && error->code != OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION && error->code != OVSTAGE_ERROR_OUT_OF_RANGE &&
      error->code != OVSTAGE_ERROR_OP_FAILED && error->code != OVSTAGE_ERROR_QUEUE_FULL)
    g_error ("%s", error->message);
}

static gpointer
writer_thread (gpointer user_data)
{
  Actor *actor = user_data;
  World *world = actor->world;
  Scene *scene = &world->scene;

  for (guint round = 0; round < world->rounds; round++)
    {
      guint64 ordinal = (guint64) g_atomic_int_get (&world->ordinal) + 1 + round % 3;
      guint n = round % 4 == 0 ? N_PRIMS : ovs_query_get_list (world->parts[round % 3])->n;
      OvsOp *query = round % 4 == 0 ? scene->query : world->parts[round % 3];
      OvsOp *op;

      /* Its own attribute always as a whole, as one number. */
      op = write_payload (scene, scene->query, world->own[actor->number], ordinal,
                          payload_fill (float32x4, N_PRIMS, (double) ordinal));
      if (round % 7 == 0)
        assert_expected (op);
      observe (world, op, round);
      /* All of them agree on the number for an ordinal. */
      op = write_payload (scene, query, world->shared, ordinal, payload_fill (float32x3, n, (double) ordinal));
      observe (world, op, round + 2);
    }
  g_atomic_int_add (&world->writers_left, -1);
  return NULL;
}

static gpointer
sealer_thread (gpointer user_data)
{
  World *world = ((Actor *) user_data)->world;
  Scene *scene = &world->scene;
  guint round = 0;

  while (g_atomic_int_get (&world->writers_left) > 0)
    {
      guint64 ordinal = (guint64) g_atomic_int_get (&world->ordinal) + 1;

      if (round % 6 == 5)
        observe (world, ovs_stage_advance (scene->stage, ordinal, OVSTAGE_SCOPE_EXCLUDE, TOKENS (world->own[0])), round);
      else if (round % 6 == 3)
        observe (world, ovs_stage_advance (scene->stage, ordinal, OVSTAGE_SCOPE_INCLUDE, TOKENS (world->shared)), round);
      else
        observe (world, advance (scene, ordinal), round);
      g_atomic_int_inc (&world->ordinal);
      if (round++ % 4 == 0)
        ovs_stage_trim (scene->stage);
      g_usleep (300);
    }
  return NULL;
}

static void
check_group (World *world, OvstageReadGroup *group)
{
  gsize lanes = group->dtype.lanes;
  float first = ((const float *) group_row (group, 0))[0];
  guint torn = 0;

  g_assert_cmpuint (group->ordinal, <=, group->write_floor);
  for (guint32 i = 0; i < group->prim_count; i++)
    {
      const float *row = (const float *) group_row (group, i);

      for (gsize lane = 0; lane < lanes; lane++)
        torn += row[lane] != row[0];
      torn += group->attribute == world->shared ? row[0] > (float) group->ordinal : row[0] != first;
    }
  g_assert_cmpuint (torn, ==, 0);
  if (group->attribute != world->shared)
    g_assert_cmpfloat (first, ==, (float) group->ordinal);
  g_atomic_int_add (&world->n_values, (gint) group->prim_count);
}

static gpointer
reader_thread (gpointer user_data)
{
  Actor *actor = user_data;
  World *world = actor->world;
  Scene *scene = &world->scene;
  OvstageReadGroup *held = NULL;
  OvstageTensor *tensor = NULL;
  guint round = actor->number;

  while (g_atomic_int_get (&world->writers_left) > 0)
    {
      guint64 ordinal = round % 3 != 0 ? OVSTAGE_ORDINAL_NEWEST : ovs_stage_get_floor (scene->stage);
      OvsOp *read = read_at (scene, round % 2 == 0 ? scene->query : world->parts[round % 3],
                             TOKENS (world->own[round % N_WRITERS], world->shared, world->own[(round + 1) % N_WRITERS]), ordinal);
      OvstageReadGroup *group = NULL;

      assert_expected (read);
      while (ovs_read_next (read, &group, NULL) && group != NULL)
        {
          check_group (world, group);
          if (round % 5 == 0)
            {
              if (held != NULL)
                {
                  check_group (world, held);
                  ovs_read_group_unref (held);
                }
              held = ovs_read_group_ref (group);
              g_clear_pointer (&tensor, ovs_tensor_unref);
              tensor = ovs_read_group_ref_tensor (group, 0);
            }
          ovs_read_group_unref (group);
        }
      observe (world, read, round++);
    }
  g_clear_pointer (&tensor, ovs_tensor_unref);
  g_clear_pointer (&held, ovs_read_group_unref);
  return NULL;
}

/* Submits advances and reads, and takes them back where that is still possible. */
static gpointer
canceller_thread (gpointer user_data)
{
  World *world = ((Actor *) user_data)->world;
  Scene *scene = &world->scene;

  for (guint round = 0; g_atomic_int_get (&world->writers_left) > 0; round++)
    {
      guint64 ordinal = (guint64) g_atomic_int_get (&world->ordinal) + 1;
      OvsOp *seal = advance (scene, ordinal);
      OvsOp *read = read_at (scene, scene->query, TOKENS (world->shared), OVSTAGE_ORDINAL_NEWEST);

      if (round % 2 == 0)
        ovs_op_cancel (read);
      if (ovs_op_cancel (seal))
        {
          g_assert_true (ovs_op_is_done (seal));
          g_assert_true (ovs_op_is_withdrawn (seal));
        }
      assert_expected (read);
      observe (world, read, round);
      observe (world, seal, round + 1);
      g_usleep (500);
    }
  return NULL;
}

static gboolean
wanted_cb (gpointer user_data)
{
  return TRUE;
}

static void
risen_cb (gpointer user_data)
{
  g_atomic_int_inc (&((World *) user_data)->n_risen);
}

/* The face's side of `sealed': what it is told of stays readable meanwhile. */
static gpointer
listener_thread (gpointer user_data)
{
  World *world = ((Actor *) user_data)->world;
  Scene *scene = &world->scene;
  guint64 last = 0;

  while (g_atomic_int_get (&world->writers_left) > 0)
    {
      guint64 ordinal = ovs_stage_begin_emission (scene->stage);

      if (ordinal != 0)
        {
          g_assert_cmpuint (ordinal, >, last);
          g_assert_cmpuint (ovs_stage_get_floor (scene->stage), >=, ordinal);
          last = ordinal;
          g_usleep (200);
          ovs_stage_end_emission (scene->stage);
        }
      g_usleep (100);
    }
  return NULL;
}

static void
world_init (World *world, guint rounds, OvsDebugFlags flags)
{
  OvsStageConfig config = { .history_depth = 2, .queue_capacity = 64, .n_threads = 2, .caller_limit = 256 * 1024 };
  g_autofree guint *prims = g_new (guint, N_PRIMS);
  char name[16];

  memset (world, 0, sizeof *world);
  scene_init_full (&world->scene, N_PRIMS, &config);
  ovs_debug_set_flags (flags);
  for (guint i = 0; i < N_PRIMS; i++)
    prims[i] = (i * 7) % N_PRIMS;
  world->parts[0] = query_prims_or_fail (world->scene.stage, prims, N_PRIMS / 3);
  for (guint i = 0; i < N_PRIMS; i++)
    prims[i] = i + 500;
  world->parts[1] = query_prims_or_fail (world->scene.stage, prims, N_PRIMS / 2);
  world->parts[2] = query_prims_or_fail (world->scene.stage, (guint[]){ 2900, 4, 170000, 1 }, 4);
  for (guint i = 0; i < N_WRITERS; i++)
    {
      g_snprintf (name, sizeof name, "own%u", i);
      world->own[i] = token_or_fail (world->scene.stage, name);
    }
  world->shared = token_or_fail (world->scene.stage, "shared");
  world->writers_left = N_WRITERS;
  world->rounds = rounds;
}

static void
world_clear (World *world)
{
  for (guint i = 0; i < 3; i++)
    ovs_op_unref (world->parts[i]);
  scene_clear (&world->scene);
}

/* However the threads took turns, and were their writes all too late: what they left is whole, and goes on. */
static void
check_end (World *world)
{
  guint64 ordinal = (guint64) world->ordinal + 20;
  OvsOp *write = write_payload (&world->scene, world->scene.query, world->own[0], ordinal,
                                payload_fill (float32x4, N_PRIMS, (double) ordinal));
  OvsOp *seal = advance (&world->scene, ordinal);
  OvsOp *read = read_at (&world->scene, world->scene.query, TOKENS (world->own[0], world->own[1], world->own[2], world->shared),
                         OVSTAGE_ORDINAL_NEWEST);
  OvstageReadGroup *group = NULL;

  assert_ok (write);
  assert_ok (seal);
  g_assert_cmpint (ovs_op_wait (read, -1, NULL), ==, OVS_WAIT_DONE);
  while (ovs_read_next (read, &group, NULL) && group != NULL)
    {
      check_group (world, group);
      ovs_read_group_unref (group);
    }
  ovs_op_unref (read);
}

static void
run_world (World *world)
{
  GThreadFunc funcs[] = { writer_thread, writer_thread, writer_thread, sealer_thread, reader_thread, reader_thread, canceller_thread, listener_thread };
  GThread *threads[G_N_ELEMENTS (funcs)];
  Actor actors[G_N_ELEMENTS (funcs)];

  ovs_stage_set_floor_funcs (world->scene.stage, wanted_cb, risen_cb, world, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (funcs); i++)
    {
      actors[i].world = world;
      actors[i].number = i % N_WRITERS;
      threads[i] = g_thread_new ("actor", funcs[i], &actors[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (funcs); i++)
    g_thread_join (threads[i]);

  /* All that is still on its way ends, and each watch was called once. */
  assert_ok (advance (&world->scene, (guint64) world->ordinal + 10));
  g_assert_cmpuint (world->scene.stage->staged_bytes, ==, 0);
  check_end (world);
  ovs_stage_close (world->scene.stage);
  g_assert_cmpuint (world->scene.stage->pending.length, ==, 0);
  g_assert_cmpint (world->n_watched, ==, world->n_watches);
  g_assert_cmpint (world->n_values, >, 0);
}

static void
test_everything (gconstpointer user_data)
{
  OvsDebugFlags flags = (OvsDebugFlags) GPOINTER_TO_INT (user_data);
  World world;

  world_init (&world, is_slow () ? 60 : 200, flags);
  run_world (&world);
  world_clear (&world);
}

static gpointer
closer_thread (gpointer user_data)
{
  World *world = user_data;

  g_usleep (3000);
  ovs_stage_close (world->scene.stage);
  return NULL;
}

/* A stage that is closed under everybody's feet: each request ends, one way or another. */
static void
test_close (void)
{
  for (guint round = 0; round < 10; round++)
    {
      World world;
      GThread *closer;
      OvsOp *ops[120];
      guint n = 0;

      world_init (&world, 0, round % 2 == 0 ? OVS_DEBUG_ASYNC | OVS_DEBUG_SHUFFLE : 0);
      closer = g_thread_new ("closer", closer_thread, &world);
      for (guint64 ordinal = 1; n < G_N_ELEMENTS (ops); ordinal++)
        {
          ops[n++] = write_payload (&world.scene, world.scene.query, world.shared, ordinal,
                                    payload_fill (float32x3, N_PRIMS, (double) ordinal));
          ops[n++] = advance (&world.scene, ordinal);
          ops[n++] = read_at (&world.scene, world.scene.query, &world.shared, 1, OVSTAGE_ORDINAL_NEWEST);
        }
      for (guint i = 0; i < n; i++)
        {
          const GError *error;

          g_assert_cmpint (ovs_op_wait (ops[i], -1, NULL), ==, OVS_WAIT_DONE);
          error = ovs_op_get_error (ops[i]);
          if (error != NULL && error->code != OVSTAGE_ERROR_INVALID_HANDLE && error->code != OVSTAGE_ERROR_QUEUE_FULL &&
              error->code != OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION && error->code != OVSTAGE_ERROR_OP_FAILED)
            g_error ("%s", error->message);
          ovs_op_unref (ops[i]);
        }
      g_thread_join (closer);
      world_clear (&world);
    }
}

typedef struct
{
  OvsOp *read;
  gint n_prims; /* (atomic) */
  gint n_groups; /* (atomic) */
} Fetch;

static gpointer
fetch_thread (gpointer user_data)
{
  Fetch *fetch = user_data;
  OvstageReadGroup *group = NULL;

  while (ovs_read_next (fetch->read, &group, NULL) && group != NULL)
    {
      OvstageTensor *tensor = ovs_read_group_ref_tensor (group, 0);

      g_atomic_int_add (&fetch->n_prims, (gint) group->prim_count);
      g_atomic_int_inc (&fetch->n_groups);
      ovs_tensor_unref (tensor);
      ovs_read_group_unref (group);
    }
  return NULL;
}

/* Threads that share a read get each group once. */
static void
test_shared_fetch (void)
{
  for (guint round = 0; round < 20; round++)
    {
      Scene scene;
      guint64 attributes[64];
      GThread *threads[4];
      Fetch fetch = { NULL, 0, 0 };
      OvsOp *some;
      char name[16];

      scene_init (&scene, 10);
      some = query_or_fail (&scene, "5 2 7");
      for (guint i = 0; i < G_N_ELEMENTS (attributes); i++)
        {
          g_snprintf (name, sizeof name, "many%u", i);
          attributes[i] = token_or_fail (scene.stage, name);
          write_or_fail (&scene, scene.query, attributes[i], 1, payload_fill (float32, 10, i));
        }
      seal_or_fail (&scene, 1);
      fetch.read = read_or_fail (&scene, some, attributes, G_N_ELEMENTS (attributes), 1);
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        threads[i] = g_thread_new ("fetch", fetch_thread, &fetch);
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        g_thread_join (threads[i]);
      g_assert_cmpint (fetch.n_groups, ==, G_N_ELEMENTS (attributes));
      g_assert_cmpint (fetch.n_prims, ==, 3 * G_N_ELEMENTS (attributes));
      ovs_op_unref (fetch.read);
      ovs_op_unref (some);
      scene_clear (&scene);
    }
}

/* One group whose tensor many ask for first. */
static gpointer
tensor_thread (gpointer user_data)
{
  return ovs_read_group_ref_tensor (user_data, 0);
}

static void
test_shared_group (void)
{
  Scene scene;

  scene_init (&scene, 10);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 10, 1));
  seal_or_fail (&scene, 1);
  for (guint round = 0; round < 100; round++)
    {
      OvstageReadGroup *group = only_group_or_fail (&scene, scene.query, scene.a, 1);
      GThread *threads[4];
      OvstageTensor *first = NULL;

      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        threads[i] = g_thread_new ("tensor", tensor_thread, group);
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        {
          OvstageTensor *tensor = g_thread_join (threads[i]);

          g_assert_true (first == NULL || first == tensor);
          first = tensor;
          ovs_tensor_unref (tensor); /* the group has it */
        }
      ovs_read_group_unref (group);
    }
  scene_clear (&scene);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_data_func ("/engine-threads/everything/plain", GINT_TO_POINTER (0), test_everything);
  g_test_add_data_func ("/engine-threads/everything/copy", GINT_TO_POINTER (OVS_DEBUG_COPY), test_everything);
  g_test_add_data_func ("/engine-threads/everything/async", GINT_TO_POINTER (OVS_DEBUG_ASYNC | OVS_DEBUG_SHUFFLE | OVS_DEBUG_POISON),
                        test_everything);
  g_test_add_func ("/engine-threads/close", test_close);
  g_test_add_func ("/engine-threads/shared-fetch", test_shared_fetch);
  g_test_add_func ("/engine-threads/shared-group", test_shared_group);

  return g_test_run ();
}
