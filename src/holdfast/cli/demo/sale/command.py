"""The command `holdfast demo sale`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .... import HoldfastError
from ....inspect.formats import counted
from ...connection import Embedded, Url, fail
from ...exit_codes import INTERRUPTED, WRONG_USAGE
from ...output import console
from ...output import print_line as say
from ..interruption import end_as_by_ctrl_c
from ..options import AsJson
from ..own_server import own_server

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Readers = Annotated[
    int,
    typer.Option("--readers", metavar="N", min=2, max=20_000, help="How many look, 2 to 20000."),
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=1.0, max=600.0, help="How long each part lasts."),
]
Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="Your database, as SQLAlchemy writes its URL."),
]


def sale(
    readers: Readers = 2000,
    seconds: Seconds = 10.0,
    database: Database = None,
    embedded: Embedded = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Hold a flash sale: everybody asks the database, then the row cache.

    Thousands of readers look at what is left of fifty items while buyers
    take one after the other. Shown are reads and SELECTs a second, and how
    old the rows are that readers see. The database is a PostgreSQL of its
    own (extra `bench`), a SQLite file where that is not installed, or yours.

    At the end it is counted: the exit code is 1 if anything was sold that was
    not there, or if the cache shows what the database does not have.
    """
    end_as_by_ctrl_c()
    example, screen = _package(), console(stderr=as_json)
    with ExitStack() as stack:
        if url is None or embedded is not None:
            url = stack.enter_context(own_server(embedded)).url
        try:
            held = stack.enter_context(example.database(database))
            sale_ = example.Sale(url, held, readers=readers, seconds=seconds)
            parts = _hold(sale_, screen, _kind(held), readers)
        except KeyboardInterrupt:
            screen.print("  stopped; nothing is kept")
            raise typer.Exit(INTERRUPTED) from None
        except (HoldfastError, example.PeopleFailed) as error:
            fail(str(error))
        except _database_errors() as error:
            fail(f"the database cannot be used: {error}", code=WRONG_USAGE)
    if as_json:
        figures = [_figures(part) for part in parts.values()]
        report = {"ok": not sale_.problems, "problems": sale_.problems, "parts": figures}
        typer.echo(json.dumps(report, indent=2))
    else:
        _conclude(sale_.problems, parts)
    raise typer.Exit(1 if sale_.problems else 0)


def _package() -> ModuleType:
    """The example, with its modules."""
    from ..examples import load_example, needed_example

    try:
        return load_example(needed_example("fakeshop/__init__.py"))
    except ModuleNotFoundError as error:
        fail(f"the sale needs {error.name}: pip install 'holdfast[sql]'")


def _database_errors() -> tuple[type[Exception], ...]:
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

    return ArgumentError, DBAPIError, NoSuchModuleError, ModuleNotFoundError


def _kind(database: str) -> str:
    """What the database is, without its password and where it is."""
    return database.partition(":")[0].partition("+")[0]


def _hold(sale_: Any, screen: Console, kind: str, readers: int) -> dict[bool, Any]:
    """Hold the sale on the screen; the last snapshot of each part."""
    from rich.live import Live

    screen.print(f"\n  {readers:,} readers, some buyers, 50 items in {kind}\n")
    parts: dict[bool, Any] = {}
    if not screen.is_interactive:
        told = -1
        for now in sale_.run():
            parts[now.cached] = now
            if int(now.seconds) > told or not now.seconds:
                screen.print("  " + " · ".join(_cells(now)))
            told = int(now.seconds)
        return parts
    with Live(console=screen, transient=True) as live:
        for now in sale_.run():
            parts[now.cached] = now
            live.update(_table(parts))
    return parts


def _conclude(problems: list[str], parts: Mapping[bool, Any]) -> None:
    out = console()
    out.print(_table(parts))
    for part in parts.values():
        for error, number in part.failed.items():
            say(f"  {counted(number, 'read')} failed: {error}", style="yellow")
    for problem in problems:
        say(f"  ✗ {problem}", style="bold red")
    if not problems:
        say("")
        say("  ✓ what was sold is gone from the shelf, and nothing else is", style="green")


def _table(parts: Mapping[bool, Any]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in ("readers ask", "time", "reads", "SELECTs", "sold", "age of rows"):
        table.add_column(name, justify="left" if name == "readers ask" else "right", no_wrap=True)
    for part in parts.values():
        table.add_row(*_cells(part))
    return table


def _cells(part: Any) -> list[str]:
    figures = _figures(part)
    age = f"{figures['mean_age_s']:.2f} s, ≤ {figures['oldest_s']:.2f} s"
    return [
        "the row cache" if part.cached else "the database",
        f"{part.seconds:.0f} s",
        f"{figures['reads_per_s']:,.0f}/s",
        f"{figures['selects_per_s']:,.0f}/s",
        f"{figures['sold_per_s']:,.0f}/s",
        age if part.cached else "0",
    ]


def _figures(part: Any) -> dict[str, Any]:
    before = part.counts.get("sold before", 0)
    sold = part.counts.get("sold", 0) - before
    return {
        "cached": part.cached,
        "seconds": part.seconds,
        "reads_per_s": part.per_second("reads"),
        "selects_per_s": part.per_second("queries"),
        "sold_per_s": sold / part.seconds if part.seconds else 0.0,
        "mean_age_s": part.mean_age_s,
        "oldest_s": part.oldest_s,
        "failed": dict(part.failed),
    }
