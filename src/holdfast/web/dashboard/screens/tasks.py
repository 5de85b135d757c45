"""Show the tasks of a queue by state, and one task in detail. Cancel and replay tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from .... import AsyncHoldfast, EndedTask, TaskStatus, TaskSteps
from ....inspect.formats import counted, number
from ....inspect.survey import for_each
from ...problems import Problem
from ...request_parsing import MAX_ITEMS
from ..action_request import ActionRequest, ActionResult
from ..filters import value
from ..page_request import PageRequest
from ..pagination import MAX_NAMES
from ..screen import Action, DashboardScreen, Page
from .failures import is_like
from .history import show_history

PAGE_SIZE: Final = 50

MAX_LISTED: Final = 1000
"""How many tasks of a state to list and search: the next ones to run, or the latest dead ones."""

RESULT_BYTES: Final = 1000
"""Bytes of the result of each step that the page of a task shows."""

ENDED: Final = ("done", "cancelled", "unknown")
"""States of tasks without steps."""

State = Literal["queued", "delayed", "running", "dead"]
STATES: Final[tuple[State, ...]] = ("queued", "delayed", "running", "dead")


async def show_tasks(view: PageRequest) -> dict[str, Any]:
    """Return the tasks of one queue in one state."""
    state, page = view.choice("state", STATES), view.number("page", 1, most=MAX_LISTED // PAGE_SIZE)
    known = await view.hf.queues(limit=MAX_NAMES)
    names = sorted(known[:MAX_ITEMS])
    name = view.optional("queue")
    search, task, reason = view.text("q"), view.text("task"), view.text("reason")
    filters = {"search": search, "task": task, "reason": reason}
    found: dict[str, Any] = {"state": state, "queues": names, "all": len(known), "page": page}
    found |= {"size": PAGE_SIZE, "filters": filters, "most": MAX_LISTED}
    if name is None and not names:
        return {**found, "queue": "", "stats": None, "total": 0, "held": 0, "tasks": []}
    if name is None:
        # Put the queue into the query: the updates of the page must show the same queue, even if a
        # new queue comes first in the list by then.
        name = view.query["queue"] = names[0]
    found["queue"] = name
    queue = view.hf.queue(name)
    stats = await queue.stats()
    everything = not any(filters.values())
    listed = await queue.tasks(state, page * PAGE_SIZE if everything else MAX_LISTED)
    kept = [
        status
        for status in (_without_arguments(view, each) for each in listed)
        if (not task or status.task == task)
        and (not reason or is_like(status.reason, reason))
        and (not search or _mentions(status, search))
    ]
    held = _count_in(stats, state)
    total = held if everything else len(kept)
    shown = kept[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return {**found, "stats": stats, "total": min(total, MAX_LISTED), "held": held, "tasks": shown}


async def show_task(view: PageRequest) -> dict[str, Any]:
    """Return one task."""
    queue, task_id = view.required("queue"), view.required("id")
    handle = view.hf.queue(queue).handle(task_id)
    status = await handle.status()
    steps = TaskSteps()
    if status.state not in ENDED:
        steps = await handle.steps(result_bytes=RESULT_BYTES if view.arguments else 0)
    found = {"queue": queue, "task": _without_arguments(view, status), "steps": steps}
    return {**found, "record": await _record(view.hf, queue, status)}


async def _record(hf: AsyncHoldfast, queue: str, status: TaskStatus) -> EndedTask | None:
    """Return what the history still knows about a task that is no longer stored."""
    if status.state not in ("done", "cancelled"):
        return None
    listed = await hf.queue(queue).history(PAGE_SIZE, search=status.task_id)
    return next((task for task in listed if task.task_id == status.task_id), None)


def _count_in(stats: Any, state: str) -> int:
    count: int = stats.ready if state == "queued" else getattr(stats, state)
    return count


def _mentions(status: TaskStatus, search: str) -> bool:
    """Return whether the id, task, reason, worker, arguments or headers contain *search*."""
    texts = (status.task_id, status.task, status.reason, status.worker)
    headers = (part for pair in status.headers.items() for part in pair)
    text = " ".join((*texts, value(status.args), value(status.kwargs), *headers))
    return search.lower() in text.lower()


def _without_arguments(view: PageRequest, status: TaskStatus) -> TaskStatus:
    """Return *status*, without arguments, headers and messages if the dashboard hides them."""
    if view.arguments:
        return status
    progress = status.progress and replace(status.progress, message="")
    return replace(status, args=(), kwargs={}, headers={}, progress=progress)


async def cancel(action: ActionRequest) -> ActionResult:
    """Cancel tasks by id."""
    queue, ids = action.hf.queue(action.text("queue")), _ids(action)
    handles = {task_id: queue.handle(task_id) for task_id in ids}
    many = len(ids) > 1  # if so, one operation id cannot identify all cancellations
    cancelled = await for_each(
        ids,
        lambda task_id: handles[task_id].cancel(op_id=None if many else action.op_id),
    )
    count = sum(cancelled.values())
    rest = "" if count == len(ids) else f" Already ended: {number(len(ids) - count)}."
    return ActionResult(f"Cancelled {counted(count, 'task')}.{rest}", count)


async def replay(action: ActionRequest) -> ActionResult:
    """Replay dead tasks by id."""
    ids = _ids(action)
    replayed = await action.hf.queue(action.text("queue")).replay(ids, op_id=action.op_id)
    rest = "" if replayed == len(ids) else f" No longer dead: {number(len(ids) - replayed)}."
    return ActionResult(f"Replayed {counted(replayed, 'task')}.{rest}", replayed)


def _ids(action: ActionRequest) -> list[str]:
    ids = list(dict.fromkeys(action.texts("id")))
    if not 1 <= len(ids) <= MAX_ITEMS:
        raise Problem("bad-request", f"choose 1 to {MAX_ITEMS} tasks, not {len(ids)}")
    return ids


SCREEN: Final = DashboardScreen(
    "Tasks",
    "Tasks",
    (Page("tasks", show_tasks), Page("task", show_task), Page("history", show_history)),
    (Action("task/cancel", cancel), Action("task/replay", replay)),
)
