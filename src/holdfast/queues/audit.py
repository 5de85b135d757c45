"""What has to hold between the keys of a queue: each task in exactly one place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .keys import KIND, WORKERS

KINDS = (KIND, WORKERS)

READY: Final = ("ready:h", "ready:m", "ready:l")
DUE: Final = ("due:h", "due:m", "due:l")

_QUEUE: Final[Mapping[str, Part]] = {
    "bodies": Part("hash", expires=False, reading="names"),
    "state": Part("hash", expires=False),
    "leases": Part("zset", expires=False),
    **dict.fromkeys(READY, Part("list", expires=False)),
    **dict.fromkeys(DUE, Part("zset", expires=False)),
    "idle": Part("zset", reading="nothing"),
    "dead": Part("zset", expires=False),
    "expiring": Part("zset", expires=False),
    "left_over": Part("set", expires=False),
    "awaited": Part("hash", reading="nothing"),
    "settings": Part("hash", expires=False),
    "pace": Part("hash"),
}
_WORKERS: Final = {"crew": Part("hash", reading="names"), "seen": Part("zset")}

_RECORD: Final = re.compile(rb"\d+:-?\d+:\d+:[123]:\d+:\d+:", re.DOTALL)
_MINUTE: Final = re.compile(rb"\d+:\d+:\d+:\d+")


def part(kind: str, name: str) -> Part | None:
    """What a key of a queue, or of the list of workers, is."""
    if kind == WORKERS:
        return _WORKERS.get(name)
    if name.startswith("result:"):
        return Part("string", reading="nothing")
    return _QUEUE.get(name)


def others(unit: Snapshot) -> Iterable[str]:
    """What may have come since the keys were listed."""
    return _WORKERS if unit.unit.kind == WORKERS else _QUEUE


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """No sizes."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """What does not fit in a queue, or in the list of workers."""
    if unit.unit.kind == WORKERS:
        for worker in unit.hash("crew").keys() ^ unit.zset("seen").keys():
            yield Fault("crew", f"worker {shown(worker)} is in one list, not in both")
        return
    yield from _places(unit)
    yield from _records(unit)
    yield from _settings(unit)


def _standing(unit: Snapshot) -> dict[bytes, list[str]]:
    """By task, all places in which it stands."""
    places: dict[bytes, list[str]] = {}
    for name in ("leases", "dead", *DUE):
        for task in unit.zset(name):
            places.setdefault(task, []).append(name)
    for name in READY:
        for task in unit.list(name):
            places.setdefault(task, []).append(name)
    return places


def _places(unit: Snapshot) -> Iterator[Fault]:
    bodies, places = unit.hash("bodies"), _standing(unit)
    for task in unit.set("left_over"):
        standing = places.get(task, [])
        ready = [name for name in standing if name in READY]
        if ready:
            standing.remove(ready[0])  # the place of one that was cancelled
        else:
            yield Fault("left_over", f"{shown(task)} is said to have left a place in line; none is")
    for task in unit.zset("expiring"):
        if not {*READY, *DUE} & {*places.get(task, ())}:
            yield Fault("expiring", f"{shown(task)} is to expire, and does not wait")
    yield from _misplaced(bodies, places)


def _misplaced(bodies: Mapping[bytes, bytes], places: Mapping[bytes, list[str]]) -> Iterator[Fault]:
    """Tasks that are nowhere, or in several places; places without a task."""
    for task, standing in places.items():
        if task not in bodies and standing:
            yield Fault(standing[0], f"{shown(task)} has no body: there is no such task")
        elif len(standing) > 1:
            yield Fault("bodies", f"task {shown(task)} is in {' and '.join(sorted(standing))}")
    for task in bodies:
        if not places.get(task):
            yield Fault("bodies", f"task {shown(task)} is nowhere in line: it will never run")


def _records(unit: Snapshot) -> Iterator[Fault]:
    bodies, state = unit.hash("bodies"), unit.hash("state")
    for task, record in state.items():
        if task not in bodies:
            yield Fault("state", f"the record of {shown(task)} is left over: there is no such task")
        elif not _RECORD.match(record):
            yield Fault("state", f"the record of task {shown(task)} cannot be read")
    for name in ("leases", "dead"):
        for task in unit.zset(name).keys() & bodies.keys() - state.keys():
            yield Fault(name, f"task {shown(task)} has no record, so nobody may settle it")


def _settings(unit: Snapshot) -> Iterator[Fault]:
    for name, value in unit.hash("settings").items():
        if name not in (b"paused", b"capacity") or number(value) is None:
            yield Fault("settings", f"{shown(name)} is no setting of a queue, or has no number")
    for minute, text in unit.hash("pace").items():
        if not _MINUTE.fullmatch(text):
            yield Fault("pace", f"what is counted in minute {shown(minute)} cannot be read")
