"""Show the figures of a demo: live on a terminal, otherwise as a line each second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .demo import Bar, Demo, Figures, Grid

LINE_EVERY_S: Final = 1.0
NAME_WIDTH: Final = 14


class DemoScreen:
    """Show a demo in a block, live on a terminal or as lines: `with DemoScreen(…) as screen:`."""

    def __init__(self, console: Console, demo: Demo) -> None:
        self._console = console
        self._demo = demo
        self._live: Live | None = None
        if console.is_interactive:
            self._live = Live(console=console, auto_refresh=False, transient=True)
        self._began_s = self._next_s = time.monotonic()

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *ended: object) -> None:
        if self._live:
            self._live.stop()

    def show(self) -> None:
        """Draw the figures again. Without a terminal, print a line each second."""
        now_s = time.monotonic()
        if self._live:
            parts = Group(*drawn(self._demo.figures()))
            self._live.update(Padding(parts, (1, 2)), refresh=True)
        elif now_s >= self._next_s and (line := self._demo.line()):
            self._next_s = now_s + LINE_EVERY_S
            self._console.print(f"  {now_s - self._began_s:5.1f} s  {line}", soft_wrap=True)


def drawn(figures: Figures) -> Iterator[RenderableType]:
    """Yield the figures for Rich, with an empty line between them."""
    parts: list[RenderableType] = []
    if figures.bars:
        parts.append(_bars(figures.bars))
    if figures.notes:
        parts.append(notes(figures.notes))
    parts += [*map(grid, figures.grids), *figures.extra]
    for number, part in enumerate(parts):
        yield from ("", part) if number else (part,)


def _bars(bars: Sequence[Bar]) -> Table:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", width=NAME_WIDTH)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    for name, done, total, note in bars:
        bar = ProgressBar(total, done, complete_style="cyan", finished_style="green")
        table.add_row(name, bar, note)
    return table


def notes(rows: Sequence[tuple[str, RenderableType]]) -> Table:
    """Return a table with names and texts beside each other."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", width=NAME_WIDTH, no_wrap=True)
    table.add_column()
    for name, note in rows:
        table.add_row(name, Text(note) if isinstance(note, str) else note)
    return table


def grid(about: Grid) -> Table:
    """Return the Rich table of a grid, without lines."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(about.columns):
        left = number == 0 or name in about.left
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in about.rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table
