"""A piece of a file, as a tally takes it."""

from __future__ import annotations

from typing import Protocol


class Block(Protocol):
    """Whole lines of a file."""

    @property
    def offset(self) -> int:
        """Where it begins."""

    @property
    def end(self) -> int:
        """Where the next one begins."""

    @property
    def data(self) -> bytes:
        """The lines with their ends."""

    @property
    def overlong(self) -> int:
        """How many lines in between are left out, because they are too long."""
