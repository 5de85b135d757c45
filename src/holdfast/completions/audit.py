"""Check the keys of lists of recent names, and of completions, for an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .checks import DEFAULT_LIMIT
from .folding import index_prefixes
from .keys import COMPLETIONS, RECENT

KINDS = (RECENT, COMPLETIONS)

_RECENT: Final = {"names": Part("list"), "limit": Part("string")}


def part(kind: str, name: str) -> Part | None:
    """Return the expected type and lifetime of the key *name* of a unit of *kind*.

    None: such units have no key of that name.
    """
    if kind == RECENT:
        return _RECENT.get(name)
    return Part("zset", expires=False) if name == "index" else None


def others(unit: Snapshot) -> Iterable[str]:
    """Return the keys to read even if the audit's listing did not have them."""
    return _RECENT if unit.unit.kind == RECENT else ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: the checks need no sizes of values."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a list of recent names, or of completions."""
    if unit.unit.kind == RECENT:
        yield from _recent(unit)
    else:
        yield from _index(unit)


def _recent(unit: Snapshot) -> Iterator[Fault]:
    names = unit.list("names")
    limit = number(unit.string("limit")) if unit.has("limit") else DEFAULT_LIMIT
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
        key, name, entry_id = parts
        entries.setdefault((name, entry_id), set()).add(f"{key}\0{name}\0")
    for (name, _), found in entries.items():
        expected = set(index_prefixes(name))
        for missing in sorted(expected - found):
            key = missing[1:].partition("\0")[0]
            yield Fault("index", f"{name!r} is not found by {key!r}")
        for surplus in sorted(found - expected):
            key = surplus[1:].partition("\0")[0]
            yield Fault("index", f"{name!r} is found by {key!r}, where it does not belong")
