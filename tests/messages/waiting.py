"""A fetch that waits in a thread: `Waiting`."""

import threading
import time
from collections.abc import Callable
from typing import Any


class Waiting:
    """A fetch that waits in a thread.

    Attributes:
        found: what the fetch returned.
        began_at: when it began, by the local monotonic clock.
        ended_at: when it ended.
    """

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.found: Any = None
        self.began_at, self.ended_at = time.monotonic(), 0.0
        self._fetch = fetch
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.found = self._fetch()
        self.ended_at = time.monotonic()

    def woken_since(self, began: float) -> float:
        """Wait for the end of the fetch, and return the seconds from *began* to it."""
        self._thread.join(90)
        assert not self._thread.is_alive()
        return self.ended_at - began
