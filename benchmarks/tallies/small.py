"""A folder of many small logs by country, region and city: what a file costs, beside its lines."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Final

from holdfast import GeoKey, GeoTable, Holdfast, LocalFiles

from ..harness import BenchmarkRun, Case, comparison, interleaved
from ..report import Table, Target
from . import rivals
from .sample import write_log, write_table

FILES: Final = 1_000
LINES: Final = 7
"""Of each file."""

MS_TARGET: Final = 3.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure many small files; each is a commit of its own."""
    files = bench.scaled(FILES)
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        logs = _folder(Path(name), files)
        table = GeoTable.from_geolite2_csv(*write_table(Path(name)))
        ours = Case("holdfast", _counted(hf, logs, table), lambda _: bench.server.clear())
        loop = Case("textbook", rivals.textbook(logs, table))
        samples = interleaved([ours, loop], bench.rounds, files, bench.server)
        ms = median(1000 * (one.client_s or 0.0) for one in samples[ours.name])
        target = Target("ms of CPU for a file", ms, MS_TARGET, at_least=False)
        yield comparison(f"files of {LINES} lines", samples, ours, [loop], [target])


def _folder(folder: Path, files: int) -> Path:
    """Write so many logs, and return their folder."""
    log, logs = folder / "game.log", folder / "logs"
    write_log(log, files * LINES)
    logs.mkdir()
    with log.open("rb") as lines:
        for n in range(files):
            (logs / f"{n}.log").write_bytes(b"".join(islice(lines, LINES)))
    return logs


def _counted(hf: Holdfast, logs: Path, table: GeoTable) -> Callable[[int], object]:
    numbers = count()

    def work(files: int) -> None:
        report = hf.tally(f"small {next(numbers)}").aggregate(LocalFiles(logs), key=GeoKey(table))
        assert (report.files, report.lines) == (files, files * LINES)

    return work
