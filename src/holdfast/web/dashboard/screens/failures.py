"""Dead tasks, those that died of the same cause together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .... import TaskStatus
from ...problems import Problem
from ...visit import whole
from ..deed import Deed, Done
from ..gathering import SURVEYED, for_each, stats_of
from ..listing import REMEMBERED
from ..look import MOST, Look
from ..names import in_text
from ..reasons import is_like, pattern_of
from ..screen import Action, Page, Screen
from ..words import counted

QUEUES: Final = 20
"""That are looked into: those with most dead tasks."""

EACH: Final = 250
"""Dead tasks of each that are looked at, the latest; of a queue that is asked for, `ALL`."""

ALL: Final = 1000


@dataclass(frozen=True, slots=True)
class Failures:
    """Dead tasks of one cause.

    Attributes:
        queue: where.
        task: what was to be done.
        reason: why it was not; `…` stands for what differs.
        example: one reason as it is.
        count: how many of those that were looked at.
        first_at: when the first of them died.
        last_at: likewise, the last.
    """

    queue: str
    task: str
    reason: str
    example: str
    count: int
    first_at: datetime | None
    last_at: datetime | None


async def show(look: Look) -> dict[str, Any]:
    """The failures of all queues, or of one."""
    hf, wanted = look.hf, look.maybe("queue")
    known = await hf.queues(limit=REMEMBERED) if wanted is None else [wanted]
    names = known[:SURVEYED]
    dead = {name: stats.dead for name, stats in (await stats_of(hf, names)).items() if stats.dead}
    worst = sorted(dead, key=lambda name: -dead[name])[:QUEUES]
    each = EACH if wanted is None else ALL
    found = await for_each(worst, lambda name: hf.queue(name).dead(each))
    groups = [group for name, tasks in found.items() for group in grouped(name, tasks)]
    groups.sort(key=lambda group: -group.count)
    return {
        "queue": wanted,
        "queues": len(known),
        "surveyed": SURVEYED,
        "dead": sum(dead.values()),
        "among": each,
        "looked_at": sum(map(len, found.values())),
        "by_queue": {name: dead[name] for name in worst},
        "groups": groups[:MOST],
    }


def grouped(queue: str, tasks: Iterable[TaskStatus]) -> list[Failures]:
    """The dead *tasks* of a queue by cause; the latest dead come first."""
    found: dict[tuple[str, str], list[TaskStatus]] = {}
    for one in tasks:
        found.setdefault((one.task, pattern_of(one.reason)), []).append(one)
    return [
        Failures(
            queue, task, reason, ones[0].reason, len(ones), ones[-1].ended_at, ones[0].ended_at
        )
        for (task, reason), ones in found.items()
    ]


async def replay(deed: Deed) -> Done:
    """Put the dead tasks of one cause in line again, *among* the latest dead that were counted."""
    queue, task, reason = deed.hf.queue(deed.text("queue")), deed.text("task"), deed.text("reason")
    among = whole(deed.text("among"), "among", 1, ALL) if deed.flag("among") else ALL
    until = _instant(deed.text("until")) if deed.flag("until") else None
    ids = [
        one.task_id
        for one in await queue.dead(among)
        if one.task == task
        and is_like(one.reason, reason)
        and (until is None or one.ended_at is None or one.ended_at <= until)
    ]
    replayed = await queue.replay(ids, op_id=deed.op_id)  # also of none: it may be a repetition
    return Done(f"In line again: {counted(replayed, 'task')} of {in_text(queue.name)}.", replayed)


def _instant(given: str) -> datetime:
    """Return the instant that a form names: what died after it was not on its page."""
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise Problem("bad-request", "until is an instant in ISO 8601, with its offset")
    return found


SCREEN: Final = Screen(
    "Failures", "Tasks", (Page("failures", show),), (Action("failures/replay", replay),)
)
