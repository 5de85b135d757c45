"""`holdfast acl`: the rule for a user who may do all of Holdfast in one namespace, and no more."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import acl_rule
from .codes import WRONG_USAGE
from .connection import Namespace, errors_told, fail
from .help import Commands
from .output import warn

app = Commands()


@app.command()
def acl(
    namespace: Namespace = "holdfast",
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print the whole command that makes this user."),
    ] = None,
) -> None:
    """Print the access rule for a user of one namespace, ready to be pasted; asks no server."""
    if user is not None and (not user or not user.isprintable() or " " in user):
        fail(f"{user!r} is no name of a user: it may hold no blanks", code=WRONG_USAGE)
    with errors_told(None, None):
        rule = acl_rule(namespace)
    if user is None:
        typer.echo(rule)
        return
    typer.echo(f"ACL SETUSER {user} {rule} on >PASSWORD")
    warn("put a password in the place of PASSWORD; ACL SAVE or CONFIG REWRITE keeps the user")
