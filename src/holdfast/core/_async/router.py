"""Find the server of each unit, and hold the connections to all servers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from ..attempt import USE_SENTINEL_KWARGS
from ..concurrency._async.primitives import Mutex
from ..names import Unit
from ..transport._async.connection import AsyncConnection
from ..transport.barrier import DurabilityBarrier
from ..transport.outcome import Busy, Lost, Moved, Outcome, Refused, Replied, Unsent
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from ..transport.slots import SlotMap

_LEAST_S: Final = 0.25
"""Seconds that each sentinel or node has to answer a later discovery, unless a call has fewer."""

_RENEW_S: Final = 0.5
"""Seconds between two attempts to reach another server under the same name."""


class AsyncRouter:
    """Finds the server of each unit, with Sentinel or by the slots of a cluster.

    Attributes:
        closed: whether `close` or `abort` was called.
        barrier: the barrier after each batch of durable calls; None: there are no durable calls.
        durable_servers: addresses of servers that have supported the barrier.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        durability = settings.durability
        self.barrier: DurabilityBarrier | None = (
            None if durability is None else DurabilityBarrier.of(durability)
        )
        self.durable_servers: set[Address] = set()
        self._connections: dict[tuple[Address, CallKind, bool], AsyncConnection] = {}
        # Connections for discovery that are being opened.
        self._discovering: dict[Address, AsyncConnection] = {}
        self._slots: SlotMap | None = None
        self._primary: Address | None = None
        self._silent: set[Address] = set()  # did not answer since the last discovery
        self._answered: Address | None = None  # the sentinel or node of the last discovery
        self._mute: set[Address] = set()  # sentinels and nodes that did not answer the last ones
        self._renewed_at = -_RENEW_S  # when all connections were opened again
        self._discovery = Mutex()
        self._generation = 0
        self._problem: Unsent | None = None  # why the last discovery failed
        self.closed: bool = False
        if settings.topology == "standalone":
            self._primary = settings.addresses[0]

    @property
    def generation(self) -> int:
        """Return the number of discoveries so far."""
        return self._generation

    @property
    def unknown_server(self) -> Unsent:
        """Return the outcome of a call about a unit if its server is unknown."""
        problem = self._problem
        if problem is None:
            return Unsent(self._settings.nowhere)
        if problem.rejection == "credentials" and self._settings.topology == "sentinel":
            return Unsent(problem.reason, problem.rejection, USE_SENTINEL_KWARGS)
        if problem.rejection:
            return problem
        return Unsent(f"{self._settings.nowhere} ({problem.reason})", remedy=problem.remedy)

    def known(self, unit: Unit) -> Address | None:
        """Return the address of the server of *unit*; None if it is not known yet."""
        return self._primary if self._slots is None else self._slots.owner(unit.slot)

    def answering(self, unit: Unit) -> Address | None:
        """Return the address of the server of *unit*; None if it is not known yet, or if the server
        did not answer a call since the last discovery."""
        address = self._primary if self._slots is None else self._slots.owner(unit.slot)
        return None if self._silent and address in self._silent else address

    async def address(self, unit: Unit) -> Address | None:
        """Return the address of the server of *unit*. If `answering` returns None, discover it.

        Return None if the discovery failed, and no earlier one found the server.
        """
        if self.answering(unit) is None:
            await self.discover(self._generation)
        return self.known(unit)

    def note(self, outcome: Outcome, unit: Unit) -> None:
        """Remember it if *outcome* shows that the server of *unit* did not answer.

        Then it is discovered before the next call, because it may have a successor. A machine that
        is off refuses no connection: each call to it takes all of its time, and leaves none for a
        discovery.

        A single server that has become a replica is left: its name may stand for another server
        now, the primary.
        """
        if self._settings.topology == "standalone":
            if isinstance(outcome, Busy) and outcome.reason.startswith("READONLY"):
                self._renew_connections()
        elif isinstance(outcome, Lost | Unsent):
            address = self.known(unit)
            if address is not None:
                self._silent.add(address)

    def _renew_connections(self) -> None:
        """Open all connections again. Do so rarely: the server may stay a replica."""
        now = monotonic()
        if now - self._renewed_at >= _RENEW_S:
            self._renewed_at = now
            for connection in list(self._connections.values()):
                connection.renew()

    def cached_connection(self, unit: Unit, kind: CallKind) -> AsyncConnection | None:
        """Return the connection for calls of *kind* to *unit*; None if there is none yet, or if the
        server has to be discovered first."""
        address = self.answering(unit)
        return None if address is None else self._connections.get((address, kind, False))

    async def primaries(self) -> list[Address]:
        """Return the addresses of all servers that hold data; empty if the discovery failed."""
        if self._silent or (self._slots is None and self._primary is None):
            await self.discover(self._generation)
        if self._slots is not None:
            return list(self._slots.owners())
        return [] if self._primary is None else [self._primary]

    def connection(
        self, address: Address, kind: CallKind, *, durable: bool = False
    ) -> AsyncConnection:
        """Return the connection for calls of *kind* to *address*.

        Durable calls have separate connections, so that they do not delay other calls.
        """
        connection = self._connections.get((address, kind, durable))
        if connection is None:
            made = (
                self._durable_connection(address)
                if durable
                else AsyncConnection(self._settings, address)
            )
            connection = self._connections.setdefault((address, kind, durable), made)
            if self.closed:
                connection.abort()
        return connection

    def _durable_connection(self, address: Address) -> AsyncConnection:
        assert self.barrier is not None
        timeout_s = self._settings.timeout_s + self.barrier.timeout_s
        settings = replace(self._settings, timeout_s=timeout_s)
        return AsyncConnection(settings, address, barrier=self.barrier)

    def learn(self, redirection: Moved) -> Address:
        """Return the address in *redirection*. If it is a `MOVED`, remember it for the slot."""
        address = redirection.address
        if self._settings.remap is not None:
            address = self._settings.remap(address)
        if self._slots is not None and not redirection.ask:
            self._slots.moved(redirection.slot, address)
        return address

    async def discover(self, seen: int) -> None:
        """Discover the servers, unless another call has done so since `generation` was *seen*."""
        if self._settings.topology == "standalone":
            return
        async with self._discovery:
            if self._generation != seen:
                return
            if self._settings.topology == "sentinel":
                await self._ask_sentinels()
            else:
                await self._ask_nodes()
            self._silent.clear()  # If the discovery failed, the last known servers are called.
            self._generation += 1

    def _note_problem(self, address: Address, outcome: Outcome, nothing: str) -> None:
        """Keep why the sentinel or node at *address* did not find a server; rather a rejection.

        *nothing* is the reason if it answered with nothing.
        """
        if self._problem is not None and self._problem.rejection:
            return
        if isinstance(outcome, Unsent):
            self._problem = outcome
            return
        rejection = outcome.rejection if isinstance(outcome, Refused) else ""
        reason = getattr(outcome, "reason", nothing)
        if not isinstance(outcome, Lost):
            reason = self._settings.explained(address, reason)
        self._problem = Unsent(reason, rejection)

    async def close(self) -> None:
        """Close each connection when its calls have ended. Open no further connections."""
        self.closed = True
        while self._connections:
            _, connection = self._connections.popitem()
            await connection.close()
        while self._discovering:
            _, connection = self._discovering.popitem()
            connection.abort()

    def abort(self) -> None:
        """Close all connections at once. Calls in progress are lost."""
        self.closed = True
        for connection in [*self._connections.values(), *self._discovering.values()]:
            connection.abort()

    async def _ask_sentinels(self) -> None:
        request = Request.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._settings.service)
        nothing, addresses = "it knows no service of this name", self._settings.addresses
        if answer := await self._first_answer(addresses, request, nothing, sentinel=True):
            host, port = answer[1]
            self._primary = (host.decode(), int(port))

    async def _ask_nodes(self) -> None:
        known = () if self._slots is None else self._slots.nodes
        addresses = (*known, *self._settings.addresses)
        request, nothing = Request.of("CLUSTER", "SLOTS"), "it knows no owner of any slot"
        if answer := await self._first_answer(addresses, request, nothing):
            address, slots = answer
            self._slots = SlotMap.parse(slots, address, self._settings.remap)

    async def _first_answer(
        self,
        addresses: Iterable[Address],
        request: Request,
        nothing: str,
        *,
        sentinel: bool = False,
    ) -> tuple[Address, Any] | None:
        """Ask *addresses* one after the other. Return the first one that answers, and its answer.

        Later discoveries have half of the time of a call for the first address, half of the rest
        for the second, and so on: the call that waits for them must not take the timeout of each.

        Args:
            addresses: the sentinels or nodes.
            request: what to ask.
            nothing: the reason if one answers with nothing.
            sentinel: whether they are sentinels.
        """
        self._problem, settings = None, self._settings
        is_first = self._primary is None and self._slots is None
        for address in self._in_order(addresses):
            if not is_first:
                left_s = max(settings.timeout_s / 2, _LEAST_S)
                settings = replace(settings, timeout_s=min(settings.timeout_s, left_s))
            outcome = await self._ask(address, request, settings, sentinel=sentinel)
            if isinstance(outcome, Replied) and outcome.value:
                self._mute.discard(address)
                self._answered, self._problem = address, None
                return address, outcome.value
            self._mute.add(address)
            self._note_problem(address, outcome, nothing)
        self._mute.clear()
        return None

    def _in_order(self, addresses: Iterable[Address]) -> list[Address]:
        """Return *addresses* in the order in which a discovery asks them.

        The one that answered the last discovery comes first. Those that did not answer a call or an
        earlier discovery come last, because each that is away takes time.
        """
        away = self._silent | self._mute
        return sorted(
            dict.fromkeys(addresses),
            key=lambda address: (address in away, address != self._answered),
        )

    async def _ask(
        self, address: Address, request: Request, settings: Settings, *, sentinel: bool
    ) -> Outcome:
        """Send *request* on a new connection, and close it afterwards.

        If it is still being opened then, keep it for the next discovery.
        """
        connection = self._discovering.pop(address, None)
        if connection is None:
            connection = AsyncConnection(settings, address, sentinel=sentinel)
        try:
            return await connection.submit(request)
        finally:
            if connection.opening and not self.closed:
                self._discovering[address] = connection
            else:
                connection.abort()
