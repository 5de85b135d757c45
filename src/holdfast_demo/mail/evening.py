"""The mail demo: workers send a mail for each event of an evening, and each mail is checked.

A run that was killed can be continued. Task ids follow from the events, so an event is enqueued
again only if the maildir has no mail of it and the queue no task. The next run also does the tasks
that the killed run left in the queue, after the leases of the dead workers have ended.
"""

from __future__ import annotations

import smtplib
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice, pairwise
from math import ceil
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer
from rich.text import Text

from holdfast import QueueStats

from ..context import DemoContext
from ..demo import TICK_S, Bar, Cell, Demo, DemoFailed, Figures, Grid, Invariant
from ..options import WRONG_USAGE, number
from ..processes import ProcessGroup
from ..retries import retried
from .checks import (
    SLICES,
    MailCopies,
    MailFigures,
    MailHistory,
    copies_of,
    given_back,
    in_order,
    not_before_its_time,
    once_at_least,
)
from .events import LABELS, EventProducer, example_folder, priorities, read_events
from .order import ClaimOrder, judge
from .smtp_server import MailArrival, MaildirStore, SmtpServer

QUEUE: Final = "email"
LEASE_S: Final = 10.0
"""Lease in seconds; short, so that the user sees the tasks of a killed worker run again."""

STALL_S: Final = 60.0
"""Seconds without progress after which the demo ends: longer than each lease and retry."""

DEAD_LIMIT: Final = 1000
"""Maximum number of dead-lettered tasks that one call lists."""

BLOCKS: Final = "▁▂▃▄▅▆▇█"
PACE_STEPS: Final = 40
PIDS_SHOWN: Final = 4
OVERTAKING: Final = {
    "reset": ("a reset", "mails queued before it"),
    "sale": ("a due sale", "others of its priority"),
}


@dataclass
class MailDemo(Demo):
    """Send thousands of mails through a queue, and count them.

    Players get a mail when something was sold or expired, when a sale begins,
    and when they forgot their password. Each event becomes a task: password
    resets with high priority, expired offers with low, sales with a delay.
    Worker processes send the mails to an SMTP server that refuses some at
    first. Then every event is looked up in the server's maildir. The exit code
    is 1 if a mail is missing, if one was sent before its time, or if the order
    was not kept.

    With --embedded you can kill it at any time, also with kill -9, and start it
    again on the same folder. With --smtp the mails cannot be counted: the queue
    must be empty and no task dead. If you start it again, it repeats mails that
    were sent already, under the same Message-IDs.
    """

    name: ClassVar = "mail"
    keeps_data: ClassVar = True
    events: Annotated[
        Path | None,
        typer.Option(
            "--events", metavar="FILE", help="JSON lines instead of the 3,000 included events."
        ),
    ] = None
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", min=1, help="Use only the first N events."),
    ] = None
    workers: Annotated[int, number("--workers", "Worker processes", 1, 64)] = 2
    concurrency: Annotated[
        int, number("--concurrency", "Mails that one sends at once", 1, 1000)
    ] = 16
    embedded: Path | None = None
    url: str | None = None
    smtp: Annotated[
        str | None,
        typer.Option("--smtp", metavar="HOST:PORT", help="Your SMTP server, not the demo's own."),
    ] = None

    def check_options(self) -> None:
        """Read the events, and connect to the SMTP server of the user."""
        if self.embedded:
            self.stopped = "stopped; the same command goes on from here"
        else:
            self.stopped = "stopped; nothing is kept without --embedded FOLDER"
        try:
            self._events = read_events(self.events or example_folder() / "events.jsonl", self.count)
        except (OSError, ValueError) as error:
            raise DemoFailed(f"--events: {error}", code=WRONG_USAGE) from error
        try:
            if self.smtp:
                smtplib.SMTP(self.smtp, timeout=10.0).close()
        except OSError as error:
            message = f"--smtp: {self.smtp} does not answer: {error}"
            raise DemoFailed(message, code=WRONG_USAGE) from error

    def start(self, context: DemoContext) -> None:
        """Start the SMTP server and the workers."""
        folder = context.server_folder or context.folder
        self._store = self._server = None
        if self.smtp is None:
            self._store = MaildirStore(folder / "maildir")
            self._server = self.opened.enter_context(SmtpServer(self._store))
        self._queue = context.hf.queue(QUEUE)
        self._queue.replay()  # tasks that earlier runs gave up; fails if the server is unavailable
        self._stats: QueueStats = self._queue.stats()
        wanted = {event.mail_id for event in self._events}
        self._before = wanted.intersection(self._store.message_ids() if self._store else ())
        self._awaited = wanted - self._before
        self._producer = EventProducer(context.hf, self._events, self._before)
        self._kind_of = {event.mail_id: event.kind for event in self._events}
        self._seen = 0
        self._pace: deque[tuple[float, int]] = deque(maxlen=PACE_STEPS + 1)
        self._began_at = self._ended_at = time.time()
        self._changed_s, self._last = time.monotonic(), (0, self._stats)
        smtp = self._server.address if self._server else self.smtp or ""
        environment = context.environment(FAKEGAME_SMTP=smtp)
        if context.server_folder:  # give the folder, so that the server runs until its workers end
            del environment["HOLDFAST_URL"]
            environment["HOLDFAST_EMBEDDED"] = str(context.server_folder)
        command = ["holdfast", "worker", "mail:tasks", "--queue", QUEUE]
        command += ["--concurrency", str(self.concurrency), "--lease", str(LEASE_S)]
        names = [f"worker-{number}" for number in range(1, self.workers + 1)]
        commands = dict.fromkeys(names, command)
        self._workers = ProcessGroup(commands, environment, folder, folder=example_folder())
        self.opened.enter_context(self._workers)

    def poll(self) -> bool:
        self._workers.replace_dead()
        until_s = time.monotonic() + TICK_S
        while time.monotonic() < until_s and self._producer.enqueue_batch():
            pass
        self._follow()
        self._producer.enqueue_resets(self._sent, self._awaited)
        now_s = time.monotonic()
        self._pace.append((now_s, self._sent))
        if (self._sent, self._stats) != self._last:
            self._changed_s, self._last = now_s, (self._sent, self._stats)
        elif now_s - self._changed_s > STALL_S + max(event.delay_s for event in self._events):
            return False  # the invariants will report what is missing
        if not self._unsettled:  # all mails are sent, so the remaining resets are due
            self._producer.enqueue_resets(len(self._events), self._awaited)
        return bool(self._unsettled or self._producer.coming)

    def finish(self) -> Iterator[None]:
        """Record the end of the run, and read the final state."""
        self._ended_at = time.time()
        self._follow()
        yield

    def line(self) -> str:
        stats = self._stats
        return (
            f"sent {self._sent:,} of {len(self._events):,}, ready {stats.ready:,}, "
            f"delayed {stats.delayed:,}, running {stats.running:,}, dead {stats.dead:,}"
        )

    def figures(self) -> Figures:
        stats, events = self._stats, len(self._events)
        bars = [("enqueued", len(self._before) + len(self._producer.enqueued), events)]
        if self._server:
            awaited = Counter(self._kind_of[mail_id] for mail_id in self._awaited)
            totals = Counter(self._kind_of.values())
            bars += [
                (label, totals[kind] - awaited[kind], totals[kind])
                for kind, label in LABELS.items()
                if totals[kind]
            ]
        else:
            bars.append(("sent", self._sent, events))
        dead = Text(f"{stats.dead:,} dead", style="bold red" if stats.dead else "")
        queue = f"{stats.ready:,} ready   {stats.running:,} running   {stats.delayed:,} delayed   "
        notes: list[tuple[str, Cell]] = [("queue", Text(queue) + dead)]
        if self._server:
            mails, connections = asdict(self._server.refused).values()
            notes.append(("refused", f"{mails:,} mails (451)   {connections:,} connections (421)"))
        steps = [(new - old) / (end - start) for (start, old), (end, new) in pairwise(self._pace)]
        latest = steps[-10:]
        pace = sum(latest) / len(latest) if latest else 0.0
        notes.append(
            ("pace", Text.assemble(f"{pace:,.0f} mails/s".ljust(15), (strip(steps), "cyan")))
        )
        pids = "  ".join(map(str, list(self._workers.pids.values())[:PIDS_SHOWN]))
        hint = "kill -9 one: nothing is lost"
        if replaced := self._workers.replaced:
            hint = f"{replaced} died; what they had begun runs again"
        notes.append(("workers", Text.assemble(f"{pids}   ", (hint, "dim italic"))))
        return Figures([Bar(*bar, f"{bar[1]:,} of {bar[2]:,}") for bar in bars], notes)

    def final_figures(self) -> Figures:
        kinds, seconds = self._kinds(), self._seconds
        rows = [list(_cells(kind, row)) for kind, row in kinds.items()]
        end = f"{seconds:.0f} s"
        columns = (
            "mail",
            "priority",
            "sent",
            "median wait",
            "longest",
            "0 s".ljust(SLICES - len(end)) + end,
        )
        sent_now = len(self._events) - len(self._copies().missing) - len(self._before)
        rate = sent_now / seconds if seconds else 0.0
        notes: list[tuple[str, Cell]] = [
            ("pace", f"{rate:,.0f} mails/s: {sent_now:,} in {seconds:.1f} s")
        ]
        if self._before:
            notes.append(("before", f"{len(self._before):,} mails were sent by an earlier run"))
        if self._server:
            mails, connections = asdict(self._server.refused).values()
            wait = "from enqueue, for sales from their time, to the mail server's 250"
            retries = f"{kinds['all'].retries:,}; refused: {mails:,} mails (451)"
            notes += [("wait", wait), ("retries", f"{retries}, {connections:,} connections (421)")]
        else:
            notes.append(("mails", "not counted: only your SMTP server has them"))
        if self._workers.replaced:
            notes.append(("workers", f"replaced when they died: {self._workers.replaced}"))
        if twice := len(self._copies().twice):
            notes.append(
                ("twice", f"{twice:,}, sent by workers that were killed before they settled")
            )
        notes += self._order_notes(self._order())
        return Figures(notes=notes, grids=[Grid(columns, rows, left=(columns[1], columns[-1]))])

    def invariants(self) -> Iterator[Invariant]:
        """Check the maildir, the times and the order of the claims."""
        copies, arrivals, order = self._copies(), self._arrivals(), self._order()
        dead = self._dead()
        found = once_at_least(copies, len(self._events))
        reasons = tuple(
            f"{problem}: {dead.get(task, 'it is not dead-lettered either')}"
            for problem, task in zip(found.problems, copies.missing, strict=True)
        )
        yield Invariant(found.block, found.promise, found.checked, found.what, reasons)
        left = f"{self._unsettled:,} tasks are still queued or running"
        problems = (left,) if self._unsettled else ()
        yield Invariant("queue", "no task is left behind", len(self._events), "tasks", problems)
        early = not_before_its_time(self._events, arrivals)
        if early.checked:
            yield early
        if order.judged:
            yield in_order(order)

    def results(self) -> dict[str, Any]:
        copies = self._copies()
        sent_now = len(self._events) - len(copies.missing) - len(self._before)
        return {
            "kinds": {kind: asdict(row) for kind, row in self._kinds().items()},
            "seconds": self._seconds,
            "mails_per_second": sent_now / self._seconds if self._seconds else 0.0,
            "sent_before": len(self._before),
            "sent_now": sent_now,
            "refused": asdict(self._server.refused) if self._server else None,
            "workers_replaced": self._workers.replaced,
            "order": asdict(self._order()),
            "unfinished": self._unsettled,
            "missing": copies.missing,
            "twice": copies.twice,
            "dead": self._dead(),
        }

    def introduction(self) -> str:
        kinds = Counter(event.kind for event in self._events)
        counts = (f"{label} {kinds[kind]:,}" for kind, label in LABELS.items() if kinds[kind])
        by = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        return f"An evening of Fake Game. One mail each, by {by}.\n  {', '.join(counts)}"

    def hints(self) -> Iterator[str]:
        """Yield where the mails are, or how to keep them."""
        if self._store and self.embedded:
            yield str(self._store.folder)
        elif self._store:
            yield "Kill it half-way and start it again: --embedded FOLDER"

    def pids(self) -> Mapping[str, int]:
        return self._workers.pids

    @property
    def _unsettled(self) -> int:
        return self._stats.ready + self._stats.delayed + self._stats.running

    @property
    def _sent(self) -> int:
        if self._server:
            return len(self._events) - len(self._awaited)
        # The mails of the user's server are unknown: count tasks that are neither queued nor dead.
        enqueued = len(self._before) + len(self._producer.enqueued)
        return max(0, enqueued - self._unsettled - self._stats.dead)

    @property
    def _seconds(self) -> float:
        """Return the seconds from the first enqueue to the last stored mail."""
        deliveries = self._server.deliveries if self._server else []
        ended_at = max((mail.answered_at for mail in deliveries), default=self._ended_at)
        return ended_at - self._began_at

    def _follow(self) -> None:
        self._stats = retried(self._queue.stats)
        for mail in islice(self._server.deliveries if self._server else (), self._seen, None):
            self._awaited.discard(mail.mail_id)
            self._seen += 1

    def _arrivals(self) -> list[MailArrival]:
        return self._server.deliveries + self._server.refusals if self._server else []

    def _dead(self) -> dict[str, str]:
        dead = retried(partial(self._queue.dead, DEAD_LIMIT))
        return {task.task_id: task.reason for task in dead}

    def _copies(self) -> MailCopies:
        if self._store:
            return copies_of(self._events, self._store.message_ids())
        dead = self._dead()  # the mails of the user's server are unknown, so rely on the queue
        return MailCopies([e.task_id for e in self._events if e.task_id in dead], twice=[])

    def _kinds(self) -> dict[str, MailFigures]:
        deliveries = self._server.deliveries if self._server else []
        history = MailHistory(deliveries, self._began_at, self._began_at + self._seconds)
        return history.by_kind(self._events, priorities(), set(self._copies().missing))

    def _order(self) -> ClaimOrder:
        returned = given_back(map(self._workers.log, self._workers.commands))
        enqueued = self._producer.enqueued
        return judge(self._events, priorities(), enqueued, self._arrivals(), returned)

    def _order_notes(self, order: ClaimOrder) -> Iterator[tuple[str, Cell]]:
        if not order.judged:
            yield "order", "not judged: the records of this run prove nothing"
            return
        for kind, found in order.overtaking.items():
            front, behind = OVERTAKING[kind]
            yield (
                "order",
                f"{front} overtook {found.median:,.0f} {behind} (median; most {found.most:,})",
            )
        yield (
            "",
            f"by the claims' tokens; a wait under {order.doubt_s * 1000:,.0f} ms proves nothing",
        )


def _cells(kind: str, row: MailFigures) -> Iterator[Cell]:
    yield Text(LABELS.get(kind, kind), "bold" if kind == "all" else "")
    yield row.priority
    yield Text(f"{row.sent:,}", "" if row.sent == row.events else "bold red")
    # Show no waits for all kinds together, because delayed mails wait for other reasons.
    for wait_s in (row.wait_median_s, row.wait_longest_s):
        yield "" if kind == "all" else "-" if wait_s is None else f"{wait_s:.2f} s"
    yield Text(strip(row.over_time), "cyan")


def strip(values: Sequence[float]) -> str:
    """Return a chart of *values*: blocks of eight heights, and a dot for 0."""
    top = max(values, default=0)
    if not top:
        return ""
    return "".join(BLOCKS[ceil(8 * value / top) - 1] if value > 0 else "·" for value in values)
