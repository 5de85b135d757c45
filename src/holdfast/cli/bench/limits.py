"""Explain in sentences what limits the measured numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ... import ServerFacts
from ...inspect.formats import counted
from .measure import Measurement
from .measurements import CROWDED, ROUND_TRIP

BUSY: Final = 0.85
"""Share of a core from which this program is the limit, because Python uses only one core."""

OTHERS: Final = 500.0
"""Commands per second of other programs from which they affect the measurement."""


def limits(
    found: Sequence[Measurement], servers: Sequence[ServerFacts], load: float, cores: int
) -> list[str]:
    """Return sentences about what limits the numbers.

    Args:
        found: the measurements.
        servers: state of the servers before the measurements.
        load: load of this machine before the measurements.
        cores: number of cores of this machine.
    """
    by_name = {measure.name: measure for measure in found}
    trip, crowd = by_name[ROUND_TRIP], by_name[CROWDED]
    each_ms = trip.seconds / max(1, trip.count) * 1000
    here_ms = min(each_ms, trip.cpu / max(1, trip.count) * 1000)
    first = (
        f"One call after the other takes {each_ms:.2f} ms each: this program computes for "
        f"{here_ms:.2f} ms of it, and waits for {each_ms - here_ms:.2f} ms."
    )
    notes = [first]
    if load > cores:
        notes.append(
            f"This machine is busy: its load is {load:.1f}, and it has {counted(cores, 'core')}. "
            "When it is idle the numbers are better."
        )
    if crowd.cpu_share >= BUSY:
        notes.append(
            f"Concurrent calls are limited by this program: it uses {crowd.cpu_share:.0%} of a "
            "core, and Python has one per process. More processes do more."
        )
    else:
        notes.append(
            "Concurrent calls are not limited by this program, which uses "
            f"{crowd.cpu_share:.0%} of a core, but by the network, the server or the machine."
        )
    if any(one.fsync == "always" for one in servers):
        notes.append("Writes wait for the disk of the server too: appendfsync is always.")
    others = sum(one.commands_per_second for one in servers)
    if others >= OTHERS:
        notes.append(f"The server did {others:,.0f} commands/s for other programs before this.")
    return notes
