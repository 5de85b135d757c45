"""Deliver requests: choose the server, and decide whether and until when to send again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..attempt import PLAIN_REDIRECTS, USE_CLUSTER, Attempt, reason_of
from ..clock import backoff_s
from ..concurrency._async.primitives import sleep
from ..lifetime import Lifetime
from ..names import Unit
from ..script import Script
from ..transport.barrier import is_permanent, marker
from ..transport.outcome import Busy, Lost, Moved, Outcome, Refused, Replied, Unable, Unsent
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from .router import AsyncRouter

Argument = str | bytes | int
Step = tuple[Unit, Sequence[str | bytes], Sequence[Argument]]

_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25
_PENDING: Final = Busy("")
_UNKNOWN_COMMAND: Final = "unknown command"


class AsyncDelivery:
    """Sends requests to the servers of their units. Repeats a request if that does no harm.

    Args:
        settings: settings of the client.
        lifetime: state of the client. After its end, no request is repeated.
    """

    def __init__(self, settings: Settings, lifetime: Lifetime) -> None:
        self._settings = settings
        self._lifetime = lifetime

    async def deliver(
        self,
        router: AsyncRouter,
        attempt: Attempt,
        request: Request,
        outcome: Outcome | None = None,
    ) -> Outcome:
        """Send *request* until its outcome is final, or no time is left.

        Args:
            router: finds the server.
            attempt: the state of the call.
            request: the request.
            outcome: outcome of an earlier delivery; None: it was not sent yet.
        """
        if outcome is None:
            outcome = await self._send(router, attempt, request)
        while not isinstance(outcome, Replied):
            router.note(outcome, attempt.unit)
            asked: Address | None = None  # An ASK redirects only one request.
            if isinstance(outcome, Moved):
                if self._settings.topology == "standalone":
                    return self._of_a_cluster(outcome)
                address = router.learn(outcome)
                asked = address if outcome.ask else None
                attempt.redirects += 1
                at_once = attempt.redirects < PLAIN_REDIRECTS
            elif self.may_retry(router, outcome, attempt):
                at_once = False
            elif isinstance(outcome, Refused) and _UNKNOWN_COMMAND in outcome.reason:
                return await self._by_sentinel(router, attempt.kind) or outcome
            else:
                return outcome
            if not at_once:
                if not attempt.left_s():
                    return outcome if isinstance(outcome, Unsent) else Unsent(reason_of(outcome))
                await self._pause(router, attempt)
            outcome = await self._send(router, attempt, request, asked)
        return outcome

    async def first_outcomes(
        self, router: AsyncRouter, script: Script, steps: Sequence[Step], *, durable: bool
    ) -> list[Outcome]:
        """Send each of *steps* once, in one batch per server, and return the outcomes."""
        requests: list[Request] = []
        outcomes: list[Outcome] = [_PENDING] * len(steps)
        by_node: dict[Address, list[int]] = {}
        problems: dict[Address, Outcome | None] = {}
        for i, (unit, keys, args) in enumerate(steps):
            request = Request.of_script(script.sha1, keys, args)
            requests.append(request.marked(marker(unit)) if durable else request)
            address = router.answering(unit) or await router.address(unit)
            if address is None:
                outcomes[i] = router.unknown_server
                continue
            if durable and address not in problems:
                problems[address] = await self.durability_problem(router, address)
            if problem := problems.get(address):
                outcomes[i] = problem
            else:
                by_node.setdefault(address, []).append(i)
        sent = []
        for address, numbers in by_node.items():
            connection = router.connection(address, CallKind.ORDINARY, durable=durable)
            sent.append((numbers, connection.submit_all(requests[i] for i in numbers)))
        for numbers, pending in sent:
            for i, outcome in zip(numbers, pending, strict=True):
                outcomes[i] = await outcome
        return outcomes

    async def durability_problem(self, router: AsyncRouter, address: Address) -> Outcome | None:
        """Return why the server at *address* cannot make calls durable now; None if it can."""
        barrier = router.barrier
        if barrier is None or address in router.durable_servers:
            return None
        outcome = await router.connection(address, CallKind.ORDINARY).submit(barrier.probe)
        match outcome:
            case Replied():
                router.durable_servers.add(address)
            case Refused(reason) if is_permanent(reason):
                cannot = f"no {self._settings.durability} to be had: {reason.rstrip('.')}"
                return Unable(self._settings.explained(address, cannot))
            case Unsent():
                return outcome
            case Lost(reason):
                return Unsent(reason)
        return None

    def may_retry(self, router: AsyncRouter, outcome: Outcome, attempt: Attempt) -> bool:
        """Return whether sending again does no harm and may succeed."""
        if router.closed or self._lifetime.closed:
            return False
        match outcome:
            case Lost():
                return attempt.harmless
            case Unsent():  # Sentinels and clusters fail over soon; a single server does not.
                return self._settings.topology != "standalone" and not outcome.rejection
            case _:
                return isinstance(outcome, Busy)

    async def _send(
        self,
        router: AsyncRouter,
        attempt: Attempt,
        request: Request,
        asked: Address | None = None,
    ) -> Outcome:
        """Send *request* once, to the server of its unit or to the address of an `ASK`."""
        unit = attempt.unit
        address = asked or router.answering(unit) or await router.address(unit)
        if address is None:
            return router.unknown_server
        if attempt.durable and (problem := await self.durability_problem(router, address)):
            return problem
        connection = router.connection(address, attempt.kind, durable=attempt.durable)
        outcome = await connection.submit(attempt.whole(request, asked=asked is not None))
        if attempt.durable and isinstance(outcome, Lost):
            router.durable_servers.discard(address)  # Check again: another server may answer there.
        if asked and isinstance(outcome, Replied):
            return Replied(outcome.value[-1])
        return outcome

    async def _pause(self, router: AsyncRouter, attempt: Attempt) -> None:
        attempt.pauses += 1
        pause_s = backoff_s(attempt.pauses, _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        generation = router.generation
        await sleep(min(pause_s, attempt.left_s()))
        await router.discover(generation)

    async def _by_sentinel(self, router: AsyncRouter, kind: CallKind) -> Unsent | None:
        """Return the outcome of a call by a client for one server that is a Sentinel; None if the
        server is something else."""
        settings = self._settings
        if settings.topology != "standalone":
            return None
        asked = settings.addresses[0]
        outcome = await router.connection(asked, kind).submit(Request.of("ROLE"))
        if not isinstance(outcome, Replied) or outcome.value[0] != b"sentinel":
            return None
        reason = settings.explained(asked, "it is a Sentinel, which stores no data")
        service = outcome.value[1][0].decode() if outcome.value[1] else "NAME"
        scheme = "rediss+sentinel" if settings.security == "tls" else "redis+sentinel"
        return Unsent(reason, "settings", f"use {scheme}://{settings.where(asked)}/{service}")

    def _of_a_cluster(self, redirection: Moved) -> Unsent:
        """Return the outcome of a call by a client for one server that is a node of a cluster."""
        asked, other = self._settings.addresses[0], self._settings.where(redirection.address)
        reason = f"it is a node of a cluster, and slot {redirection.slot} is on {other}"
        return Unsent(self._settings.explained(asked, reason), "settings", USE_CLUSTER)
