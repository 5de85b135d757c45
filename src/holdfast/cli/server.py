"""`holdfast server`: start, stop and inspect the embedded server of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from .. import HoldfastError, ServerInUse, server
from ..inspect.formats import size
from ..server import ServerStatus
from .commands import Commands
from .connection import fail
from .exit_codes import NOT_FOUND, REFUSED
from .options import argument, flag
from .output import console, untrusted_markup

app: Final = Commands(
    name="server",
    help="Start, stop and inspect the embedded server of a folder.",
    no_args_is_help=True,
)

Folder = Annotated[
    Path, argument("FOLDER", "The folder that holds the server's data.", envvar="HOLDFAST_EMBEDDED")
]


@app.command(example="holdfast server start ./data")
def start(folder: Folder) -> None:
    """Start the server and keep it running until `stop`, whether or not a process uses it."""
    with _server_errors():
        state = server.start(folder)
    _print(f"[green]running[/] {_version(state)}")
    _print(f"connect to [bold]{untrusted_markup(state.url)}[/]")


@app.command(example="holdfast server stop ./data")
def stop(
    folder: Folder,
    force: Annotated[bool, flag("Stop it even while processes use it.", "--force")] = False,
) -> None:
    """Stop the server. No acknowledged write is lost, because all are on disk."""
    with _server_errors():
        was_running = server.stop(folder, force=force)
    _print(f"{'stopped' if was_running else 'was not running'}: {untrusted_markup(str(folder))}")


@app.command(example="holdfast server status ./data")
def status(
    folder: Folder,
    as_json: Annotated[bool, flag("One JSON object.", "--json")] = False,
) -> None:
    """Show the state of the server. The exit code is 0 if it runs and 3 if it does not."""
    with _server_errors():
        state = server.status(folder)
    if as_json:
        typer.echo(json.dumps(asdict(state)))
    else:
        for name, value in _rows(state):
            _print(f"{name:8}{value}")
    if not state.running:
        raise typer.Exit(NOT_FOUND)  # the exit code 3 is the convention of init scripts


def _rows(state: ServerStatus) -> Iterator[tuple[str, str]]:
    yield "folder", untrusted_markup(state.folder)
    yield "state", f"[green]running[/] {_version(state)}" if state.running else "not running"
    if state.running:
        yield "url", untrusted_markup(state.url)
        yield "memory", size(state.used_memory or 0)
    yield "pinned", "yes: it runs without users too" if state.pinned else "no"
    yield "users", _user_list(state.users)


def _version(state: ServerStatus) -> str:
    return f"({state.version}, process {state.pid})"


def _user_list(pids: tuple[int, ...]) -> str:
    return f"{len(pids)} (processes {', '.join(map(str, pids))})" if pids else "none"


def _print(line: str) -> None:
    """Print *line* unfolded, so that a path can be copied whole."""
    console().print(line, soft_wrap=True)


@contextmanager
def _server_errors() -> Iterator[None]:
    """End the command with a message if the embedded server raises an error."""
    try:
        yield
    except ServerInUse as error:
        fail(str(error), code=REFUSED)
    except HoldfastError as error:
        fail(str(error))
