"""Row caches: their lag, the state of each row, and invalidation."""

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
"""Caches on a page: each is read shard by shard."""

ROWS: Final = 100
"""Rows of a cache that are shown: those that are due first."""


async def show_caches(view: PageRequest) -> dict[str, Any]:
    """Return a page of the row caches, the last used first."""
    hf = view.hf
    names, where = page_of(view, await hf.row_caches(limit=MAX_NAMES), size=SIZE)
    found = await for_each(names, lambda name: hf.row_cache(name).status())
    return {**where, "caches": [{"name": name, "status": each} for name, each in found.items()]}


async def show_cache(view: PageRequest) -> dict[str, Any]:
    """Return one cache: the rows that are due first, and the row that is searched for."""
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
    except DecodeError as error:  # the cache has its own codec
        stored = str(error)
    return {**_row_fields(explanation), "text": str(explanation), "value": stored}


def _row_fields(explanation: RowExplanation) -> dict[str, Any]:
    return {"id": value(explanation.id), "explanation": explanation}


def id_of(given: str) -> Any:
    """Return the id in JSON such as `42`, `"42"` or `["eu", 7]`; anything else is a text."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    parts = found if isinstance(found, list) else [found]
    if not all(isinstance(part, int | str) and not isinstance(part, bool) for part in parts):
        return given
    return tuple(parts) if isinstance(found, list) else found


async def invalidate(action: ActionRequest) -> ActionResult:
    """Invalidate the cached copy of a row; a scheduled row is due at once."""
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
