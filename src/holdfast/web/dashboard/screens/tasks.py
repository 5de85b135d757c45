"""Tasks by state, and one task with all that is known of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from .... import TaskStatus
from ...problems import Problem
from ..deed import Deed, Done
from ..gathering import for_each
from ..listing import REMEMBERED
from ..look import MOST, Look
from ..reasons import is_like
from ..screen import Action, Page, Screen
from ..words import counted, number, value

SIZE: Final = 50

SEEN: Final = 1000
"""Tasks of a state that can be listed and searched: the next to be run, or the latest dead."""

State = Literal["queued", "delayed", "running", "dead"]
STATES: Final[tuple[State, ...]] = ("queued", "delayed", "running", "dead")


async def show_tasks(look: Look) -> dict[str, Any]:
    """The tasks of one queue that are in one state."""
    state, page = look.choice("state", STATES), look.whole("page", 1, most=SEEN // SIZE)
    known = await look.hf.queues(limit=REMEMBERED)
    names = sorted(known[:MOST])
    name = look.maybe("queue")
    search, task, reason = look.text("q"), look.text("task"), look.text("reason")
    filters = {"search": search, "task": task, "reason": reason}
    found: dict[str, Any] = {"state": state, "queues": names, "all": len(known), "page": page}
    found |= {"size": SIZE, "filters": filters, "seen": SEEN}
    if name is None and not names:
        return {**found, "queue": "", "stats": None, "total": 0, "held": 0, "tasks": []}
    if name is None:
        # The next update must show this queue, too, though another one may come first by then.
        name = look.query["queue"] = names[0]
    found["queue"] = name
    queue = look.hf.queue(name)
    stats = await queue.stats()
    everything = not any(filters.values())
    listed = await queue.tasks(state, page * SIZE if everything else SEEN)
    kept = [
        status
        for status in (_without_arguments(look, each) for each in listed)
        if (not task or status.task == task)
        and (not reason or is_like(status.reason, reason))
        and (not search or _mentions(status, search))
    ]
    held = _counted(stats, state)
    total = held if everything else len(kept)
    shown = kept[(page - 1) * SIZE : page * SIZE]
    return {**found, "stats": stats, "total": min(total, SEEN), "held": held, "tasks": shown}


async def show_task(look: Look) -> dict[str, Any]:
    """One task."""
    queue, task_id = look.needed("queue"), look.needed("id")
    status = await look.hf.queue(queue).handle(task_id).status()
    return {"queue": queue, "task": _without_arguments(look, status)}


def _counted(stats: Any, state: str) -> int:
    count: int = stats.ready if state == "queued" else getattr(stats, state)
    return count


def _mentions(status: TaskStatus, search: str) -> bool:
    """Whether the id, the task, the reason, the worker or the arguments hold that text."""
    texts = (status.task_id, status.task, status.reason, status.worker)
    text = " ".join((*texts, value(status.args), value(status.kwargs)))
    return search.lower() in text.lower()


def _without_arguments(look: Look, status: TaskStatus) -> TaskStatus:
    """As it may be shown; what may not cannot be searched either, or searching would tell it."""
    return status if look.arguments else replace(status, args=(), kwargs={})


async def cancel(deed: Deed) -> Done:
    """Cancel tasks by id."""
    queue, ids = deed.hf.queue(deed.text("queue")), _ids(deed)
    handles = {task_id: queue.handle(task_id) for task_id in ids}
    many = len(ids) > 1  # each is an operation of its own
    cancelled = await for_each(
        ids,
        lambda task_id: handles[task_id].cancel(op_id=None if many else deed.op_id),
    )
    count = sum(cancelled.values())
    rest = "" if count == len(ids) else f" Ended before: {number(len(ids) - count)}."
    return Done(f"Cancelled: {counted(count, 'task')}.{rest}", count)


async def replay(deed: Deed) -> Done:
    """Put dead tasks in line again by id."""
    ids = _ids(deed)
    replayed = await deed.hf.queue(deed.text("queue")).replay(ids, op_id=deed.op_id)
    rest = "" if replayed == len(ids) else f" Not dead any more: {number(len(ids) - replayed)}."
    return Done(f"In line again: {counted(replayed, 'task')}.{rest}", replayed)


def _ids(deed: Deed) -> list[str]:
    ids = list(dict.fromkeys(deed.texts("id")))
    if not 1 <= len(ids) <= MOST:
        raise Problem("bad-request", f"choose 1 to {MOST} tasks, not {len(ids)}")
    return ids


SCREEN: Final = Screen(
    "Tasks",
    "Tasks",
    (Page("tasks", show_tasks), Page("task", show_task)),
    (Action("task/cancel", cancel), Action("task/replay", replay)),
)
