"""The way of one kind of call to one server, on asyncio. Hand-written twin of `_sync.py`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from ..barrier import DurabilityBarrier
from ..outcome import Lost, Outcome, Replied, Unsent, outcome_of, outcome_of_all, unsafe
from ..request import Request
from ..settings import Address, Settings
from .stream import AsyncPlainStream, AsyncStream, open_stream

MAX_UNDER_WAY: Final = 256
"""Calls that are sent and not answered. The others wait here, where nothing has happened to them
yet: should the server not answer in time, they are `Unsent` and these are `Lost`."""

MAX_BYTES_UNDER_WAY: Final = 4 * 2**20

ENOUGH: Final = 16
"""Calls that are sent before the turn is over: the server works on them while others are made."""

_FRESH_S: Final = 0.001
"""A connection unused for longer may have been closed without the loop having noticed."""

_GRACE_S: Final = 0.02
"""An overdue call has so long still: a loop that was busy hears first what has come meanwhile."""

_STALLED_S: Final = 0.1
"""A call that waits for longer while it could be sent finds that a signal handler interrupted the
step that was to send it."""

_INTERRUPTED: Final = "a signal handler interrupted the client during this call"

_DRAINED_S: Final = 0.005
"""Between two looks whether the replies that nobody waits for have come."""


class _Call(msgspec.Struct, eq=False):
    """A request, and who waits for its outcome.

    Attributes:
        request: what is sent.
        future: of its outcome.
        since: when it was submitted, then when it was sent.
    """

    request: Request
    future: asyncio.Future[Outcome]
    since: float


class AsyncConnection:
    """One connection, opened when it is first needed, on which many calls are under way.

    What is submitted in one turn of the loop travels in one write, or a few. The replies come in
    the same order; that of a call whose caller was cancelled is read and dropped. What breaks the
    connection ends all calls under way, and the next one opens it anew. Where it takes longer to
    open than a call may take, calls give up while it goes on.

    With a seal it sends one batch at a time, and the seal after it, without which no answer counts:
    the calls that come meanwhile share the next one.

    A signal handler may raise at any line here, and the loop goes on. So each step notes that it
    has begun, and that it has ended; a step that follows an unfinished one breaks the connection.
    A call leaves its queue only after it has its outcome or is in the next queue. Handles of the
    loop may be lost: two timers, one after the other, watch the calls from `submit` on.
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
        self._unsealed: list[tuple[_Call, Outcome]] = []
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Call] = deque()
        self._under_way: deque[_Call] = deque()
        self._bytes_under_way = 0
        self._replies: list[Any] = []  # to the oldest call under way, as far as they have come
        self._stream: AsyncStream | AsyncPlainStream | None = None
        self._opening: asyncio.Task[AsyncStream | AsyncPlainStream] | None = None
        self._giving_up: asyncio.TimerHandle | None = None
        self._sending: asyncio.Handle | None = None
        self._watching: tuple[asyncio.TimerHandle, ...] = ()
        self._watched_until = 0.0
        self._between = True  # two steps, so the calls under way are those whose replies will come
        self._overdue: _Call | None = None
        self._overdue_at = 0.0  # when it was seen first
        self._used_at = 0.0
        self._closed = False

    @property
    def opening(self) -> bool:
        """Whether its connection is on the way, also if nobody waits for it any more."""
        return self._opening is not None

    def submit(self, request: Request) -> asyncio.Future[Outcome]:
        """Send one request; its outcome is to be awaited."""
        now, future = self._loop.time(), self._loop.create_future()
        if now >= self._watched_until:
            self._watch_until(now + self._settings.timeout_s)
        self._waiting.append(_Call(request, future, now))
        if self._sending is None:
            self._begin(now)
        elif (
            len(self._waiting) == ENOUGH and self._under_way and self._seal is None
        ) or now - self._waiting[0].since > _STALLED_S:
            self._sending.cancel()
            self._send()
        return future

    def submit_all(self, requests: Iterable[Request]) -> list[asyncio.Future[Outcome]]:
        """Send requests together; each outcome is to be awaited."""
        now = self._loop.time()
        if now >= self._watched_until:
            self._watch_until(now + self._settings.timeout_s)
        calls = [_Call(request, self._loop.create_future(), now) for request in requests]
        self._waiting += calls
        if calls and self._sending is None:
            self._begin(now)
        elif calls and now - self._waiting[0].since > _STALLED_S:
            self._send()
        return [call.future for call in calls]

    async def close(self) -> None:
        """Finish what is under way, then close the connection."""
        while self._under_way or self._waiting:
            pending: list[asyncio.Future[Any]] = [
                call.future for call in (*self._under_way, *self._waiting) if not call.future.done()
            ]
            self._notice_opened()
            if self._opening is not None:
                pending.append(self._opening)
            if pending:
                await asyncio.wait(pending)
            else:
                await asyncio.sleep(_DRAINED_S)
        self._closed = True
        stream, self._stream = self._stream, None
        opening, self._opening = self._opening, None
        if opening is not None:  # for nobody
            opening.cancel()
            await asyncio.wait([opening])
        self._watch_no_more()
        if stream is not None:
            await stream.close()

    def abort(self) -> None:
        """Hang up at once; what waits here is not sent any more."""
        self._closed = True
        reason = "the connection was closed"
        self._refuse(Unsent(self._explained(reason)))
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
        self._break(reason)
        self._watch_no_more()

    def _begin(self, now: float) -> None:
        """Send what waits as soon as it can be, or will have company."""
        if self._under_way or self._stream is None:
            self._send_soon()
        elif now - self._used_at > _FRESH_S:
            self._send_after(self._stream.turns_to_notice)
        elif self._seal is not None:  # others of this turn can share it
            self._send_soon()
        else:  # the first one need not wait for others of this turn
            self._send()

    def _send_soon(self) -> None:
        """Send what is submitted until the next turn of the loop."""
        if self._sending is None:
            self._sending = self._loop.call_soon(self._send)

    def _send_after(self, turns: int) -> None:
        """Send when the loop has looked what has come, such as the end of the connection."""
        # What a turn sees is heard at its end, so sending comes one later.
        turn = self._loop.call_soon
        self._sending = turn(self._send_after, turns - 1) if turns else turn(self._send)

    def _send(self) -> None:
        """Send what waits, as far as it may be under way."""
        self._sending = None
        if not self._between:
            self._break(_INTERRUPTED)
        stream, now = self._stream, self._loop.time()
        if stream is None:
            self._open(now)
            return
        if stream.ending:
            self._break("the connection broke")
            return
        if self._seal is not None and self._under_way:
            return
        self._between = False
        payloads: list[bytes] = []
        waiting, under_way, late = self._waiting, self._under_way, now - self._settings.timeout_s
        room = MAX_BYTES_UNDER_WAY - self._bytes_under_way
        while waiting and room > 0 and len(under_way) < MAX_UNDER_WAY:
            call = waiting[0]
            if call.future.done() or call.since < late:
                self._dismiss(call)
            else:
                call.since, payload = now, call.request.payload
                under_way.append(call)
                payloads.append(payload)
                room -= len(payload)
            waiting.popleft()
        if payloads:
            if self._seal is not None:
                seal = _Call(self._seal.request, self._loop.create_future(), now)
                under_way.append(seal)
                payloads.append(seal.request.payload)
            whole = b"".join(payloads)
            self._bytes_under_way += len(whole)
            stream.write(whole)
        self._between = True

    def _hear(self, replies: Sequence[Any]) -> None:
        """Replies to the oldest calls under way."""
        if not self._between:
            self._break(_INTERRUPTED)
            return
        self._between = False
        self._answer(replies)
        self._between = True

    def _answer(self, replies: Sequence[Any]) -> None:
        under_way = self._under_way
        for reply in replies:
            if not under_way:
                self._break("the server said what nobody asked")
                return
            request = under_way[0].request
            if request.replies == 1:
                outcome = outcome_of(reply, self._address)
            else:
                self._replies.append(reply)
                if len(self._replies) < request.replies:
                    continue
                outcome = outcome_of_all(self._replies, self._address, request.marks)
                self._replies = []
            call = under_way[0]
            self._bytes_under_way -= len(request.payload)
            if self._seal is not None and len(under_way) == 1:  # this is the seal itself
                problem = unsafe(outcome, self._seal)
                self._conclude(Lost(self._explained(problem)) if problem else None)
            elif self._seal is not None and isinstance(outcome, Replied):
                self._unsealed.append((call, outcome))
            elif not call.future.done():
                call.future.set_result(outcome)
            under_way.popleft()
        if self._waiting:
            self._send_soon()
        elif not under_way:
            self._used_at = self._loop.time()

    def _conclude(self, lost: Lost | None) -> None:
        """Answer the calls that wait for their seal: they are safe, or may be *lost*."""
        for call, outcome in self._unsealed:
            if not call.future.done():
                call.future.set_result(lost or outcome)
        self._unsealed = []

    def _break(self, reason: str) -> None:
        """Hang up, and begin anew."""
        if self._stream is not None:
            self._stream.abort()
            self._ended(reason)

    def _ended(self, reason: str) -> None:
        """The connection is gone, and what was under way on it is lost."""
        self._between = False
        lost = Lost(self._explained(reason))
        self._conclude(lost)
        for call in self._under_way:
            if not call.future.done():
                call.future.set_result(lost)
        self._under_way = deque()
        self._bytes_under_way = 0
        self._replies = []
        self._stream = None
        if self._waiting:
            self._send_soon()
        self._between = True

    def _watch(self) -> None:
        """See that the oldest call is answered in time: two timers for all of them."""
        if not self._between:
            self._break(_INTERRUPTED)
        self._notice_opened()
        now = self._loop.time()
        if self._waiting and self._opening is None and not self._under_way:
            self._send()  # the step that was to do it was interrupted, or is about to come
        oldest = next(iter(self._under_way or self._waiting), None)
        if oldest is None:
            return
        due = oldest.since + self._settings.timeout_s
        if due > now:
            self._watch_until(due)
            return
        if oldest is not self._overdue:
            self._overdue, self._overdue_at = oldest, now
        elif now - self._overdue_at > 0.9 * _GRACE_S:  # timers are not exact
            self._overdue = None
            self._break("")
            self._dismiss_late(now, "")
        self._watch_until(now + _GRACE_S)

    def _watch_until(self, due: float) -> None:
        """Look at *due*, and again soon after: a signal handler may interrupt the first look."""
        until = due + _GRACE_S
        if until > self._watched_until:
            call_at = self._loop.call_at
            self._watching = (call_at(due, self._watch), call_at(until, self._watch))
            self._watched_until = until

    def _watch_no_more(self) -> None:
        for timer in (*self._watching, self._giving_up):
            if timer is not None:
                timer.cancel()
        self._watching, self._watched_until, self._giving_up = (), 0.0, None

    def _notice_opened(self) -> None:
        """Take what was opened, if a signal handler has interrupted the step that was to do it."""
        if self._opening is not None and self._opening.done():
            self._opened(self._opening)

    def _open(self, now: float) -> None:
        """Connect for those who still wait, then send."""
        self._notice_opened()
        if self._stream is not None:
            return
        if self._opening is not None:
            self._give_up_in_time()
            return
        if self._closed:
            self._refuse(Unsent(self._explained("the client was closed")))
            return
        self._dismiss_late(now, "calls before it took too long")
        if self._waiting:
            opening = open_stream(
                self._settings, self._address, self._hear, self._ended, sentinel=self._sentinel
            )
            self._opening = self._loop.create_task(opening, name="holdfast calls")
            self._opening.add_done_callback(self._opened)
            self._give_up_in_time()

    def _give_up_in_time(self) -> None:
        """See that calls do not wait for the connection longer than they may take."""
        settings = self._settings
        if self._waiting and self._giving_up is None and settings.patience_s > settings.timeout_s:
            due = self._waiting[0].since + settings.timeout_s
            self._giving_up = self._loop.call_at(due, self._give_up)

    def _give_up(self) -> None:
        self._giving_up = None
        if self._opening is not None:
            self._dismiss_late(self._loop.time(), "")
            self._give_up_in_time()

    def _opened(self, opening: asyncio.Task[AsyncStream | AsyncPlainStream]) -> None:
        problem = None if opening.cancelled() else opening.exception()
        opened = problem is None and not opening.cancelled()
        if opening is not self._opening:  # nobody wants it any more
            if opened and opening.result() is not self._stream:
                opening.result().abort()
            return
        if opened:
            self._stream = opening.result()
            self._used_at = self._loop.time()
        self._opening = None
        if opened:
            self._send()
        elif isinstance(problem, ConnectionError):
            self._refuse(Unsent(str(problem)))
        elif isinstance(
            problem, Exception
        ):  # what the user gave failed, such as a provider of credentials
            self._refuse(problem)
        elif self._waiting:  # a loop that ends cancels all tasks, but those who clean up may call
            self._send_soon()

    def _dismiss_late(self, now: float, reason: str) -> None:
        """Keep only those that still may wait; the others hear a *reason*."""
        late, left = now - self._settings.timeout_s, deque[_Call]()
        for call in self._waiting:
            if call.future.done() or call.since <= late:
                self._dismiss(call, reason)
            else:
                left.append(call)
        self._waiting = left

    def _dismiss(self, call: _Call, reason: str = "calls before it took too long") -> None:
        """Not send a call that waited for too long, or whose caller is gone."""
        if not call.future.done():
            call.future.set_result(Unsent(self._explained(reason)))

    def _refuse(self, problem: Unsent | BaseException) -> None:
        """Answer all that waits with *problem*."""
        for call in self._waiting:
            if call.future.done():
                continue
            if isinstance(problem, Unsent):
                call.future.set_result(problem)
            else:
                call.future.set_exception(problem)
                call.future.exception()  # it is no news to those who heard it of another call
        self._waiting = deque()

    def _explained(self, reason: str) -> str:
        return self._settings.explained(self._address, reason)
