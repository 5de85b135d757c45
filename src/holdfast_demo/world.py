"""The world demo: run all demos at once on one server, with the dashboard."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Final

import typer

from holdfast.server import status

from .chat import ChatDemo
from .context import DemoContext
from .dashboard import DashboardProcess, DashboardVisitor, ShortLink
from .demo import Bar, Demo, Figures, Invariant, ProcessFault
from .downloads import DownloadsDemo
from .example_files import example
from .logs.feeds import LogFeedsDemo
from .mail.bursts import MailBurstsDemo
from .market.guarded import GuardedMarketDemo
from .nemesis import kill_server
from .options import Seed
from .reports import ReportsDemo
from .resources import SERVER, ResourceMonitor
from .shop import ShopDemo
from .traffic import TrafficDemo

SHOWN_S: Final = 600.0
CHECKED_S: Final = 60.0
"""Default seconds with --check, and without a terminal, where Ctrl-C is not possible."""

PHONES: Final = 12
PLAYERS: Final = 3
THINKS_S: Final = 0.25
SAMPLES: Final = 1_000


@dataclass
class WorldDemo(Demo):
    """Show Holdfast at work.

    All demos run at once on their own server: players trade, open pages and
    write to each other, phones go through tunnels, a shop sells from
    PostgreSQL, crawlers download, reports are rendered, mails and logs are
    processed. A link to the
    dashboard is printed. It ends with Ctrl-C, or after ten minutes; without a
    terminal after one.

    With --check it takes a minute. Workers, consumers, a refresher and the
    server are killed. At the end every promise is checked against independent
    records; the exit code is 1 if one was not kept.

    With a command, only that demo runs.
    """

    name: ClassVar = "world"
    opening: ClassVar = "Fake Game, Fake Garage and Fake Web Retailer open …"
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            min=5.0,
            max=7_200.0,
            help="Seconds that it runs, 5 to 7200.",
            show_default="600; with --check, or without a terminal, 60",
        ),
    ] = None
    check: Annotated[
        bool, typer.Option("--check", help="Kill some of it, and check every promise at the end.")
    ] = False
    seed: Seed = None
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help="Port of the dashboard; 0: a free one."
        ),
    ] = 0

    def check_options(self) -> None:
        """Set the duration: the one that the user gave, or a default."""
        usual_s = SHOWN_S if sys.stdout.isatty() and not self.check else CHECKED_S
        self.duration_s = self.seconds or usual_s

    def start(self, context: DemoContext) -> None:
        """Start the dashboard and all demos."""
        assert context.server_folder
        self._folder = context.server_folder
        self._finishing = ""
        self._database = self.opened.enter_context(example("fakeshop/__init__.py").database(None))
        self._site = self.opened.enter_context(DashboardProcess(context, port=self.port))
        self._demos = list(self._started(context))
        link = self._site.link()
        self._link = self.opened.enter_context(ShortLink(link))
        if self.check:
            self.opened.enter_context(DashboardVisitor(link))
        self._monitor = ResourceMonitor(context.url, self.pids, seconds=self.duration_s)
        self.opened.callback(self._monitor.close)
        self._faults = [fault for demo in self._demos for fault in demo.faults()]
        self._faults.append(ProcessFault(SERVER, partial(kill_server, self._folder)))
        self._began_s = time.monotonic()

    def poll(self) -> bool:
        if time.monotonic() - self._began_s >= self.duration_s:
            return False
        for demo in self._demos:
            demo.poll()
        self._monitor.poll()
        return True

    def finish(self) -> Iterator[None]:
        """Finish one demo after the other, with --check only."""
        for demo in self._demos if self.check else ():
            self._finishing = demo.name
            yield
            yield from demo.finish()

    def line(self) -> str:
        """Return the figures of one demo, of another one each second."""
        if self._finishing:
            return f"over; waiting for {self._finishing}"
        elapsed_s = time.monotonic() - self._began_s
        demo = self._demos[int(elapsed_s) % len(self._demos)]
        return f"of {self.duration_s:g} s  {demo.name}: {demo.line()}"

    def figures(self) -> Figures:
        elapsed_s = time.monotonic() - self._began_s
        left = f"{min(elapsed_s, self.duration_s):.0f} s of {self.duration_s:g}; Ctrl-C ends it"
        if self._finishing:
            left = self.line()
        return Figures(
            bars=[Bar("time", min(elapsed_s, self.duration_s), self.duration_s, left)],
            notes=[(demo.name, demo.line()) for demo in self._demos],
            extra=[f"dashboard: {self._link}"],
        )

    def final_figures(self) -> Figures:
        seconds = min(time.monotonic() - self._began_s, self.duration_s)
        ran = ("ran for", f"{seconds:.0f} s")
        return Figures(notes=[ran, *((demo.name, demo.line()) for demo in self._demos)])

    def hints(self) -> Iterator[str]:
        if not self.check:
            yield "holdfast demo --check kills processes and the server, and checks every promise"

    def invariants(self) -> Iterator[Invariant]:
        """Yield the promises of all demos."""
        for demo in self._demos if self.check else ():
            yield from demo.invariants()
        yield from self._monitor.invariants() if self.check else ()

    def results(self) -> dict[str, Any]:
        return {"seconds": self.duration_s, "costs": self._monitor.results()}

    def introduction(self) -> str:
        own = "a PostgreSQL of its own"
        if self._database.startswith("sqlite"):
            own = "SQLite; with holdfast[bench] it has a PostgreSQL of its own"
        return f"The dashboard, to look at and to operate: {self._link}\n  The shop has {own}."

    def faults(self) -> Sequence[ProcessFault]:
        """Return the faults of all demos and of the server."""
        return self._faults if self.check else ()

    def pids(self) -> Mapping[str, int]:
        pids = dict(self._site.pids)
        for demo in self._demos:
            pids |= demo.pids()
        pid = status(self._folder).pid
        return pids if pid is None else {**pids, SERVER: pid}

    def _started(self, context: DemoContext) -> Iterator[Demo]:
        """Start all demos, in the order in which they finish. The mail demo is the last, because it
        sends mails for the sales of the shop."""
        shop = ShopDemo(self._database)
        chat = ChatDemo(seconds=self.duration_s, clients=PHONES)
        traffic = TrafficDemo(players=PLAYERS, thinks_s=THINKS_S, samples=SAMPLES)
        for demo in (
            shop,
            GuardedMarketDemo(self.duration_s),
            DownloadsDemo(),
            ReportsDemo(),
            traffic,
            chat,
            LogFeedsDemo(self.duration_s),
            MailBurstsDemo(shop),
        ):
            demo.opened = self.opened.enter_context(ExitStack())
            demo.start(context)
            yield demo
