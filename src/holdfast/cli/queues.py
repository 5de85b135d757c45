"""`holdfast queues`: look at the task queues, pause, resume and empty them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from .confirm import Yes, confirm
from .connection import Embedded, Namespace, Url, connected
from .found import found_stats, is_used
from .listing import LISTED, listing
from .output import AsJson, counted, fields, say, show, show_json, stranger, warn
from .task_lines import section

if TYPE_CHECKING:
    from .. import Queue, QueueStats, TaskStatus

GLIMPSE: Final = 5
"""Tasks that `show` gives an idea of a queue by."""

NAME_COLUMNS: Final = 28
"""What is left for names on a screen of 80 columns."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The queue.")]


def ls(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """List the queues: how many tasks are ready, delayed, running and dead."""
    with connected(url, embedded, namespace, create=False) as hf:
        names = hf.queues()
        stats = {name: hf.queue(name).stats() for name in sorted(names)}
    if as_json:
        for name, each in stats.items():
            show_json({"queue": name}, each)
    elif stats:
        show(_table(stats))
    else:
        say(f"no queues in namespace {namespace}")
    if len(names) == LISTED:
        warn(f"these are the {LISTED:,} queues that were used last; there may be more")


app = listing("queues", "Look at the task queues; pause, resume and empty them.", ls)


@app.command("show")
def show_queue(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Show one queue: its numbers, which tasks are next, and why the latest died."""
    with connected(url, embedded, namespace, create=False) as hf:
        stats = found_stats(hf, name)
        coming, dead = _coming(hf.queue(name)), hf.queue(name).dead(GLIMPSE)
    if as_json:
        tasks = {"next": list(map(asdict, coming)), "latest_dead": list(map(asdict, dead))}
        show_json({"queue": name}, stats, tasks)
        return
    show(fields(_rows(name, stats)))
    for title, tasks_of in (("next in line", coming), ("latest dead", dead)):
        if tasks_of:
            show(Text())
            section(title, tasks_of)


@app.command()
def pause(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Let no worker claim a task until `resume`. What runs goes on, what comes in waits.

    A queue may be paused before it is used.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        stats = hf.queue(name).stats()
        used = is_used(hf, name, stats)
        hf.queue(name).pause()
    if as_json:
        show_json({"queue": name, "paused": True, "changed": not stats.paused})
    else:
        waiting, still = counted(stats.ready + stats.delayed, "task"), "still " * stats.paused
        say(f"queue {name!r} is {still}paused: {waiting} waiting, {stats.running:,} running on")
    if not used:
        warn(f"nobody has used a queue {name!r} so far; it is paused for whoever does")


@app.command()
def resume(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Let workers claim tasks again."""
    with connected(url, embedded, namespace, create=False) as hf:
        stats = found_stats(hf, name)
        hf.queue(name).resume()
    if as_json:
        show_json({"queue": name, "paused": False, "changed": stats.paused})
    elif stats.paused:
        say(f"queue {name!r} goes on: {counted(stats.ready + stats.delayed, 'task')} waiting")
    else:
        say(f"queue {name!r} was not paused")


@app.command()
def purge(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    dead: Annotated[
        bool, typer.Option("--dead", help="Drop the dead tasks, and none of those that wait.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Drop all tasks that wait, ready and delayed. What runs goes on.

    They cannot be brought back: it says how many, and asks.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        stats = found_stats(hf, name)
        number = stats.dead if dead else stats.ready + stats.delayed
        which = "dead task" if dead else "waiting task"
        if number:
            confirm(f"drop {counted(number, which)} of queue {name!r} for good", yes=yes)
            number = hf.queue(name).purge(dead=dead)
    if as_json:
        show_json({"queue": name, "dead": dead, "purged": number})
    else:
        say(f"dropped {counted(number, which)} of queue {name!r}")


def _coming(queue: Queue) -> list[TaskStatus]:
    """What is next in line: what may run now, then what has to wait for its time."""
    ready = queue.tasks("queued", GLIMPSE)
    return [*ready, *queue.tasks("delayed", GLIMPSE)][:GLIMPSE]


def _table(stats: dict[str, QueueStats]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    longest = max(map(len, stats))
    table.add_column("queue", overflow="fold", min_width=min(NAME_COLUMNS, longest))
    for column in ("ready", "delayed", "running", "dead", "waiting workers", "capacity", "paused"):
        table.add_column(column, justify="left" if column == "paused" else "right")
    for name, each in stats.items():
        table.add_row(
            stranger(name),
            *(f"{n:,}" for n in (each.ready, each.delayed, each.running)),
            Text(f"{each.dead:,}", "red" if each.dead else ""),
            f"{each.waiting_workers:,}",
            "-" if each.capacity is None else f"{each.capacity:,}",
            Text("paused", "yellow") if each.paused else "",
        )
    return table


def _rows(name: str, stats: QueueStats) -> Iterator[tuple[str, str | Text]]:
    yield "queue", name
    yield "ready", f"{stats.ready:,}"
    yield "delayed", f"{stats.delayed:,}"
    yield "running", f"{stats.running:,}"
    yield "dead", Text(f"{stats.dead:,}", "red" if stats.dead else "")
    yield "waiting workers", f"{stats.waiting_workers:,}"
    yield (
        "paused",
        Text("yes: nothing is claimed until `resume`", "yellow") if stats.paused else "no",
    )
    limit = "no limit" if stats.capacity is None else f"{stats.capacity:,} tasks may wait"
    yield "capacity", limit
