# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Clones of subtrees."""

import struct

from terms import *


class Clones:
    """The part of the model that clones."""

    def clone(self, source, targets, ordinal):
        if ordinal == NEWEST:
            return INVALID_ARGUMENT
        if not all(valid_path(path) for path in (source, *targets)):
            return INVALID_ARGUMENT
        for i, target in enumerate(targets):
            if any(below(target, other) or below(other, target) for other in targets[:i]):
                return INVALID_ARGUMENT
        if not targets:
            return OK
        # What existed below the global floor need not be known any more, and could not be written.
        at = max(ordinal, self.global_floor())
        there = [prim for prim in self.prims() if below(prim, source) and self.prim_exists(prim, at)]
        if not there:
            return NOT_FOUND
        reproduced = {
            attribute: rows
            for attribute in self.entries
            if (rows := {prim: row for prim in there if (row := self.row(attribute, prim, at)) is not None})
        }
        if any(ordinal <= self.floor(attribute) for attribute in reproduced):
            return WRITE_FLOOR_VIOLATION
        written = {self.moved(prim, source, target) for prim in there for target in targets}
        if any(self.prim_exists(path, at) for path in written | set(targets)):
            return ALREADY_EXISTS
        self.seq += 1
        for attribute, rows in reproduced.items():
            copies = {}
            for target in targets:
                for prim, (schema, data) in rows.items():
                    copies[self.moved(prim, source, target)] = (schema, self.rebased(schema, data, source, target))
            self.accept(attribute, ordinal, copies)
        return OK

    def row(self, attribute, prim, ordinal):
        entry = self.last_entry(attribute, prim, ordinal)
        return None if entry is None else entry.rows[prim]

    def moved(self, path, source, target):
        """The path that corresponds to one of the source's under a target."""
        rest = path[len(source) :] if source != "/" else path.rstrip("/")
        if target == "/":
            return rest or "/"
        return target + rest

    def rebased(self, schema, data, source, target):
        """A value whose path ids, as far as they name something in the source, name what corresponds to it."""
        if schema.semantic not in PATH_SEMANTICS:
            return data
        step = 2 if schema.semantic == CONNECTION_PATH_ID else 1
        ids = list(struct.unpack(f"={len(data) // 8}Q", data))
        for i in range(0, len(ids), step):
            path = self.path_ids.text(ids[i])
            if path and below(path, source):
                ids[i] = self.path_ids.id(self.moved(path, source, target))
        return struct.pack(f"={len(ids)}Q", *ids)
