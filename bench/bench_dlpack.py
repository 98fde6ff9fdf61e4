# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Tensors across the boundary, by DLPack's exchange table and without it.

The measuring is done in C, by bench-dlpack.c, whose folder is the first argument. tvm-ffi is
there in the interpreter of ``make bench-dlpack``, which ``./quickstart check-interop`` makes.
"""

import sys

sys.path.insert(0, sys.argv[1])

import numpy as np

import bench_dlpack_c
import ovstage

try:
    import tvm_ffi
except ImportError:
    tvm_ffi = None
    print("(tvm-ffi is not installed: no comparison with its table)")

array = np.zeros((1000, 3), np.float32)
with ovstage.Stage() as stage, ovstage.PathDictionary(stage) as paths:
    with stage.query_from_path_list(paths.create_path_list_from_strings([f"/P{i}" for i in range(1000)])) as query:
        stage.write_attribute(query, "points", 1, array, is_array=False).wait()
        stage.advance_write_floor(1).wait()
        with stage.read_attributes(query, ["points"], ovstage.OrdinalRange.latest(1)) as read:
            with read.fetch_next() as group:
                tensor = group.dlpack(0)
    other = tvm_ffi.core.DLTensorTestWrapper(tvm_ffi.from_dlpack(array)) if tvm_ffi is not None else None
    their_import = tvm_ffi.from_dlpack if tvm_ffi is not None else None
    bench_dlpack_c.run(tensor, array, other, ovstage.DLTensor.from_dlpack, np.from_dlpack, their_import)
