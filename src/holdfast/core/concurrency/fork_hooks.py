"""Objects that reset themselves in a forked child."""

from __future__ import annotations

import os
from functools import cache
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """What a child inherits in an unfinished state."""

    def after_fork(self) -> None:
        """Forget what belongs to the parent. Called before anything else runs in the child."""


def register_after_fork(thing: Renewable) -> None:
    """Call `thing.after_fork()` in every forked child, as long as *thing* lives.

    So it need not ask at every turn which process it is in: that is a system call.
    """
    _inherited().add(thing)


def process_id() -> int:
    """Return the id of this process, read once: `os.getpid` is a system call each time."""
    return _process().id


class _Process:
    """The one that this code runs in."""

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

    if hasattr(os, "register_at_fork"):  # not on platforms without fork
        os.register_at_fork(after_in_child=after_fork)
    return things
