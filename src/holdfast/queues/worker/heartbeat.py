"""The sign of life of a worker, for people who want to know which ones there are."""

from __future__ import annotations

import contextlib
import time
from typing import Final

import msgspec

from ...core._async.caller import AsyncCaller
from ...core.script import Script
from ...errors import HoldfastError
from .. import keys
from ..worker_status import About
from .options import Plan

BEAT: Final = Script.load("holdfast.queues", "beat")
DEPART: Final = Script.load("holdfast.queues", "depart")

EVERY_S: Final = 10.0


class Sign:
    """Says that a worker is there. A hint: a server that cannot be asked is no error here.

    Args:
        caller: how to reach the server.
        plan: what the worker does.
        worker: its name.
    """

    def __init__(self, caller: AsyncCaller, plan: Plan, worker: str) -> None:
        self._caller = caller
        self._unit = plan.namespace.unit(keys.WORKERS, "")
        self._worker = worker
        weights = {unit.name: weight for unit, weight in plan.weights.items()}
        self._about = About(weights, plan.concurrency, 0, time.time_ns() // 1_000_000)
        self._given = False

    async def give(self, running: int) -> None:
        """It is there, and runs so many tasks."""
        self._given = True
        self._about.running = running
        about = msgspec.json.encode(self._about)
        with contextlib.suppress(HoldfastError):
            await self._caller.call(
                BEAT,
                self._unit,
                BEAT.keys(self._unit),
                [self._worker, about],
                harmless=True,
                durable=False,
            )

    async def depart(self) -> None:
        """It has ended."""
        if self._given:
            with contextlib.suppress(HoldfastError):
                await self._caller.call(
                    DEPART,
                    self._unit,
                    DEPART.keys(self._unit),
                    [self._worker],
                    harmless=True,
                    durable=False,
                )
