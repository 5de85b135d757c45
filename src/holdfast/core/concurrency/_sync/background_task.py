"""Run work in threads beside the caller. Hand-written twin of `_async/background_task.py`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from ..detached_thread import detached

Item = TypeVar("Item")


class BackgroundTask(Generic[Item]):
    """Work that runs in a new thread. The caller waits for its outcome later."""

    def __init__(self, work: Callable[..., Item], *args: Any) -> None:
        self._future: Future[Item] = detached(work, *args)

    def outcome(self) -> Item:
        """Wait for the end of the work. Return what it returns, or raise what it raises."""
        return self._future.result()

    def end(self) -> None:
        """Wait for the end of the work, which cannot be cancelled. Ignore its outcome."""
        self._future.exception()
