"""The commands, one file each, and what they share: exit codes and errors without a traceback.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused.
"""

from __future__ import annotations

import typer

from .. import __version__
from . import queues, worker
from .demo import app as demo
from .server import app as server

app = typer.Typer(
    name="holdfast",
    help="Application building blocks on Valkey and Redis: nothing lost, nothing held twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(demo, name="demo")
app.add_typer(server, name="server")
app.command("worker")(worker.worker)
app.command("queues")(queues.queues)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Options that stand before the command."""
    del version
