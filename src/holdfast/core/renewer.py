"""The renewer: keeps leases alive from a thread of its own.

It serves both halves of a client from the private loop. So a blocked event loop or a long
computation does not cost the user's leases. Each lease is renewed when a third of it has passed,
many in one call per unit. A server that hangs delays only its own units.

The renewer notes the unit of a lease in the catalog when it sees the lease in two checks in a row.
So no acquisition waits for the note, and a lease that is held for a moment costs no note.

A local clock that never steps decides about expiry. It is read before the request is sent, and the
server can only grant the permit to another client later. So a holder learns of a loss in time,
without any message.
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
from ..errors.records import logger_of
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
"""Leases renewed in one call at most."""

LONGEST_NAP_S: Final = 0.25
"""Seconds between two checks of the leases. A lease that is due at once may wait that long."""

_QUIET_TICKS: Final = 8
"""Checks without any lease before it sleeps. To wake it costs a busy holder more than these."""

_SHORTEST_NAP_S: Final = 0.02
"""Seconds between two tries while a server does not answer."""

_LOOKED_AT: Final = 1024
"""The units of this many leases, the oldest ones, are noted. The catalog remembers no more units,
and would note the same ones again and again."""

_NOTING: Final = "noting"
_NOTING_LEASE_MS: Final = 10_000
"""Notes share a connection with the renewals of leases of this length, the usual one."""


class Lease(msgspec.Struct, eq=False, weakref=True):
    """A right that ends by itself unless it is renewed.

    It is renewed only while its holder has this object.

    Attributes:
        unit: what it is a lease of.
        script: renews; its arguments are `lease_ms, (member, token)*`, it returns the pairs of
            those that are lost.
        keys: the keys of *script*.
        member: who holds the lease.
        token: which grant of it; a later grant to the same member is another lease.
        lease_ms: how long it lives without renewal.
        taken_at: by `since_boot`, before the grant was asked for.
        on_lost: called once when it is lost, in the renewer's thread or the one that closes it.
            It must be quick.
        margin_ms: how much sooner than on the server it ends here.
        until: by `since_boot`, when it is held no longer, renewed or not.
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
    until: float = math.inf
    lost: bool = False

    @property
    def granted_until(self) -> float:
        """Return when the server may grant it to another client, by `since_boot`."""
        return self.taken_at + (self.lease_ms - self.margin_ms) / 1000

    @property
    def ends_at(self) -> float:
        """Return when it is lost, by `since_boot`."""
        return min(self.granted_until, self.until)

    @property
    def ended(self) -> bool:
        """Return whether it is lost by now."""
        now = since_boot()
        return self.until <= now or self.taken_at + (self.lease_ms - self.margin_ms) / 1000 <= now

    @property
    def due_at(self) -> float:
        """Return when to renew it: after a third of its life, so two more tries remain."""
        if self.granted_until >= self.until:
            return self.until  # it needs no more: what comes next is its end
        return self.taken_at + self.lease_ms / 3000

    @property
    def due_in_s(self) -> float:
        """Return the seconds until `due_at`; below 0 when it is overdue."""
        return self.due_at - since_boot()

    def lose(self) -> None:
        """Notify the holder, once."""
        if not self.lost:
            self.lost = True
            self.on_lost()


class Renewer:
    """Renews leases until they are dropped. A forked child renews no lease of its parent.

    Args:
        settings: where the server is.
        namespace: of the catalog that lists the units of the leases; None: no catalog does.
        maxmemory_check: checks the servers of these units.
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
        self._rounds: dict[int, _RenewalLoop] = {}
        self._closed = False

    def keep(self, lease: Lease) -> None:
        """Renew *lease* from now on, until `drop` or its loss. Costs no I/O by itself.

        It is lost at once if this is closed.
        """
        rounds = self._rounds.get(process_id()) or self._begun()
        rounds.leases[id(lease)] = ref(lease, partial(rounds.leases.pop, id(lease)))
        if rounds.asleep or lease.lease_ms < 6000 * LONGEST_NAP_S:
            try:
                rounds.asleep = False  # once is enough for all who come now
                with contextlib.suppress(
                    RuntimeError
                ):  # it is closed just now, and its thread ended
                    rounds.thread.call_soon(rounds.wake)
            except BaseException:  # the next lease wakes it
                rounds.asleep = True
                raise
        if self._closed:  # first that, then the look: `close` does it the other way round
            rounds.lose(lease)
            self.close()

    def drop(self, lease: Lease) -> None:
        """Stop renewing *lease*."""
        rounds = self._rounds.get(process_id())
        if rounds is not None:
            rounds.leases.pop(id(lease), None)

    def close(self) -> None:
        """Stop all renewals. The holders are notified of the loss of their leases. Idempotent."""
        self._closed = True
        rounds = self._rounds.pop(process_id(), None)
        if rounds is not None:
            for lease in rounds.held():
                rounds.lose(lease)
            rounds.thread.submit(rounds.close()).result()
            rounds.thread.leave()

    def abandon(self) -> bool:
        """Stop soon; return whether it had begun. For the garbage collector: takes no lock."""
        rounds = self._rounds.pop(process_id(), None)
        if rounds is not None:
            rounds.thread.leave_after(rounds.close())
        return rounds is not None

    def _begun(self) -> _RenewalLoop:
        made = _RenewalLoop(
            self._settings, self._namespace, self._maxmemory_check, LoopThread.enter()
        )
        rounds = self._rounds.setdefault(process_id(), made)
        if rounds is not made:  # another thread was faster
            made.thread.leave()
        return rounds


class _RenewalLoop:
    """The work of the renewer, all in the private loop of one process."""

    def __init__(
        self,
        settings: Settings,
        namespace: Namespace | None,
        maxmemory_check: MaxmemoryCheck,
        thread: LoopThread,
    ) -> None:
        self.thread = thread
        # Shared with the holders; single steps are atomic. What an exception has made a holder
        # forget is not renewed.
        self.leases: dict[int, ref[Lease]] = {}
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
        self._under_way: dict[Any, Any] = {}

    def wake(self) -> None:
        """Look at the leases now: there is a first one, or one that is short."""
        self._quiet = 0  # although it may be dropped by now: another one will follow soon
        if self._woken is not None:
            self._woken.set()
        elif self._running is None and not self._closed:
            self._running = self.thread.submit(self._run())

    def held(self) -> list[Lease]:
        """Return the leases that still have a holder."""
        return [lease for each in list(self.leases.values()) if (lease := each()) is not None]

    async def _run(self) -> None:
        """Renew what is due, again and again."""
        self._woken = Event()
        while not self._closed:
            self._woken.clear()
            groups: dict[Any, list[Lease]] = {}
            for lease in self.held():
                if lease.ended:
                    self.lose(lease)
                elif lease.due_in_s <= 0:
                    groups.setdefault((lease.script.name, lease.unit, lease.lease_ms), []).append(
                        lease
                    )
            for group, due in groups.items():
                if group not in self._under_way:
                    self._under_way[group] = spawn(self._renew(group, due), "holdfast renewal")
            self._look_for_news()
            await self._woken.wait(self._nap_s())

    def _nap_s(self) -> float | None:
        """Return the seconds until a lease is due; None to sleep after a time without leases."""
        # First this, then the look at the leases: `keep` does it the other way round.
        self.asleep = self._quiet >= _QUIET_TICKS
        leases = self.held()
        if not leases:
            self._quiet += 1
            return None if self.asleep else LONGEST_NAP_S
        self._quiet, self.asleep = 0, False
        next_due_s = min(lease.due_in_s for lease in leases)
        return min(max(next_due_s, _SHORTEST_NAP_S), LONGEST_NAP_S)

    def _look_for_news(self) -> None:
        """Begin to note what is held now, was held at the last look, and was not noted lately."""
        if self._catalog is None or _NOTING in self._under_way:
            return
        seen = {lease.unit for lease in self.held()[:_LOOKED_AT]}
        news = [unit for unit in seen & self._seen if not self._catalog.has(unit)]
        self._seen = seen
        if news:
            self._under_way[_NOTING] = spawn(self._note(self._catalog, news), "holdfast catalog")

    async def _note(self, catalog: AsyncCatalog, news: list[Unit]) -> None:
        try:
            for unit in news:
                await catalog.note(unit)
            await self._maxmemory_check.look(
                self._caller(_NOTING_LEASE_MS), news, kind=CallKind.RENEWAL
            )
        finally:
            del self._under_way[_NOTING]

    async def close(self) -> None:
        self._closed = True
        self.wake()
        for task in list(self._under_way.values()):
            await task
        for caller in self._callers.values():
            await caller.close()

    def _caller(self, lease_ms: int) -> AsyncCaller:
        """Return a caller with a timeout that leaves time for more tries before such a lease ends.

        Leases may have any length, callers have connections: so their timeouts are powers of two.
        """
        timeout_s = min(self._settings.timeout_s, 2.0 ** math.floor(math.log2(lease_ms / 6000)))
        if timeout_s not in self._callers:
            # A handshake that takes longer than that must not begin again at each try.
            opening_s = self._settings.patience_s
            settings = replace(self._settings, timeout_s=timeout_s, opening_s=opening_s)
            self._callers[timeout_s] = AsyncCaller(settings)
        return self._callers[timeout_s]

    async def _renew(self, group: Any, due: list[Lease]) -> None:
        try:
            for start in range(0, len(due), BATCH_LIMIT):
                # Without an answer the next round tries again, and the local clock decides.
                with contextlib.suppress(HoldfastError):
                    await self._renew_batch(due[start : start + BATCH_LIMIT])
        finally:
            del self._under_way[group]

    async def _renew_batch(self, batch: list[Lease]) -> None:
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

    def lose(self, lease: Lease) -> None:
        """Stop renewing *lease*, and notify its holder. From any thread."""
        # A lease that its holder has just given up was not lost.
        if self.leases.pop(id(lease), None) is None:
            return
        try:
            lease.lose()
        except Exception:  # the other leases must be renewed all the same
            logger.exception(
                "the holder of a lease of %s could not be notified of its loss", lease.unit
            )
