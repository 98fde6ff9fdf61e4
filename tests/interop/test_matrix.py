# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Every data type and layout, into a stage and out of it, with every library of frameworks.py.

What came out is written to interop.md in the build folder.
"""

import gc
import os
import unittest

import ml_dtypes
import numpy as np
import pyarrow
import warp

import ovstage
from frameworks import BASE, DTYPES, FRAMEWORKS, LAYOUTS, SMALL_FLOATS, Arrow, Numpy, Strict, TvmFfi, Warp, dtype, raw, record, tensor_of, values
from ovstage import DLDataType, DLTensor, OrdinalRange
from support import StageCase


def tearDownModule():
    record.write(os.path.join(os.environ.get("OVSTAGE_BUILDDIR", "."), "interop.md"))


def address(array):
    return array.__array_interface__["data"][0]


class Matrix(StageCase):
    n = 4

    def tell(self, part, row, framework, expected, exchange):
        """Runs an exchange, which gives the text of its cell, and compares with what is known of the framework."""
        with self.subTest(part=part, row=row, framework=framework.name):
            try:
                text = exchange()
            except Exception:
                if expected:
                    raise
                text = "no"
            else:
                self.assertTrue(expected, "it works now: frameworks.py says otherwise")
            record.note(part, row, framework.name, text)

    def written(self, source, name):
        self.write(source, 1, name).wait()
        self.seal(1, scope=ovstage.Scope.INCLUDE, attributes=[name])
        with self.stage.read_attributes(self.query, [name], OrdinalRange.latest(1)) as read:
            with read.fetch_next() as group:
                return group.dlpack(0), group.array(0)

    def test_types_in(self):
        for name in DTYPES:
            for framework in FRAMEWORKS:
                array = values(name, 4)

                def exchange():
                    made = framework.make(array)
                    tensor = DLTensor.from_dlpack(made)
                    self.assertEqual((str(tensor.dtype), tensor.shape), (name, (4,)))
                    exported, got = self.written(made, f"in {name} {framework.name}")
                    self.assertEqual(str(exported.dtype), name)
                    self.assertEqual(raw(got), raw(array))
                    return "yes"

                self.tell("Data types, in", name, framework, name not in framework.lacks, exchange)

    def test_types_out(self):
        for name in DTYPES:
            array = values(name, 4)
            exported, got = self.written(array, f"out {name}")
            self.assertEqual(raw(got), raw(array))
            for framework in FRAMEWORKS:

                def exchange():
                    taken = framework.take(exported)
                    shown = framework.show(taken)
                    self.assertEqual(raw(shown), raw(array))
                    return "yes" if address(shown) == exported.data else "copy"

                self.tell("Data types, out", name, framework, name not in framework.takes_not, exchange)

    def test_layouts_in(self):
        for layout, array in LAYOUTS.items():
            for framework in FRAMEWORKS:

                def exchange():
                    made = framework.make(array)
                    tensor = DLTensor.from_dlpack(made)
                    self.assertEqual(tensor.shape, array.shape)
                    self.assertEqual(np.asarray(tensor).tolist(), array.tolist())
                    shared = tensor.data == address(array)
                    if framework.keeps_strides:
                        self.assertTrue(shared)
                    return "yes" if shared else "yes, its own"

                self.tell("Layouts, in", layout, framework, layout not in framework.layouts_not, exchange)

    def test_layouts_written(self):
        # What a stage makes of them.
        for layout in ("sliced", "strided", "reversed", "broadcast", "matrix", "transposed"):
            array = LAYOUTS[layout]
            rows = array.shape[0]
            prims = self.paths.create_path_list_from_strings([f"/{layout}/P{i}" for i in range(rows)])
            for framework in FRAMEWORKS:
                if layout in framework.layouts_not:
                    continue
                with self.subTest(layout=layout, framework=framework.name), self.stage.query_from_path_list(prims) as query:
                    name = f"written {layout} {framework.name}"
                    self.stage.write_attribute(query, name, 1, framework.make(array), is_array=False).wait()
                    self.seal(1, scope=ovstage.Scope.INCLUDE, attributes=[name])
                    with self.stage.read_attributes(query, [name], OrdinalRange.latest(1)) as read:
                        with read.fetch_next() as group:
                            got = np.from_dlpack(group.dlpack(0))
                            self.assertEqual(got.tolist(), array.tolist())

    def test_layouts_out(self):
        for layout, array in LAYOUTS.items():
            for framework in FRAMEWORKS:
                tensor, producer = tensor_of(array)

                def exchange():
                    taken = framework.take(tensor)
                    shown = framework.show(taken)
                    self.assertEqual((shown.shape, shown.tolist()), (array.shape, array.tolist()))
                    return "yes" if address(shown) == tensor.data or array.size == 0 else "copy"

                self.tell("Layouts, out", layout, framework, layout not in framework.takes_layouts_not, exchange)
                del tensor
                gc.collect()
                self.assertEqual(producer.deleted, 1)

    def test_read_only_out(self):
        exported, _ = self.written(np.zeros(4, np.float32), "read-only")
        for framework in FRAMEWORKS:

            def exchange():
                writeable = framework.show(framework.take(exported)).flags.writeable
                self.assertEqual(writeable, framework.read_only == "lost")
                return f"flag {framework.read_only}"

            self.tell("Layouts, out", "read-only", framework, True, exchange)

    def test_read_only_in(self):
        array = np.arange(4, dtype=np.float32)
        array.flags.writeable = False
        self.assertTrue(DLTensor.from_dlpack(array).readonly)
        self.assertTrue(DLTensor.from_dlpack(pyarrow.array(array)).readonly)

    def test_vectors_out(self):
        array = np.arange(12, dtype=np.float32).reshape(4, 3)
        exported, _ = self.written(array, "vectors")
        self.assertEqual(exported.dtype, (2, 32, 3))
        for framework in FRAMEWORKS:

            def exchange():
                shown = framework.show(framework.take(exported))
                self.assertEqual((shown.shape, shown.tolist()), ((4, 3), array.tolist()))
                return "yes"

            self.tell("Layouts, out", "lanes > 1, as an axis", framework, True, exchange)
        taken = warp.from_dlpack(exported, dtype=warp.vec3)
        self.assertEqual((taken.shape, taken.ptr), ((4,), exported.data))
        np.testing.assert_array_equal(taken.numpy(), array)

    def test_vectors_in(self):
        float3 = DLDataType(2, 32, 3)
        array = np.arange(12, dtype=np.float32).reshape(4, 3)
        for framework in FRAMEWORKS:

            def exchange():
                made = framework.make(array)
                tensor = ovstage.make_dltensor(made, dtype=float3)
                self.assertEqual((tensor.shape, tensor.dtype), ((4,), float3))
                _, got = self.written(tensor, f"vectors {framework.name}")
                self.assertEqual(got.tolist(), array.ravel().tolist())
                return "yes"

            self.tell("Layouts, in", "vec3, folded", framework, not isinstance(framework, Arrow), exchange)
        for made in (warp.array(array, dtype=warp.vec3, device="cpu"), warp.zeros(0, dtype=warp.vec3, device="cpu")):
            tensor = ovstage.make_dltensor(made, dtype=float3)
            self.assertEqual((tensor.shape, tensor.dtype), (made.shape, float3))
        matrices = warp.zeros(4, dtype=warp.mat44, device="cpu")
        self.assertEqual(ovstage.make_dltensor(matrices, dtype=DLDataType(2, 32, 16)).shape, (4,))
        quaternions = warp.zeros((2, 4), dtype=warp.quat, device="cpu")
        self.assertEqual(ovstage.make_dltensor(quaternions[:, ::2], dtype=DLDataType(2, 32, 4)).strides, (4, 2))

    def test_big_endian(self):
        for name in (">f4", ">i8", ">u2", ">c8"):
            with self.assertRaisesRegex(BufferError, "big-endian"):
                self.write(np.zeros(4, name))
        framework = Numpy()
        with self.assertRaisesRegex(BufferError, "big-endian"):
            DLTensor.from_dlpack(np.zeros(4, ">f4"))
        record.note("Layouts, in", "big-endian", framework.name, "refused by name")

    def test_types_below_a_byte(self):
        # One per byte in ml_dtypes, which numpy's interfaces cannot tell.
        for name in ("int4", "uint4", "float4_e2m1fn", "float6_e2m3fn"):
            with self.assertRaises(BufferError):
                self.write(np.zeros(4, getattr(ml_dtypes, name)))

    def test_small_floats_by_array(self):
        for name in SMALL_FLOATS:
            _, got = self.written(values(name, 4), f"array {name}")
            self.assertEqual(got.dtype, dtype(name))

    def test_copies(self):
        exported, _ = self.written(np.arange(4, dtype=np.float32), "copies")
        for copy in (True, False, None):
            array = np.from_dlpack(exported, copy=copy)
            self.assertEqual(address(array) == exported.data, copy is not True)
            self.assertEqual(array.flags.writeable, copy is True)
        self.assertEqual(address(np.from_dlpack(exported, device="cpu")), exported.data)

    def test_legacy_consumers(self):
        # tvm-ffi takes legacy capsules where there is no table.
        exported, _ = self.written(np.arange(4, dtype=np.float32), "legacy")

        class Bare:
            __dlpack__ = exported.__dlpack__
            __dlpack_device__ = exported.__dlpack_device__

        framework = TvmFfi()
        self.assertEqual(framework.show(framework.take(Bare())).tolist(), [0, 1, 2, 3])

    def test_maps(self):
        """Who can write to what it takes fills the memory of a map."""
        for framework in (Numpy(), Warp(), TvmFfi(), Strict()):
            with self.subTest(framework=framework.name):
                name = f"map {framework.name}"
                with self.stage.map_attribute(self.query, name, 1, dtype=DLDataType(2, 32, 3)) as map:
                    for group in map.groups():
                        exported = group.dlpack(0)
                        self.assertFalse(exported.readonly)
                        shown = framework.show(framework.take(exported))
                        self.assertEqual((shown.shape, address(shown)), ((4, 3), exported.data))
                        shown[...] = BASE.reshape(4, 3)
                        with self.assertRaises(ValueError):
                            np.from_dlpack(group.dlpack(0, readonly=True))[...] = 0
                    self.stage.unmap_attribute(map).wait()
                self.seal(1, scope=ovstage.Scope.INCLUDE, attributes=[name])
                self.assertEqual(self.values(1, name).tolist(), BASE.reshape(4, 3).tolist())

    def test_array_attributes(self):
        """Rows of different lengths, one tensor each."""
        rows = [values("float32", n) for n in (1, 3, 0, 2)]
        for framework in FRAMEWORKS:
            with self.subTest(framework=framework.name):
                name = f"rows {framework.name}"
                self.write([framework.make(row) for row in rows], 1, name, is_array=True).wait()
                self.seal(1, scope=ovstage.Scope.INCLUDE, attributes=[name])
                with self.stage.read_attributes(self.query, [name], OrdinalRange.latest(1)) as read:
                    for group in read.groups():
                        got = [framework.show(framework.take(group.dlpack(i))).tolist() for i in range(group.tensor_count)]
                        self.assertEqual(got, [row.tolist() for row in rows])

    def test_warp_kernels(self):
        exported, _ = self.written(BASE.reshape(4, 3), "points")
        points = warp.from_dlpack(exported, dtype=warp.vec3)
        lengths = warp.empty(4, dtype=warp.float32, device="cpu")
        warp.map(warp.length, points, out=lengths)
        self.write(lengths, 2, "lengths").wait()
        self.seal(2)
        np.testing.assert_allclose(self.values(2, "lengths"), np.linalg.norm(BASE.reshape(4, 3), axis=1), rtol=1e-6)
        self.assertIsInstance(points.numpy(), np.ndarray)
        self.assertEqual(Warp().show(points).shape, (4, 3))


if __name__ == "__main__":
    unittest.main()
