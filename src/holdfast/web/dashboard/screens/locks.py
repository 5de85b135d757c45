"""Show locks of all kinds: holders, fences, remaining times and waiters. Change limits."""

from __future__ import annotations

from typing import Any, Final

from .... import RwLockState, SemaphoreState
from ....inspect.formats import counted
from ...problems import Problem
from ...request_parsing import MAX_ITEMS
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import page_of
from ..screen import Action, DashboardScreen, Page

MAX_READ: Final = 400
"""How many locks to read: those that match the search and were used most recently."""


async def show_locks(view: PageRequest) -> dict[str, Any]:
    """Return a page of the locks with a holder or waiters, those with most waiters first."""
    states = await view.hf.locks(among=MAX_READ, containing=view.text("q"))
    names = sorted(states, key=lambda name: (-len(states[name].waiters), name))
    shown, where = page_of(view, names)
    return {
        **where,
        "among": MAX_READ,
        "held": sum(state.holder is not None for state in states.values()),
        "waiting": sum(len(state.waiters) for state in states.values()),
        "locks": [
            {
                "name": name,
                "holder": states[name].holder,
                "fence": states[name].fence,
                "remaining": states[name].remaining,
                "waiters": len(states[name].waiters),
            }
            for name in shown
        ],
    }


async def show_lock(view: PageRequest) -> dict[str, Any]:
    """Return one lock."""
    name = view.required("name")
    state = await view.hf.lock(name).inspect()
    return {
        "name": name,
        "holder": state.holder,
        "fence": state.fence,
        "remaining": state.remaining,
        "waiting": len(state.waiters),
        "waiters": state.waiters[:MAX_ITEMS],
    }


async def show_semaphores(view: PageRequest) -> dict[str, Any]:
    """Return a page of the semaphores with holders or waiters, those with most waiters first."""
    states = await view.hf.semaphores(among=MAX_READ, containing=view.text("q"))
    names = sorted(states, key=lambda name: (-len(states[name].waiters), name))
    shown, where = page_of(view, names)
    return {
        **where,
        "among": MAX_READ,
        "held": sum(len(state.holders) for state in states.values()),
        "waiting": sum(len(state.waiters) for state in states.values()),
        "semaphores": [{"name": name, **_summary(states[name])} for name in shown],
    }


async def show_semaphore(view: PageRequest) -> dict[str, Any]:
    """Return one semaphore."""
    name = view.required("name")
    state = await view.hf.semaphore(name).inspect()
    return {
        "name": name,
        **_summary(state),
        "holders": state.holders[:MAX_ITEMS],
        "waiting": len(state.waiters),
        "waiters": state.waiters[:MAX_ITEMS],
    }


def _summary(state: SemaphoreState) -> dict[str, Any]:
    return {
        "limit": state.limit,
        "held": len(state.holders),
        "next_free": min((holder.remaining for holder in state.holders), default=0.0),
        "waiters": len(state.waiters),
    }


async def show_rw_locks(view: PageRequest) -> dict[str, Any]:
    """Return a page of the reader-writer locks in use, those with most waiters first."""
    states = await view.hf.rw_locks(among=MAX_READ, containing=view.text("q"))
    names = sorted(states, key=lambda name: (-len(states[name].waiters), name))
    shown, where = page_of(view, names)
    return {
        **where,
        "among": MAX_READ,
        "held": sum(bool(state.holders) for state in states.values()),
        "waiting": sum(len(state.waiters) for state in states.values()),
        "rw_locks": [{"name": name, **_rw_summary(states[name])} for name in shown],
    }


async def show_rw_lock(view: PageRequest) -> dict[str, Any]:
    """Return one reader-writer lock."""
    name = view.required("name")
    state = await view.hf.rw_lock(name).inspect()
    return {
        "name": name,
        **_rw_summary(state),
        "fence": state.fence,
        "holders": state.holders[:MAX_ITEMS],
        "waiting": len(state.waiters),
        "waiters": state.waiters[:MAX_ITEMS],
    }


def _rw_summary(state: RwLockState) -> dict[str, Any]:
    return {
        "writer": state.writer.name if state.writer else None,
        "readers": len(state.readers),
        "waiting_writers": len(state.waiting_writers),
        "waiting_readers": len(state.waiting_readers),
    }


async def limit(action: ActionRequest) -> ActionResult:
    """Change the limit of a semaphore."""
    name, given = action.text("name"), action.text("limit")
    if not (given.isascii() and given.isdigit() and len(given) <= 9):
        raise Problem("bad-request", "limit must be a whole number")
    semaphore = action.hf.semaphore(name)
    if action.from_page and not (await semaphore.inspect()).limit:
        raise Problem("not-found", f"there is no semaphore {in_text(name)}; nothing was changed")
    await semaphore.redefine(limit=int(given), op_id=action.op_id)
    return ActionResult(
        f"{in_text(name)} has {counted(int(given), 'permit')} now. Current holders keep theirs."
    )


SCREEN: Final = DashboardScreen(
    "Locks",
    "Locks and messages",
    (
        Page("locks", show_locks),
        Page("lock", show_lock),
        Page("rw-locks", show_rw_locks),
        Page("rw-lock", show_rw_lock),
        Page("semaphores", show_semaphores),
        Page("semaphore", show_semaphore),
    ),
    (Action("semaphore/limit", limit),),
)
