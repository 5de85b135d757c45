"""`holdfast logs tally` and `top`: count lines, and show the most frequent values of a day."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from ... import BadGeoData, GeoKey, GeoTable, LocalFiles
from ...inspect.formats import counted, size
from ..connection import Embedded, Namespace, Url, argument_errors, connected, fail, with_client
from ..exit_codes import FAILED, NOT_FOUND, WRONG_USAGE
from ..log_output import log_to_stderr
from ..options import argument, flag, option
from ..output import AsJson, print_block, print_json, print_line, untrusted
from .counting import count_lines

if TYPE_CHECKING:
    from ... import Count, Holdfast, Tally, TallyReport


Name = Annotated[str, argument("NAME", "The tally.")]
From = Annotated[
    Path | None, option("DIR", "A folder of logs, or a log; .gz is unpacked.", "--from")
]
Growing = Annotated[
    bool, flag("The files still grow: leave a last line without a line end.", "--growing")
]
Feed = Annotated[str | None, option("FEED", "Feed with the files to count; with --consumer.")]
Consumer = Annotated[str | None, option("NAME", "Consumer of the feed that counts its files.")]
Geo = Annotated[
    list[Path] | None,
    option(
        "FILE", "Geo table: a .mmdb file; or .csv files of networks (repeatable) with --locations."
    ),
]
Locations = Annotated[Path | None, option("FILE", "The .csv file with the places of the networks.")]


def tally(
    name: Name,
    from_: From = None,
    growing: Growing = False,
    feed: Feed = None,
    consumer: Consumer = None,
    geo: Geo = None,
    locations: Locations = None,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Count lines `ADDRESS DAY …` by country, region and city, each line exactly once.

    --from DIR uses all cores. After an interruption, or when there are more lines, run
    it again: no line is counted twice.
    """
    if (from_ is None) is (feed is None) or (feed is None) is not (consumer is None):
        fail("give --from DIR, or --feed FEED and --consumer NAME", code=WRONG_USAGE)
    if from_ is not None and not from_.exists():
        fail(f"there is no {str(from_)!r}", code=WRONG_USAGE)
    log_to_stderr(logging.WARNING)
    key = GeoKey(_table(geo, locations))
    with connected(url, embedded, namespace) as hf, _missing_extra():
        if feed is None or consumer is None:
            report = count_lines(hf, name, LocalFiles(from_ or Path(), growing=growing), key, None)
        else:
            source = hf.file_feed(feed)
            report = count_lines(hf, name, source.consumer(consumer), key, source)
    if as_json:
        print_json({"tally": name}, report)
    else:
        _print(name, report)
    if report.damaged:
        raise typer.Exit(FAILED)


@contextmanager
def _missing_extra() -> Iterator[None]:
    """End the command with what to install if a library is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        fail(str(error))


def _table(geo: list[Path] | None, locations: Path | None) -> GeoTable:
    """Return the geo table that the options name. End the command if the options are wrong."""
    if not geo:
        fail("which table of places? Give --geo FILE, as of GeoLite2", code=WRONG_USAGE)
    try:
        with _missing_extra():
            return _read(geo, locations)
    except BadGeoData as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot read {error.filename!r}: {error.strerror}", code=WRONG_USAGE)


def _read(geo: list[Path], locations: Path | None) -> GeoTable:
    """Return the geo table in the files. End the command if they do not make one table."""
    if all(file.suffix == ".csv" for file in geo):
        if locations is None:
            fail("a .csv of networks needs the .csv of its places: --locations", code=WRONG_USAGE)
        return GeoTable.from_geolite2_csv(geo, locations)
    if len(geo) > 1:
        fail("an .mmdb is a whole table: give one --geo", code=WRONG_USAGE)
    return GeoTable.from_mmdb(geo[0])


def _print(name: str, report: TallyReport) -> None:
    files = counted(report.files, "file")
    print_line(f"tally {name!r}: {counted(report.lines, 'line')} of {files}, {size(report.bytes)}")
    for what, number in asdict(report).items():
        if number and what in ("rejected", "damaged", "taken"):
            noun = "line" if what == "rejected" else "file"
            print_line(f"{counted(number, noun)} {what}", style="yellow")


BAR: Final = 30
"""Characters of the longest bar."""

EIGHTHS: Final = " ▏▎▍▌▋▊▉"

Dimension = Annotated[
    str, argument("DIMENSION", "What to count by, such as country, region or city.")
]
Day = Annotated[
    str | None, option("DAY", "Day to show, such as 2011-10-10; by default the last one.")
]
Limit = Annotated[int, option("N", "Number of values.", min=1, max=10_000)]


@with_client()
def top(
    hf: Holdfast,
    name: Name,
    dimension: Dimension = "country",
    day: Day = None,
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """Show the most frequent values of a day, and their share of its lines."""
    tally = hf.tally(name)
    day = _day(tally, name, day)
    lines, rejected = tally.total(day), tally.rejected(day).lines
    counts = tally.top(dimension, day=day, limit=limit)
    if not counts:
        fail(f"tally {name!r} has no {dimension!r} on {day}", code=NOT_FOUND)
    if as_json:
        for each in counts:
            share = {"share": each.lines / lines}
            print_json({"tally": name, "day": day, "dimension": dimension}, each._asdict(), share)
        return
    print_line(f"{day}: {lines:,} lines, {rejected:,} rejected")
    print_block(count_table(counts, dimension, lines))


def _day(tally: Tally, name: str, day: str | None) -> str:
    """Return *day*, or the last day if it is None. End the command if that day has no lines."""
    if day is None:
        days = list(tally.days())
        if not days:
            fail(f"tally {name!r} has no lines", code=NOT_FOUND)
        return days[-1]
    with argument_errors():
        lines = tally.total(day)
    if not lines:
        fail(f"tally {name!r} has no lines of {day}", code=NOT_FOUND)
    return day


def count_table(counts: Sequence[Count], dimension: str, lines: int) -> Table:
    """Return a table of *counts* (at least one) with bars; *lines* is the total of the day."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(untrusted(dimension), overflow="fold")
    table.add_column("lines", justify="right")
    table.add_column("share", justify="right")
    table.add_column(no_wrap=True)
    longest = counts[0].lines
    for each in counts:
        share = f"{each.lines / lines:.1%}"
        bar = Text(_bar(each.lines / longest), "cyan")
        table.add_row(untrusted(each.value), f"{each.lines:,}", share, bar)
    return table


def _bar(part: float) -> str:
    """Return a bar with the share *part* of the longest bar, at least one character."""
    eighths = max(1, round(part * BAR * 8))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
