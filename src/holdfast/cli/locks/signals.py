"""Signals that `holdfast locks run` receives and passes on to its command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, Self

from ..exit_codes import SIGNALLED

FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to its whole foreground group, so the command has them already."""


class SignalForwarder:
    """Ends the wait for the lock on a signal; passes signals on once the command runs.

    Signals that were ignored from the beginning, as by nohup(1), stay ignored.
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
        """Keep signals for the command from now on: the lock is held and must be released."""
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
