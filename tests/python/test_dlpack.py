# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""DLPack and buffers, in and out."""

import array
import gc
import threading
import unittest
import warnings

import numpy as np

import ovstage
from ovstage import DLDataType, DLTensor, ErrorCode, OrdinalRange, OvstageError
from support import LEGACY, VERSIONED, Producer, StageCase, capsule_name, legacy_of, versioned_of

READ_ONLY = 1
IS_COPIED = 2
NUMPY_2 = int(np.__version__.split(".")[0]) >= 2


class Import(StageCase):
    def check(self, source, expected=None):
        self.ordinal = getattr(self, "ordinal", 0) + 1
        expected = np.asarray(source if expected is None else expected)
        name = f"a{self.ordinal}"
        self.write(source, self.ordinal, name).wait()
        self.seal(self.ordinal)
        values = self.values(self.ordinal, name).reshape(expected.shape)
        self.assertEqual(values.dtype, expected.dtype)
        np.testing.assert_array_equal(values, expected)

    def test_dtypes(self):
        for name in "? b h i q B H I Q e f d F D".split():
            for shape in ((3,), (3, 3)):
                if name == "?" and len(shape) == 2:
                    continue
                with self.subTest(name, shape=shape):
                    self.check((np.arange(np.prod(shape)) % 5).astype(name).reshape(shape))

    def test_layouts(self):
        base = np.arange(60, dtype=np.float32)
        for source in (
            base[:3],
            base[:6:2],
            base[2::-1],
            base[:9].reshape(3, 3).T,
            base[:9].reshape(3, 3)[::-1, ::-1],
            np.broadcast_to(base[:4], (3, 4)),
            np.broadcast_to(base[5:6], (3,)),
            base[:48].reshape(3, 4, 4),
            base[:48].reshape(4, 4, 3).T,
            np.asfortranarray(base[:12].reshape(3, 4)),
            base[:24].reshape(3, 2, 4)[:, 1, ::2],
        ):
            with self.subTest(shape=source.shape, strides=source.strides):
                expected = np.ascontiguousarray(source).reshape(3, -1)
                self.check(source, expected if expected.shape[1] > 1 else expected.ravel())

    def test_unaligned(self):
        memory = np.zeros(13, np.uint8)
        memory[1:] = np.array([1, 2, 3], np.float32).view(np.uint8)
        self.check(memory[1:].view(np.float32))

    def test_odd_strides(self):
        # 5 bytes from float to float: no tensor can say so, the values are copied.
        packed = np.zeros(3, [("flag", "u1"), ("value", "f4")])
        packed["value"] = [1, 2, 3]
        self.check(packed["value"], np.array([1, 2, 3], np.float32))
        with self.assertRaisesRegex(BufferError, "strides"):
            DLTensor.from_dlpack(packed["value"])

    def test_zero_dimensions_and_empty(self):
        one = self.paths.create_path_list(self.prims.paths()[:1])
        with self.stage.query_from_path_list(one) as query:
            self.stage.write_attribute(query, "s", 1, np.array(7.5), is_array=False).wait()
            self.stage.write_attribute(query, "t", 1, np.float32(2), is_array=False).wait()
        self.seal()
        self.assertEqual(self.values(1, "s").tolist(), [7.5])
        self.assertEqual(self.values(1, "t").tolist(), [2])
        self.assert_code(self.write(np.zeros(0, np.float32), 2), ErrorCode.INVALID_ARGUMENT)

    def test_read_only(self):
        source = np.array([1, 2, 3], np.float32)
        source.flags.writeable = False
        self.check(source)

    def test_other_buffers(self):
        self.check(array.array("d", [1, 2, 3]), np.array([1, 2, 3], np.float64))
        self.check(b"abc", np.frombuffer(b"abc", np.uint8))
        self.check(memoryview(bytearray(b"abcdef"))[::2], np.frombuffer(b"ace", np.uint8))

    def test_refused_formats(self):
        for source in (
            np.zeros(3, ">f4"),
            np.zeros(3, ">i8"),
            np.zeros(3, [("x", "f4")]),
            np.zeros(3, "S2"),
            np.zeros(3, np.longdouble),
            array.array("u", "abc"),
        ):
            with self.assertRaisesRegex(BufferError, "tensors"):
                self.write(source)
        with self.assertRaisesRegex(BufferError, "big-endian"):
            self.write(np.zeros(3, ">f4"))
        with self.assertRaises(BufferError):
            self.write(np.zeros(3, "M8[s]"))
        # One byte has no order.
        self.check(np.array([1, 2, 3], ">u1"), np.array([1, 2, 3], np.uint8))

    def test_producers(self):
        source = np.array([1, 2, 3], np.float32)
        for kwargs in (
            {},
            {"strides": None},
            {"versioned": False},
            {"versioned": False, "knows_max_version": False},
            {"flags": READ_ONLY},
            {"byte_offset": 8},
        ):
            with self.subTest(kwargs):
                producer = Producer(source, **kwargs)
                self.check(producer, source)
                self.assertEqual(producer.deleted, 1)
        self.assertEqual(producer.calls, [{"max_version": (1, 1)}])

    def test_no_deleter(self):
        producer = Producer(np.array([1, 2, 3], np.float32), has_deleter=False)
        self.check(producer, producer.array)

    def test_strided_producer(self):
        memory = np.arange(18, dtype=np.float64).reshape(3, 6)
        self.check(Producer(memory[:, ::2]), memory[:, ::2])

    def test_deleter_runs_once_also_when_refused(self):
        source = np.array([1, 2, 3], np.float32)
        for kwargs, ordinal in (
            ({"shape": (2,), "strides": None}, 1),
            ({"shape": (-1,), "strides": None}, 1),
            ({"dtype": (2, 32, 0)}, 1),
            ({"dtype": (2, 0, 1)}, 1),
            ({}, 0),
        ):
            for versioned in (True, False):
                with self.subTest(kwargs, versioned=versioned):
                    producer = Producer(source, versioned=versioned, **kwargs)
                    self.write(producer, ordinal)
                    self.assertEqual(producer.deleted, 1)
        producer = Producer(source)
        self.write([producer, source])
        self.assertEqual(producer.deleted, 1)
        producer = Producer(source)
        with self.assertRaises(TypeError):
            self.write([producer, 1.0])
        self.assertEqual(producer.deleted, 1)

    def test_refusals_name_the_fault(self):
        producer = Producer(np.zeros(3, np.float32), shape=(-1,), strides=None)
        self.assert_code(self.write(producer), ErrorCode.INVALID_ARGUMENT, "-1")
        producer = Producer(np.zeros(3, np.float32), dtype=(17, 4, 1), strides=None)
        self.assert_code(self.write(producer), ErrorCode.NOT_SUPPORTED)
        producer = Producer(np.zeros(3, np.float32), device=(2, 0))
        operation = self.write(producer)
        self.assertIn(operation.status, (ErrorCode.NOT_SUPPORTED, ErrorCode.INVALID_ARGUMENT))
        self.assertEqual(producer.deleted, 1)

    def test_other_types_round_trip(self):
        for dtype in ((4, 16, 1), (10, 8, 1), (12, 8, 1), (4, 16, 4), (3, 64, 1), (17, 4, 2)):
            with self.subTest(dtype):
                bits = dtype[1] * dtype[2]
                source = np.arange(1, 3 * bits // 8 + 1, dtype=np.uint8)
                producer = Producer(source, shape=(3,), strides=None, dtype=dtype)
                name = f"t{dtype}"
                self.write(producer, 1, name).wait()
                self.seal(1, scope=ovstage.Scope.INCLUDE, attributes=[name])
                with self.stage.read_attributes(self.query, [name], OrdinalRange.latest(1)) as read:
                    for group in read.groups():
                        self.assertEqual(group.data_type, dtype)
                        capsule = group.dlpack(0).__dlpack__(max_version=(1, 0))
                        tensor = versioned_of(capsule).dl_tensor
                        self.assertEqual((tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes), (*dtype[:2], 1))
                        if bits % 8 == 0 and dtype[1] >= 8:
                            with self.assertRaises(BufferError):
                                memoryview(group.dlpack(0))

    def test_versions(self):
        producer = Producer(np.zeros(3, np.float32), major=2)
        with self.assertRaisesRegex(BufferError, "2.0"):
            self.write(producer)
        self.assertEqual(producer.deleted, 1)

    def test_capsules(self):
        producer = Producer(np.array([4, 5, 6], np.float32))
        capsule = producer.make()
        self.check(capsule, producer.array)
        self.assertEqual(capsule_name(capsule), b"used_dltensor_versioned")
        with self.assertRaisesRegex(BufferError, "consumed"):
            self.write(capsule)
        legacy = Producer(producer.array, versioned=False)
        capsule = legacy.make()
        self.check(capsule, legacy.array)
        self.assertEqual(capsule_name(capsule), b"used_dltensor")
        for name in (b"used_dltensor", b"used_dltensor_versioned", b"something", b"dltensor_versioned2"):
            producer = Producer(producer.array, name=name)
            with self.assertRaises(BufferError):
                self.write(producer)
            self.assertEqual(producer.deleted, 0)

    def test_exceptions_pass(self):
        class Failing:
            def __init__(self, error):
                self.error = error

            def __dlpack__(self, **kwargs):
                raise self.error

            def __dlpack_device__(self):
                return (1, 0)

        for error in (BufferError("no"), RuntimeError("gone"), TypeError("odd"), KeyError("k")):
            with self.assertRaises(type(error)) as caught:
                self.write(Failing(error))
            self.assertIs(caught.exception, error)

        class Lookup:
            @property
            def __dlpack__(self):
                raise OSError("not now")

        for kwargs in ({"tensors": Lookup()}, {"tensors": np.zeros(3), "index_map": Lookup()}, {"tensors": np.zeros(3), "mask": Lookup()}):
            with self.assertRaisesRegex(OSError, "not now"):
                self.write(**kwargs)

        class Unavailable:
            @property
            def __dlpack__(self):
                raise AttributeError("not on this device")

        with self.assertRaisesRegex(AttributeError, "not on this device"):
            self.write(Unavailable())
        # As hasattr() would have it.
        self.assertEqual(DLTensor.from_dlpack(type("Bytes", (Unavailable, bytes), {})(b"abc")).shape, (3,))

        class Wrong(Failing):
            def __dlpack__(self, **kwargs):
                return 7

        with self.assertRaisesRegex(TypeError, "capsule"):
            self.write(Wrong(None))

    def test_streams(self):
        source = np.zeros(3, np.float32)
        cpu = Producer(source)
        self.write(cpu, cuda_stream=5)
        self.assertEqual(cpu.calls, [{"max_version": (1, 1)}])
        cuda = Producer(source, device=(2, 0))
        self.write(cuda, cuda_event=5)
        self.write(cuda)
        self.assertEqual(cuda.calls, [{"max_version": (1, 1), "stream": -1}, {"max_version": (1, 1)}])
        old = Producer(source, device=(2, 0), knows_max_version=False, versioned=False)
        DLTensor.from_dlpack(old, stream=3)
        self.assertEqual(old.calls[-1], {"stream": 3})

    def test_source_is_held_until_done(self):
        source = np.arange(3, dtype=np.float32)
        tensor = DLTensor.from_dlpack(source)
        with self.assertRaises(ValueError):
            source.resize(6)
        del tensor
        self.write(source).wait()
        gc.collect()
        source.resize(6, refcheck=False)

    def test_deleters_from_other_threads(self):
        source = np.array([1, 2, 3], np.float32)
        lock = threading.Lock()
        deleted = []

        def note():
            with lock:
                deleted.append(threading.get_ident())

        def submit(k):
            for i in range(200):
                self.write(Producer(source, on_delete=note), 1000, f"a{k}")

        threads = [threading.Thread(target=submit, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(deleted), 800)

    def test_deleter_in_a_worker(self):
        prims = self.paths.create_path_list_from_strings([f"/Many/P{i}" for i in range(200000)])
        with self.stage.query_from_path_list(prims) as query:
            deleted = threading.Event()
            producer = Producer(np.zeros((200000, 16), np.float32), on_delete=deleted.set)
            operation = self.stage.write_attribute(query, "big", 1, producer, is_array=False)
            operation.wait()
            self.assertTrue(deleted.wait(30))
            self.assertEqual(producer.deleted, 1)

    def test_deleter_may_submit(self):
        operations = []
        source = np.array([1, 2, 3], np.float32)
        producer = Producer(source, on_delete=lambda: operations.append(self.write(source, 1, "second")))
        self.write(producer, 1, "first").wait()
        operations[0].wait()
        self.seal()
        np.testing.assert_array_equal(self.values(1, "second"), source)


    def test_deleter_meets_no_error(self):
        """Nor is the one that is raised as a stage is dropped lost by what the deleter does."""

        def make_stage():
            stage = ovstage.Stage("dropped")
            paths = ovstage.PathDictionary(stage).create_path_list_from_strings([f"/P{i}" for i in range(3000)])
            with stage.query_from_path_list(paths) as query:
                stage.write_attribute(query, "a", 1, producer, is_array=False, transfer=True).wait()
            self.assertEqual(deleted, [])
            return stage

        deleted = []
        producer = Producer(np.zeros(3000, np.float32), on_delete=lambda: deleted.append(1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            with self.assertRaisesRegex(ValueError, "base"):
                int(make_stage(), 99)
        self.assertEqual(deleted, [1])


class Export(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.arange(12, dtype=np.float64).reshape(3, 4)
        self.write(self.a).wait()
        self.seal()
        with self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1)) as read:
            with read.fetch_next() as group:
                self.exported = group.dlpack(0)
                self.assertTrue(group.dlpack(0, readonly=True).readonly)
                with self.assertRaises(BufferError):
                    group.dlpack(0, readonly=False)

    def test_descriptor(self):
        self.assertEqual(self.exported.shape, (3,))
        self.assertEqual(self.exported.dtype, (2, 64, 4))
        self.assertEqual(self.exported.strides, (1,))
        self.assertEqual(self.exported.device, (1, 0))
        self.assertEqual(self.exported.ndim, 1)
        self.assertEqual(self.exported.byte_offset, 0)
        self.assertTrue(self.exported.readonly)
        self.assertEqual(self.exported.data % 256, 0)
        self.assertEqual(self.exported.__dlpack_device__(), (1, 0))

    def test_numpy(self):
        array = np.from_dlpack(self.exported)
        np.testing.assert_array_equal(array, self.a)
        self.assertFalse(array.flags.writeable)
        del self.exported
        gc.collect()
        np.testing.assert_array_equal(array, self.a)

    def test_versioned(self):
        for max_version, minor in (((1, 0), 0), ((1, 1), 1), ((1, 9), 1), ((2, 0), 1)):
            capsule = self.exported.__dlpack__(max_version=max_version)
            self.assertEqual(capsule_name(capsule), VERSIONED)
            managed = versioned_of(capsule)
            self.assertEqual((managed.major, managed.minor), (1, minor))
            self.assertEqual(managed.flags, READ_ONLY)
            tensor = managed.dl_tensor
            self.assertEqual((tensor.ndim, tensor.shape[:2], tensor.strides[:2]), (2, [3, 4], [4, 1]))
            self.assertEqual((tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes), (2, 64, 1))
            self.assertEqual(tensor.data, self.exported.data)

    def test_legacy(self):
        for kwargs in ({}, {"max_version": None}, {"max_version": (0, 8)}, {"stream": None}, {"stream": -1}):
            capsule = self.exported.__dlpack__(**kwargs)
            self.assertEqual(capsule_name(capsule), LEGACY)
            self.assertEqual(legacy_of(capsule).dl_tensor.shape[:2], [3, 4])

    def test_copy(self):
        capsule = self.exported.__dlpack__(max_version=(1, 0), copy=True)
        managed = versioned_of(capsule)
        self.assertEqual(managed.flags, IS_COPIED)
        self.assertNotEqual(managed.dl_tensor.data, self.exported.data)
        again = DLTensor.from_dlpack(capsule)
        array = ovstage.dltensor_to_numpy(again)
        np.testing.assert_array_equal(array, self.a.ravel())
        array[0] = 99
        self.assertEqual(np.from_dlpack(self.exported)[0, 0], 0)
        capsule = self.exported.__dlpack__(max_version=(1, 0), copy=False)
        self.assertEqual(versioned_of(capsule).flags, READ_ONLY)
        self.assertEqual(capsule_name(self.exported.__dlpack__(copy=True)), LEGACY)

    def test_devices(self):
        self.exported.__dlpack__(dl_device=(1, 0))
        for device in ((2, 0), (1, 1)):
            with self.assertRaisesRegex(BufferError, "dl_device"):
                self.exported.__dlpack__(dl_device=device, copy=True)

    def test_arguments(self):
        for kwargs in ({"max_version": 1}, {"max_version": (1.0, 0)}, {"dl_device": (1,)}, {"stream": "s"}, {"other": 1}):
            with self.assertRaises(TypeError):
                self.exported.__dlpack__(**kwargs)

    def test_buffer(self):
        view = memoryview(self.exported)
        self.assertEqual((view.shape, view.strides, view.format, view.readonly), ((3, 4), (32, 8), "d", True))
        np.testing.assert_array_equal(np.asarray(self.exported), self.a)
        self.assertEqual(bytes(self.exported), self.a.tobytes())
        with self.assertRaises(TypeError):
            view[0, 0] = 1.0

    def test_array_interface(self):
        interface = self.exported.__array_interface__
        self.assertEqual(interface["shape"], (3, 4))
        self.assertEqual(interface["typestr"], "<f8")
        self.assertEqual(interface["data"], (self.exported.data, True))

        class Holder:
            __array_interface__ = interface

        np.testing.assert_array_equal(np.asarray(Holder()), self.a)

    def test_write_back(self):
        self.write(self.exported, 2).wait()
        self.seal(2)
        np.testing.assert_array_equal(self.values(2), self.a)

    def test_capsules_that_nobody_takes(self):
        for _ in range(1000):
            self.exported.__dlpack__()
            self.exported.__dlpack__(max_version=(1, 0), copy=True)


class Helpers(unittest.TestCase):
    def test_from_dlpack(self):
        source = np.arange(6, dtype=np.int32).reshape(2, 3)
        tensor = DLTensor.from_dlpack(source)
        self.assertEqual((tensor.shape, tensor.strides, tensor.dtype), ((2, 3), (3, 1), (0, 32, 1)))
        self.assertEqual(tensor.data, source.ctypes.data)
        self.assertFalse(tensor.readonly)
        array = ovstage.dltensor_to_numpy(tensor)
        array[0] = 9
        self.assertEqual(source[0, 0], 9)
        self.assertEqual(repr(tensor), "<ovstage.DLTensor shape=(2, 3) dtype=int32>")
        with self.assertRaises(TypeError):
            DLTensor()
        with self.assertRaises(TypeError):
            DLTensor.from_dlpack(3)

    def test_to_numpy(self):
        source = np.arange(6, dtype=np.float32)
        source.flags.writeable = False
        self.assertFalse(ovstage.dltensor_to_numpy(DLTensor.from_dlpack(source)).flags.writeable)
        with self.assertRaisesRegex(BufferError, "compact"):
            ovstage.dltensor_to_numpy(DLTensor.from_dlpack(source[::2]))
        with self.assertRaises(TypeError):
            ovstage.dltensor_to_numpy(source)
        for name in "? b h i q B H I Q e f d F D".split():
            array = np.ones((2, 3), name)
            self.assertEqual(ovstage.dltensor_to_numpy(DLTensor.from_dlpack(array)).dtype, array.dtype)
        self.assertEqual(ovstage.dltensor_to_numpy(DLTensor.from_dlpack(np.zeros((0, 3)))).shape, (0,))
        self.assertEqual(ovstage.dltensor_to_numpy(DLTensor.from_dlpack(np.array(5))).tolist(), [5])

    def test_bfloat16(self):
        producer = Producer(np.array([0x3F80, 0x4000], np.uint16), dtype=(4, 16, 1))
        tensor = DLTensor.from_dlpack(producer)
        self.assertEqual(str(tensor.dtype), "bfloat16")
        try:
            import ml_dtypes
        except ImportError:
            with self.assertRaisesRegex(BufferError, "bfloat16"):
                ovstage.dltensor_to_numpy(tensor)
        else:
            array = ovstage.dltensor_to_numpy(tensor)
            self.assertEqual(array.dtype, ml_dtypes.bfloat16)
            self.assertEqual(array.astype(np.float32).tolist(), [1, 2])

    float3 = DLDataType(2, 32, 3)

    def test_folds(self):
        source = np.arange(24, dtype=np.float32)
        for array, lanes, shape, strides in (
            (source.reshape(8, 3), 3, (8,), (1,)),
            (source.reshape(2, 4, 3), 3, (2, 4), (4, 1)),
            (source.reshape(2, 4, 3), 12, (2,), (1,)),
            (source.reshape(8, 1, 3), 3, (8, 1), (1, 1)),
            (source.reshape(8, 3, 1), 3, (8,), (1,)),
            (source.reshape(4, 6)[:, :3], 3, (4,), (2,)),
            (source.reshape(8, 3)[::2], 3, (4,), (2,)),
            (source.reshape(8, 3)[::-1], 3, (8,), (-1,)),
            (source[:3], 3, (1,), (1,)),
            (source[:6].reshape(2, 3), 6, (1,), (1,)),
            (source.reshape(8, 3), 1, (8, 3), (3, 1)),
        ):
            with self.subTest(shape=array.shape, lanes=lanes):
                tensor = ovstage.make_dltensor(array, DLDataType(2, 32, lanes))
                self.assertEqual((tensor.shape, tensor.strides), (shape, strides))
                self.assertEqual(tensor.dtype, (2, 32, lanes))
                self.assertEqual(tensor.data, array.ctypes.data)

    def test_folds_are_never_inferred(self):
        tensor = ovstage.make_dltensor(np.zeros((5, 3), np.float32))
        self.assertEqual((tensor.shape, tensor.dtype.lanes), ((5, 3), 1))

    def test_empty_arrays(self):
        for strides in ((12, 4), (0, 0), (4, 0)):
            array = np.lib.stride_tricks.as_strided(np.zeros(0, np.float32), (0, 3), strides)
            tensor = ovstage.make_dltensor(array, self.float3)
            self.assertEqual((tensor.shape, tensor.dtype.lanes), ((0,), 3))
        self.assertEqual(ovstage.make_dltensor(array, shape=[3, 0]).shape, (3, 0))

    def test_fold_faults(self):
        source = np.arange(24, dtype=np.float32)
        for array, dtype, text in (
            (source.reshape(8, 3), DLDataType(2, 64, 3), "code and bits"),
            (source.reshape(8, 3), DLDataType(0, 32, 3), "code and bits"),
            (source.reshape(12, 2), self.float3, "axis 0"),
            (source.reshape(6, 4), self.float3, "axis 1"),
            (source.reshape(3, 8).T, self.float3, "compact"),
            (source.reshape(6, 4)[:, :3], self.float3, "stride"),
            (source[:2], self.float3, "axes"),
            (source[:0].reshape(4, 0), self.float3, "axis 1"),
            (np.float32(1), self.float3, "axes"),
            (source.reshape(8, 3), DLDataType(2, 32, 0), "lanes"),
        ):
            with self.subTest(shape=np.shape(array), dtype=dtype):
                with self.assertRaisesRegex(ValueError, text):
                    ovstage.make_dltensor(array, dtype)
        with self.assertRaisesRegex(ValueError, "float64 was asked for"):
            ovstage.make_dltensor(source, np.float64)
        with self.assertRaisesRegex(ValueError, "float33"):
            ovstage.make_dltensor(source, "float33")
        for dtype in (float, (2, 32, 3), 3):
            with self.assertRaisesRegex(TypeError, "dtype"):
                ovstage.make_dltensor(source, dtype)

    def test_fold_types(self):
        source = np.arange(24, dtype=np.float32).reshape(8, 3)
        self.assertEqual(ovstage.make_dltensor(source, "float32x3").dtype, self.float3)
        for dtype in (np.float32, source.dtype, "float32"):
            self.assertEqual(ovstage.make_dltensor(source, dtype).shape, (8, 3))

    def test_lanes_of_lanes(self):
        pairs = ovstage.make_dltensor(np.arange(12, dtype=np.float32).reshape(3, 2, 2), DLDataType(2, 32, 2))
        self.assertEqual(ovstage.make_dltensor(pairs, DLDataType(2, 32, 4)).shape, (3,))
        with self.assertRaisesRegex(ValueError, "lanes"):
            ovstage.make_dltensor(pairs, DLDataType(2, 32, 3))

    def test_overrides(self):
        source = np.arange(12, dtype=np.float32)
        tensor = ovstage.make_dltensor(source, shape=[3, 4])
        self.assertEqual((tensor.shape, tensor.strides), ((3, 4), (4, 1)))
        tensor = ovstage.make_dltensor(source, shape=(4, 3), ndim=2, strides=[1, 4])
        self.assertEqual(tensor.strides, (1, 4))
        self.assertEqual(ovstage.make_dltensor(source[::2], shape=[6]).strides, (2,))
        self.assertEqual(ovstage.make_dltensor(source[:3], self.float3, shape=[1], ndim=1, strides=[1]).shape, (1,))
        for array, kwargs, text in (
            (source, {"shape": [5]}, "shape"),
            (source, {"shape": [-1, 12]}, "shape"),
            (source, {"ndim": 2}, "ndim"),
            (source, {"shape": [3, 4], "ndim": 1}, "ndim"),
            (source, {"strides": [1, 1]}, "strides"),
            (source, {"strides": [2]}, "strides"),
            (source, {"strides": [-1]}, "strides"),
            (source[::2], {"shape": [2, 3]}, "compact"),
            (source[:3], {"dtype": self.float3, "shape": [1, 1]}, "fold|shape"),
            (source[:3], {"dtype": self.float3, "shape": []}, "fold|shape"),
            (source[:3], {"dtype": self.float3, "ndim": 0}, "ndim"),
            (source[:3], {"dtype": self.float3, "strides": [3]}, "fold"),
        ):
            with self.subTest(kwargs):
                with self.assertRaisesRegex(ValueError, text):
                    ovstage.make_dltensor(array, **kwargs)
        with self.assertRaises(TypeError):
            ovstage.make_dltensor(source, shape=12)
        with self.assertRaises(TypeError):
            ovstage.make_dltensor(source, shape=[12.0])

    def test_memory_is_held(self):
        producer = Producer(np.arange(6, dtype=np.float32))
        first = ovstage.make_dltensor(producer, shape=[2, 3])
        second = ovstage.make_dltensor(first, self.float3)
        del first
        gc.collect()
        self.assertEqual(producer.deleted, 0)
        self.assertEqual(ovstage.dltensor_to_numpy(second).tolist(), list(range(6)))
        del second
        gc.collect()
        self.assertEqual(producer.deleted, 1)

    def test_large_producers_error(self):
        producer = Producer(np.zeros(3, np.float32), shape=(2**62, 2**62), strides=None)
        with self.assertRaises(OvstageError) as caught:
            DLTensor.from_dlpack(producer)
        self.assertIs(caught.exception.code, ErrorCode.INVALID_ARGUMENT)
        self.assertEqual(producer.deleted, 1)


if __name__ == "__main__":
    unittest.main()
