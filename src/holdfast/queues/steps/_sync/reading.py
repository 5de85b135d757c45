# Generated from _async/reading.py by tools/unasync.py: edit that, then run `make sync`.
"""Reads the steps of a task, in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ....core.names import Unit
from ....core.script import Script
from ....core.stored import decoding
from ..step_record import BegunStep, StepRecord
from ..stored_steps import StoredSteps

READ: Final = Script.load("holdfast.queues", "read_steps")


def read_steps(
    call: Callable[..., Any],
    unit: Unit,
    key: str | bytes,
    token: str = "",
    most_bytes: int = 0,
) -> StoredSteps | None:
    """Return the stored steps of a task.

    Args:
        call: calls a script with its keys and arguments.
        unit: the queue.
        key: id of the task.
        token: token of the claim of the worker that reads; empty for other readers.
        most_bytes: bytes of each record that are read; 0: all.

    Returns:
        The steps; None if the worker does not hold the task any more.
    """
    records, count, names = list[StepRecord](), 1, READ.keys(unit)
    while len(records) < count:
        reply = call(READ, names, [key, token, len(records) + 1, most_bytes])
        held, count, kind, name, signal, until_ms, signals, *found = reply
        if held == b"lost":
            return None
        with decoding(f"the steps of a task of {unit}"):
            records += map(StepRecord.parsed, found)
            begun = BegunStep.parsed(kind, name, signal, until_ms) if kind else None
            sent = signals.decode().split()
        if not found:
            break
    return StoredSteps(records, begun, sent)
