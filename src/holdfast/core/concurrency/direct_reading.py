"""Let a waiting thread read the messages of a pub/sub connection itself.

Usually the loop thread reads a connection, and then wakes the thread that the message is for. These
two thread switches cost more than the message. So a thread that is the only one in its process to
wait reads the socket itself, in place of the loop: a *loan*. The loop gets the socket back as soon
as a second thread waits, or if no thread has read for some seconds.

Source: D. Schmidt and others, "Leader/Followers" (Pattern Languages of Program Design 4, 2000).
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ..clock import Deadline
from ._sync.primitives import AutoResetEvent, Event

_LONE_WAITS: Final = 4
"""Number of waits without another waiting thread after which the loop lends the connection."""

_LENDING_S: Final = 0.05
"""Longest time in seconds that a thread waits for the loop to lend the connection. Then the thread
waits for its event without a loan."""

_LONGEST_POLL_S: Final = 0.5
"""Longest time in seconds after which a reading thread increases `_Loan.turns`, which shows that it
still reads. `DirectReading.check`, which looks at this number, is called less often."""

_UNUSED_CHECKS: Final = 5
"""Number of checks in which no thread has read, after which the loop takes the connection back.

If a thread still seems to read, an exception has interrupted it where it could not end the loan.
"""

_CHUNK: Final = 65536


class Lender(Protocol):
    """A connection that runs in an event loop and can lend its socket to a thread."""

    def lend(self) -> socket.socket | None:
        """Stop reading, and return a duplicate of the socket; None if that is not possible."""

    def resume(self) -> None:
        """Let the loop read the socket again, after `lend`."""

    def abort(self) -> None:
        """Close the connection at once."""

    def receive_in_thread(self, data: bytes) -> None:
        """Process *data*, the next bytes of the socket.

        Raises:
            ConnectionError: there are no bytes, or they do not follow the protocol.
        """

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Call *function* soon in the loop, unless that has ended."""


class DirectReading:
    """Decides what reads a connection: the loop, or the only waiting thread.

    Args:
        lender: the connection.
    """

    def __init__(self, lender: Lender) -> None:
        self._lender = lender
        self._waiting: set[AutoResetEvent] = set()
        self._lone_waits = 0
        self._loan: _Loan | None = None
        self._lent: Event | None = None  # set when the loop has answered the request for a loan
        self._turns = 0
        self._checks = 0

    def wait(self, event: AutoResetEvent, timeout_s: float | None) -> bool:
        """Wait until *event* is set, but at most *timeout_s* seconds. Any thread may call this.

        Returns:
            Whether the event was set.
        """
        deadline = Deadline(timeout_s)
        lent, self._lent = self._lent, None
        if lent is not None:
            lent.wait(min(_LENDING_S, deadline.left_s()))
        try:
            self._waiting.add(event)
            loan = self._loan
            if len(self._waiting) > 1:
                self._lone_waits = 0
                if loan is not None:
                    self._lender.call_soon(self.take_back)
            elif loan is not None:
                if loan.wait(event, deadline):
                    return True
            else:
                self._lone_waits += 1
            return event.wait(deadline.left_s())
        finally:
            self._waiting.discard(event)
            if self._lone_waits >= _LONE_WAITS:
                self._lone_waits = 0
                lent = self._lent = Event()
                self._lender.call_soon(self._lend, lent)

    def check(self) -> None:
        """Take the connection back if no thread reads it. Call this every second in the loop."""
        loan = self._loan
        if loan is None:
            return
        self._checks = 0 if loan.turns != self._turns else self._checks + 1
        self._turns = loan.turns
        if self._checks >= _UNUSED_CHECKS:
            self.take_back(by_force=True)

    def take_back(self, *, by_force: bool = False) -> None:
        """Let the loop read again, as soon as no thread reads. Call this in the loop.

        Args:
            by_force: whether to abort the connection if a thread still reads.
        """
        loan, self._loan = self._loan, None
        self._lone_waits = self._checks = 0
        if loan is not None:
            loan.end(by_force=by_force)

    def _lend(self, answered: Event) -> None:
        if self._loan is None:
            with contextlib.suppress(OSError):  # Too many files are open: the loop reads on.
                self._loan = self._new_loan()
        if self._loan is not None and self._waiting and not self._loan.is_read:
            self.take_back()  # The thread began to wait before the loan, so it does not read.
        answered.set()

    def _new_loan(self) -> _Loan | None:
        lent = self._lender.lend()
        if lent is None:
            return None
        try:
            return _Loan(lent, self._lender)
        except OSError:
            lent.close()
            self._lender.resume()
            raise


class _Loan:
    """One loan of a socket. One thread at a time reads it.

    Args:
        lent: the socket.
        lender: the connection.

    Attributes:
        turns: a number that the reading thread increases, to show that it still reads.
    """

    def __init__(self, lent: socket.socket, lender: Lender) -> None:
        self.turns = 0
        self._socket = lent
        self._lender = lender
        self._woken, self._wakes = socket.socketpair()
        self._woken.setblocking(False)
        self._wakes.setblocking(False)
        self._arrivals = select.poll()
        self._arrivals.register(lent, select.POLLIN)
        self._arrivals.register(self._woken, select.POLLIN)
        self._reading = threading.Lock()  # acquired while a thread reads, and after the end
        self._is_polling = False
        self._is_whole = True  # whether all bytes that were read were processed
        self._has_ended = False

    @property
    def is_read(self) -> bool:
        """Return whether a thread reads the socket."""
        return self._reading.locked() and self._socket.fileno() != -1

    def wait(self, event: AutoResetEvent, deadline: Deadline) -> bool:
        """Read messages until *event* is set. Return False at the deadline or at the loan's end."""
        if not self._reading.acquire(blocking=False):
            return False
        try:
            event.on_set = self.wake
            while not self._has_ended:
                self._is_polling = True  # Before the check, so that `wake` misses no wait.
                if event.take():
                    return True
                left_s = deadline.left_s()
                if not left_s:
                    return False
                found = self._arrivals.poll(min(left_s, _LONGEST_POLL_S) * 1000)
                self._is_polling = False
                self._process(found)
            return False
        finally:
            event.on_set = None
            self._is_polling = False
            self._reading.release()
            if self._has_ended or not self._is_whole:
                self.end()

    def wake(self) -> None:
        """Wake the thread that reads the socket, if it waits for bytes. Any thread may call this.

        The thread then checks whether its event is set, and whether the loan has ended.
        """
        if self._is_polling:
            with contextlib.suppress(OSError):  # Many bytes wait already, or the loan has ended.
                self._wakes.send(b"!")

    def end(self, *, by_force: bool = False) -> None:
        """End the loan now, or as soon as the thread that reads leaves. Any thread may call this.

        Args:
            by_force: whether to end it now and abort the connection, even if a thread reads.
        """
        self._has_ended = True
        is_free = self._reading.acquire(blocking=False)
        if not is_free and not by_force:
            self.wake()  # Then the thread that reads calls this again.
            return
        for each in (self._socket, self._woken, self._wakes):
            each.close()
        is_usable = is_free and self._is_whole
        self._lender.call_soon(self._lender.resume if is_usable else self._lender.abort)

    def _process(self, found: Sequence[tuple[int, int]]) -> None:
        self.turns += 1
        for descriptor, _ in found:
            if descriptor == self._woken.fileno():
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(_CHUNK)
            else:
                self._receive()

    def _receive(self) -> None:
        self._is_whole = False
        try:
            data = self._socket.recv(_CHUNK, socket.MSG_DONTWAIT)
            self._lender.receive_in_thread(data)
            self._is_whole = True
        except BlockingIOError:
            self._is_whole = True
        except OSError:  # The connection broke, or its bytes do not follow the protocol.
            self._has_ended = True
