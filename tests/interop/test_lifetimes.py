# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""A hundred thousand tensors of each kind in and out: nothing grows, and every deleter runs once."""

import array
import ctypes
import gc
import unittest
import weakref

import numpy as np

import ovstage
from frameworks import FRAMEWORKS, TvmFfiTable, Warp, jax, pyarrow, tvm_ffi, warp
from ovstage import DLDataType, DLTensor, OrdinalRange
from support import DELETER, EXCHANGE, FROM_OBJECT, LEGACY, VERSIONED, DLPackExchangeAPI, GrowthCase, Producer, capsule, exchange_of, steal
from support import DLTensor as CTensor

TIMES = 100_000
ours = exchange_of(ovstage.ManagedDLTensor)


class Counted:
    """A producer whose struct is made once, and whose deleter only counts."""

    def __init__(self, values, **kwargs):
        self.producer = Producer(values, has_deleter=False, **kwargs)
        self.address = self.producer.address()
        self.deleted = 0
        self.deleter = DELETER(self.delete)
        self.producer._kept[-1].deleter = self.deleter
        self.name = VERSIONED if self.producer.versioned else LEGACY

    def delete(self, pointer):
        self.deleted += 1

    def __dlpack__(self, **kwargs):
        return capsule(self.address, self.name)

    def __dlpack_device__(self):
        return (1, 0)


def table_of(counted):
    """An object of a type that has a table only."""

    def from_object(object, out):
        out[0] = counted.address
        return 0

    api = DLPackExchangeAPI(major=1, minor=2)
    api.from_object = FROM_OBJECT(from_object)
    kept = (api, api.from_object)
    return type("Table", (), {"__dlpack_c_exchange_api__": capsule(ctypes.addressof(api), EXCHANGE), "kept": kept})()


class Imports(GrowthCase):
    def setUp(self):
        super().setUp()
        self.a = np.arange(3, dtype=np.float32)

    def counted(self, counted, source):
        once = DLTensor.from_dlpack
        self.assert_no_growth(lambda i: once(source), TIMES)
        self.assertEqual(counted.deleted, TIMES)

    def test_versioned(self):
        counted = Counted(self.a)
        self.counted(counted, counted)

    def test_legacy(self):
        counted = Counted(self.a, versioned=False)
        self.counted(counted, counted)

    def test_tables(self):
        counted = Counted(self.a)
        self.counted(counted, table_of(counted))

    def test_capsules(self):
        counted = Counted(self.a)
        self.assert_no_growth(lambda i: DLTensor.from_dlpack(counted.__dlpack__()), TIMES)
        self.assertEqual(counted.deleted, TIMES)

    def test_our_table(self):
        counted = Counted(self.a)
        self.assert_no_growth(lambda i: steal(counted.address), TIMES)
        self.assertEqual(counted.deleted, TIMES)

    def test_refused(self):
        counted = Counted(self.a, shape=(-1,), strides=None)

        def once(i):
            try:
                DLTensor.from_dlpack(counted)
            except ovstage.OvstageError:
                pass

        self.assert_no_growth(once, TIMES)
        self.assertEqual(counted.deleted, TIMES)

    def test_writes(self):
        counted = Counted(self.a)
        for name, source in (("by capsule", counted), ("by table", table_of(counted))):
            counted.deleted = 0

            def once(i):
                self.write(source, i + 1, name, transfer=i % 2 == 1)
                if i % 10 == 0:
                    self.seal(i + 1)

            self.assert_no_growth(once, TIMES, limit=8 << 20)
            # A write that handed its memory over keeps it, until a later value takes its place.
            self.seal(TIMES + 1)
            self.write(self.a, TIMES + 2, name)
            self.seal(TIMES + 2)
            gc.collect()
            self.assertEqual(counted.deleted, TIMES)

    def test_buffers(self):
        for source in (b"abc", array.array("d", [1, 2]), memoryview(bytearray(6))[::2]):
            self.assert_no_growth(lambda i: DLTensor.from_dlpack(source), TIMES)

    def test_folds(self):
        points = np.zeros((4, 3), np.float32)
        float3 = DLDataType(2, 32, 3)
        self.assert_no_growth(lambda i: ovstage.make_dltensor(points, float3), TIMES)

    def test_frameworks(self):
        for framework in FRAMEWORKS:
            with self.subTest(framework.name):
                made = framework.make(self.a)
                # Warp's part is Python code.
                n = TIMES // 10 if isinstance(framework, Warp) else TIMES
                self.assert_no_growth(lambda i: DLTensor.from_dlpack(made), n)
                alive = weakref.ref(DLTensor.from_dlpack(made))
                self.assertIsNone(alive())


class Exports(GrowthCase):
    def setUp(self):
        super().setUp()
        self.counted = Counted(np.arange(6, dtype=np.float32).reshape(2, 3))
        self.tensor = steal(self.counted.address)

    def loop(self, once, n=TIMES):
        self.assert_no_growth(lambda i: once(), n)
        self.assertEqual(self.counted.deleted, 0)
        del self.tensor
        gc.collect()
        self.assertEqual(self.counted.deleted, 1)

    def test_capsules_dropped(self):
        def once():
            self.tensor.__dlpack__()
            self.tensor.__dlpack__(max_version=(1, 0))

        self.loop(once)

    def test_copies_dropped(self):
        def once():
            self.tensor.__dlpack__(copy=True)
            self.tensor.__dlpack__(max_version=(1, 0), copy=True)

        self.loop(once)

    def test_capsules_taken(self):
        self.loop(lambda: np.from_dlpack(self.tensor))

    def test_copies_taken(self):
        self.loop(lambda: np.from_dlpack(self.tensor, copy=True))

    def test_taken_back(self):
        def once():
            DLTensor.from_dlpack(self.tensor.__dlpack__())
            DLTensor.from_dlpack(self.tensor.__dlpack__(max_version=(1, 0)))

        self.loop(once)

    def test_table(self):
        out, lent = ctypes.c_void_p(), CTensor()

        def once():
            ours.from_object(self.tensor, ctypes.byref(out))
            steal(out)
            ours.lend(self.tensor, ctypes.byref(lent))

        self.loop(once)

    def test_table_several_at_once(self):
        outs = [ctypes.c_void_p() for _ in range(3)]

        def once():
            for out in outs:
                ours.from_object(self.tensor, ctypes.byref(out))
            for out in outs:
                steal(out)

        self.loop(once)

    def test_buffers(self):
        def once():
            memoryview(self.tensor)
            np.asarray(self.tensor)

        self.loop(once)

    def test_array_interface(self):
        self.loop(lambda: self.tensor.__array_interface__)

    def test_tvm_functions(self):
        # Ours in by the table and back by the table.
        echo = TvmFfiTable.echo
        self.loop(lambda: echo(self.tensor))

    def test_tvm(self):
        self.loop(lambda: tvm_ffi.from_dlpack(self.tensor))

    def test_jax(self):
        self.loop(lambda: jax.dlpack.from_dlpack(self.tensor))

    def test_warp(self):
        self.loop(lambda: warp.from_dlpack(self.tensor), TIMES // 10)

    def test_arrow(self):
        self.loop(lambda: pyarrow.py_buffer(self.tensor))


class Held(GrowthCase):
    """What others hold of a stage lives on its own."""

    def test_views_outlive_everything(self):
        values = np.arange(12, dtype=np.float32).reshape(4, 3)
        for framework in FRAMEWORKS:
            with self.subTest(framework.name):
                stage = ovstage.Stage()
                paths = ovstage.PathDictionary(stage)
                query = stage.query_from_path_list(paths.create_path_list_from_strings([f"/P{i}" for i in range(4)]))
                stage.write_attribute(query, "a", 1, values, is_array=False).wait()
                stage.advance_write_floor(1).wait()
                with stage.read_attributes(query, ["a"], OrdinalRange.latest(1)) as read:
                    with read.fetch_next() as group:
                        taken = framework.take(group.dlpack(0))
                stage.write_attribute(query, "a", 2, values * 0, is_array=False).wait()
                stage.advance_write_floor(2).wait()
                query.release()
                paths.release()
                stage.destroy()
                del stage, paths, query, read, group
                gc.collect()
                self.assertEqual(framework.show(taken).tolist(), values.tolist())

    def test_sources_of_handed_over_memory(self):
        for framework in FRAMEWORKS:
            if not framework.keeps_strides:
                continue
            with self.subTest(framework.name):
                source = np.arange(1, 4, dtype=np.float32)
                alive = weakref.ref(source)
                name = f"taken {framework.name}"
                self.write(framework.make(source), 1, name, transfer=True).wait()
                self.seal(1, scope=ovstage.Scope.INCLUDE, attributes=[name])
                del source
                gc.collect()
                self.assertEqual(self.values(1, name).tolist(), [1, 2, 3])
                self.write(np.zeros(3, np.float32), 2, name).wait()
                self.seal(2, scope=ovstage.Scope.INCLUDE, attributes=[name])
                gc.collect()
                self.assertIsNone(alive())


if __name__ == "__main__":
    unittest.main()
