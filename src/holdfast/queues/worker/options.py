"""Checks the options of a worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from ...core.checks import checked_int
from ...core.clock import Duration, to_ms, to_seconds
from ...core.names import Namespace, Unit
from .. import keys
from ..lifespan import WorkerInfo
from ..registry import TaskRegistry

MAX_CONCURRENCY: Final = 10_000
MIN_LEASE_MS: Final = 1000
"""Shorter leases would end during a short pause of the network or the server."""

MAX_CPU_PROCESSES: Final = 256

MAX_GROUP: Final = 200
"""Maximum number of characters in the name of a group."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker serves, and how.

    Attributes:
        namespace: namespace of the queues.
        registry: the tasks that may run.
        weights: queue → its share of the slots while all queues have tasks.
        concurrency: tasks that run at once.
        lease_ms: life of a claim without renewal.
        grace_s: seconds that running tasks have to finish when the worker is stopped.
        unknown_ms: how long a task that is not in the registry waits for a worker that knows it.
        cpu_processes: child processes for CPU-bound tasks at most.
        group: the group of processes that the worker belongs to, for people to read.
    """

    namespace: Namespace
    registry: TaskRegistry
    weights: Mapping[Unit, int]
    concurrency: int
    lease_ms: int
    grace_s: float
    unknown_ms: int
    cpu_processes: int = 1
    group: str = ""

    @classmethod
    def checked(  # noqa: PLR0913 (the options of a worker)
        cls,
        namespace: Namespace,
        registry: TaskRegistry,
        *,
        queues: Mapping[str, int] | None,
        concurrency: int,
        lease: Duration,
        grace: Duration,
        unknown_timeout: Duration,
        cpu_processes: int | None = None,
        group: str = "",
    ) -> Self:
        """Check the options of `hf.worker`, which explains them.

        Raises:
            ValueError, TypeError: an option is wrong; the message says which, and why.
        """
        concurrency = checked_int(concurrency, "concurrency", 1, MAX_CONCURRENCY)
        lease_ms = to_ms(lease, "lease")
        if lease_ms < MIN_LEASE_MS:
            raise ValueError(f"lease must be at least {MIN_LEASE_MS / 1000:g} s, got {lease!r}")
        if not isinstance(registry, TaskRegistry):
            raise TypeError(f"a worker takes a TaskRegistry, got {type(registry).__name__}")
        if not isinstance(group, str) or len(group) > MAX_GROUP:
            raise ValueError(f"group must be a text of at most {MAX_GROUP} characters")
        return cls(
            namespace,
            registry,
            _weights(namespace, dict.fromkeys(registry.queues(), 1) if queues is None else queues),
            concurrency,
            lease_ms,
            grace_s=to_seconds(grace, "grace"),
            unknown_ms=round(to_seconds(unknown_timeout, "unknown_timeout") * 1000),
            cpu_processes=_cpu_processes(cpu_processes),
            group=group,
        )

    def info(self, worker: str) -> WorkerInfo:
        """Return what the lifespan of the worker called *worker* gets."""
        queues = {unit.name: weight for unit, weight in self.weights.items()}
        return WorkerInfo(worker, self.namespace.name, queues, self.concurrency)


def _cpu_processes(given: int | None) -> int:
    if given is not None:
        return checked_int(given, "cpu_processes", 1, MAX_CPU_PROCESSES)
    return min(os.cpu_count() or 1, MAX_CPU_PROCESSES)


def _weights(namespace: Namespace, queues: Mapping[str, int]) -> dict[Unit, int]:
    if not isinstance(queues, Mapping):
        raise TypeError('queues maps names to weights, such as {"email": 3, "default": 1}')
    if not queues:
        raise ValueError("a worker needs a queue: register a task, or name the queues")
    for queue, weight in queues.items():
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
            raise ValueError(f"the weight of queue {queue!r} must be 1 or more, got {weight!r}")
    return {namespace.unit(keys.KIND, queue): weight for queue, weight in queues.items()}
