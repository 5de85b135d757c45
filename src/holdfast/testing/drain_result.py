"""What became of tasks that were drained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import Throughput


@dataclass(frozen=True, slots=True)
class Drained:
    """How many attempts ended how, and how many tasks still wait for their time.

    Attributes:
        done: tasks that were done.
        retried: attempts that failed, and whose task is tried again later.
        dead: tasks that were given up.
        delayed: tasks that are left: their time, or that of their next attempt, has not come.
    """

    done: int = 0
    retried: int = 0
    dead: int = 0
    delayed: int = 0

    def since(self, before: Drained) -> Drained:
        """What came on top of *before*; what waits is what waits now."""
        return Drained(
            self.done - before.done,
            self.retried - before.retried,
            self.dead - before.dead,
            self.delayed,
        )


def counted(throughputs: Iterable[Throughput], delayed: int) -> Drained:
    """All that the queues remember to have ended."""
    done = retried = dead = 0
    for minute in throughputs:
        done += minute.done
        retried += minute.retried
        dead += minute.dead
    return Drained(done, retried, dead, delayed)
