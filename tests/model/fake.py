# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The model in the clothes of the Python package, and broken copies of it.

With it the driver is tested without the library: on the model itself it must
find nothing, on each of the broken ones something (driver.py --self-test).
"""

import copy
import types
from typing import NamedTuple

import numpy as np

import model


class OvstageError(RuntimeError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


class DataType(NamedTuple):
    code: int
    bits: int
    lanes: int


CODES = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}
KINDS = {code: kind for kind, code in CODES.items()}


class OrdinalRange(NamedTuple):
    start: int
    end: int

    latest = classmethod(lambda cls, n: cls(None, n))
    newest = classmethod(lambda cls: cls(None, model.NEWEST))
    between = classmethod(lambda cls, a, b: cls(a, b))


class Filter:
    """A tree as the model takes it."""

    def __init__(self, tree):
        self.tree = tree

    has = classmethod(lambda cls, a: cls((model.HAS, a, ())))
    in_ = classmethod(lambda cls, a, values: cls((model.IN, a, values)))
    contains = classmethod(lambda cls, a, value: cls((model.CONTAINS, a, (value,))))
    prefix = classmethod(lambda cls, a, value: cls((model.PREFIX, a, (value,))))
    compare = classmethod(lambda cls, a, op, value: cls((int(op), a, (value,))))
    subtree = classmethod(lambda cls, path: cls((model.SUBTREE, None, (path,))))

    def __and__(self, other):
        return Filter(("all", [self.tree, other.tree]))

    def __or__(self, other):
        return Filter(("any", [self.tree, other.tree]))

    def __invert__(self):
        return Filter(("not", self.tree))


def make_dltensor(source, dtype, **shape):
    """An array with some lanes: its last axis."""
    return Folded(source, dtype.lanes)


class Folded(NamedTuple):
    source: np.ndarray
    lanes: int


class Managed:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def release(self):
        pass


class Operation(Managed):
    stage = None

    def __init__(self, status, op_id):
        self.number = op_id
        self.end(status)

    def end(self, status):
        self.status = status
        self.op_id = self.number if status == 0 else 0
        self.ok = status == 0

    def wait(self, timeout=-1):
        if self.stage is not None:
            self.stage.settle()
        if self.status != 0:
            raise OvstageError(self.status)

    def cancel(self):
        return self.stage is not None and self.stage.withdraw(self)


class Query(Operation):
    def __init__(self, prims, status=0, op_id=0, attributes=()):
        super().__init__(status, op_id)
        self.prims = prims
        self.attributes = attributes

    path_list = property(lambda self: self.prims)
    prim_count = property(lambda self: len(self.prims))


class Read(Operation):
    def __init__(self, result, op_id, stage, query):
        super().__init__(result.status, op_id)
        self.as_of = result.as_of
        self.left = [stage.group_type(stage, query.prims, group) for group in result.groups]

    def fetch_next(self, timeout=-1):
        self.wait()
        return self.left.pop(0) if self.left else None


class Group(Managed):
    def __init__(self, stage, prim_list, group):
        self.stage = stage
        self.told = group
        self.attribute = stage.token(group.attribute)
        self.is_delete = group.schema is None
        self.ordinal = group.ordinal
        self.layout_generation = group.generation
        self.prim_list = prim_list
        self.prim_count = len(group.rows)
        self.prim_indices = [prim_list.index(prim) for prim, _ in group.rows]
        self.data_rows = list(range(self.prim_count))
        self.prim_offset = self.prim_indices[0]
        self.has_prim_index_map = self.prim_indices != [self.prim_offset + i for i in range(self.prim_count)]
        if not self.is_delete:
            self.data_type = DataType(*group.schema[:3])
            self.semantic = group.schema.semantic
            self.is_array = group.schema.is_array
        self.tensor_count = 0 if self.is_delete else self.prim_count if self.is_array else 1

    has_data_index_map = False
    data_count = property(lambda self: self.prim_count)

    values = property(lambda self: self.elements(b"".join(self.row_bytes())))

    @property
    def offsets(self):
        size = self.data_type.bits * self.data_type.lanes // 8
        rows = self.row_bytes()
        return [sum(len(row) for row in rows[:i]) // size for i in range(len(rows) + 1)]

    def text(self, i):
        try:
            text = self.row_bytes()[i].decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise OvstageError(model.INVALID_ARGUMENT)
        return text

    def prim_index(self, i):
        return self.prim_indices[i]

    def data_row_index(self, i):
        return i

    def row_bytes(self):
        return [value for _, value in self.told.rows]

    def array(self, i):
        rows = self.row_bytes()
        return self.elements(rows[i] if self.is_array else b"".join(rows))

    def elements(self, data):
        code, bits, _ = self.told.schema[:3]
        return np.frombuffer(data, "?" if code == CODES["b"] else f"{KINDS[code]}{bits // 8}")


class MapGroup(Managed):
    def __init__(self, mapping, prims):
        self.map = mapping
        self.prims = prims
        session = mapping.session
        self.data_type = DataType(*session.schema[:3])
        self.is_array = session.schema.is_array
        self.prim_list = mapping.prims
        self.prim_count = len(prims)
        self.tensor_count = len(prims) if self.is_array else 1
        kind = "?" if session.schema.code == CODES["b"] else f"{KINDS[session.schema.code]}{session.schema.bits // 8}"
        rows = {prim: np.zeros(session.sizes[prim] * 8 // session.schema.bits, kind) for prim in prims}
        for prim, value in session.values.items():
            if prim in rows:
                rows[prim][...] = np.frombuffer(value, kind)
        self.arrays = list(rows.values()) if self.is_array else [np.concatenate(list(rows.values()))]

    def prim_index(self, i):
        return self.prim_list.index(self.prims[i])

    def array(self, i):
        return self.arrays[i]

    def commit(self):
        """Tells the session what was written."""
        rows = self.arrays if self.is_array else np.split(self.arrays[0], len(self.prims))
        self.map.session.values.update({prim: row.tobytes() for prim, row in zip(self.prims, rows)})
        for values in self.arrays:
            values.flags.writeable = False


class Map(Operation):
    def __init__(self, stage, prims, status, session, op_id):
        super().__init__(status, op_id)
        self.stage = stage
        self.prims = prims
        self.session = session
        self.groups = [MapGroup(self, group) for group in session.groups] if session else []
        self.left = list(self.groups)

    def fetch_next(self, timeout=-1):
        self.wait()
        return self.left.pop(0) if self.left else None

    def discard(self):
        for group in self.groups:
            if group.prims in self.session.left:
                group.commit()
        self.stage.model.map_discard(self.session)


class MainContext:
    """What iteration () calls says whether it did anything."""

    default = []  # of this package there is one thread

    def __init__(self):
        self.sources = []

    def push_thread_default(self):
        self.default.append(self)

    def pop_thread_default(self):
        self.default.pop()

    def iteration(self, may_block):
        return any([source() for source in self.sources])


class Task:
    """A coroutine that goes on whenever the context is iterated."""

    def __init__(self, coroutine):
        self.coroutine = coroutine
        self.ended = False
        self.step()
        MainContext.default[-1].sources.append(self.step)

    def step(self):
        if self.ended:
            return False
        try:
            self.coroutine.send(None)
        except StopIteration:
            self.ended = True
        return self.ended

    def done(self):
        return self.ended

    def result(self):
        return None


class Pause:
    def __await__(self):
        yield


class Watch(Managed):
    def __init__(self, stage, prims, told, callback):
        self.stage = stage
        self.prims = prims
        self.told = told
        self.callback = callback
        self.ended = False
        if callback is not None:
            MainContext.default[-1].sources.append(self.call)

    cursor = property(lambda self: self.stage.model.cursor(self.told))

    def groups(self):
        return [self.stage.group_type(self.stage, self.prims, group) for group in self.stage.model.watch_next(self.told)]

    def call(self):
        groups = [] if self.ended else self.groups()
        if groups:
            self.callback(self, groups)
        return bool(groups)

    async def __anext__(self):
        while not self.ended:
            groups = self.groups()
            if groups:
                return groups
            await Pause()
        raise StopAsyncIteration

    def cancel(self):
        self.ended = True


class Stage(Managed):
    model_type = model.Model
    group_type = Group

    def __init__(self, name=None, *, history_depth=1):
        self.model = self.model_type(history_depth)
        self.last_id = 0
        self.since = []  # (operation, its query, call) of what was submitted since somebody looked
        self.before = None  # the model then
        self.whole = True  # nothing but the model knows what is there

    @property
    def gobject(self):
        return types.SimpleNamespace(get_value_frontier=self.model.value_frontier)

    def destroy(self):
        pass

    def name(self, attribute):
        return attribute if isinstance(attribute, str) else self.model.token_ids.text(attribute)

    def token(self, text):
        return self.model.token_ids.id(text)

    def operation(self, call, query=None, made=None):
        """What was not looked at may be withdrawn: a query, what uses one that may, an advance."""
        if not self.since and self.whole:
            ids = (self.model.path_ids, self.model.token_ids)  # stay
            self.before = copy.deepcopy(self.model, {id(one): one for one in ids})
        self.last_id += 1
        operation = made or Operation(0, self.last_id)
        operation.end(call())
        operation.stage = self
        self.since.append((operation, query, call))
        return operation

    def settle(self):
        """Somebody looks."""
        self.since.clear()

    def can_withdraw(self, operation, query, call):
        """It waits for its query, or is an advance."""
        return query == "seal" or isinstance(operation, Query) or any(one is query for one, *_ in self.since)

    def withdraw(self, operation):
        found = [one for one in self.since if one[0] is operation]
        if not self.whole or operation.status != 0 or not found or not self.can_withdraw(*found[0]):
            return False
        since, self.since = self.since, []
        operation.withdrawn = True
        self.model = self.before
        for other, query, call in since:
            self.run_again(other, query, call)
        return True

    def run_again(self, operation, query, call):
        if getattr(operation, "withdrawn", False) or getattr(query, "withdrawn", False):
            operation.end(model.OP_FAILED)
            operation.stage = self
        elif operation.status != model.WRITE_FLOOR_VIOLATION:  # that was refused
            self.operation(call, query, operation)

    def query_from_path_list(self, path_list):
        return Query(path_list)

    def given(self, query, attribute, tensors, *, is_array, semantic=0, index_map=None, mask=None, count=None, transfer=False):
        """What the package makes of its arguments: a model.Given, or a ValueError."""
        words = mask is not None and mask.dtype == np.uint64
        bits = None
        if mask is not None:
            bits = [int(word) >> i & 1 for word in mask for i in range(64)] if words else [int(bit) for bit in mask]
        if index_map is not None:
            index_map = [int(row) for row in index_map]
        n_prims = len(query.prims)
        if model.python_call_error(n_prims, count, index_map, bits, words) is not None:
            raise ValueError("as the model says")
        sources = []
        for source in tensors if isinstance(tensors, list) else [tensors]:
            if isinstance(source, str):
                source = np.frombuffer(source.encode(), np.uint8)
                semantic = semantic or model.STRING
            lanes = 1
            shape = None
            if isinstance(source, Folded):
                source, lanes = source
                shape = source.shape[:-1] or (1,)
            dtype = source.dtype
            data = np.ascontiguousarray(source).tobytes()
            sources.append(model.Tensor(CODES[dtype.kind], dtype.itemsize * 8, shape or source.shape, data, lanes))
        count = model.logical_count(n_prims, count, index_map)
        bits = bits if count != 0 else None
        packed = is_array and not isinstance(tensors, list)
        return model.Given(self.name(attribute), sources, int(semantic), count, index_map, bits, is_array, packed)

    def write_attribute(self, query, attribute, ordinal, tensors, *, prim_mode=0, **more):
        attribute, sources, *rest = self.given(query, attribute, tensors, **more)
        more = dict(zip(model.Given._fields[2:], rest))
        return self.operation(
            lambda: self.model.write(query.prims, attribute, ordinal, sources, mode=int(prim_mode), **more), query
        )

    def write_attributes(self, query, writes, ordinal, *, prim_mode=0):
        given = [self.given(query, **vars(write)) for write in writes]
        return self.operation(lambda: self.model.write_batch(query.prims, given, ordinal, int(prim_mode)), query)

    def delete_attributes(self, query, attributes, ordinal):
        names = [self.name(attribute) for attribute in attributes]
        return self.operation(lambda: self.model.delete(query.prims, names, ordinal), query)

    def advance_write_floor(self, ordinal, *, scope=0, attributes=()):
        names = [self.name(attribute) for attribute in attributes]
        return self.operation(lambda: self.model.advance(ordinal, int(scope), names), "seal")

    def clone_async(self, source, targets, ordinal):
        return self.operation(lambda: self.model.clone(source, targets, ordinal))

    def map_attribute(
        self, query, attribute, ordinal, *, dtype=None, semantic=0, prim_mode=0, element_sizes=None, initialize=False
    ):
        name = self.name(attribute)
        self.whole = False  # the session is of this model
        status, session = self.model.map_attribute(
            query.prims, name, ordinal, dtype, int(semantic), int(prim_mode), element_sizes, initialize
        )
        self.last_id += 1
        return Map(self, query.prims, status, session, self.last_id)

    def unmap_group(self, mapping, group):
        if group.prims in mapping.session.left:
            group.commit()
        return self.operation(lambda: self.model.map_commit_group(mapping.session, group.prims))

    def unmap_attribute(self, mapping):
        for group in mapping.groups:
            if group.prims in mapping.session.left:
                group.commit()
        return self.operation(lambda: self.model.map_commit(mapping.session))

    def query(self, filter, attributes=()):
        names = [self.name(attribute) for attribute in attributes]
        self.last_id += 1
        query = Query([], 0, self.last_id)

        def call():
            status, query.prims = self.model.query(filter.tree)
            query.attributes = [self.token(name) for name in self.model.discovered(query.prims, names)]
            return status

        return self.operation(call, None, query)

    def read_attributes(self, query, attributes, ordinal_range):
        self.last_id += 1
        names = [self.name(attribute) for attribute in attributes]
        start, end = ordinal_range
        self.settle()
        return Read(self.model.read(query.prims, names, end, start), self.last_id, self, query)

    def watch(self, query, attributes, callback=None):
        self.whole = False
        status, told = self.model.watch(query.prims, [self.name(attribute) for attribute in attributes])
        if status != model.OK:
            raise OvstageError(status)
        return Watch(self, query.prims, told, callback)

    def get_attribute_write_floor(self, attribute=None):
        self.settle()
        return self.model.global_floor() if attribute is None else self.model.floor(self.name(attribute))


class PathDictionary(Managed):
    def __init__(self, stage):
        self.stage = stage

    def intern_token(self, text):
        return self.stage.token(text)

    def intern_path(self, text):
        return self.stage.model.path_ids.id(text)

    def create_path_list_from_strings(self, strings):
        return list(strings)

    def get_path_strings(self, path_list):
        return list(path_list)

    def destroy_path_list(self, path_list):
        pass


def package(model_type=model.Model, group_type=Group, stage_type=Stage):
    """A module-like object with the names of the package that the driver uses."""
    stage_type = type("Stage", (stage_type,), {"model_type": model_type, "group_type": group_type})
    return types.SimpleNamespace(
        Stage=stage_type,
        PathDictionary=PathDictionary,
        MainContext=MainContext,
        glib=types.SimpleNamespace(spawn=Task),
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
