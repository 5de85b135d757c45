"""The report as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...output import untrusted_markup as visible
from ..printing import bad, good, notes, print_report
from .events import LABELS
from .report import SLICES, Figures, Report
from .screen import BLOCKS

OVERTAKING = {
    "reset": ("a reset", "mails in line before it"),
    "sale": ("a due sale", "others of its priority"),
}
NAMED = 5  # so many missing or dead tasks are listed


def print_summary(report: Report, console: Console) -> None:
    """Print the table, what lies behind it, and the verdict."""
    print_report(console, _table(report), "", notes(_facts(report)), "", *_verdict(report))


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    table.add_column("mail", no_wrap=True)
    table.add_column("priority", no_wrap=True)
    for name in "sent", "median wait", "longest":
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(_clock(report), no_wrap=True, style="cyan")
    for kind, row in report.kinds.items():
        table.add_row(*_cells(kind, row), style="bold" if kind == "all" else "")
    return table


def _cells(kind: str, row: Figures) -> list[str | Text]:
    return [
        LABELS.get(kind, kind),
        row.priority,
        Text(f"{row.sent:,}", "" if row.sent == row.events else "bold red"),
        # All together waited for different things: some for their time, some in line.
        _seconds(row.wait_median_s) if kind != "all" else "",
        _seconds(row.wait_longest_s) if kind != "all" else "",
        _strip(row.over_time),
    ]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _clock(report: Report) -> str:
    """The scale over the strips: the seconds of the run."""
    end = f"{report.seconds:.0f} s"
    return "0 s".ljust(SLICES - len(end)) + end


def _strip(counts: Sequence[int]) -> str:
    """When the mails were stored, as blocks of eight heights; a dot where there were none."""
    top = max(counts)
    if not top:
        return ""  # nobody saw it
    return "".join(BLOCKS[ceil(8 * count / top) - 1] if count else "·" for count in counts)


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    pace = f"{report.mails_per_second:,.0f} mails/s: {report.sent_now:,} in {report.seconds:.1f} s"
    yield "pace", f"{pace}, first enqueue to last mail"
    if report.sent_before:
        yield "before", f"{report.sent_before:,} mails were sent by an earlier run"
    if report.refused:
        between = "; the time between the runs included" if report.sent_before else ""
        yield "wait", f"from enqueue, for sales from their time, to the mail server's 250{between}"
        retries = f"{report.kinds['all'].retries:,}; refused: {report.refused.mails:,} mails (451)"
        yield "retries", f"{retries}, {report.refused.connections:,} connections (421)"
    if report.workers_replaced:
        yield "workers", f"replaced when they died: {report.workers_replaced}"
    if report.twice:
        yield "twice", "sent by workers that were killed before they could say so"


def _verdict(report: Report) -> list[Text]:
    events = report.kinds["all"].events
    if not report.ok:
        return _failures(report)
    if report.maildir is None:
        return [
            good(f"{events:,} tasks done, none given up"),
            Text("  Nobody looked for the mails: only your SMTP server has them."),
        ]
    twice = f"{len(report.twice):,} twice" if report.twice else "none twice"
    lines = [good(f"{events:,} events, {events:,} mails: none missing, {twice}")]
    lines += _kept(report)
    if Path(report.maildir).is_dir():
        lines.append(Text(f"  {report.maildir}", style="dim", overflow="fold"))
    else:
        lines.append(Text("  Kill it half-way and start it again: --embedded FOLDER", style="dim"))
    return lines


def _kept(report: Report) -> Iterator[Text]:
    """What was checked about times and order, and found to be kept."""
    if delayed := report.punctuality.delayed:
        row = report.kinds["sale"]
        late = f"{_seconds(row.wait_median_s)} late"
        most = f"(median; most {_seconds(row.wait_longest_s)})"
        yield good(f"sales: none of {delayed:,} mailed early; {late} {most}")
    if not report.order.judged:
        yield Text("  The order was not judged: the records of this run do not tell.", style="dim")
        return
    yield good(f"claims: none of {report.order.claims:,} out of order")
    for kind, found in report.order.overtaking.items():
        front, behind = OVERTAKING[kind]
        yield Text(f"  {front} overtook {found.median:,.0f} {behind} (median; most {found.most:,})")
    doubt = f"{report.order.doubt_s * 1000:,.0f} ms"
    yield Text("  High before medium before low, due before others, first in first out.", "dim")
    yield Text(f"  By the claims' tokens; a wait of less than {doubt} proves nothing.", "dim")


def _failures(report: Report) -> list[Text]:
    events = report.kinds["all"].events
    lines = list(_broken(report))
    if report.missing or report.unfinished:
        text = f"{len(report.missing):,} of {events:,} mails are missing"
        lines.append(bad(text))
    for task_id in report.missing[:NAMED]:
        reason = report.dead.get(task_id, "not in the maildir, not among the dead")
        lines.append(Text.from_markup(f"  {visible(task_id)}  {visible(reason)}"))
    if len(report.missing) > NAMED:
        lines.append(Text(f"  and {len(report.missing) - NAMED:,} more"))
    if report.dead_in_all > len(report.dead):
        lines.append(Text(f"  {report.dead_in_all:,} tasks are dead, more than can be listed"))
    if report.unfinished:
        lines.append(Text(f"  {report.unfinished:,} tasks are still queued or running"))
    if report.maildir is not None:
        lines.append(Text(f"  {report.maildir}", style="dim", overflow="fold"))
    return lines


def _broken(report: Report) -> Iterator[Text]:
    """Which promises about times and order were broken, by which tasks."""
    for found, text in (
        (report.punctuality.early, "begun before their time"),
        (report.order.passed_over, "claimed while a mail that goes first waited"),
        (report.order.out_of_turn, "claimed before one that was in the same line earlier"),
    ):
        if found:
            yield bad(f"mails {text}: {len(found):,}")
            named = ", ".join(map(visible, found[:NAMED]))
            yield Text.from_markup(f"  {named}{', …' if len(found) > NAMED else ''}")
