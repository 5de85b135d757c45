"""Write a table as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

Cell = str | int | float

FORMULAS: Final = frozenset("=+-@")
"""First characters of formulas, after NFKC normalization, which maps full-width forms to these."""

CONTROLS: Final = frozenset("\t\r\n")
"""Control characters at the start of a cell that could hide a formula."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Holds a table.

    Attributes:
        header: the titles of the columns.
        rows: the rows. Each has one cell for each column.
    """

    header: Sequence[str]
    rows: Iterable[Iterable[Cell]]

    def csv(self) -> str:
        """Return the table as CSV (RFC 4180) with quoted cells.

        A cell that a spreadsheet could take for a formula gets a `'` in front.
        """
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        for row in (self.header, *self.rows):
            writer.writerow(map(_escaped, row))
        return text.getvalue()


def _escaped(cell: Cell) -> Cell:
    """Return *cell*, with a `'` in front if a spreadsheet could run it as a formula.

    Check the first visible character, because spreadsheets ignore blanks in front of a formula.
    """
    if not isinstance(cell, str):
        return cell
    first = next((letter for letter in cell if letter.isprintable() and not letter.isspace()), "")
    formula = normalize("NFKC", first)[:1] in FORMULAS
    return f"'{cell}" if formula or cell[:1] in CONTROLS else cell
