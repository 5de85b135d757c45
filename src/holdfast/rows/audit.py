"""Audit of a row cache: the rows in `plan` must be those in `due`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .keys import CACHE, SHARD

KINDS = (CACHE, SHARD)

_SHARD: Final[Mapping[str, Part]] = {
    "due": Part("zset"),
    "plan": Part("hash"),
    "loads": Part("zset"),
    "failures": Part("hash"),
}
_PLANNED: Final = re.compile(rb"[1-9]\d*:\d+")
_FAILURE: Final = re.compile(rb"\d+:\d+:", re.DOTALL)


def part(kind: str, name: str) -> Part | None:
    """Return the expected type of the key *name*, and how the audit reads it; None: unknown key."""
    if kind == CACHE:
        return Part("string") if name == "definition" else None
    if name.startswith("row:"):
        return Part("string", reading="nothing")
    return _SHARD.get(name)


def others(unit: Snapshot) -> Iterable[str]:
    """Return the names of all keys that a shard may have, except those of rows.

    The audit also reads those that were not in its listing of the keys: they may have been created
    since the listing.
    """
    return () if unit.unit.kind == CACHE else _SHARD


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no keys, because no check here uses the size of a value."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a row cache or of one of its shards."""
    if unit.unit.kind == CACHE:
        if not number(unit.string("definition")):
            yield Fault("definition", "it is not a number of shards")
        return
    due, plan = unit.zset("due"), unit.hash("plan")
    for row, planned in plan.items():
        if not _PLANNED.fullmatch(planned):
            yield Fault("plan", f"the plan of row {shown(row)} cannot be read")
        if row not in due:
            yield Fault("plan", f"row {shown(row)} is scheduled, but not in due: it gets stale")
    for row in due.keys() - plan.keys():
        yield Fault("due", f"row {shown(row)} is due, but has no period")
    if unit.has("loads") and b"" not in unit.zset("loads"):
        yield Fault("loads", "the latest token is missing, so a token could be assigned twice")
    for row, entry in unit.hash("failures").items():
        if not _FAILURE.match(entry):
            yield Fault("failures", f"the failure of row {shown(row)} cannot be read")
