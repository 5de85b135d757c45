"""Locks of all kinds and singletons: holders of both halves that write under the fence."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from faults.checkers import interval_overlap, rising_fences
from faults.history import Operation
from faults.matrix.cell_result import Violation, caught
from faults.matrix.workloads.base import STORMS, Workload
from faults.nursery import Actor
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast import Holdfast, Lease, LockState, RwLockState, SemaphoreState
from holdfast.core.names import Namespace
from holdfast.locks import keys
from locks.faults.contest import no_stale_write
from locks.faults.holder import KEY

LEASE_S = 1.0
GONE_S = 30.0
LONGER = 20
"""A storm strikes whole holds, which take so much longer than a call."""


class Locks(Workload):
    """Holders of one lock."""

    module: ClassVar[str] = "locks.faults.holder"
    kinds: ClassVar[frozenset[str]] = frozenset({"acquire", "release", "write"})
    kind: ClassVar[str] = keys.LOCK
    limit: ClassVar[int] = 1
    held_as: ClassVar[str] = ""
    """The object that its holders use, if it is not of that kind."""

    def slots(self) -> list[int]:
        return [Namespace.of(self.namespace).unit(self.kind, KEY).slot]

    def actors(self) -> list[Actor]:
        about: dict[str, Any] = {
            "kind": self.held_as or self.kind,
            "limit": self.limit,
            "lease": LEASE_S,
            "holders": 3,
        }
        about |= {each: LONGER * self.how[each] for each in STORMS & self.how.keys()}
        return [
            self.actor("play", f"holder-{n}", half, hold_s=0.02, **about)
            for n, half in enumerate(["sync", "async", "sync"])
        ]

    def end(self) -> None:
        """Let all clients end; no permit stays taken.

        On a server that lost their leaving they stay queued until another client comes.
        """
        super().end()
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            held = self.held(hf)
            if self.lossy:
                insist(lambda: self.take(held)(timeout=GONE_S).release())
            eventually(lambda: _is_free(insist(held.inspect)), GONE_S, reason="all is free")

    def held(self, hf: Holdfast) -> Any:
        """Return what is held."""
        return hf.lock(KEY)

    def take(self, held: Any) -> Callable[..., Lease]:
        """Return the method that takes it."""
        found: Callable[..., Lease] = held.acquire
        return found

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        return judge(history, self.limit)


class Singletons(Locks):
    """Processes that run one singleton: they compete for the lock of its name."""

    held_as: ClassVar[str] = "singleton"


class RwLocks(Locks):
    """Readers and writers of one lock."""

    kind: ClassVar[str] = keys.RW_LOCK

    def held(self, hf: Holdfast) -> Any:
        return hf.rw_lock(KEY)

    def take(self, held: Any) -> Callable[..., Lease]:
        found: Callable[..., Lease] = held.acquire_write
        return found


class Semaphores(Locks):
    """Holders of one semaphore."""

    kinds: ClassVar[frozenset[str]] = frozenset({"acquire", "release"})
    kind: ClassVar[str] = keys.SEMAPHORE
    limit: ClassVar[int] = 2  # fewer than the processes: in F21 each has one holder, and it waits

    def held(self, hf: Holdfast) -> Any:
        return hf.semaphore(KEY)


def judge(history: Sequence[Operation], limit: int) -> list[Violation]:
    """Never more holders than places; fences rise; nothing stale was stored."""
    return [
        *caught("overlap", interval_overlap, history, lease=60.0, limit=limit),
        *caught("disordered", rising_fences, history),
        *caught("stale", no_stale_write, history),
    ]


def _is_free(state: LockState | RwLockState | SemaphoreState) -> bool:
    held = state.holder if isinstance(state, LockState) else state.holders
    return not held and not state.waiters
