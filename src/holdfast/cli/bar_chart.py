"""Draw samples as a bar chart of characters, without colours, for every terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

from .. import Sample, Samples
from ..inspect.formats import short_number

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
"""Characters that fill 0, 1, … 8 eighths of a cell."""

WIDEST_BAR: Final = 4
"""Columns of a bar at most, even if there are few samples."""

SCALE_COLUMNS: Final = 9
"""Columns of the vertical scale at most."""


def summed(samples: Sequence[Sample], most: int) -> tuple[Samples, int]:
    """Return at most *most* sums of neighbouring samples, and how many samples make one sum."""
    together = max(1, ceil(len(samples) / most))
    parts = (samples[i : i + together] for i in range(0, len(samples), together))
    sums = (Sample(part[0].start, sum(sample.value for sample in part)) for part in parts)
    return Samples(sums), together


def bar_chart(
    samples: Sequence[Sample], precision: int, *, columns: int, rows: int
) -> tuple[list[str], int]:
    """Return the lines of a chart of *samples*, and how many samples make one bar.

    Bars rise from zero, or from the lowest value if one is below it.

    Args:
        samples: the samples: at least one, without gaps.
        precision: seconds of each sample.
        columns: characters of a line, at least 20.
        rows: lines of the highest bar.
    """
    bars, together = summed(samples, columns - SCALE_COLUMNS)
    values = [bar.value for bar in bars]
    low, high = min([0, *values]), max([0, *values])
    high = max(high, low + 1)
    top, bottom = short_number(high), short_number(low)
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
    available = max(width * len(bars), columns - margin - 2)
    axis = _time_axis(samples[0].start, ends_at, width * len(bars), available, precision)
    lines.append(f"{'':{margin + 2}}{axis}")
    return lines, together


def _time_axis(start: datetime, end: datetime, width: int, available: int, precision: int) -> str:
    """Return a line with the start time on the left, and the end time on the right if it fits."""
    pattern = "%H:%M:%S" if precision % 60 else "%H:%M"
    if end - start > timedelta(days=1):
        pattern = "%m-%d %H:%M" if precision % 86_400 else "%Y-%m-%d"
    left, right = (f"{at.astimezone(UTC):{pattern}}" for at in (start, end))
    gap = max(3, width - len(left) - len(right))
    line = f"{left}{'':{gap}}{right}"
    return line if len(line) <= available else left
