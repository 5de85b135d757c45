"""`holdfast workers`: who runs tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from .connection import Embedded, Namespace, Url, connected
from .instants import distance, duration
from .listing import LISTED, listing
from .output import AsJson, say, show, show_json, stranger, warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .. import WorkerStatus


def ls(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """List the workers: what they serve, how busy they are, when they were last seen.

    One that was killed is listed for five minutes more, in red. One that ended
    in good order is not.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        workers = sorted(hf.workers(), key=lambda worker: worker.name)
    if as_json:
        for worker in workers:
            show_json({"worker": worker.name, "alive": worker.alive}, worker)
    elif workers:
        show(_table(workers))
    else:
        say(f"no workers in namespace {namespace}")
    if len(workers) == LISTED:
        warn(f"these are the {LISTED:,} workers that were seen last; there may be more")


app = listing("workers", "See who runs tasks, of which queues, and how busy.", ls)


def served(queues: Mapping[str, int]) -> str:
    """As in `default, email=3`: weights that are not 1 are told."""
    return ", ".join(
        name if weight == 1 else f"{name}={weight}" for name, weight in sorted(queues.items())
    )


def seen(worker: WorkerStatus) -> Text:
    """When it gave its last sign of life; red where it should have given others since."""
    return Text(f"{duration(worker.silent)} ago", "" if worker.alive else "red")


def _table(workers: Sequence[WorkerStatus]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("worker", overflow="fold")
    table.add_column("busy", justify="right", no_wrap=True)
    table.add_column("queues", overflow="fold")
    for column in ("began", "last seen"):
        table.add_column(column, justify="right", no_wrap=True)
    for worker in workers:
        table.add_row(
            stranger(worker.name),
            f"{worker.running:,}/{worker.concurrency:,}",
            stranger(served(worker.queues)),
            distance(worker.started_at),
            seen(worker),
        )
    return table
