"""Calls: from a script and its arguments to an answer, an error, or an unknown outcome.

Only what was surely not applied is sent again by itself: redirections and delays of a cluster, a
script that the server has not seen, and reads. All else is told to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any, Final

from ...errors import ClientClosed, HoldfastError, ServerUnavailable, Unsupported
from ..attempt import PLAIN_REDIRECTS, Attempt, not_applied, reason_of, value
from ..clock import backoff_s
from ..concurrency._async.waiting import Gate, Local, sleep
from ..ledger import Writers
from ..lifetime import Lifetime
from ..names import Unit
from ..script import Script
from ..telemetry import during
from ..transport.outcome import (
    Busy,
    Lost,
    Moved,
    NoScript,
    Outcome,
    Replied,
    Unable,
    Unsent,
)
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from .first_attempts import Argument, Step, first_outcomes, problem_at
from .router import AsyncRouter
from .session import AsyncCallSession, hang_up

__all__ = ["Argument", "AsyncCaller", "CallKind", "Step"]

_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25


class AsyncCaller:
    """Calls scripts where their units live. Starts afresh after a fork and in another event loop.

    Once it is closed, every call raises `ClientClosed`.

    Args:
        settings: where the server is and how to talk to it.
        lifetime: of the client whose calls these are; by default one of its own.
    """

    def __init__(self, settings: Settings, lifetime: Lifetime | None = None) -> None:
        self.settings = settings
        self.lifetime = lifetime or Lifetime()
        self.sessions = Local(lambda: AsyncCallSession(settings))

    @property
    def writers(self) -> Writers:
        """The identities of the writes of this process and loop."""
        return self.sessions.here().writers

    @property
    def crowd(self) -> Gate:
        """For calls that many may want to make at one moment, and none is in a hurry to.

        Thousands that were sent at once would wait for each other longer than a call may take.
        """
        return self.sessions.here().crowd

    @property
    def fast_path(self) -> AsyncRouter | None:
        """Return the router for calls that are only sent and answered.

        Return None if each call does more, such as to wait for replicas, or if this is closed.
        """
        routes = self.sessions.here().routes if self.settings.plain else None
        return None if self.lifetime.closed else routes

    async def call(
        self,
        script: Script,
        unit: Unit,
        keys: Sequence[str | bytes],
        args: Sequence[Argument],
        *,
        kind: CallKind = CallKind.ORDINARY,
        harmless: bool = False,
        durable: bool = True,
    ) -> Any:
        """Run *script* once on the server of *unit*.

        Args:
            script: the atomic step.
            unit: what it is about; all *keys* lie in its slot.
            keys, args: what it takes, in the order of the script's header.
            kind: calls of different kinds do not wait for each other.
            harmless: running it several times changes no more than once; so a lost reply is asked
                for again, as of a script that only reads.
            durable: whether it is to be as durable as the settings say. Hints need not be, nor what
                lasts for a moment only, such as the renewal of a lease.

        Returns:
            What the script returned.

        Raises:
            ClientClosed: it did not run.
            ServerUnavailable: it did not run; `ServerRefused` when the server said why, and
                `Unsupported` when it cannot be as durable there.
            OutcomeUnknown: it may have run, or may not be durable.
        """
        request = Request.of_script(script.sha1, keys, args)
        settings, first = self.settings, None
        until = monotonic() + settings.timeout_s
        routes = self._routes(script.name, unit)
        if settings.plain and (lane := routes.cached_connection(unit, kind)) is not None:
            first = await lane.submit(request)
        if isinstance(first, Replied):  # as nearly always: nothing is left to be decided
            return first.value
        reading = script.readonly
        sealed = self._seals(script, wanted=durable)
        attempt = Attempt(script.name, unit, kind, until, reading, harmless or reading, sealed)
        with during(settings.telemetry, "call", unit, facts=script.facts):
            outcome = await self._attempt(routes, attempt, request, first)
            if isinstance(outcome, NoScript):
                whole = Request.of("EVAL", script.source, len(keys), *keys, *args)
                outcome = await self._attempt(routes, attempt, whole)
            return self._value(outcome, attempt)

    async def write(
        self,
        script: Script,
        unit: Unit,
        *args: Argument,
        op_id: str | None,
        repeat: Callable[..., Any],
        given: Sequence[str | bytes] = (),
        verb: str = "",
        harmless: bool = False,
    ) -> Any:
        """Run *script* as one write, which counts once, however often it is repeated.

        Args:
            script: the atomic step; a writer and a number come before its other arguments, *args*.
            unit: what it is about.
            op_id: names the write that is repeated; None: a new one.
            repeat: the public method with its arguments; `OutcomeUnknown.repeat` calls it.
            given, harmless: as of `Script.keys` and `call`.
            verb: what it does to *unit*; by default that of *script*.
        """
        with self.writers.operation(op_id, repeat, verb=verb or script.verb) as operation:
            keys, identified = (
                script.keys(unit, *given),
                (operation.writer, operation.number, *args),
            )
            return await self.call(script, unit, keys, identified, harmless=harmless)

    async def call_many(
        self,
        script: Script,
        steps: Sequence[Step],
        *,
        harmless: bool = False,
        durable: bool = True,
    ) -> list[Any]:
        """Run *script* for each of several units, with as few writes to each server as possible.

        Args:
            script: the atomic step.
            steps: unit, keys and arguments of each call, as in `call`.
            harmless, durable: as in `call`.

        Returns:
            For each step what the script returned, or the error that `call` would have raised.
        """
        if not steps:
            return []
        routes = self._routes(script.name, steps[0][0])
        sealed = self._seals(script, wanted=durable)
        with during(self.settings.telemetry, "call", steps[0][0], facts=script.facts):
            first = await first_outcomes(self.settings, routes, script, steps, durable=sealed)
        answers: list[Any] = []
        for (unit, keys, args), outcome in zip(steps, first, strict=True):
            if isinstance(outcome, Replied):
                answers.append(outcome.value)
                continue
            try:
                # One by one, hundreds of calls to a dead server would take hundreds of timeouts.
                self.check_first(routes, outcome, script, unit, harmless=harmless)
                again = self.call(script, unit, keys, args, harmless=harmless, durable=durable)
                answers.append(await again)
            except HoldfastError as error:
                answers.append(error)
        return answers

    def check_first(
        self,
        router: AsyncRouter,
        outcome: Outcome,
        script: Script,
        unit: Unit,
        *,
        harmless: bool = False,
    ) -> None:
        """Raise the error of a first *outcome* that is no reply, unless another call may succeed.

        Args:
            router: where the call was sent.
            outcome: what became of it.
            script: what was called.
            unit: what it is about.
            harmless: as in `call`.

        Raises:
            HoldfastError: as `call`.
        """
        reading = script.readonly
        now = monotonic()
        attempt = Attempt(
            script.name, unit, CallKind.ORDINARY, now, reading, harmless=harmless or reading
        )
        if isinstance(outcome, Moved):
            router.moved(outcome)
        elif not isinstance(outcome, NoScript) and not self._worth_waiting(
            router, outcome, attempt
        ):
            self._value(outcome, attempt)

    async def read(self, unit: Unit, *command: Argument, kind: CallKind = CallKind.ORDINARY) -> Any:
        """Run one command that changes nothing.

        Raises:
            ServerUnavailable: it could not be answered.
        """
        attempt = self._reading(str(command[0]), unit, kind)
        routes = self._routes(str(command[0]), unit)
        return self._value(await self._attempt(routes, attempt, Request.of(*command)), attempt)

    def home(self, unit: Unit) -> Address | None:
        """Where *unit* lives; None while this is not known here."""
        return self.sessions.here().routes.known(unit)

    async def primaries(self) -> list[Address]:
        """Every server that holds data.

        Raises:
            ServerUnavailable: nobody says where they are.
        """
        routes = self.sessions.here().routes
        self.lifetime.check("looking for the servers")
        found = await routes.primaries()
        self.lifetime.check("looking for the servers")
        if not found:
            raise ServerUnavailable("looking for the servers", self.settings.nowhere, harmless=True)
        return found

    async def ask(
        self, address: Address, unit: Unit, *command: Argument, kind: CallKind = CallKind.ORDINARY
    ) -> Any:
        """Run one command on the server at *address*, which may be repeated; *unit* names it.

        Raises:
            ServerUnavailable: it could not be answered.
        """
        attempt = self._reading(str(command[0]), unit, kind)
        lane = self._routes(str(command[0]), unit).lane(address, kind)
        return self._value(await lane.submit(Request.of(*command)), attempt)

    async def ask_many(
        self, address: Address, unit: Unit, commands: Iterable[Sequence[Argument]]
    ) -> list[Any]:
        """`ask` for several commands, which travel together.

        Raises:
            ServerUnavailable: one of them could not be answered.
        """
        attempt = self._reading("reading", unit)
        lane = self._routes("reading", unit).lane(address, CallKind.ORDINARY)
        pending = lane.submit_all(Request.of(*command) for command in commands)
        return [self._value(await outcome, attempt) for outcome in pending]

    async def close(self) -> None:
        """Refuse further calls, and close every connection of this process. Idempotent.

        Those of this loop are closed once nothing is under way on them. Other loops are told to
        close theirs; what is under way there is lost.
        """
        self.lifetime.end()
        await self._hang_up()
        hang_up(self.sessions)

    async def _hang_up(self) -> None:
        """Close every connection of this process and loop, once nothing is under way."""
        session = self.sessions.taken()
        if session is not None:
            await session.routes.close()

    def _routes(self, verb: str, unit: Unit) -> AsyncRouter:
        """Return the routes of this process and loop, for the call that does *verb* to *unit*.

        Raises:
            ClientClosed: there are none any more.
        """
        routes = self.sessions.here().routes
        if self.lifetime.closed:  # first that, then the look: `close` does it the other way round
            raise ClientClosed(f"{verb} on {unit}")
        return routes

    def _value(self, outcome: Outcome, attempt: Attempt) -> Any:
        """Return the answer, or raise the error that *outcome* is to the user."""
        if self.lifetime.closed and not_applied(outcome, attempt):
            raise ClientClosed(attempt.action)
        return value(outcome, attempt)

    def _seals(self, script: Script, *, wanted: bool) -> bool:
        """Whether calls of *script* wait for their seal."""
        return wanted and self.settings.durability is not None and not script.readonly

    def _reading(self, verb: str, unit: Unit, kind: CallKind = CallKind.ORDINARY) -> Attempt:
        """What changes nothing."""
        until = monotonic() + self.settings.timeout_s
        return Attempt(verb, unit, kind, until, reading=True, harmless=True)

    async def _attempt(
        self,
        routes: AsyncRouter,
        attempt: Attempt,
        request: Request,
        outcome: Outcome | None = None,
    ) -> Outcome:
        """Send until the outcome is final: what was surely not applied goes again in time.

        Args:
            routes, attempt, request: where to send what, and what it is about.
            outcome: of the first time; None: it was not sent before.
        """
        if outcome is None:
            outcome = await self._sent(routes, attempt, request)
        while not isinstance(outcome, Replied):
            asked: Address | None = None  # an ASK redirects one request only
            if isinstance(outcome, Moved):
                address = routes.moved(outcome)
                asked = address if outcome.ask else None
                attempt.redirects += 1
                at_once = attempt.redirects < PLAIN_REDIRECTS
            elif self._worth_waiting(routes, outcome, attempt):
                at_once = False
            else:
                return outcome
            if not at_once:
                if not attempt.left_s():
                    return Unsent(reason_of(outcome))
                await self._pause(routes, attempt)
            outcome = await self._sent(routes, attempt, request, asked)
        return outcome

    async def _sent(
        self,
        routes: AsyncRouter,
        attempt: Attempt,
        request: Request,
        asked: Address | None = None,
    ) -> Outcome:
        """Send *request* once: to where its unit lives, or where an `ASK` said."""
        address = asked or routes.known(attempt.unit) or await routes.address(attempt.unit)
        if address is None:
            return Busy(self.settings.nowhere)
        if attempt.durable and (problem := await problem_at(self.settings, routes, address)):
            return problem
        lane = routes.lane(address, attempt.kind, durable=attempt.durable)
        outcome = await lane.submit(attempt.whole(request, asked=asked is not None))
        if attempt.durable and isinstance(outcome, Lost):
            routes.sealing.discard(address)  # it may have come back another one
        if asked and isinstance(outcome, Replied):
            return Replied(outcome.value[-1])
        return outcome

    async def check_durability(self) -> None:
        """See that the servers can be as durable as the settings say, as far as they answer.

        Those that do not are asked before the first durable call to them.

        Raises:
            Unsupported: one cannot.
        """
        if self.settings.durability is None:
            return
        try:
            found = await self.primaries()
        except ServerUnavailable:
            return
        routes = self.sessions.here().routes
        for address in found:
            problem = await problem_at(self.settings, routes, address)
            if isinstance(problem, Unable):
                await self._hang_up()
                raise Unsupported("opening the client", problem.reason, harmless=True)

    def _worth_waiting(self, routes: AsyncRouter, outcome: Outcome, attempt: Attempt) -> bool:
        """Whether another try does no harm and may end better."""
        if routes.closed or self.lifetime.closed:
            return False
        match outcome:
            case Lost():
                return attempt.harmless
            case Unsent():  # one server that is away stays away for a while; others fail over
                return self.settings.topology != "standalone"
            case _:
                return isinstance(outcome, Busy)

    async def _pause(self, routes: AsyncRouter, attempt: Attempt) -> None:
        attempt.pauses += 1
        pause_s = backoff_s(attempt.pauses, _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        generation = routes.generation
        await sleep(min(pause_s, attempt.left_s()))
        await routes.discover(generation)
