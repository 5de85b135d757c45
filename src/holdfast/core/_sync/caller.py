# Generated from _async/caller.py by tools/unasync.py: edit that, then run `make sync`.
"""Calls: from a script and its arguments to an answer, an error, or an unknown outcome.

Only what was certainly not applied is sent again: redirections and delays of a cluster, a script
that the server does not know, and reads. Every other outcome is the caller's to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Any

from ...errors import ClientClosed, HoldfastError, ServerUnavailable, Unsupported
from ..attempt import Attempt, not_applied, value
from ..concurrency._sync.local_resource import LocalResource
from ..concurrency._sync.primitives import Semaphore
from ..ledger import Operation, Writers
from ..lifetime import Lifetime
from ..names import Unit
from ..script import Script
from ..telemetry import during
from ..transport.outcome import Moved, NoScript, Outcome, Replied, Unable
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from .delivery import Argument, Delivery, Step
from .router import Router
from .session import CallSession, abort_all

__all__ = ["Address", "Argument", "CallKind", "Caller", "Settings", "Step"]


class Caller:
    """Calls scripts on the servers of their units. Begins again after a fork and in another loop.

    Once it is closed, every call raises `ClientClosed`.

    Args:
        settings: where the server is and how to talk to it.
        lifetime: of the client that makes the calls; by default one of its own.
    """

    def __init__(self, settings: Settings, lifetime: Lifetime | None = None) -> None:
        self.settings = settings
        self.lifetime = lifetime or Lifetime()
        self.sessions = LocalResource(lambda: CallSession(settings))
        self._delivery = Delivery(settings, self.lifetime)

    @property
    def writers(self) -> Writers:
        """Return the identities of the writes of this process and loop."""
        return self.sessions.get().writers

    @property
    def read_limiter(self) -> Semaphore:
        """Return a semaphore that limits concurrent calls of low priority.

        Thousands that were sent at once would wait for each other longer than a call may take.
        """
        return self.sessions.get().read_limiter

    @property
    def fast_path(self) -> Router | None:
        """Return the router for calls that are only sent and answered.

        Return None if each call does more, such as to wait for replicas, or if this is closed.
        """
        router = self.sessions.get().router if self.settings.plain else None
        return None if self.lifetime.closed else router

    def call(
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
            keys: the keys, in the order of the script's header.
            args: the arguments, in the order of the script's header.
            kind: calls of different kinds do not wait for each other.
            harmless: whether the script changes no more when it runs several times. Then it is
                called again when a reply is lost, as a script that only reads is.
            durable: whether the write is to be as durable as the settings say. Hints need not be,
                nor writes that last for a moment only, such as the renewal of a lease.

        Returns:
            What the script returned.

        Raises:
            ClientClosed: it did not run.
            ServerUnavailable: it did not run; `ServerRefused` when the server gave a reason, and
                `Unsupported` when it cannot be as durable there.
            OutcomeUnknown: it may have run, or may not be durable.
        """
        request = Request.of_script(script.sha1, keys, args)
        settings, first = self.settings, None
        until = monotonic() + settings.timeout_s
        router = self._router(script.name, unit)
        if settings.plain and (connection := router.cached_connection(unit, kind)) is not None:
            first = connection.submit(request)
        if isinstance(first, Replied):  # the usual case: nothing is left to decide
            return first.value
        reading, durable = script.readonly, self._waits_for_barrier(script, wanted=durable)
        attempt = Attempt(script.name, unit, kind, until, reading, harmless or reading, durable)
        with during(settings.telemetry, "call", unit, facts=script.facts):
            outcome = self._delivery.deliver(router, attempt, request, first)
            if isinstance(outcome, NoScript):
                whole = Request.of("EVAL", script.source, len(keys), *keys, *args)
                outcome = self._delivery.deliver(router, attempt, whole)
            return self._value(outcome, attempt)

    def operation(
        self, op_id: str | None, repeat: Callable[..., Any], *, verb: str = ""
    ) -> Operation:
        """Begin a write of several steps: a context in which the steps are called.

        Args:
            op_id: as in `write`.
            repeat: as in `write`.
            verb: what it does to its unit; needed where several verbs share a unit.
        """
        return self.writers.operation(op_id, repeat, verb=verb)

    def write(
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
        """Run *script* on the server of *unit*, and apply it once, however often it is sent.

        Args:
            script: the atomic step; its first two arguments are a writer and a number.
            unit: what it is about.
            args: its further arguments.
            op_id: from an `OutcomeUnknown`, or a name that the user chose; None for a new
                operation.
            repeat: the public method with its arguments. `OutcomeUnknown.repeat` calls it with the
                same `op_id`.
            given: as in `Script.keys`.
            verb: what it does to *unit*; by default the verb of *script*.
            harmless: as in `call`.

        Returns:
            What the script returned.

        Raises:
            ClientClosed, ServerUnavailable: as in `call`.
            OutcomeUnknown: it may have run. `repeat()` sends it again, and it is applied once.
        """
        with self.writers.operation(op_id, repeat, verb=verb or script.verb) as operation:
            keys = script.keys(unit, *given)
            identified = (operation.writer, operation.number, *args)
            return self.call(script, unit, keys, identified, harmless=harmless)

    def call_many(
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
            harmless: as in `call`.
            durable: as in `call`.

        Returns:
            For each step what the script returned, or the error that `call` would have raised.
        """
        if not steps:
            return []
        router = self._router(script.name, steps[0][0])
        waits = self._waits_for_barrier(script, wanted=durable)
        with during(self.settings.telemetry, "call", steps[0][0], facts=script.facts):
            first = self._delivery.first_outcomes(router, script, steps, durable=waits)
        answers: list[Any] = []
        for (unit, keys, args), outcome in zip(steps, first, strict=True):
            if isinstance(outcome, Replied):
                answers.append(outcome.value)
                continue
            try:
                # One by one, hundreds of calls to a dead server would take hundreds of timeouts.
                self.check_first(router, outcome, script, unit, harmless=harmless)
                again = self.call(script, unit, keys, args, harmless=harmless, durable=durable)
                answers.append(again)
            except HoldfastError as error:
                answers.append(error)
        return answers

    def check_first(
        self,
        router: Router,
        outcome: Outcome,
        script: Script,
        unit: Unit,
        *,
        harmless: bool = False,
    ) -> None:
        """Raise the error of a first *outcome* that is no reply, unless another call may succeed.

        Args:
            router: chose the connection of the call.
            outcome: of the call.
            script: what was called.
            unit: what it is about.
            harmless: as in `call`.

        Raises:
            HoldfastError: as in `call`.
        """
        reading, now = script.readonly, monotonic()
        attempt = Attempt(
            script.name, unit, CallKind.ORDINARY, now, reading, harmless=harmless or reading
        )
        if isinstance(outcome, Moved):
            router.learn(outcome)
        elif not isinstance(outcome, NoScript) and not self._delivery.may_retry(
            router, outcome, attempt
        ):
            self._value(outcome, attempt)

    def read(self, unit: Unit, *command: Argument, kind: CallKind = CallKind.ORDINARY) -> Any:
        """Run one command that changes nothing.

        Raises:
            ServerUnavailable: there was no answer.
        """
        attempt = self._read_attempt(str(command[0]), unit, kind)
        router = self._router(str(command[0]), unit)
        outcome = self._delivery.deliver(router, attempt, Request.of(*command))
        return self._value(outcome, attempt)

    def address_of(self, unit: Unit) -> Address | None:
        """Return the address of the server of *unit*; None if it is not known here."""
        return self.sessions.get().router.known(unit)

    def primaries(self) -> list[Address]:
        """Return every server that holds data.

        Raises:
            ServerUnavailable: no sentinel or node knows them.
        """
        router = self.sessions.get().router
        self.lifetime.check("looking for the servers")
        found = router.primaries()
        self.lifetime.check("looking for the servers")
        if not found:
            raise ServerUnavailable("looking for the servers", self.settings.nowhere, harmless=True)
        return found

    def ask(
        self, address: Address, unit: Unit, *command: Argument, kind: CallKind = CallKind.ORDINARY
    ) -> Any:
        """Run one command on the server at *address*, which may be repeated; *unit* names it.

        Raises:
            ServerUnavailable: there was no answer.
        """
        attempt = self._read_attempt(str(command[0]), unit, kind)
        connection = self._router(str(command[0]), unit).connection(address, kind)
        return self._value(connection.submit(Request.of(*command)), attempt)

    def ask_many(
        self, address: Address, unit: Unit, commands: Iterable[Sequence[Argument]]
    ) -> list[Any]:
        """Run several commands on the server at *address*, in one batch.

        Raises:
            ServerUnavailable: one of them was not answered.
        """
        attempt = self._read_attempt("reading", unit)
        connection = self._router("reading", unit).connection(address, CallKind.ORDINARY)
        pending = connection.submit_all(Request.of(*command) for command in commands)
        return [self._value(outcome, attempt) for outcome in pending]

    def check_durability(self) -> None:
        """Check that the servers can be as durable as the settings say.

        A server that does not answer is checked before the first durable call to it.

        Raises:
            Unsupported: one cannot.
        """
        if self.settings.durability is None:
            return
        try:
            found = self.primaries()
        except ServerUnavailable:
            return
        router = self.sessions.get().router
        for address in found:
            problem = self._delivery.durability_problem(router, address)
            if isinstance(problem, Unable):
                self._close_connections()
                raise Unsupported("opening the client", problem.reason, harmless=True)

    def close(self) -> None:
        """Refuse further calls, and close every connection of this process. Idempotent.

        The connections of this loop are closed after the calls in progress. Other loops close
        theirs at once, and calls in progress there are lost.
        """
        self.lifetime.end()
        self._close_connections()
        abort_all(self.sessions)

    def _close_connections(self) -> None:
        """Close every connection of this process and loop, after the calls in progress."""
        session = self.sessions.pop()
        if session is not None:
            session.router.close()

    def _router(self, verb: str, unit: Unit) -> Router:
        """Return the router of this process and loop, for the call that does *verb* to *unit*.

        Raises:
            ClientClosed: the client is closed.
        """
        router = self.sessions.get().router
        if self.lifetime.closed:  # checked after `get`: `close` does both in reverse order
            raise ClientClosed(f"{verb} on {unit}")
        return router

    def _value(self, outcome: Outcome, attempt: Attempt) -> Any:
        """Return the answer in *outcome*, or raise its error."""
        if self.lifetime.closed and not_applied(outcome, attempt):
            raise ClientClosed(attempt.action)
        return value(outcome, attempt)

    def _waits_for_barrier(self, script: Script, *, wanted: bool) -> bool:
        """Return whether calls of *script* wait until they are durable."""
        return wanted and self.settings.durability is not None and not script.readonly

    def _read_attempt(self, verb: str, unit: Unit, kind: CallKind = CallKind.ORDINARY) -> Attempt:
        until = monotonic() + self.settings.timeout_s
        return Attempt(verb, unit, kind, until, reading=True, harmless=True)
