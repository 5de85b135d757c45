"""The renewer: keeps leases alive from a thread of its own.

It serves both halves of a client from the private loop, so a blocked event loop or a long
computation does not cost the user's leases. Each is renewed when a third of it has passed, many in
one call per unit; a server that hangs delays only its own units.

Expiry is judged by the local monotonic clock, taken before the request was sent: the server can
only give a place away later than that. So a holder is told of a loss in time, without any message.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..errors import HoldfastError
from .call._async import AsyncCaller
from .connections.settings import Settings
from .names import Unit
from .runtime._async import Event, spawn
from .runtime.thread import LoopThread
from .script import Script

BATCH_LIMIT: Final = 256
"""Leases renewed in one call at most."""

_TICK_S: Final = 0.25
"""The longest nap between two looks at the leases."""

_QUIET_TICKS: Final = 8
"""Naps without any lease before it falls asleep: waking it costs a busy holder more than these."""

_SHORTEST_NAP_S: Final = 0.02
"""Between two tries while a server does not answer."""


@dataclass(slots=True, eq=False)
class Lease:
    """A right that ends by itself unless it is renewed.

    Attributes:
        unit: what it is a lease of.
        script: renews; its arguments are `lease_ms, (member, token)*`, it returns the pairs of
            those that are lost.
        keys: the keys of *script*.
        member: who holds the lease.
        token: which grant of it; a later grant to the same member is another lease.
        lease_ms: how long it lives without renewal.
        taken_at: local monotonic time before the grant was asked for.
        on_lost: told once, from the renewer's thread, when it is lost; must be quick.
    """

    unit: Unit
    script: Script
    keys: Sequence[str]
    member: bytes
    token: int
    lease_ms: int
    taken_at: float
    on_lost: Callable[[], None]
    lost: bool = field(default=False, init=False)

    @property
    def ends_at(self) -> float:
        """Local monotonic time from when on the server may give it away."""
        return self.taken_at + self.lease_ms / 1000

    @property
    def due_at(self) -> float:
        """When to renew it: a third of its life gone leaves two more tries."""
        return self.taken_at + self.lease_ms / 3000

    def lose(self) -> None:
        """Tell the holder, once."""
        if not self.lost:
            self.lost = True
            self.on_lost()


class Renewer:
    """Renews what it is given until told to stop.

    Args:
        settings: where the server is.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._leases: dict[int, Lease] = {}
        self._thread: LoopThread | None = None
        self._rounds: _Rounds | None = None

    def keep(self, lease: Lease) -> None:
        """Renew *lease* from now on, until `drop` or its loss. Costs no I/O by itself."""
        if self._thread is None:
            self._thread = LoopThread.enter()
            self._rounds = _Rounds(self._settings, self._leases)
            self._thread.submit(self._rounds.run())
        self._leases[id(lease)] = lease
        rounds = self._rounds
        if rounds is not None and (rounds.asleep or lease.lease_ms < 6000 * _TICK_S):
            self._thread.call_soon(rounds.wake)

    def drop(self, lease: Lease) -> None:
        """Stop renewing *lease*."""
        self._leases.pop(id(lease), None)

    def close(self) -> None:
        """Stop renewing altogether; what is still held ends by itself. Idempotent."""
        thread, self._thread = self._thread, None
        self._leases.clear()
        if thread is not None and self._rounds is not None:
            thread.submit(self._rounds.close()).result()
            thread.leave()


class _Rounds:
    """The work of the renewer, all in the private loop."""

    def __init__(self, settings: Settings, leases: dict[int, Lease]) -> None:
        self._settings = settings
        self._callers: dict[int, AsyncCaller] = {}
        self._leases = leases  # shared with the threads of the holders; single steps are atomic
        self._woken: Event | None = None
        self._closed = False
        self.asleep = False
        self._quiet = 0
        self._under_way: dict[Any, Any] = {}

    def wake(self) -> None:
        """Look at the leases now: there is a first one, or one that is short."""
        if self._woken is not None:
            self._woken.set()

    async def run(self) -> None:
        """Renew what is due, again and again."""
        self._woken = Event()
        while not self._closed:
            self._woken.clear()
            now = time.monotonic()
            groups: dict[Any, list[Lease]] = {}
            for lease in list(self._leases.values()):
                if lease.ends_at <= now:
                    self._lose(lease)
                elif lease.due_at <= now:
                    groups.setdefault((lease.script.name, lease.unit, lease.lease_ms), []).append(
                        lease
                    )
            for group, due in groups.items():
                if group not in self._under_way:
                    self._under_way[group] = spawn(self._renew(group, due), "holdfast renewal")
            await self._woken.wait(self._nap_s())

    def _nap_s(self) -> float | None:
        """How long nothing is due; None, to be woken, when there was no lease for a while."""
        # First this, then the look at the leases: `keep` does it the other way round.
        self.asleep = self._quiet >= _QUIET_TICKS
        leases = list(self._leases.values())
        if not leases:
            self._quiet += 1
            return None if self.asleep else _TICK_S
        self._quiet, self.asleep = 0, False
        next_due_s = min(lease.due_at for lease in leases) - time.monotonic()
        return min(max(next_due_s, _SHORTEST_NAP_S), _TICK_S)

    async def close(self) -> None:
        self._closed = True
        self.wake()
        for task in list(self._under_way.values()):
            await task
        for caller in self._callers.values():
            await caller.close()

    def _caller(self, lease_ms: int) -> AsyncCaller:
        """A caller whose timeout leaves time for more tries before a lease of this length ends."""
        if lease_ms not in self._callers:
            timeout_s = min(self._settings.timeout_s, lease_ms / 6000)
            settings = replace(self._settings, timeout_s=timeout_s)
            self._callers[lease_ms] = AsyncCaller(settings)
        return self._callers[lease_ms]

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
        taken_at = time.monotonic()
        reply = await self._caller(first.lease_ms).call(
            first.script, first.unit, first.keys, [first.lease_ms, *pairs], kind="renewals"
        )
        lost = set(zip(reply[::2], map(int, reply[1::2]), strict=True))
        for lease in batch:
            if (lease.member, lease.token) in lost:
                self._lose(lease)
            else:
                lease.taken_at = taken_at

    def _lose(self, lease: Lease) -> None:
        # A lease that its holder has just given up was not lost.
        if self._leases.pop(id(lease), None) is not None:
            lease.lose()
