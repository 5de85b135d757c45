"""`Schedule`: when a task of a registry runs by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..call import Call
from .definition import Missed, Overlap, ScheduleDefinition
from .times import Timing


class ScheduledTask(Protocol):
    """A task of a registry."""

    name: str
    schedule: Schedule | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a task runs by itself, for `@tasks.task(schedule=…)`.

    Attributes:
        timing: a `Cron`, `Every` or `Once`.
        missed: what happens to occurrences that were due while no worker lived. `once`: the latest
            one is enqueued; `all`: each of them, at most the latest 1,000; `skip`: the latest one
            if it is at most a minute late.
        overlap: `skip` enqueues nothing while the task of the occurrence before has not ended.
        name: name of the schedule; by default the name of the task.
    """

    timing: Timing
    missed: Missed = "once"
    overlap: Overlap = "allow"
    name: str | None = None

    def definition(self, task: str, make_call: Callable[[], Call[Any]]) -> ScheduleDefinition:
        """Return the definition that a task declares.

        Args:
            task: its name.
            make_call: makes its call without arguments.

        Raises:
            ValueError: An option is wrong, or the task has parameters without a default.
        """
        try:
            call = make_call()
        except TypeError as error:
            raise ValueError(
                f"{error}; a task with a schedule needs a default for each parameter, or "
                "hf.schedule(name, task.call(…), …)"
            ) from None
        return ScheduleDefinition.checked(
            self.name or task,
            call,
            self.timing,
            missed=self.missed,
            overlap=self.overlap,
            declared=True,
        )


def declared_schedule(
    timing: Timing | Schedule,
    task: str,
    make_call: Callable[[], Call[Any]],
    others: Iterable[ScheduledTask],
) -> Schedule:
    """Return the schedule that a task declares.

    Args:
        timing: as in `@tasks.task(schedule=…)`.
        task: name of the task.
        make_call: makes its call without arguments.
        others: the tasks of its registry.

    Raises:
        ValueError: As for `Schedule.definition`, or another task declares a schedule of this name.
    """
    schedule = timing if isinstance(timing, Schedule) else Schedule(timing)
    name = schedule.definition(task, make_call).name
    for other in others:
        if other.schedule and other.name != task and name == (other.schedule.name or other.name):
            raise ValueError(
                f"task {other.name!r} declares a schedule named {name!r} already: give the one of "
                f"task {task!r} another name, Schedule(…, name=…)"
            )
    return schedule
