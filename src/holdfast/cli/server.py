"""`holdfast server`: start, stop and look at the embedded server of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .. import HoldfastError, ServerInUse, server
from ..server import ServerStatus
from .codes import NOT_FOUND, REFUSED
from .connection import fail
from .help import Commands
from .output import console, visible

app = Commands(
    name="server",
    help="Start, stop and look at the embedded server of a folder.",
    no_args_is_help=True,
)

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        envvar="HOLDFAST_EMBEDDED",
        help="The folder that holds the server's data.",
    ),
]


@app.command()
def start(folder: Folder) -> None:
    """Keep the server running, whether or not any process uses it, until `stop`."""
    with _errors_told():
        state = server.start(folder)
    _say(f"[green]running[/] {_about(state)}")
    _say(f"connect to [bold]{visible(state.url)}[/]")


@app.command()
def stop(
    folder: Folder,
    force: Annotated[bool, typer.Option("--force", help="Even while processes use it.")] = False,
) -> None:
    """Stop the server. Everything that was acknowledged is on disk."""
    with _errors_told():
        was_running = server.stop(folder, force=force)
    _say(f"{'stopped' if was_running else 'was not running'}: {visible(str(folder))}")


@app.command()
def status(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Tell how the server is. The exit code is 0 if it runs and 3 if it does not."""
    with _errors_told():
        state = server.status(folder)
    if as_json:
        typer.echo(json.dumps(asdict(state)))
    else:
        for name, value in _rows(state):
            _say(f"{name:8}{value}")
    if not state.running:
        raise typer.Exit(NOT_FOUND)  # as init scripts have it


def _rows(state: ServerStatus) -> Iterator[tuple[str, str]]:
    yield "folder", visible(state.folder)
    yield "state", f"[green]running[/] {_about(state)}" if state.running else "not running"
    if state.running:
        yield "url", visible(state.url)
        yield "memory", f"{(state.used_memory or 0) / 2**20:.1f} MiB"
    yield "pinned", "yes: it stays when the last user leaves" if state.pinned else "no"
    yield "users", _users(state.users)


def _about(state: ServerStatus) -> str:
    return f"({state.version}, process {state.pid})"


def _users(pids: tuple[int, ...]) -> str:
    return f"{len(pids)} (processes {', '.join(map(str, pids))})" if pids else "none"


def _say(line: str) -> None:
    """Print a line, however long: a path is there to be copied."""
    console().print(line, soft_wrap=True)


@contextmanager
def _errors_told() -> Iterator[None]:
    """Errors of ours end the command with a sentence, not a traceback."""
    try:
        yield
    except ServerInUse as error:
        fail(str(error), code=REFUSED)
    except HoldfastError as error:
        fail(str(error))
