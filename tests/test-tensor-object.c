/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Data types, tensors and write data as a program outside the library sees them. */

#include <ovstage/ovstage.h>
#include <ovstage/ovstage-dlpack.h>

#include <string.h>

static void
count_cb (gpointer data)
{
  (*(gint *) data)++;
}

static gint n_deleted;

static void
delete_cb (DLManagedTensorVersioned *managed)
{
  n_deleted++;
}

static void
delete_legacy_cb (DLManagedTensor *managed)
{
  n_deleted++;
}

static OvstageTensor *
new_for_bytes_or_fail (GBytes *bytes, const OvstageDataType *dtype, gint64 rows)
{
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor = ovstage_tensor_new_for_bytes (bytes, dtype, &rows, 1, &error);

  g_assert_no_error (error);
  g_assert_nonnull (tensor);
  return tensor;
}

static void
test_data_type (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) parse_error = NULL;
  g_autoptr (OvstageDataType) dtype = ovstage_data_type_parse ("float64x16", &error);
  g_autoptr (OvstageDataType) copy = NULL;
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  copy = ovstage_data_type_copy (dtype);
  text = ovstage_data_type_to_string (copy);
  g_assert_cmpstr (text, ==, "float64x16");
  g_assert_true (ovstage_data_type_equal (dtype, copy));
  g_assert_true (ovstage_data_type_equal (dtype, &OVSTAGE_DATA_TYPE_FLOAT64X16));
  g_assert_false (ovstage_data_type_equal (dtype, &OVSTAGE_DATA_TYPE_FLOAT64));
  g_assert_cmpuint (ovstage_data_type_get_row_size (dtype), ==, 128);
  g_assert_cmpuint (ovstage_data_type_get_row_size (&(OvstageDataType) { 17, 4, 3 }), ==, 2);

  g_assert_null (ovstage_data_type_parse ("double", &parse_error));
  g_assert_error (parse_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_data_type_constants (void)
{
  const struct
  {
    const OvstageDataType *dtype;
    const char *text;
  } cases[] = {
    { &OVSTAGE_DATA_TYPE_BOOL, "bool" },           { &OVSTAGE_DATA_TYPE_INT8, "int8" },
    { &OVSTAGE_DATA_TYPE_INT16, "int16" },         { &OVSTAGE_DATA_TYPE_INT32, "int32" },
    { &OVSTAGE_DATA_TYPE_INT64, "int64" },         { &OVSTAGE_DATA_TYPE_UINT8, "uint8" },
    { &OVSTAGE_DATA_TYPE_UINT16, "uint16" },       { &OVSTAGE_DATA_TYPE_UINT32, "uint32" },
    { &OVSTAGE_DATA_TYPE_UINT64, "uint64" },       { &OVSTAGE_DATA_TYPE_FLOAT16, "float16" },
    { &OVSTAGE_DATA_TYPE_FLOAT32, "float32" },     { &OVSTAGE_DATA_TYPE_FLOAT64, "float64" },
    { &OVSTAGE_DATA_TYPE_BFLOAT16, "bfloat16" },   { &OVSTAGE_DATA_TYPE_FLOAT32X2, "float32x2" },
    { &OVSTAGE_DATA_TYPE_FLOAT32X3, "float32x3" }, { &OVSTAGE_DATA_TYPE_FLOAT32X4, "float32x4" },
    { &OVSTAGE_DATA_TYPE_FLOAT32X9, "float32x9" }, { &OVSTAGE_DATA_TYPE_FLOAT32X16, "float32x16" },
    { &OVSTAGE_DATA_TYPE_FLOAT64X2, "float64x2" }, { &OVSTAGE_DATA_TYPE_FLOAT64X3, "float64x3" },
    { &OVSTAGE_DATA_TYPE_FLOAT64X4, "float64x4" }, { &OVSTAGE_DATA_TYPE_FLOAT64X9, "float64x9" },
    { &OVSTAGE_DATA_TYPE_FLOAT64X16, "float64x16" }, { &OVSTAGE_DATA_TYPE_UINT64X2, "uint64x2" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = ovstage_data_type_to_string (cases[i].dtype);

      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

static void
test_for_bytes (void)
{
  static const float values[] = { 1, 2, 3, 4, 5, 6 };
  gint64 shape[] = { 2, 3 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static (values, sizeof values);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 2, &error);
  g_autoptr (OvstageDataType) dtype = NULL;
  gsize n = 0;

  g_assert_no_error (error);
  g_assert_cmpuint (ovstage_tensor_get_n_dims (tensor), ==, 2);
  g_assert_cmpint (ovstage_tensor_get_shape (tensor, &n)[1], ==, 3);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpint (ovstage_tensor_get_strides (tensor, &n)[0], ==, 3);
  g_assert_cmpint (ovstage_tensor_get_strides (tensor, NULL)[1], ==, 1);
  g_assert_cmpint (ovstage_tensor_get_device_type (tensor), ==, kDLCPU);
  g_assert_cmpint (ovstage_tensor_get_device_id (tensor), ==, 0);
  g_assert_true (ovstage_tensor_is_read_only (tensor));
  g_assert_true (ovstage_tensor_get_data (tensor) == (gpointer) values);
  dtype = ovstage_tensor_dup_data_type (tensor);
  g_assert_true (ovstage_data_type_equal (dtype, &OVSTAGE_DATA_TYPE_FLOAT32));
  g_assert_true (ovstage_data_type_equal (ovstage_tensor_get_data_type (tensor), dtype));
}

static void
test_for_bytes_refused (void)
{
  static const struct
  {
    gsize n_bytes;
    gint64 extent;
    const char *text;
  } cases[] = {
    { 12, 4, "bytes: the size is 12, expected 16 for 4 elements of float32" },
    { 20, 4, "bytes: the size is 20, expected 16" },
    { 0, 1, "bytes: the size is 0, expected 4" },
    { 12, -3, "shape[0] is -3" },
    { 12, G_MAXINT64, "overflows" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gint n_destroyed = 0;
      guint8 memory[32] = { 0 };
      g_autoptr (GError) error = NULL;
      GBytes *bytes = g_bytes_new_with_free_func (memory, cases[i].n_bytes, count_cb, &n_destroyed);

      g_assert_null (ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, &cases[i].extent, 1, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, cases[i].text));
      g_assert_cmpint (n_destroyed, ==, 0);
      g_bytes_unref (bytes);
      g_assert_cmpint (n_destroyed, ==, 1);
    }
}

static void
test_too_many_dims (void)
{
  gint64 shape[40] = { 0 };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("", 0);

  for (gsize n_dims = 31; n_dims < G_N_ELEMENTS (shape); n_dims++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (OvstageTensor) tensor
        = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, shape, n_dims, &error);

      if (n_dims <= 32)
        g_assert_no_error (error);
      else
        g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
    }
}

static void
test_scalar (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static ("abcd", 4);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_INT32, NULL, 0, &error);
  g_autoptr (GBytes) back = NULL;
  gsize n = 9;

  g_assert_no_error (error);
  g_assert_cmpuint (ovstage_tensor_get_n_dims (tensor), ==, 0);
  g_assert_null (ovstage_tensor_get_shape (tensor, &n));
  g_assert_cmpuint (n, ==, 0);
  back = ovstage_tensor_ref_bytes (tensor, &error);
  g_assert_true (g_bytes_equal (back, bytes));
}

static void
test_take (void)
{
  gint64 shape[] = { 4 };
  gint64 strides[] = { -1 };
  float values[4] = { 0 };
  gint n_destroyed = 0;
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor = ovstage_tensor_new_take (values + 3, kDLCPU, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, strides,
                                                   count_cb, &n_destroyed, &error);

  g_assert_no_error (error);
  g_assert_false (ovstage_tensor_is_read_only (tensor));
  g_assert_cmpint (ovstage_tensor_get_strides (tensor, NULL)[0], ==, -1);
  ovstage_tensor_unref (ovstage_tensor_ref (tensor));
  g_assert_cmpint (n_destroyed, ==, 0);
  ovstage_tensor_unref (tensor);
  g_assert_cmpint (n_destroyed, ==, 1);
}

static void
test_take_refused (void)
{
  gint64 bad[] = { -1 };
  gint64 good[] = { 4 };
  gint n_destroyed = 0;
  float values[4];
  g_autoptr (GError) shape_error = NULL;
  g_autoptr (GError) data_error = NULL;

  g_assert_null (ovstage_tensor_new_take (values, kDLCPU, 0, &OVSTAGE_DATA_TYPE_FLOAT32, bad, 1, NULL, count_cb,
                                          &n_destroyed, &shape_error));
  g_assert_error (shape_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpint (n_destroyed, ==, 1);
  g_assert_null (ovstage_tensor_new_take (NULL, kDLCPU, 0, &OVSTAGE_DATA_TYPE_FLOAT32, good, 1, NULL, count_cb,
                                          &n_destroyed, &data_error));
  g_assert_error (data_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpint (n_destroyed, ==, 2);
}

/* W26 */
static void
test_take_nothing (void)
{
  gint64 shape[] = { 0, 3 };
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageTensor) tensor
    = ovstage_tensor_new_take (NULL, kDLCPU, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 2, NULL, NULL, NULL, &error);
  g_autoptr (GBytes) bytes = NULL;

  g_assert_no_error (error);
  bytes = ovstage_tensor_ref_bytes (tensor, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (bytes), ==, 0);
}

static void
test_take_dlpack (void)
{
  float values[4] = { 1, 2, 3, 4 };
  int64_t shape[] = { 2 };
  DLManagedTensorVersioned managed;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) version_error = NULL;
  g_autoptr (GError) shape_error = NULL;
  OvstageTensor *tensor;

  memset (&managed, 0, sizeof managed);
  managed.version.major = 1;
  managed.deleter = delete_cb;
  managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  managed.dl_tensor.data = values;
  managed.dl_tensor.device.device_type = kDLCPU;
  managed.dl_tensor.ndim = 1;
  managed.dl_tensor.dtype.code = kDLFloat;
  managed.dl_tensor.dtype.bits = 32;
  managed.dl_tensor.dtype.lanes = 1;
  managed.dl_tensor.shape = shape;
  managed.dl_tensor.byte_offset = 8;

  n_deleted = 0;
  tensor = ovstage_tensor_new_take_dlpack (&managed, &error);
  g_assert_no_error (error);
  g_assert_true (ovstage_tensor_is_read_only (tensor));
  g_assert_true (ovstage_tensor_get_data (tensor) == values + 2);
  ovstage_tensor_unref (tensor);
  g_assert_cmpint (n_deleted, ==, 1);

  managed.version.major = 2;
  g_assert_null (ovstage_tensor_new_take_dlpack (&managed, &version_error));
  g_assert_error (version_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpint (n_deleted, ==, 2);

  managed.version.major = 1;
  managed.dl_tensor.ndim = 40;
  g_assert_null (ovstage_tensor_new_take_dlpack (&managed, &shape_error));
  g_assert_error (shape_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpint (n_deleted, ==, 3);
}

static void
test_dup_dlpack (void)
{
  static const float values[] = { 1, 2, 3 };
  g_autoptr (GBytes) bytes = g_bytes_new_static (values, sizeof values);
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor = new_for_bytes_or_fail (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, 3);
  DLManagedTensorVersioned *managed = ovstage_tensor_dup_dlpack (tensor);
  DLManagedTensor *legacy = ovstage_tensor_dup_dlpack_legacy (tensor);
  g_autoptr (OvstageTensor) back = NULL;

  ovstage_tensor_unref (tensor);
  g_assert_true (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
  g_assert_true (legacy->dl_tensor.data == (void *) values);
  legacy->deleter (legacy);

  back = ovstage_tensor_new_take_dlpack (managed, &error);
  g_assert_no_error (error);
  g_assert_true (ovstage_tensor_get_data (back) == (gpointer) values);
}

static void
test_take_dlpack_legacy (void)
{
  DLManagedTensor managed;
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor;

  memset (&managed, 0, sizeof managed);
  managed.deleter = delete_legacy_cb;
  managed.dl_tensor.device.device_type = kDLCPU;
  managed.dl_tensor.dtype.bits = 8;
  managed.dl_tensor.dtype.lanes = 1;
  managed.dl_tensor.data = &managed;
  n_deleted = 0;
  tensor = ovstage_tensor_new_take_dlpack_legacy (&managed, &error);
  g_assert_no_error (error);
  g_assert_false (ovstage_tensor_is_read_only (tensor));
  ovstage_tensor_unref (tensor);
  g_assert_cmpint (n_deleted, ==, 1);
}

static void
test_for_dltensor (void)
{
  float values[6] = { 0 };
  int64_t shape[] = { 6 };
  DLTensor dl_tensor;
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;

  memset (&dl_tensor, 0, sizeof dl_tensor);
  dl_tensor.data = values;
  dl_tensor.device.device_type = kDLCPU;
  dl_tensor.ndim = 1;
  dl_tensor.dtype.code = kDLFloat;
  dl_tensor.dtype.bits = 32;
  dl_tensor.dtype.lanes = 1;
  dl_tensor.shape = shape;
  tensor = ovstage_tensor_new_for_dltensor (&dl_tensor);
  dl_tensor.shape = NULL;
  shape[0] = -5;
  g_assert_cmpint (ovstage_tensor_get_shape (tensor, NULL)[0], ==, 6);
  bytes = ovstage_tensor_ref_bytes (tensor, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (bytes), ==, sizeof values);
}

static void
test_ref_bytes (void)
{
  gint64 shape[] = { 3 };
  gint n_destroyed = 0;
  float values[3] = { 7, 8, 9 };
  g_autoptr (GError) error = NULL;
  OvstageTensor *tensor = ovstage_tensor_new_take (values, kDLCPU, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, NULL, count_cb,
                                                   &n_destroyed, &error);
  GBytes *bytes = ovstage_tensor_ref_bytes (tensor, &error);

  g_assert_no_error (error);
  ovstage_tensor_unref (tensor);
  g_assert_cmpint (n_destroyed, ==, 0);
  g_assert_true (g_bytes_get_data (bytes, NULL) == values);
  g_assert_cmpuint (g_bytes_get_size (bytes), ==, sizeof values);
  g_bytes_unref (bytes);
  g_assert_cmpint (n_destroyed, ==, 1);
}

static void
test_ref_bytes_refused (void)
{
  gint64 shape[] = { 3 };
  gint64 strides[] = { 2 };
  float values[6] = { 0 };
  g_autoptr (GError) device_error = NULL;
  g_autoptr (GError) strides_error = NULL;
  g_autoptr (OvstageTensor) device
    = ovstage_tensor_new_take (values, kDLCUDA, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, NULL, NULL, NULL, NULL);
  g_autoptr (OvstageTensor) gaps
    = ovstage_tensor_new_take (values, kDLCPU, 0, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, strides, NULL, NULL, NULL);

  g_assert_null (ovstage_tensor_ref_bytes (device, &device_error));
  g_assert_error (device_error, OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (device_error->message, "device type is 2, expected CPU"));
  g_assert_null (ovstage_tensor_ref_bytes (gaps, &strides_error));
  g_assert_error (strides_error, OVSTAGE_ERROR, OVSTAGE_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (strides_error->message, "tensor: the elements are not compact"));
}

static void
test_alignment (void)
{
  static const struct
  {
    gsize address;
    gsize alignment;
  } cases[] = { { 1, 1 }, { 2, 2 }, { 12, 4 }, { 256, 256 }, { 768, 256 }, { 4096, 4096 }, { 1 << 20, 4096 }, { 0, 4096 } };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gint64 shape[] = { 0 };
      g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_take (
        GSIZE_TO_POINTER (cases[i].address), kDLCPU, 0, &OVSTAGE_DATA_TYPE_UINT8, shape, 1, NULL, NULL, NULL, NULL);

      g_assert_cmpuint (ovstage_tensor_get_alignment (tensor), ==, cases[i].alignment);
    }
}

static void
test_boxed (void)
{
  g_auto (GValue) value = G_VALUE_INIT;
  g_autoptr (GBytes) bytes = g_bytes_new_static ("ab", 2);
  OvstageTensor *tensor = new_for_bytes_or_fail (bytes, &OVSTAGE_DATA_TYPE_UINT8, 2);

  g_value_init (&value, OVSTAGE_TYPE_TENSOR);
  g_value_take_boxed (&value, tensor);
  g_assert_true (g_value_get_boxed (&value) == tensor);
}

static void
test_write_data (void)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("ab", 2);
  g_autoptr (OvstageTensor) tensor = new_for_bytes_or_fail (bytes, &OVSTAGE_DATA_TYPE_UINT8, 2);
  g_autoptr (OvstageWriteData) data = ovstage_write_data_new (tensor);
  g_autoptr (OvstageWriteData) same = ovstage_write_data_ref (data);
  guint32 map[] = { 1, 0 };
  guint64 words[] = { 3 };

  g_assert_true (same == data);
  ovstage_write_data_set_count (data, 2);
  ovstage_write_data_set_index_map (data, map, G_N_ELEMENTS (map));
  ovstage_write_data_set_index_map (data, map, 1);
  ovstage_write_data_set_index_map (data, NULL, 0);
  ovstage_write_data_set_mask (data, words, G_N_ELEMENTS (words));
  ovstage_write_data_set_mask (data, NULL, 0);
  ovstage_write_data_set_semantic (data, OVSTAGE_SEMANTIC_COLOR);
  ovstage_write_data_set_sync (data, 1, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/tensor-object/data-type", test_data_type);
  g_test_add_func ("/tensor-object/data-type-constants", test_data_type_constants);
  g_test_add_func ("/tensor-object/for-bytes", test_for_bytes);
  g_test_add_func ("/tensor-object/for-bytes-refused", test_for_bytes_refused);
  g_test_add_func ("/tensor-object/too-many-dims", test_too_many_dims);
  g_test_add_func ("/tensor-object/scalar", test_scalar);
  g_test_add_func ("/tensor-object/take", test_take);
  g_test_add_func ("/tensor-object/take-refused", test_take_refused);
  g_test_add_func ("/tensor-object/take-nothing", test_take_nothing);
  g_test_add_func ("/tensor-object/take-dlpack", test_take_dlpack);
  g_test_add_func ("/tensor-object/take-dlpack-legacy", test_take_dlpack_legacy);
  g_test_add_func ("/tensor-object/dup-dlpack", test_dup_dlpack);
  g_test_add_func ("/tensor-object/for-dltensor", test_for_dltensor);
  g_test_add_func ("/tensor-object/ref-bytes", test_ref_bytes);
  g_test_add_func ("/tensor-object/ref-bytes-refused", test_ref_bytes_refused);
  g_test_add_func ("/tensor-object/alignment", test_alignment);
  g_test_add_func ("/tensor-object/boxed", test_boxed);
  g_test_add_func ("/tensor-object/write-data", test_write_data);

  return g_test_run ();
}
