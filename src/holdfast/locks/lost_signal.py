"""The signal that a lease is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from ..errors.records import logger_of

logger: Final = logger_of("holdfast.locks")


class LostSignal:
    """Set once, by the renewer or by the holder's clock; it then calls its listeners.

    It has no reference to the lease, so the garbage collector can find a forgotten lease.

    Attributes:
        is_set: whether the lease is lost.
    """

    __slots__ = ("_listeners", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._listeners: list[Callable[[], object]] = []

    def set(self) -> None:
        """Report the loss to all listeners. From any thread."""
        self.is_set = True
        while self._listeners:
            try:
                listener = self._listeners.pop(0)
            except IndexError:  # another thread has just called it
                return
            try:
                listener()
            except Exception:  # for example: no thread can be started; call the other listeners
                logger.exception("a callback for the loss of a lease could not be started")

    def add_listener(self, listener: Callable[[], object]) -> None:
        """Call *listener*, which must be quick, at the loss of the lease; at once if it is lost."""
        self._listeners.append(listener)
        if self.is_set:
            self.set()

    def remove_listener(self, listener: Callable[[], object]) -> None:
        """Stop calling *listener*."""
        with contextlib.suppress(ValueError):  # it was already called
            self._listeners.remove(listener)
