# Generated from _async/workers.py by tools/unasync.py: edit that, then run `make sync`.
"""Lists the workers of a namespace."""

from __future__ import annotations

from typing import Final

from ...core._sync.caller import Caller
from ...core.names import Namespace
from ...core.script import Script
from .. import keys
from ..worker_status import WorkerStatus, workers_listed

WORKERS: Final = Script.load("holdfast.queues", "workers")

LISTED: Final = 1000
"""Workers that one call returns at most."""


def list_workers(caller: Caller, namespace: Namespace) -> list[WorkerStatus]:
    """Return the workers, the latest heartbeat first."""
    unit = namespace.unit(keys.WORKERS, "")
    reply = caller.call(WORKERS, unit, WORKERS.keys(unit), [LISTED])
    return workers_listed(reply)
