/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Batches, W28 and W29, and memory that is handed over. */

#include "config.h"

#include "engine-helpers.h"

#include <sys/mman.h>
#include <unistd.h>

/* As some threads would have it, whatever the machine has. */
static void
scene_init_threads (Scene *scene, guint n)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096, .n_threads = 2, .caller_limit = 256 * 1024 };

  scene_init_full (scene, n, &config);
}

/* --- batches --- */

/* Takes the payloads. */
static OvsOp *
write_entries (Scene *scene, OvsOp *query, guint64 ordinal, OvstagePrimMode mode, const OvsAttributeWrite *entries, gsize n)
{
  OvsOp *op = ovs_stage_write_batch (scene->stage, query, entries, n, ordinal, mode, NULL);

  for (gsize i = 0; i < n; i++)
    if (entries[i].data != NULL)
      ovs_payload_unref (entries[i].data);
  return op;
}

#define write_batch_mode(scene, query, ordinal, mode, ...) \
  write_entries (scene, query, ordinal, mode, (const OvsAttributeWrite[]){ __VA_ARGS__ }, \
                 G_N_ELEMENTS (((const OvsAttributeWrite[]){ __VA_ARGS__ })))

static OvsOp *
write_two (Scene *scene, OvsOp *query, guint64 ordinal, OvstagePrimMode mode, OvstageWriteData *a, OvstageWriteData *b)
{
  OvsAttributeWrite entries[] = { { scene->a, a }, { scene->b, b } };

  return write_entries (scene, query, ordinal, mode, entries, 2);
}

static void
count_destroyed (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* What the stage's threads let go of may go a moment after the operation is done. */
static void
assert_destroyed (gint *n_destroyed, gint n)
{
  for (guint i = 0; g_atomic_int_get (n_destroyed) < n && i < 5000; i++)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (n_destroyed), ==, n);
}

/* @n rows of float32 whose destruction is counted. */
static OvstageWriteData *
payload_counted (gint64 n, float *values, gint *n_destroyed, gboolean take)
{
  OvstageWriteData *payload = payload_new (float32, 1, &n, NULL, values, count_destroyed, n_destroyed);

  payload->take = take;
  return payload;
}

/* W28 */
static void
test_attribute_twice (void)
{
  Scene scene;
  OvsAttributeWrite entries[3];

  scene_init (&scene, 2);
  entries[0] = (OvsAttributeWrite){ scene.a, payload_text ("1 2") };
  entries[1] = (OvsAttributeWrite){ scene.b, payload_text ("1 2") };
  entries[2] = (OvsAttributeWrite){ scene.a, payload_text ("3 4") };
  assert_refused (&scene, write_entries (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, entries, 3),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 2", "'a'", "entry 0");
  scene_clear (&scene);
}

/* W28 */
static void
test_tensor_twice (void)
{
  float values[2] = { 1, 2 };
  gint64 n = 2;
  gint n_destroyed = 0;
  Scene scene;
  OvstageTensor *tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, NULL, values, 0, count_destroyed, &n_destroyed);

  scene_init (&scene, 2);
  assert_refused (&scene,
                  write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, ovs_payload_new_take (tensor), ovs_payload_new_take (tensor)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "tensor", "entry 0");
  /* One that is not handed over may be used for any number. */
  assert_ok (write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, ovs_payload_new (tensor), ovs_payload_new (tensor)));
  assert_destroyed (&n_destroyed, 0);
  ovs_tensor_unref (tensor);
  assert_destroyed (&n_destroyed, 1);
  scene_clear (&scene);
}

/* W28 */
static void
test_no_data (void)
{
  gint n_destroyed = 0;
  float values[2];
  Scene scene;

  scene_init (&scene, 2);
  assert_refused (&scene,
                  write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, payload_counted (2, values, &n_destroyed, TRUE), NULL),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "data");
  assert_destroyed (&n_destroyed, 1);
  scene_clear (&scene);
}

/* W28: whatever is wrong with one entry, none is written, and what was handed over is let go of. */
static void
test_bad_entry (void)
{
  static const struct
  {
    const char *name; /* of the attribute of the second entry */
    gint64 rows;
    OvstageSemantic semantic;
    gint code;
    const char *text;
  } bad[] = {
    { "b", 3, OVSTAGE_SEMANTIC_NONE, OVSTAGE_ERROR_INVALID_ARGUMENT, "rows" },
    { "b", 2, (OvstageSemantic) 99, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic" },
    { "b", 2, OVSTAGE_SEMANTIC_TOKEN_ID, OVSTAGE_ERROR_INVALID_ARGUMENT, "TOKEN_ID" },
    { "usd-path", 2, OVSTAGE_SEMANTIC_NONE, OVSTAGE_ERROR_NOT_SUPPORTED, "usd-path" },
    { "sealed", 2, OVSTAGE_SEMANTIC_NONE, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "sealed" },
    { "wide", 2, OVSTAGE_SEMANTIC_NONE, OVSTAGE_ERROR_INVALID_ARGUMENT, "float32x4" },
  };
  float values[8] = { 0 };
  Scene scene;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, token_or_fail (scene.stage, "wide"), 1, payload_fill (float32x4, 2, 1));
  seal_or_fail (&scene, 1);
  seal_scope_or_fail (&scene, 7, OVSTAGE_SCOPE_INCLUDE, TOKENS (token_or_fail (scene.stage, "sealed")));
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      gint n_destroyed = 0;
      OvsAttributeWrite entries[] = {
        { scene.a, payload_counted (2, values, &n_destroyed, TRUE) },
        { token_or_fail (scene.stage, bad[i].name),
          with_semantic (payload_counted (bad[i].rows, values, &n_destroyed, TRUE), bad[i].semantic) },
        { scene.c, payload_counted (2, values, &n_destroyed, FALSE) },
      };

      g_test_message ("%s", bad[i].text);
      assert_refused (&scene, write_entries (&scene, scene.query, 5, OVSTAGE_PRIM_MODE_UPSERT, entries, 3), bad[i].code, "entry 1",
                      bad[i].text);
      assert_destroyed (&n_destroyed, 3);
    }
  scene_clear (&scene);
}

/* A fault of an earlier tier in a later entry is told before one of a later tier. */
static void
test_tiers (void)
{
  Scene scene;
  guint64 usd_path;

  scene_init (&scene, 2);
  usd_path = token_or_fail (scene.stage, "usd-path");
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  seal_or_fail (&scene, 1);

#define BATCH(ordinal, mode, ...) write_batch_mode (&scene, scene.query, ordinal, OVSTAGE_PRIM_MODE_##mode, __VA_ARGS__)
  /* enums, before handles */
  assert_refused (&scene, BATCH (1, UPSERT, { 99999, payload_text ("1 2") }, { scene.b, with_semantic (payload_text ("1 2"), 77) }),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "semantic");
  /* handles, before form */
  assert_refused (&scene, BATCH (1, UPSERT, { scene.b, ovs_payload_new (NULL) }, { 99999, payload_text ("1 2") }),
                  OVSTAGE_ERROR_INVALID_HANDLE, "entry 1");
  /* form, before names; the form of each entry, before entries that repeat */
  assert_refused (&scene, BATCH (1, UPSERT, { usd_path, payload_text ("1 2") }, { scene.b, ovs_payload_new (NULL) }),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "tensor");
  assert_refused (&scene,
                  BATCH (1, UPSERT, { scene.b, payload_text ("1 2") }, { scene.b, payload_text ("1 2") }, { scene.c, ovs_payload_new (NULL) }),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 2", "tensor");
  assert_refused (&scene, BATCH (1, UPSERT, { usd_path, payload_text ("1 2") }, { usd_path, payload_text ("1 2") }),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "entry 0");
  /* names, before rows */
  assert_refused (&scene, BATCH (1, UPSERT, { scene.b, payload_text ("1") }, { usd_path, payload_text ("1 2") }),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "entry 1");
  /* rows, before floors */
  assert_refused (&scene, BATCH (1, UPSERT, { scene.a, payload_text ("1 2") }, { scene.b, payload_text ("1") }),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "rows");
  /* floors, before prim mode */
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.b));
  assert_refused (&scene, BATCH (3, INSERT, { scene.a, payload_text ("1 2") }, { scene.b, payload_text ("1 2") }),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "entry 1", "'b'");
  /* prim mode, before schemas */
  assert_refused (&scene, BATCH (6, INSERT, { scene.a, payload_fill (float32x3, 2, 1) }, { scene.b, payload_text ("1 2") }),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "entry 0", "exists");
#undef BATCH
  scene_clear (&scene);
}

/* Nothing to write: the form is looked at, and it is done. */
static void
test_empty (void)
{
  Scene scene;
  OvsOp *none;

  scene_init (&scene, 2);
  none = query_or_fail (&scene, "");
  assert_ok (ovs_stage_write_batch (scene.stage, scene.query, NULL, 0, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  assert_ok (ovs_stage_write_batch (scene.stage, scene.query, NULL, 0, 0, OVSTAGE_PRIM_MODE_INSERT, NULL));
  assert_refused (&scene, ovs_stage_write_batch (scene.stage, scene.query, NULL, 0, OVSTAGE_ORDINAL_NEWEST, OVSTAGE_PRIM_MODE_UPSERT, NULL),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal");
  assert_refused (&scene, ovs_stage_write_batch (scene.stage, scene.query, NULL, 0, 1, (OvstagePrimMode) 9, NULL),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode");
  assert_ok (write_two (&scene, none, 1, OVSTAGE_PRIM_MODE_UPSERT, payload_text ("1 2 3"), payload_text ("1")));
  /* An entry without targets is not written, the others are. */
  assert_ok (write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, with_mask (payload_text ("1 2"), "00"), payload_text ("3 4")));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- -");
  assert_values (&scene, scene.query, scene.b, 1, "3 4");
  ovs_op_unref (none);
  scene_clear (&scene);
}

/* W29: one operation, one seal. */
static void
test_sealed_together (void)
{
  Scene scene;

  scene_init_depth (&scene, 3, 4);
  assert_ok (write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, payload_text ("1 2 3"), payload_fill (float32x3, 3, 9)));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 2 3");
  assert_values (&scene, scene.query, scene.b, 1, "9,9,9 9,9,9 9,9,9");

  assert_ok (write_two (&scene, scene.query, 2, OVSTAGE_PRIM_MODE_UPSERT, with_mask (payload_text ("4 5 6"), "010"),
                        with_map (payload_fill (float32x3, 1, 7), "00")));
  seal_scope_or_fail (&scene, 2, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a, scene.b));
  assert_values (&scene, scene.query, scene.a, 2, "1 5 3");
  assert_values (&scene, scene.query, scene.b, 2, "7,7,7 7,7,7 9,9,9");
  assert_values (&scene, scene.query, scene.b, 1, "9,9,9 9,9,9 9,9,9");
  scene_clear (&scene);
}

/* W29: sealed attribute by attribute, it appears so. */
static void
test_sealed_apart (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_ok (write_two (&scene, scene.query, 2, OVSTAGE_PRIM_MODE_UPSERT, payload_text ("1 2"), payload_text ("3 4")));
  seal_scope_or_fail (&scene, 2, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  assert_values (&scene, scene.query, scene.a, 2, "1 2");
  assert_values (&scene, scene.query, scene.b, 2, "WRITE_FLOOR_VIOLATION");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.b, 2, "3 4");
  scene_clear (&scene);
}

/* W29: prim mode sees the state before the batch. */
static void
test_state_before (void)
{
  Scene scene;

  scene_init (&scene, 2);
  assert_refused (&scene, write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPDATE, payload_text ("1 2"), payload_text ("3 4")),
                  OVSTAGE_ERROR_NOT_FOUND, "entry 0");
  assert_ok (write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_INSERT, payload_text ("1 2"), payload_text ("3 4")));
  assert_refused (&scene, write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_INSERT, payload_text ("1 2"), payload_text ("3 4")),
                  OVSTAGE_ERROR_ALREADY_EXISTS, "entry 0");
  assert_ok (write_two (&scene, scene.query, 2, OVSTAGE_PRIM_MODE_UPDATE, payload_text ("5 6"), with_mask (payload_text ("7 8"), "01")));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "5 6");
  assert_values (&scene, scene.query, scene.b, 2, "3 8");
  scene_clear (&scene);
}

/* The entries of a batch come into columns in every way there is. */
static void
test_all_ways (void)
{
  Scene scene;
  OvsOp *some;
  OvsAttributeWrite entries[4];

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "1 2");
  write_text (&scene, some, scene.b, 1, "1 2");                    /* prims will appear */
  write_text (&scene, scene.query, scene.c, 1, "1 2 3 4");         /* plain */
  entries[0] = (OvsAttributeWrite){ scene.a, payload_text ("5 6 7 8") }; /* first */
  entries[1] = (OvsAttributeWrite){ scene.b, payload_text ("5 6 7 8") };
  entries[2] = (OvsAttributeWrite){ scene.c, with_count (payload_text ("5 6"), 2) };
  entries[3] = (OvsAttributeWrite){ token_or_fail (scene.stage, "d"), with_mask (payload_text ("5 6 7 8"), "1001") };
  assert_ok (write_entries (&scene, scene.query, 2, OVSTAGE_PRIM_MODE_UPSERT, entries, 4));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "5 6 7 8");
  assert_values (&scene, scene.query, scene.b, 2, "5 6 7 8");
  assert_values (&scene, scene.query, scene.c, 2, "5 6 3 4");
  assert_values (&scene, scene.query, entries[3].attribute, 2, "5 - - 8");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Small partial writes share a part, also those of batches. */
static void
test_many_small (void)
{
  Scene scene;

  scene_init_plain (&scene, 100);
  assert_ok (write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, payload_fill (float32, 100, 0), payload_fill (float32, 100, 0)));
  seal_or_fail (&scene, 1);
  for (guint i = 0; i < 1000; i++)
    {
      char text[8];
      OvsOp *one;

      g_snprintf (text, sizeof text, "%u", i % 90);
      one = query_or_fail (&scene, text);
      assert_ok (write_two (&scene, one, 2, OVSTAGE_PRIM_MODE_UPSERT, payload_fill (float32, 1, i), payload_fill (float32, 1, i)));
      ovs_op_unref (one);
    }
  for (guint64 attribute = scene.a; attribute <= scene.b; attribute++)
    {
      OvsAttr *attr = ovs_stage_get_attr (scene.stage, (guint32) attribute);

      g_assert_cmpuint (((OvsWriteSet *) attr->sets->pdata[0])->n_parts, <, 10);
    }
  seal_or_fail (&scene, 2);
  {
    OvsOp *three = query_or_fail (&scene, "9 10 95");

    assert_values (&scene, three, scene.a, 2, "999 910 0");
    assert_values (&scene, three, scene.b, 2, "999 910 0");
    ovs_op_unref (three);
  }
  scene_clear (&scene);
}

#define N_MANY 130

/* Many attributes and many bytes: on the stage's threads, small and large ones in one. */
static void
test_large (void)
{
  Scene scene;
  OvsAttributeWrite entries[N_MANY];
  OvsOp *batch, *seal;

  scene_init_threads (&scene, 2000);
  for (guint round = 1; round <= 3; round++)
    {
      gboolean pause = round == 2;

      for (guint i = 0; i < N_MANY; i++)
        {
          g_autofree char *name = g_strdup_printf ("many-%u", i);
          OvstageDataType dtype = { OVS_CODE_FLOAT, 32, i % 40 == 0 ? 64 : 1 + i % 3 };

          entries[i].attribute = token_or_fail (scene.stage, name);
          entries[i].data = payload_fill (dtype, 2000, round * 1000 + i);
          if (round == 3 && i % 3 == 0)
            {
              g_autofree guint64 *words = g_new (guint64, 32);

              for (guint w = 0; w < 32; w++)
                words[w] = G_GUINT64_CONSTANT (0x5555555555555555);
              entries[i].data->count = 2000;
              ovs_payload_set_mask (entries[i].data, words, 32);
            }
          else if (round > 1 && i % 5 == 0)
            entries[i].data->take = TRUE;
        }
      if (pause)
        ovs_workers_pause (scene.stage->workers);
      batch = write_entries (&scene, scene.query, round, OVSTAGE_PRIM_MODE_UPSERT, entries, N_MANY);
      if (pause)
        g_assert_false (ovs_op_is_done (batch));
      seal = advance (&scene, round);
      if (pause)
        {
          g_assert_false (ovs_op_is_done (seal));
          ovs_workers_resume (scene.stage->workers);
        }
      assert_ok (seal);
      assert_ok (batch);
      for (guint i = 0; i < N_MANY; i++)
        {
          OvstageReadGroup *group = only_group_or_fail (&scene, scene.query, entries[i].attribute, round);

          for (guint prim = 0; prim < 2000; prim++)
            {
              guint from = round == 3 && i % 3 == 0 && prim % 2 == 1 ? 2 : round;
              const float *row = (const float *) group_row (group, prim);

              for (guint lane = 0; lane < group->dtype.lanes; lane++)
                g_assert_cmpfloat (row[lane], ==, (float) (from * 1000 + i));
            }
          ovs_read_group_unref (group);
        }
    }
  scene_clear (&scene);
}

/* W33, of all entries together. */
static void
test_budget (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 10, .n_threads = 2, .staging_budget = 60000 };
  Scene scene;

  scene_init_full (&scene, 10000, &config);
  assert_refused (&scene,
                  write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, payload_fill (float32, 10000, 1), payload_fill (float32, 10000, 1)),
                  OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 10000, 1));
  scene_clear (&scene);
}

/* Without memory for one buffer, of whichever entry, the stage is as it was. */
static void
test_out_of_memory (void)
{
  guint n_failed = 0;

  for (gint n = 0;; n++)
    {
      Scene scene;
      OvsOp *some, *two, *op;
      OvsAttributeWrite entries[5];
      gint n_destroyed = 0;
      float values[40] = { 0 };
      g_autofree char *before = NULL;
      g_autofree char *after = NULL;
      gboolean done;

      scene_init (&scene, 40);
      some = query_or_fail (&scene, "5-8");
      two = query_or_fail (&scene, "0-39");
      write_or_fail (&scene, some, scene.b, 1, payload_fill (float32, 4, 1));
      write_or_fail (&scene, scene.query, scene.c, 1, payload_fill (float32, 40, 1));
      seal_or_fail (&scene, 1);
      for (guint i = 0; i < 5; i++)
        {
          g_autofree char *name = g_strdup_printf ("more-%u", i);

          entries[i].attribute = i == 0 ? scene.c : i == 1 ? scene.a : i == 2 ? scene.b : token_or_fail (scene.stage, name);
          entries[i].data = payload_counted (40, values, &n_destroyed, i == 3);
        }
      /* into an open part, into columns new and old, adopted, masked */
      with_count (entries[0].data, 3);
      entries[0].data->tensor->shape[0] = 3;
      with_mask (entries[4].data, "1010101010101010101010101010101010101010");
      ovs_stage_trim (scene.stage); /* bindings are made anew */
      before = dump_state (scene.stage);
      ovs_pool_fail_after (scene.stage->pool, n);
      op = write_entries (&scene, two, 2, OVSTAGE_PRIM_MODE_UPSERT, entries, 5);
      ovs_pool_fail_after (scene.stage->pool, -1);
      after = dump_state (scene.stage);
      g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      done = ovs_op_get_error (op) == NULL;
      if (!done)
        {
          const char *const texts[] = { "memory", NULL };

          check_refused (op, OVSTAGE_ERROR_OUT_OF_MEMORY, texts);
          g_assert_cmpstr (before, ==, after);
          assert_destroyed (&n_destroyed, 5);
          n_failed++;
          /* Nothing was left that a seal would take for a change. */
          seal_or_fail (&scene, 3);
          assert_filled (&scene, scene.query, scene.c, 3, 1);
          {
            OvstageReadGroup *group = only_group_or_fail (&scene, scene.query, scene.c, 3);

            g_assert_cmpuint (group->ordinal, ==, 1);
            ovs_read_group_unref (group);
          }
        }
      else
        ovs_op_unref (op);
      ovs_op_unref (some);
      ovs_op_unref (two);
      scene_clear (&scene);
      assert_destroyed (&n_destroyed, 5);
      /* Without a binding there is another way. */
      if (done && n > 12)
        break;
    }
  g_assert_cmpuint (n_failed, >=, 6);
}

/* --- handed over --- */

typedef struct
{
  gint n_destroyed; /* (atomic) */
  float *values;    /* pages of their own */
  gsize size;
} Block;

static void
block_init (Block *block, guint n)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);

  block->n_destroyed = 0;
  block->size = (n * sizeof (float) + page - 1) / page * page;
  block->values = mmap (NULL, block->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true (block->values != MAP_FAILED);
  for (guint i = 0; i < n; i++)
    block->values[i] = (float) i;
}

/* From here on, a write to it ends the test. */
static void
block_protect (Block *block)
{
  g_assert_cmpint (mprotect (block->values, block->size, PROT_READ), ==, 0);
}

static void
block_clear (Block *block)
{
  assert_destroyed (&block->n_destroyed, 1);
  g_assert_cmpint (munmap (block->values, block->size), ==, 0);
}

static void
block_destroyed (gpointer data)
{
  g_atomic_int_inc (&((Block *) data)->n_destroyed);
}

static OvstageWriteData *
block_payload (Block *block, gint64 n)
{
  OvstageTensor *tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, NULL, block->values, 0, block_destroyed, block);
  OvstageWriteData *payload = ovs_payload_new_take (tensor);

  ovs_tensor_unref (tensor);
  return payload;
}

static gconstpointer
group_data (OvstageReadGroup *group)
{
  OvstageTensor *tensor = ovs_read_group_ref_tensor (group, 0);
  gconstpointer data = tensor->data;

  ovs_tensor_unref (tensor);
  return data;
}

static gconstpointer
data_at (Scene *scene, guint64 attribute, guint64 ordinal)
{
  OvstageReadGroup *group = only_group_or_fail (scene, scene->query, attribute, ordinal);
  gconstpointer data = group_data (group);

  ovs_read_group_unref (group);
  return data;
}

/* What the writer handed over is what the reader gets, into a new column and an old one, small and large. */
static void
test_take_adopts (void)
{
  static const guint sizes[] = { 3, 1000, 400000 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      guint n = sizes[i];
      Scene scene;
      Block first, second;

      scene_init_threads (&scene, n);
      block_init (&first, n);
      block_protect (&first);
      write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&first, n));
      seal_or_fail (&scene, 1);
      g_assert_true (data_at (&scene, scene.a, 1) == first.values);
      g_assert_cmpint (first.n_destroyed, ==, 0);

      block_init (&second, n);
      block_protect (&second);
      write_or_fail (&scene, scene.query, scene.a, 2, block_payload (&second, n));
      seal_or_fail (&scene, 2);
      g_assert_true (data_at (&scene, scene.a, 2) == second.values);
      assert_destroyed (&first.n_destroyed, 1); /* sealed, and superseded */
      g_assert_cmpint (second.n_destroyed, ==, 0);
      scene_clear (&scene);
      block_clear (&first);
      block_clear (&second); /* with the stage */
    }
}

/* Adopted in a batch, too. */
static void
test_take_in_batch (void)
{
  Scene scene;
  Block a, b;

  scene_init (&scene, 1000);
  block_init (&a, 1000);
  block_init (&b, 1000);
  block_protect (&a);
  block_protect (&b);
  assert_ok (write_two (&scene, scene.query, 1, OVSTAGE_PRIM_MODE_UPSERT, block_payload (&a, 1000), block_payload (&b, 1000)));
  seal_or_fail (&scene, 1);
  g_assert_true (data_at (&scene, scene.a, 1) == a.values);
  g_assert_true (data_at (&scene, scene.b, 1) == b.values);
  scene_clear (&scene);
  block_clear (&a);
  block_clear (&b);
}

/* Where the rows are not as they are wanted, they are copied; and let go of when the write is done. */
static void
test_take_copies (void)
{
  static const char *const kinds[] = { "strided", "unaligned", "mapped", "masked", "more rows" };

  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      Scene scene;
      Block block;
      gint64 n = 4, stride = kind == 0 ? 2 : 1;
      OvstageTensor *tensor;
      OvstageWriteData *payload;

      g_test_message ("%s", kinds[kind]);
      scene_init (&scene, 4);
      write_text (&scene, scene.query, scene.a, 1, "9 9 9 9");
      seal_or_fail (&scene, 1);
      block_init (&block, 16);
      if (kind == 1)
        memmove ((char *) block.values + 2, block.values, 16 * sizeof (float));
      block_protect (&block);
      n = kind == 4 ? 6 : 4;
      tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, &stride, (char *) block.values + (kind == 1 ? 2 : 0), 0,
                               block_destroyed, &block);
      payload = ovs_payload_new_take (tensor);
      ovs_tensor_unref (tensor);
      if (kind == 2 || kind == 4)
        with_map (payload, "0123");
      if (kind == 3)
        with_mask (payload, "1110");
      write_or_fail (&scene, scene.query, scene.a, 2, payload);
      assert_destroyed (&block.n_destroyed, 1);
      seal_or_fail (&scene, 2);
      assert_values (&scene, scene.query, scene.a, 2, kind == 0 ? "0 2 4 6" : kind == 3 ? "0 1 2 9" : "0 1 2 3");
      scene_clear (&scene);
      block_clear (&block);
    }
}

/* Rows in another order, or only some of them: values are right, and the memory goes with the seal. */
static void
test_take_scattered (void)
{
  Scene scene;
  Block block;
  OvsOp *turned;

  scene_init (&scene, 4);
  turned = query_or_fail (&scene, "3 2 1 0");
  write_text (&scene, scene.query, scene.a, 1, "9 9 9 9");
  seal_or_fail (&scene, 1);
  block_init (&block, 4);
  block_protect (&block);
  write_or_fail (&scene, turned, scene.a, 2, block_payload (&block, 4));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "3 2 1 0");
  block_clear (&block);

  block_init (&block, 4);
  block_protect (&block);
  write_or_fail (&scene, turned, scene.a, 3, with_count (block_payload (&block, 2), 2));
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "3 2 1 0");
  block_clear (&block);
  ovs_op_unref (turned);
  scene_clear (&scene);
}

/* Prims appear beside those that are there: copied. */
static void
test_take_growing (void)
{
  Scene scene;
  Block block;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "1 2");
  write_text (&scene, some, scene.a, 1, "9 9");
  block_init (&block, 4);
  block_protect (&block);
  write_or_fail (&scene, scene.query, scene.a, 2, block_payload (&block, 4));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "0 1 2 3");
  ovs_op_unref (some);
  scene_clear (&scene);
  block_clear (&block);
}

/* A later write of some rows never goes into the memory that was handed over: at the same ordinal, at the next one in the
 * same seal, and on top of the version. */
static void
test_take_never_written (void)
{
  for (guint depth = 1; depth <= 3; depth++)
    for (guint kind = 0; kind < 3; kind++)
      {
        Scene scene;
        Block block;

        scene_init_depth (&scene, 4, depth);
        block_init (&block, 4);
        block_protect (&block);
        write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&block, 4));
        if (kind == 2)
          seal_or_fail (&scene, 1);
        write_or_fail (&scene, scene.query, scene.a, kind == 0 ? 1 : 2, with_mask (payload_text ("7 7 7 7"), "0110"));
        seal_or_fail (&scene, 2);
        assert_values (&scene, scene.query, scene.a, 2, "0 7 7 3");
        if (depth > 1 && kind > 0)
          {
            assert_values (&scene, scene.query, scene.a, 1, "0 1 2 3");
            g_assert_true (data_at (&scene, scene.a, 1) == block.values);
            g_assert_cmpint (block.n_destroyed, ==, 0);
          }
        else
          assert_destroyed (&block.n_destroyed, 1);
        /* The copy is the store's own, and may be written to. */
        write_or_fail (&scene, scene.query, scene.a, 3, with_mask (payload_text ("8 8 8 8"), "1000"));
        seal_or_fail (&scene, 3);
        assert_values (&scene, scene.query, scene.a, 3, "8 7 7 3");
        scene_clear (&scene);
        block_clear (&block);
      }
}

/* Nor by many small writes in an open part, before and after. */
static void
test_take_among_small (void)
{
  Scene scene;
  Block block;
  OvsOp *one;

  scene_init_plain (&scene, 10);
  one = query_or_fail (&scene, "4");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, 10, 9));
  seal_or_fail (&scene, 1);
  write_text (&scene, one, scene.a, 2, "5");
  block_init (&block, 10);
  block_protect (&block);
  write_or_fail (&scene, scene.query, scene.a, 2, block_payload (&block, 10));
  write_text (&scene, one, scene.a, 2, "6");
  write_text (&scene, one, scene.a, 2, "7");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "0 1 2 3 7 5 6 7 8 9");
  ovs_op_unref (one);
  scene_clear (&scene);
  block_clear (&block);
}

/* Once, whatever becomes of the write. */
static void
test_take_refused (void)
{
  Scene scene;
  Block block;

  scene_init (&scene, 3);
  block_init (&block, 4);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, block_payload (&block, 4)), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "rows");
  block_clear (&block);

  seal_or_fail (&scene, 5);
  block_init (&block, 3);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 5, block_payload (&block, 3)),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "floor");
  block_clear (&block);

  ovs_stage_close (scene.stage);
  block_init (&block, 3);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 6, block_payload (&block, 3)), OVSTAGE_ERROR_INVALID_HANDLE,
                  "closed");
  block_clear (&block);
  scene_clear (&scene);
}

static void
test_take_overwritten (void)
{
  Scene scene;
  Block block;

  scene_init (&scene, 3);
  block_init (&block, 3);
  block_protect (&block);
  write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&block, 3));
  g_assert_cmpint (block.n_destroyed, ==, 0);
  write_text (&scene, scene.query, scene.a, 1, "4 5 6");
  assert_destroyed (&block.n_destroyed, 1);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "4 5 6");
  scene_clear (&scene);
  block_clear (&block);
}

/* Staged for ever: the stage goes, or is closed while an advance waits. */
static void
test_take_closed (void)
{
  Scene scene;
  Block block;
  OvsOp *write, *seal;

  scene_init_paused (&scene, 3);
  block_init (&block, 3);
  block_protect (&block);
  write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&block, 3));
  write = write_payload (&scene, scene.query, scene.b, 1, payload_text ("1 2 3"));
  seal = advance (&scene, 1);
  g_assert_false (ovs_op_is_done (seal));
  ovs_stage_close (scene.stage);
  g_assert_true (ovs_op_is_withdrawn (seal));
  g_assert_cmpint (block.n_destroyed, ==, 0);
  ovs_op_unref (seal);
  assert_ok (write);
  scene_clear (&scene);
  block_clear (&block);
}

/* Deleted before it was sealed, and after. */
static void
test_take_deleted (void)
{
  for (guint sealed = 0; sealed < 2; sealed++)
    {
      Scene scene;
      Block block;

      scene_init (&scene, 3);
      block_init (&block, 3);
      block_protect (&block);
      write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&block, 3));
      if (sealed)
        seal_or_fail (&scene, 1);
      assert_ok (ovs_stage_delete (scene.stage, scene.query, &scene.a, 1, 2));
      seal_or_fail (&scene, 2);
      assert_values (&scene, scene.query, scene.a, 2, "- - -");
      scene_clear (&scene);
      block_clear (&block);
    }
}

/* Group, tensor and what is made of it hold the memory, past the stage. */
static void
test_take_held (void)
{
  Scene scene;
  Block block;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  scene_init (&scene, 3);
  block_init (&block, 3);
  block_protect (&block);
  write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&block, 3));
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  tensor = ovs_read_group_ref_tensor (group, 0);
  write_text (&scene, scene.query, scene.a, 2, "7 8 9");
  seal_or_fail (&scene, 2);
  scene_clear (&scene);
  g_assert_cmpint (block.n_destroyed, ==, 0);
  ovs_read_group_unref (group);
  g_assert_cmpint (block.n_destroyed, ==, 0);
  g_assert_true (tensor->data == (guint8 *) block.values);
  g_assert_cmpuint (tensor->flags & OVS_TENSOR_READ_ONLY, !=, 0);
  ovs_tensor_unref (tensor);
  block_clear (&block);
}

/* The data itself may be used again: the memory is one, and counted. */
static void
test_take_used_twice (void)
{
  Scene scene;
  Block block;
  OvstageWriteData *payload;

  scene_init_depth (&scene, 3, 2);
  block_init (&block, 3);
  block_protect (&block);
  payload = block_payload (&block, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, ovs_payload_ref (payload));
  write_or_fail (&scene, scene.query, scene.a, 2, ovs_payload_ref (payload));
  write_or_fail (&scene, scene.query, scene.b, 2, payload);
  seal_or_fail (&scene, 2);
  g_assert_true (data_at (&scene, scene.a, 1) == block.values);
  g_assert_true (data_at (&scene, scene.a, 2) == block.values);
  g_assert_true (data_at (&scene, scene.b, 2) == block.values);
  write_text (&scene, scene.query, scene.a, 3, "1 1 1");
  write_text (&scene, scene.query, scene.a, 4, "1 1 1");
  seal_or_fail (&scene, 4);
  g_assert_cmpint (block.n_destroyed, ==, 0);
  scene_clear (&scene);
  block_clear (&block);
}

typedef struct
{
  Scene *scene;
  Block block;
  gint n_calls;
} Caller;

/* A deleter may ask the stage anything and submit to it: no lock is held. */
static void
call_in (gpointer data)
{
  Caller *caller = data;

  g_assert_cmpuint (ovs_stage_get_floor (caller->scene->stage), <, 100);
  assert_ok (write_payload (caller->scene, caller->scene->query, caller->scene->b, 50, payload_text ("1 2 3")));
  g_atomic_int_inc (&caller->n_calls);
}

static OvstageWriteData *
payload_calling_in (Caller *caller)
{
  gint64 n = 3;
  OvstageTensor *tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, NULL, caller->block.values, 0, call_in, caller);
  OvstageWriteData *payload = ovs_payload_new_take (tensor);

  ovs_tensor_unref (tensor);
  return payload;
}

static void
test_take_calls_in (void)
{
  Scene scene;
  Caller caller = { &scene, { 0, }, 0 };
  OvsOp *read;

  scene_init (&scene, 3);
  ovs_debug_set_flags (scene.flags & ~OVS_DEBUG_ASYNC); /* the call waits */
  block_init (&caller.block, 3);
  block_protect (&caller.block);

  /* overwritten */
  write_or_fail (&scene, scene.query, scene.a, 1, payload_calling_in (&caller));
  write_text (&scene, scene.query, scene.a, 1, "4 5 6");
  assert_destroyed (&caller.n_calls, 1);
  /* superseded */
  write_or_fail (&scene, scene.query, scene.a, 2, payload_calling_in (&caller));
  seal_or_fail (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "4 5 6");
  seal_or_fail (&scene, 3);
  assert_destroyed (&caller.n_calls, 2);
  /* scattered */
  write_or_fail (&scene, scene.query, scene.a, 4, with_count (payload_calling_in (&caller), 3));
  write_text (&scene, scene.query, scene.a, 5, "4 5 6");
  seal_or_fail (&scene, 5);
  assert_destroyed (&caller.n_calls, 3);
  /* by the last one that held it */
  write_or_fail (&scene, scene.query, scene.a, 6, payload_calling_in (&caller));
  seal_or_fail (&scene, 6);
  read = read_or_fail (&scene, scene.query, &scene.a, 1, 6);
  write_text (&scene, scene.query, scene.a, 7, "4 5 6");
  seal_or_fail (&scene, 7);
  assert_destroyed (&caller.n_calls, 3);
  ovs_op_unref (read);
  assert_destroyed (&caller.n_calls, 4);
  /* refused */
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 0, payload_calling_in (&caller)),
                  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "floor");
  assert_destroyed (&caller.n_calls, 5);

  seal_or_fail (&scene, 60);
  caller.block.n_destroyed = 1;
  scene_clear (&scene);
  block_clear (&caller.block);
}

/* Writers hand over, readers hold and let go, all at once. */
#define N_ROUNDS 200

typedef struct
{
  Scene *scene;
  gint *n_destroyed;
  gint *over; /* (atomic) */
} Party;

static gpointer
read_thread (gpointer data)
{
  Party *party = data;
  GQueue held = G_QUEUE_INIT;
  OvstageOrdinalRange newest = OVSTAGE_ORDINAL_RANGE_LATEST (OVSTAGE_ORDINAL_NEWEST);

  while (!g_atomic_int_get (party->over))
    {
      OvsOp *read = ovs_stage_read (party->scene->stage, party->scene->query, &party->scene->a, 1, &newest, NULL);
      OvstageReadGroup *group;

      g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      g_assert_no_error (ovs_op_get_error (read));
      group = next_group_or_fail (read);
      ovs_op_unref (read);
      if (group == NULL)
        continue;
      g_queue_push_tail (&held, group);
      if (held.length > 3)
        {
          OvstageReadGroup *oldest = g_queue_pop_head (&held);
          float value = ((const float *) group_row (oldest, 0))[0];

          for (guint32 i = 1; i < oldest->prim_count; i++)
            g_assert_cmpfloat (((const float *) group_row (oldest, i))[0], ==, value);
          ovs_read_group_unref (oldest);
        }
    }
  g_queue_clear_full (&held, (GDestroyNotify) ovs_read_group_unref);
  return NULL;
}

typedef struct
{
  gint *n_destroyed;
  float values[];
} Counted;

static void
counted_free (gpointer data)
{
  Counted *counted = data;

  g_atomic_int_inc (counted->n_destroyed);
  g_free (counted);
}

static void
test_take_threads (void)
{
  gint n_destroyed = 0, over = FALSE;
  Scene scene;
  Party party = { &scene, &n_destroyed, &over };
  GThread *readers[2];
  const gint64 n = 500;

  scene_init_threads (&scene, 500);
  for (guint i = 0; i < 2; i++)
    readers[i] = g_thread_new ("reader", read_thread, &party);
  for (guint round = 1; round <= N_ROUNDS; round++)
    {
      Counted *counted = g_malloc (sizeof *counted + n * sizeof (float));
      OvstageTensor *tensor;
      OvstageWriteData *payload;

      counted->n_destroyed = &n_destroyed;
      for (guint i = 0; i < n; i++)
        counted->values[i] = (float) round;
      tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, NULL, counted->values, 0, counted_free, counted);
      payload = ovs_payload_new_take (tensor);
      ovs_tensor_unref (tensor);
      write_or_fail (&scene, scene.query, scene.a, round, payload);
      seal_or_fail (&scene, round);
    }
  g_atomic_int_set (&over, TRUE);
  for (guint i = 0; i < 2; i++)
    g_thread_join (readers[i]);
  scene_clear (&scene);
  g_assert_cmpint (g_atomic_int_get (&n_destroyed), ==, N_ROUNDS);
}

/* Who hands over and writes all the same is told, in the mode that looks. */
static void
test_take_promise (void)
{
  Scene scene;
  Block block;

  scene_init (&scene, 3);
  ovs_debug_set_flags (OVS_DEBUG_POISON);
  block_init (&block, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, block_payload (&block, 3));
  seal_or_fail (&scene, 1);
  block.values[1] = 77;
  write_text (&scene, scene.query, scene.a, 2, "1 2 3");
  g_test_expect_message ("ovstage", G_LOG_LEVEL_CRITICAL, "*12 bytes*written to after*handed over*");
  seal_or_fail (&scene, 2);
  g_test_assert_expected_messages ();
  scene_clear (&scene);
  block_clear (&block);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/engine-batch/w28/attribute-twice", test_attribute_twice);
  g_test_add_func ("/engine-batch/w28/tensor-twice", test_tensor_twice);
  g_test_add_func ("/engine-batch/w28/no-data", test_no_data);
  g_test_add_func ("/engine-batch/w28/bad-entry", test_bad_entry);
  g_test_add_func ("/engine-batch/w28/tiers", test_tiers);
  g_test_add_func ("/engine-batch/w29/sealed-together", test_sealed_together);
  g_test_add_func ("/engine-batch/w29/sealed-apart", test_sealed_apart);
  g_test_add_func ("/engine-batch/w29/state-before", test_state_before);
  g_test_add_func ("/engine-batch/w29/all-ways", test_all_ways);
  g_test_add_func ("/engine-batch/w30/empty", test_empty);
  g_test_add_func ("/engine-batch/w33/budget", test_budget);
  g_test_add_func ("/engine-batch/many-small", test_many_small);
  g_test_add_func ("/engine-batch/large", test_large);
  g_test_add_func ("/engine-batch/out-of-memory", test_out_of_memory);
  g_test_add_func ("/engine-take/adopts", test_take_adopts);
  g_test_add_func ("/engine-take/in-batch", test_take_in_batch);
  g_test_add_func ("/engine-take/copies", test_take_copies);
  g_test_add_func ("/engine-take/scattered", test_take_scattered);
  g_test_add_func ("/engine-take/growing", test_take_growing);
  g_test_add_func ("/engine-take/never-written", test_take_never_written);
  g_test_add_func ("/engine-take/among-small", test_take_among_small);
  g_test_add_func ("/engine-take/destroyed/refused", test_take_refused);
  g_test_add_func ("/engine-take/destroyed/overwritten", test_take_overwritten);
  g_test_add_func ("/engine-take/destroyed/closed", test_take_closed);
  g_test_add_func ("/engine-take/destroyed/deleted", test_take_deleted);
  g_test_add_func ("/engine-take/destroyed/held", test_take_held);
  g_test_add_func ("/engine-take/destroyed/used-twice", test_take_used_twice);
  g_test_add_func ("/engine-take/destroyed/calls-in", test_take_calls_in);
  g_test_add_func ("/engine-take/destroyed/threads", test_take_threads);
  g_test_add_func ("/engine-take/promise", test_take_promise);

  return g_test_run ();
}
