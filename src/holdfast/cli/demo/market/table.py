"""The figures as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...output import printable
from ..printing import bad, good, print_report
from .figures import WAYS, Run


def print_table(runs: Sequence[Run], console: Console) -> None:
    """Print the table, what its columns mean, and whether all was conserved."""
    print_report(console, _table(runs), "", *_notes(runs), "", *_verdict(runs))


def _table(runs: Sequence[Run]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    table.add_column("sellers × buyers", no_wrap=True)
    table.add_column("guarded by", no_wrap=True)
    for name in "listed", "bought", "mean wait", "retries":
        table.add_column(name, justify="right", no_wrap=True)
    last = None
    for run in runs:
        crowd = f"{run.sellers} × {run.buyers}"
        if last not in (None, crowd):
            table.add_row()
        table.add_row(crowd if crowd != last else "", WAYS[run.way], *_cells(run))
        last = crowd
    return table


def _cells(run: Run) -> Iterator[Text]:
    tally = run.tally
    yield Text(f"{tally.listed:,}")
    yield Text(f"{tally.bought:,}", "bold" if tally.bought else "bold red")
    yield Text("-" if tally.mean_wait_s is None else f"{tally.mean_wait_s * 1000:,.1f} ms")
    yield Text(f"{tally.retries:,}", "" if tally.retries else "dim")


def _notes(runs: Sequence[Run]) -> Iterator[Text]:
    gone, dear = (sum(getattr(run.tally, name) for run in runs) for name in ("gone", "too_dear"))
    yield Text(f"{runs[0].seconds:g} s each; refused: {gone:,} gone, {dear:,} too dear.", "dim")
    yield Text("Wait: from the wish to buy to what came of it.", "dim")
    yield Text("Retry: a transaction undone by somebody else's change, and begun again.", "dim")


def _verdict(runs: Sequence[Run]) -> Iterator[Text]:
    broken = [run for run in runs if run.problems]
    if not broken:
        items = sum(run.items for run in runs)
        yield good(f"money and items are conserved in all {len(runs)} runs")
        yield Text(f"  {items:,} items, each with one owner; no gold lost, none made", "dim")
    for run in broken:
        yield bad(f"{run.sellers} × {run.buyers}, {WAYS[run.way]}")
        yield from (Text(f"  {printable(problem)}") for problem in run.problems)
