"""The report as people read it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from ....inspect.formats import counted, size
from ...logs.top import count_table as chart
from ...output import print_block as show
from ...output import print_line as say
from .report import Report

NAMED = 5  # so many problems are told


def print_summary(report: Report) -> None:
    """Print who has done what, where the players are, and the verdict."""
    say("")
    show(_counters(report))
    if report.countries:
        day = max(report.lines)
        say("")
        say(f"{day}: {report.lines[day]:,} lines")
        show(chart(report.countries, "country", report.lines[day]))
    say("")
    for sign, style, text in _verdict(report):
        say(f"{sign} {text}", style=style)
    say(f"The same days again: --seed {report.seed}", style="dim")


def _counters(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("consumer", no_wrap=True)
    for name in ("logs", "lines", "bytes", "commits"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, told in report.counters.items():
        if told is None:
            table.add_row(name, Text("killed" if name == report.killed else "?", "red"))
        else:
            numbers = (f"{told[what]:,}" for what in ("files", "lines"))
            table.add_row(name, *numbers, size(told["bytes"]), f"{told['commits']:,}")
    return table


def _verdict(report: Report) -> Iterator[tuple[str, str, str]]:
    if report.problems:
        yield "✗", "bold red", f"{len(report.problems):,} counts are not as they must be"
        for problem in report.problems[:NAMED]:
            yield " ", "", problem
        return
    lines, days = sum(report.lines.values()), counted(len(report.lines), "day")
    yield "✓", "bold green", f"{lines:,} lines of {days}, each counted once"
    yield "✓", "bold green", f"{report.rejected:,} lines are no events, and counted as that"
    told = f"{report.killed} was killed when {report.killed_at:,} were counted"
    yield "✓", "bold green", f"{told}; others went on"
