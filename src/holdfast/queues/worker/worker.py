"""The worker as a user runs it, in either half."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Final

from ...core.clock import Duration, to_ms, to_seconds
from ...core.connections.settings import Settings
from ...core.names import Namespace
from ...core.runtime._async import run_loop
from .. import keys
from ..registry import TaskRegistry
from .shift import Plan, Shift

MAX_CONCURRENCY: Final = 10_000
MIN_LEASE_MS: Final = 1000
"""Shorter leases would be lost to an ordinary hiccup of a network or a server."""


class AsyncWorker:
    """Runs the tasks of some queues until it is stopped.

    Made by `AsyncHoldfast.worker`. Async functions run on the loop, plain ones in threads.

    Args:
        settings: where the server is.
        namespace: whose queues.
        registry: what may run.
        queues: queue → weight, its share of the places while all have tasks.
        concurrency: tasks that run at once, 1 to 10,000.
        lease: seconds after which the tasks of a worker that vanished run elsewhere; at least 1.
        grace: seconds that running tasks are given to finish when the worker is stopped.
    """

    def __init__(
        self,
        settings: Settings,
        namespace: Namespace,
        registry: TaskRegistry,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 50,
        lease: Duration = 30.0,
        grace: Duration = 25.0,
    ) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int):
            raise TypeError(f"concurrency must be an int, got {type(concurrency).__name__}")
        if not 1 <= concurrency <= MAX_CONCURRENCY:
            raise ValueError(f"concurrency must be 1 to {MAX_CONCURRENCY}, got {concurrency}")
        lease_ms = to_ms(lease, "lease")
        if lease_ms < MIN_LEASE_MS:
            raise ValueError(f"lease must be at least {MIN_LEASE_MS / 1000:g} s, got {lease!r}")
        if not isinstance(registry, TaskRegistry):
            raise TypeError(f"a worker takes a TaskRegistry, got {type(registry).__name__}")
        if queues is not None and not isinstance(queues, Mapping):
            raise TypeError('queues maps names to weights, such as {"email": 3, "default": 1}')
        if queues is None:
            queues = dict.fromkeys(registry.queues(), 1)
        weights = _checked_weights(queues)
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._settings = settings
        self._plan = Plan(
            worker=self.name,
            registry=registry,
            weights={namespace.unit(keys.KIND, queue): n for queue, n in weights.items()},
            concurrency=concurrency,
            lease_ms=lease_ms,
            grace_s=to_seconds(grace, "grace"),
        )
        self._shift: Shift | None = None

    def stop(self) -> None:
        """Claim nothing more, let what runs finish, then end `run`. From any thread or handler."""
        if self._shift is not None:
            self._shift.stop()

    async def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`.

        It survives every outage of the server, and goes on when it answers again.

        Args:
            until_idle: return once the queues hold no task that is ready, delayed or running.
        """
        if self._shift is not None:
            raise RuntimeError(f"worker {self.name} is running already")
        self._shift = Shift(self._settings, self._plan, until_idle=until_idle)
        try:
            await self._shift.work()
        finally:
            await self._shift.end()
            self._shift = None


class Worker:
    """Runs the tasks of some queues until it is stopped, in an event loop of its own.

    Made by `Holdfast.worker`. Async functions run on that loop, plain ones in threads.
    """

    def __init__(
        self,
        settings: Settings,
        namespace: Namespace,
        registry: TaskRegistry,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 50,
        lease: Duration = 30.0,
        grace: Duration = 25.0,
    ) -> None:
        self._worker = AsyncWorker(
            settings,
            namespace,
            registry,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
        )

    @property
    def name(self) -> str:
        """The worker's name, for people to read."""
        return self._worker.name

    def stop(self) -> None:
        """Claim nothing more, let what runs finish, then end `run`. From any thread or handler."""
        self._worker.stop()

    def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`; see `AsyncWorker.run`."""
        run_loop(self._worker.run(until_idle=until_idle))


def _checked_weights(queues: Mapping[str, int]) -> dict[str, int]:
    if not queues:
        raise ValueError("a worker needs a queue: register a task, or name the queues")
    for queue, weight in queues.items():
        if isinstance(weight, bool) or not isinstance(weight, int) or weight < 1:
            raise ValueError(f"the weight of queue {queue!r} must be 1 or more, got {weight!r}")
    return dict(queues)
