"""`holdfast workers`: list the workers of task queues."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from rich.text import Text

from ..inspect.formats import ago, distance, size
from .output import shown_name
from .resources import Resource, group, list_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import Holdfast, WorkerStatus


def weights_text(queues: Mapping[str, int]) -> str:
    """Return the names of *queues* with their weights, such as `default, email=3`."""
    return ", ".join(
        shown_name(name) + (f"={weight}" if weight != 1 else "")
        for name, weight in sorted(queues.items())
    )


def last_seen(worker: WorkerStatus) -> Text:
    """Return the age of the last heartbeat; red if the worker is not alive."""
    return Text(ago(worker.silent), "" if worker.alive else "red")


def _every(hf: Holdfast) -> dict[str, WorkerStatus]:
    return {worker.name: worker for worker in hf.workers()}


WORKERS: Final = Resource["WorkerStatus"](
    noun="worker",
    key="worker",
    names=_every,
    read=lambda hf, name: _every(hf).get(name),
    every=_every,
    columns={
        "busy": lambda worker: f"{worker.running:,}/{worker.concurrency:,}",
        "queues": lambda worker: weights_text(worker.queues),
        "group": lambda worker: worker.group,
        "memory": lambda worker: size(worker.memory) if worker.memory else "",
        "started": lambda worker: distance(worker.started_at),
        "last seen": last_seen,
    },
    left=("queues", "group"),
    as_json=lambda worker: {"alive": worker.alive, **asdict(worker)},
    recent="seen last",
)

app: Final = group(
    "workers",
    "List the workers: which queues they serve, and how busy they are.",
    list_command(
        """List the workers: what they serve, how busy they are, when they were last seen.

        A worker that was killed is listed for five minutes more, in red. One
        that ended normally is not listed.
        """,
        WORKERS,
    ),
)
