"""Calls: from a script and its arguments to an answer, an error, or an unknown outcome.

Only what was surely not applied is sent again by itself: redirections and delays of a cluster, a
script that the server has not seen, and reads. All else is told to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..clock import backoff_s
from ..connections._async import AsyncRoutes
from ..connections.outcome import Busy, Lost, Moved, NoScript, Outcome, Replied, Unsent
from ..connections.request import ASKING, Request
from ..connections.settings import Address, Settings
from ..ledger import Writers
from ..names import Unit
from ..runtime._async import is_over, place, sleep
from ..script import Script
from .attempt import PLAIN_REDIRECTS, Attempt, said, value

Argument = str | bytes | int

_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25


class AsyncCaller:
    """Calls scripts where their units live. Starts afresh after a fork and in another event loop.

    Args:
        settings: where the server is and how to talk to it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sessions: dict[object, _Session] = {}

    @property
    def writers(self) -> Writers:
        """The identities of the writes of this process and loop."""
        return self._session().writers

    async def call(
        self,
        script: Script,
        unit: Unit,
        keys: Sequence[str | bytes],
        args: Sequence[Argument],
        *,
        kind: str = "calls",
        harmless: bool = False,
    ) -> Any:
        """Run *script* once on the server of *unit*.

        Args:
            script: the atomic step.
            unit: what it is about; all *keys* lie in its slot.
            keys: the keys, in the order of the script's header.
            args: the arguments, likewise.
            kind: calls of different kinds do not wait for each other.
            harmless: running it several times changes no more than once; so a lost reply is asked
                for again, as of a script that only reads.

        Returns:
            What the script returned.

        Raises:
            ServerUnavailable: it did not run; `ServerRefused` when the server said why.
            OutcomeUnknown: it may have run.
        """
        tail = (len(keys), *keys, *args)
        harmless = harmless or script.readonly
        attempt = Attempt(script.name, unit, kind, harmless, self.settings.timeout_s)
        outcome = await self._attempt(attempt, Request.of("EVALSHA", script.sha1, *tail))
        if isinstance(outcome, NoScript):
            outcome = await self._attempt(attempt, Request.of("EVAL", script.source, *tail))
        return value(outcome, attempt)

    async def read(self, unit: Unit, *command: Argument, kind: str = "calls") -> Any:
        """Run one command that changes nothing.

        Raises:
            ServerUnavailable: it could not be answered.
        """
        attempt = Attempt(str(command[0]), unit, kind, True, self.settings.timeout_s)
        return value(await self._attempt(attempt, Request.of(*command)), attempt)

    async def close(self) -> None:
        """Close every connection of this process and loop, once nothing is under way."""
        session = self._sessions.pop(place(), None)
        if session is not None:
            await session.routes.close()

    async def _attempt(self, attempt: Attempt, request: Request) -> Outcome:
        """Send until the outcome is final: what was surely not applied goes again in time."""
        routes = self._session().routes
        asked: Address | None = None  # an ASK redirects one request only
        while True:
            address = asked or routes.known(attempt.unit) or await routes.address(attempt.unit)
            if address is None:
                outcome: Outcome = Busy("no node is known to own its slot")
            else:
                whole = ASKING + request if asked else request
                outcome = await routes.lane(address, attempt.kind).submit(whole)
            if isinstance(outcome, Replied):
                return Replied(outcome.value[-1]) if asked else outcome
            asked = None
            if isinstance(outcome, Moved):
                address = routes.moved(outcome)
                asked = address if outcome.ask else None
                attempt.redirects += 1
                if attempt.redirects < PLAIN_REDIRECTS:
                    continue
            elif not self._worth_waiting(outcome, attempt):
                return outcome
            if attempt.deadline.passed:
                return Unsent(said(outcome))
            await self._pause(routes, attempt)

    def _worth_waiting(self, outcome: Outcome, attempt: Attempt) -> bool:
        """Whether another try does no harm and may end better."""
        match outcome:
            case Lost():
                return attempt.harmless
            case Unsent():  # one server that is away stays away for a while; others fail over
                return self.settings.topology != "standalone"
            case _:
                return isinstance(outcome, Busy)

    async def _pause(self, routes: AsyncRoutes, attempt: Attempt) -> None:
        attempt.pauses += 1
        pause_s = backoff_s(attempt.pauses, _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        generation = routes.generation
        await sleep(min(pause_s, attempt.deadline.left_s()))
        await routes.discover(generation)

    def _session(self) -> _Session:
        here = place()
        session = self._sessions.get(here)
        if session is None:
            for other in filter(is_over, list(self._sessions)):
                self._sessions.pop(other, None)
            # What a parent process left here stays: closing it would harm the parent.
            session = self._sessions.setdefault(here, _Session(self.settings))
        return session


class _Session:
    """What belongs to one process, and in asyncio to one loop."""

    __slots__ = ("routes", "writers")

    def __init__(self, settings: Settings) -> None:
        self.routes = AsyncRoutes(settings)
        self.writers = Writers()
