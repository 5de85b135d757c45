"""Limits how many tasks a worker claims from queues that have only CPU-bound tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .claimer import Claimer
from .cpu_pool import CpuPool
from .fair_share import FairShare
from .options import WorkerOptions


class CpuQueues:
    """Limits how many tasks a worker claims from queues that have only CPU-bound tasks.

    The worker claims only as many tasks as its child processes can begin at once, because other
    workers may have free child processes for the rest.

    Args:
        options: options of the worker.
        claimers: queue → its claimer, for all queues of the worker.
        slots: slots of the worker.
        guarded: wraps a function as a callback; an exception of the function ends the worker.

    Attributes:
        pool: the child processes.
    """

    def __init__(
        self,
        options: WorkerOptions,
        claimers: Mapping[str, Claimer],
        slots: FairShare,
        guarded: Callable[[Callable[..., object]], Callable[..., None]],
    ) -> None:
        limit, registry = options.cpu_processes, options.registry
        self.pool: CpuPool = CpuPool(limit, registry, options.namespace, guarded(self.update))
        self._limit = limit
        self._slots = slots
        others = {task.queue for task in registry if not task.cpu}
        self._names = {task.queue for task in registry if task.cpu} - others
        self._claimers = {name: claimers[name] for name in self._names & claimers.keys()}

    def add(self, claimer: Claimer) -> None:
        """Add the claimer of a partition."""
        if claimer.unit.name in self._names:
            self._claimers[claimer.name] = claimer

    def room(self, name: str, share: int) -> int:
        """Return how many of *share* free slots the queue called *name* may fill."""
        claimer = self._claimers.get(name)
        return share if claimer is None else min(share, self._room(claimer))

    def update(self) -> None:
        """Let each queue of CPU-bound tasks compete for slots only while a child is free."""
        for name, claimer in self._claimers.items():
            self._slots.set_full(name, full=not self._room(claimer))

    def _room(self, claimer: Claimer) -> int:
        return max(0, min(self._limit - claimer.running, self.pool.free))
