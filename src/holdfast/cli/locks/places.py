"""A lock or a semaphore as the commands tell of it: a lock is what has one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import Holder

if TYPE_CHECKING:
    from ... import Holdfast, LockState, SemaphoreState

Name = Annotated[str, typer.Argument(metavar="NAME", help="The lock.")]
IsSemaphore = Annotated[bool, typer.Option("--semaphore", help="NAME is a semaphore.")]


@dataclass(frozen=True, slots=True)
class Places:
    """Who has a lock, or the places of a semaphore, and who waits.

    Attributes:
        limit: None: nobody has said yet.
        fence: of the holder of a lock.
    """

    name: str
    kind: str
    limit: int | None
    fence: int | None
    holders: Sequence[Holder]
    waiters: Sequence[str]

    @classmethod
    def of_lock(cls, name: str, state: LockState) -> Places:
        """Those of a lock."""
        held = state.holder is not None
        holders = [Holder(str(state.holder), state.remaining)] if held else []
        return cls(name, "lock", 1, state.fence, holders, state.waiters)

    @classmethod
    def of_semaphore(cls, name: str, state: SemaphoreState) -> Places:
        """Those of a semaphore."""
        return cls(name, "semaphore", state.limit, None, state.holders, state.waiters)

    @classmethod
    def now(cls, hf: Holdfast, name: str, *, semaphore: bool) -> Places:
        """As they are at this moment."""
        if semaphore:
            return cls.of_semaphore(name, hf.semaphore(name).inspect())
        return cls.of_lock(name, hf.lock(name).inspect())

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"

    @property
    def in_use(self) -> bool:
        """Whether anybody holds or wants it."""
        return bool(self.holders or self.waiters)

    @property
    def free(self) -> bool:
        """Whether who comes now has a place at once."""
        return not self.waiters and (self.limit is None or len(self.holders) < self.limit)

    @property
    def taken(self) -> str:
        """As in `2/5`."""
        return f"{len(self.holders):,}/{'?' if self.limit is None else f'{self.limit:,}'}"


def in_use(hf: Holdfast) -> list[Places]:
    """All that are held or waited for, by name."""
    found = [
        *(Places.of_lock(name, state) for name, state in hf.locks().items()),
        *(Places.of_semaphore(name, state) for name, state in hf.semaphores().items()),
    ]
    return sorted(found, key=lambda places: (places.name, places.kind))


def who(name: str) -> dict[str, Any]:
    """Where a holder or waiter runs: its name is `host:process id:number`."""
    host, _, rest = name.rpartition(":")[0].rpartition(":")
    known = bool(host) and rest.isdecimal()
    return {"name": name, "host": host if known else None, "pid": int(rest) if known else None}


def told(name: str) -> str:
    """The same for people."""
    known = who(name)
    return name if known["pid"] is None else f"{known['host']}, process {known['pid']}"
