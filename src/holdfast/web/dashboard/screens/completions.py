"""Show the names that autocomplete finds for a prefix."""

from __future__ import annotations

from typing import Any, Final

from .... import Match
from ..page_request import PageRequest
from ..screen import DashboardScreen, Page

LIMIT: Final = 20
"""How many matches to show by default."""

KINDS: Final = ("names", "recent")


async def show(view: PageRequest) -> dict[str, Any]:
    """Return the matches of a prefix in a list of names, or in the recent names of a user."""
    hf, kind, prefix = view.hf, view.choice("kind", KINDS), view.text("q")
    limit = view.number("limit", LIMIT)
    known = await hf.known_completions()
    name = view.optional("name")
    if name is None:
        name = next(iter(known), "") if kind == "names" else ""
        view.query |= {"name": name} if name else {}
    found = {"kind": kind, "name": name, "prefix": prefix, "limit": limit, "known": known}
    if not name:
        return {**found, "count": 0, "matches": []}
    if kind == "recent":
        recent = hf.recent(name)
        every = await recent.all()
        matches = [Match(each) for each in await recent.match(prefix, limit=limit)]
        return {**found, "count": len(every), "matches": matches}
    names = hf.completions(name)
    count, matches = await names.count(), await names.search(prefix, limit=limit)
    return {**found, "count": count, "matches": matches}


SCREEN: Final = DashboardScreen("Autocomplete", "Data", (Page("completions", show),))
