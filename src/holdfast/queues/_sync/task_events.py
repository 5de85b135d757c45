# Generated from _async/task_events.py by tools/unasync.py: edit that, then run `make sync`.
"""Read the events of a task, and wait for more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ...core._sync.caller import Argument, Caller
from ...core.clock import Deadline
from ...core.concurrency._sync.primitives import Event
from ...core.gap import Gap
from ...core.names import Unit
from ...core.notifier import Notifier
from ...core.script import Script
from .. import keys
from ..events.task_event import PAGE_EVENTS, EventPage, TaskEvent

EVENTS: Final = Script.load("holdfast.queues", "events")


def read_events(
    caller: Caller,
    notifier: Notifier,
    find_unit: Callable[[], Any],
    task_id: str,
    after: int,
    wait: Deadline,
) -> Iterator[TaskEvent | Gap]:
    """Yield the events of a task, and wait for more until it has ended.

    Args:
        caller: calls the server.
        notifier: waits for notifications.
        find_unit: returns the partition of the task.
        task_id: id of the task.
        after: number of the event after which to begin.
        wait: until when to wait.
    """
    woken, unit = Event(), find_unit()
    with notifier.follow([followed(unit, task_id)], woken):
        while True:
            woken.clear()
            page = read_page(caller, unit, task_id, after, follows=not wait.passed)
            found = [page.gap, *page.events]
            for each in found:
                if each is not None:
                    yield each
            after = page.after
            if page.is_last or (page.is_complete and wait.passed):
                return
            if page.is_complete:
                woken.wait(wait.left_s())


def read_page(
    caller: Caller,
    unit: Unit,
    task_id: str,
    after: int,
    limit: int = PAGE_EVENTS,
    *,
    follows: bool = False,
) -> EventPage:
    """Return the events of a task after the one with the number *after*, at most *limit*.

    With *follows*, the server notifies readers of the end of the task even if the task has no
    events.
    """
    names = EVENTS.keys(unit, keys.events(unit, task_id))
    args: list[Argument] = [task_id, after, limit, int(follows)]
    reply = caller.call(EVENTS, unit, names, args, harmless=True, durable=False)
    return EventPage.parsed(reply, after, f"task {task_id!r}")


def followed(unit: Unit, task_id: str) -> Unit:
    """Return a unit with the channel on which `progress.lua` notifies the followers of one task."""
    return Unit(unit.kind, unit.name, keys.progress(unit) + f":{task_id}:", unit.slot)
