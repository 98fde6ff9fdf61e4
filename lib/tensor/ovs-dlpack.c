/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-dlpack.h"

#include <string.h>

G_STATIC_ASSERT (sizeof (OvstageDataType) == sizeof (DLDataType));
G_STATIC_ASSERT (G_STRUCT_OFFSET (OvstageDataType, bits) == G_STRUCT_OFFSET (DLDataType, bits));
G_STATIC_ASSERT (G_STRUCT_OFFSET (OvstageDataType, lanes) == G_STRUCT_OFFSET (DLDataType, lanes));
G_STATIC_ASSERT (sizeof (gint64) == sizeof (int64_t));

/* The minor version whose promises our exports keep. */
#define EXPORT_MAJOR 1
#define EXPORT_MINOR 1

static OvstageTensor *
tensor_from_dltensor (const DLTensor *dl_tensor, guint32 flags, GDestroyNotify destroy, gpointer owner)
{
  OvstageDataType dtype = {
    .code = dl_tensor->dtype.code,
    .bits = dl_tensor->dtype.bits,
    .lanes = dl_tensor->dtype.lanes,
  };
  guint8 *data = dl_tensor->data;

  if (data != NULL)
    data += dl_tensor->byte_offset;

  return ovs_tensor_new (dtype, dl_tensor->device.device_type, dl_tensor->device.device_id, dl_tensor->ndim,
                         (const gint64 *) dl_tensor->shape, (const gint64 *) dl_tensor->strides, data, flags, destroy,
                         owner);
}

static void
release_managed (gpointer data)
{
  DLManagedTensorVersioned *managed = data;

  if (managed->deleter != NULL)
    managed->deleter (managed);
}

static void
release_managed_legacy (gpointer data)
{
  DLManagedTensor *managed = data;

  if (managed->deleter != NULL)
    managed->deleter (managed);
}

OvstageTensor *
ovs_dlpack_take (DLManagedTensorVersioned *managed, GError **error)
{
  guint32 flags = 0;

  if (managed == NULL)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "managed tensor: NULL, expected a DLManagedTensorVersioned");
      return NULL;
    }
  if (managed->version.major > EXPORT_MAJOR)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "managed tensor: DLPack version is %u.%u, expected major version 1",
                managed->version.major, managed->version.minor);
      release_managed (managed);
      return NULL;
    }

  if (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
    flags |= OVS_TENSOR_READ_ONLY;
  if (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
    flags |= OVS_TENSOR_SUBBYTE_PADDED;
  return tensor_from_dltensor (&managed->dl_tensor, flags, release_managed, managed);
}

OvstageTensor *
ovs_dlpack_take_legacy (DLManagedTensor *managed, GError **error)
{
  if (managed == NULL)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "managed tensor: NULL, expected a DLManagedTensor");
      return NULL;
    }
  return tensor_from_dltensor (&managed->dl_tensor, 0, release_managed_legacy, managed);
}

OvstageTensor *
ovs_dlpack_borrow (const DLTensor *tensor)
{
  return tensor_from_dltensor (tensor, 0, NULL, NULL);
}

/* Both forms in one block with their shape and strides, which are the consumer's own. */
typedef struct
{
  DLManagedTensorVersioned managed;
  gint64 dims[];
} Export;

typedef struct
{
  DLManagedTensor managed;
  gint64 dims[];
} LegacyExport;

void
ovs_dlpack_lend (const OvstageTensor *tensor, DLTensor *dl_tensor)
{
  gsize n_dims = tensor->shape != NULL ? (gsize) tensor->ndim : 0;

  dl_tensor->data = tensor->data;
  dl_tensor->device.device_type = (DLDeviceType) tensor->device_type;
  dl_tensor->device.device_id = tensor->device_id;
  dl_tensor->ndim = (gint) n_dims;
  dl_tensor->dtype.code = tensor->dtype.code;
  dl_tensor->dtype.bits = tensor->dtype.bits;
  dl_tensor->dtype.lanes = tensor->dtype.lanes;
  dl_tensor->shape = (int64_t *) tensor->shape;
  dl_tensor->strides = (int64_t *) tensor->strides;
  dl_tensor->byte_offset = 0;
}

static void
fill_dltensor (DLTensor *dl_tensor, const OvstageTensor *tensor, gint64 *dims)
{
  gsize n_dims = tensor->shape != NULL ? (gsize) tensor->ndim : 0;

  ovs_dlpack_lend (tensor, dl_tensor);
  dl_tensor->shape = (int64_t *) dims;
  dl_tensor->strides = (int64_t *) dims + n_dims;
  if (n_dims > 0)
    memcpy (dims, tensor->dims, 2 * n_dims * sizeof (gint64));
}

/* One spare, so that shape and strides of a 0-d tensor point somewhere. */
static gsize
dims_size (const OvstageTensor *tensor)
{
  return (tensor->shape != NULL ? 2 * (gsize) tensor->ndim : 1) * sizeof (gint64);
}

static void
delete_export (DLManagedTensorVersioned *managed)
{
  ovs_tensor_unref (managed->manager_ctx);
  g_free (managed);
}

static void
delete_legacy_export (DLManagedTensor *managed)
{
  ovs_tensor_unref (managed->manager_ctx);
  g_free (managed);
}

DLManagedTensorVersioned *
ovs_dlpack_dup (OvstageTensor *tensor)
{
  Export *export = g_malloc (sizeof *export + dims_size (tensor));

  export->managed.version.major = EXPORT_MAJOR;
  export->managed.version.minor = EXPORT_MINOR;
  export->managed.manager_ctx = ovs_tensor_ref (tensor);
  export->managed.deleter = delete_export;
  export->managed.flags = 0;
  if (tensor->flags & OVS_TENSOR_READ_ONLY)
    export->managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (tensor->flags & OVS_TENSOR_SUBBYTE_PADDED)
    export->managed.flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  fill_dltensor (&export->managed.dl_tensor, tensor, export->dims);
  return &export->managed;
}

DLManagedTensor *
ovs_dlpack_dup_legacy (OvstageTensor *tensor)
{
  LegacyExport *export = g_malloc (sizeof *export + dims_size (tensor));

  export->managed.manager_ctx = ovs_tensor_ref (tensor);
  export->managed.deleter = delete_legacy_export;
  fill_dltensor (&export->managed.dl_tensor, tensor, export->dims);
  return &export->managed;
}
