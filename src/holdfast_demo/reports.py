"""The reports demo: workers render reports, and readers follow their progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final

from holdfast import Gap, TaskEvent, TaskHandle

from .context import DemoContext
from .demo import Bar, Demo, Figures, Invariant, ProcessFault, until
from .options import Seed, number
from .processes import ProcessGroup
from .rendering import render
from .retries import retried

WORKER: Final = "renderer"
PAGES: Final = 20
AT_ONCE: Final = 3
LEASE_S: Final = 3.0
FOLLOW_S: Final = 1.0
"""Seconds after which a reader looks whether the demo ends."""


@dataclass
class Followed:
    """A report, and what its reader has read.

    Attributes:
        title: its title.
        handle: its task.
        seen: the events and gaps, in order.
        is_done: whether the task has ended.
    """

    title: str
    handle: TaskHandle[str]
    seen: list[TaskEvent | Gap] = field(default_factory=list)
    is_done: bool = False

    @property
    def after(self) -> int:
        """Return the number of the last event that was read."""
        if not self.seen:
            return 0
        last = self.seen[-1]
        return last.last if isinstance(last, Gap) else last.number

    @property
    def bar(self) -> Bar:
        """Return the latest progress as a bar."""
        found = [each.progress for each in self.seen if isinstance(each, TaskEvent)]
        latest = next((each for each in reversed(found) if each), None)
        if latest is None:
            return Bar(self.title, 0, PAGES, "waits")
        return Bar(self.title, latest.done, PAGES, latest.message)


@dataclass
class ReportsDemo(Demo):
    """Render reports, and follow their progress.

    A worker renders reports and publishes an event for each page. A reader follows each report; it
    sometimes loses its connection and continues after the last event. The worker is killed, too.

    At the end the events of each report are compared with its pages. The exit
    code is 1 if a number is missing or comes twice, or if an event is missing.
    """

    name: ClassVar = "reports"
    seed: Seed = None
    seconds: Annotated[float, number("--seconds", "Seconds of rendering", 1, 60)] = 15.0

    def start(self, context: DemoContext) -> None:
        """Start the worker and the readers."""
        self._hf = context.hf
        self._over = threading.Event()
        self._reports: list[Followed] = []
        self._failures: list[BaseException] = []
        folder = context.subfolder("reports")
        command = ["holdfast", "worker", "holdfast_demo.rendering:tasks", "--quiet"]
        command += ["--concurrency", str(AT_ONCE), "--lease", str(LEASE_S)]
        self._workers = ProcessGroup({WORKER: command}, context.environment(), folder)
        self.opened.enter_context(self._workers)
        self._readers = [
            threading.Thread(target=self._read, args=[reader], daemon=True)
            for reader in range(AT_ONCE)
        ]
        self.opened.callback(self._over.set)
        for reader in self._readers:
            reader.start()
        self._began_s = time.monotonic()

    def poll(self) -> bool:
        if self._failures:
            raise RuntimeError(f"a reader failed: {self._failures[0]!r}")
        self._workers.replace_dead()
        return time.monotonic() - self._began_s < self.seconds

    def finish(self) -> Iterator[None]:
        """Wait until the reports that were begun are done."""
        yield from until(lambda: bool(self._reports))
        self._over.set()
        yield from until(
            lambda: not any(reader.is_alive() for reader in self._readers),
            progress=lambda: self._events,
        )

    def line(self) -> str:
        done, events = sum(each.is_done for each in list(self._reports)), self._events
        latest = "".join(f", {bar.name} {bar.done / PAGES:.0%}" for bar in self._bars()[-1:])
        return f"{done:,} reports rendered, {events:,} events followed{latest}"

    def figures(self) -> Figures:
        return Figures(bars=self._bars(), notes=[("so far", self.line())])

    def final_figures(self) -> Figures:
        return Figures(notes=[(self.name, self.line())])

    def invariants(self) -> Iterator[Invariant]:
        """Compare what the readers have read with the pages."""
        problems = tuple(problem for each in list(self._reports) for problem in misread(each))
        yield Invariant("progress", "each event once, in order", self._events, "events", problems)

    def results(self) -> dict[str, Any]:
        done = sum(each.is_done for each in list(self._reports))
        return {"reports": done, "events": self._events, "workers_replaced": self._workers.replaced}

    def faults(self) -> Sequence[ProcessFault]:
        """Kill the worker while it renders."""
        return [ProcessFault(WORKER, partial(self._workers.kill, WORKER))]

    def pids(self) -> Mapping[str, int]:
        return self._workers.pids

    def introduction(self) -> str:
        return "A worker renders reports; readers follow them page by page."

    @property
    def _events(self) -> int:
        """Return how many events were read."""
        return sum(len(each.seen) for each in list(self._reports))

    def _bars(self) -> list[Bar]:
        return [each.bar for each in list(self._reports) if not each.is_done]

    def _read(self, reader: int) -> None:
        """Enqueue one report after the other, and follow each."""
        try:
            number = 0
            while not self._over.is_set():
                number += 1
                title = f"report-{reader + 1}.{number}"
                handle = retried(partial(self._hf.enqueue, render.call(title, PAGES)))
                report = Followed(title, handle)
                self._reports.append(report)
                while not report.is_done:
                    retried(partial(self._follow, report))
        except BaseException as error:  # noqa: BLE001  (the demo ends with it)
            self._failures.append(error)

    def _follow(self, report: Followed) -> None:
        """Continue to follow a report for a while, as a new reader would."""
        # Asked before: what is reported between the timeout and the question must be read, too.
        is_done = report.handle.status().state not in ("queued", "delayed", "running")
        for event in report.handle.events(after=report.after, timeout=FOLLOW_S):
            report.seen.append(event)
        report.is_done = is_done


def misread(report: Followed) -> Iterator[str]:
    """Yield a sentence for each thing that a reader should not have read."""
    events = [each for each in report.seen if isinstance(each, TaskEvent)]
    if len(events) < len(report.seen):
        yield f"{report.title} had gaps"
    if [event.number for event in events] != list(range(1, len(events) + 1)):
        yield f"the numbers of {report.title} are not 1 to {len(events)}"
    pages = [event.data["page"] for event in events if event.kind == "event"]
    # A new run begins at page 1: after a kill, or after a stall longer than the lease. After a
    # stall it has the same attempt number, as the worker gives the report back and counts none.
    if any(page not in (1, before + 1) for before, page in pairwise([0, *pages])):
        yield f"the pages of {report.title} are not in order, or come twice: {pages}"
    if pages[-PAGES:] != list(range(1, PAGES + 1)):
        yield f"the last run of {report.title} did not report each of its {PAGES} pages: {pages}"
