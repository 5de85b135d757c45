"""What has to hold between the keys of a tally: what is on its way is known, and sums add up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot, shown
from ..core.names import encode_name
from .keys import KIND

KINDS = (KIND,)

_KEYS: Final = (
    (re.compile(r"file:[0-9a-f]{32}"), Part("string", reading="nothing")),
    (re.compile(r"days|(of|dimensions|rejected):.*", re.DOTALL), Part("zset")),
    (re.compile(r"samples:.*", re.DOTALL), Part("zset", reading="nothing")),
    (re.compile(r"staged:.*", re.DOTALL), Part("list", reading="nothing")),
    (re.compile(r"journal:.*", re.DOTALL), Part("list", reading="count")),
    (re.compile(r"pending"), Part("list")),
)


def part(_kind: str, name: str) -> Part | None:
    """What a key is."""
    return next((part for pattern, part in _KEYS if pattern.fullmatch(name)), None)


def others(unit: Snapshot) -> Iterable[str]:
    """What may have come since the keys were listed."""
    yield from ("days", "pending")
    for token in unit.list("pending"):
        yield f"journal:{token.decode(errors='replace')}"
    for day in unit.zset("days"):
        name = f"dimensions:{day.decode(errors='replace')}"
        yield name
        for dimension in unit.zset(name):
            yield f"of:{day.decode(errors='replace')}:{_encoded(dimension)}"


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """No sizes."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """What does not fit."""
    pending = {token.decode(errors="replace") for token in unit.list("pending")}
    journals = {
        name.removeprefix("journal:") for name in unit.contents if name.startswith("journal:")
    }
    for token in sorted(journals - pending):
        yield Fault(f"journal:{token}", "nobody knows of it: its counts will never be added")
    for token in sorted(pending - journals):
        yield Fault("pending", f"the journal {token!r} is not there: its counts are lost")
    yield from _counts(unit)
    if not pending:
        yield from _sums(unit)


def _counts(unit: Snapshot) -> Iterator[Fault]:
    for name in unit.contents:
        if name.partition(":")[0] in ("days", "of", "dimensions", "rejected"):
            for value, count in unit.zset(name).items():
                if count < 1 or count % 1:
                    yield Fault(name, f"{shown(value)} counts {count:g} lines")


def _sums(unit: Snapshot) -> Iterator[Fault]:
    """All lines of a day that have a value of a dimension, twice: there, and by value."""
    for name in unit.contents:
        if not name.startswith("dimensions:"):
            continue
        day = name.removeprefix("dimensions:")
        lines = unit.zset("days").get(day.encode(), 0)
        for dimension, total in unit.zset(name).items():
            part = f"of:{day}:{_encoded(dimension)}"
            added = sum(unit.zset(part).values())
            if added != total:
                yield Fault(part, f"its values have {added:.0f} lines together, not {total:.0f}")
            if total > lines:
                yield Fault("days", f"{day} has {lines:.0f} lines, and {total:.0f} of {part}")


def _encoded(dimension: bytes) -> str:
    return encode_name(dimension.decode(errors="replace"))
