"""Task queues: how many tasks are where, and what operators do with a whole queue."""

from __future__ import annotations

from typing import Any, Final

from .... import AsyncQueue, QueueStats, WorkerStatus
from ...problems import Problem
from ..deed import Deed, Done
from ..gathering import SURVEYED, for_each, stats_of
from ..look import Look
from ..screen import Action, Page, Screen
from ..words import counted, number

SIZE: Final = 50
MINUTES: Final = 60

ORDERS: Final = ("used", "name", "waiting", "dead")


async def show_queues(look: Look) -> dict[str, Any]:
    """A page of the queues that were used last."""
    order, search = look.choice("order", ORDERS), look.text("q")
    names = [name for name in await look.hf.queues() if search.lower() in name.lower()]
    names, stats = await _ordered(look, names, order)
    page = look.whole("page", 1)
    shown = names[(page - 1) * SIZE : page * SIZE]
    stats |= await stats_of(look.hf, [name for name in shown if name not in stats])
    paces = await for_each(shown, lambda name: look.hf.queue(name).pace(MINUTES))
    workers = await look.hf.workers()
    return {
        "order": order,
        "search": search,
        "page": page,
        "size": SIZE,
        "total": len(names),
        "surveyed": SURVEYED,
        "queues": [
            {
                "name": name,
                "stats": stats[name],
                "waits": stats[name].waited(look.at),
                "pace": paces[name],
                "workers": len(_serving(workers, name)),
            }
            for name in shown
        ],
    }


async def _ordered(
    look: Look, names: list[str], order: str
) -> tuple[list[str], dict[str, QueueStats]]:
    """*names* in that order, and what had to be asked for it: of the queues used last."""
    if order == "used":
        return names, {}
    if order == "name":
        return sorted(names), {}
    stats = await stats_of(look.hf, names[:SURVEYED])
    if order == "waiting":
        return sorted(stats, key=lambda name: -stats[name].ready), stats
    return sorted(stats, key=lambda name: -stats[name].dead), stats


async def show_queue(look: Look) -> dict[str, Any]:
    """One queue."""
    name = look.needed("name")
    queue = look.hf.queue(name)
    stats, pace = await queue.stats(), await queue.pace(MINUTES)
    return {
        "name": name,
        "stats": stats,
        "waits": stats.waited(look.at),
        "pace": pace,
        "workers": _serving(await look.hf.workers(), name),
    }


def _serving(workers: list[WorkerStatus], queue: str) -> list[WorkerStatus]:
    return [worker for worker in workers if queue in worker.queues and worker.alive]


async def pause(deed: Deed) -> Done:
    """Let no task of the queue be claimed."""
    await _queue(deed).pause(op_id=deed.op_id)
    return Done(f"{deed.text('queue')} is paused: what runs goes on, and nothing more is begun.")


async def resume(deed: Deed) -> Done:
    """Let its tasks be claimed again."""
    await _queue(deed).resume(op_id=deed.op_id)
    return Done(f"{deed.text('queue')} goes on.")


async def replay(deed: Deed) -> Done:
    """Put its dead tasks in line again, the longest dead first."""
    replayed = await _queue(deed).replay(op_id=deed.op_id)
    left = (await _queue(deed).stats()).dead
    rest = f" Still dead: {number(left)}." if left else ""
    return Done(
        f"In line again: {counted(replayed, 'task')} of {deed.text('queue')}.{rest}", replayed
    )


async def purge(deed: Deed) -> Done:
    """Drop the tasks that wait, or those that are dead."""
    which = deed.text("which")
    if which not in ("waiting", "dead"):
        raise Problem("bad-request", "which is waiting or dead")
    dropped = await _queue(deed).purge(dead=which == "dead", op_id=deed.op_id)
    return Done(f"Dropped: {counted(dropped, f'{which} task')} of {deed.text('queue')}.", dropped)


def _queue(deed: Deed) -> AsyncQueue:
    return deed.hf.queue(deed.text("queue"))


SCREEN: Final = Screen(
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
