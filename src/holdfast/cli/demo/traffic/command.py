"""The command `holdfast demo traffic`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .... import Holdfast, HoldfastError
from ...connection import fail
from ...exit_codes import INTERRUPTED
from ...output import console
from ...output import print_line as say
from ..interruption import end_as_by_ctrl_c
from ..options import AsJson, chosen, seed_option

if TYPE_CHECKING:
    from rich.console import Console

    from .evening import Evening

FRAME_S = 0.2
NAMED = 5
"""So many problems are told."""

Seed = Annotated[int | None, seed_option("players")]
Players = Annotated[
    int, typer.Option("--players", metavar="N", min=1, max=64, help="How many play, 1 to 64.")
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=1.0, max=60.0, help="How long they play, up to 60."),
]


def traffic(
    seed: Seed = None, players: Players = 8, seconds: Seconds = 15.0, as_json: AsJson = False
) -> None:
    """Count page hits, and let players find guild mates by what they type.

    Hits come together in a buffer and count in seven precisions at once.
    Meanwhile players join the guild and leave it, look for mates letter by
    letter, in several scripts, and write to them; mail to somebody who is no
    member is refused.

    At the end everything is compared with what the players noted themselves:
    the exit code is 1 if a precision misses a hit, a search finds the wrong
    names, or mail went to anybody else.
    """
    end_as_by_ctrl_c()
    seed = chosen(seed)
    screen = console(stderr=as_json)
    try:
        with _client() as hf:
            evening = _play(hf, screen, players=players, seconds=seconds, seed=seed)
            problems = list(evening.problems())
    except KeyboardInterrupt:
        screen.print("  stopped; nothing is kept")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(_report(evening, problems, seed), indent=2))
    else:
        _conclude(evening, problems, seed)
    raise typer.Exit(1 if problems else 0)


@contextmanager
def _client() -> Iterator[Holdfast]:
    """Of a server that is gone afterwards."""
    try:
        hf = Holdfast.embedded()
    except HoldfastError as error:
        fail(str(error))
    with hf:
        yield hf


def _play(hf: Holdfast, screen: Console, *, players: int, seconds: float, seed: int) -> Evening:
    """Show the evening while it lasts."""
    from ..examples import load_example, needed_example
    from ..live import screen_on
    from .evening import Evening, played
    from .picture import drawn, told

    example = load_example(needed_example("guild.py"))
    evening = Evening(hf, example, players=players, seed=seed)
    screen.print(f"\n  {players} players open pages and look for their guild mates.\n")
    with screen_on(
        screen, drawn=lambda: drawn(hf, evening), told=lambda: f"  {told(evening)}"
    ) as live:
        for _ in played(evening, seconds, FRAME_S):
            live.show()
    return evening


def _report(evening: Evening, problems: list[str], seed: int) -> dict[str, Any]:
    return {
        "ok": not problems,
        "seed": seed,
        "hits": dict(evening.hits),
        "searches": evening.searches,
        "members": len(evening.members),
        "mails": sum(evening.mails.values()),
        "refused": evening.refused,
        "problems": problems,
    }


def _conclude(evening: Evening, problems: list[str], seed: int) -> None:
    from .picture import told

    say("")
    say(f"  {told(evening)}")
    if problems:
        say(f"  ✗ {len(problems):,} things are not as they must be", style="bold red")
        for problem in problems[:NAMED]:
            say(f"    {problem}")
    else:
        say("  ✓ all seven precisions have every hit", style="green")
        say("  ✓ searches find exactly the members", style="green")
        say("  ✓ mail went to members only, each once", style="green")
    say(f"  The same players again: --seed {seed}", style="dim")
