"""Receive the signals of a supervisor, and wake it from its wait."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from collections.abc import Sequence
from types import FrameType
from typing import Any, Final, Self

ENDING: Final = (signal.SIGINT, signal.SIGTERM)


class SignalInbox:
    """Collects SIGINT and SIGTERM. Wakes the wait at each of them, and when a child process ends.

    A signal that was ignored at the start, for example by nohup(1), stays ignored. After two
    signals the original handlers are restored, so that a third signal ends the process.

    Attributes:
        received: the SIGINT and SIGTERM signals so far.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._reads, self._writes = socket.socketpair()
        for end in (self._reads, self._writes):
            end.setblocking(False)
        self._wakeup = signal.set_wakeup_fd(self._writes.fileno(), warn_on_full_buffer=False)
        for number in (*ENDING, signal.SIGCHLD):
            if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore(*self._before)
        signal.set_wakeup_fd(self._wakeup)
        self._reads.close()
        self._writes.close()

    def wake(self) -> None:
        """End the current or next `wait` at once. Call it from any thread."""
        with contextlib.suppress(OSError):
            self._writes.send(b"\0")

    def wait(self, seconds: float, sockets: Sequence[socket.socket]) -> None:
        """Wait for a signal, for `wake`, or for data on one of *sockets*; at most *seconds*."""
        if self._reads in select.select([self._reads, *sockets], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                while self._reads.recv(1024):
                    pass

    def _handle(self, number: int, _: FrameType | None) -> None:
        if number in ENDING:
            self.received.append(number)
            if len(self.received) > 1:
                self._restore(*ENDING)

    def _restore(self, *numbers: int) -> None:
        for number in numbers:
            if number in self._before:
                signal.signal(number, self._before.pop(number))
