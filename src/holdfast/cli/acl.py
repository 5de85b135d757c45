"""`holdfast acl`: print the access rule for a user of one namespace."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from .. import acl_rule
from .commands import Commands
from .connection import Namespace, client_errors, fail
from .exit_codes import WRONG_USAGE
from .options import flag, option
from .output import warn

app: Final = Commands()


@app.command(example="holdfast acl --namespace shop --user shop")
def acl(
    namespace: Namespace = "holdfast",
    user: Annotated[
        str | None, option("NAME", "Print the whole command that creates this user.")
    ] = None,
    near: Annotated[
        bool, flag("Allow near caches, too: the user sees the names of all changed keys.")
    ] = False,
) -> None:
    """Print the access rule for a user of one namespace, ready to paste; contacts no server."""
    if user is not None and (not user or not user.isprintable() or " " in user):
        fail(f"{user!r} is no name of a user: it may hold no blanks", code=WRONG_USAGE)
    with client_errors(None, None):
        rule = acl_rule(namespace, near=near)
    if user is None:
        typer.echo(rule)
        return
    typer.echo(f"ACL SETUSER {user} {rule} on >PASSWORD")
    warn("replace PASSWORD by a password; ACL SAVE or CONFIG REWRITE keeps the user")
