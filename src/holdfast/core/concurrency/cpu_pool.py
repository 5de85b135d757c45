"""Threads for work that keeps processors busy, for code that blocks anyway."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


class Pool:
    """As many threads as there are processors, started when they are first needed.

    For functions that leave the interpreter to others, as those that compress do. Whoever makes it
    closes it.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(os.cpu_count(), "holdfast pool")

    def begin(self, function: Callable[..., Item], *args: Any) -> Callable[[], Item]:
        """Run *function* in one of the threads; what is returned waits for its outcome."""
        return self._threads.submit(function, *args).result

    def close(self) -> None:
        """Let the threads end. What has not begun never does. Idempotent."""
        self._threads.shutdown(cancel_futures=True)
