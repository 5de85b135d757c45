"""Run CPU-bound functions in threads, for callers that may block."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


class Pool:
    """A pool with one thread for each processor, started when it is first needed.

    Use it for functions that release the interpreter lock, such as compression. Call `close` in the
    end.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(os.cpu_count(), "holdfast pool")

    def begin(self, function: Callable[..., Item], *args: Any) -> Callable[[], Item]:
        """Run *function* in a thread. Return a function that waits for its outcome."""
        return self._threads.submit(function, *args).result

    def close(self) -> None:
        """Cancel the functions that have not begun, and wait for the others. Safe to repeat."""
        self._threads.shutdown(cancel_futures=True)
