"""Work in a thread beside the caller. Hand-written twin of `_async/background_task.py`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from ..detached_thread import detached

Item = TypeVar("Item")


class BackgroundTask(Generic[Item]):
    """Work that runs in a thread of its own. The caller asks for the outcome later."""

    def __init__(self, work: Callable[..., Item], *args: Any) -> None:
        self._future: Future[Item] = detached(work, *args)

    def outcome(self) -> Item:
        """Wait for the end of the work. Return what it returns, or raise what it raises."""
        return self._future.result()

    def end(self) -> None:
        """Wait for the end of the work, whatever its outcome: no caller can cancel a thread."""
        self._future.exception()
