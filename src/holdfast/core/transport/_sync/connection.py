"""The way of one kind of call to one server, for threads. Hand-written twin of `_async.py`."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import Final
from weakref import ref

from ...concurrency.interruption import raise_interruption
from ..barrier import DurabilityBarrier
from ..outcome import Lost, Outcome, Replied, Unsent, outcome_of, outcome_of_all, unsafe
from ..redispy import BROKEN
from ..request import Request
from ..settings import Address, Settings
from .stream import PlainStream, Stream, open_stream

_TOGETHER: Final = 64
"""Requests that travel in one write."""

_FRESH_S: Final = 0.0005
"""A connection used so shortly before is believed to be open: looking costs a tenth of a call."""


class Connection:
    """A connection for each thread that calls, opened when it is first needed.

    With a seal no answer counts without it; requests that are sent together share one.
    """

    def __init__(
        self,
        settings: Settings,
        address: Address,
        *,
        sentinel: bool = False,
        seal: DurabilityBarrier | None = None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._sentinel = sentinel
        self._seal = seal
        self._own = _Own()
        self._wires: dict[int, ref[_Wire]] = {}  # each step on it is atomic, so there is no lock
        self._closed = False

    @property
    def opening(self) -> bool:
        """Whether its connection is on the way: never, who needs it waits for it."""
        return False

    def submit(self, request: Request) -> Outcome:
        """Send one request; its outcome."""
        return self._exchange([request])[0]

    def submit_all(self, requests: Iterable[Request]) -> list[Outcome]:
        """Send requests together, so many at a time; their outcomes."""
        left, outcomes = list(requests), list[Outcome]()
        while left:
            together, left = left[:_TOGETHER], left[_TOGETHER:]
            outcomes += self._exchange(together)
        return outcomes

    def close(self) -> None:
        """Close the connections of all threads; nothing is sent any more."""
        self._closed = True
        for each in list(self._wires.values()):
            wire = each()
            if wire is not None:
                wire.close()

    abort = close

    def _exchange(self, requests: list[Request]) -> list[Outcome]:
        if self._closed:
            reason = self._settings.explained(self._address, "the client was closed")
            return [Unsent(reason)] * len(requests)
        free = self._own.free
        wire = free.pop() if free else self._wire()
        try:
            return wire.exchange(requests)
        finally:
            free.append(wire)
            if self._closed:  # perhaps before it was opened
                wire.close()

    def _wire(self) -> _Wire:
        wire = _Wire(self._settings, self._address, self._sentinel, self._seal)
        self._wires[id(wire)] = ref(wire, partial(self._wires.pop, id(wire)))
        return wire


class _Own(threading.local):
    """The connections of one thread that are not in use.

    One, as a rule. But a signal handler or a finalizer may call while the same thread is in the
    middle of a call: it must not read the other's reply, so it takes another connection.
    """

    def __init__(self) -> None:
        self.free: list[_Wire] = []


class _Wire:
    """The connection of one thread. What breaks it closes it, and the next use opens it anew."""

    def __init__(
        self,
        settings: Settings,
        address: Address,
        sentinel: bool,
        seal: DurabilityBarrier | None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._sentinel = sentinel
        self._seal = seal
        self._stream: Stream | PlainStream | None = None
        self._between = True  # two exchanges, so no reply is outstanding
        self._used_at = 0.0

    def exchange(self, requests: list[Request]) -> list[Outcome]:
        """Send *requests* in one write and answer each with its outcome, in order."""
        try:
            stream = self._open()
        except ConnectionError as error:
            raise_interruption(error)
            return [Unsent(str(error))] * len(requests)
        outcomes: list[Outcome] = []
        seal = self._seal
        self._between = False
        try:
            payloads = [request.payload for request in requests]
            if seal is not None:
                payloads.append(seal.request.payload)
            stream.write(payloads[0] if len(payloads) == 1 else b"".join(payloads))
            until = monotonic() + self._settings.timeout_s
            for request in requests:  # one by one: what came before a loss counts
                if request.replies == 1:
                    outcome = outcome_of(stream.read(until), self._address)
                else:
                    replies = [stream.read(until) for _ in range(request.replies)]
                    outcome = outcome_of_all(replies, self._address, request.marks)
                outcomes.append(outcome)
            if seal is not None:
                problem = unsafe(outcome_of(stream.read(until), self._address), seal)
                if problem:
                    outcomes = _doubted(outcomes, self._lost(problem))
        except Exception as error:  # noqa: BLE001 (a class of the user's may raise anything)
            self.close()
            _raise_interruption(error, stream)
            reason = "" if isinstance(error, TimeoutError) else str(error) or repr(error)
            lost = self._lost(reason)
            if seal is not None:
                outcomes = _doubted(outcomes, lost)
            outcomes += [lost] * (len(requests) - len(outcomes))
        except BaseException:  # interrupted: nobody will read these replies
            self.close()
            raise
        self._used_at = monotonic()
        self._between = True  # last, so that an exchange which was interrupted anywhere is noticed
        return outcomes

    def close(self) -> None:
        """Hang up. Also from another thread."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _lost(self, reason: str) -> Lost:
        return Lost(self._settings.explained(self._address, reason))

    def _open(self) -> Stream | PlainStream:
        """The connection, open as far as can be seen.

        Raises:
            ConnectionError: it cannot be opened.
        """
        stream = self._stream
        if stream is not None:
            if self._between:
                if monotonic() - self._used_at < _FRESH_S:
                    return stream
                try:
                    if not stream.stale():
                        return stream
                except BROKEN as error:
                    _raise_interruption(error, stream)
            self.close()
        stream = self._stream = open_stream(self._settings, self._address, sentinel=self._sentinel)
        return stream


def _raise_interruption(error: Exception, stream: Stream | PlainStream) -> None:
    """Raise what a signal handler or a timeout has raised here, if that is what *error* is."""
    raise_interruption(error)
    if isinstance(stream, Stream) and not isinstance(error, BROKEN):
        raise error


def _doubted(outcomes: list[Outcome], lost: Lost) -> list[Outcome]:
    """What *outcomes* are without their seal."""
    return [lost if isinstance(outcome, Replied) else outcome for outcome in outcomes]
