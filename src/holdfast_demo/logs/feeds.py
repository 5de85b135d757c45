"""The logs in the world demo: two consumers save the logs, two others count their lines."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from holdfast import HoldfastError

from ..context import DemoContext
from ..demo import Demo, Invariant, ProcessFault, until
from ..example_files import example
from ..processes import ProcessGroup
from .carrier import COUNTERS, KEEPERS, SHARED
from .counts import counted_once

TALLY: Final = "daily"
DAYS: Final = 10
"""Minimum number of days in the logs; a long run has one every `DAY_S`."""

DAY_S: Final = 15.0
LINES: Final = 3_000
"""Number of lines of each day."""

PUBLISHER: Final = "publisher"
MODULE: Final = "holdfast_demo.logs.carrier"

Digests = Mapping[str, str]
"""Name of a file → the digest of its bytes."""


class LogFeedsDemo(Demo):
    """Publish days of events to two feeds for *seconds*. Save them and count their lines."""

    name: ClassVar = "logs"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._counted = 0
        self._days_coming = max(DAYS, round(seconds / DAY_S))

    def start(self, context: DemoContext) -> None:
        """Write the logs; start the publisher and the consumers."""
        module, folder = example("logs.py"), context.subfolder("logs")
        self._days = folder / "days"
        self._kept = {name: folder / name for name in KEEPERS}
        self._tally = context.hf.tally(TALLY)
        networks, cities = module.write_table(folder)
        module.write_days(self._days, days=self._days_coming, lines=LINES, seed=context.seed)
        count = ["holdfast", "logs", "tally", TALLY, "--feed", SHARED, "--geo", str(networks)]
        count += ["--locations", str(cities), "--consumer"]
        publish = [MODULE, "publish", str(self._days), str(time.time()), str(self._seconds)]
        commands = {PUBLISHER: publish, **{name: [*count, name] for name in COUNTERS}}
        for name, kept in self._kept.items():
            kept.mkdir()
            commands[name] = [MODULE, "keep", str(kept), name]
        self._processes = ProcessGroup(
            commands,
            context.environment(),
            folder,
            once=True,
            # A counter ends if the server is unavailable for long, and is then started again.
            replaced_at_most=self._days_coming,
        )
        self.opened.enter_context(self._processes)

    def poll(self) -> bool:
        self._processes.replace_dead()
        return not self._processes.done

    def line(self) -> str:
        with suppress(HoldfastError):  # show the last number while the server is unavailable
            self._counted = sum(self._tally.days().values())
        kept = sum(len(list(folder.rglob("*.log"))) for folder in self._kept.values())
        lines = self._days_coming * LINES
        return f"{self._counted:,} of {lines:,} lines counted, {kept:,} files kept"

    def faults(self) -> Sequence[ProcessFault]:
        """Kill the publisher, a consumer that saves files, and a consumer that counts lines."""
        names = (KEEPERS[0], COUNTERS[0], PUBLISHER)
        return [ProcessFault(name, partial(self._processes.kill, name)) for name in names]

    def pids(self) -> Mapping[str, int]:
        return self._processes.pids

    def finish(self) -> Iterator[None]:
        """Wait until all logs are published, saved and counted."""
        yield from until(lambda: not self.poll(), progress=self.line)

    def invariants(self) -> Iterator[Invariant]:
        """Compare the files and the tally with the logs."""
        digests = digests_of(self._days)
        problems: list[str] = []
        for name, folder in self._kept.items():
            problems += unlike(name, digests, digests_of(folder))
        promise = "every byte, in order, to each consumer"
        yield Invariant("files", promise, len(digests) * len(self._kept), "files", (*problems,))
        yield counted_once(self._tally, self._days)


def digests_of(folder: Path) -> Digests:
    """Return the digests of all logs in *folder* and in its subfolders."""
    return {
        log.relative_to(folder).as_posix(): hashlib.sha256(log.read_bytes()).hexdigest()
        for log in folder.rglob("*.log")
    }


def unlike(consumer: str, published: Digests, kept: Digests) -> Iterator[str]:
    """Yield a sentence for each file that a consumer lacks, has with other content, or should not
    have."""
    for name in sorted({*published, *kept}):
        if name not in kept:
            yield f"{consumer} has no {name}"
        elif name not in published:
            yield f"{consumer} has {name}, which was never published"
        elif kept[name] != published[name]:
            yield f"{consumer} has other bytes in {name}"
