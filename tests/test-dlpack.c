/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-dlpack.h"

#include <string.h>

static gint n_deleted; /* (atomic) */

static void
delete_cb (DLManagedTensorVersioned *managed)
{
  g_atomic_int_inc (&n_deleted);
}

static void
delete_legacy_cb (DLManagedTensor *managed)
{
  g_atomic_int_inc (&n_deleted);
}

static float values[12];
static int64_t shape_2x3[] = { 2, 3 };
static int64_t strides_2x3[] = { 3, -1 };

/* Two rows of three, eight bytes in, lanes reversed. */
static DLTensor
make_dltensor (void)
{
  DLTensor tensor;

  memset (&tensor, 0, sizeof tensor);
  tensor.data = values;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 2;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape_2x3;
  tensor.strides = strides_2x3;
  tensor.byte_offset = 8;
  return tensor;
}

static DLManagedTensorVersioned
make_managed (void)
{
  DLManagedTensorVersioned managed;

  memset (&managed, 0, sizeof managed);
  managed.version.major = 1;
  managed.version.minor = 3;
  managed.deleter = delete_cb;
  managed.dl_tensor = make_dltensor ();
  g_atomic_int_set (&n_deleted, 0);
  return managed;
}

static void
assert_imported (const OvstageTensor *tensor)
{
  g_assert_true (tensor->data == (guint8 *) values + 8);
  g_assert_cmpint (tensor->ndim, ==, 2);
  g_assert_cmpint (tensor->shape[0], ==, 2);
  g_assert_cmpint (tensor->shape[1], ==, 3);
  g_assert_cmpint (tensor->strides[0], ==, 3);
  g_assert_cmpint (tensor->strides[1], ==, -1);
  g_assert_cmpint (tensor->device_type, ==, kDLCPU);
  g_assert_true (ovs_dtype_equal (tensor->dtype, (OvstageDataType) { kDLFloat, 32, 1 }));
}

static void
test_take (void)
{
  g_autoptr (GError) error = NULL;
  DLManagedTensorVersioned managed = make_managed ();
  OvstageTensor *tensor = ovs_dlpack_take (&managed, &error);

  g_assert_no_error (error);
  assert_imported (tensor);
  g_assert_cmpuint (tensor->flags, ==, 0);

  ovs_tensor_unref (ovs_tensor_ref (tensor));
  g_assert_cmpint (n_deleted, ==, 0);
  ovs_tensor_unref (tensor);
  g_assert_cmpint (n_deleted, ==, 1);
}

static void
test_take_flags (void)
{
  DLManagedTensorVersioned managed = make_managed ();
  OvstageTensor *tensor;

  managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  tensor = ovs_dlpack_take (&managed, NULL);
  g_assert_cmpuint (tensor->flags, ==, OVS_TENSOR_READ_ONLY);
  ovs_tensor_unref (tensor);

  managed.flags = DLPACK_FLAG_BITMASK_IS_COPIED | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  tensor = ovs_dlpack_take (&managed, NULL);
  g_assert_cmpuint (tensor->flags, ==, OVS_TENSOR_SUBBYTE_PADDED);
  ovs_tensor_unref (tensor);
  g_assert_cmpint (n_deleted, ==, 2);
}

/* DLPack 1: nothing but the deleter may be touched when the major version is unknown. */
static void
test_take_version (void)
{
  g_autoptr (GError) error = NULL;
  DLManagedTensorVersioned managed = make_managed ();

  memset (&managed.dl_tensor, 0xff, sizeof managed.dl_tensor);
  managed.version.major = 2;
  managed.version.minor = 7;
  g_assert_null (ovs_dlpack_take (&managed, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_nonnull (strstr (error->message, "2.7, expected major version 1"));
  g_assert_cmpint (n_deleted, ==, 1);
}

static void
test_take_null_deleter (void)
{
  DLManagedTensorVersioned managed = make_managed ();
  DLManagedTensor legacy = { .dl_tensor = make_dltensor () };

  managed.deleter = NULL;
  ovs_tensor_unref (ovs_dlpack_take (&managed, NULL));
  ovs_tensor_unref (ovs_dlpack_take_legacy (&legacy, NULL));
  managed.version.major = 2;
  g_assert_null (ovs_dlpack_take (&managed, NULL));
}

static void
test_take_null (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) legacy_error = NULL;

  g_assert_null (ovs_dlpack_take (NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_null (ovs_dlpack_take_legacy (NULL, &legacy_error));
  g_assert_error (legacy_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_take_legacy (void)
{
  g_autoptr (GError) error = NULL;
  DLManagedTensor managed = { .dl_tensor = make_dltensor (), .deleter = delete_legacy_cb };
  OvstageTensor *tensor;

  g_atomic_int_set (&n_deleted, 0);
  tensor = ovs_dlpack_take_legacy (&managed, &error);
  g_assert_no_error (error);
  assert_imported (tensor);
  g_assert_cmpint (n_deleted, ==, 0);
  ovs_tensor_unref (tensor);
  g_assert_cmpint (n_deleted, ==, 1);
}

static void
test_take_no_strides (void)
{
  DLManagedTensorVersioned managed = make_managed ();
  g_autoptr (OvstageTensor) tensor = NULL;

  managed.dl_tensor.strides = NULL;
  tensor = ovs_dlpack_take (&managed, NULL);
  g_assert_cmpint (tensor->strides[0], ==, 3);
  g_assert_cmpint (tensor->strides[1], ==, 1);
}

/* W26: an offset from NULL is still NULL. */
static void
test_null_data (void)
{
  DLTensor dl_tensor = make_dltensor ();
  g_autoptr (OvstageTensor) tensor = NULL;

  dl_tensor.data = NULL;
  tensor = ovs_dlpack_borrow (&dl_tensor);
  g_assert_null (tensor->data);
}

/* Whatever a producer claims, only the check decides, and nothing is followed before it. */
static void
test_malformed (void)
{
  DLTensor dl_tensor = make_dltensor ();
  g_autoptr (OvstageTensor) many = NULL;
  g_autoptr (OvstageTensor) negative = NULL;

  dl_tensor.shape = (int64_t *) (gsize) 8;
  dl_tensor.strides = (int64_t *) (gsize) 8;
  dl_tensor.ndim = 33;
  many = ovs_dlpack_borrow (&dl_tensor);
  g_assert_false (ovs_tensor_check (many, "tensor", NULL, NULL));
  dl_tensor.ndim = -1;
  negative = ovs_dlpack_borrow (&dl_tensor);
  g_assert_false (ovs_tensor_check (negative, "tensor", NULL, NULL));
}

static void
test_borrow (void)
{
  DLTensor dl_tensor = make_dltensor ();
  int64_t shape[] = { 2, 3 };
  g_autoptr (OvstageTensor) tensor = NULL;

  dl_tensor.shape = shape;
  tensor = ovs_dlpack_borrow (&dl_tensor);
  memset (&dl_tensor, 0, sizeof dl_tensor);
  shape[0] = 0;
  assert_imported (tensor);
}

static void
test_dup (void)
{
  DLManagedTensorVersioned managed = make_managed ();
  OvstageTensor *tensor = ovs_dlpack_take (&managed, NULL);
  DLManagedTensorVersioned *export = ovs_dlpack_dup (tensor);

  ovs_tensor_unref (tensor);
  g_assert_cmpint (n_deleted, ==, 0);

  g_assert_cmpuint (export->version.major, ==, 1);
  g_assert_cmpuint (export->version.minor, >=, 1);
  g_assert_cmpuint (export->flags, ==, 0);
  g_assert_true ((guint8 *) export->dl_tensor.data + export->dl_tensor.byte_offset == (guint8 *) values + 8);
  g_assert_cmpint (export->dl_tensor.ndim, ==, 2);
  g_assert_cmpint (export->dl_tensor.shape[1], ==, 3);
  g_assert_cmpint (export->dl_tensor.strides[1], ==, -1);
  g_assert_cmpint (export->dl_tensor.device.device_type, ==, kDLCPU);
  g_assert_cmpint (export->dl_tensor.device.device_id, ==, 0);
  g_assert_cmpuint (export->dl_tensor.dtype.bits, ==, 32);

  export->deleter (export);
  g_assert_cmpint (n_deleted, ==, 1);
}

static void
test_dup_read_only (void)
{
  g_autoptr (OvstageTensor) tensor
    = ovs_tensor_new ((OvstageDataType) { kDLFloat, 32, 3 }, kDLCPU, 0, 1, (gint64[]) { 4 }, NULL, values,
                      OVS_TENSOR_READ_ONLY, NULL, NULL);
  DLManagedTensorVersioned *export = ovs_dlpack_dup (tensor);

  g_assert_cmpuint (export->flags, ==, DLPACK_FLAG_BITMASK_READ_ONLY);
  g_assert_cmpuint (export->dl_tensor.dtype.lanes, ==, 3);
  g_assert_nonnull (export->dl_tensor.strides);
  g_assert_cmpint (export->dl_tensor.strides[0], ==, 1);
  export->deleter (export);
}

static void
test_dup_legacy (void)
{
  DLManagedTensorVersioned managed = make_managed ();
  OvstageTensor *tensor = ovs_dlpack_take (&managed, NULL);
  DLManagedTensor *export = ovs_dlpack_dup_legacy (tensor);

  ovs_tensor_unref (tensor);
  g_assert_cmpint (export->dl_tensor.shape[0], ==, 2);
  g_assert_cmpint (export->dl_tensor.strides[0], ==, 3);
  g_assert_cmpint (n_deleted, ==, 0);
  export->deleter (export);
  g_assert_cmpint (n_deleted, ==, 1);
}

static void
test_dup_scalar (void)
{
  g_autoptr (OvstageTensor) tensor
    = ovs_tensor_new ((OvstageDataType) { kDLFloat, 32, 1 }, kDLCPU, 0, 0, NULL, NULL, values, 0, NULL, NULL);
  DLManagedTensorVersioned *export = ovs_dlpack_dup (tensor);
  DLManagedTensor *legacy = ovs_dlpack_dup_legacy (tensor);

  g_assert_cmpint (export->dl_tensor.ndim, ==, 0);
  g_assert_nonnull (export->dl_tensor.shape);
  g_assert_nonnull (export->dl_tensor.strides);
  g_assert_nonnull (legacy->dl_tensor.strides);
  export->deleter (export);
  legacy->deleter (legacy);
}

/* W25: codes pass both ways as they are. */
static void
test_all_codes (void)
{
  for (guint code = 0; code <= G_MAXUINT8; code++)
    {
      DLManagedTensorVersioned managed = make_managed ();
      g_autoptr (OvstageTensor) tensor = NULL;
      DLManagedTensorVersioned *export;

      managed.dl_tensor.dtype.code = (guint8) code;
      managed.dl_tensor.dtype.lanes = 65535;
      tensor = ovs_dlpack_take (&managed, NULL);
      export = ovs_dlpack_dup (tensor);
      g_assert_cmpmem (&export->dl_tensor.dtype, sizeof (DLDataType), &managed.dl_tensor.dtype, sizeof (DLDataType));
      export->deleter (export);
    }
}

static gpointer
delete_thread (gpointer data)
{
  DLManagedTensorVersioned *export = data;

  export->deleter (export);
  return NULL;
}

static void
test_deleters_in_threads (void)
{
  for (guint round = 0; round < 50; round++)
    {
      DLManagedTensorVersioned managed = make_managed ();
      OvstageTensor *tensor = ovs_dlpack_take (&managed, NULL);
      GThread *threads[4];

      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        threads[i] = g_thread_new ("deleter", delete_thread, ovs_dlpack_dup (tensor));
      ovs_tensor_unref (tensor);
      for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
        g_thread_join (threads[i]);
      g_assert_cmpint (g_atomic_int_get (&n_deleted), ==, 1);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/dlpack/take", test_take);
  g_test_add_func ("/dlpack/take-flags", test_take_flags);
  g_test_add_func ("/dlpack/take-version", test_take_version);
  g_test_add_func ("/dlpack/take-null-deleter", test_take_null_deleter);
  g_test_add_func ("/dlpack/take-null", test_take_null);
  g_test_add_func ("/dlpack/take-legacy", test_take_legacy);
  g_test_add_func ("/dlpack/take-no-strides", test_take_no_strides);
  g_test_add_func ("/dlpack/null-data", test_null_data);
  g_test_add_func ("/dlpack/malformed", test_malformed);
  g_test_add_func ("/dlpack/borrow", test_borrow);
  g_test_add_func ("/dlpack/dup", test_dup);
  g_test_add_func ("/dlpack/dup-read-only", test_dup_read_only);
  g_test_add_func ("/dlpack/dup-legacy", test_dup_legacy);
  g_test_add_func ("/dlpack/dup-scalar", test_dup_scalar);
  g_test_add_func ("/dlpack/all-codes", test_all_codes);
  g_test_add_func ("/dlpack/deleters-in-threads", test_deleters_in_threads);

  return g_test_run ();
}
