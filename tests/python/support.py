# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""What the tests of the Python package share."""

import ctypes
import gc
import os
import sys
import unittest
import warnings

import numpy as np

import ovstage


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", DELETER)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


# Called with the GIL, and they may set Python errors.
FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
LEND = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
WORK_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
# Without.
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, SET_ERROR
)


class DLPackExchangeAPI(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        ("allocate", ALLOCATE),
        ("from_object", FROM_OBJECT),
        ("to_object", TO_OBJECT),
        ("lend", LEND),
        ("work_stream", WORK_STREAM),
    ]


def _python(name, result, *arguments):
    # Others change the prototypes of ctypes.pythonapi, which all of a process share.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new_capsule = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_get_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_get_name = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_unref = _python("Py_DecRef", None, ctypes.py_object)

EXCHANGE = b"dlpack_exchange_api"
VERSIONED = b"dltensor_versioned"
LEGACY = b"dltensor"
# Capsules do not copy their names.
_NAMES = {}


def capsule(pointer, name):
    name = _NAMES.setdefault(name, name)
    return _new_capsule(pointer, name, None)


def capsule_name(object):
    return _get_name(object)


def exchange_of(type):
    return DLPackExchangeAPI.from_address(_get_pointer(type.__dlpack_c_exchange_api__, EXCHANGE))


def steal(pointer):
    """A ManagedDLTensor that our table makes of the struct at an address, and takes."""
    out = ctypes.c_void_p()
    exchange_of(ovstage.ManagedDLTensor).to_object(pointer, ctypes.byref(out))
    tensor = ctypes.cast(out, ctypes.py_object).value
    _unref(tensor)
    return tensor


def versioned_of(capsule):
    return DLManagedTensorVersioned.from_address(_get_pointer(capsule, VERSIONED))


def legacy_of(capsule):
    return DLManagedTensor.from_address(_get_pointer(capsule, LEGACY))


class Producer:
    """A DLPack producer made by hand, over a numpy array, that counts what is done to it."""

    def __init__(self, array, *, versioned=True, knows_max_version=True, major=1, flags=0, device=(1, 0), dtype=None,
                 has_deleter=True, shape=None, strides="own", name=None, byte_offset=0, on_delete=None):
        self.array = array
        self.versioned = versioned
        self.knows_max_version = knows_max_version
        self.major = major
        self.flags = flags
        self.device = device
        self.dtype = dtype
        self.has_deleter = has_deleter
        self.shape = array.shape if shape is None else shape
        self.strides = strides
        self.name = name
        self.byte_offset = byte_offset
        self.on_delete = on_delete
        self.calls = []
        self.deleted = 0
        self._kept = []

    def _fill(self, tensor):
        kinds = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
        n = len(self.shape)
        shape = (ctypes.c_int64 * max(n, 1))(*self.shape)
        self._kept.append(shape)
        tensor.data = self.array.ctypes.data - self.byte_offset
        tensor.byte_offset = self.byte_offset
        tensor.device = DLDevice(*self.device)
        tensor.ndim = n
        tensor.dtype = DLDataType(*(self.dtype or (kinds[self.array.dtype.kind], self.array.dtype.itemsize * 8, 1)))
        tensor.shape = shape
        if self.strides is not None:
            strides = self.strides
            if strides == "own":
                strides = [s // self.array.itemsize for s in self.array.strides]
            strides = (ctypes.c_int64 * max(n, 1))(*strides)
            self._kept.append(strides)
            tensor.strides = strides

    def make(self):
        return capsule(self.address(), self.name or (VERSIONED if self.versioned else LEGACY))

    def address(self):
        """Of a new struct."""
        managed = DLManagedTensorVersioned() if self.versioned else DLManagedTensor()
        self._fill(managed.dl_tensor)
        if self.versioned:
            managed.major = self.major
            managed.flags = self.flags

        def delete(pointer):
            self.deleted += 1
            if self.on_delete is not None:
                self.on_delete()

        if self.has_deleter:
            managed.deleter = DELETER(delete)
        self._kept.append(managed)
        return ctypes.addressof(managed)

    def __dlpack__(self, **kwargs):
        self.calls.append(kwargs)
        if not self.knows_max_version and "max_version" in kwargs:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.make()

    def __dlpack_device__(self):
        return self.device


class StageCase(unittest.TestCase):
    """A stage with the prims /World/P0 to /World/P<n - 1>. Warnings of unreleased objects are failures."""

    n = 3
    options = {}

    def setUp(self):
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("error", ResourceWarning)
        self.stage = ovstage.Stage("test", **self.options)
        self.paths = ovstage.PathDictionary(self.stage)
        self.prims = self.paths.create_path_list_from_strings([f"/World/P{i}" for i in range(self.n)])
        self.query = self.stage.query_from_path_list(self.prims)

    def tearDown(self):
        self.query.release()
        self.paths.release()
        self.stage.destroy()
        self._warnings.__exit__(None, None, None)

    def write(self, tensors, ordinal=1, attribute="a", **kwargs):
        kwargs.setdefault("is_array", False)
        return self.stage.write_attribute(self.query, attribute, ordinal, tensors, **kwargs)

    def seal(self, ordinal=1, **kwargs):
        self.stage.advance_write_floor(ordinal, **kwargs).wait()

    def read(self, ordinal=1, attribute="a"):
        """The groups of an attribute, with their data copied: (ordinal, prim indices, rows)."""
        with self.stage.read_attributes(self.query, [attribute], ovstage.OrdinalRange.latest(ordinal)) as read:
            found = []
            for group in read.groups():
                with group:
                    data = np.from_dlpack(group.dlpack(0)) if group.data_type.code != 6 else group.array(0)
                    found.append((group.ordinal, group.prim_indices.tolist(), np.array(data)[group.data_rows]))
            return found

    def values(self, ordinal=1, attribute="a"):
        """The rows of a read that has one group."""
        (group,) = self.read(ordinal, attribute)
        return group[2]

    def round_trip(self, tensors, ordinal=1, **kwargs):
        self.write(tensors, ordinal, **kwargs).wait()
        self.seal(ordinal)
        return self.values(ordinal)

    def assert_code(self, operation, code, text=""):
        with self.assertRaises(ovstage.OvstageError) as caught:
            operation.wait()
        self.assertIs(caught.exception.code, code)
        self.assertIn(text, caught.exception.message)
        self.assertFalse(operation.ok)
        self.assertIs(operation.status, code)
        self.assertEqual(operation.error_message(), caught.exception.message)


def resident():
    """Resident bytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class GrowthCase(StageCase):
    def assert_no_growth(self, once, n=10_000, limit=2 << 20):
        """Runs a loop body n times: after a first tenth the process stays as large as it is."""
        for i in range(n // 10):
            once(i)
        gc.collect()
        before, blocks = resident(), sys.getallocatedblocks()
        for i in range(n // 10, n):
            once(i)
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - blocks, 200)
        self.assertLess(resident() - before, limit)
