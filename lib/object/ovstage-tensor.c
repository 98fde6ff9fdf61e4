/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/**
 * OvstageTensor:
 *
 * A view of memory as an array of rows: data type, shape, strides, device and
 * the owner of the bytes.
 *
 * Tensors are what writes take and reads give. One is made over a `GBytes`,
 * over memory of the caller, or from a struct of [DLPack](https://dmlc.github.io/dlpack/latest/);
 * none of these copies a value. It is counted and does not change: any thread
 * may use it and drop it. The memory is let go with the last reference, in
 * whatever thread that happens.
 *
 * The first axis counts rows. Axes after it are folded into the lanes of the
 * data type by a write: shape `[N, 3]` of `float32` is N rows of `float32x3`.
 *
 * ```c
 * float values[] = { 1.0f, 2.0f, 3.0f };
 * gint64 shape[] = { 3 };
 * g_autoptr (GError) error = NULL;
 * g_autoptr (GBytes) bytes = g_bytes_new (values, sizeof values);
 * g_autoptr (OvstageTensor) tensor =
 *   ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, &error);
 * ```
 *
 * Since: 1.0
 */

#include "config.h"

#include <ovstage/ovstage-dlpack.h>
#include <ovstage/ovstage-tensor.h>

#include "base/ovs-error.h"
#include "tensor/ovs-dlpack.h"
#include "tensor/ovs-tensor.h"

#define MAX_ALIGNMENT 4096

G_DEFINE_BOXED_TYPE (OvstageTensor, ovstage_tensor, ovstage_tensor_ref, ovstage_tensor_unref)

/* More axes than a tensor can have stay out of bounds, whatever gint32 makes of them. */
static gint32
clamp_n_dims (gsize n_dims)
{
  return (gint32) MIN (n_dims, OVS_MAX_DIMS + 1);
}

/* The tensor, or NULL and the end of it if it makes no sense. */
static OvstageTensor *
check_new (OvstageTensor *tensor, gsize *n_bytes, GError **error)
{
  gsize size;

  if (tensor == NULL)
    return NULL;
  if (!ovs_tensor_check (tensor, "tensor", &size, error))
    {
      ovs_tensor_unref (tensor);
      return NULL;
    }
  if (tensor->data == NULL && size > 0 && n_bytes == NULL)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: data is NULL, expected %" G_GSIZE_FORMAT " bytes", size);
      ovs_tensor_unref (tensor);
      return NULL;
    }
  if (n_bytes != NULL)
    *n_bytes = size;
  return tensor;
}

/**
 * ovstage_tensor_new_for_bytes:
 * @bytes: the values, row after row
 * @dtype: the type of an element
 * @shape: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are, at most 32; 0 for a single element
 * @error: return location for an error
 *
 * Makes a read-only tensor in CPU memory over the values of a `GBytes`.
 *
 * Nothing is copied; the tensor holds a reference to @bytes.
 *
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` if @dtype or @shape make no sense, or if
 * @bytes is not as long as they say.
 *
 * Returns: (transfer full): the tensor, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_tensor_new_for_bytes (GBytes *bytes, const OvstageDataType *dtype, const gint64 *shape, gsize n_dims,
                              GError **error)
{
  OvstageTensor *tensor;
  gconstpointer data;
  gsize size;
  gsize n_bytes;

  g_return_val_if_fail (bytes != NULL, NULL);
  g_return_val_if_fail (dtype != NULL, NULL);
  g_return_val_if_fail (shape != NULL || n_dims == 0, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  data = g_bytes_get_data (bytes, &size);
  tensor = ovs_tensor_new (*dtype, OVS_DEVICE_CPU, 0, clamp_n_dims (n_dims), shape, NULL, (gpointer) data,
                           OVS_TENSOR_READ_ONLY, (GDestroyNotify) g_bytes_unref, g_bytes_ref (bytes));
  tensor = check_new (tensor, &n_bytes, error);
  if (tensor == NULL)
    return NULL;

  if (size != n_bytes)
    {
      char text[OVS_DTYPE_TEXT_MAX];

      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                "bytes: the size is %" G_GSIZE_FORMAT ", expected %" G_GSIZE_FORMAT " for %" G_GINT64_FORMAT
                " elements of %s",
                size, n_bytes, ovs_tensor_n_elements (tensor), ovs_dtype_format (*dtype, text));
      ovs_tensor_unref (tensor);
      return NULL;
    }
  return tensor;
}

/**
 * ovstage_tensor_new_take: (skip)
 * @data: the first element
 * @device_type: where it is, a `DLDeviceType` of DLPack: 1 is the CPU, 2 CUDA
 * @device_id: which device of that type, 0 for the CPU
 * @dtype: the type of an element
 * @shape: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are, at most 32; 0 for a single element
 * @strides: (nullable): steps along each axis in elements, as many as extents, or
 *   `NULL` when the elements are compact in row-major order. They may be
 *   negative or 0
 * @destroy: (nullable): lets the memory go
 * @user_data: data for @destroy
 * @error: return location for an error
 *
 * Makes a writable tensor over memory of the caller.
 *
 * The memory must stay until @destroy is called on @user_data. That happens
 * once, with the last reference to the tensor and in whatever thread drops it,
 * or before this function returns when it fails.
 *
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` if @dtype, @shape or @strides make no sense,
 * or if @data is `NULL` where there are elements.
 *
 * Returns: (transfer full): the tensor, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_tensor_new_take (gpointer data, gint32 device_type, gint32 device_id, const OvstageDataType *dtype,
                         const gint64 *shape, gsize n_dims, const gint64 *strides, GDestroyNotify destroy,
                         gpointer user_data, GError **error)
{
  g_return_val_if_fail (dtype != NULL, NULL);
  g_return_val_if_fail (shape != NULL || n_dims == 0, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return check_new (ovs_tensor_new (*dtype, device_type, device_id, clamp_n_dims (n_dims), shape, strides, data, 0,
                                    destroy, user_data),
                    NULL, error);
}

/**
 * ovstage_tensor_new_take_dlpack:
 * @managed: (nullable): a `DLManagedTensorVersioned *` of DLPack
 * @error: return location for an error
 *
 * Makes a tensor of a managed tensor of DLPack and takes it over.
 *
 * Its deleter is called once: with the last reference to the tensor, in
 * whatever thread drops it, or before this function returns when it fails. The
 * tensor is read-only if the flag of @managed says so.
 *
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` if @managed is `NULL`, has a major version
 * above 1, or describes something that makes no sense.
 *
 * Returns: (transfer full): the tensor, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_tensor_new_take_dlpack (gpointer managed, GError **error)
{
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return check_new (ovs_dlpack_take (managed, error), NULL, error);
}

/**
 * ovstage_tensor_new_take_dlpack_legacy:
 * @managed: (nullable): a `DLManagedTensor *` of DLPack
 * @error: return location for an error
 *
 * Makes a tensor of a managed tensor of DLPack before 1.0 and takes it over.
 *
 * As [ctor@Ovstage.Tensor.new_take_dlpack] but for the older struct, which has
 * neither version nor flags.
 *
 * Returns: (transfer full): the tensor, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_tensor_new_take_dlpack_legacy (gpointer managed, GError **error)
{
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return check_new (ovs_dlpack_take_legacy (managed, error), NULL, error);
}

/**
 * ovstage_tensor_new_for_dltensor: (skip)
 * @tensor: a `DLTensor` of DLPack
 *
 * Makes a tensor over the memory of a `DLTensor`, which somebody else owns.
 *
 * @tensor itself, its shape and its strides are copied. The values are not: they
 * must stay as long as the tensor, and whatever was made of it, is in use. A
 * write is through with them once its operation is done. Whether the fields make
 * sense is told by what the tensor is used for.
 *
 * Declared in `ovstage/ovstage-dlpack.h`.
 *
 * Returns: (transfer full): the tensor
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_tensor_new_for_dltensor (const DLTensor *tensor)
{
  g_return_val_if_fail (tensor != NULL, NULL);

  return ovs_dlpack_borrow (tensor);
}

/**
 * ovstage_tensor_ref:
 * @self: a tensor
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
OvstageTensor *
ovstage_tensor_ref (OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_tensor_ref (self);
}

/**
 * ovstage_tensor_unref:
 * @self: (transfer full): a tensor
 *
 * Drops a reference, and with the last one lets go of the memory.
 *
 * Since: 1.0
 */
void
ovstage_tensor_unref (OvstageTensor *self)
{
  g_return_if_fail (self != NULL);

  ovs_tensor_unref (self);
}

/**
 * ovstage_tensor_dup_dlpack:
 * @self: a tensor
 *
 * Gives the tensor to somebody else as a managed tensor of DLPack 1.
 *
 * Nothing is copied: the managed tensor holds a reference to @self until its
 * deleter is called, which may be done in any thread. It has the read-only
 * flag if @self is read-only, and always has strides.
 *
 * Returns: (transfer full) (not nullable): a `DLManagedTensorVersioned *`. Call its `deleter` when done
 *
 * Since: 1.0
 */
gpointer
ovstage_tensor_dup_dlpack (OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_dlpack_dup (self);
}

/**
 * ovstage_tensor_dup_dlpack_legacy:
 * @self: a tensor
 *
 * Gives the tensor to somebody else as a managed tensor of DLPack before 1.0.
 *
 * As [method@Ovstage.Tensor.dup_dlpack], but this struct cannot tell that the
 * tensor is read-only.
 *
 * Returns: (transfer full) (not nullable): a `DLManagedTensor *`. Call its `deleter` when done
 *
 * Since: 1.0
 */
gpointer
ovstage_tensor_dup_dlpack_legacy (OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovs_dlpack_dup_legacy (self);
}

/**
 * ovstage_tensor_ref_bytes:
 * @self: a tensor
 * @error: return location for an error
 *
 * Gives the values as bytes, row after row, without copying them.
 *
 * The bytes keep the memory alive. They are only as constant as the memory is:
 * those of a tensor that a read gave never change.
 *
 * `OVSTAGE_ERROR_NOT_SUPPORTED` if the memory is not the CPU's or the elements
 * are not compact in row-major order; `OVSTAGE_ERROR_INVALID_ARGUMENT` if the
 * tensor was borrowed from a struct that makes no sense.
 *
 * Returns: (transfer full): the bytes, or `NULL` with @error set
 *
 * Since: 1.0
 */
GBytes *
ovstage_tensor_ref_bytes (OvstageTensor *self, GError **error)
{
  gsize n_bytes;

  g_return_val_if_fail (self != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!ovs_tensor_check (self, "tensor", &n_bytes, error))
    return NULL;
  if (self->device_type != OVS_DEVICE_CPU && self->device_type != OVS_DEVICE_CUDA_HOST)
    {
      ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "tensor: device type is %d, expected CPU memory for bytes",
                self->device_type);
      return NULL;
    }
  if (self->data == NULL && n_bytes > 0)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor: data is NULL, expected %" G_GSIZE_FORMAT " bytes",
                n_bytes);
      return NULL;
    }
  if (!ovs_tensor_is_compact (self) || (self->flags & OVS_TENSOR_SUBBYTE_PADDED) != 0)
    {
      ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "tensor: the elements are not compact, as bytes have to be");
      return NULL;
    }

  return g_bytes_new_with_free_func (self->data, n_bytes, (GDestroyNotify) ovs_tensor_unref, ovs_tensor_ref (self));
}

/**
 * ovstage_tensor_get_data_type: (skip)
 * @self: a tensor
 *
 * Gives the type of an element, as a part of the tensor.
 *
 * Returns: (transfer none): the data type, valid as long as @self
 *
 * Since: 1.0
 */
const OvstageDataType *
ovstage_tensor_get_data_type (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return &self->dtype;
}

/**
 * ovstage_tensor_dup_data_type:
 * @self: a tensor
 *
 * Gives the type of an element.
 *
 * Returns: (transfer full): the data type
 *
 * Since: 1.0
 */
OvstageDataType *
ovstage_tensor_dup_data_type (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return ovstage_data_type_copy (&self->dtype);
}

/**
 * ovstage_tensor_get_n_dims:
 * @self: a tensor
 *
 * Gives the number of axes: 0 for a single element.
 *
 * Returns: the number of extents that [method@Ovstage.Tensor.get_shape] gives
 *
 * Since: 1.0
 */
gsize
ovstage_tensor_get_n_dims (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->shape != NULL ? (gsize) self->ndim : 0;
}

/**
 * ovstage_tensor_get_shape:
 * @self: a tensor
 * @n_dims: (out) (optional): return location for the number of extents
 *
 * Gives the extents, outermost first.
 *
 * Returns: (array length=n_dims) (transfer none) (nullable): the extents, valid as long as @self; `NULL` if there are none
 *
 * Since: 1.0
 */
const gint64 *
ovstage_tensor_get_shape (const OvstageTensor *self, gsize *n_dims)
{
  if (n_dims != NULL)
    *n_dims = 0;
  g_return_val_if_fail (self != NULL, NULL);

  if (n_dims != NULL)
    *n_dims = ovstage_tensor_get_n_dims (self);
  return self->shape;
}

/**
 * ovstage_tensor_get_strides:
 * @self: a tensor
 * @n_dims: (out) (optional): return location for the number of strides
 *
 * Gives the steps along each axis, in elements.
 *
 * They are there for every axis, also where the tensor was made without.
 *
 * Returns: (array length=n_dims) (transfer none) (nullable): the strides, valid as long as @self; `NULL` if there are no axes
 *
 * Since: 1.0
 */
const gint64 *
ovstage_tensor_get_strides (const OvstageTensor *self, gsize *n_dims)
{
  if (n_dims != NULL)
    *n_dims = 0;
  g_return_val_if_fail (self != NULL, NULL);

  if (n_dims != NULL)
    *n_dims = ovstage_tensor_get_n_dims (self);
  return self->strides;
}

/**
 * ovstage_tensor_get_device_type:
 * @self: a tensor
 *
 * Tells what kind of memory the values are in.
 *
 * Returns: a `DLDeviceType` of DLPack: 1 is the CPU, 2 CUDA
 *
 * Since: 1.0
 */
gint32
ovstage_tensor_get_device_type (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->device_type;
}

/**
 * ovstage_tensor_get_device_id:
 * @self: a tensor
 *
 * Tells which device of its type the values are on.
 *
 * Returns: the number of the device, 0 for the CPU
 *
 * Since: 1.0
 */
gint32
ovstage_tensor_get_device_id (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->device_id;
}

/**
 * ovstage_tensor_get_alignment:
 * @self: a tensor
 *
 * Tells how well the first element is aligned.
 *
 * Returns: the largest power of two that divides its address, at most 4096
 *
 * Since: 1.0
 */
gsize
ovstage_tensor_get_alignment (const OvstageTensor *self)
{
  gsize address;

  g_return_val_if_fail (self != NULL, 0);

  address = (gsize) self->data | MAX_ALIGNMENT;
  return address & -address;
}

/**
 * ovstage_tensor_is_read_only:
 * @self: a tensor
 *
 * Whether the values must not be changed through this tensor.
 *
 * So it is for what reads give and for tensors over a `GBytes`.
 *
 * Returns: `TRUE` if the tensor is read-only
 *
 * Since: 1.0
 */
gboolean
ovstage_tensor_is_read_only (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, TRUE);

  return (self->flags & OVS_TENSOR_READ_ONLY) != 0;
}

/**
 * ovstage_tensor_get_data: (skip)
 * @self: a tensor
 *
 * Gives the address of the first element.
 *
 * It is an address of the device that the tensor is on. Do not write through it
 * if the tensor is read-only.
 *
 * Returns: (transfer none) (nullable): the address, valid as long as @self; may be `NULL` if there are no elements
 *
 * Since: 1.0
 */
gpointer
ovstage_tensor_get_data (const OvstageTensor *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->data;
}
