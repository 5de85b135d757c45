"""The report as people read it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ....inspect.formats import counted
from ...output import printable
from ..printing import bad, good, notes, print_report
from .report import Report, Row

NAMED = 5  # so many problems are told


def print_summary(report: Report, console: Console) -> None:
    """Print the table, what happened meanwhile, and the verdict."""
    print_report(console, _table(report), "", notes(_facts(report)), "", *_verdict(report))


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for name in "places", "written", "to deliver", "delivered", "missing":
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(*_cells("one-to-one messages", report.mailboxes))
    table.add_row(*_cells("group chats", report.chats))
    return table


def _cells(name: str, row: Row) -> Iterator[str | Text]:
    missing = row.to_deliver - row.delivered
    yield name
    yield from (f"{n:,}" for n in (row.places, row.written, row.to_deliver, row.delivered))
    yield Text(f"{missing:,}", "bold red" if missing else "")


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    sends, repeats = counted(report.unsure, "send"), counted(report.repeats, "message")
    yield (
        "cut off",
        f"{counted(report.tunnels, 'time')} in a tunnel; processes killed: {report.kills:,}",
    )
    yield "unsure", f"{sends} without an answer, made again under the same name"
    yield "again", f"{repeats} came twice, for want of an acknowledgement"
    if report.wait_median_s is not None and report.wait_most_s is not None:
        usual = f"{report.wait_median_s * 1000:,.0f} ms (median), {report.wait_most_s:.1f} s (90 %)"
        yield "wait", f"{usual} from server to disk, tunnels included"


def _verdict(report: Report) -> Iterator[Text]:
    if report.problems:
        yield bad(f"{counted(len(report.problems), 'thing')} must not have happened")
        for problem in report.problems[:NAMED]:
            yield Text(f"  {printable(problem)}")
        if len(report.problems) > NAMED:
            yield Text(f"  and {len(report.problems) - NAMED:,} more")
        yield Text(f"  What the phones have on disk: {report.folder}", "dim", overflow="fold")
    else:
        delivered = report.mailboxes.delivered + report.chats.delivered
        yield good(f"{report.clients} phones have every message, each in order")
        yield Text(f"  {delivered:,} deliveries: none lost, none again once acknowledged", "dim")
    yield Text(f"  The same day again: --seed {report.seed}", "dim")
