"""Send concurrent calls in batches. Hand-written twin of `_sync/batcher.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Batcher(Generic[Key, Item, Outcome]):
    """Coalesces concurrent submissions with the same key into one batch. Use it in one loop only.

    An item is sent at once and alone if no other item of its key is in progress. Otherwise it
    shares a batch with all items of its key that are submitted in the same turn of the loop. Each
    batch runs in its own task, so a cancelled caller does not stop the items of others.

    If the items of one turn fill several batches, each batch is sent one turn after the previous
    one. So the server works on the first batch while this process packs the next one.

    Args:
        work: sends items of one key, and returns the outcome of each item in order. The outcome of
            an item in a batch may be an exception.
        most: largest number of items in a batch.
        most_size: largest total size of the items in a batch; a larger item is sent alone.
    """

    def __init__(
        self,
        work: Callable[[Key, Sequence[Item]], Coroutine[Any, Any, Sequence[Any]]],
        most: int,
        most_size: int,
    ) -> None:
        self._work = work
        self._most = most
        self._most_size = most_size
        self._loop = asyncio.get_running_loop()
        self._in_progress: dict[Key, int] = {}
        self._open: dict[Key, _PendingBatch[Item, Outcome]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, key: Key, item: Item, size: int) -> Awaitable[Outcome]:
        """Send *item* under *key*. Await the result to get the outcome of the item.

        Args:
            key: items with the same key may share a batch.
            item: the item.
            size: size of the item, in the unit of *most_size*.
        """
        if key in self._in_progress:
            return self._add(key, item, size)
        return self._send_alone(key, item)

    async def _send_alone(self, key: Key, item: Item) -> Outcome:
        self._in_progress[key] = self._in_progress.get(key, 0) + 1
        outcome: Outcome
        try:
            [outcome] = await self._work(key, [item])
        finally:
            self._finished(key)
        return outcome

    def _add(self, key: Key, item: Item, size: int) -> asyncio.Future[Outcome]:
        batch = self._open.get(key)
        if batch is None or batch.is_full(self._most, self._most_size - size):
            batch = self._open[key] = _PendingBatch(0 if batch is None else batch.turns + 1)
            self._in_progress[key] += 1
            # Not `create_task`, because a task factory of the user may start the task at once,
            # before the batch has items.
            work = self._send(key, batch)
            task = asyncio.Task(work, loop=self._loop, name="holdfast batch")
            self._tasks.add(task)
            task.add_done_callback(partial(self._ended, key, batch))
        future: asyncio.Future[Outcome] = self._loop.create_future()
        batch.items.append((item, future))
        batch.size += size
        return future

    async def _send(self, key: Key, batch: _PendingBatch[Item, Outcome]) -> None:
        for _ in range(batch.turns):
            await asyncio.sleep(0)
        self._close_batch(key, batch)
        items = [each for each in batch.items if not each[1].done()]  # Leave out cancelled items.
        if not items:
            return
        outcomes: Sequence[Any]
        try:
            outcomes = await self._work(key, [item for item, _ in items])
        except Exception as error:  # noqa: BLE001 (raised in each caller)
            outcomes = [error] * len(items)
        for (_, future), outcome in zip(items, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _close_batch(self, key: Key, batch: _PendingBatch[Item, Outcome]) -> None:
        """Add no further items to *batch*."""
        if self._open.get(key) is batch:
            del self._open[key]

    def _ended(
        self, key: Key, batch: _PendingBatch[Item, Outcome], task: asyncio.Task[None]
    ) -> None:
        """Clean up after *task*. If its loop ended, it may have been cancelled before it began."""
        self._tasks.discard(task)
        self._close_batch(key, batch)
        self._finished(key)
        for _, future in batch.items:
            future.cancel()  # This does nothing to a future that is done.

    def _finished(self, key: Key) -> None:
        left = self._in_progress[key] = self._in_progress[key] - 1
        if not left:
            del self._in_progress[key]


class _PendingBatch(Generic[Item, Outcome]):
    """Items that are sent together, with the futures of their outcomes.

    Args:
        turns: number of turns of the loop for which the batch waits after its first turn.
    """

    __slots__ = ("items", "size", "turns")

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.items: list[tuple[Item, asyncio.Future[Outcome]]] = []
        self.size = 0

    def is_full(self, most: int, most_size: int) -> bool:
        """Return whether the batch has *most* items, or a larger size than *most_size*."""
        return len(self.items) >= most or self.size > most_size
