# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Deleting attributes and whole prims, and writing them again."""

import unittest

import numpy as np

import ovstage
from ovstage import ErrorCode, PrimMode
from support import StageCase


class Deletes(StageCase):
    def setUp(self):
        super().setUp()
        self.two = self.sub_query("/World/P1")

    def tearDown(self):
        self.two.release()
        super().tearDown()

    def sub_query(self, *paths):
        path_list = self.paths.create_path_list_from_strings(list(paths))
        query = self.stage.query_from_path_list(path_list)
        self.paths.destroy_path_list(path_list)
        return query

    def fill(self, *attributes, ordinal=1, values=(1, 2, 3)):
        for attribute in attributes:
            self.write(np.array(values, np.float32), ordinal, attribute).wait()

    def present(self, ordinal, attribute="a"):
        return [prim for _, prims, _ in self.read(ordinal, attribute) for prim in prims]

    def fill_and_seal(self):
        self.fill("a", "b")
        self.seal(1)

    def test_attribute(self):
        self.fill_and_seal()
        self.stage.delete_attributes(self.two, ["a"], 2).wait()
        self.assertEqual(self.present(1), [0, 1, 2])
        self.seal(2)
        self.assertEqual(self.present(2), [0, 2])
        self.assertEqual(self.present(2, "b"), [0, 1, 2])

    def test_tokens_and_any_iterable(self):
        self.fill_and_seal()
        token = self.paths.intern_token("b")
        operation = self.stage.delete_attributes(self.two, (name for name in ("a", token)), 2)
        operation.wait()
        self.assertTrue(operation.ok)
        self.assertGreater(operation.op_id, 0)
        self.seal(2)
        self.assertEqual((self.present(2), self.present(2, "b")), ([0, 2], [0, 2]))

    def test_whole_prims(self):
        for i, none in enumerate(([], (), None, iter([]))):
            ordinal = 3 * i + 1
            self.fill("a", "b", ordinal=ordinal)
            self.seal(ordinal)
            self.stage.delete_attributes(self.two, none, ordinal=ordinal + 1).wait()
            self.seal(ordinal + 1)
            self.assertEqual((self.present(ordinal + 1), self.present(ordinal + 1, "b")), ([0, 2], [0, 2]))

    def test_other_data_type(self):
        self.fill_and_seal()
        self.stage.delete_attributes(self.query, ["a"], 2).wait()
        self.write(np.array([[1, 2], [3, 4], [5, 6]], np.float64), 2, prim_mode=PrimMode.UPDATE).wait()
        self.seal(2)
        np.testing.assert_array_equal(self.values(2), [[1, 2], [3, 4], [5, 6]])

    def test_created_again(self):
        self.fill_and_seal()
        self.stage.delete_attributes(self.query, None, 2).wait()
        self.assert_code(self.write(np.ones(3, np.float32), 2, prim_mode=PrimMode.UPDATE), ErrorCode.NOT_FOUND)
        self.write(np.ones(3, np.int32), 2, prim_mode=PrimMode.INSERT).wait()

    def test_held_group(self):
        self.fill_and_seal()
        with self.stage.read_attributes(self.query, ["a"], ovstage.OrdinalRange.latest(1)) as read:
            (group,) = read.groups()
        self.stage.delete_attributes(self.query, None, 2).wait()
        self.fill("a", ordinal=2, values=(7, 8, 9))
        self.seal(2)
        self.assertEqual(group.array(0).tolist(), [1, 2, 3])
        group.release()

    def test_refused(self):
        self.fill_and_seal()
        self.assert_code(self.stage.delete_attributes(self.query, ["a"], 1), ErrorCode.WRITE_FLOOR_VIOLATION, "'a'")
        self.assert_code(self.stage.delete_attributes(self.query, None, 1), ErrorCode.WRITE_FLOOR_VIOLATION)
        self.assert_code(self.stage.delete_attributes(self.query, ["usd-path"], 2), ErrorCode.NOT_SUPPORTED, "usd-path")
        self.assert_code(self.stage.delete_attributes(self.query, [123456], 2), ErrorCode.INVALID_HANDLE, "123456")
        self.assert_code(self.stage.delete_attributes(self.query, [""], 2), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.stage.delete_attributes(self.query, None, 2**64 - 1), ErrorCode.INVALID_ARGUMENT)
        gone = self.sub_query("/World/P0")
        gone.release()
        self.assert_code(self.stage.delete_attributes(gone, None, 2), ErrorCode.INVALID_HANDLE)
        self.stage.destroy()
        self.assert_code(self.stage.delete_attributes(self.two, None, 2), ErrorCode.INVALID_HANDLE)

    def test_types(self):
        for attributes in ("a", 1, [1.0], [None]):
            with self.assertRaisesRegex(TypeError, "attribute"):
                self.stage.delete_attributes(self.query, attributes, 1)
        with self.assertRaisesRegex(ValueError, "attribute"):
            self.stage.delete_attributes(self.query, [-1], 1)
        for ordinal in (1.0, "1", None):
            with self.assertRaisesRegex(TypeError, "ordinal"):
                self.stage.delete_attributes(self.query, None, ordinal)
        for ordinal in (-1, 2**64):
            with self.assertRaisesRegex(ValueError, "ordinal"):
                self.stage.delete_attributes(self.query, None, ordinal)
        with self.assertRaisesRegex(TypeError, "query"):
            self.stage.delete_attributes(None, None, 1)
        with self.assertRaisesRegex(TypeError, "attributes"):
            self.stage.delete_attributes(self.query, ordinal=1)

    def test_own_exception_passes(self):
        def attributes():
            yield "a"
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            self.stage.delete_attributes(self.query, attributes(), 1)


if __name__ == "__main__":
    unittest.main()
