"""Replaces the stored definitions of limits by those in the code of a worker that starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.clock import backoff_s
from ...core.concurrency._async.primitives import sleep
from ...core.names import Unit
from ...core.script import Script
from ...errors import HoldfastError

DECLARE: Final = Script.load("holdfast.queues", "declare_limits")

BATCH: Final = 500
"""Definitions in one call at most."""

_LONGEST_PAUSE_S: Final = 10.0


async def declare_limits(caller: AsyncCaller, unit: Unit, limits: Mapping[str, str]) -> None:
    """Store the definitions in *limits*, by name, and try again while the server is away.

    This replaces stored definitions and adds none: the first task with a limit stores the
    definition of the limit. A failure is not logged here, because the steps of the worker fail for
    the same reason, and log it.
    """
    names, waiting, failures = DECLARE.keys(unit), list(limits.items()), 0
    while waiting:
        args = [part for pair in waiting[:BATCH] for part in pair]
        try:
            await caller.call(DECLARE, unit, names, args)
        except HoldfastError:
            failures += 1
            await sleep(backoff_s(failures, 0.05, _LONGEST_PAUSE_S))
        else:
            del waiting[:BATCH]
