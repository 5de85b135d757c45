"""Dead tasks, grouped by the cause of their failure."""

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
"""Read dead tasks of at most this many queues: those with the most dead tasks."""

MAX_STATS: Final = 250
"""Read the numbers of at most this many queues: those used last."""

EACH: Final = 250
"""Dead tasks of each queue that are read, the latest; `ALL` if one queue is selected."""

ALL: Final = 1000


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Dead tasks of one cause.

    Attributes:
        queue: their queue.
        task: their task name.
        reason: with `…` for the parts that differ.
        example: the reason of one of them.
        count: how many of the tasks that were read.
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
    """Return the failures of all queues, or of one."""
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
    """Group the dead *tasks* of a queue by cause; the latest dead come first."""
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
    """Replay the dead tasks of one cause, among the latest dead tasks that the page counted."""
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
    replayed = await queue.replay(
        ids, op_id=action.op_id
    )  # also without ids: this may be a repetition
    return ActionResult(f"Replayed {counted(replayed, 'task')} of {in_text(queue.name)}.", replayed)


def _instant(given: str) -> datetime:
    """Return the instant in a form: tasks that died later were not on its page."""
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
"""The parts of a reason that differ between failures of one cause."""

_MAX_REASON: Final = 300


@lru_cache(maxsize=4096)
def pattern_of(reason: str) -> str:
    """Return *reason* with `…` for each value in it."""
    return _VALUES.sub("…", reason[:_MAX_REASON]).strip()


def is_like(reason: str, pattern: str) -> bool:
    """Return whether *reason* has that pattern."""
    return pattern_of(reason) == pattern
