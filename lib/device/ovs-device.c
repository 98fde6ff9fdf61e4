/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "device/ovs-device.h"

enum
{
  DEVICE_CPU = 1,
  DEVICE_CUDA = 2,
  DEVICE_CUDA_HOST = 3,
};

/* Old dlpack.h files lack the newer ones. */
static const char *
get_type_name (gint32 device_type)
{
  static const char *const names[] = {
    [1] = "kDLCPU",          [2] = "kDLCUDA",    [3] = "kDLCUDAHost", [4] = "kDLOpenCL",    [7] = "kDLVulkan",
    [8] = "kDLMetal",        [9] = "kDLVPI",     [10] = "kDLROCM",    [11] = "kDLROCMHost", [12] = "kDLExtDev",
    [13] = "kDLCUDAManaged", [14] = "kDLOneAPI", [15] = "kDLWebGPU",  [16] = "kDLHexagon",  [17] = "kDLMAIA",
    [18] = "kDLTrn",
  };

  if (device_type < 0 || (gsize) device_type >= G_N_ELEMENTS (names) || names[device_type] == NULL)
    return "not a DLPack device type";

  return names[device_type];
}

OvsDevice *
ovs_device_lookup (gint32 device_type, gint32 device_id, GError **error)
{
  if (device_id < 0)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "Device type %d (%s) has no device %d", device_type,
                get_type_name (device_type), device_id);
      return NULL;
    }

  switch (device_type)
    {
    case DEVICE_CPU:
      if (device_id != 0)
        {
          ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "The CPU is device 0 of its type, not %d", device_id);
          return NULL;
        }
      return ovs_device_cpu ();

    case DEVICE_CUDA_HOST: /* pinned host memory */
      return ovs_device_cpu ();

    case DEVICE_CUDA:
      ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "Device type %d (%s), device %d: no CUDA backend", device_type,
                get_type_name (device_type), device_id);
      return NULL;

    default:
      ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "Device type %d (%s) is not supported", device_type,
                get_type_name (device_type));
      return NULL;
    }
}
