"""The worker that a user runs: `AsyncWorker` and `Worker`."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable

from ...core._async.caller import AsyncCaller
from ...core._sync.caller import Caller
from ...core.clock import Duration, to_seconds
from ...core.concurrency._async.background_task import run_loop
from ...core.concurrency.parent_link import is_child
from ...core.concurrency.uninterrupted import run_apart
from ...core.maxmemory import MaxmemoryCheck
from ...core.process_memory import resident_bytes
from ...errors import ClientClosed
from .loop import WorkerLoop
from .options import WorkerOptions
from .signals import stopping_on_signals
from .worker_health import WorkerHealth

AnyCaller = AsyncCaller | Caller


class AsyncWorker:
    """Runs the tasks of some queues until it is stopped.

    Made by `AsyncHoldfast.worker`. Async functions run on the loop, plain ones in threads.

    Args:
        caller: sends the calls of the client. The worker calls the servers itself, with the same
            settings.
        options: the options of the worker.
        maxmemory_check: checks the eviction policy of the servers of the queues.
    """

    def __init__(
        self, caller: AnyCaller, options: WorkerOptions, maxmemory_check: MaxmemoryCheck
    ) -> None:
        self.name: str = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._caller = caller
        self._options = options
        self._maxmemory_check = maxmemory_check
        self._loop: WorkerLoop | None = None
        self._grace_s: float | None = None  # set by `stop`

    @property
    def serving(self) -> bool:
        """Return whether it claims tasks: it has started, and was not stopped."""
        return (loop := self._loop) is not None and loop.serving

    @property
    def tasks_ended(self) -> int:
        """Return how many attempts have ended in this run, in whatever manner; 0 between runs."""
        return 0 if (loop := self._loop) is None else loop.tasks_ended

    @property
    def memory(self) -> int | None:
        """Return the bytes of memory that this process takes; None if it is not known.

        It includes the child processes of tasks with `cpu=True`, on Linux. On other systems it is
        the highest value so far.
        """
        return resident_bytes(*(() if (loop := self._loop) is None else loop.cpu_pids))

    def health(self) -> WorkerHealth:
        """Return the health of the worker, for probes. From any thread."""
        loop = self._loop
        return WorkerHealth("stopped") if loop is None else loop.health()

    def stop(self, *, grace: Duration | None = None) -> None:
        """Claim nothing more, let what runs finish, then end `run`. From any thread or handler.

        If the worker does not run yet, its next `run` returns at once.

        Args:
            grace: seconds that running tasks have to finish, instead of the worker's own grace. 0
                gives them back at once, even if an earlier call gave them longer.
        """
        # `run` sees one of the two: it sets `_loop` first, and then reads `_grace_s`.
        grace_s = self._options.grace_s if grace is None else to_seconds(grace, "grace")
        self._grace_s = grace_s
        if (loop := self._loop) is not None:
            loop.stop(grace_s)

    def _forget_stop(self) -> None:
        """Forget a stop that came too late for the last run, so that the next one serves."""
        if self._loop is None:
            self._grace_s = None

    async def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`.

        If a server cannot be reached, the worker waits, also at its start, and continues when the
        server answers again. The log has a warning at once and then every minute. If a server
        rejects the worker at its start, the worker ends; a later rejection counts as an outage.

        When the client is closed, the worker gives back what still runs, as `stop(grace=0)` does,
        without counting an attempt; then `run` raises `ClientClosed`, unless `stop` was called
        before. `close` does not wait for that: to let tasks finish, stop the worker first.

        Args:
            until_idle: return once the queues hold no task that is ready, delayed or running. It
                does not wait for tasks in a paused queue, or for tasks that this worker does not
                know. If another program removed tasks from a queue, the log names the queue.

        Raises:
            DecodeError: with `until_idle`, if another program changed keys of a queue so that no
                worker can claim its tasks. The other queues are empty.
            WorkerCannotStart: at the start, a server rejects the credentials, denies a permission,
                or TLS fails.
            ClientClosed: the client was closed before, or while this ran.
        """
        if self._loop is not None:
            raise RuntimeError(f"worker {self.name} is running already")
        if is_child():
            raise RuntimeError(
                "a child process for tasks with cpu=True runs no worker: it imports the module of "
                'the tasks, so start the worker under `if __name__ == "__main__":`'
            )
        lifetime, action = self._caller.lifetime, f"running worker {self.name}"
        lifetime.check(action)
        self._loop = loop = WorkerLoop(
            self._caller.settings,
            self._options,
            self.name,
            self._maxmemory_check,
            until_idle=until_idle,
        )
        closing = _Closing(lambda: self._grace_s is None, self.stop)
        try:
            with lifetime.set_on_close(closing):
                lifetime.check(action)
                if self._grace_s is None:
                    await loop.work()
        finally:
            try:
                await loop.end()
            finally:
                self._loop = self._grace_s = None
        if closing.stopped:
            raise ClientClosed(action)


class _Closing:
    """Stops a worker when its client closes.

    Attributes:
        stopped: whether it stopped the worker, before another call did.
    """

    def __init__(self, is_serving: Callable[[], bool], stop: Callable[..., None]) -> None:
        self.stopped = False
        self._is_serving, self._stop = is_serving, stop

    def set(self) -> None:
        """Give back what runs, at once. From any thread."""
        self.stopped = self.stopped or self._is_serving()
        self._stop(grace=0)


class Worker:
    """Runs the tasks of some queues until it is stopped, in an event loop of its own.

    Made by `Holdfast.worker`. Async functions run on that loop, plain ones in threads.

    Args:
        caller: sends the calls of the client. The worker calls the servers itself, with the same
            settings.
        options: the options of the worker.
        maxmemory_check: checks the eviction policy of the servers of the queues.
    """

    def __init__(
        self, caller: AnyCaller, options: WorkerOptions, maxmemory_check: MaxmemoryCheck
    ) -> None:
        self._worker = AsyncWorker(caller, options, maxmemory_check)

    @property
    def name(self) -> str:
        """Return the worker's name, for people to read."""
        return self._worker.name

    @property
    def serving(self) -> bool:
        """Return whether it claims tasks: it has started, and was not stopped."""
        return self._worker.serving

    @property
    def tasks_ended(self) -> int:
        """Return how many attempts have ended in this run, in whatever manner; 0 between runs."""
        return self._worker.tasks_ended

    @property
    def memory(self) -> int | None:
        """Return the bytes of memory that this process takes; see `AsyncWorker.memory`."""
        return self._worker.memory

    def health(self) -> WorkerHealth:
        """Return the health of the worker, for probes. From any thread."""
        return self._worker.health()

    def stop(self, *, grace: Duration | None = None) -> None:
        """Claim nothing more, let what runs finish, then end `run`; see `AsyncWorker.stop`."""
        self._worker.stop(grace=grace)

    def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`; see `AsyncWorker.run`.

        In the main thread it also handles Ctrl-C and SIGTERM, unless the program handles them
        itself. The first signal calls `stop`. The second one gives back at once what still runs,
        and then has its usual effect.

        If another signal handler of the program raises an exception, the worker gives back what
        runs, and `run` raises the exception.
        """
        try:
            with stopping_on_signals(self.stop, lambda: self.stop(grace=0)):
                run_apart(
                    lambda: run_loop(self._worker.run(until_idle=until_idle)),
                    lambda: self.stop(grace=0),
                )
        finally:
            self._worker._forget_stop()  # noqa: SLF001 (a sibling)
