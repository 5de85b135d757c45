"""Show queues with their tasks by state. Pause, resume, replay and purge a queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .... import AsyncHoldfast, AsyncQueue, QueueStats, WorkerStatus
from ....inspect.formats import counted, number
from ....inspect.survey import for_each
from ...problems import Problem
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import MAX_NAMES, page_of
from ..screen import Action, DashboardScreen, Page

MINUTES: Final = 60

MAX_STATS: Final = 250
"""How many queues to read for a sorted list: those used most recently."""

DELAYED_KEYS: Final = 20
"""How many limit keys of a queue are shown: those with most waiting tasks."""

ORDERS: Final = ("used", "name", "waiting", "dead")
"""Orders of the list: most recently used, by name, most waiting tasks, or most dead tasks first."""


async def show_queues(view: PageRequest) -> dict[str, Any]:
    """Return a page of the queues."""
    order, search = view.choice("order", ORDERS), view.text("q").lower()
    known = await view.hf.queues(limit=MAX_NAMES)
    found = [name for name in known if search in name.lower()]
    names, stats = await _ordered(view, found, order)
    shown, where = page_of(view, names)
    stats |= await _stats(view.hf, [name for name in shown if name not in stats])
    paces = await for_each(shown, lambda name: view.hf.queue(name).throughput(MINUTES))
    workers = await view.hf.workers()
    return {
        **where,
        "order": order,
        "all": len(known),
        "found": len(found),
        "surveyed": MAX_STATS,
        "queues": [
            {
                "name": name,
                "stats": stats[name],
                "waits": stats[name].waited(view.at),
                "pace": paces[name],
                "workers": len(_serving(workers, name)),
            }
            for name in shown
        ],
    }


async def _stats(hf: AsyncHoldfast, queues: Iterable[str]) -> dict[str, QueueStats]:
    return await for_each(queues, lambda queue: hf.queue(queue).stats())


async def _ordered(
    view: PageRequest, names: list[str], order: str
) -> tuple[list[str], dict[str, QueueStats]]:
    """Return *names* in *order*, and the statistics that were read to sort them."""
    if order == "used":
        return names, {}
    if order == "name":
        return sorted(names), {}
    stats = await _stats(view.hf, names[:MAX_STATS])
    if order == "waiting":
        return sorted(stats, key=lambda name: -stats[name].ready), stats
    return sorted(stats, key=lambda name: -stats[name].dead), stats


async def show_queue(view: PageRequest) -> dict[str, Any]:
    """Return one queue."""
    name = view.required("name")
    queue = view.hf.queue(name)
    stats, pace = await queue.stats(), await queue.throughput(MINUTES)
    delayed_keys = await queue.delayed_keys(DELAYED_KEYS) if stats.limited else []
    partitions = await queue.partitions() if stats.partitions > 1 else {}
    return {
        "name": name,
        "known": await is_known(view.hf, name, stats),
        "stats": stats,
        "waits": stats.waited(view.at),
        "pace": pace,
        "delayed_keys": delayed_keys,
        "partitions": partitions,
        "workers": _serving(await view.hf.workers(), name),
    }


def _serving(workers: list[WorkerStatus], queue: str) -> list[WorkerStatus]:
    return [worker for worker in workers if queue in worker.queues and worker.alive]


async def is_known(hf: AsyncHoldfast, name: str, stats: QueueStats) -> bool:
    """Return whether a queue exists: it has tasks, or the server lists its name."""
    used = stats != QueueStats(0, 0, 0, 0, 0)
    return used or name in await hf.queues(limit=MAX_NAMES)


async def pause(action: ActionRequest) -> ActionResult:
    """Pause the queue: workers claim no more tasks from it."""
    queue = await _known_queue(action)
    await queue.pause(op_id=action.op_id)
    return ActionResult(
        f"{in_text(queue.name)} is paused. Running tasks continue; no other task starts."
    )


async def resume(action: ActionRequest) -> ActionResult:
    """Resume the queue."""
    queue = await _known_queue(action)
    await queue.resume(op_id=action.op_id)
    return ActionResult(f"{in_text(queue.name)} is resumed.")


async def replay(action: ActionRequest) -> ActionResult:
    """Replay the dead tasks of the queue, starting with the one that died first."""
    queue = _queue(action)
    replayed = await queue.replay(op_id=action.op_id)
    left = (await queue.stats()).dead
    rest = f" Still dead: {number(left)}." if left else ""
    text = f"Replayed {counted(replayed, 'task')} of {in_text(queue.name)}.{rest}"
    return ActionResult(text, replayed)


async def purge(action: ActionRequest) -> ActionResult:
    """Delete the waiting tasks or the dead tasks of the queue."""
    which = action.text("which")
    if which not in ("waiting", "dead"):
        raise Problem("bad-request", "which must be waiting or dead")
    queue = _queue(action)
    dropped = await queue.purge(dead=which == "dead", op_id=action.op_id)
    text = f"Deleted {counted(dropped, f'{which} task')} of {in_text(queue.name)}."
    return ActionResult(text, dropped)


def _queue(action: ActionRequest) -> AsyncQueue:
    return action.hf.queue(action.text("queue"))


async def _known_queue(action: ActionRequest) -> AsyncQueue:
    """Return the queue that the action names. For the form of a page, the queue must exist.

    A program may name a new queue, so that it can pause the queue before its first task.
    """
    queue = _queue(action)
    if action.from_page and not await is_known(action.hf, queue.name, await queue.stats()):
        raise Problem("not-found", f"there is no queue {in_text(queue.name)}; nothing was changed")
    return queue


SCREEN: Final = DashboardScreen(
    "Queues",
    "Tasks",
    (Page("queues", show_queues), Page("queue", show_queue)),
    (
        Action("queue/pause", pause),
        Action("queue/resume", resume),
        Action("queue/replay", replay),
        Action("queue/purge", purge),
    ),
)
