"""What the schedulers of all libraries have in common: their names, and a log of what ran.

`python -m benchmarks.queues.schedulers.NAME schedule|work URL` becomes a process of a library.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

LOG: Final = "HOLDFAST_BENCH_LOG"
"""The environment variable with the path of the log."""

COUNT: Final = 10
"""Schedules."""

INTERVAL_S: Final = 2

NAMES: Final = tuple(f"job{number}" for number in range(COUNT))


def ran(name: str) -> None:
    """Log that the task of a schedule runs now."""
    line = f"{name} {time.monotonic_ns()}\n".encode()
    log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, line)
    os.close(log)


def take_part(roles: Mapping[str, Callable[[str], object]]) -> None:
    """Run the process that the command line describes."""
    role, url = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    roles[role](url)
