"""Reset objects in a forked child."""

from __future__ import annotations

import os
from functools import cache
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """An object with state that a forked child must not use."""

    def after_fork(self) -> None:
        """Reset the object. This runs in the child before any other code."""


def register_after_fork(thing: Renewable) -> None:
    """Call `thing.after_fork()` in every forked child, as long as *thing* lives.

    This is cheaper than comparing the process id at each use, which is a system call.
    """
    _inherited().add(thing)


def process_id() -> int:
    """Return the cached id of this process, because `os.getpid` is a system call each time."""
    return _process().id


class _Process:
    """The current process, with its id."""

    def __init__(self) -> None:
        self.after_fork()
        register_after_fork(self)

    def after_fork(self) -> None:
        self.id = os.getpid()


@cache
def _process() -> _Process:
    return _Process()


@cache
def _inherited() -> WeakSet[Renewable]:
    things: WeakSet[Renewable] = WeakSet()

    def after_fork() -> None:
        for thing in list(things):
            thing.after_fork()

    if hasattr(os, "register_at_fork"):  # Platforms without fork do not have it.
        os.register_at_fork(after_in_child=after_fork)
    return things
