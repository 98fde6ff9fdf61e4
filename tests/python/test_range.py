# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Reading what changed in a range of ordinals."""

import random
import unittest

import numpy as np

import ovstage
from ovstage import ORDINAL_NEWEST, ErrorCode, OrdinalRange
from support import StageCase


class RangeCase(StageCase):
    n = 5

    def sub_query(self, *numbers):
        prims = self.paths.create_path_list_from_strings([f"/World/P{i}" for i in numbers])
        query = self.stage.query_from_path_list(prims)
        self.paths.destroy_path_list(prims)
        self.addCleanup(query.release)
        return query

    def write_some(self, values, ordinal, attribute="a"):
        """@values: number of the prim -> value"""
        query = self.sub_query(*values)
        data = np.array(list(values.values()), np.float32)
        self.stage.write_attribute(query, attribute, ordinal, data, is_array=False).wait()

    def delete_some(self, numbers, ordinal, attributes=("a",)):
        self.stage.delete_attributes(self.sub_query(*numbers), attributes, ordinal).wait()

    def changes(self, a, b=ORDINAL_NEWEST, attributes=("a",)):
        """(values of prims, deleted prims, as_of)"""
        values, deleted = {}, set()
        with self.stage.read_attributes(self.query, attributes, OrdinalRange.between(a, b)) as read:
            for group in read.groups():
                with group:
                    if group.is_delete:
                        deleted.update(group.prim_indices.tolist())
                    else:
                        self.assertFalse(deleted, "the deleted come last")
                        values.update(zip(group.prim_indices.tolist(), group.array(0)[group.data_rows].tolist()))
            return values, deleted, read.as_of


class Ranges(RangeCase):
    def test_values_and_deletes(self):
        self.write_some({0: 1, 1: 2, 2: 3}, 1)
        self.seal(1)
        self.assertEqual(self.changes(1), ({0: 1, 1: 2, 2: 3}, set(), 1))
        self.write_some({1: 5, 4: 6}, 2)
        self.delete_some([2, 3], 3)
        self.seal(3)
        self.assertEqual(self.changes(2), ({1: 5, 4: 6}, {2}, 3))
        self.assertEqual(self.changes(3), ({}, {2}, 3))
        self.assertEqual(self.changes(2, 2), ({1: 5, 4: 6}, set(), 2))
        self.assertEqual(self.changes(4), ({}, set(), 3))
        self.assertEqual(self.changes(9), ({}, set(), 8))

    def test_deleted_prims_have_no_tensors(self):
        self.write_some({0: 1, 3: 2}, 1)
        self.delete_some([3], 2)
        self.seal(2)
        with self.stage.read_attributes(self.query, ["a"], OrdinalRange.between(2, 2)) as read:
            (group,) = read.groups()
            with group:
                self.assertIs(group.is_delete, True)
                self.assertEqual((group.tensor_count, group.data_count, group.prim_count), (0, 0, 1))
                self.assertEqual((group.prim_index(0), group.prim_indices.tolist(), group.data_rows.tolist()), (3, [3], []))
                self.assertEqual((group.ordinal, group.attribute), (2, self.paths.intern_token("a")))
                self.assertIs(group.is_array, False)
                self.assertEqual(group.data_type, ovstage.DLDataType(0, 0, 0))
                for call in (group.tensor, group.array, group.dlpack):
                    with self.assertRaisesRegex(IndexError, "deleted prims"):
                        call(0)
                with self.assertRaises(IndexError):
                    group.data_row_index(0)
                self.assertIn("deleted", repr(group))

    def test_errors(self):
        for ordinal in (1, 2, 3):
            self.write_some({0: ordinal, ordinal: 7}, ordinal)
            self.seal(ordinal)
        self.assert_code(self.stage.read_attributes(self.query, ["a"], OrdinalRange.between(2, 1)), ErrorCode.INVALID_ARGUMENT, "range")
        self.assert_code(self.stage.read_attributes(self.query, ["a"], OrdinalRange.between(1, 2)), ErrorCode.OUT_OF_RANGE, "'a'")
        self.write_some({1: 1}, 5)
        self.assert_code(self.stage.read_attributes(self.query, ["a"], OrdinalRange.between(1, 5)), ErrorCode.WRITE_FLOOR_VIOLATION)
        self.assertEqual(self.changes(3), ({0: 3, 3: 7}, set(), 3))

    def test_arguments(self):
        between = OrdinalRange.between(3, 7)
        self.assertEqual((between.start_ordinal, between.end_ordinal), (3, 7))
        self.assertIsNone(OrdinalRange.latest(7).start_ordinal)
        self.assertEqual(repr(between), "OrdinalRange.between(3, 7)")
        self.assertEqual(between, OrdinalRange.between(3, 7))
        self.assertEqual(hash(between), hash(OrdinalRange.between(3, 7)))
        self.assertNotEqual(between, OrdinalRange.between(0, 7))
        self.assertNotEqual(OrdinalRange.between(0, 7), OrdinalRange.latest(7))
        for args, error in (((1,), TypeError), ((1, 2, 3), TypeError), ((1.0, 2), TypeError), ((1, -1), ValueError), ((2**64, 1), ValueError)):
            with self.assertRaises(error):
                OrdinalRange.between(*args)


class Budget(RangeCase):
    options = {"change_budget": 1000}

    def test_too_old(self):
        for ordinal in range(1, 100):
            self.write_some({ordinal % 5: ordinal}, ordinal)
            self.seal(ordinal)
        oldest = self.stage.gobject.get_oldest_preserved_ordinal()
        self.assertGreater(oldest, 50)
        self.assert_code(self.stage.read_attributes(self.query, ["a"], OrdinalRange.between(oldest, 99)), ErrorCode.OUT_OF_RANGE, "'a'")
        expected = {o % 5: float(o) for o in range(oldest + 1, 100)}
        self.assertEqual(self.changes(oldest + 1), (expected, set(), 99))


class Mirror(RangeCase):
    """Whoever applies every range to a copy has what a snapshot gives."""

    n = 40
    options = {"history_depth": 3}

    def test_mirror(self):
        rand = random.Random(7)
        mirrors = [({}, 0), ({}, 0)]
        for ordinal in range(1, 200):
            for _ in range(rand.randrange(3)):
                some = rand.sample(range(self.n), rand.randrange(1, 12))
                if rand.random() < 0.6:
                    self.write_some({i: rand.randrange(1000) for i in some}, ordinal)
                else:
                    self.delete_some(some, ordinal, ["a"] if rand.random() < 0.5 else [])
            self.seal(ordinal)
            for which, often in ((0, 0.3), (1, 0.05)):
                if rand.random() > often:
                    continue
                mirror, cursor = mirrors[which]
                values, deleted, as_of = self.changes(cursor + 1)
                mirror.update(values)
                for prim in deleted:
                    mirror.pop(prim, None)
                mirrors[which] = mirror, as_of
                now = {i: v for _, prims, rows in self.read(ordinal) for i, v in zip(prims, rows.tolist())}
                self.assertEqual(mirror, now)
                self.assertEqual(as_of, ordinal)


if __name__ == "__main__":
    unittest.main()
