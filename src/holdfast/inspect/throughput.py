"""Compute the tasks done per second from the number of tasks that ended in each minute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from .. import Throughput

RECENT_MINUTES: Final = 5
"""Number of complete minutes over which means are computed."""

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
            old.snoozed + minute.snoozed,
            old.gave_up + minute.gave_up,
        )
    return [found[start] for start in sorted(found)]


def since_first(throughput: Sequence[Throughput]) -> Sequence[Throughput]:
    """Return *throughput* without the minutes before the first one in which a task ended."""
    for number, minute in enumerate(throughput):
        if minute != Throughput(minute.start):
            return throughput[number:]
    return ()


def recent(throughput: Sequence[Throughput]) -> list[Throughput]:
    """Return up to `RECENT_MINUTES` minutes before the last minute, which is not over yet."""
    return [minute for minute in throughput[:-1] if throughput[-1].start - minute.start <= _RECENT]


def done_per_second(throughput: Sequence[Throughput], at: datetime) -> float:
    """Return the tasks done per second in the recent complete minutes since the first busy one.

    If there is no such minute, return the mean over the current minute, up to *at*.
    """
    measured = since_first(throughput)
    if whole := recent(measured):
        return sum(minute.done for minute in whole) / (60 * len(whole))
    if not measured or at - measured[-1].start > _RECENT:
        return 0.0
    return measured[-1].done / min(60.0, max(1.0, (at - measured[-1].start).total_seconds()))


def failing_share(throughput: Sequence[Throughput]) -> float:
    """Return the share of attempts that failed in the recent minutes, with the current one.

    Attempts that ended with `Snooze` or `GiveUp` have not failed.
    """
    minutes = [*recent(throughput), *throughput[-1:]]
    failed = sum(minute.retried + minute.dead for minute in minutes)
    ended = failed + sum(minute.done + minute.gave_up for minute in minutes)
    return failed / ended if ended else 0.0


class ThroughputMeter:
    """Measures the tasks done per second between two surveys of the same queues."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._seen: Mapping[str, Mapping[datetime, int]] = {}

    def measure(
        self, throughputs: Mapping[str, Sequence[Throughput]], at: datetime
    ) -> dict[str, float]:
        """Return the tasks done per second of each queue since the last call.

        For a queue that the last call did not have, return the mean over *throughputs*.

        Args:
            throughputs: the latest minutes of each queue, with the current minute.
            at: when they were read, by the clock of this machine.
        """
        done = {
            name: {each.start: each.done for each in throughput}
            for name, throughput in throughputs.items()
        }
        elapsed = at - self._at if self._at else _NO_TIME
        # Ignore the last call if it was too long ago: its minutes and these do not overlap.
        seen = self._seen if _NO_TIME < elapsed < _RECENT else {}
        rates = {
            name: _increase(seen[name], now) / elapsed.total_seconds()
            if name in seen
            else _mean(now, at)
            for name, now in done.items()
        }
        self._at, self._seen = at, done
        return rates


def _increase(before: Mapping[datetime, int], now: Mapping[datetime, int]) -> int:
    return max(0, sum(count - before.get(start, 0) for start, count in now.items()))


def _mean(done: Mapping[datetime, int], at: datetime) -> float:
    """Return the tasks done per second over the complete minutes since the first busy one.

    If no complete minute was busy, return the mean over the current minute.
    """
    *whole, (start, count) = done.items()
    counts = [count for _, count in whole]
    while counts and not counts[0]:
        counts.pop(0)
    if counts:
        return sum(counts) / (60 * len(counts))
    return count / min(60.0, max(1.0, (at - start).total_seconds()))
