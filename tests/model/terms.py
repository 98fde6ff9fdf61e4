# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The words that the parts of the model share: numbers of enums and codes, and small records.

The numbers are those of the library's public headers.
"""

from typing import NamedTuple

OK = 0
INVALID_ARGUMENT = 1
INVALID_HANDLE = 2
NOT_FOUND = 3
ALREADY_EXISTS = 4
WRITE_FLOOR_VIOLATION = 5
NOT_SUPPORTED = 6
OP_FAILED = 12
OUT_OF_RANGE = 13

UPSERT, INSERT, UPDATE = 0, 1, 2
ALL, INCLUDE, EXCLUDE = 0, 1, 2
HAS, IN, CONTAINS, PREFIX, LT, LE, GT, GE, SUBTREE = range(9)

NONE = 0
ASSET_PATH_ID = 1
TOKEN_ID = 2
PATH_EXPRESSION_STRING = 3
RELATIONSHIP_PATH_ID = 4
CONNECTION_PATH_ID = 12
STRING = 13

INT, UINT, FLOAT, COMPLEX, BOOL = 0, 1, 2, 5, 6  # data type codes

NEWEST = 2**64 - 1

BUILT_INS = ("usd-path", "usd-parent", "usd-children")
UNSUPPORTED = "usd-active"
RESERVED_NAMES = (*BUILT_INS, UNSUPPORTED)
ARRAY_SEMANTICS = (RELATIONSHIP_PATH_ID, CONNECTION_PATH_ID, STRING)
TOKEN_SEMANTICS = (TOKEN_ID, PATH_EXPRESSION_STRING, ASSET_PATH_ID)
PATH_SEMANTICS = (RELATIONSHIP_PATH_ID, CONNECTION_PATH_ID)
MAX_LANES = 65535


class Schema(NamedTuple):
    """What a value is: a data type with its lanes, a semantic, and whether it is an array of such elements."""

    code: int
    bits: int
    lanes: int
    semantic: int
    is_array: bool = False


class Tensor(NamedTuple):
    """A source of rows: its bytes in row-major order."""

    code: int
    bits: int
    shape: tuple
    data: bytes
    lanes: int = 1


class Given(NamedTuple):
    """What a write gives to one attribute; count 0 means every prim, the mask is a list of truth values."""

    attribute: str
    tensors: list
    semantic: int = NONE
    count: int = 0
    index_map: list = None
    mask: list = None
    is_array: bool = False
    packed: bool = False  # the rows of an array are the equal parts of one tensor


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
    """What a read says about one schema of one attribute; of a tombstone group the schema is None."""

    attribute: str
    schema: Schema
    ordinal: int
    rows: list  # (prim, bytes), in the order of the query
    generation: int  # None where it says nothing
    placement: dict  # prim -> Schema of every prim with the attribute, asked for or not


class Result(NamedTuple):
    status: int
    as_of: int
    groups: list


def below(path, root):
    """Whether a path is @root or under it, by component."""
    return path == root or root == "/" or path.startswith(root + "/")


def parent(path):
    """The path above; None for the root."""
    return None if path == "/" else path.rpartition("/")[0] or "/"


def valid_path(text):
    """Whether a text is a prim path."""
    if text == "/":
        return True
    return text.startswith("/") and "\0" not in text and all(text[1:].split("/"))
