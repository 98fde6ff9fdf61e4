# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The flat C API in the clothes of the Python package, so that the driver can run on it.

It calls the library's functions as a C program would, by ctypes, with structs of the
documented layout. What the flat API does not tell (as_of, the value frontier) is equal to
whatever the model says; what it cannot do is taken out of a sequence by adapt ().
"""

import copy
import ctypes
import os
import types

import numpy as np

import model
from fake import Filter, Folded, OrdinalRange, OvstageError, DataType, make_dltensor

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
KINDS = {code: kind for kind, code in CODES.items()}
FOREVER = 2**64 - 1
END_OF_ITERATION = 8
OP_FAILED = 12

u64, u32, size_t, pointer = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p


def struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


String = struct("String", ("ptr", ctypes.c_char_p), ("length", size_t))
Name = struct("Name", ("token", u64), ("string", String))
Result = struct("Result", ("status", ctypes.c_int), ("error", String))
Enqueued = struct("Enqueued", ("status", ctypes.c_int), ("op", u64))
Waited = struct("Waited", ("ids", ctypes.POINTER(u64)), ("n", size_t), ("lowest", u64))
Sync = struct("Sync", ("stream", size_t), ("event", size_t))
Device = struct("Device", ("type", ctypes.c_int), ("id", ctypes.c_int32))
DType = struct("DType", ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))
Tensor = struct(
    "Tensor",
    ("data", pointer),
    ("device", Device),
    ("ndim", ctypes.c_int32),
    ("dtype", DType),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("byte_offset", u64),
)
Deleter = ctypes.CFUNCTYPE(None, pointer)
Managed = struct(
    "Managed",
    ("major", u32),
    ("minor", u32),
    ("context", pointer),
    ("deleter", Deleter),
    ("flags", u64),
    ("tensor", Tensor),
)
Data = struct(
    "Data",
    ("tensors", ctypes.POINTER(Tensor)),
    ("tensor_count", u32),
    ("count", u32),
    ("index_map", ctypes.POINTER(u32)),
    ("mask", ctypes.POINTER(u64)),
    ("sync", Sync),
)
WriteData = struct(
    "WriteData",
    ("tensors", ctypes.POINTER(Tensor)),
    ("managed", ctypes.POINTER(ctypes.POINTER(Managed))),
    ("tensor_count", u32),
    ("count", u32),
    ("index_map", ctypes.POINTER(u32)),
    ("mask", ctypes.POINTER(u64)),
    ("sync", Sync),
    ("semantic", ctypes.c_int),
    ("is_array", ctypes.c_bool),
)
AttributeWrite = struct("AttributeWrite", ("attribute", Name), ("data", WriteData))
Prims = struct("Prims", ("list", u64), ("offset", u32), ("count", u32), ("index_map", ctypes.POINTER(u32)))
Meta = struct("Meta", ("floor", u64), ("generation", u64))
ReadGroup = struct(
    "ReadGroup",
    ("id", u64),
    ("attribute", u64),
    ("ordinal", u64),
    ("is_delete", ctypes.c_bool),
    ("is_array", ctypes.c_bool),
    ("semantic", ctypes.c_int),
    ("prims", Prims),
    ("data", Data),
    ("meta", Meta),
)
MapGroup = struct("MapGroup", ("prims", Prims), ("data", Data), ("meta", Meta))
MapDesc = struct("MapDesc", ("attribute", Name), ("dtype", DType), ("semantic", ctypes.c_int), ("mode", ctypes.c_int))
Range = struct("Range", ("start", u64), ("end", u64), ("has_start", ctypes.c_bool))
FloorDesc = struct(
    "FloorDesc", ("ordinal", u64), ("scope", ctypes.c_int), ("attributes", ctypes.POINTER(u64)), ("n", size_t)
)

SIGNATURES = {
    "ovstage_create_instance": (ctypes.c_int, pointer, ctypes.POINTER(pointer)),
    "ovstage_destroy_instance": (None, pointer),
    "ovstage_get_path_dictionary": (pointer, pointer),
    "ovstage_wait_op": (ctypes.c_int, pointer, u64, u64, ctypes.POINTER(Waited)),
    "ovstage_release_op": (ctypes.c_int, pointer, u64),
    "ovstage_advance_write_floor": (Enqueued, pointer, ctypes.POINTER(FloorDesc)),
    "ovstage_get_attribute_write_floor": (Enqueued, pointer, Name, ctypes.POINTER(u64)),
    "ovstage_fetch_ordinal": (ctypes.c_int, pointer, u64, u64, ctypes.POINTER(u64)),
    "ovstage_release_ordinal_query": (Enqueued, pointer, u64),
    "ovstage_query_from_path_list": (ctypes.c_int, pointer, u64, ctypes.POINTER(u64)),
    "ovstage_release_query": (Enqueued, pointer, u64),
    "ovstage_write_attribute": (Enqueued, pointer, u64, Name, u64, WriteData, ctypes.c_int),
    "ovstage_write_attributes": (
        Enqueued, pointer, u64, ctypes.POINTER(AttributeWrite), size_t, u64, ctypes.c_int
    ),
    "ovstage_delete_attributes": (Enqueued, pointer, u64, ctypes.POINTER(Name), size_t, u64),
    "ovstage_clone": (Enqueued, pointer, String, ctypes.POINTER(String), size_t, u64),
    "ovstage_map_attribute": (
        Enqueued, pointer, u64, ctypes.POINTER(MapDesc), u64, ctypes.POINTER(size_t), size_t, ctypes.POINTER(u64)
    ),
    "ovstage_fetch_map_next": (ctypes.c_int, pointer, u64, u64, ctypes.POINTER(MapGroup)),
    "ovstage_unmap_group": (Enqueued, pointer, u64, ctypes.POINTER(MapGroup), Sync),
    "ovstage_unmap_attribute": (Enqueued, pointer, u64, Sync),
    "ovstage_discard_map": (Enqueued, pointer, u64),
    "ovstage_read_attributes": (Enqueued, pointer, u64, ctypes.POINTER(u64), size_t, Range, ctypes.POINTER(u64)),
    "ovstage_fetch_read_next": (ctypes.c_int, pointer, u64, u64, ctypes.POINTER(ReadGroup)),
    "ovstage_release_group": (ctypes.c_int, pointer, ctypes.POINTER(ReadGroup)),
    "ovstage_release_read": (Enqueued, pointer, u64),
    "path_dictionary_create_tokens_from_strings": (
        Result, pointer, ctypes.POINTER(String), size_t, ctypes.POINTER(u64)
    ),
    "path_dictionary_get_strings_from_tokens": (Result, pointer, ctypes.POINTER(u64), size_t, ctypes.POINTER(String)),
    "path_dictionary_create_paths_from_strings": (
        Result, pointer, ctypes.POINTER(String), size_t, ctypes.POINTER(u64)
    ),
    "path_dictionary_get_tokens_from_paths": (
        Result, pointer, ctypes.POINTER(u64), size_t, ctypes.POINTER(u64), size_t,
        ctypes.POINTER(ctypes.POINTER(u64)), ctypes.POINTER(size_t), ctypes.POINTER(size_t),
    ),
    "path_dictionary_create_path_list_from_strings": (
        Result, pointer, ctypes.POINTER(String), size_t, ctypes.POINTER(u64)
    ),
    "path_dictionary_release_path_list_reference": (Result, pointer, u64),
    "path_dictionary_get_num_paths_from_path_list": (Result, pointer, u64, ctypes.POINTER(size_t)),
    "path_dictionary_get_paths_from_path_list": (
        Result, pointer, u64, size_t, size_t, ctypes.POINTER(u64), ctypes.POINTER(size_t)
    ),
}


def load():
    library = ctypes.CDLL(os.environ.get("OVSTAGE_LIBRARY", "libovstage.so.0"))
    functions = {}
    for name, (result, *arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
        functions[name.removeprefix("ovstage_")] = function
    return types.SimpleNamespace(**functions)


lib = None


def string(text):
    data = text.encode()
    return String(data, len(data))


def strings(texts):
    return (String * len(texts))(*map(string, texts))


def ids(values):
    return (u64 * len(values))(*values)


def check(result):
    assert result.status == 0, result.error.ptr


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
    def __init__(self, stage, enqueued, keep=None):
        self.stage = stage
        self.op_id = enqueued.op
        self.status = enqueued.status
        self.keep = keep  # memory that stays the caller's until it is done
        assert (self.status == 0) == (self.op_id != 0), f"status {self.status}, id {self.op_id}"

    ok = property(lambda self: self.status == 0)

    def wait(self, timeout=FOREVER):
        if self.op_id != 0 and self.keep is not False:
            waited = Waited()
            status = lib.wait_op(self.stage.pointer, self.op_id, timeout, waited)
            assert status == 0, f"wait_op() gave {status}"
            self.stage.failed.update(waited.ids[i] for i in range(waited.n))
            if self.op_id in self.stage.failed:
                self.status, self.op_id = OP_FAILED, 0
            else:
                assert lib.release_op(self.stage.pointer, self.op_id) == 0
            self.keep = False
        if self.status != 0:
            raise OvstageError(self.status)


class Query(Closing):
    def __init__(self, stage, path_list):
        self.stage = stage
        self.handle = u64()
        assert lib.query_from_path_list(stage.pointer, path_list, self.handle) == 0
        n = size_t()
        check(lib.path_dictionary_get_num_paths_from_path_list(stage.dictionary, path_list, n))
        self.prim_count = n.value

    def release(self):
        assert lib.release_query(self.stage.pointer, self.handle).status == 0


def view(tensor, writable):
    """The elements of a tensor, flat."""
    n = tensor.dtype.lanes
    for i in range(tensor.ndim):
        n *= tensor.shape[i]
    dtype = np.dtype("?" if tensor.dtype.code == CODES["b"] else f"{KINDS[tensor.dtype.code]}{tensor.dtype.bits // 8}")
    if n == 0:
        values = np.empty(0, dtype)
    else:
        memory = (ctypes.c_char * (n * dtype.itemsize)).from_address(tensor.data + tensor.byte_offset)
        values = np.frombuffer(memory, dtype)
    values.flags.writeable = writable
    return values


class Parts:
    """What groups of reads and of maps have in common."""

    def __init__(self, stage, told):
        self.stage = stage
        self.told = told
        prims, data = told.prims, told.data
        self.prim_list = prims.list
        self.prim_count = prims.count
        self.prim_offset = prims.offset
        self.has_prim_index_map = bool(prims.index_map)
        self.tensor_count = data.tensor_count
        self.prim_indices = [self.prim_index(i) for i in range(prims.count)]
        self.has_data_index_map = bool(data.index_map)
        if data.tensor_count > 0:
            dtype = data.tensors[0].dtype
            self.data_type = DataType(dtype.code, dtype.bits, dtype.lanes)

    def prim_index(self, i):
        prims = self.told.prims
        return prims.index_map[i] if prims.index_map else prims.offset + i


class Group(Parts):
    def __init__(self, stage, told):
        super().__init__(stage, told)
        self.attribute = told.attribute
        self.is_delete = told.is_delete
        self.is_array = told.is_array
        self.ordinal = told.ordinal
        self.semantic = told.semantic
        self.layout_generation = told.meta.generation
        self.data_count = 0
        if not told.is_delete:
            self.data_count = self.tensor_count if told.is_array else told.data.tensors[0].shape[0]
            assert told.data.count == self.prim_count
            self.data_rows = [self.data_row_index(i) for i in range(self.prim_count)]

    def data_row_index(self, i):
        return self.told.data.index_map[i] if self.told.data.index_map else i

    def array(self, i):
        return view(self.told.data.tensors[i], False)

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
        assert lib.release_group(self.stage.pointer, self.told) == 0
        again = lib.release_group(self.stage.pointer, self.told)
        assert again == model.INVALID_HANDLE, f"a group released twice: {again}"


class Read(Operation):
    def __init__(self, stage, enqueued, handle):
        super().__init__(stage, enqueued)
        self.handle = handle
        self.as_of = Anything()

    def fetch_next(self, timeout=FOREVER):
        if self.status != 0:
            raise OvstageError(self.status)
        told = ReadGroup()
        status = lib.fetch_read_next(self.stage.pointer, self.handle, timeout, told)
        if status == END_OF_ITERATION:
            return None
        if status != 0:
            raise OvstageError(status)
        return Group(self.stage, told)

    def release(self):
        if self.handle.value != 0:
            assert lib.release_read(self.stage.pointer, self.handle).status == 0
            self.handle = u64()


class Piece(Parts):
    def __init__(self, stage, told):
        super().__init__(stage, told)
        self.arrays = [view(told.data.tensors[i], True) for i in range(self.tensor_count)]

    def array(self, i):
        return self.arrays[i]

    def retire(self):
        for values in self.arrays:
            values.flags.writeable = False

    def release(self):
        pass


class Map(Operation):
    def __init__(self, stage, enqueued, handle, is_array):
        super().__init__(stage, enqueued)
        self.handle = handle
        self.is_array = is_array
        self.pieces = []

    def fetch_next(self, timeout=FOREVER):
        told = MapGroup()
        status = lib.fetch_map_next(self.stage.pointer, self.handle, timeout, told)
        if status == END_OF_ITERATION:
            return None
        if status != 0:
            raise OvstageError(status)
        piece = Piece(self.stage, told)
        piece.is_array = self.is_array
        self.pieces.append(piece)
        return piece

    def end(self):
        for piece in self.pieces:
            piece.retire()
        self.handle = u64()

    def discard(self):
        if self.handle.value != 0:
            assert lib.discard_map(self.stage.pointer, self.handle).status == 0
        self.end()

    release = discard


class Stage(Closing):
    handed_over = {}  # address -> what is handed over, until the deleter runs

    def __init__(self, name=None, *, history_depth=1):
        global lib
        lib = lib or load()
        assert history_depth == 1, "an instance keeps one version"
        self.pointer = pointer()
        assert lib.create_instance(None, self.pointer) == 0
        self.dictionary = lib.get_path_dictionary(self.pointer)
        self.failed = set()

    def release(self):
        if self.pointer is not None:
            lib.destroy_instance(self.pointer)
        self.pointer = None

    gobject = types.SimpleNamespace(get_value_frontier=Anything)

    def name(self, attribute):
        if isinstance(attribute, str):
            return Name(0, string(attribute))
        return Name(attribute, String(None, 0))

    def token(self, attribute):
        return PathDictionary(self).intern_token(attribute) if isinstance(attribute, str) else attribute

    def query_from_path_list(self, path_list):
        return Query(self, path_list)

    def tensor(self, source, keep):
        lanes, shape = 1, None
        if isinstance(source, Folded):
            source, lanes = source
            shape = source.shape[:-1] or (1,)
            source = np.ascontiguousarray(source) if source.ndim > 1 else source
        shape = source.shape if shape is None else shape
        itemsize = source.dtype.itemsize
        strides = [step // itemsize // lanes for step in source.strides[: len(shape)]] if lanes > 1 else [
            step // itemsize for step in source.strides
        ]
        if lanes > 1 and source.ndim == 1:
            strides = [1]
        dims = (ctypes.c_int64 * len(shape))(*shape)
        steps = (ctypes.c_int64 * len(shape))(*strides)
        keep += [source, dims, steps]
        dtype = DType(CODES[source.dtype.kind], itemsize * 8, lanes)
        data = source.__array_interface__["data"][0]
        return Tensor(data, Device(1, 0), len(shape), dtype, dims, steps, 0)

    def managed(self, source):
        """A tensor that owns its source, and forgets it when it is let go of."""
        keep = []
        made = Managed(1, 0, None, forget, 0, self.tensor(source, keep))
        self.handed_over[ctypes.addressof(made)] = (made, keep)
        return ctypes.pointer(made)

    def selection(self, query, index_map=None, mask=None, count=None, **more):
        """Index map, bits of the mask and count; a ValueError where the package has one."""
        words = mask is not None and np.asarray(mask).dtype == np.uint64
        bits = None
        if mask is not None:
            mask = np.asarray(mask)
            bits = [int(word) >> i & 1 for word in mask for i in range(64)] if words else [int(bit) for bit in mask]
        if index_map is not None:
            index_map = [int(row) for row in index_map]
        if model.python_call_error(query.prim_count, count, index_map, bits, words) is not None:
            raise ValueError("as the package says")
        return index_map, bits, count

    def data(self, query, tensors, keep, *, is_array, semantic=0, transfer=False, **more):
        index_map, bits, count = self.selection(query, **more)
        if index_map is not None or bits is not None:
            count = model.logical_count(query.prim_count, count, index_map)
        sources = []
        for source in tensors if isinstance(tensors, list) else [tensors]:
            if isinstance(source, str):
                source = np.frombuffer(source.encode(), np.uint8)
                semantic = semantic or model.STRING
            sources.append(source)
        if transfer:
            made = [self.managed(source) for source in sources]
            given = (ctypes.POINTER(Managed) * len(made))(*made)
            data = WriteData(managed=given)
        else:
            given = (Tensor * len(sources))(*(self.tensor(source, keep) for source in sources))
            data = WriteData(tensors=given)
        data.tensor_count = len(sources)
        data.count = count or 0
        data.semantic = int(semantic)
        data.is_array = is_array
        if index_map is not None:
            data.index_map = (u32 * len(index_map))(*index_map)
        if bits is not None:
            whole = bits + [0] * (-len(bits) % 64)
            data.mask = ids([sum(bit << i for i, bit in enumerate(whole[at : at + 64])) for at in range(0, len(whole), 64)])
        keep += [given, data.index_map, data.mask]
        return data

    def write_attribute(self, query, attribute, ordinal, tensors, *, prim_mode=0, **more):
        keep = []
        data = self.data(query, tensors, keep, **more)
        name = self.name(attribute)
        done = lib.write_attribute(self.pointer, query.handle, name, ordinal, data, int(prim_mode))
        return Operation(self, done, keep)

    def write_attributes(self, query, writes, ordinal, *, prim_mode=0):
        keep = []
        given = []
        for write in writes:  # before anything is handed over
            self.selection(query, **vars(write))
        for write in writes:
            more = dict(vars(write))
            name = self.name(more.pop("attribute"))
            given.append(AttributeWrite(name, self.data(query, more.pop("tensors"), keep, **more)))
        entries = (AttributeWrite * len(given))(*given)
        done = lib.write_attributes(self.pointer, query.handle, entries, len(given), ordinal, int(prim_mode))
        return Operation(self, done, keep + given)

    def delete_attributes(self, query, attributes, ordinal):
        names = (Name * len(attributes))(*map(self.name, attributes))
        return Operation(self, lib.delete_attributes(self.pointer, query.handle, names, len(names), ordinal))

    def advance_write_floor(self, ordinal, *, scope=0, attributes=()):
        tokens = ids([self.token(attribute) for attribute in attributes])
        desc = FloorDesc(ordinal, int(scope), tokens, len(tokens))
        return Operation(self, lib.advance_write_floor(self.pointer, desc))

    def clone_async(self, source, targets, ordinal):
        texts = strings(targets)
        return Operation(self, lib.clone(self.pointer, string(source), texts, len(texts), ordinal))

    def map_attribute(
        self, query, attribute, ordinal, *, dtype=None, semantic=0, prim_mode=0, element_sizes=None, initialize=False
    ):
        desc = MapDesc(self.name(attribute), DType(*(dtype or (0, 0, 0))), int(semantic), int(prim_mode))
        handle = u64()
        sizes = None if element_sizes is None else (size_t * max(1, len(element_sizes)))(*element_sizes)
        n = len(element_sizes or ())
        done = lib.map_attribute(self.pointer, query.handle, desc, ordinal, sizes, n, handle)
        return Map(self, done, handle, element_sizes is not None)

    def unmap_group(self, mapping, piece):
        done = Operation(self, lib.unmap_group(self.pointer, mapping.handle, piece.told, Sync(0, 0)))
        piece.retire()
        return done

    def unmap_attribute(self, mapping):
        done = Operation(self, lib.unmap_attribute(self.pointer, mapping.handle, Sync(0, 0)))
        mapping.end()
        return done

    def read_attributes(self, query, attributes, ordinal_range):
        tokens = ids([self.token(attribute) for attribute in attributes])
        start, end = ordinal_range
        handle = u64()
        range_ = Range(start or 0, end, start is not None)
        done = lib.read_attributes(self.pointer, query.handle, tokens, len(tokens), range_, handle)
        return Read(self, done, handle)

    def get_attribute_write_floor(self, attribute=None):
        handle, ordinal = u64(), u64()
        name = self.name("" if attribute is None else attribute)
        assert lib.get_attribute_write_floor(self.pointer, name, handle).status == 0
        assert lib.fetch_ordinal(self.pointer, handle, FOREVER, ordinal) == 0
        assert lib.release_ordinal_query(self.pointer, handle).status == 0
        return ordinal.value


@Deleter
def forget(address):
    Stage.handed_over.pop(address)


class PathDictionary(Closing):
    def __init__(self, stage):
        self.dictionary = stage.dictionary

    def one(self, create, text):
        made = u64()
        check(create(self.dictionary, strings([text]), 1, made))
        return made.value

    def intern_token(self, text):
        return self.one(lib.path_dictionary_create_tokens_from_strings, text)

    def intern_path(self, text):
        return self.one(lib.path_dictionary_create_paths_from_strings, text)

    def create_path_list_from_strings(self, texts):
        made = u64()
        check(lib.path_dictionary_create_path_list_from_strings(self.dictionary, strings(texts), len(texts), made))
        return made.value

    def destroy_path_list(self, path_list):
        check(lib.path_dictionary_release_path_list_reference(self.dictionary, path_list))

    def get_path_strings(self, path_list):
        n = size_t()
        check(lib.path_dictionary_get_num_paths_from_path_list(self.dictionary, path_list, n))
        paths = (u64 * n.value)()
        check(lib.path_dictionary_get_paths_from_path_list(self.dictionary, path_list, 0, n, paths, n))
        return [self.text(path) for path in paths]

    def text(self, path):
        tokens, n_tokens, done = ctypes.POINTER(u64)(), size_t(), size_t()
        buffer = (u64 * 64)()
        check(
            lib.path_dictionary_get_tokens_from_paths(
                self.dictionary, ids([path]), 1, buffer, len(buffer), tokens, n_tokens, done
            )
        )
        assert done.value == 1
        names = (String * max(1, n_tokens.value))()
        check(lib.path_dictionary_get_strings_from_tokens(self.dictionary, buffer, n_tokens.value, names))
        return "/" + "/".join(names[i].ptr.decode() for i in range(n_tokens.value))


def adapt(sequence):
    """The sequence without what the flat API has not: groups die with their stage, and tensors with their group; maps
    are not filled; one tensor of an array is packed."""
    sequence = copy.deepcopy(sequence)
    sequence["destroy"] = False
    for op in sequence["ops"]:
        if op.get("hold") == "arrays":
            op["hold"] = "groups"
        for entry in op.get("entries", [op] if op["op"] == "write" else []):
            entry["listed"] = entry["listed"] and not (entry["is_array"] and len(entry["tensors"]) == 1)
        if op["op"] == "map":
            op["fill"] = False
            op["first"] = op["first"] if op["first"] is not None else 1
    return sequence


def package():
    """A module-like object with the names of the package that the driver uses."""
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
