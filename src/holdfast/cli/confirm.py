"""Ask for a confirmation before a command that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .connection import fail
from .exit_codes import REFUSED
from .options import flag
from .output import printable

Yes = Annotated[bool, flag("Do not ask first.", "--yes", "-y")]


def confirm(action: str, *, yes: bool) -> None:
    """Ask whether to do *action*. End the command if the user does not confirm it.

    Ask on standard error, so that standard output contains only results.

    Args:
        action: a description of the action, such as `drop 3 tasks`.
        yes: whether to skip the question, because the command line has `--yes`.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fail(
            f"this would {action}, and there is no terminal to ask at; add --yes to do it",
            code=REFUSED,
        )
    question = printable(action[:1].upper() + action[1:])
    try:
        wanted = typer.confirm(f"{question}?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        typer.echo(err=True)
        wanted = False
    if not wanted:
        fail("nothing was changed", code=REFUSED)
