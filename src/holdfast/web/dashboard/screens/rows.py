"""Row caches: how late they are, why a row is as it is, and dropping the copy of one."""

from __future__ import annotations

import json
from typing import Any, Final

from .... import AsyncRowCache, DecodeError, RowExplanation
from ...problems import Problem
from ..deed import Deed, Done
from ..gathering import for_each
from ..listing import REMEMBERED, page_of
from ..look import Look
from ..names import in_text
from ..screen import Action, Page, Screen
from ..words import value

SIZE: Final = 20
"""Caches on a page: each is asked for shard by shard."""

ROWS: Final = 100
"""Rows of a cache that are shown: those that are due first."""


async def show_caches(look: Look) -> dict[str, Any]:
    """A page of the row caches that were used last."""
    hf = look.hf
    names, where = page_of(look, await hf.row_caches(limit=REMEMBERED), size=SIZE)
    found = await for_each(names, lambda name: hf.row_cache(name).status())
    return {**where, "caches": [{"name": name, "status": each} for name, each in found.items()]}


async def show_cache(look: Look) -> dict[str, Any]:
    """One cache: the rows that are due first, and the one that is asked for."""
    name, given = look.needed("name"), look.text("id")
    cache = look.hf.row_cache(name)
    status, ids = await cache.status(), await cache.scheduled(limit=ROWS)
    rows = await for_each(ids, cache.explain)
    return {
        "name": name,
        "status": status,
        "shown": ROWS,
        "id": given,
        "row": await _row(look, cache, given) if given else None,
        "rows": [_told(explanation) for explanation in rows.values()],
    }


async def _row(look: Look, cache: AsyncRowCache, given: str) -> dict[str, Any]:
    explanation = await cache.explain(id_of(given))
    try:
        stored = (await cache.get(id_of(given), timeout=0)).value if look.arguments else None
    except DecodeError as error:  # it has a codec of its own
        stored = str(error)
    return {**_told(explanation), "says": str(explanation), "value": stored}


def _told(explanation: RowExplanation) -> dict[str, Any]:
    return {"id": value(explanation.id), "explanation": explanation}


def id_of(given: str) -> Any:
    """An id as JSON: `42`, `"42"`, `["eu", 7]`; what is none is a text."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    parts = found if isinstance(found, list) else [found]
    if not all(isinstance(part, int | str) and not isinstance(part, bool) for part in parts):
        return given
    return tuple(parts) if isinstance(found, list) else found


async def invalidate(deed: Deed) -> Done:
    """Drop the copy of a row; if it is scheduled it is due at once."""
    name, given = deed.text("name"), deed.text("id")
    if deed.from_page and name not in await deed.hf.row_caches(limit=REMEMBERED):
        raise Problem("not-found", f"there is no row cache {in_text(name)}; nothing was changed")
    await deed.hf.row_cache(name).invalidate(id_of(given))
    row = f"Row {in_text(given)} of {in_text(name)}"
    return Done(f"{row} is read from its source before it is given out again.")


SCREEN: Final = Screen(
    "Row caches",
    "Data",
    (Page("rows", show_caches), Page("cache", show_cache)),
    (Action("row/invalidate", invalidate),),
)
