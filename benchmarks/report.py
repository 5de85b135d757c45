"""Tables of results, with the promises beside them: as text, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Range:
    """A median, and the bounds of the middle half of what it is the median of."""

    low: float
    middle: float
    high: float


Cell = str | float | Range | None


@dataclass(frozen=True, slots=True)
class Target:
    """A promise, and what became of it.

    Attributes:
        what: it is about.
        value: as measured.
        limit: as promised.
        at_least: whether *value* has to reach the limit, or to stay within it.
    """

    what: str
    value: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Return whether the target was met."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "met" if self.met else "MISSED"
        return f"target {sign} {self.limit:g}: {self.what} = {number(self.value)}, {verdict}"


@dataclass(frozen=True, slots=True)
class Table:
    """What one benchmark found out.

    Attributes:
        title: what was measured.
        columns: headings; the first is of the rows' names.
        rows: as long as *columns*.
        targets: promises about these numbers.
        notes: what else a reader should know.
        rounds: of each case; more than one: the figures are medians.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    targets: Sequence[Target] = field(default_factory=list)
    notes: Sequence[str] = field(default_factory=list)
    rounds: int = 1

    def __str__(self) -> str:
        cells = [list(self.columns), *([_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        return "\n".join([self.title, *(f"  {line.rstrip()}" for line in lines), *self._below()])

    def _below(self) -> list[str]:
        return [f"  {line}" for line in (*self.targets, *self.notes, repeated(self.rounds))]

    def plain(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        return {
            "title": self.title,
            "rows": [
                {name: _plain(cell) for name, cell in zip(self.columns, row, strict=True)}
                for row in self.rows
            ],
            "targets": [
                {
                    "what": target.what,
                    "value": target.value,
                    "limit": target.limit,
                    "at_least": target.at_least,
                    "met": target.met,
                }
                for target in self.targets
            ],
            "notes": list(self.notes),
            "rounds": self.rounds,
        }


def repeated(rounds: int) -> str:
    """Return how often each case of a table was measured, for people to read."""
    return "measured once" if rounds == 1 else f"medians of {rounds} rounds"


def number(value: float) -> str:
    """Three digits that count."""
    if abs(value) < 1:
        return f"{value:.3f}"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case Range(low, middle, high):
            return f"{number(middle)} ({number(low)} to {number(high)})"
        case _:
            return number(cell)


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Range):
        return {"low": cell.low, "median": cell.middle, "high": cell.high}
    return cell
