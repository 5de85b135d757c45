"""How far something is, as bars on a screen."""

from __future__ import annotations

from collections.abc import Iterable

from rich.progress_bar import ProgressBar
from rich.table import Table


def bars(rows: Iterable[tuple[str, int, int, str]], *, names_width: int) -> Table:
    """A bar on each line.

    Args:
        rows: of each its name, how much is done, how much there is, and a note for its end.
        names_width: columns of the names.
    """
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", width=names_width)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    for name, done, total, note in rows:
        bar = ProgressBar(total, done, complete_style="cyan", finished_style="green")
        table.add_row(name, bar, note)
    return table
