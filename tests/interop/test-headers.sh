#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# Our completion of DLPack's types over a published header of it, which tvm-ffi brings: sizes, places and numbers
# are those that test-dlpack-headers.sh asks of every version.

set -u
srcdir=${OVSTAGE_SRCDIR:?}

OVSTAGE_DLPACK_INCLUDE=$("$PYTHON" -c 'import os, tvm_ffi; print(os.path.join(os.path.dirname(tvm_ffi.__file__), "include"))') || exit 99
OVSTAGE_DLPACK_NAME=tvm-ffi
export OVSTAGE_DLPACK_INCLUDE OVSTAGE_DLPACK_NAME
[ -r "$OVSTAGE_DLPACK_INCLUDE/dlpack/dlpack.h" ] || { echo "Bail out! tvm-ffi has no dlpack.h"; exit 99; }
exec sh "$srcdir/tests/test-dlpack-headers.sh"
