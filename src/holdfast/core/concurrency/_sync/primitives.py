"""Provide events, mutexes and semaphores for threads. Twin of `_async/primitives.py`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .. import semaphore
from ..semaphore import lock_timeout

LocalSemaphore = semaphore.LocalSemaphore
Mutex = semaphore.Mutex
sleep = time.sleep


class Event:
    """A flag that any thread may set and wait for.

    This is no `threading.Event`, because if an exception interrupts a thread that waits for one,
    its lock may stay acquired, and the next thread that sets the event hangs.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._waiters: list[threading.Lock] = []  # one for each waiting thread; released to wake it

    def set(self) -> None:
        """Set the flag."""
        self._is_set = True
        for waiter in list(self._waiters):
            with suppress(RuntimeError):  # It was released before.
                waiter.release()

    def set_from_handler(self) -> None:
        """Set the flag. A signal handler may call this."""
        self.set()

    def clear(self) -> None:
        """Clear the flag."""
        self._is_set = False

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is set, but at most *timeout_s* seconds (None: no limit).

        Returns:
            Whether the flag is set.
        """
        if self._is_set:
            return True
        woken = threading.Lock()
        woken.acquire()
        # Append before the check: `set` sets the flag before it reads the list, so one of them sees
        # the change of the other.
        self._waiters.append(woken)
        try:
            if not self._is_set:
                woken.acquire(timeout=lock_timeout(timeout_s))
        finally:
            self._waiters.remove(woken)
        return self._is_set


class AutoResetEvent:
    """A flag for one waiter, which `wait` clears. It is twice as fast as an `Event`.

    Attributes:
        on_set: called after the flag was set; None: nothing.
    """

    __slots__ = ("_cleared", "on_set")

    def __init__(self) -> None:
        self._cleared = threading.Lock()  # acquired while the flag is not set
        self._cleared.acquire()
        self.on_set: Callable[[], object] | None = None

    def set(self) -> None:
        """Set the flag."""
        with suppress(RuntimeError):  # The flag is set already.
            self._cleared.release()
        on_set = self.on_set
        if on_set is not None:
            on_set()

    def take(self) -> bool:
        """Clear the flag. Return whether it was set."""
        return self._cleared.acquire(blocking=False)

    def wait(
        self,
        timeout_s: float | None,
        wait: Callable[[AutoResetEvent, float | None], bool] | None = None,
    ) -> bool:
        """Wait until the flag is set, but at most *timeout_s* seconds (None: no limit). Clear it.

        Args:
            timeout_s: the longest wait in seconds.
            wait: waits in place of the flag, and gets the same arguments.

        Returns:
            Whether the flag was set.
        """
        if wait is not None:
            return wait(self, timeout_s)
        return self._cleared.acquire(timeout=lock_timeout(timeout_s))
