# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Watches: callbacks and asynchronous iteration."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import threading
import time
import unittest
import warnings
import weakref

import numpy as np

import ovstage
from ovstage import ErrorCode, OvstageError, Scope
from support import StageCase


def turn():
    """Iterates the main context a few times. Each is short even if there is nothing to do."""
    for _ in range(3):
        ovstage._native._iterate()


class WatchCase(StageCase):
    def setUp(self):
        super().setUp()
        self.told = []

    def put(self, value, ordinal, attribute="a", **kwargs):
        self.write(np.full(self.n, value, np.float32), ordinal, attribute, **kwargs).wait()

    def describe(self, groups):
        self.assertTrue(groups)
        return [
            (
                "-" * group.is_delete + self.paths.token_to_string(group.attribute),
                group.ordinal,
                group.prim_count,
                None if group.is_delete else float(group.array(0)[group.data_rows[0]]),
            )
            for group in groups
        ]

    def changed(self, watch, groups):
        self.told.append(self.describe(groups))

    def assert_told(self, *expected):
        turn()
        self.assertEqual(self.told, list(expected))
        self.told.clear()


class Callbacks(WatchCase):
    def test_changes(self):
        self.put(1, 1)
        self.seal(1)
        with self.stage.watch(self.query, ["a", "b"], self.changed) as watch:
            self.assertIsInstance(watch, ovstage.Watch)
            self.assertEqual(watch.cursor, 1)
            self.assert_told()
            self.put(2, 2)
            self.assert_told()
            self.seal(2)
            self.assert_told([("a", 2, 3, 2)])
            self.assertEqual(watch.cursor, 2)
            self.stage.delete_attributes(self.query, ["a"], 3)
            self.put(4, 3, "b")
            self.seal(3)
            self.assert_told([("b", 3, 3, 4), ("-a", 3, 3, None)])
            self.seal(4)
            self.assert_told()
        self.put(5, 5)
        self.seal(5)
        self.assert_told()

    def test_coalesces(self):
        with self.stage.watch(self.query, attributes=["a"], callback=self.changed):
            for ordinal in range(1, 51):
                self.put(ordinal, ordinal)
                self.seal(ordinal)
            self.assert_told([("a", 50, 3, 50)])

    def test_scopes(self):
        with self.stage.watch(self.query, ["a", "b"], self.changed) as watch:
            self.put(1, 5)
            self.put(2, 3, "b")
            self.seal(5, scope=Scope.INCLUDE, attributes=["a"])
            self.assert_told([("a", 5, 3, 1)])
            self.assertEqual(watch.cursor, 0)
            self.seal(4, scope=Scope.INCLUDE, attributes=["b"])
            self.assert_told([("b", 3, 3, 2)])
            self.assertEqual(watch.cursor, 4)

    def test_cancels_within(self):
        def changed(watch, groups):
            self.changed(watch, groups)
            watch.cancel()

        watch = self.stage.watch(self.query, ["a"], changed)
        for ordinal in (1, 2):
            self.put(ordinal, ordinal)
            self.seal(ordinal)
            turn()
        self.assert_told([("a", 1, 3, 1)])
        watch.cancel()

    def test_drops_within(self):
        def changed(watch, groups):
            self.changed(watch, groups)
            watch.cancel()
            held.clear()

        held = [self.stage.watch(self.query, ["a"], changed)]
        gone = weakref.ref(held[0])
        self.put(1, 1)
        self.seal(1)
        self.assert_told([("a", 1, 3, 1)])
        self.assertIsNone(gone())

    def test_raises(self):
        def changed(watch, groups):
            self.changed(watch, groups)
            raise ValueError("from the callback")

        raised = []
        hook, sys.unraisablehook = sys.unraisablehook, lambda what: raised.append(what.exc_value)
        try:
            with self.stage.watch(self.query, ["a"], changed):
                for ordinal in (1, 2):
                    self.put(ordinal, ordinal)
                    self.seal(ordinal)
                    turn()
        finally:
            sys.unraisablehook = hook
        # It goes on.
        self.assert_told([("a", 1, 3, 1)], [("a", 2, 3, 2)])
        self.assertEqual([str(error) for error in raised], ["from the callback"] * 2)

    def test_groups_stay(self):
        kept = []
        with self.stage.watch(self.query, ["a"], lambda watch, groups: kept.extend(groups)):
            self.put(1, 1)
            self.seal(1)
            turn()
            self.put(2, 2)
            self.seal(2)
            turn()
        self.assertEqual([group.array(0).tolist() for group in kept], [[1] * 3, [2] * 3])
        # They are released when they are dropped, without a warning.
        kept.clear()
        gc.collect()

    def test_dropped(self):
        watch = self.stage.watch(self.query, ["a"], self.changed)
        with self.assertWarnsRegex(ResourceWarning, "unreleased"):
            del watch
            gc.collect()
        self.put(1, 1)
        self.seal(1)
        self.assert_told()

    def test_cycle(self):
        def changed(watch, groups):
            held.append(groups)

        held = [self.stage.watch(self.query, ["a"], changed)]
        gone = weakref.ref(held[0])
        held[0].cancel()
        del held, changed
        gc.collect()
        self.assertIsNone(gone())

    def test_stage_destroyed(self):
        with self.stage.watch(self.query, ["a"], self.changed) as watch:
            self.put(1, 1)
            self.seal(1)
            self.stage.destroy()
            turn()
            self.assertEqual(self.told, [])
            self.assertEqual(watch.cursor, 0)
        with self.assertRaises(OvstageError) as caught:
            self.stage.watch(self.query, ["a"], self.changed)
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)

    def test_thread(self):
        """Changes that a thread seals are told in the context of who watches."""
        here = threading.get_ident()
        seen = []

        def changed(watch, groups):
            seen.append(threading.get_ident())
            self.changed(watch, groups)

        def produce():
            for ordinal in range(1, 101):
                self.put(ordinal, ordinal)
                self.seal(ordinal)

        with self.stage.watch(self.query, ["a"], changed):
            thread = threading.Thread(target=produce)
            thread.start()
            while thread.is_alive():
                turn()
            thread.join()
            turn()
        ordinals = [groups[0][1] for groups in self.told]
        self.assertEqual(ordinals, sorted(set(ordinals)))
        self.assertEqual(ordinals[-1], 100)
        self.assertEqual(set(seen), {here})

    def test_told_while_dropped(self):
        """A weak reference that lets another thread in, which is about to call back."""
        stop = threading.Event()

        def run():
            while not stop.is_set():
                ovstage._native._iterate()

        thread = threading.Thread(target=run)
        thread.start()
        for ordinal in range(1, 31):
            watch = self.stage.watch(self.query, ["a"], lambda watch, groups: None)
            weak = weakref.ref(watch, lambda weak: time.sleep(0.002))
            self.put(ordinal, ordinal)
            self.seal(ordinal)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                del watch
            self.assertIsNone(weak())
        stop.set()
        thread.join()

    def test_refused(self):
        with self.assertRaises(TypeError):
            self.stage.watch(self.query)
        with self.assertRaises(TypeError):
            self.stage.watch(self.query, ["a"], 5)
        with self.assertRaises(TypeError):
            self.stage.watch("query", ["a"])
        with self.assertRaises(TypeError):
            self.stage.watch(self.query, "a")
        for attributes, code in (
            (["usd-active"], ErrorCode.NOT_SUPPORTED),
            ([12345], ErrorCode.INVALID_HANDLE),
            (["a\0"], ErrorCode.INVALID_ARGUMENT),
        ):
            with self.assertRaises(OvstageError) as caught:
                self.stage.watch(self.query, attributes, self.changed)
            self.assertIs(caught.exception.code, code)
        released = self.stage.query_from_path_list(self.prims)
        released.release()
        with self.assertRaises(OvstageError) as caught:
            self.stage.watch(released, ["a"])
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        with self.stage.watch(self.query, ["a"], self.changed) as watch, self.assertRaises(TypeError):
            watch.__aiter__()


class Iteration(WatchCase):
    """In asyncio, and in a GLib main loop."""

    def run_both(self, function):
        for run in (asyncio.run, ovstage.glib.run):
            with self.subTest(run=run.__module__):
                run(function())
                self.tearDown()
                self.setUp()

    def test_changes(self):
        async def frames():
            self.put(1, 1)
            self.seal(1)
            watch = self.stage.watch(self.query, ["a", "b"])
            for ordinal in range(2, 6):
                self.put(ordinal, ordinal)
                self.seal(ordinal)
                self.assertEqual(self.describe(await watch.__anext__()), [("a", ordinal, 3, ordinal)])
                self.assertEqual(watch.cursor, ordinal)
            self.stage.delete_attributes(self.query, ["a"], 6)
            self.seal(6)
            self.assertEqual(self.describe(await watch.__anext__()), [("-a", 6, 3, None)])
            watch.cancel()
            with self.assertRaises(StopAsyncIteration):
                await watch.__anext__()

        self.run_both(frames)

    def test_slow(self):
        async def frames():
            told = []
            async for groups in self.watch_after(self.put_many, 20):
                told.append(self.describe(groups))
                if len(told) == 1:
                    self.put_many(21, 40)
                else:
                    break
            self.assertEqual(told, [[("a", 20, 3, 20)], [("a", 40, 3, 40)]])

        self.run_both(frames)

    def watch_after(self, function, n):
        watch = self.stage.watch(self.query, ["a"])
        function(1, n)
        return watch

    def put_many(self, first, last):
        for ordinal in range(first, last + 1):
            self.put(ordinal, ordinal)
            self.seal(ordinal)

    def test_thread(self):
        async def frames():
            watch = self.stage.watch(self.query, ["a"])
            thread = threading.Thread(target=self.put_many, args=(1, 100))
            thread.start()
            last = 0
            async for groups in watch:
                ((_, ordinal, _, value),) = self.describe(groups)
                self.assertGreater(ordinal, last)
                self.assertEqual(value, ordinal)
                last = ordinal
                if last == 100:
                    watch.cancel()
            thread.join()

        self.run_both(frames)

    def test_cancelled_elsewhere(self):
        async def frames():
            with self.stage.watch(self.query, ["a"]) as watch:
                timer = threading.Timer(0.05, watch.cancel)
                timer.start()
                async for groups in watch:
                    self.fail("nothing changed")
                timer.join()

        self.run_both(frames)

    def test_stage_destroyed(self):
        async def frames():
            with self.stage.watch(self.query, ["a"]) as watch:
                timer = threading.Timer(0.05, self.stage.destroy)
                timer.start()
                async for groups in watch:
                    self.fail("nothing changed")
                timer.join()
                async for groups in watch:
                    self.fail("nothing changed")

        self.run_both(frames)

    def test_wait_cancelled(self):
        """What a cancelled wait would have given is for the next one."""

        async def frames():
            watch = self.stage.watch(self.query, ["a"])
            for ordinal in range(1, 6):
                task = asyncio.ensure_future(watch.__anext__())
                await asyncio.sleep(0.01)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                self.put(ordinal, ordinal)
                self.seal(ordinal)
                await asyncio.sleep(0.01 * (ordinal % 2))
                self.assertEqual(self.describe(await watch.__anext__()), [("a", ordinal, 3, ordinal)])
            watch.cancel()

        asyncio.run(frames())

    def test_taken_up_elsewhere(self):
        """A cancelled wait is taken up where the next one is, whichever that is."""
        watch = self.stage.watch(self.query, ["a"])
        threads = []

        async def frame():
            groups = await watch.__anext__()
            threads.append(threading.get_ident())
            return self.describe(groups)

        async def begin():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(frame(), 0.01)

        async def go_on():
            return await asyncio.wait_for(frame(), 60)

        asyncio.run(begin())
        task = ovstage.glib.spawn(frame())
        self.put(1, 1)
        self.seal(1)
        while not task.done():
            ovstage._native._iterate()
        self.assertEqual(task.result(), [("a", 1, 3, 1)])

        task = ovstage.glib.spawn(frame())
        task.cancel()
        self.put(2, 2)
        self.seal(2)
        self.assertEqual(asyncio.run(go_on()), [("a", 2, 3, 2)])
        self.assertEqual(threads, [threading.get_ident()] * 2)
        watch.cancel()

    def test_two_waits(self):
        async def frames():
            with self.stage.watch(self.query, ["a"]) as watch:
                task = asyncio.ensure_future(watch.__anext__())
                await asyncio.sleep(0)
                with self.assertRaises(RuntimeError):
                    await watch.__anext__()
                self.put(1, 1)
                self.seal(1)
                self.assertEqual(self.describe(await task), [("a", 1, 3, 1)])

        asyncio.run(frames())

    def test_several(self):
        async def follow(k):
            count = 0
            with self.stage.watch(self.query, [f"a{k}"]) as watch:
                async for groups in watch:
                    ((_, ordinal, _, _),) = self.describe(groups)
                    count += 1
                    if ordinal >= 10 - k:
                        return count

        async def produce():
            for ordinal in range(1, 11):
                for k in range(3):
                    self.put(ordinal, ordinal, f"a{k}")
                await self.stage.advance_write_floor(ordinal)
                await asyncio.sleep(0)

        async def frames():
            *counts, _ = await asyncio.gather(*(follow(k) for k in range(3)), produce())
            self.assertTrue(all(1 <= count <= 10 for count in counts))

        asyncio.run(frames())

    def test_dropped_while_waiting(self):
        async def wait():
            async for groups in self.stage.watch(self.query, ["a"]):
                self.fail("nothing changed")

        async def frames():
            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0.01)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(frames())
        gc.collect()
        # And of a main loop.
        task = ovstage.glib.spawn(wait())
        task.cancel()
        gc.collect()
        turn()

    def test_no_loop(self):
        with self.stage.watch(self.query, ["a"]) as watch, self.assertRaises(RuntimeError):
            watch.__anext__().send(None)

    def test_filter_query(self):
        async def frames():
            with self.stage.query(ovstage.Filter.has("a")) as query:
                with self.stage.watch(query, ["a"]) as watch:
                    self.put(2, 2)
                    self.seal(2)
                    self.assertEqual(self.describe(await watch.__anext__()), [("a", 2, 3, 2)])

        self.put(1, 1)
        self.seal(1)
        asyncio.run(frames())


class Exit(unittest.TestCase):
    """An interpreter that ends with a watch open."""

    def run_program(self, text):
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM + text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        )
        self.assertEqual((result.returncode, result.stdout), (0, "end\n"))

    def test_callback(self):
        self.run_program("watch = stage.watch(query, ['a'], print)\nput()\nprint('end')\n")

    def test_iterator(self):
        self.run_program(
            "async def follow():\n"
            "    async for groups in stage.watch(query, ['a']):\n"
            "        print('end')\n"
            "task = ovstage.glib.spawn(follow())\n"
            "put()\n"
            "ovstage._native._iterate()\n"
        )

    def test_asyncio(self):
        self.run_program(
            "import asyncio\n"
            "loop = asyncio.new_event_loop()\n"
            "watch = stage.watch(query, ['a'])\n"
            "async def follow():\n"
            "    try:\n"
            "        await asyncio.wait_for(watch.__anext__(), 0.01)\n"
            "    except asyncio.TimeoutError:\n"
            "        print('end')\n"
            "loop.run_until_complete(follow())\n"
            "loop.close()\n"
        )


PROGRAM = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
import ovstage
stage = ovstage.Stage()
paths = ovstage.PathDictionary(stage)
query = stage.query_from_path_list(paths.create_path_list_from_strings(["/A"]))
def put():
    stage.write_attribute(query, "a", 1, np.zeros(1, np.float32), is_array=False).wait()
    stage.advance_write_floor(1).wait()
"""


if __name__ == "__main__":
    unittest.main()
