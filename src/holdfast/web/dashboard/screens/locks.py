"""Locks and semaphores: who holds them under which fence, for how long still, and who waits."""

from __future__ import annotations

from typing import Any, Final

from .... import SemaphoreState
from ...problems import Problem
from ..deed import Deed, Done
from ..listing import page_of
from ..look import MOST, Look
from ..names import in_text
from ..screen import Action, Page, Screen
from ..words import number

AMONG: Final = 400
"""Locks that are asked for, those that came into use last; of a search, those it finds."""


async def show_locks(look: Look) -> dict[str, Any]:
    """The locks that are held or waited for; those with most waiters first."""
    states = await look.hf.locks(among=AMONG, containing=look.text("q"))
    names = sorted(states, key=lambda name: (-len(states[name].waiters), name))
    shown, where = page_of(look, names)
    return {
        **where,
        "among": AMONG,
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


async def show_lock(look: Look) -> dict[str, Any]:
    """One lock."""
    name = look.needed("name")
    state = await look.hf.lock(name).inspect()
    return {
        "name": name,
        "holder": state.holder,
        "fence": state.fence,
        "remaining": state.remaining,
        "waiting": len(state.waiters),
        "waiters": state.waiters[:MOST],
    }


async def show_semaphores(look: Look) -> dict[str, Any]:
    """The semaphores that are held or waited for; likewise."""
    states = await look.hf.semaphores(among=AMONG, containing=look.text("q"))
    names = sorted(states, key=lambda name: (-len(states[name].waiters), name))
    shown, where = page_of(look, names)
    return {
        **where,
        "among": AMONG,
        "held": sum(len(state.holders) for state in states.values()),
        "waiting": sum(len(state.waiters) for state in states.values()),
        "semaphores": [{"name": name, **_summary(states[name])} for name in shown],
    }


async def show_semaphore(look: Look) -> dict[str, Any]:
    """One semaphore."""
    name = look.needed("name")
    state = await look.hf.semaphore(name).inspect()
    return {
        "name": name,
        **_summary(state),
        "holders": state.holders[:MOST],
        "waiting": len(state.waiters),
        "waiters": state.waiters[:MOST],
    }


def _summary(state: SemaphoreState) -> dict[str, Any]:
    return {
        "limit": state.limit,
        "held": len(state.holders),
        "next_free": min((holder.remaining for holder in state.holders), default=0.0),
        "waiters": len(state.waiters),
    }


async def limit(deed: Deed) -> Done:
    """Change how many may hold a semaphore at once."""
    name, given = deed.text("name"), deed.text("limit")
    if not (given.isascii() and given.isdigit() and len(given) <= 9):
        raise Problem("bad-request", "limit is a whole number")
    semaphore = deed.hf.semaphore(name)
    if deed.from_page and not (await semaphore.inspect()).limit:
        raise Problem("not-found", f"there is no semaphore {in_text(name)}; nothing was changed")
    await semaphore.redefine(limit=int(given), op_id=deed.op_id)
    return Done(f"{in_text(name)} has {number(int(given))} places now; nobody has lost one.")


SCREEN: Final = Screen(
    "Locks",
    "Locks and messages",
    (
        Page("locks", show_locks),
        Page("lock", show_lock),
        Page("semaphores", show_semaphores),
        Page("semaphore", show_semaphore),
    ),
    (Action("semaphore/limit", limit),),
)
