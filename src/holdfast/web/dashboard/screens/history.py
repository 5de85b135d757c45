"""Show the tasks of a queue that ended last."""

from __future__ import annotations

from typing import Any, Final

from ...request_parsing import MAX_ITEMS
from ..page_request import PageRequest
from ..pagination import MAX_NAMES

PAGE_SIZE: Final = 50

MAX_NUMBER: Final = 10**15

OUTCOMES: Final = (
    "any", "done", "dead", "failed", "gave-up", "expired", "crashed", "bad-arguments",
    "unknown-task", "cancelled",
)  # fmt: skip


async def show_history(view: PageRequest) -> dict[str, Any]:
    """Return a page of the history of one queue, the task that ended last first."""
    known = await view.hf.queues(limit=MAX_NAMES)
    names = sorted(known[:MAX_ITEMS])
    search, task, outcome = view.text("q"), view.text("task"), view.choice("outcome", OUTCOMES)
    before = view.number("before", 0, most=MAX_NUMBER)
    found: dict[str, Any] = {"queues": names, "all": len(known), "outcomes": OUTCOMES}
    found |= {"filters": {"search": search, "task": task, "outcome": outcome}, "before": before}
    name = view.optional("queue")
    if name is None and not names:
        return {**found, "queue": "", "tasks": [], "next": None}
    if name is None:
        # The next update must show this queue, even if another one comes first by then.
        name = view.query["queue"] = names[0]
    tasks = await view.hf.queue(name).history(
        PAGE_SIZE,
        outcome=None if outcome == "any" else outcome,
        name=task or None,
        search=search or None,
        before=before or None,
    )
    # Tasks of a queue with several partitions have no numbers, so there is no page of older ones.
    older = tasks[-1].number or None if len(tasks) == PAGE_SIZE else None
    return {**found, "queue": name, "tasks": tasks, "next": older}
