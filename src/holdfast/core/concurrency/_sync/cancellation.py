"""The blocking twin of `_async/cancellation.py`: no caller can cancel a thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from ..detached_thread import detached

Item = TypeVar("Item")


class CancelScope:
    """Cancels nothing: the thread has to check by itself."""

    __slots__ = ()

    def cancel(self) -> None:
        """Do nothing."""

    def end(self, error: BaseException | None) -> bool:
        """Return False: the scope cancelled nothing."""
        del error
        return False


def shielded(outcome: Item) -> Item:
    """Return *outcome*, of work that has ended by now."""
    return outcome


def run_shielded(function: Callable[..., Item], *args: Any) -> Item:
    """Run *function* in a thread of its own: it ends even if an exception interrupts the caller."""
    done: Future[Item] = detached(function, *args)
    return done.result()


def run_to_completion(work: Callable[[], Item]) -> Item:
    """Run *work*."""
    return work()


def run_in_background(function: Callable[[], object]) -> None:
    """Run *function* in a thread of its own, and do not wait for it."""
    with suppress(RuntimeError):  # the interpreter is shutting down
        detached(function)
