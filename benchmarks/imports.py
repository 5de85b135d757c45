"""How long importing a client takes, beside the `import redis` that it cannot do without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Final

from .harness import BenchmarkRun, spread_of
from .report import Cell, Table, Target

TARGET: Final = 1.3
"""Times `import redis`: a command-line tool starts often."""

STATEMENTS: Final = {
    "bare interpreter": "",
    "redis-py": "import redis",
    "holdfast": "from holdfast import Holdfast",
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Fresh interpreters in turn; what the bare one takes is subtracted, round by round."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        environment = _environment(folder)
        rounds = [
            {name: _started(statement, environment) for name, statement in STATEMENTS.items()}
            for _ in range(bench.rounds + 1)
        ][1:]
    yield _table("import, time on the clock", rounds, lambda taken: taken[0])
    yield _table("import, processor time", rounds, lambda taken: taken[1])


Taken = tuple[float, float]
"""Seconds on the clock, seconds of the processor."""


def _environment(folder: str) -> dict[str, str]:
    """Ours, with all byte code in *folder*: an installed package has some, a checkout may not."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _started(statement: str, environment: dict[str, str]) -> Taken:
    """Return what one interpreter takes to run *statement*."""
    cpu_s, wall_s = _children_s(), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    return time.perf_counter() - wall_s, _children_s() - cpu_s


def _children_s() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _table(title: str, rounds: list[dict[str, Taken]], of: Callable[[Taken], float]) -> Table:
    bare, theirs, ours = ([of(taken[name]) for taken in rounds] for name in STATEMENTS)
    rows: list[list[Cell]] = []
    for name, taken in zip(STATEMENTS, (bare, theirs, ours), strict=True):
        net = [whole - start for whole, start in zip(taken, bare, strict=True)]
        rows.append([name, median(taken) * 1000, median(net) * 1000, None])
    ratio = spread_of(
        [
            (whole - start) / (rival - start)
            for start, rival, whole in zip(bare, theirs, ours, strict=True)
        ]
    )
    rows[-1][-1] = ratio
    return Table(
        title,
        ("import", "ms", "ms without interpreter", "÷ redis-py"),
        rows,
        [Target("holdfast ÷ redis-py", ratio.middle, TARGET, at_least=False)],
        rounds=len(rounds),
    )
