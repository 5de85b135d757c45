"""Audit of a tally: each journal must be pending, and the counts must add up."""

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
    """Return the expected type of the key *name*, and how the audit reads it; None: unknown key."""
    return next((part for pattern, part in _KEYS if pattern.fullmatch(name)), None)


def others(unit: Snapshot) -> Iterable[str]:
    """Yield the names of all keys that the contents of *unit* refer to.

    The audit also reads those that were not in its listing of the keys: they may have been created
    since the listing.
    """
    yield from ("days", "pending")
    for token in unit.list("pending"):
        yield f"journal:{token.decode(errors='replace')}"
    for day in unit.zset("days"):
        name = f"dimensions:{day.decode(errors='replace')}"
        yield name
        for dimension in unit.zset(name):
            yield f"of:{day.decode(errors='replace')}:{_encoded(dimension)}"


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return nothing, because the checks need no sizes of values."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a tally."""
    pending = {token.decode(errors="replace") for token in unit.list("pending")}
    journals = {
        name.removeprefix("journal:") for name in unit.contents if name.startswith("journal:")
    }
    for token in sorted(journals - pending):
        yield Fault(f"journal:{token}", "is not in `pending`: its counts will never be added")
    for token in sorted(pending - journals):
        yield Fault("pending", f"the journal {token!r} is missing: its counts are lost")
    yield from _wrong_counts(unit)
    if not pending:
        yield from _wrong_totals(unit)


def _wrong_counts(unit: Snapshot) -> Iterator[Fault]:
    for name in unit.contents:
        if name.partition(":")[0] in ("days", "of", "dimensions", "rejected"):
            for value, count in unit.zset(name).items():
                if count < 1 or count % 1:
                    yield Fault(name, f"{shown(value)} counts {count:g} lines")


def _wrong_totals(unit: Snapshot) -> Iterator[Fault]:
    """Compare the total of each dimension with the sum of its values and with the total of the
    day."""
    for name in unit.contents:
        if not name.startswith("dimensions:"):
            continue
        day = name.removeprefix("dimensions:")
        lines = unit.zset("days").get(day.encode(), 0)
        for dimension, total in unit.zset(name).items():
            values = f"of:{day}:{_encoded(dimension)}"
            added = sum(unit.zset(values).values())
            if added != total:
                yield Fault(values, f"its values have {added:.0f} lines together, not {total:.0f}")
            if total > lines:
                yield Fault("days", f"{day} has {lines:.0f} lines, but {values} has {total:.0f}")


def _encoded(dimension: bytes) -> str:
    return encode_name(dimension.decode(errors="replace"))
