"""Renew leases in a thread of the client.

Blocking and asyncio clients share this thread, so leases do not end while the user's event loop is
blocked or a computation takes long. A lease is renewed after a third of its life. Leases of one
unit are renewed by one call. A server that does not answer delays only its own units.

The renewer records the unit of a lease in the catalog if it sees the lease in two checks in a row.
So an acquisition does not wait for the catalog, and a lease that is held only briefly is not
recorded at all.

A lease ends by a local clock that is never set back. Its life is counted from before the request
was sent, and the server counts from later. So the holder notices the end of a lease before the
server can grant it to another client, even without a connection.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from weakref import ref

import msgspec

from ..errors import HoldfastError
from ..errors.one_line_logger import logger_of
from ._async.caller import AsyncCaller, CallKind
from ._async.catalog import AsyncCatalog
from .clock import since_boot
from .concurrency._async.background_task import spawn
from .concurrency._async.primitives import Event
from .concurrency.fork_hooks import process_id
from .concurrency.loop_thread import LoopThread, Submitted
from .maxmemory import MaxmemoryCheck
from .names import Namespace, Unit
from .script import Script
from .transport.settings import Settings

logger: Final = logger_of("holdfast.renewer")

BATCH_LIMIT: Final = 256
"""Largest number of leases that one call renews."""

LONGEST_NAP_S: Final = 0.25
"""Longest time between two checks of the leases, in seconds. The renewer may notice a new lease
only after that time."""

_QUIET_TICKS: Final = 8
"""Number of checks without any lease after which the loop sleeps. A few checks are cheaper than
waking the loop for each of many short leases."""

_SHORTEST_NAP_S: Final = 0.02
"""Shortest time between two checks of the leases, in seconds."""

_LOOKED_AT: Final = 1024
"""Largest number of leases, the oldest first, with units that are recorded in the catalog. It is
less than the number of units that `AsyncCatalog` remembers. Otherwise the same units would be
recorded again and again."""

_NOTING: Final = "noting"
_NOTING_LEASE_MS: Final = 10_000
"""Calls to the catalog use the connection that renews leases of this length. It is the default
length, so usually no further connection is needed."""


class RenewedLease(msgspec.Struct, eq=False, weakref=True):
    """A right that ends by itself unless it is renewed.

    The renewer has only a weak reference to a lease, and renews it while the holder keeps it.

    Attributes:
        unit: the unit of the lease, such as a lock or a queue.
        script: renews leases. Its arguments are `lease_ms, (member, token)*`. It returns member and
            token of each lease that is lost.
        keys: the keys of *script*.
        member: name of the holder.
        token: number of the grant; a later grant to the same member has another token.
        lease_ms: life of the lease without renewal, in milliseconds.
        taken_at: time by `since_boot` just before the grant or the last renewal was requested.
        on_lost: called once when the lease is lost, in the thread of the renewer or in the one that
            closes the renewer. It must be quick.
        margin_ms: milliseconds by which the lease ends earlier for its holder than on the server.
        listed: whether the renewer records the unit in the catalog.
        until: time by `since_boot` when the lease ends even if it is renewed.
        lost: whether `on_lost` was called.
    """

    unit: Unit
    script: Script
    keys: Sequence[str | bytes]
    member: bytes
    token: int
    lease_ms: int
    taken_at: float
    on_lost: Callable[[], None]
    margin_ms: int = 0
    listed: bool = True
    until: float = math.inf
    lost: bool = False

    @property
    def granted_until(self) -> float:
        """Return when the lease ends without renewal, in the time of `since_boot`.

        Only later can the server grant it to another client.
        """
        return self.taken_at + (self.lease_ms - self.margin_ms) / 1000

    @property
    def ends_at(self) -> float:
        """Return when the lease ends, in the time of `since_boot`."""
        return min(self.granted_until, self.until)

    @property
    def ended(self) -> bool:
        """Return whether the lease has ended."""
        now = since_boot()
        return self.until <= now or self.taken_at + (self.lease_ms - self.margin_ms) / 1000 <= now

    @property
    def due_at(self) -> float:
        """Return when the lease needs the renewer, in the time of `since_boot`.

        It is renewed after a third of its life, so that two more attempts are possible.
        """
        if self.granted_until >= self.until:
            return self.until  # No further renewal is needed, only the report of its end.
        return self.taken_at + self.lease_ms / 3000

    @property
    def due_in_s(self) -> float:
        """Return the seconds until `due_at`; negative if the lease is overdue."""
        return self.due_at - since_boot()

    def lose(self) -> None:
        """Call `on_lost`, unless it was called before."""
        if not self.lost:
            self.lost = True
            self.on_lost()


class Renewer:
    """Renews leases until they are dropped. A forked child does not renew leases of its parent.

    Args:
        settings: settings of the client.
        namespace: namespace of the catalog in which units are recorded; None: do not record them.
        maxmemory_check: warns if the servers of these units may evict keys.
    """

    def __init__(
        self,
        settings: Settings,
        namespace: Namespace | None = None,
        maxmemory_check: MaxmemoryCheck | None = None,
    ) -> None:
        self._settings = settings
        self._namespace = namespace
        self._maxmemory_check = maxmemory_check or MaxmemoryCheck()
        self._loops: dict[int, _RenewalLoop] = {}  # by process id
        self._closed = False

    def keep(self, lease: RenewedLease) -> None:
        """Renew *lease* until `drop`, or until it is lost. Do no I/O in this thread.

        If the renewer is closed, the lease is lost at once.
        """
        loop = self._loops.get(process_id()) or self._started()
        loop.leases[id(lease)] = ref(lease, partial(loop.leases.pop, id(lease)))
        if loop.asleep or lease.lease_ms < 6000 * LONGEST_NAP_S:
            try:
                loop.asleep = False  # Now other threads that call `keep` do not wake it, too.
                with contextlib.suppress(RuntimeError):  # The renewer was closed meanwhile.
                    loop.thread.call_soon(loop.wake)
            except BaseException:  # Interrupted: the next lease must wake the loop.
                loop.asleep = True
                raise
        # Check this after the lease was stored: a concurrent `close` first sets the flag, and may
        # have read the leases before.
        if self._closed:
            loop.lose(lease)
            self.close()

    def drop(self, lease: RenewedLease) -> None:
        """Stop renewing *lease*."""
        loop = self._loops.get(process_id())
        if loop is not None:
            loop.leases.pop(id(lease), None)

    def close(self) -> None:
        """Stop all renewals. All leases are lost; their holders are notified. Safe to repeat."""
        self._closed = True
        loop = self._loops.pop(process_id(), None)
        if loop is not None:
            for lease in loop.held():
                loop.lose(lease)
            loop.thread.submit(loop.close()).result()
            loop.thread.leave()

    def abandon(self) -> bool:
        """Stop soon, without waiting and without a lock, so that a finalizer may call this.

        Return whether the renewer was running.
        """
        loop = self._loops.pop(process_id(), None)
        if loop is not None:
            loop.thread.leave_after(loop.close())
        return loop is not None

    def _started(self) -> _RenewalLoop:
        made = _RenewalLoop(
            self._settings, self._namespace, self._maxmemory_check, LoopThread.enter()
        )
        loop = self._loops.setdefault(process_id(), made)
        if loop is not made:  # Another thread has stored one since.
            made.thread.leave()
        return loop


class _RenewalLoop:
    """The renewals of one process. They run in the private loop of the process."""

    def __init__(
        self,
        settings: Settings,
        namespace: Namespace | None,
        maxmemory_check: MaxmemoryCheck,
        thread: LoopThread,
    ) -> None:
        self.thread = thread
        # Leases by id. Other threads add and remove leases; each such operation is atomic. The
        # references are weak: if an exception makes a holder lose its reference, the lease is not
        # renewed.
        self.leases: dict[int, ref[RenewedLease]] = {}
        self.asleep = True
        self._settings = settings
        self._maxmemory_check = maxmemory_check
        self._callers: dict[float, AsyncCaller] = {}
        self._catalog: AsyncCatalog | None = None
        if namespace is not None:
            caller = self._caller(_NOTING_LEASE_MS)
            self._catalog = AsyncCatalog(caller, namespace, kind=CallKind.RENEWAL)
        self._seen: set[Unit] = set()
        self._running: Submitted[None] | None = None
        self._woken: Event | None = None
        self._closed = False
        self._quiet = 0
        self._tasks: dict[Any, Any] = {}

    def wake(self) -> None:
        """Check the leases now, because there is a first lease or a short one."""
        self._quiet = 0  # Also if the lease was dropped already: another may follow soon.
        if self._woken is not None:
            self._woken.set()
        elif self._running is None and not self._closed:
            self._running = self.thread.submit(self._run())

    def held(self) -> list[RenewedLease]:
        """Return the leases that still have a holder."""
        return [lease for each in list(self.leases.values()) if (lease := each()) is not None]

    async def _run(self) -> None:
        """Check the leases and renew them, until `close`."""
        self._woken = Event()
        while not self._closed:
            self._woken.clear()
            groups: dict[Any, list[RenewedLease]] = {}
            for lease in self.held():
                if lease.ended:
                    self.lose(lease)
                elif lease.due_in_s <= 0:
                    groups.setdefault((lease.script.name, lease.unit, lease.lease_ms), []).append(
                        lease
                    )
            for group, due in groups.items():
                if group not in self._tasks:
                    self._tasks[group] = spawn(self._renew(group, due), "holdfast renewal")
            self._note_new_units()
            await self._woken.wait(self._nap_s())

    def _nap_s(self) -> float | None:
        """Return the seconds until the next check; None: sleep until `wake`."""
        # Set this before reading the leases: `keep` stores a lease before it reads this, so one of
        # the two sees the change of the other.
        self.asleep = self._quiet >= _QUIET_TICKS
        leases = self.held()
        if not leases:
            self._quiet += 1
            return None if self.asleep else LONGEST_NAP_S
        self._quiet, self.asleep = 0, False
        next_due_s = min(lease.due_in_s for lease in leases)
        return min(max(next_due_s, _SHORTEST_NAP_S), LONGEST_NAP_S)

    def _note_new_units(self) -> None:
        """Record the units that have leases now and had some at the previous check.

        Skip units that were recorded recently.
        """
        if self._catalog is None or _NOTING in self._tasks:
            return
        seen = {lease.unit for lease in self.held()[:_LOOKED_AT] if lease.listed}
        new = [unit for unit in seen & self._seen if not self._catalog.has(unit)]
        self._seen = seen
        if new:
            self._tasks[_NOTING] = spawn(self._note(self._catalog, new), "holdfast catalog")

    async def _note(self, catalog: AsyncCatalog, units: list[Unit]) -> None:
        try:
            for unit in units:
                await catalog.note(unit)
            await self._maxmemory_check.check(
                self._caller(_NOTING_LEASE_MS), units, kind=CallKind.RENEWAL
            )
        finally:
            del self._tasks[_NOTING]

    async def close(self) -> None:
        self._closed = True
        self.wake()
        for task in list(self._tasks.values()):
            await task
        for caller in self._callers.values():
            await caller.close()

    def _caller(self, lease_ms: int) -> AsyncCaller:
        """Return a caller for renewals of leases of this length.

        Its timeout is at most a sixth of the length, so that several attempts are possible before a
        lease ends. It is rounded down to a power of two, so that few callers are needed.
        """
        timeout_s = min(self._settings.timeout_s, 2.0 ** math.floor(math.log2(lease_ms / 6000)))
        if timeout_s not in self._callers:
            # Opening a connection may take longer than this timeout, and must not begin again at
            # each attempt.
            opening_s = self._settings.patience_s
            settings = replace(self._settings, timeout_s=timeout_s, opening_s=opening_s)
            self._callers[timeout_s] = AsyncCaller(settings)
        return self._callers[timeout_s]

    async def _renew(self, group: Any, due: list[RenewedLease]) -> None:
        try:
            for start in range(0, len(due), BATCH_LIMIT):
                # After an error the next check tries again, until the lease ends.
                with contextlib.suppress(HoldfastError):
                    await self._renew_batch(due[start : start + BATCH_LIMIT])
        finally:
            del self._tasks[group]

    async def _renew_batch(self, batch: list[RenewedLease]) -> None:
        first = batch[0]
        pairs = [part for lease in batch for part in (lease.member, lease.token)]
        taken_at = since_boot()
        reply = await self._caller(first.lease_ms).call(
            first.script,
            first.unit,
            first.keys,
            [first.lease_ms, *pairs],
            kind=CallKind.RENEWAL,
            durable=False,
        )
        lost = set(zip(reply[::2], map(int, reply[1::2]), strict=True))
        for lease in batch:
            if (lease.member, lease.token) in lost:
                self.lose(lease)
            else:
                lease.taken_at = taken_at

    def lose(self, lease: RenewedLease) -> None:
        """Stop renewing *lease*, and notify its holder. Any thread may call this."""
        # If the holder has dropped the lease meanwhile, it is not lost.
        if self.leases.pop(id(lease), None) is None:
            return
        try:
            lease.lose()
        except Exception:  # An error of one holder must not stop the renewal of other leases.
            logger.exception(
                "the holder of a lease of %s could not be notified of its loss", lease.unit
            )
