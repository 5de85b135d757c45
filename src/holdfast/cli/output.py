"""What commands print with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line, for scripts.")]

UNFOLDED: Final = 1_000_000
"""Columns of a pipe: what is read by a program must not be cut into lines of a screen."""


def console(*, stderr: bool = False) -> Console:
    """A console for this moment's standard output; it honours NO_COLOR and pipes."""
    return Console(stderr=stderr, highlight=False, emoji=False)


def columns(otherwise: int) -> int:
    """How many columns a line has on the screen, or *otherwise* in a pipe."""
    out = console()
    return out.width if out.is_terminal or "COLUMNS" in os.environ else otherwise


def show(what: RenderableType) -> None:
    """Print a table or a text: folded at the edge of a terminal, each line whole in a pipe."""
    if columns(UNFOLDED) < UNFOLDED:
        console().print(what)
        return
    whole = Console(file=StringIO(), width=UNFOLDED, highlight=False, emoji=False)
    with whole.capture() as captured:
        whole.print(what)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def show_json(*parts: DataclassInstance | Mapping[str, Any]) -> None:
    """Print one JSON object, on one line: the fields of all *parts*."""
    fields: dict[str, Any] = {}
    for part in parts:
        fields |= part if isinstance(part, Mapping) else asdict(part)
    typer.echo(json.dumps(fields, default=_plain))


def _plain(value: Any) -> Any:
    """What JSON has instead of *value*: instants are ISO 8601, in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)


def say(line: str, *, style: str = "", stderr: bool = False) -> None:
    """Print a sentence, however long. It is no markup, and control characters become visible."""
    console(stderr=stderr).print(stranger(line, style), soft_wrap=True)


def warn(message: str) -> None:
    """Say on standard error what is odd, but no reason to stop."""
    say(f"holdfast: {message}", style="yellow", stderr=True)


def fields(rows: Iterable[tuple[str, str | Text | Table]]) -> Table:
    """Names and values beside each other; a long value is folded under itself."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name, "bold"), stranger(value) if isinstance(value, str) else value)
    return table


def counted(number: int, noun: str) -> str:
    """As in `1 task` and `1,204 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(octets: int) -> str:
    """As in `12.3 KiB`."""
    if octets < 1024:
        return f"{octets} bytes"
    return f"{octets / 2**10:,.1f} KiB" if octets < 2**20 else f"{octets / 2**20:,.1f} MiB"


def printable(text: str) -> str:
    """*text* of a stranger, its control characters (and what turns text around) as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """*text* of a stranger, to be put into markup: `printable`, and no markup itself."""
    return escape(printable(text))


def stranger(text: str, style: str = "") -> Text:
    """*text* of a stranger, to be printed by itself: `printable`, and never read as markup."""
    return Text(printable(text), style, overflow="fold")
