"""Show schedules: when they fire next, and what they have done. Pause, trigger and remove them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from .... import AsyncHoldfast, NoSuchSchedule, ScheduleStatus
from ....inspect.survey import for_each
from ...problems import Problem
from ..action_request import ActionRequest, ActionResult
from ..displayed_names import in_text
from ..page_request import PageRequest
from ..pagination import page_of
from ..screen import Action, DashboardScreen, Page

MAX_QUEUES: Final = 100
"""How many queues to read: those that were used most recently."""

INSTANTS: Final = 10
"""How many of the next instants of a schedule are shown."""

RUNS: Final = 30
"""How many of the last runs of a schedule are in its small chart."""

HISTORY: Final = 1000
"""How many ended tasks of a queue are searched for the runs of its schedules."""


async def show_schedules(view: PageRequest) -> dict[str, Any]:
    """Return a page of the schedules, the next to fire first; paused ones come last."""
    known = await view.hf.queues(limit=MAX_QUEUES + 1)
    lists = await for_each(known[:MAX_QUEUES], lambda queue: view.hf.schedules(queue=queue))
    schedules = {each.name: each for found in lists.values() for each in found}
    names = sorted(schedules, key=lambda name: _order(schedules[name]))
    shown, where = page_of(view, names)
    states = await for_each(shown, lambda name: _last_state(view.hf, schedules[name]))
    queues = sorted({schedules[name].queue for name in shown})
    runs = await for_each(queues, lambda queue: _last_runs(view.hf, queue))
    return {
        **where,
        "queues": MAX_QUEUES if len(known) > MAX_QUEUES else None,
        "paused": sum(each.paused for each in schedules.values()),
        "missed": sum(each.missed for each in schedules.values()),
        "skipped": sum(each.skipped for each in schedules.values()),
        "schedules": [
            {
                **_fields(schedules[name]),
                "last_state": states[name],
                "durations": runs[schedules[name].queue].get(name, []),
            }
            for name in shown
        ],
    }


def _order(schedule: ScheduleStatus) -> tuple[bool, float, str]:
    at = schedule.next_at
    return at is None, at.timestamp() if at else 0.0, schedule.name


async def _last_state(hf: AsyncHoldfast, schedule: ScheduleStatus) -> str:
    """Return the state of the task of the last occurrence; empty if there was none."""
    if not schedule.last_task_id:
        return ""
    return (await hf.queue(schedule.queue).handle(schedule.last_task_id).status()).state


async def _last_runs(hf: AsyncHoldfast, queue: str, name: str = "") -> dict[str, list[float]]:
    """Return schedule → durations of its last runs in ms, the latest last.

    Read the runs of all schedules of *queue*, or only of the schedule *name* if it is given.
    """
    durations: dict[str, list[float]] = defaultdict(list)
    for ended in await hf.queue(queue).history(limit=HISTORY, search=f"{name}@"):
        found = durations[ended.task_id.rpartition("@")[0]]
        if ended.duration is not None and len(found) < RUNS:
            found.insert(0, ended.duration * 1000)
    return durations


async def show_schedule(view: PageRequest) -> dict[str, Any]:
    """Return one schedule, and its next instants."""
    name = view.required("name")
    handle = view.hf.schedule_handle(name)
    try:
        schedule = await handle.status()
        instants = await handle.next(INSTANTS)
    except NoSuchSchedule:
        return {"name": name, "known": False}
    except ModuleNotFoundError:  # the extra `cron` is not installed: show the stored instant
        instants = [schedule.next_at] if schedule.next_at else []
    runs = await _last_runs(view.hf, schedule.queue, name)
    return {
        **_fields(schedule),
        "known": True,
        "instants": instants,
        "last_state": await _last_state(view.hf, schedule),
        "durations": runs.get(name, []),
    }


def _fields(schedule: ScheduleStatus) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "queue": schedule.queue,
        "task": schedule.task,
        "timing": str(schedule.timing),
        "next_at": schedule.next_at,
        "last_at": schedule.last_at,
        "last_task_id": schedule.last_task_id,
        "paused": schedule.paused,
        "declared": schedule.declared,
        "declared_at": schedule.declared_at,
        "missed_policy": schedule.missed_policy,
        "overlap": schedule.overlap,
        "fired": schedule.fired,
        "missed": schedule.missed,
        "skipped": schedule.skipped,
    }


async def pause(action: ActionRequest) -> ActionResult:
    """Pause the schedule: it fires no more."""
    name = action.text("name")
    try:
        await action.hf.schedule_handle(name).pause(op_id=action.op_id)
    except NoSuchSchedule as error:
        raise _unknown(name) from error
    return ActionResult(f"{in_text(name)} is paused. Tasks that it has enqueued run.")


async def resume(action: ActionRequest) -> ActionResult:
    """Resume a paused schedule. It fires again at its next instant."""
    name = action.text("name")
    try:
        await action.hf.schedule_handle(name).resume(op_id=action.op_id)
    except NoSuchSchedule as error:
        raise _unknown(name) from error
    except ModuleNotFoundError as error:
        raise Problem("failed", str(error)) from error
    return ActionResult(f"{in_text(name)} is resumed.")


async def trigger(action: ActionRequest) -> ActionResult:
    """Enqueue a task of the schedule now."""
    name = action.text("name")
    try:
        handle = await action.hf.schedule_handle(name).trigger(op_id=action.op_id)
    except NoSuchSchedule as error:
        raise _unknown(name) from error
    return ActionResult(f"Enqueued task {in_text(handle.task_id)} of {in_text(name)}.")


async def remove(action: ActionRequest) -> ActionResult:
    """Remove the schedule."""
    name = action.text("name")
    try:
        await action.hf.schedule_handle(name).remove(op_id=action.op_id)
    except NoSuchSchedule as error:
        raise _unknown(name) from error
    return ActionResult(f"{in_text(name)} is removed. Tasks that it has enqueued stay.")


def _unknown(name: str) -> Problem:
    return Problem("not-found", f"there is no schedule {in_text(name)}; nothing was changed")


SCREEN: Final = DashboardScreen(
    "Schedules",
    "Tasks",
    (Page("schedules", show_schedules), Page("schedule", show_schedule)),
    (
        Action("schedule/pause", pause),
        Action("schedule/resume", resume),
        Action("schedule/trigger", trigger),
        Action("schedule/remove", remove),
    ),
)
