"""Show workers: the queues that they serve, and how busy they are."""

from __future__ import annotations

from typing import Any, Final

from ...request_parsing import MAX_ITEMS
from ..page_request import PageRequest
from ..screen import DashboardScreen, Page


async def show(view: PageRequest) -> dict[str, Any]:
    """Return the workers that published a heartbeat within five minutes.

    The processes of one supervisor, its group, stand together.
    """
    search = view.text("q")
    known = [
        worker
        for worker in await view.hf.workers()
        if search.lower() in " ".join((worker.name, worker.group, *worker.queues)).lower()
    ]
    alive = [worker for worker in known if worker.alive]
    return {
        "search": search,
        "alive": len(alive),
        "running": sum(worker.running for worker in alive),
        "slots": sum(worker.concurrency for worker in alive),
        "found": len(known),
        "grouped": any(worker.group for worker in known),
        "workers": [
            {"alive": worker.alive, "status": worker}
            for worker in sorted(known, key=lambda each: (each.group, each.name))[:MAX_ITEMS]
        ],
    }


SCREEN: Final = DashboardScreen("Workers", "Tasks", (Page("workers", show),))
