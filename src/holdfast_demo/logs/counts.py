"""Compare a tally with a direct count of the logs, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast import Tally

from ..demo import Invariant
from ..example_files import example


def counted_once(tally: Tally, logs: Path) -> Invariant:
    """Check that *tally* has counted each line of the logs in the folder *logs* once."""
    direct = example("logs.py").DirectCount.of(logs)
    lines = sum(direct.lines.values()) + direct.rejected
    promise = "each line is counted exactly once"
    return Invariant("tallies", promise, lines, "lines", (*differences(tally, direct),))


def differences(tally: Tally, direct: Any) -> Iterator[str]:
    """Yield a sentence for each value with different counts in *tally* and *direct*."""
    yield from _unequal("lines", tally.days(), direct.lines)
    for (day, dimension), values in direct.values.items():
        found = {each.value: each.lines for each in tally.top(dimension, day=day, limit=10_000)}
        yield from _unequal(f"lines of {day} by {dimension}", found, values)
    days = [*direct.lines, None]
    rejected = sum(tally.rejected(day).lines for day in days)
    yield from _unequal("lines", {"rejected": rejected}, {"rejected": direct.rejected})


def _unequal(what: str, found: Mapping[str, int], right: Mapping[str, int]) -> Iterator[str]:
    for value in dict.fromkeys([*right, *found]):
        ours, theirs = found.get(value, 0), right.get(value, 0)
        if ours != theirs:
            yield f"{what}, {value}: the tally says {ours:,}, a direct count {theirs:,}"
