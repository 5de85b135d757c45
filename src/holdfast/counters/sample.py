"""Define the samples that a counter returns."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

BARS: Final = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """The count of one bucket: a period that is one precision long.

    Attributes:
        start: start of the bucket, as an aware datetime in UTC.
        value: the sum of the counts that were added.
    """

    start: datetime
    value: int


class Samples(list[Sample]):
    """Samples of one precision, the oldest first, without gaps."""

    def sparkline(self) -> str:
        """Return one bar per sample, as in `▁▂▅█▂`.

        The lowest bar stands for zero, or for the lowest value if that is negative.
        """
        values = [sample.value for sample in self]
        low, high = min([0, *values]), max([0, *values])
        step = (high - low) / (len(BARS) - 1) or 1
        return "".join(BARS[round((value - low) / step)] for value in values)
