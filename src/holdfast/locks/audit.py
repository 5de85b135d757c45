"""What has to hold between the keys of a lock or semaphore, and in a fenced value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from ..core.audit import Fault, Part, Snapshot, number, shown
from .keys import FENCED, LOCK, SEMAPHORE

KINDS = (LOCK, SEMAPHORE, FENCED)

_PLACES: Final[Mapping[str, Part]] = {
    "state": Part("hash"),
    "holders": Part("zset"),
    "line": Part("zset"),
}
LAST_FENCE: Final = 2**53 - 2**40
"""As `lua/parts/places.lua` has it."""

_WAITER: Final = re.compile(rb"\S+ \S*")


def part(kind: str, name: str) -> Part | None:
    """What a key is."""
    if kind == FENCED:
        return Part("hash", expires=False) if name == "fenced" else None
    return _PLACES.get(name)


def others(unit: Snapshot) -> Iterable[str]:
    """What may have come since the keys were listed."""
    return () if unit.unit.kind == FENCED else _PLACES


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """No sizes."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """What does not fit."""
    if unit.unit.kind == FENCED:
        yield from _value(unit)
    else:
        yield from _holders(unit)
        yield from _line(unit)


def _holders(unit: Snapshot) -> Iterator[Fault]:
    state, holders = unit.hash("state"), unit.zset("holders")
    if b"sole" in state and (holders or unit.zset("line")):
        yield Fault("state", "one is to be there alone, and others are there")
    if sole := state.get(b"sole"):
        if (ends_ms := number(state.get(b"ends"))) is None:
            yield Fault("state", f"it does not say until when {shown(sole)} holds it")
        holders = {**holders, sole: float(ends_ms or 0)}
    limit, fence = number(state.get(b"limit")), number(state.get(b"fence"))
    if state and (limit is None or limit < 1) and b"doubts" not in state:
        yield Fault("state", "it does not say how many may hold at once")
    if holders and not fence:
        yield Fault("state", "somebody holds it, but no fence is stored: writes cannot be guarded")
    if fence and fence > LAST_FENCE:
        yield Fault("state", f"fence {fence} is too high to rise any further")
    # A semaphore may have had a larger limit when they came; a lock never had.
    if unit.unit.kind == LOCK and len(holders) > 1:
        yield Fault("holders", f"{len(holders)} hold the lock at once")
    for holder in holders:
        if holder.startswith(b"?") and holder[1:] in holders:
            yield Fault("holders", f"{shown(holder[1:])} has two places")


def _line(unit: Snapshot) -> Iterator[Fault]:
    line = unit.zset("line")
    for waiter in line:
        if not _WAITER.fullmatch(waiter):
            yield Fault("line", f"{shown(waiter)} is nobody who could be told")
    for ticket, count in Counter(line.values()).items():
        if count > 1:
            yield Fault("line", f"{count} wait with the same ticket, {ticket:.0f}")


def _value(unit: Snapshot) -> Iterator[Fault]:
    stored = unit.hash("fenced")
    if number(stored.get(b"fence")) is None:
        yield Fault("fenced", "it has no fence: any write would be let in")
    try:
        msgspec.json.decode(stored.get(b"value", b""))
    except msgspec.DecodeError:
        yield Fault("fenced", "its value is no JSON")
