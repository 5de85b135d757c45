"""Tallies: how many lines of a day have which value, as a table, as bars and as CSV."""

from __future__ import annotations

from typing import Any, Final

from .... import AsyncTally
from ..gathering import for_each
from ..listing import REMEMBERED, page_of
from ..look import Look
from ..screen import Page, Screen
from ..sheet import Sheet

DAYS: Final = 31
"""Days that are listed, the latest."""

LIMIT: Final = 25
"""Values that are shown at first."""


async def show_tallies(look: Look) -> dict[str, Any]:
    """A page of the tallies, by name."""
    hf = look.hf
    names, where = page_of(look, await hf.tallies(limit=REMEMBERED), size=20)
    found = await for_each(names, lambda name: _days(hf.tally(name)))
    return {
        **where,
        "most_days": DAYS,
        "tallies": [{"name": name, "days": days} for name, days in found.items()],
    }


async def show_tally(look: Look) -> dict[str, Any]:
    """One dimension of one day of a tally."""
    name, limit = look.needed("name"), look.whole("limit", LIMIT)
    tally = look.hf.tally(name)
    days = await _days(tally)
    day = look.text("day") or next(reversed(days), "")
    found: dict[str, Any] = {"name": name, "days": days, "day": day, "limit": limit}
    dimensions = await tally.dimensions(day) if day else {}
    dimension = look.text("dimension") or next(iter(dimensions), "")
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
        "samples": samples if look.arguments else [],
    }


async def _days(tally: AsyncTally) -> dict[str, int]:
    """The latest days, and how many lines they have."""
    return dict(list((await tally.days()).items())[-DAYS:])


def sheet(found: dict[str, Any]) -> Sheet:
    """The values that are shown."""
    return Sheet((found["dimension"], "lines"), [count.values() for count in found["counts"]])


SCREEN: Final = Screen(
    "Tallies", "Data", (Page("tallies", show_tallies), Page("tally", show_tally, sheet))
)
