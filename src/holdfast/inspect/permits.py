"""Describe locks, reader-writer locks and semaphores in one form: all have permits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .. import Holder, LockState, RwLockState, SemaphoreState
from .formats import counted


@dataclass(frozen=True, slots=True)
class PermitList:
    """Holds the holders and waiters of a lock, a reader-writer lock or a semaphore.

    Attributes:
        name: name of the lock or semaphore.
        kind: `lock`, `rw_lock` or `semaphore`.
        limit: number of permits; None: the semaphore is not defined yet, or readers hold the
            reader-writer lock.
        fence: fence of the holder or the writer of a lock; None: there is none.
        holders: the holders of permits.
        waiters: names of the waiters, the next one first.
    """

    name: str
    kind: Literal["lock", "rw_lock", "semaphore"]
    limit: int | None
    fence: int | None
    holders: Sequence[Holder]
    waiters: Sequence[str]

    @classmethod
    def of_lock(cls, name: str, state: LockState) -> PermitList:
        """Return the permit of a lock."""
        held = () if state.holder is None else (Holder(state.holder, state.remaining),)
        return cls(name, "lock", 1, state.fence, held, state.waiters)

    @classmethod
    def of_rw_lock(cls, name: str, state: RwLockState) -> PermitList:
        """Return the permits of a reader-writer lock."""
        limit = None if state.readers else 1
        return cls(name, "rw_lock", limit, state.fence, state.holders, state.waiters)

    @classmethod
    def of_semaphore(cls, name: str, state: SemaphoreState) -> PermitList:
        """Return the permits of a semaphore."""
        return cls(name, "semaphore", state.limit, None, state.holders, state.waiters)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"

    @property
    def in_use(self) -> bool:
        """Return whether there is a holder or a waiter."""
        return bool(self.holders or self.waiters)

    @property
    def free(self) -> bool:
        """Return whether the next caller gets a permit at once, for reading or writing."""
        if self.kind != "semaphore":
            return not self.in_use
        return not self.waiters and (self.limit is None or len(self.holders) < self.limit)

    @property
    def held_of_limit(self) -> str:
        """Return how many of all permits are held, as in `2/5`, or `2/?` for an unknown limit.

        For a reader-writer lock, return the number of readers or writers, as in `3 readers`.
        """
        if self.kind == "rw_lock":
            mode = "reader" if self.limit is None else "writer"
            return counted(len(self.holders), mode) if self.holders else "free"
        return f"{len(self.holders):,}/{'?' if self.limit is None else f'{self.limit:,}'}"

    @property
    def next_free(self) -> Holder | None:
        """Return the holder with the lease that ends first; None if there is no holder."""
        return min(self.holders, key=lambda holder: holder.remaining, default=None)


def all_permits(
    locks: Mapping[str, LockState],
    rw_locks: Mapping[str, RwLockState],
    semaphores: Mapping[str, SemaphoreState],
) -> list[PermitList]:
    """Return the permits of *locks*, *rw_locks* and *semaphores*, sorted by name."""
    found: Iterable[PermitList] = (
        *(PermitList.of_lock(name, state) for name, state in locks.items()),
        *(PermitList.of_rw_lock(name, state) for name, state in rw_locks.items()),
        *(PermitList.of_semaphore(name, state) for name, state in semaphores.items()),
    )
    return sorted(found, key=lambda each: (each.name, each.kind))


def process_of(name: str) -> dict[str, Any]:
    """Return name, host and process id of a holder or waiter named `host:process id:number`.

    The host and the process id are None if *name* has another form.
    """
    host, _, rest = name.rpartition(":")[0].rpartition(":")
    known = bool(host) and rest.isdecimal()
    return {"name": name, "host": host if known else None, "pid": int(rest) if known else None}


def process_name(name: str) -> str:
    """Return the host and process of a holder or waiter, as in `web-3, process 411`."""
    found = process_of(name)
    return name if found["pid"] is None else f"{found['host']}, process {found['pid']}"
