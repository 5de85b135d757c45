"""The task that everybody runs: it marks that it ran, and may take a while.

An environment variable says where its process leaves the marks, as libraries import it by name.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from .contender import BOARD, HOLD_S, STEPS
from .scoreboard import Scoreboard

_board = Scoreboard(Path(os.environ[BOARD]))
_hold_s = float(os.environ[HOLD_S])
_steps = int(os.environ.get(STEPS, "0"))


def touch(number: int, padding: str = "") -> int:
    """Mark that task *number* ran; *padding* only makes it larger."""
    del padding
    _board.begin(number)
    if _hold_s:
        time.sleep(_hold_s)
    if _steps:
        compute(_steps)
    _board.end(number)
    return number


def compute(steps: int) -> int:
    """Take the processor for so many turns of a loop; return what it computed."""
    number = 1
    for _ in range(steps):
        number = number * 48271 % 2147483647
    return number


async def touch_async(number: int, padding: str = "") -> int:
    """Mark task *number* on an event loop."""
    del padding
    _board.begin(number)
    if _hold_s:
        await asyncio.sleep(_hold_s)
    _board.end(number)
    return number


def has_ended(number: int) -> bool:
    """Return whether task *number* ran."""
    return _board.ended(number)
