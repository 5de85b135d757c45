"""Call scripts and commands on the servers that have the keys of their units.

A call is sent again only if it was certainly not applied, or if it changes nothing: after a
redirection of a cluster, while the server is busy, if the server does not know the script, and
after a lost reply to a read. All other outcomes are returned or raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any

from ...errors import ClientClosed, HoldfastError, ServerUnavailable
from ..attempt import Attempt, not_applied, value
from ..concurrency._async.local_resource import LocalResource
from ..concurrency._async.primitives import LocalSemaphore
from ..ledger import Operation, Writers
from ..lifetime import Lifetime
from ..names import Namespace, Unit
from ..script import Script
from ..telemetry import during
from ..transport.outcome import Moved, NoScript, Outcome, Replied
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from .delivery import Argument, AsyncDelivery, Step
from .layout_check import AsyncLayoutCheck
from .router import AsyncRouter
from .session import AsyncCallSession, abort_all

__all__ = [
    "Address",
    "Argument",
    "AsyncCaller",
    "CallKind",
    "Settings",
    "Step",
]


class AsyncCaller:
    """Calls scripts and commands. It has separate connections in each process and in each loop.

    After `close`, every call raises `ClientClosed`.

    Args:
        settings: settings of the client.
        lifetime: state of the client; None: create one.
        namespace: the namespace. Calls first check its layout version; None: without this check.
    """

    def __init__(
        self,
        settings: Settings,
        lifetime: Lifetime | None = None,
        namespace: Namespace | None = None,
    ) -> None:
        self.settings = settings
        self.lifetime: Lifetime = lifetime or Lifetime()
        self.delivery: AsyncDelivery = AsyncDelivery(settings, self.lifetime)
        delivery = self.delivery  # The sessions must not keep this object alive.
        self.sessions: LocalResource[AsyncCallSession] = LocalResource(
            lambda: AsyncCallSession(settings, AsyncLayoutCheck(namespace, delivery))
        )

    @property
    def writers(self) -> Writers:
        """Return the `Writers` of this process and loop, which identify its writes."""
        return self.sessions.get().writers

    @property
    def read_limiter(self) -> LocalSemaphore:
        """Return a semaphore that limits concurrent calls of low priority.

        Without a limit, some of thousands of concurrent calls would time out.
        """
        return self.sessions.get().read_limiter

    @property
    def fast_path(self) -> AsyncRouter | None:
        """Return the router for calls on the fast path, which are only sent and answered.

        None: there is no fast path now, because calls also need durability, telemetry or a check of
        the layout, or the client is closed.
        """
        session = self.sessions.get()
        is_fast = self.settings.plain and monotonic() < session.layout.due_at
        return session.router if is_fast and not self.lifetime.closed else None

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
            script: the script.
            unit: the unit of the call; all *keys* are in its slot.
            keys: the keys, in the order of the script's header.
            args: the arguments, in the order of the script's header.
            kind: kind of the call, which selects the connection.
            harmless: whether running the script several times has the effect of running it once.
                Then the call is sent again if its reply is lost. Scripts that only read always are.
            durable: whether the write must be as durable as the settings require. Not needed for
                hints, and for writes of short use, such as the renewal of a lease.

        Returns:
            What the script returned.

        Raises:
            ClientClosed: the client is closed; the script did not run.
            ServerUnavailable: the script did not run. `ServerRefused`: the server gave a reason.
                `Unsupported`: the server cannot make the write as durable as required.
            OutcomeUnknown: the script may have run, or the write may not be durable.
        """
        request = Request.of_script(script.sha1, keys, args)
        settings, first = self.settings, None
        session = self._session(script.name, unit)
        router, now = session.router, monotonic()
        if now >= session.layout.due_at:
            attempt = self._attempt(script, unit, now, kind, harmless=harmless)
            await self._check_layout(session, attempt)
            now = monotonic()
        if settings.plain and (connection := router.cached_connection(unit, kind)) is not None:
            first = await connection.submit(request)
        if isinstance(first, Replied):  # This is the usual case.
            return first.value
        attempt = self._attempt(script, unit, now, kind, harmless=harmless)
        attempt.durable = self._waits_for_barrier(script, wanted=durable)
        with during(settings.telemetry, "call", unit, facts=script.facts):
            outcome = await self.delivery.deliver(router, attempt, request, first)
            if isinstance(outcome, NoScript):
                whole = Request.of("EVAL", script.source, len(keys), *keys, *args)
                outcome = await self.delivery.deliver(router, attempt, whole)
            return self._value(outcome, attempt)

    def operation(
        self, op_id: str | None, repeat: Callable[..., Any], *, verb: str = ""
    ) -> Operation:
        """Return the operation of a write that takes several calls. Make them in its `with` block.

        Args:
            op_id: as in `write`.
            repeat: as in `write`.
            verb: name of the operation; needed if a unit has operations of several names.
        """
        return self.writers.operation(op_id, repeat, verb=verb)

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
        """Run *script* on the server of *unit*, and apply it once even if it is sent several times.

        Args:
            script: the script; its first two arguments identify the operation: writer and number.
            unit: the unit of the call.
            args: the further arguments of the script.
            op_id: from an `OutcomeUnknown`, or chosen by the user; None: a new operation.
            repeat: the public method with its arguments. `OutcomeUnknown.repeat` calls it with the
                same `op_id`.
            given: as in `Script.keys`.
            verb: name of the operation; by default the verb of *script*.
            harmless: as in `call`.

        Returns:
            What the script returned.

        Raises:
            ClientClosed, ServerUnavailable: as in `call`.
            OutcomeUnknown: the script may have run. `repeat()` sends it again, and it is applied
                once.
        """
        with self.writers.operation(op_id, repeat, verb=verb or script.verb) as operation:
            keys = script.keys(unit, *given)
            identified = (operation.writer, operation.number, *args)
            return await self.call(script, unit, keys, identified, harmless=harmless)

    async def call_many(
        self,
        script: Script,
        steps: Sequence[Step],
        *,
        harmless: bool = False,
        durable: bool = True,
    ) -> list[Any]:
        """Run *script* for several units, in one batch per server.

        Args:
            script: the script.
            steps: unit, keys and arguments of each call, as in `call`.
            harmless: as in `call`.
            durable: as in `call`.

        Returns:
            For each step, what the script returned, or the error that `call` would have raised.
        """
        if not steps:
            return []
        first_unit = steps[0][0]
        session = self._session(script.name, first_unit)
        router, now = session.router, monotonic()
        if now >= session.layout.due_at:
            attempt = self._attempt(script, first_unit, now, harmless=harmless)
            await self._check_layout(session, attempt)
        waits = self._waits_for_barrier(script, wanted=durable)
        with during(self.settings.telemetry, "call", first_unit, facts=script.facts):
            first = await self.delivery.first_outcomes(router, script, steps, durable=waits)
        answers: list[Any] = []
        for (unit, keys, args), outcome in zip(steps, first, strict=True):
            if isinstance(outcome, Replied):
                answers.append(outcome.value)
                continue
            try:
                # Raise the error now if repeating cannot help. Calling a dead server again for each
                # of hundreds of steps would take hundreds of timeouts.
                self.check_first(router, outcome, script, unit, harmless=harmless)
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
        """Raise the error of *outcome*, unless the call can be sent again and may then succeed.

        Args:
            router: the router that chose the connection.
            outcome: outcome of the first attempt; not a `Replied`.
            script: the script of the call.
            unit: the unit of the call.
            harmless: as in `call`.

        Raises:
            HoldfastError: as in `call`.
        """
        attempt = self._attempt(script, unit, monotonic(), harmless=harmless)
        router.note(outcome, unit)
        if isinstance(outcome, Moved):
            router.learn(outcome)
        elif not isinstance(outcome, NoScript) and not self.delivery.may_retry(
            router, outcome, attempt
        ):
            self._value(outcome, attempt)

    async def read(self, unit: Unit, *command: Argument, kind: CallKind = CallKind.ORDINARY) -> Any:
        """Run one command that changes nothing on the server of *unit*.

        Raises:
            ServerUnavailable: the server did not answer, or answered with an error.
        """
        session, verb = self._session(str(command[0]), unit), str(command[0])
        if monotonic() >= session.layout.due_at:
            await self._check_layout(session, self._read_attempt(verb, unit, kind))
        attempt = self._read_attempt(verb, unit, kind)
        outcome = await self.delivery.deliver(session.router, attempt, Request.of(*command))
        return self._value(outcome, attempt)

    def address_of(self, unit: Unit) -> Address | None:
        """Return the address of the server of *unit*; None if it is not known yet."""
        return self.sessions.get().router.known(unit)

    async def primaries(self) -> list[Address]:
        """Return the addresses of all servers that hold data.

        Raises:
            ServerUnavailable: no sentinel or node of the cluster could report them.
        """
        router = self.sessions.get().router
        self.lifetime.check("looking for the servers")
        found = await router.primaries()
        self.lifetime.check("looking for the servers")
        if not found:
            unknown = router.unknown_server
            raise ServerUnavailable(
                "looking for the servers",
                unknown.reason,
                harmless=True,
                rejection=unknown.rejection,
                remedy=unknown.remedy,
            )
        return found

    async def ask(
        self, address: Address, unit: Unit, *command: Argument, kind: CallKind = CallKind.ORDINARY
    ) -> Any:
        """Run one command on the server at *address*. The command must be harmless to repeat.

        Args:
            address: address of the server.
            unit: the unit that an error names.
            command: the command with its arguments.
            kind: kind of the call, which selects the connection.

        Raises:
            ServerUnavailable: the server did not answer, or answered with an error.
        """
        attempt = self._read_attempt(str(command[0]), unit, kind)
        connection = self._session(str(command[0]), unit).router.connection(address, kind)
        return self._value(await connection.submit(Request.of(*command)), attempt)

    async def ask_many(
        self, address: Address, unit: Unit, commands: Iterable[Sequence[Argument]]
    ) -> list[Any]:
        """Run several commands on the server at *address*, in one batch; as `ask`.

        Raises:
            ServerUnavailable: a command was not answered, or was answered with an error.
        """
        attempt = self._read_attempt("reading", unit)
        connection = self._session("reading", unit).router.connection(address, CallKind.ORDINARY)
        pending = connection.submit_all(Request.of(*command) for command in commands)
        return [self._value(await outcome, attempt) for outcome in pending]

    async def close(self) -> None:
        """Refuse further calls, and close all connections of this process. Safe to repeat.

        The connections of this loop are closed after the calls in progress. The connections of
        other loops are closed at once, so their calls in progress are lost.
        """
        self.lifetime.end()
        await self.close_connections()
        abort_all(self.sessions)

    async def close_connections(self) -> None:
        """Close all connections of this process and loop, after the calls in progress."""
        session = self.sessions.pop()
        if session is not None:
            await session.close()

    def _session(self, verb: str, unit: Unit) -> AsyncCallSession:
        """Return the session of this process and loop.

        Raises:
            ClientClosed: the client is closed. The error names *verb* and *unit*.
        """
        session = self.sessions.get()
        # Check this after `get`: a concurrent `close` first ends the lifetime, and may have closed
        # all sessions before this call created one.
        if self.lifetime.closed:
            raise ClientClosed(f"{verb} on {unit}")
        return session

    async def _check_layout(self, session: AsyncCallSession, attempt: Attempt) -> None:
        """Raise an error if this program cannot read the layout, or the server does not answer."""
        outcome = await session.layout.check(session.router, attempt)
        if outcome is not None:
            self._value(outcome, attempt)

    def _value(self, outcome: Outcome, attempt: Attempt) -> Any:
        """Return the value in *outcome*, or raise its error."""
        if self.lifetime.closed and not_applied(outcome, attempt):
            raise ClientClosed(attempt.action)
        return value(outcome, attempt)

    def _waits_for_barrier(self, script: Script, *, wanted: bool) -> bool:
        """Return whether calls of *script* wait for a barrier, if durability is *wanted*."""
        return wanted and self.settings.durability is not None and not script.readonly

    def _attempt(
        self,
        script: Script,
        unit: Unit,
        now: float,
        kind: CallKind = CallKind.ORDINARY,
        *,
        harmless: bool,
    ) -> Attempt:
        """Return the state of a call of *script* that begins *now*."""
        until, reading = now + self.settings.timeout_s, script.readonly
        return Attempt(script.name, unit, kind, until, reading, harmless or reading)

    def _read_attempt(self, verb: str, unit: Unit, kind: CallKind = CallKind.ORDINARY) -> Attempt:
        until = monotonic() + self.settings.timeout_s
        return Attempt(verb, unit, kind, until, reading=True, harmless=True)
