/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-tensor.h"

#include "base/ovs-block.h"

#include <string.h>

/* So few elements, of whatever type, that no size overflows. */
#define FEW_ELEMENTS (G_GINT64_CONSTANT (1) << 31)

/* Fills in strides that were not given, and what can be told at once: large shapes, strange strides and faults are left to
 * ovs_tensor_check(). */
static void
look_at_shape (OvstageTensor *tensor, gsize n_dims, const gint64 *strides)
{
  guint64 step = 1; /* unsigned: the extents are not checked yet and may overflow */
  gboolean few = TRUE, empty = FALSE;
  gint64 n = 1;

  tensor->compact = TRUE;
  for (gsize i = n_dims; i-- > 0;)
    {
      gint64 extent = tensor->shape[i];

      tensor->strides[i] = strides != NULL ? strides[i] : (gint64) step;
      tensor->compact = tensor->compact && (extent == 1 || tensor->strides[i] == (gint64) step);
      empty = empty || extent == 0;
      step *= (guint64) MAX (extent, 1);
      few = few && extent >= 0 && extent <= FEW_ELEMENTS && (n *= MAX (extent, 1)) <= FEW_ELEMENTS;
    }
  tensor->compact = tensor->compact || empty;
  tensor->n_elements = few && tensor->compact ? (empty ? 0 : n) : -1;
}

OvstageTensor *
ovs_tensor_new (OvstageDataType dtype, gint32 device_type, gint32 device_id, gint32 ndim, const gint64 *shape,
                const gint64 *strides, gpointer data, guint32 flags, GDestroyNotify destroy, gpointer owner)
{
  OvstageTensor *tensor;
  gsize n_dims = (shape != NULL && ndim > 0 && ndim <= OVS_MAX_DIMS) ? (gsize) ndim : 0;

  tensor = ovs_block_alloc (sizeof *tensor + 2 * n_dims * sizeof (gint64));
  tensor->refs = 1;
  tensor->dtype = dtype;
  tensor->device_type = device_type;
  tensor->device_id = device_id;
  tensor->ndim = ndim;
  tensor->flags = flags;
  tensor->data = data;
  tensor->n_elements = ndim == 0 ? 1 : -1;
  tensor->compact = TRUE;
  tensor->shape = NULL;
  tensor->strides = NULL;
  tensor->destroy = destroy;
  tensor->owner = owner;

  if (n_dims > 0)
    {
      tensor->shape = tensor->dims;
      tensor->strides = tensor->dims + n_dims;
      memcpy (tensor->shape, shape, n_dims * sizeof (gint64));
      look_at_shape (tensor, n_dims, strides);
    }

  return tensor;
}

OvstageTensor *
ovs_tensor_ref (OvstageTensor *tensor)
{
  g_atomic_int_inc (&tensor->refs);
  return tensor;
}

void
ovs_tensor_unref (OvstageTensor *tensor)
{
  if (g_atomic_int_get (&tensor->refs) != 1 && !g_atomic_int_dec_and_test (&tensor->refs))
    return;

  if (tensor->destroy != NULL)
    tensor->destroy (tensor->owner);
  ovs_block_free (tensor, sizeof *tensor + (tensor->shape != NULL ? 2 * (gsize) tensor->ndim * sizeof (gint64) : 0));
}

gboolean
ovs_tensor_check (const OvstageTensor *tensor, const char *what, gsize *n_bytes, GError **error)
{
  gint64 element_bits;
  gint64 total_bits;
  gint64 span_bits = 0;
  gboolean empty = FALSE;

  if (tensor->dtype.bits == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: bits of the data type are 0, expected 1 to 255", what);
  if (tensor->dtype.lanes == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: lanes of the data type are 0, expected 1 to 65535", what);
  if (tensor->ndim < 0 || tensor->ndim > OVS_MAX_DIMS)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: ndim is %d, expected 0 to %d", what, tensor->ndim,
                     OVS_MAX_DIMS);
  if (tensor->n_elements >= 0)
    {
      if (n_bytes != NULL)
        *n_bytes = ((gsize) tensor->n_elements * ovs_dtype_row_bits (tensor->dtype) + 7) / 8;
      return TRUE;
    }
  if (tensor->ndim > 0 && tensor->shape == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: shape is NULL, expected %d extents", what, tensor->ndim);

  for (gint i = 0; i < tensor->ndim; i++)
    {
      if (tensor->shape[i] < 0)
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                         "%s: shape[%d] is %" G_GINT64_FORMAT ", expected >= 0", what, i, tensor->shape[i]);
      empty = empty || tensor->shape[i] == 0;
    }

  /* In bits, and skipping the extents that are 0, so that no partial product can overflow later on. */
  element_bits = ovs_dtype_row_bits (tensor->dtype);
  total_bits = element_bits;
  for (gint i = 0; i < tensor->ndim; i++)
    {
      if (tensor->shape[i] > 0 && __builtin_mul_overflow (total_bits, tensor->shape[i], &total_bits))
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                         "%s: the size overflows at shape[%d], which is %" G_GINT64_FORMAT, what, i, tensor->shape[i]);
    }
  if (total_bits > G_MAXINT64 - 7)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: the size overflows, it is %" G_GINT64_FORMAT " bits", what, total_bits);

  /* How far strides lead from the first element. Both signs added up is more than
   * any element is away, and still far more than memory can hold. */
  for (gint i = 0; i < tensor->ndim && !empty; i++)
    {
      gint64 reach;

      if (tensor->shape[i] <= 1)
        continue;
      if (tensor->strides[i] == G_MININT64 ||
          __builtin_mul_overflow (ABS (tensor->strides[i]), tensor->shape[i], &reach) ||
          __builtin_mul_overflow (reach, element_bits, &reach) || __builtin_add_overflow (span_bits, reach, &span_bits))
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                         "%s: the size overflows at strides[%d], which is %" G_GINT64_FORMAT, what, i, tensor->strides[i]);
    }

  if (n_bytes != NULL)
    *n_bytes = empty ? 0 : ((gsize) total_bits + 7) / 8;
  return TRUE;
}

gint64
ovs_tensor_n_elements (const OvstageTensor *tensor)
{
  gint64 n = 1;

  if (tensor->n_elements >= 0)
    return tensor->n_elements;
  for (gint i = 0; i < tensor->ndim; i++)
    n *= tensor->shape[i];
  return n;
}

gint64
ovs_tensor_n_row_elements (const OvstageTensor *tensor)
{
  gint64 n = 1;

  for (gint i = 1; i < tensor->ndim; i++)
    n *= tensor->shape[i];
  return n;
}
