"""What has to hold in a list of names: it is a hint, so nothing but its type and lifetime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .audit import Fault, Part, Snapshot

KINDS = ("catalog",)


def part(_kind: str, name: str) -> Part | None:
    """Return what a key of the catalog is."""
    return Part("zset", reading="nothing") if name == "names" else None


def others(_unit: Snapshot) -> Iterable[str]:
    """Return no further keys."""
    return ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return nothing: no sizes are needed."""
    return ()


def faults(_unit: Snapshot) -> Iterator[Fault]:
    """Yield nothing: there are no rules but type and lifetime."""
    yield from ()
