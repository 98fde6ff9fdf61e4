# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Maps: writes whose memory is handed out before it is filled."""

from terms import *


class Session:
    """An open map: what its commits write."""

    def __init__(self, attribute, schema, ordinal, mode, groups, sizes, filled):
        self.attribute = attribute
        self.schema = schema
        self.ordinal = ordinal
        self.mode = mode
        self.groups = groups  # the prims of each group
        self.left = list(groups)  # those that were not committed yet
        self.sizes = sizes  # prim -> size of its row in bytes
        self.values = filled  # prim -> bytes, as far as they are known
        self.ended = False


class Maps:
    """The part of the model that maps."""

    def map_attribute(self, prims, attribute, ordinal, dtype=None, semantic=NONE, mode=UPSERT, counts=None, fill=False):
        """A code, and the session if that is OK. @dtype is (code, bits, lanes), @counts are elements for each prim."""
        if ordinal == NEWEST:
            return INVALID_ARGUMENT, None
        if dtype is not None and dtype[2] == 0:
            return INVALID_ARGUMENT, None
        if attribute in RESERVED_NAMES:
            return NOT_SUPPORTED, None
        if counts is not None and len(counts) != len(prims):
            return INVALID_ARGUMENT, None
        if not prims:
            return OK, Session(attribute, None, ordinal, mode, [], {}, {})
        if ordinal <= self.floor(attribute):
            return WRITE_FLOOR_VIOLATION, None
        fault = self.mode_fault(prims, ordinal, mode)
        if fault != OK:
            return fault, None
        schema = self.map_schema(prims, attribute, ordinal, dtype, semantic, counts is not None)
        schemas = schema and self.schemas_for(attribute, prims, ordinal, schema)
        if not schemas:
            return INVALID_ARGUMENT, None
        width = schema.lanes * schema.bits // 8
        sizes = {prim: width * (counts[i] if counts is not None else 1) for i, prim in enumerate(prims)}
        filled = {}
        if fill:
            for prim in prims:
                entry = self.last_entry(attribute, prim, ordinal)
                now = entry.rows[prim][1] if entry is not None else b""
                filled[prim] = now[: sizes[prim]].ljust(sizes[prim], b"\0")
        order = [*self.columns.get(attribute, ()), schema]
        groups = [[prim for prim in prims if schemas[prim] == one] for one in dict.fromkeys(order)]
        groups = [group for group in groups if group]
        return OK, Session(attribute, schema, ordinal, mode, groups, sizes, filled)

    def map_schema(self, prims, attribute, ordinal, dtype, semantic, is_array):
        """The schema of a map; None if the type was left open and cannot be told."""
        if dtype is not None:
            return Schema(*dtype, semantic, is_array)
        found = {self.live_schema(attribute, prim, ordinal) for prim in prims} - {None}
        if not found:
            found = set(self.placement(attribute, ordinal).values())
        if len(found) != 1:
            return None
        (schema,) = found
        if schema.is_array != is_array or semantic not in (NONE, schema.semantic):
            return None
        return schema

    def map_commit_group(self, session, group):
        """Commits one group as a write."""
        if session.ended or group not in session.left:
            return INVALID_HANDLE
        session.left.remove(group)
        return self.write_mapped(session, group)

    def map_commit(self, session):
        """Commits the rest as one write."""
        if session.ended:
            return INVALID_HANDLE
        prims = [prim for group in session.left for prim in group]
        self.map_discard(session)
        return self.write_mapped(session, prims)

    def map_discard(self, session):
        session.ended = True
        session.left = []

    def write_mapped(self, session, prims):
        if not prims:
            return OK
        if session.ordinal <= self.floor(session.attribute):
            return WRITE_FLOOR_VIOLATION
        fault = self.mode_fault(prims, session.ordinal, session.mode)
        if fault != OK:
            return fault
        schemas = self.schemas_for(session.attribute, prims, session.ordinal, session.schema)
        if schemas is None:
            return INVALID_ARGUMENT
        self.seq += 1
        self.accept(session.attribute, session.ordinal, {p: (schemas[p], session.values[p]) for p in prims})
        return OK
