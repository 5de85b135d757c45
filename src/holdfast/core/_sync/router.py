# Generated from _async/router.py by tools/unasync.py: edit that, then run `make sync`.
"""The router: which connection leads to which unit."""

from __future__ import annotations

from dataclasses import replace

from ..concurrency._sync.primitives import Mutex
from ..names import Unit
from ..transport._sync.connection import Connection
from ..transport.barrier import DurabilityBarrier
from ..transport.outcome import Moved, Outcome, Replied
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from ..transport.slots import SlotMap


class Router:
    """Finds the server of each unit: follows Sentinel, and the slots of a cluster.

    Attributes:
        closed: whether `close` has begun. Calls in progress then end.
        barrier: ends each batch of durable calls; None if calls need not be durable.
        durable_servers: servers that are known to support the barrier.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        durability = settings.durability
        self.barrier = None if durability is None else DurabilityBarrier.of(durability)
        self.durable_servers: set[Address] = set()
        self._connections: dict[tuple[Address, CallKind, bool], Connection] = {}
        self._asking: dict[Address, Connection] = {}
        self._slots: SlotMap | None = None
        self._primary: Address | None = None
        self._discovery = Mutex()
        self._generation = 0
        self.closed = False
        if settings.topology == "standalone":
            self._primary = settings.addresses[0]

    @property
    def generation(self) -> int:
        """Return a number that grows with every discovery."""
        return self._generation

    def known(self, unit: Unit) -> Address | None:
        """Return the server of *unit*; None if it is not known here."""
        return self._primary if self._slots is None else self._slots.owner(unit.slot)

    def address(self, unit: Unit) -> Address | None:
        """Return the server of *unit*. Ask for it if it is not known here; None if that fails."""
        if self.known(unit) is None:
            self.discover(self._generation)
        return self.known(unit)

    def cached_connection(self, unit: Unit, kind: CallKind) -> Connection | None:
        """Return the connection for this *kind* of call to *unit*; None if there is none yet."""
        address = self.known(unit)
        return None if address is None else self._connections.get((address, kind, False))

    def primaries(self) -> list[Address]:
        """Return every server that holds data; an empty list if they cannot be found."""
        if self._slots is None and self._primary is None:
            self.discover(self._generation)
        if self._slots is not None:
            return list(self._slots.owners())
        return [] if self._primary is None else [self._primary]

    def connection(self, address: Address, kind: CallKind, *, durable: bool = False) -> Connection:
        """Return the connection for this *kind* of call to *address*.

        Durable calls have connections of their own, so that they do not delay others.
        """
        connection = self._connections.get((address, kind, durable))
        if connection is None:
            made = (
                self._durable_connection(address)
                if durable
                else Connection(self._settings, address)
            )
            connection = self._connections.setdefault((address, kind, durable), made)
            if self.closed:
                connection.abort()
        return connection

    def _durable_connection(self, address: Address) -> Connection:
        assert self.barrier is not None
        timeout_s = self._settings.timeout_s + self.barrier.timeout_s
        settings = replace(self._settings, timeout_s=timeout_s)
        return Connection(settings, address, barrier=self.barrier)

    def learn(self, redirection: Moved) -> Address:
        """Return the address in *redirection*, and remember it if it is a `MOVED`."""
        address = redirection.address
        if self._settings.remap is not None:
            address = self._settings.remap(address)
        if self._slots is not None and not redirection.ask:
            self._slots.moved(redirection.slot, address)
        return address

    def discover(self, seen: int) -> None:
        """Ask again where everything is, unless that happened after generation *seen*."""
        if self._settings.topology == "standalone":
            return
        with self._discovery:
            if self._generation != seen:
                return
            if self._settings.topology == "sentinel":
                self._ask_sentinels()
            else:
                self._ask_nodes()
            self._generation += 1

    def close(self) -> None:
        """Close every connection. Further ones are not opened."""
        self.closed = True
        while self._connections:
            _, connection = self._connections.popitem()
            connection.close()
        while self._asking:
            _, connection = self._asking.popitem()
            connection.abort()

    def abort(self) -> None:
        """Close every connection at once. Calls in progress are lost."""
        self.closed = True
        for connection in [*self._connections.values(), *self._asking.values()]:
            connection.abort()

    def _ask_sentinels(self) -> None:
        request = Request.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._settings.service)
        for address in self._settings.addresses:
            outcome = self._ask(address, request, sentinel=True)
            if isinstance(outcome, Replied) and outcome.value:
                host, port = outcome.value
                self._primary = (host.decode(), int(port))
                return

    def _ask_nodes(self) -> None:
        known = () if self._slots is None else self._slots.nodes
        for address in dict.fromkeys((*known, *self._settings.addresses)):
            outcome = self._ask(address, Request.of("CLUSTER", "SLOTS"))
            if isinstance(outcome, Replied) and outcome.value:
                self._slots = SlotMap.parse(outcome.value, address, self._settings.remap)
                return

    def _ask(self, address: Address, request: Request, *, sentinel: bool = False) -> Outcome:
        """Send *request* on a connection for discovery; keep the connection while it opens."""
        connection = self._asking.pop(address, None)
        if connection is None:
            connection = Connection(self._settings, address, sentinel=sentinel)
        try:
            return connection.submit(request)
        finally:
            if connection.opening and not self.closed:
                self._asking[address] = connection
            else:
                connection.abort()
