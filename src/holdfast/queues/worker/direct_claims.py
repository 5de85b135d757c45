"""The claims that producers make for an idle worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.clock import since_boot
from ...core.concurrency._async.background_task import RunningTask, spawn, yield_to_loop
from ...core.concurrency._async.primitives import sleep
from .claim import Claim
from .event_sender import EventSender
from .held_claims import HeldClaims

DIRECT_S: Final = 2.0
"""Seconds that a claim by a producer lasts until the worker renews it; see
`lua/parts/direct_claim.lua`.
"""

_MESSAGE_S: Final = 0.1
"""Seconds that an ending worker waits for messages: producers may have claimed tasks for it."""

_CLAIM_PREFIX: Final = b"+"


class DirectClaims:
    """Receives the claims that producers make for this worker in one queue, and starts them.

    The lease of a claim begins when the server makes the claim, by the server's clock. Each step
    returns the time of that clock, so the worker knows when the lease ends, even if the message is
    late. If the lease has ended before the message arrives, the task is not started.

    A claim is renewed before its task starts. So a task that runs has the whole lease of the
    worker, however short the life of the claim was.

    Args:
        caller: sends the renewals.
        held: the claims that the worker holds.
        events: sends the events of the queue's tasks.
        lease_ms: life of a claim without renewal.
        release: gives back claims that were not started.

    Attributes:
        start: starts a claim in the worker's loop. It returns False if no slot is free.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        held: HeldClaims,
        events: EventSender,
        lease_ms: int,
        release: Callable[[Sequence[Claim]], None],
    ) -> None:
        self.start: Callable[[Claim], bool] = lambda _claim: False
        self._has_started = False
        self._caller, self._held = caller, held
        self._renewals: set[RunningTask[None]] = set()
        self._events = events
        self._lease_s = lease_ms / 1000
        self._release = release
        self._waiting: deque[Claim] = deque()
        self._asked_at = self._server_ms = 0.0
        self._closed = False

    def synchronize(self, asked_at: float, server_ms: int) -> None:
        """Note that the server's clock showed *server_ms* in the reply to a call at *asked_at*."""
        self._asked_at, self._server_ms = asked_at, server_ms

    def receive(self, message: bytes, *, in_step: bool) -> bool:
        """Start the claim in *message*. During a step (*in_step*), start it after the reply.

        Returns:
            Whether *message* contains a claim.
        """
        if not message.startswith(_CLAIM_PREFIX):
            return False
        token, server_ms, has_events, length, rest = message[len(_CLAIM_PREFIX) :].split(b" ", 4)
        size = int(length)
        claim = Claim(rest[:size], int(token), 1, 0, 0, rest[size:])
        now = since_boot()
        made_at = min(now, self._asked_at + (int(server_ms) - self._server_ms) / 1000)
        if made_at + DIRECT_S <= now or self._closed:
            return True  # another worker may have it, or gets it when the lease of the claim ends
        self._waiting.append(claim)
        # `keep` expects a whole lease. An earlier begin makes this shorter one end at the right
        # time, and the renewer renews it soon.
        self._held.keep(claim, made_at + DIRECT_S - self._lease_s)
        renewal = spawn(self._held.renew(self._caller, [claim]), "holdfast first renewal")
        self._renewals.add(renewal)
        renewal.add_done_callback(self._renewals.discard)
        if has_events == b"1":
            self._events.expect([claim])
        if not in_step:
            self.start_waiting()
        return True

    def start_waiting(self) -> None:
        """Start the claims received during a step, or give them back if the slots are taken."""
        while self._waiting:
            claim = self._waiting[0]
            if self.start(claim):
                self._has_started = True
            else:
                self._release([claim])
            self._waiting.popleft()

    async def receive_last(self) -> None:
        """Wait briefly for messages, which may arrive after the reply of a step.

        If one is missed, no other worker gets its task until the lease of the claim ends.
        """
        await sleep(_MESSAGE_S)

    def close(self) -> None:
        """Renew no claim that was not started. Ignore those that are received from now on."""
        self._closed = True
        while self._waiting:
            self._held.drop(self._waiting.popleft())

    async def let_end(self) -> None:
        """Give a task that was just started one turn of the loop.

        A short task ends within that turn, so that the next step settles it.
        """
        if self._has_started:
            self._has_started = False
            await yield_to_loop()
