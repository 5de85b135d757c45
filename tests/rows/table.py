"""A source of rows in memory."""

from collections.abc import Sequence
from typing import Any


class Table:
    """Rows by id, and a record of the loads.

    Attributes:
        rows: the rows; `load` raises a value that is an exception.
        asked: the ids of each load.
        broken: the error that every load raises, or None.
    """

    def __init__(self, rows: dict[Any, Any]) -> None:
        self.rows = rows
        self.asked: list[tuple[Any, ...]] = []
        self.broken: Exception | None = None

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        """Return the rows that exist, and record *ids*."""
        self.asked.append(tuple(ids))
        if self.broken is not None:
            raise self.broken
        found = {row_id: self.rows[row_id] for row_id in ids if row_id in self.rows}
        for row in found.values():
            if isinstance(row, BaseException):
                raise row
        return found

    def times(self, row_id: Any) -> int:
        """Return how many loads asked for a row."""
        return sum(row_id in asked for asked in self.asked)

    def count(self) -> int:
        """Return how many ids all loads together asked for."""
        return sum(map(len, self.asked))
