# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What stands behind ``await operation`` and ``async for group in read``."""

from __future__ import annotations

import sys
import threading
from typing import Any, Generator

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
