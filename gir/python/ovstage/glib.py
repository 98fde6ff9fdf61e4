# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Coroutines in a GLib main loop.

``spawn(coroutine)`` runs a coroutine in the main context that is thread-default
here, such as the one of ``GLib.MainLoop().run()``; ``run(coroutine)`` does so
and iterates that context until the coroutine has ended. In such a coroutine
operations, reads and other tasks can be awaited, and ``async for`` works on a
read and on a watch::

    async def frame(stage, query, values):
        await stage.write_attribute(query, "points", 1, values, is_array=False)
        await stage.advance_write_floor(1)
        async for group in stage.read_attributes(query, ["points"], OrdinalRange.latest(1)):
            print(group.array(0))

    task = ovstage.glib.spawn(frame(stage, query, values))

A coroutine runs at once up to the first operation that is not done yet. A task is
cancelled as one of asyncio is: ``CancelledError`` is raised where its coroutine
awaits, and may be dealt with there. Neither PyGObject nor asyncio is needed.
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Coroutine, Generator, List, Optional

from . import _native
from ._async import Step, running_loop, stepping

__all__ = ["CancelledError", "Task", "run", "spawn"]


class CancelledError(BaseException):
    """The task was cancelled. It is no Exception, so that handlers of errors let it pass."""


class Task(Awaitable[Any]):
    """A coroutine that runs in a main context. Made by spawn()."""

    __slots__ = ("_coroutine", "_result", "_error", "_done", "_asked", "_callbacks", "_turn", "_running", "_awaited", "_must_cancel", "__weakref__")

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._done = False
        self._asked = False
        self._result: Any = None
        self._error: Optional[BaseException] = None
        self._callbacks: List[Callable[[Task], Any]] = []
        self._turn = 0
        self._running = False
        self._awaited: Optional[Task] = None
        self._must_cancel = False
        if not hasattr(coroutine, "send") or not hasattr(coroutine, "throw"):
            self._done = True
            raise TypeError(f"a coroutine is needed, not {type(coroutine).__name__}")
        self._coroutine = coroutine
        self._step(None)

    def done(self) -> bool:
        """Whether the coroutine has ended."""
        return self._done

    def result(self) -> Any:
        """What the coroutine returned; raises what it raised."""
        if not self._done:
            raise RuntimeError("the task is not done")
        self._asked = True
        if self._error is not None:
            raise self._error
        return self._result

    def exception(self) -> Optional[BaseException]:
        """What the coroutine raised, or None; raises CancelledError if the task was cancelled."""
        if not self._done:
            raise RuntimeError("the task is not done")
        self._asked = True
        if isinstance(self._error, CancelledError):
            raise self._error
        return self._error

    def cancelled(self) -> bool:
        """Whether the coroutine ended with the CancelledError that cancel() raised in it."""
        return self._done and isinstance(self._error, CancelledError)

    def cancel(self) -> bool:
        """Raises CancelledError in the coroutine, where it awaits. False if it has ended.

        A task that it awaits is cancelled first, and with it the wait. The coroutine may clean up, also by
        awaiting, and go on if it wants to. From within, this is so where it awaits next.
        """
        if self._done:
            return False
        if self._running:
            self._must_cancel = True
        elif self._awaited is None or not self._awaited.cancel():
            self._step(CancelledError("the task was cancelled"))
        return True

    def add_done_callback(self, callback: Callable[[Task], Any]) -> None:
        """Has ``callback(task)`` called when the coroutine has ended; at once if it has.

        What it raises is reported, and keeps nobody else from being called.
        """
        if self._done:
            self._call(callback)
        else:
            self._callbacks.append(callback)

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._done:
            yield self
        return self.result()

    def __del__(self) -> None:
        # Python reports what a finalizer raises, and goes on.
        if self._done and not self._asked and self._error is not None:
            raise self._error

    def _finish(self, result: Any, error: Optional[BaseException]) -> None:
        self._done = True
        self._result = result
        self._error = error
        callbacks, self._callbacks = self._callbacks, []
        # Who awaits this task is among them.
        stop: Optional[BaseException] = None
        for callback in callbacks:
            try:
                self._call(callback)
            except BaseException as failure:
                stop = failure
        if stop is not None:
            raise stop

    def _call(self, callback: Callable[[Task], Any]) -> None:
        try:
            callback(self)
        except (Exception, CancelledError) as failure:
            _native._report(failure, callback)

    def _resume(self, turn: int) -> None:
        if turn == self._turn and not self._done:
            self._step(None)

    def _step(self, error: Optional[BaseException]) -> None:
        # Whoever tells from here on that what was awaited is done, again or after it was cancelled, comes too late.
        self._turn += 1
        self._awaited = None
        outer = stepping.loop
        stepping.loop = running_loop()
        self._running = True
        target: Any = None
        result: Any = None
        failure: Optional[BaseException] = None
        ended = True
        try:
            if error is not None:
                target = self._coroutine.throw(error)
            else:
                target = self._coroutine.send(None)
            ended = False
        except StopIteration as stop:
            result = stop.value
            if self._must_cancel:
                failure = CancelledError("the task was cancelled")
        except BaseException as raised:
            failure = raised
        finally:
            self._running = False
            stepping.loop = outer

        if not ended:
            self._wait_for(target)
            return
        if isinstance(failure, CancelledError):
            self._asked = True
        self._finish(result, failure)
        if failure is not None and not isinstance(failure, (Exception, CancelledError)):
            raise failure

    def _wait_for(self, target: Any) -> None:
        turn = self._turn
        if isinstance(target, (_native.Operation, Step)):
            target._watch(lambda: self._resume(turn), True)
        elif isinstance(target, Task):
            target._asked = True
            self._awaited = target
            target.add_done_callback(lambda task: self._resume(turn))
        else:
            self._step(RuntimeError(f"only operations and tasks can be awaited here, not {target!r}"))
            return
        if self._must_cancel and turn == self._turn and not self._done:
            self._must_cancel = False
            self.cancel()


def spawn(coroutine: Coroutine[Any, Any, Any]) -> Task:
    """Runs a coroutine in the thread-default main context, which somebody must iterate.

    coroutine: what an async def gives.

    Gives a Task, which may be dropped. The coroutine runs at once up to the first operation that is not done.
    """
    return Task(coroutine)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine, iterating the thread-default main context until it has ended; gives its result.

    coroutine: what an async def gives.
    """
    task = spawn(coroutine)
    try:
        while not task.done():
            _native._iterate()
    except BaseException:
        task.cancel()
        while not task.done():
            _native._iterate()
        raise
    return task.result()
