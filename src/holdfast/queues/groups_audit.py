"""Check the stored state of a group for an audit: its counts must match how its members ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown

PARTS: Final[Mapping[str, Part]] = {
    "group": Part("hash"),
    "ends": Part("hash"),
    "calls": Part("hash", reading="names"),
}

_STATES: Final = (b"running", b"done", b"failed", b"cancelled")
_COUNTED: Final = ("done", "dead", "cancelled")
_CALLBACKS: Final = (b"then", b"failure")
_ENTRY_FIELDS: Final = 3


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the faults of a group."""
    record = unit.hash("group")
    total = number(record.get(b"total"))
    if total is None or record.get(b"state") not in _STATES:
        yield Fault("group", "the record of the group cannot be read")
        return
    counted = Counter[str]()
    for name, entry in unit.hash("ends").items():
        fields = entry.split(b" ", 2)
        index = number(name)
        if len(fields) != _ENTRY_FIELDS or (name not in _CALLBACKS and index is None):
            yield Fault("ends", f"how member {shown(name)} ended cannot be read")
        elif index is not None:
            counted[fields[1].decode(errors="replace")] += 1
            if index >= total:
                yield Fault("ends", f"there is no member {shown(name)}")
    for state in _COUNTED:
        stored = number(record.get(state.encode(), b"0"))
        if stored != counted[state]:
            yield Fault(
                "group", f"{stored} members are counted as {state}; there are {counted[state]}"
            )
    yield from _calls(unit)


def _calls(unit: Snapshot) -> Iterator[Fault]:
    """Yield callbacks that wait, and are not stored."""
    record, calls = unit.hash("group"), unit.hash("calls")
    if record[b"state"] == b"cancelled":
        return
    for name in _CALLBACKS:
        if record.get(name) in (b"waiting", b"due") and name not in calls:
            yield Fault(
                "calls", f"the callback {name.decode()} is not stored, so it is never called"
            )
