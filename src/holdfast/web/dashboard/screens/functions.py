"""Show cached functions: hit rates, loads and failures. Invalidate results."""

from __future__ import annotations

from typing import Any, Final

from ...problems import Problem
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import page_of
from ..screen import Action, DashboardScreen, Page

MAX_READ: Final = 1000
"""How many functions to read: those that were used most recently."""


async def show_functions(view: PageRequest) -> dict[str, Any]:
    """Return a page of the cached functions, the last used first."""
    known = await view.hf.cached_functions(limit=MAX_READ)
    shown, where = page_of(view, list(known))
    return {**where, "functions": [known[name] for name in shown]}


async def show_function(view: PageRequest) -> dict[str, Any]:
    """Return one cached function."""
    name = view.required("name")
    return {"name": name, "status": await view.hf.cached_function(name)}


async def invalidate(action: ActionRequest) -> ActionResult:
    """Invalidate all results of a function, or the one with the given key."""
    name = action.text("name")
    key = action.text("key") if action.flag("key") else ""
    if await action.hf.cached_function(name) is None:
        what = f"there is no cached function {in_text(name)}; nothing was changed"
        raise Problem("not-found", what)
    await action.hf.invalidate_cached(name, key=key or None)
    what = f"The result {in_text(key)}" if key else "All results"
    were = "was" if key else "were"
    return ActionResult(f"{what} of {in_text(name)} {were} invalidated.")


async def invalidate_tag(action: ActionRequest) -> ActionResult:
    """Invalidate all results with a tag, of all functions."""
    tag = action.text("tag")
    await action.hf.invalidate_tags(tag)
    return ActionResult(f"All results with the tag {in_text(tag)} were invalidated.")


SCREEN: Final = DashboardScreen(
    "Cached functions",
    "Data",
    (Page("functions", show_functions), Page("function", show_function)),
    (Action("function/invalidate", invalidate), Action("tag/invalidate", invalidate_tag)),
)
