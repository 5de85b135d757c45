"""Ctrl-C and SIGTERM, for as long as a worker runs."""

from __future__ import annotations

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
    signal that the program handles or ignores in a way of its own.

    Args:
        stop: asks for the end; called from the handler.
        hurry: asks for it at once; likewise.
    """
    usual: dict[int, Any] = {}
    received: list[int] = []

    def restore() -> None:
        for number, handler in usual.items():
            if signal.getsignal(number) is handle:  # not if a task has set another one
                signal.signal(number, handler)

    def handle(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            stop()
        else:
            restore()
            hurry()

    try:
        for number in _HANDLED:
            handler = signal.getsignal(number)
            if handler is signal.SIG_DFL or handler is signal.default_int_handler:
                if not _set(number, handle):
                    break
                usual[number] = handler
        yield
    finally:
        restore()
    if len(received) > 1:
        signal.raise_signal(received[1])


def _set(number: int, handler: Callable[[int, FrameType | None], None]) -> bool:
    """Whether *handler* could be set."""
    try:
        signal.signal(number, handler)
    except ValueError:  # not in the main thread
        return False
    return True
