# Generated from _async/task_bench.py by tools/unasync.py: edit that, then run `make sync`.
"""The tasks of a test, as the test sees them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ... import Call, Holdfast, Task, TaskRegistry, TaskStatus
from ..background_worker import Crew
from ..drain_result import Drained, counted
from ..task_matcher import Wanted, listing

LOOKED_AT: Final = 1000
"""Tasks of each state in a queue."""

KEPT_MINUTES: Final = 120
"""For which queues count what ends."""


class TaskBench:
    """What is in line in the namespace of a test. Tasks stay there until `drain`.

    Args:
        hf: the client of the test.
    """

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf

    def enqueued(self, *queues: str) -> dict[str, list[TaskStatus]]:
        """By queue, the tasks that are in line or run: at most 1,000 of each state."""
        found: dict[str, list[TaskStatus]] = {}
        for name in queues or sorted(self._hf.queues()):
            queue = self._hf.queue(name)
            found[name] = [
                *queue.tasks("running", LOOKED_AT),
                *queue.tasks("queued", LOOKED_AT),
                *queue.tasks("delayed", LOOKED_AT),
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
        """Have a failed test unless such a task is in line.

        Args:
            task: the task, its name, or a call with all its arguments.
            args: its arguments, and
            kwargs: those by name; none at all: any will do. Of a task, in whichever way they were
                given; of a name or a call, only in this one.
            queue: where it waits; by default that of the task, or with a name any.
            delay: seconds between enqueuing it and its time; 0: it does not wait.
            within: by so many seconds the delay may differ.
            priority: `high`, `medium` or `low`.

        Returns:
            The first one in line.

        Raises:
            AssertionError: there is none; the message lists what there is.
        """
        options = {"queue": queue, "delay": delay, "within": within, "priority": priority}
        wanted = Wanted.of(task, args, kwargs, **options)
        found = self.enqueued(*_queues(wanted))
        fitting = _fitting(wanted, found.values())
        if not fitting:
            raise AssertionError(f"not enqueued: {wanted}; {listing(found)}")
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
        """Have a failed test if such a task is in line; with the arguments of `assert_enqueued`.

        Raises:
            AssertionError: there is one.
        """
        options = {"queue": queue, "delay": delay, "within": within, "priority": priority}
        wanted = Wanted.of(task, args, kwargs, **options)
        found = self.enqueued(*_queues(wanted))
        if fitting := _fitting(wanted, found.values()):
            raise AssertionError(f"enqueued, {len(fitting)} times: {wanted}; {listing(found)}")

    def drain(
        self,
        tasks: TaskRegistry,
        *,
        queues: Iterable[str] | None = None,
        timeout: float = 30.0,
    ) -> Drained:
        """Run all that may run now, and what that enqueues, with a real worker in this process.

        What is delayed, also because it failed and is to be tried again, is left: its time has not
        come.

        Args:
            tasks: what may run.
            queues: which ones; by default those that the tasks name.
            timeout: seconds that all of it may take.

        Raises:
            AssertionError: it takes longer.
        """
        names = sorted(tasks.queues() if queues is None else queues)
        before = self._counted(names)
        until = time.monotonic() + timeout
        worker = self._hf.worker(tasks, queues=dict.fromkeys(names, 1), grace=timeout)
        with Crew(worker) as crew:
            while True:
                ended = self._counted(names)
                busy = self._busy(names)
                # Else one queue may have filled another that was looked at before.
                if not busy and self._counted(names) == ended:
                    return ended.since(before)
                if time.monotonic() > until:
                    held = listing(self.enqueued(*names))
                    raise AssertionError(f"{busy} not drained in {timeout:g} s; {held}")
                crew.breathe()

    def _busy(self, names: Sequence[str]) -> list[str]:
        """The queues in which something may run now, or runs."""
        stats = {name: self._hf.queue(name).stats() for name in names}
        return [name for name, one in stats.items() if one.ready or one.running]

    def _counted(self, names: Sequence[str]) -> Drained:
        throughputs = [
            throughput
            for name in names
            for throughput in self._hf.queue(name).throughput(KEPT_MINUTES)
        ]
        delayed = sum([(self._hf.queue(name).stats()).delayed for name in names])
        return counted(throughputs, delayed)


def _queues(wanted: Wanted) -> tuple[str, ...]:
    return () if wanted.queue is None else (wanted.queue,)


def _fitting(wanted: Wanted, found: Iterable[Sequence[TaskStatus]]) -> list[TaskStatus]:
    return [status for statuses in found for status in statuses if wanted.fits(status)]
