"""The status of workers, as their heartbeats report it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from ..core.clock import from_epoch_ms

SILENT_S: Final = 30.0
"""Seconds without a heartbeat after which a worker counts as dead: three missing heartbeats."""


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A worker that runs, or was killed within the last five minutes.

    Attributes:
        name: name of the worker: host, process and a random part.
        queues: queues that it serves, with their weights.
        concurrency: tasks that it may run at once.
        running: tasks that it ran at its last heartbeat.
        started_at: when it started, by its own clock.
        silent: seconds since its last heartbeat. It sends one every ten seconds, so above 30 it was
            killed or is cut off (`alive`). A worker that was stopped is not listed.
        group: the group of processes to which it belongs, as the supervisor of its process or the
            program has named it; empty: none.
        memory: bytes of memory that its process took at its last heartbeat; 0: not known.
        cpu_processes: child processes that it had for CPU-bound tasks at its last heartbeat.
    """

    name: str
    queues: Mapping[str, int]
    concurrency: int
    running: int
    started_at: datetime
    silent: float
    group: str = ""
    memory: int = 0
    cpu_processes: int = 0

    @property
    def alive(self) -> bool:
        """Return whether it sent a heartbeat within the last 30 seconds."""
        return self.silent <= SILENT_S


class WorkerFacts(msgspec.Struct):
    """The content of a heartbeat."""

    queues: dict[str, int]
    concurrency: int
    running: int
    started_ms: int
    group: str = ""
    memory: int = 0
    cpu_processes: int = 0


def workers_listed(reply: Sequence[Any]) -> list[WorkerStatus]:
    """Return the workers in the reply of `workers.lua`."""
    found = []
    for i in range(0, len(reply), 3):
        name, silent_ms, text = reply[i : i + 3]
        try:
            facts = msgspec.json.decode(text, type=WorkerFacts)
            started_at = from_epoch_ms(facts.started_ms)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError):
            continue  # another program wrote it
        found.append(
            WorkerStatus(
                name.decode(errors="backslashreplace"),
                facts.queues,
                facts.concurrency,
                facts.running,
                started_at,
                int(silent_ms) / 1000,
                facts.group,
                facts.memory,
                facts.cpu_processes,
            )
        )
    return found
