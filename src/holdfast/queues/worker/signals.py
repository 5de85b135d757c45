"""Ctrl-C and SIGTERM, for as long as a worker runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_HANDLED: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(stop: Callable[[], None], hurry: Callable[[], None]) -> Iterator[None]:
    """Within the block the first signal calls *stop*, the second one *hurry*.

    With the second one the signals get their usual meaning back, so a third is not caught; and
    when the block has ended, the second one takes its usual effect after all: `KeyboardInterrupt`
    or the end of the process.

    Outside of the main thread, which alone may set handlers, nothing happens. Nor does it to a
    signal that the program handles or ignores in a way of its own, nor in a child that is forked
    within the block.

    Args:
        stop: asks for the end; called from the handler.
        hurry: asks for it at once; likewise.
    """
    handler = _Handler(stop, hurry)
    try:
        handler.set()
        yield
    finally:
        handler.restore()
    if len(handler.received) > 1:
        signal.raise_signal(handler.received[1])


class _Handler:
    """What the signals call, in the process that made it.

    Attributes:
        received: the signals so far.
    """

    def __init__(self, stop: Callable[[], None], hurry: Callable[[], None]) -> None:
        self.received: list[int] = []
        self._stop = stop
        self._hurry = hurry
        self._owner = os.getpid()
        self._usual: dict[int, Any] = {}

    def __call__(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._owner:  # a child of a task, which has inherited this
            self.restore()
            signal.raise_signal(number)
            return
        self.received.append(number)
        if len(self.received) == 1:
            self._stop()
        else:
            self.restore()
            self._hurry()

    def set(self) -> None:
        """Handle the signals that have their usual meaning."""
        for number in _HANDLED:
            usual = signal.getsignal(number)
            if usual is signal.SIG_DFL or usual is signal.default_int_handler:
                try:
                    signal.signal(number, self)
                except ValueError:  # not in the main thread
                    return
                self._usual[number] = usual

    def restore(self) -> None:
        """Give them their usual meaning back, unless a task has set another one."""
        for number, usual in self._usual.items():
            if signal.getsignal(number) is self:
                signal.signal(number, usual)
