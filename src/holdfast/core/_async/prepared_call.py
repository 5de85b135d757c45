"""Pack a call of a script once and send it many times, for calls that every use of a unit makes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from time import monotonic
from typing import Any, Final

from ..attempt import Attempt, value
from ..names import Unit
from ..script import Script
from ..transport.outcome import Lost, Replied
from ..transport.request import CallKind, PreparedCommand, Request
from .caller import Argument, AsyncCaller

_OVERDUE: Final = 0.5
"""Fraction of the timeout. If a reply is lost after this time, a repeated read would take too long
in total, so it fails."""


class AsyncPreparedCall:
    """Calls one script for one unit. Only the first argument varies from call to call.

    Args:
        caller: sends the calls.
        script: the script.
        unit: the unit of the calls.
        keys: the keys, in the order of the script's header.
        rest: the arguments after the first one.
    """

    __slots__ = ("_caller", "_command", "_script", "_unit")

    def __init__(
        self,
        caller: AsyncCaller,
        script: Script,
        unit: Unit,
        keys: Sequence[str | bytes],
        *rest: Argument,
    ) -> None:
        self._caller = caller
        self._script = script
        self._unit = unit
        self._command = PreparedCommand(script.sha1, keys, *rest)

    async def attempt(self, first: str) -> Any | None:
        """Send the call once, if calls can use the fast path (`AsyncCaller.fast_path`).

        Args:
            first: the first argument.

        Returns:
            What the script returned. None if the call was not sent, or was certainly not applied
            and may succeed if it is sent again: then use `AsyncCaller.call`.

        Raises:
            ServerUnavailable, ClientClosed: the script did not run.
            OutcomeUnknown: the script may have run.
        """
        router = self._caller.fast_path
        connection = (
            None if router is None else router.cached_connection(self._unit, CallKind.ORDINARY)
        )
        if router is None or connection is None:
            return None
        outcome = await connection.submit(self._command.filled(first))
        if isinstance(outcome, Replied):
            return outcome.value
        self._caller.check_first(router, outcome, self._script, self._unit)
        return None


class AsyncPreparedRead:
    """Sends commands that change nothing, packed in advance, in one round trip.

    Args:
        caller: sends the commands.
        unit: the unit of the commands; all their keys are in its slot, or on its server.
        commands: the commands.
    """

    __slots__ = ("_caller", "_request", "_unit")

    def __init__(self, caller: AsyncCaller, unit: Unit, *commands: Sequence[Argument]) -> None:
        self._caller = caller
        self._unit = unit
        self._request = reduce(add, [Request.of(*command) for command in commands])

    async def attempt(self) -> list[Any] | None:
        """Send the commands once, if calls can use the fast path (`AsyncCaller.fast_path`).

        Returns:
            The reply to each command; of a single command, its reply. None if the server did not
            reply, or one of the replies is an error: then use `AsyncCaller.call`.

        Raises:
            ServerUnavailable: the server did not answer in time.
        """
        router = self._caller.fast_path
        connection = (
            None if router is None else router.cached_connection(self._unit, CallKind.ORDINARY)
        )
        if router is None or connection is None:
            return None
        began = monotonic()
        outcome = await connection.submit(self._request)
        if isinstance(outcome, Replied):
            replies: list[Any] = outcome.value
            return replies
        router.note(outcome, self._unit)
        if isinstance(outcome, Lost):
            until = began + _OVERDUE * self._caller.settings.timeout_s
            if monotonic() > until:
                attempt = Attempt("reading", self._unit, CallKind.ORDINARY, until, True, True)
                value(outcome, attempt)
        return None
