"""A table as CSV, which spreadsheets open without running anything in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

Cell = str | int | float

FORMULAS: Final = frozenset("=+-@")
"""What a formula begins with; full-width and small forms of these letters are the same to NFKC."""

CONTROLS: Final = frozenset("\t\r\n")
"""A text that begins with one of these is not trusted, either."""


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
        """As RFC 4180 has it, each cell in quotes; what looks like a formula has a `'` in front."""
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        for row in (self.header, *self.rows):
            writer.writerow(map(_harmless, row))
        return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    """Return *cell*, changed if a spreadsheet could run it: it ignores blanks in front of it."""
    if not isinstance(cell, str):
        return cell
    first = next((letter for letter in cell if letter.isprintable() and not letter.isspace()), "")
    formula = normalize("NFKC", first)[:1] in FORMULAS
    return f"'{cell}" if formula or cell[:1] in CONTROLS else cell
