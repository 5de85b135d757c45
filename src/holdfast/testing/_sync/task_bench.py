# Generated from _async/task_bench.py by tools/unasync.py: edit that, then run `make sync`.
"""`TaskBench`: the enqueued tasks of a test."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ... import Call, Holdfast, Task, TaskRegistry, TaskStatus
from ..background_worker import BackgroundWorker
from ..drain_result import DrainResult, sum_of
from ..task_matcher import TaskMatcher, listing

LISTED: Final = 1000
"""Tasks of each state that are read from a queue."""

KEPT_MINUTES: Final = 120
"""Minutes for which queues keep their throughput."""


class TaskBench:
    """The enqueued tasks in the namespace of a test. Tasks stay queued until `drain`.

    Args:
        hf: the client of the test.
    """

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf

    def enqueued(self, *queues: str) -> dict[str, list[TaskStatus]]:
        """Return the queued and running tasks of each queue: at most 1,000 of each state."""
        found: dict[str, list[TaskStatus]] = {}
        for name in queues or sorted(self._hf.queues()):
            queue = self._hf.queue(name)
            found[name] = [
                *queue.tasks("running", LISTED),
                *queue.tasks("queued", LISTED),
                *queue.tasks("delayed", LISTED),
            ]
        return found

    def assert_enqueued(
        self,
        task: Task[..., Any] | Call[Any] | str,
        *args: Any,
        queue: str | None = None,
        delay: float | None = None,
        within: float = 5.0,
        priority: str | None = None,
        **kwargs: Any,
    ) -> TaskStatus:
        """Assert that such a task is enqueued.

        Args:
            task: the task, its name, or a call with all its arguments.
            args: its positional arguments. Without any arguments here, all arguments match.
            kwargs: its keyword arguments. With a task, positional and keyword arguments that mean
                the same match; with a name or a call, they do not.
            queue: its queue; by default the queue of the task, or with a name any queue.
            delay: seconds between the enqueue and the due time; 0: no delay.
            within: seconds by which the delay may differ.
            priority: `high`, `medium` or `low`.

        Returns:
            the first such task.

        Raises:
            AssertionError: there is no such task; the message lists the enqueued tasks.
        """
        options = {"queue": queue, "delay": delay, "within": within, "priority": priority}
        matcher = TaskMatcher.of(task, args, kwargs, **options)
        found = self.enqueued(*_queues(matcher))
        fitting = _fitting(matcher, found.values())
        if not fitting:
            raise AssertionError(f"not enqueued: {matcher}; {listing(found)}")
        return fitting[0]

    def refute_enqueued(
        self,
        task: Task[..., Any] | Call[Any] | str,
        *args: Any,
        queue: str | None = None,
        delay: float | None = None,
        within: float = 5.0,
        priority: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Assert that no such task is enqueued; arguments as in `assert_enqueued`.

        Raises:
            AssertionError: there is such a task.
        """
        options = {"queue": queue, "delay": delay, "within": within, "priority": priority}
        matcher = TaskMatcher.of(task, args, kwargs, **options)
        found = self.enqueued(*_queues(matcher))
        if fitting := _fitting(matcher, found.values()):
            raise AssertionError(f"enqueued, {len(fitting)} times: {matcher}; {listing(found)}")

    def drain(
        self,
        tasks: TaskRegistry,
        *,
        queues: Iterable[str] | None = None,
        timeout: float = 30.0,
    ) -> DrainResult:
        """Run all due tasks, and the tasks that they enqueue, with a real worker in this process.

        Delayed tasks are left, and so are failed tasks that wait for a retry.

        Args:
            tasks: the tasks that can run.
            queues: the queues; by default those that the tasks name.
            timeout: seconds that this may take.

        Raises:
            AssertionError: it takes longer.
        """
        names = sorted(tasks.queues() if queues is None else queues)
        before = self._counted(names)
        until = time.monotonic() + timeout
        worker = self._hf.worker(tasks, queues=dict.fromkeys(names, 1), grace=timeout)
        with BackgroundWorker(worker) as background:
            while True:
                ended = self._counted(names)
                busy = self._busy(names)
                # Otherwise one queue may have filled another that was checked before.
                if not busy and self._counted(names) == ended:
                    return ended.since(before)
                if time.monotonic() > until:
                    held = listing(self.enqueued(*names))
                    raise AssertionError(f"{busy} not drained in {timeout:g} s; {held}")
                background.yield_briefly()

    def _busy(self, names: Sequence[str]) -> list[str]:
        """Return the queues with due or running tasks."""
        stats = {name: self._hf.queue(name).stats() for name in names}
        return [name for name, one in stats.items() if one.ready or one.running]

    def _counted(self, names: Sequence[str]) -> DrainResult:
        throughputs = [
            throughput
            for name in names
            for throughput in self._hf.queue(name).throughput(KEPT_MINUTES)
        ]
        delayed = sum([(self._hf.queue(name).stats()).delayed for name in names])
        return sum_of(throughputs, delayed)


def _queues(matcher: TaskMatcher) -> tuple[str, ...]:
    return () if matcher.queue is None else (matcher.queue,)


def _fitting(matcher: TaskMatcher, found: Iterable[Sequence[TaskStatus]]) -> list[TaskStatus]:
    return [status for statuses in found for status in statuses if matcher.matches(status)]
