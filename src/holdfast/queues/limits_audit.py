"""Check the stored state of limits for an audit: it must match the tasks of their queue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..core.audit import Fault, Part, Snapshot, shown

PARTS: Final[Mapping[str, Part]] = {
    "limit:keys": Part("hash"),
    "limit:admitted": Part("zset", expires=False),
    "limit:waiting": Part("zset", expires=False),
}

SETTINGS: Final[Mapping[bytes, re.Pattern[bytes]]] = {
    b"limited": re.compile(rb"1"),
    b"changed": re.compile(rb"1"),
    b"sweep": re.compile(rb"\d+"),
    b"limit": re.compile(rb"\d+ \d+ \d+"),
    b"starts": re.compile(rb"-|\d+\*\d+(,\d+\*\d+)*"),
}
"""Settings of a queue about limits → the form of the value."""

DEFINITION: Final = re.compile(rb"\d+ \d+ \d+ [01]")

_RECORD: Final = re.compile(rb"\d+ \d+ [123] \S+ (\S+ \S+)")
_ADMITTED_KEY: Final = 4
_LIMITED_KEY: Final = 2**28


def faults(unit: Snapshot, places: Mapping[bytes, list[str]]) -> Iterator[Fault]:
    """Yield the faults in the keys of limits.

    Args:
        unit: the queue.
        places: by task, the names of all keys that have its id.
    """
    admitted = Counter[int]()
    for task, score in unit.zset("limit:admitted").items():
        slot, lane = divmod(int(score), _ADMITTED_KEY)
        admitted[slot] += 1
        queued = any(name.startswith(("ready:", "due:")) for name in places.get(task, ()))
        if not (queued if lane else "leases" in places.get(task, ())):
            where = "queued" if lane else "running"
            yield Fault(
                "limit:admitted", f"{shown(task)} has a permit of its key, and is not {where}"
            )
    waiting = {int(score) // _LIMITED_KEY for score in unit.zset("limit:waiting").values()}
    names = {}
    for slot in sorted(admitted.keys() | waiting):
        record = _RECORD.fullmatch(unit.hash("limit:keys").get(b"%d" % slot, b""))
        if record is None or unit.hash("limit:keys").get(record[1]) != b"%d" % slot:
            yield Fault("limit:keys", f"the key of limits in slot {slot} cannot be read")
        else:
            names[slot] = record[1]
    yield from _idle_places(unit, admitted, {slot: names[slot] for slot in waiting & names.keys()})


def _idle_places(
    unit: Snapshot, admitted: Mapping[int, int], waiting: Mapping[int, bytes]
) -> Iterator[Fault]:
    """Yield keys with tasks that wait although there is room for one."""
    settings = unit.hash("settings")
    for slot, name in waiting.items():
        definition = settings.get(b"limit:" + name.split(b" ")[0], b"0 0 0 0")
        if DEFINITION.fullmatch(definition) and b"sweep" not in settings:
            concurrency = int(definition.split(b" ")[0])
            if admitted.get(slot, 0) < max(1, concurrency if definition.endswith(b" 0 0 0") else 1):
                text = f"tasks of key {shown(name)} wait although it has room: they may never run"
                yield Fault("limit:waiting", text)
