"""Finds out whether a worker has nothing left to do."""

from __future__ import annotations

from collections.abc import Collection, Sized

from .claimer import Claimer
from .group_relay import GroupRelay


class IdleCheck:
    """Compares each queue's last step with the number of tasks that have ended since.

    A task that ends may have enqueued others. A queue that was found empty is therefore examined
    again when another task of this worker has ended.

    Args:
        claimers: one for each queue of the worker.
        executions: the claims that run.

    Attributes:
        tasks_ended: number of attempts that have ended in this worker.
    """

    def __init__(self, claimers: Collection[Claimer], executions: Sized) -> None:
        self.tasks_ended = 0
        self._claimers = claimers
        self._executions = executions
        self._examined: dict[str, int] = {}  # queue → `tasks_ended` when its last step began
        self._relays: dict[str, GroupRelay] = {}

    @property
    def is_idle(self) -> bool:
        """Return whether no task runs, and each queue is empty or damaged."""
        if any(relay.is_busy for relay in self._relays.values()):
            return False
        return not self._executions and all(
            claimer.damage.error is not None
            or (self.is_examined(claimer) and claimer.found_empty and not claimer.is_busy)
            for claimer in self._claimers
        )

    def is_examined(self, claimer: Claimer) -> bool:
        """Return whether no task has ended since the last step of this queue began."""
        return self._examined.get(claimer.name) == self.tasks_ended

    def watch(self, queue: str, relay: GroupRelay) -> None:
        """Count the worker as busy while *relay* is busy, because the relay may enqueue tasks."""
        self._relays[queue] = relay

    def relayed(self) -> None:
        """Examine each queue again, because a group may have enqueued tasks there."""
        self._examined.clear()
        for claimer in self._claimers:
            claimer.wake()

    def step_made(self, claimer: Claimer, tasks_ended: int) -> None:
        """Record a step that began after *tasks_ended* tasks had ended."""
        self._examined[claimer.name] = tasks_ended
