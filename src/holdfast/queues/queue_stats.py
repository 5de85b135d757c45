"""The figures of a queue: how many tasks are in which state, and how many ended in each minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..core.checks import checked_int
from ..core.clock import from_epoch_ms

MAX_CAPACITY: Final = 10**12


@dataclass(frozen=True, slots=True)
class QueueStats:
    """How many tasks of a queue are in which state.

    Attributes:
        ready: tasks that have no delay, or one that is over; limits may still hold them back.
        delayed: tasks that wait for their time, or for their next attempt.
        running: tasks that a worker holds.
        dead: given up, with a reason; `replay` queues them again.
        waiting_workers: processes with a worker that waits for a task.
        paused: whether the queue is paused.
        capacity: how many tasks may wait (ready and delayed); None for no limit.
        oldest_at: since when the oldest ready task waits. It is the oldest of the first tasks of
            the three priorities: enqueued by its producer's clock, or due by the server's clock.
            None: no task is ready, or the time is not known. Tasks in *limited* do not count.
        limited: how many of the ready tasks wait until their limit key has room (see `PerKey`).
        concurrency: how many tasks of the queue may run at once; None: no limit.
        rate: how many tasks of the queue may start in how many seconds; None: no limit.
        partitions: how many partitions take tasks (see `AsyncQueue.repartition`).
    """

    ready: int
    delayed: int
    running: int
    dead: int
    waiting_workers: int
    paused: bool = False
    capacity: int | None = None
    oldest_at: datetime | None = None
    limited: int = 0
    concurrency: int | None = None
    rate: tuple[int, float] | None = None
    partitions: int = 1

    def waited(self, now: datetime) -> float:
        """Return for how many seconds the oldest ready task has waited at *now*; 0 without one."""
        return max(0.0, (now - self.oldest_at).total_seconds()) if self.oldest_at else 0.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """How many runs of tasks of a queue ended in one minute, by outcome.

    Attributes:
        start: when the minute began, by the server's clock.
        done: tasks that were completed.
        retried: attempts that failed and are tried again.
        dead: tasks that were moved to the dead-letter list, except those that gave up.
        snoozed: runs that ended with `Snooze`; the task runs again.
        gave_up: tasks that were moved to the dead-letter list because they raised `GiveUp`.
    """

    start: datetime
    done: int = 0
    retried: int = 0
    dead: int = 0
    snoozed: int = 0
    gave_up: int = 0


def throughput_by_minute(minute: int, values: Sequence[bytes], minutes: int) -> list[Throughput]:
    """Return the last *minutes* up to *minute*, the oldest first.

    Args:
        minute: minutes since 1970.
        values: the reply of `throughput.lua`.
        minutes: number of minutes.
    """
    known = {}
    for value in values:
        at, done, retried, dead, snoozed, gave_up = map(int, value.split(b":"))
        if 0 <= minute - at < minutes:  # others are too old, or another program wrote them
            start = from_epoch_ms(at * 60_000)
            known[at] = Throughput(start, done, retried, dead, snoozed, gave_up)
    wanted = range(minute - minutes + 1, minute + 1)
    return [known.get(at) or Throughput(from_epoch_ms(at * 60_000)) for at in wanted]


def checked_capacity(capacity: int | None) -> int | None:
    """Return *capacity*, or raise why it is not allowed."""
    return None if capacity is None else checked_int(capacity, "capacity", 1, MAX_CAPACITY)
