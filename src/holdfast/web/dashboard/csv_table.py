"""A table as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

Cell = str | int | float

FORMULAS: Final = frozenset("=+-@")
"""First characters of formulas. NFKC maps full-width and small forms to these."""

CONTROLS: Final = frozenset("\t\r\n")
"""A text that begins with one of these could hide a formula."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A table.

    Attributes:
        header: the titles of the columns.
        rows: with as many cells each.
    """

    header: Sequence[str]
    rows: Iterable[Iterable[Cell]]

    def csv(self) -> str:
        """Return the table as RFC 4180, each cell quoted; a possible formula begins with `'`."""
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL)
        for row in (self.header, *self.rows):
            writer.writerow(map(_escaped, row))
        return text.getvalue()


def _escaped(cell: Cell) -> Cell:
    """Return *cell*, escaped if a spreadsheet could run it: it ignores blanks in front."""
    if not isinstance(cell, str):
        return cell
    first = next((letter for letter in cell if letter.isprintable() and not letter.isspace()), "")
    formula = normalize("NFKC", first)[:1] in FORMULAS
    return f"'{cell}" if formula or cell[:1] in CONTROLS else cell
