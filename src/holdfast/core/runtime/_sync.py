"""Waiting, exclusion and batching on threads. Hand-written twin of `_async.py`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

sleep = time.sleep
Mutex = threading.Lock


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """No limit of its own: in the blocking half the timeouts of the socket end a body."""
    del seconds
    return nullcontext()


def notice() -> None:
    """Nothing to do: sockets are asked directly."""


def place() -> object:
    """Where this code runs: things tied to another process must not be used here."""
    return os.getpid()


def is_over(place: object) -> bool:
    """Never: this process goes on, and another one's places are not ours to end."""
    del place
    return False


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
        return self._event.wait(timeout_s)


class Slot(threading.local, Generic[Item]):
    """A place for one value: each thread has its own."""

    value: Item | None = None


class Batcher(Generic[Item, Outcome]):
    """Runs what is submitted at once, in the thread that submits it."""

    def __init__(
        self,
        run: Callable[[list[Item]], list[Outcome]],
        limit: int,
        patience_s: float,
        expired: Outcome,
    ) -> None:
        del limit, patience_s, expired  # nothing ever waits
        self._run = run

    def submit(self, item: Item) -> Outcome:
        """The outcome of *item*."""
        return self._run([item])[0]

    def settle(self) -> None:
        """Nothing is ever under way that its own thread does not wait for."""


def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function*: here, in this thread."""
    return function(*args)
