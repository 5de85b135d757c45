"""Workers: which ones there are, what they serve, and how busy they are."""

from __future__ import annotations

from typing import Any, Final

from ..look import MOST, Look
from ..screen import Page, Screen


async def show(look: Look) -> dict[str, Any]:
    """All workers that gave a sign of life within five minutes, by name."""
    search = look.text("q")
    known = [
        worker
        for worker in await look.hf.workers()
        if search.lower() in " ".join((worker.name, *worker.queues)).lower()
    ]
    alive = [worker for worker in known if worker.alive]
    return {
        "search": search,
        "alive": len(alive),
        "running": sum(worker.running for worker in alive),
        "places": sum(worker.concurrency for worker in alive),
        "found": len(known),
        "workers": [
            {"alive": worker.alive, "status": worker}
            for worker in sorted(known, key=lambda worker: worker.name)[:MOST]
        ],
    }


SCREEN: Final = Screen("Workers", "Tasks", (Page("workers", show),))
