"""Waiting, exclusion and batching on threads. Hand-written twin of `_async.py`."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from ..detached_thread import detached
from ..semaphore import Mutex as ThreadMutex
from ..semaphore import Semaphore, lock_timeout

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

sleep = time.sleep
Gate = Semaphore
Mutex = ThreadMutex


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
    """A flag that any thread may raise and wait for.

    Not a `threading.Event`: when an exception interrupts a thread that waits for one, its lock may
    stay acquired, and the next thread that sets it hangs.
    """

    def __init__(self) -> None:
        self._up = False
        self._waiting: list[threading.Lock] = []  # each acquired until its thread is to be woken

    def set(self) -> None:
        """Raise the flag."""
        self._up = True
        for waiting in list(self._waiting):
            with suppress(RuntimeError):  # it was woken before
                waiting.release()

    def set_from_handler(self) -> None:
        """Raise the flag from a signal handler."""
        self.set()

    def clear(self) -> None:
        """Lower the flag."""
        self._up = False

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._up

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is up, at most *timeout_s* (None: for ever). True when it is."""
        if self._up:
            return True
        woken = threading.Lock()
        woken.acquire()
        self._waiting.append(woken)  # first this, then the look: `set` does it the other way round
        try:
            if not self._up:
                woken.acquire(timeout=lock_timeout(timeout_s))
        finally:
            self._waiting.remove(woken)
        return self._up


class AutoResetEvent:
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
        return self._lowered.acquire(timeout=lock_timeout(timeout_s))


class CallbackRunner:
    """Runs callbacks of the user where they disturb nobody: each in a thread of its own."""

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. From any thread."""
        threading.Thread(target=function, name="holdfast callback", daemon=True).start()


class CancelScope:
    """Would cancel what a thread does; nobody can."""

    __slots__ = ()

    def revoke(self) -> None:
        """Nothing: it has to look by itself."""

    def end(self, error: BaseException | None) -> bool:
        """Never was it revoked."""
        del error
        return False


class BackgroundTask(Generic[Item]):
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


def shielded(function: Callable[..., Item], *args: Any) -> Item:
    """Return what *function* returns, which also ends if an exception interrupts the caller here.

    It runs in a thread of its own.
    """
    done: Future[Item] = detached(function, *args)
    return done.result()


def afterwards(function: Callable[[], object]) -> None:
    """Run *function* in a thread of its own, and do not wait for it."""
    with suppress(RuntimeError):  # the interpreter ends
        detached(function)


class Block:
    """A context that abandons what it holds when an exception comes in place of its end.

    The `with` statement holds the context through the callable that `BlockEnd` returns, and no
    frame does: a traceback that is kept, as in Jupyter, keeps its frames alive.

    Attributes:
        held: what the block holds.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self) -> None:
        self.held: list[Any] = []

    def __del__(self) -> None:
        for each in getattr(self, "held", ()):
            each.abandon()


class BlockEnd:
    """The `__exit__` of a `Block`: a function of what the block holds, and of the exception."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __get__(self, block: Block | None, owner: type[Block]) -> Callable[..., None]:
        if block is None:  # `ExitStack` asks the class
            return lambda block, *error: self._function(block.held, *error)
        end = partial(self._function, block.held)
        end.block = block  # type: ignore[attr-defined]
        return end


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
