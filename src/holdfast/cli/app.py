"""The commands, each loaded when it is called."""

from __future__ import annotations

from typing import Final

import typer

from .. import __version__
from .help import Commands

COMMANDS: Final = {
    "complete": "Find names by their beginning, and by that of their later words.",
    "worker": "Run tasks until SIGTERM or Ctrl-C: what runs is finished or given back, nothing is "
    "lost.",
    "workers": "See who runs tasks, of which queues, and how busy. Without a command: ls.",
    "top": "Watch what goes on in a namespace: its servers, tasks, workers, locks, messages and "
    "data.",
    "demo": "See Holdfast at work.",
    "server": "Start, stop and look at the embedded server of a folder.",
    "queues": "Look at the task queues; pause, resume and empty them. Without a command: ls.",
    "tasks": "Look at the tasks of a queue; cancel them, and replay the dead.",
    "locks": "Look at locks and semaphores; run commands under them. Without a command: ls.",
    "chat": "Look at chats and mailboxes, write to them, and listen. Without a command: ls.",
    "rows": "Keep the rows of a cache fresh; look at row caches. Without a command: ls.",
    "counters": "Look at counters. Without a command: ls.",
    "logs": "Send files to many consumers; count their lines by country, region and city.",
    "doctor": "Find what is wrong, or may go wrong, with the servers; each with a remedy.",
    "fsck": "Look at every key of a namespace, and tell what does not fit together; it only reads.",
    "acl": "Print the access rule for a user of one namespace, ready to be pasted; asks no server.",
    "bench": "Measure how fast Holdfast is from this machine, with this server and this network.",
    "serve": "Serve the dashboard at /dashboard, and mailboxes and chats over HTTP and WebSocket.",
}
"""What each does, as it says itself: listing them loads none."""

HOMES: Final = {"logs": "log_files"}
"""Where a command lives whose module has another name."""

app = Commands(
    name="holdfast",
    help="Application building blocks on Valkey and Redis: nothing lost, nothing held twice.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
for name, about in COMMANDS.items():
    app.later(name, f"{__package__}.{HOMES.get(name, name)}", about)


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
