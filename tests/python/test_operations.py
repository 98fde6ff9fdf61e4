# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Operations: waiting, ids, asyncio and GLib main loops."""

import asyncio
import contextlib
import gc
import subprocess
import sys
import threading
import unittest

import numpy as np

import ovstage
from ovstage import ErrorCode, OrdinalRange, OvstageError
from support import StageCase

SECOND = 10**9


class Never(ovstage.glib.Task):
    """What is not done before it is told to end, or cancelled."""

    def __init__(self, refuses=False):
        self._done = self._asked = self._running = False
        self._callbacks, self._error, self._turn = [], None, 0
        self.refuses = refuses

    def end(self):
        self._finish(None, None)

    def cancel(self):
        if self._done or self.refuses:
            return False
        self._asked = True
        self._finish(None, ovstage.glib.CancelledError())
        return True


@contextlib.contextmanager
def reported():
    """What nobody was there to catch."""
    seen = []
    hook, sys.unraisablehook = sys.unraisablehook, seen.append
    try:
        yield seen
    finally:
        sys.unraisablehook = hook


class Operations(StageCase):
    def test_done(self):
        operation = self.write(np.zeros(3, np.float32))
        self.assertIsNone(operation.wait())
        self.assertTrue(operation.done)
        self.assertTrue(operation.ok)
        self.assertIs(operation.status, ErrorCode.OK)
        self.assertEqual(operation.error_message(), "")
        self.assertGreater(operation.op_id, 0)
        self.assertIn("done", repr(operation))
        for timeout in (0, 1, SECOND, ovstage.TIMEOUT_INFINITE):
            operation.wait(timeout)
            operation.wait(timeout=timeout)

    def test_ids_rise(self):
        ids = [self.write(np.zeros(3, np.float32)).op_id for _ in range(5)]
        self.assertEqual(sorted(set(ids)), ids)

    def test_timeouts(self):
        operation = self.write(np.zeros(3, np.float32))
        for timeout in (1.0, "1", None):
            with self.assertRaisesRegex(TypeError, "timeout"):
                operation.wait(timeout)
        for timeout in (-2, 2**63):
            with self.assertRaisesRegex(ValueError, "timeout"):
                operation.wait(timeout)

    def test_errors_last(self):
        operation = self.write(np.zeros(3, np.float32), 0)
        for _ in range(2):
            with self.assertRaises(OvstageError) as caught:
                operation.wait(0)
            self.assertIs(caught.exception.code, ErrorCode.WRITE_FLOOR_VIOLATION)

    def test_destroyed_stage(self):
        stage = ovstage.Stage()
        with ovstage.PathDictionary(stage) as paths:
            query = stage.query_from_path_list(paths.create_path_list_from_strings(["/A"]))
            prims = query.path_list
        stage.destroy()
        stage.destroy()
        operation = stage.write_attribute(query, "a", 1, np.zeros(1), is_array=False)
        self.assert_code(operation, ErrorCode.INVALID_HANDLE, "destroyed")
        self.assertEqual(operation.op_id, 0)
        self.assert_code(stage.advance_write_floor(1), ErrorCode.INVALID_HANDLE)
        self.assert_code(stage.query_from_path_list(prims), ErrorCode.INVALID_HANDLE)
        read = stage.read_attributes(query, ["a"], OrdinalRange.latest(1))
        self.assert_code(read, ErrorCode.INVALID_HANDLE)
        for use in (lambda: stage.write_floor, lambda: stage.get_attribute_write_floor("a"), lambda: stage.gobject):
            with self.assertRaises(OvstageError) as caught:
                use()
            self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        query.release()

    def test_wait_op(self):
        operation = self.write(np.zeros(3, np.float32))
        self.assertEqual(self.stage.wait_op(operation.op_id), (ErrorCode.OK, [], 0))
        self.assertEqual(self.stage.wait_op(op_id=operation.op_id, timeout=0), (ErrorCode.OK, [], 0))
        self.stage.release_op(operation.op_id)
        self.assertIs(self.stage.wait_op(operation.op_id)[0], ErrorCode.INVALID_HANDLE)
        with self.assertRaises(OvstageError) as caught:
            self.stage.release_op(operation.op_id)
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)
        for unknown in (0, operation.op_id + 1000, 2**64 - 1):
            self.assertIs(self.stage.wait_op(unknown)[0], ErrorCode.INVALID_HANDLE)
        # The object does not mind.
        operation.wait()
        with self.assertRaises(TypeError):
            self.stage.wait_op(1.0)
        with self.assertRaises(ValueError):
            self.stage.release_op(-1)

    def test_release_op_in_any_order(self):
        ids = [self.write(np.zeros(3, np.float32)).op_id for _ in range(40)]
        order = ids[::2] + ids[1::2][::-1]
        for n, op_id in enumerate(order):
            self.assertIs(self.stage.wait_op(op_id)[0], ErrorCode.OK)
            self.stage.release_op(op_id)
            for other in ids:
                expected = ErrorCode.INVALID_HANDLE if other in order[: n + 1] else ErrorCode.OK
                self.assertIs(self.stage.wait_op(other, 0)[0], expected)


class Large(StageCase):
    """Work that does not end within the call."""

    n = 100_000

    def setUp(self):
        super().setUp()
        self.a = np.ones((self.n, 16), np.float32)

    def pending(self, ordinal):
        """A write that was not done when it was submitted. The machine may be too fast for one of them."""
        for _ in range(50):
            operation = self.write(self.a, ordinal)
            if not operation.done:
                return operation
            operation.wait()
        self.skipTest("everything is done at once here")

    def test_cancel(self):
        write = self.pending(1)
        seal = self.stage.advance_write_floor(1)  # waits for the write
        if not seal.cancel():
            self.skipTest("everything is done at once here")
        write.wait()
        self.assertTrue(seal.done)
        self.assertIs(seal.status, ErrorCode.OP_FAILED)
        self.assertEqual(seal.error_message(), "cancelled")
        with self.assertRaisesRegex(OvstageError, "cancelled"):
            seal.wait()
        self.assertFalse(seal.cancel())
        self.assertEqual(self.stage.get_attribute_write_floor(), 0)
        self.write(self.a, 1).wait()  # as if it had never been submitted
        self.assertFalse(write.cancel())
        self.assertTrue(write.ok)
        self.assertFalse(self.write(self.a, 0).cancel())
        with self.assertRaises(TypeError):
            write.cancel(1)

    def test_poll(self):
        operation = self.pending(1)
        try:
            operation.wait(0)
        except OvstageError as error:
            self.assertIs(error.code, ErrorCode.TIMEOUT)
            self.assertIn(str(operation.op_id), error.message)
        code, failed, lowest = self.stage.wait_op(operation.op_id, 0)
        self.assertIn((code, lowest), ((ErrorCode.TIMEOUT, operation.op_id), (ErrorCode.OK, 0)))
        self.assertEqual(failed, [])
        self.assertEqual(self.stage.wait_op(operation.op_id, 30 * SECOND), (ErrorCode.OK, [], 0))
        operation.wait(0)

    def test_asyncio(self):
        async def frames():
            pending = 0
            for ordinal in range(1, 11):
                operation = self.write(self.a * ordinal, ordinal)
                pending += not operation.done
                self.assertIs(await operation, operation)
                await self.stage.advance_write_floor(ordinal)
                seen = 0
                async for group in self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(ordinal)):
                    self.assertEqual(group.array(0)[-1], ordinal)
                    seen += 1
                self.assertEqual(seen, 1)
            return pending

        asyncio.run(frames())

    def test_asyncio_many_at_once(self):
        async def frames():
            writes = [self.write(self.a, ordinal, f"a{ordinal % 3}") for ordinal in range(1, 13)]
            seal = self.stage.advance_write_floor(12)
            await asyncio.gather(*writes, seal)
            self.assertTrue(all(write.done for write in writes))

        asyncio.run(frames())

    def test_asyncio_cancelled_task(self):
        async def frames():
            operation = self.write(self.a)
            task = asyncio.ensure_future(self.wait_for(operation))
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
            # Cancelling the wait left the operation alone.
            await operation

        asyncio.run(frames())
        self.seal()
        self.assertEqual(self.values()[0, 0], 1)

    async def wait_for(self, operation):
        return await operation

    def test_loop_closed_meanwhile(self):
        async def begin():
            self.task = asyncio.ensure_future(self.wait_for(self.write(self.a)))
            await asyncio.sleep(0)

        asyncio.run(begin())
        self.seal()

    def test_threads(self):
        errors = []

        def frames(k):
            try:
                for ordinal in range(1, 6):
                    self.write(self.a, ordinal, f"t{k}").wait()
                    self.stage.advance_write_floor(ordinal, scope=ovstage.Scope.INCLUDE, attributes=[f"t{k}"]).wait()
                    assert self.values(ordinal, f"t{k}").shape == self.a.shape
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=frames, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_destroy_with_work_in_flight(self):
        for _ in range(5):
            stage = ovstage.Stage()
            with ovstage.PathDictionary(stage) as paths:
                query = stage.query_from_path_list(
                    paths.create_path_list_from_strings(self.prims.strings()))
            operations = [stage.write_attribute(query, "a", i + 1, self.a, is_array=False) for i in range(5)]
            operations.append(stage.advance_write_floor(5))
            stage.destroy()
            failed = []
            for operation in operations:
                self.assertTrue(operation.done)
                try:
                    operation.wait()
                except OvstageError as error:
                    self.assertIs(error.code, ErrorCode.OP_FAILED)
                    self.assertEqual(error.message, "cancelled")
                    failed.append(operation.op_id)
            query.release()
            self.assert_failures_are_listed_once_a_thread(stage, operations[0].op_id, failed)

    def assert_failures_are_listed_once_a_thread(self, stage, op_id, failed):
        code, listed, lowest = stage.wait_op(op_id)
        self.assertEqual((code, sorted(listed), lowest), (ErrorCode.OK, failed, 0))
        self.assertEqual(stage.wait_op(op_id), (ErrorCode.OK, [], 0))
        told = []
        thread = threading.Thread(target=lambda: told.extend(stage.wait_op(op_id)[1]))
        thread.start()
        thread.join()
        self.assertEqual(sorted(told), failed)
        for other in failed:
            self.assertIs(stage.wait_op(other)[0], ErrorCode.OK)
            stage.release_op(other)
            self.assertIs(stage.wait_op(other)[0], ErrorCode.INVALID_HANDLE)

    def test_glib(self):
        async def frames():
            for ordinal in range(1, 6):
                await self.write(self.a * ordinal, ordinal)
                await self.stage.advance_write_floor(ordinal)
                async for group in self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(ordinal)):
                    self.assertEqual(group.array(0)[0], ordinal)
            return "done"

        self.assertEqual(ovstage.glib.run(frames()), "done")

    def test_glib_tasks(self):
        async def one(ordinal):
            await self.write(self.a, ordinal, f"a{ordinal}")
            return ordinal

        async def all_of_them():
            tasks = [ovstage.glib.spawn(one(ordinal)) for ordinal in range(1, 6)]
            return [await task for task in tasks]

        self.assertEqual(ovstage.glib.run(all_of_them()), [1, 2, 3, 4, 5])

    def test_glib_cancel(self):
        task = ovstage.glib.spawn(self.wait_for(self.pending(1)))
        if not task.done():
            self.assertTrue(task.cancel())
            with self.assertRaises(ovstage.glib.CancelledError):
                task.result()
        self.assertFalse(task.cancel())
        self.seal()

    def test_glib_callbacks_that_raise(self):
        never, called = Never(), []

        async def wait():
            await never
            return 5

        async def outer():
            return await task

        def failing(task):
            called.append("failing")
            raise KeyError("callback")

        task = ovstage.glib.spawn(wait())
        task.add_done_callback(failing)
        other = ovstage.glib.spawn(outer())
        task.add_done_callback(failing)
        task.add_done_callback(lambda task: called.append("last"))
        with reported() as seen:
            never.end()
            self.assertEqual(called, ["failing", "failing", "last"])
            self.assertEqual((task.result(), other.result()), (5, 5))
            # When it is done, and by what is cancelled.
            task.add_done_callback(failing)
            cancelled = ovstage.glib.spawn(self.wait_for(Never()))
            cancelled.add_done_callback(failing)
            self.assertTrue(cancelled.cancel())
        self.assertEqual([(entry.exc_type, entry.object) for entry in seen], [(KeyError, failing)] * 4)

    def test_glib_callback_that_asks_what_was_cancelled(self):
        task, called = ovstage.glib.spawn(self.wait_for(Never())), []
        task.add_done_callback(ovstage.glib.Task.result)
        task.add_done_callback(called.append)
        with reported() as seen:
            self.assertTrue(task.cancel())
        self.assertEqual((called, [entry.exc_type for entry in seen]), ([task], [ovstage.glib.CancelledError]))

    def test_glib_told_again_while_running(self):
        class Telling(Never):
            def add_done_callback(self, callback):
                self.tell = callback
                super().add_done_callback(callback)

        async def wait():
            await never
            never.tell(never)
            return task.done()

        never = Telling()
        task = ovstage.glib.spawn(wait())
        never.end()
        self.assertFalse(task.result())

    def test_glib_callback_that_stops(self):
        def stopping(task):
            raise KeyboardInterrupt

        never, called = Never(), []
        task = ovstage.glib.spawn(self.wait_for(never))
        task.add_done_callback(stopping)
        task.add_done_callback(called.append)
        with self.assertRaises(KeyboardInterrupt):
            never.end()
        self.assertEqual((called, task.done()), ([task], True))

    def test_glib_cancelled_while_awaiting(self):
        """As asyncio has it, which is asked first."""

        async def plain(never):
            await never

        async def cleaning(never):
            try:
                await never
            finally:
                log.append("cleaned")

        async def failing(never):
            try:
                await never
            finally:
                raise KeyError("cleanup")

        async def handling(never):
            try:
                await never
            except Exception:
                log.append("no exception")
            except BaseException as error:
                log.append(type(error).__name__)
                return "went on"

        async def awaiting(never):
            try:
                await never
            finally:
                await soon()
                log.append("awaited")

        async def resisting(never):
            for _ in range(2):
                try:
                    await never
                except BaseException:
                    log.append("again")
            return "ended"

        async def inner(never):
            try:
                await never
            except BaseException as error:
                log.append("inner " + type(error).__name__)
                raise

        async def outer(never):
            try:
                await spawn(inner(never))
            except BaseException as error:
                log.append("outer " + type(error).__name__)
                raise

        async def stubborn(never):
            async def refuse():
                try:
                    await never
                except BaseException:
                    return "stayed"

            return await spawn(refuse())

        async def from_within(never):
            log.append(this[0].cancel())
            log.append("goes on")
            await never

        async def at_the_end(never):
            log.append(this[0].cancel())
            return "too late"

        def outcome(task, cancelled):
            try:
                return task.result()
            except cancelled:
                with self.assertRaises(cancelled):
                    task.exception()
                return "cancelled" if task.cancelled() else "another was cancelled"
            except KeyError:
                self.assertFalse(task.cancelled())
                return "KeyError"

        async def in_asyncio(function):
            this[0] = asyncio.ensure_future(function(asyncio.get_running_loop().create_future()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            first = this[0].cancel()
            await asyncio.wait([this[0]])
            return first, this[0].cancel(), outcome(this[0], asyncio.CancelledError)

        async def in_glib(function):
            async def begin(never):
                await start
                return await function(never)

            start = Never()
            this[0] = ovstage.glib.spawn(begin(Never()))
            start.end()
            return this[0].cancel(), this[0].cancel(), outcome(this[0], ovstage.glib.CancelledError)

        for function in (plain, cleaning, failing, handling, awaiting, inner, outer, stubborn, from_within, at_the_end):
            with self.subTest(function.__name__):
                log, this = [], [None]
                spawn, soon = asyncio.ensure_future, lambda: asyncio.sleep(0)
                expected = asyncio.run(in_asyncio(function)), log
                log, this = [], [None]
                spawn, soon = ovstage.glib.spawn, self.soon
                self.assertEqual((ovstage.glib.run(in_glib(function)), log), expected)
        # One that awaits after that, and is cancelled again.
        log = []
        never = Never(refuses=True)
        task = ovstage.glib.spawn(resisting(never))
        self.assertEqual((task.cancel(), task.done(), task.cancel(), task.done(), task.cancel()), (True, False, True, True, False))
        self.assertEqual((task.result(), log), ("ended", ["again", "again"]))
        never.end()

    async def soon(self):
        await self.stage.advance_write_floor(0)

    def test_glib_cancelled_operation_goes_on(self):
        operation = self.pending(1)
        task = ovstage.glib.spawn(self.wait_for(operation))
        if not task.done():
            self.assertTrue(task.cancel())
            self.assertTrue(task.cancelled())
        operation.wait()
        ovstage._native._iterate()
        self.seal()

    def test_glib_stopped_while_cancelled(self):
        async def stopping():
            try:
                await Never()
            finally:
                raise KeyboardInterrupt

        task = ovstage.glib.spawn(stopping())
        with self.assertRaises(KeyboardInterrupt):
            task.cancel()
        self.assertIsInstance(task.exception(), KeyboardInterrupt)

    def test_glib_cancelled_is_not_reported(self):
        with reported() as seen:
            ovstage.glib.spawn(self.wait_for(Never())).cancel()
            gc.collect()
        self.assertEqual(seen, [])

    def test_pygobject_main_loop(self):
        try:
            from gi.repository import GLib
        except ImportError as reason:
            self.skipTest(str(reason))
        loop = GLib.MainLoop()

        async def frames():
            await self.write(self.a)
            await self.stage.advance_write_floor(1)
            loop.quit()

        def start():
            self.task = ovstage.glib.spawn(frames())

        GLib.idle_add(start)
        loop.run()
        self.task.result()
        self.assertEqual(self.stage.write_floor, 1)


class Awaiting(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.arange(3, dtype=np.float32)

    def test_done_at_once(self):
        # Nothing is handed to a loop: one step of the coroutine is enough.
        async def frame():
            await self.write(self.a)
            await self.stage.advance_write_floor(1)
            async for group in self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1)):
                return group.array(0).tolist()

        with self.assertRaises(StopIteration) as stop:
            frame().send(None)
        self.assertEqual(stop.exception.value, [0, 1, 2])
        self.assertEqual(ovstage.glib.spawn(frame()).exception().code, ErrorCode.WRITE_FLOOR_VIOLATION)

    def test_errors(self):
        async def frame():
            await self.write(self.a, 0)

        for run in (asyncio.run, ovstage.glib.run):
            with self.assertRaises(OvstageError) as caught:
                run(frame())
            self.assertIs(caught.exception.code, ErrorCode.WRITE_FLOOR_VIOLATION)

    def test_failed_read(self):
        async def frame():
            await self.write(self.a, 3)
            async for group in self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(3)):
                self.fail("a group of a read that failed")

        with self.assertRaises(OvstageError) as caught:
            asyncio.run(frame())
        self.assertIs(caught.exception.code, ErrorCode.WRITE_FLOOR_VIOLATION)

    def test_awaited_results(self):
        async def frame():
            await self.write(self.a)
            await self.stage.advance_write_floor(1)
            read = await self.stage.read_attributes(self.query, ["a"], OrdinalRange.latest(1))
            with read:
                with read.fetch_next() as group:
                    return group.ordinal

        self.assertEqual(asyncio.run(frame()), 1)

    def test_glib_refuses_other_awaitables(self):
        class Other:
            def __await__(self):
                yield 7

        async def wrong():
            await Other()

        with self.assertRaisesRegex(RuntimeError, "awaited"):
            ovstage.glib.run(wrong())
        with self.assertRaises(TypeError):
            ovstage.glib.spawn(7)

    def test_glib_unasked_failure(self):
        async def wrong():
            raise KeyError("unasked")

        with reported() as seen:
            ovstage.glib.spawn(wrong())
            gc.collect()
        self.assertEqual([entry.exc_type for entry in seen], [KeyError])

    def test_no_loop(self):
        class Pending:
            done = False

        from ovstage import _async

        with self.assertRaisesRegex(RuntimeError, "asyncio"):
            next(_async.wait(Pending()))

    def test_asyncio_inside_glib(self):
        # A coroutine of a GLib loop that runs asyncio for a moment: the innermost loop counts.
        async def inner():
            await self.write(self.a)
            await asyncio.sleep(0)
            return 5

        async def outer():
            return asyncio.run(inner())

        self.assertEqual(ovstage.glib.run(outer()), 5)


class Signals(unittest.TestCase):
    def test_keyboard_interrupt(self):
        code = """if True:
            import sys, threading, os, signal, time
            from ovstage import glib
            class Never(glib.Task):
                def __init__(self):
                    self._done, self._asked, self._callbacks, self._error = False, True, [], None
                def cancel(self):
                    return False
            async def wait():
                try:
                    await Never()
                except glib.CancelledError:
                    print("cleaned")
                    raise
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                glib.run(wait())
            except KeyboardInterrupt:
                print("interrupted")
        """
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.stdout.strip(), result.returncode), ("cleaned\ninterrupted", 0), result.stderr)


if __name__ == "__main__":
    unittest.main()
