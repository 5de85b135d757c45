"""What locks and semaphores look like from outside, at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.stored import stored_int


@dataclass(frozen=True, slots=True)
class Holder:
    """One who has a place.

    Attributes:
        name: `host:process id:number`, as its `Lease.holder`.
        remaining: seconds until its place ends, unless it is renewed.
    """

    name: str
    remaining: float


@dataclass(frozen=True, slots=True)
class LockState:
    """Who has a lock, and who waits for it.

    Attributes:
        holder: `host:process id:number`, as its `Lease.holder`; None: the lock is free.
        fence: of the holder; None: the lock is free.
        remaining: seconds until it is free, unless it is renewed; 0 when it is.
        waiters: the names of those who wait, the next one first; a thousand at most.
    """

    holder: str | None
    fence: int | None
    remaining: float
    waiters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SemaphoreState:
    """Who has the places of a semaphore, and who waits for one.

    Attributes:
        limit: how many may hold at once; None: nobody has said yet.
        holders: those who do, the one whose place ends first before the others; a thousand at most.
        waiters: the names of those who wait, the next one first; a thousand at most.
    """

    limit: int | None
    holders: tuple[Holder, ...]
    waiters: tuple[str, ...]


def lock_state(reply: Sequence[Any], key: str) -> LockState:
    """Return what `inspect.lua` says of a lock, whose state is in *key*."""
    _, fence, held, waiters = reply
    if not held:
        return LockState(None, None, 0.0, _names(waiters))
    [first, *_] = _holders(held)
    number = stored_int(fence or 0, f"the fence in {key}")
    return LockState(first.name, number, first.remaining, _names(waiters))


def semaphore_state(reply: Sequence[Any], key: str) -> SemaphoreState:
    """Return what `inspect.lua` says of a semaphore, whose state is in *key*."""
    limit, _, held, waiters = reply
    number = stored_int(limit, f"the limit in {key}", 1) if limit else None
    return SemaphoreState(number, _holders(held), _names(waiters))


def _holders(held: Sequence[Any]) -> tuple[Holder, ...]:
    pairs = zip(held[::2], held[1::2], strict=True)
    return tuple(Holder(_name(member.removeprefix(b"?")), ms / 1000) for member, ms in pairs)


def _names(waiters: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(_name(waiter.partition(b" ")[0]) for waiter in waiters)


def _name(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")
