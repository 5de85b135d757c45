"""Waiting, exclusion and batching on asyncio. Hand-written twin of `_sync.py`."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Cancelled = asyncio.CancelledError
Mutex = asyncio.Lock
Running = asyncio.Task
run_loop = asyncio.run
sleep = asyncio.sleep


def time_limit(seconds: float) -> asyncio.Timeout:
    """A context that ends its body with TimeoutError after *seconds*."""
    return asyncio.timeout(seconds)


async def notice() -> None:
    """Let the loop see what has arrived meanwhile, such as the end of a connection."""
    # The first turn polls the sockets, the second runs what they had to say.
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def soon(function: Callable[..., object], *args: Any) -> None:
    """Call *function* in the next turn of the loop."""
    asyncio.get_running_loop().call_soon(function, *args)


def place() -> object:
    """Where this code runs: things tied to another process or loop must not be used here."""
    return os.getpid(), asyncio.get_running_loop()


def is_over(place: Any) -> bool:
    """Whether *place* was in this process and can never be returned to: its loop is closed."""
    pid, loop = place
    return bool(pid == os.getpid() and loop.is_closed())


class Event:
    """A flag that any thread may raise, for which the tasks of one loop wait."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        """Raise the flag. Harmless when its loop is gone: then nobody waits."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._event.set()
        else:
            self.set_from_handler()

    def set_from_handler(self) -> None:
        """Raise the flag from a signal handler: it interrupts the loop, which must be woken."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._event.set)

    def clear(self) -> None:
        """Lower the flag."""
        self._event.clear()

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._event.is_set()

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is up, at most *timeout_s* (None: for ever). True when it is."""
        if self._event.is_set():
            return True
        try:
            async with asyncio.timeout(timeout_s):
                return await self._event.wait()
        except TimeoutError:
            return self._event.is_set()


class Slot(Generic[Item]):
    """A place for one value. In the blocking half each thread has its own."""

    value: Item | None = None


class Batcher(Generic[Item, Outcome]):
    """Runs what is submitted in one turn of the loop together.

    One batch runs at a time; what is submitted meanwhile makes up the next. A submitter that is
    cancelled leaves the batch alone: what was begun is finished, and its outcome is dropped.

    Args:
        run: answers each item of a batch with an outcome, in order. It raises nothing.
        limit: items in a batch at most.
        patience_s: how long an item may wait for its batch to begin.
        expired: the outcome of one that waited longer, and was not run.
    """

    def __init__(
        self,
        run: Callable[[list[Item]], Awaitable[list[Outcome]]],
        limit: int,
        patience_s: float,
        expired: Outcome,
    ) -> None:
        self._run = run
        self._limit = limit
        self._patience_s = patience_s
        self._expired = expired
        self._waiting: deque[tuple[Item, asyncio.Future[Outcome], float]] = deque()
        self._pump: asyncio.Task[None] | None = None

    def submit(self, item: Item) -> asyncio.Future[Outcome]:
        """The outcome of *item*, to be awaited."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((item, future, loop.time()))
        if self._pump is None:
            self._pump = loop.create_task(self._drain(), name="holdfast calls")
        return future

    async def _drain(self) -> None:
        try:
            while self._waiting:
                batch = self._take()
                if not batch:
                    continue
                try:
                    outcomes = await self._run([item for item, _ in batch])
                except BaseException as error:
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(error)
                    raise
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    if not future.done():
                        future.set_result(outcome)
        finally:
            self._pump = None

    def _take(self) -> list[tuple[Item, asyncio.Future[Outcome]]]:
        """The next batch, without what was cancelled or waited too long before it was sent."""
        batch: list[tuple[Item, asyncio.Future[Outcome]]] = []
        now = asyncio.get_running_loop().time()
        while self._waiting and len(batch) < self._limit:
            item, future, since = self._waiting.popleft()
            if future.cancelled():
                continue
            if now - since > self._patience_s:
                future.set_result(self._expired)
            else:
                batch.append((item, future))
        return batch

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        while self._pump is not None:
            await asyncio.wait([self._pump])


def spawn(work: Coroutine[Any, Any, Item], name: str) -> asyncio.Task[Item]:
    """Start *work* beside the caller. Whoever spawns keeps the task, or it may vanish."""
    return asyncio.get_running_loop().create_task(work, name=name)


async def cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Cancel *tasks* and wait until they have ended; how they end does not matter."""
    left = set(tasks)
    while left:  # on Python 3.11 `asyncio.wait_for` may swallow a cancellation
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.05)


async def together(*work: Coroutine[Any, Any, Any]) -> None:
    """Run all of *work* at once. When one part fails, the others are cancelled and it is raised."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


def being_cancelled() -> bool:
    """Whether someone asked the task that runs here to stop."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function* without blocking the loop."""
    return await asyncio.to_thread(function, *args)
