"""`DrainResult`: how the drained tasks ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import Throughput


@dataclass(frozen=True, slots=True)
class DrainResult:
    """The number of attempts by result, and of the tasks that are left.

    Attributes:
        done: tasks that succeeded.
        retried: attempts that failed, of tasks that wait for a retry.
        dead: tasks that were dead-lettered.
        delayed: tasks that are left, because they are delayed or wait for a retry.
    """

    done: int = 0
    retried: int = 0
    dead: int = 0
    delayed: int = 0

    def since(self, before: DrainResult) -> DrainResult:
        """Return the numbers since *before*; `delayed` is the number now."""
        return DrainResult(
            self.done - before.done,
            self.retried - before.retried,
            self.dead - before.dead,
            self.delayed,
        )


def sum_of(throughputs: Iterable[Throughput], delayed: int) -> DrainResult:
    """Return the sum of what the queues keep."""
    done = retried = dead = 0
    for minute in throughputs:
        done += minute.done
        retried += minute.retried
        dead += minute.dead
    return DrainResult(done, retried, dead, delayed)
