"""Count how the tasks of a drain ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import Throughput


@dataclass(frozen=True, slots=True)
class DrainResult:
    """Counts the tasks that a drain ran, by result, and the delayed tasks that remain.

    Attributes:
        done: tasks that succeeded.
        retried: failed attempts of tasks that are retried.
        dead: tasks that were moved to the dead-letter list, except those that gave up.
        delayed: tasks that remain, because they are delayed or wait for their next attempt.
        snoozed: attempts that ended with `Snooze`.
        gave_up: tasks that were moved to the dead-letter list because they raised `GiveUp`.
    """

    done: int = 0
    retried: int = 0
    dead: int = 0
    delayed: int = 0
    snoozed: int = 0
    gave_up: int = 0

    def since(self, before: DrainResult) -> DrainResult:
        """Return the difference to *before*, except for `delayed`, which is the number now."""
        return DrainResult(
            self.done - before.done,
            self.retried - before.retried,
            self.dead - before.dead,
            self.delayed,
            self.snoozed - before.snoozed,
            self.gave_up - before.gave_up,
        )

    def then(self, later: DrainResult) -> DrainResult:
        """Return the sum of this and a *later* drain; `delayed` is that of the later one."""
        return later.since(DrainResult().since(self))


def sum_of(throughputs: Iterable[Throughput], delayed: int) -> DrainResult:
    """Return the result that sums up *throughputs*, with the given number of *delayed* tasks."""
    minutes = list(throughputs)
    return DrainResult(
        sum(minute.done for minute in minutes),
        sum(minute.retried for minute in minutes),
        sum(minute.dead for minute in minutes),
        delayed,
        sum(minute.snoozed for minute in minutes),
        sum(minute.gave_up for minute in minutes),
    )
