"""`holdfast queues`: list the task queues; limit, divide, pause, resume and empty them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from rich.text import Text

from ..inspect.formats import counted
from .confirm import Yes, confirm
from .connection import argument_errors, fail, with_client
from .exit_codes import WRONG_USAGE
from .options import argument, flag, option
from .output import AsJson, field_table, print_block, print_json, print_line, shown_name, warn
from .resources import Resource, Row, group, list_command
from .task_text import print_tasks

if TYPE_CHECKING:
    from .. import DelayedKey, Holdfast, Limit, Queue, QueueStats, TaskStatus

SHOWN_TASKS: Final = 5
"""Tasks that `show` prints at most, of the next ones and of the dead ones each."""

Name = Annotated[str, argument("NAME", "The queue.")]


def used_stats(hf: Holdfast, queue: str) -> QueueStats | None:
    """Return the statistics of *queue*; None if it was never used, paused or limited."""
    from .. import QueueStats

    stats = hf.queue(queue).stats()
    # Do not rely on the list of names alone: it is bounded, and producers in other languages do not
    # register their queues. So a queue with tasks counts as used even if it is not listed.
    return stats if stats != QueueStats(0, 0, 0, 0, 0) or queue in hf.queues() else None


def _rows(stats: QueueStats) -> Iterator[Row]:
    yield "ready", f"{stats.ready:,}"
    if stats.limited:
        yield "of these limited", f"{stats.limited:,}: they wait until their limit key has room"
    yield "delayed", f"{stats.delayed:,}"
    yield "running", f"{stats.running:,}"
    yield "dead", _dead(stats)
    yield "waiting workers", f"{stats.waiting_workers:,}"
    paused = Text("yes: nothing is claimed until `resume`", "yellow")
    yield "paused", paused if stats.paused else "no"
    limit = "no limit" if stats.capacity is None else f"{stats.capacity:,} tasks may wait"
    yield "capacity", limit
    yield "limit", _limit(stats)
    if stats.partitions > 1:
        yield "partitions", f"{stats.partitions:,}"


def _limit(stats: QueueStats | DelayedKey) -> str:
    """Return a concurrency and a rate in words."""
    words = []
    if stats.concurrency is not None:
        words.append(f"{stats.concurrency:,} at once")
    if stats.rate is not None:
        amount, seconds = stats.rate
        words.append(f"{amount:,} in {seconds:g} s")
    return ", ".join(words) or "no limit"


def _dead(stats: QueueStats) -> Text:
    return Text(f"{stats.dead:,}", "red" if stats.dead else "")


QUEUES: Final = Resource["QueueStats"](
    noun="queue",
    key="queue",
    names=lambda hf: hf.queues(),
    read=used_stats,
    every=lambda hf: {name: hf.queue(name).stats() for name in hf.queues()},
    columns={
        "ready": lambda stats: f"{stats.ready:,}",
        "delayed": lambda stats: f"{stats.delayed:,}",
        "running": lambda stats: f"{stats.running:,}",
        "dead": _dead,
        "waiting workers": lambda stats: f"{stats.waiting_workers:,}",
        "capacity": lambda stats: "-" if stats.capacity is None else f"{stats.capacity:,}",
        "paused": lambda stats: Text("paused" if stats.paused else "", "yellow"),
    },
    left=("paused",),
    rows=_rows,
)

app: Final = group(
    "queues",
    "List the task queues; limit, divide, pause, resume and empty them.",
    list_command("List the queues: how many tasks are ready, delayed, running and dead.", QUEUES),
)


@app.command("show", example="holdfast queues show email")
@with_client()
def show_queue(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Show one queue: its numbers, which tasks are next, and why the latest died."""
    stats = QUEUES.find(hf, name)
    keys = hf.queue(name).delayed_keys(SHOWN_TASKS) if stats.limited else []
    coming, dead = _coming(hf.queue(name)), hf.queue(name).dead(SHOWN_TASKS)
    partitions = hf.queue(name).partitions()
    if as_json:
        tasks = {"next": list(map(asdict, coming)), "latest_dead": list(map(asdict, dead))}
        limits = {"delayed_keys": list(map(asdict, keys))}
        parts = {each: asdict(found) for each, found in partitions.items()}
        print_json(QUEUES.json_of(name, stats), tasks, limits, {"by_partition": parts})
        return
    print_block(field_table([("queue", shown_name(name)), *_rows(stats)]))
    if len(partitions) > 1:
        print_block(Text())
        print_block(Text("partitions", "bold"))
        print_block(field_table([(each, _counts(found)) for each, found in partitions.items()]))
    if keys:
        print_block(Text())
        print_block(Text("most delayed keys", "bold"))
        print_block(field_table([(f"{one.name} {one.key}", _key_text(one)) for one in keys]))
    for title, found in (("next", coming), ("latest dead", dead)):
        if found:
            print_block(Text())
            print_tasks(title, found)


def _counts(stats: QueueStats) -> str:
    return (
        f"{stats.ready:,} ready, {stats.delayed:,} delayed, {stats.running:,} running, "
        f"{stats.dead:,} dead"
    )


def _key_text(key: DelayedKey) -> str:
    paused = f", paused until {key.paused_until:%H:%M:%S} UTC" if key.paused_until else ""
    return f"{key.waiting:,} waiting, {key.running:,} running; {_limit(key)}{paused}"


@app.command(example="holdfast queues limit email --concurrency 20 --rate 100/60")
@with_client()
def limit(
    hf: Holdfast,
    name: Name,
    concurrency: Annotated[
        int | None, option("N", "Tasks that may run at once; 0: no limit.", min=0)
    ] = None,
    rate: Annotated[
        str | None,
        option("AMOUNT/SECONDS", "Starts in a number of seconds; 0: no limit."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Limit how many tasks of a queue run at once, or start in a time.

    Running tasks continue. What is not given stays as it is.
    """
    if concurrency is None and rate is None:
        fail("give --concurrency, --rate or both", code=WRONG_USAGE)
    changes: dict[str, Any] = {}
    if concurrency is not None:
        changes["concurrency"] = concurrency
    if rate is not None:
        changes["rate"] = _rate(rate)
    with argument_errors():
        hf.queue(name).limit(**changes)
    stats = hf.queue(name).stats()
    if as_json:
        print_json({"queue": name, "concurrency": stats.concurrency, "rate": stats.rate})
    else:
        print_line(f"limit of queue {name!r}: {_limit(stats)}")


def _rate(text: str) -> Limit | None:
    """Return the rate that `AMOUNT/SECONDS` stands for; None for 0."""
    from .. import Limit

    amount, _, seconds = text.partition("/")
    try:
        return Limit(int(amount), float(seconds or 1.0)) if text != "0" else None
    except ValueError as error:
        fail(f"--rate takes AMOUNT/SECONDS, such as 100/60: {error}", code=WRONG_USAGE)


@app.command(example="holdfast queues partition email 16")
@with_client()
def partition(
    hf: Holdfast,
    name: Name,
    number: Annotated[int, argument("NUMBER", "Partitions, 1 to 256.")],
    as_json: AsJson = False,
) -> None:
    """Divide a queue into partitions, which a cluster spreads over its servers.

    Workers and producers follow. Waiting tasks stay in their partition. With
    fewer partitions than before, run it again once the others are empty.
    """
    try:
        hf.queue(name).repartition(number)
    except ValueError as error:
        fail(str(error), code=WRONG_USAGE)
    served = len(hf.queue(name).partitions())
    if as_json:
        print_json({"queue": name, "partitions": number, "served": served})
    else:
        more = f"; {served - number:,} more are served until they are empty"
        text = f"queue {name!r} has {counted(number, 'partition')}"
        print_line(text + more * (served > number))


@app.command(example="holdfast queues pause email")
@with_client()
def pause(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Pause a queue: no task starts until `resume`.

    Running tasks continue, and new ones wait. A queue can be paused before it
    is used.
    """
    used = used_stats(hf, name)
    stats = used or hf.queue(name).stats()
    hf.queue(name).pause()
    if as_json:
        print_json({"queue": name, "paused": True, "changed": not stats.paused})
    else:
        waiting, still = counted(stats.ready + stats.delayed, "task"), "still " * stats.paused
        print_line(f"queue {name!r} is {still}paused: {waiting} waiting, {stats.running:,} running")
    if used is None:
        warn(f"queue {name!r} was never used; it is paused from its first task on")


@app.command(example="holdfast queues resume email")
@with_client()
def resume(hf: Holdfast, name: Name, as_json: AsJson = False) -> None:
    """Resume a paused queue."""
    stats = QUEUES.find(hf, name)
    hf.queue(name).resume()
    if as_json:
        print_json({"queue": name, "paused": False, "changed": stats.paused})
    elif stats.paused:
        waiting = counted(stats.ready + stats.delayed, "task")
        print_line(f"queue {name!r} is resumed: {waiting} waiting")
    else:
        print_line(f"queue {name!r} was not paused")


@app.command(example="holdfast queues purge email")
@with_client()
def purge(
    hf: Holdfast,
    name: Name,
    dead: Annotated[
        bool, flag("Remove the dead tasks instead of the waiting ones.", "--dead")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove all waiting tasks, ready and delayed.

    Running tasks continue. Removed tasks cannot be restored: the command
    prints how many there are, and asks first.
    """
    stats = QUEUES.find(hf, name)
    number = stats.dead if dead else stats.ready + stats.delayed
    which = "dead task" if dead else "waiting task"
    if number:
        confirm(f"drop {counted(number, which)} of queue {name!r} for good", yes=yes)
        number = hf.queue(name).purge(dead=dead)
    if as_json:
        print_json({"queue": name, "dead": dead, "purged": number})
    else:
        print_line(f"dropped {counted(number, which)} of queue {name!r}")


def _coming(queue: Queue) -> list[TaskStatus]:
    """Return the next tasks: first those that may run now, then those that are delayed."""
    ready = queue.tasks("queued", SHOWN_TASKS)
    return [*ready, *queue.tasks("delayed", SHOWN_TASKS)][:SHOWN_TASKS]
