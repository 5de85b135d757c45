"""Keep an invalidation connection to every primary, for the near caches of a client.

On such a connection, the server reports which keys have changed. A `Guard` for each server decides
until when values of that server may be served from memory; see `guard.py`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from ...errors.one_line_logger import logger_of
from .._async.router import AsyncRouter
from ..clock import backoff_s
from ..concurrency._async.background_task import RunningTask, cancel_and_wait, spawn
from ..concurrency._async.primitives import Event, sleep
from ..concurrency.fork_hooks import process_id
from ..concurrency.loop_thread import LoopThread, OwnLoop
from ..lifetime import Lifetime
from ..names import Namespace
from ..transport.settings import Address, Settings
from ..transport.slots import SLOTS
from .guard import NO_GUARD, PING_S, VALID_S, Guard, clock
from .link import TrackingLink
from .ownership import ByCluster, BySentinels, NotPrimary, Standalone, Unconfirmed

logger: Final = logger_of("holdfast.near")

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 1.0
_REJECTED_PAUSE_S: Final = 15.0
"""Longest pause between attempts to connect after the server has refused a command. After other
failures it is `_LONGEST_PAUSE_S`."""

_WARN_S: Final = 60.0
"""Seconds between two warnings."""


class Sink(Protocol):
    """Receives the changes of keys with one prefix."""

    def changed(self, key: str) -> None:
        """Process a change of *key*, given without its prefix."""

    def guard_ended(self) -> None:
        """Remove the values that were stored under guards that have ended."""


class Tracker:
    """Tracks changes of keys, in a thread that all clients of the process share.

    Args:
        settings: settings of the connections.
        namespace: namespace of the client.
        where: returns the loop in which the connections run; called once per process.
        lifetime: state of the client.
    """

    def __init__(
        self,
        settings: Settings,
        namespace: Namespace,
        where: Callable[[], LoopThread | OwnLoop] = LoopThread.enter,
        lifetime: Lifetime | None = None,
    ) -> None:
        self.lifetime: Lifetime = lifetime or Lifetime()
        self._settings = settings
        self._namespace = namespace
        self._where = where
        self._running: dict[int, _Tracking] = {}  # by process id

    def watch(self, prefix: str, sink: Sink) -> None:
        """Report changes of keys with *prefix* to *sink*. Any thread may call this."""
        if self.lifetime.closed:
            return
        tracking = self._running.get(process_id())
        if tracking is None:
            made = _Tracking(self._settings, self._namespace, self._where())
            tracking = self._running.setdefault(process_id(), made)
            if tracking is not made:  # Another thread has stored one since.
                made.loop.leave()
        tracking.call_soon(tracking.watch, prefix, sink)
        # Check this after `setdefault`: a concurrent `close` may have looked for it before.
        if self.lifetime.closed:
            self.close()

    def guard(self, slot: int) -> Guard:
        """Return the guard of the server that is the primary of *slot*."""
        tracking = self._running.get(process_id())
        return NO_GUARD if tracking is None else tracking.guard(slot)

    @property
    def guards(self) -> list[Guard]:
        """Return the guards of all servers."""
        tracking = self._running.get(process_id())
        return [] if tracking is None else tracking.all_guards()

    @property
    def problem(self) -> str:
        """Return why the latest connection could not be opened, or has ended; empty: it works."""
        tracking = self._running.get(process_id())
        return "" if tracking is None else tracking.problem

    @property
    def longest_staleness_s(self) -> float:
        """Return the longest time so far for which a confirmed ping was the latest one, in seconds.

        The time counts from the beginning of the ping; see `NearStats.longest_staleness`.
        """
        tracking = self._running.get(process_id())
        if tracking is None:
            return 0.0
        return max([tracking.longest_s, *(guard.longest_s for guard in tracking.all_guards())])

    def close(self) -> None:
        """Close the connections. Safe to repeat. Do not call this in their loop."""
        tracking = self._running.pop(process_id(), None)
        if tracking is not None:
            tracking.loop.submit(tracking.close()).result()
            tracking.loop.leave()

    def abandon(self) -> bool:
        """Close soon, without waiting and without a lock, so that a finalizer may call this.

        Return whether a connection may be open.
        """
        tracking = self._running.pop(process_id(), None)
        if tracking is not None:
            tracking.loop.leave_after(tracking.close())
        return tracking is not None


class _Tracking:
    """The invalidation connections of a client in one process. All of them run in one loop."""

    def __init__(
        self, settings: Settings, namespace: Namespace, loop: LoopThread | OwnLoop
    ) -> None:
        self.loop = loop
        self.problem = ""
        self.longest_s = 0.0  # the highest `Guard.longest_s` of guards that have ended
        self._settings = settings
        self._namespace = namespace
        self._sinks: dict[str, Sink] = {}
        self._guards: dict[Address, Guard] = {}
        self._by_slot: list[Guard] | None = None
        self._only = NO_GUARD
        self._link_tasks: dict[Address, RunningTask[None]] = {}
        self._supervisor: RunningTask[None] | None = None
        self._warned_at = -_WARN_S

    def guard(self, slot: int) -> Guard:
        """Return the guard of *slot*: whether values that were read from its server may be served.

        Any thread may call this.
        """
        by_slot = self._by_slot
        return self._only if by_slot is None else by_slot[slot]

    def all_guards(self) -> list[Guard]:
        """Return the guards of all servers. Any thread may call this."""
        return list(self._guards.values())

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Call *function* soon in the loop of the connections, unless that has ended."""
        with contextlib.suppress(RuntimeError):  # The loop ended with its last client.
            self.loop.call_soon(function, *args)

    def watch(self, prefix: str, sink: Sink) -> None:
        """Report changes of keys with *prefix* to *sink*."""
        self._sinks[prefix] = sink
        if self._supervisor is None:
            self._wake = Event()
            self._router = AsyncRouter(self._settings)
            self._ownership = self._chosen_ownership()
            self._supervisor = spawn(self._supervise(), "holdfast near caches")

    async def close(self) -> None:
        """Close all connections."""
        if self._supervisor is None:
            return
        await cancel_and_wait(self._supervisor)
        await cancel_and_wait(*self._link_tasks.values())
        await self._ownership.close()
        await self._router.close()

    def _chosen_ownership(self) -> Standalone:
        if self._settings.topology == "sentinel":
            return BySentinels(self._settings)
        if self._settings.topology == "cluster":
            return ByCluster(self._router, self._namespace)
        return Standalone()

    async def _supervise(self) -> None:
        """Keep a connection to each primary."""
        while True:
            self._wake.clear()
            generation = self._router.generation
            with contextlib.suppress(Exception):  # The user's code may raise any exception.
                self._keep(await self._router.primaries())
            await self._wake.wait(None if self._is_covered else _LONGEST_PAUSE_S)
            await sleep(_FIRST_PAUSE_S)
            with contextlib.suppress(Exception):
                await self._router.discover(generation)

    @property
    def _is_covered(self) -> bool:
        """Return whether each slot has a guard that has not ended."""
        guards = [self._only] if self._by_slot is None else self._by_slot
        return not any(guard.ended for guard in guards)

    def _keep(self, addresses: Iterable[Address]) -> None:
        wanted = {*addresses}
        for address in wanted - self._link_tasks.keys():
            self._link_tasks[address] = spawn(self._keep_link(address), "holdfast near cache")
        for address in self._link_tasks.keys() - wanted:
            ended = self._link_tasks.pop(address)
            self._end_guard(address)
            ended.cancel()

    async def _keep_link(self, address: Address) -> None:
        """Keep the connection to one primary, until this is cancelled."""
        failures = 0
        while True:
            link = TrackingLink(self._settings, address, lambda keys: self._changed(address, keys))
            failures += 1
            longest_s = _LONGEST_PAUSE_S
            try:
                await self._track(link)
            except Exception as error:  # noqa: BLE001 (the user's code may raise any exception)
                longest_s = self._failed(str(error) or repr(error))
                if self._guards.get(address, NO_GUARD).until > 0:  # It has been confirmed.
                    failures = 1
            finally:
                self._end_guard(address)
                await link.close()
            self._wake.set()
            await sleep(backoff_s(failures, _FIRST_PAUSE_S, longest_s))

    def _failed(self, problem: str) -> float:
        """Note the *problem* of a connection. Return the longest pause until the next attempt."""
        self.problem = problem
        if "NOPERM" not in problem and "unknown" not in problem:
            return _LONGEST_PAUSE_S
        now = time.monotonic()
        if now - self._warned_at >= _WARN_S:
            self._warned_at = now
            logger.warning(
                "near caches serve nothing from memory, because the server refuses CLIENT TRACKING "
                "(a user needs the rights of acl_rule(…, near=True)): %s",
                problem,
            )
        return _REJECTED_PAUSE_S

    async def _track(self, link: TrackingLink) -> None:
        """Open *link*, and confirm it by regular pings. Raise an exception when it breaks.

        With RESP 2, return if more prefixes must be tracked: the connection must be opened again.
        """
        await link.open(self._sinks)
        slots = await self._ownership.slots(link.address)
        self._begin_guard(link, slots)
        while link.prefixes >= self._sinks.keys():
            since = clock()
            with contextlib.suppress(Unconfirmed):
                slots = await self._confirmed(link, since, slots)
            if clock() - since > VALID_S and self._settings.topology != "standalone":
                raise NotPrimary(f"{link.address[0]}:{link.address[1]} may have been replaced")
            await sleep(max(0.0, since + PING_S - clock()))
            if link.resp3:
                await link.track(self._sinks)
                self._guards[link.address].prefixes = link.prefixes

    async def _confirmed(
        self, link: TrackingLink, since: float, slots: frozenset[int] | None
    ) -> frozenset[int] | None:
        """Ping the server. Begin another guard if the server's slots are not *slots* any more."""
        ping = spawn(link.ping(), "holdfast ping")
        try:
            found = await self._ownership.slots(link.address)
        finally:
            await ping
        if found != slots:
            self._end_guard(link.address)
            self._begin_guard(link, found)
            self._wake.set()
        self._guards[link.address].confirm(since)
        self.problem = ""
        return found

    def _begin_guard(self, link: TrackingLink, slots: frozenset[int] | None) -> None:
        guard = Guard(link.address, slots)
        guard.prefixes = link.prefixes
        self._guards[link.address] = guard
        self._assign_slots()

    def _end_guard(self, address: Address) -> None:
        guard = self._guards.pop(address, None)
        if guard is not None:
            guard.end()
            self.longest_s = max(self.longest_s, guard.longest_s)
            self._assign_slots()
            for sink in {*self._sinks.values()}:
                sink.guard_ended()

    def _assign_slots(self) -> None:
        """Assign each slot to the guard of its primary; to none if two servers claim it."""
        if self._settings.topology != "cluster":
            self._only = next(iter(self._guards.values()), NO_GUARD)
            return
        by_slot = [NO_GUARD] * SLOTS
        claimed: set[int] = set()
        for guard in self._guards.values():
            slots = guard.slots or frozenset()
            for slot in slots:
                by_slot[slot] = NO_GUARD if slot in claimed else guard
            claimed |= slots
        self._by_slot = by_slot

    def _changed(self, address: Address, keys: list[bytes] | None) -> None:
        """Report changed *keys* to their sinks; None: any key may have changed: end the guard."""
        if keys is None:
            guard = self._guards.get(address)
            if guard is not None:
                self._end_guard(address)
                renewed = Guard(address, guard.slots)
                renewed.prefixes = guard.prefixes
                self._guards[address] = renewed
                self._assign_slots()
            return
        for raw in keys:
            key = raw.decode(errors="surrogateescape")
            for end in _prefix_ends(key):
                sink = self._sinks.get(key[:end])
                if sink is not None:
                    sink.changed(key[end:])
                    break


def _prefix_ends(key: str) -> Iterator[int]:
    """Yield the positions in *key* where a prefix that near caches track may end.

    For a row in shard 0 of the row cache `stock`, the prefixes are `ns:{rows:stock/0}:row:` (the
    rows of this shard), `ns:{rows:stock/` (the keys of all shards) and `ns:{rows:` (those of all
    row caches). Names in a key contain neither a colon nor a brace.
    """
    name_ends = key.find("}:")
    yield key.find(":", name_ends + 2) + 1
    yield key.rfind("/", 0, name_ends) + 1
    yield key.find(":", key.find("{")) + 1
