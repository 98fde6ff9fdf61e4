# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Batches, and arrays that are handed over."""

import gc
import threading
import unittest
import weakref

import numpy as np

import ovstage
from ovstage import AttributeSemantic, ErrorCode, OrdinalRange, PrimMode, WriteDesc
from support import Producer, StageCase


def fixed(attribute, tensors, **more):
    return WriteDesc(attribute=attribute, tensors=tensors, is_array=False, **more)


class Batches(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.array([1, 2, 3], np.float32)

    def batch(self, *writes, ordinal=1, **more):
        return self.stage.write_attributes(self.query, list(writes), ordinal, **more)

    def test_values(self):
        operation = self.batch(
            fixed("a", self.a),
            fixed("b", np.arange(9.0).reshape(3, 3)),
            fixed(self.paths.intern_token("c"), self.a[:2], index_map=[1, 1, 0]),
            fixed("d", self.a, mask=np.array([True, False, True])),
            fixed("e", self.a[:2], count=2),
            fixed("f", np.array([1, 2, 3], np.uint64), semantic=AttributeSemantic.TOKEN_ID),
        )
        operation.wait()
        self.assertGreater(operation.op_id, 0)
        self.seal()
        self.assertEqual(self.values(attribute="a").tolist(), [1, 2, 3])
        self.assertEqual(self.values(attribute="b").tolist(), np.arange(9.0).reshape(3, 3).tolist())
        self.assertEqual(self.values(attribute="c").tolist(), [2, 2, 1])
        ((_, prims, rows),) = self.read(attribute="d")
        self.assertEqual((prims, rows.tolist()), ([0, 2], [1, 3]))
        ((_, prims, rows),) = self.read(attribute="e")
        self.assertEqual((prims, rows.tolist()), ([0, 1], [1, 2]))
        with self.stage.read_attributes(self.query, ["f"], OrdinalRange.latest(1)) as read, read.fetch_next() as group:
            self.assertIs(group.semantic, AttributeSemantic.TOKEN_ID)

    def test_generator_and_nothing(self):
        self.stage.write_attributes(self.query, (fixed(name, self.a) for name in "ab"), 1).wait()
        self.batch().wait()
        self.seal()
        self.assertEqual(self.values(attribute="b").tolist(), [1, 2, 3])

    def test_all_or_none(self):
        self.assert_code(self.batch(fixed("a", self.a), fixed("b", self.a[:2])), ErrorCode.INVALID_ARGUMENT, "entry 1")
        self.assert_code(self.batch(fixed("a", self.a), fixed("a", self.a)), ErrorCode.INVALID_ARGUMENT, "'a'")
        self.assert_code(self.batch(fixed("a", self.a), fixed("usd-path", self.a)), ErrorCode.NOT_SUPPORTED, "entry 1")
        self.assert_code(self.batch(fixed("a", self.a), fixed("", self.a)), ErrorCode.INVALID_ARGUMENT, "entry 1")
        self.assert_code(self.batch(fixed("a", self.a), fixed("b", [self.a, self.a])), ErrorCode.INVALID_ARGUMENT, "entry 1")
        self.assert_code(
            self.batch(fixed("a", self.a), fixed("b", self.a), prim_mode=PrimMode.UPDATE), ErrorCode.NOT_FOUND, "entry 0"
        )
        self.assert_code(self.batch(fixed("a", self.a), ordinal=0), ErrorCode.WRITE_FLOOR_VIOLATION)
        self.seal()
        self.assertEqual(self.read(attribute="a"), [])

    def test_arguments(self):
        for writes in (None, 1, "ab", [None], [("a", self.a)], [fixed("a", self.a), {"attribute": "a"}]):
            with self.assertRaisesRegex(TypeError, "writes"):
                self.stage.write_attributes(self.query, writes, 1)
        with self.assertRaisesRegex(TypeError, "query"):
            self.stage.write_attributes(self.prims, [], 1)
        for value in (1.0, None, "1"):
            with self.assertRaisesRegex(TypeError, "ordinal"):
                self.batch(ordinal=value)
        with self.assertRaisesRegex(ValueError, "prim_mode"):
            self.batch(prim_mode=3)
        for more, kind in (
            ({"count": 0}, ValueError),
            ({"index_map": []}, ValueError),
            ({"mask": [True]}, ValueError),
            ({"mask": [1, 1, 1]}, TypeError),
            ({"semantic": 99}, ValueError),
            ({"cuda_event": -1}, ValueError),
            ({"transfer": 1}, TypeError),
        ):
            with self.assertRaises(kind) as caught:
                self.batch(fixed("a", self.a), fixed("b", self.a, **more))
            if hasattr(caught.exception, "__notes__"):
                self.assertEqual(caught.exception.__notes__, ["in writes[1]"])
        with self.assertRaisesRegex(TypeError, "is_array"):
            self.batch(WriteDesc("a", self.a, 1))
        with self.assertRaises(TypeError):
            WriteDesc(attribute="a")

    def test_destroyed_on_the_way(self):
        # Importing may run anything.
        producer = Producer(self.a)
        produce = producer.__dlpack__

        class Closing:
            def __dlpack__(_, **kwargs):
                self.stage.destroy()
                return produce(**kwargs)

        self.assert_code(self.batch(fixed("b", Closing()), fixed("a", self.a)), ErrorCode.INVALID_HANDLE)
        self.assertEqual(producer.deleted, 1)

    def test_failed_import_lets_go_of_the_others(self):
        producer = Producer(self.a)
        with self.assertRaises(TypeError):
            self.batch(fixed("a", producer), fixed("b", None))
        self.assertEqual(producer.deleted, 1)

    def test_large(self):
        names = [f"large-{i}" for i in range(20)]
        big = [np.full((self.n, 100_000), i, np.uint8) for i in range(20)]
        for ordinal in (1, 2):
            operation = self.batch(
                *(fixed(name, array[:, :60_000], transfer=i % 2 == 0) for i, (name, array) in enumerate(zip(names, big))),
                ordinal=ordinal,
            )
            operation.wait()
            self.seal(ordinal)
        for i, name in enumerate(names):
            self.assertTrue((self.values(2, name) == i).all())


class Transfer(StageCase):
    n = 1000

    def pointer(self, ordinal=1, attribute="a"):
        with self.stage.read_attributes(self.query, [attribute], OrdinalRange.latest(ordinal)) as read:
            with read.fetch_next() as group:
                return group.tensor(0).data

    def test_pointer(self):
        a = np.arange(3000, dtype=np.float32).reshape(1000, 3)
        address = a.ctypes.data
        self.write(a, transfer=True).wait()
        self.stage.write_attributes(self.query, [fixed("b", a, transfer=True), fixed("c", a)], 1).wait()
        self.seal()
        self.assertEqual(self.pointer(), address)
        self.assertEqual(self.pointer(attribute="b"), address)
        self.assertNotEqual(self.pointer(attribute="c"), address)
        self.assertTrue((self.values() == a).all())

    def test_tensor_twice(self):
        tensor = ovstage.DLTensor.from_dlpack(np.zeros(1000))
        writes = [fixed(name, tensor, transfer=True) for name in "ab"]
        self.assert_code(
            self.stage.write_attributes(self.query, writes, 1), ErrorCode.INVALID_ARGUMENT, "handed over in entry 0"
        )

    def test_copies(self):
        a = np.arange(2000, dtype=np.float32)
        for i, array in enumerate((a[::2], a[:1000][::-1])):
            self.write(array, i + 1, transfer=True).wait()
            self.seal(i + 1)
            self.assertNotEqual(self.pointer(i + 1), array.ctypes.data)
            self.assertTrue((self.values(i + 1) == array).all())

    def test_sealed_values_again(self):
        # What a read gave is memory that nobody writes to any more.
        self.write(np.arange(1000.0), attribute="a").wait()
        self.seal()
        with self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1)) as read, read.fetch_next() as group:
            self.write(group.dlpack(0), 2, "b", transfer=True).wait()
        self.write(np.zeros(1000), 2, "a").wait()
        self.seal(2)
        self.assertTrue((self.values(2, "b") == np.arange(1000.0)).all())

    def test_deleted_once(self):
        def refused(producer):
            self.assert_code(self.write(producer, 0, transfer=True), ErrorCode.WRITE_FLOOR_VIOLATION)

        def refused_before(producer):
            self.assert_code(self.write(producer, 0, attribute="", transfer=True), ErrorCode.INVALID_ARGUMENT)

        def wrong_argument(producer):
            with self.assertRaises(ValueError):
                self.write([producer], count=0, transfer=True)
            self.assertEqual(producer.calls, [])
            producer.deleted += 1  # it was not even asked

        def masked(producer):
            self.write(producer, 1, "m", transfer=True, mask=np.arange(1000) % 2 == 0).wait()

        def overwritten(producer):
            self.write(producer, 1, "o", transfer=True).wait()
            self.assertEqual(producer.deleted, 0)
            self.write(np.zeros(1000, np.float32), 1, "o").wait()

        def superseded(producer):
            self.write(producer, 2, "s", transfer=True).wait()
            self.seal(2)
            self.assertEqual(producer.deleted, 0)
            self.write(np.zeros(1000, np.float32), 3, "s").wait()
            self.seal(3)

        for act in (refused, refused_before, wrong_argument, masked, overwritten, superseded):
            with self.subTest(act.__name__):
                producer = Producer(np.arange(1000, dtype=np.float32))
                act(producer)
                self.assertEqual(producer.deleted, 1)

    def test_deleted_with_what_holds_it(self):
        producer = Producer(np.arange(1000, dtype=np.float32))
        self.write(producer, transfer=True).wait()
        self.seal()
        with self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1)) as read, read.fetch_next() as group:
            values = group.array(0)
        self.write(np.zeros(1000, np.float32), 2).wait()
        self.seal(2)
        self.assertEqual(producer.deleted, 0)
        self.assertEqual(values.ctypes.data, producer.array.ctypes.data)
        del values, group
        gc.collect()
        self.assertEqual(producer.deleted, 1)

    def test_deleted_with_the_stage(self):
        producers = [Producer(np.arange(1000, dtype=np.float32)) for _ in range(2)]
        with ovstage.Stage() as stage, ovstage.PathDictionary(stage) as paths:
            prims = paths.create_path_list_from_strings([f"/P{i}" for i in range(1000)])
            with stage.query_from_path_list(prims) as query:
                stage.write_attribute(query, "a", 1, producers[0], is_array=False, transfer=True).wait()
                stage.advance_write_floor(1).wait()
                stage.write_attribute(query, "a", 2, producers[1], is_array=False, transfer=True).wait()
            del query, prims
        gc.collect()
        self.assertEqual([producer.deleted for producer in producers], [1, 1])

    def test_array_is_let_go_of(self):
        array = np.arange(1000, dtype=np.float32)
        gone = weakref.ref(array)
        self.write(array, transfer=True).wait()
        del array
        self.assertIsNotNone(gone())
        self.seal()
        self.write(np.zeros(1000, np.float32), 2).wait()
        self.seal(2)
        self.assertIsNone(gone())

    def test_deleter_calls_in(self):
        # Deleters run with no lock held, so that they may use the stage.
        floors = []
        producer = Producer(
            np.arange(1000, dtype=np.float32), on_delete=lambda: floors.append(self.stage.get_attribute_write_floor())
        )
        self.write(producer, transfer=True).wait()
        self.seal()
        self.write(np.zeros(1000, np.float32), 2).wait()
        self.seal(2)
        self.assertEqual(floors, [2])

    def test_threads(self):
        # Arrays that go while another thread holds the interpreter and waits for the stage.
        gone = []

        def work(attribute):
            for ordinal in range(1, 60):
                array = np.full(1000, ordinal, np.float32)
                weakref.finalize(array, gone.append, 1)
                self.write(array, ordinal, attribute, transfer=True).wait()
                del array
                self.stage.advance_write_floor(ordinal, scope=ovstage.Scope.INCLUDE, attributes=[attribute]).wait()

        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(gone), 3 * 58)
        self.assertTrue((self.values(59, "b") == 59).all())

    def test_argument(self):
        for value in (1, None, "yes", np.bool_(True)):
            with self.assertRaisesRegex(TypeError, "transfer"):
                self.write(np.zeros(1000), transfer=value)


class GObject(StageCase):
    """The same by PyGObject: two arrays, each with its length."""

    def test_write_attributes(self):
        try:
            stage = self.stage.gobject
        except (ImportError, ValueError) as error:
            self.skipTest(str(error))
        from gi.repository import GLib, Ovstage

        dtype = Ovstage.DataType.parse("float32")
        tensors = [Ovstage.Tensor.new_for_bytes(GLib.Bytes(np.full(3, i, np.float32).tobytes()), dtype, [3]) for i in range(2)]
        datas = [Ovstage.WriteData.new(tensors[0]), Ovstage.WriteData.new_take(tensors[1])]
        dictionary = stage.get_path_dictionary()
        tokens = [dictionary.intern_token(name) for name in "ab"]
        query = stage.query_path_list(dictionary.create_path_list([f"/World/P{i}" for i in range(3)]))
        operation = stage.write_attributes(query, tokens, datas, 1, Ovstage.PrimMode.UPSERT, None)
        self.assertTrue(operation.wait(-1, None))
        self.seal()
        self.assertEqual(self.values(attribute="a").tolist(), [0, 0, 0])
        self.assertEqual(self.values(attribute="b").tolist(), [1, 1, 1])
        with self.assertRaisesRegex(GLib.Error, "expected 2"):
            stage.write_attributes(query, tokens, datas[:1], 2, Ovstage.PrimMode.UPSERT, None).wait(0, None)


if __name__ == "__main__":
    unittest.main()
