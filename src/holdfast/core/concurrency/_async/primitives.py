"""Events, mutexes and semaphores on asyncio. Hand-written twin of `_sync/primitives.py`."""

from __future__ import annotations

import asyncio
import contextlib

Semaphore = asyncio.Semaphore
Mutex = asyncio.Lock
sleep = asyncio.sleep


class Event:
    """A flag for the tasks of one loop, which any thread may set."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        """Set the flag. Do nothing if its loop is closed."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._event.set()
        else:
            self.set_from_handler()

    def set_from_handler(self) -> None:
        """Set the flag from a signal handler, and wake the loop that the handler interrupts."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._event.set)

    def clear(self) -> None:
        """Clear the flag."""
        self._event.clear()

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._event.is_set()

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is set, at most *timeout_s* (None: no limit).

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
    """A flag for one waiter. The end of the wait clears it."""

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is set, at most *timeout_s* (None: no limit), and clear it."""
        if not await super().wait(timeout_s):
            return False
        self.clear()
        return True
