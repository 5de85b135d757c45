"""Check the keys of locks, semaphores and fenced values for an audit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from ..core.audit import Fault, Part, Snapshot, number, shown
from .keys import FENCED, LOCK, RW_LOCK, SEMAPHORE

KINDS = (LOCK, SEMAPHORE, RW_LOCK, FENCED)

_QUEUES: Final = {
    LOCK: ("wait_queue",),
    SEMAPHORE: ("wait_queue",),
    RW_LOCK: ("read_queue", "write_queue"),
}
"""The wait queues by kind."""

_PARTS: Final[Mapping[str, Mapping[str, Part]]] = {
    FENCED: {"fenced": Part("hash", expires=False)},
    **{
        kind: {"state": Part("hash"), "holders": Part("zset")} | dict.fromkeys(names, Part("zset"))
        for kind, names in _QUEUES.items()
    },
}
LAST_FENCE: Final = 2**53 - 2**40
"""Largest fence; the same number as in `lua/parts/state.lua`."""

_WRITER: Final = re.compile(rb"\.w\d+$")
"""The end of the id of a writer."""

_WAITER: Final = re.compile(rb"\S+ \S*")


def part(kind: str, name: str) -> Part | None:
    """Return the expected type and lifetime of the key *name* of a unit of *kind*.

    None: such units have no key of that name.
    """
    return _PARTS[kind].get(name)


def others(unit: Snapshot) -> Iterable[str]:
    """Return the keys to read even if the audit's listing did not have them."""
    return () if unit.unit.kind == FENCED else _PARTS[unit.unit.kind]


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: the checks need no sizes of values."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a lock of any kind, or of a fenced value."""
    if unit.unit.kind == FENCED:
        yield from _fenced(unit)
    else:
        yield from _holders(unit)
        for name in _QUEUES[unit.unit.kind]:
            yield from _wait_queue(unit, name)


def _holders(unit: Snapshot) -> Iterator[Fault]:
    state, holders = unit.hash("state"), unit.zset("holders")
    if b"uncontended" in state and (holders or unit.zset("wait_queue")):
        yield Fault("state", "it has an uncontended holder, but there are other clients")
    if uncontended := state.get(b"uncontended"):
        if (ends_ms := number(state.get(b"ends_ms"))) is None:
            yield Fault("state", f"it has no end of the lease of {shown(uncontended)}")
        holders = {**holders, uncontended: float(ends_ms or 0)}
    limit, fence = number(state.get(b"limit")), number(state.get(b"fence"))
    if state and (limit is None or limit < 1) and b"unconfirmed" not in state:
        yield Fault("state", "it has no valid limit")
    if holders and not fence:
        yield Fault("state", "there is a holder but no fence: writes cannot be guarded")
    if fence and fence > LAST_FENCE:
        yield Fault("state", f"fence {fence} is too high to rise any further")
    yield from _too_many(unit.unit.kind, holders)
    for holder in holders:
        if holder.startswith(b"?") and holder[1:] in holders:
            yield Fault("holders", f"{shown(holder[1:])} has two permits")


def _too_many(kind: str, holders: Mapping[bytes, float]) -> Iterator[Fault]:
    # A semaphore may have more holders than permits after its limit was lowered; a lock may not.
    if kind == LOCK and len(holders) > 1:
        yield Fault("holders", f"{len(holders)} hold the lock at once")
    if kind == RW_LOCK and len(holders) > 1 and any(map(_WRITER.search, holders)):
        yield Fault("holders", "a writer does not hold the lock alone")


def _wait_queue(unit: Snapshot, name: str) -> Iterator[Fault]:
    queue = unit.zset(name)
    for waiter in queue:
        if not _WAITER.fullmatch(waiter):
            yield Fault(name, f"{shown(waiter)} is not a waiter: it cannot be notified")
    for ticket, count in Counter(queue.values()).items():
        if count > 1:
            yield Fault(name, f"{count} wait with the same ticket, {ticket:.0f}")


def _fenced(unit: Snapshot) -> Iterator[Fault]:
    stored = unit.hash("fenced")
    if number(stored.get(b"fence")) is None:
        yield Fault("fenced", "it has no fence: it would accept any write")
    try:
        msgspec.json.decode(stored.get(b"value", b""))
    except msgspec.DecodeError:
        yield Fault("fenced", "its value is no JSON")
