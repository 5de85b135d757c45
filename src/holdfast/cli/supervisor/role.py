"""Define the role of a worker process in its group, and its messages to and from the supervisor."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import msgspec

if TYPE_CHECKING:
    from ... import WorkerHealth

VARIABLE: Final = "HOLDFAST_SUPERVISED"
"""The environment variable with the role."""

STOP: Final = b"s"
"""Command: claim no more tasks, give the running tasks the grace to finish, and end."""

RETIRE: Final = b"r"
"""Command: claim no more tasks, wait until all running tasks have finished, and end."""

HURRY: Final = b"h"
"""Command: give back the running tasks, and end."""

READY: Final = "ready"
"""Report: the process claims tasks from now on."""

LIMIT: Final = "limit "
"""Report: the process has reached a limit. The name of the limit follows on the line."""

HEALTH: Final = "health "
"""Report, every second: the health of the process, which follows on the line as JSON."""

LATE_S: Final = 15.0
"""Seconds after the end of the grace at which a process that still runs is killed."""


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """Describes the slot of a worker process in its group.

    Attributes:
        descriptor: file descriptor of the socket that connects the process to its supervisor.
        number: the number of the slot, from 1.
        group: the name of the supervisor in log messages.
    """

    descriptor: int
    number: int
    group: str

    def __str__(self) -> str:
        return f"{self.descriptor}:{self.number}:{self.group}"

    @classmethod
    def taken(cls) -> Self | None:
        """Return the role that a supervisor gave this process; None without a supervisor.

        The environment variable is removed, so that processes that tasks start do not see it.
        """
        text = os.environ.pop(VARIABLE, "")
        if not text:
            return None
        descriptor, number, group = text.split(":", 2)
        return cls(int(descriptor), int(number), group)


def health_report(health: WorkerHealth) -> str:
    """Return the JSON text with which a process reports its health."""
    return f"{HEALTH}{msgspec.json.encode(health).decode()}"


def health_in(text: str) -> WorkerHealth:
    """Return the health in *text*, a report of a process."""
    from ... import WorkerHealth

    return msgspec.json.decode(text, type=WorkerHealth)
