"""Check the keys of a counter for an audit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .definition import CounterDefinition
from .keys import KIND

KINDS = (KIND,)

_CHUNK: Final = re.compile(r"[1-9]\d*:[01]")
_COUNT: Final = re.compile(rb"-?\d+")


def part(_kind: str, name: str) -> Part | None:
    """Return the expected type and lifetime of the key *name*; None: counters have no such key."""
    if name == "definition":
        return Part("string")
    return Part("hash") if _CHUNK.fullmatch(name) else None


def others(_unit: Snapshot) -> Iterable[str]:
    """Return the keys to read even if the audit's listing did not have them."""
    return ("definition",)


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """Return no fields: the checks of a counter need no sizes of values."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """Yield the inconsistencies in the keys of a counter."""
    chunks = [name for name in unit.contents if name != "definition"]
    if not unit.has("definition"):
        for name in chunks:
            yield Fault(name, "it is left over: the counter has no definition")
        return
    try:
        CounterDefinition.parse(unit.string("definition"))
    except ValueError:
        yield Fault("definition", "it cannot be read")
    for name in chunks:
        for bucket, count in unit.hash(name).items():
            if number(bucket) is None or not _COUNT.fullmatch(count):
                yield Fault(name, f"the count of bucket {shown(bucket)} cannot be read")
