/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Array attributes: every row has elements of its own. Rows are written as text, such as
 * "1,2 . 3": two elements, none, one. */

#include "config.h"

#include "engine-helpers.h"
#include "tensor/ovs-array.h"

static const OvstageDataType uint8x1 = { OVS_CODE_UINT, 8, 1 };
static const OvstageDataType float4x1 = { OVS_CODE_FLOAT4_E2M1FN, 4, 1 };

static void
write_arrays (Scene *scene, OvsOp *query, guint64 ordinal, const char *text)
{
  write_or_fail (scene, query, scene->a, ordinal, payload_arrays (text));
}

static OvstageTensor *
tensor_full (OvstageDataType dtype, gint ndim, const gint64 *shape, const gint64 *strides, gpointer data)
{
  return ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, ndim, shape, strides, data, 0, NULL, NULL);
}

/* Takes @tensor. */
static OvstageWriteData *
packed_new (OvstageTensor *tensor)
{
  OvstageWriteData *payload = ovs_payload_new_packed (tensor, FALSE);

  ovs_tensor_unref (tensor);
  return payload;
}

/* Takes @tensor. */
static OvstageWriteData *
row_new (OvstageTensor *tensor)
{
  OvstageWriteData *payload = ovs_payload_new_rows (&tensor, 1, FALSE);

  ovs_tensor_unref (tensor);
  return payload;
}

static gsize
count_live_bytes (Scene *scene)
{
  OvsPoolStats stats;

  ovs_pool_get_stats (scene->stage->pool, &stats);
  return stats.live;
}

/* --- what a payload means --- */

static void
test_rows (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_arrays (&scene, scene.query, 1, "1,2 . 3 4,5,6");
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2 . 3 4,5,6");
  scene_clear (&scene);
}

static OvstageTensor *
view_new (float *data, gint64 n)
{
  return tensor_full (float32, 1, &n, NULL, n > 0 ? data : NULL);
}

/* Some of one array and some not, some without elements, and one whose elements lie apart: all of them where they belong. The same payload
 * is written in order, by a map and by a mask. */
static void
test_rows_of_views (void)
{
  float data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
  gint64 two = 2, apart = 3;
  OvstageTensor *rows[] = {
    view_new (data, 0), view_new (data, 2), view_new (data + 2, 1), view_new (data, 0), view_new (data + 3, 2), view_new (data + 7, 2),
    view_new (data + 1, 1),
  };
  Scene scene;

  scene_init (&scene, 7);
  for (guint i = 0; i < 2; i++)
    {
      OvstageWriteData *payload = ovs_payload_new_rows (rows, G_N_ELEMENTS (rows), FALSE);
      guint64 ordinal = 3 * i + 1;

      for (guint again = 0; again < 2; again++)
        assert_ok (ovs_stage_write (scene.stage, scene.query, scene.a, ordinal, payload, OVSTAGE_PRIM_MODE_UPSERT, NULL));
      seal_or_fail (&scene, ordinal);
      assert_values (&scene, scene.query, scene.a, ordinal, i == 0 ? ". 1,2 3 . 4,5 8,9 2" : ". 1,2 3 1,4 4,5 8,9 2");
      assert_ok (write_payload (&scene, scene.query, scene.a, ordinal + 1, with_map (ovs_payload_ref (payload), "1201655")));
      seal_or_fail (&scene, ordinal + 1);
      assert_values (&scene, scene.query, scene.a, ordinal + 1, "1,2 3 . 1,2 2 8,9 8,9");
      ovs_payload_set_index_map (payload, NULL, 0);
      assert_ok (write_payload (&scene, scene.query, scene.a, ordinal + 2, with_mask (payload, "0000100")));
      seal_or_fail (&scene, ordinal + 2);
      assert_values (&scene, scene.query, scene.a, ordinal + 2, "1,2 3 . 1,2 4,5 8,9 8,9");

      /* Once more with one that is not compact. */
      ovs_tensor_unref (rows[3]);
      rows[3] = tensor_full (float32, 1, &two, &apart, data);
    }
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    ovs_tensor_unref (rows[i]);
  scene_clear (&scene);
}

typedef struct
{
  OvsStage *stage;
  gint n; /* (atomic) */
} Drops;

static void
drop_cb (gpointer data)
{
  Drops *drops = data;

  /* Not while the stage is locked. */
  ovs_stage_get_floor (drops->stage);
  g_atomic_int_inc (&drops->n);
}

/* A table of many rows is let go of as a whole: every row that was handed over once, when the advance that replaces it is done. */
static void
test_many_rows_let_go (void)
{
  enum { N = 6000 };
  static float value = 7, zeroes[N];
  g_autofree OvstageTensor **rows = g_new (OvstageTensor *, N);
  OvstageWriteData *payload;
  gint64 one = 1;
  Scene scene;
  Drops drops;

  scene_init (&scene, N);
  drops = (Drops){ scene.stage, 0 };
  for (guint i = 0; i < N; i++)
    rows[i] = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &one, NULL, &value, 0, drop_cb, &drops);
  payload = ovs_payload_new_rows (rows, N, TRUE);
  for (guint i = 0; i < N; i++)
    ovs_tensor_unref (rows[i]);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  g_assert_cmpint (g_atomic_int_get (&drops.n), ==, 0);
  write_or_fail (&scene, scene.query, scene.a, 2, packed_new (tensor_full (float32, 1, &(gint64){ N }, NULL, zeroes)));
  seal_or_fail (&scene, 2);
  for (guint i = 0; i < 1000 && g_atomic_int_get (&drops.n) < N; i++)
    g_usleep (1000); /* the advance may run on another thread, which lets go of them after it is done */
  g_assert_cmpint (g_atomic_int_get (&drops.n), ==, N);
  scene_clear (&scene);
}

static void
test_one_tensor_is_one_row (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 2);
  one = query_or_fail (&scene, "1");
  write_arrays (&scene, one, 1, "1,2,3");
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- 1,2,3");
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_packed (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, packed_new (tensor_text ("1,2,3,4,5,6")));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2 3,4 5,6");
  /* The highest entry tells how many rows there are. */
  write_or_fail (&scene, scene.query, scene.a, 2, with_map (packed_new (tensor_text ("1,2,3,4,5,6")), "010"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1,2,3 4,5,6 1,2,3");
  write_or_fail (&scene, scene.query, scene.a, 3, with_count (packed_new (tensor_text ("7,8")), 1));
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "7,8 4,5,6 1,2,3");
  write_or_fail (&scene, scene.query, scene.a, 4, packed_new (tensor_text (".")));
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.a, 4, ". . .");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 5, packed_new (tensor_text ("1,2,3,4"))),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "4 elements", "3 rows", "prims of the query");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 5, with_count (packed_new (tensor_text ("1,2,3")), 2)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "3 elements", "2 rows", "count");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 5, with_map (packed_new (tensor_text ("1,2,3")), "01")),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "3 elements", "2 rows", "index map");
  scene_clear (&scene);
}

static void
test_packed_mask (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, with_mask (packed_new (tensor_text ("1,2,3,4,5,6")), "101"));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2 - 5,6");
  scene_clear (&scene);
}

static void
test_ragged (void)
{
  Scene scene;
  guint64 offsets[] = { 1, 3, 3, 6 };
  OvstageTensor *values = tensor_text ("0,1,2,3,4,5,6");

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, ovs_payload_new_ragged (values, offsets, 3, FALSE));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2 . 3,4,5");
  write_or_fail (&scene, scene.query, scene.a, 2, with_map (ovs_payload_new_ragged (values, offsets, 3, TRUE), "220"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "3,4,5 3,4,5 1,2");
  offsets[2] = 2;
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 3, ovs_payload_new_ragged (values, offsets, 3, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "offsets[2] is 2", "expected 3 to 7");
  offsets[2] = 8;
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 3, ovs_payload_new_ragged (values, offsets, 3, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "offsets[2] is 8", "expected 3 to 7");
  ovs_tensor_unref (values);
  scene_clear (&scene);
}

static void
test_index_map (void)
{
  Scene scene;
  OvstageReadGroup *group;
  OvstageTensor *first, *last;

  scene_init (&scene, 4);
  write_or_fail (&scene, scene.query, scene.a, 1, with_map (payload_arrays ("1,2 3 . 4"), "1021"));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "3 1,2 . 3");
  /* A row that several prims took is there once. */
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  first = ovs_read_group_ref_tensor (group, 0);
  last = ovs_read_group_ref_tensor (group, 3);
  g_assert_true (first->data == last->data);
  ovs_tensor_unref (first);
  ovs_tensor_unref (last);
  ovs_read_group_unref (group);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, with_map (payload_arrays ("1 2"), "012")),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map[2] is 2", "below 2 (tensors)");
  scene_clear (&scene);
}

/* Far more rows than elements that name one. */
static void
test_far_index (void)
{
  Scene scene;
  gint64 shape = 3000000, stride = 0;
  float value = 5;
  guint32 map[] = { 2999999, 7, 2999999 };
  OvstageWriteData *payload;

  scene_init (&scene, 3);
  payload = packed_new (tensor_full (float32, 1, &shape, &stride, &value));
  payload->count = 3;
  ovs_payload_set_index_map (payload, map, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "5 5 5");
  scene_clear (&scene);
}

static void
test_mask (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_or_fail (&scene, scene.query, scene.a, 1, with_mask (payload_arrays ("1 2,3 4 5"), "0110"));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "- 2,3 4 -");
  write_or_fail (&scene, scene.query, scene.a, 2, with_mask (payload_arrays ("6,7 8 9 ."), "1011"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "6,7 2,3 9 .");
  scene_clear (&scene);
}

static void
test_row_counts (void)
{
  Scene scene;

  scene_init (&scene, 3);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, payload_arrays ("1 2")), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "2 tensors", "3 elements", "prims of the query");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, with_count (payload_arrays ("1 2 3"), 2)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "3 tensors", "2 elements", "count");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, with_mask (payload_arrays ("1"), "100")),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "1 tensors", "3 elements", "count");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, with_count (payload_arrays ("1 2 3 4"), 4)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 4", "at most 3");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, payload_arrays ("")), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "tensors: none given");
  scene_clear (&scene);
}

static void
test_strides (void)
{
  Scene scene;
  float data[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
  gint64 shape[] = { 2, 3, 2 };
  OvstageTensor *rows[4];
  OvstageWriteData *payload;

  scene_init (&scene, 4);
  rows[0] = tensor_full (float32, 1, (gint64[]){ 3 }, (gint64[]){ -2 }, data + 4);
  rows[1] = tensor_full (float32, 2, (gint64[]){ 2, 3 }, (gint64[]){ 1, 4 }, data);
  rows[2] = tensor_full (float32, 1, (gint64[]){ 3 }, (gint64[]){ 0 }, data + 7);
  rows[3] = tensor_full (float32, 0, NULL, NULL, data + 9);
  payload = ovs_payload_new_rows (rows, 4, FALSE);
  write_or_fail (&scene, scene.query, scene.a, 1, payload);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "4,2,0 0,4,8,1,5,9 7,7,7 9");
  for (guint i = 0; i < 4; i++)
    ovs_tensor_unref (rows[i]);

  /* Rows of a packed tensor may begin anywhere within its axes. */
  for (guint reverse = 0; reverse < 2; reverse++)
    {
      gint64 strides[] = { 1, 4, 2 };
      float *first = data;

      if (reverse)
        {
          strides[1] = -4;
          first = data + 8;
        }
      payload = packed_new (tensor_full (float32, 3, shape, strides, first));
      write_or_fail (&scene, scene.query, scene.a, 2 + reverse, payload);
      seal_or_fail (&scene, 2 + reverse);
      assert_values (&scene, scene.query, scene.a, 2 + reverse, reverse ? "8,10,4 6,0,2 9,11,5 7,1,3" : "0,2,4 6,8,10 1,3,5 7,9,11");
    }
  scene_clear (&scene);
}

/* [P,3] of one lane are 3 P elements. */
static void
test_axes_are_elements (void)
{
  Scene scene;
  float data[6] = { 1, 2, 3, 4, 5, 6 };
  gint64 shape[] = { 2, 3 };
  OvsOp *one;

  scene_init (&scene, 1);
  one = query_or_fail (&scene, "1");
  write_or_fail (&scene, scene.query, scene.a, 1, row_new (tensor_full (float32, 2, shape, NULL, data)));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2,3,4,5,6");
  write_or_fail (&scene, one, scene.b, 2, row_new (tensor_full (float32x3, 1, shape, NULL, data)));
  assert_refused (&scene, write_payload (&scene, one, scene.b, 3, row_new (tensor_full (float32, 2, shape, NULL, data))),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "float32x3[]", "is float32[]");
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_form (void)
{
  Scene scene;
  float value = 1;
  gint64 one = 1, minus = -1;
  OvstageTensor *rows[2];

  scene_init (&scene, 2);
  rows[0] = tensor_full (float32, 1, &one, NULL, &value);
  rows[1] = NULL;
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, ovs_payload_new_rows (rows, 2, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors[1]: none given");
  rows[1] = tensor_full (float32, 1, &minus, NULL, &value);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, ovs_payload_new_rows (rows, 2, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors[1]: shape[0] is -1");
  ovs_tensor_unref (rows[1]);
  rows[1] = tensor_full (float32, 1, &one, NULL, NULL);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, ovs_payload_new_rows (rows, 2, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors[1]: data is NULL", "4 bytes");
  ovs_tensor_unref (rows[1]);
  rows[1] = tensor_full (float32x3, 1, &one, NULL, &value);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, ovs_payload_new_rows (rows, 2, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors[1] is float32x3", "float32 as of tensors[0]");
  ovs_tensor_unref (rows[1]);
  rows[1] = ovs_tensor_new (float32, OVS_DEVICE_CUDA, 1, 1, &one, NULL, &value, 0, NULL, NULL);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, ovs_payload_new_rows (rows, 2, FALSE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors[1] is on device (2, 1)", "(1, 0)");
  ovs_tensor_unref (rows[1]);
  ovs_tensor_unref (rows[0]);
  scene_clear (&scene);
}

static void
test_bits (void)
{
  Scene scene;
  guint8 bytes[] = { 0x21, 0x43, 0x65 };
  gint64 six = 6, three = 3;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, packed_new (tensor_full (float4x1, 1, &six, NULL, bytes)));
  seal_or_fail (&scene, 1);
  {
    OvstageReadGroup *group = only_group_or_fail (&scene, scene.query, scene.a, 1);
    OvstageTensor *tensor = ovs_read_group_ref_tensor (group, 1);

    g_assert_cmpint (tensor->shape[0], ==, 2);
    g_assert_cmpuint (tensor->data[0], ==, 0x43);
    ovs_tensor_unref (tensor);
    ovs_read_group_unref (group);
  }
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, packed_new (tensor_full (float4x1, 1, &three, NULL, bytes))),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "a row of 1 x", "whole number of bytes");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, with_count (row_new (tensor_full (float4x1, 1, &three, NULL, bytes)), 1)),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "tensors[0]: a row of 3 x", "whole number of bytes");
  scene_clear (&scene);
}

/* --- schemas --- */

static void
test_schemas (void)
{
  Scene scene;

  scene_init (&scene, 2);
  write_arrays (&scene, scene.query, 1, "1 2");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 2, payload_text ("1 2")), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "float32[]", "payload is float32:");
  write_text (&scene, scene.query, scene.b, 1, "1 2");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.b, 2, payload_arrays ("1 2")), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "is float32,", "payload is float32[]");
  assert_refused (&scene, write_payload (&scene, scene.query, scene.c, 1, with_semantic (payload_arrays ("1 2"), OVSTAGE_SEMANTIC_STRING)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "STRING", "float32[]", "uint8[]");
  scene_clear (&scene);
}

static OvstageWriteData *
token_arrays (OvstageSemantic semantic)
{
  static guint64 ids[] = { 1, 2 };
  gint64 two = 2;

  return with_semantic (packed_new (tensor_full (uint64x1, 1, &two, NULL, ids)), semantic);
}

static void
test_built_in_names (void)
{
  Scene scene;
  guint64 type, schemas;

  scene_init (&scene, 2);
  type = token_or_fail (scene.stage, "usd-prim-type");
  schemas = token_or_fail (scene.stage, "usd-schemas");
  assert_refused (&scene, write_payload (&scene, scene.query, type, 1, token_arrays (OVSTAGE_SEMANTIC_TOKEN_ID)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-prim-type", "uint64[]", "fixed-size TOKEN_ID");
  assert_refused (&scene, write_payload (&scene, scene.query, schemas, 1, token_arrays (OVSTAGE_SEMANTIC_NONE)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-schemas", "NONE", "arrays of TOKEN_ID");
  assert_refused (&scene, write_payload (&scene, scene.query, schemas, 1,
                                         with_semantic (payload_rows (uint64x1, 2), OVSTAGE_SEMANTIC_TOKEN_ID)),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-schemas", "uint64", "arrays of TOKEN_ID");
  write_or_fail (&scene, scene.query, schemas, 1, token_arrays (OVSTAGE_SEMANTIC_TOKEN_ID));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, schemas, 1, "1 2");
  /* No semantic keeps the one that is there. */
  write_or_fail (&scene, scene.query, schemas, 2, token_arrays (OVSTAGE_SEMANTIC_NONE));
  scene_clear (&scene);
}

/* From arrays to a fixed size and back, some prims at a time. */
static void
test_moves (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "1-2");
  write_arrays (&scene, scene.query, 1, "1 2,2 3 4");
  seal_or_fail (&scene, 1);
  assert_ok (ovs_stage_delete (scene.stage, some, TOKENS (scene.a), 2));
  write_text (&scene, some, scene.a, 2, "8 9");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 8 9 4");
  assert_ok (ovs_stage_delete (scene.stage, some, TOKENS (scene.a), 3));
  write_arrays (&scene, some, 3, "5,5,5 .");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "1 5,5,5 . 4");
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* --- versions --- */

static void
test_replace (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 4);
  one = query_or_fail (&scene, "2");
  write_arrays (&scene, scene.query, 1, "1,2 . 3 4,5,6");
  seal_or_fail (&scene, 1);
  write_arrays (&scene, one, 2, "7,8,9,10,11");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1,2 . 7,8,9,10,11 4,5,6");
  write_arrays (&scene, one, 3, ".");
  write_arrays (&scene, one, 3, "1");
  write_arrays (&scene, one, 3, "2,2");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "1,2 . 2,2 4,5,6");
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_history (void)
{
  Scene scene;
  OvsOp *one;

  scene_init_depth (&scene, 3, 3);
  one = query_or_fail (&scene, "1");
  write_arrays (&scene, scene.query, 1, "1 2,2 3");
  write_arrays (&scene, one, 2, "4,4,4");
  write_arrays (&scene, one, 3, ".");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 1, "1 2,2 3");
  assert_values (&scene, scene.query, scene.a, 2, "1 4,4,4 3");
  assert_values (&scene, scene.query, scene.a, 3, "1 . 3");
  write_arrays (&scene, one, 4, "5");
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.a, 1, "OUT_OF_RANGE");
  assert_values (&scene, scene.query, scene.a, 2, "1 4,4,4 3");
  assert_values (&scene, scene.query, scene.a, 4, "1 5 3");
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* Groups keep what they show, whatever comes after. */
static void
test_held_groups (void)
{
  Scene scene;
  OvstageReadGroup *groups[50];

  scene_init (&scene, 600);
  write_or_fail (&scene, scene.query, scene.a, 1, packed_new (({
                   gint64 n = 600;
                   static float zero[600];
                   tensor_full (float32, 1, &n, NULL, zero);
                 })));
  seal_or_fail (&scene, 1);
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      g_autofree char *where = g_strdup_printf ("%u", i * 11), *what = g_strdup_printf ("%u,%u", i, i);
      OvsOp *one = query_or_fail (&scene, where);

      groups[i] = only_group_or_fail (&scene, scene.query, scene.a, i + 1);
      write_arrays (&scene, one, i + 2, what);
      seal_or_fail (&scene, i + 2);
      ovs_op_unref (one);
    }
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      for (guint j = 0; j < G_N_ELEMENTS (groups); j++)
        {
          OvstageTensor *tensor = ovs_read_group_ref_tensor (groups[i], j * 11);

          g_assert_cmpint (tensor->shape[0], ==, j < i ? 2 : 1);
          g_assert_cmpfloat (*(float *) tensor->data, ==, j < i ? j : 0);
          ovs_tensor_unref (tensor);
        }
      ovs_read_group_unref (groups[i]);
    }
  scene_clear (&scene);
}

/* A tensor outlives group, version and stage. */
static void
test_tensor_outlives (void)
{
  Scene scene;
  OvstageReadGroup *group;
  OvstageTensor *tensor;
  OvsPool *pool;

  scene_init (&scene, 2);
  write_arrays (&scene, scene.query, 1, "1,2 3");
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  tensor = ovs_read_group_ref_tensor (group, 0);
  g_assert_true (tensor->flags & OVS_TENSOR_READ_ONLY);
  g_assert_cmpuint ((guintptr) tensor->data % OVS_BUFFER_ALIGNMENT, ==, 0);
  ovs_read_group_unref (group);
  pool = ovs_pool_ref (scene.stage->pool);
  ovs_op_unref (scene.query);
  ovs_stage_close (scene.stage);
  ovs_stage_unref (scene.stage);
  g_assert_cmpfloat (((float *) tensor->data)[1], ==, 2);
  ovs_tensor_unref (tensor);
  ovs_pool_unref (pool);
  ovs_debug_set_flags (scene.flags);
}

static void
test_deletes (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "0 3");
  write_arrays (&scene, scene.query, 1, "1 2,2 3 4");
  seal_or_fail (&scene, 1);
  assert_ok (ovs_stage_delete (scene.stage, some, TOKENS (scene.a), 2));
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "- 2,2 3 -");
  write_arrays (&scene, some, 3, "5,5 .");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "5,5 2,2 3 .");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
count_deleter (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* What a thread of the stage lets go of, it does once the operation is done. */
static void
assert_deleted (gint *n_deleted, gint n)
{
  for (guint i = 0; i < 10000 && g_atomic_int_get (n_deleted) < n; i++)
    g_usleep (1000);
  g_assert_cmpint (g_atomic_int_get (n_deleted), ==, n);
}

/* A payload whose tensors tell when they are let go of. */
static OvstageWriteData *
counted_rows (float *data, guint n, guint size, gint *n_deleted, gboolean strided)
{
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_tensor_unref);
  gint64 shape = size, stride = strided ? -1 : 1;

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (tensors, ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &shape, &stride, data + i * size + (strided ? size - 1 : 0),
                                              0, count_deleter, n_deleted));
  return ovs_payload_new_rows ((OvstageTensor *const *) tensors->pdata, n, TRUE);
}

static void
test_adopted (void)
{
  Scene scene;
  float data[6] __attribute__ ((aligned (16))) = { 0, 1, 2, 3, 4, 5 };
  gint n_deleted = 0;
  OvstageReadGroup *group;
  OvsOp *one;

  scene_init_plain (&scene, 3);
  one = query_or_fail (&scene, "1");
  write_or_fail (&scene, scene.query, scene.a, 1, counted_rows (data, 3, 2, &n_deleted, FALSE));
  seal_or_fail (&scene, 1);
  g_assert_cmpint (n_deleted, ==, 0);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  for (guint i = 0; i < 3; i++)
    {
      OvstageTensor *tensor = ovs_read_group_ref_tensor (group, i);

      g_assert_true (tensor->data == (guint8 *) (data + 2 * i));
      ovs_tensor_unref (tensor);
    }
  /* What is replaced goes with its last reader, the others stay. */
  write_arrays (&scene, one, 2, "7");
  seal_or_fail (&scene, 2);
  g_assert_cmpint (n_deleted, ==, 0);
  ovs_read_group_unref (group);
  assert_deleted (&n_deleted, 1);
  assert_values (&scene, scene.query, scene.a, 2, "0,1 7 4,5");
  assert_ok (ovs_stage_delete (scene.stage, scene.query, TOKENS (scene.a), 3));
  seal_or_fail (&scene, 3);
  assert_deleted (&n_deleted, 3);
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_adopted_outcomes (void)
{
  Scene scene;
  float data[6] __attribute__ ((aligned (16))) = { 0, 1, 2, 3, 4, 5 };
  gint n_deleted = 0;

  scene_init_plain (&scene, 3);
  /* refused */
  check_refused (write_payload (&scene, scene.query, scene.a, 0, counted_rows (data, 3, 2, &n_deleted, FALSE)),
                 OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, (const char *const[]){ NULL });
  assert_deleted (&n_deleted, 3);
  check_refused (write_payload (&scene, scene.query, scene.a, 1, counted_rows (data, 2, 2, &n_deleted, FALSE)),
                 OVSTAGE_ERROR_INVALID_ARGUMENT, (const char *const[]){ NULL });
  assert_deleted (&n_deleted, 5);
  /* copied */
  write_or_fail (&scene, scene.query, scene.a, 1, counted_rows (data, 3, 2, &n_deleted, TRUE));
  assert_deleted (&n_deleted, 8);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,0 3,2 5,4");
  /* overwritten before it was sealed */
  write_or_fail (&scene, scene.query, scene.a, 2, counted_rows (data, 3, 2, &n_deleted, FALSE));
  write_arrays (&scene, scene.query, 2, "1 2 3");
  assert_deleted (&n_deleted, 11);
  /* never sealed */
  write_or_fail (&scene, scene.query, scene.a, 3, with_mask (counted_rows (data, 3, 2, &n_deleted, FALSE), "011"));
  assert_deleted (&n_deleted, 12);
  scene_clear (&scene);
  assert_deleted (&n_deleted, 14);
}

/* Elements that stand where their type may not are copied, so that every tensor of a read is aligned for it. */
static void
test_misaligned (void)
{
  Scene scene;
  float data[7] __attribute__ ((aligned (16))) = { 0 };
  gpointer from = (guint8 *) data + 2;
  const float values[] = { 0, 1, 2, 3, 4, 5 };
  gint n_deleted = 0;
  OvstageReadGroup *group;

  memcpy (from, values, sizeof values);
  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, counted_rows (from, 3, 2, &n_deleted, FALSE));
  assert_deleted (&n_deleted, 3);
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  for (guint i = 0; i < 3; i++)
    {
      OvstageTensor *tensor = ovs_read_group_ref_tensor (group, i);

      g_assert_cmpuint ((guintptr) tensor->data % sizeof (float), ==, 0);
      ovs_tensor_unref (tensor);
    }
  ovs_read_group_unref (group);
  assert_values (&scene, scene.query, scene.a, 1, "0,1 2,3 4,5");
  scene_clear (&scene);
}

/* One buffer, adopted whole. */
static void
test_adopted_ragged (void)
{
  Scene scene;
  static float data[1000] __attribute__ ((aligned (256)));
  guint64 offsets[] = { 0, 10, 10, 1000 };
  gint64 shape = 1000;
  gint n_deleted = 0;
  OvstageTensor *values = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &shape, NULL, data, 0, count_deleter, &n_deleted);
  OvstageReadGroup *group;
  OvstageTensor *all, *where;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1, ovs_payload_new_ragged (values, offsets, 3, TRUE));
  ovs_tensor_unref (values);
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  g_assert_true (ovs_read_group_get_packed (group, &all, &where, NULL));
  g_assert_true (all->data == (guint8 *) data);
  g_assert_cmpmem (where->data, (gsize) where->shape[0] * 8, offsets, sizeof offsets);
  ovs_read_group_unref (group);
  g_assert_cmpint (n_deleted, ==, 0);
  scene_clear (&scene);
  assert_deleted (&n_deleted, 1);
}

/* --- values and offsets --- */

static void
assert_packed (OvstageReadGroup *group, const char *expected, const guint64 *expected_offsets)
{
  OvstageTensor *values, *offsets;
  g_autoptr (GString) text = g_string_new (NULL);

  g_assert_true (ovs_read_group_get_packed (group, &values, &offsets, NULL));
  for (gint64 i = 0; i < values->shape[0]; i++)
    g_string_append_printf (text, "%s%g", i > 0 ? " " : "", ((const float *) values->data)[i]);
  g_assert_cmpstr (text->str, ==, expected);
  g_assert_cmpint (offsets->shape[0], ==, group->n_tensors + 1);
  g_assert_cmpmem (offsets->data, (gsize) offsets->shape[0] * 8, expected_offsets, (group->n_tensors + 1) * sizeof (guint64));
  g_assert_true (values->flags & offsets->flags & OVS_TENSOR_READ_ONLY);
}

static void
test_values_and_offsets (void)
{
  Scene scene;
  OvstageReadGroup *group, *other, *some;
  OvstageTensor *values, *offsets, *row, *same;
  OvsOp *query;

  scene_init (&scene, 4);
  query = query_or_fail (&scene, "2 0");
  write_arrays (&scene, scene.query, 1, "1,2 . 3 4,5,6");
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  assert_packed (group, "1 2 3 4 5 6", (guint64[]){ 0, 2, 2, 3, 6 });
  /* The rows lie together: nothing is copied, and another group gets the same. */
  ovs_read_group_get_packed (group, &values, &offsets, NULL);
  row = ovs_read_group_ref_tensor (group, 0);
  g_assert_true (row->data == values->data);
  ovs_tensor_unref (row);
  other = only_group_or_fail (&scene, scene.query, scene.a, 1);
  ovs_read_group_get_packed (other, &same, &offsets, NULL);
  if ((scene.flags & OVS_DEBUG_COMPACT) == 0)
    g_assert_true (same == values);
  ovs_read_group_unref (other);
  some = only_group_or_fail (&scene, query, scene.a, 1);
  assert_packed (some, "3 1 2", (guint64[]){ 0, 1, 3 });
  ovs_read_group_unref (some);
  /* A changed row makes a difference to later groups only. */
  write_arrays (&scene, query, 2, "7,7 .");
  seal_or_fail (&scene, 2);
  other = only_group_or_fail (&scene, scene.query, scene.a, 2);
  assert_packed (other, "7 7 4 5 6", (guint64[]){ 0, 0, 0, 2, 5 });
  assert_packed (group, "1 2 3 4 5 6", (guint64[]){ 0, 2, 2, 3, 6 });
  ovs_read_group_unref (other);
  ovs_read_group_unref (group);
  write_arrays (&scene, scene.query, 3, ". . . .");
  seal_or_fail (&scene, 3);
  group = only_group_or_fail (&scene, scene.query, scene.a, 3);
  assert_packed (group, "", (guint64[]){ 0, 0, 0, 0, 0 });
  ovs_read_group_unref (group);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Prims that lost the attribute have neither values nor texts. */
static void
test_tombstones (void)
{
  Scene scene;
  OvstageOrdinalRange range = OVSTAGE_ORDINAL_RANGE_BETWEEN (2, 2);
  OvstageReadGroup *group;
  OvstageTensor *values, *offsets;
  g_autoptr (GError) error = NULL;
  OvsOp *read;

  scene_init (&scene, 2);
  write_arrays (&scene, scene.query, 1, "1 2");
  seal_or_fail (&scene, 1);
  assert_ok (ovs_stage_delete (scene.stage, scene.query, TOKENS (scene.a), 2));
  seal_or_fail (&scene, 2);
  read = ovs_stage_read (scene.stage, scene.query, TOKENS (scene.a), &range, NULL);
  group = next_group_or_fail (read);
  g_assert_true (group->is_delete);
  g_assert_false (ovs_read_group_get_packed (group, &values, &offsets, &error));
  assert_error_says (error, OVSTAGE_ERROR_INVALID_ARGUMENT, (const char *const[]){ "lost the attribute", NULL });
  g_clear_error (&error);
  g_assert_null (ovs_read_group_dup_string (group, 0, &error));
  assert_error_says (error, OVSTAGE_ERROR_INVALID_ARGUMENT, (const char *const[]){ "lost the attribute", NULL });
  ovs_read_group_unref (group);
  ovs_op_unref (read);
  scene_clear (&scene);
}

static void
test_not_arrays (void)
{
  Scene scene;
  OvstageReadGroup *group;
  OvstageTensor *values, *offsets;
  g_autoptr (GError) error = NULL;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32x3, 2, 1));
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  g_assert_false (ovs_read_group_get_packed (group, &values, &offsets, &error));
  assert_error_says (error, OVSTAGE_ERROR_INVALID_ARGUMENT, (const char *const[]){ "float32x3", "expected arrays", NULL });
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

static void
test_values_without_memory (void)
{
  Scene scene;
  OvstageReadGroup *group;
  OvstageTensor *values, *offsets;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, with_map (payload_arrays ("1 2"), "10"));
  write_or_fail (&scene, scene.query, scene.a, 1, with_mask (payload_arrays ("3 4"), "01"));
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  for (gint n = 0; n < 2; n++)
    {
      g_autoptr (GError) error = NULL;

      ovs_pool_fail_after (scene.stage->pool, n);
      g_assert_false (ovs_read_group_get_packed (group, &values, &offsets, &error));
      assert_error_says (error, OVSTAGE_ERROR_OUT_OF_MEMORY, (const char *const[]){ "8 bytes", "offsets of 2 rows", NULL });
    }
  ovs_pool_fail_after (scene.stage->pool, -1);
  assert_packed (group, "2 4", (guint64[]){ 0, 1, 2 });
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* --- text --- */

static void
test_strings (void)
{
  Scene scene;
  const char *texts[] = { "", "wheel", "\xc3\xa4\xc3\xb6", "a\xff" "b", "a\0b" };
  gint64 sizes[] = { 0, 5, 4, 3, 3 };
  OvstageTensor *rows[5];
  OvstageReadGroup *group;

  scene_init (&scene, 5);
  for (guint i = 0; i < 5; i++)
    rows[i] = tensor_full (uint8x1, 1, &sizes[i], NULL, (gpointer) texts[i]);
  write_or_fail (&scene, scene.query, scene.a, 1, with_semantic (ovs_payload_new_rows (rows, 5, FALSE), OVSTAGE_SEMANTIC_STRING));
  for (guint i = 0; i < 5; i++)
    ovs_tensor_unref (rows[i]);
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *text = ovs_read_group_dup_string (group, i, NULL);

      g_assert_cmpstr (text, ==, texts[i]);
    }
  for (guint i = 3; i < 6; i++)
    {
      const char *says[][3] = { { "row 3: byte 1 is 0xff", "UTF-8", NULL }, { "row 4: byte 1 is 0x00", "UTF-8", NULL },
                                { "row is 5", "below 5", NULL } };
      g_autoptr (GError) error = NULL;

      g_assert_null (ovs_read_group_dup_string (group, i, &error));
      assert_error_says (error, OVSTAGE_ERROR_INVALID_ARGUMENT, says[i - 3]);
    }
  ovs_read_group_unref (group);

  write_or_fail (&scene, scene.query, scene.b, 2, payload_arrays ("1 2 3 4 5"));
  seal_or_fail (&scene, 2);
  group = only_group_or_fail (&scene, scene.query, scene.b, 2);
  {
    g_autoptr (GError) error = NULL;

    g_assert_null (ovs_read_group_dup_string (group, 0, &error));
    assert_error_says (error, OVSTAGE_ERROR_INVALID_ARGUMENT, (const char *const[]){ "are float32[]", "uint8[]", NULL });
  }
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

/* --- cost --- */

/* One row changes: as much is moved in a large column as in a small one, whether somebody holds the version or not. */
static void
test_update_moves_one_row (void)
{
  guint sizes[] = { 10, 10000 };
  guint64 moved[2][2];

  for (guint s = 0; s < 2; s++)
    {
      Scene scene;
      OvsOp *one;
      OvstageReadGroup *group;
      float *data = g_new0 (float, sizes[s] * 4);
      gint64 shape = sizes[s] * 4;

      scene_init_plain (&scene, sizes[s]);
      one = query_or_fail (&scene, "5");
      write_or_fail (&scene, scene.query, scene.a, 1, packed_new (tensor_full (float32, 1, &shape, NULL, data)));
      seal_or_fail (&scene, 1);
      for (guint64 ordinal = 2; ordinal < 12; ordinal++)
        {
          guint64 before = scene.stage->n_bytes_folded;

          write_arrays (&scene, one, ordinal, "1,2,3");
          seal_or_fail (&scene, ordinal);
          moved[s][0] = scene.stage->n_bytes_folded - before;
        }
      group = only_group_or_fail (&scene, scene.query, scene.a, 11);
      write_arrays (&scene, one, 12, "1,2,3");
      moved[s][1] = scene.stage->n_bytes_folded;
      seal_or_fail (&scene, 12);
      moved[s][1] = scene.stage->n_bytes_folded - moved[s][1];
      ovs_read_group_unref (group);
      ovs_op_unref (one);
      scene_clear (&scene);
      g_free (data);
    }
  g_assert_cmpuint (moved[0][0], ==, sizeof (OvsArrayRow));
  g_assert_cmpuint (moved[1][0], ==, sizeof (OvsArrayRow));
  /* With a reader: a chunk, and a pointer a chunk. */
  g_assert_cmpuint (moved[1][1], <=, 257 * sizeof (OvsArrayRow) + 40 * sizeof (gpointer));
}

/* Rows that lie together and cover the column are not moved at all. */
static void
test_cover_moves_nothing (void)
{
  Scene scene;
  float *data = g_new0 (float, 10000);
  gint64 shape = 10000;

  scene_init_plain (&scene, 10000);
  write_or_fail (&scene, scene.query, scene.a, 1, packed_new (tensor_full (float32, 1, &shape, NULL, data)));
  seal_or_fail (&scene, 1);
  g_assert_cmpuint (scene.stage->n_bytes_folded, ==, 40 * sizeof (gpointer));
  scene_clear (&scene);
  g_free (data);
}

/* A buffer of which less than half is live is left, and what is live in it moved. */
static void
test_repack (void)
{
  Scene scene;
  OvsOp *most, *rest;
  enum { N = 1000, SIZE = 256 };
  float *data = g_new0 (float, N * SIZE);
  gint64 shape = N * SIZE, small = N - 100;
  gsize full;

  scene_init_plain (&scene, N);
  most = query_or_fail (&scene, "0-899");
  rest = query_or_fail (&scene, "900-999");
  for (guint i = 0; i < N * SIZE; i++)
    data[i] = (float) (i / SIZE);
  write_or_fail (&scene, scene.query, scene.a, 1, packed_new (tensor_full (float32, 1, &shape, NULL, data)));
  seal_or_fail (&scene, 1);
  full = count_live_bytes (&scene);
  g_assert_cmpuint (full, >=, N * SIZE * sizeof (float));
  write_or_fail (&scene, most, scene.a, 2, packed_new (tensor_full (float32, 1, &small, NULL, data)));
  seal_or_fail (&scene, 2);
  write_or_fail (&scene, most, scene.a, 3, packed_new (tensor_full (float32, 1, &small, NULL, data)));
  seal_or_fail (&scene, 3);
  g_assert_cmpuint (count_live_bytes (&scene), <, full / 4);
  {
    OvstageReadGroup *group = only_group_or_fail (&scene, rest, scene.a, 3);

    for (guint i = 0; i < 100; i++)
      {
        OvstageTensor *tensor = ovs_read_group_ref_tensor (group, i);

        g_assert_cmpint (tensor->shape[0], ==, SIZE);
        g_assert_cmpmem (tensor->data, SIZE * sizeof (float), data + (900 + i) * SIZE, SIZE * sizeof (float));
        ovs_tensor_unref (tensor);
      }
    ovs_read_group_unref (group);
  }
  ovs_op_unref (most);
  ovs_op_unref (rest);
  scene_clear (&scene);
  g_free (data);
}

/* Rows that go take their elements along. */
static void
test_rows_go (void)
{
  Scene scene;
  enum { N = 64, SIZE = 16384 };
  OvsOp *some;
  gsize before;

  scene_init_plain (&scene, N);
  some = query_or_fail (&scene, "0-62");
  for (guint i = 0; i < N; i++)
    {
      g_autofree char *where = g_strdup_printf ("%u", i);
      OvsOp *one = query_or_fail (&scene, where);
      float *data = g_new0 (float, SIZE);
      gint64 shape = SIZE;

      write_or_fail (&scene, one, scene.a, 1, row_new (ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &shape, NULL, data, 0, g_free, data)));
      ovs_op_unref (one);
    }
  seal_or_fail (&scene, 1);
  before = count_live_bytes (&scene);
  g_assert_cmpuint (before, >=, N * SIZE * sizeof (float));
  assert_ok (ovs_stage_delete (scene.stage, some, TOKENS (scene.a), 2));
  seal_or_fail (&scene, 2);
  g_assert_cmpuint (count_live_bytes (&scene), <, before / 16);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* More than the calling thread copies. */
static void
test_large (void)
{
  Scene scene;
  enum { N = 5000 };
  g_autofree OvstageTensor **rows = g_new (OvstageTensor *, N);
  OvstageReadGroup *group;
  gint64 n_values = 0;

  scene_init (&scene, N);
  for (guint i = 0; i < N; i++)
    {
      gint64 n = i % 100, stride = i % 3 == 0 ? -1 : 1;
      float *data = g_new (float, MAX (n, 1));

      for (gint64 e = 0; e < n; e++)
        data[stride > 0 ? e : n - 1 - e] = (float) (n_values + e);
      n_values += n;
      rows[i] = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, &stride, stride > 0 ? data : data + MAX (n, 1) - 1, 0, g_free, data);
    }
  write_or_fail (&scene, scene.query, scene.a, 1, ovs_payload_new_rows (rows, N, FALSE));
  for (guint i = 0; i < N; i++)
    ovs_tensor_unref (rows[i]);
  seal_or_fail (&scene, 1);
  group = only_group_or_fail (&scene, scene.query, scene.a, 1);
  {
    OvstageTensor *values, *offsets;

    g_assert_true (ovs_read_group_get_packed (group, &values, &offsets, NULL));
    g_assert_cmpint (values->shape[0], ==, n_values);
    for (gint64 i = 0; i < n_values; i++)
      g_assert_cmpfloat (((float *) values->data)[i], ==, (float) i);
  }
  ovs_read_group_unref (group);
  scene_clear (&scene);
}

static void
test_batch (void)
{
  Scene scene;
  OvsAttributeWrite entries[2];
  float data[4] __attribute__ ((aligned (16))) = { 1, 2, 3, 4 };
  gint n_deleted = 0;

  scene_init (&scene, 2);
  entries[0] = (OvsAttributeWrite){ scene.a, payload_arrays ("1,2 3") };
  entries[1] = (OvsAttributeWrite){ scene.b, payload_text ("4 5") };
  assert_ok (ovs_stage_write_batch (scene.stage, scene.query, entries, 2, 1, OVSTAGE_PRIM_MODE_UPSERT, NULL));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2 3");
  assert_values (&scene, scene.query, scene.b, 1, "4 5");
  ovs_payload_unref (entries[0].data);
  ovs_payload_unref (entries[1].data);

  /* One bad entry, and nothing of the others. */
  entries[0].data = counted_rows (data, 2, 2, &n_deleted, FALSE);
  entries[1].data = payload_text ("4 5 6");
  assert_refused (&scene, ovs_stage_write_batch (scene.stage, scene.query, entries, 2, 2, OVSTAGE_PRIM_MODE_UPSERT, NULL),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "3 rows");
  /* A tensor is handed over once. */
  ovs_payload_unref (entries[1].data);
  entries[1].data = ovs_payload_new_rows (entries[0].data->tensors, 2, TRUE);
  assert_refused (&scene, ovs_stage_write_batch (scene.stage, scene.query, entries, 2, 2, OVSTAGE_PRIM_MODE_UPSERT, NULL),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "entry 1", "handed over in entry 0 too");
  ovs_payload_unref (entries[0].data);
  ovs_payload_unref (entries[1].data);
  assert_deleted (&n_deleted, 2);
  scene_clear (&scene);
}

/* Each allocation fails once: the write or the seal says so, and nothing is lost. */
static void
test_no_memory (void)
{
  Scene scene;
  OvsOp *some;
  guint64 ordinal = 2;

  scene_init (&scene, 6);
  some = query_or_fail (&scene, "4 1");
  write_arrays (&scene, scene.query, 1, "1 2 3,3 . 5 6");
  seal_or_fail (&scene, 1);
  for (guint kind = 0; kind < 3; kind++)
    for (gint n = 0, failed = TRUE; failed; n++)
      {
        OvsOp *query = kind == 0 ? scene.query : some, *op;
        OvstageWriteData *payload = payload_arrays (kind == 0 ? "1 2 3,3 . 5 6" : "7,8 .");

        ovs_pool_fail_after (scene.stage->pool, n);
        op = write_payload (&scene, query, kind == 2 ? scene.b : scene.a, ordinal, payload);
        failed = ovs_op_get_error (op) != NULL;
        if (failed)
          g_assert_error (ovs_op_get_error (op), OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
        ovs_pool_fail_after (scene.stage->pool, -1);
        if (failed)
          ovs_op_unref (op);
        else
          assert_ok (op);
      }
  for (gint n = 0, failed = TRUE; failed; n++)
    {
      OvsOp *op;

      ovs_pool_fail_after (scene.stage->pool, n);
      op = advance (&scene, ordinal);
      g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      failed = ovs_op_get_error (op) != NULL;
      ovs_pool_fail_after (scene.stage->pool, -1);
      ovs_op_unref (op);
    }
  assert_values (&scene, scene.query, scene.a, ordinal, "1 . 3,3 . 7,8 6");
  assert_values (&scene, scene.query, scene.b, ordinal, "- . - - 7,8 -");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_budget (void)
{
  Scene scene;
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 16, .n_threads = 1, .staging_budget = 4096 };
  static float data[2048];
  gint64 shape = 2048;

  scene_init_full (&scene, 2, &config);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.a, 1, packed_new (tensor_full (float32, 1, &shape, NULL, data))),
                  OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget is 4096");
  scene_clear (&scene);
}

/* --- readers and a writer --- */

typedef struct
{
  Scene *scene;
  gint stop; /* (atomic) */
} Readers;

/* Row i of ordinal n is n % 50 + 1 times n, or as it was first: 7, 7. */
static gpointer
read_again_and_again (gpointer data)
{
  Readers *readers = data;
  Scene *scene = readers->scene;

  while (!g_atomic_int_get (&readers->stop))
    {
      OvsOp *read = read_or_fail (scene, scene->query, &scene->a, 1, OVSTAGE_ORDINAL_NEWEST);
      OvstageReadGroup *group = next_group_or_fail (read);
      OvstageTensor *values, *offsets;

      ovs_op_unref (read);
      for (guint i = 0; i < group->n_tensors; i += 7)
        {
          OvstageTensor *row = ovs_read_group_ref_tensor (group, i);
          const float *elements = (const float *) row->data;

          g_assert_true (row->shape[0] == 2 || row->shape[0] == (gint64) elements[0] % 50 + 1);
          for (gint64 e = 0; e < row->shape[0]; e++)
            g_assert_cmpfloat (elements[e], ==, elements[0]);
          ovs_tensor_unref (row);
        }
      g_assert_true (ovs_read_group_get_packed (group, &values, &offsets, NULL));
      g_assert_cmpuint (((const guint64 *) offsets->data)[group->n_tensors], ==, (guint64) values->shape[0]);
      ovs_read_group_unref (group);
    }
  return NULL;
}

static void
test_readers (void)
{
  Scene scene;
  Readers readers = { &scene, FALSE };
  GThread *threads[2];
  enum { N = 700 };
  static float first[2 * N];
  gint64 shape = 2 * N;
  guint n_rounds = is_slow () ? 60 : 300;

  for (guint i = 0; i < 2 * N; i++)
    first[i] = 7;
  scene_init (&scene, N);
  write_or_fail (&scene, scene.query, scene.a, 1, packed_new (tensor_full (float32, 1, &shape, NULL, first)));
  seal_or_fail (&scene, 1);
  for (guint t = 0; t < 2; t++)
    threads[t] = g_thread_new ("reader", read_again_and_again, &readers);
  for (guint round = 2; round < n_rounds; round++)
    {
      guint prims[] = { round % N, round * 13 % N, round * 101 % N };
      guint n = prims[1] == prims[0] || prims[2] == prims[0] || prims[2] == prims[1] ? 1 : 3;
      OvsOp *query = query_prims_or_fail (scene.stage, prims, n);
      g_autoptr (GString) text = g_string_new (NULL);
      OvstageWriteData *payload;

      for (guint i = 0; i < round % 50 + 1; i++)
        g_string_append_printf (text, "%s%u", i > 0 ? "," : "", round);
      payload = payload_arrays_full (text->str, round % 2 == 0);
      payload->count = n;
      ovs_payload_set_index_map (payload, (guint32[]){ 0, 0, 0 }, 3);
      write_or_fail (&scene, query, scene.a, round, payload);
      seal_or_fail (&scene, round);
      ovs_op_unref (query);
    }
  g_atomic_int_set (&readers.stop, TRUE);
  for (guint t = 0; t < 2; t++)
    g_thread_join (threads[t]);
  scene_clear (&scene);
}

/* --- anything after anything --- */

#define N_PRIMS 700

typedef struct
{
  char *rows[N_PRIMS]; /* (nullable) as text */
} Model;

static void
model_set (Model *model, guint prim, const char *text)
{
  g_free (model->rows[prim]);
  model->rows[prim] = g_strdup (text);
}

static Model *
model_copy (const Model *model)
{
  Model *copy = g_new0 (Model, 1);

  for (guint i = 0; i < N_PRIMS; i++)
    copy->rows[i] = g_strdup (model->rows[i]);
  return copy;
}

static void
model_clear (Model *model)
{
  for (guint i = 0; i < N_PRIMS; i++)
    g_clear_pointer (&model->rows[i], g_free);
}

static char *
model_to_text (const Model *model)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < N_PRIMS; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", model->rows[i] != NULL ? model->rows[i] : "-");
  return g_string_free (text, FALSE);
}

static char *
random_row (void)
{
  GString *text = g_string_new (NULL);
  guint n = (guint) g_test_rand_int_range (0, 8) * (guint) g_test_rand_int_range (0, 2);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%d", i > 0 ? "," : "", g_test_rand_int_range (0, 1000));
  if (n == 0)
    g_string_append_c (text, '.');
  return g_string_free (text, FALSE);
}

static OvsOp *
random_query (Scene *scene, GArray *prims)
{
  guint first = (guint) g_test_rand_int_range (0, N_PRIMS), n = (guint) g_test_rand_int_range (1, N_PRIMS + 1), step = 1;

  switch (g_test_rand_int_range (0, 4))
    {
    case 0:
      first = 0;
      n = N_PRIMS;
      break;
    case 1:
      n = 1;
      break;
    case 2:
      n = MIN (n, 20);
      step = 37;
      break;
    default:
      n = MIN (n, N_PRIMS - first);
      break;
    }
  g_array_set_size (prims, 0);
  for (guint i = 0; i < n; i++)
    {
      guint prim = (first + i * step) % N_PRIMS;

      g_array_append_val (prims, prim);
    }
  return query_prims_or_fail (scene->stage, (const guint *) prims->data, prims->len);
}

static void
random_write (Scene *scene, Model *model, GArray *prims, guint64 ordinal)
{
  OvsOp *query = random_query (scene, prims);
  gboolean take = g_test_rand_bit (), map = g_test_rand_bit () && g_test_rand_bit (), mask = !map && g_test_rand_bit ();
  guint n = prims->len, n_rows = map ? MIN (n, 9) : n;
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree guint32 *entries = g_new (guint32, n);
  g_autofree guint64 *words = g_new0 (guint64, n / 64 + 1);
  OvstageWriteData *payload;

  for (guint i = 0; i < n_rows; i++)
    {
      g_ptr_array_add (rows, random_row ());
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", (char *) rows->pdata[i]);
    }
  payload = payload_arrays_full (text->str, take);
  for (guint i = 0; i < n; i++)
    {
      entries[i] = map ? (guint32) g_test_rand_int_range (0, (gint) n_rows) : i;
      if (mask && g_test_rand_bit ())
        continue;
      words[i / 64] |= G_GUINT64_CONSTANT (1) << (i % 64);
      model_set (model, g_array_index (prims, guint, i), rows->pdata[entries[i]]);
    }
  if (map || mask)
    payload->count = n;
  if (map)
    ovs_payload_set_index_map (payload, entries, n);
  if (mask)
    ovs_payload_set_mask (payload, words, n / 64 + 1);
  write_or_fail (scene, query, scene->a, ordinal, payload);
  ovs_op_unref (query);
}

static void
random_delete (Scene *scene, Model *model, GArray *prims, guint64 ordinal)
{
  OvsOp *query = random_query (scene, prims);

  assert_ok (ovs_stage_delete (scene->stage, query, TOKENS (scene->a), ordinal));
  for (guint i = 0; i < prims->len; i++)
    model_set (model, g_array_index (prims, guint, i), NULL);
  ovs_op_unref (query);
}

static void
assert_group (OvstageReadGroup *group, const Model *model)
{
  guint n = 0;
  OvstageTensor *values, *offsets;

  for (guint i = 0; i < N_PRIMS; i++)
    n += model->rows[i] != NULL;
  g_assert_cmpuint (group->prim_count, ==, n);
  g_assert_true (ovs_read_group_get_packed (group, &values, &offsets, NULL));
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      OvstageTensor *row = ovs_read_group_ref_tensor (group, i);
      const guint64 *offset = (const guint64 *) offsets->data;

      append_array (text, group, i);
      g_assert_cmpstr (text->str, ==, model->rows[ovs_read_group_prim_index (group, i)]);
      g_assert_cmpmem (values->data + offset[i] * 4, (offset[i + 1] - offset[i]) * 4, row->data, (gsize) row->shape[0] * 4);
      ovs_tensor_unref (row);
    }
}

static void
run_random (guint depth, OvsDebugFlags flags)
{
  Scene scene;
  Model model = { { NULL } }, *held_model = NULL;
  OvstageReadGroup *held = NULL;
  g_autoptr (GArray) prims = g_array_new (FALSE, FALSE, sizeof (guint));
  guint64 ordinal = 1;
  guint n_steps = is_slow () ? 100 : 400;

  scene_init_depth (&scene, N_PRIMS, depth);
  ovs_debug_set_flags (flags);
  for (guint step = 0; step < n_steps; step++)
    {
      gint what = g_test_rand_int_range (0, 10);
      g_autofree char *text = NULL;

      if (what < 5)
        random_write (&scene, &model, prims, ordinal);
      else if (what < 6)
        random_delete (&scene, &model, prims, ordinal);
      else
        {
          seal_or_fail (&scene, ordinal);
          text = model_to_text (&model);
          assert_values (&scene, scene.query, scene.a, ordinal, text);
          if (held != NULL)
            {
              assert_group (held, held_model);
              if (g_test_rand_bit ())
                {
                  g_clear_pointer (&held, ovs_read_group_unref);
                  model_clear (held_model);
                  g_clear_pointer (&held_model, g_free);
                }
            }
          if (held == NULL && g_test_rand_bit ())
            {
              OvsOp *read = read_or_fail (&scene, scene.query, &scene.a, 1, ordinal);

              held = next_group_or_fail (read);
              if (held != NULL)
                held_model = model_copy (&model);
              ovs_op_unref (read);
            }
          ordinal++;
        }
    }
  if (held != NULL)
    {
      assert_group (held, held_model);
      ovs_read_group_unref (held);
      model_clear (held_model);
      g_free (held_model);
    }
  model_clear (&model);
  scene_clear (&scene);
}

static void
test_random (gconstpointer data)
{
  run_random (1, GPOINTER_TO_INT (data));
  run_random (3, GPOINTER_TO_INT (data));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine-array/rows", test_rows);
  g_test_add_func ("/engine-array/rows-of-views", test_rows_of_views);
  g_test_add_func ("/engine-array/many-rows-let-go", test_many_rows_let_go);
  g_test_add_func ("/engine-array/one-tensor-is-one-row", test_one_tensor_is_one_row);
  g_test_add_func ("/engine-array/packed", test_packed);
  g_test_add_func ("/engine-array/packed-mask", test_packed_mask);
  g_test_add_func ("/engine-array/ragged", test_ragged);
  g_test_add_func ("/engine-array/index-map", test_index_map);
  g_test_add_func ("/engine-array/far-index", test_far_index);
  g_test_add_func ("/engine-array/mask", test_mask);
  g_test_add_func ("/engine-array/row-counts", test_row_counts);
  g_test_add_func ("/engine-array/strides", test_strides);
  g_test_add_func ("/engine-array/axes-are-elements", test_axes_are_elements);
  g_test_add_func ("/engine-array/form", test_form);
  g_test_add_func ("/engine-array/bits", test_bits);
  g_test_add_func ("/engine-array/schemas", test_schemas);
  g_test_add_func ("/engine-array/built-in-names", test_built_in_names);
  g_test_add_func ("/engine-array/moves", test_moves);
  g_test_add_func ("/engine-array/replace", test_replace);
  g_test_add_func ("/engine-array/history", test_history);
  g_test_add_func ("/engine-array/held-groups", test_held_groups);
  g_test_add_func ("/engine-array/tensor-outlives", test_tensor_outlives);
  g_test_add_func ("/engine-array/deletes", test_deletes);
  g_test_add_func ("/engine-array/adopted", test_adopted);
  g_test_add_func ("/engine-array/adopted-outcomes", test_adopted_outcomes);
  g_test_add_func ("/engine-array/adopted-ragged", test_adopted_ragged);
  g_test_add_func ("/engine-array/misaligned", test_misaligned);
  g_test_add_func ("/engine-array/values-and-offsets", test_values_and_offsets);
  g_test_add_func ("/engine-array/tombstones", test_tombstones);
  g_test_add_func ("/engine-array/not-arrays", test_not_arrays);
  g_test_add_func ("/engine-array/values-without-memory", test_values_without_memory);
  g_test_add_func ("/engine-array/strings", test_strings);
  g_test_add_func ("/engine-array/update-moves-one-row", test_update_moves_one_row);
  g_test_add_func ("/engine-array/cover-moves-nothing", test_cover_moves_nothing);
  g_test_add_func ("/engine-array/repack", test_repack);
  g_test_add_func ("/engine-array/rows-go", test_rows_go);
  g_test_add_func ("/engine-array/large", test_large);
  g_test_add_func ("/engine-array/batch", test_batch);
  g_test_add_func ("/engine-array/no-memory", test_no_memory);
  g_test_add_func ("/engine-array/budget", test_budget);
  g_test_add_func ("/engine-array/readers", test_readers);
  g_test_add_data_func ("/engine-array/random", GINT_TO_POINTER (0), test_random);
  g_test_add_data_func ("/engine-array/random/async", GINT_TO_POINTER (OVS_DEBUG_ASYNC | OVS_DEBUG_SHUFFLE), test_random);
  g_test_add_data_func ("/engine-array/random/copy", GINT_TO_POINTER (OVS_DEBUG_COPY | OVS_DEBUG_POISON), test_random);
  g_test_add_data_func ("/engine-array/random/ways", GINT_TO_POINTER (OVS_DEBUG_RANDOM | OVS_DEBUG_COMPACT | OVS_DEBUG_POISON), test_random);
  return g_test_run ();
}
