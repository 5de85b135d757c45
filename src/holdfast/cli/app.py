"""The commands, one file each, and what they share: exit codes and errors without a traceback.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused; `locks run` and
`locks wait` have more, see `locks/codes.py`.
"""

from __future__ import annotations

import typer

from .. import __version__
from . import worker
from .chat import app as chat
from .complete.command import complete
from .counters import app as counters
from .demo import app as demo
from .help import Commands
from .locks import app as locks
from .log_files import app as logs
from .queues import app as queues
from .rows import app as rows
from .serve import app as serve
from .server import app as server
from .tasks import app as tasks

app = Commands(
    name="holdfast",
    help="Application building blocks on Valkey and Redis: nothing lost, nothing held twice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(demo, name="demo")
app.add_typer(server, name="server")
app.add_typer(queues, name="queues")
app.add_typer(tasks, name="tasks")
app.add_typer(locks, name="locks")
app.add_typer(chat, name="chat")
app.add_typer(rows, name="rows")
app.add_typer(counters, name="counters")
app.add_typer(logs, name="logs")
app.add_typer(serve, name="serve")
app.command("complete")(complete)
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
