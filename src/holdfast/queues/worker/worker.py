"""The worker as a user runs it, in either half."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable

from ...core._async.caller import AsyncCaller
from ...core._sync.caller import Caller
from ...core.clock import Duration, to_seconds
from ...core.concurrency._async.background_task import run_loop
from ...core.concurrency.uninterrupted import run_apart
from ...core.maxmemory import MaxmemoryCheck
from ...errors import ClientClosed
from .loop import Shift
from .options import Plan
from .signals import stopping_on_signals

AnyCaller = AsyncCaller | Caller


class AsyncWorker:
    """Runs the tasks of some queues until it is stopped.

    Made by `AsyncHoldfast.worker`. Async functions run on the loop, plain ones in threads.

    Args:
        caller: of the client; its settings say where the server is.
        plan: what to do.
        lookout: looks at the servers of the queues.
    """

    def __init__(self, caller: AnyCaller, plan: Plan, maxmemory_check: MaxmemoryCheck) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._caller = caller
        self._plan = plan
        self._maxmemory_check = maxmemory_check
        self._shift: Shift | None = None
        self._grace_s: float | None = None  # once it was asked to stop

    def stop(self, *, grace: Duration | None = None) -> None:
        """Claim nothing more, let what runs finish, then end `run`. From any thread or handler.

        A worker that does not run yet will not: its next `run` returns at once.

        Args:
            grace: seconds for what runs, instead of the worker's own; 0 gives it back at once,
                also if it was asked to stop before.
        """
        # Whichever of these `run` does not see, it has not passed yet.
        self._grace_s = self._plan.grace_s if grace is None else to_seconds(grace, "grace")
        if self._shift is not None:
            self._shift.stop(self._grace_s)

    def _forget_stop(self) -> None:
        """Let the next `run` serve, although a stop came too late for the last one."""
        if self._shift is None:
            self._grace_s = None

    async def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`.

        It survives every outage of the server, and goes on when it answers again.

        When the client is closed, the worker gives back what still runs, as `stop(grace=0)` does,
        without counting an attempt; then `run` raises `ClientClosed`, unless `stop` was called
        before. `close` does not wait for that: to let tasks finish, stop the worker first.

        Args:
            until_idle: return once the queues hold no task that is ready, delayed or running. What
                is in a paused queue, or not known to this worker, is not waited for. The log names
                a queue whose tasks another program removed from its lines.

        Raises:
            DecodeError: with `until_idle`: another program changed keys of a queue, so that no
                worker can claim its tasks. The other queues are empty.
            ClientClosed: the client was closed before, or while this ran.
        """
        if self._shift is not None:
            raise RuntimeError(f"worker {self.name} is running already")
        lifetime, action = self._caller.lifetime, f"running worker {self.name}"
        lifetime.check(action)
        self._shift = shift = Shift(
            self._caller.settings,
            self._plan,
            self.name,
            self._maxmemory_check,
            until_idle=until_idle,
        )
        closing = _Closing(lambda: self._grace_s is None, self.stop)
        try:
            with lifetime.set_on_close(closing):
                lifetime.check(action)
                if self._grace_s is None:
                    await shift.work()
        finally:
            try:
                await shift.end()
            finally:
                self._shift = self._grace_s = None
        if closing.stopped:
            raise ClientClosed(action)


class _Closing:
    """Stops a worker when its client closes.

    Attributes:
        stopped: whether it did, before anyone else stopped the worker.
    """

    def __init__(self, goes_on: Callable[[], bool], stop: Callable[..., None]) -> None:
        self.stopped = False
        self._goes_on, self._stop = goes_on, stop

    def set(self) -> None:
        """Give back at once what runs. From any thread."""
        self.stopped = self.stopped or self._goes_on()
        self._stop(grace=0)


class Worker:
    """Runs the tasks of some queues until it is stopped, in an event loop of its own.

    Made by `Holdfast.worker`. Async functions run on that loop, plain ones in threads.

    Args:
        caller: of the client; its settings say where the server is.
        plan: what to do.
        lookout: looks at the servers of the queues.
    """

    def __init__(self, caller: AnyCaller, plan: Plan, maxmemory_check: MaxmemoryCheck) -> None:
        self._worker = AsyncWorker(caller, plan, maxmemory_check)

    @property
    def name(self) -> str:
        """The worker's name, for people to read."""
        return self._worker.name

    def stop(self, *, grace: Duration | None = None) -> None:
        """Claim nothing more, let what runs finish, then end `run`; see `AsyncWorker.stop`."""
        self._worker.stop(grace=grace)

    def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`; see `AsyncWorker.run`.

        In the main thread it also ends in good order by Ctrl-C or SIGTERM, unless the program
        handles these itself: the first one is a `stop`, the second one gives back at once what
        still runs, and then ends the program as it would have.

        What another signal handler of the program raises ends it as well: what runs is given back,
        and the exception is raised.
        """
        try:
            with stopping_on_signals(self.stop, lambda: self.stop(grace=0)):
                run_apart(
                    lambda: run_loop(self._worker.run(until_idle=until_idle)),
                    lambda: self.stop(grace=0),
                )
        finally:
            self._worker._forget_stop()  # noqa: SLF001 (a sibling)
