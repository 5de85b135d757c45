"""Which waiters hold a permit now: a file that all processes of a contender have in memory."""

from __future__ import annotations

import mmap
from pathlib import Path


class Occupancy:
    """A byte for each waiter, set while it holds a permit.

    A waiter sets its own byte and then counts: the last one of several holders sees all.

    Args:
        path: a file of `make`.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._file = mmap.mmap(file.fileno(), 0)

    @classmethod
    def make(cls, path: Path, waiters: int) -> Occupancy:
        """Create the file *path* for *waiters*."""
        path.write_bytes(bytes(waiters))
        return cls(path)

    def enter(self, number: int) -> int:
        """Set the byte of waiter *number*. Return how many are set."""
        self._file[number] = 1
        return self._file[:].count(1)

    def leave(self, number: int) -> None:
        """Clear the byte of waiter *number*, which is about to release its permit."""
        self._file[number] = 0
