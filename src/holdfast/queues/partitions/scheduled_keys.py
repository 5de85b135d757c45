"""Checks that a schedule can fire in the first partition of a queue."""

from __future__ import annotations

from ..schedule.definition import ScheduleDefinition


def has_key(definition: ScheduleDefinition) -> bool:
    """Return whether the tasks of a schedule are unique or have a limit key."""
    return definition.envelope.unique is not None or definition.envelope.limit is not None


def check_schedule(definition: ScheduleDefinition) -> None:
    """Check one schedule of a queue with partitions.

    Raises:
        ValueError: it enqueues tasks that are unique or have a limit key.
    """
    if has_key(definition):
        raise ValueError(
            f"schedule {definition.name!r} enqueues unique or limited tasks, and schedules of a "
            f"queue with partitions cannot: the key of a task chooses its partition, and "
            "schedules fire in the first one. Let it enqueue a task that enqueues them"
        )
