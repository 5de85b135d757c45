"""`holdfast logs top`: what most lines of a day have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from ..codes import NOT_FOUND, WRONG_USAGE
from ..connection import Embedded, Namespace, Url, connected, fail
from ..output import AsJson, say, show, show_json, stranger

if TYPE_CHECKING:
    from ... import Count, Tally

BAR: Final = 30
"""Columns of the longest bar."""

EIGHTHS: Final = " ▏▎▍▌▋▊▉"

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tally.")]
Dimension = Annotated[
    str, typer.Argument(metavar="DIMENSION", help="Such as country, region or city.")
]
Day = Annotated[
    str | None, typer.Option("--day", metavar="DAY", help="As in 2011-10-10; else the last one.")
]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="How many values.")
]


def top(
    name: Name,
    dimension: Dimension = "country",
    day: Day = None,
    limit: Limit = 10,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Show the values that most lines of a day have, and which part of them that is."""
    with connected(url, embedded, namespace, create=False) as hf:
        tally = hf.tally(name)
        day = _day(tally, name, day)
        lines, rejected = tally.total(day), tally.rejected(day).lines
        counts = tally.top(dimension, day=day, limit=limit)
    if not counts:
        fail(f"tally {name!r} has no {dimension!r} on {day}", code=NOT_FOUND)
    if as_json:
        for each in counts:
            share = {"share": each.lines / lines}
            show_json({"tally": name, "day": day, "dimension": dimension}, each._asdict(), share)
        return
    say(f"{day}: {lines:,} lines, {rejected:,} rejected")
    show(chart(counts, dimension, lines))


def _day(tally: Tally, name: str, day: str | None) -> str:
    """The day that is meant; ends the command if there is none."""
    if day is None:
        days = list(tally.days())
        if not days:
            fail(f"nothing is counted in tally {name!r}", code=NOT_FOUND)
        return days[-1]
    try:
        lines = tally.total(day)
    except ValueError as error:
        fail(str(error), code=WRONG_USAGE)
    if not lines:
        fail(f"tally {name!r} has no lines of {day}", code=NOT_FOUND)
    return day


def chart(counts: Sequence[Count], dimension: str, lines: int) -> Table:
    """Bars for *counts*, one at least, of a day with so many lines."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(stranger(dimension), overflow="fold")
    table.add_column("lines", justify="right")
    table.add_column("share", justify="right")
    table.add_column(no_wrap=True)
    longest = counts[0].lines
    for each in counts:
        share = f"{each.lines / lines:.1%}"
        bar = Text(_bar(each.lines / longest), "cyan")
        table.add_row(stranger(each.value), f"{each.lines:,}", share, bar)
    return table


def _bar(part: float) -> str:
    """A bar of that part of the longest one; never none at all."""
    eighths = max(1, round(part * BAR * 8))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
