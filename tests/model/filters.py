# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Which prims a filter matches."""

import math
import struct
from fractions import Fraction

from terms import *

NUMBER_FORMATS = {
    (FLOAT, 16): "e",
    (FLOAT, 32): "f",
    (FLOAT, 64): "d",
    (INT, 8): "b",
    (INT, 16): "h",
    (INT, 32): "i",
    (INT, 64): "q",
    (UINT, 8): "B",
    (UINT, 16): "H",
    (UINT, 32): "I",
    (UINT, 64): "Q",
    (BOOL, 8): "B",
}
BUILT_IN_SCHEMAS = {
    "usd-path": Schema(UINT, 64, 1, RELATIONSHIP_PATH_ID),
    "usd-parent": Schema(UINT, 64, 1, RELATIONSHIP_PATH_ID),
    "usd-children": Schema(UINT, 64, 1, RELATIONSHIP_PATH_ID, True),
}


class Fault(Exception):
    """A predicate that cannot be told: its code."""


class Literal(str):
    """A value that stands for a number where an attribute holds numbers, and for a text where it holds texts."""

    def number(self):
        """None if it spells none."""
        for kind in (int, float):
            try:
                return kind(self)
            except ValueError:
                pass
        return None


class Filters:
    """The part of the model that evaluates filters.

    A filter is ("all", [filters]), ("any", [filters]), ("not", filter) or a
    predicate (operator, attribute, values); the values are texts or numbers.
    A filter sees everything that was submitted, at whatever ordinal.
    """

    def query(self, tree):
        """The code, and the prims that match, in the order of their ids."""
        predicates = self.predicates(tree)
        if any(operator == SUBTREE and self.is_no_path(values[0]) for operator, _, values in predicates):
            return INVALID_ARGUMENT, []
        if any(attribute == UNSUPPORTED for _, attribute, _ in predicates):
            return NOT_SUPPORTED, []
        there = [prim for prim in self.prims() if self.prim_exists(prim, NEWEST)]
        try:
            for predicate in predicates:
                self.check_predicate(predicate, there)
            return OK, [prim for prim in there if self.matches(tree, prim)]
        except Fault as fault:
            return fault.args[0], []

    def discovered(self, prims, attributes):
        """Which of these attributes, or of all, live on any of these prims; sorted."""
        names = attributes or [name for name in self.entries]
        return sorted({a for a in names if any(self.live_schema(a, prim, NEWEST) is not None for prim in prims)})

    def predicates(self, tree):
        if tree[0] in ("all", "any"):
            return [predicate for part in tree[1] for predicate in self.predicates(part)]
        return self.predicates(tree[1]) if tree[0] == "not" else [tree]

    def matches(self, tree, prim):
        if tree[0] == "all":
            return all(self.matches(part, prim) for part in tree[1])
        if tree[0] == "any":
            return any(self.matches(part, prim) for part in tree[1])
        if tree[0] == "not":
            return not self.matches(tree[1], prim)
        return self.holds(tree, prim)

    # Predicates

    def filter_schema(self, attribute, prim):
        """What an attribute is on a prim; None if it has none."""
        if attribute in BUILT_INS:
            return None if self.built_in_value(prim, attribute) is None else BUILT_IN_SCHEMAS[attribute]
        return self.live_schema(attribute, prim, NEWEST)

    def filter_bytes(self, attribute, prim):
        if attribute in BUILT_INS:
            paths = self.built_in_value(prim, attribute)
            return struct.pack(f"={len(paths)}Q", *(self.path_ids.id(path) for path in paths))
        return self.last_entry(attribute, prim, NEWEST).rows[prim][1]

    def holds(self, predicate, prim):
        operator, attribute, values = predicate
        if operator == SUBTREE and attribute is None:
            return any(below(prim, value) for value in values)
        schema = self.filter_schema(attribute, prim)
        if schema is None or operator == HAS:
            return schema is not None
        told = self.told(schema, self.filter_bytes(attribute, prim))
        if operator == CONTAINS and self.kind(schema) in ("texts", "paths", "numbers"):
            operator = IN  # of the elements
        return any(self.compares(operator, one, value) for value in values for one in told)

    def told(self, schema, data):
        """The values of a row that a predicate looks at: numbers or texts; an unknown id or a NaN is none."""
        if schema.semantic == STRING:
            return [data]
        if schema.semantic in TOKEN_SEMANTICS or schema.semantic in PATH_SEMANTICS:
            ids = self.token_ids if schema.semantic in TOKEN_SEMANTICS else self.path_ids
            texts = [ids.text(i) for i in struct.unpack(f"={len(data) // 8}Q", data)]
            return [text.encode() for text in texts if text is not None]
        numbers = struct.unpack(f"={len(data) * 8 // schema.bits}{NUMBER_FORMATS[schema[:2]]}", data)
        if schema.code == BOOL:
            numbers = [int(number != 0) for number in numbers]
        return [number for number in numbers if not (isinstance(number, float) and math.isnan(number))]

    def compares(self, operator, one, value):
        if isinstance(value, Literal) and not isinstance(one, bytes):
            value = value.number()
        if isinstance(value, str):
            value = value.encode()
        elif isinstance(value, float) and math.isnan(value):
            return False
        else:
            one, value = self.exact(one), self.exact(value)
        if operator == IN:
            return one == value
        if operator == CONTAINS:
            return value in one
        if operator == PREFIX:
            return one.startswith(value)
        if operator == SUBTREE:
            return below(one.decode(), value.decode())
        return {LT: one < value, LE: one <= value, GT: one > value, GE: one >= value}[operator]

    def exact(self, number):
        return number if isinstance(number, float) and math.isinf(number) else Fraction(number)

    # Faults

    def check_predicate(self, predicate, there):
        """Raises the fault of an operator and its values with the schemas that live on prims."""
        operator, attribute, values = predicate
        if operator == HAS or attribute is None:
            return
        for prim in there:
            schema = self.filter_schema(attribute, prim)
            if schema is not None:
                self.check_pair(operator, schema, values)

    def check_pair(self, operator, schema, values):
        kind = self.kind(schema)
        fits = {
            CONTAINS: ("text", "numbers", "texts", "paths"),
            PREFIX: ("text", "path"),
            SUBTREE: ("path",),
        }.get(operator, ("number", "text", "path"))
        if operator == CONTAINS and kind == "path":
            fits += ("path",)
        if kind not in fits:
            raise Fault(NOT_SUPPORTED)
        if any(self.is_text(value, kind) == kind.startswith("number") for value in values):
            raise Fault(INVALID_ARGUMENT)

    def is_no_path(self, value):
        return isinstance(value, str) and not valid_path(value)

    def is_text(self, value, kind):
        if isinstance(value, Literal) and kind.startswith("number"):
            return value.number() is None
        return isinstance(value, str)

    def kind(self, schema):
        """What values of a schema are for a predicate: number, text, path; numbers, texts, paths of an array; None."""
        if schema.semantic == STRING:
            return "text"
        if schema.lanes != 1:
            return None
        if schema.semantic in PATH_SEMANTICS:
            kind = "path"
        elif schema.semantic in TOKEN_SEMANTICS:
            kind = "text"
        elif schema[:2] in NUMBER_FORMATS:
            kind = "number"
        else:
            return None
        return kind + "s" if schema.is_array else kind
