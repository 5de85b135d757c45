"""Checks the keys of a queue against each other: each task must be in exactly one place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from . import groups_audit, limits_audit
from .keys import GROUP, KIND, SCHEDULES, WORKERS
from .steps import audit as steps_audit

KINDS = (KIND, WORKERS, SCHEDULES, GROUP)

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
    "tombstones": Part("set", expires=False),
    "unique": Part("hash", expires=False),
    "unique:kept": Part("hash"),
    "awaited": Part("hash", reading="nothing"),
    "settings": Part("hash", expires=False),
    "throughput": Part("hash"),
    "schedules": Part("hash", expires=False),
    "schedule:times": Part("zset", expires=False),
    "schedule:state": Part("hash", expires=False),
    "history": Part("list", reading="nothing"),
    "progress": Part("hash", expires=False),
    "members:ended": Part("list", expires=False, reading="nothing"),
    "members:relay": Part("string", reading="nothing"),
    **limits_audit.PARTS,
    **steps_audit.PARTS,
}
_WORKERS: Final = {"workers": Part("hash", reading="names"), "seen": Part("zset")}
_SCHEDULES: Final = {"queues": Part("hash", expires=False, reading="nothing")}
_OTHER_KINDS: Final[Mapping[str, Mapping[str, Part]]] = {
    WORKERS: _WORKERS,
    SCHEDULES: _SCHEDULES,
    GROUP: groups_audit.PARTS,
}

_LAYOUT: Final[Mapping[bytes, re.Pattern[bytes]]] = {
    b"layout": re.compile(rb"\d+( \d+ \d+( \d+:\d+:\d+)*)?"),
    b"whole:capacity": re.compile(rb"\d+"),
    b"whole:limit": re.compile(rb"\d+ \d+ \d+"),
}
"""Settings of a queue with partitions → the form of the value."""

_NUMBERS: Final = (b"paused", b"capacity", b"history", b"stepped")
"""Settings of a queue that are numbers."""

_RECORD: Final = re.compile(rb"\d+:-?\d+:\d+:[123]:\d+:\d+:\d+:", re.DOTALL)
_SCHEDULE: Final = re.compile(rb"(\d+:){7}.*", re.DOTALL)
_DECLARED: Final = re.compile(rb"(\d+:){6}[1-9]\d*:.*", re.DOTALL)
_HOLDER: Final = re.compile(rb"\d+:(.+)", re.DOTALL)
_PROGRESS: Final = re.compile(rb"\d+:\d+:(\d+:\{.*\})?", re.DOTALL)
_MINUTE: Final = re.compile(rb"\d+(:\d+){5}")


def part(kind: str, name: str) -> Part | None:
    """Return the description of a key; None if it is no key of this block."""
    if kind in _OTHER_KINDS:
        return _OTHER_KINDS[kind].get(name)
    if name.startswith(("result:", "called:")):
        return Part("string", reading="nothing")
    if name.startswith("events:"):
        return Part("list", reading="nothing")
    return _QUEUE.get(name)


def others(unit: Snapshot) -> Iterable[str]:
    """Return the keys that may have been created since the keys were listed."""
    return _OTHER_KINDS.get(unit.unit.kind, _QUEUE)


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return nothing: the audit of a queue needs no sizes."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the faults of a queue, of a group, or of the list of workers.

    The directory of schedules is not checked, because its entries and the schedules are in
    different slots.
    """
    if unit.unit.kind == WORKERS:
        for worker in unit.hash("workers").keys() ^ unit.zset("seen").keys():
            yield Fault("workers", f"worker {shown(worker)} is in one list, not in both")
    elif unit.unit.kind == GROUP:
        yield from groups_audit.faults(unit)
    if unit.unit.kind in _OTHER_KINDS:
        return
    yield from _places(unit)
    yield from _records(unit)
    yield from _progress(unit)
    yield from _unique(unit)
    yield from _settings(unit)
    yield from limits_audit.faults(unit, _places_by_task(unit))
    yield from steps_audit.faults(unit, unit.hash("bodies").keys())
    yield from _schedules(unit)


def _places_by_task(unit: Snapshot) -> dict[bytes, list[str]]:
    """Return, by task, the names of all keys that have its id."""
    places: dict[bytes, list[str]] = {}
    for name in ("leases", "dead", "limit:waiting", *DUE):
        for task in unit.zset(name):
            places.setdefault(task, []).append(name)
    for name in READY:
        for task in unit.list(name):
            places.setdefault(task, []).append(name)
    return places


def _places(unit: Snapshot) -> Iterator[Fault]:
    bodies, places = unit.hash("bodies"), _places_by_task(unit)
    for task in unit.set("tombstones"):
        found = places.get(task, [])
        ready = [name for name in found if name in READY]
        if ready:
            found.remove(ready[0])
        else:
            yield Fault("tombstones", f"{shown(task)} is a tombstone, and is in no ready list")
    for task in unit.zset("expiring"):
        if not {*READY, *DUE, "limit:waiting"} & {*places.get(task, ())}:
            yield Fault("expiring", f"{shown(task)} is to expire, and is not queued")
    yield from _misplaced(bodies, places)


def _misplaced(bodies: Mapping[bytes, bytes], places: Mapping[bytes, list[str]]) -> Iterator[Fault]:
    """Yield tasks that are in no place or in several, and ids without a task."""
    for task, found in places.items():
        if task not in bodies and found:
            yield Fault(found[0], f"{shown(task)} has no body: there is no such task")
        elif len(found) > 1:
            yield Fault("bodies", f"task {shown(task)} is in {' and '.join(sorted(found))}")
    for task in bodies:
        if not places.get(task):
            yield Fault("bodies", f"task {shown(task)} is not queued: it will never run")


def _records(unit: Snapshot) -> Iterator[Fault]:
    bodies, state = unit.hash("bodies"), unit.hash("state")
    for task, record in state.items():
        if task not in bodies:
            yield Fault("state", f"the record of {shown(task)} has no task")
        elif not _RECORD.match(record):
            yield Fault("state", f"the record of task {shown(task)} cannot be read")
    for name in ("leases", "dead"):
        for task in unit.zset(name).keys() & bodies.keys() - state.keys():
            yield Fault(name, f"task {shown(task)} has no record, so no worker can settle it")


def _progress(unit: Snapshot) -> Iterator[Fault]:
    bodies = unit.hash("bodies")
    for task, entry in unit.hash("progress").items():
        if task not in bodies:
            yield Fault("progress", f"the progress of {shown(task)} has no task")
        elif not _PROGRESS.fullmatch(entry):
            yield Fault("progress", f"the progress of task {shown(task)} cannot be read")


def _unique(unit: Snapshot) -> Iterator[Fault]:
    """Yield a fault for each key of unique tasks that no task holds; such a key blocks no task."""
    alive = unit.hash("bodies").keys() - unit.zset("dead").keys()
    for key, entry in unit.hash("unique").items():
        holder = _HOLDER.fullmatch(entry)
        if holder is None or holder[1] not in alive:
            yield Fault("unique", f"key {shown(key)} of a unique task is held by no task")
    for key, entry in unit.hash("unique:kept").items():
        if not _HOLDER.fullmatch(entry):
            yield Fault("unique:kept", f"who holds key {shown(key)} cannot be read")


def _settings(unit: Snapshot) -> Iterator[Fault]:
    for name, value in unit.hash("settings").items():
        if name.startswith(b"limit:"):
            is_valid: object = limits_audit.DEFINITION.fullmatch(value)
        elif name in limits_audit.SETTINGS:
            is_valid = limits_audit.SETTINGS[name].fullmatch(value)
        elif name in _LAYOUT:
            is_valid = _LAYOUT[name].fullmatch(value)
        else:
            is_valid = name in _NUMBERS and number(value) is not None
        if not is_valid:
            yield Fault("settings", f"{shown(name)} is no setting of a queue, or cannot be read")
    for minute, text in unit.hash("throughput").items():
        if not _MINUTE.fullmatch(text):
            yield Fault("throughput", f"what is counted in minute {shown(minute)} cannot be read")


def _schedules(unit: Snapshot) -> Iterator[Fault]:
    """Yield schedules that are not in all of the three keys, and records that cannot be read.

    Only the record of a declared schedule stays after its end.
    """
    records = unit.hash("schedule:state")
    places: dict[str, Iterable[bytes]] = {
        "schedules": unit.hash("schedules"),
        "schedule:times": unit.zset("schedule:times"),
        "schedule:state": records,
    }
    for name in sorted({name for names in places.values() for name in names}):
        missing = [place for place, names in places.items() if name not in names]
        has_ended = len(missing) == 2 and _DECLARED.fullmatch(records.get(name, b""))
        if missing and not has_ended:
            text = f"schedule {shown(name)} is not in {' and '.join(missing)}, so it does not fire"
            yield Fault(missing[0], text)
    for name, record in records.items():
        if not _SCHEDULE.fullmatch(record):
            yield Fault("schedule:state", f"the record of schedule {shown(name)} cannot be read")
