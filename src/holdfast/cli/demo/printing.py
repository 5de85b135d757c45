"""What the reports of the demos are printed with."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def print_report(console: Console, *parts: RenderableType) -> None:
    """Print *parts* below each other, with some room around them."""
    with console.capture() as capture:
        console.print(Padding(Group(*parts), (1, 2)))
    # Rich fills every line up with blanks, which a log file does not want.
    console.file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def notes(rows: Iterable[tuple[str, str]]) -> Table:
    """Names, and what is to be said of each."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, note in rows:
        grid.add_row(name, note)
    return grid


def good(text: str) -> Text:
    """A promise that was kept."""
    return Text.assemble(("✓", "bold green"), (f" {text}", "bold"))


def bad(text: str) -> Text:
    """One that was not."""
    return Text.assemble(("✗", "bold red"), (f" {text}", "bold"))
