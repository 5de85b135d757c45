"""What has to hold between the keys of a counter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ..core.audit import Fault, Part, Snapshot, number, shown
from .keys import KIND
from .shape import Shape

KINDS = (KIND,)

_CHUNK: Final = re.compile(r"[1-9]\d*:[01]")
_COUNT: Final = re.compile(rb"-?\d+")


def part(_kind: str, name: str) -> Part | None:
    """What a key is."""
    if name == "definition":
        return Part("string")
    return Part("hash") if _CHUNK.fullmatch(name) else None


def others(_unit: Snapshot) -> Iterable[str]:
    """What may have come since the keys were listed."""
    return ("definition",)


def wanted(_unit: Snapshot) -> Iterable[tuple[str, bytes]]:
    """No sizes."""
    return ()


def faults(unit: Snapshot) -> Iterator[Fault]:
    """What does not fit."""
    chunks = [name for name in unit.contents if name != "definition"]
    if not unit.has("definition"):
        for name in chunks:
            yield Fault(name, "it is left over: the counter has no definition")
        return
    try:
        Shape.parse(unit.string("definition"))
    except ValueError:
        yield Fault("definition", "it cannot be read")
    for name in chunks:
        for bucket, count in unit.hash(name).items():
            if number(bucket) is None or not _COUNT.fullmatch(count):
                yield Fault(name, f"the count of bucket {shown(bucket)} cannot be read")
