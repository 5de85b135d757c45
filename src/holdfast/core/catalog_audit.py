"""What has to hold in a list of names: it is a hint, so nothing but its type and lifetime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .audit import Fault, Part, Snapshot

KINDS = ("catalog",)


def part(_kind: str, name: str) -> Part | None:
    """What a key of it is."""
    return Part("zset", reading="nothing") if name == "names" else None


def others(_unit: Snapshot) -> Iterable[str]:
    """What may have come since the keys were listed."""
    return ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """No sizes."""
    return ()


def faults(_unit: Snapshot) -> Iterator[Fault]:
    """Nothing."""
    yield from ()
