# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Objects that do what nobody expects of them."""

import ctypes
import os
import unittest
import warnings

import numpy as np
import ovstage
from ovstage import DLDataType, OrdinalRange

PATHS = ["/p0", "/p1", "/p2", "/p3"]


class Hostile(unittest.TestCase):
    def setUp(self):
        self.stage = ovstage.Stage("hostile")
        self.paths = ovstage.PathDictionary(self.stage)
        self.query = self.stage.query_from_path_list(self.paths.create_path_list_from_strings(PATHS))

    def tearDown(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            self.query.release()
            self.stage.destroy()

    def write(self, values, ordinal=1, **named):
        return self.stage.write_attribute(self.query, "a", ordinal, values, is_array=False, **named)

    def read(self, ordinal):
        self.stage.advance_write_floor(ordinal).wait()
        return next(iter(self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(ordinal)).groups()))

    def test_ctypes_arrays_have_no_strides(self):
        self.write((ctypes.c_float * 4)(1, 2, 3, 4)).wait()
        self.write(np.arange(4, dtype=np.float32), 2, count=2, index_map=(ctypes.c_uint32 * 2)(3, 1)).wait()
        self.assertEqual(self.read(2).array(0).tolist(), [3, 1, 3, 4])
        self.write(((ctypes.c_float * 3) * 4)((1, 2, 3)), 3).error_message()

    def test_index_that_releases_the_group(self):
        self.write(np.ones(4, np.float32)).wait()
        for name in ("array", "dlpack", "tensor", "prim_index", "data_row_index"):
            group = self.read(1)

            class Index:
                def __index__(self):
                    group.release()
                    return 0

            with self.assertRaises(ovstage.OvstageError):
                getattr(group, name)(Index())

    def test_arguments_that_destroy_the_stage(self):
        class Index:
            def __index__(self):
                stage.destroy()
                return 1

        class Names(list):
            def __iter__(self):
                stage.destroy()
                return super().__iter__()

        values = np.ones(4, np.float32)
        for call in (
            lambda: stage.write_attribute(query, "a", Index(), values, is_array=False).wait(),
            lambda: stage.write_attributes(query, Names(), 2).wait(),
            lambda: stage.delete_attributes(query, ["a"], Index()).wait(),
            lambda: stage.advance_write_floor(Index()).wait(),
            lambda: stage.clone("/p0", ["/q"], Index()),
            lambda: stage.clone_async("/p0", Names(["/q"]), 2).wait(),
            lambda: stage.map_attribute(query, "b", Index(), dtype="float32").wait(),
            lambda: stage.get_attribute_write_floor(Index()),
            lambda: stage.query(None, Names(["a"])).wait(),
            lambda: stage.read_attributes(query, Names(["a"]), OrdinalRange.latest(1)).wait(),
            lambda: stage.watch(query, Names(["a"])),
        ):
            stage = ovstage.Stage("gone")
            paths = ovstage.PathDictionary(stage).create_path_list_from_strings(PATHS)
            with stage.query_from_path_list(paths) as query:
                with self.assertRaisesRegex(ovstage.OvstageError, "destroyed"):
                    call()

    def test_maps_beyond_all_memory(self):
        for named in (
            {"index_map": np.broadcast_to(np.uint32(0), (2**44,))},
            {"mask": np.broadcast_to(True, (2**46,)), "count": 4},
            {"mask": np.broadcast_to(np.uint64(1), (2**44,)), "count": 4},
        ):
            with self.assertRaises((MemoryError, ValueError)):
                self.write(np.ones(4, np.float32), **named)

    def test_device_of_a_negative_type(self):
        class Producer:
            def __dlpack_device__(self):
                return (-5, 0)

            def __dlpack__(self, **named):
                return np.ones(4, np.float32).__dlpack__()

        with self.assertRaises(BufferError):
            self.write(Producer(), cuda_stream=5)

    def test_data_type_of_too_few_fields(self):
        for fields in ((), (2,), (2, 32)):
            with self.assertRaises(ValueError):
                ovstage.make_dltensor(np.zeros(4, np.float32), tuple.__new__(DLDataType, fields))

    def test_array_struct_of_another_array(self):
        class Borrowed(np.ndarray):
            @property
            def __array_struct__(self):
                return np.full(4, 5, np.float32).__array_struct__

        self.write(np.zeros(4, np.float32).view(Borrowed), transfer=True).wait()
        group = self.read(1)
        noise = [np.full(4, 7, np.float32) for _ in range(1000)]
        self.assertEqual(group.array(0).tolist(), [5, 5, 5, 5])
        del noise

    def test_deleter_that_comes_back(self):
        stage, calls = self.stage, []

        class Array(np.ndarray):
            def __del__(self):
                calls.append(stage.wait_op(1, 0))

        self.write(np.zeros(4, np.float32).view(Array), transfer=True).wait()
        for ordinal in range(2, 200):
            self.write(np.zeros(4, np.float32), ordinal)
            stage.advance_write_floor(ordinal)
        stage.wait_op(1)

    def test_lone_surrogates(self):
        for path in ("/\ud800", "/a/\udfff/b"):
            with self.assertRaises(ovstage.OvxError) as raised:
                self.paths.create_path_list_from_strings([path])
            self.assertEqual(raised.exception.code, ovstage.ErrorCode.INVALID_ARGUMENT)

    def test_child_of_a_fork_ends(self):
        query = self.stage.query_from_path_list(
            self.paths.create_path_list_from_strings([f"/many/p{i}" for i in range(100000)])
        )
        self.stage.write_attribute(query, "big", 1, np.zeros((100000, 12)), is_array=False).wait()
        child = os.fork()
        if child == 0:
            self.stage.destroy()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        query.release()


if __name__ == "__main__":
    unittest.main()
