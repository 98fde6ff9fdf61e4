# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What reads give: snapshots, ranges and built-in attributes."""

import struct

from terms import *


class Reads:
    """The part of the model that reads."""

    def attribute_exists(self, attribute):
        """Whether it has rows, or anything staged."""
        floor = self.floor(attribute)
        return bool(self.placement(attribute, floor)) or any(e.ordinal > floor for e in self.entries.get(attribute, ()))

    def as_of(self, attributes, ordinal):
        floors = [self.floor(attribute) for attribute in attributes if self.attribute_exists(attribute)]
        return min([ordinal, *(floors or [self.global_floor()])])

    def as_of_later(self, attributes, ordinal):
        """What as_of may be where the read runs later: attributes may have come to be meanwhile."""
        attributes = self.stored(attributes)
        floors = [self.floor(attribute) for attribute in attributes if self.attribute_exists(attribute)]
        other = [self.floor(attribute) for attribute in attributes if not self.attribute_exists(attribute)]
        return [self.as_of(attributes, ordinal), *(min([ordinal, floor, *floors]) for floor in other)]

    def stored(self, attributes):
        """Those of a read that have a say in as_of."""
        return [attribute for attribute in self.selected(attributes) if attribute not in BUILT_INS]

    def is_unsealed(self, attribute, prims, ordinal):
        """Whether any of these keys has something staged at or below an ordinal.

        A delete of whole prims is that only where something lives or is staged.
        """
        floor = self.floor(attribute)
        for entry in self.entries.get(attribute, ()):
            if floor < entry.ordinal <= ordinal and any(prim in entry.rows for prim in prims):
                return True
        for delete in self.prim_deletes:
            if floor < delete.ordinal <= ordinal and self.kills(delete, attribute):
                if any(p in delete.prims and self.lives_or_is_staged(attribute, p, ordinal) for p in prims):
                    return True
        return False

    def group_ordinal(self, attribute, prims, ordinal):
        return max(self.last_entry(attribute, prim, ordinal).ordinal for prim in prims)

    def generation(self, attribute, ordinal):
        """How often the set of prims, or the schema of one, was another than at the sealed ordinal before."""
        rises, before = 0, {}
        for at in self.ordinals(attribute, ordinal):
            now = self.placement(attribute, at)
            if now != before:
                rises += 1
            before = now
        return rises

    def ordinals(self, attribute, ordinal):
        """Those at which something may have changed, up to one of them."""
        entries = [*self.entries.get(attribute, ()), *self.prim_deletes]
        return sorted({e.ordinal for e in entries if e.ordinal <= ordinal})

    def selected(self, attributes):
        """The attributes of a read in the order they were asked for, each once."""
        return list(dict.fromkeys(attributes))

    def read(self, prims, attributes, ordinal, start=None):
        """A snapshot at an ordinal or at NEWEST, or what changed from @start up to it."""
        if start is not None and start > ordinal:
            return Result(INVALID_ARGUMENT, 0, [])
        attributes = self.selected(attributes)
        if UNSUPPORTED in attributes:
            return Result(NOT_SUPPORTED, 0, [])
        stored = self.stored(attributes)
        if ordinal != NEWEST and any(self.is_unsealed(attribute, prims, ordinal) for attribute in stored):
            return Result(WRITE_FLOOR_VIOLATION, 0, [])
        as_of = self.as_of(stored, ordinal)
        if start is not None:
            return self.read_range(prims, stored, start, ordinal, max(as_of, start - 1))
        if ordinal != NEWEST and prims and any(ordinal < self.oldest_kept(attribute) for attribute in stored):
            return Result(OUT_OF_RANGE, 0, [])

        groups = []
        for attribute in attributes:
            if attribute in BUILT_INS:
                groups += self.built_in_group(prims, attribute, as_of)
                continue
            at = min(ordinal, self.floor(attribute))
            groups += self.value_groups(attribute, prims, at)
        return Result(OK, as_of, groups)

    def value_groups(self, attribute, prims, at):
        groups = []
        for schema in self.columns.get(attribute, ()):
            members = [prim for prim in prims if self.live_schema(attribute, prim, at) == schema]
            if members:
                groups.append(self.group(attribute, schema, members, at))
        return groups

    def group(self, attribute, schema, members, at):
        rows = [(prim, self.last_entry(attribute, prim, at).rows[prim][1]) for prim in members]
        return Group(
            attribute,
            schema,
            self.group_ordinal(attribute, members, at),
            rows,
            self.generation(attribute, at),
            self.placement(attribute, at),
        )

    # Ranges

    def changes(self, attribute, prim):
        """What took effect on a key, by (ordinal, seq): each write, and each delete of what was there."""
        effective, lives = [], False
        for entry in self.history(attribute, prim):
            if entry.rows[prim] is not None or lives:
                effective.append(entry)
            lives = entry.rows[prim] is not None
        return effective

    def changed_between(self, attribute, prim, start, end):
        """What took effect on a key in [start, end]."""
        return [e for e in self.changes(attribute, prim) if start <= e.ordinal <= end]

    def read_range(self, prims, attributes, start, end, as_of):
        values, tombstones = [], []
        for attribute in attributes:
            floor = self.floor(attribute)
            upto = min(end, floor)
            changed = [prim for prim in prims if self.changed_between(attribute, prim, start, upto)]
            later = [prim for prim in changed if self.changed_between(attribute, prim, upto + 1, floor)]
            if later and upto < self.oldest_kept(attribute):
                return Result(OUT_OF_RANGE, 0, [])
            groups = self.value_groups(attribute, changed, upto)
            if upto < self.oldest_kept(attribute):
                groups = [group._replace(generation=None) for group in groups]
            values += groups
            tombstones += self.tombstone_group(attribute, changed, start, upto)
        return Result(OK, as_of, values + tombstones)

    def tombstone_group(self, attribute, changed, start, end):
        dead = [prim for prim in changed if self.last_entry(attribute, prim, end) is None]
        if not dead:
            return []
        ordinal = max(self.changed_between(attribute, prim, start, end)[-1].ordinal for prim in dead)
        return [Group(attribute, None, ordinal, [(prim, b"") for prim in dead], None, {})]

    # Built-in attributes

    def built_in_group(self, prims, attribute, as_of):
        """They tell what is there now, submitted but not sealed included."""
        rows = []
        for prim in prims:
            if self.prim_exists(prim, NEWEST):
                paths = self.built_in_value(prim, attribute)
                if paths is not None:
                    rows.append((prim, struct.pack(f"={len(paths)}Q", *(self.path_ids.id(path) for path in paths))))
        schema = Schema(UINT, 64, 1, NONE, attribute == "usd-children")
        return [Group(attribute, schema, as_of, rows, None, {})] if rows else []

    def built_in_value(self, prim, attribute):
        """Paths; None for no value."""
        if attribute == "usd-path":
            return [prim]
        if attribute == "usd-parent":
            return [parent(prim)] if prim != "/" else None
        return sorted(path for path in self.prims() if parent(path) == prim and self.prim_exists(path, NEWEST))
