"""A script call that is packed once, for steps that are called at every use of a unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..names import Unit
from ..script import Script
from ..transport.outcome import Replied
from ..transport.request import CallKind, PreparedCommand
from .caller import Argument, AsyncCaller


class AsyncPreparedCall:
    """Calls one script for one unit; only the first argument changes between two calls.

    Args:
        caller: sends the calls.
        script: the atomic step.
        unit: what it is about.
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
        """Send the call once, if the fast path is open.

        Returns:
            What the script returned. None if the call was not sent, or was certainly not applied
            and may succeed: then use `AsyncCaller.call`.

        Raises:
            ServerUnavailable, ClientClosed: it did not run.
            OutcomeUnknown: it may have run.
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
