"""What is killed, and when."""

from __future__ import annotations

import os
import random
import signal
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ....server import status
from .part import Fault

FIRST, LAST = 0.2, 0.85
"""Parts of the time between which all happens."""

SERVER: Final = "server"


class Nemesis:
    """Strikes with all *faults*, one after the other, in an order that follows from the seed.

    Attributes:
        struck: names of what was killed so far.
    """

    def __init__(self, faults: Sequence[Fault], *, seconds: float, seed: int) -> None:
        self.struck: list[str] = []
        order = random.Random(seed).sample(faults, len(faults))
        step_s = seconds * (LAST - FIRST) / max(1, len(order))
        self._coming = deque(
            (seconds * FIRST + number * step_s, fault) for number, fault in enumerate(order)
        )

    def look(self, elapsed_s: float) -> None:
        """Strike, if it is time to."""
        while self._coming and self._coming[0][0] <= elapsed_s:
            _, fault = self._coming.popleft()
            fault.strike()
            self.struck.append(fault.name)


def server_of(folder: Path) -> Fault:
    """The embedded server of a folder is killed with SIGKILL; its keeper starts it again."""

    def strike() -> None:
        pid = status(folder).pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    return Fault(SERVER, strike)
