"""Sends the events of the tasks of one queue that run in this worker."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from ...core import ledger
from ...core._async.caller import Argument, AsyncCaller
from ...core.clock import Deadline, backoff_s
from ...core.concurrency._async.background_task import RunningTask, cancel_and_wait, spawn
from ...core.concurrency._async.primitives import Event, sleep
from ...core.concurrency.fork_hooks import process_id
from ...core.concurrency.loop_thread import OwnLoop
from ...core.names import Unit
from ...core.script import Script
from ...errors import (
    DamagedData,
    DecodeError,
    OutcomeUnknown,
    ServerRefused,
    ServerUnavailable,
)
from ...errors.one_line_logger import logger_of
from .. import keys
from ..events.task_event import PROGRESS
from .attempt_events import AttemptEvents
from .claim import Claim
from .event_buffer import EventBuffer

logger: Final = logger_of("holdfast.worker")

EMIT: Final = Script.load("holdfast.queues", "emit")

_PAUSE_S: Final = 0.01
"""Minimum seconds between two calls. Events that are reported meanwhile share the next call."""

_PAUSE_PER_TASK_S: Final = 0.0004
"""Seconds to wait after a call, for each task with events in that call. A task costs the server up
to 30 µs in each call, so the calls take less than a tenth of a processor of the server.
"""

_TASKS: Final = 64
_EVENTS: Final = 1000
_BYTES: Final = 256 << 10
"""Tasks, events, and bytes, in one call at most, so that a script takes a few milliseconds."""

_REFUSED_S: Final = 10.0
"""Seconds after which events that the server refuses are dropped. A task cannot be settled before
its events are stored or dropped.
"""

_MAX_PAUSE_S: Final = 1.0

_NO: Final = ord("0")


@dataclass(slots=True)
class _Parcel:
    """The events of one attempt that one call sends."""

    attempt: AttemptEvents
    buffer: EventBuffer
    events: list[bytes]
    dropped: int
    progress: bytes


class EventSender:
    """Coalesces the events of all attempts of a queue into calls, one after the other.

    A call is repeated under the same number until it is answered, so a lost reply costs nothing.
    The order of the events of an attempt is kept.

    Args:
        caller: sends the calls, on the connection of the steps.
        unit: the queue.
        answer_by: returns until when to wait for replies.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit, answer_by: Callable[[], Deadline]) -> None:
        self._caller = caller
        self._unit = unit
        self._answer_by = answer_by
        self._loop = OwnLoop()
        self._process = process_id()
        self._prefix = keys.events(unit, "").encode()
        self._writer, self._number = ledger.new_writer(), 0
        # Buffers of the claims with events, until settled.
        self._attempts: dict[Claim, EventBuffer] = {}
        self._may_have: set[Claim] = set()  # claims that may have events of earlier attempts
        self._listed: deque[AttemptEvents] = deque()  # attempts with events to send
        self._awake = self._failing = self._closed = False
        self._failure: Exception | None = None
        self._task: RunningTask[None] | None = None
        self._hurry = Event()
        self._answered = Event()  # replaced after each call

    @property
    def is_used(self) -> bool:
        """Return whether a task that is not settled has reported events."""
        return bool(self._attempts)

    @property
    def may_be_stored(self) -> bool:
        """Return whether the server may have events of a task that is not settled."""
        return bool(self._attempts or self._may_have)

    def expect(self, claims: Iterable[Claim]) -> None:
        """Note that the server may have events of *claims*, from earlier attempts."""
        self._may_have.update(claims)

    def add(self, attempt: AttemptEvents, kind: bytes, data: bytes) -> None:
        """Take an event; see `EventSink.add`.

        A plain function waits while its buffer is full. An async function cannot wait here: its
        oldest events are dropped, as the server would drop them.
        """
        buffer = attempt.buffer
        if buffer is None:
            buffer = attempt.buffer = self._attempts.setdefault(attempt.claim, EventBuffer())
        if buffer.is_refused:
            return
        if kind == PROGRESS:
            buffer.set_progress(data)
        buffer.append(kind + data)
        if not buffer.is_listed:
            buffer.is_listed = True
            self._listed.append(attempt)
            if not self._awake:
                self._loop.call_soon(self._wake)
        if buffer.is_full:
            self._make_room(buffer)

    async def wait_for_room(self, attempt: AttemptEvents) -> None:
        """Wait until the buffer of *attempt* is not full, at most about a round trip."""
        until = Deadline(self._caller.settings.timeout_s)
        buffer = attempt.buffer
        while buffer is not None and buffer.is_full and not (self._failing or until.passed):
            self._hurry.set()
            await self._answered.wait(until.left_s())

    async def stored(self, claims: Iterable[Claim]) -> None:
        """Wait until the server has all events of *claims*, or refuses them.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker ends, and its time for replies is over.
        """
        buffers = {claim: self._attempts[claim] for claim in claims if claim in self._attempts}
        while left := [claim for claim, buffer in buffers.items() if not buffer.is_settled]:
            for claim in left:  # a thread may have been interrupted before it listed its events
                self._list(claim, buffers[claim])
            self._wake()
            self._hurry.set()
            answered = self._answered
            if self._failure is not None:
                raise self._failure
            await answered.wait(None)

    def has_events(self, claim: Claim) -> bool:
        """Return whether the server may have events of *claim*."""
        buffer = self._attempts.get(claim)
        return claim in self._may_have or (buffer is not None and buffer.was_sent)

    def forget(self, claim: Claim) -> None:
        """Forget the events of a claim that was settled."""
        self._attempts.pop(claim, None)
        self._may_have.discard(claim)

    async def close(self) -> None:
        """Stop sending."""
        self._closed = True
        if self._task is not None:
            await cancel_and_wait(self._task)

    def _make_room(self, buffer: EventBuffer) -> None:
        """Wait until events were taken; drop the oldest ones if that is not possible here."""
        if process_id() != self._process:  # a task has forked this process, which sends nothing
            buffer.clear()
            return
        if not (self._loop.is_here or self._failing):
            buffer.room.clear()
            self._loop.call_soon(self._hurry.set)
            if buffer.is_full:
                buffer.room.wait(self._caller.settings.timeout_s)
        buffer.drop_oldest()

    def _list(self, claim: Claim, buffer: EventBuffer) -> None:
        if len(buffer) and not self._is_listed(claim):
            buffer.is_listed = True
            attempt = AttemptEvents(claim, self)
            attempt.buffer = buffer
            self._listed.append(attempt)

    def _is_listed(self, claim: Claim) -> bool:
        while True:
            with suppress(RuntimeError):  # A thread has listed an attempt meanwhile: look again.
                return any(each.claim is claim for each in self._listed)

    def _wake(self) -> None:
        if not self._awake and not self._closed and self._failure is None:
            self._awake = True
            self._task = spawn(self._send_all(), f"holdfast events of {self._unit}")

    async def _send_all(self) -> None:
        """Send events until there are no more."""
        try:
            while parcels := self._collected():
                await self._send(parcels)
                if sum(len(parcel.events) for parcel in parcels) < _EVENTS // 2:
                    await self._hurry.wait(max(_PAUSE_S, len(parcels) * _PAUSE_PER_TASK_S))
                self._hurry.clear()
        except Exception as error:  # noqa: BLE001 (`stored` raises it, so the worker ends)
            self._failure = error
        finally:
            self._awake = False
            self._pulse()
            if self._listed and not self._closed:  # listed while `_awake` was true
                self._loop.call_soon(self._wake)

    def _collected(self) -> list[_Parcel]:
        """Take the events of the next call."""
        parcels: list[_Parcel] = []
        events, size = _EVENTS, _BYTES
        while self._listed and len(parcels) < _TASKS and events > 0 and size > 0:
            attempt = self._listed.popleft()
            buffer = attempt.buffer
            if buffer is None:
                continue
            if any(parcel.buffer is buffer for parcel in parcels):  # it has new events for later
                self._listed.appendleft(attempt)
                break
            buffer.is_listed = False
            dropped, taken = buffer.take_dropped(), buffer.take(events, size)
            buffer.in_flight = len(taken)
            buffer.room.set()
            if taken:
                progress = buffer.take_progress()
                parcels.append(_Parcel(attempt, buffer, taken, dropped, progress))
                events, size = events - len(taken), size - sum(map(len, taken))
            if len(buffer) and not buffer.is_listed:
                buffer.is_listed = True
                self._listed.append(attempt)
        return parcels

    async def _send(self, parcels: list[_Parcel]) -> None:
        """Send *parcels* until the server answers, or refuses them for too long."""
        self._number += 1
        names = EMIT.keys(self._unit, *(self._prefix + each.attempt.claim.key for each in parcels))
        args: list[Argument] = []
        for each in parcels:
            packed = msgspec.msgpack.encode([event.decode() for event in each.events])
            claim = each.attempt.claim
            args += [claim.key, claim.token, each.dropped, each.progress, packed]
        failures, refused_until = 0, Deadline(_REFUSED_S)
        while True:
            try:
                identified = [self._writer, self._number, *args]
                # Do not wait for durability here: each of these tasks is settled later, and a
                # durable settlement implies that all earlier writes are durable.
                reply = await self._caller.call(EMIT, self._unit, names, identified, durable=False)
            except (ServerUnavailable, OutcomeUnknown, DecodeError) as error:
                failures += 1
                self._failing = True
                if _is_final(error, refused_until):
                    self._lose(parcels, error)
                    return
                if self._answer_by().passed:
                    raise
                await sleep(backoff_s(failures, 0.05, _MAX_PAUSE_S))
            else:
                self._failing = False
                self._answer(parcels, reply)
                return

    def _answer(self, parcels: list[_Parcel], reply: bytes) -> None:
        refused = [parcel for parcel, digit in zip(parcels, reply, strict=True) if digit == _NO]
        for parcel in parcels:
            parcel.buffer.in_flight = 0
            parcel.buffer.was_sent = True
        for parcel in refused:
            parcel.buffer.is_refused = True
            parcel.buffer.clear()
        lost = sum(len(parcel.events) for parcel in refused)
        self._count("stored", sum(len(parcel.events) for parcel in parcels) - lost)
        self._count("refused", lost)
        self._count("dropped", sum(parcel.dropped for parcel in parcels))
        self._pulse()

    def _lose(self, parcels: list[_Parcel], error: Exception) -> None:
        """Drop events that the server refuses, so that their tasks can be settled."""
        if isinstance(error, DamagedData):  # perhaps of the writer's ledger entry: use a new writer
            self._writer, self._number = ledger.new_writer(), 0
        lost = sum(len(parcel.events) for parcel in parcels)
        logger.log(
            logging.WARNING, "%d events of tasks of %s are dropped: %s", lost, self._unit, error
        )
        for parcel in parcels:
            parcel.buffer.lose(len(parcel.events) + parcel.dropped)
            parcel.buffer.in_flight = 0
        self._pulse()

    def _count(self, result: str, amount: int) -> None:
        telemetry = self._caller.settings.telemetry
        if telemetry is not None and amount:
            telemetry.count("events", self._unit, amount, result)

    def _pulse(self) -> None:
        """Wake the coroutines that wait for the reply to a call."""
        answered, self._answered = self._answered, Event()
        answered.set()


def _is_final(error: Exception, refused_until: Deadline) -> bool:
    """Return whether to drop the events: repeating cannot help, or would delay the settlements."""
    if isinstance(error, DecodeError):
        return True
    if not isinstance(error, ServerRefused):
        return False
    return "OOM" in str(error) or refused_until.passed
