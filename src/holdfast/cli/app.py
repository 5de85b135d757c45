"""The commands, one file each, and what they share: exit codes and errors without a traceback.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused.
"""

from __future__ import annotations

import typer

from .. import __version__
from . import worker
from .demo import app as demo
from .queues import app as queues
from .server import app as server
from .tasks import app as tasks

app = typer.Typer(
    name="holdfast",
    help="Application building blocks on Valkey and Redis: nothing lost, nothing held twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(demo, name="demo")
app.add_typer(server, name="server")
app.add_typer(queues, name="queues")
app.add_typer(tasks, name="tasks")
app.command("worker")(worker.worker)


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
