"""Check and run the enqueued tasks of a test."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import timedelta
from math import inf
from typing import Any, Final

from ... import AsyncHoldfast, Call, Task, TaskRegistry, TaskStatus
from ..background_worker import AsyncBackgroundWorker
from ..drain_result import DrainResult, sum_of
from ..task_matcher import TaskMatcher, listing

LISTED: Final = 1000
"""Largest number of tasks of each state that are read from a queue."""

EVENTS: Final = 1000
"""Largest number of occurrences of schedules, and of tasks that wake, in one `advance`."""

KEPT_MINUTES: Final = 120
"""Minutes for which a queue keeps its throughput."""


class AsyncTaskBench:
    """Checks and runs the enqueued tasks in the namespace of a test.

    No worker runs until `drain`, so tasks stay queued until then.

    Args:
        hf: the client of the test.
    """

    def __init__(self, hf: AsyncHoldfast) -> None:
        self._hf = hf
        self._advanced_s = 0.0
        self._sleepers = hf._resources.sleepers()  # noqa: SLF001 (only for tests)

    async def enqueued(self, *queues: str) -> dict[str, list[TaskStatus]]:
        """Return the running, queued and delayed tasks of each queue: at most 1,000 per state."""
        found: dict[str, list[TaskStatus]] = {}
        for name in queues or sorted(await self._hf.queues()):
            queue = self._hf.queue(name)
            found[name] = [
                *await queue.tasks("running", LISTED),
                *await queue.tasks("queued", LISTED),
                *await queue.tasks("delayed", LISTED),
            ]
        return found

    async def assert_enqueued(
        self,
        task: Task[..., Any] | Call[Any] | str,
        *args: Any,
        queue: str | None = None,
        delay: float | None = None,
        within: float = 5.0,
        priority: str | None = None,
        **kwargs: Any,
    ) -> TaskStatus:
        """Assert that a task with these properties is enqueued.

        Args:
            task: the task, its name, or a call with all its arguments.
            args: positional arguments. If there are no arguments at all, any arguments match.
            kwargs: keyword arguments. If *task* is a task, it does not matter which arguments are
                positional. If *task* is a name or a call, each argument must be positional or
                keyword, as it was in the call that was enqueued.
            queue: name of the queue; by default the queue of the task, or any queue for a name.
            delay: seconds between the enqueue and the due time; 0: no delay; None: any delay.
            within: seconds by which the delay may differ.
            priority: `high`, `medium` or `low`; None: any priority.

        Returns:
            the first matching task.

        Raises:
            AssertionError: no task matches; the message lists the enqueued tasks.
            TypeError: the arguments do not fit the signature of *task*.
            ValueError: no task can have this *delay*, *within* or *priority*.
        """
        __tracebackhide__ = True  # pytest shows the test, not these lines
        options = {"queue": queue, "delay": delay, "within": within, "priority": priority}
        matcher = TaskMatcher.of(task, args, kwargs, **options)
        found = await self.enqueued(*_queues(matcher))
        fitting = _fitting(matcher, found.values())
        if not fitting:
            more = await self._unread(found)
            raise AssertionError(f"not enqueued: {matcher}; {listing(found)}{more}")
        return fitting[0]

    async def refute_enqueued(
        self,
        task: Task[..., Any] | Call[Any] | str,
        *args: Any,
        queue: str | None = None,
        delay: float | None = None,
        within: float = 5.0,
        priority: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Assert that no task with these properties is enqueued.

        The arguments are those of `assert_enqueued`.

        Raises:
            AssertionError: a task matches, or a queue has more tasks than are read.
            TypeError: see `assert_enqueued`.
            ValueError: see `assert_enqueued`.
        """
        __tracebackhide__ = True  # pytest shows the test, not these lines
        options = {"queue": queue, "delay": delay, "within": within, "priority": priority}
        matcher = TaskMatcher.of(task, args, kwargs, **options)
        found = await self.enqueued(*_queues(matcher))
        if fitting := _fitting(matcher, found.values()):
            raise AssertionError(f"enqueued, {len(fitting)} times: {matcher}; {listing(found)}")
        if more := await self._unread(found):
            raise AssertionError(f"perhaps enqueued: {matcher}{more}")

    async def drain(
        self,
        tasks: TaskRegistry,
        *,
        queues: Iterable[str] | None = None,
        timeout: float = 30.0,
        state: Mapping[str, Any] | None = None,
    ) -> DrainResult:
        """Run all due tasks, and the tasks that they enqueue, with a real worker in this process.

        These tasks remain: delayed tasks, failed tasks that wait for their next attempt, and tasks
        that must not start yet, because of the rate or the pause of their limit key.

        Args:
            tasks: the tasks that can run.
            queues: names of the queues; by default the queues of *tasks*.
            timeout: seconds within which all due tasks must end.
            state: the value of `current_task().state`; the lifespan of *tasks* does not run then.

        Raises:
            AssertionError: due tasks remain after *timeout*.
            LifespanFailed: the lifespan of *tasks* raised an exception.
            TypeError: *queues* is a str.
        """
        __tracebackhide__ = True
        if state is not None:
            tasks = tasks.with_lifespan(lambda _: nullcontext(state))
        names = _names(tasks, queues)
        before = await self._counted(names)
        until = time.monotonic() + timeout
        worker = self._hf.worker(tasks, queues=dict.fromkeys(names, 1), grace=timeout)
        async with AsyncBackgroundWorker(worker) as background:
            while True:
                ended = await self._counted(names)
                busy = await self._busy(names)
                # Compare the numbers before and after `_busy`, because it reads one queue after the
                # other: a task of a later queue may have enqueued one in an earlier queue.
                if not busy and await self._counted(names) == ended:
                    return ended.since(before)
                if time.monotonic() > until:
                    held = listing(await self.enqueued(*names))
                    raise AssertionError(f"{busy} not drained in {timeout:g} s; {held}")
                await background.yield_briefly()

    async def advance(
        self,
        tasks: TaskRegistry,
        by: float | timedelta,
        *,
        queues: Iterable[str] | None = None,
        timeout: float = 30.0,
        state: Mapping[str, Any] | None = None,
    ) -> DrainResult:
        """Run what happens in the next *by* seconds, without waiting for that time.

        Schedules enqueue their tasks, and tasks that sleep or wait for a signal wake up. These
        events happen in the order of their times. After each of them, all due tasks run before the
        next event, as in `drain`. A second call continues at the time where the first one ended.
        Other delayed tasks remain, and `ScheduleHandle.status` does not count these occurrences.

        Args:
            tasks: the tasks that can run; their declared schedules count too.
            by: seconds, or a timedelta.
            queues: see `drain`.
            timeout: seconds within which the tasks of one event must end.
            state: see `drain`.

        Raises:
            AssertionError: there are more than 1,000 events, or one is not drained in time.
            LifespanFailed: see `drain`.
            ValueError: *by* is negative or not finite.
        """
        __tracebackhide__ = True
        names = _names(tasks, queues)
        seconds = by.total_seconds() if isinstance(by, timedelta) else by
        if not 0 <= seconds < inf:  # NaN included: it would spoil the time of all later calls
            raise ValueError(f"advance by 0 seconds or more, not by {by!r}")
        at_s = self._advanced_s
        self._advanced_s += seconds
        schedules = self._hf._resources.future_schedules(names)  # noqa: SLF001 (only for tests)
        await schedules.declare(tasks)
        result = DrainResult()
        for _ in range(EVENTS):
            wakes_s = await self._sleepers.look(names, at_s)
            within_s = self._advanced_s if wakes_s is None else min(wakes_s, self._advanced_s)
            occurrence_s = await schedules.enqueue_next(within_s)
            if occurrence_s is not None:
                at_s = max(at_s, occurrence_s)
            elif wakes_s is not None and wakes_s <= self._advanced_s:
                at_s = wakes_s
                await self._sleepers.wake_first()
            else:
                return result
            drained = await self.drain(tasks, queues=names, timeout=timeout, state=state)
            result = result.then(drained)
        raise AssertionError(f"there are more than {EVENTS:,} events: advance by less")

    async def _unread(self, found: Mapping[str, Sequence[TaskStatus]]) -> str:
        """Return the end of a message if a queue has more tasks than *found*; '' if none has."""
        for name, statuses in found.items():
            if len(statuses) >= LISTED:
                stats = await self._hf.queue(name).stats()
                there = stats.running + stats.ready + stats.delayed
                if there > len(statuses):
                    return (
                        f"; of the {there:,} tasks of queue {name!r}, {len(statuses):,} were read"
                    )
        return ""

    async def _busy(self, names: Sequence[str]) -> list[str]:
        """Return the queues with running tasks, or with ready tasks that no limit holds back."""
        stats = {name: await self._hf.queue(name).stats() for name in names}
        return [name for name, one in stats.items() if one.ready > one.limited or one.running]

    async def _counted(self, names: Sequence[str]) -> DrainResult:
        throughputs = [
            throughput
            for name in names
            for throughput in await self._hf.queue(name).throughput(KEPT_MINUTES)
        ]
        delayed = sum([(await self._hf.queue(name).stats()).delayed for name in names])
        return sum_of(throughputs, delayed)


def _names(tasks: TaskRegistry, queues: Iterable[str] | None) -> list[str]:
    if isinstance(queues, str):
        raise TypeError(f"queues must be several names, such as [{queues!r}], got {queues!r}")
    return sorted(tasks.queues() if queues is None else queues)


def _queues(matcher: TaskMatcher) -> tuple[str, ...]:
    return () if matcher.queue is None else (matcher.queue,)


def _fitting(matcher: TaskMatcher, found: Iterable[Sequence[TaskStatus]]) -> list[TaskStatus]:
    return [status for statuses in found for status in statuses if matcher.matches(status)]
