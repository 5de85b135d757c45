"""Lines of a log by country, region and city: from a local file, and through a feed.

Ours are committed to the server; the time for that is counted.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Final

from holdfast import GeoKey, GeoTable, Holdfast, LocalFiles
from holdfast.files.chunk import BLOCK, WINDOW

from ..harness import BenchmarkRun, Case, best, comparison, interleaved
from ..report import Table, Target
from . import rivals
from .sample import write_log, write_table

LINES: Final = 10_000_000
TEXTBOOK_PART: Final = 0.02
"""It would take too long with as many."""

DIMENSIONS: Final = ("country", "region", "city")

POLARS_TARGET: Final = 0.5
TEXTBOOK_TARGET: Final = 8.0
FEED_TARGET: Final = 0.25
CALLS_TARGET: Final = 1.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure a table of 3 million networks, and days of a million lines."""
    lines = bench.scaled(LINES)
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        folder = Path(name)
        log = folder / "game.log"
        write_log(log, lines)
        table = GeoTable.from_geolite2_csv(*write_table(folder))
        local = Case("holdfast, local file", _local(hf, log, table), lambda _: bench.server.clear())
        polars, *others = _rivals(log, table, len(DIMENSIONS))
        fed = Case("holdfast, feed", _fed(hf, log, table), lambda _: bench.server.clear())
        cases = [local, polars, *others, fed]
        samples = interleaved(cases, bench.fewer(6), lines, bench.server)
        calls = [_calls(bench, work, lines) for work in (local.work, fed.work)]
        calls[1] -= math.ceil(log.stat().st_size / BLOCK / WINDOW)
        targets = [
            best(samples, local, [polars], POLARS_TARGET),
            best(samples, fed, [local], FEED_TARGET),
            _few("of a local file", calls[0], lines),
            _few("through a feed, beside those with chunks", calls[1], lines),
        ]
        title = f"{lines:,} lines by country, region and city; 3,000,000 networks"
        yield comparison(title, samples, local, [polars, *others, fed], targets)
        yield _by_country(bench, hf, log, table, lines)


def _by_country(bench: BenchmarkRun, hf: Holdfast, log: Path, table: GeoTable, lines: int) -> Table:
    work = _local(hf, log, table, DIMENSIONS[:1])
    local = Case("holdfast, local file", work, lambda _: bench.server.clear())
    loop = Case("textbook", rivals.textbook(log, table), share=TEXTBOOK_PART)
    others = [loop, *_rivals(log, table, 1)]
    samples = interleaved([local, *others], bench.fewer(6), lines, bench.server)
    targets = [best(samples, local, [loop], TEXTBOOK_TARGET)]
    title = f"{lines:,} lines by country; 3,000,000 networks"
    return comparison(title, samples, local, others, targets)


def _rivals(log: Path, table: GeoTable, dimensions: int) -> list[Case]:
    """Return Polars, and DuckDB if it is installed."""
    cases = [Case("Polars, one query", rivals.polars(log, table, dimensions))]
    if duck := rivals.duckdb(log, table, dimensions):
        cases.append(Case("DuckDB, one query", duck))
    return cases


def _local(
    hf: Holdfast, log: Path, table: GeoTable, dimensions: Sequence[str] = DIMENSIONS
) -> Callable[[int], object]:
    numbers = count()

    def work(lines: int) -> None:
        tally = hf.tally(f"local {next(numbers)}")
        report = tally.aggregate(LocalFiles(log), key=GeoKey(table, dimensions=dimensions))
        assert report.lines == lines

    return work


def _fed(hf: Holdfast, log: Path, table: GeoTable) -> Callable[[int], object]:
    """Published and counted by two threads of this process."""
    numbers = count()

    def work(lines: int) -> None:
        number = next(numbers)
        feed = hf.file_feed(f"feed {number}", consumers=["one"])

        def publish() -> None:
            feed.publish(log)
            feed.seal()

        with ThreadPoolExecutor(1) as pool:
            publishing = pool.submit(publish)
            tally = hf.tally(f"fed {number}")
            report = tally.aggregate(feed.consumer("one"), key=GeoKey(table))
            publishing.result()
        assert report.lines == lines

    return work


def _calls(bench: BenchmarkRun, work: Callable[[int], object], lines: int) -> int:
    """Return how many scripts a tally of the log runs on the server.

    What is read without a script is the chunks, and a few values at the beginning of a file.
    """
    bench.server.clear()
    bench.server.forget_statistics()
    work(lines)
    return bench.server.spent_on("evalsha").calls


def _few(what: str, calls: int, lines: int) -> Target:
    each = calls / lines * 10_000
    return Target(f"calls for 10,000 lines {what}", each, CALLS_TARGET, at_least=False)
