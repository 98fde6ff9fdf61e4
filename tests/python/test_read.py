# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Reading: groups, views and what outlives what."""

import gc
import unittest
import warnings
import weakref

import numpy as np

import ovstage
from ovstage import AttributeSemantic, DLDataType, ErrorCode, OrdinalRange, OvstageError
from support import StageCase


class Groups(StageCase):
    options = {"history_depth": 4}

    def setUp(self):
        super().setUp()
        self.a = np.arange(9, dtype=np.float32).reshape(3, 3)
        self.write(self.a, semantic=AttributeSemantic.POINT).wait()
        self.seal()

    def group(self, ordinal=1, query=None):
        with self.stage.read_attributes(query or self.query, ["a"], OrdinalRange.latest(ordinal)) as read:
            return read.fetch_next()

    def test_properties(self):
        with self.group() as group:
            self.assertEqual(group.attribute, self.paths.intern_token("a"))
            self.assertEqual(group.ordinal, 1)
            self.assertIs(group.is_delete, False)
            self.assertIs(group.is_array, False)
            self.assertIs(group.semantic, AttributeSemantic.POINT)
            self.assertEqual(group.data_type, DLDataType(2, 32, 3))
            self.assertEqual(group.prim_list, self.prims)
            self.assertEqual((group.prim_offset, group.prim_count), (0, 3))
            self.assertIs(group.has_prim_index_map, False)
            self.assertIs(group.has_data_index_map, False)
            self.assertEqual((group.tensor_count, group.data_count), (1, 3))
            self.assertEqual([group.prim_index(i) for i in range(3)], [0, 1, 2])
            self.assertEqual([group.data_row_index(np.uint8(i)) for i in range(3)], [0, 1, 2])
            self.assertEqual(group.prim_indices.tolist(), [0, 1, 2])
            self.assertEqual(group.data_rows.dtype, np.uint32)
            self.assertEqual(group.meta.write_floor, 1)
            self.assertGreater(group.meta.layout_generation, 0)

    def test_indices(self):
        with self.group() as group:
            for method in (group.prim_index, group.data_row_index, group.array, group.tensor, group.dlpack):
                with self.assertRaises(TypeError):
                    method(0.0)
                with self.assertRaises(ValueError):
                    method(-1)
                with self.assertRaises(IndexError):
                    method(3)

    def test_index_maps(self):
        with self.stage.query_from_path_list(self.paths.create_path_list([self.prims[2], self.prims[0]])) as query:
            with self.group(query=query) as group:
                found = dict(zip(group.prim_indices.tolist(), np.from_dlpack(group.dlpack(0))[group.data_rows].tolist()))
        self.assertEqual(found, {0: [6, 7, 8], 1: [0, 1, 2]})

    def test_array(self):
        with self.group() as group:
            array = group.array(0)
        np.testing.assert_array_equal(array, self.a.ravel())
        self.assertFalse(array.flags.writeable)
        for attempt in (lambda: array.setflags(write=True), lambda: array.__setitem__(0, 1)):
            with self.assertRaises(ValueError):
                attempt()
        with self.assertRaises(ValueError):
            array.flags.writeable = True
        view = array[1:]
        with self.assertRaises(ValueError):
            view.flags.writeable = True
        with self.assertRaises(TypeError):
            memoryview(array.base)[0, 0] = 1.0

    def test_vectors_are_read_only(self):
        with self.group() as group:
            for vector in (group.prim_indices, group.data_rows):
                with self.assertRaises(ValueError):
                    vector.flags.writeable = True

    def test_released(self):
        group = self.group()
        self.stage.release_group(group)
        group.release()
        for use in (
            lambda: group.ordinal,
            lambda: group.array(0),
            lambda: group.prim_list,
            lambda: group.prim_index(0),
            lambda: group.prim_indices,
        ):
            with self.assertRaises(OvstageError) as caught:
                use()
            self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        with self.assertRaises(TypeError):
            self.stage.release_group(self.query)

    def test_views_outlive_everything(self):
        stage = ovstage.Stage()
        paths = ovstage.PathDictionary(stage)
        query = stage.query_from_path_list(paths.create_path_list_from_strings(["/A", "/B"]))
        stage.write_attribute(query, "a", 1, np.array([5, 6], np.int16), is_array=False).wait()
        stage.advance_write_floor(1).wait()
        read = stage.read_attributes(query, ["a"], OrdinalRange.latest(1))
        group = read.fetch_next()
        array, exported, tensor, prims = group.array(0), group.dlpack(0), group.tensor(0), group.prim_list
        read.release()
        stage.write_attribute(query, "a", 2, np.array([7, 8], np.int16), is_array=False).wait()
        stage.advance_write_floor(2).wait()
        query.release()
        paths.release()
        stage.destroy()
        self.assertEqual(group.array(0).tolist(), [5, 6])
        group.release()
        del stage, paths, query, read, group
        gc.collect()
        self.assertEqual(array.tolist(), [5, 6])
        self.assertEqual(np.from_dlpack(exported).tolist(), [5, 6])
        self.assertEqual(ovstage.dltensor_to_numpy(tensor).tolist(), [5, 6])
        self.assertEqual(prims.strings(), ["/A", "/B"])

    def test_held_for_many_ordinals(self):
        with self.group() as group:
            array = group.array(0)
            for ordinal in range(2, 200):
                self.write(self.a + ordinal, ordinal).wait()
                self.seal(ordinal)
            np.testing.assert_array_equal(array, self.a.ravel())
            np.testing.assert_array_equal(group.array(0), self.a.ravel())

    def test_history(self):
        for ordinal in range(2, 7):
            self.write(self.a + ordinal, ordinal).wait()
            self.seal(ordinal)
        for ordinal in range(3, 7):
            np.testing.assert_array_equal(self.values(ordinal), self.a + ordinal)
        self.assert_code(self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(2)), ErrorCode.OUT_OF_RANGE)

    def test_newest_and_as_of(self):
        self.write(self.a + 1, 3).wait()
        self.seal(3)
        with self.stage.read_attributes(self.query, ["a"], OrdinalRange.newest()) as read:
            self.assertEqual(read.as_of, 3)
            for group in read.groups():
                np.testing.assert_array_equal(group.array(0), (self.a + 1).ravel())

    def test_unsealed(self):
        self.write(self.a, 2).wait()
        read = self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(2))
        self.assert_code(read, ErrorCode.WRITE_FLOOR_VIOLATION)
        for use in (read.fetch_next, lambda: next(read.groups()), lambda: read.as_of):
            with self.assertRaises(OvstageError) as caught:
                use()
            self.assertIs(caught.exception.code, ErrorCode.WRITE_FLOOR_VIOLATION)

    def test_several_attributes(self):
        names = [f"n{i}" for i in range(20)]
        for i, name in enumerate(names):
            self.write(np.full(3, i, np.int32), 2, name).wait()
        self.seal(2)
        with self.stage.read_attributes(self.query, names + ["nobody", "n0"], OrdinalRange.latest(2)) as read:
            found = [(self.paths.token_to_string(g.attribute), g.array(0)[0]) for g in read.groups()]
        self.assertEqual(found, [(name, i) for i, name in enumerate(names)])

    def test_nothing(self):
        for attributes in ([], ["nobody"]):
            with self.stage.read_attributes(self.query, attributes, OrdinalRange.latest(1)) as read:
                self.assertIsNone(read.fetch_next())
                self.assertIsNone(read.fetch_next(timeout=0))
                self.assertEqual(list(read.groups()), [])

    def test_query(self):
        self.assertEqual(self.query.prim_count, 3)
        self.assertEqual(self.query.path_list, self.prims)
        self.assertEqual(self.query.attributes, ())
        query = self.stage.query_from_path_list(self.prims)
        query.release()
        self.assert_code(self.stage.write_attribute(query, "a", 2, self.a, is_array=False), ErrorCode.INVALID_HANDLE)
        read = self.stage.read_attributes(query, ["a"], OrdinalRange.latest(1))
        self.assert_code(read, ErrorCode.INVALID_HANDLE)
        with self.assertRaises(OvstageError):
            query.prim_count


class Warnings(StageCase):
    """BEHAVIOUR "DLPack and Python" 6."""

    def setUp(self):
        super().setUp()
        self.write(np.zeros(3, np.float32)).wait()
        self.seal()

    def caught(self, make):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ResourceWarning)
            make()
            gc.collect()
        return [str(warning.message) for warning in caught]

    def start(self):
        return self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1))

    def test_dropped(self):
        def drop_group():
            with self.start() as read:
                read.fetch_next()

        for make, name in (
            (ovstage.Stage, "Stage"),
            (lambda: self.stage.query_from_path_list(self.prims), "Query"),
            (self.start, "Read"),
            (drop_group, "ReadGroup"),
        ):
            (message,) = self.caught(make)
            self.assertIn("unreleased", message)
            self.assertIn(name, message)

    def test_not_dropped(self):
        def iterate():
            for group in self.start().groups():
                group.array(0)

        def iterate_a_bit():
            for group in self.start().groups():
                break

        def exhaust():
            read = self.start()
            while True:
                group = read.fetch_next()
                if group is None:
                    break
                group.release()

        def keep():
            with self.start() as read:
                groups = list(read.groups())
            self.assertEqual([group.ordinal for group in groups], [1])

        for make in (
            iterate,
            iterate_a_bit,
            exhaust,
            keep,
            lambda: self.write(np.zeros(3, np.float32), 5),
            lambda: self.stage.advance_write_floor(5),
            lambda: ovstage.PathDictionary(self.stage),
            lambda: self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(0)).groups(),
        ):
            self.assertEqual(self.caught(make), [])

    def test_weak_references(self):
        with self.start() as read:
            for group in read.groups():
                for thing in (group, read, self.query, self.stage, self.paths, self.prims, group.tensor(0), group.dlpack(0)):
                    weakref.ref(thing)


if __name__ == "__main__":
    unittest.main()
