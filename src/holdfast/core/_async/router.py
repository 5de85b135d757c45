"""The map of which connection leads where."""

from __future__ import annotations

from dataclasses import replace

from ..concurrency._async.waiting import Mutex
from ..names import Unit
from ..transport._async.connection import AsyncConnection
from ..transport.barrier import DurabilityBarrier
from ..transport.outcome import Moved, Outcome, Replied
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from ..transport.slots import SlotMap


class AsyncRouter:
    """Where each unit lives now: follows Sentinel, and the slots of a cluster.

    Attributes:
        closed: whether `close` has begun; calls under way then come to their end.
        seal: ends the durable calls, if there are any.
        sealing: servers that are known to be able to.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.seal = (
            None if settings.durability is None else DurabilityBarrier.of(settings.durability)
        )
        self.sealing: set[Address] = set()
        self._lanes: dict[tuple[Address, CallKind, bool], AsyncConnection] = {}
        self._asking: dict[Address, AsyncConnection] = {}
        self._slots: SlotMap | None = None
        self._primary: Address | None = None
        self._discovery = Mutex()
        self._generation = 0
        self.closed = False
        if settings.topology == "standalone":
            self._primary = settings.addresses[0]

    @property
    def generation(self) -> int:
        """Grows with every discovery."""
        return self._generation

    def known(self, unit: Unit) -> Address | None:
        """Where *unit* lives; None while this is not known here."""
        return self._primary if self._slots is None else self._slots.owner(unit.slot)

    async def address(self, unit: Unit) -> Address | None:
        """Where *unit* lives; asks if it is not known here. None while nobody knows."""
        if self.known(unit) is None:
            await self.discover(self._generation)
        return self.known(unit)

    def cached_connection(self, unit: Unit, kind: CallKind) -> AsyncConnection | None:
        """The lane of this *kind* of call to where *unit* lives; None unless both are known."""
        address = self.known(unit)
        return None if address is None else self._lanes.get((address, kind, False))

    async def primaries(self) -> list[Address]:
        """Every server that holds data; none while nobody knows."""
        if self._slots is None and self._primary is None:
            await self.discover(self._generation)
        if self._slots is not None:
            return list(self._slots.owners())
        return [] if self._primary is None else [self._primary]

    def lane(self, address: Address, kind: CallKind, *, durable: bool = False) -> AsyncConnection:
        """The lane of this *kind* of call to *address*; *durable* ones do not delay others."""
        lane = self._lanes.get((address, kind, durable))
        if lane is None:
            made = self._sealed(address) if durable else AsyncConnection(self._settings, address)
            lane = self._lanes.setdefault((address, kind, durable), made)
            if self.closed:
                lane.abort()
        return lane

    def _sealed(self, address: Address) -> AsyncConnection:
        """A lane on which calls also wait for their seal."""
        assert self.seal is not None
        settings = self._settings
        patient = replace(settings, timeout_s=settings.timeout_s + self.seal.timeout_s)
        return AsyncConnection(patient, address, seal=self.seal)

    def moved(self, redirection: Moved) -> Address:
        """Learn from a `MOVED`, or just follow an `ASK`: the address to go to."""
        address = redirection.address
        if self._settings.remap is not None:
            address = self._settings.remap(address)
        if self._slots is not None and not redirection.ask:
            self._slots.moved(redirection.slot, address)
        return address

    async def discover(self, seen: int) -> None:
        """Ask anew where everything is, unless somebody did since generation *seen*."""
        if self._settings.topology == "standalone":
            return
        async with self._discovery:
            if self._generation != seen:
                return
            if self._settings.topology == "sentinel":
                await self._ask_sentinels()
            else:
                await self._ask_nodes()
            self._generation += 1

    async def close(self) -> None:
        """Close every connection; none is opened any more."""
        self.closed = True
        while self._lanes:
            _, lane = self._lanes.popitem()
            await lane.close()
        while self._asking:
            _, lane = self._asking.popitem()
            lane.abort()

    def abort(self) -> None:
        """Close every connection at once; what is under way is lost."""
        self.closed = True
        for lane in [*self._lanes.values(), *self._asking.values()]:
            lane.abort()

    async def _ask_sentinels(self) -> None:
        request = Request.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._settings.service)
        for address in self._settings.addresses:
            outcome = await self._ask(address, request, sentinel=True)
            if isinstance(outcome, Replied) and outcome.value:
                host, port = outcome.value
                self._primary = (host.decode(), int(port))
                return

    async def _ask_nodes(self) -> None:
        known = () if self._slots is None else self._slots.nodes
        for address in dict.fromkeys((*known, *self._settings.addresses)):
            outcome = await self._ask(address, Request.of("CLUSTER", "SLOTS"))
            if isinstance(outcome, Replied) and outcome.value:
                self._slots = SlotMap.parse(outcome.value, address, self._settings.remap)
                return

    async def _ask(self, address: Address, request: Request, *, sentinel: bool = False) -> Outcome:
        """Ask on a connection of its own; one that is still opening is kept for the next time."""
        lane = self._asking.pop(address, None)
        if lane is None:
            lane = AsyncConnection(self._settings, address, sentinel=sentinel)
        try:
            return await lane.submit(request)
        finally:
            if lane.opening and not self.closed:
                self._asking[address] = lane
            else:
                lane.abort()
