# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The flat C API in the clothes of the Python package, so that the driver can run on it.

The calls are made by a C program, flat-harness.c, which reads a line for each of them and
answers with one. There is one for each child process of the driver; threads of the driver
have threads of it, each with a pair of pipes. What the flat API does not tell (as_of, the
value frontier) is equal to whatever the model says; what it cannot do is taken out of a
sequence by adapt ().
"""

import copy
import ctypes
import os
import queue
import subprocess
import threading
import types

import numpy as np

import model
from fake import DataType, Filter, Folded, OrdinalRange, OvstageError, make_dltensor
from filters import Literal

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
KINDS = {code: kind for kind, code in CODES.items()}
END_OF_ITERATION = 8
OP_FAILED = 12
LOOKS = ("group", "groups", "paths", "texts", "tokens")  # requests that change no memory
PROBE = "harness-probe"  # an attribute that is never written


def program():
    return os.path.join(os.environ.get("OVSTAGE_BUILDDIR", "."), "tests", "model", "flat-harness")


class Harness:
    """The C program. If it dies, so does this process, of the same."""

    def __init__(self, n_threads):
        theirs, self.free = [], queue.SimpleQueue()
        for _ in range(n_threads):
            (their_in, out), (in_, their_out) = os.pipe(), os.pipe()
            theirs += [their_in, their_out]
            self.free.put((os.fdopen(in_, "rb"), os.fdopen(out, "wb")))
        arguments = [program(), *map(str, theirs)]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=theirs)
        for number in theirs:
            os.close(number)
        self.owner = threading.get_ident()
        self.local = threading.local()
        self.changes = 0

    def lane(self):
        if threading.get_ident() == self.owner:
            return self.process.stdout, self.process.stdin
        if not hasattr(self.local, "lane"):
            self.local.lane = Lane(self.free)
        return self.local.lane.pipes

    def ask(self, name, *words):
        """The words of the answer; numbers are told as such, None as a dash, bytes and texts in hexadecimal."""
        if name not in LOOKS:
            self.changes += 1
        answer, request = self.lane()
        try:
            request.write(" ".join([name, *map(spell, words)]).encode() + b"\n")
            request.flush()
            line = answer.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            self.died()
        told = line.decode()
        if told.startswith("!"):
            raise AssertionError(told[2:-1])
        return Words(told.split())

    def died(self):
        status = self.process.wait()
        if status < 0:
            os.kill(os.getpid(), -status)
        os._exit(status or 1)


class Lane:
    """A pair of pipes, for as long as its thread lives."""

    def __init__(self, free):
        self.free = free
        self.pipes = free.get()

    def __del__(self):
        self.free.put(self.pipes)


def spell(word):
    if word is None:
        return "-"
    if isinstance(word, str):
        word = word.encode()
    return "." + word.hex() if isinstance(word, bytes) else str(int(word))


class Words:
    def __init__(self, words):
        self.left = iter(words)

    def number(self):
        return int(next(self.left))

    def numbers(self):
        return [self.number() for _ in range(self.number())]

    def bytes(self):
        return bytes.fromhex(next(self.left)[1:])

    def texts(self):
        return [self.bytes().decode() for _ in range(self.number())]

    def optional(self, read):
        """What @read takes, or None for a dash; it begins with how many there are."""
        first = next(self.left)
        return None if first == "-" else [read() for _ in range(int(first))]


harness = None
threads = 0  # of the driver, besides the first


def ask(name, *words):
    global harness
    harness = harness or Harness(threads)
    return harness.ask(name, *words)


class Anything:
    """What the flat API does not tell."""

    def __eq__(self, other):
        return True

    def __repr__(self):
        return "untold"

    __hash__ = None


class Closing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.release()

    def release(self):
        pass


class Operation(Closing):
    def __init__(self, stage, told):
        self.stage = stage
        self.status = told.number()
        self.op_id = told.number()
        self.done = False

    ok = property(lambda self: self.status == 0)

    def wait(self):
        if self.op_id != 0 and not self.done:
            failed = self.op_id in self.stage.failed
            self.stage.failed.update(ask("wait", self.stage.at, self.op_id, failed).numbers())
            if self.op_id in self.stage.failed:
                self.status, self.op_id = OP_FAILED, 0
            self.done = True
        if self.status != 0:
            raise OvstageError(self.status)


class ListQuery(Closing):
    def __init__(self, stage, path_list):
        self.stage = stage
        told = ask("query-list", stage.at, path_list)
        self.handle = told.number()
        self.prim_count = told.number()

    def release(self):
        ask("release-query", self.stage.at, self.handle)


class FilterQuery(Operation):
    def __init__(self, stage, told):
        super().__init__(stage, told)
        self.handle = told.number()
        self.found = None

    def wait(self):
        if self.status == 0 and self.found is None:
            told = ask("matched", self.stage.at, self.handle, self.stage.probe)
            self.status = told.number()
            if self.status != 0:
                self.op_id = 0
            else:
                self.found = told.number()
                self.attributes = told.numbers()
                paths = told.optional(lambda: told.bytes().decode())
                self.path_list = Untold(self.found) if paths is None else paths
        super().wait()

    @property
    def prim_count(self):
        self.wait()
        return self.found

    def release(self):
        if self.handle != 0:
            ask("release-query", self.stage.at, self.handle)


class Untold(list):
    """Some prims, where there can be no map any more that would tell which."""

    def __init__(self, n):
        super().__init__([None] * n)

    def __eq__(self, other):
        return len(self) == len(other)

    __hash__ = None


class Parts:
    """What groups of reads and of maps have in common."""

    def take_prims(self, told):
        self.prim_list = told.number()
        self.prim_offset = told.number()
        self.prim_count = told.number()
        index_map = told.optional(told.number)
        self.has_prim_index_map = index_map is not None
        self.prim_indices = index_map or list(range(self.prim_offset, self.prim_offset + self.prim_count))

    def take_data(self, told):
        """The data map, and the elements of each tensor, flat."""
        self.logical_count = told.number()
        index_map = told.optional(told.number)
        self.has_data_index_map = index_map is not None
        self.data_rows = list(range(self.logical_count)) if index_map is None else index_map
        self.tensor_count = told.number()
        self.arrays = []
        for _ in range(self.tensor_count):
            self.data_type = DataType(told.number(), told.number(), told.number())
            self.rows = told.number()
            code, bits, _ = self.data_type
            kind = "?" if code == CODES["b"] else f"{KINDS[code]}{bits // 8}"
            self.arrays.append(np.frombuffer(told.bytes(), kind))

    def prim_index(self, i):
        return self.prim_indices[i]


class Group(Parts):
    def __init__(self, stage, told):
        self.stage = stage
        self.at = told.number()
        self.take(told)

    def take(self, told):
        self.as_of_change = harness.changes
        self.attribute = told.number()
        self.ordinal = told.number()
        self.is_delete = told.number() != 0
        self.is_array = told.number() != 0
        self.semantic = told.number()
        self.layout_generation = told.number()
        self.take_prims(told)
        self.take_data(told)
        self.data_count = 0
        if not self.is_delete:
            self.data_count = self.tensor_count if self.is_array else self.rows
            assert self.logical_count == self.prim_count, f"{self.logical_count} values for {self.prim_count} prims"

    def data_row_index(self, i):
        return self.data_rows[i]

    def array(self, i):
        if self.as_of_change != harness.changes:  # it may have changed with something else
            self.take(ask("group", self.at))
        return self.arrays[i]

    @property
    def values(self):
        values = np.concatenate([self.array(i) for i in range(self.tensor_count)])
        values.flags.writeable = False
        return values

    @property
    def offsets(self):
        sizes = [self.array(i).size // self.data_type.lanes for i in range(self.tensor_count)]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.uint64)])

    def text(self, i):
        held = self.array(i).tobytes()
        try:
            if b"\0" not in held:
                return held.decode()
        except UnicodeDecodeError:
            pass
        raise OvstageError(model.INVALID_ARGUMENT)

    def release(self):
        ask("release-group", self.stage.at, self.at)


class Read(Operation):
    def __init__(self, stage, told):
        super().__init__(stage, told)
        self.handle = told.number()
        self.groups = None
        self.as_of = Anything()

    def fetch_next(self):
        if self.status != 0:
            raise OvstageError(self.status)
        if self.groups is None:
            told = ask("groups", self.stage.at, self.handle)
            self.groups = []
            while (status := told.number()) == 0:
                self.groups.append(Group(self.stage, told))
            if status != END_OF_ITERATION:
                raise OvstageError(status)
        return self.groups.pop(0) if self.groups else None

    def release(self):
        if self.handle != 0:
            ask("release-read", self.stage.at, self.handle)
            self.handle = 0


class Piece(Parts):
    """Memory of a map. What is written here is written there before the commit."""

    def __init__(self, told, is_array):
        self.at = told.number()
        self.is_array = is_array
        self.take_prims(told)
        self.take_data(told)
        self.arrays = [values.copy() for values in self.arrays]
        self.committed = False

    def array(self, i):
        return self.arrays[i]

    def fill(self):
        if not self.committed:
            ask("fill", self.at, *(values.tobytes() for values in self.arrays))

    def retire(self):
        self.committed = True
        for values in self.arrays:
            values.flags.writeable = False

    def release(self):
        pass


class Map(Operation):
    def __init__(self, stage, told, is_array):
        super().__init__(stage, told)
        self.handle = told.number()
        self.is_array = is_array
        self.pieces = []
        self.left = None

    def fetch_next(self):
        if self.left is None:
            told = ask("pieces", self.stage.at, self.handle)
            while (status := told.number()) == 0:
                self.pieces.append(Piece(told, self.is_array))
            if status != END_OF_ITERATION:
                raise OvstageError(status)
            self.left = list(self.pieces)
        return self.left.pop(0) if self.left else None

    def end(self):
        for piece in self.pieces:
            piece.retire()
        self.handle = 0

    def discard(self):
        if self.handle != 0:
            ask("discard", self.stage.at, self.handle)
        self.end()

    release = discard


def bounds(source):
    """Where the memory of an array begins, and how many bytes it has."""
    first = source.__array_interface__["data"][0]
    if source.size == 0:
        return first, 0
    low = high = first
    for n, step in zip(source.shape, source.strides):
        low += min(0, (n - 1) * step)
        high += max(0, (n - 1) * step)
    return low, high + source.itemsize - low




def tensor(source):
    """An array as the harness takes it."""
    lanes, shape = 1, None
    if isinstance(source, Folded):
        source, lanes = source
        shape = source.shape[:-1] or (1,)
        source = np.ascontiguousarray(source) if source.ndim > 1 else source
    shape = source.shape if shape is None else shape
    itemsize = source.dtype.itemsize
    steps = [step // itemsize // lanes for step in source.strides[: len(shape)]]
    if lanes > 1 and source.ndim == 1:
        steps = [1]
    low, size = bounds(source)
    offset = source.__array_interface__["data"][0] - low
    dtype = (CODES[source.dtype.kind], itemsize * 8, lanes)
    return [*dtype, len(shape), *shape, *steps, low % 16, offset, ctypes.string_at(low, size)]


class Stage(Closing):
    def __init__(self, name=None, *, history_depth=1):
        assert history_depth == 1, "an instance keeps one version"
        self.at = ask("create").number()
        self.probe = PathDictionary(self).intern_token(PROBE)
        self.failed = set()
        self.handed_over = []

    def release(self):
        if self.at != 0:
            left = ask("destroy", self.at).number()
            assert left == 0, f"{left} tensors that were handed over are left"
            self.handed_over.clear()
        self.at = 0

    gobject = types.SimpleNamespace(get_value_frontier=Anything)

    def token(self, attribute):
        return PathDictionary(self).intern_token(attribute) if isinstance(attribute, str) else attribute

    def tokens(self, attributes):
        return [len(attributes), *map(self.token, attributes)]

    def query_from_path_list(self, path_list):
        return ListQuery(self, path_list)

    def query(self, filter, attributes=()):
        predicates = flattened([filter.tree])
        words = [len(predicates)]
        for operator, attribute, values in predicates:
            words += ["" if attribute is None else attribute, operator, len(values), *values]
        return FilterQuery(self, ask("query", self.at, *self.tokens(attributes), *words))

    def selection(self, query, index_map=None, mask=None, count=None, **more):
        """Index map, bits of the mask and count; a ValueError where the package has one."""
        if index_map is None and mask is None and count is None:
            return None, None, None  # without a look at how many prims there are, so that the query may be pending
        words = mask is not None and np.asarray(mask).dtype == np.uint64
        bits = None
        if mask is not None:
            mask = np.asarray(mask)
            bits = [int(word) >> i & 1 for word in mask for i in range(64)] if words else [int(bit) for bit in mask]
        if index_map is not None:
            index_map = [int(row) for row in index_map]
        if model.python_call_error(query.prim_count, count, index_map, bits, words) is not None:
            raise ValueError("as the package says")
        count = model.logical_count(query.prim_count, count, index_map)
        return index_map, bits if count > 0 else None, count  # no mask goes with a count of 0, which is that of all prims

    def data(self, query, tensors, *, is_array, semantic=0, transfer=False, **more):
        index_map, bits, count = self.selection(query, **more)
        sources = []
        for source in tensors if isinstance(tensors, list) else [tensors]:
            if isinstance(source, str):
                source = np.frombuffer(source.encode(), np.uint8)
                semantic = semantic or model.STRING
            sources.append(source)
        if transfer:
            self.handed_over += sources
        words = [semantic, is_array, count or 0]
        words += [None] if index_map is None else [len(index_map), *index_map]
        if bits is None:
            words.append(None)
        else:
            whole = bits + [0] * (-len(bits) % 64)
            mask = [sum(bit << i for i, bit in enumerate(whole[at : at + 64])) for at in range(0, len(whole), 64)]
            words += [len(mask), *mask]
        words += [transfer, len(sources)]
        for source in sources:
            words += tensor(source)
        return words

    def write_attribute(self, query, attribute, ordinal, tensors, *, prim_mode=0, **more):
        data = self.data(query, tensors, **more)
        return Operation(self, ask("write", self.at, query.handle, attribute, ordinal, prim_mode, *data))

    def write_attributes(self, query, writes, ordinal, *, prim_mode=0):
        for write in writes:  # before anything is handed over
            self.selection(query, **vars(write))
        words = []
        for write in writes:
            more = dict(vars(write))
            words += [more.pop("attribute"), *self.data(query, more.pop("tensors"), **more)]
        return Operation(self, ask("batch", self.at, query.handle, ordinal, prim_mode, len(writes), *words))

    def delete_attributes(self, query, attributes, ordinal):
        return Operation(self, ask("delete", self.at, query.handle, ordinal, len(attributes), *attributes))

    def advance_write_floor(self, ordinal, *, scope=0, attributes=()):
        return Operation(self, ask("seal", self.at, ordinal, scope, *self.tokens(attributes)))

    def clone_async(self, source, targets, ordinal):
        return Operation(self, ask("clone", self.at, ordinal, source, len(targets), *targets))

    def map_attribute(
        self, query, attribute, ordinal, *, dtype=None, semantic=0, prim_mode=0, element_sizes=None, initialize=False
    ):
        sizes = [None] if element_sizes is None else [len(element_sizes), *element_sizes]
        words = [attribute, ordinal, *(dtype or (0, 0, 0)), semantic, prim_mode, *sizes]
        return Map(self, ask("map", self.at, query.handle, *words), element_sizes is not None)

    def unmap_group(self, mapping, piece):
        piece.fill()
        done = Operation(self, ask("commit-piece", self.at, mapping.handle, piece.at))
        piece.retire()
        return done

    def unmap_attribute(self, mapping):
        for piece in mapping.pieces:
            piece.fill()
        done = Operation(self, ask("commit", self.at, mapping.handle))
        mapping.end()
        return done

    def read_attributes(self, query, attributes, ordinal_range):
        start, end = ordinal_range
        return Read(self, ask("read", self.at, query.handle, start, end, *self.tokens(attributes)))

    def get_attribute_write_floor(self, attribute=None):
        return ask("floor", self.at, "" if attribute is None else attribute).number()


class PathDictionary(Closing):
    def __init__(self, stage):
        self.stage = stage

    def intern_token(self, text):
        return ask("tokens", self.stage.at, 1, text).number()

    def intern_path(self, text):
        return ask("paths", self.stage.at, 1, text).number()

    def create_path_list_from_strings(self, texts):
        return ask("list", self.stage.at, len(texts), *texts).number()

    def destroy_path_list(self, path_list):
        ask("release-list", self.stage.at, path_list)

    def get_path_strings(self, path_list):
        return path_list if isinstance(path_list, list) else ask("texts", self.stage.at, path_list).texts()


def flattened(trees):
    """The predicates of filters that must all match."""
    return [part for tree in trees for part in (flattened(tree[1]) if tree[0] == "all" else [tree])]


def conjunction(tree):
    """The predicates that are left of a filter without OR and NOT; their values are texts."""
    if tree[0] == "all":
        return [predicate for part in tree[1] for predicate in conjunction(part)]
    if tree[0] == "any":
        return conjunction(tree[1][0])
    if tree[0] == "not":
        return conjunction(tree[1])
    operator, attribute, values = tree
    return [[operator, attribute, [Literal(value) for value in values]]]


def adapt(sequence):
    """The sequence without what the flat API has not: groups die with their stage, and tensors with their group; maps
    are not filled; one tensor of an array is packed; a filter is a list of predicates that must all match, with texts as
    values; of what failed later the code is not told."""
    sequence = copy.deepcopy(sequence)
    sequence["destroy"] = False
    sequence["codes"] = False
    for op in sequence["ops"]:
        if op.get("hold") == "arrays":
            op["hold"] = "groups"
        for entry in op.get("entries", [op] if op["op"] == "write" else []):
            entry["listed"] = entry["listed"] and not (entry["is_array"] and len(entry["tensors"]) == 1)
        if op["op"] == "map":
            op["fill"] = False
            op["first"] = op["first"] if op["first"] is not None else 1
        if op["op"] == "query":
            op["filter"] = ["all", conjunction(op["filter"])]
    return sequence


def package(n_threads=1):
    """A module-like object with the names of the package that the driver uses."""
    global threads
    threads = n_threads if n_threads > 1 else 0
    return types.SimpleNamespace(
        adapt=adapt,
        Stage=Stage,
        PathDictionary=PathDictionary,
        OrdinalRange=OrdinalRange,
        Filter=Filter,
        FilterOp=int,
        DLDataType=DataType,
        make_dltensor=make_dltensor,
        dltensor_to_numpy=lambda tensor: tensor,
        OvstageError=OvstageError,
        PrimMode=int,
        Scope=int,
        AttributeSemantic=int,
        WriteDesc=types.SimpleNamespace,
    )
