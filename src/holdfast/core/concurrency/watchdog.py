"""Watch an event loop from another thread, and report which code blocks it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from traceback import extract_stack, walk_stack
from types import FrameType
from typing import Final

from .loop_thread import LoopThread
from .thread_frames import frame_of

_CHECKS: Final = 4
"""Number of checks per time limit. A report comes at most a quarter of the limit too late."""


@dataclass(frozen=True, slots=True)
class Blockage:
    """A blocked event loop.

    Attributes:
        task: name of the asyncio task that is running. Empty: no task is running, or the task only
            waits for a new thread to start, because yet another thread holds the interpreter lock.
        where: file, line and function that the thread of the loop executes.
        seconds: how long the loop has been blocked.
    """

    task: str
    where: str
    seconds: float


class Watchdog:
    """Reports if one turn of the current event loop takes too long.

    Args:
        limit_s: longest duration of a turn, in seconds.
        blocked: called once during each longer turn. It runs in another thread and must be quick.
    """

    def __init__(self, limit_s: float, blocked: Callable[[Blockage], None]) -> None:
        self._limit_s = limit_s
        self._blocked = blocked
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._asked_at: float | None = None
        self._reported = False
        self._thread = LoopThread.enter()
        self._watching = self._thread.submit(self._watch())

    @property
    def lag_s(self) -> float:
        """Return for how many seconds the loop has not answered a check; 0 if it has answered.

        Any thread may call this.
        """
        asked_at = self._asked_at
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    def close(self) -> None:
        """Stop watching."""
        self._watching.cancel()
        self._thread.leave()

    async def _watch(self) -> None:
        while not self._loop.is_closed():
            asked_at, now = self._asked_at, time.monotonic()
            if asked_at is None:
                self._reported = False
                self._asked_at = now
                with contextlib.suppress(RuntimeError):  # The loop was closed after the check.
                    self._loop.call_soon_threadsafe(self._turned)
            elif not self._reported and now - asked_at >= self._limit_s:
                self._reported = True
                self._report(now - asked_at)
            await asyncio.sleep(self._limit_s / _CHECKS)

    def _turned(self) -> None:
        self._asked_at = None

    def _report(self, seconds: float) -> None:
        task = asyncio.current_task(self._loop)
        frame = frame_of(self._thread_id)
        name = task.get_name() if task is not None and not _starts_thread(frame) else ""
        self._blocked(Blockage(name, _where(frame), seconds))


def _starts_thread(frame: FrameType | None) -> bool:
    """Return whether *frame* is inside `threading.Thread.start`, which waits for the new thread."""
    stack = walk_stack(frame) if frame is not None else ()
    return any(each.f_code is threading.Thread.start.__code__ for each, _ in stack)


def _where(frame: FrameType | None) -> str:
    if frame is None:
        return "an unknown place"
    [place] = extract_stack(frame, limit=1)
    return f"{place.filename}:{place.lineno} in {place.name}"
