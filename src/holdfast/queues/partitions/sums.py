"""Puts together what the partitions of a queue report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from heapq import merge
from itertools import chain, islice, zip_longest
from operator import attrgetter
from typing import Final

from ..ended_task import EndedTask
from ..queue_stats import QueueStats, Throughput
from ..task_status import State, TaskStatus
from .layout import QueueLayout

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def stats_of_all(found: Sequence[QueueStats], layout: QueueLayout) -> QueueStats:
    """Return the figures of a queue from those of its partitions, in their order."""
    first = found[0]
    if len(found) == 1:
        return replace(first, partitions=layout.partitions)
    oldest = [each.oldest_at for each in found if each.oldest_at is not None]
    capacities = [each.capacity for each in found[: layout.partitions] if each.capacity]
    concurrencies = [each.concurrency for each in found if each.concurrency]
    rates = [each.rate for each in found if each.rate]
    return QueueStats(
        ready=sum(each.ready for each in found),
        delayed=sum(each.delayed for each in found),
        running=sum(each.running for each in found),
        dead=sum(each.dead for each in found),
        # A worker waits in all partitions at once.
        waiting_workers=max(each.waiting_workers for each in found),
        paused=first.paused,
        capacity=sum(capacities) or None,
        oldest_at=min(oldest, default=None),
        limited=sum(each.limited for each in found),
        concurrency=sum(concurrencies) or None,
        rate=(sum(amount for amount, _ in rates), rates[0][1]) if rates else None,
        partitions=layout.partitions,
    )


def throughput_of_all(found: Sequence[Sequence[Throughput]]) -> list[Throughput]:
    """Return the sums by minute. A new minute may have begun between the replies of partitions."""
    if len(found) == 1:
        return list(found[0])
    sums: dict[object, Throughput] = {}
    for each in chain(*found):
        known = sums.get(each.start, Throughput(each.start))
        sums[each.start] = Throughput(
            each.start,
            known.done + each.done,
            known.retried + each.retried,
            known.dead + each.dead,
            known.snoozed + each.snoozed,
            known.gave_up + each.gave_up,
        )
    return sorted(sums.values(), key=attrgetter("start"))[-len(found[0]) :]


def tasks_of_all(found: Sequence[Sequence[TaskStatus]], state: State) -> list[TaskStatus]:
    """Return the tasks of all partitions. Queued ones alternate between them; others are sorted."""
    if len(found) == 1:
        return list(found[0])
    if state == "queued":
        turns = chain(*zip_longest(*found))
        return [task for task in turns if task is not None]
    tasks = list(chain(*found))
    if state == "dead":
        return sorted(tasks, key=lambda task: task.ended_at or _NEVER, reverse=True)
    return sorted(tasks, key=lambda task: task.due_at or _NEVER)


def history_of_all(found: Sequence[Sequence[EndedTask]], limit: int) -> list[EndedTask]:
    """Return the tasks that ended last in all partitions.

    They have no numbers, because each partition counts its own tasks.
    """
    if len(found) == 1:
        return list(found[0])
    latest = islice(merge(*found, key=lambda task: task.ended_at, reverse=True), limit)
    return [replace(task, number=0) for task in latest]
