"""What becomes of the tasks of a worker that is killed while it holds them.

A worker takes as many tasks as it has places for; then it is killed with all its processes, and a
second one with the same settings is started at the same moment. Nothing else is enqueued. Every
library is set to notice as soon as it can. The clock runs from the kill until every task has run
to its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..harness import BenchmarkRun
from ..orders import ContenderFailed
from ..report import Cell, Table, Target
from .contender_processes import ContenderProcesses
from .lineup import (
    ARQ,
    CELERY_THREADS,
    DRAMATIQ,
    HOLDFAST,
    HUEY,
    RQ,
    SAQ,
    SEED,
    TASKIQ,
    Entry,
    chosen,
)

TASKS: Final = 40
HOLD_S: Final = 1.0
PLACES: Final = 20
LEASE_S: Final = 6

TARGET_S: Final = LEASE_S + 5.0

KILL_AFTER_S: Final = 0.5
"""After the tasks were enqueued: the first are running, none has ended."""

AT_ONCE: Final = 4
"""Contenders side by side: their tasks sleep."""

RIVALS: Final = (
    TASKIQ.placed(PLACES),
    ARQ.placed(PLACES),
    SAQ.placed(PLACES),
    DRAMATIQ.placed(PLACES, maintenance_chance=1_000_000),
    HUEY.placed(PLACES),
    CELERY_THREADS.placed(PLACES, prefetch=1),
    RQ.placed(1),
    SEED.placed(1),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one contender's tasks.

    Attributes:
        held: tasks that were running when the worker was killed.
        done: tasks that ran to their end within the limit.
        repeated: tasks that ran to their end more than once.
        seconds: from the kill until the last had ended; None when some had not.
    """

    held: int
    done: int
    repeated: int
    seconds: float | None


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Ours alone, then the others side by side, each in a database of its own."""
    bench.server.clear()
    ours = HOLDFAST.placed(PLACES)
    rivals = chosen(bench, RIVALS) if bench.rivals else []
    outcomes = {ours.name: _outcome(bench, (0, ours))}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(partial(_outcome, bench), enumerate(rivals, start=1))
        outcomes |= zip((one.name for one in rivals), found, strict=True)
    rows = [_row(name, outcome) for name, outcome in outcomes.items()]
    title = f"kill -9: {TASKS} tasks of {HOLD_S:g} s, lease {LEASE_S} s, limit {bench.limit_s:g} s"
    columns = ("case", "held when killed", "ran", "ran twice", "seconds until all ran")
    yield Table(title, columns, rows, _targets(outcomes[ours.name], bench.limit_s))


def _outcome(bench: BenchmarkRun, numbered: tuple[int, Entry]) -> Outcome | ContenderFailed:
    database, entry = numbered
    with TemporaryDirectory(prefix="holdfast-bench-") as folder:
        url = f"{bench.server.url}/{database}"
        contender = ContenderProcesses(
            entry, Path(folder), url, TASKS, lease_s=LEASE_S, hold_s=HOLD_S
        )
        try:
            return _killed(contender, bench.limit_s)
        except ContenderFailed as failure:
            return failure
        finally:
            contender.close()


def _killed(contender: ContenderProcesses, limit_s: float) -> Outcome:
    contender.start_worker()
    contender.greet()
    contender.order("many", count=TASKS)
    time.sleep(KILL_AFTER_S)
    held = contender.board.held(TASKS)
    contender.kill_workers()
    killed_s = time.monotonic()
    contender.start_worker()
    finished = contender.wait_done(TASKS, limit_s)
    seconds = time.monotonic() - killed_s if finished else None
    runs = contender.board.runs(TASKS)
    return Outcome(held, TASKS - runs.lost, runs.repeated, seconds)


def _row(name: str, outcome: Outcome | ContenderFailed) -> list[Cell]:
    if isinstance(outcome, ContenderFailed):
        return [name, str(outcome), None, None, None]
    seconds = "not within the limit" if outcome.seconds is None else outcome.seconds
    return [name, outcome.held, outcome.done, outcome.repeated, seconds]


def _targets(ours: Outcome | ContenderFailed, limit_s: float) -> list[Target]:
    if isinstance(ours, ContenderFailed):
        raise ours
    seconds = limit_s if ours.seconds is None else ours.seconds
    return [
        Target("tasks that ran", ours.done, TASKS, at_least=True),
        Target("seconds until all ran", seconds, TARGET_S, at_least=False),
    ]
