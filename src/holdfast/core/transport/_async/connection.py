"""Send calls of one kind to one server, over one connection.

Hand-written twin of `_sync/connection.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..barrier import DurabilityBarrier
from ..outcome import Lost, Outcome, Replied, Unsent, missing_durability, outcome_of, outcome_of_all
from ..rejection import NotOpened
from ..request import Request
from ..settings import Address, Settings
from .pending_call import PendingCall, answer_late, is_early_batch
from .stream import AsyncPlainStream, AsyncStream, open_stream

MAX_IN_FLIGHT: Final = 256
"""Largest number of calls that are sent but not answered. Further calls are queued. If the server
does not answer in time, queued calls are `Unsent`, and calls in flight are `Lost`."""

MAX_BYTES_IN_FLIGHT: Final = 4 * 2**20

_FRESH_S: Final = 0.001
"""Seconds after its last use for which a connection counts as open. Later, it may have been closed
without the loop having noticed."""

_GRACE_S: Final = 0.02
"""Seconds that a call gets after its timeout, so that a busy loop first processes replies that have
already arrived."""

_STALLED_S: Final = 0.1
"""Seconds after which the next call sends a queued call at once: the scheduled send was probably
lost, because a signal handler interrupted it."""

_INTERRUPTED: Final = "a signal handler interrupted the client during this call"
_TOO_LATE: Final = "calls before it took too long"

_DRAIN_POLL_S: Final = 0.005
"""Seconds between two checks whether the replies of cancelled calls have arrived."""


class AsyncConnection:
    """One connection, opened when it is first needed, with many calls in flight.

    - The calls of one turn of the loop are sent in one write, or a few. Their replies arrive in the
      same order. The reply to a cancelled call is read and ignored.
    - If the connection breaks, all calls in flight are `Lost`, and the next call opens it again.
    - If opening takes longer than the timeout of a call, the call fails, but opening continues.
    - With a barrier, one batch of calls is sent at a time, followed by the barrier. The replies
      count only after the barrier is answered. Calls that arrive meanwhile form the next batch.

    A signal handler may raise at any line of this class, and the loop then continues:

    - Each step sets `_consistent` to False at its beginning and to True at its end. A step that
      finds False follows an interrupted one, and breaks the connection.
    - A call is removed from a queue only after it has an outcome or is in the next queue.
    - The loop may lose a callback, so two timers, one after the other, watch all calls.
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
        self._unconfirmed: list[tuple[PendingCall, Outcome]] = []  # waiting for the barrier
        self._loop = asyncio.get_running_loop()
        self._queued: deque[PendingCall] = deque()
        self._in_flight: deque[PendingCall] = deque()
        self._bytes_in_flight = 0
        self._replies: list[Any] = []  # the replies to the oldest call in flight so far
        self._stream: AsyncStream | AsyncPlainStream | None = None
        self._opening: asyncio.Task[AsyncStream | AsyncPlainStream] | None = None
        self._give_up_timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Handle | None = None
        self._watching: tuple[asyncio.TimerHandle, ...] = ()
        self._watched_until = 0.0
        self._consistent = True  # False during a step, and after one that was interrupted
        self._overdue: PendingCall | None = None
        self._overdue_at = 0.0  # when `_watch` first found the overdue call
        self._used_at = 0.0
        self._outdated = self._closed = False

    @property
    def opening(self) -> bool:
        """Return whether the connection is being opened, even if no call waits for it any more."""
        return self._opening is not None

    def submit(self, request: Request) -> asyncio.Future[Outcome]:
        """Send one request, and return the future of its outcome."""
        now, future = self._loop.time(), self._loop.create_future()
        if now >= self._watched_until:
            self._watch_until(now + self._settings.timeout_s)
        self._queued.append(PendingCall(request, future, now))
        if self._sending is None:
            self._begin(now)
        elif (
            is_early_batch(len(self._queued), len(self._in_flight)) and self._barrier is None
        ) or now - self._queued[0].since > _STALLED_S:
            self._sending.cancel()
            self._send()
        return future

    def submit_all(self, requests: Iterable[Request]) -> list[asyncio.Future[Outcome]]:
        """Send requests in one batch, and return the futures of their outcomes."""
        now = self._loop.time()
        if now >= self._watched_until:
            self._watch_until(now + self._settings.timeout_s)
        calls = [PendingCall(request, self._loop.create_future(), now) for request in requests]
        self._queued += calls
        if calls and self._sending is None:
            self._begin(now)
        elif calls and now - self._queued[0].since > _STALLED_S:
            self._send()
        return [call.future for call in calls]

    def renew(self) -> None:
        """Let later calls open the connection again, once the calls in flight are answered."""
        self._outdated = self._stream is not None

    async def close(self) -> None:
        """Close the connection after all calls have an outcome."""
        while self._in_flight or self._queued:
            pending: list[asyncio.Future[Any]] = [
                call.future for call in (*self._in_flight, *self._queued) if not call.future.done()
            ]
            self._check_opened()
            if self._opening is not None:
                pending.append(self._opening)
            if pending:
                await asyncio.wait(pending)
            else:
                await asyncio.sleep(_DRAIN_POLL_S)
        self._closed = True
        stream, self._stream = self._stream, None
        opening, self._opening = self._opening, None
        if opening is not None:  # No call waits for the opening any more.
            opening.cancel()
            await asyncio.wait([opening])
        self._stop_timers()
        if stream is not None:
            await stream.close()

    def abort(self) -> None:
        """Close the connection at once. Queued calls are not sent."""
        self._closed = True
        reason = "the connection was closed"
        self._refuse(Unsent(self._explained(reason)))
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
        self._break(reason)
        self._stop_timers()

    def _begin(self, now: float) -> None:
        """Send the queued calls now, or schedule a send."""
        if self._in_flight or self._stream is None:
            self._send_soon()
        elif now - self._used_at > _FRESH_S:
            self._send_after(self._stream.turns_to_notice)
        elif self._barrier is not None:  # Other calls of this turn can share the barrier.
            self._send_soon()
        else:  # The connection is idle: send the first call of this turn at once.
            self._send()

    def _send_soon(self) -> None:
        """Schedule a send in the next turn of the loop, together with all calls of this turn."""
        if self._sending is None:
            self._sending = self._loop.call_soon(self._send)

    def _send_after(self, turns: int) -> None:
        """Schedule a send after *turns* turns, in which the loop can notice a closed socket."""
        # A turn processes the events of sockets at its end, so the send comes one turn later.
        turn = self._loop.call_soon
        self._sending = turn(self._send_after, turns - 1) if turns else turn(self._send)

    def _send(self) -> None:
        """Send the queued calls, up to the limits of calls and bytes in flight."""
        self._sending = None
        if not self._consistent:
            self._break(_INTERRUPTED)
        stream, now = self._stream, self._loop.time()
        if stream is None:
            self._open(now)
            return
        if stream.ending or (self._outdated and not self._in_flight):
            self._break("the connection broke")
            return
        if self._in_flight and (self._outdated or self._barrier is not None):
            return
        self._consistent = False
        payloads: list[bytes] = []
        queued, in_flight, late = self._queued, self._in_flight, now - self._settings.timeout_s
        room = MAX_BYTES_IN_FLIGHT - self._bytes_in_flight
        while queued and room > 0 and len(in_flight) < MAX_IN_FLIGHT:
            call = queued[0]
            if call.future.done() or call.since < late:
                call.answer(Unsent(self._explained(_TOO_LATE)))
            else:
                call.since, payload = now, call.request.payload
                in_flight.append(call)
                payloads.append(payload)
                room -= len(payload)
            queued.popleft()
        if payloads:
            if self._barrier is not None:
                last = PendingCall(self._barrier.request, self._loop.create_future(), now)
                in_flight.append(last)
                payloads.append(last.request.payload)
            whole = b"".join(payloads)
            self._bytes_in_flight += len(whole)
            stream.write(whole)
        self._consistent = True

    def _receive(self, replies: Sequence[Any]) -> None:
        """Process *replies* to the oldest calls in flight."""
        if not self._consistent:
            self._break(_INTERRUPTED)
            return
        self._consistent = False
        self._answer(replies)
        self._consistent = True

    def _answer(self, replies: Sequence[Any]) -> None:
        in_flight = self._in_flight
        for reply in replies:
            if not in_flight:
                self._break("the server sent a reply to no request")
                return
            request = in_flight[0].request
            if request.replies == 1:
                outcome = outcome_of(reply, self._address)
            else:
                self._replies.append(reply)
                if len(self._replies) < request.replies:
                    continue
                outcome = outcome_of_all(self._replies, self._address, request.marks)
                self._replies = []
            call = in_flight[0]
            self._bytes_in_flight -= len(request.payload)
            if self._barrier is not None and len(in_flight) == 1:  # The last call is the barrier.
                problem = missing_durability(outcome, self._barrier)
                self._confirm(Lost(self._explained(problem)) if problem else None)
            elif self._barrier is not None and isinstance(outcome, Replied):
                self._unconfirmed.append((call, outcome))
            elif not call.future.done():
                call.future.set_result(outcome)
            in_flight.popleft()
        if self._queued:
            self._send_soon()
        elif not in_flight:
            self._used_at = self._loop.time()

    def _confirm(self, lost: Lost | None) -> None:
        """Answer the calls before the barrier: with *lost*; if it is None, with their outcomes."""
        for call, outcome in self._unconfirmed:
            call.answer(lost or outcome)
        self._unconfirmed = []

    def _break(self, reason: str) -> None:
        """Close the stream. The next call opens another one."""
        if self._stream is not None:
            self._stream.abort()
            self._ended(reason)

    def _ended(self, reason: str) -> None:
        """Answer the calls in flight with `Lost`, because the stream has ended."""
        self._consistent = False
        lost = Lost(self._explained(reason))
        self._confirm(lost)
        for call in self._in_flight:
            call.answer(lost)
        self._in_flight, self._bytes_in_flight, self._replies = deque(), 0, []
        self._stream, self._outdated = None, False
        if self._queued:
            self._send_soon()
        self._consistent = True

    def _watch(self) -> None:
        """Break the connection if its oldest call is overdue. Two timers call this."""
        if not self._consistent:
            self._break(_INTERRUPTED)
        self._check_opened()
        now = self._loop.time()
        if self._queued and self._opening is None and not self._in_flight:
            self._send()  # The scheduled send was interrupted, or did not run yet.
        oldest = next(iter(self._in_flight or self._queued), None)
        if oldest is None:
            return
        due = oldest.since + self._settings.timeout_s
        if due > now:
            self._watch_until(due)
            return
        if oldest is not self._overdue:
            self._overdue, self._overdue_at = oldest, now
        elif now - self._overdue_at > 0.9 * _GRACE_S:  # 0.9, because timers are not exact.
            self._overdue = None
            self._break("")
            self._answer_late(now, "")
        self._watch_until(now + _GRACE_S)

    def _watch_until(self, due: float) -> None:
        """Call `_watch` at *due*, and again soon after, in case the first call is interrupted."""
        until = due + _GRACE_S
        if until > self._watched_until:
            call_at = self._loop.call_at
            self._watching = (call_at(due, self._watch), call_at(until, self._watch))
            self._watched_until = until

    def _stop_timers(self) -> None:
        for timer in (*self._watching, self._give_up_timer):
            if timer is not None:
                timer.cancel()
        self._watching, self._watched_until, self._give_up_timer = (), 0.0, None

    def _check_opened(self) -> None:
        """Call `_opened` if the stream is open and a signal handler interrupted the callback."""
        if self._opening is not None and self._opening.done():
            self._opened(self._opening)

    def _open(self, now: float) -> None:
        """Open a stream for the queued calls, then send them."""
        self._check_opened()
        if self._stream is not None:
            return
        if self._opening is not None:
            self._give_up_in_time()
            return
        if self._closed:
            self._refuse(Unsent(self._explained("the client was closed")))
            return
        self._answer_late(now, _TOO_LATE)
        if self._queued:
            opening = open_stream(
                self._settings, self._address, self._receive, self._ended, sentinel=self._sentinel
            )
            self._opening = self._loop.create_task(opening, name="holdfast calls")
            self._opening.add_done_callback(self._opened)
            self._give_up_in_time()

    def _give_up_in_time(self) -> None:
        """Start a timer that answers queued calls if opening takes longer than their timeout."""
        settings, queued = self._settings, self._queued
        if queued and self._give_up_timer is None and settings.patience_s > settings.timeout_s:
            due = queued[0].since + settings.timeout_s
            self._give_up_timer = self._loop.call_at(due, self._give_up)

    def _give_up(self) -> None:
        self._give_up_timer = None
        if self._opening is not None:
            self._answer_late(self._loop.time(), "")
            self._give_up_in_time()

    def _opened(self, opening: asyncio.Task[AsyncStream | AsyncPlainStream]) -> None:
        problem = None if opening.cancelled() else opening.exception()
        opened = problem is None and not opening.cancelled()
        if opening is not self._opening:  # The connection was closed, or this was called before.
            if opened and opening.result() is not self._stream:
                opening.result().abort()
            return
        if opened:
            self._stream, self._used_at = opening.result(), self._loop.time()
        self._opening = None
        if opened:
            self._send()
        elif isinstance(problem, NotOpened):
            self._refuse(Unsent(str(problem), problem.rejection, problem.remedy))
        elif isinstance(problem, Exception):  # The user's credential provider, for example, raised.
            for call in self._queued:
                call.fail(problem)
            self._queued = deque()
        elif self._queued:
            # The event loop ends, and has cancelled the opening. Clean-up code of other tasks may
            # still make calls.
            self._send_soon()

    def _answer_late(self, now: float, reason: str) -> None:
        """Answer the overdue queued calls with `Unsent` and *reason* (empty: a timeout)."""
        late = now - self._settings.timeout_s
        self._queued = answer_late(self._queued, late, Unsent(self._explained(reason)))

    def _refuse(self, unsent: Unsent) -> None:
        """Answer all queued calls with *unsent*."""
        for call in self._queued:
            call.answer(unsent)
        self._queued = deque()

    def _explained(self, reason: str) -> str:
        return self._settings.explained(self._address, reason)
