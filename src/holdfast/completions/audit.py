"""What has to hold in lists of recent names, and in an index of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .folding import places
from .keys import COMPLETIONS, RECENT
from .limits import USUAL_LIMIT

KINDS = (RECENT, COMPLETIONS)

_RECENT: Final = {"names": Part("list"), "limit": Part("string")}


def part(kind: str, name: str) -> Part | None:
    """What a key is."""
    if kind == RECENT:
        return _RECENT.get(name)
    return Part("zset", expires=False) if name == "index" else None


def others(unit: Snapshot) -> Iterable[str]:
    """What may have come since the keys were listed."""
    return _RECENT if unit.unit.kind == RECENT else ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """No sizes."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """What does not fit."""
    if unit.unit.kind == RECENT:
        yield from _recent(unit)
    else:
        yield from _index(unit)


def _recent(unit: Snapshot) -> Iterator[Fault]:
    names = unit.list("names")
    limit = number(unit.string("limit")) if unit.has("limit") else USUAL_LIMIT
    if not limit:
        yield Fault("limit", "it is no number")
    elif len(names) > limit:
        yield Fault("names", f"it holds {len(names)} names, and should keep {limit}")
    for name, count in Counter(names).items():
        if count > 1:
            yield Fault("names", f"{shown(name)} is there {count} times")


def _index(unit: Snapshot) -> Iterator[Fault]:
    entries: dict[tuple[str, str], set[str]] = {}
    for member, score in unit.zset("index").items():
        parts = member.decode(errors="replace").split("\0")
        if len(parts) != 3 or score:
            yield Fault("index", f"{shown(member)} is no entry of a name")
            continue
        place, name, entry_id = parts
        entries.setdefault((name, entry_id), set()).add(f"{place}\0{name}\0")
    for (name, _), found in entries.items():
        wanted = set(places(name))
        for missing in sorted(wanted - found):
            place = missing[1:].partition("\0")[0]
            yield Fault("index", f"{name!r} is not found by {place!r}")
        for surplus in sorted(found - wanted):
            place = surplus[1:].partition("\0")[0]
            yield Fault("index", f"{name!r} is found by {place!r}, where it does not belong")
