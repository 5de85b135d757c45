"""The heartbeat of a worker, which shows people the workers of a namespace."""

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
from ...core.script import Script
from ...errors import HoldfastError
from .. import keys
from ..worker_status import WorkerFacts
from .options import WorkerOptions

HEARTBEAT: Final = Script.load("holdfast.queues", "heartbeat")
LEAVE: Final = Script.load("holdfast.queues", "leave")

INTERVAL_S: Final = 10.0


class Heartbeat:
    """Publishes that a worker is alive. An unreachable server is no error here.

    Args:
        caller: sends the heartbeats.
        options: of the worker.
        worker: its name.
        maxmemory_check: checks the servers of its queues.
        running: returns how many tasks it runs.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        options: WorkerOptions,
        worker: str,
        maxmemory_check: MaxmemoryCheck,
        running: Callable[[], int],
    ) -> None:
        self._caller = caller
        self._options = options
        self._maxmemory_check = maxmemory_check
        self._running = running
        self._unit = options.namespace.unit(keys.WORKERS, "")
        self._worker = worker
        weights = {unit.name: weight for unit, weight in options.weights.items()}
        self._facts = WorkerFacts(weights, options.concurrency, 0, time.time_ns() // 1_000_000)
        self._published = False

    async def run(self) -> None:
        """Publish heartbeats and register the queues, until cancelled.

        Producers in other languages do not register their queues.
        """
        catalog, units = AsyncCatalog(self._caller, self._options.namespace), self._options.weights
        while True:
            for unit in units:
                await catalog.note(unit)
            await self._publish()
            await self._maxmemory_check.look(self._caller, units)
            await sleep(INTERVAL_S)

    async def end(self) -> None:
        """Remove the worker from the list."""
        if self._published:
            await self._call(LEAVE)

    async def _publish(self) -> None:
        self._published = True
        self._facts.running = self._running()
        await self._call(HEARTBEAT, msgspec.json.encode(self._facts))

    async def _call(self, script: Script, *args: bytes) -> None:
        names = script.keys(self._unit)
        with contextlib.suppress(HoldfastError):
            await self._caller.call(
                script, self._unit, names, [self._worker, *args], harmless=True, durable=False
            )
