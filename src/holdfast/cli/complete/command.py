"""The command `holdfast complete`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ... import InvalidName
from ..codes import INTERRUPTED, NOT_FOUND
from ..connection import Embedded, Namespace, Url, connected
from ..help import Commands
from ..output import AsJson, printable, show_json, warn

if TYPE_CHECKING:
    from ... import Completions, Match

Name = Annotated[str, typer.Argument(metavar="NAME", help="The completions, such as guild:3.")]
Prefix = Annotated[
    str | None,
    typer.Argument(metavar="PREFIX", help="How a name or a later word of it begins."),
]
Limit = Annotated[
    int,
    typer.Option("--limit", metavar="N", min=1, max=1000, help="Matches at most, up to 1,000."),
]

app = Commands()


@app.command()
def complete(
    name: Name,
    prefix: Prefix = None,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """Find names by their beginning, and by that of their later words.

    Without PREFIX it asks, and completes as you type; the arrows choose, Enter
    prints, Ctrl-C leaves. Where standard input is no terminal, it reads one
    prefix per line; an empty line ends the matches of each.

    The exit code is 3 if nothing is found.
    """
    with connected(url, embedded, namespace, create=False) as hf:
        names = hf.completions(name)
        if prefix is None and not sys.stdin.isatty():
            _each_line(names, limit, as_json=as_json)
            return
        if prefix is None:
            # Imported here: no other command needs the line editor.
            from .prompt import asked

            answer = asked(names, f"{name}> ", limit)
            if answer is None:
                raise typer.Exit(INTERRUPTED)
            if isinstance(answer, str):
                prefix, found = answer, _meant(names.search(answer, limit=limit), answer)
            else:
                prefix, found = answer.name, [answer]
        else:
            found = names.search(prefix, limit=limit)
        empty = not found and not names.count()
    _tell(found, prefix, as_json=as_json)
    if not found:
        where = f"completions {name!r} in namespace {hf.namespace!r}"
        warn(f"there are no {where}" if empty else f"nothing in {where} begins with {prefix!r}")
        raise typer.Exit(NOT_FOUND)


def _each_line(names: Completions, limit: int, *, as_json: bool) -> None:
    """Answer each line of standard input, at once: another program may wait for it."""
    for line in sys.stdin:
        prefix = line.rstrip("\n")
        try:
            found = names.search(prefix, limit=limit)
        except InvalidName as error:  # the other lines may do
            warn(str(error))
            found = []
        _tell(found, prefix, as_json=as_json)
        if not as_json:
            typer.echo()
        sys.stdout.flush()


def _meant(found: list[Match], text: str) -> list[Match]:
    """Of *found* only those that have this very name, if any has: somebody typed it out."""
    return [match for match in found if match.name == text] or found


def _tell(found: Iterable[Match], prefix: str, *, as_json: bool) -> None:
    for match in found:
        if as_json:
            show_json({"prefix": prefix, "name": match.name, "id": match.id})
        else:
            typer.echo("\t".join(map(printable, filter(None, (match.name, match.id)))))
