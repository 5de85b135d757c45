"""Kill processes of a demo on a schedule that depends on the seed."""

from __future__ import annotations

import os
import random
import signal
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from holdfast.server import status

from .demo import ProcessFault

FIRST, LAST = 0.2, 0.85
"""Fractions of the run between which all kills happen."""

ROUND_S: Final = 300.0
"""Seconds after which a long run repeats the faults that may be repeated."""


class KillSchedule:
    """Carry out all faults one after the other, in a random order that depends on the seed.

    Attributes:
        killed: names of the processes that were killed so far.
    """

    def __init__(self, faults: Sequence[ProcessFault], *, seconds: float, seed: int) -> None:
        self.killed: list[str] = []
        dice = random.Random(seed)
        order = dice.sample(faults, len(faults))
        again = [fault for fault in faults if fault.again]
        for _ in range(1, int(seconds / ROUND_S)):
            order += dice.sample(again, len(again))
        step_s = seconds * (LAST - FIRST) / max(1, len(order))
        self._coming = deque(
            (seconds * FIRST + number * step_s, fault) for number, fault in enumerate(order)
        )

    def poll(self, elapsed_s: float) -> None:
        """Carry out all faults that are due *elapsed_s* after the start."""
        while self._coming and self._coming[0][0] <= elapsed_s:
            _, fault = self._coming.popleft()
            fault.strike()
            self.killed.append(fault.name)


def kill_server(folder: Path) -> None:
    """Kill the embedded server of *folder*. Its supervisor starts it again."""
    pid = status(folder).pid
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
