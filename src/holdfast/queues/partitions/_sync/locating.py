# Generated from _async/locating.py by tools/unasync.py: edit that, then run `make sync`.
"""Finds the partition of a task by its id."""

from __future__ import annotations

from typing import Final

from ....core._sync.caller import Caller
from ....core.names import Unit
from ....core.script import Script
from ... import keys
from .layout_store import LayoutStore

STATUS: Final = Script.load("holdfast.queues", "status")


def locate(caller: Caller, layouts: LayoutStore, queue: str, task_id: str) -> Unit:
    """Return the partition that has the task or its result; the first one if none has it."""
    units = layouts.units(queue)
    for unit in units if len(units) > 1 else ():
        names = STATUS.keys(unit, keys.result(unit, task_id))
        reply = caller.call(STATUS, unit, names, [task_id])
        if reply[0] != b"unknown":
            return unit
    return units[0]
