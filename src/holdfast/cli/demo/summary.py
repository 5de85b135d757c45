"""The report as people read it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..output import visible
from .report import Figures, Report

NAMED = 5  # so many missing or dead tasks are listed


def print_summary(report: Report, console: Console) -> None:
    """Print the table, what lies behind it, and the verdict."""
    parts = Group(_table(report), "", _notes(report), "", *_verdict(report))
    with console.capture() as capture:
        console.print(Padding(parts, (1, 2)))
    # Rich fills every line up with blanks, which a log file does not want.
    console.file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _table(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    table.add_column("mail")
    for name in "events", "sent", "retried", "wait, mean", "wait, p99":
        table.add_column(name, justify="right", no_wrap=True)
    for kind, row in report.kinds.items():
        table.add_row(kind, *_cells(row, report), style="bold" if kind == "all" else "")
    return table


def _cells(row: Figures, report: Report) -> list[str]:
    seen = report.maildir is not None
    return [
        f"{row.events:,}",
        f"{row.sent:,}",
        f"{row.retried:,}" if seen else "?",
        _seconds(row.wait_mean_s),
        _seconds(row.wait_p99_s),
    ]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


def _notes(report: Report) -> Table:
    pace = f"{report.mails_per_second:,.0f} mails/s: {report.sent_now:,} in {report.seconds:.1f} s"
    notes = {"pace": f"{pace}, first enqueue to last mail"}
    if report.sent_before:
        notes["before"] = f"{report.sent_before:,} mails were sent by an earlier run"
    if report.refused:
        between = ", the time between the runs included" if report.sent_before else ""
        notes["wait"] = f"from enqueue to the start of the attempt that succeeded{between}"
        notes["retries"] = (
            f"{report.kinds['all'].retries:,}; refused: {report.refused.mails:,} mails (451), "
            f"{report.refused.connections:,} connections (421)"
        )
    if report.workers_replaced:
        notes["workers"] = f"replaced when they died: {report.workers_replaced}"
    if report.twice:
        notes["twice"] = "sent by workers that were killed before they could say so"
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for name, note in notes.items():
        grid.add_row(name, note)
    return grid


def _verdict(report: Report) -> list[Text]:
    events = report.kinds["all"].events
    if not report.ok:
        return _failures(report)
    if report.maildir is None:
        return [
            _line("✓", "green", f"{events:,} tasks done, none given up"),
            Text("  Nobody looked for the mails: only your SMTP server has them."),
        ]
    twice = f"{len(report.twice):,} twice" if report.twice else "none twice"
    lines = [_line("✓", "green", f"{events:,} events, {events:,} mails: none missing, {twice}")]
    if Path(report.maildir).is_dir():
        lines.append(Text(f"  {report.maildir}", style="dim", overflow="fold"))
    else:
        lines.append(Text("  Kill it half-way and start it again: --embedded FOLDER", style="dim"))
    return lines


def _failures(report: Report) -> list[Text]:
    events = report.kinds["all"].events
    lines = [_line("✗", "red", f"{len(report.missing):,} of {events:,} mails are missing")]
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


def _line(sign: str, colour: str, text: str) -> Text:
    return Text.assemble((sign, f"bold {colour}"), (f" {text}", "bold"))
