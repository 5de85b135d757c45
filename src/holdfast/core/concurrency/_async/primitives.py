"""Provide events, mutexes and semaphores for asyncio. Twin of `_sync/primitives.py`."""

from __future__ import annotations

import asyncio
import contextlib

LocalSemaphore = asyncio.Semaphore
Mutex = asyncio.Lock
sleep = asyncio.sleep


class Event:
    """A flag for which the tasks of one loop wait. Any thread may set it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        """Set the flag. Any thread may call this. Do nothing if the loop is closed."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._event.set()
        else:
            self.set_from_handler()

    def set_from_handler(self) -> None:
        """Set the flag, and wake the loop even if a signal handler calls this while it sleeps."""
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(self._event.set)

    def clear(self) -> None:
        """Clear the flag."""
        self._event.clear()

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._event.is_set()

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is set, but at most *timeout_s* seconds (None: no limit).

        Returns:
            Whether the flag is set.
        """
        if self._event.is_set():
            return True
        try:
            async with asyncio.timeout(timeout_s):
                return await self._event.wait()
        except TimeoutError:
            return self._event.is_set()


class AutoResetEvent(Event):
    """A flag for one waiter. `wait` clears the flag."""

    async def wait(self, timeout_s: float | None, wait: object = None) -> bool:
        """Wait until the flag is set, but at most *timeout_s* seconds (None: no limit). Clear it.

        Args:
            timeout_s: the longest wait in seconds.
            wait: unused here; in the blocking twin, a function that waits in place of the flag.

        Returns:
            Whether the flag was set.
        """
        del wait
        if not await super().wait(timeout_s):
            return False
        self.clear()
        return True
