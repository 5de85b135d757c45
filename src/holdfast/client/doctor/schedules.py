"""Find schedules that no worker fires, and declared schedules that no worker declares any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...queues.schedule.status import SchedulesReply
from ..finding import Finding, Severity

OVERDUE_MS: Final = 60_000
UNDECLARED_MS: Final = 86_400_000
"""A worker declares its schedules once an hour. If a schedule was not declared for so long, no
worker with its code runs any more."""


def schedules(queue: str, reply: SchedulesReply) -> Iterator[Finding]:
    """Yield findings about the schedules of *queue*."""
    now_ms, found = reply.now_ms, reply.schedules
    overdue = [each.name for each in found if now_ms - each.next_ms > OVERDUE_MS]
    if overdue:
        yield Finding(
            Severity.WARNING,
            f"{_named(overdue)} of queue {queue!r}: overdue by more than a minute",
            "no worker serves the queue, or the queue is full, so nothing is enqueued",
            f"start a worker of the queue; holdfast queues show {queue}",
        )
    unknown = [
        each.name
        for each in found
        if each.definition[:1] == b"d" and now_ms - each.record.seen_ms > UNDECLARED_MS
    ]
    if unknown:
        yield Finding(
            Severity.WARNING,
            f"{_named(unknown)} of queue {queue!r}: no worker has declared it for a day",
            "it was perhaps removed from the code; it still fires while a worker serves the queue",
            f"start a worker that declares it, or holdfast schedules rm {unknown[0]}",
        )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"schedule {names[0]!r}{more}"
