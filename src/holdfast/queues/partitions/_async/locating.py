"""Finds the partition of a task by its id."""

from __future__ import annotations

from typing import Final

from ....core._async.caller import AsyncCaller
from ....core.names import Unit
from ....core.script import Script
from ... import keys
from .layout_store import AsyncLayoutStore

STATUS: Final = Script.load("holdfast.queues", "status")


async def locate(caller: AsyncCaller, layouts: AsyncLayoutStore, queue: str, task_id: str) -> Unit:
    """Return the partition that has the task or its result; the first one if none has it."""
    units = await layouts.units(queue)
    for unit in units if len(units) > 1 else ():
        names = STATUS.keys(unit, keys.result(unit, task_id))
        reply = await caller.call(STATUS, unit, names, [task_id])
        if reply[0] != b"unknown":
            return unit
    return units[0]
