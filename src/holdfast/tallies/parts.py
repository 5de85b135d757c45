"""Counts on their way to the server, in pieces that it takes without a pause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ..core.names import encode_name
from .counted import Sums

PART_VALUES: Final = 4000
"""In one step of the server, which takes some milliseconds."""

DAYS: Final = "days"


def counts_of(day: str, dimension: str) -> str:
    """Name of the counts of a dimension on a day."""
    return f"of:{day}:{encode_name(dimension)}"


def dimensions_of(day: str) -> str:
    """Name of the counts of all lines of a day that have any value of a dimension."""
    return f"dimensions:{day}"


def rejects_of(day: str) -> str:
    """Name of the counts of rejected lines of a day; '' of no day that could be read."""
    return f"rejected:{day}"


class Part(NamedTuple):
    """Counts for one of the sums.

    Attributes:
        name: the part of the key of these sums.
        counts: lines and value, again and again.
    """

    name: str
    counts: list[str | int]

    @property
    def size(self) -> int:
        """How many values."""
        return len(self.counts) // 2


def parts_of(sums: Sums) -> list[Part]:
    """All counts of *sums*."""
    found = [*_cut(DAYS, sums.lines)]
    dimensions: dict[str, dict[str, int]] = {}
    for (day, dimension), values in sums.values.items():
        found += _cut(counts_of(day, dimension), values)
        dimensions.setdefault(day, {})[dimension] = sum(values.values())
    for day, those in dimensions.items():
        found += _cut(dimensions_of(day), those)
    for day, reasons in sums.rejected.items():
        found += _cut(rejects_of(day), reasons)
    return found


def _cut(name: str, counts: Mapping[str, int]) -> Iterator[Part]:
    flat: list[str | int] = [0] * (2 * len(counts))
    flat[::2], flat[1::2] = counts.values(), counts.keys()
    for first in range(0, len(flat), 2 * PART_VALUES):
        yield Part(name, flat[first : first + 2 * PART_VALUES])


def at_once(parts: list[Part]) -> int:
    """How many of *parts*, from the end, may go along in one step of the server."""
    room, number = PART_VALUES, 0
    for part in reversed(parts):
        room -= part.size
        if room < 0:
            break
        number += 1
    return number


def before(direct: list[Part], staged: list[Part]) -> Iterator[int]:
    """For each of *staged*, how many values of the same sums are added before: these go first."""
    added: dict[str, int] = {}
    for n, part in enumerate([*direct, *staged]):
        there = added.get(part.name, 0)
        added[part.name] = there + part.size
        if n >= len(direct):
            yield there
