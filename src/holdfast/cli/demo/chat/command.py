"""The command `holdfast demo chat`."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....inspect.formats import counted
from ...connection import fail
from ...exit_codes import INTERRUPTED
from ...output import console
from ..interruption import end_as_by_ctrl_c
from ..options import AsJson, chosen, seed_option
from ..own_server import own_server

if TYPE_CHECKING:
    from rich.console import Console

    from .report import Report

Seed = Annotated[int | None, seed_option("day")]
Clients = Annotated[
    int, typer.Option("--clients", metavar="N", min=4, max=400, help="How many phones, 4 to 400.")
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=1.0, max=600.0, help="How long the day lasts."),
]


def chat(
    seed: Seed = None, clients: Clients = 60, seconds: Seconds = 20.0, as_json: AsJson = False
) -> None:
    """Let phones that drop off all the time write to each other, and lose nothing.

    The people of Fake Garage send one-to-one messages and talk in group chats
    for a day in fast motion. Their phones drive through tunnels, where what
    was sent may arrive while no answer comes back; and the processes in which
    the phones run are killed, and started again with what was on disk.

    At the end the disks of all phones are compared: the exit code is 1 if
    anybody misses a message, has one out of order, or got one again after
    acknowledging it.
    """
    # Imported here: no other command needs the phones.
    from ..examples import load_example, needed_example
    from .summary import print_summary

    end_as_by_ctrl_c()
    seed = chosen(seed)
    screen = console(stderr=as_json)
    with ExitStack() as cleaning:
        folder = Path(tempfile.mkdtemp(prefix="holdfast-"))
        cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            example = load_example(needed_example("fakegarage/__init__.py"))
            report = _live(example, seed, clients, seconds, folder, screen)
        except KeyboardInterrupt:
            screen.print("  stopped; nothing is kept")
            raise typer.Exit(INTERRUPTED) from None
        if report.problems:
            cleaning.pop_all()  # somebody will want to look
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        print_summary(report, screen)
    raise typer.Exit(1 if report.problems else 0)


def _introduction(day: Any) -> str:
    """What one is about to see."""
    users, chats = len(day.users), len(day.readers) - len(day.users)
    return (
        f"{users} phones in {len(day.processes)} processes write one-to-one and in "
        f"{counted(chats, 'group chat')}.\n  Tunnels cut them off, and processes are killed.\n"
    )


def _live(
    example: ModuleType, seed: int, clients: int, seconds: float, folder: Path, console: Console
) -> Report:
    """Let the day pass on the screen."""
    from .report import Report
    from .screen import screen_on

    day = example.Day.make(seed=seed, clients=clients, seconds=seconds)
    console.print(f"\n  {_introduction(day)}")
    with own_server() as server:
        garage = example.Garage(day, seed=seed, server=server.socket, folder=folder)
        try:
            with screen_on(console, garage) as screen:
                for _ in garage.run():
                    screen.show()
        except example.PhonesFailed as error:
            fail(str(error))
    return Report.of(garage, seed=seed, folder=folder)
