"""Watches an event loop from outside, and reports what blocks it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from traceback import extract_stack, walk_stack
from types import FrameType
from typing import Final

from .loop_thread import LoopThread

_LOOKS: Final = 4
"""Looks within the time that a loop is given: a report comes a quarter too late at most."""


@dataclass(frozen=True, slots=True)
class Blockage:
    """An event loop that does not turn.

    Attributes:
        task: name of the asyncio task that is running; empty when none is, and when it only waits
            for a thread to start, as another one does not let go of the interpreter.
        where: file, line and function at which the thread of the loop is.
        seconds: for how long so far.
    """

    task: str
    where: str
    seconds: float


class Watchdog:
    """Reports when the event loop in which it was made has not turned for a while.

    Args:
        limit_s: how long a turn may take.
        blocked: called once for each longer turn, while it lasts. It runs in a thread of its own
            and must be quick.
    """

    def __init__(self, limit_s: float, blocked: Callable[[Blockage], None]) -> None:
        self._limit_s = limit_s
        self._blocked = blocked
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._asked_at: float | None = None
        self._told = False
        self._thread = LoopThread.enter()
        self._watching = self._thread.submit(self._watch())

    def close(self) -> None:
        """Stop watching."""
        self._watching.cancel()
        self._thread.leave()

    async def _watch(self) -> None:
        while not self._loop.is_closed():
            if self._asked_at is None:
                self._told = False
                self._asked_at = time.monotonic()
                with contextlib.suppress(RuntimeError):  # it is closed just now
                    self._loop.call_soon_threadsafe(self._turned)
            elif not self._told and time.monotonic() - self._asked_at >= self._limit_s:
                self._told = True
                self._report(time.monotonic() - self._asked_at)
            await asyncio.sleep(self._limit_s / _LOOKS)

    def _turned(self) -> None:
        self._asked_at = None

    def _report(self, seconds: float) -> None:
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 (documented, in spite of its name)
        name = task.get_name() if task is not None and not _starts_thread(frame) else ""
        self._blocked(Blockage(name, _where(frame), seconds))


def _starts_thread(frame: FrameType | None) -> bool:
    """Return whether a thread is started there, which lasts until the new one runs."""
    stack = walk_stack(frame) if frame is not None else ()
    return any(each.f_code is threading.Thread.start.__code__ for each, _ in stack)


def _where(frame: FrameType | None) -> str:
    if frame is None:
        return "an unknown place"
    [place] = extract_stack(frame, limit=1)
    return f"{place.filename}:{place.lineno} in {place.name}"
