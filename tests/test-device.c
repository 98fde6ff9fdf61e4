/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include <dlpack/dlpack.h>

#include "device/ovs-device.h"

static void
test_lookup_cpu (void)
{
  g_autoptr (GError) error = NULL;
  OvsDevice *cpu = ovs_device_lookup (kDLCPU, 0, &error);

  g_assert_no_error (error);
  g_assert_nonnull (cpu);
  g_assert_true (cpu == ovs_device_cpu ());
  g_assert_cmpint (cpu->device_type, ==, kDLCPU);
  g_assert_cmpint (cpu->device_id, ==, 0);
}

/* W32 */
static void
test_lookup_cuda_host (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (ovs_device_lookup (kDLCUDAHost, 0, &error) == ovs_device_cpu ());
  g_assert_no_error (error);
  g_assert_true (ovs_device_lookup (kDLCUDAHost, 3, &error) == ovs_device_cpu ());
  g_assert_no_error (error);
}

/* W27, W32 */
static void
test_lookup_refused (void)
{
  static const struct
  {
    gint32 type, id;
    OvstageError code;
    const char *text;
  } cases[] = {
    { kDLCPU, 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "device 0" },
    { kDLCPU, -1, OVSTAGE_ERROR_INVALID_ARGUMENT, "-1" },
    { kDLCUDAHost, -1, OVSTAGE_ERROR_INVALID_ARGUMENT, "kDLCUDAHost" },
    { kDLCUDA, -1, OVSTAGE_ERROR_INVALID_ARGUMENT, "kDLCUDA" },
    { kDLCUDA, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "no CUDA backend" },
    { kDLCUDA, 7, OVSTAGE_ERROR_NOT_SUPPORTED, "no CUDA backend" },
    { kDLCUDAManaged, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "13 (kDLCUDAManaged)" },
    { kDLROCM, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "10 (kDLROCM)" },
    { kDLVulkan, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "7 (kDLVulkan)" },
    { 0, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "0 (not a DLPack device type)" },
    { 6, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "6 (not" },
    { 1000, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "1000 (not" },
    { -1, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "-1 (not" },
    { G_MININT32, 0, OVSTAGE_ERROR_NOT_SUPPORTED, "not" },
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (ovs_device_lookup (cases[i].type, cases[i].id, &error));
      g_assert_error (error, OVSTAGE_ERROR, (gint) cases[i].code);
      g_assert_nonnull (strstr (error->message, cases[i].text));
      g_assert_null (ovs_device_lookup (cases[i].type, cases[i].id, NULL));
    }
}

static const gsize row_sizes[] = { 1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 32, 36, 48, 64, 100, 128, 256, 1000 };

/* Byte by byte, so that it cannot share a mistake with the kernels. */
static void
move_rows (guint8 *dst, const guint8 *src, const guint32 *rows, gsize n_rows, gsize row_size, gboolean scatter)
{
  gsize i, b;

  for (i = 0; i < n_rows; i++)
    {
      for (b = 0; b < row_size; b++)
        {
          if (scatter)
            dst[rows[i] * row_size + b] = src[i * row_size + b];
          else
            dst[i * row_size + b] = src[rows[i] * row_size + b];
        }
    }
}

static void
check_rows (const guint32 *rows, gsize n_rows, gsize n_all, gsize row_size, gsize dst_offset, gsize src_offset,
            gboolean scatter)
{
  OvsDevice *cpu = ovs_device_cpu ();
  gsize n_dst = (scatter ? n_all : n_rows) * row_size;
  gsize n_src = (scatter ? n_rows : n_all) * row_size;
  g_autofree guint8 *dst = g_malloc (n_dst + dst_offset + 1);
  g_autofree guint8 *expected = g_malloc (n_dst + dst_offset + 1);
  g_autofree guint8 *src = g_malloc (n_src + src_offset + 1);
  OvsFence *done = (OvsFence *) &done;
  g_autoptr (GError) error = NULL;
  gboolean ok;
  gsize i;

  for (i = 0; i < n_src + src_offset + 1; i++)
    src[i] = (guint8) (i * 7 + i / 251);
  memset (dst, 0xee, n_dst + dst_offset + 1);
  memset (expected, 0xee, n_dst + dst_offset + 1);

  move_rows (expected + dst_offset, src + src_offset, rows, n_rows, row_size, scatter);
  if (scatter)
    ok = cpu->scatter (cpu, NULL, 0, dst + dst_offset, src + src_offset, rows, n_rows, row_size, &done, &error);
  else
    ok = cpu->gather (cpu, NULL, 0, dst + dst_offset, src + src_offset, rows, n_rows, row_size, &done, &error);

  g_assert_no_error (error);
  g_assert_true (ok);
  g_assert_null (done);
  g_assert_cmpmem (dst, n_dst + dst_offset + 1, expected, n_dst + dst_offset + 1);
}

static void
test_rows (gconstpointer user_data)
{
  gboolean scatter = GPOINTER_TO_INT (user_data);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint32 rows[100];
  gsize i, size, offset;

  /* In no order, and some twice: the last one holds. */
  for (i = 0; i < G_N_ELEMENTS (rows); i++)
    rows[i] = (guint32) g_rand_int_range (rand, 0, 150);

  for (size = 0; size < G_N_ELEMENTS (row_sizes); size++)
    {
      for (offset = 0; offset < 4; offset++)
        check_rows (rows, G_N_ELEMENTS (rows), 150, row_sizes[size], offset, (offset * 3) % 4, scatter);
      check_rows (rows, 1, 150, row_sizes[size], 0, 0, scatter);
      check_rows (rows, 0, 150, row_sizes[size], 0, 0, scatter);
    }
}

/* Enough rows for the kernels to fetch ahead. */
static void
test_many_rows (gconstpointer user_data)
{
  gboolean scatter = GPOINTER_TO_INT (user_data);
  gsize n_rows = 40000;
  g_autofree guint32 *rows = g_new (guint32, n_rows);
  gsize i, size;

  for (i = 0; i < n_rows; i++)
    rows[i] = (guint32) ((i * 7919) % 40009);

  for (size = 0; size < G_N_ELEMENTS (row_sizes) && row_sizes[size] <= 128; size++)
    check_rows (rows, n_rows, 40009, row_sizes[size], 1, 0, scatter);
}

static void
test_copy (void)
{
  OvsDevice *cpu = ovs_device_cpu ();
  guint8 src[1000], dst[1002];
  OvsFence *done = (OvsFence *) &done;
  g_autoptr (GError) error = NULL;
  guint i;

  for (i = 0; i < sizeof src; i++)
    src[i] = (guint8) i;
  memset (dst, 0xee, sizeof dst);

  g_assert_true (cpu->copy (cpu, NULL, 0, dst + 1, src, sizeof src, &done, &error));
  g_assert_no_error (error);
  g_assert_null (done);
  g_assert_cmpmem (dst + 1, sizeof src, src, sizeof src);
  g_assert_cmpuint (dst[0], ==, 0xee);
  g_assert_cmpuint (dst[1001], ==, 0xee);

  g_assert_true (cpu->copy (cpu, NULL, 0, NULL, NULL, 0, NULL, &error));
}

static void
test_waits (void)
{
  OvsDevice *cpu = ovs_device_cpu ();
  g_autoptr (OvsFence) good = ovs_fence_new (kDLCUDA, 0, 0);
  g_autoptr (OvsFence) bad = ovs_fence_new (kDLCUDA, 0, 0);
  g_autoptr (OvsFence) open = ovs_fence_new (kDLCUDA, 0, 0);
  OvsFence *waits[] = { NULL, good, bad };
  g_autoptr (GError) error = NULL;
  guint8 src[4] = { 1, 2, 3, 4 }, dst[4] = { 0 };
  guint32 row = 0;

  ovs_fence_complete (good, OVS_FENCE_DONE);
  ovs_fence_complete (bad, OVS_FENCE_FAILED);

  g_assert_false (cpu->copy (cpu, waits, 3, dst, src, 4, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_OP_FAILED);
  g_clear_error (&error);
  g_assert_false (cpu->scatter (cpu, waits, 3, dst, src, &row, 1, 4, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_OP_FAILED);
  g_clear_error (&error);
  waits[2] = open;
  g_assert_false (cpu->gather (cpu, waits, 3, dst, src, &row, 1, 4, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INTERNAL);
  g_clear_error (&error);
  g_assert_cmpuint (dst[0], ==, 0);

  g_assert_true (cpu->copy (cpu, waits, 2, dst, src, 4, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (dst, 4, src, 4);
}

static void
test_max (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  guint32 values[100];
  guint n, at, i;

  g_assert_cmpuint (ovs_cpu_max_u32 (NULL, 0), ==, 0);

  for (n = 1; n <= G_N_ELEMENTS (values); n++)
    {
      /* Wherever the highest stands, and whatever it is. */
      for (at = 0; at < n; at++)
        {
          static const guint32 highest[] = { 0, 1, G_MAXINT32, 0x80000000u, 0x80000001u, G_MAXUINT32 };

          for (i = 0; i < G_N_ELEMENTS (highest); i++)
            {
              guint k;

              for (k = 0; k < n; k++)
                values[k] = highest[i] == 0 ? 0 : g_rand_int (rand) % highest[i];
              values[at] = highest[i];
              g_assert_cmpuint (ovs_cpu_max_u32 (values, n), ==, highest[i]);
            }
        }
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/device/lookup-cpu", test_lookup_cpu);
  g_test_add_func ("/device/lookup-cuda-host", test_lookup_cuda_host);
  g_test_add_func ("/device/lookup-refused", test_lookup_refused);
  g_test_add_data_func ("/device/scatter", GINT_TO_POINTER (TRUE), test_rows);
  g_test_add_data_func ("/device/gather", GINT_TO_POINTER (FALSE), test_rows);
  g_test_add_data_func ("/device/scatter-many", GINT_TO_POINTER (TRUE), test_many_rows);
  g_test_add_data_func ("/device/gather-many", GINT_TO_POINTER (FALSE), test_many_rows);
  g_test_add_func ("/device/copy", test_copy);
  g_test_add_func ("/device/waits", test_waits);
  g_test_add_func ("/device/max", test_max);

  return g_test_run ();
}
