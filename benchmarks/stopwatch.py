"""What a process took."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def stopwatch() -> Iterator[dict[str, Any]]:
    """Fills what it gives with the time on the clock and of the processor, in seconds."""
    taken: dict[str, Any] = {}
    gc.collect()  # what came before is not to be paid here
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    yield taken
    taken["wall_s"] = time.perf_counter() - wall_s
    taken["cpu_s"] = time.process_time() - cpu_s


def cpu_s_of(pid: int) -> float:
    """Return the processor time of another process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
