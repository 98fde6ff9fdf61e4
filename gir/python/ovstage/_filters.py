# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What the prims of a query have in common."""

from __future__ import annotations

from operator import index
from typing import Any, Iterable, NamedTuple, Tuple, Union

from ._enums import FilterOp

_ALL, _ANY, _NOT = range(3)


def _plain(value: Any) -> Union[int, float, bytes]:
    """A number, or a text as bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    try:
        number = index(value)
    except TypeError:
        if isinstance(value, (list, tuple, dict, set)) or not hasattr(value, "__float__"):
            raise TypeError(f"value: a number, a str or bytes are needed, not {type(value).__name__}") from None
        return float(value)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"value: {number} is not between {-2**63} and {2**64 - 1}")
    return number


def _values(values: Any) -> Tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"values: an iterable of values is needed, not {type(values).__name__}")
    return tuple(_plain(value) for value in values)


class _PredicateFields(NamedTuple):
    attribute: Any
    op: FilterOp
    values: Tuple[Any, ...]


class Predicate(_PredicateFields):
    """One attribute, how to look at it, and what to compare it with.

    attribute: a name, or its token.
    op: a FilterOp.
    values: HAS takes none, IN any number of them, the others one.

    Numbers are compared as numbers, exactly; str and bytes with texts, and with the
    texts that ids stand for. A tuple.
    """

    __slots__ = ()

    def __new__(cls, attribute: Union[int, str], op: Union[FilterOp, int], values: Iterable[Any] = ()) -> Predicate:
        op = FilterOp(op)
        plain = _values(values)
        if op == FilterOp.HAS and plain:
            raise ValueError(f"values: HAS takes none, {len(plain)} are given")
        if op > FilterOp.IN and len(plain) != 1:
            raise ValueError(f"values: {op.name} takes one, {len(plain)} are given")
        return super().__new__(cls, attribute, op, plain)


def _text(tree: Tuple[Any, ...]) -> str:
    """A tree as a text; without recursion, since trees may be of any depth."""
    said = []
    todo: list[Any] = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            said.append(part)
        elif len(part) == 3:
            said.append(" ".join([repr(part[0]), part[1].name, *map(repr, part[2])]))
        elif part[0] == _NOT:
            todo += (part[1][0], "~")
        else:
            joint = " & " if part[0] == _ALL else " | "
            todo.append(")")
            for other in reversed(part[1][1:]):
                todo += (other, joint)
            todo += (*part[1][:1], "(")
    return "".join(said)


class Filter:
    """Which prims a query gives: predicates, combined with ``&``, ``|`` and ``~``.

    predicates: of Predicate. Prims match that match all of them.

    A prim that does not have an attribute matches no predicate about it; ``~`` gives
    the other prims that exist. A filter is neither true nor false: ``and``, ``or`` and
    ``not`` raise TypeError.
    """

    __slots__ = ("_tree",)

    def __init__(self, predicates: Iterable[Predicate] = ()) -> None:
        predicates = tuple(predicates)
        for predicate in predicates:
            if not isinstance(predicate, Predicate):
                raise TypeError(f"predicates: a Predicate is needed, not {type(predicate).__name__}")
        self._tree: Tuple[Any, ...] = (_ALL, tuple(tuple(predicate) for predicate in predicates))

    @classmethod
    def _make(cls, tree: Tuple[Any, ...]) -> Filter:
        made = cls.__new__(cls)
        made._tree = tree
        return made

    @classmethod
    def has(cls, attribute: Union[int, str]) -> Filter:
        """Prims that have an attribute.

        attribute: a name, or its token.
        """
        return cls._make(tuple(Predicate(attribute, FilterOp.HAS)))

    @classmethod
    def in_(cls, attribute: Union[int, str], values: Iterable[Any]) -> Filter:
        """Prims where an attribute is one of these values.

        attribute: a name, or its token.
        values: numbers, or texts.
        """
        return cls._make(tuple(Predicate(attribute, FilterOp.IN, values)))

    @classmethod
    def contains(cls, attribute: Union[int, str], value: Any) -> Filter:
        """Prims where an array has an element, or a text has another in it.

        attribute: a name, or its token.
        value: a number, or a text.
        """
        return cls._make(tuple(Predicate(attribute, FilterOp.CONTAINS, (value,))))

    @classmethod
    def prefix(cls, attribute: Union[int, str], text: Union[str, bytes]) -> Filter:
        """Prims where a text begins with another.

        attribute: a name, or its token.
        text: compared byte by byte.
        """
        return cls._make(tuple(Predicate(attribute, FilterOp.PREFIX, (text,))))

    @classmethod
    def compare(cls, attribute: Union[int, str], op: Union[FilterOp, int], value: Any) -> Filter:
        """Prims where an attribute compares with a value.

        attribute: a name, or its token.
        op: LT, LE, GT, GE or another FilterOp that takes one value.
        value: a number, or a text.
        """
        return cls._make(tuple(Predicate(attribute, op, (value,))))

    @classmethod
    def subtree(cls, path: str) -> Filter:
        """A prim and all below it.

        path: an absolute prim path.
        """
        if not isinstance(path, str):
            raise TypeError(f"path: a str is needed, not {type(path).__name__}")
        return cls._make(tuple(Predicate("usd-path", FilterOp.SUBTREE, (path,))))

    def _combine(self, kind: int, other: Any) -> Any:
        if not isinstance(other, Filter):
            return NotImplemented
        parts: Tuple[Any, ...] = ()
        for tree in (self._tree, other._tree):
            parts += tree[1] if len(tree) == 2 and tree[0] == kind else (tree,)
        return self._make((kind, parts))

    def __and__(self, other: Any) -> Filter:
        return self._combine(_ALL, other)

    def __or__(self, other: Any) -> Filter:
        return self._combine(_ANY, other)

    def __repr__(self) -> str:
        return f"<ovstage.Filter {_text(self._tree)}>"

    def __bool__(self) -> bool:
        # `and', `or' and `not' would quietly leave a part out.
        raise TypeError("a Filter is neither true nor false: combine filters with &, | and ~, not with and, or and not")

    def __invert__(self) -> Filter:
        return self._make((_NOT, (self._tree,)))
