"""Print text, tables and JSON, for terminals and for pipes."""

from __future__ import annotations

import json
import os
import re
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

BLANK: Final = "\u2423"
"""Stands for a blank at the beginning or the end of a name, where it would not be seen."""

_OUTER_BLANKS: Final = re.compile("^ +| +$")

UNFOLDED: Final = 1_000_000
"""The line width in a pipe, so that programs get whole lines."""


def console(*, stderr: bool = False) -> Console:
    """Return a console. It uses no colours in pipes or if the variable NO_COLOR is set."""
    return Console(stderr=stderr, highlight=False, emoji=False)


def line_width(otherwise: int) -> int:
    """Return the number of columns of the terminal; *otherwise* if the output is a pipe."""
    out = console()
    return out.width if out.is_terminal or "COLUMNS" in os.environ else otherwise


def print_block(what: RenderableType) -> None:
    """Print a table or a text. Fold its lines at the edge of a terminal, but not in a pipe."""
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
    """Return *value*, which JSON cannot represent, as text."""
    return iso(value) if isinstance(value, datetime) else str(value)


def print_line(line: str, *, style: str = "", stderr: bool = False) -> None:
    """Print *line* unfolded, without interpreting markup, and with visible control characters."""
    console(stderr=stderr).print(untrusted(line, style), soft_wrap=True)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    print_line(f"holdfast: {message}", style="yellow", stderr=True)


def print_sections(*sections: tuple[str, RenderableType]) -> None:
    """Print each section: an empty line, its title and its content."""
    for title, content in sections:
        for part in (Text(), Text(title, "bold"), content):
            print_block(part)


def field_table(rows: Iterable[tuple[str, str | Text | Table]]) -> Table:
    """Return a table of names and values. Long values are folded within their column."""
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
    """Return a table of things with a name in the first column. Other columns are right-aligned.

    Args:
        titles: the titles of the columns.
        rows: the rows, each with one cell for each column. Cells that are `str` are untrusted.
        left: titles of further columns that are left-aligned, because they contain text.
        style: the style of the titles.
        name_width: characters of the first column that remain on a narrow terminal.
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
    """Return untrusted *text* with escapes in place of control and bidirectional characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown_name(name: str) -> str:
    """Return the untrusted *name*, `printable`, with signs for blanks at its ends.

    The empty name, which would look like a missing one, becomes `(no name)`.
    """
    shown = _OUTER_BLANKS.sub(lambda found: BLANK * len(found[0]), printable(name))
    return shown or "(no name)"


def untrusted_markup(text: str) -> str:
    """Return untrusted *text*, `printable` and escaped, so that it can be used inside markup."""
    return escape(printable(text))


def untrusted(text: str, style: str = "") -> Text:
    """Return untrusted *text*, `printable`, as a `Text`, which is not interpreted as markup."""
    return Text(printable(text), style, overflow="fold")
