"""`holdfast logs top`: the most frequent values of a day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from rich.table import Table
from rich.text import Text

from ..connection import fail, with_client
from ..exit_codes import NOT_FOUND, WRONG_USAGE
from ..options import argument, option
from ..output import AsJson, print_block, print_json, print_line, untrusted

if TYPE_CHECKING:
    from ... import Count, Holdfast, Tally

BAR: Final = 30
"""Columns of the longest bar."""

EIGHTHS: Final = " ▏▎▍▌▋▊▉"

Name = Annotated[str, argument("NAME", "The tally.")]
Dimension = Annotated[str, argument("DIMENSION", "Such as country, region or city.")]
Day = Annotated[str | None, option("DAY", "As in 2011-10-10; by default the last one.")]
Limit = Annotated[int, option("N", "How many values.", min=1, max=10_000)]


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
    """Return *day* or the last one; end the command if it has no lines."""
    if day is None:
        days = list(tally.days())
        if not days:
            fail(f"tally {name!r} has no lines", code=NOT_FOUND)
        return days[-1]
    try:
        lines = tally.total(day)
    except ValueError as error:
        fail(str(error), code=WRONG_USAGE)
    if not lines:
        fail(f"tally {name!r} has no lines of {day}", code=NOT_FOUND)
    return day


def count_table(counts: Sequence[Count], dimension: str, lines: int) -> Table:
    """Return *counts*, at least one, with bars; their day has so many *lines*."""
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
    """Return a bar of that part of the longest one, never an empty one."""
    eighths = max(1, round(part * BAR * 8))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
