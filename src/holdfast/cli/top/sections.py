"""A look as tables of text, for a screen and for a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from ..counters.chart import gathered, short
from ..counters.spans import told as span
from ..instants import distance, duration
from ..locks.places import told as who
from ..log_files.slowest import told as slowest
from ..output import counted, printable, size
from ..workers import seen, served
from .frame import Frame, PlacesLine

TREND: Final = 20
"""Characters that tell what a counter counted."""

MOST: Final = 40
"""Workers that are shown; all of them count."""

LATE_S: Final = 1.0
"""Row caches that are late by more are yellow; by less nobody is to blame."""


@dataclass(frozen=True, slots=True)
class Section:
    """Things of one kind.

    Attributes:
        titles: of the columns; the first holds the names, of the others the most important come
            first, and the last are left out where there is no room.
        rows: as many cells in each.
        known: how many there are of the kind, as far as the server tells.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[Text]]
    known: int


def queues(frame: Frame) -> Section:
    """The queues, those whose tasks wait longest first."""
    titles = ("queues", "ready", "running", "dead", "tasks/s", "oldest", "delayed", "workers")
    rows = [
        (
            _name(line.queue, "yellow" if line.stats.paused else ""),
            Text("paused", "yellow") if line.stats.paused else _number(line.stats.ready),
            _number(line.stats.running),
            _number(line.stats.dead, "red"),
            Text(f"{line.per_second:,.1f}"),
            Text(duration(line.oldest) if line.stats.oldest_at else "-"),
            _number(line.stats.delayed),
            _number(line.workers, "" if line.workers or not line.stats.ready else "red", zero=True),
        )
        for line in frame.queues
    ]
    return Section(titles, rows, frame.known["queue"])


def workers(frame: Frame) -> Section:
    """The workers, those that give no sign of life first."""
    rows = [
        (
            _name(each.name),
            Text(f"{each.running:,}/{each.concurrency:,}"),
            seen(each),
            _name(served(each.queues)),
            Text(distance(each.started_at)),
        )
        for each in frame.workers[:MOST]
    ]
    return Section(("workers", "busy", "seen", "queues", "began"), rows, frame.known["worker"])


def places(frame: Frame) -> Section:
    """The locks and semaphores, those for which most wait first."""
    titles = ("locks", "held", "left", "waiting", "holder")
    rows = [
        (
            _name(line.name),
            Text(_held(line)),
            Text(f"{line.remaining:.1f} s" if line.holder else "-"),
            _number(line.waiters, "yellow"),
            _name(who(line.holder) if line.holder else "-"),
        )
        for line in frame.places
    ]
    return Section(titles, rows, frame.known["lock"])


def unread(frame: Frame) -> Section:
    """The mailboxes and chats, those with most unread messages first."""
    titles = ("messages", "unread", "kind", "seen", "reader")
    rows = [
        (
            _name(line.name),
            _number(line.unread),
            Text(line.kind),
            Text(distance(line.last_seen_at) if line.last_seen_at else "-"),
            _name(line.reader or "-"),
        )
        for line in frame.unread
    ]
    return Section(titles, rows, frame.known["mailbox"] + frame.known["chat"])


def counters(frame: Frame) -> Section:
    """The counters that were added to last, by name."""
    rows = [
        (
            _name(line.counter),
            Text(short(line.total)),
            Text(f"in {span(line.window)}"),
            Text(gathered(line.samples, TREND)[0].sparkline(), "cyan"),
        )
        for line in frame.counters
    ]
    return Section(("counters", "counted", "", ""), rows, frame.known["counter"])


def caches(frame: Frame) -> Section:
    """The row caches, the latest first."""
    rows = [
        (
            _name(line.cache),
            Text(f"{line.status.lag:,.1f} s", "yellow" if line.status.lag > LATE_S else ""),
            _number(line.status.due),
            _number(line.status.failing, "red"),
            _number(line.status.scheduled),
            _name(line.status.trouble or "-", "red" if line.status.trouble else ""),
        )
        for line in frame.caches
    ]
    titles = ("row caches", "late by", "due", "failing", "rows", "source")
    return Section(titles, rows, frame.known["row cache"])


def feeds(frame: Frame) -> Section:
    """The feeds of files, the one whose slowest consumer is furthest behind first."""
    rows = [
        (
            _name(each.name),
            Text(slowest(each) or "-"),
            _number(each.left),
            Text(f"{size(each.used)} of {size(each.budget)}"),
            Text(each.state),
        )
        for each in frame.feeds
    ]
    return Section(("feeds", "slowest", "files", "memory", "state"), rows, frame.known["feed"])


ALL: Final = (queues, workers, places, unread, counters, caches, feeds)

VIEWS: Final[dict[str, Sequence[Callable[[Frame], Section]]]] = {
    "all": ALL,
    "tasks": (queues, workers),
    "locks": (places,),
    "messages": (unread,),
    "data": (counters, caches, feeds),
}
"""What a screen may show; the first of them at first."""


def seen_in(frame: Frame, view: str) -> list[Section]:
    """What there is of *view*: what is empty is left out."""
    return [section for make in VIEWS[view] if (section := make(frame)).rows]


def server_lines(frame: Frame) -> Iterable[str]:
    """The servers, one on a line; all of them are primaries, for these hold the data."""
    for one in frame.servers:
        limit = f" of {size(one.memory_limit)}" if one.memory_limit else ""
        copies = f", {counted(len(one.replicas), 'replica')}" if one.replicas else ""
        where = f"{one.address}   " if len(frame.servers) > 1 else ""
        yield (
            f"{where}{one.software} {one.version}, {frame.topology} primary{copies}   "
            f"{one.commands_per_second:,.0f} ops/s   {size(one.memory)}{limit}   "
            f"{counted(one.clients, 'client')}   up {duration(one.uptime)}"
        )


def sums_line(frame: Frame) -> str:
    """All tasks, and all workers that live."""
    alive = [worker for worker in frame.workers if worker.alive]
    busy = sum(worker.running for worker in alive)
    rooms = sum(worker.concurrency for worker in alive)
    tasks = ", ".join(f"{count:,} {state}" for state, count in frame.sums.items())
    crew = counted(len(alive), "worker")
    return f"tasks: {tasks}, {frame.per_second:,.1f}/s   {crew}: {busy:,}/{rooms:,} busy"


def _held(line: PlacesLine) -> str:
    return f"{line.held:,}/{'?' if line.limit is None else f'{line.limit:,}'}"


def _name(text: str, style: str = "") -> Text:
    """Text of a stranger."""
    return Text(printable(text), style)


def _number(count: int, style: str = "", *, zero: bool = False) -> Text:
    return Text(f"{count:,}", style if count or zero else "")
