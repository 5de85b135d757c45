"""How often an idle worker asks about a queue, or about one partition of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from ...core.notifier import RECHECK_S

_STEP_S: Final = 20.0
"""Seconds between two steps of an idle worker, in a queue without partitions."""

_LISTED: Final = 1.5
"""The server lists an idle worker for this many times the interval between two steps."""


@dataclass(frozen=True, slots=True)
class IdlePace:
    """How often an idle worker checks a partition, and makes a step there.

    Both intervals grow with the square root of the number of partitions. So does what the worker
    sends for all of them together, and the time after which it notices a lost notification.

    Attributes:
        partitions: how many partitions the queue has.
    """

    partitions: int = 1

    @property
    def look_s(self) -> float:
        """Return the seconds between two checks that the worker makes without a notification."""
        return RECHECK_S * math.sqrt(self.partitions)

    @property
    def step_s(self) -> float:
        """Return the seconds between two steps, which keep the worker listed as idle."""
        return _STEP_S * math.sqrt(self.partitions)

    @property
    def listed_ms(self) -> int:
        """Return the milliseconds after which the server forgets that the worker is idle."""
        return round(1000 * _LISTED * self.step_s)


UNDIVIDED: Final = IdlePace()
"""The pace for a queue without partitions."""
