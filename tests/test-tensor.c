/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-tensor.h"

#include <string.h>

static const OvstageDataType float32 = { OVS_CODE_FLOAT, 32, 1 };
static const OvstageDataType float4 = { OVS_CODE_FLOAT4_E2M1FN, 4, 1 };

static void
count_cb (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

static OvstageTensor *
view (OvstageDataType dtype, gint32 ndim, const gint64 *shape, const gint64 *strides)
{
  return ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, ndim, shape, strides, NULL, 0, NULL, NULL);
}

static void
test_fields (void)
{
  gint64 shape[] = { 2, 3 };
  gint64 strides[] = { -3, 5 };
  char memory[64];
  gint n_destroyed = 0;
  OvstageTensor *tensor = ovs_tensor_new (float32, OVS_DEVICE_CUDA, 7, 2, shape, strides, memory + 20, OVS_TENSOR_READ_ONLY,
                                          count_cb, &n_destroyed);

  shape[0] = strides[1] = 99; /* both were copied */
  g_assert_true (ovs_dtype_equal (tensor->dtype, float32));
  g_assert_cmpint (tensor->device_type, ==, OVS_DEVICE_CUDA);
  g_assert_cmpint (tensor->device_id, ==, 7);
  g_assert_cmpint (tensor->ndim, ==, 2);
  g_assert_cmpint (tensor->shape[0], ==, 2);
  g_assert_cmpint (tensor->shape[1], ==, 3);
  g_assert_cmpint (tensor->strides[0], ==, -3);
  g_assert_cmpint (tensor->strides[1], ==, 5);
  g_assert_true (tensor->data == (guint8 *) memory + 20);
  g_assert_cmpuint (tensor->flags, ==, OVS_TENSOR_READ_ONLY);

  g_assert_true (ovs_tensor_ref (tensor) == tensor);
  ovs_tensor_unref (tensor);
  g_assert_cmpint (n_destroyed, ==, 0);
  ovs_tensor_unref (tensor);
  g_assert_cmpint (n_destroyed, ==, 1);
}

static void
test_default_strides (void)
{
  g_autoptr (OvstageTensor) tensor = view (float32, 3, (gint64[]) { 2, 3, 4 }, NULL);
  g_autoptr (OvstageTensor) scalar = view (float32, 0, NULL, NULL);
  g_autoptr (OvstageTensor) empty = view (float32, 2, (gint64[]) { 5, 0 }, NULL);

  g_assert_cmpint (tensor->strides[0], ==, 12);
  g_assert_cmpint (tensor->strides[1], ==, 4);
  g_assert_cmpint (tensor->strides[2], ==, 1);
  g_assert_null (scalar->shape);
  g_assert_null (scalar->strides);
  g_assert_cmpint (empty->strides[1], ==, 1);
}

static void
test_compact (void)
{
  static const struct
  {
    gint ndim;
    gint64 shape[3], strides[3];
    gboolean compact;
  } cases[] = {
    { 0, { 0 }, { 0 }, TRUE },
    { 1, { 5 }, { 1 }, TRUE },
    { 1, { 5 }, { 2 }, FALSE },
    { 1, { 5 }, { -1 }, FALSE },
    { 1, { 5 }, { 0 }, FALSE },
    { 1, { 1 }, { -77 }, TRUE }, /* W7: an extent of 1 has no step */
    { 1, { 0 }, { 9 }, TRUE },
    { 2, { 3, 4 }, { 4, 1 }, TRUE },
    { 2, { 3, 4 }, { 5, 1 }, FALSE },
    { 2, { 3, 4 }, { 1, 3 }, FALSE },
    { 2, { 3, 0 }, { 1, 3 }, TRUE },
    { 3, { 3, 1, 4 }, { 4, 0, 1 }, TRUE },
    { 3, { 1, 3, 4 }, { -1, 4, 1 }, TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OvstageTensor) tensor = view (float32, cases[i].ndim, cases[i].shape, cases[i].strides);

      g_assert_cmpint (ovs_tensor_is_compact (tensor), ==, cases[i].compact);
    }
}

static void
test_sizes (void)
{
  static const struct
  {
    OvstageDataType dtype;
    gint ndim;
    gint64 shape[3];
    gint64 n_elements;
    gsize n_bytes;
  } cases[] = {
    { { OVS_CODE_FLOAT, 32, 1 }, 0, { 0 }, 1, 4 },
    { { OVS_CODE_FLOAT, 32, 3 }, 1, { 5 }, 5, 60 },
    { { OVS_CODE_FLOAT, 64, 1 }, 3, { 5, 4, 4 }, 80, 640 },
    { { OVS_CODE_FLOAT, 32, 1 }, 2, { 0, 3 }, 0, 0 },
    { { OVS_CODE_FLOAT, 32, 1 }, 2, { 3, 0 }, 0, 0 },
    { { OVS_CODE_FLOAT4_E2M1FN, 4, 1 }, 1, { 4 }, 4, 2 },
    { { OVS_CODE_FLOAT4_E2M1FN, 4, 1 }, 1, { 5 }, 5, 3 },
    { { OVS_CODE_UINT, 1, 1 }, 1, { 9 }, 9, 2 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OvstageTensor) tensor = view (cases[i].dtype, cases[i].ndim, cases[i].shape, NULL);
      g_autoptr (GError) error = NULL;
      gsize n_bytes = 99;

      g_assert_true (ovs_tensor_check (tensor, "tensor", &n_bytes, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (n_bytes, ==, cases[i].n_bytes);
      g_assert_cmpint (ovs_tensor_n_elements (tensor), ==, cases[i].n_elements);
    }
}

/* W24 */
static void
test_check_refuses (void)
{
  static const struct
  {
    OvstageDataType dtype;
    gint ndim;
    gint64 shape[3];
    const char *text;
  } cases[] = {
    { { OVS_CODE_FLOAT, 0, 1 }, 1, { 1 }, "t: bits of the data type are 0" },
    { { OVS_CODE_FLOAT, 32, 0 }, 1, { 1 }, "t: lanes of the data type are 0" },
    { { OVS_CODE_FLOAT, 32, 1 }, -1, { 1 }, "t: ndim is -1, expected 0 to 32" },
    { { OVS_CODE_FLOAT, 32, 1 }, 33, { 1 }, "t: ndim is 33, expected 0 to 32" },
    { { OVS_CODE_FLOAT, 32, 1 }, G_MAXINT32, { 1 }, "ndim is 2147483647" },
    { { OVS_CODE_FLOAT, 32, 1 }, G_MININT32, { 1 }, "ndim is -2147483648" },
    { { OVS_CODE_FLOAT, 32, 1 }, 2, { 4, -3 }, "t: shape[1] is -3, expected >= 0" },
    { { OVS_CODE_FLOAT, 32, 1 }, 2, { G_MININT64, 0 }, "t: shape[0] is -9223372036854775808" },
    { { OVS_CODE_FLOAT, 32, 1 }, 1, { G_MAXINT64 }, "overflows at shape[0]" },
    { { OVS_CODE_FLOAT, 32, 1 }, 2, { G_GINT64_CONSTANT (1) << 40, G_GINT64_CONSTANT (1) << 40 }, "overflows at shape[1]" },
    /* Also where an extent of 0 would hide it: folding multiplies the others. */
    { { OVS_CODE_FLOAT, 32, 1 }, 3, { 0, G_GINT64_CONSTANT (1) << 40, G_GINT64_CONSTANT (1) << 40 }, "overflows at shape[2]" },
    { { OVS_CODE_FLOAT, 32, 1 }, 3, { 1 << 30, 1 << 30, 0 }, "overflows at shape[1]" },
    { { OVS_CODE_INT, 1, 1 }, 1, { G_MAXINT64 }, "t: the size overflows, it is 9223372036854775807 bits" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OvstageTensor) tensor = view (cases[i].dtype, cases[i].ndim, cases[i].shape, NULL);
      g_autoptr (GError) error = NULL;

      g_assert_false (ovs_tensor_check (tensor, "t", NULL, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, cases[i].text));
    }
}

/* W24 */
static void
test_check_no_shape (void)
{
  g_autoptr (OvstageTensor) tensor = view (float32, 2, NULL, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (ovs_tensor_check (tensor, "t", NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_nonnull (strstr (error->message, "t: shape is NULL, expected 2 extents"));
}

/* W24, W7: strides can overflow too, but not where they mean nothing. */
static void
test_check_strides (void)
{
  static const struct
  {
    gint64 shape[2], strides[2];
    gboolean valid;
  } cases[] = {
    { { 2, 2 }, { G_MAXINT64, 1 }, FALSE },
    { { 2, 2 }, { G_MININT64, 1 }, FALSE },
    { { 2, 2 }, { -(G_GINT64_CONSTANT (1) << 59), 1 }, FALSE },
    { { 2, 2 }, { G_GINT64_CONSTANT (1) << 55, G_GINT64_CONSTANT (1) << 55 }, TRUE },
    { { 2, 2 }, { G_GINT64_CONSTANT (1) << 57, G_GINT64_CONSTANT (1) << 57 }, FALSE },
    { { 1, 2 }, { G_MININT64, 1 }, TRUE },
    { { 1, 0 }, { G_MININT64, G_MAXINT64 }, TRUE },
    { { 2, 0 }, { G_MININT64, G_MAXINT64 }, TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (OvstageTensor) tensor = view (float32, 2, cases[i].shape, cases[i].strides);
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (ovs_tensor_check (tensor, "t", NULL, &error), ==, cases[i].valid);
      if (!cases[i].valid)
        {
          g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
          g_assert_nonnull (strstr (error->message, "overflows at strides["));
        }
    }
}

static void
test_check_takes_sub_byte (void)
{
  g_autoptr (OvstageTensor) tensor = view (float4, 1, (gint64[]) { 3 }, NULL);

  g_assert_true (ovs_tensor_check (tensor, "t", NULL, NULL));
}

static gpointer
ref_unref_thread (gpointer data)
{
  for (guint i = 0; i < 20000; i++)
    ovs_tensor_unref (ovs_tensor_ref (data));
  ovs_tensor_unref (data);
  return NULL;
}

static void
test_threads (void)
{
  gint n_destroyed = 0;
  OvstageTensor *tensor = ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 0, NULL, NULL, NULL, 0, count_cb, &n_destroyed);
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("ref", ref_unref_thread, ovs_tensor_ref (tensor));
  ovs_tensor_unref (tensor);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (g_atomic_int_get (&n_destroyed), ==, 1);
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/tensor/fields", test_fields);
  g_test_add_func ("/tensor/default-strides", test_default_strides);
  g_test_add_func ("/tensor/compact", test_compact);
  g_test_add_func ("/tensor/sizes", test_sizes);
  g_test_add_func ("/tensor/check-refuses", test_check_refuses);
  g_test_add_func ("/tensor/check-no-shape", test_check_no_shape);
  g_test_add_func ("/tensor/check-strides", test_check_strides);
  g_test_add_func ("/tensor/check-takes-sub-byte", test_check_takes_sub_byte);
  g_test_add_func ("/tensor/threads", test_threads);

  return g_test_run ();
}
