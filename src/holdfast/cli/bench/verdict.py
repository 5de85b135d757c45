"""What the numbers are limited by, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ... import ServerFacts
from ..output import counted
from .measure import Measure
from .stations import CROWDED, ROUND_TRIP

BUSY: Final = 0.85
"""Of one core: more is what one Python program has, but for what goes on around it."""

OTHERS: Final = 500.0
"""Commands a second of other programs, from which on they matter."""


def limits(
    found: Sequence[Measure], servers: Sequence[ServerFacts], load: float, cores: int
) -> list[str]:
    """Sentences for people.

    Args:
        found: what was measured.
        servers: how they were before.
        load: of this machine before: how many programs wanted to run.
        cores: of this machine.
    """
    by_name = {measure.name: measure for measure in found}
    trip, crowd = by_name[ROUND_TRIP], by_name[CROWDED]
    each_ms = trip.seconds / max(1, trip.count) * 1000
    here_ms = min(each_ms, trip.cpu / max(1, trip.count) * 1000)
    told = f"One call after the other takes {each_ms:.2f} ms each: {here_ms:.2f} ms of it this "
    told += f"program computes, and {each_ms - here_ms:.2f} ms it waits."
    notes = [told]
    if load > cores:
        told = (
            f"This machine is busy: its load is {load:.1f}, and it has {counted(cores, 'core')}. "
        )
        notes.append(f"{told}When it is idle the numbers are better.")
    if crowd.cpu_share >= BUSY:
        notes.append(
            f"Many at once are limited by this program: it uses {crowd.cpu_share:.0%} of a core, "
            "and Python has one per process. More processes do more."
        )
    else:
        notes.append(
            "Many at once are not limited by this program, which uses "
            f"{crowd.cpu_share:.0%} of a core, but by the network, the server or the machine."
        )
    if any(one.fsync == "always" for one in servers):
        notes.append("What writes waits for the server's disk as well: appendfsync is always.")
    others = sum(one.commands_per_second for one in servers)
    if others >= OTHERS:
        notes.append(f"The server did {others:,.0f} commands/s for others when this began.")
    return notes
