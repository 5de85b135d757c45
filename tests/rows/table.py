"""A source of rows in memory."""

from collections.abc import Sequence
from typing import Any


class Table:
    """Rows by id, and what was asked for.

    Attributes:
        rows: an exception among them is raised.
        asked: the ids of each load.
        broken: raised by every load, unless it is None.
    """

    def __init__(self, rows: dict[Any, Any]) -> None:
        self.rows = rows
        self.asked: list[tuple[Any, ...]] = []
        self.broken: Exception | None = None

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        """The rows that are there."""
        self.asked.append(tuple(ids))
        if self.broken is not None:
            raise self.broken
        found = {row_id: self.rows[row_id] for row_id in ids if row_id in self.rows}
        for row in found.values():
            if isinstance(row, BaseException):
                raise row
        return found

    def times(self, row_id: Any) -> int:
        """How often a row was asked for."""
        return sum(row_id in asked for asked in self.asked)

    def count(self) -> int:
        """How many rows were asked for."""
        return sum(map(len, self.asked))
