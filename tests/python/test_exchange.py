# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""The C exchange table of DLPack: ours, called as C would, and those of types made by hand."""

import ctypes
import gc
import sys
import threading
import unittest

import numpy as np

import ovstage
from ovstage import DLDataType, DLTensor, ErrorCode, ManagedDLTensor, OrdinalRange
from support import (
    ALLOCATE,
    DELETER,
    EXCHANGE,
    FROM_OBJECT,
    SET_ERROR,
    WORK_STREAM,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    Producer,
    StageCase,
    capsule,
    capsule_name,
    exchange_of,
    legacy_of,
    steal,
    versioned_of,
)
from support import DLTensor as CTensor

READ_ONLY = 1
ours = exchange_of(ManagedDLTensor)


def managed_at(pointer):
    return DLManagedTensorVersioned.from_address(pointer.value)


def delete(pointer):
    managed_at(pointer).deleter(pointer)


def take(producer):
    """A ManagedDLTensor made by our table of what a Producer gives."""
    return steal(producer.address())


class Ours(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.arange(12, dtype=np.float64).reshape(3, 4)
        self.write(self.a).wait()
        self.seal()
        with self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1)) as read:
            with read.fetch_next() as group:
                self.tensor = group.dlpack(0)

    def test_names(self):
        table = ManagedDLTensor.__dlpack_c_exchange_api__
        self.assertEqual(capsule_name(table), EXCHANGE)
        self.assertIs(type(self.tensor).__dlpack_c_exchange_api__, table)
        self.assertEqual(ManagedDLTensor.__c_dlpack_exchange_api__, ctypes.addressof(ours))
        self.assertEqual((ours.major, ours.minor, ours.prev_api), (1, 3, None))
        for name, _ in DLPackExchangeAPI._fields_[3:]:
            self.assertTrue(getattr(ours, name), name)
        # Only what has __dlpack__ carries the table.
        self.assertFalse(hasattr(DLTensor, "__dlpack_c_exchange_api__"))

    def test_managed(self):
        out = ctypes.c_void_p()
        self.assertEqual(ours.from_object(self.tensor, ctypes.byref(out)), 0)
        managed = managed_at(out)
        self.assertEqual((managed.major, managed.flags), (1, READ_ONLY))
        tensor = managed.dl_tensor
        self.assertEqual((tensor.ndim, tensor.shape[:2], tensor.strides[:2]), (2, [3, 4], [4, 1]))
        self.assertEqual((tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes), (2, 64, 1))
        self.assertEqual((tensor.data, tensor.byte_offset), (self.tensor.data, 0))
        self.assertEqual((tensor.device.device_type, tensor.device.device_id), (1, 0))
        data = tensor.data
        del self.tensor
        gc.collect()
        self.assertEqual(np.ctypeslib.as_array((ctypes.c_double * 12).from_address(data)).tolist(), list(range(12)))
        thread = threading.Thread(target=delete, args=(out,))
        thread.start()
        thread.join()

    def give(self, tensor):
        out = ctypes.c_void_p()
        self.assertEqual(ours.from_object(tensor, ctypes.byref(out)), 0)
        return out

    def assert_given(self, out):
        managed = managed_at(out)
        tensor = managed.dl_tensor
        self.assertEqual((managed.major, managed.minor, managed.flags), (1, 1, READ_ONLY))
        self.assertEqual((tensor.ndim, tensor.shape[:2], tensor.strides[:2]), (2, [3, 4], [4, 1]))
        self.assertEqual((tensor.data, tensor.byte_offset), (self.tensor.data, 0))

    def test_several_at_once(self):
        outs = [self.give(self.tensor) for _ in range(4)]
        legacy, capsule = self.tensor.__dlpack__(), self.tensor.__dlpack__(max_version=(1, 1))
        self.assertEqual(len({out.value for out in outs} | {ctypes.addressof(legacy_of(legacy)), ctypes.addressof(versioned_of(capsule))}), 6)
        for _ in range(3):
            for i in (2, 0, 3, 1):
                delete(outs[i])
                outs[i] = self.give(self.tensor)
                for out in outs:
                    self.assert_given(out)
        self.assertEqual(len({out.value for out in outs}), 4)
        for out in outs:
            delete(out)

    def test_given_anew(self):
        # Whom it was given to may have left anything in the struct.
        for _ in range(3):
            out = self.give(self.tensor)
            self.assert_given(out)
            managed = managed_at(out)
            deleter = DELETER(ctypes.cast(managed.deleter, ctypes.c_void_p).value)
            managed.major, managed.minor, managed.flags = 7, 7, 7
            managed.dl_tensor.shape[0] = managed.dl_tensor.strides[0] = 77
            managed.dl_tensor.ndim, managed.dl_tensor.data, managed.dl_tensor.byte_offset = 7, 77, 777
            managed.deleter = DELETER()
            deleter(out)
            self.assertEqual(np.from_dlpack(self.tensor).tolist(), self.a.tolist())

    def test_deleted_in_threads(self):
        producer = Producer(self.a)
        tensor = take(producer)

        def work(outs):
            for out in outs:
                delete(out)

        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-5)
        for _ in range(20):
            outs = [self.give(tensor) for _ in range(10)]
            thread = threading.Thread(target=work, args=(outs,))
            thread.start()
            for _ in range(50):
                delete(self.give(tensor))
            thread.join()
        out = self.give(tensor)
        del tensor
        gc.collect()
        self.assertEqual(producer.deleted, 0)
        delete(out)
        self.assertEqual(producer.deleted, 1)

    def test_lent(self):
        lent = CTensor()
        for _ in range(2):
            self.assertEqual(ours.lend(self.tensor, ctypes.byref(lent)), 0)
            self.assertEqual((lent.ndim, lent.shape[:2], lent.strides[:2]), (2, [3, 4], [4, 1]))
            self.assertEqual((lent.data, lent.byte_offset), (self.tensor.data, 0))
            self.assertEqual((lent.dtype.code, lent.dtype.bits, lent.dtype.lanes), (2, 64, 1))
        plain = DLTensor.from_dlpack(self.a[::2, ::-1])
        self.assertEqual(ours.lend(plain, ctypes.byref(lent)), 0)
        self.assertEqual((lent.ndim, lent.shape[:2], lent.strides[:2]), (2, [2, 4], [8, -1]))
        scalar = DLTensor.from_dlpack(np.array(1.0))
        self.assertEqual(ours.lend(scalar, ctypes.byref(lent)), 0)
        self.assertEqual(lent.ndim, 0)
        one = ovstage.make_dltensor(np.zeros(3, np.float32), DLDataType(2, 32, 3))
        self.assertEqual(ours.lend(one, ctypes.byref(lent)), 0)
        self.assertEqual((lent.ndim, lent.shape[:2], lent.strides[:2]), (2, [1, 3], [3, 1]))

    def test_other_objects(self):
        out, lent = ctypes.c_void_p(1), CTensor()
        with self.assertRaisesRegex(TypeError, "ndarray"):
            ours.from_object(self.a, ctypes.byref(out))
        self.assertIsNone(out.value)
        with self.assertRaisesRegex(TypeError, "NoneType"):
            ours.lend(None, ctypes.byref(lent))

    def test_import(self):
        for flags in (0, READ_ONLY):
            producer = Producer(self.a, flags=flags)
            tensor = take(producer)
            self.assertIs(type(tensor), ManagedDLTensor)
            self.assertEqual((tensor.shape, tensor.readonly), ((3, 4), flags == READ_ONLY))
            self.assertEqual(tensor.data, self.a.ctypes.data)
            self.assertEqual(np.asarray(tensor).flags.writeable, flags == 0)
            self.assertEqual(producer.deleted, 0)
            del tensor
            gc.collect()
            self.assertEqual(producer.deleted, 1)

    def test_import_refused(self):
        for kwargs in ({"major": 2}, {"shape": (-1, 4)}, {"dtype": (2, 0, 1)}):
            with self.subTest(kwargs):
                producer = Producer(self.a, **kwargs)
                managed, out = ctypes.c_void_p(producer.address()), ctypes.c_void_p()
                with self.assertRaises(BufferError):
                    ours.to_object(managed, ctypes.byref(out))
                self.assertIsNone(out.value)
                # It still belongs to who called.
                self.assertEqual(producer.deleted, 0)
                delete(managed)
                self.assertEqual(producer.deleted, 1)

    def test_single_elements(self):
        producer = Producer(np.array(7.5))
        tensor = take(producer)
        self.assertEqual(memoryview(tensor).shape, ())
        self.assertEqual((np.asarray(tensor).tolist(), tensor.__array_interface__["shape"]), (7.5, ()))
        for kwargs in ({"copy": True}, {"max_version": (1, 0)}, {}):
            copy = DLTensor.from_dlpack(tensor.__dlpack__(**kwargs))
            self.assertEqual((copy.shape, ovstage.dltensor_to_numpy(copy).tolist()), ((), [7.5]))

    def test_strided_copies(self):
        array = np.arange(12.0).reshape(3, 4)[::-1, ::2]
        producer = Producer(array)
        copy = DLTensor.from_dlpack(take(producer).__dlpack__(copy=True))
        self.assertEqual((copy.strides, np.asarray(copy).tolist()), ((2, 1), array.tolist()))

    def allocate(self, shape, dtype=(2, 32, 1), device=(1, 0), ndim=None):
        prototype, out, errors = CTensor(), ctypes.c_void_p(1), []
        prototype.device.device_type, prototype.device.device_id = device
        prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes = dtype
        prototype.ndim = len(shape) if ndim is None else ndim
        # The rest is not looked at.
        prototype.data, prototype.byte_offset = 1, 5
        prototype.strides = ctypes.cast(8, ctypes.POINTER(ctypes.c_int64))
        prototype.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        set_error = SET_ERROR(lambda context, kind, message: errors.append((context, kind.decode(), message.decode())))
        result = ours.allocate(ctypes.byref(prototype), ctypes.byref(out), 42, set_error)
        return result, out, errors

    def test_allocator(self):
        for shape, dtype in (((3, 4), (2, 64, 1)), ((), (2, 32, 1)), ((0, 3), (0, 8, 1)), ((5,), (2, 32, 3)), ((3,), (17, 4, 1))):
            result, out, errors = self.allocate(shape, dtype)
            self.assertEqual((result, errors), (0, []))
            managed = managed_at(out)
            tensor = managed.dl_tensor
            self.assertEqual((managed.major, managed.flags, tensor.ndim, tuple(tensor.shape[: len(shape)])), (1, 0, len(shape), shape))
            self.assertEqual((tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes), dtype)
            self.assertEqual((tensor.data % 256, tensor.byte_offset), (0, 0))
            n = (int(np.prod(shape)) * dtype[1] * dtype[2] + 7) // 8
            ctypes.memset(tensor.data, 0x55, n)
            delete(out)

    def test_allocator_rounds_up(self):
        usable = ctypes.CDLL(None).malloc_usable_size
        usable.argtypes, usable.restype = (ctypes.c_void_p,), ctypes.c_size_t
        for n in range(500, 560):
            _, out, _ = self.allocate((n,), (17, 4, 1))
            self.assertGreaterEqual(usable(managed_at(out).dl_tensor.data), (n + 1) // 2)
            delete(out)

    def test_allocator_errors(self):
        for kind, kwargs in (
            ("ValueError", {"shape": (3,), "device": (2, 0)}),
            ("ValueError", {"shape": (-3,)}),
            ("ValueError", {"shape": (3,), "ndim": -1}),
            ("ValueError", {"shape": (1,) * 33}),
            ("ValueError", {"shape": (3,), "dtype": (2, 0, 1)}),
            ("ValueError", {"shape": (3,), "dtype": (2, 32, 0)}),
            ("ValueError", {"shape": (2**62, 2**62)}),
            ("MemoryError", {"shape": (2**56,)}),
        ):
            with self.subTest(kwargs):
                result, out, errors = self.allocate(**kwargs)
                self.assertEqual((result, out.value), (-1, None))
                self.assertEqual([error[:2] for error in errors], [(42, kind)])

    def test_allocator_without_the_gil(self):
        # This kind of function is called without it.
        self.assertTrue(issubclass(type(ours.allocate), ALLOCATE))
        threads = [threading.Thread(target=lambda: [delete(self.allocate((100,))[1]) for _ in range(200)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_work_stream(self):
        out = ctypes.c_void_p(1)
        self.assertEqual(ours.work_stream(1, 0, ctypes.byref(out)), 0)
        self.assertIsNone(out.value)
        with self.assertRaisesRegex(BufferError, r"\(2, 0\)"):
            ours.work_stream(2, 0, ctypes.byref(out))

    def test_device_data_is_not_given_unordered(self):
        producer = Producer(self.a, device=(2, 0))
        tensor = take(producer)
        self.assertEqual(tensor.__dlpack_device__(), (2, 0))
        for kwargs in ({}, {"stream": 1}, {"stream": None}):
            with self.assertRaisesRegex(BufferError, "stream"):
                tensor.__dlpack__(**kwargs)
        tensor.__dlpack__(stream=-1)
        self.assertFalse(hasattr(tensor, "__array_interface__"))
        with self.assertRaises(BufferError):
            memoryview(tensor)

    def test_pinned_memory_may_be_copied_to_the_cpu(self):
        producer = Producer(self.a, device=(3, 0))
        tensor = take(producer)
        np.testing.assert_array_equal(np.asarray(DLTensor.from_dlpack(tensor.__dlpack__(dl_device=(1, 0)))), self.a)
        with self.assertRaisesRegex(BufferError, "dl_device"):
            tensor.__dlpack__(dl_device=(1, 0), copy=False)
        tensor.__dlpack__(dl_device=(3, 0))


class Table:
    """An exchange table made by hand for objects with a Producer in .producer."""

    def __init__(self, *, major=1, previous=None, stream="none", fail=None):
        self.calls = []
        self.api = DLPackExchangeAPI(major=major, minor=2)
        self.previous = previous

        def from_object(object, out):
            self.calls.append("from_object")
            if fail is not None:
                return fail
            out[0] = object.producer.address()
            return 0

        def work_stream(device_type, device_id, out):
            self.calls.append((device_type, device_id))
            out[0] = stream
            return 0

        self.api.from_object = FROM_OBJECT(from_object)
        if stream != "none":
            self.api.work_stream = WORK_STREAM(work_stream)
        if previous is not None:
            self.api.prev_api = ctypes.addressof(previous.api)

    def capsule(self, name=EXCHANGE):
        return capsule(ctypes.addressof(self.api), name)

    def type(self, **attributes):
        attributes.setdefault("__dlpack_c_exchange_api__", self.capsule())

        class Array:
            def __init__(self, array, **kwargs):
                self.producer = Producer(array, **kwargs)

            def __dlpack__(self, **kwargs):
                return self.producer.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return self.producer.device

        for name, value in attributes.items():
            setattr(Array, name, value)
        return Array


class Theirs(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.array([1, 2, 3], np.float32)

    def by_table(self, type, **kwargs):
        """Whether an import goes by the table, whatever it needs to succeed."""
        object = type(self.a, **kwargs)
        tensor = DLTensor.from_dlpack(object)
        self.assertEqual(tensor.data, self.a.ctypes.data)
        self.assertEqual(object.producer.deleted, 0)
        del tensor
        gc.collect()
        self.assertEqual(object.producer.deleted, 1)
        return object.producer.calls == []

    def test_the_table_comes_first(self):
        table = Table()
        array = table.type()(self.a)
        for ordinal in (1, 2, 3):
            np.testing.assert_array_equal(self.round_trip(array, ordinal), self.a)
        self.assertEqual(table.calls, ["from_object"] * 3)
        self.assertEqual((array.producer.calls, array.producer.deleted), ([], 3))

    def test_read_only(self):
        array = Table().type()(self.a, flags=READ_ONLY)
        self.assertTrue(DLTensor.from_dlpack(array).readonly)

    def test_in_lists_and_selections(self):
        table = Table()
        self.write([table.type()(self.a)]).wait()
        rows = table.type()(np.array([2, 1, 0], np.uint32))
        self.write(self.a, index_map=rows).wait()
        self.seal()
        self.assertEqual(self.values().tolist(), [3, 2, 1])
        self.assertEqual(rows.producer.deleted, 1)

    def test_names(self):
        table = Table()
        address = ctypes.addressof(table.api)
        self.assertTrue(self.by_table(table.type()))
        self.assertTrue(self.by_table(table.type(__dlpack_c_exchange_api__=None, __c_dlpack_exchange_api__=address)))
        self.assertTrue(self.by_table(table.type(__dlpack_c_exchange_api__=address)))
        for other in (table.capsule(b"something"), 0, -1, 2**70, "text", None):
            self.assertFalse(self.by_table(table.type(__dlpack_c_exchange_api__=other)), other)

    def test_on_the_type_only(self):
        table = Table()
        array = table.type(__dlpack_c_exchange_api__=None)(self.a)
        array.__dlpack_c_exchange_api__ = table.capsule()
        DLTensor.from_dlpack(array)
        self.assertEqual(table.calls, [])

    def test_inherited(self):
        class Special(Table().type()):
            pass

        self.assertTrue(self.by_table(Special))

    def test_versions(self):
        old = Table()
        for major, previous, expected in (
            (2, old, True),
            (9, Table(major=2, previous=old), True),
            (2, None, False),
            (0, None, False),
            (2, Table(major=3), False),
        ):
            with self.subTest(major=major):
                newer = Table(major=major, previous=previous)
                self.assertEqual(self.by_table(newer.type()), expected)
                self.assertEqual(newer.calls, [])

    def test_a_chain_without_end(self):
        table = Table(major=2)
        table.api.prev_api = ctypes.addressof(table.api)
        self.assertFalse(self.by_table(table.type()))

    def test_types_that_change(self):
        table = Table()
        Array = table.type(__dlpack_c_exchange_api__=None)
        self.assertFalse(self.by_table(Array))
        Array.__dlpack_c_exchange_api__ = table.capsule()
        self.assertTrue(self.by_table(Array))
        del Array.__dlpack_c_exchange_api__
        self.assertFalse(self.by_table(Array))

    def test_types_that_go(self):
        # The place of a type that went may be taken by another one.
        table = Table()
        for i in range(300):
            self.assertEqual(self.by_table(table.type(**({} if i % 2 else {"__dlpack_c_exchange_api__": None}))), i % 2 == 1)

    def test_errors(self):
        # Ours fails for objects that are not ours.
        table = Table()
        table.api.from_object = ours.from_object
        array = table.type()(self.a)
        with self.assertRaisesRegex(TypeError, "tensor of ovstage"):
            self.write(array)
        self.assertEqual(array.producer.calls, [])

    def test_no_tensor(self):
        # What the table cannot show, __dlpack__() may.
        for result in (-1, 0, 1):
            self.assertFalse(self.by_table(Table(fail=result).type()))

            class Bare:
                __dlpack_c_exchange_api__ = Table(fail=result).capsule()

            with self.assertRaisesRegex(BufferError, "tensors: the exchange table of Bare"):
                self.write(Bare())

    def test_attributes_that_raise(self):
        class Meta(type):
            @property
            def __dlpack_c_exchange_api__(cls):
                raise OSError("not now")

        class Array(metaclass=Meta):
            pass

        with self.assertRaisesRegex(OSError, "not now"):
            self.write(Array())
        with self.assertRaisesRegex(OSError, "not now"):
            self.write(self.a, index_map=Array())

    def test_refused(self):
        array = Table().type()(self.a, major=2)
        with self.assertRaisesRegex(BufferError, "2.0"):
            self.write(array)
        self.assertEqual(array.producer.deleted, 1)
        array = Table().type()(self.a, shape=(-1,), strides=None)
        self.assert_code(self.write(array), ErrorCode.INVALID_ARGUMENT, "-1")
        self.assertEqual(array.producer.deleted, 1)

    def test_device_data_without_a_work_stream(self):
        table = Table()
        array = table.type()(self.a, device=(2, 0))
        self.write(array, cuda_event=5)
        self.assertEqual(table.calls, ["from_object"])
        self.assertEqual(array.producer.calls, [{"max_version": (1, 1), "stream": -1}])
        self.assertEqual(array.producer.deleted, 2)

    def test_device_data_on_a_work_stream(self):
        table = Table(stream=7)
        array = table.type()(self.a, device=(2, 1))
        self.write(array)
        self.assertEqual(table.calls, ["from_object", (2, 1)])
        # The caller orders: the stream is nobody's business.
        self.write(array, cuda_stream=5)
        self.assertEqual(table.calls, ["from_object", (2, 1), "from_object"])
        self.assertEqual((array.producer.calls, array.producer.deleted), ([], 2))
        # Nobody waits for it here: the producer orders by its protocol.
        DLTensor.from_dlpack(array, stream=3)
        DLTensor.from_dlpack(array)
        self.assertEqual(array.producer.calls, [{"max_version": (1, 1), "stream": 3}, {"max_version": (1, 1)}])

    def test_device_data_on_two_work_streams(self):
        first, second = Table(stream=7), Table(stream=8)
        arrays = [table.type()(self.a, device=(2, 0)) for table in (first, second, first)]
        self.write(arrays)
        self.assertEqual([array.producer.calls for array in arrays], [[], [{"max_version": (1, 1), "stream": 7}], []])
        self.assertEqual([array.producer.deleted for array in arrays], [1, 2, 1])


if __name__ == "__main__":
    unittest.main()
