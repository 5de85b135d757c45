"""The health of the namespace on one page."""

from __future__ import annotations

from typing import Any, Final

from ....inspect.survey import SurveyLimits, survey
from ....inspect.throughput import done_per_second, failing_share, merged
from ..health import health_of
from ..page_request import PageRequest
from ..screen import DashboardScreen, Page

MINUTES: Final = 60

SURVEYED: Final = 250
"""Queues that are read, the last used: 10,000 would take seconds."""

SURVEY: Final = SurveyLimits(
    queues=SURVEYED, minutes=MINUTES, locks=0, mailboxes=0, chats=0, counters=0,
    row_caches=0, file_feeds=0, tallies=0,
)  # fmt: skip

MAX_QUEUES: Final = 8
"""Queues on this page."""


async def show(view: PageRequest) -> dict[str, Any]:
    """Return the totals, the queues that wait longest, the workers and the servers."""
    found = await survey(view.hf, SURVEY)
    queues = found.queues
    pace = merged(found.throughputs.values())[-MINUTES:]
    died = sum(minute.dead for minute in pace)
    waits = {name: found.waited(name) for name in queues}
    slowest = sorted(queues, key=lambda name: (-waits[name], -queues[name].ready))[:MAX_QUEUES]
    return {
        "health": health_of(found, died),
        "queues": len(queues),
        "surveyed": SURVEYED,
        **found.tasks,
        "oldest": max(waits.values(), default=0.0),
        "rate": done_per_second(pace),
        "failing": failing_share(pace),
        "died": died,
        "pace": pace,
        "workers": len(found.alive),
        "slots": sum(worker.concurrency for worker in found.alive),
        "servers": found.servers,
        "slowest": [
            {
                "name": name,
                "stats": queues[name],
                "waits": waits[name],
                "pace": found.throughputs[name],
            }
            for name in slowest
        ],
    }


SCREEN: Final = DashboardScreen("Overview", "", (Page("", show),))
