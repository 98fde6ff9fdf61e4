# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The rules of a stage again, in plain Python.

Nothing here is fast or clever. A stage is its floors, per attribute the list
of the writes and deletes it accepted, and the deletes of whole prims; whatever is asked is worked out from these
by definition, each time anew. Every operation is complete when its call
returns, so a floor that closes is a floor that is sealed.

Numbers of enums and codes are those of the library's public headers.
"""

from clone import Clones
from filters import Filters
from maps import Maps
from payload import Payloads, logical_count, python_call_error
from reads import Reads
from terms import *
from watches import Watches


class Ids:
    """Texts behind numbers. Those that are given are 1, 2, ...; others come far behind, as they are asked for."""

    def __init__(self, texts=()):
        self.texts = dict(enumerate(texts, 1))
        self.numbers = {text: i for i, text in self.texts.items()}
        self.next = 1000

    def id(self, text):
        if text not in self.numbers:
            self.numbers[text] = self.next
            self.texts[self.next] = text
            self.next += 1
        return self.numbers[text]

    def text(self, number):
        """None for an id that is not known; 0 is the empty text."""
        return "" if number == 0 else self.texts.get(number)


class Model(Payloads, Reads, Filters, Maps, Clones, Watches):
    def __init__(self, history_depth=1, path_ids=None, token_ids=None):
        self.history_depth = history_depth
        self.default_floor = 0
        self.own_floors = {}  # attribute -> floor, of those that have one of their own
        self.entries = {}  # attribute -> list of Entry, in the order of submission
        self.prim_deletes = []  # PrimDelete, in the order of submission
        self.columns = {}  # attribute -> list of Schema, in the order of creation
        self.seq = 0
        self.path_ids = path_ids or Ids()
        self.token_ids = token_ids or Ids()

    # Floors

    def floor(self, attribute):
        return self.own_floors.get(attribute, self.default_floor)

    def global_floor(self):
        return min([self.default_floor, *self.own_floors.values()])

    def advance(self, ordinal, scope=ALL, attributes=()):
        if ordinal == NEWEST:
            return INVALID_ARGUMENT
        if scope == EXCLUDE and not attributes:
            scope = ALL
        if scope == INCLUDE:
            for attribute in attributes:
                self.own_floors[attribute] = max(self.floor(attribute), ordinal)
        else:
            spared = attributes if scope == EXCLUDE else ()
            for attribute in spared:
                self.own_floors[attribute] = self.floor(attribute)
            self.default_floor = max(self.default_floor, ordinal)
            for attribute in self.own_floors:
                if attribute not in spared:
                    self.own_floors[attribute] = max(self.own_floors[attribute], ordinal)
            if scope == ALL:
                self.own_floors = {a: f for a, f in self.own_floors.items() if f != self.default_floor}
        return OK

    # The state as of an ordinal

    def kills(self, delete, attribute):
        """Whether a delete of whole prims touches an attribute: not one that was sealed at or past its ordinal."""
        return delete.ordinal > delete.floor_then(attribute)

    def order(self, entry):
        return (entry.ordinal, entry.seq)

    def history(self, attribute, prim):
        """The entries that wrote or deleted a key, by (ordinal, seq)."""
        entries = [e for e in self.entries.get(attribute, ()) if prim in e.rows]
        for delete in self.prim_deletes:
            if prim in delete.prims and self.kills(delete, attribute):
                entries.append(Entry(delete.ordinal, delete.seq, {prim: None}))
        return sorted(entries, key=self.order)

    def last_entry(self, attribute, prim, ordinal):
        """The entry that decides value and schema of a prim as of an ordinal; None if nothing lives there."""
        last = None
        for entry in self.history(attribute, prim):
            if entry.ordinal <= ordinal:
                last = entry
        return None if last is None or last.rows[prim] is None else last

    def live_schema(self, attribute, prim, ordinal):
        entry = self.last_entry(attribute, prim, ordinal)
        return None if entry is None else entry.rows[prim][0]

    def prim_exists(self, prim, ordinal):
        return any(self.last_entry(attribute, prim, ordinal) is not None for attribute in self.entries)

    def prims(self):
        """Every prim that was ever written, in the order of their ids."""
        return sorted({prim for attribute in self.entries for prim in self.prims_of(attribute)}, key=self.path_ids.id)

    def prims_of(self, attribute):
        """Every prim that an accepted write gave the attribute."""
        return {p for entry in self.entries.get(attribute, ()) for p, given in entry.rows.items() if given is not None}

    def placement(self, attribute, ordinal):
        """Which prims have the attribute as of an ordinal, and in which schema."""
        found = {}
        for prim in self.prims_of(attribute):
            schema = self.live_schema(attribute, prim, ordinal)
            if schema is not None:
                found[prim] = schema
        return found

    # Writes

    def write(self, prims, attribute, ordinal, tensors, mode=UPSERT, **more):
        """A write of one attribute."""
        return self.write_batch(prims, [Given(attribute, tensors, **more)], ordinal, mode)

    def write_batch(self, prims, given, ordinal, mode=UPSERT):
        """A write of several attributes as one. Faults are told tier by tier, each over all that is given."""
        # Enum ranges
        if ordinal == NEWEST:
            return INVALID_ARGUMENT

        # The form of the payload
        if any(self.form_fault(part) for part in given) or self.repeats([part.attribute for part in given]):
            return INVALID_ARGUMENT

        # Reserved names
        if any(part.attribute in RESERVED_NAMES for part in given):
            return NOT_SUPPORTED

        # What has no targets is not looked at any further
        given = [part for part in given if prims and (part.mask is None or any(part.mask[: part.count]))]

        # Rows, and what each target gets
        values = [self.target_values(prims, part) for part in given]
        if None in values:
            return INVALID_ARGUMENT

        # Floor
        if any(ordinal <= self.floor(part.attribute) for part in given):
            return WRITE_FLOOR_VIOLATION

        # Prim mode
        fault = self.mode_fault({prim for rows in values for prim in rows}, ordinal, mode)
        if fault != OK:
            return fault

        # Schema
        accepted = [self.in_schema(part, rows, ordinal) for part, rows in zip(given, values)]
        if None in accepted:
            return INVALID_ARGUMENT

        self.seq += 1
        for part, rows in zip(given, accepted):
            self.accept(part.attribute, ordinal, rows)
        return OK

    def mode_fault(self, targets, ordinal, mode):
        if mode == INSERT and any(self.prim_exists(prim, ordinal) for prim in targets):
            return ALREADY_EXISTS
        if mode == UPDATE and not all(self.prim_exists(prim, ordinal) for prim in targets):
            return NOT_FOUND
        return OK

    def in_schema(self, part, values, ordinal):
        """prim -> (Schema, bytes); None if a schema does not fit."""
        schemas = self.schemas_for(part.attribute, values, ordinal, self.given_schema(part))
        return schemas and {prim: (schemas[prim], value) for prim, value in values.items()}

    def schemas_for(self, attribute, prims, ordinal, given):
        """prim -> the schema that a write of @given has there; None if it does not fit on one of them."""
        if not self.semantic_fits(given):
            return None
        schemas = {prim: self.schema_for(attribute, prim, ordinal, given) for prim in prims}
        if not all(schema is not None and self.name_fits(attribute, schema) for schema in schemas.values()):
            return None
        return schemas

    def schema_for(self, attribute, prim, ordinal, given):
        """The schema that a write of @given has on a prim; None if it conflicts with what lives there."""
        live = self.live_schema(attribute, prim, ordinal)
        if live is None:
            return given
        if (given[:3], given.is_array) != (live[:3], live.is_array):
            return None
        if given.semantic not in (NONE, live.semantic):
            return None
        return live

    def accept(self, attribute, ordinal, rows):
        self.entries.setdefault(attribute, []).append(Entry(ordinal, self.seq, rows))
        columns = self.columns.setdefault(attribute, [])
        for prim, (schema, _) in rows.items():
            self.path_ids.id(prim)
            if schema not in columns:
                columns.append(schema)

    # Deletes

    def delete(self, prims, attributes, ordinal):
        """A delete of attributes, or with none of whole prims."""
        if ordinal == NEWEST:
            return INVALID_ARGUMENT
        if any(attribute in RESERVED_NAMES for attribute in attributes):
            return NOT_SUPPORTED
        if not prims:
            return OK
        if attributes:
            if any(ordinal <= self.floor(attribute) for attribute in attributes):
                return WRITE_FLOOR_VIOLATION
            self.seq += 1
            for attribute in dict.fromkeys(attributes):
                self.entries.setdefault(attribute, []).append(Entry(ordinal, self.seq, dict.fromkeys(prims)))
            return OK
        if ordinal <= self.default_floor:
            return WRITE_FLOOR_VIOLATION
        for attribute in self.entries:
            if ordinal <= self.floor(attribute) and any(self.lives_or_is_staged(attribute, prim) for prim in prims):
                return WRITE_FLOOR_VIOLATION
        self.seq += 1
        own, default = dict(self.own_floors), self.default_floor
        self.prim_deletes.append(PrimDelete(ordinal, self.seq, list(prims), lambda a: own.get(a, default)))
        return OK

    def lives_or_is_staged(self, attribute, prim, ordinal=NEWEST):
        """Whether a key has a sealed value, or a write that is staged at or below an ordinal."""
        floor = self.floor(attribute)
        if self.live_schema(attribute, prim, floor) is not None:
            return True
        return any(
            floor < e.ordinal <= ordinal and e.rows.get(prim) is not None for e in self.entries.get(attribute, ())
        )

    # Kept history

    def change_ordinals(self, attribute, schema):
        """The sealed ordinals at which the column of a schema changed, rising: something was written in it, or left it."""
        sealed = self.floor(attribute)
        changed = set()
        for prim in self.prims_of(attribute):
            before = None
            for entry in self.history(attribute, prim):
                if entry.ordinal > sealed:
                    break
                now = entry.rows[prim] and entry.rows[prim][0]
                if now == schema or before == schema:
                    changed.add(entry.ordinal)
                before = now
        return sorted(changed)

    def frontier(self, attribute, schema):
        """The oldest ordinal that is kept of a column, once something was dropped; else 0."""
        changed = self.change_ordinals(attribute, schema)
        return changed[-self.history_depth] if len(changed) > self.history_depth else 0

    def oldest_kept(self, attribute):
        """The frontier of an attribute: the highest of its columns'."""
        return max((self.frontier(attribute, schema) for schema in self.columns.get(attribute, ())), default=0)

    def value_frontier(self):
        return max([0, *(self.frontier(a, schema) for a, columns in self.columns.items() for schema in columns)])
