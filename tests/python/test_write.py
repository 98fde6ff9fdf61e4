# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Writing: selections, integer rules and what is told where."""

import array
import unittest

import numpy as np

import ovstage
from ovstage import AttributeSemantic, ErrorCode, OvstageError, Placement, PrimMode, Scope
from support import StageCase


class Arguments(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.array([1, 2, 3], np.float32)

    def test_required(self):
        with self.assertRaisesRegex(TypeError, "is_array"):
            self.stage.write_attribute(self.query, "a", 1, self.a)
        with self.assertRaisesRegex(TypeError, "tensors"):
            self.stage.write_attribute(self.query, "a", 1, is_array=False)
        with self.assertRaisesRegex(TypeError, "positional"):
            self.stage.write_attribute(self.query, "a", 1, self.a, False)
        with self.assertRaisesRegex(TypeError, "several values"):
            self.stage.write_attribute(self.query, "a", 1, self.a, is_array=False, ordinal=1)
        with self.assertRaisesRegex(TypeError, "transfers"):
            self.write(self.a, transfers=True)

    def test_types(self):
        for value in (1, 0, None, np.bool_(True)):
            with self.assertRaisesRegex(TypeError, "is_array"):
                self.write(self.a, is_array=value)
        for value in (1.0, "1", None, np.float32(1)):
            with self.assertRaisesRegex(TypeError, "ordinal"):
                self.write(self.a, value)
        with self.assertRaisesRegex(TypeError, "query"):
            self.stage.write_attribute(self.prims, "a", 1, self.a, is_array=False)
        with self.assertRaisesRegex(TypeError, "attribute"):
            self.write(self.a, attribute=1.0)
        for value in (None, 3, 1.5, "abc", [1.0], [None]):
            with self.assertRaisesRegex(TypeError, "tensors"):
                self.write(value)
        with self.assertRaisesRegex(TypeError, "placement"):
            self.write(self.a, placement=(1, 0))

    def test_ranges(self):
        for value in (-1, 2**64):
            with self.assertRaisesRegex(ValueError, "ordinal"):
                self.write(self.a, value)
            with self.assertRaisesRegex(ValueError, "attribute"):
                self.write(self.a, attribute=value)
            with self.assertRaisesRegex(ValueError, "cuda_event"):
                self.write(self.a, cuda_event=value)
        for value in (-1, 3):
            with self.assertRaisesRegex(ValueError, "prim_mode"):
                self.write(self.a, prim_mode=value)
        with self.assertRaisesRegex(ValueError, "semantic"):
            self.write(self.a, semantic=16)
        with self.assertRaisesRegex(ValueError, "scope"):
            self.stage.advance_write_floor(1, scope=3)
        with self.assertRaisesRegex(ValueError, "count"):
            self.write(self.a, count=2**32)

    def test_index_protocol(self):
        token = self.paths.intern_token("a")
        self.write(self.a, np.uint8(1), attribute=np.int64(token), count=np.uint16(3)).wait()
        self.seal(True)
        np.testing.assert_array_equal(self.values(1, token), self.a)

    def test_refusals_are_told_by_wait(self):
        self.assert_code(self.write(self.a, 0), ErrorCode.WRITE_FLOOR_VIOLATION)
        self.assert_code(self.write(self.a[:2]), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write([self.a, self.a]), ErrorCode.INVALID_ARGUMENT, "tensors")
        self.assert_code(self.write([]), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write(self.a, attribute=""), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write(self.a, attribute="a\0b"), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write(self.a, index_map=[0, 1, 2], mask=[True] * 3), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write(self.a, prim_mode=PrimMode.UPDATE), ErrorCode.NOT_FOUND)
        self.assert_code(self.write(self.a, semantic=AttributeSemantic.TOKEN_ID), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write(self.a, count=4), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.write(self.a, placement=Placement(2)), ErrorCode.NOT_FOUND, "placement")
        self.assertEqual(self.write(self.a, 0).op_id, 0)
        self.assertTrue(self.write(self.a, 0).done)

    def test_reads(self):
        latest = ovstage.OrdinalRange.latest(1)
        for attributes in ("a", None, 7, [1.0]):
            with self.assertRaisesRegex(TypeError, "attribute"):
                self.stage.read_attributes(self.query, attributes, latest)
        with self.assertRaisesRegex(TypeError, "ordinal_range"):
            self.stage.read_attributes(self.query, ["a"], 1)
        with self.assertRaisesRegex(TypeError, "query"):
            self.stage.read_attributes(None, ["a"], latest)
        read = self.stage.read_attributes(self.query, ["a"], latest, placement=Placement(1))
        self.assert_code(read, ErrorCode.NOT_FOUND)
        with self.assertRaises(OvstageError):
            read.fetch_next()
        read.release()

    def test_one_in_a_list(self):
        np.testing.assert_array_equal(self.round_trip([self.a]), self.a)
        np.testing.assert_array_equal(self.round_trip((self.a,), 2), self.a)


class Selections(StageCase):
    n = 70

    def setUp(self):
        super().setUp()
        self.a = np.arange(70, dtype=np.float32)

    def test_empty(self):
        for kwargs in ({}, {"index_map": [1]}, {"mask": [True] * 70}):
            with self.assertRaisesRegex(ValueError, "count"):
                self.write(self.a, count=0, **kwargs)
        for index_map in ([], np.array([], np.uint32)):
            with self.assertRaisesRegex(ValueError, "index_map"):
                self.write(self.a, index_map=index_map)

    def test_count(self):
        self.write(self.a[:5], count=5).wait()
        self.seal()
        ((_, prims, values),) = self.read()
        self.assertEqual(prims, list(range(5)))
        np.testing.assert_array_equal(values, self.a[:5])

    def test_index_maps(self):
        expected = [3, 0, 69, 3]
        for i, index_map in enumerate(
            (
                expected,
                tuple(expected),
                (n for n in expected),
                [np.int8(3), np.uint64(0), 69, 3],
                np.array(expected, np.uint32),
                np.array(expected, np.int64),
                np.array(expected, np.uint8),
                np.array(expected, np.uint64)[::-1][::-1],
                np.repeat(np.array(expected, np.uint32), 2)[::2],
                array.array("h", expected),
                bytes(expected),
                ovstage.DLTensor.from_dlpack(np.array(expected, np.int32)),
            )
        ):
            with self.subTest(i):
                self.write(self.a, i + 1, index_map=index_map).wait()
                self.seal(i + 1)
                np.testing.assert_array_equal(self.values(i + 1), self.a[expected])

    def test_unaligned_index_map(self):
        memory = np.zeros(9, np.uint8)
        index_map = memory[1:].view(np.uint32)
        index_map[:] = [5, 6]
        self.write(self.a, index_map=index_map).wait()
        self.seal()
        np.testing.assert_array_equal(self.values(), [5, 6])

    def test_index_map_faults(self):
        for index_map in ([1.0], [1, 2.5], np.array([1.0]), np.array([True, False]), 7, "12", [None]):
            with self.assertRaisesRegex(TypeError, "index_map"):
                self.write(self.a, index_map=index_map)
        for index_map in ([-1], [2**32], np.array([0, -1]), np.array([2**32]), np.array([2**64 - 1], np.uint64), np.array([[1]])):
            with self.assertRaisesRegex(ValueError, "index_map"):
                self.write(self.a, index_map=index_map)
        with self.assertRaisesRegex(ValueError, "one entry per logical element"):
            self.write(self.a, index_map=[1, 2], count=3)
        self.assert_code(self.write(self.a, index_map=[1, 70]), ErrorCode.INVALID_ARGUMENT, "70")
        with self.assertRaisesRegex(BufferError, "index_map.*big-endian"):
            self.write(self.a, index_map=np.array([1], ">i4"))

    def test_index_map_longer_than_count(self):
        self.write(self.a, index_map=[9, 8, 7], count=2).wait()
        self.seal()
        np.testing.assert_array_equal(self.values(), [9, 8])

    def test_masks(self):
        rng = np.random.default_rng(1)
        selected = rng.random(70) < 0.5
        words = np.packbits(selected, bitorder="little")
        words = np.concatenate([words, np.zeros(16 - len(words), np.uint8)]).view(np.uint64)
        for i, (mask, count) in enumerate(
            (
                (selected, None),
                (selected, 70),
                (selected.tolist(), None),
                (tuple(selected), None),
                (np.concatenate([selected, [True] * 3]), None),
                (np.repeat(selected, 3)[::3], None),
                (words, 70),
                (np.repeat(words, 2)[::2], 70),
                (np.append(words, np.uint64(0)), 70),
                (ovstage.DLTensor.from_dlpack(selected), None),
            )
        ):
            with self.subTest(i):
                self.write(self.a, i + 1, f"m{i}", mask=mask, count=count).wait()
                self.seal(i + 1)
                ((_, prims, values),) = self.read(i + 1, f"m{i}")
                self.assertEqual(prims, np.flatnonzero(selected).tolist())
                np.testing.assert_array_equal(values, self.a[selected])

    def test_mask_bytes_other_than_one(self):
        mask = np.zeros(70, np.uint8)
        mask[[3, 64]] = [2, 255]
        self.write(self.a, mask=mask.view(bool)).wait()
        self.seal()
        np.testing.assert_array_equal(self.values(), [3, 64])

    def test_mask_faults(self):
        for mask in ([1] * 70, [True, 0], np.ones(70, np.int64), np.ones(70, np.uint8), np.ones(70), 3, "yes", [None]):
            with self.assertRaisesRegex(TypeError, "mask"):
                self.write(self.a, mask=mask)
        for mask, count in (
            ([True] * 69, None),
            (np.ones(69, bool), None),
            (np.ones(69, bool), 70),
            (np.ones(1, np.uint64), 70),
            (np.ones(2, np.uint64), 129),
            (np.ones((70, 1), bool), None),
        ):
            with self.assertRaisesRegex(ValueError, "mask"):
                self.write(self.a, mask=mask, count=count)
        with self.assertRaisesRegex(ValueError, "count"):
            self.write(self.a, mask=np.ones(2, np.uint64))

    def test_all_false(self):
        self.write(self.a, mask=np.zeros(70, bool)).wait()
        self.seal()
        self.assertEqual(self.read(), [])

    def test_empty_query(self):
        with self.stage.query_from_path_list(self.paths.create_path_list([])) as query:
            for kwargs in ({}, {"mask": []}, {"mask": np.zeros(0, bool)}):
                self.stage.write_attribute(query, "a", 1, np.zeros(0, np.float32), is_array=False, **kwargs).wait()

    def test_prim_modes(self):
        self.write(self.a, prim_mode=PrimMode.INSERT).wait()
        self.assert_code(self.write(self.a, prim_mode=PrimMode.INSERT), ErrorCode.ALREADY_EXISTS)
        self.write(self.a + 1, prim_mode=PrimMode.UPDATE).wait()
        self.seal()
        np.testing.assert_array_equal(self.values(), self.a + 1)

    def test_scopes(self):
        self.write(self.a, 5, "x").wait()
        self.write(self.a, 5, "y").wait()
        self.seal(5, scope=Scope.INCLUDE, attributes=["x"])
        self.assertEqual(self.stage.get_attribute_write_floor("x"), 5)
        self.assertEqual(self.stage.get_attribute_write_floor(self.paths.intern_token("y")), 0)
        self.assertEqual(self.stage.get_attribute_write_floor(), 0)
        self.assertEqual(self.stage.write_floor, 0)
        self.seal(6, scope=Scope.EXCLUDE, attributes=[self.paths.intern_token("y")])
        self.assertEqual(self.stage.get_attribute_write_floor(attribute="x"), 6)
        self.seal(7)
        self.assertEqual(self.stage.write_floor, 7)
        with self.assertRaisesRegex(TypeError, "attributes"):
            self.stage.advance_write_floor(8, scope=Scope.INCLUDE, attributes="x")


if __name__ == "__main__":
    unittest.main()
