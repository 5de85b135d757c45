"""The verdicts as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ....inspect.formats import counted
from ...output import print_block as show
from ...output import print_line as say
from .part import Verdict

NAMED = 3
"""So many problems of a promise are told."""


def print_verdicts(verdicts: Sequence[Verdict], struck: Sequence[str], seed: int) -> None:
    """Print what was promised, how much was held to it, and what came of that."""
    say("")
    show(_table(verdicts))
    say("")
    for verdict in verdicts:
        for problem in verdict.problems[:NAMED]:
            say(f"  {verdict.block}: {problem}")
        if len(verdict.problems) > NAMED:
            say(f"  {verdict.block}: and {len(verdict.problems) - NAMED:,} more")
        if not verdict.checked:
            say(f"  {verdict.block}: nothing was checked")
    broken = sum(not verdict.kept for verdict in verdicts)
    promises = counted(len(verdicts), "promise")
    kills = f"after {counted(len(struck), 'kill')}: {', '.join(struck)}"
    if broken:
        say(f"✗ {broken} of {promises} were not kept, {kills}", style="bold red")
    else:
        say(f"✓ all {promises} were kept, {kills}", style="bold green")
    say(f"  The same world again: --seed {seed}", style="dim")


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("block", no_wrap=True)
    table.add_column("promise")
    table.add_column("checked", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for verdict in verdicts:
        sign = Text("✓", "bold green") if verdict.kept else Text("✗", "bold red")
        table.add_row(verdict.block, verdict.promise, f"{verdict.checked:,} {verdict.what}", sign)
    return table
