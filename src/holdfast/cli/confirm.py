"""The question before a command that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .codes import REFUSED
from .connection import fail
from .output import printable

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]


def confirm(deed: str, *, yes: bool) -> None:
    """Ask whether to do *deed*, such as `drop 3 tasks`; unless it is wanted, end the command.

    The question goes to standard error, so that the output stays what a script expects.

    Args:
        deed: what is about to happen, and to how many.
        yes: it was said on the command line already.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fail(
            f"this would {deed}, and without a terminal nobody can be asked; add --yes to do it",
            code=REFUSED,
        )
    question = printable(deed[:1].upper() + deed[1:])
    try:
        wanted = typer.confirm(f"{question}?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        typer.echo(err=True)
        wanted = False
    if not wanted:
        fail("nothing was changed", code=REFUSED)
