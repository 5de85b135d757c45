"""Task queues: how many tasks are where, and what operators do with a whole queue."""

from __future__ import annotations

from typing import Any, Final

from .... import AsyncHoldfast, AsyncQueue, QueueStats, WorkerStatus
from ...problems import Problem
from ..deed import Deed, Done
from ..gathering import SURVEYED, for_each, stats_of
from ..listing import REMEMBERED, page_of
from ..look import Look
from ..names import in_text
from ..screen import Action, Page, Screen
from ..words import counted, number

MINUTES: Final = 60

ORDERS: Final = ("used", "name", "waiting", "dead")


async def show_queues(look: Look) -> dict[str, Any]:
    """A page of the queues that were used last."""
    order, search = look.choice("order", ORDERS), look.text("q").lower()
    known = await look.hf.queues(limit=REMEMBERED)
    found = [name for name in known if search in name.lower()]
    names, stats = await _ordered(look, found, order)
    shown, where = page_of(look, names)
    stats |= await stats_of(look.hf, [name for name in shown if name not in stats])
    throughputs = await for_each(shown, lambda name: look.hf.queue(name).throughput(MINUTES))
    workers = await look.hf.workers()
    return {
        **where,
        "order": order,
        "all": len(known),
        "found": len(found),
        "surveyed": SURVEYED,
        "queues": [
            {
                "name": name,
                "stats": stats[name],
                "waits": stats[name].waited(look.at),
                "pace": throughputs[name],
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
    stats, throughput = await queue.stats(), await queue.throughput(MINUTES)
    return {
        "name": name,
        "known": await is_known(look.hf, name, stats),
        "stats": stats,
        "waits": stats.waited(look.at),
        "pace": throughput,
        "workers": _serving(await look.hf.workers(), name),
    }


def _serving(workers: list[WorkerStatus], queue: str) -> list[WorkerStatus]:
    return [worker for worker in workers if queue in worker.queues and worker.alive]


async def is_known(hf: AsyncHoldfast, name: str, stats: QueueStats) -> bool:
    """Return whether a queue was ever used: it holds something, or it is remembered."""
    used = stats != QueueStats(0, 0, 0, 0, 0)
    return used or name in await hf.queues(limit=REMEMBERED)


async def pause(deed: Deed) -> Done:
    """Let no task of the queue be claimed."""
    queue = await _known_queue(deed)
    await queue.pause(op_id=deed.op_id)
    return Done(f"{in_text(queue.name)} is paused: what runs goes on, and nothing more is begun.")


async def resume(deed: Deed) -> Done:
    """Let its tasks be claimed again."""
    queue = await _known_queue(deed)
    await queue.resume(op_id=deed.op_id)
    return Done(f"{in_text(queue.name)} goes on.")


async def replay(deed: Deed) -> Done:
    """Put its dead tasks in line again, the longest dead first."""
    queue = _queue(deed)
    replayed = await queue.replay(op_id=deed.op_id)
    left = (await queue.stats()).dead
    rest = f" Still dead: {number(left)}." if left else ""
    said = f"In line again: {counted(replayed, 'task')} of {in_text(queue.name)}.{rest}"
    return Done(said, replayed)


async def purge(deed: Deed) -> Done:
    """Drop the tasks that wait, or those that are dead."""
    which = deed.text("which")
    if which not in ("waiting", "dead"):
        raise Problem("bad-request", "which is waiting or dead")
    queue = _queue(deed)
    dropped = await queue.purge(dead=which == "dead", op_id=deed.op_id)
    said = f"Dropped: {counted(dropped, f'{which} task')} of {in_text(queue.name)}."
    return Done(said, dropped)


def _queue(deed: Deed) -> AsyncQueue:
    return deed.hf.queue(deed.text("queue"))


async def _known_queue(deed: Deed) -> AsyncQueue:
    """Return the queue that a form names; what is done to an unknown one would make it.

    A program may do so: to pause a queue before its first task.
    """
    queue = _queue(deed)
    if deed.from_page and not await is_known(deed.hf, queue.name, await queue.stats()):
        raise Problem("not-found", f"there is no queue {in_text(queue.name)}; nothing was changed")
    return queue


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
