/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* DLPack's types: the <dlpack/dlpack.h> of the system, completed up to DLPack
 * 1.3 where the installed one is older (0.6 and later are known). Needs libc
 * and that header only, in C99 or C++11. */

#pragma once

#ifndef __GI_SCANNER__

#include <dlpack/dlpack.h>
#include <stdint.h>

/* What the installed header is: DLPACK_VERSION went away with 1.0. */
#if defined(DLPACK_MAJOR_VERSION)
#define OVSTAGE_DLPACK_INSTALLED (DLPACK_MAJOR_VERSION * 100 + DLPACK_MINOR_VERSION)
#elif defined(DLPACK_VERSION)
#define OVSTAGE_DLPACK_INSTALLED DLPACK_VERSION
#else
#error "<dlpack/dlpack.h> is older than 0.6"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if OVSTAGE_DLPACK_INSTALLED < 70
enum
{
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
};
#endif

#if OVSTAGE_DLPACK_INSTALLED < 80
enum
{
  kDLBool = 6,
};
#endif

#if OVSTAGE_DLPACK_INSTALLED < 100
enum
{
  kDLMAIA = 17,
};

typedef struct
{
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

struct DLManagedTensorVersioned
{
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter) (struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};
#endif

#if OVSTAGE_DLPACK_INSTALLED < 101
enum
{
  kDLFloat8_e3m4 = 7,
  kDLFloat8_e4m3 = 8,
  kDLFloat8_e4m3b11fnuz = 9,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17,
};
#endif

#ifndef DLPACK_FLAG_BITMASK_READ_ONLY
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#endif
#ifndef DLPACK_FLAG_BITMASK_IS_COPIED
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#endif
#ifndef DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)
#endif

#if OVSTAGE_DLPACK_INSTALLED < 102
enum
{
  kDLTrn = 18,
};

/* 1.0 and 1.1 have the struct without its typedef. */
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;

typedef int (*DLPackManagedTensorAllocator) (DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                                             void (*SetError) (void *error_ctx, const char *kind, const char *message));
typedef int (*DLPackManagedTensorFromPyObjectNoSync) (void *py_object, DLManagedTensorVersioned **out);
typedef int (*DLPackManagedTensorToPyObjectNoSync) (DLManagedTensorVersioned *tensor, void **out_py_object);
typedef int (*DLPackDLTensorFromPyObjectNoSync) (void *py_object, DLTensor *out);
typedef int (*DLPackCurrentWorkStream) (DLDeviceType device_type, int32_t device_id, void **out_current_stream);

typedef struct DLPackExchangeAPIHeader
{
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

typedef struct DLPackExchangeAPI
{
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;
#endif

#ifdef __cplusplus
}
#endif

#endif /* __GI_SCANNER__ */
