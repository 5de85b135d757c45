"""`holdfast complete`: find names by their beginning."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .. import InvalidName
from .commands import Commands
from .connection import with_client
from .exit_codes import INTERRUPTED, NOT_FOUND
from .options import argument, option
from .output import AsJson, print_json, printable, warn

if TYPE_CHECKING:
    from .. import Completions, Holdfast, Match

app: Final = Commands()


@app.command(example="holdfast complete guild:3 ja --limit 5")
@with_client()
def complete(
    hf: Holdfast,
    name: Annotated[str, argument("NAME", "The set of names, such as guild:3.")],
    prefix: Annotated[
        str | None, argument("PREFIX", "The beginning of a name or of a later word in it.")
    ] = None,
    limit: Annotated[int, option("N", "Matches at most, up to 1,000.", min=1, max=1000)] = 10,
    as_json: AsJson = False,
) -> None:
    """Find names by their beginning, or by the beginning of a later word.

    Without PREFIX it asks for one and completes as you type: arrow keys choose, Enter
    prints, Ctrl-C quits. If standard input is not a terminal, it reads one prefix per
    line, and prints an empty line after the matches of each.

    The exit code is 3 if nothing is found.
    """
    names = hf.completions(name)
    if prefix is None and not sys.stdin.isatty():
        _answer_lines(names, limit, as_json=as_json)
        return
    if prefix is None:
        prefix, found = _ask(names, name, limit)
    else:
        found = names.search(prefix, limit=limit)
    _print(found, prefix, as_json=as_json)
    if not found:
        where = f"completions {name!r} in namespace {hf.namespace!r}"
        empty = not names.count()
        warn(f"there are no {where}" if empty else f"nothing in {where} begins with {prefix!r}")
        raise typer.Exit(NOT_FOUND)


def _ask(names: Completions, name: str, limit: int) -> tuple[str, list[Match]]:
    """Ask for a prefix on the terminal; return it and its matches."""
    # Imported here, because other commands need no line editor and should start fast.
    from .completion_prompt import ask

    answer = ask(names, f"{name}> ", limit)
    if answer is None:
        raise typer.Exit(INTERRUPTED)
    if not isinstance(answer, str):
        return answer.name, [answer]
    found = names.search(answer, limit=limit)
    # If the user has typed a whole name, return only the matches with this name.
    return answer, [match for match in found if match.name == answer] or found


def _answer_lines(names: Completions, limit: int, *, as_json: bool) -> None:
    """Print the matches of each input line at once, because a program may wait for them."""
    for line in sys.stdin:
        prefix = line.rstrip("\n")
        try:
            found = names.search(prefix, limit=limit)
        except InvalidName as error:  # continue, because other lines may be valid
            warn(str(error))
            found = []
        _print(found, prefix, as_json=as_json)
        if not as_json:
            typer.echo()
        sys.stdout.flush()


def _print(found: Iterable[Match], prefix: str, *, as_json: bool) -> None:
    for match in found:
        if as_json:
            print_json({"prefix": prefix, "name": match.name, "id": match.id})
        else:
            typer.echo("\t".join(map(printable, filter(None, (match.name, match.id)))))
