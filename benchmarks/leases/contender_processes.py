"""The processes of one contender, and their contests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn

from ..harness import BenchmarkRun
from ..orders import ContenderFailed, ControlledProcess, ProcessLauncher
from ..venvs import ROOT, interpreter
from .contender import Brief
from .contest import Contest
from .lineup import PACKAGES, Entry
from .occupancy import Occupancy
from .visits import Rules

LEASE_S: Final = 10

NAME: Final = "contested"
"""What all want in a contest."""

_STARTING_S: Final = 0.1
"""Until everybody has heard that there is a contest."""

_LATE_S: Final = 0.1
"""What begins is not counted for so long, until everybody takes part."""

_REHEARSAL_S: Final = 0.3
_GLIMPSE_HOLD_S: Final = 0.001
_FEW: Final = 4


class ContenderProcesses:
    """The processes of one contender.

    Args:
        entry: who it is.
        folder: of its own, for its files.
        url: of the server.
        processes: how many.
        callers: threads or coroutines in each.
        lease_s: of whatever they hold.
    """

    def __init__(
        self,
        entry: Entry,
        folder: Path,
        url: str,
        *,
        processes: int = 1,
        callers: int = 1,
        lease_s: int = LEASE_S,
    ) -> None:
        self.entry = entry
        self.callers = callers
        self._launcher = ProcessLauncher(entry.name, ROOT, {}, folder / "output")
        occupancy = folder / "occupancy"
        Occupancy.make(occupancy, processes * callers)
        python = interpreter(entry.library or "", PACKAGES.get(entry.library or ""))
        command: list[str | Path] = [python, "-m", f"benchmarks.leases.contenders.{entry.adapter}"]
        options = dict(entry.options)
        briefs = [
            Brief(url, str(occupancy), number * callers, callers, lease_s, options)
            for number in range(processes)
        ]
        self.processes = [
            ControlledProcess(self._launcher, [*command, json.dumps(asdict(brief))])
            for brief in briefs
        ]

    def contest(
        self,
        seconds: float,
        *,
        hold_s: float = 0.0,
        limit: int | None = None,
        callers: int | None = None,
    ) -> Contest:
        """Let all callers of all processes want the same place for so long.

        Args:
            seconds: of it.
            hold_s: how long each stays inside.
            limit: of a semaphore; None: it is a lock.
            callers: of each process that take part; None: all.
        """
        begin_ns = time.monotonic_ns() + round(_STARTING_S * 1e9)
        count_ns = begin_ns + round(_LATE_S * 1e9)
        end_ns = count_ns + round(seconds * 1e9)
        rules = Rules(NAME, limit, callers, hold_s, begin_ns, count_ns, end_ns)
        for process in self.processes:
            process.send("contend", **asdict(rules))
        return Contest.of(seconds, limit or 1, [process.answer() for process in self.processes])

    def glimpse(self, seconds: float, limit: int | None = None) -> Contest:
        """Run a contest of a few callers of each process, to see whether a lock excludes."""
        callers = min(self.callers, _FEW)
        return self.contest(seconds, hold_s=_GLIMPSE_HOLD_S, limit=limit, callers=callers)

    def rehearse(self, limit: int | None = None) -> None:
        """Start and connect everybody, and have a short contest."""
        for process in self.processes:
            process.order("connect", name=NAME, limit=limit)
        self.glimpse(_REHEARSAL_S, limit)

    def order(self, verb: str, **order: Any) -> dict[str, Any]:
        """Have its first process do something, and wait for its answer.

        Raises:
            ContenderFailed: it gave none.
        """
        return self.processes[0].order(verb, **order)

    def fail(self, what: str) -> NoReturn:
        """Raise `ContenderFailed`, with what its processes printed."""
        self._launcher.fail(what)

    def close(self) -> None:
        """End all its processes."""
        for process in self.processes:
            process.kill()


@contextmanager
def running_contenders(
    bench: BenchmarkRun, entries: Sequence[Entry], **settings: Any
) -> Iterator[list[ContenderProcesses]]:
    """Yield processes for each of *entries*, in this order.

    *settings* are those of `ContenderProcesses`.
    """
    with ExitStack() as opened:
        found = []
        for entry in entries:
            folder = opened.enter_context(TemporaryDirectory(prefix="holdfast-bench-"))
            contender = ContenderProcesses(entry, Path(folder), bench.server.url, **settings)
            opened.callback(contender.close)
            found.append(contender)
        yield found


def rehearsed(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], limit: int | None = None
) -> tuple[list[ContenderProcesses], list[str]]:
    """Return those of *contenders* that work at all, and what is wrong with the others.

    Raises:
        ContenderFailed: one that needs nothing but our own packages does not.
    """
    able, failures = [], []
    for contender in contenders:
        bench.server.clear()
        try:
            contender.rehearse(limit)
        except ContenderFailed as failure:
            if contender.entry.library is None:
                raise
            failures.append(f"left out: {failure}")
        else:
            able.append(contender)
    return able, failures
