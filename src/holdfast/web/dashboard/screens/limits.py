"""Show rate limiters: how much of each limit is used, and what waits. Reset them."""

from __future__ import annotations

from typing import Any, Final

from .... import AsyncHoldfast, AsyncRateLimiter, Decision
from ....inspect.survey import for_each
from ...problems import Problem
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import page_of
from ..screen import Action, DashboardScreen, Page

MAX_READ: Final = 400
"""How many rate limiters to read: those that match the search and were used most recently."""


async def show_limiters(view: PageRequest) -> dict[str, Any]:
    """Return a page of the rate limiters, the last used first."""
    known = await view.hf.rate_limits(among=MAX_READ, containing=view.text("q"))
    shown, where = page_of(view, list(known))
    states = await for_each(shown, lambda name: view.hf.rate_limit(name, *known[name]).peek())
    return {
        **where,
        "among": MAX_READ,
        "limiters": [{"name": name, "limits": _fields(states[name])} for name in shown],
    }


async def show_limiter(view: PageRequest) -> dict[str, Any]:
    """Return one rate limiter, or one subject of it."""
    name, subject = view.required("name"), view.text("subject")
    limiter = await _limiter(view.hf, name)
    if limiter is None:
        return {"name": name, "known": False}
    decision = await limiter.of(subject).peek()
    return {
        "name": name,
        "known": True,
        "subject": subject,
        "allowed": decision.allowed,
        "retry_after": decision.retry_after,
        "limits": _fields(decision),
    }


def _fields(decision: Decision) -> list[dict[str, Any]]:
    return [
        {
            "name": each.limit.key,
            "amount": each.limit.amount,
            "per": each.limit.per_ms / 1000,
            "used": each.used,
            "reserved": each.reserved,
            "reset_after": each.reset_after,
        }
        for each in decision.limits
    ]


async def _limiter(hf: AsyncHoldfast, name: str) -> AsyncRateLimiter | None:
    """Return the rate limiter *name* with the limits that the server stores."""
    limits = (await hf.rate_limits(containing=name)).get(name)
    return hf.rate_limit(name, *limits) if limits else None


async def reset(action: ActionRequest) -> ActionResult:
    """Reset a rate limiter, or one subject of it: forget the calls that have passed."""
    name = action.text("name")
    subject = action.text("subject") if action.flag("subject") else ""
    limiter = await _limiter(action.hf, name)
    if limiter is None:
        raise Problem("not-found", f"there is no rate limiter {in_text(name)}; nothing was changed")
    await limiter.of(subject).reset()
    what = f"{in_text(subject)} of {in_text(name)}" if subject else in_text(name)
    return ActionResult(f"{what} is reset. Calls that wait keep their instants.")


SCREEN: Final = DashboardScreen(
    "Rate limits",
    "Tasks",
    (Page("limits", show_limiters), Page("limit", show_limiter)),
    (Action("limit/reset", reset),),
)
