# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Nothing grows, nothing is left behind, and the interpreter ends well."""

import gc
import os
import subprocess
import sys
import textwrap
import unittest

import numpy as np

import ovstage
from ovstage import OrdinalRange, OvstageError
from support import GrowthCase, Producer


class Growth(GrowthCase):
    n = 100

    def test_frames(self):
        a = np.zeros((100, 3), np.float32)

        def frame(i):
            self.write(a, i + 1).wait()
            self.seal(i + 1)
            with self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(i + 1)) as read:
                for group in read.groups():
                    with group:
                        group.array(0), np.from_dlpack(group.dlpack(0)), group.prim_indices, group.prim_list, group.tensor(0)

        self.assert_no_growth(frame)

    def test_selections(self):
        a = np.zeros((100, 3), np.float32)
        mask = np.ones(100, bool)
        rows = np.arange(100)[::-1]

        def frame(i):
            self.write(a, i + 1, mask=mask).wait()
            self.write(a, i + 1, index_map=rows).wait()
            self.write(a, i + 1, index_map=[1, 2, 3]).wait()
            self.seal(i + 1)

        self.assert_no_growth(frame)

    def test_refusals(self):
        a = np.zeros((100, 3), np.float32)

        def frame(i):
            operation = self.write(a, 0)
            try:
                operation.wait()
            except OvstageError:
                pass
            self.write(a[:3]).error_message()
            for kwargs in ({"mask": [1]}, {"index_map": [1.0]}, {"count": 0}, {"is_array": 1}, {"ordinal": -1}):
                try:
                    self.write(a, **kwargs)
                except (TypeError, ValueError):
                    pass

        self.assert_no_growth(frame)

    def test_producers(self):
        a = np.zeros((100, 3), np.float32)
        deleted = set()

        def frame(i):
            producer = Producer(a, versioned=i % 2 == 0)
            self.write(producer, i + 1).wait()
            self.seal(i + 1)
            deleted.add(producer.deleted)
            # The producer is in cycles of its own; what ctypes keeps for it must not pile up.
            if i % 100 == 0:
                gc.collect()

        self.assert_no_growth(frame, limit=4 << 20)
        self.assertEqual(deleted, {1})

    def test_failed_reads(self):
        self.write(np.zeros(100, np.float32), 5).wait()

        def frame(i):
            read = self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(5))
            try:
                read.fetch_next()
            except OvstageError:
                pass

        self.assert_no_growth(frame)

    def test_stages(self):
        def frame(i):
            with ovstage.Stage() as stage, ovstage.PathDictionary(stage) as paths:
                with stage.query_from_path_list(paths.create_path_list_from_strings(["/A", "/B"])) as query:
                    stage.write_attribute(query, "a", 1, np.zeros(2), is_array=False).wait()
                    stage.advance_write_floor(1).wait()

        self.assert_no_growth(frame, n=500, limit=8 << 20)

    def test_helpers(self):
        a = np.zeros((100, 3), np.float32)
        float3 = ovstage.DLDataType(2, 32, 3)

        def frame(i):
            tensor = ovstage.make_dltensor(a, float3)
            tensor.shape, tensor.strides, tensor.dtype, tensor.device, repr(tensor)
            ovstage.dltensor_to_numpy(tensor)
            try:
                ovstage.make_dltensor(a, shape=[7])
            except ValueError:
                pass

        self.assert_no_growth(frame)


class Exit(unittest.TestCase):
    def run_python(self, code):
        result = subprocess.run(
            [sys.executable, "-X", "dev", "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    setup = """
        import numpy as np, ovstage
        stage = ovstage.Stage("open")
        paths = ovstage.PathDictionary(stage)
        prims = paths.create_path_list_from_strings([f"/P{i}" for i in range(200000)])
        query = stage.query_from_path_list(prims)
        a = np.ones((200000, 16), np.float32)
    """

    def test_open_stage(self):
        result = self.run_python(self.setup + """
        stage.write_attribute(query, "a", 1, a, is_array=False)
        stage.advance_write_floor(1).wait()
        read = stage.read_attributes(query, ["a"], ovstage.OrdinalRange.latest(1))
        group = read.fetch_next()
        array = group.array(0)
        exported = group.dlpack(0)
        print(array[0])
        """)
        self.assertEqual(result.stdout, "1.0\n")

    def test_work_in_flight(self):
        for _ in range(3):
            self.run_python(self.setup + """
        operations = [stage.write_attribute(query, "a", i + 1, a * i, is_array=False) for i in range(20)]
        operations.append(stage.advance_write_floor(20))
        """)

    def test_awaiting(self):
        self.run_python(self.setup + """
        import asyncio
        async def frame():
            await stage.write_attribute(query, "a", 1, a, is_array=False)
            asyncio.ensure_future(wait(stage.write_attribute(query, "a", 2, a, is_array=False)))
            await asyncio.sleep(0)
        async def wait(operation):
            await operation
        asyncio.run(frame())
        """)

    def test_awaiting_after_the_end(self):
        # Handlers that were registered first run last, when the package has closed its stages.
        result = self.run_python("""
        import asyncio, atexit
        def late():
            import numpy as np
            async def frames():
                with ovstage.Stage() as stage, ovstage.PathDictionary(stage) as paths:
                    prims = paths.create_path_list_from_strings([f"/P{i}" for i in range(200000)])
                    with stage.query_from_path_list(prims) as query:
                        for ordinal in range(1, 6):
                            await stage.write_attribute(query, "a", ordinal, np.ones((200000, 16), np.float32), is_array=False)
                            await stage.advance_write_floor(ordinal)
                        async for group in stage.read_attributes(query, ["a"], ovstage.OrdinalRange.latest(5)):
                            return group.array(0)[0]
            print(asyncio.run(frames()))
            print(ovstage.glib.run(frames()))
        atexit.register(late)
        import ovstage
        """)
        self.assertEqual(result.stdout, "1.0\n1.0\n")

    def test_threads_still_running(self):
        self.run_python(self.setup + """
        import threading
        def frames():
            try:
                ordinal = 1
                while True:
                    stage.write_attribute(query, "a", ordinal, a, is_array=False).wait()
                    stage.advance_write_floor(ordinal).wait()
                    ordinal += 1
            except ovstage.OvstageError:
                pass
        threading.Thread(target=frames, daemon=True).start()
        import time
        time.sleep(0.2)
        """)

    def test_imported_memory(self):
        self.run_python("""
        import numpy as np, ovstage
        tensor = ovstage.DLTensor.from_dlpack(np.zeros(5))
        keep = np.from_dlpack
        import builtins
        builtins.tensor = tensor
        builtins.array = ovstage.dltensor_to_numpy(tensor)
        """)

    # Tensors out, over memory that a Python object holds, and their deleters as C sees them.
    exports = """
        import atexit, ctypes, sys, threading
        sys.path.insert(0, %r)
        import ovstage
        from support import DELETER, LEGACY, VERSIONED, capsule, _get_pointer, exchange_of, steal
        libc = ctypes.CDLL(None)
        class Memory(bytearray):
            gone = 0
            def __del__(self):
                Memory.gone += 1
        def export(kind):
            memory = Memory(24)
            out = ctypes.c_void_p()
            tensor = ovstage.DLTensor.from_dlpack(memory)
            assert exchange_of(ovstage.ManagedDLTensor).from_object(tensor, ctypes.byref(out)) == 0
            if kind == "versioned":
                return out.value, ctypes.cast(out.value + 16, ctypes.POINTER(ctypes.c_void_p))[0]
            tensor = steal(out.value)
            made = tensor.__dlpack__()
            pointer = _get_pointer(made, LEGACY)
            ctypes.pythonapi.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
            export.name = b"used_dltensor"
            ctypes.pythonapi.PyCapsule_SetName(made, export.name)
            return pointer, ctypes.cast(pointer + 56, ctypes.POINTER(ctypes.c_void_p))[0]
    """ % os.path.dirname(os.path.abspath(__file__))

    def test_deleters_with_and_without_the_gil(self):
        self.run_python(self.exports + """
        for kind in ("versioned", "legacy"):
            before = Memory.gone
            # With it; then without it in a thread of Python; then in threads that Python knows nothing of.
            pointer, deleter = export(kind)
            ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(deleter)(pointer)
            assert Memory.gone == before + 1
            pointer, deleter = export(kind)
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(pointer)
            assert Memory.gone == before + 2
            started = []
            for _ in range(20):
                pointer, deleter = export(kind)
                thread = ctypes.c_ulong()
                assert libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(deleter), ctypes.c_void_p(pointer)) == 0
                started.append(thread)
            for thread in started:
                libc.pthread_join(thread, None)
            assert Memory.gone == before + 22
        """)

    def test_deleters_after_the_end(self):
        # As C programs do that embed Python: long after the interpreter is gone.
        self.run_python(self.exports + """
        for kind in ("versioned", "legacy"):
            for _ in range(3):
                pointer, deleter = export(kind)
                assert libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(pointer), None) == 0
        """)

    def test_deleters_while_it_ends(self):
        for _ in range(5):
            self.run_python(self.exports + """
        exports = [export("versioned") for _ in range(3000)]
        def let_go():
            for pointer, deleter in exports:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(pointer)
        threading.Thread(target=let_go, daemon=True).start()
        """)

    def test_capsules_at_the_end(self):
        self.run_python(self.exports + """
        import builtins
        pointer, deleter = export("versioned")
        builtins.kept = [steal(pointer).__dlpack__(max_version=(1, 0)), steal(export("versioned")[0]).__dlpack__(copy=True)]
        """)


if __name__ == "__main__":
    unittest.main()
