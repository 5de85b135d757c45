"""Commands about one kind of thing, which list these things when no command is given."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

import typer

from .codes import WRONG_USAGE
from .connection import Embedded, Namespace, Url, fail, on_command_line
from .help import Commands
from .output import AsJson

LISTED: Final = 1_000
"""Names of one kind that the server tells at most."""


class Ls(Protocol):
    """The command that lists them."""

    def __call__(
        self, url: str | None, embedded: Path | None, namespace: str, as_json: bool
    ) -> None: ...


def listing(name: str, about: str, ls: Ls) -> Commands:
    """The commands called *name*, with *ls* as the first of them, and the one by default."""
    told = f"{about} Without a command: ls."
    app = Commands(name=name, help=told, invoke_without_command=True)

    @app.callback(help=told)
    def by_default(
        ctx: typer.Context,
        url: Url = None,
        embedded: Embedded = None,
        namespace: Namespace = "holdfast",
        as_json: AsJson = False,
    ) -> None:
        command = ctx.invoked_subcommand
        if command is None:
            ls(url, embedded, namespace, as_json)
        elif any(on_command_line(ctx, param) for param in ctx.params):
            # Else they would be dropped silently: the command has options of its own.
            fail(f"options come after the command: holdfast {name} {command} …", code=WRONG_USAGE)

    app.command("ls")(ls)
    return app
