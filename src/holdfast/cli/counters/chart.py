"""Samples as a chart of bars, from characters: for any terminal, with or without colours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

from ... import Sample, Samples

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
"""A cell that is filled up to so many eighths."""

SUFFIXES: Final = ("", "k", "M", "G", "T", "P", "E")

WIDEST_BAR: Final = 4
"""Columns: a few samples are not drawn as towers."""


def gathered(samples: Sequence[Sample], most: int) -> tuple[Samples, int]:
    """*samples*, or where they are too many sums of neighbours; and how many make one."""
    together = max(1, ceil(len(samples) / most))
    parts = (samples[i : i + together] for i in range(0, len(samples), together))
    sums = (Sample(part[0].start, sum(sample.value for sample in part)) for part in parts)
    return Samples(sums), together


def chart(
    samples: Sequence[Sample], precision: int, *, columns: int, rows: int
) -> tuple[list[str], int]:
    """*samples* in so many *columns* and *rows*, the axes besides; and the samples of one bar.

    Bars rise from zero, or from the lowest where something is below it.

    Args:
        samples: at least one, without gaps.
        precision: seconds of each.
        columns: of a line, at least 20.
        rows: of the highest bar.
    """
    bars, together = gathered(samples, columns - 9)  # the scale takes 9 at most
    values = [bar.value for bar in bars]
    low, high = min([0, *values]), max([0, *values])
    high = max(high, low + 1)
    top, bottom = short(high), short(low)
    margin = max(len(top), len(bottom))
    width = min(WIDEST_BAR, max(1, (columns - margin - 2) // len(bars)))
    eighths = [ceil(8 * rows * (value - low) / (high - low)) for value in values]
    lines = []
    for row in range(rows - 1, -1, -1):
        cells = [EIGHTHS[min(8, max(0, filled - 8 * row))] * width for filled in eighths]
        scale = top if row == rows - 1 else ""
        lines.append(f"{scale:>{margin}} ┤{''.join(cells)}".rstrip())
    lines.append(f"{bottom:>{margin}} ┼{'─' * width * len(bars)}")
    ends_at = samples[-1].start + timedelta(seconds=precision)
    room = max(width * len(bars), columns - margin - 2)
    axis = _times(samples[0].start, ends_at, width * len(bars), room, precision)
    lines.append(f"{'':{margin + 2}}{axis}")
    return lines, together


def _times(start: datetime, end: datetime, width: int, room: int, precision: int) -> str:
    """The beginning below the left edge, and the end below the right one if there is room."""
    pattern = "%H:%M:%S" if precision % 60 else "%H:%M"
    if end - start > timedelta(days=1):
        pattern = "%m-%d %H:%M" if precision % 86_400 else "%Y-%m-%d"
    left, right = (f"{at.astimezone(UTC):{pattern}}" for at in (start, end))
    gap = max(3, width - len(left) - len(right))
    line = f"{left}{'':{gap}}{right}"
    return line if len(line) <= room else left


def short(number: int) -> str:
    """As in `950`, `12,400`, `3.1M` and `-2.0G`: seven characters at most."""
    if abs(number) < 100_000:
        return f"{number:,}"
    value, power = float(number), 0
    while abs(value) >= 999.5:
        value, power = value / 1000, power + 1
    digits = 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f}{SUFFIXES[power]}"
