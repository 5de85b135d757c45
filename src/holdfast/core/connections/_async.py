"""One connection, and the map of which connection leads where."""

from __future__ import annotations

import contextlib
import time
from typing import Final
from weakref import WeakSet

from redis.asyncio import connection as flavour
from redis.exceptions import RedisError

from ..names import Unit
from ..runtime._async import Batcher, Mutex, Slot, notice, time_limit
from .outcome import ERROR_REPLIES, Lost, Moved, Outcome, Replied, Unsent, of_error
from .request import Request
from .settings import Address, Settings
from .slots import SlotMap

BATCH_LIMIT = 64
"""Requests that travel in one write: enough to hide the round trip, few enough to stay fair."""

_IDLE_S: Final = 0.005
"""A connection unused for longer may have been closed without this side having noticed."""

_BUSY_S: Final = 0.0005
"""A connection used so shortly before is believed to be open: looking costs a tenth of a call."""

_BROKEN = (RedisError, OSError, TimeoutError)


class AsyncWire:
    """One connection of ours to one server; opened when it is first needed.

    It is used by one caller at a time. What breaks it closes it, and the next use opens it anew.
    """

    def __init__(self, settings: Settings, address: Address, *, sentinel: bool = False) -> None:
        self._settings = settings
        self._address = address
        self._connection = settings.connection(flavour, address, sentinel=sentinel)
        self._used_at = 0.0

    async def exchange(self, requests: list[Request]) -> list[Outcome]:
        """Send *requests* in one write and answer each with its outcome, in order."""
        problem = await self._open()
        if problem is not None:
            return [Unsent(problem)] * len(requests)
        outcomes: list[Outcome] = []
        try:
            async with time_limit(self._settings.timeout_s):
                payload = b"".join([request.payload for request in requests])
                await self._connection.send_packed_command([payload], check_health=False)
                for request in requests:  # one by one: what came before a loss counts
                    single = request.replies == 1
                    outcomes.append(await (self._read() if single else self._read_all(request)))
        except _BROKEN as error:
            await self.close(broken=True)
            outcomes += [Lost(self._explained(error))] * (len(requests) - len(outcomes))
        except BaseException:
            await self.close(broken=True)
            raise
        self._used_at = time.monotonic()
        return outcomes

    async def close(self, *, broken: bool = False) -> None:
        """Close the connection; a *broken* one without waiting for the other side."""
        with contextlib.suppress(*_BROKEN):
            await self._connection.disconnect(nowait=broken)

    async def _open(self) -> str | None:
        """Make sure the connection is open; otherwise say why it cannot be."""
        if self._connection.is_connected:
            if not await self._stale():
                return None
            await self.close(broken=True)
        try:
            async with time_limit(self._settings.timeout_s):
                await self._connection.connect()
        except _BROKEN as error:
            await self.close(broken=True)
            return self._explained(error)
        return None

    async def _stale(self) -> bool:
        """Whether the server hung up while the connection was idle, or said what nobody asked."""
        idle_s = time.monotonic() - self._used_at
        if idle_s < _BUSY_S:
            return False
        if idle_s > _IDLE_S:
            await notice()
        try:
            return bool(await self._connection.can_read())
        except _BROKEN:
            return True

    async def _read_all(self, request: Request) -> Outcome:
        """Read several replies; the first that is an error stands for all."""
        outcomes = [await self._read() for _ in range(request.replies)]
        values = [each.value for each in outcomes if isinstance(each, Replied)]
        if len(values) == len(outcomes):
            return Replied(values)
        return next(each for each in outcomes if not isinstance(each, Replied))

    async def _read(self) -> Outcome:
        try:
            return Replied(await self._connection.read_response(disconnect_on_error=False))
        except ERROR_REPLIES as error:
            return of_error(error, self._address)

    def _explained(self, error: BaseException) -> str:
        host, port = self._address
        where = f"{host}:{port}" if port else host
        return f"{where}: {str(error) or f'no answer within {self._settings.timeout_s:g} s'}"


class AsyncLane:
    """The way of one kind of call to one server: what is submitted together travels together."""

    def __init__(self, settings: Settings, address: Address) -> None:
        self._settings = settings
        self._address = address
        self._own: Slot[AsyncWire] = Slot()
        self._wires: WeakSet[AsyncWire] = WeakSet()
        self._batcher: Batcher[Request, Outcome] = Batcher(
            self._exchange,
            BATCH_LIMIT,
            settings.timeout_s,
            Unsent(f"{address[0]}: calls before it were not answered in {settings.timeout_s:g} s"),
        )
        self.submit: Final = self._batcher.submit
        """Send one request and wait for its outcome."""

    async def close(self) -> None:
        """Finish what is under way, then close the connections."""
        await self._batcher.settle()
        for wire in list(self._wires):
            await wire.close()

    async def _exchange(self, requests: list[Request]) -> list[Outcome]:
        wire = self._own.value
        if wire is None:
            wire = self._own.value = AsyncWire(self._settings, self._address)
            self._wires.add(wire)
        return await wire.exchange(requests)


class AsyncRoutes:
    """Where each unit lives now: follows Sentinel, and the slots of a cluster."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lanes: dict[tuple[Address, str], AsyncLane] = {}
        self._slots: SlotMap | None = None
        self._primary: Address | None = None
        self._discovery = Mutex()
        self._generation = 0
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

    def lane(self, address: Address, kind: str) -> AsyncLane:
        """The lane of this *kind* of call to *address*."""
        lane = self._lanes.get((address, kind))
        if lane is None:
            lane = self._lanes.setdefault((address, kind), AsyncLane(self._settings, address))
        return lane

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
        """Close every connection."""
        while self._lanes:
            _, lane = self._lanes.popitem()
            await lane.close()

    async def _ask_sentinels(self) -> None:
        request = Request.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._settings.service)
        for address in self._settings.addresses:
            wire = AsyncWire(self._settings, address, sentinel=True)
            [outcome] = await wire.exchange([request])
            await wire.close()
            if isinstance(outcome, Replied) and outcome.value:
                host, port = outcome.value
                self._primary = (host.decode(), int(port))
                return

    async def _ask_nodes(self) -> None:
        known = () if self._slots is None else self._slots.nodes
        for address in dict.fromkeys((*known, *self._settings.addresses)):
            wire = AsyncWire(self._settings, address)
            [outcome] = await wire.exchange([Request.of("CLUSTER", "SLOTS")])
            await wire.close()
            if isinstance(outcome, Replied) and outcome.value:
                self._slots = SlotMap.parse(outcome.value, address, self._settings.remap)
                return
