"""Print text, tables and JSON, for terminals and for pipes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..inspect.formats import iso
from .options import flag

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AsJson = Annotated[bool, flag("One JSON object per line, for scripts.", "--json")]

UNFOLDED: Final = 1_000_000
"""The line width of a pipe: a program must not get lines that were cut for a screen."""


def console(*, stderr: bool = False) -> Console:
    """Return a console for the current standard output; it honours NO_COLOR and pipes."""
    return Console(stderr=stderr, highlight=False, emoji=False)


def line_width(otherwise: int) -> int:
    """Return the columns of the terminal, or *otherwise* in a pipe."""
    out = console()
    return out.width if out.is_terminal or "COLUMNS" in os.environ else otherwise


def print_block(what: RenderableType) -> None:
    """Print a table or a text: folded at the edge of a terminal, each line whole in a pipe."""
    if line_width(UNFOLDED) < UNFOLDED:
        console().print(what)
        return
    whole = Console(file=StringIO(), width=UNFOLDED, highlight=False, emoji=False)
    with whole.capture() as captured:
        whole.print(what)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def print_json(*parts: DataclassInstance | Mapping[str, Any]) -> None:
    """Print one JSON object on one line, with the fields of all *parts*."""
    fields: dict[str, Any] = {}
    for part in parts:
        fields |= part if isinstance(part, Mapping) else asdict(part)
    typer.echo(json.dumps(fields, default=_json_value))


def _json_value(value: Any) -> Any:
    """Return what JSON has instead of *value*."""
    return iso(value) if isinstance(value, datetime) else str(value)


def print_line(line: str, *, style: str = "", stderr: bool = False) -> None:
    """Print a sentence of any length. It is no markup, and control characters become visible."""
    console(stderr=stderr).print(untrusted(line, style), soft_wrap=True)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    print_line(f"holdfast: {message}", style="yellow", stderr=True)


def print_sections(*sections: tuple[str, RenderableType]) -> None:
    """Print each section under its title, with an empty line before it."""
    for title, content in sections:
        for part in (Text(), Text(title, "bold"), content):
            print_block(part)


def field_table(rows: Iterable[tuple[str, str | Text | Table]]) -> Table:
    """Return names and values beside each other; a long value is folded under itself."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name, "bold"), untrusted(value) if isinstance(value, str) else value)
    return table


def row_table(
    titles: Iterable[str],
    rows: Iterable[Iterable[str | Text]],
    *,
    left: Iterable[str] = (),
    style: str = "bold",
    name_width: int = 28,
) -> Table:
    """Return a table: the first column holds untrusted names, numbers are aligned to the right.

    Args:
        titles: of the columns.
        rows: as many cells in each.
        left: titles of further columns that hold text.
        style: of the titles.
        name_width: columns that a long name keeps on a narrow terminal.
    """
    lines = [[untrusted(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    longest = max((len(line[0]) for line in lines), default=0)
    table = Table(box=None, header_style=style, pad_edge=False)
    for n, title in enumerate(titles):
        if n == 0:
            table.add_column(title, overflow="fold", min_width=min(name_width, longest))
        elif title in left:
            table.add_column(title, overflow="fold")
        else:
            table.add_column(title, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    return table


def printable(text: str) -> str:
    """Return untrusted *text* with control and bidirectional characters as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def untrusted_markup(text: str) -> str:
    """Return untrusted *text* for use inside markup: `printable`, and no markup itself."""
    return escape(printable(text))


def untrusted(text: str, style: str = "") -> Text:
    """Return untrusted *text* for printing: `printable`, and never read as markup."""
    return Text(printable(text), style, overflow="fold")
