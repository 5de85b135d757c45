"""The command `holdfast demo market`."""

from __future__ import annotations

import json
import secrets
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ...connection import Embedded, Url, connected, fail
from ...exit_codes import INTERRUPTED, WRONG_USAGE
from ...output import console
from ..interruption import end_as_by_ctrl_c
from ..options import AsJson
from ..own_server import own_server

if TYPE_CHECKING:
    from rich.console import Console

    from .contest import Plan
    from .figures import Run

SCHEMES = ("redis://", "rediss://", "unix://")

Seconds = Annotated[
    float,
    typer.Option(
        "--seconds",
        metavar="S",
        min=0.1,
        max=60.0,
        help="How long each of the nine runs trades, 0.1 to 60.",
    ),
]


def market(
    seconds: Seconds = 2.0,
    embedded: Embedded = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Trade on a market that is guarded in three ways, and compare them.

    Sellers list items as fast as they can, buyers buy whatever they see,
    each in a process of its own. What is gone or too dear is refused. They do
    so with WATCH, MULTI and EXEC, under one lock for the market, and under a
    lock for each item: one seller and one buyer, five and one, five and five,
    always for the same time.

    After each run everything is counted: the exit code is 1 if gold or an
    item vanished or came from nowhere, or if one item was sold twice.
    """
    # Imported here: no other command needs the traders.
    from .table import print_table

    end_as_by_ctrl_c()
    screen = console(stderr=as_json)
    try:
        with ExitStack() as stack:
            if url is None or embedded is not None:
                url = stack.enter_context(own_server(embedded)).url
            elif not url.startswith(SCHEMES):
                fail(f"the market needs one server: {' '.join(SCHEMES)}", code=WRONG_USAGE)
            runs = _play(_plan(url, seconds), screen)
    except KeyboardInterrupt:
        screen.print("  stopped")
        raise typer.Exit(INTERRUPTED) from None
    ok = not any(run.problems for run in runs)
    if as_json:
        report = {"ok": ok, "seconds": seconds, "runs": [run.as_json() for run in runs]}
        typer.echo(json.dumps(report, indent=2))
    else:
        print_table(runs, screen)
    raise typer.Exit(0 if ok else 1)


def _plan(url: str, seconds: float) -> Plan:
    from ..examples import needed_example
    from .contest import Plan

    # On a server that others use too, every contest keeps to a namespace of its own.
    return Plan(url, f"fakegame-{secrets.token_hex(4)}", seconds, needed_example("market.py"))


def _play(plan: Plan, screen: Console) -> list[Run]:
    """All rounds; what they come to is shown as they end."""
    from redis import RedisError

    from .contest import ROUNDS, opened
    from .crowd import TraderFailed

    runs = []
    with connected(plan.url, None, plan.namespace) as hf:
        hf.lock("market").inspect()  # fails at once if the server is away
        try:
            with opened(plan, hf) as contest, screen.status("the traders come") as status:
                for each in ROUNDS:
                    status.update(f"{each}: {plan.seconds:g} s")
                    runs.append(contest.play(each))
                    if not screen.is_interactive:
                        screen.print(f"{each}: {runs[-1].tally.bought:,} bought")
        except (RedisError, TraderFailed) as error:
            fail(str(error))
    return runs
