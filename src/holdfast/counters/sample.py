"""What a counter tells."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

BARS: Final = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """How much was counted in one bucket.

    Attributes:
        start: of the bucket, aware (UTC); it lasts one precision.
        value: the sum of what was added.
    """

    start: datetime
    value: int


class Samples(list[Sample]):
    """Samples of one precision, the oldest first, without gaps."""

    def sparkline(self) -> str:
        """One character for each, from the lowest to the highest: `▁▂▅█▂`.

        Zero is always the lowest bar where nothing is below it.
        """
        values = [sample.value for sample in self]
        low, high = min([0, *values]), max([0, *values])
        step = (high - low) / (len(BARS) - 1) or 1
        return "".join(BARS[round((value - low) / step)] for value in values)
