# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What stands behind ``await operation``, ``async for group in read`` and ``async for groups in watch``."""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any, Callable, Generator, List, Optional

# The asyncio loop that was running as a coroutine of ovstage.glib was entered, while in one.
_NOT_STEPPING = object()


class _Stepping(threading.local):
    loop: Any = _NOT_STEPPING


stepping = _Stepping()


def running_loop() -> Any:
    """The running asyncio loop of this thread, without importing asyncio."""
    events = sys.modules.get("asyncio.events")
    return events._get_running_loop() if events is not None else None


def wait(operation: Any) -> Generator[Any, Any, Any]:
    """The iterator of ``await operation``: its result is the operation."""
    if not operation.done:
        loop = running_loop()
        if stepping.loop is not _NOT_STEPPING and stepping.loop is loop:
            yield operation
        elif loop is not None:
            yield from _future(loop, operation)
        else:
            raise RuntimeError("await needs a running asyncio loop, or a coroutine of ovstage.glib.spawn() or run()")
    operation.wait(0)
    return operation


def _future(loop: Any, operation: Any) -> Any:
    future = loop.create_future()

    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    def done() -> None:
        try:
            loop.call_soon_threadsafe(resolve)
        except RuntimeError:
            # The loop was closed meanwhile: nobody waits any more.
            pass

    operation._watch(done, False)
    return future


class GroupIterator:
    """The asynchronous iterator over the groups of a read."""

    __slots__ = ("_read",)

    def __init__(self, read: Any) -> None:
        self._read = read

    def __aiter__(self) -> GroupIterator:
        return self

    async def __anext__(self) -> Any:
        if not self._read.done:
            await self._read
        group = self._read._next_group()
        if group is None:
            raise StopAsyncIteration
        return group


class Step:
    """The wait for what changes next; like an operation to whoever awaits it."""

    __slots__ = ("done", "waited", "_told", "_function")

    def __init__(self, watch: Any) -> None:
        self.done = False
        self.waited = False
        self._told: Any = None
        self._function: Optional[Callable[[], Any]] = None
        loop = running_loop()
        in_this_context = stepping.loop is not _NOT_STEPPING and stepping.loop is loop
        if loop is None and not in_this_context:
            raise RuntimeError("a watch needs a running asyncio loop, or a coroutine of ovstage.glib.spawn() or run()")
        watch._next(self._tell)

    def __await__(self) -> Generator[Any, Any, Any]:
        return wait(self)

    def wait(self, timeout: int) -> None:
        pass

    def result(self) -> Optional[List[Any]]:
        """The groups, or None at the end."""
        if isinstance(self._told, BaseException):
            raise self._told
        return self._told

    def _tell(self, told: Any) -> None:
        self._told = told
        self.done = True
        if self._function is not None:
            self._function()

    def _watch(self, function: Callable[[], Any], in_this_context: bool) -> None:
        if in_this_context:
            # Not at the top, since that module imports this one.
            from . import _native

            function = functools.partial(_native._invoke, _native._ref_context(), function)
        # Another thread may tell meanwhile: being told twice does no harm.
        self._function = function
        if self.done:
            function()


async def next_changes(watch: Any) -> List[Any]:
    """The next list of an asynchronous iteration over a watch."""
    step = watch._step
    if step is None:
        step = watch._step = Step(watch)
    elif step.waited:
        raise RuntimeError("the watch is awaited already")
    step.waited = True
    try:
        await step
    finally:
        # A wait that was cancelled is taken up again by the next one, so that nothing is lost.
        step.waited = False
    watch._step = None
    groups = step.result()
    if groups is None:
        raise StopAsyncIteration
    return groups
