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

ROUND_S: Final = 300.0
"""In a long life all of it happens about so often, but for what is not to come again."""

SERVER: Final = "server"


class Nemesis:
    """Strikes with all *faults*, one after the other, in an order that follows from the seed.

    In a life of many rounds it strikes again and again, each time in another order.

    Attributes:
        struck: names of what was killed so far.
    """

    def __init__(self, faults: Sequence[Fault], *, seconds: float, seed: int) -> None:
        self.struck: list[str] = []
        dice = random.Random(seed)
        order = dice.sample(faults, len(faults))
        again = [fault for fault in faults if fault.again]
        for _ in range(1, int(seconds / ROUND_S)):
            order += dice.sample(again, len(again))
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
