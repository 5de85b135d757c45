"""What the fan-outs of all libraries have in common: roles, and a log of what ran.

`python -m benchmarks.queues.fanouts.NAME work URL` becomes a worker of a library, and
`… produce URL GROUPS MEMBERS` enqueues groups, each with a callback.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Final

LOG: Final = "HOLDFAST_BENCH_LOG"
"""The environment variable with the path of the log."""

LEASE_S: Final = 5
"""Seconds after which the tasks of a vanished worker should run again."""

THREADS: Final = 16


def note(what: str, group: str) -> None:
    """Log that something happened to a group now."""
    line = f"{what} {group} {time.monotonic_ns()}\n".encode()
    log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, line)
    os.close(log)


def take_part(work: Callable[[str], object], produce: Callable[[str, str, int], object]) -> None:
    """Run the process that the command line describes."""
    role, url, *counts = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    if role == "work":
        work(url)
        return
    first, groups, members = map(int, counts)
    for number in range(first, first + groups):
        note("begin", str(number))
        produce(url, str(number), members)
        note("enqueued", str(number))
