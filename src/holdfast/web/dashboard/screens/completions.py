"""Autocomplete: try what a prefix finds."""

from __future__ import annotations

from typing import Any, Final

from .... import Match
from ..look import Look
from ..screen import Page, Screen

LIMIT: Final = 20
"""Matches that are shown at first."""

WAYS: Final = ("names", "recent")


async def show(look: Look) -> dict[str, Any]:
    """What is found by a prefix, among names to be completed, or names used lately."""
    hf, way, prefix = look.hf, look.choice("way", WAYS), look.text("q")
    limit = look.whole("limit", LIMIT)
    known = await hf.known_completions()
    name = look.maybe("name")
    if name is None:
        name = next(iter(known), "") if way == "names" else ""
        look.query |= {"name": name} if name else {}
    found = {"way": way, "name": name, "prefix": prefix, "limit": limit, "known": known}
    if not name:
        return {**found, "count": 0, "matches": []}
    if way == "recent":
        recent = hf.recent(name)
        every = await recent.all()
        matches = [Match(each) for each in await recent.match(prefix, limit=limit)]
        return {**found, "count": len(every), "matches": matches}
    names = hf.completions(name)
    count, matches = await names.count(), await names.search(prefix, limit=limit)
    return {**found, "count": count, "matches": matches}


SCREEN: Final = Screen("Autocomplete", "Data", (Page("completions", show),))
