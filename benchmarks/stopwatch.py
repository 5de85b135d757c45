"""What a process took, by its own measure."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
