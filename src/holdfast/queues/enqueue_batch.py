"""Batches of tasks, each for one call of `enqueue.lua`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from msgspec.structs import replace

from ..core.trace import TraceContext, added_bytes
from .call import Call
from .envelope import VERSION, Envelope, StoredRetry
from .headers import stored_bytes
from .keys import PRIORITIES

BATCH_TASKS: Final = 250
"""Tasks stored in one step at most, so that the step does not block the server for long."""

OTHER_TASKS: Final = 50
"""The same limit for tasks that are not plain (see `is_plain`): each takes the server longer."""

_OTHER_LOAD: Final = BATCH_TASKS // OTHER_TASKS

BATCH_BYTES: Final = 1 << 19
"""Bytes stored in one step at most, unless a single task is larger."""

Packed = tuple[str, int, str, str, bytes]
"""One task: id, priority (1 high, 2 medium, 3 low), wait, expires and envelope."""


def packed(
    call: Call[Any], task_id: str, trace: TraceContext | None = None, member: str = ""
) -> Packed:
    """Return one call as it is stored.

    Args:
        call: the call.
        task_id: id of the task.
        trace: the trace in which it is enqueued.
        member: id of its group, and its name there; empty if it is no member of a group.

    Raises:
        PayloadTooLarge: its arguments are over the limit.
        TypeError: JSON cannot store an argument, a unique key or a limit key.
        ValueError: a unique task that may be postponed has no delay.
    """
    args: Sequence[Any] = call.args
    kwargs = call.kwargs
    if (definition := call.definition) is not None and definition.types.models:
        args, kwargs = definition.stored(args, kwargs)
    envelope = Envelope(
        v=VERSION,
        task=call.task,
        args=args,  # type: ignore[arg-type]
        kwargs=kwargs,  # type: ignore[arg-type]
        priority=call.priority,
        # Whole milliseconds have a constant size. A repeated `enqueue_many` has to form the same
        # steps, so the size of a task must not depend on the time.
        enqueued_ms=time.time_ns() // 1_000_000,
        traceparent=trace.traceparent if trace else None,
        tracestate=(trace.tracestate or None) if trace else None,
    )
    if call.headers or call.retry is not None or call.timeout_s is not None:
        envelope = replace(envelope, **_options(call))
    if call.partition_key is not None:
        envelope = replace(envelope, partition=call.partition_key)
    if limit := call.packed_limit():
        envelope = replace(envelope, limit=limit)
    if unique := call.packed_unique():
        envelope = replace(envelope, unique=unique)
    if member:
        envelope = replace(envelope, group=member)
    priority = PRIORITIES.index(call.priority) + 1
    return task_id, priority, call.wait, call.expires, envelope.packed()


_QUOTE: Final = ord('"')
_SPECIAL_BYTES: Final = 768
"""Bytes at the end of an envelope that contain the limit and the unique key of the task."""


def plain_arguments(tasks: Sequence[Packed]) -> list[str | bytes] | None:
    """Return *tasks* as arguments of `enqueue_plain.lua`; None if one is not plain."""
    if not all(map(is_plain, tasks)):
        return None
    parts: list[str | bytes] = ["".join("123"[priority - 1] for _, priority, *_ in tasks)]
    for task_id, _, _, _, envelope in tasks:
        parts += (task_id, envelope)
    return parts


def is_plain(task: Packed) -> bool:
    """Return whether *task* may start at once, does not expire, and has no limit or unique key."""
    _, _, wait, expires, envelope = task
    if wait != "0" or expires != "0":
        return False
    if envelope[-2] != _QUOTE:  # The envelopes of most tasks end with a number.
        return True
    end = envelope[-_SPECIAL_BYTES:]
    return b',"limit":"' not in end and b',"unique":"' not in end


Enqueued = Literal["new", "existing", "replaced", "postponed"]
"""What `enqueue` did.

- `new`: the task was stored.
- `existing`: nothing was changed: the queue has a task of this id, or another one holds the key.
- `replaced`: another task holds the key, and got the arguments and options of the call.
- `postponed`: the same, and it may start later than before.
"""

_BY_DIGIT: Final[Mapping[str, Enqueued]] = {
    "0": "existing", "1": "new", "2": "existing", "3": "replaced", "4": "postponed",
}  # fmt: skip


_NOT_HELD: Final = "5"
"""The digit of a task that was not stored: an earlier layout of the queue chose the partition, and
the partition holds neither this task nor one with its key.
"""


class StoredTask(NamedTuple):
    """The task that runs for a call, what `enqueue` did, and the partition of the task."""

    task_id: str
    enqueued: Enqueued
    partition: int = 0


def stored_tasks(
    tasks: Sequence[Packed], digits: str, holders: Sequence[str], partition: int = 0
) -> list[StoredTask | None]:
    """Return the tasks that run for *tasks*, from the reply of `enqueue.lua`.

    Args:
        tasks: the tasks that were sent, in the same order.
        digits: the first part of the reply. It has one digit for each task: what happened to it.
        holders: the second part of the reply. For each digit above 1, it has the id of the task
            that already holds the unique key.
        partition: the partition to which they were sent.

    Returns:
        For each of *tasks*, the task that runs for its call; None: it was not stored, because the
        partition holds no such task.

    Raises:
        ValueError: the digits and the ids do not belong together.
    """
    if not holders and not digits.strip("01"):  # usual: no other task holds a unique key
        return [
            StoredTask(task[0], "new" if digit == "1" else "existing", partition)
            for task, digit in zip(tasks, digits, strict=True)
        ]
    others = iter(holders)
    found = [
        None
        if digit == _NOT_HELD
        else StoredTask(task[0] if digit in "01" else next(others, ""), _BY_DIGIT[digit], partition)
        for task, digit in zip(tasks, digits, strict=True)
    ]
    if not all(task is None or task.task_id for task in found) or next(others, None) is not None:
        raise ValueError("the ids in the reply are not those of its digits")
    return found


def _options(call: Call[Any]) -> dict[str, Any]:
    """Return the fields of the envelope for the options in which *call* differs from its task."""
    options: dict[str, Any] = {}
    task = call.definition
    if call.headers:
        options["headers"] = dict(call.headers)
    if call.timeout_s is not None and (task is None or call.timeout_s != task.timeout_s):
        options["timeout_ms"] = round(call.timeout_s * 1000)
    if call.retry is not None:
        retry = StoredRetry.of(call.retry, None if task is None else task.retry)
        options["retry"] = None if retry == StoredRetry() else retry
    return options


@dataclass(slots=True)
class EnqueueBatch:
    """Tasks of one queue that are stored in one step.

    Attributes:
        queue: the name of the queue.
        room: how many tasks the queue must have room for; 0 if an earlier batch checked it.
        tasks: the packed tasks.
        size: bytes of the envelopes, without what `batched` leaves out.
        sizes: the same for the envelope of each task.
        load: the share of a step that the tasks take, in units of 1 / `BATCH_TASKS`.
    """

    queue: str
    room: int
    tasks: list[Packed] = field(default_factory=list)
    size: int = 0
    sizes: list[int] = field(default_factory=list)
    load: int = 0

    def fits(self, task: Packed, size: int) -> bool:
        """Return whether a task of *size* bytes fits. The first task always fits."""
        if not self.tasks:
            return True
        room = BATCH_TASKS - self.load
        has_room = room >= _OTHER_LOAD or room >= _load_of(task)  # the first test is cheap
        return has_room and self.size + size <= BATCH_BYTES

    def add(self, task: Packed, size: int) -> None:
        """Add a task of *size* bytes."""
        self.tasks.append(task)
        self.load += _load_of(task)
        self.size += size
        self.sizes.append(size)


def _load_of(task: Packed) -> int:
    return 1 if is_plain(task) else _OTHER_LOAD


def batched(
    calls: Sequence[Call[Any]], ids: Sequence[str], trace: TraceContext | None = None
) -> Iterator[EnqueueBatch]:
    """Yield batches of *calls*, in order within each queue.

    All calls are packed before the first batch is yielded. So if one call cannot be stored, none
    is. The sizes of tasks do not include traces and headers: a repeated `enqueue_many` must form
    the same batches, although it may belong to another trace, and its hooks may add other headers.
    """
    traced = added_bytes(trace)
    by_queue: dict[str, list[tuple[Packed, int]]] = {}
    for call, task_id in zip(calls, ids, strict=True):
        task = packed(call, task_id, trace)
        size = len(task[-1]) - traced - stored_bytes(call.headers)
        by_queue.setdefault(call.queue, []).append((task, size))
    for queue, tasks in by_queue.items():
        yield from in_batches(queue, tasks)


def in_batches(queue: str, tasks: Sequence[tuple[Packed, int]]) -> Iterator[EnqueueBatch]:
    """Yield batches of *tasks* of one queue. Each task is given with its size; see `batched`."""
    batch = EnqueueBatch(queue, len(tasks))
    for task, size in tasks:
        if not batch.fits(task, size):
            yield batch
            batch = EnqueueBatch(queue, 0)
        batch.add(task, size)
    yield batch
