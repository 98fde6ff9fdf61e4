#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The model against timelines worked out by hand, and the parts of the driver that need no library."""

import json
import struct
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is

import driver
import fake
import model
import sequence as sequences
import sides
from filters import Literal
from model import ALL, EXCLUDE, INCLUDE, INSERT, NEWEST, NONE, TOKEN_ID, UPDATE

P, Q, R = "/P", "/Q", "/R"
POINT, COLOR = 5, 8


def ints(values, lanes=1):
    """int32 rows, one tensor; each value fills the lanes of its row."""
    values = [value for value in values for _ in range(lanes)]
    shape = (len(values) // lanes,) if lanes == 1 else (len(values) // lanes, lanes)
    return [model.Tensor(0, 32, shape, struct.pack(f"={len(values)}i", *values))]


def words(values, lanes=1):
    shape = (len(values) // lanes,) if lanes == 1 else (len(values) // lanes, lanes)
    return [model.Tensor(1, 64, shape, struct.pack(f"={len(values)}Q", *values))]


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.model = model.Model(1)

    def depth(self, depth):
        self.model = model.Model(depth)

    def write(self, prims, attribute, ordinal, values, lanes=1, want=model.OK, **more):
        self.assertEqual(self.model.write(prims, attribute, ordinal, ints(values, lanes), **more), want)

    def seal(self, ordinal, scope=ALL, attributes=()):
        self.assertEqual(self.model.advance(ordinal, scope, attributes), model.OK)

    def values(self, prims, attribute, ordinal):
        """prim -> first lane, of all groups of one attribute; or the code of the read's error."""
        result = self.model.read(prims, [attribute], ordinal)
        if result.status != model.OK:
            return result.status
        return {prim: struct.unpack_from("=i", value)[0] for group in result.groups for prim, value in group.rows}

    def status(self, prims, attributes, ordinal):
        return self.model.read(prims, attributes, ordinal).status

    # Values

    def test_write_seal_read(self):
        self.write([P, Q], "a", 1, [10, 20])
        self.seal(1)
        result = self.model.read([Q, P, R], ["a"], 1)
        self.assertEqual(result.as_of, 1)
        (group,) = result.groups
        self.assertEqual(group.rows, [(Q, struct.pack("=i", 20)), (P, struct.pack("=i", 10))])
        self.assertEqual(group.ordinal, 1)
        self.assertEqual(group.schema, model.Schema(0, 32, 1, NONE))

    def test_later_submission_wins_at_one_ordinal(self):
        self.write([P], "a", 1, [1])
        self.write([P], "a", 1, [2])
        self.seal(1)
        self.assertEqual(self.values([P], "a", 1), {P: 2})

    def test_higher_ordinal_wins_whatever_the_submission(self):
        self.write([P], "a", 3, [3])
        self.write([P], "a", 2, [2])
        self.seal(3)
        self.assertEqual(self.values([P], "a", 3), {P: 3})

    def test_late_growth_below_a_full_write(self):
        # ENGINE 6: a full write at 3, then more prims at 2: none may be lost.
        self.write([P, Q], "a", 1, [1, 1])
        self.seal(1)
        self.write([P, Q], "a", 3, [3, 3])
        self.write([R], "a", 2, [2])
        self.seal(3)
        self.assertEqual(self.values([P, Q, R], "a", 3), {P: 3, Q: 3, R: 2})

    def test_count_map_and_mask(self):
        self.write([P, Q, R], "a", 1, [1, 2], count=2)
        self.seal(1)
        self.assertEqual(self.values([P, Q, R], "a", 1), {P: 1, Q: 2})
        self.write([P, Q, R], "a", 2, [7, 8], count=3, index_map=[1, 1, 0])
        self.seal(2)
        self.assertEqual(self.values([P, Q, R], "a", 2), {P: 8, Q: 8, R: 7})
        self.write([P, Q, R], "a", 3, [4, 5, 6], count=3, mask=[0, 1, 0])
        self.seal(3)
        result = self.model.read([P, Q, R], ["a"], 3)
        self.assertEqual(self.values([P, Q, R], "a", 3), {P: 8, Q: 5, R: 7})
        self.assertEqual(result.groups[0].ordinal, 3)
        self.assertEqual(self.model.read([P, R], ["a"], 3).groups[0].ordinal, 2)

    def test_convenience_layouts(self):
        tensor = model.Tensor(0, 32, (2, 2, 2), struct.pack("=8i", *range(8)))
        self.assertEqual(self.model.write([P, Q], "a", 1, [tensor]), model.OK)
        self.assertEqual(self.model.live_schema("a", P, 1), model.Schema(0, 32, 4, NONE))
        scalar = model.Tensor(0, 32, (), struct.pack("=i", 9))
        self.assertEqual(self.model.write([P], "b", 1, [scalar]), model.OK)
        self.assertEqual(self.model.write([P, Q], "b", 1, [scalar]), model.INVALID_ARGUMENT)

    # Faults

    def test_rows(self):
        bad = model.INVALID_ARGUMENT
        self.write([P, Q], "a", 1, [1], want=bad)
        self.write([P, Q], "a", 1, [1, 2, 3], want=bad)
        self.write([P, Q], "a", 1, [1, 2, 3], count=3, want=bad)
        self.write([P, Q], "a", 1, [1, 2], count=2, index_map=[0, 2], want=bad)
        self.write([P, Q], "a", 1, [1], count=2, mask=[0, 1], want=bad)
        self.write([P, Q], "a", 1, [1, 2], count=2, index_map=[0, 1], mask=[1, 1], want=bad)
        self.assertEqual(self.model.write([P], "a", 1, []), bad)
        self.assertEqual(self.model.write([P], "a", 1, ints([1]) * 2), bad)
        self.assertEqual(self.model.write([P], "a", 1, [model.Tensor(0, 32, (1, 0), b"")]), bad)
        self.assertFalse(self.model.entries)

    def test_order_of_faults(self):
        self.write([P], "a", 5, [1])
        self.seal(5)
        self.write([P], "a", 5, [1], lanes=3, mode=INSERT, want=model.WRITE_FLOOR_VIOLATION)
        self.write([P], "a", 6, [1], lanes=3, mode=INSERT, want=model.ALREADY_EXISTS)
        self.write([Q], "a", 6, [1], mode=UPDATE, semantic=TOKEN_ID, want=model.NOT_FOUND)
        self.write([P], "a", 6, [1], lanes=3, want=model.INVALID_ARGUMENT)
        self.write([P], "usd-path", 5, [1, 2], want=model.NOT_SUPPORTED)
        self.assertEqual(self.model.write([P], "usd-path", 5, []), model.INVALID_ARGUMENT)
        self.write([P], "a", NEWEST, [1], want=model.INVALID_ARGUMENT)
        self.write([P], "a", 5, [1, 2], want=model.INVALID_ARGUMENT)

    def test_nothing_targeted(self):
        # After form and names nothing is looked at: not rows, not the floor.
        self.write([], "a", 0, [1, 2, 3])
        self.write([P, Q], "a", 0, [1], count=2, mask=[0, 0])
        self.write([], "usd-path", 1, [1], want=model.NOT_SUPPORTED)
        self.assertFalse(self.model.entries)

    def test_ordinal_zero(self):
        self.write([P], "a", 0, [1], want=model.WRITE_FLOOR_VIOLATION)

    def test_refused_changes_nothing(self):
        self.write([P], "a", 1, [1])
        self.write([Q, P], "a", 2, [1, 1], mode=INSERT, want=model.ALREADY_EXISTS)
        self.write([Q, P], "a", 2, [1, 1], lanes=3, want=model.INVALID_ARGUMENT)
        self.assertFalse(self.model.prim_exists(Q, 9))
        self.assertEqual(self.model.columns["a"], [model.Schema(0, 32, 1, NONE)])

    # Batches

    def batch(self, prims, ordinal, *given, mode=model.UPSERT, want=model.OK):
        parts = [model.Given(attribute, ints(values)) for attribute, values in given]
        self.assertEqual(self.model.write_batch(prims, parts, ordinal, mode), want)

    def test_batch(self):
        self.batch([P, Q], 1, ("a", [1, 2]), ("b", [3, 4]), mode=INSERT)
        self.batch([P, Q], 2, ("a", [5, 6]), ("c", [7, 8]), mode=UPDATE)
        self.batch([P, Q], 3)
        self.seal(3)
        self.assertEqual(self.values([P, Q], "a", 3), {P: 5, Q: 6})
        self.assertEqual(self.values([P, Q], "b", 3), {P: 3, Q: 4})
        self.assertEqual(self.values([P, Q], "c", 3), {P: 7, Q: 8})

    def test_batch_is_refused_as_one(self):
        self.batch([P], 1, ("a", [1]), ("a", [2]), want=model.INVALID_ARGUMENT)
        self.batch([P], 1, ("a", [1]), ("b", [1, 2]), want=model.INVALID_ARGUMENT)
        self.batch([P], 1, ("a", [1]), ("usd-path", [1]), want=model.NOT_SUPPORTED)
        self.batch([P], 1, ("a", [1]), ("b", [2]), mode=UPDATE, want=model.NOT_FOUND)
        self.batch([P], NEWEST, want=model.INVALID_ARGUMENT)
        self.assertFalse(self.model.entries)

    def test_batch_tells_faults_tier_by_tier(self):
        self.seal(5, INCLUDE, ["a"])
        self.batch([P], 5, ("a", [1]), ("b", [1, 2]), want=model.INVALID_ARGUMENT)
        self.batch([P], 5, ("b", [1, 2]), ("usd-path", [1]), want=model.NOT_SUPPORTED)
        self.batch([P], 5, ("b", [1]), ("a", [1]), mode=UPDATE, want=model.WRITE_FLOOR_VIOLATION)

    # Prim mode

    def test_mode_sees_unsealed_work_at_or_below(self):
        # ENGINE 16: INSERT P@5, UPDATE P@7, INSERT P@5.
        self.write([P], "a", 5, [1], mode=INSERT)
        self.write([P], "a", 7, [1], mode=UPDATE)
        self.write([P], "b", 5, [1], mode=INSERT, want=model.ALREADY_EXISTS)
        self.write([P], "b", 4, [1], mode=INSERT)
        self.write([Q], "a", 8, [1])
        self.write([Q], "a", 7, [1], mode=UPDATE, want=model.NOT_FOUND)

    def test_mode_looks_at_what_is_written_only(self):
        self.write([P], "a", 1, [1])
        self.write([P, Q], "a", 2, [1, 2], count=2, mask=[0, 1], mode=INSERT)
        self.write([P, Q, R], "a", 3, [1, 2], count=2, mode=UPDATE)

    def test_update_adds_an_attribute(self):
        self.write([P], "a", 1, [1])
        self.write([P], "b", 1, [1], mode=UPDATE)

    # Deletes

    def delete(self, prims, attributes, ordinal, want=model.OK):
        self.assertEqual(self.model.delete(prims, attributes, ordinal), want)

    def test_delete_is_keyed_by_ordinal(self):
        self.depth(9)
        self.write([P, Q], "a", 1, [1, 1])
        self.write([P], "a", 5, [5])
        self.delete([P], ["a"], 3)
        self.write([P], "a", 2, [2])
        self.seal(5)
        told = [self.values([P, Q], "a", n) for n in (1, 2, 3, 5)]
        self.assertEqual(told, [{P: 1, Q: 1}, {P: 2, Q: 1}, {Q: 1}, {P: 5, Q: 1}])

    def test_delete_and_write_at_one_ordinal(self):
        self.delete([P], ["a"], 1)
        self.write([P], "a", 1, [1])
        self.write([Q], "a", 1, [2])
        self.delete([Q], [], 1)
        self.seal(1)
        self.assertEqual(self.values([P, Q], "a", 1), {P: 1})

    def test_prim_delete_reaches_attributes_to_come(self):
        # ENGINE 12: delete P@5, then B@4, which did not exist; sealed for A alone, B's half is not due.
        self.write([P], "a", 1, [1])
        self.delete([P], [], 5)
        self.write([P], "b", 4, [1])
        self.seal(5, INCLUDE, ["a"])
        self.assertEqual(self.values([P], "a", NEWEST), {})
        self.assertEqual(self.values([P], "b", 5), model.WRITE_FLOOR_VIOLATION)
        self.seal(4)
        self.assertEqual(self.values([P], "b", 4), {P: 1})
        self.seal(5)
        self.assertEqual(self.values([P], "b", 5), {})
        self.assertFalse(self.model.prim_exists(P, 5))

    def test_prim_delete_leaves_sealed_history(self):
        self.depth(9)
        self.write([P], "a", 4, [4])
        self.delete([P], ["a"], 6)
        self.seal(8, INCLUDE, ["a"])
        self.write([P], "b", 1, [1])
        self.delete([P], [], 5)
        self.seal(9)
        self.assertEqual(self.values([P], "a", 5), {P: 4})
        self.assertEqual(self.values([P], "b", 5), {})

    def test_delete_floors(self):
        bad = model.WRITE_FLOOR_VIOLATION
        self.write([P], "a", 1, [1])
        self.seal(8, INCLUDE, ["a"])
        self.seal(2, EXCLUDE, ["a"])
        self.write([Q], "a", 9, [1])
        self.delete([R], ["a"], 9)
        self.delete([P], ["a"], 8, bad)
        self.delete([P], ["b"], 2, bad)
        self.delete([R], [], 2, bad)
        self.delete([P], [], 8, bad)
        self.delete([Q], [], 8, bad)
        self.delete([R], [], 8)
        self.delete([P], [], NEWEST, model.INVALID_ARGUMENT)
        self.delete([P], ["a", "usd-path"], 1, model.NOT_SUPPORTED)
        self.delete([], ["a"], 1)

    def test_unsealed_deletes(self):
        self.write([P], "a", 1, [1])
        self.seal(1)
        self.write([Q], "a", 7, [1])
        self.delete([P, Q, R], [], 5)
        self.assertEqual(self.values([P], "a", 4), {P: 1})
        self.assertEqual(self.values([P], "a", 5), model.WRITE_FLOOR_VIOLATION)
        self.assertEqual(self.values([Q, R], "a", 6), {})
        self.assertEqual(self.values([P], "b", 6), {})
        self.delete([R], ["b"], 6)
        self.assertEqual(self.values([R], "b", 6), model.WRITE_FLOOR_VIOLATION)
        self.assertEqual(self.values([R], "b", 5), {})

    def test_delete_counts_where_it_takes_effect(self):
        self.write([P], "a", 1, [1])
        self.delete([Q], ["a"], 2)
        self.delete([Q], [], 3)
        self.seal(3)
        self.assertEqual(self.model.value_frontier(), 0)
        self.delete([P, Q], [], 4)
        self.seal(4)
        self.assertEqual(self.model.value_frontier(), 4)

    def test_created_again(self):
        self.write([P], "a", 1, [1])
        self.delete([P], [], 5)
        self.write([P], "b", 4, [1], mode=INSERT, want=model.ALREADY_EXISTS)
        self.write([P], "b", 5, [1], mode=UPDATE, want=model.NOT_FOUND)
        self.write([P], "a", 4, [1], lanes=3, want=model.INVALID_ARGUMENT)
        self.write([P], "a", 5, [1], lanes=3, mode=INSERT)
        self.seal(5)
        self.assertEqual([g.schema.lanes for g in self.model.read([P], ["a"], 5).groups], [3])

    def test_generation_with_deletes(self):
        self.depth(9)
        self.write([P, Q], "a", 1, [1, 1])
        self.delete([P], ["a"], 2)
        self.write([P], "a", 2, [2])
        self.delete([P], [], 3)
        self.delete([R], [], 4)
        self.seal(4)
        self.assertEqual([self.model.generation("a", n) for n in (1, 2, 3, 4)], [1, 1, 2, 2])

    def test_as_of_without_rows(self):
        self.write([P], "a", 1, [1])
        self.seal(3, INCLUDE, ["a"])
        self.assertEqual(self.model.read([P], ["a"], 9).as_of, 3)
        self.delete([P], ["a"], 4)
        self.seal(4, INCLUDE, ["a"])
        self.assertEqual(self.model.read([P], ["a"], 9).as_of, 0)

    # Schemas and semantics

    def test_schema_conflicts(self):
        self.write([P], "a", 1, [1], semantic=POINT)
        self.write([P], "a", 2, [1], lanes=3, want=model.INVALID_ARGUMENT)
        self.write([P], "a", 2, [1], semantic=COLOR, want=model.INVALID_ARGUMENT)
        self.write([P], "a", 2, [1])
        self.assertEqual(self.model.live_schema("a", P, 2).semantic, POINT)
        self.write([Q], "a", 2, [1])
        self.write([Q], "a", 3, [1], semantic=POINT, want=model.INVALID_ARGUMENT)

    def test_one_write_in_two_columns(self):
        self.write([P], "a", 1, [1], semantic=POINT)
        self.write([Q, P], "a", 2, [2, 3])
        self.seal(2)
        groups = self.model.read([Q, P], ["a"], 2).groups
        self.assertEqual([g.schema.semantic for g in groups], [POINT, NONE])
        self.assertEqual([[p for p, _ in g.rows] for g in groups], [[P], [Q]])

    def test_move_by_order_of_ordinals(self):
        # ENGINE 10: A@5 of one lane, then A@3 of three, accepted as nothing lives at 3; at 5 one lane wins.
        self.depth(4)
        self.write([P], "a", 5, [5])
        self.write([P], "a", 3, [3], lanes=3)
        self.write([P], "a", 4, [4], want=model.INVALID_ARGUMENT)
        self.seal(5)
        self.assertEqual([g.schema.lanes for g in self.model.read([P], ["a"], 5).groups], [1])
        self.assertEqual([g.schema.lanes for g in self.model.read([P], ["a"], 4).groups], [3])
        # Creation order: the column of one lane came first.
        self.assertEqual([s.lanes for s in self.model.columns["a"]], [1, 3])
        # The column of three lanes changed at 3 and, as P left it, at 5.
        self.assertEqual(self.model.change_ordinals("a", self.model.columns["a"][1]), [3, 5])
        self.assertEqual(self.model.change_ordinals("a", self.model.columns["a"][0]), [5])

    def test_id_semantics(self):
        bad = model.INVALID_ARGUMENT
        self.assertEqual(self.model.write([P], "t", 1, words([0]), semantic=TOKEN_ID), model.OK)
        self.assertEqual(self.model.write([P], "u", 1, words([1]), semantic=3), model.OK)
        self.assertEqual(self.model.write([P], "v", 1, words([1, 2], 2), semantic=1), model.OK)
        self.write([P], "w", 1, [1], semantic=TOKEN_ID, want=bad)
        self.assertEqual(self.model.write([P], "w", 1, words([1, 2], 2), semantic=TOKEN_ID), bad)
        self.assertEqual(self.model.write([P], "w", 1, words([1]), semantic=1), bad)
        for semantic in model.ARRAY_SEMANTICS:
            self.assertEqual(self.model.write([P], "w", 1, words([1]), semantic=semantic), bad)

    def test_typed_names(self):
        bad = model.INVALID_ARGUMENT
        self.assertEqual(self.model.write([P], "usd-prim-type", 1, words([1])), bad)
        self.assertEqual(self.model.write([P], "usd-prim-type", 1, words([1]), semantic=TOKEN_ID), model.OK)
        self.assertEqual(self.model.write([P], "usd-prim-type", 2, words([1])), model.OK)
        self.assertEqual(self.model.write([P], "usd-schemas", 1, words([1]), semantic=TOKEN_ID), bad)

    # Floors

    def test_exclude_gives_unknown_names_a_floor(self):
        # ENGINE 14: EXCLUDE ["typo"] 10 holds the global floor, it can not fall later.
        self.seal(10, EXCLUDE, ["typo"])
        self.assertEqual((self.model.global_floor(), self.model.floor("typo"), self.model.floor("a")), (0, 0, 10))
        self.seal(10)
        self.assertEqual((self.model.global_floor(), self.model.own_floors), (10, {}))

    def test_include_leaves_the_global_floor(self):
        self.seal(4, INCLUDE, ["a"])
        self.assertEqual((self.model.global_floor(), self.model.floor("a"), self.model.floor("b")), (0, 4, 0))
        self.write([P], "a", 4, [1], want=model.WRITE_FLOOR_VIOLATION)
        self.write([P], "b", 1, [1])

    def test_own_floor_above_all(self):
        self.seal(9, INCLUDE, ["a"])
        self.seal(5)
        self.assertEqual((self.model.floor("a"), self.model.floor("b"), self.model.global_floor()), (9, 5, 5))
        self.seal(9)
        self.assertEqual(self.model.own_floors, {})

    def test_exclude_lifts_other_own_floors(self):
        self.seal(2, INCLUDE, ["a"])
        self.seal(6, EXCLUDE, ["b"])
        self.assertEqual((self.model.floor("a"), self.model.floor("b"), self.model.floor("c")), (6, 0, 6))

    def test_exclude_of_nothing_is_all(self):
        self.seal(2, INCLUDE, ["a"])
        self.seal(3, EXCLUDE)
        self.assertEqual((self.model.floor("a"), self.model.global_floor()), (3, 3))

    def test_include_of_nothing_and_lower_advances(self):
        self.seal(3)
        self.seal(7, INCLUDE)
        self.seal(2)
        self.seal(1, INCLUDE, ["a"])
        self.assertEqual((self.model.floor("a"), self.model.floor("b")), (3, 3))
        self.assertEqual(self.model.advance(NEWEST), model.INVALID_ARGUMENT)

    # Reads

    def test_unsealed_at_or_below(self):
        self.write([P], "a", 1, [1])
        self.seal(1)
        self.write([P], "a", 3, [3])
        self.assertEqual(self.values([P], "a", 2), {P: 1})
        self.assertEqual(self.values([P], "a", 3), model.WRITE_FLOOR_VIOLATION)
        self.assertEqual(self.values([Q], "a", 3), {})
        self.assertEqual(self.values([P], "b", 3), {})
        self.assertEqual(self.values([P], "a", NEWEST), {P: 1})

    def test_masked_out_is_not_unsealed(self):
        self.write([P, Q], "a", 1, [1, 2], count=2, mask=[0, 1])
        self.assertEqual(self.status([P], ["a"], 1), model.OK)
        self.assertEqual(self.status([Q], ["a"], 1), model.WRITE_FLOOR_VIOLATION)

    def test_as_of(self):
        self.write([P], "a", 1, [1])
        self.write([P], "b", 1, [1])
        self.seal(5, INCLUDE, ["a"])
        self.seal(3, INCLUDE, ["b"])
        self.assertEqual(self.model.read([P], ["a", "b"], 100).as_of, 3)
        self.assertEqual(self.model.read([P], ["a"], 100).as_of, 5)
        self.assertEqual(self.model.read([P], ["a"], NEWEST).as_of, 5)
        self.assertEqual(self.model.read([P], ["a"], 2).as_of, 2)
        self.assertEqual(self.model.read([P], ["never"], 100).as_of, 0)
        self.assertEqual(self.model.read([P], ["a", "never"], 100).as_of, 5)
        self.write([Q], "c", 9, [1])
        self.assertEqual(self.model.read([P], ["a", "c"], NEWEST).as_of, 0)

    def test_each_attribute_at_its_own_floor(self):
        # ENGINE 5: A at 5, B at 3, a read at 5 shows B as of 3.
        self.depth(4)
        for ordinal in (3, 4):
            self.write([P], "b", ordinal, [ordinal])
        self.write([P], "a", 5, [5])
        self.seal(5, INCLUDE, ["a"])
        self.seal(3, INCLUDE, ["b"])
        self.assertEqual(self.values([P], "a", 5), {P: 5})
        self.assertEqual(self.values([P], "b", 3), {P: 3})
        self.assertEqual(self.values([P], "b", NEWEST), {P: 3})
        self.assertEqual(self.values([P], "b", 5), model.WRITE_FLOOR_VIOLATION)

    def test_groups_in_order(self):
        for attribute in ("a", "b"):
            self.write([P], attribute, 1, [1], lanes=3)
            self.write([Q], attribute, 1, [1])
        self.seal(1)
        groups = self.model.read([Q, P], ["b", "a", "b", "never"], 1).groups
        self.assertEqual([(g.attribute, g.schema.lanes) for g in groups], [("b", 3), ("b", 1), ("a", 3), ("a", 1)])

    def test_nothing_to_return(self):
        self.write([P], "a", 1, [1])
        self.write([P], "a", 2, [1])
        self.seal(2)
        self.assertEqual(self.model.read([], ["a"], 1), model.Result(model.OK, 1, []))
        self.assertEqual(self.model.read([P], [], 1), model.Result(model.OK, 1, []))

    def test_generation(self):
        self.depth(9)
        self.write([P], "a", 1, [1])
        self.write([P], "a", 2, [1])
        self.write([Q], "a", 3, [1])
        self.seal(3)
        self.assertEqual([self.model.generation("a", n) for n in (0, 1, 2, 3)], [0, 1, 1, 2])

    # History

    def test_depth_one(self):
        self.write([P], "a", 3, [3])
        self.seal(3)
        # Nothing was dropped yet: before 3 there was nothing, and that is known.
        self.assertEqual(self.values([P], "a", 1), {})
        self.write([P], "a", 7, [7])
        self.seal(9)
        self.assertEqual(self.values([P], "a", 6), model.OUT_OF_RANGE)
        self.assertEqual(self.values([P], "a", 7), {P: 7})
        self.assertEqual(self.values([P], "a", NEWEST), {P: 7})
        self.assertEqual(self.model.value_frontier(), 7)

    def test_history_is_per_column(self):
        # ENGINE 4a: A at every ordinal, B only at 5, then A@12, A@15, A@18 in one advance.
        self.depth(4)
        for ordinal in range(1, 12):
            self.write([P], "a", ordinal, [ordinal])
            if ordinal == 5:
                self.write([P], "b", 5, [5])
            self.seal(ordinal)
        self.assertEqual(self.model.value_frontier(), 8)
        for ordinal in (12, 15, 18):
            self.write([P], "a", ordinal, [ordinal])
        self.seal(20)
        self.assertEqual(self.values([P], "a", 10), model.OUT_OF_RANGE)
        self.assertEqual(self.values([P], "a", 11), {P: 11})
        self.assertEqual(self.values([P], "b", 10), {P: 5})
        self.assertEqual(self.status([P], ["b", "a"], 10), model.OUT_OF_RANGE)
        # 4b: a fold keeps the distinct ordinals.
        self.assertEqual(self.values([P], "a", 15), {P: 15})
        self.assertEqual(self.values([P], "a", 17), {P: 15})
        self.assertEqual(self.values([P], "a", 14), {P: 12})

    def test_several_writes_at_one_ordinal_are_one_change(self):
        self.depth(2)
        self.write([P], "a", 1, [1])
        for value in range(5):
            self.write([P, Q], "a", 2, [value, value])
        self.seal(2)
        self.assertEqual(self.values([P], "a", 1), {P: 1})

    def test_masked_out_writes_are_no_change(self):
        self.write([P], "a", 1, [1])
        self.seal(1)
        self.write([P], "a", 2, [1], count=1, mask=[0])
        self.seal(2)
        self.assertEqual(self.values([P], "a", 1), {P: 1})

    def test_frontier_of_any_column_of_the_attribute(self):
        self.write([P], "a", 1, [1])
        self.write([Q], "a", 1, [1], lanes=3)
        self.write([Q], "a", 2, [1], lanes=3)
        self.seal(2)
        self.assertEqual(self.status([P], ["a"], 1), model.OUT_OF_RANGE)
        self.assertEqual(self.status([P], ["a"], 2), model.OK)

    def test_floor_violation_before_out_of_range(self):
        for ordinal in (1, 2):
            self.write([P], "a", ordinal, [1])
        self.seal(2, INCLUDE, ["a"])
        self.write([P], "b", 1, [1])
        self.assertEqual(self.status([P], ["a", "b"], 1), model.WRITE_FLOOR_VIOLATION)

    # Arrays

    def arrays(self, prims, attribute, ordinal, rows, want=model.OK, **more):
        tensors = [tensor for row in rows for tensor in ints(row)]
        status = self.model.write(prims, attribute, ordinal, tensors, is_array=True, **more)
        self.assertEqual(status, want)

    def packed(self, prims, ordinal, shape, want=model.OK, **more):
        n = 1
        for extent in shape:
            n *= extent
        tensor = model.Tensor(0, 32, shape, struct.pack(f"={n}i", *range(n)))
        status = self.model.write(prims, "a", ordinal, [tensor], is_array=True, packed=True, **more)
        self.assertEqual(status, want)

    def rows(self, prims, attribute, ordinal):
        groups = self.model.read(prims, [attribute], ordinal).groups
        return {p: list(struct.unpack(f"={len(row) // 4}i", row)) for group in groups for p, row in group.rows}

    def test_array_rows(self):
        self.arrays([P, Q, R], "a", 1, [[1, 2, 3], [], [4]])
        self.arrays([P, Q], "a", 2, [[5], [6, 7]], count=2, mask=[0, 1])
        self.arrays([P, R], "a", 3, [[8, 9]], count=2, index_map=[0, 0])
        self.seal(3)
        self.assertEqual(self.rows([P, Q, R], "a", 3), {P: [8, 9], Q: [6, 7], R: [8, 9]})

    def test_array_faults(self):
        bad = model.INVALID_ARGUMENT
        self.arrays([P, Q], "a", 1, [[1]], want=bad)
        self.arrays([P, Q], "a", 1, [[1], [2], [3]], want=bad)
        self.arrays([P, Q], "a", 1, [], want=bad)
        self.arrays([P, Q], "a", 1, [[1], [2]], count=2, index_map=[0, 2], want=bad)
        mixed = [*ints([1]), *words([1])]
        self.assertEqual(self.model.write([P, Q], "a", 1, mixed, is_array=True), bad)
        self.write([P], "a", 1, [1])
        self.arrays([P], "a", 1, [[1]], want=bad)
        self.arrays([Q], "a", 1, [[1]])

    def test_packed(self):
        bad = model.INVALID_ARGUMENT
        self.packed([P, Q], 1, (6,))
        self.packed([P, Q], 2, (5,), want=bad)
        self.packed([P, Q], 2, (4,), count=2, index_map=[1, 0])
        self.packed([P, Q], 3, (3,), count=2, index_map=[0, 1], want=bad)
        self.packed([P, Q], 3, (0,), count=2, index_map=[0, 2**31])
        self.packed([P], 4, ())
        self.seal(2)
        self.assertEqual(self.rows([P, Q], "a", 2), {P: [2, 3], Q: [0, 1]})
        self.seal(4)
        self.assertEqual(self.rows([P, Q], "a", 4), {P: [0], Q: []})

    def test_array_semantics(self):
        write, bad = self.model.write, model.INVALID_ARGUMENT
        self.assertEqual(write([P], "a", 1, words([1, 2]), is_array=True, semantic=model.RELATIONSHIP_PATH_ID), 0)
        self.assertEqual(write([P], "b", 1, words([1]), semantic=model.RELATIONSHIP_PATH_ID), bad)
        self.assertEqual(write([P], "b", 1, words([1, 2]), is_array=True, semantic=model.STRING), bad)
        self.assertEqual(write([P], "b", 1, words([1, 2]), is_array=True, semantic=model.CONNECTION_PATH_ID), bad)
        self.assertEqual(write([P], "usd-schemas", 1, words([1, 2]), is_array=True, semantic=TOKEN_ID), 0)
        self.assertEqual(write([P], "usd-schemas", 1, words([1]), semantic=TOKEN_ID), bad)

    # Ranges

    def changes(self, prims, attribute, start, end):
        """prim -> first lane or None for deleted; or the code of the read's error."""
        result = self.model.read(prims, [attribute], end, start)
        if result.status != model.OK:
            return result.status
        told = {}
        for group in result.groups:
            for prim, value in group.rows:
                told[prim] = None if group.schema is None else struct.unpack_from("=i", value)[0]
        return told

    def test_range(self):
        self.depth(9)
        self.write([P, Q], "a", 1, [1, 1])
        self.write([P], "a", 3, [3])
        self.delete([Q], ["a"], 4)
        self.write([R], "a", 5, [5])
        self.seal(6)
        self.assertEqual(self.changes([P, Q, R], "a", 0, 1), {P: 1, Q: 1})
        self.assertEqual(self.changes([P, Q, R], "a", 2, 4), {P: 3, Q: None})
        self.assertEqual(self.changes([P, Q, R], "a", 1, 4), {P: 3, Q: None})
        self.assertEqual(self.changes([P, Q, R], "a", 5, NEWEST), {R: 5})
        self.assertEqual(self.changes([P, Q, R], "a", 6, 9), {})
        self.assertEqual(self.changes([P], "a", 4, 3), model.INVALID_ARGUMENT)

    def test_range_cases(self):
        # ENGINE 30
        self.depth(9)
        self.write([P], "a", 1, [1])
        self.delete([P], ["a"], 2)
        self.write([P], "a", 2, [2])
        self.write([Q], "a", 2, [2])
        self.delete([Q], ["a"], 2)
        self.delete([R], ["a"], 2)
        self.write([P], "a", 3, [2])
        self.write([P, R], "a", 4, [9, 9], count=2, mask=[0, 0])
        self.seal(4)
        self.assertEqual(self.changes([P, Q, R], "a", 2, 2), {P: 2, Q: None})
        self.assertEqual(self.changes([P, Q, R], "a", 3, 3), {P: 2})
        self.assertEqual(self.changes([P, Q, R], "a", 4, 4), {})

    def test_range_over_a_move(self):
        # ENGINE 9
        self.depth(9)
        self.write([P], "a", 1, [1])
        self.delete([P], ["a"], 5)
        self.write([P], "a", 5, [2], lanes=3)
        self.seal(5)
        (group,) = self.model.read([P], ["a"], 5, 5).groups
        self.assertEqual(group.schema.lanes, 3)

    def test_range_out_of_range(self):
        self.write([P, Q], "a", 1, [1, 1])
        self.delete([P], ["a"], 2)
        self.seal(2)
        self.write([P], "a", 4, [4])
        self.seal(4)
        self.assertEqual(self.changes([P], "a", 1, 3), model.OUT_OF_RANGE)
        self.assertEqual(self.changes([Q], "a", 1, 3), {Q: 1})
        self.assertEqual(self.changes([P], "a", 3, 3), {})
        self.assertEqual(self.changes([P, Q], "a", 2, 4), {P: 4})

    def test_range_as_of(self):
        self.write([P], "a", 1, [1])
        self.seal(3, INCLUDE, ["a"])
        self.assertEqual(self.model.read([P], ["a"], NEWEST, 2).as_of, 3)
        self.assertEqual(self.model.read([P], ["a"], 9, 7).as_of, 6)
        self.assertEqual(self.model.read([P], ["b"], 9, 0).as_of, 0)
        self.write([P], "a", 5, [1])
        self.assertEqual(self.changes([P], "a", 1, 5), model.WRITE_FLOOR_VIOLATION)
        self.assertEqual(self.changes([P], "a", 1, NEWEST), {P: 1})

    def test_tombstones_come_last(self):
        self.depth(9)
        self.write([P, Q], "a", 1, [1, 1])
        self.write([P, Q], "b", 1, [1, 1])
        self.delete([P], ["a"], 2)
        self.delete([Q], ["a"], 3)
        self.delete([Q], ["a"], 4)
        self.seal(4)
        groups = self.model.read([Q, P], ["a", "b"], 4, 1).groups
        self.assertEqual([(g.attribute, g.schema is None, g.ordinal) for g in groups], [("b", False, 1), ("a", True, 3)])
        self.assertEqual([prim for prim, _ in groups[1].rows], [Q, P])

    # Built-ins

    def test_built_ins(self):
        self.write(["/", "/a", "/a/b", "/a/b/c"], "a", 1, [1, 1, 1, 1])
        self.delete(["/a/b"], [], 5)
        self.seal(1)
        told = {}
        for name in model.BUILT_INS:
            for group in self.model.read(["/a/b", "/a", "/", "/a/b/c"], [name], 0).groups:
                self.assertEqual((group.ordinal, group.schema.semantic), (0, NONE))
                ids = [struct.unpack(f"={len(row) // 8}Q", row) for _, row in group.rows]
                texts = [[self.model.path_ids.text(i) for i in row] for row in ids]
                told[name] = dict(zip([prim for prim, _ in group.rows], texts))
        self.assertEqual(told["usd-path"], {"/a": ["/a"], "/": ["/"], "/a/b/c": ["/a/b/c"]})
        self.assertEqual(told["usd-parent"], {"/a": ["/"], "/a/b/c": ["/a/b"]})
        self.assertEqual(told["usd-children"], {"/a": [], "/": ["/a"], "/a/b/c": []})
        self.assertEqual(self.status(["/a"], ["usd-active"], 0), model.NOT_SUPPORTED)
        self.assertEqual(self.model.read(["/a"], ["usd-active"], 0, 1).status, model.INVALID_ARGUMENT)
        self.assertEqual(self.model.read(["/a"], ["usd-path"], 1, 0).groups, [])

    # Filters

    def match(self, tree, want):
        status, prims = self.model.query(tree)
        self.assertEqual(prims if status == model.OK else status, want)

    def test_filters(self):
        self.write([P, Q, R], "a", 3, [1, 5, 9])
        self.write([Q], "b", 9, [1])
        self.match((model.GE, "a", [5]), [Q, R])
        self.match((model.LT, "a", [5.5]), [P, Q])
        self.match((model.IN, "a", [1, 9.0]), [P, R])
        self.match(("all", [(model.GT, "a", [1]), ("not", (model.HAS, "b", []))]), [R])
        self.match(("any", [(model.HAS, "b", []), (model.IN, "a", [1])]), [P, Q])
        self.match((model.LT, "never", [1]), [])
        self.match((model.LT, "a", ["x"]), model.INVALID_ARGUMENT)
        self.match((model.PREFIX, "a", ["x"]), model.NOT_SUPPORTED)
        self.match((model.HAS, "usd-active", []), model.NOT_SUPPORTED)
        self.delete([P], [], 1)
        self.match((model.GE, "a", [0]), [P, Q, R])
        self.delete([P], [], 3)
        self.match((model.GE, "a", [0]), [Q, R])

    def test_filters_on_texts(self):
        token = self.model.token_ids.id
        ids = [token("apple"), token("app"), 0, 10**9]
        self.assertEqual(self.model.write([P, Q, R, "/S"], "t", 1, words(ids), semantic=TOKEN_ID), 0)
        self.match((model.PREFIX, "t", ["app"]), [P, Q])
        self.match((model.CONTAINS, "t", ["pl"]), [P])
        self.match((model.GT, "t", ["app"]), [P])
        self.match((model.IN, "t", ["", "app"]), [Q, R])
        self.match((model.LE, "t", [5]), model.INVALID_ARGUMENT)
        self.match(("not", (model.PREFIX, "t", [""])), ["/S"])

    def test_filters_with_literals(self):
        self.write([P, Q], "a", 1, [1, 5])
        self.assertEqual(self.model.write([P], "t", 1, words([self.model.token_ids.id("5")]), semantic=TOKEN_ID), 0)
        self.match((model.GE, "a", [Literal(2.5)]), [Q])
        self.match((model.IN, "a", [Literal(-1), Literal(1)]), [P])
        self.match((model.IN, "t", [Literal(5)]), [P])
        self.match((model.LT, "a", [Literal("x")]), model.INVALID_ARGUMENT)

    def test_filters_on_paths(self):
        self.write(["/a", "/ab", "/a/b"], "a", 1, [1, 1, 1])
        self.match((model.SUBTREE, None, ["/a"]), ["/a", "/a/b"])
        self.match((model.SUBTREE, None, ["/"]), ["/a", "/ab", "/a/b"])
        self.match((model.SUBTREE, None, ["a"]), model.INVALID_ARGUMENT)
        self.match(("any", [(model.HAS, model.UNSUPPORTED, []), (model.SUBTREE, "b", ["/a/"])]), model.INVALID_ARGUMENT)
        self.match((model.PREFIX, "usd-path", ["/a"]), ["/a", "/ab", "/a/b"])
        self.match((model.IN, "usd-parent", ["/a"]), ["/a/b"])
        self.match((model.CONTAINS, "usd-children", ["/a/b"]), ["/a"])

    def test_discovered_attributes(self):
        self.write([P, Q], "b", 1, [1, 1])
        self.write([Q], "a", 1, [1])
        self.assertEqual(self.model.discovered([P], []), ["b"])
        self.assertEqual(self.model.discovered([P, Q], []), ["a", "b"])
        self.assertEqual(self.model.discovered([P, Q], ["a", "c"]), ["a"])

    # Clones

    def clone(self, source, targets, ordinal, want=model.OK):
        self.assertEqual(self.model.clone(source, targets, ordinal), want)

    def test_clone(self):
        path = self.model.path_ids.id
        self.write(["/a", "/a/b", "/ab"], "a", 1, [1, 2, 3])
        ids = words([path("/a/b"), path("/ab"), path("/a")])
        relation = model.RELATIONSHIP_PATH_ID
        self.assertEqual(self.model.write(["/a"], "r", 1, ids, is_array=True, semantic=relation), 0)
        self.write(["/a/b"], "a", 5, [9])
        self.clone("/a", ["/x", "/a/c"], 3)
        self.seal(3)
        prims = ["/x", "/x/b", "/a/c", "/a/c/b", "/a/c/c"]
        self.assertEqual(self.values(prims, "a", 3), {"/x": 1, "/x/b": 2, "/a/c": 1, "/a/c/b": 2})
        (group,) = self.model.read(["/x"], ["r"], 3).groups
        self.assertEqual(group.rows[0][1], words([path("/x/b"), path("/ab"), path("/x")])[0].data)

    def test_clone_faults(self):
        self.clone("/a", ["/x"], 1, model.NOT_FOUND)
        self.clone("/a", [], 1)
        self.write(["/a/b"], "a", 1, [1])
        self.write(["/x/b"], "a", 1, [1])
        self.clone("/a", ["/y", "/y/z"], 1, model.INVALID_ARGUMENT)
        self.clone("/a", ["y"], 1, model.INVALID_ARGUMENT)
        self.clone("/a", ["/x"], 1, model.ALREADY_EXISTS)
        self.clone("/a", ["/x/c"], 1)
        self.clone("/a/b", ["/x/c/b"], 1, model.ALREADY_EXISTS)
        self.seal(1)
        self.clone("/a", ["/x"], 1, model.WRITE_FLOOR_VIOLATION)

    # Maps

    def test_map(self):
        self.write([Q], "a", 1, [1], semantic=POINT)
        status, session = self.model.map_attribute([P, Q, R], "a", 2, (0, 32, 1))
        self.assertEqual(status, model.OK)
        self.assertEqual(session.groups, [[Q], [P, R]])
        session.values = {P: b"pppp", Q: b"qqqq", R: b"rrrr"}
        self.assertEqual(self.model.map_commit_group(session, [Q]), model.OK)
        self.assertEqual(self.model.map_commit_group(session, [Q]), model.INVALID_HANDLE)
        self.write([Q], "a", 2, [7])
        self.assertEqual(self.model.map_commit(session), model.OK)
        self.assertEqual(self.model.map_commit(session), model.INVALID_HANDLE)
        self.seal(2)
        rows = {p: row for group in self.model.read([P, Q, R], ["a"], 2).groups for p, row in group.rows}
        self.assertEqual(rows, {P: b"pppp", Q: struct.pack("=i", 7), R: b"rrrr"})

    def test_map_schemas(self):
        status = lambda *args, **more: self.model.map_attribute(*args, **more)[0]
        self.assertEqual(status([P], "a", 1), model.INVALID_ARGUMENT)
        self.write([P], "a", 1, [1], semantic=POINT)
        self.assertEqual(status([P], "a", 1), model.OK)
        self.assertEqual(status([Q], "a", 1), model.OK)
        self.assertEqual(status([P], "a", 1, counts=[3]), model.INVALID_ARGUMENT)
        self.assertEqual(status([P], "a", 1, (0, 32, 3)), model.INVALID_ARGUMENT)
        self.assertEqual(status([P], "a", 1, semantic=COLOR), model.INVALID_ARGUMENT)
        self.write([R], "a", 1, [1], semantic=COLOR)
        self.assertEqual(status([Q], "a", 1), model.INVALID_ARGUMENT)
        self.assertEqual(status([P], "a", 1), model.OK)
        self.assertEqual(status([P, R], "a", 1), model.INVALID_ARGUMENT)

    def test_map_is_filled(self):
        self.write([P], "a", 1, [1])
        _, session = self.model.map_attribute([P, Q], "a", 2, fill=True)
        self.assertEqual(session.values, {P: struct.pack("=i", 1), Q: bytes(4)})
        self.arrays([P], "b", 1, [[1, 2, 3]])
        _, session = self.model.map_attribute([P, Q], "b", 2, counts=[2, 1], fill=True)
        self.assertEqual(session.values, {P: struct.pack("=2i", 1, 2), Q: bytes(4)})

    def test_map_commit_is_checked(self):
        _, session = self.model.map_attribute([P], "a", 2, (0, 32, 1), mode=INSERT)
        session.values = {P: b"pppp"}
        self.write([P], "b", 1, [1])
        self.assertEqual(self.model.map_commit(session), model.ALREADY_EXISTS)
        _, session = self.model.map_attribute([P], "a", 2, (0, 32, 1))
        self.seal(2)
        session.values = {P: b"pppp"}
        self.assertEqual(self.model.map_commit(session), model.WRITE_FLOOR_VIOLATION)

    # The Python face

    # Watches

    def watch(self, prims, *attributes):
        status, watch = self.model.watch(prims, list(attributes))
        self.assertEqual(status, model.OK)
        return watch

    def told(self, watch):
        """(attribute, ordinal, prim -> first lane or None for deleted) of each group that a watch tells next."""
        return [
            (
                group.attribute,
                group.ordinal,
                {prim: struct.unpack_from("=i", value)[0] if group.schema else None for prim, value in group.rows},
            )
            for group in self.model.watch_next(watch)
        ]

    def test_watch(self):
        self.write([P, Q], "a", 1, [1, 1])
        self.seal(1)
        watch = self.watch([P, R], "a", "b")
        self.assertEqual(self.model.cursor(watch), 1)
        self.assertEqual(self.told(watch), [])
        self.write([P, Q, R], "a", 2, [2, 2, 2])
        self.assertEqual(self.told(watch), [])
        self.seal(2)
        self.assertEqual(self.told(watch), [("a", 2, {P: 2, R: 2})])
        self.assertEqual(self.told(watch), [])
        # Of others it tells nothing, but knows of it.
        self.write([Q], "a", 3, [3])
        self.write([P], "c", 3, [3])
        self.seal(3)
        self.assertEqual(self.told(watch), [])
        self.assertEqual(self.model.cursor(watch), 3)

    def test_watch_tells_all_it_missed_as_one(self):
        watch = self.watch([P, Q, R], "a", "b")
        for ordinal in (1, 2, 3):
            self.write([P], "a", ordinal, [ordinal])
            self.seal(ordinal)
        self.write([Q, R], "a", 4, [4, 4])
        self.delete([Q], ["a"], 5)
        self.write([P], "b", 5, [5])
        self.seal(6)
        self.assertEqual(self.told(watch), [("a", 4, {P: 3, R: 4}), ("b", 5, {P: 5}), ("a", 5, {Q: None})])
        self.delete([P], [], 7)
        self.delete([Q], [], 7)
        self.write([P], "a", 8, [8])
        self.seal(8)
        self.assertEqual(self.told(watch), [("a", 8, {P: 8}), ("b", 7, {P: None})])

    def test_watch_follows_each_attribute(self):
        watch = self.watch([P], "a", "b")
        self.write([P], "a", 5, [5])
        self.write([P], "b", 3, [3])
        self.seal(5, INCLUDE, ["a"])
        self.assertEqual(self.told(watch), [("a", 5, {P: 5})])
        self.assertEqual(self.model.cursor(watch), 0)
        self.seal(4, INCLUDE, ["b"])
        self.assertEqual(self.told(watch), [("b", 3, {P: 3})])
        self.assertEqual(self.model.cursor(watch), 4)
        # One that is made now begins where each of them is.
        other = self.watch([P], "b", "a", "b")
        self.write([P], "b", 5, [6])
        self.seal(6)
        self.assertEqual(self.told(other), [("b", 5, {P: 6})])
        self.assertEqual(self.told(watch), [("b", 5, {P: 6})])

    def test_watch_of_built_ins(self):
        self.assertEqual(self.model.watch([P], ["usd-active"])[0], model.NOT_SUPPORTED)
        watch = self.watch([P], "usd-path")
        self.write([P], "a", 1, [1])
        self.seal(2)
        self.assertEqual(self.told(watch), [])
        self.assertEqual(self.model.cursor(watch), 2)
        self.assertEqual(self.model.cursor(self.watch([P])), 2)

    def test_call_errors(self):
        error = model.python_call_error
        self.assertEqual(error(3, 0, None, None, False), "ValueError")
        self.assertEqual(error(3, None, [], None, False), "ValueError")
        self.assertEqual(error(3, 3, [0, 0], None, False), "ValueError")
        self.assertEqual(error(3, None, None, [1, 1], False), "ValueError")
        self.assertEqual(error(3, None, None, [1, 1, 1], True), "ValueError")
        self.assertIsNone(error(3, 3, None, [1, 1, 1], True))
        self.assertIsNone(error(3, 2, [0, 0, 0], None, False))
        self.assertIsNone(error(3, None, None, [1, 1, 1, 1], False))


class DriverTest(unittest.TestCase):
    def test_sequences_are_plain_and_repeatable(self):
        for seed in range(50):
            one = sequences.generate(seed)
            self.assertEqual(one, sequences.generate(seed))
            self.assertEqual(one, json.loads(json.dumps(one)))
            self.assertIn(one["depth"], (1, 4))
            self.assertTrue(10 <= len(one["ops"]) <= 64)

    def test_difference(self):
        self.assertIsNone(driver.difference({"a": [1, (2, 3)]}, {"a": [1, (2, 3)]}))
        self.assertIn("[1]", driver.difference([1, 2], [1, 3]))
        self.assertIn("a: missing", driver.difference({"a": 1}, {}))
        self.assertIn("too much", driver.difference({}, {"a": 1}))
        self.assertIn("2 entries, want 1", driver.difference([1], [1, 2]))

    def test_shrink_keeps_what_matters(self):
        ops = [{"op": "held", "n": i} for i in range(40)]

        def fails(sequence):
            present = [op["n"] for op in sequence["ops"]]
            return (present.index(31), "both") if 7 in present and 31 in present else None

        smaller, found = driver.shrink({"ops": ops}, fails)
        self.assertEqual([op["n"] for op in smaller["ops"]], [7, 31])
        self.assertEqual(found, (1, "both"))

    def test_hang_is_told(self):
        kind, _ = driver.in_child(lambda: __import__("time").sleep(60), fake.package(), 0.3)
        self.assertEqual(kind, "timeout")


class WithdrawTest(unittest.TestCase):
    """Sequences on the model's side, where something is withdrawn."""

    def setUp(self):
        sequence = {"depth": 1, "paths": [P, Q], "lists": [[0, 1]], "universe": [P, Q], "tokens": [], "alone": True}
        self.side = sides.ModelSide({**sequence, "attributes": ["a"], "unknown": "n"})

    def write(self, which, ordinal, values, wait=False):
        tensors = [{"shape": [len(values)], "values": values}]
        entry = {"attribute": "a", "dtype": "int32", "lanes": 1, "tensors": tensors, "semantic": NONE, "is_array": False}
        entry.update(count=None, index_map=None, mask=None, mask_words=False, listed=False, texts=False)
        return self.side.step({"op": "write", "list": which, "ordinal": ordinal, "mode": 0, "wait": wait, **entry})

    def query(self):
        self.side.step({"op": "query", "slot": 0, "filter": [model.HAS, "a", []], "attributes": [], "wait": False})

    def seal(self, ordinal):
        self.side.step({"op": "seal", "ordinal": ordinal, "scope": ALL, "attributes": [], "wait": False})

    def withdraw(self, back, want=None):
        op = {"op": "cancel", "back": back}
        self.assertIsNotNone(self.side.step(op))
        self.assertEqual(self.side.cancelled(op, True), want)

    def values(self):
        group = self.side.model.read([P, Q], ["a"], NEWEST).groups[0]
        return [struct.unpack("=i", value)[0] for _, value in group.rows]

    def test_query(self):
        self.write(0, 1, [1, 2])
        self.query()
        self.write(-1, 1, [3, 4])
        self.write(0, 0, [3, 4])
        self.withdraw(2)
        self.write(-1, 1, [5, 6])
        self.seal(1)
        self.assertEqual(self.side.pending, [0, {12}, model.WRITE_FLOOR_VIOLATION, 0])
        self.assertEqual(self.side.late_queries, [{"status": 12}])
        self.assertEqual(self.values(), [1, 2])

    def test_users(self):
        self.write(0, 1, [1, 2])
        self.query()
        self.write(-1, 1, [3, 4])
        self.write(-1, 1, [5, 6])
        self.withdraw(0)
        self.seal(1)
        self.assertEqual(self.side.pending, [0, 0, 12, 0])
        self.assertEqual(self.values(), [3, 4])

    def test_seal(self):
        self.write(0, 3, [1, 2])
        self.seal(2)
        self.write(0, 2, [3, 4])
        self.write(0, 4, [5, 6])
        self.withdraw(2)
        self.assertEqual(self.write(0, 2, [7, 8], True), {"status": 0})
        self.seal(2)
        self.assertEqual(self.side.pending, [0, 12, model.WRITE_FLOOR_VIOLATION, 0, 0])
        self.assertEqual(self.values(), [7, 8])

    def test_what_was_booked(self):
        self.write(0, 1, [1, 2])
        self.withdraw(0, "write 0 was withdrawn, though nothing is there that it could wait for")

    def test_what_was_waited_for(self):
        self.write(0, 1, [1, 2])
        self.query()
        self.write(-1, 1, [3, 4], True)
        self.withdraw(0, "a query was withdrawn that write had waited for")


class TapResult(unittest.TestResult):
    def startTestRun(self):
        self.n = 0

    def tell(self, test, error=None):
        self.n += 1
        print(f"{'ok' if error is None else 'not ok'} {self.n} - {test.id()}")
        if error is not None:
            print("\n".join(f"# {line}" for line in self._exc_info_to_string(error, test).splitlines()))

    def addSuccess(self, test):
        self.tell(test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.tell(test, error)


def main():
    if "--tap" not in sys.argv:
        unittest.main()
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{tests.countTestCases()}")
    result = TapResult()
    result.startTestRun()
    tests.run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
