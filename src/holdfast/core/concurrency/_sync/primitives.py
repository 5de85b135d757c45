"""Events, mutexes and semaphores for threads. Hand-written twin of `_async/primitives.py`."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from .. import semaphore
from ..semaphore import lock_timeout

Semaphore = semaphore.Semaphore
Mutex = semaphore.Mutex
sleep = time.sleep


class Event:
    """A flag that any thread may set and wait for.

    It is no `threading.Event`: when an exception interrupts a thread that waits for one, the lock
    in it may stay acquired, and the next thread that sets the event hangs.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._waiters: list[threading.Lock] = []  # each acquired until its thread is to wake

    def set(self) -> None:
        """Set the flag."""
        self._is_set = True
        for waiter in list(self._waiters):
            with suppress(RuntimeError):  # it was released before
                waiter.release()

    def set_from_handler(self) -> None:
        """Set the flag from a signal handler."""
        self.set()

    def clear(self) -> None:
        """Clear the flag."""
        self._is_set = False

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is set, at most *timeout_s* (None: no limit).

        Returns:
            Whether the flag is set.
        """
        if self._is_set:
            return True
        woken = threading.Lock()
        woken.acquire()
        self._waiters.append(woken)  # before the check below: `set` does both in reverse order
        try:
            if not self._is_set:
                woken.acquire(timeout=lock_timeout(timeout_s))
        finally:
            self._waiters.remove(woken)
        return self._is_set


class AutoResetEvent:
    """A flag for one waiter. The end of the wait clears it. It costs half as much as an `Event`."""

    __slots__ = ("_cleared",)

    def __init__(self) -> None:
        self._cleared = threading.Lock()  # held as long as the flag is not set
        self._cleared.acquire()

    def set(self) -> None:
        """Set the flag."""
        with suppress(RuntimeError):  # it is set
            self._cleared.release()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is set, at most *timeout_s* (None: no limit), and clear it."""
        return self._cleared.acquire(timeout=lock_timeout(timeout_s))
