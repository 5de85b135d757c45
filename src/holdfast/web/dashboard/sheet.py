"""A table as CSV, which spreadsheets open without running anything in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

Cell = str | int | float

FORMULAS: Final = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What a text begins with that a spreadsheet would run; the last four are full-width."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table.

    Attributes:
        header: what is in each column.
        rows: as many cells in each.
    """

    header: Sequence[str]
    rows: Iterable[Iterable[Cell]]

    def csv(self) -> str:
        """As RFC 4180 has it; a text that looks like a formula has a `'` in front."""
        text = io.StringIO()
        writer = csv.writer(text)
        for row in (self.header, *self.rows):
            writer.writerow(map(_harmless, row))
        return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell
