"""Sixteen processes at one limiter: decisions per second, and how much above the limit passes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .contenders import BLOCKING

PROCESSES: Final = 16
AMOUNT: Final = 100
PER_S: Final = 1
LASTS_S: Final = 6.0
PAUSE_S: Final = 0.85
TOLERANCE_S: Final = 0.1
"""Processes note when they got an answer, which is a little later than the decision."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Run each contender once: all processes ask as fast as they can."""
    rows: list[list[Cell]] = []
    above = 0.0
    for name in BLOCKING:
        bench.server.clear()
        asked, passed = _contest(bench.server.url, name)
        most = _most(passed)
        rows.append([name, asked / LASTS_S, most, 100 * max(0, most - AMOUNT) / AMOUNT])
        if name == "holdfast":
            above = max(0, most - AMOUNT)
    columns = ("case", "rate/s", "most in a window", "above the limit, %")
    notes = [
        f"{PROCESSES} processes, {AMOUNT} in {PER_S} s, for {LASTS_S:g} s",
        f"each asks once and goes on {PAUSE_S:g} s later: the first window is about to end",
        f"windows of {PER_S - TOLERANCE_S:g} s, because answers are noted after decisions",
    ]
    target = Target("holdfast, above the limit", above, 0, at_least=False)
    yield Table("16 processes, one limiter", columns, rows, [target], notes)


def _contest(url: str, name: str) -> tuple[int, list[float]]:
    """Return how often the processes asked, and when something passed."""
    begin = time.time() + 4
    command = [sys.executable, "-m", __name__, url, name, str(begin)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(PROCESSES)]
    asked, passed = 0, []
    for process in running:
        output, _ = process.communicate()
        count, times = json.loads(output)
        asked += count
        passed += times
    return asked, sorted(passed)


def _most(passed: list[float]) -> int:
    """Return the largest number in any window."""
    most = first = 0
    for last, at in enumerate(passed):
        while at - passed[first] >= PER_S - TOLERANCE_S:
            first += 1
        most = max(most, last - first + 1)
    return most


def _ask_until_the_end(url: str, name: str, begin: float) -> None:
    with ExitStack() as ending:
        ask = BLOCKING[name](url, AMOUNT, PER_S, ending)
        ask("warm")
        time.sleep(max(0.0, begin - time.time()))
        asked, passed = 1, [time.time()] if ask("api") else []
        time.sleep(max(0.0, begin + PAUSE_S - time.time()))
        while time.time() < begin + LASTS_S:
            asked += 1
            if ask("api"):
                passed.append(time.time())
        print(json.dumps((asked, passed)))


if __name__ == "__main__":
    _ask_until_the_end(sys.argv[1], sys.argv[2], float(sys.argv[3]))
