"""Split counts into chunks, each small enough for one short step of the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ..core.names import encode_name
from .counted import LineCounts

CHUNK_VALUES: Final = 4000
"""Maximum number of values in one step of the server, which then takes some milliseconds."""

DAYS: Final = "days"
"""Name of the counts of all lines of each day."""


def values_of(day: str, dimension: str) -> str:
    """Return the name of the counts of lines by value, for a dimension and a day."""
    return f"of:{day}:{encode_name(dimension)}"


def dimensions_of(day: str) -> str:
    """Return the name of the counts of lines by dimension, for a day."""
    return f"dimensions:{day}"


def rejected_of(day: str) -> str:
    """Return the name of the counts of rejected lines by reason, for a day ('' if unknown)."""
    return f"rejected:{day}"


class CountChunk(NamedTuple):
    """Hold some counts that are added to one sorted set.

    Attributes:
        name: last part of the key of the sorted set.
        counts: number of lines and value, alternating.
    """

    name: str
    counts: list[str | int]

    @property
    def size(self) -> int:
        """Return the number of values."""
        return len(self.counts) // 2


def chunks_of(counts: LineCounts) -> list[CountChunk]:
    """Split *counts* into chunks."""
    found = [*_split(DAYS, counts.lines)]
    dimensions: dict[str, dict[str, int]] = {}
    for (day, dimension), values in counts.values.items():
        found += _split(values_of(day, dimension), values)
        dimensions.setdefault(day, {})[dimension] = sum(values.values())
    for day, totals in dimensions.items():
        found += _split(dimensions_of(day), totals)
    for day, reasons in counts.rejected.items():
        found += _split(rejected_of(day), reasons)
    return found


def _split(name: str, counts: Mapping[str, int]) -> Iterator[CountChunk]:
    flat: list[str | int] = [0] * (2 * len(counts))
    flat[::2], flat[1::2] = counts.values(), counts.keys()
    for first in range(0, len(flat), 2 * CHUNK_VALUES):
        yield CountChunk(name, flat[first : first + 2 * CHUNK_VALUES])


def direct_chunks(chunks: list[CountChunk]) -> int:
    """Return how many of the last *chunks* fit into the commit itself, without staging."""
    values_left, number = CHUNK_VALUES, 0
    for chunk in reversed(chunks):
        values_left -= chunk.size
        if values_left < 0:
            break
        number += 1
    return number


def values_before(direct: list[CountChunk], staged: list[CountChunk]) -> Iterator[int]:
    """Yield, for each chunk in *staged*, how many values earlier chunks of this commit add to the
    same sorted set. The chunks in *direct* are added first, then those in *staged*.
    """
    added: dict[str, int] = {}
    for n, chunk in enumerate([*direct, *staged]):
        before = added.get(chunk.name, 0)
        added[chunk.name] = before + chunk.size
        if n >= len(direct):
            yield before
