"""Which workers there are, as they say it themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from ..core.clock import from_epoch_ms

SILENT_S: Final = 30.0
"""Three signs of life that did not come."""


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A worker that runs, or was killed within the last five minutes.

    Attributes:
        name: its host, process and a random part.
        queues: what it serves, with the weights.
        concurrency: tasks that it may run at once.
        running: tasks that it ran at its last sign of life.
        started_at: when it says that it began.
        silent: seconds since its last sign of life. It gives one every ten seconds, so above 30 it
            was killed or is cut off (`alive`). One that ended in good order is not listed.
    """

    name: str
    queues: Mapping[str, int]
    concurrency: int
    running: int
    started_at: datetime
    silent: float

    @property
    def alive(self) -> bool:
        """Whether it gave a sign of life within the last 30 seconds."""
        return self.silent <= SILENT_S


class About(msgspec.Struct):
    """What a worker says of itself."""

    queues: dict[str, int]
    concurrency: int
    running: int
    started_ms: int


def workers_listed(reply: Sequence[Any]) -> list[WorkerStatus]:
    """The workers in what `workers.lua` answers."""
    found = []
    for i in range(0, len(reply), 3):
        name, silent_ms, text = reply[i : i + 3]
        try:
            about = msgspec.json.decode(text, type=About)
            started_at = from_epoch_ms(about.started_ms)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError):
            continue  # a stranger wrote it
        found.append(
            WorkerStatus(
                name.decode(errors="backslashreplace"),
                about.queues,
                about.concurrency,
                about.running,
                started_at,
                int(silent_ms) / 1000,
            )
        )
    return found
