"""Format a snapshot as tables of text, for a screen and for a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from ...inspect.formats import counted, distance, duration, exact_duration, short_number, size
from ...inspect.permits import process_name
from ..bar_chart import summed
from ..logs.progress import progress_of
from ..output import printable, shown_name
from ..workers import last_seen, weights_text
from .snapshot import LISTED, TopSnapshot

TREND: Final = 20
"""Characters in the bar chart of a counter."""

LATE_S: Final = 1.0
"""Seconds of lag above which a row cache is shown in yellow."""


@dataclass(frozen=True, slots=True)
class Section:
    """Holds the table of all queues, of all locks and so on.

    Attributes:
        titles: the titles of the columns: first that of the names, then the others, the most
            important first. A narrow screen leaves out the last columns.
        rows: the rows, each with one cell for each column.
        known: how many queues, locks and so on the server lists.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[Text]]
    known: int


def queues(snapshot: TopSnapshot) -> Section:
    """Return the queues, those with the oldest waiting task first."""
    titles = ("queues", "ready", "running", "dead", "tasks/s", "oldest", "delayed", "workers")
    rows = []
    for name in snapshot.queues:
        stats, workers = snapshot.survey.queues[name], len(snapshot.survey.serving(name))
        oldest = duration(snapshot.survey.waited(name)) if stats.oldest_at else "-"
        alarm = "red" if stats.ready and not workers else ""
        rows.append(
            (
                _name(name, "yellow" if stats.paused else ""),
                Text("paused", "yellow") if stats.paused else _number(stats.ready),
                _number(stats.running),
                _number(stats.dead, "red"),
                Text(f"{snapshot.per_second[name]:,.1f}"),
                Text(oldest),
                _number(stats.delayed),
                Text(f"{workers:,}", alarm),
            )
        )
    return Section(titles, rows, snapshot.known["queue"])


def workers(snapshot: TopSnapshot) -> Section:
    """Return the workers, those without a heartbeat first."""
    rows = [
        (
            _name(each.name),
            Text(f"{each.running:,}/{each.concurrency:,}"),
            last_seen(each),
            Text(printable(weights_text(each.queues))),
            Text(distance(each.started_at)),
        )
        for each in snapshot.workers[:LISTED]
    ]
    return Section(("workers", "busy", "seen", "queues", "started"), rows, snapshot.known["worker"])


def locks(snapshot: TopSnapshot) -> Section:
    """Return the locks and semaphores, those with most waiters first."""
    rows = []
    for permits in snapshot.permits:
        first = permits.next_free
        rows.append(
            (
                _name(permits.name),
                Text(permits.held_of_limit),
                Text(f"{first.remaining:.1f} s" if first else "-"),
                _number(len(permits.waiters), "yellow"),
                _name(process_name(first.name) if first else "-"),
            )
        )
    return Section(("locks", "held", "left", "waiting", "holder"), rows, snapshot.known["lock"])


def unread(snapshot: TopSnapshot) -> Section:
    """Return the mailboxes and chats, those with most unread messages first."""
    rows = [
        (
            _name(line.name),
            _number(line.unread),
            Text(line.kind),
            Text(distance(line.last_seen_at) if line.last_seen_at else "-"),
            _name(line.reader or "-"),
        )
        for line in snapshot.unread
    ]
    known = snapshot.known["mailbox"] + snapshot.known["chat"]
    return Section(("messages", "unread", "kind", "seen", "reader"), rows, known)


def counters(snapshot: TopSnapshot) -> Section:
    """Build the section of the counters that were used most recently."""
    rows = [
        (
            _name(name),
            Text(short_number(window.total)),
            Text(f"in {exact_duration(window.seconds)}"),
            Text(summed(window.samples, TREND)[0].sparkline(), "cyan"),
        )
        for name, window in snapshot.survey.counters.items()
    ]
    return Section(("counters", "counted", "", ""), rows, snapshot.known["counter"])


def row_caches(snapshot: TopSnapshot) -> Section:
    """Return the row caches, the one with the most overdue row first."""
    rows = [
        (
            _name(name),
            Text(f"{status.lag:,.1f} s", "yellow" if status.lag > LATE_S else ""),
            _number(status.due),
            _number(status.failing, "red"),
            _number(status.scheduled),
            _name(status.source_error or "-", "red" if status.source_error else ""),
        )
        for name, status in snapshot.row_caches
    ]
    titles = ("row caches", "late by", "due", "failing", "rows", "source")
    return Section(titles, rows, snapshot.known["row cache"])


def feeds(snapshot: TopSnapshot) -> Section:
    """Return the feeds, the one with the slowest consumer first."""
    rows = [
        (
            _name(each.name),
            Text(progress_of(each) or "-"),
            _number(each.left),
            Text(f"{size(each.used)} of {size(each.budget)}"),
            Text(each.state),
        )
        for each in snapshot.feeds
    ]
    titles = ("feeds", "slowest", "files", "memory", "state")
    return Section(titles, rows, snapshot.known["feed"])


ALL: Final = (queues, workers, locks, unread, counters, row_caches, feeds)

VIEWS: Final[dict[str, Sequence[Callable[[TopSnapshot], Section]]]] = {
    "all": ALL,
    "tasks": (queues, workers),
    "locks": (locks,),
    "messages": (unread,),
    "data": (counters, row_caches, feeds),
}
"""Name of a view → its sections. The screen starts with the first view."""


def sections(snapshot: TopSnapshot, view: str) -> list[Section]:
    """Return the sections of *view* that have rows."""
    return [section for make in VIEWS[view] if (section := make(snapshot)).rows]


def server_lines(snapshot: TopSnapshot) -> Iterable[str]:
    """Return a line for each server that holds data."""
    found = snapshot.survey
    for one in found.servers:
        limit = f" of {size(one.memory_limit)}" if one.memory_limit else ""
        replicas = f", {counted(len(one.replicas), 'replica')}" if one.replicas else ""
        address = f"{one.address}   " if len(found.servers) > 1 else ""
        yield (
            f"{address}{one.software} {one.version}, {found.topology} primary{replicas}   "
            f"{one.commands_per_second:,.0f} ops/s   {size(one.memory)}{limit}   "
            f"{counted(one.clients, 'client')}   up {duration(one.uptime)}"
        )


def totals_line(snapshot: TopSnapshot) -> str:
    """Return all tasks by state, and all running workers."""
    alive = snapshot.survey.alive
    busy = sum(worker.running for worker in alive)
    slots = sum(worker.concurrency for worker in alive)
    tasks = ", ".join(f"{count:,} {state}" for state, count in snapshot.survey.tasks.items())
    rate = f"{snapshot.total_per_second:,.1f}/s"
    return f"tasks: {tasks}, {rate}   {counted(len(alive), 'worker')}: {busy:,}/{slots:,} busy"


def _name(text: str, style: str = "") -> Text:
    """Return the untrusted name *text* as a cell."""
    return Text(shown_name(text), style)


def _number(count: int, style: str = "") -> Text:
    return Text(f"{count:,}", style if count else "")
