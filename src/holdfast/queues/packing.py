"""Tasks as the scripts take and give them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..core.clock import from_epoch_ms
from ..errors import DecodeError
from .envelope import VERSION, Envelope
from .keys import PRIORITIES
from .task import Call, DeadTask

BATCH_TASKS: Final = 500
"""Tasks stored in one step at most: others must not wait long for the server."""

BATCH_BYTES: Final = 1 << 19
"""Likewise in bytes, unless a single task is larger."""

Packed = tuple[str, int, str, bytes]
"""Id, priority (1 high, 2 medium, 3 low), wait and envelope: one task for `enqueue.lua`."""


def packed(call: Call[Any], task_id: str) -> Packed:
    """One call, ready to be stored.

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
        # Whole milliseconds: the size of a task must not depend on when it is packed, because a
        # repeated `enqueue_many` has to be cut into the same steps.
        enqueued_ms=time.time_ns() // 1_000_000,
    )
    priority = PRIORITIES.index(call.priority) + 1
    return task_id, priority, call.wait, envelope.packed()


@dataclass(slots=True)
class Batch:
    """Tasks of one queue that are stored in one step."""

    queue: str
    tasks: list[Packed] = field(default_factory=list)
    size: int = 0

    def has_room(self, task: Packed) -> bool:
        """Whether *task* may still come in; a single one always may."""
        if not self.tasks:
            return True
        return len(self.tasks) < BATCH_TASKS and self.size + len(task[-1]) <= BATCH_BYTES

    def add(self, task: Packed) -> None:
        """Take *task* in."""
        self.tasks.append(task)
        self.size += len(task[-1])


def batched(calls: Sequence[Call[Any]], ids: Sequence[str]) -> Iterator[Batch]:
    """Batches of *calls*, in order within each queue.

    Everything is packed before the first batch is given, so that a call which cannot be stored
    keeps all from being stored.
    """
    by_queue: dict[str, list[Packed]] = {}
    for call, task_id in zip(calls, ids, strict=True):
        by_queue.setdefault(call.queue, []).append(packed(call, task_id))
    for queue, tasks in by_queue.items():
        batch = Batch(queue)
        for task in tasks:
            if not batch.has_room(task):
                yield batch
                batch = Batch(queue)
            batch.add(task)
        yield batch


def dead_task(task_id: bytes, died_ms: bytes, state: bytes, body: bytes) -> DeadTask:
    """A dead task as `dead.lua` gives it."""
    name = task_id.decode(errors="backslashreplace")
    try:
        task = Envelope.unpacked(body, name).task
    except DecodeError:
        task = ""
    _, attempts, _, _, reason = (state.split(b":", 4) + [b""] * 5)[:5]
    died_at = from_epoch_ms(int(float(died_ms)))
    return DeadTask(name, task, reason.decode(errors="replace"), int(attempts or 0), died_at)
