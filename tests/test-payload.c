/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-payload.h"

#include <string.h>

static const OvstageDataType float32 = { OVS_CODE_FLOAT, 32, 1 };
static const OvstageDataType float32x3 = { OVS_CODE_FLOAT, 32, 3 };
static const OvstageDataType int16 = { OVS_CODE_INT, 16, 1 };
static const OvstageDataType fp4 = { OVS_CODE_FLOAT4_E2M1FN, 4, 1 };

static guint8 memory[1 << 16]; /* something for tensors whose values are not looked at */

static OvstageWriteData *
make (OvstageDataType dtype, gpointer data, gint ndim, const gint64 *shape, const gint64 *strides)
{
  g_autoptr (OvstageTensor) tensor
    = ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, ndim, shape, strides, data, 0, NULL, NULL);

  return ovs_payload_new (tensor);
}

#define SHAPE(...) G_N_ELEMENTS (((gint64[]) { __VA_ARGS__ })), (gint64[]) { __VA_ARGS__ }

static void
resolve_or_fail (OvstageWriteData *payload, gsize n_prims, OvsRows *rows)
{
  g_autoptr (GError) error = NULL;

  ovs_payload_check_form (payload, &error);
  g_assert_no_error (error);
  g_assert_true (ovs_payload_resolve (payload, n_prims, rows, &error));
  g_assert_no_error (error);
}

static void
assert_form_refused (OvstageWriteData *payload, gint code, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (ovs_payload_check_form (payload, &error));
  g_assert_error (error, OVSTAGE_ERROR, code);
  if (strstr (error->message, text) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, text);
}

static void
assert_rows_refused (OvstageWriteData *payload, gsize n_prims, const char *text)
{
  g_autoptr (GError) error = NULL;
  OvsRows rows;

  ovs_payload_check_form (payload, &error);
  g_assert_no_error (error);
  g_assert_false (ovs_payload_resolve (payload, n_prims, &rows, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  if (strstr (error->message, text) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->message, text);
}

/* W2 */
static void
test_no_tensor (void)
{
  g_autoptr (OvstageWriteData) payload = ovs_payload_new (NULL);

  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: none given");
}

/* W3 */
static void
test_canonical (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32x3, memory, SHAPE (5), NULL);
  OvsRows rows;

  resolve_or_fail (payload, 5, &rows);
  g_assert_cmpint (rows.n_rows, ==, 5);
  g_assert_cmpuint (rows.count, ==, 5);
  g_assert_cmpuint (rows.n_selected, ==, 5);
  g_assert_cmpuint (rows.row_size, ==, 12);
  g_assert_true (ovs_dtype_equal (rows.dtype, float32x3));
  g_assert_true (rows.compact);
  g_assert_true (rows.base == memory);
}

/* W4 */
static void
test_folding (void)
{
  static const struct
  {
    guint16 lanes;
    gint ndim;
    gint64 shape[4];
    guint16 folded;
  } cases[] = {
    { 1, 2, { 6, 3 }, 3 },
    { 1, 3, { 6, 4, 4 }, 16 },
    { 4, 2, { 6, 4 }, 16 },
    { 3, 1, { 6 }, 3 },
    { 1, 4, { 6, 1, 2, 1 }, 2 },
    { 1, 2, { 6, 1 }, 1 },
    { 5, 3, { 6, 1, 1 }, 5 },
    { 1, 2, { 6, 65535 }, 65535 },
    { 3, 2, { 6, 21845 }, 65535 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OvstageDataType dtype = { OVS_CODE_FLOAT, 64, cases[i].lanes };
      g_autoptr (OvstageWriteData) payload = make (dtype, memory, cases[i].ndim, cases[i].shape, NULL);
      OvsRows rows;

      resolve_or_fail (payload, 6, &rows);
      g_assert_cmpuint (rows.dtype.lanes, ==, cases[i].folded);
      g_assert_cmpuint (rows.dtype.bits, ==, 64);
      g_assert_cmpuint (rows.dtype.code, ==, OVS_CODE_FLOAT);
      g_assert_cmpuint (rows.row_size, ==, cases[i].folded * 8);
      g_assert_true (rows.compact);
    }
}

/* W31: lanes end at 65535, and there is at least one. */
static void
test_folding_refused (void)
{
  g_autoptr (OvstageWriteData) above = make (float32, memory, SHAPE (1, 65536), NULL);
  g_autoptr (OvstageWriteData) far_above = make (float32x3, memory, SHAPE (1, 256, 256), NULL);
  g_autoptr (OvstageWriteData) zero = make (float32, NULL, SHAPE (4, 0), NULL);
  g_autoptr (OvstageWriteData) zero_rows = make (float32, NULL, SHAPE (0, 1 << 20), NULL);

  assert_rows_refused (above, 1, "1 lanes and trailing axes of 65536 elements make 65536 lanes, expected 1 to 65535");
  assert_rows_refused (far_above, 1, "make 196608 lanes");
  assert_rows_refused (zero, 4, "make 0 lanes");
  assert_rows_refused (zero_rows, 0, "make 1048576 lanes");
}

/* Fine print: a 0-d tensor is one row. */
static void
test_scalar (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32x3, memory, 0, NULL, NULL);
  OvsRows rows;

  resolve_or_fail (payload, 1, &rows);
  g_assert_cmpint (rows.n_rows, ==, 1);
  g_assert_cmpuint (rows.dtype.lanes, ==, 3);
  assert_rows_refused (payload, 2, "1 rows for 2 elements");
}

/* W5 */
static void
test_flat_is_not_folded (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (9), NULL);

  assert_rows_refused (payload, 3, "tensor: 9 rows for 3 elements");
}

/* W6 */
static void
test_rows_must_agree (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (4), NULL);

  assert_rows_refused (payload, 3, "tensor: 4 rows for 3 elements (prims of the query): without an index map both must agree");
  assert_rows_refused (payload, 5, "tensor: 4 rows for 5 elements");
  payload->count = 3;
  assert_rows_refused (payload, 9, "tensor: 4 rows for 3 elements (count)");
}

/* W8, W9 */
static void
test_count (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (4), NULL);
  OvsRows rows;

  resolve_or_fail (payload, 4, &rows);
  g_assert_cmpuint (rows.count, ==, 4);
  payload->count = 4;
  resolve_or_fail (payload, 100, &rows);
  g_assert_cmpuint (rows.count, ==, 4);
}

/* W10 */
static void
test_count_above_prims (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (4), NULL);

  payload->count = 4;
  assert_rows_refused (payload, 3, "count is 4, expected at most 3 (prims of the query)");
}

/* W11 */
static void
test_map_and_mask (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (4), NULL);

  ovs_payload_set_index_map (payload, (guint32[]) { 0, 1, 2, 3 }, 4);
  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 0, expected the number of elements that the index_map");
  ovs_payload_set_mask (payload, (guint64[]) { 1 }, 1);
  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map and mask: both given");
  payload->count = 4;
  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map and mask: both given");
  ovs_payload_set_index_map (payload, NULL, 0);
  g_assert_true (ovs_payload_check_form (payload, NULL));
  payload->count = 0;
  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 0, expected the number of elements that the mask");
  ovs_payload_set_mask (payload, NULL, 0);
  g_assert_true (ovs_payload_check_form (payload, NULL));
}

/* W11, W14: as many entries and words as the count needs; more are fine. */
static void
test_map_and_mask_length (void)
{
  g_autoptr (OvstageWriteData) mapped = make (float32, memory, SHAPE (4), NULL);
  g_autoptr (OvstageWriteData) masked = make (float32, memory, SHAPE (65), NULL);

  mapped->count = 3;
  ovs_payload_set_index_map (mapped, (guint32[]) { 0, 1 }, 2);
  assert_form_refused (mapped, OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map has 2 entries, expected at least 3 (count)");
  ovs_payload_set_index_map (mapped, (guint32[]) { 0 }, 0);
  assert_form_refused (mapped, OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map has 0 entries");
  ovs_payload_set_index_map (mapped, (guint32[]) { 0, 1, 2, 99 }, 4);
  g_assert_true (ovs_payload_check_form (mapped, NULL));

  masked->count = 65;
  ovs_payload_set_mask (masked, (guint64[]) { 1 }, 1);
  assert_form_refused (masked, OVSTAGE_ERROR_INVALID_ARGUMENT, "mask has 1 words, expected at least 2 for count 65");
  ovs_payload_set_mask (masked, (guint64[]) { 1, 2, 3 }, 3);
  g_assert_true (ovs_payload_check_form (masked, NULL));
}

/* W12 */
static void
test_map_entry_refused (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (5), NULL);
  g_autofree guint32 *map = g_new0 (guint32, 10000);

  payload->count = 4;
  ovs_payload_set_index_map (payload, (guint32[]) { 4, 0, 9, 5 }, 4);
  assert_rows_refused (payload, 4, "index_map[2] is 9, expected below 5 (rows)");
  ovs_payload_set_index_map (payload, (guint32[]) { 4, 0, 4, G_MAXUINT32 }, 4);
  assert_rows_refused (payload, 4, "index_map[3] is 4294967295, expected below 5");

  payload->count = 10000;
  map[9999] = 5;
  ovs_payload_set_index_map (payload, map, 10000);
  assert_rows_refused (payload, 10000, "index_map[9999] is 5");
  map[4096] = 6;
  ovs_payload_set_index_map (payload, map, 10000);
  assert_rows_refused (payload, 10000, "index_map[4096] is 6");
}

/* W12: entries past the count are not looked at. */
static void
test_map_tail_ignored (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (2), NULL);
  OvsRows rows;

  payload->count = 1;
  ovs_payload_set_index_map (payload, (guint32[]) { 1, 99 }, 2);
  resolve_or_fail (payload, 3, &rows);
}

/* W12, W26: no rows at all. */
static void
test_map_of_no_rows (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, NULL, SHAPE (0), NULL);

  payload->count = 1;
  ovs_payload_set_index_map (payload, (guint32[]) { 0 }, 1);
  assert_rows_refused (payload, 1, "index_map[0] is 0, expected below 0 (rows)");
}

/* W13 */
static void
test_map_gathers (void)
{
  float values[] = { 0, 10, 20, 30, 40 };
  float out[7];
  const float expected[] = { 40, 40, 0, 20, 40, 0, 0 };
  g_autoptr (OvstageWriteData) payload = make (float32, values, SHAPE (5), NULL);
  OvsRows rows;

  payload->count = 7;
  ovs_payload_set_index_map (payload, (guint32[]) { 4, 4, 0, 2, 4, 0, 0 }, 7);
  resolve_or_fail (payload, 7, &rows);
  ovs_rows_copy (&rows, 0, 7, (guint8 *) out);
  g_assert_cmpmem (out, sizeof out, expected, sizeof expected);
  ovs_rows_copy (&rows, 3, 2, (guint8 *) out);
  g_assert_cmpmem (out, 8, expected + 3, 8);
}

/* W14 */
static void
test_mask (void)
{
  gint16 values[130];
  gint16 out[130];
  guint32 elements[130];
  const gint16 expected[] = { 0, 63, 64, 129 };
  g_autoptr (OvstageWriteData) payload = make (int16, values, SHAPE (130), NULL);
  OvsRows rows;

  for (gint16 i = 0; i < 130; i++)
    values[i] = i;
  payload->count = 130;
  /* Bits past the count are set and mean nothing. */
  ovs_payload_set_mask (payload, (guint64[]) { (G_GUINT64_CONSTANT (1) << 63) | 1, 1, G_MAXUINT64 << 1 }, 3);
  resolve_or_fail (payload, 200, &rows);
  g_assert_cmpuint (rows.n_selected, ==, 4);
  g_assert_cmpuint (ovs_rows_copy_masked (&rows, 0, 130, (guint8 *) out, elements), ==, 4);
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpint (out[i], ==, expected[i]);
      g_assert_cmpuint (elements[i], ==, (guint32) expected[i]);
    }
}

/* W14: all bits that count are set, which is as good as no mask. */
static void
test_mask_of_everything (void)
{
  g_autoptr (OvstageWriteData) payload = make (int16, memory, SHAPE (70), NULL);
  OvsRows rows;

  payload->count = 70;
  ovs_payload_set_mask (payload, (guint64[]) { G_MAXUINT64, 63 }, 2);
  resolve_or_fail (payload, 70, &rows);
  g_assert_null (rows.mask);
  g_assert_cmpuint (rows.n_selected, ==, 70);

  ovs_payload_set_mask (payload, (guint64[]) { G_MAXUINT64, 31 }, 2);
  resolve_or_fail (payload, 70, &rows);
  g_assert_nonnull (rows.mask);
  g_assert_cmpuint (rows.n_selected, ==, 69);
}

/* W14 */
static void
test_mask_of_nothing (void)
{
  g_autoptr (OvstageWriteData) payload = make (int16, memory, SHAPE (70), NULL);
  guint8 out[1] = { 7 };
  guint32 elements[1] = { 7 };
  OvsRows rows;

  payload->count = 70;
  ovs_payload_set_mask (payload, (guint64[]) { 0, ~G_GUINT64_CONSTANT (63) }, 2);
  resolve_or_fail (payload, 70, &rows);
  g_assert_nonnull (rows.mask);
  g_assert_cmpuint (rows.n_selected, ==, 0);
  g_assert_cmpuint (ovs_rows_copy_masked (&rows, 0, 70, out, elements), ==, 0);
  g_assert_cmpuint (out[0], ==, 7);
}

/* W14: a row for every element, also those that are not selected. */
static void
test_mask_needs_rows (void)
{
  g_autoptr (OvstageWriteData) payload = make (int16, memory, SHAPE (1), NULL);

  payload->count = 2;
  ovs_payload_set_mask (payload, (guint64[]) { 1 }, 1);
  assert_rows_refused (payload, 2, "1 rows for 2 elements");
}

/* W24, before the data is looked at. */
static void
test_malformed (void)
{
  gpointer nowhere = (gpointer) (gsize) 16;
  g_autoptr (OvstageWriteData) negative = make (float32, nowhere, SHAPE (2, -3), NULL);
  g_autoptr (OvstageWriteData) lanes = make ((OvstageDataType) { OVS_CODE_FLOAT, 32, 0 }, nowhere, SHAPE (2), NULL);
  g_autoptr (OvstageWriteData) bits = make ((OvstageDataType) { OVS_CODE_FLOAT, 0, 1 }, nowhere, SHAPE (2), NULL);
  g_autoptr (OvstageWriteData) dims = make (float32, nowhere, 33, (gint64[33]) { 0 }, NULL);
  g_autoptr (OvstageWriteData) size = make (float32, nowhere, SHAPE (G_MAXINT32, G_MAXINT32, G_MAXINT32), NULL);
  g_autoptr (OvstageWriteData) most = make (float32, nowhere, 32, (gint64[32]) { 0 }, NULL);

  assert_form_refused (negative, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: shape[1] is -3, expected >= 0");
  assert_form_refused (lanes, OVSTAGE_ERROR_INVALID_ARGUMENT, "lanes");
  assert_form_refused (bits, OVSTAGE_ERROR_INVALID_ARGUMENT, "bits");
  assert_form_refused (dims, OVSTAGE_ERROR_INVALID_ARGUMENT, "ndim is 33");
  assert_form_refused (size, OVSTAGE_ERROR_INVALID_ARGUMENT, "overflows");
  g_assert_true (ovs_payload_check_form (most, NULL));
}

/* W25 */
static void
test_sub_byte_rows (void)
{
  OvstageDataType bit = { OVS_CODE_UINT, 1, 1 };
  OvstageDataType fp4x2 = { OVS_CODE_FLOAT4_E2M1FN, 4, 2 };
  OvstageDataType fp6 = { OVS_CODE_FLOAT6_E2M3FN, 6, 1 };
  g_autoptr (OvstageWriteData) single = make (fp4, memory, SHAPE (4), NULL);
  g_autoptr (OvstageWriteData) odd = make (fp4, memory, SHAPE (4, 3), NULL);
  g_autoptr (OvstageWriteData) bits = make (bit, memory, SHAPE (64, 7), NULL);
  g_autoptr (OvstageWriteData) pairs = make (fp4, memory, SHAPE (4, 2), NULL);
  g_autoptr (OvstageWriteData) lanes = make (fp4x2, memory, SHAPE (4), NULL);
  g_autoptr (OvstageWriteData) fours = make (fp6, memory, SHAPE (4, 4), NULL);
  g_autoptr (OvstageWriteData) bytes = make (bit, memory, SHAPE (4, 8), NULL);
  OvsRows rows;

  assert_form_refused (single, OVSTAGE_ERROR_NOT_SUPPORTED, "a row of 1 x float4_e2m1fn is not a whole number of bytes");
  assert_form_refused (odd, OVSTAGE_ERROR_NOT_SUPPORTED, "a row of 3 x float4_e2m1fn");
  assert_form_refused (bits, OVSTAGE_ERROR_NOT_SUPPORTED, "a row of 7 x uint1");

  resolve_or_fail (pairs, 4, &rows);
  g_assert_cmpuint (rows.row_size, ==, 1);
  g_assert_cmpuint (rows.dtype.lanes, ==, 2);
  g_assert_true (rows.compact);
  resolve_or_fail (lanes, 4, &rows);
  g_assert_cmpuint (rows.row_size, ==, 1);
  resolve_or_fail (fours, 4, &rows);
  g_assert_cmpuint (rows.row_size, ==, 3);
  resolve_or_fail (bytes, 4, &rows);
  g_assert_cmpuint (rows.row_size, ==, 1);
}

/* W25: strides may lead from byte to byte, but not into one. */
static void
test_sub_byte_strides (void)
{
  guint8 values[] = { 0x10, 0x32, 0x54, 0x76 };
  guint8 out[4];
  const guint8 reversed[] = { 0x76, 0x54, 0x32, 0x10 };
  g_autoptr (OvstageWriteData) rows_step = make (fp4, values + 3, SHAPE (4, 2), (gint64[]) { -2, 1 });
  g_autoptr (OvstageWriteData) within = make (fp4, values, SHAPE (4, 2), (gint64[]) { 2, -1 });
  g_autoptr (OvstageWriteData) between = make (fp4, values, SHAPE (2, 2), (gint64[]) { 3, 1 });
  g_autoptr (OvstageWriteData) one_row = make (fp4, values, SHAPE (1, 2), (gint64[]) { 3, 1 });
  OvsRows rows;

  resolve_or_fail (rows_step, 4, &rows);
  ovs_rows_copy (&rows, 0, 4, out);
  g_assert_cmpmem (out, 4, reversed, 4);
  assert_form_refused (within, OVSTAGE_ERROR_NOT_SUPPORTED, "tensor: the strides of float4_e2m1fn lead to elements that do not begin at a byte");
  assert_form_refused (between, OVSTAGE_ERROR_NOT_SUPPORTED, "do not begin at a byte");
  resolve_or_fail (one_row, 1, &rows);
}

/* W25: elements that DLPack says are padded are not what the data type says. */
static void
test_sub_byte_padded (void)
{
  g_autoptr (OvstageTensor) tensor = ovs_tensor_new (fp4, OVS_DEVICE_CPU, 0, SHAPE (4, 2), NULL, memory,
                                                     OVS_TENSOR_SUBBYTE_PADDED, NULL, NULL);
  g_autoptr (OvstageWriteData) payload = ovs_payload_new (tensor);

  assert_form_refused (payload, OVSTAGE_ERROR_NOT_SUPPORTED, "tensor: elements of float4_e2m1fn are padded");
}

/* W26 */
static void
test_null_data (void)
{
  g_autoptr (OvstageWriteData) some = make (float32, NULL, SHAPE (2, 3), NULL);
  g_autoptr (OvstageWriteData) none = make (float32, NULL, SHAPE (0, 3), NULL);
  g_autoptr (OvstageWriteData) fewer = make (float32, NULL, SHAPE (0), NULL);
  OvsRows rows;

  assert_form_refused (some, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: data is NULL, expected 24 bytes");
  resolve_or_fail (none, 0, &rows);
  g_assert_cmpuint (rows.count, ==, 0);
  ovs_rows_copy (&rows, 0, 0, memory);
  assert_rows_refused (fewer, 2, "0 rows for 2 elements");
}

/* The order within the tier: maps before the form of the tensor, that before its data. */
static void
test_order_of_faults (void)
{
  g_autoptr (OvstageWriteData) payload = make (fp4, NULL, SHAPE (-1), NULL);
  g_autoptr (OvstageWriteData) odd = make (fp4, NULL, SHAPE (3), NULL);

  ovs_payload_set_index_map (payload, (guint32[]) { 0 }, 1);
  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 0");
  ovs_payload_set_index_map (payload, NULL, 0);
  assert_form_refused (payload, OVSTAGE_ERROR_INVALID_ARGUMENT, "shape[0] is -1");
  assert_form_refused (odd, OVSTAGE_ERROR_NOT_SUPPORTED, "whole number of bytes");
}

/* W7 against numpy: logical values of views of arange (64, dtype=int16), by as_strided (base[offset:], shape, strides). */
static void
test_strides_as_numpy (void)
{
  static const struct
  {
    const char *name;
    gint ndim;
    gint64 shape[4], strides[4];
    gint offset;
    gsize n;
    gint16 expected[24];
  } cases[] = {
    { "transposed", 2, { 3, 4 }, { 1, 3 }, 0, 12, { 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11 } },
    { "reversed rows", 2, { 4, 3 }, { -3, 1 }, 9, 12, { 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2 } },
    { "reversed lanes", 2, { 3, 4 }, { 4, -1 }, 3, 12, { 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8 } },
    { "broadcast row", 2, { 3, 4 }, { 0, 1 }, 5, 12, { 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8 } },
    { "broadcast lane", 2, { 3, 4 }, { 1, 0 }, 2, 12, { 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4 } },
    { "gaps", 2, { 3, 3 }, { 10, 1 }, 0, 9, { 0, 1, 2, 10, 11, 12, 20, 21, 22 } },
    { "gaps within rows", 2, { 3, 3 }, { 12, 4 }, 1, 9, { 1, 5, 9, 13, 17, 21, 25, 29, 33 } },
    { "three axes permuted", 3, { 2, 3, 4 }, { 1, 8, 2 }, 0, 24,
      { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 } },
    { "merges", 3, { 2, 3, 4 }, { 20, 4, 1 }, 3, 24,
      { 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34 } },
    { "merges in part", 3, { 2, 2, 3 }, { 7, 14, 2 }, 0, 12, { 0, 2, 4, 14, 16, 18, 7, 9, 11, 21, 23, 25 } },
    { "four axes", 4, { 2, 2, 2, 2 }, { 16, -2, 4, 1 }, 2, 16,
      { 2, 3, 6, 7, 0, 1, 4, 5, 18, 19, 22, 23, 16, 17, 20, 21 } },
    { "extent of one", 3, { 3, 1, 2 }, { 2, -99, 1 }, 0, 6, { 0, 1, 2, 3, 4, 5 } },
    { "overlapping", 2, { 5, 3 }, { 1, 1 }, 7, 15, { 7, 8, 9, 8, 9, 10, 9, 10, 11, 10, 11, 12, 11, 12, 13 } },
  };
  gint16 base[64];

  for (gint16 i = 0; i < 64; i++)
    base[i] = i;

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OvstageWriteData) payload
        = make (int16, base + cases[i].offset, cases[i].ndim, cases[i].shape, cases[i].strides);
      gsize n_rows = (gsize) cases[i].shape[0];
      gint16 out[24];
      OvsRows rows;

      resolve_or_fail (payload, n_rows, &rows);
      ovs_rows_copy (&rows, 0, (guint32) n_rows, (guint8 *) out);
      if (memcmp (out, cases[i].expected, cases[i].n * sizeof *out) != 0)
        g_error ("%s differs", cases[i].name);
    }
}

/* W7: how the axes of a source are summed up. */
static void
test_plan (void)
{
  g_autoptr (OvstageWriteData) gaps = make (float32, memory, SHAPE (4, 3), (gint64[]) { 8, 1 });
  g_autoptr (OvstageWriteData) ones = make (float32, memory, SHAPE (4, 1, 3, 1), (gint64[]) { 3, -7, 1, 99 });
  g_autoptr (OvstageWriteData) single = make (float32, memory, SHAPE (1, 3), (gint64[]) { -7, 1 });
  g_autoptr (OvstageWriteData) merged = make (float32, memory, SHAPE (4, 2, 3, 2), (gint64[]) { 100, 30, 10, 1 });
  OvsRows rows;

  resolve_or_fail (gaps, 4, &rows);
  g_assert_true (rows.row_compact);
  g_assert_false (rows.compact);
  g_assert_cmpint (rows.row_stride, ==, 32);
  resolve_or_fail (ones, 4, &rows);
  g_assert_true (rows.compact);
  resolve_or_fail (single, 1, &rows);
  g_assert_true (rows.compact);
  resolve_or_fail (merged, 4, &rows);
  g_assert_false (rows.row_compact);
  g_assert_cmpint (rows.n_inner, ==, 1);
  g_assert_cmpint (rows.inner_extent[0], ==, 6);
  g_assert_cmpint (rows.inner_stride[0], ==, 40);
  g_assert_cmpuint (rows.item_size, ==, 8);
}

/* The slow and obvious way to one element of a row. */
static const guint8 *
address_of (const OvstageTensor *tensor, gint64 row, gint64 item)
{
  gsize size = tensor->dtype.bits / 8 * tensor->dtype.lanes;
  gint64 offset = row * (tensor->ndim > 0 ? tensor->strides[0] : 0);

  for (gint axis = tensor->ndim - 1; axis > 0; axis--)
    {
      offset += item % tensor->shape[axis] * tensor->strides[axis];
      item /= tensor->shape[axis];
    }
  return tensor->data + offset * (gint64) size;
}

/* W4, W7, W13, W14: random sources against the obvious way. Memory is exact, so that
 * a sanitizer sees any byte read or written beside it. */
static void
test_random (void)
{
  static const guint8 bit_sizes[] = { 8, 16, 32, 64 };

  for (guint round = 0; round < 3000; round++)
    {
      OvstageDataType dtype = { OVS_CODE_INT, bit_sizes[g_test_rand_int_range (0, 4)], 1 };
      gint ndim = g_test_rand_int_range (1, 5);
      gint64 shape[4], strides[4];
      gint64 lowest = 0, highest = 0;
      gint64 row_items = 1;
      gboolean gaps = g_test_rand_int_range (0, 2) != 0;
      gint64 step = 1;
      gint order[4] = { 0, 1, 2, 3 };
      gsize item_size, row_size;
      g_autofree guint8 *block = NULL;
      g_autofree guint8 *out = NULL;
      g_autofree guint32 *elements = NULL;
      g_autoptr (OvstageTensor) tensor = NULL;
      g_autoptr (OvstageWriteData) payload = NULL;
      OvsRows rows;
      guint32 count, first, n;
      guint mode = (guint) g_test_rand_int_range (0, 3);
      gboolean sparse = g_test_rand_int_range (0, 2) != 0;

      if (g_test_rand_int_range (0, 3) == 0)
        dtype.lanes = (guint16) g_test_rand_int_range (1, 5);
      item_size = dtype.bits / 8 * dtype.lanes;

      for (gint i = 0; i < ndim; i++)
        shape[i] = i == 0 ? g_test_rand_int_range (1, 600) : g_test_rand_int_range (1, 5);
      for (gint i = ndim - 1; i > 0 && g_test_rand_int_range (0, 2) == 0; i--)
        {
          gint j = g_test_rand_int_range (0, i + 1);
          gint swap = order[i];

          order[i] = order[j];
          order[j] = swap;
        }
      for (gint i = ndim - 1; i >= 0; i--)
        {
          gint axis = order[i];

          strides[axis] = step * (g_test_rand_int_range (0, 6) == 0 ? -1 : 1);
          if (g_test_rand_int_range (0, 12) == 0)
            strides[axis] = 0;
          if (shape[axis] == 1)
            strides[axis] = g_test_rand_int_range (-1000000, 1000000);
          step *= shape[axis];
          if (gaps)
            step += g_test_rand_int_range (0, 4);
          if (shape[axis] > 1)
            {
              lowest += MIN (strides[axis], 0) * (shape[axis] - 1);
              highest += MAX (strides[axis], 0) * (shape[axis] - 1);
            }
          if (axis > 0)
            row_items *= shape[axis];
        }
      row_size = item_size * (gsize) row_items;

      block = g_malloc ((gsize) (highest - lowest + 1) * item_size + 1);
      for (gsize i = 0; i < (gsize) (highest - lowest + 1) * item_size + 1; i++)
        block[i] = (guint8) g_test_rand_int ();
      /* From an odd address as well: no element needs its alignment. */
      tensor = ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, ndim, shape, strides,
                               block - lowest * (gint64) item_size + (round & 1), 0, NULL, NULL);
      payload = ovs_payload_new (tensor);
      count = (guint32) shape[0];

      if (mode == 1)
        {
          g_autofree guint32 *map = NULL;

          count = (guint32) g_test_rand_int_range (1, 200);
          map = g_new (guint32, count);
          for (guint32 i = 0; i < count; i++)
            map[i] = (guint32) g_test_rand_int_range (0, (gint) shape[0]);
          ovs_payload_set_index_map (payload, map, count);
        }
      else if (mode == 2)
        {
          guint64 words[10];

          for (guint i = 0; i < G_N_ELEMENTS (words); i++)
            {
              words[i] = ((guint64) g_test_rand_int () << 32) | g_test_rand_int ();
              if (sparse)
                words[i] &= words[i] >> 7 & words[i] << 13 & words[i] << 29;
              if (g_test_rand_int_range (0, 3) == 0)
                words[i] = g_test_rand_int_range (0, 2) ? G_MAXUINT64 : 0;
            }
          ovs_payload_set_mask (payload, words, ((gsize) count + 63) / 64);
        }
      payload->count = count;
      resolve_or_fail (payload, count + 5, &rows);
      g_assert_cmpuint (rows.row_size, ==, row_size);

      if (mode == 2 && rows.mask == NULL)
        {
          g_assert_cmpuint (rows.n_selected, ==, count);
          mode = 0;
        }
      if (mode == 2)
        {
          first = (guint32) g_test_rand_int_range (0, (gint) (count + 63) / 64) * 64;
          n = count - first;
          if (n > 64 && g_test_rand_int_range (0, 2))
            n = 64;
        }
      else
        {
          first = (guint32) g_test_rand_int_range (0, (gint) count);
          n = (guint32) g_test_rand_int_range (0, (gint) (count - first) + 1);
        }

      if (mode == 2)
        {
          gsize n_selected = 0;
          gsize n_all = 0;

          for (guint32 i = 0; i < count; i++)
            {
              if ((payload->mask[i / 64] >> (i % 64) & 1) == 0)
                continue;
              n_all++;
              n_selected += i >= first && i < first + n;
            }
          g_assert_cmpuint (rows.n_selected, ==, n_all);

          out = g_malloc (n_selected * row_size);
          elements = g_new (guint32, n_selected);
          g_assert_cmpuint (ovs_rows_copy_masked (&rows, first, n, out, elements), ==, n_selected);
          for (gsize i = 0, element = first; i < n_selected; i++, element++)
            {
              while ((payload->mask[element / 64] >> (element % 64) & 1) == 0)
                element++;
              g_assert_cmpuint (elements[i], ==, element);
              for (gint64 item = 0; item < row_items; item++)
                g_assert_cmpmem (out + i * row_size + (gsize) item * item_size, item_size,
                                 address_of (tensor, (gint64) element, item), item_size);
            }
        }
      else
        {
          out = g_malloc (n * row_size);
          ovs_rows_copy (&rows, first, n, out);
          for (guint32 i = 0; i < n; i++)
            {
              gint64 row = mode == 1 ? payload->index_map[first + i] : first + i;

              for (gint64 item = 0; item < row_items; item++)
                g_assert_cmpmem (out + i * row_size + (gsize) item * item_size, item_size, address_of (tensor, row, item),
                                 item_size);
            }
        }
    }
}

static void
count_cb (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* An operation keeps what it resolved, whatever is set on the payload or dropped meanwhile. */
static void
test_hold (void)
{
  float values[] = { 1, 2, 3 };
  float out[2];
  gint n_destroyed = 0;
  OvstageTensor *tensor
    = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, SHAPE (3), NULL, values, 0, count_cb, &n_destroyed);
  OvstageWriteData *payload = ovs_payload_new (tensor);
  OvsRows rows;

  ovs_tensor_unref (tensor);
  payload->count = 2;
  ovs_payload_set_index_map (payload, (guint32[]) { 2, 1 }, 2);
  resolve_or_fail (payload, 2, &rows);
  ovs_rows_hold (&rows);
  ovs_payload_set_index_map (payload, (guint32[]) { 0, 0 }, 2);
  ovs_payload_unref (payload);
  g_assert_cmpint (n_destroyed, ==, 0);

  ovs_rows_copy (&rows, 0, 2, (guint8 *) out);
  g_assert_cmpfloat (out[0], ==, 3);
  g_assert_cmpfloat (out[1], ==, 2);
  ovs_rows_release (&rows);
  g_assert_cmpint (n_destroyed, ==, 1);
}

static void
test_hold_mask (void)
{
  g_autoptr (OvstageWriteData) payload = make (float32, memory, SHAPE (3), NULL);
  float out[3];
  guint32 elements[3];
  OvsRows rows;

  payload->count = 3;
  ovs_payload_set_mask (payload, (guint64[]) { 4 }, 1);
  resolve_or_fail (payload, 3, &rows);
  ovs_rows_hold (&rows);
  ovs_payload_set_mask (payload, NULL, 0);
  g_assert_cmpuint (ovs_rows_copy_masked (&rows, 0, 3, (guint8 *) out, elements), ==, 1);
  g_assert_cmpuint (elements[0], ==, 2);
  ovs_rows_release (&rows);
}

static gpointer
copy_thread (gpointer data)
{
  OvsRows *rows = data;
  float out[64];

  ovs_rows_copy (rows, 0, 64, (guint8 *) out);
  g_assert_cmpfloat (out[63], ==, 0);
  ovs_rows_release (rows);
  return NULL;
}

/* The same, with operations in other threads. */
static void
test_hold_in_threads (void)
{
  g_autofree float *values = g_new0 (float, 64);
  guint32 map[64] = { 0 };

  for (guint round = 0; round < 50; round++)
    {
      OvstageWriteData *payload = make (float32, values, SHAPE (64), NULL);
      OvsRows rows[3];
      GThread *threads[3];

      payload->count = 64;
      ovs_payload_set_index_map (payload, map, 64);
      for (guint i = 0; i < 3; i++)
        {
          resolve_or_fail (payload, 64, &rows[i]);
          ovs_rows_hold (&rows[i]);
          threads[i] = g_thread_new ("copy", copy_thread, &rows[i]);
        }
      ovs_payload_set_index_map (payload, NULL, 0);
      ovs_payload_unref (payload);
      for (guint i = 0; i < 3; i++)
        g_thread_join (threads[i]);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/payload/no-tensor", test_no_tensor);
  g_test_add_func ("/payload/canonical", test_canonical);
  g_test_add_func ("/payload/folding", test_folding);
  g_test_add_func ("/payload/folding-refused", test_folding_refused);
  g_test_add_func ("/payload/scalar", test_scalar);
  g_test_add_func ("/payload/flat-is-not-folded", test_flat_is_not_folded);
  g_test_add_func ("/payload/rows-must-agree", test_rows_must_agree);
  g_test_add_func ("/payload/count", test_count);
  g_test_add_func ("/payload/count-above-prims", test_count_above_prims);
  g_test_add_func ("/payload/map-and-mask", test_map_and_mask);
  g_test_add_func ("/payload/map-and-mask-length", test_map_and_mask_length);
  g_test_add_func ("/payload/map-entry-refused", test_map_entry_refused);
  g_test_add_func ("/payload/map-tail-ignored", test_map_tail_ignored);
  g_test_add_func ("/payload/map-of-no-rows", test_map_of_no_rows);
  g_test_add_func ("/payload/map-gathers", test_map_gathers);
  g_test_add_func ("/payload/mask", test_mask);
  g_test_add_func ("/payload/mask-of-everything", test_mask_of_everything);
  g_test_add_func ("/payload/mask-of-nothing", test_mask_of_nothing);
  g_test_add_func ("/payload/mask-needs-rows", test_mask_needs_rows);
  g_test_add_func ("/payload/malformed", test_malformed);
  g_test_add_func ("/payload/sub-byte-rows", test_sub_byte_rows);
  g_test_add_func ("/payload/sub-byte-strides", test_sub_byte_strides);
  g_test_add_func ("/payload/sub-byte-padded", test_sub_byte_padded);
  g_test_add_func ("/payload/null-data", test_null_data);
  g_test_add_func ("/payload/order-of-faults", test_order_of_faults);
  g_test_add_func ("/payload/strides-as-numpy", test_strides_as_numpy);
  g_test_add_func ("/payload/plan", test_plan);
  g_test_add_func ("/payload/random", test_random);
  g_test_add_func ("/payload/hold", test_hold);
  g_test_add_func ("/payload/hold-mask", test_hold_mask);
  g_test_add_func ("/payload/hold-in-threads", test_hold_in_threads);

  return g_test_run ();
}
