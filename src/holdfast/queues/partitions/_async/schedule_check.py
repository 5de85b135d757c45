"""Checks that the schedules of a queue can fire in its first partition."""

from __future__ import annotations

from typing import Final

from ....core._async.caller import AsyncCaller
from ....core.names import Unit
from ....core.script import Script
from ...schedule.definition import ScheduleDefinition
from ...schedule.status import SchedulesReply
from ..scheduled_keys import check_schedule

SCHEDULES: Final = Script.load("holdfast.queues", "schedules")

_MOST: Final = 1000


async def check_schedules(caller: AsyncCaller, unit: Unit) -> None:
    """Check the schedules of a queue.

    Args:
        caller: reads the schedules.
        unit: the first partition of the queue.

    Raises:
        ValueError: a schedule enqueues tasks that are unique or have a limit key: such a key may
            belong to another partition.
    """
    start, is_last = 0, False
    while not is_last:
        args: list[str | int] = [start, _MOST, "+inf"]
        reply = await caller.call(SCHEDULES, unit, SCHEDULES.keys(unit), args)
        page = SchedulesReply.parsed(reply)
        for each in page.schedules:
            check_schedule(ScheduleDefinition.unpacked(each.name, each.definition))
        start, is_last = start + _MOST, page.total < _MOST
