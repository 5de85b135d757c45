"""Audit the layout version of a namespace: only the type and the lifetime of its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import layout
from .audit import Fault, Part, Snapshot

KINDS = (layout.KIND,)


def part(_kind: str, name: str) -> Part | None:
    """Return the expected type and lifetime of the key *name*; None if it is not `version`."""
    return Part("string", expires=False, reading="nothing") if name == "version" else None


def others(_unit: Snapshot) -> Iterable[str]:
    """Return no further keys."""
    return ()


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: no sizes are needed."""
    return ()


def faults(_unit: Snapshot) -> Iterator[Fault]:
    """Yield no inconsistencies: the audit itself fails if it cannot read the version."""
    yield from ()
