"""How fast queues are worked off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from ... import Pace

MINUTES: Final = 6
"""That are asked for: the one that has begun, and five whole ones."""

_LONGEST: Final = timedelta(minutes=MINUTES - 1)
"""Two looks that are further apart have no minute in common."""

_AT_ONCE: Final = timedelta()


class Rates:
    """Tasks done a second, from one look at a queue to the next."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._seen: Mapping[str, Mapping[datetime, int]] = {}

    def all(self, paces: Mapping[str, Sequence[Pace]], at: datetime) -> dict[str, float]:
        """The rate of each queue; what is not among *paces* is forgotten.

        Args:
            paces: the latest minutes of each.
            at: when that was found, by the clock of this machine.
        """
        done = {name: {each.start: each.done for each in pace} for name, pace in paces.items()}
        elapsed = at - self._at if self._at else _AT_ONCE
        seen = self._seen if _AT_ONCE < elapsed < _LONGEST else {}
        rates = {
            name: _risen(seen[name], now) / elapsed.total_seconds()
            if name in seen
            else _mean(now, at)
            for name, now in done.items()
        }
        self._at, self._seen = at, done
        return rates


def _risen(before: Mapping[datetime, int], now: Mapping[datetime, int]) -> int:
    return max(0, sum(count - before.get(start, 0) for start, count in now.items()))


def _mean(done: Mapping[datetime, int], at: datetime) -> float:
    """Over the whole minutes since the first in which any was done, or what there is of one."""
    *whole, (start, count) = done.items()
    counts = [count for _, count in whole]
    while counts and not counts[0]:
        counts.pop(0)
    if counts:
        return sum(counts) / (60 * len(counts))
    return count / min(60.0, max(1.0, (at - start).total_seconds()))
