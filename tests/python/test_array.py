# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Array attributes: a list with a row for each prim, packed rows, and texts."""

import gc
import unittest
import weakref

import numpy as np

import ovstage
from ovstage import AttributeSemantic, ErrorCode, OvstageError, WriteDesc
from support import Producer, StageCase


class ArrayCase(StageCase):
    def groups(self, ordinal=1, attribute="a", query=None):
        with self.stage.read_attributes(query or self.query, [attribute], ovstage.OrdinalRange.latest(ordinal)) as read:
            return list(read.groups())

    def group(self, ordinal=1, attribute="a"):
        (group,) = self.groups(ordinal, attribute)
        return group

    def rows(self, ordinal=1, attribute="a"):
        """What each prim has, None where it has nothing."""
        found = [None] * self.n
        for group in self.groups(ordinal, attribute):
            with group:
                for i in range(group.prim_count):
                    found[group.prim_index(i)] = group.array(group.data_row_index(i)).tolist()
        return found

    def check(self, expected, tensors, ordinal=1, **kwargs):
        self.write(tensors, ordinal, is_array=True, **kwargs).wait()
        self.seal(ordinal)
        self.assertEqual(self.rows(ordinal), expected)


class Arrays(ArrayCase):
    def test_list(self):
        rows = [np.array(row, np.float32) for row in ([1, 2], [], [3, 4, 5])]
        self.check([[1, 2], [], [3, 4, 5]], rows)
        with self.group() as group:
            self.assertIs(group.is_array, True)
            self.assertEqual((group.tensor_count, group.data_count, group.prim_count), (3, 3, 3))
            self.assertFalse(group.has_data_index_map)
            self.assertEqual([group.tensor(i).shape for i in range(3)], [(2,), (0,), (3,)])
            self.assertEqual(np.from_dlpack(group.dlpack(2)).tolist(), [3, 4, 5])
            array = group.array(0)
        self.assertFalse(array.flags.writeable)
        self.assertEqual(array.tolist(), [1, 2])

    def test_every_dtype(self):
        kinds = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
        for ordinal, kind in enumerate(kinds, 1):
            with self.subTest(kind=kind):
                rows = [np.arange(n).astype(kind) for n in (0, 3, 1)]
                self.write(rows, ordinal, kind, is_array=True).wait()
                self.seal(ordinal)
                self.assertEqual(self.rows(ordinal, kind), [row.tolist() for row in rows])

    def test_any_strides(self):
        base = np.arange(24, dtype=np.int32).reshape(4, 6)
        rows = [base.T[::2], base[::-1, 1], np.broadcast_to(np.int32(7), (2, 2))]
        self.check([row.ravel().tolist() for row in rows], rows)

    def test_packed(self):
        base = np.arange(12, dtype=np.int32)
        self.check([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], base, 1)
        self.check([row.tolist() for row in base.reshape(4, 3).T.ravel().reshape(3, 4)], base.reshape(4, 3).T, 2)
        self.check([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [0, 1, 2, 3, 4, 5]], base, 3, index_map=[0, 1, 0])
        self.check([[], [], []], np.zeros((3, 0), np.int32), 4)
        self.assert_code(self.write(base[:4], 5, is_array=True), ErrorCode.INVALID_ARGUMENT, "4 elements")

    def test_axes_are_elements(self):
        self.write([np.ones((2, 3), np.float32)] * 3, 1, "b", is_array=True).wait()
        self.seal(1)
        with self.group(1, "b") as group:
            self.assertEqual(group.data_type.lanes, 1)
            self.assertEqual(group.tensor(0).shape, (6,))
        wide = ovstage.make_dltensor(np.ones((2, 3), np.float32), ovstage.DLDataType(2, 32, 3))
        self.assert_code(self.write([wide] * 3, 2, "b", is_array=True), ErrorCode.INVALID_ARGUMENT, "float32x3[]")

    def test_selection(self):
        rows = [np.array(row) for row in ([1], [2, 2], [3, 3, 3])]
        self.check([None, [2, 2], [3, 3, 3]], rows, 1, mask=[False, True, True])
        self.check([[3, 3, 3], [1], [3, 3, 3]], rows, 2, index_map=[2, 0])
        self.check([[2, 2], [2, 2], [2, 2]], [rows[1]], 3, index_map=[0, 0, 0])
        self.check([[1], [2, 2], [2, 2]], rows[:1], 4, count=1)

    def test_faults(self):
        rows = [np.array([1.0, 2]), np.array([3.0]), np.array([])]
        for text, tensors, kwargs in (
            ("2 tensors", rows[:2], {}),
            ("none given", [], {}),
            ("tensors[1] is int64", [rows[0], np.array([1]), rows[2]], {}),
            ("index_map[1] is 3", rows, {"index_map": [0, 3]}),
            ("float64[]", rows, {"semantic": AttributeSemantic.TOKEN_ID}),
        ):
            with self.subTest(text=text):
                self.assert_code(self.write(tensors, is_array=True, **kwargs), ErrorCode.INVALID_ARGUMENT, text)
        with self.assertRaises(TypeError):
            self.write([rows[0], None, rows[1]], is_array=True)
        self.assert_code(self.write(rows), ErrorCode.INVALID_ARGUMENT, "tensors: 3")
        self.write(rows, is_array=True).wait()
        self.assert_code(self.write(np.array([1.0, 2, 3]), 2), ErrorCode.INVALID_ARGUMENT, "float64[]")

    def test_held_while_updated(self):
        self.write([np.array([i]) for i in range(3)], 1, is_array=True).wait()
        self.seal(1)
        held = self.group(1)
        for ordinal in range(2, 6):
            self.write([np.array([ordinal] * ordinal)], ordinal, is_array=True, index_map=[0], count=1).wait()
            self.seal(ordinal)
        with held:
            self.assertEqual([held.array(i).tolist() for i in range(3)], [[0], [1], [2]])
        self.assertEqual(self.rows(5), [[5] * 5, [1], [2]])

    def test_values_and_offsets(self):
        self.write([np.array(row, np.float32) for row in ([1, 2], [], [3, 4, 5])], 1, is_array=True).wait()
        self.seal(1)
        with self.group() as group:
            values, offsets = np.from_dlpack(group.values), group.offsets
            self.assertEqual(values.ctypes.data, group.array(0).ctypes.data)
        self.assertEqual(values.tolist(), [1, 2, 3, 4, 5])
        self.assertEqual(offsets.tolist(), [0, 2, 2, 5])
        self.assertEqual(offsets.dtype, np.uint64)
        self.assertFalse(offsets.flags.writeable or values.flags.writeable)

        wide = [ovstage.make_dltensor(np.full((n, 3), n, np.float32), ovstage.DLDataType(2, 32, 3)) for n in (1, 2, 0)]
        self.write(wide, 2, "b", is_array=True).wait()
        self.write(np.ones(3), 2, "c").wait()
        self.seal(2)
        with self.group(2, "b") as group:
            values, offsets = np.from_dlpack(group.values), group.offsets
            self.assertEqual(values.shape, (3, 3))
            self.assertEqual(values[int(offsets[1]) : int(offsets[2])].tolist(), [[2] * 3] * 2)
        with self.group(2, "c") as group:
            for name in ("values", "offsets"):
                with self.assertRaisesRegex(OvstageError, "float64, expected arrays"):
                    getattr(group, name)

    def test_transfer(self):
        rows = [np.arange(n + 1, dtype=np.float64) for n in range(3)]
        where = [row.ctypes.data for row in rows]
        seen = [weakref.ref(row) for row in rows]
        self.write(rows, 1, is_array=True, transfer=True).wait()
        del rows
        self.seal(1)
        with self.group() as group:
            self.assertEqual([group.array(i).ctypes.data for i in range(3)], where)
        self.assertTrue(all(row() is not None for row in seen))
        self.write([np.array([7.0])], 2, is_array=True, index_map=[0], transfer=True).wait()
        self.seal(2)
        gc.collect()
        self.assertEqual([row() is not None for row in seen], [False, True, True])
        self.assertEqual(self.rows(2), [[7], [0, 1], [0, 1, 2]])

    def test_deleters_run_once(self):
        def producers():
            return [Producer(np.array([float(i)])) for i in range(3)]

        for transfer in (False, True):
            for kwargs in ({}, {"ordinal": 0}, {"count": 2}, {"index_map": [0, 0, 9]}, {"mask": [True, False, True]}):
                with self.subTest(transfer=transfer, **kwargs):
                    made = producers()
                    ordinal = self.stage.write_floor + 1
                    operation = self.write(made, kwargs.pop("ordinal", ordinal), is_array=True, transfer=transfer, **kwargs)
                    try:
                        operation.wait()
                    except OvstageError:
                        self.assertEqual([one.deleted for one in made], [1, 1, 1])
                    self.seal(ordinal)
                    self.stage.delete_attributes(self.query, ["a"], ordinal + 1).wait()
                    self.seal(ordinal + 1)
                    self.assertEqual([one.deleted for one in made], [1, 1, 1])

    def test_batch(self):
        rows = [np.array([1]), np.array([2, 2]), np.array([], np.int64)]
        writes = [
            WriteDesc(attribute="a", tensors=rows, is_array=True),
            WriteDesc(attribute="b", tensors=np.array([1, 2, 3]), is_array=False),
            WriteDesc(attribute="c", tensors=["x", "y", "z"], is_array=True),
        ]
        self.stage.write_attributes(self.query, writes, 1).wait()
        self.seal(1)
        self.assertEqual(self.rows(1), [[1], [2, 2], []])
        with self.group(1, "c") as group:
            self.assertEqual(group.texts(), ["x", "y", "z"])
        writes[0] = WriteDesc(attribute="a", tensors=rows[:2], is_array=True)
        self.assert_code(self.stage.write_attributes(self.query, writes, 2), ErrorCode.INVALID_ARGUMENT, "entry 0: 2 tensors")


class Texts(ArrayCase):
    def test_texts(self):
        texts = ["", "wheel", "Räder ☸"]
        self.write(texts, is_array=True).wait()
        self.seal()
        with self.group() as group:
            self.assertIs(group.semantic, AttributeSemantic.STRING)
            self.assertEqual(group.texts(), texts)
            self.assertEqual([group.text(i) for i in range(3)], texts)
            self.assertEqual(bytes(group.array(2)), texts[2].encode())
            with self.assertRaises(IndexError):
                group.text(3)
        self.write(tuple("abc"), 2, is_array=True, index_map=[2, 2, 0]).wait()
        self.seal(2)
        with self.group(2) as group:
            self.assertEqual(group.texts(), ["c", "c", "a"])

    def test_semantic_may_be_told(self):
        self.write(["a", "b", "c"], 1, is_array=True, semantic=AttributeSemantic.STRING).wait()
        self.assert_code(
            self.write(["a", "b", "c"], 1, "b", is_array=True, semantic=AttributeSemantic.TOKEN_ID),
            ErrorCode.INVALID_ARGUMENT,
            "TOKEN_ID",
        )

    def test_bytes_are_no_text(self):
        self.write([b"abc", b"", b"\xff\x00"], is_array=True).wait()
        self.seal()
        with self.group() as group:
            self.assertIs(group.semantic, AttributeSemantic.NONE)
            self.assertEqual(group.text(0), "abc")
            self.assertEqual(bytes(group.array(2)), b"\xff\x00")
            with self.assertRaisesRegex(OvstageError, "row 2: byte 0 is 0xff"):
                group.text(2)
            with self.assertRaisesRegex(OvstageError, "row 2: byte 0 is 0xff"):
                group.texts()

    def test_faults(self):
        for texts in (["a", b"b", "c"], ["a", None, "c"], ["a", 1, "c"]):
            with self.assertRaisesRegex(TypeError, r"tensors\[1\]"):
                self.write(texts, is_array=True)
        for text in ("a\0b", "a\ud800"):
            with self.assertRaises(ValueError):
                self.write(["a", text, "c"], is_array=True)
        self.assert_code(self.write(["a", "b", "c"]), ErrorCode.INVALID_ARGUMENT, "is_array=True")
        self.assert_code(self.write(["a", "b"], is_array=True), ErrorCode.INVALID_ARGUMENT, "2 rows")
        with self.assertRaises(TypeError):
            self.write("abc", is_array=True)
        self.write(np.array([1.0, 2, 3]), 1).wait()
        self.seal(1)
        with self.group() as group, self.assertRaisesRegex(OvstageError, "expected arrays"):
            group.text(0)


if __name__ == "__main__":
    unittest.main()
