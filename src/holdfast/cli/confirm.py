"""The question before a command that cannot be undone."""

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
    """Ask whether to do *action*, such as `drop 3 tasks`; unless confirmed, end the command.

    The question goes to standard error, so that the output stays what a script expects.

    Args:
        action: what is about to happen, and to how many.
        yes: whether the command line has `--yes`.
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
