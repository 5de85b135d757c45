"""The command `holdfast demo` without a further word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .... import HoldfastError
from ...connection import fail
from ...exit_codes import INTERRUPTED
from ...output import console
from ..interruption import end_as_by_ctrl_c
from ..options import chosen, seed_option

if TYPE_CHECKING:
    from rich.console import Console

    from .part import Verdict
    from .world import World

LONGEST_S: Final = 7_200.0
SHOWN_S: Final = 600.0
CHECKED_S: Final = 60.0
"""Likewise where nobody can press Ctrl-C."""

Seconds = Annotated[
    float | None,
    typer.Option(
        "--seconds",
        metavar="S",
        min=5.0,
        max=LONGEST_S,
        help="How long it goes on, 5 to 7200.",
        show_default="600; with --check, or without a terminal, 60",
    ),
]
Checked = Annotated[
    bool, typer.Option("--check", help="Kill some of it, and verify every promise at the end.")
]
Seed = Annotated[int | None, seed_option("world")]
Port = Annotated[
    int,
    typer.Option(
        "--port", metavar="N", min=0, max=65535, help="Of the dashboard; 0 takes a free one."
    ),
]


def world(
    *, seconds: float | None, check: bool, seed: int | None, port: int, as_json: bool
) -> None:
    """Let the world go on, and tell what came of it; see `holdfast demo --help`."""
    end_as_by_ctrl_c()
    seed = chosen(seed)
    screen = console(stderr=as_json)
    seconds = seconds or (SHOWN_S if screen.is_interactive and not check else CHECKED_S)
    try:
        verdicts, struck, costs = _lived(screen, seconds=seconds, seed=seed, port=port, check=check)
    except KeyboardInterrupt:
        screen.print("  stopped; nothing is kept")
        raise typer.Exit(INTERRUPTED) from None
    ok = all(verdict.kept for verdict in verdicts)
    if as_json:
        report = _report(verdicts, struck, costs, seed=seed, seconds=seconds)
        typer.echo(json.dumps(report, indent=2))
    elif check:
        from .table import print_verdicts

        print_verdicts(verdicts, struck, seed)
    raise typer.Exit(0 if ok else 1)


def _lived(
    screen: Console, *, seconds: float, seed: int, port: int, check: bool
) -> tuple[list[Verdict], list[str], dict[str, Any]]:
    """What was promised and whether it was kept, what was killed meanwhile, and what it cost."""
    # Imported here: no other command needs all of this.
    try:
        from .world import opened
    except ModuleNotFoundError as error:
        fail(f"the demo needs {error.name}: pip install 'holdfast[all]'")
    screen.print("\n  Fake Game, Fake Garage and Fake Web Retailer open …")
    try:
        with opened(seconds=seconds, seed=seed, port=port, faults=check) as world:
            screen.print("  The dashboard, to look at and to operate:")
            screen.print(f"  {world.link}\n", soft_wrap=True, highlight=False)
            screen.print(f"  {_database(world)}\n", style="dim")
            for _ in _shown(screen, world, check=check):
                pass
            verdicts = list(world.verdicts()) if check else []
            return verdicts, world.struck, world.gauge.report()
    except (HoldfastError, OSError, RuntimeError) as error:  # what a part of it fails of
        fail(str(error))


def _shown(screen: Console, world: World, *, check: bool) -> Iterator[None]:
    """Let it live on the screen, and come to an end if that is to be checked."""
    from ..live import screen_on
    from .picture import drawn, told

    with screen_on(screen, drawn=lambda: drawn(world), told=lambda: told(world)) as live:
        for _ in chain(world.live(), world.finish() if check else ()):
            live.show()
            yield


def _database(world: World) -> str:
    """What the shop sells from."""
    kind = world.ground.database.partition(":")[0].partition("+")[0]
    if kind == "sqlite":
        return "The shop has SQLite; with holdfast[bench] it has a PostgreSQL of its own."
    return "The shop has a PostgreSQL of its own."


def _report(
    verdicts: list[Verdict], struck: list[str], costs: dict[str, Any], *, seed: int, seconds: float
) -> dict[str, Any]:
    promises = [{"kept": verdict.kept, **asdict(verdict)} for verdict in verdicts]
    ok = all(verdict.kept for verdict in verdicts)
    said = {"ok": ok, "seed": seed, "seconds": seconds, "killed": struck}
    return {**said, "promises": promises, "costs": costs}
