"""Handles Ctrl-C and SIGTERM while a worker runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from ...core.concurrency.interruption import raise_interruption

_HANDLED: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(stop: Callable[[], None], hurry: Callable[[], None]) -> Iterator[None]:
    """Call *stop* on the first signal within the block, and *hurry* on the second one.

    The second signal also restores the default handlers, so a third one is not caught. When the
    block has ended, the second signal takes its usual effect: `KeyboardInterrupt` or the end of the
    process.

    This does nothing in these cases:

    - outside of the main thread, because other threads must not set handlers
    - for a signal that the program itself handles or ignores
    - in a child process that is forked within the block

    Args:
        stop: asks the worker to stop; called from the handler.
        hurry: asks the worker to stop at once; called from the handler.
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
    """The handler of both signals, in the process that made it.

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
        if os.getpid() != self._owner:  # a forked child has inherited this handler
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
        """Handle the signals that have their default handler."""
        for number in _HANDLED:
            usual = signal.getsignal(number)
            if usual is signal.SIG_DFL or usual is signal.default_int_handler:
                try:
                    signal.signal(number, self)
                except ValueError as error:  # not in the main thread
                    raise_interruption(error)
                    return
                self._usual[number] = usual

    def restore(self) -> None:
        """Restore the default handlers, except where a task has set another one."""
        for number, usual in self._usual.items():
            if signal.getsignal(number) is self:
                signal.signal(number, usual)
