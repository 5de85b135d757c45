"""Define the state of a lock or semaphore, as `inspect` returns it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.stored import stored_int


@dataclass(frozen=True, slots=True)
class Holder:
    """A holder of a permit.

    Attributes:
        name: `host:process id:number`, as in `Lease.holder`.
        remaining: seconds until the lease ends, unless it is renewed.
    """

    name: str
    remaining: float


@dataclass(frozen=True, slots=True)
class LockState:
    """The holder of a lock, and the waiters for it.

    Attributes:
        holder: `host:process id:number`, as in `Lease.holder`; None: the lock is free.
        fence: fence of the holder; None: the lock is free.
        remaining: seconds until the lease ends, unless it is renewed; 0: the lock is free.
        waiters: names of at most 1,000 waiters, the next one first.
    """

    holder: str | None
    fence: int | None
    remaining: float
    waiters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SemaphoreState:
    """The holders of a semaphore, and the waiters for it.

    Attributes:
        limit: number of permits; None: no client has set it.
        holders: at most 1,000 holders, the one with the earliest end of its lease first.
        waiters: names of at most 1,000 waiters, the next one first.
    """

    limit: int | None
    holders: tuple[Holder, ...]
    waiters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RwLockState:
    """The holders of a reader-writer lock, and the waiters for it.

    Attributes:
        writer: the writer that holds it; None: no writer does.
        fence: fence of the writer; None: no writer holds it.
        readers: at most 1,000 readers that hold it, the one with the earliest end of its lease
            first.
        waiting_writers: names of at most 1,000 writers that wait, the next one first.
        waiting_readers: names of at most 1,000 readers that wait, the next one first.
    """

    writer: Holder | None
    fence: int | None
    readers: tuple[Holder, ...]
    waiting_writers: tuple[str, ...]
    waiting_readers: tuple[str, ...]

    @property
    def holders(self) -> tuple[Holder, ...]:
        """Return the writer, or the readers."""
        return self.readers if self.writer is None else (self.writer,)

    @property
    def waiters(self) -> tuple[str, ...]:
        """Return the names of the writers that wait, then those of the readers."""
        return self.waiting_writers + self.waiting_readers


def lock_state(reply: Sequence[Any], key: str) -> LockState:
    """Return the state in a *reply* of `inspect.lua`. An error names *key*, the key `state`."""
    _, fence, held, waiters = reply
    if not held:
        return LockState(None, None, 0.0, _names(waiters))
    [first, *_] = _holders(held)
    number = stored_int(fence or 0, f"the fence in {key}")
    return LockState(first.name, number, first.remaining, _names(waiters))


def semaphore_state(reply: Sequence[Any], key: str) -> SemaphoreState:
    """Return the state in a *reply* of `inspect.lua`. An error names *key*, the key `state`."""
    limit, _, held, waiters = reply
    number = stored_int(limit, f"the limit in {key}", 1) if limit else None
    return SemaphoreState(number, _holders(held), _names(waiters))


def rw_lock_state(reply: Sequence[Any], key: str) -> RwLockState:
    """Return the state in a *reply* of `rw_inspect.lua`. An error names *key*, the key `state`."""
    fence, held, readers, writers = reply
    holders = _holders(held)
    writer = next((each for each in holders if _is_writer(each.name)), None)
    return RwLockState(
        writer,
        stored_int(fence or 0, f"the fence in {key}") if writer else None,
        () if writer else holders,
        _names(writers),
        _names(readers),
    )


def _is_writer(name: str) -> bool:
    return name.rpartition(".")[2].startswith("w")


def _holders(held: Sequence[Any]) -> tuple[Holder, ...]:
    pairs = zip(held[::2], held[1::2], strict=True)
    return tuple(Holder(_name(member.removeprefix(b"?")), ms / 1000) for member, ms in pairs)


def _names(waiters: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(_name(waiter.partition(b" ")[0]) for waiter in waiters)


def _name(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")
