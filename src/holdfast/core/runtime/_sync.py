"""Waiting, exclusion and batching on threads. Hand-written twin of `_async.py`."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from .detached import detached

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

sleep = time.sleep
Gate = threading.Semaphore
Mutex = threading.RLock  # a signal handler may come to what its own thread holds


class Local(Generic[Item]):
    """One thing for each process that asks for it, which must not be used in a forked child.

    Args:
        make: makes one.
    """

    def __init__(self, make: Callable[[], Item]) -> None:
        self._make = make
        self._things: dict[int, Item] = {}  # of its parents too: letting go might do them harm

    def here(self) -> Item:
        """That of this process."""
        pid = os.getpid()
        thing = self._things.get(pid)
        return self._things.setdefault(pid, self._make()) if thing is None else thing

    def taken(self) -> Item | None:
        """That of this process, if there is one; the next to ask gets another."""
        return self._things.pop(os.getpid(), None)

    def dismiss(self, let_go: Callable[[Item], object]) -> bool:
        """Take that of this process, if there is one, and *let_go* of it; whether there was one."""
        thing = self.taken()
        if thing is not None:
            let_go(thing)
        return thing is not None


class Event:
    """A flag that any thread may raise and wait for."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Raise the flag."""
        self._event.set()

    def set_from_handler(self) -> None:
        """Raise the flag from a signal handler."""
        self._event.set()

    def clear(self) -> None:
        """Lower the flag."""
        self._event.clear()

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._event.is_set()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is up, at most *timeout_s* (None: for ever). True when it is."""
        if timeout_s is not None:  # some centuries at most, or the wait would overflow
            timeout_s = min(timeout_s, threading.TIMEOUT_MAX)
        return self._event.wait(timeout_s)


class Nudge:
    """A flag for one who waits, which the end of the wait lowers. Half the price of an `Event`."""

    __slots__ = ("_lowered",)

    def __init__(self) -> None:
        self._lowered = threading.Lock()  # held as long as the flag is down
        self._lowered.acquire()

    def set(self) -> None:
        """Raise the flag."""
        with suppress(RuntimeError):  # it is up
            self._lowered.release()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is up, at most *timeout_s* (None: for ever), and lower it."""
        return self._lowered.acquire(timeout=-1 if timeout_s is None else timeout_s)


class Aside:
    """Runs callbacks of the user where they disturb nobody: each in a thread of its own."""

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. From any thread."""
        threading.Thread(target=function, name="holdfast callback", daemon=True).start()


class Revocation:
    """Would cancel what a thread does; nobody can."""

    __slots__ = ()

    def revoke(self) -> None:
        """Nothing: it has to look by itself."""

    def end(self, error: BaseException | None) -> bool:
        """Never was it revoked."""
        del error
        return False


Guard = threading.Lock


class Beside(Generic[Item]):
    """Work that goes on in a thread of its own, while the caller does something else."""

    def __init__(self, work: Callable[..., Item], *args: Any) -> None:
        self._future: Future[Item] = detached(work, *args)

    def outcome(self) -> Item:
        """Wait for its end; what it returns, or raises."""
        return self._future.result()

    def end(self) -> None:
        """Wait for its end, whatever comes of it: nobody cancels a thread."""
        self._future.exception()


def seen_through(outcome: Item) -> Item:
    """The outcome of work that was done to its end: nobody cancels a thread."""
    return outcome


def in_full(work: Callable[[], Item]) -> Item:
    """Do *work*: a thread cannot be cancelled."""
    return work()


def at_construction(check: Callable[[], None]) -> None:
    """Make a *check* that asks the server, where nothing has to be awaited for it: here."""
    check()


def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function*: here, in this thread."""
    return function(*args)


def in_time(seconds: float, function: Callable[..., Any], *args: Any, left: set[Any]) -> Any:
    """What a *function* of the user's returns, if it does so in time.

    It runs in a thread of its own, which is left to itself when the time is over.

    Args:
        seconds: which it has.
        function: the user's.
        args: its arguments.
        left: holds one thing for each call that was left to itself, until that has ended.

    Raises:
        TimeoutError: it takes longer.
    """
    outcome = detached(function, *args)
    try:
        return outcome.result(seconds)
    finally:
        if not outcome.done():
            left.add(outcome)
            outcome.add_done_callback(left.discard)


def runs_here(function: Callable[..., Any]) -> bool:
    """Whether `in_time` can run *function*: here, if it is not async."""
    return callable(function) and not inspect.iscoroutinefunction(function)
