"""Tasks done per second, from what ended in each minute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from .. import Throughput

RECENT_MINUTES: Final = 5
"""Whole minutes that a mean covers."""

_RECENT: Final = timedelta(minutes=RECENT_MINUTES)
_NO_TIME: Final = timedelta()


def merged(throughputs: Iterable[Sequence[Throughput]]) -> list[Throughput]:
    """Return the throughputs of several queues as one, the oldest minute first."""
    found: dict[datetime, Throughput] = {}
    for minute in (minute for throughput in throughputs for minute in throughput):
        old = found.get(minute.start, Throughput(minute.start))
        found[minute.start] = Throughput(
            minute.start,
            old.done + minute.done,
            old.retried + minute.retried,
            old.dead + minute.dead,
        )
    return [found[start] for start in sorted(found)]


def recent(throughput: Sequence[Throughput]) -> list[Throughput]:
    """Return the last whole minutes of *throughput*; its last minute has just begun."""
    return [minute for minute in throughput[:-1] if throughput[-1].start - minute.start <= _RECENT]


def done_per_second(throughput: Sequence[Throughput]) -> float:
    """Return the mean over the last whole minutes."""
    whole = recent(throughput)
    return sum(minute.done for minute in whole) / (60 * len(whole)) if whole else 0.0


def failing_share(throughput: Sequence[Throughput]) -> float:
    """Return the share of attempts that failed in the last whole minutes and this one."""
    minutes = [*recent(throughput), *throughput[-1:]]
    failed = sum(minute.retried + minute.dead for minute in minutes)
    ended = failed + sum(minute.done for minute in minutes)
    return failed / ended if ended else 0.0


class ThroughputMeter:
    """Measures the tasks done per second between two surveys of the same queues."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._seen: Mapping[str, Mapping[datetime, int]] = {}

    def measure(
        self, throughputs: Mapping[str, Sequence[Throughput]], at: datetime
    ) -> dict[str, float]:
        """Return the throughput of each queue since the last call.

        For a queue that the last call did not have, it is the mean over the minutes given.

        Args:
            throughputs: the latest minutes of each queue, this one included.
            at: when they were read, by the clock of this machine.
        """
        done = {
            name: {each.start: each.done for each in throughput}
            for name, throughput in throughputs.items()
        }
        elapsed = at - self._at if self._at else _NO_TIME
        # Two surveys that are further apart have no minute in common.
        seen = self._seen if _NO_TIME < elapsed < _RECENT else {}
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
    """Return the mean over the whole minutes since the first busy one, or over this minute."""
    *whole, (start, count) = done.items()
    counts = [count for _, count in whole]
    while counts and not counts[0]:
        counts.pop(0)
    if counts:
        return sum(counts) / (60 * len(counts))
    return count / min(60.0, max(1.0, (at - start).total_seconds()))
