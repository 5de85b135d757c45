"""Show dead tasks in groups with the same cause of failure, and replay a group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from .... import TaskStatus
from ....inspect.formats import counted
from ....inspect.survey import for_each
from ...problems import Problem
from ...request_parsing import MAX_ITEMS, parse_number
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import MAX_NAMES
from ..screen import Action, DashboardScreen, Page

MAX_QUEUES: Final = 20
"""How many queues to read dead tasks from: those with the most dead tasks."""

MAX_STATS: Final = 250
"""How many queues to count dead tasks of: those used most recently."""

EACH: Final = 250
"""How many dead tasks to read from each queue, the latest ones, if no queue is selected."""

ALL: Final = 1000
"""How many dead tasks to read, the latest ones, if a queue is selected."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Describes the dead tasks of a queue that failed with the same cause.

    Attributes:
        queue: the name of the queue.
        task: the name of the task function.
        reason: the reason of the failures, with `…` in place of the values that may differ.
        example: the whole reason of the latest failure.
        count: how many dead tasks of this group were read.
        first_at: when the first of them was dead-lettered.
        last_at: when the last of them was dead-lettered.
    """

    queue: str
    task: str
    reason: str
    example: str
    count: int
    first_at: datetime | None
    last_at: datetime | None


async def show(view: PageRequest) -> dict[str, Any]:
    """Return the failures of all queues, or of the selected one."""
    hf, queue = view.hf, view.optional("queue")
    known = await hf.queues(limit=MAX_NAMES) if queue is None else [queue]
    names = known[:MAX_STATS]
    stats = await for_each(names, lambda name: hf.queue(name).stats())
    dead = {name: one.dead for name, one in stats.items() if one.dead}
    worst = sorted(dead, key=lambda name: -dead[name])[:MAX_QUEUES]
    each = EACH if queue is None else ALL
    found = await for_each(worst, lambda name: hf.queue(name).dead(each))
    groups = [group for name, tasks in found.items() for group in grouped(name, tasks)]
    groups.sort(key=lambda group: -group.count)
    return {
        "queue": queue,
        "queues": len(known),
        "surveyed": MAX_STATS,
        "dead": sum(dead.values()),
        "among": each,
        "looked_at": sum(map(len, found.values())),
        "by_queue": {name: dead[name] for name in worst},
        "groups": groups[:MAX_ITEMS],
    }


def grouped(queue: str, tasks: Iterable[TaskStatus]) -> list[FailureGroup]:
    """Group the dead *tasks* of a queue by cause. *tasks* starts with the latest dead task."""
    found: dict[tuple[str, str], list[TaskStatus]] = {}
    for one in tasks:
        found.setdefault((one.task, pattern_of(one.reason)), []).append(one)
    return [
        FailureGroup(
            queue, task, reason, ones[0].reason, len(ones), ones[-1].ended_at, ones[0].ended_at
        )
        for (task, reason), ones in found.items()
    ]


async def replay(action: ActionRequest) -> ActionResult:
    """Replay the dead tasks of one group.

    Consider only the tasks that the page counted: the latest `among` that were dead at `until`.
    """
    queue, task, reason = (
        action.hf.queue(action.text("queue")),
        action.text("task"),
        action.text("reason"),
    )
    among = parse_number(action.text("among"), "among", 1, ALL) if action.flag("among") else ALL
    until = _instant(action.text("until")) if action.flag("until") else None
    ids = [
        one.task_id
        for one in await queue.dead(among)
        if one.task == task
        and is_like(one.reason, reason)
        and (until is None or one.ended_at is None or one.ended_at <= until)
    ]
    # Call `replay` even if *ids* is empty: a repeated request must return the number that the first
    # request has replayed.
    replayed = await queue.replay(ids, op_id=action.op_id)
    return ActionResult(f"Replayed {counted(replayed, 'task')} of {in_text(queue.name)}.", replayed)


def _instant(given: str) -> datetime:
    """Parse an ISO 8601 time with an offset."""
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise Problem("bad-request", "until must be an instant in ISO 8601 with its offset")
    return found


SCREEN: Final = DashboardScreen(
    "Failures", "Tasks", (Page("failures", show),), (Action("failures/replay", replay),)
)


_VALUES: Final = re.compile(
    r"'[^']{0,200}'|\"[^\"]{0,200}\"|0x[0-9a-fA-F]+"
    r"|\b[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b|\d+(?:[.,]\d+)*"
)
"""The values in a reason, which may differ between failures with the same cause."""

_MAX_REASON: Final = 300
"""Characters of a reason that decide its group."""


@lru_cache(maxsize=4096)
def pattern_of(reason: str) -> str:
    """Return *reason* with `…` in place of each value in it."""
    return _VALUES.sub("…", reason[:_MAX_REASON]).strip()


def is_like(reason: str, pattern: str) -> bool:
    """Return whether the pattern of *reason* is *pattern*."""
    return pattern_of(reason) == pattern
