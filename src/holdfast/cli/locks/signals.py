"""Signals that `holdfast locks run` gets and that are meant for its command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, Self

from .codes import SIGNALLED

PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to all of its foreground: the command has them already."""


class Signals:
    """Before there is a command a signal ends the wait for the lock; then the command gets it.

    Those that were ignored from the beginning, as by nohup(1), stay so.
    """

    def __init__(self) -> None:
        self._waiting = True
        self._early: list[int] = []
        self._target: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in PASSED_ON:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._come)
        return self

    def __exit__(self, *ended: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def keep(self) -> None:
        """From now on a signal waits for the command: the lock is there, and must be given back."""
        self._waiting = False

    @contextlib.contextmanager
    def passed_on(self, target: int) -> Iterator[None]:
        """While the context lasts, *target* gets them: a process, or (negative) a group."""
        self._target = target
        for number in self._early:
            self._pass_on(number)
        try:
            yield
        finally:
            self._target = None

    def _come(self, number: int, _frame: FrameType | None) -> None:
        if self._waiting:
            self._waiting = False
            sys.exit(SIGNALLED + number)
        if self._target is None:
            self._early.append(number)
        else:
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        target = self._target
        if target is not None and not (target > 0 and number in FROM_TERMINAL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, number)
