"""The life of the world: begun, looked after, brought to an end, checked."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from .... import Holdfast
from ....server import status
from ..examples import example_file, load_example
from ..interruption import hear_no_more
from ..own_server import own_server
from .gauge import Gauge
from .ground import NAMESPACE, Ground
from .nemesis import Nemesis, server_of
from .part import TICK_S, Part, Verdict
from .parts import parts_on
from .site import Site
from .visitor import Visitor

SERVER = "server"


class World:
    """All parts on one ground.

    Args:
        ground: theirs.
        parts: in the order in which they come to an end.
        nemesis: kills some of it; None: nobody does.
        gauge: looks at what it costs.
        link: to the dashboard.
    """

    def __init__(
        self,
        ground: Ground,
        parts: Sequence[Part],
        nemesis: Nemesis | None,
        gauge: Gauge,
        link: str,
    ) -> None:
        self.ground = ground
        self.parts = parts
        self.gauge = gauge
        self.link = link
        self.finishing = ""
        self._nemesis = nemesis
        self._began_s = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began_s

    @property
    def struck(self) -> list[str]:
        """What was killed so far."""
        return self._nemesis.struck if self._nemesis else []

    def live(self) -> Iterator[None]:
        """Let it go on for its time; pauses now and then, so that one can look at it."""
        while self.elapsed_s < self.ground.seconds:
            for part in self.parts:
                part.look()
            if self._nemesis:
                self._nemesis.look(self.elapsed_s)
            self.gauge.look()
            yield
            time.sleep(TICK_S)
        if self._nemesis:  # on a slow machine its time may be over between two looks
            self._nemesis.look(self.elapsed_s)

    def finish(self) -> Iterator[None]:
        """Let everything come to an end that was begun; likewise."""
        for part in self.parts:
            self.finishing = part.name
            yield
            yield from part.finish()

    def verdicts(self) -> Iterator[Verdict]:
        """Whether all promises were kept."""
        for part in self.parts:
            yield from part.verdicts()
        yield from self.gauge.verdicts()


@contextmanager
def opened(*, seconds: float, seed: int, port: int, faults: bool) -> Iterator[World]:
    """A world with all its processes; afterwards nothing of it is left.

    Args:
        seconds: how long it goes on.
        seed: of all that is drawn by lot.
        port: of the dashboard; 0 takes a free one.
        faults: whether some of it is killed.

    Raises:
        typer.Exit: the server does not start; that was said.
        WorkersFailed: the dashboard does not.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-")).resolve()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        # In a folder of its own, so that each write is on disk before it is acknowledged.
        server = stack.enter_context(own_server(folder / SERVER))
        shop = load_example(example_file("fakeshop/__init__.py"))
        database = stack.enter_context(shop.database(None))
        hf = stack.enter_context(Holdfast.from_url(server.url, namespace=NAMESPACE))
        ground = Ground(hf, server.url, server.socket, database, folder, seconds, seed)
        site = stack.enter_context(Site(ground, port=port))
        parts = [stack.enter_context(part) for part in parts_on(ground)]
        link = site.link()
        nemesis = None
        if faults:
            every = [fault for part in parts for fault in part.faults()]
            every.append(server_of(folder / SERVER))
            nemesis = Nemesis(every, seconds=seconds, seed=seed)
            stack.enter_context(Visitor(link))
        gauge = Gauge(server.url, partial(_pids, parts, site, folder / SERVER), seconds=seconds)
        stack.callback(gauge.close)
        stack.callback(hear_no_more)  # the last to be added is the first to be done
        yield World(ground, parts, nemesis, gauge, link)


def _pids(parts: Sequence[Part], site: Site, server: Path) -> dict[str, int]:
    """All processes of the world that there are at the moment, by name."""
    pids = {**site.pids}
    for part in parts:
        pids |= part.pids()
    pid = status(server).pid
    return pids if pid is None else {**pids, SERVER: pid}
