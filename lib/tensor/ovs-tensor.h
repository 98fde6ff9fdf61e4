/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A counted view of memory: dtype, shape, strides, device, pointer and an owner
 * that is destroyed with the last reference. Says nothing about whether shape
 * and dtype make sense: ovs_payload_check_form() and the constructors that take
 * a GError do. */

#pragma once

#include "tensor/ovs-dtype.h"

#define OVS_MAX_DIMS 32

/* DLDeviceType, by number. */
#define OVS_DEVICE_CPU 1
#define OVS_DEVICE_CUDA 2
#define OVS_DEVICE_CUDA_HOST 3
#define OVS_DEVICE_CUDA_MANAGED 13

#define OVS_TENSOR_READ_ONLY (1u << 0)
/* Elements below a byte take a byte each, as DLPack's flag says. */
#define OVS_TENSOR_SUBBYTE_PADDED (1u << 1)

struct _OvstageTensor
{
  gint refs; /* (atomic) */
  OvstageDataType dtype;
  gint32 device_type;
  gint32 device_id;
  gint32 ndim;
  guint32 flags;
  guint8 *data;    /* first element: the byte offset is applied (NULL stays NULL) */
  gint64 n_elements; /* product of the extents, where a look told that these and the strides are fine; else -1 */
  gboolean compact;  /* strides are row-major, if they are fine */
  gint64 *shape;   /* in dims; NULL if ndim is 0 or out of bounds, or no shape was given */
  gint64 *strides; /* in dims, in elements; NULL where shape is, else filled in when none were given */
  GDestroyNotify destroy;
  gpointer owner;
  gint64 dims[];
};

/* Room for shape and strides comes with the tensor; both are copied, and strides of
 * NULL become row-major ones. @destroy runs on @owner once, with the last reference.
 * Never fails. */
OvstageTensor *ovs_tensor_new (OvstageDataType dtype, gint32 device_type, gint32 device_id, gint32 ndim, const gint64 *shape,
                               const gint64 *strides, gpointer data, guint32 flags, GDestroyNotify destroy, gpointer owner);
OvstageTensor *ovs_tensor_ref (OvstageTensor *tensor);
void ovs_tensor_unref (OvstageTensor *tensor);

/* W24: checks dtype, extents and strides without following the data pointer. @what names the tensor in messages.
 * @n_bytes: (out) (optional) what the elements take when compact. Whether rows are whole bytes (W25) the payload
 * decides. */
gboolean ovs_tensor_check (const OvstageTensor *tensor, const char *what, gsize *n_bytes, GError **error);
/* This and what follows are only for tensors that passed the check. */
static inline gboolean
ovs_tensor_is_compact (const OvstageTensor *tensor)
{
  return tensor->compact;
}

/* Product of the extents; 1 for 0-d. */
gint64 ovs_tensor_n_elements (const OvstageTensor *tensor);
/* The same of the trailing axes: what a row has. */
gint64 ovs_tensor_n_row_elements (const OvstageTensor *tensor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageTensor, ovs_tensor_unref)
