"""The logs demo: four processes count days of events. One of them is killed; no line is lost.

The publishing thread kills the process in the middle of a log, after half of all bytes. So at this
time a consumer holds a log, and more logs follow.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from rich.table import Table
from rich.text import Text

from holdfast import ConsumerStatus, Count, HoldfastError

from ..context import DemoContext
from ..demo import Bar, Cell, Demo, DemoFailed, Figures, Grid, Invariant
from ..example_files import example
from ..options import Seed, number
from ..processes import ProcessGroup
from ..report import counted, size
from .counts import counted_once

FEED: Final = "logs"
TALLY: Final = "daily"
NAMES: Final = ("geo-1", "geo-2", "geo-3", "geo-4")
BUDGET: Final = 8 << 20
LEASE_S: Final = 2.0
"""Lease in seconds; short, so that the user sees another consumer take over the log."""

BEST: Final = 5
BAR_WIDTH: Final = 30
POLL_S: Final = 0.01
STALL_S: Final = 60.0
"""Seconds without progress after which the demo ends: longer than a lease and the start of a
process."""


@dataclass
class LogsDemo(Demo):
    """Count the lines of logs in four processes, and kill one of them.

    The servers of a game have written a log for each day and realm. A feed
    gives each log to one of four processes of `holdfast logs tally`, and uses at
    most 8 MiB of the server's memory. One process is killed with -9 while it
    has a log; another process continues with this log.

    At the end the tally is compared with a direct count of the logs, value by
    value. The exit code is 1 if a line is missing or counted twice.
    """

    name: ClassVar = "logs"
    seed: Seed = None
    days: Annotated[int, number("--days", "Number of days", 1, 31)] = 7
    lines: Annotated[int, number("--lines", "Events per day", 100_000, 10_000_000)] = 200_000

    def start(self, context: DemoContext) -> None:
        """Write the logs; start the counters and the thread that publishes."""
        module, folder = example("logs.py"), context.subfolder("logs")
        self._folder = folder / "days"
        networks, cities = module.write_table(folder)
        module.write_days(self._folder, days=self.days, lines=self.lines, seed=context.seed)
        logs = [log for log in self._folder.rglob("*") if log.is_file()]
        self._sizes = {log.relative_to(self._folder).as_posix(): log.stat().st_size for log in logs}
        self._tally = context.hf.tally(TALLY)
        self._feed = context.hf.file_feed(
            FEED, consumers=NAMES, mode="share", budget=BUDGET, lease=LEASE_S
        )
        self._published: dict[str, int] = {}
        self._killed: str | None = None
        self._killed_at = self._used = 0
        self._days: dict[str, int] = {}
        self._rejected = 0
        self._best: list[Count] = []
        self._consumers: tuple[ConsumerStatus, ...] = ()
        self._failure: Exception | None = None
        command = ["holdfast", "logs", "tally", TALLY, "--feed", FEED, "--geo", str(networks)]
        command += ["--locations", str(cities), "--json", "--consumer"]
        self._counters = ProcessGroup(
            {name: [*command, name] for name in NAMES},
            context.environment(),
            folder,
            once=True,
            replaced_at_most=0,
            apart=True,
        )
        self.opened.enter_context(self._counters)
        self._over = threading.Event()
        self._publishing = threading.Thread(target=self._publish, name="publishing")
        self._publishing.start()
        self.opened.callback(self._stop)
        self._began_s = self._changed_s = time.monotonic()

    def poll(self) -> bool:
        """Read the progress. Return whether the demo goes on.

        Raises:
            ProcessFailed: a counter failed.
            DemoFailed: a log could not be published.
        """
        self._counters.replace_dead()
        before = (self._sent, self._counted, self._used)
        self._read()
        now_s = time.monotonic()
        if (self._sent, self._counted, self._used) != before:
            self._changed_s = now_s
        if self._failure is not None:
            raise DemoFailed(f"a log was not published: {self._failure}")
        # Without progress end the demo: the invariants then report what is missing.
        return not self._counters.done and now_s - self._changed_s < STALL_S

    def finish(self) -> Iterator[None]:
        """Stop the publishing thread and read the final state."""
        self._stop()
        self._read()
        yield

    def line(self) -> str:
        killed = f", {self._killed} killed" if self._killed else ""
        return (
            f"{size(self._sent)} of {size(sum(self._sizes.values()))} sent, "
            f"{self._counted:,} of {self.days * self.lines:,} lines counted{killed}"
        )

    def figures(self) -> Figures:
        sent, all_, used = self._sent, sum(self._sizes.values()), self._used
        bars = (
            Bar("sent", sent, all_, f"{size(sent)} of {size(all_)}"),
            Bar("counted", self._counted, self.days * self.lines, f"{self._counted:,} lines"),
            Bar("memory", used, BUDGET, f"{size(used)} of {size(BUDGET)}"),
        )
        states: dict[bool, Cell] = {
            True: Text("× killed", "red"),
            False: Text("● counts", "green"),
        }
        rows = [
            [each.name, states[each.name == self._killed], f"{each.files}", size(each.bytes)]
            for each in self._consumers
        ]
        columns = ("consumer", "state", "logs", "bytes")
        return Figures(bars, grids=[Grid(columns, rows, left=("state",))], extra=self._chart())

    def final_figures(self) -> Figures:
        rows: list[list[Cell]] = []
        for name, report in self._reports().items():
            if report is None:
                rows.append([name, Text("killed" if name == self._killed else "?", "red")])
            else:
                numbers = [f"{report[what]:,}" for what in ("files", "lines")]
                rows.append([name, *numbers, size(report["bytes"]), f"{report['commits']:,}"])
        columns = ("consumer", "logs", "lines", "bytes", "commits")
        at = f"when {self._killed_at:,} lines were counted; others went on"
        notes = [("killed", f"{self._killed}, {at}"), ("rejected", f"{self._rejected:,} lines")]
        return Figures(notes=notes, grids=[Grid(columns, rows)], extra=self._chart())

    def invariants(self) -> Iterator[Invariant]:
        """Compare the tally with a direct count, and check that a consumer was killed."""
        yield counted_once(self._tally, self._folder)
        kills = int(self._killed is not None)
        yield Invariant("files", "a killed consumer's log goes to another", kills, "kills")

    def results(self) -> dict[str, Any]:
        return {
            "lines": self._days,
            "rejected": self._rejected,
            "bytes": sum(self._sizes.values()),
            "seconds": round(self._changed_s - self._began_s, 3),
            "consumer_killed": self._killed,
            "killed_at": self._killed_at,
            "counters": self._reports(),
            "countries": [each._asdict() for each in self._best],
        }

    def introduction(self) -> str:
        days = counted(self.days, "day")
        return (
            f"The game wrote {self.lines:,} events a day, for {days}.\n"
            f"  {len(NAMES)} processes count them by country, region and city."
        )

    @property
    def _sent(self) -> int:
        return sum(self._published.values())

    @property
    def _counted(self) -> int:
        return sum(self._days.values()) + self._rejected

    def _read(self) -> None:
        status = self._feed.status()
        self._used = status.used
        self._consumers = status.consumers or self._consumers  # a feed that is over has none
        self._days = self._tally.days()
        self._rejected = self._tally.rejected().lines
        if self._days:
            self._best = self._tally.top("country", day=max(self._days), limit=BEST)

    def _reports(self) -> dict[str, dict[str, Any] | None]:
        """Return name → report of each counter; None if it was killed or has not ended."""
        outputs = {name: self._counters.output(name) for name in NAMES}
        return {name: json.loads(text) if text else None for name, text in outputs.items()}

    def _chart(self) -> list[Table]:
        """Return a chart of the countries with the most lines on the last day."""
        if not self._best:
            return []
        day = max(self._days)
        table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for name in (f"{day}", "lines", "share", ""):
            table.add_column(name, justify="right" if name in ("lines", "share") else "left")
        for each in self._best:
            bar = "█" * max(1, round(BAR_WIDTH * each.lines / self._best[0].lines))
            share = f"{each.lines / self._days[day]:.1%}"
            table.add_row(each.value, f"{each.lines:,}", share, Text(bar, "cyan"))
        return [table]

    def _publish(self) -> None:
        try:
            done = self._feed.publish_dir(self._folder, on_progress=self._note)
            self._failure = next(iter(done.failed.values()), None)
            self._feed.seal()
        except Exception as error:  # noqa: BLE001  (poll raises it)
            if not self._over.is_set():
                self._failure = error

    def _note(self, name: str, published: int) -> None:
        """Record how many bytes of a log are published. In the middle of all logs, kill a
        counter."""
        self._published[name] = published
        in_the_middle = self._sent > sum(self._sizes.values()) / 2 and published < self._sizes[name]
        if in_the_middle and self._killed is None:
            self._kill()

    def _kill(self) -> None:
        """Wait until lines were counted, then kill a counter that holds a log."""
        while not self._over.wait(POLL_S):
            holders = self._feed.status().holders
            counted = sum(self._tally.days().values())
            if holders and counted > self.days * self.lines / 8:
                self._counters.kill(holders[0], replace=False)
                self._killed, self._killed_at = holders[0], counted
                return

    def _stop(self) -> None:
        """End the publishing thread, even if it waits for consumers. Idempotent."""
        self._over.set()
        if self._publishing.is_alive():
            with suppress(HoldfastError):
                self._feed.abort()
            self._publishing.join()
