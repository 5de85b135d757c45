"""The logs as a part of the world: kept by two consumers, counted by two others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from .... import HoldfastError
from ..crew import Crew
from ..examples import example_file, load_example
from ..world.ground import Ground
from ..world.part import Fault, Part, Verdict, until
from .carrier import COUNTERS, KEEPERS, SHARED
from .report import differences

TALLY: Final = "daily"
DAYS: Final = 10
"""At least; in a long life so many that one comes every `DAY_S`."""

DAY_S: Final = 15.0
LINES: Final = 3_000
"""Of a day."""

PUBLISHER: Final = "publisher"
MODULE: Final = "holdfast.cli.demo.logs.carrier"

Digests = Mapping[str, str]
"""By the name of a file, the digest of its bytes."""


class Logs(Part):
    """Days of events, published for as long as the world lasts."""

    name: ClassVar = "logs"

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self._ground = ground
        self._example = load_example(example_file("logs.py"))
        self._room = ground.room("logs")
        self._days = self._room / "days"
        self._kept = {name: self._room / name for name in KEEPERS}
        self._tally = ground.hf.tally(TALLY)
        self._lines = 0
        self._days_coming = max(DAYS, round(ground.seconds / DAY_S))

    def begin(self) -> None:
        """Write the logs, and let them be published, kept and counted."""
        networks, places = self._example.write_table(self._room)
        days, seed = self._days_coming, self._ground.seed
        self._example.write_days(self._days, days=days, lines=LINES, seed=seed)
        count = ["holdfast", "logs", "tally", TALLY, "--feed", SHARED, "--geo", str(networks)]
        count += ["--locations", str(places), "--consumer"]
        publish = [MODULE, "publish", str(self._days), str(time.time()), str(self._ground.seconds)]
        commands = {PUBLISHER: publish, **{name: [*count, name] for name in COUNTERS}}
        for name, folder in self._kept.items():
            folder.mkdir()
            commands[name] = [MODULE, "keep", str(folder), name]
        self._crew = Crew(
            commands,
            self._ground.environment(),
            self._room,
            once=True,
            # Who counts ends when the server is away for long, and is started again.
            replaced_at_most=self._days_coming,
        )
        self.opened.enter_context(self._crew)

    def look(self) -> None:
        """Replace who died."""
        self._crew.mend()

    def told(self) -> str:
        """Lines counted, files kept."""
        with suppress(HoldfastError):  # the server is away: the last number will do
            self._lines = sum(self._tally.days().values())
        kept = sum(len(list(folder.rglob("*.log"))) for folder in self._kept.values())
        lines = self._days_coming * LINES
        return f"{self._lines:,} of {lines:,} lines counted, {kept:,} files kept"

    def faults(self) -> Sequence[Fault]:
        """Who publishes, who keeps and who counts is killed, and goes on."""
        names = (KEEPERS[0], COUNTERS[0], PUBLISHER)
        return [Fault(name, partial(self._crew.kill, name)) for name in names]

    def pids(self) -> Mapping[str, int]:
        """Its processes at the moment, by name."""
        return self._crew.pids

    def finish(self) -> Iterator[None]:
        """Wait until everything is published, kept and counted."""
        yield from until(self._over, moved=self.told)

    def verdicts(self) -> Iterator[Verdict]:
        """From the logs themselves."""
        digests = digests_of(self._days)
        problems: list[str] = []
        for name, folder in self._kept.items():
            problems += unlike(name, digests, digests_of(folder))
        promise = "every byte, in order, to each consumer"
        yield Verdict("files", promise, len(digests) * len(self._kept), "files", tuple(problems))

        direct = self._example.DirectCount.of(self._days)
        found = tuple(differences(self._tally, direct))
        lines = sum(direct.lines.values()) + direct.rejected
        yield Verdict("tallies", "each line is counted exactly once", lines, "lines", found)

    def _over(self) -> bool:
        self._crew.mend()
        return self._crew.done


def digests_of(folder: Path) -> Digests:
    """Of all logs in a folder, and in those within."""
    return {
        log.relative_to(folder).as_posix(): hashlib.sha256(log.read_bytes()).hexdigest()
        for log in folder.rglob("*.log")
    }


def unlike(consumer: str, published: Digests, kept: Digests) -> Iterator[str]:
    """Files that a consumer lacks, has otherwise, or should not have, in sentences."""
    for name in sorted({*published, *kept}):
        if name not in kept:
            yield f"{consumer} has no {name}"
        elif name not in published:
            yield f"{consumer} has {name}, which nobody published"
        elif kept[name] != published[name]:
            yield f"{consumer} has other bytes in {name}"
