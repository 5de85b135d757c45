"""List the commands, and import the module of a command only when it is called."""

from __future__ import annotations

from typing import Final

import typer

from .. import __version__
from .commands import Commands

COMMANDS: Final = {
    "complete": "Find names by their beginning, or by the beginning of a later word.",
    "completions": "List the completions; `complete` searches them. Without a command: ls.",
    "worker": "Run tasks until SIGTERM or Ctrl-C; running tasks finish or go back, nothing is "
    "lost.",
    "workers": "List the workers: which queues they serve, and how busy they are. Without a "
    "command: ls.",
    "top": "Watch a namespace: its servers, tasks, workers, locks, messages and data.",
    "demo": "Show Holdfast at work.",
    "server": "Start, stop and inspect the embedded server of a folder.",
    "queues": "List the task queues; limit, divide, pause, resume and empty them. Without a "
    "command: ls.",
    "tasks": "List the tasks of a queue; enqueue and cancel tasks, and replay the dead.",
    "schedules": "List schedules; add, pause, trigger and remove them. Without a command: ls.",
    "groups": "List groups and chains of tasks, show their members, and cancel them. Without a "
    "command: ls.",
    "locks": "List locks of all kinds; run commands under them. Without a command: ls.",
    "chat": "List chats and mailboxes, write to them, and follow them. Without a command: ls.",
    "rows": "Keep the rows of a cache fresh; list row caches. Without a command: ls.",
    "outbox": "Relay tasks from the outbox of a SQL database to their queues; handle those that "
    "failed.",
    "cache": "List cached functions; show and invalidate their results. Without a command: ls.",
    "counters": "List and draw counters. Without a command: ls.",
    "limits": "List rate limiters; show what they let pass, and reset them. Without a command: ls.",
    "idempotency": "List stores of idempotency keys; show what a key holds, and free it. Without a "
    "command: ls.",
    "logs": "Send files to many consumers; count their lines by country, region and city.",
    "tallies": "List the tallies; `logs tally` counts lines into them. Without a command: ls.",
    "doctor": "Find what is wrong, or may go wrong, with the servers; each with a remedy.",
    "fsck": "Check that the keys of a namespace are consistent; it only reads.",
    "acl": "Print the access rule for a user of one namespace, ready to paste; contacts no server.",
    "bench": "Measure how fast Holdfast is from this machine, with this server and this network.",
    "serve": "Serve the dashboard at /dashboard, and mailboxes and chats over HTTP and WebSocket.",
}
"""Name → first line of the help. The command is the `app` in the module with this name."""

NEED_POSIX: Final = {"demo", "logs", "serve", "server", "top", "worker"}
"""Commands that do not run on Windows."""

app: Final = Commands(
    name="holdfast",
    help="Application building blocks on Valkey and Redis: nothing lost, nothing held twice.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
for _name, _about in COMMANDS.items():
    app.add_lazily(_name, f"{__package__}.{_name}", _about, needs_posix=_name in NEED_POSIX)


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
    """Declare the options before the command."""
    del version
