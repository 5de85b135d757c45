"""Show the health of the namespace on one page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from ....inspect.block_summary import COUNTERS, block_summaries
from ....inspect.survey import Kind, SurveyLimits, survey
from ....inspect.throughput import done_per_second, failing_share, merged, recent, since_first
from ..health import health_of
from ..page_request import PageRequest
from ..screen import DashboardScreen, Page

MINUTES: Final = 60

SURVEYED: Final = 250
"""How many queues to read, the most recently used. All 10,000 would take seconds."""

SURVEY: Final = SurveyLimits(
    queues=SURVEYED, minutes=MINUTES, locks=40, mailboxes=20, chats=20, counters=0,
    cached_functions=20, row_caches=5, file_feeds=10, tallies=0, counter_names=COUNTERS,
)  # fmt: skip

PAGES: Final[dict[Kind, str]] = {
    "lock": "locks", "mailbox": "mailboxes", "chat": "chats", "counter": "counters",
    "completions": "completions", "cached": "functions", "row_cache": "rows", "file_feed": "feeds",
    "tally": "tallies",
}  # fmt: skip
"""The path of the page for locks, for mailboxes and so on."""

MAX_QUEUES: Final = 8
"""How many queues to show on the overview."""


async def show(view: PageRequest) -> dict[str, Any]:
    """Return totals, the queues with the oldest waiting tasks, and summaries of everything else."""
    found = await survey(view.hf, SURVEY)
    queues = found.queues
    pace = merged(found.throughputs.values())[-MINUTES:]
    died = sum(minute.dead for minute in pace)
    waits = {name: found.waited(name) for name in queues}
    slowest = sorted(queues, key=lambda name: (-waits[name], -queues[name].ready))[:MAX_QUEUES]
    blocks = block_summaries(found)
    return {
        "health": health_of(found, died, blocks, PAGES),
        "blocks": [{"page": PAGES[each.kind], **asdict(each)} for each in blocks],
        "measured": max(1, len(recent(since_first(pace)))),
        "queues": len(queues),
        "surveyed": SURVEYED,
        **found.tasks,
        "oldest": max(waits.values(), default=0.0),
        "rate": done_per_second(pace, found.at),
        "failing": failing_share(pace),
        "died": died,
        "gave_up": sum(minute.gave_up for minute in pace),
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
