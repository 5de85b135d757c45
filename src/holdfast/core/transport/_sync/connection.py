"""Send calls of one kind to one server, over one connection for each thread.

Hand-written twin of `_async/connection.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import Final
from weakref import ref

from ...concurrency.interruption import raise_interruption
from ..barrier import DurabilityBarrier
from ..outcome import Lost, Outcome, Replied, Unsent, missing_durability, outcome_of, outcome_of_all
from ..redispy import BROKEN
from ..rejection import NotOpened
from ..request import Request
from ..settings import Address, Settings
from .stream import PlainStream, Stream, open_stream

_BATCH: Final = 64
"""Largest number of requests that are sent in one write."""

_FRESH_S: Final = 0.0005
"""Seconds after its last use for which a connection counts as open without a check. A check costs a
tenth of a call."""


class Connection:
    """One connection for each thread that makes calls, opened when it is first needed.

    With a barrier, a batch of requests ends with the barrier, and the replies count only after it
    is answered.
    """

    def __init__(
        self,
        settings: Settings,
        address: Address,
        *,
        sentinel: bool = False,
        barrier: DurabilityBarrier | None = None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._sentinel = sentinel
        self._barrier = barrier
        self._own = _Own()
        # Without a lock, because each operation on a dict is atomic.
        self._connections: dict[int, ref[_ThreadConnection]] = {}
        self._renewals = 0
        self._closed = False

    @property
    def opening(self) -> bool:
        """Return False, because each call opens its connection itself."""
        return False

    def submit(self, request: Request) -> Outcome:
        """Send one request, and return its outcome."""
        return self._exchange([request])[0]

    def submit_all(self, requests: Iterable[Request]) -> list[Outcome]:
        """Send requests in batches, and return their outcomes."""
        left, outcomes = list(requests), list[Outcome]()
        while left:
            batch, left = left[:_BATCH], left[_BATCH:]
            outcomes += self._exchange(batch)
        return outcomes

    def renew(self) -> None:
        """Let each thread open its connection again before its next call."""
        self._renewals += 1

    def close(self) -> None:
        """Close the connections of all threads. Nothing is sent after that."""
        self._closed = True
        for each in list(self._connections.values()):
            connection = each()
            if connection is not None:
                connection.close()

    abort = close

    def _exchange(self, requests: list[Request]) -> list[Outcome]:
        if self._closed:
            reason = self._settings.explained(self._address, "the client was closed")
            return [Unsent(reason)] * len(requests)
        free = self._own.free
        connection = free.pop() if free else self._new_connection()
        try:
            connection.renew(self._renewals)
            return connection.exchange(requests)
        finally:
            free.append(connection)
            if self._closed:  # `close` may have run before this connection was opened.
                connection.close()

    def _new_connection(self) -> _ThreadConnection:
        connection = _ThreadConnection(self._settings, self._address, self._sentinel, self._barrier)
        self._connections[id(connection)] = ref(
            connection, partial(self._connections.pop, id(connection))
        )
        return connection


class _Own(threading.local):
    """The connections of one thread that are not in use.

    Usually a thread has one connection. A signal handler or a finalizer may make a call in the
    middle of another call of the thread. It uses another connection, because it must not read the
    reply to the interrupted call.
    """

    def __init__(self) -> None:
        self.free: list[_ThreadConnection] = []


class _ThreadConnection:
    """The connection of one thread. An error closes it, and the next use opens it again."""

    def __init__(
        self,
        settings: Settings,
        address: Address,
        sentinel: bool,
        barrier: DurabilityBarrier | None,
    ) -> None:
        self._settings = settings
        self._address = address
        self._sentinel = sentinel
        self._barrier = barrier
        self._stream: Stream | PlainStream | None = None
        self._consistent = True  # False during an exchange, and after one that was interrupted
        self._used_at = 0.0
        self._renewals = 0

    def renew(self, renewals: int) -> None:
        """Close the connection if *renewals* has grown. The next exchange opens it again."""
        if self._renewals != renewals:
            self.close()
            self._renewals = renewals

    def exchange(self, requests: list[Request]) -> list[Outcome]:
        """Send *requests* in one write, and return their outcomes in order."""
        try:
            stream = self._open()
        except NotOpened as error:
            raise_interruption(error)
            return [Unsent(str(error), error.rejection, error.remedy)] * len(requests)
        outcomes: list[Outcome] = []
        barrier = self._barrier
        self._consistent = False
        try:
            payloads = [request.payload for request in requests]
            if barrier is not None:
                payloads.append(barrier.request.payload)
            stream.write(payloads[0] if len(payloads) == 1 else b"".join(payloads))
            until = monotonic() + self._settings.timeout_s
            for request in requests:  # If the connection breaks, the replies read so far count.
                if request.replies == 1:
                    outcome = outcome_of(stream.read(until), self._address)
                else:
                    replies = [stream.read(until) for _ in range(request.replies)]
                    outcome = outcome_of_all(replies, self._address, request.marks)
                outcomes.append(outcome)
            if barrier is not None:
                problem = missing_durability(outcome_of(stream.read(until), self._address), barrier)
                if problem:
                    outcomes = _unconfirmed(outcomes, self._lost(problem))
        except Exception as error:  # noqa: BLE001 (the user's class may raise anything)
            self.close()
            _raise_interruption(error, stream)
            reason = "" if isinstance(error, TimeoutError) else str(error) or repr(error)
            lost = self._lost(reason)
            if barrier is not None:
                outcomes = _unconfirmed(outcomes, lost)
            outcomes += [lost] * (len(requests) - len(outcomes))
        except BaseException:  # Interrupted: the next call must not read these replies.
            self.close()
            raise
        self._used_at = monotonic()
        self._consistent = True  # The last change, so that each interrupted exchange is detected.
        return outcomes

    def close(self) -> None:
        """Close the connection. Any thread may call this."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _lost(self, reason: str) -> Lost:
        return Lost(self._settings.explained(self._address, reason))

    def _open(self) -> Stream | PlainStream:
        """Return the stream if it still seems to be open; otherwise open a new one.

        Raises:
            NotOpened: a new stream cannot be opened.
        """
        stream = self._stream
        if stream is not None:
            if self._consistent:
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
    """Raise *error* again if a signal handler or a timeout has raised it."""
    raise_interruption(error)
    if isinstance(stream, Stream) and not isinstance(error, BROKEN):
        raise error


def _unconfirmed(outcomes: list[Outcome], lost: Lost) -> list[Outcome]:
    """Return *outcomes* with each reply replaced by *lost*, because the barrier failed."""
    return [lost if isinstance(outcome, Replied) else outcome for outcome in outcomes]
