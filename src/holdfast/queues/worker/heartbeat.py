"""Publishes the heartbeat of a worker, so that people see the workers of a namespace."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Final

import msgspec

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.concurrency._async.primitives import sleep
from ...core.maxmemory import MaxmemoryCheck
from ...core.names import Unit
from ...core.process_memory import resident_bytes
from ...core.script import Script
from ...errors import HoldfastError
from .. import keys
from ..worker_status import WorkerFacts
from .cpu_pool import CpuPool
from .options import WorkerOptions

HEARTBEAT: Final = Script.load("holdfast.queues", "heartbeat")
LEAVE: Final = Script.load("holdfast.queues", "leave")

INTERVAL_S: Final = 10.0


class Heartbeat:
    """Publishes that a worker is alive. Errors of the server are ignored.

    Args:
        caller: sends the heartbeats.
        options: options of the worker.
        worker: name of the worker.
        maxmemory_check: checks the eviction policy of the servers of the queues.
        running: returns how many tasks the worker runs.
        is_used: returns whether a queue has had tasks.
        cpu: the child processes of the worker.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        options: WorkerOptions,
        worker: str,
        maxmemory_check: MaxmemoryCheck,
        running: Callable[[], int],
        is_used: Callable[[Unit], bool],
        cpu: CpuPool,
    ) -> None:
        self._caller = caller
        self._options = options
        self._maxmemory_check = maxmemory_check
        self._running = running
        self._is_used = is_used
        self._cpu = cpu
        self._unit = options.namespace.unit(keys.WORKERS, "")
        self._worker = worker
        weights = {unit.name: weight for unit, weight in options.weights.items()}
        started_ms = time.time_ns() // 1_000_000
        self._facts = WorkerFacts(weights, options.concurrency, 0, started_ms, options.group)
        self._published = False

    async def run(self) -> None:
        """Publish heartbeats and register the queues, until cancelled.

        Producers in other languages do not register their queues. A queue that no task of the
        registry names is registered only when it has had tasks, because its name may be a mistake.
        """
        catalog, units = AsyncCatalog(self._caller, self._options.namespace), self._options.weights
        while True:
            named = self._options.registry.queues()
            for unit in units:
                if unit.name in named or self._is_used(unit):
                    await catalog.note(unit)
            await self._publish()
            await self._maxmemory_check.check(self._caller, units)
            await sleep(INTERVAL_S)

    async def end(self) -> None:
        """Remove the worker from the list."""
        if self._published:
            await self._call(LEAVE)

    async def _publish(self) -> None:
        self._published = True
        self._facts.running = self._running()
        children = self._cpu.pids
        self._facts.cpu_processes = len(children)
        self._facts.memory = resident_bytes(*children) or 0
        await self._call(HEARTBEAT, msgspec.json.encode(self._facts))

    async def _call(self, script: Script, *args: bytes) -> None:
        names = script.keys(self._unit)
        with contextlib.suppress(HoldfastError):
            await self._caller.call(
                script, self._unit, names, [self._worker, *args], harmless=True, durable=False
            )
