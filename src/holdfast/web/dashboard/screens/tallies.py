"""Show tallies: how many lines of a day have each value, as a table and as CSV."""

from __future__ import annotations

from typing import Any, Final

from .... import AsyncTally
from ....inspect.survey import for_each
from ..csv_table import CsvTable
from ..page_request import PageRequest
from ..pagination import MAX_NAMES, page_of
from ..screen import DashboardScreen, Page

DAYS: Final = 31
"""How many days to list: the latest."""

LIMIT: Final = 25
"""How many values to show by default."""


async def show_tallies(view: PageRequest) -> dict[str, Any]:
    """Return a page of the tallies."""
    hf = view.hf
    names, where = page_of(view, await hf.tallies(limit=MAX_NAMES), size=20)
    found = await for_each(names, lambda name: _days(hf.tally(name)))
    return {
        **where,
        "most_days": DAYS,
        "tallies": [{"name": name, "days": days} for name, days in found.items()],
    }


async def show_tally(view: PageRequest) -> dict[str, Any]:
    """Return the counts of a tally for one day and one dimension, and the rejected lines."""
    name, limit = view.required("name"), view.number("limit", LIMIT)
    tally = view.hf.tally(name)
    days = await _days(tally)
    day = view.text("day") or next(reversed(days), "")
    found: dict[str, Any] = {"name": name, "days": days, "day": day, "limit": limit}
    dimensions = await tally.dimensions(day) if day else {}
    dimension = view.text("dimension") or next(iter(dimensions), "")
    found |= {"dimensions": dimensions, "dimension": dimension, "counts": []}
    if dimension and day:
        counts = await tally.top(dimension, day=day, limit=limit)
        found["counts"] = [count._asdict() for count in counts]
    rejected = await tally.rejected(day or None)
    samples = [sample.decode(errors="replace") for sample in rejected.samples]
    return {
        **found,
        "total": await tally.total(day) if day else 0,
        "rejected": rejected.lines,
        "reasons": rejected.reasons,
        "samples": samples if view.arguments else [],
    }


async def _days(tally: AsyncTally) -> dict[str, int]:
    """Return the latest days of *tally*, each with its number of lines."""
    return dict(list((await tally.days()).items())[-DAYS:])


def csv_table(found: dict[str, Any]) -> CsvTable:
    """Return the counts as a table."""
    return CsvTable((found["dimension"], "lines"), [count.values() for count in found["counts"]])


SCREEN: Final = DashboardScreen(
    "Tallies", "Data", (Page("tallies", show_tallies), Page("tally", show_tally, csv_table))
)
