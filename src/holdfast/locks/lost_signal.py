"""How the loss of a lease is told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from ..errors.records import logger_of

logger: Final = logger_of("holdfast.locks")


class Loss:
    """Told once, by the renewer or by the holder's own clock; passes it on to whoever listens.

    It does not know the lease, so that a lease which nobody has any more can be noticed.
    """

    __slots__ = ("_listeners", "told")

    def __init__(self) -> None:
        self.told = False
        self._listeners: list[Callable[[], object]] = []

    def tell(self) -> None:
        """The lease is lost. From any thread."""
        self.told = True
        while self._listeners:
            try:
                listener = self._listeners.pop(0)
            except IndexError:  # another thread tells the same
                return
            try:
                listener()
            except Exception:  # such as: no thread can be started. The others are told all the same
                logger.exception("a callback for the loss of a lease could not be started")

    def heard_by(self, listener: Callable[[], object]) -> None:
        """Call *listener*, which must be quick, when the lease is lost; at once if it is."""
        self._listeners.append(listener)
        if self.told:
            self.tell()

    def unheard_by(self, listener: Callable[[], object]) -> None:
        """Do not call *listener* any more."""
        with contextlib.suppress(ValueError):  # it has been told
            self._listeners.remove(listener)
