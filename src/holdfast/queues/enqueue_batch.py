"""Batches of tasks, each for one call of `enqueue.lua`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..core.trace import TraceContext, added_bytes
from .envelope import VERSION, Envelope
from .keys import PRIORITIES
from .task import Call

BATCH_TASKS: Final = 500
"""Tasks stored in one step at most, so that the step does not block the server for long."""

BATCH_BYTES: Final = 1 << 19
"""Bytes stored in one step at most, unless a single task is larger."""

Packed = tuple[str, int, str, str, bytes]
"""One task: id, priority (1 high, 2 medium, 3 low), wait, expires and envelope."""


def packed(call: Call[Any], task_id: str, trace: TraceContext | None = None) -> Packed:
    """Return one call as it is stored.

    Args:
        call: what is to run.
        task_id: its id.
        trace: the trace in which it is enqueued.

    Raises:
        PayloadTooLarge: its arguments are over the limit.
        TypeError: an argument is no JSON.
    """
    envelope = Envelope(
        v=VERSION,
        id=task_id,
        queue=call.queue,
        task=call.task,
        args=list(call.args),
        kwargs=dict(call.kwargs),
        priority=call.priority,
        # Whole milliseconds have a constant size. A repeated `enqueue_many` has to form the same
        # steps, so the size of a task must not depend on the time.
        enqueued_ms=time.time_ns() // 1_000_000,
        traceparent=trace.traceparent if trace else None,
        tracestate=(trace.tracestate or None) if trace else None,
    )
    priority = PRIORITIES.index(call.priority) + 1
    return task_id, priority, call.wait, call.expires, envelope.packed()


@dataclass(slots=True)
class Batch:
    """Tasks of one queue that are stored in one step.

    Attributes:
        queue: the name of the queue.
        room: how many tasks the queue must have room for; 0 if an earlier batch checked it.
        trace: bytes of each envelope that do not count. A repeated `enqueue_many` may belong to
            another trace, and has to form the same steps.
        tasks: what is stored.
        size: bytes of the envelopes, without *trace*.
    """

    queue: str
    room: int
    trace: int = 0
    tasks: list[Packed] = field(default_factory=list)
    size: int = 0

    def fits(self, task: Packed) -> bool:
        """Return whether *task* fits. The first task always fits."""
        if not self.tasks:
            return True
        return len(self.tasks) < BATCH_TASKS and self.size + self._size(task) <= BATCH_BYTES

    def add(self, task: Packed) -> None:
        """Add *task*."""
        self.tasks.append(task)
        self.size += self._size(task)

    def _size(self, task: Packed) -> int:
        return len(task[-1]) - self.trace


def batched(
    calls: Sequence[Call[Any]], ids: Sequence[str], trace: TraceContext | None = None
) -> Iterator[Batch]:
    """Yield batches of *calls*, in order within each queue.

    All calls are packed before the first batch is yielded. So if one call cannot be stored, none
    is.
    """
    carried = added_bytes(trace)
    by_queue: dict[str, list[Packed]] = {}
    for call, task_id in zip(calls, ids, strict=True):
        by_queue.setdefault(call.queue, []).append(packed(call, task_id, trace))
    for queue, tasks in by_queue.items():
        batch = Batch(queue, len(tasks), carried)
        for task in tasks:
            if not batch.fits(task):
                yield batch
                batch = Batch(queue, 0, carried)
            batch.add(task)
        yield batch
