"""`holdfast logs tally`: count lines, from a folder on all cores, or from a feed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ... import BadGeoData, GeoKey, GeoTable, LocalFiles
from ...inspect.formats import counted, size
from ..connection import Embedded, Namespace, Url, connected, fail
from ..exit_codes import FAILED, WRONG_USAGE
from ..log_output import log_to_stderr
from ..options import argument, flag, option
from ..output import AsJson, print_json, print_line
from .counting import count_lines

if TYPE_CHECKING:
    from ... import TallyReport

DIMENSIONS: Final = ("country", "region", "city")

Name = Annotated[str, argument("NAME", "The tally.")]
From = Annotated[
    Path | None, option("DIR", "A folder of logs, or a log; .gz is unpacked.", "--from")
]
Growing = Annotated[
    bool, flag("The files still grow: leave a last line without a line end.", "--growing")
]
Feed = Annotated[str | None, option("FEED", "A feed of logs, and")]
Consumer = Annotated[str | None, option("NAME", "as which of its consumers.")]
Geo = Annotated[
    list[Path] | None, option("FILE", "The table: .mmdb; or .csv of networks, repeatable, and")
]
Locations = Annotated[Path | None, option("FILE", "the .csv of its places.")]


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
    """Count lines `ADDRESS DAY …` by country, region and city, each line once.

    With --from DIR on all cores. Run it again after an interruption, or when
    there is more: no line counts twice.
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
    """Return the table of the options, or end the command."""
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
    """Return the table of these files; end the command if they do not fit together."""
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
