"""Limit how many things each of many names has open at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from .problems import too_many


class ConcurrencyLimiter:
    """Limits how many things (connections, long polls) each of many names has open at once.

    Args:
        most: how many each name may have open.
        detail: the text of the problem that `hold` raises above the limit.
    """

    def __init__(self, most: int, detail: str) -> None:
        self._most = most
        self._detail = detail
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> bool:
        """Count one more for *name*. Count nothing and return False if the limit is reached."""
        if self._taken[name] >= self._most:
            return False
        self._taken[name] += 1
        return True

    def release(self, name: str) -> None:
        """Count one less for *name*."""
        self._taken[name] -= 1
        if self._taken[name] <= 0:
            del self._taken[name]

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Count one more for *name* while the context lasts.

        Raises:
            Problem: the limit is reached.
        """
        if not self.take(name):
            raise too_many(self._detail, 1.0)
        try:
            yield
        finally:
            self.release(name)
