"""Choose the partition of a task.

- A task with a limit key goes to the partition of that key, so limits per key and turns are exact.
- Other unique tasks go to the partition of their unique key.
- Other tasks with a `partition_key` go to the partition of that key, so they keep their order.
- Other tasks with an id of their own go to the partition of the id.
- All others take turns, in chunks of `CHUNK` within one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import msgspec

from ...core.ledger import Operation
from ..call import Call
from ..enqueue_batch import EnqueueBatch, Packed
from ..per_key import key_in_limit
from ..unique import key_in

CHUNK: Final = 100
"""Tasks without a key that one call puts into one partition, before it goes on to the next one."""


class _Keys(msgspec.Struct):
    """The fields of an envelope that choose the partition."""

    limit: Any = None
    unique: Any = None
    partition: Any = None


@dataclass(frozen=True, slots=True)
class RoutedTask:
    """A task that is to be enqueued, and what chooses its partition.

    Attributes:
        position: its index among the tasks of the call.
        task: the task.
        size: bytes of its envelope, without traces and headers (see `batched`).
        key: what chooses the partition; empty: the task takes its turn.
        may_be_held: whether the partition of an earlier layout may have its id or its key.
    """

    position: int
    task: Packed
    size: int
    key: str
    may_be_held: bool

    def partition(self, operation: Operation, partitions: int) -> int:
        """Return the index of the partition among *partitions*."""
        if self.key:
            return crc32(self.key.encode(errors="surrogatepass")) % partitions
        turn = crc32(operation.writer.encode()) + operation.number + self.position // CHUNK
        return turn % partitions


def routed(operation: Operation, batches: Iterable[EnqueueBatch]) -> Iterator[RoutedTask]:
    """Yield the tasks of *batches* of one queue, each with the key that chooses its partition."""
    position = 0
    for batch in batches:
        for task, size in zip(batch.tasks, batch.sizes, strict=True):
            keys = msgspec.json.decode(task[-1], type=_Keys)
            own_key = key_in_limit(keys.limit) or key_in(keys.unique)
            has_own_id = not task[0].startswith(operation.label)
            partition_key = keys.partition if isinstance(keys.partition, str) else ""
            key = own_key or partition_key or (task[0] if has_own_id else "")
            yield RoutedTask(position, task, size, key, bool(own_key) or has_own_id)
            position += 1


def check_keys(call: Call[Any]) -> None:
    """Check that the keys of *call* do not ask for different partitions.

    Raises:
        ValueError: the call has several keys, which may belong to different partitions.
    """
    definition, unique = call.definition, call.unique
    limit = definition.limit if definition is not None else None
    if unique is None and definition is not None:
        unique = definition.unique
    if call.partition_key is not None and (limit is not None or unique):
        raise ValueError(
            f"task {call.task!r} has a unique or a limit key, which chooses its partition: "
            "give no partition_key"
        )
    if limit is not None and unique and unique.key is not None and unique.key != limit.key:
        names, wanted = unique.key, limit.key
        if callable(names) or callable(wanted) or not set(wanted) <= set(names):
            raise ValueError(
                f"task {call.task!r} has different keys for unique and for its limit. The limit "
                "key chooses the partition, so in a queue with partitions the key of unique must "
                "include the arguments of the limit key"
            )
