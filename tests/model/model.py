# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The rules of a stage again, in plain Python.

Nothing here is fast or clever. A stage is its floors, per attribute the list
of the writes and deletes it accepted, and the deletes of whole prims; whatever is asked is worked out from these
by definition, each time anew. Every operation is complete when its call
returns, so a floor that closes is a floor that is sealed.

Numbers of enums and codes are those of the library's public headers.
"""

from typing import NamedTuple

OK = 0
INVALID_ARGUMENT = 1
NOT_FOUND = 3
ALREADY_EXISTS = 4
WRITE_FLOOR_VIOLATION = 5
NOT_SUPPORTED = 6
OUT_OF_RANGE = 13

UPSERT, INSERT, UPDATE = 0, 1, 2
ALL, INCLUDE, EXCLUDE = 0, 1, 2

NONE = 0
ASSET_PATH_ID = 1
TOKEN_ID = 2
PATH_EXPRESSION_STRING = 3
RELATIONSHIP_PATH_ID = 4
CONNECTION_PATH_ID = 12
STRING = 13

UINT = 1  # the data type code of unsigned integers

NEWEST = 2**64 - 1

RESERVED_NAMES = ("usd-path", "usd-parent", "usd-children", "usd-active")
ARRAY_SEMANTICS = (RELATIONSHIP_PATH_ID, CONNECTION_PATH_ID, STRING)
MAX_LANES = 65535


class Schema(NamedTuple):
    """What a fixed-size value is: a data type with its lanes, and a semantic."""

    code: int
    bits: int
    lanes: int
    semantic: int


class Tensor(NamedTuple):
    """A source of rows: one lane per element, its bytes in row-major order."""

    code: int
    bits: int
    shape: tuple
    data: bytes


class Given(NamedTuple):
    """What a write gives to one attribute; count 0 means every prim, the mask is a list of truth values."""

    attribute: str
    tensors: list
    semantic: int = NONE
    count: int = 0
    index_map: list = None
    mask: list = None


class Entry(NamedTuple):
    """One accepted write or delete of an attribute: what it gave to the prims it really wrote, or took off."""

    ordinal: int
    seq: int
    rows: dict  # prim -> (Schema, bytes), or None for deleted


class PrimDelete(NamedTuple):
    """One accepted delete of whole prims."""

    ordinal: int
    seq: int
    prims: list
    floor_then: object  # attribute -> its floor at submission


class Group(NamedTuple):
    """What a read says about one schema of one attribute."""

    attribute: str
    schema: Schema
    ordinal: int
    rows: list  # (prim, bytes), in the order of the query
    generation: int
    placement: dict  # prim -> Schema of every prim with the attribute, asked for or not


class Result(NamedTuple):
    status: int
    as_of: int
    groups: list


class Model:
    def __init__(self, history_depth=1):
        self.history_depth = history_depth
        self.default_floor = 0
        self.own_floors = {}  # attribute -> floor, of those that have one of their own
        self.entries = {}  # attribute -> list of Entry, in the order of submission
        self.prim_deletes = []  # PrimDelete, in the order of submission
        self.columns = {}  # attribute -> list of Schema, in the order of creation
        self.seq = 0

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
        """A write of a fixed-size attribute."""
        return self.write_batch(prims, [Given(attribute, tensors, **more)], ordinal, mode)

    def write_batch(self, prims, given, ordinal, mode=UPSERT):
        """A write of several attributes as one. Faults are told tier by tier, each over all that is given."""
        # Enum ranges
        if ordinal == NEWEST:
            return INVALID_ARGUMENT

        # The form of the payload
        for part in given:
            if len(part.tensors) != 1:
                return INVALID_ARGUMENT
            if part.index_map is not None and part.mask is not None:
                return INVALID_ARGUMENT
            if part.count == 0 and (part.index_map is not None or part.mask is not None):
                return INVALID_ARGUMENT
        if self.repeats([part.attribute for part in given]):
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
        targets = {prim for rows in values for prim in rows}
        if mode == INSERT and any(self.prim_exists(prim, ordinal) for prim in targets):
            return ALREADY_EXISTS
        if mode == UPDATE and not all(self.prim_exists(prim, ordinal) for prim in targets):
            return NOT_FOUND

        # Schema
        accepted = [self.in_schema(part, rows, ordinal) for part, rows in zip(given, values)]
        if None in accepted:
            return INVALID_ARGUMENT

        self.seq += 1
        for part, rows in zip(given, accepted):
            self.accept(part.attribute, ordinal, rows)
        return OK

    def repeats(self, attributes):
        return len(set(attributes)) != len(attributes)

    def target_values(self, prims, part):
        """prim -> bytes of those that are really written; None if the rows do not fit."""
        tensor = part.tensors[0]
        n = part.count if part.count != 0 else len(prims)
        if n > len(prims):
            return None
        n_rows, lanes = tensor.shape[0] if tensor.shape else 1, self.lanes(tensor)
        if lanes == 0 or lanes > MAX_LANES:
            return None
        if part.index_map is None and n_rows != n:
            return None
        if part.index_map is not None and any(row >= n_rows for row in part.index_map[:n]):
            return None
        row_size = lanes * tensor.bits // 8
        rows = [tensor.data[i * row_size : (i + 1) * row_size] for i in range(n_rows)]
        values = {}
        for i in range(n):
            if part.mask is None or part.mask[i]:
                values[prims[i]] = rows[part.index_map[i] if part.index_map is not None else i]
        return values

    def lanes(self, tensor):
        lanes = 1
        for extent in tensor.shape[1:]:
            lanes *= extent
        return lanes

    def in_schema(self, part, values, ordinal):
        """prim -> (Schema, bytes); None if a schema does not fit."""
        tensor = part.tensors[0]
        given = Schema(tensor.code, tensor.bits, self.lanes(tensor), part.semantic)
        if not self.semantic_fits(given):
            return None
        accepted = {}
        for prim, value in values.items():
            schema = self.schema_for(part.attribute, prim, ordinal, given)
            if schema is None or not self.name_fits(part.attribute, schema):
                return None
            accepted[prim] = (schema, value)
        return accepted

    def semantic_fits(self, schema):
        """Whether a fixed-size value of this data type may have this semantic."""
        dtype = (schema.code, schema.bits, schema.lanes)
        if schema.semantic in (TOKEN_ID, PATH_EXPRESSION_STRING):
            return dtype == (UINT, 64, 1)
        if schema.semantic == ASSET_PATH_ID:
            return dtype == (UINT, 64, 2)
        return schema.semantic not in ARRAY_SEMANTICS

    def name_fits(self, attribute, schema):
        """Whether an attribute of this name may be fixed-size and have this schema."""
        if attribute == "usd-prim-type":
            return schema == Schema(UINT, 64, 1, TOKEN_ID)
        return attribute != "usd-schemas"

    def schema_for(self, attribute, prim, ordinal, given):
        """The schema that a write of @given has on a prim; None if it conflicts with what lives there."""
        live = self.live_schema(attribute, prim, ordinal)
        if live is None:
            return given
        if given[:3] != live[:3]:
            return None
        if given.semantic not in (NONE, live.semantic):
            return None
        return live

    def accept(self, attribute, ordinal, rows):
        self.entries.setdefault(attribute, []).append(Entry(ordinal, self.seq, rows))
        columns = self.columns.setdefault(attribute, [])
        for schema, _ in rows.values():
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

    def value_frontier(self):
        return max([0, *(self.frontier(a, schema) for a, columns in self.columns.items() for schema in columns)])

    # Reads

    def attribute_exists(self, attribute):
        """Whether it has rows, or anything staged."""
        floor = self.floor(attribute)
        return bool(self.placement(attribute, floor)) or any(e.ordinal > floor for e in self.entries.get(attribute, ()))

    def as_of(self, attributes, ordinal):
        floors = [self.floor(attribute) for attribute in attributes if self.attribute_exists(attribute)]
        return min([ordinal, *(floors or [self.global_floor()])])

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

    def read(self, prims, attributes, ordinal):
        """A snapshot at an ordinal, or at NEWEST."""
        attributes = self.selected(attributes)
        if ordinal != NEWEST:
            if any(self.is_unsealed(attribute, prims, ordinal) for attribute in attributes):
                return Result(WRITE_FLOOR_VIOLATION, 0, [])
            if prims and any(
                ordinal < self.frontier(attribute, schema)
                for attribute in attributes
                for schema in self.columns.get(attribute, ())
            ):
                return Result(OUT_OF_RANGE, 0, [])

        groups = []
        for attribute in attributes:
            at = min(ordinal, self.floor(attribute))
            for schema in self.columns.get(attribute, ()):
                members = [prim for prim in prims if self.live_schema(attribute, prim, at) == schema]
                if members:
                    groups.append(self.group(attribute, schema, members, at))
        return Result(OK, self.as_of(attributes, ordinal), groups)

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


def python_call_error(n_prims, count, index_map, mask, mask_words):
    """The exception that the Python face raises at the call of a write, by name, or None.

    @mask is the list of truth values; with @mask_words it is handed over as 64-bit words.
    """
    if count == 0 or (index_map is not None and len(index_map) == 0):
        return "ValueError"
    if index_map is not None and count is not None and count > len(index_map):
        return "ValueError"
    if mask is not None:
        if mask_words and count is None:
            return "ValueError"
        needed = logical_count(n_prims, count, index_map)
        given = (len(mask) + 63) // 64 * 64 if mask_words else len(mask)
        if given < needed:
            return "ValueError"
    return None


def logical_count(n_prims, count, index_map):
    """The number of elements that a write of the Python face means."""
    if count is not None:
        return count
    return n_prims if index_map is None else len(index_map)
