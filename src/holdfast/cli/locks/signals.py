"""Pass the signals that `holdfast locks run` receives on to its command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, Self

from ..exit_codes import SIGNALLED

FORWARDED: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)  # Windows has two of them
)

FROM_TERMINAL: Final = tuple(number for number in FORWARDED if number.name in ("SIGINT", "SIGQUIT"))
"""Signals that a terminal sends to its whole foreground group, and so also to the command."""


class SignalForwarder:
    """Ends the wait for the lock at a signal. Passes signals on while the command runs.

    A signal that was ignored at the start, for example by nohup(1), stays ignored.
    """

    def __init__(self) -> None:
        self._waiting = True
        self._early: list[int] = []
        self._target: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *ended: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def keep_for_child(self) -> None:
        """Store signals for the command from now on. They no longer end this process."""
        self._waiting = False

    @contextlib.contextmanager
    def forwarded_to(self, target: int) -> Iterator[None]:
        """Pass signals on to *target* within the context: a process, or (negative) a group."""
        self._target = target
        for number in self._early:
            self._forward(number)
        try:
            yield
        finally:
            self._target = None

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._waiting:
            self._waiting = False
            sys.exit(SIGNALLED + number)
        if self._target is None:
            self._early.append(number)
        else:
            self._forward(number)

    def _forward(self, number: int) -> None:
        target = self._target
        if target is not None and not (target > 0 and number in FROM_TERMINAL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, number)
