"""`holdfast complete`: find names by their beginning."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from .. import InvalidName
from .commands import Commands
from .connection import with_client
from .exit_codes import INTERRUPTED, NOT_FOUND
from .options import argument, option
from .output import AsJson, print_json, printable, warn

if TYPE_CHECKING:
    from .. import Completions, Holdfast, Match

app = Commands()


@app.command()
@with_client()
def complete(
    hf: Holdfast,
    name: Annotated[str, argument("NAME", "The completions, such as guild:3.")],
    prefix: Annotated[
        str | None, argument("PREFIX", "The beginning of a name or of a later word in it.")
    ] = None,
    limit: Annotated[int, option("N", "Matches at most, up to 1,000.", min=1, max=1000)] = 10,
    as_json: AsJson = False,
) -> None:
    """Find names by their beginning, or by the beginning of a later word.

    Without PREFIX it asks, and completes as you type; the arrows choose, Enter
    prints, Ctrl-C leaves. If standard input is no terminal, it reads one
    prefix per line; an empty line ends the matches of each.

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
    # Imported here: no other command needs the line editor.
    from .completion_prompt import ask

    answer = ask(names, f"{name}> ", limit)
    if answer is None:
        raise typer.Exit(INTERRUPTED)
    if not isinstance(answer, str):
        return answer.name, [answer]
    found = names.search(answer, limit=limit)
    # Prefer the match with exactly this name: it was typed out.
    return answer, [match for match in found if match.name == answer] or found


def _answer_lines(names: Completions, limit: int, *, as_json: bool) -> None:
    """Answer each line of standard input at once: another program may wait for it."""
    for line in sys.stdin:
        prefix = line.rstrip("\n")
        try:
            found = names.search(prefix, limit=limit)
        except InvalidName as error:  # the other lines may be valid
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
