"""Who is inside right now: a file that all processes of a contender have in memory."""

from __future__ import annotations

import mmap
from pathlib import Path


class Witness:
    """A byte for each waiter, set while it is inside.

    A waiter sets its own and then counts: of those who are in at once, the last one sees all.

    Args:
        path: a file of `make`.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._file = mmap.mmap(file.fileno(), 0)

    @classmethod
    def make(cls, path: Path, waiters: int) -> Witness:
        """Make a new witness in *path*."""
        path.write_bytes(bytes(waiters))
        return cls(path)

    def enter(self, number: int) -> int:
        """Waiter *number* is inside: how many are, with it."""
        self._file[number] = 1
        return self._file[:].count(1)

    def leave(self, number: int) -> None:
        """Waiter *number* is about to give its place back."""
        self._file[number] = 0
