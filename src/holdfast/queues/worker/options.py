"""The options of a worker, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from ...core.checks import checked_int
from ...core.clock import Duration, to_ms, to_seconds
from ...core.names import Namespace, Unit
from .. import keys
from ..registry import TaskRegistry

MAX_CONCURRENCY: Final = 10_000
MIN_LEASE_MS: Final = 1000
"""A short pause of the network or the server would end shorter leases."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker serves, and how.

    Attributes:
        namespace: of the queues.
        registry: the tasks that may run.
        weights: queue → its share of the slots while all queues have tasks.
        concurrency: tasks that run at once.
        lease_ms: life of a claim without renewal.
        grace_s: seconds that running tasks have to finish when the worker is stopped.
        unknown_ms: how long a task that is not in the registry waits for a worker that knows it.
    """

    namespace: Namespace
    registry: TaskRegistry
    weights: Mapping[Unit, int]
    concurrency: int
    lease_ms: int
    grace_s: float
    unknown_ms: int

    @classmethod
    def checked(
        cls,
        namespace: Namespace,
        registry: TaskRegistry,
        *,
        queues: Mapping[str, int] | None,
        concurrency: int,
        lease: Duration,
        grace: Duration,
        unknown_timeout: Duration,
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
        return cls(
            namespace,
            registry,
            _weights(namespace, dict.fromkeys(registry.queues(), 1) if queues is None else queues),
            concurrency,
            lease_ms,
            grace_s=to_seconds(grace, "grace"),
            unknown_ms=round(to_seconds(unknown_timeout, "unknown_timeout") * 1000),
        )


def _weights(namespace: Namespace, queues: Mapping[str, int]) -> dict[Unit, int]:
    if not isinstance(queues, Mapping):
        raise TypeError('queues maps names to weights, such as {"email": 3, "default": 1}')
    if not queues:
        raise ValueError("a worker needs a queue: register a task, or name the queues")
    for queue, weight in queues.items():
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
            raise ValueError(f"the weight of queue {queue!r} must be 1 or more, got {weight!r}")
    return {namespace.unit(keys.KIND, queue): weight for queue, weight in queues.items()}
