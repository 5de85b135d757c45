"""Show row caches: their lag and the state of rows. Invalidate a row."""

from __future__ import annotations

import json
from typing import Any, Final

from .... import AsyncRowCache, DecodeError, RowExplanation
from ....inspect.survey import for_each
from ...problems import Problem
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..filters import value
from ..page_request import PageRequest
from ..pagination import MAX_NAMES, page_of
from ..screen import Action, DashboardScreen, Page

SIZE: Final = 20
"""Caches on one page. It is low, because each cache takes a call for each of its shards."""

ROWS: Final = 100
"""How many rows of a cache to show: those that are due first."""


async def show_caches(view: PageRequest) -> dict[str, Any]:
    """Return a page of the row caches, the most recently used first."""
    hf = view.hf
    names, where = page_of(view, await hf.row_caches(limit=MAX_NAMES), size=SIZE)
    found = await for_each(names, lambda name: hf.row_cache(name).status())
    return {**where, "caches": [{"name": name, "status": each} for name, each in found.items()]}


async def show_cache(view: PageRequest) -> dict[str, Any]:
    """Return one cache with the rows that are due first, and the row with the given id."""
    name, given = view.required("name"), view.text("id")
    cache = view.hf.row_cache(name)
    status, ids = await cache.status(), await cache.scheduled(limit=ROWS)
    rows = await for_each(ids, cache.explain)
    return {
        "name": name,
        "status": status,
        "shown": ROWS,
        "id": given,
        "row": await _row(view, cache, given) if given else None,
        "rows": [_row_fields(explanation) for explanation in rows.values()],
    }


async def _row(view: PageRequest, cache: AsyncRowCache, given: str) -> dict[str, Any]:
    explanation = await cache.explain(id_of(given))
    try:
        stored = (await cache.get(id_of(given), timeout=0)).value if view.arguments else None
    except DecodeError as error:  # the application has stored the rows with a codec of its own
        stored = str(error)
    return {**_row_fields(explanation), "text": str(explanation), "value": stored}


def _row_fields(explanation: RowExplanation) -> dict[str, Any]:
    return {"id": value(explanation.id), "explanation": explanation}


def id_of(given: str) -> Any:
    """Parse a row id in JSON: `42`, `"42"` or `["eu", 7]`. Return other texts unchanged."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    parts = found if isinstance(found, list) else [found]
    if not all(isinstance(part, int | str) and not isinstance(part, bool) for part in parts):
        return given
    return tuple(parts) if isinstance(found, list) else found


async def invalidate(action: ActionRequest) -> ActionResult:
    """Invalidate the cached copy of a row. A scheduled row becomes due at once."""
    name, given = action.text("name"), action.text("id")
    if action.from_page and name not in await action.hf.row_caches(limit=MAX_NAMES):
        raise Problem("not-found", f"there is no row cache {in_text(name)}; nothing was changed")
    await action.hf.row_cache(name).invalidate(id_of(given))
    row = f"Row {in_text(given)} of {in_text(name)}"
    return ActionResult(
        f"{row} was invalidated: it is read from its source before it is returned again."
    )


SCREEN: Final = DashboardScreen(
    "Row caches",
    "Data",
    (Page("rows", show_caches), Page("cache", show_cache)),
    (Action("row/invalidate", invalidate),),
)
