"""Audit the catalog: only the type and the lifetime of its key.

Its content is not checked, because it may rightly be out of date.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .audit import Fault, Part, Snapshot

KINDS = ("catalog",)


def part(_kind: str, name: str) -> Part | None:
    """Return the expected type and lifetime of the key *name*; None if it is not `names`."""
    return Part("zset", reading="nothing") if name == "names" else None


def others(_unit: Snapshot) -> Iterable[str]:
    """Return no further keys."""
    return ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: no sizes are needed."""
    return ()


def faults(_unit: Snapshot) -> Iterator[Fault]:
    """Yield no inconsistencies: the content is not checked."""
    yield from ()
