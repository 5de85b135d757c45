"""The command `holdfast demo logs`."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from .... import Holdfast, HoldfastError
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

NAMESPACE = "fakegame"
Seed = Annotated[int | None, seed_option("days")]
Days = Annotated[int, typer.Option("--days", metavar="N", min=1, max=31, help="How many, 1 to 31.")]
Lines = Annotated[
    int,
    typer.Option(
        "--lines",
        metavar="N",
        min=100_000,
        max=10_000_000,
        help="Events a day, 100,000 to 10,000,000.",
    ),
]


def logs(
    seed: Seed = None, days: Days = 7, lines: Lines = 200_000, as_json: AsJson = False
) -> None:
    """Send days of events to four who count them, kill one, and lose nothing.

    The game's servers have written a log for each day and realm. A feed takes
    them to four processes of `holdfast logs tally`, each log to one of them,
    within 8 MiB of the server's memory. In the midst of it one that holds a
    log is killed with -9; another one goes on with it.

    At the end the tally is compared with a direct count of the logs, value by
    value: the exit code is 1 if a line is missing, or counts twice.
    """
    # Imported here: no other command needs those who count.
    from ..examples import load_example, needed_example
    from .summary import print_summary

    end_as_by_ctrl_c()
    seed = chosen(seed)
    screen = console(stderr=as_json)
    with ExitStack() as cleaning:
        folder = Path(tempfile.mkdtemp(prefix="holdfast-"))
        cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            example = load_example(needed_example("logs.py"))
            report = _counted(example, folder, screen, days=days, lines=lines, seed=seed)
        except KeyboardInterrupt:
            screen.print("  stopped; nothing is kept")
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        print_summary(report)
    raise typer.Exit(1 if report.problems else 0)


def _counted(
    example: ModuleType, folder: Path, screen: Console, *, days: int, lines: int, seed: int
) -> Report:
    """Have everything written, sent and counted on the screen."""
    from ..live import screen_on
    from .counters import CounterFailed, Counters
    from .counting import FEED, NAMES, TALLY, Counting
    from .picture import drawn, told
    from .report import Report

    logs = folder / "days"
    networks, places = example.write_table(folder)
    screen.print(f"\n  The game writes {lines:,} events a day, for {counted(days, 'day')}.")
    example.write_days(logs, days=days, lines=lines, seed=seed)
    screen.print(f"  {len(NAMES)} processes count them by country, region and city.\n")
    arguments = ["logs", "tally", TALLY, "--feed", FEED, "--namespace", NAMESPACE]
    arguments += ["--geo", str(networks), "--locations", str(places)]
    with own_server() as server, Holdfast.from_url(server.url, namespace=NAMESPACE) as hf:
        try:
            with Counters(NAMES, arguments, server.url, folder) as counters:
                counting = Counting(hf, logs, counters, lines=days * lines)
                with screen_on(
                    screen, drawn=lambda: drawn(counting), told=lambda: f"  {told(counting)}"
                ) as live:
                    for _ in counting.run():
                        live.show()
        except (CounterFailed, HoldfastError, OSError) as error:
            fail(str(error))
        screen.print("  compared with a direct count …")
        return Report.of(counting, example.DirectCount.of(logs), seed=seed)
