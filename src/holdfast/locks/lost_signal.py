"""Notify listeners when a lease is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from ..errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.locks")


class LostSignal:
    """A flag that the renewer or the lease sets when the lease is lost. It calls its listeners.

    It has no reference to the lease, so that a lease without other references is collected.

    Attributes:
        is_set: whether the lease is lost.
    """

    __slots__ = ("_listeners", "is_set")

    def __init__(self) -> None:
        self.is_set: bool = False
        self._listeners: list[Callable[[], object]] = []

    def set(self) -> None:
        """Set the flag and call all listeners. Any thread may call this."""
        self.is_set = True
        while self._listeners:
            try:
                listener = self._listeners.pop(0)
            except IndexError:  # Another thread has called it.
                return
            try:
                listener()
            except Exception:  # For example, no thread can be started. Call the other listeners.
                logger.exception("a callback for the loss of a lease could not be started")

    def add_listener(self, listener: Callable[[], object]) -> None:
        """Call *listener* when the lease is lost; at once if it is lost. It must be quick."""
        self._listeners.append(listener)
        if self.is_set:
            self.set()

    def remove_listener(self, listener: Callable[[], object]) -> None:
        """Stop calling *listener*."""
        with contextlib.suppress(ValueError):  # It was called and removed before.
            self._listeners.remove(listener)
