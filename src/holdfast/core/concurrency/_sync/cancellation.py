"""Run work without cancellation, because threads have none. Twin of `_async/cancellation.py`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from ..detached_thread import detached

Item = TypeVar("Item")


class CancelScope:
    """Does nothing, because a thread cannot be cancelled."""

    __slots__ = ()

    def cancel(self) -> None:
        """Do nothing."""

    def end(self, error: BaseException | None) -> bool:
        """Return False, because the scope has cancelled nothing."""
        del error
        return False


def shielded(outcome: Item) -> Item:
    """Return *outcome*. In blocking code, the argument is the result of work that has ended."""
    return outcome


def run_shielded(function: Callable[..., Item], *args: Any) -> Item:
    """Call *function* in a new thread and wait. If the wait is interrupted, it runs on."""
    done: Future[Item] = detached(function, *args)
    return done.result()


def run_to_completion(work: Callable[[], Item]) -> Item:
    """Run *work* and return its result."""
    return work()


def run_in_background(function: Callable[[], object]) -> None:
    """Run *function* in a new thread, without waiting. Do nothing while the interpreter ends."""
    with suppress(RuntimeError):  # No thread can be started while the interpreter ends.
        detached(function)
