#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# <ovstage/ovstage-dlpack-types.h> makes one and the same DLPack of every version
# of <dlpack/dlpack.h>. Stand-ins say which names each version has; the
# installed header is tried as well.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

cc=${CC:-cc}
cxx=${CXX:-c++}

# stand_in DIRECTORY VERSION: major times 100 plus minor for 1.x, as DLPACK_VERSION before
stand_in ()
{
  v=$2
  mkdir -p "$1/dlpack"
  {
    echo '#ifndef DLPACK_DLPACK_H_'
    echo '#define DLPACK_DLPACK_H_'
    if [ "$v" -lt 100 ]; then
      echo "#define DLPACK_VERSION $v"
    else
      echo '#define DLPACK_MAJOR_VERSION 1'
      echo "#define DLPACK_MINOR_VERSION $((v - 100))"
    fi
    echo '#include <stdint.h>'
    echo '#include <stddef.h>'
    echo '#ifdef __cplusplus'
    echo 'extern "C" {'
    echo '#endif'
    [ "$v" -lt 100 ] || echo 'typedef struct { uint32_t major; uint32_t minor; } DLPackVersion;'
    # C++ gets a fixed size from 0.8 on.
    echo '#ifdef __cplusplus'
    if [ "$v" -ge 80 ]; then echo 'typedef enum : int32_t {'; else echo 'typedef enum {'; fi
    echo '#else'
    echo 'typedef enum {'
    echo '#endif'
    echo '  kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4, kDLVulkan = 7, kDLMetal = 8, kDLVPI = 9,'
    echo '  kDLROCM = 10, kDLROCMHost = 11, kDLExtDev = 12, kDLCUDAManaged = 13,'
    [ "$v" -lt 70 ] || echo '  kDLOneAPI = 14, kDLWebGPU = 15, kDLHexagon = 16,'
    [ "$v" -lt 100 ] || echo '  kDLMAIA = 17,'
    [ "$v" -lt 102 ] || echo '  kDLTrn = 18,'
    echo '} DLDeviceType;'
    echo 'typedef struct { DLDeviceType device_type; int32_t device_id; } DLDevice;'
    echo 'typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLOpaqueHandle = 3U, kDLBfloat = 4U, kDLComplex = 5U,'
    [ "$v" -lt 80 ] || echo '  kDLBool = 6U,'
    if [ "$v" -ge 101 ]; then
      echo '  kDLFloat8_e3m4 = 7U, kDLFloat8_e4m3 = 8U, kDLFloat8_e4m3b11fnuz = 9U, kDLFloat8_e4m3fn = 10U,'
      echo '  kDLFloat8_e4m3fnuz = 11U, kDLFloat8_e5m2 = 12U, kDLFloat8_e5m2fnuz = 13U, kDLFloat8_e8m0fnu = 14U,'
      echo '  kDLFloat6_e2m3fn = 15U, kDLFloat6_e3m2fn = 16U, kDLFloat4_e2m1fn = 17U,'
    fi
    echo '} DLDataTypeCode;'
    echo 'typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;'
    echo 'typedef struct { void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape; int64_t *strides;'
    echo '  uint64_t byte_offset; } DLTensor;'
    echo 'typedef struct DLManagedTensor { DLTensor dl_tensor; void *manager_ctx;'
    echo '  void (*deleter) (struct DLManagedTensor *self); } DLManagedTensor;'
    if [ "$v" -ge 100 ]; then
      echo '#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)'
      echo '#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)'
      [ "$v" -lt 101 ] || echo '#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)'
      [ "$v" -lt 102 ] || printf 'typedef '
      echo 'struct DLManagedTensorVersioned { DLPackVersion version; void *manager_ctx;'
      echo '  void (*deleter) (struct DLManagedTensorVersioned *self); uint64_t flags; DLTensor dl_tensor; }'
      [ "$v" -lt 102 ] || echo 'DLManagedTensorVersioned'
      echo ';'
    fi
    if [ "$v" -ge 102 ]; then
      echo 'typedef int (*DLPackManagedTensorAllocator) (DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,'
      echo '  void (*SetError) (void *error_ctx, const char *kind, const char *message));'
      echo 'typedef int (*DLPackManagedTensorFromPyObjectNoSync) (void *py_object, DLManagedTensorVersioned **out);'
      echo 'typedef int (*DLPackDLTensorFromPyObjectNoSync) (void *py_object, DLTensor *out);'
      echo 'typedef int (*DLPackCurrentWorkStream) (DLDeviceType device_type, int32_t device_id, void **out_current_stream);'
      echo 'typedef int (*DLPackManagedTensorToPyObjectNoSync) (DLManagedTensorVersioned *tensor, void **out_py_object);'
      echo 'typedef struct DLPackExchangeAPIHeader { DLPackVersion version; struct DLPackExchangeAPIHeader *prev_api; }'
      echo '  DLPackExchangeAPIHeader;'
      echo 'typedef struct DLPackExchangeAPI { DLPackExchangeAPIHeader header;'
      echo '  DLPackManagedTensorAllocator managed_tensor_allocator;'
      echo '  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;'
      echo '  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;'
      echo '  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;'
      echo '  DLPackCurrentWorkStream current_work_stream; } DLPackExchangeAPI;'
    fi
    echo '#ifdef __cplusplus'
    echo '}'
    echo '#endif'
    echo '#endif'
  } >"$1/dlpack/dlpack.h"
}

# What has to be there, whatever the header under it.
cat >"$TMPDIR/use.c" <<'EOF'
#include <ovstage/ovstage-dlpack-types.h>
#include <ovstage/ovstage-dlpack-types.h>

#ifdef __cplusplus
#define ASSERT(what) static_assert (what, #what)
#else
#define ASSERT(what) _Static_assert (what, #what)
#endif

ASSERT (kDLOneAPI == 14 && kDLWebGPU == 15 && kDLHexagon == 16 && kDLMAIA == 17 && kDLTrn == 18);
ASSERT (kDLBool == 6 && kDLFloat8_e3m4 == 7 && kDLFloat8_e4m3 == 8 && kDLFloat8_e4m3b11fnuz == 9);
ASSERT (kDLFloat8_e4m3fn == 10 && kDLFloat8_e4m3fnuz == 11 && kDLFloat8_e5m2 == 12 && kDLFloat8_e5m2fnuz == 13);
ASSERT (kDLFloat8_e8m0fnu == 14 && kDLFloat6_e2m3fn == 15 && kDLFloat6_e3m2fn == 16 && kDLFloat4_e2m1fn == 17);
ASSERT (DLPACK_FLAG_BITMASK_READ_ONLY == 1 && DLPACK_FLAG_BITMASK_IS_COPIED == 2);
ASSERT (DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED == 4);

ASSERT (sizeof (DLPackVersion) == 8 && offsetof (DLPackVersion, minor) == 4);
ASSERT (offsetof (DLManagedTensorVersioned, manager_ctx) == 8);
ASSERT (offsetof (DLManagedTensorVersioned, deleter) == 8 + sizeof (void *));
ASSERT (offsetof (DLManagedTensorVersioned, flags) == 8 + 2 * sizeof (void *));
ASSERT (offsetof (DLManagedTensorVersioned, dl_tensor) == 16 + 2 * sizeof (void *));

ASSERT (offsetof (DLPackExchangeAPIHeader, prev_api) == 8);
ASSERT (sizeof (DLPackExchangeAPIHeader) == 8 + sizeof (void *));
ASSERT (offsetof (DLPackExchangeAPI, managed_tensor_allocator) == 8 + sizeof (void *));
ASSERT (offsetof (DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 8 + 2 * sizeof (void *));
ASSERT (offsetof (DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 8 + 3 * sizeof (void *));
ASSERT (offsetof (DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 8 + 4 * sizeof (void *));
ASSERT (offsetof (DLPackExchangeAPI, current_work_stream) == 8 + 5 * sizeof (void *));
ASSERT (sizeof (DLPackExchangeAPI) == 8 + 6 * sizeof (void *));

static int
allocate (DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
          void (*SetError) (void *error_ctx, const char *kind, const char *message))
{
  (void) prototype;
  *out = NULL;
  SetError (error_ctx, "MemoryError", "none left");
  return -1;
}

static int
from_object (void *object, DLManagedTensorVersioned **out)
{
  *out = (DLManagedTensorVersioned *) object;
  return 0;
}

static int
to_object (DLManagedTensorVersioned *tensor, void **out)
{
  *out = tensor;
  return 0;
}

static int
view_object (void *object, DLTensor *out)
{
  *out = ((struct DLManagedTensorVersioned *) object)->dl_tensor;
  return 0;
}

static int
work_stream (DLDeviceType device_type, int32_t device_id, void **out)
{
  (void) device_id;
  *out = NULL;
  return device_type == kDLCPU ? 0 : -1;
}

DLPackExchangeAPI table = { { { 1, 2 }, NULL }, allocate, from_object, to_object, view_object, work_stream };
EOF

cp "$TMPDIR/use.c" "$TMPDIR/use.cc"
flags="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$srcdir/include"

have_cxx=no
echo 'int main () { return 0; }' >"$TMPDIR/probe.cc"
"$cxx" -fsyntax-only "$TMPDIR/probe.cc" 2>/dev/null && have_cxx=yes

# shellcheck disable=SC2086
try ()
{
  name=$1
  shift
  check "$name in C11" $cc -std=c11 $flags "$@" "$TMPDIR/use.c"
  if [ "$have_cxx" = yes ]; then
    check "$name in C++11" $cxx -std=c++11 $flags "$@" "$TMPDIR/use.cc"
  else
    skip "$name in C++11" "no C++ compiler"
  fi
}

for version in 60 70 80 100 101 102 103; do
  stand_in "$TMPDIR/$version" "$version"
  try "DLPack $version" -isystem "$TMPDIR/$version"
done
try "the installed DLPack"
# Another one that is there, by the folder of its dlpack/dlpack.h.
[ -z "${OVSTAGE_DLPACK_INCLUDE:-}" ] || try "the DLPack of ${OVSTAGE_DLPACK_NAME:-$OVSTAGE_DLPACK_INCLUDE}" -isystem "$OVSTAGE_DLPACK_INCLUDE"
plan
