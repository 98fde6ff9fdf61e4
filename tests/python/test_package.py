# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""The package as such, the path dictionary and the small types."""

import inspect
import pickle
import subprocess
import sys
import unittest

import ovstage
from ovstage import DLDataType, DLDataTypeCode, DLDevice, ErrorCode, OrdinalRange, OvstageError, OvxError, Placement
from support import StageCase


class Package(unittest.TestCase):
    def test_names(self):
        for name in ovstage.__all__:
            self.assertTrue(hasattr(ovstage, name), name)

    def test_signatures_and_docs(self):
        for kind in (ovstage.Stage, ovstage.Operation, ovstage.Query, ovstage.Read, ovstage.ReadGroup, ovstage.Map, ovstage.MapGroup,
                     ovstage.PathList,
                     ovstage.PathDictionary, ovstage.DLTensor, ovstage.ManagedDLTensor, ovstage.OrdinalRange):
            self.assertTrue(kind.__doc__, kind)
            for name, member in vars(kind).items():
                if name.startswith("_"):
                    continue
                self.assertTrue(member.__doc__, f"{kind}.{name}")
                if inspect.ismethoddescriptor(member) and not inspect.isdatadescriptor(member):
                    inspect.signature(getattr(kind, name))
        parameters = inspect.signature(ovstage.Stage.write_attribute).parameters
        self.assertIs(parameters["is_array"].kind, inspect.Parameter.KEYWORD_ONLY)
        self.assertIs(parameters["is_array"].default, inspect.Parameter.empty)

    def test_import_needs_neither_gi_nor_numpy_nor_asyncio(self):
        code = "import sys, ovstage; print([m for m in ('gi', 'numpy', 'asyncio') if m in sys.modules])"
        self.assertEqual(subprocess.check_output([sys.executable, "-c", code], text=True).strip(), "[]")

    def test_version(self):
        self.assertEqual(len(ovstage.library_version()), 3)
        self.assertGreaterEqual(ovstage.library_version(), (1, 0, 0))
        self.assertEqual(ovstage.__version__, "%d.%d.%d" % ovstage.library_version())

    def test_codes(self):
        self.assertIs(ErrorCode.PRIM_NOT_FOUND, ErrorCode.ALREADY_EXISTS)
        self.assertEqual([c.value for c in ErrorCode], [*range(14), 99])
        self.assertEqual(ovstage.TIMEOUT_INFINITE, -1)
        self.assertEqual(ovstage.ORDINAL_NEWEST, 2**64 - 1)

    def test_errors(self):
        error = OvstageError(3, "not there")
        self.assertIsInstance(error, RuntimeError)
        self.assertIs(error.code, ErrorCode.NOT_FOUND)
        self.assertEqual(error.message, "not there")
        self.assertEqual(str(error), "NOT_FOUND: not there")
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((copy.code, copy.message), (error.code, error.message))
        self.assertIsInstance(OvxError(1, ""), RuntimeError)
        self.assertEqual(OvstageError(1234, "later").code, 1234)

    def test_data_type(self):
        float3 = DLDataType(code=DLDataTypeCode.kDLFloat, bits=32, lanes=3)
        self.assertEqual(float3, (2, 32, 3))
        self.assertEqual(str(float3), "float32x3")
        self.assertEqual(str(DLDataType(6, 8)), "bool")
        self.assertEqual(str(DLDataType(4, 16)), "bfloat16")
        self.assertIs(DLDataType(2, 32).code, DLDataTypeCode.kDLFloat)
        self.assertEqual(DLDataType(200, 8).code, 200)
        with self.assertRaisesRegex(TypeError, "lanes"):
            DLDataType(2, 32, 3.0)
        with self.assertRaisesRegex(ValueError, "bits"):
            DLDataType(2, 256)

    def test_device_and_placement(self):
        self.assertEqual(DLDevice(1), (1, 0))
        self.assertEqual(Placement.from_dlpack_device((2, 1), stream=7), Placement(2, 1, 7, 0))

        class Array:
            def __dlpack_device__(self):
                return (2, 3)

        self.assertEqual(Placement.from_dlpack_device(Array(), availability_event=9), (2, 3, 0, 9))
        with self.assertRaisesRegex(TypeError, "device"):
            Placement.from_dlpack_device(1)
        with self.assertRaisesRegex(ValueError, "stream"):
            Placement(2, 0, -1)

    def test_ordinal_range(self):
        self.assertEqual(OrdinalRange.latest(3), OrdinalRange.latest(3))
        self.assertNotEqual(OrdinalRange.latest(3), OrdinalRange.newest())
        self.assertEqual(OrdinalRange.newest().end_ordinal, 2**64 - 1)
        self.assertEqual(hash(OrdinalRange.latest(3)), hash(OrdinalRange.latest(3)))
        with self.assertRaisesRegex(TypeError, "ordinal"):
            OrdinalRange.latest(1.0)
        with self.assertRaisesRegex(ValueError, "ordinal"):
            OrdinalRange.latest(-1)
        with self.assertRaises(TypeError):
            OrdinalRange()

    def test_stage_options(self):
        with self.assertRaisesRegex(ValueError, "history_depth"):
            ovstage.Stage(history_depth=0)
        with self.assertRaisesRegex(TypeError, "queue_capacity"):
            ovstage.Stage(queue_capacity=1.5)
        with self.assertRaisesRegex(TypeError, "name"):
            ovstage.Stage(7)
        with self.assertRaisesRegex(TypeError, "depth"):
            ovstage.Stage(depth=2)
        with ovstage.Stage("a", history_depth=4, queue_capacity=16, change_budget=1 << 20, staging_budget=1 << 30) as stage:
            self.assertEqual(stage.name, "a")
            self.assertEqual(stage.write_floor, 0)
        with ovstage.Stage() as stage:
            self.assertIsNone(stage.name)


class Dictionary(StageCase):
    def test_tokens(self):
        token = self.paths.intern_token("temperature")
        self.assertEqual(self.paths.intern_token(text="temperature"), token)
        self.assertEqual(self.paths.token_to_string(token), "temperature")
        self.assertEqual(self.paths.token_to_string(0), "")
        self.assertEqual(self.paths.token_to_string(self.paths.intern_token("größe")), "größe")

    def test_token_faults(self):
        for text in ("", "a\0b"):
            with self.assertRaises(OvxError) as caught:
                self.paths.intern_token(text)
            self.assertIs(caught.exception.code, ErrorCode.INVALID_ARGUMENT)
        for token in (12345, 2**40, 2**64 - 1):
            with self.assertRaises(OvxError) as caught:
                self.paths.token_to_string(token)
            self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        with self.assertRaisesRegex(TypeError, "text"):
            self.paths.intern_token(3)
        with self.assertRaisesRegex(TypeError, "token"):
            self.paths.token_to_string("3")
        with self.assertRaisesRegex(ValueError, "token"):
            self.paths.token_to_string(-1)
        with self.assertRaisesRegex(OvxError, "surrogate"):
            self.paths.intern_token("\udc80")

    def test_paths(self):
        path = self.paths.intern_path("/World/P1")
        self.assertEqual(self.paths.path_to_string(path), "/World/P1")
        self.assertEqual(self.prims[1], path)
        with self.assertRaises(OvxError) as caught:
            self.paths.intern_path("World")
        self.assertIs(caught.exception.code, ErrorCode.INVALID_ARGUMENT)
        self.assertIn("World", caught.exception.message)
        with self.assertRaises(OvxError) as caught:
            self.paths.path_to_string(2**33 + path)
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)

    def test_lists(self):
        self.assertEqual(len(self.prims), 3)
        self.assertEqual(self.paths.path_list_count(self.prims), 3)
        ids = self.paths.get_paths(self.prims)
        self.assertEqual(ids, list(self.prims))
        self.assertEqual(self.prims[-1], ids[2])
        self.assertEqual(self.paths.get_path_strings(self.prims), ["/World/P0", "/World/P1", "/World/P2"])
        self.assertEqual(self.prims.strings(), self.paths.get_path_strings(self.prims))
        again = self.paths.create_path_list(ids)
        self.assertEqual(again, self.prims)
        self.assertEqual(hash(again), hash(self.prims))
        self.assertNotEqual(self.paths.create_path_list(ids[:2]), self.prims)
        self.assertEqual(len(self.paths.create_path_list([])), 0)
        with self.assertRaises(IndexError):
            self.prims[3]

    def test_list_faults(self):
        for paths in (["/A", "/A"], ["/A", "B"], ["/A\0B"]):
            with self.assertRaises(OvxError) as caught:
                self.paths.create_path_list_from_strings(paths)
            self.assertIs(caught.exception.code, ErrorCode.INVALID_ARGUMENT)
        with self.assertRaises(OvxError) as caught:
            self.paths.create_path_list([self.prims[0], 2**32 + 1])
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        for wrong in ("/A", 3, None, [3], [b"/A"]):
            with self.assertRaises(TypeError):
                self.paths.create_path_list_from_strings(wrong)
        with self.assertRaises(TypeError):
            self.paths.create_path_list([1.0])

    def test_list_references(self):
        prims = self.paths.create_path_list_from_strings(["/A"])
        self.paths.add_path_list_reference(prims)
        self.paths.destroy_path_list(prims)
        self.assertEqual(len(prims), 1)
        query = self.stage.query_from_path_list(prims)
        self.paths.destroy_path_list(prims)
        for use in (len, self.paths.get_paths, self.paths.destroy_path_list, self.paths.add_path_list_reference):
            with self.assertRaises(OvxError) as caught:
                use(prims)
            self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        # A query keeps its list.
        self.assertEqual(query.path_list.strings(), ["/A"])
        query.release()
        self.assert_code(self.stage.query_from_path_list(prims), ErrorCode.INVALID_HANDLE)

    def test_released(self):
        paths = ovstage.PathDictionary(self.stage)
        with paths:
            pass
        with self.assertRaises(OvxError) as caught:
            paths.intern_token("a")
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        with self.assertRaises(TypeError):
            ovstage.PathDictionary("stage")

    def test_other_stage(self):
        with ovstage.Stage() as other, ovstage.PathDictionary(other) as paths:
            prims = paths.create_path_list_from_strings(["/World/P0"])
            self.assert_code(self.stage.query_from_path_list(prims), ErrorCode.INVALID_HANDLE)


class GObject(StageCase):
    def setUp(self):
        super().setUp()
        try:
            import gi

            gi.require_version("Ovstage", "1.0")
        except (ImportError, ValueError) as reason:
            self.tearDown()
            raise unittest.SkipTest(str(reason))

    def test_gobject(self):
        from gi.repository import Ovstage

        stage = self.stage.gobject
        self.assertIsInstance(stage, Ovstage.Stage)
        self.assertIs(self.stage.gobject, stage)
        self.assertEqual(stage.props.name, "test")
        self.seal(4)
        self.assertEqual(stage.get_write_floor(), 4)

    def test_signals(self):
        from gi.repository import GLib

        seen = []
        self.stage.gobject.connect("sealed", lambda stage, ordinal: seen.append(ordinal))
        for ordinal in (3, 4):
            self.seal(ordinal)
        context = GLib.MainContext.default()
        while not seen:
            context.iteration(True)
        self.assertEqual(seen[-1], 4)


if __name__ == "__main__":
    unittest.main()
