"""The worker as a user runs it, in either half."""

from __future__ import annotations

import os
import secrets
import socket

from ...core.clock import Duration, to_seconds
from ...core.connections.settings import Settings
from ...core.eviction import Lookout
from ...core.runtime._async import run_loop
from .plan import Plan
from .shift import Shift
from .signals import stopping_on_signals


class AsyncWorker:
    """Runs the tasks of some queues until it is stopped.

    Made by `AsyncHoldfast.worker`. Async functions run on the loop, plain ones in threads.

    Args:
        settings: where the server is.
        plan: what to do.
        lookout: looks at the servers of the queues.
    """

    def __init__(self, settings: Settings, plan: Plan, lookout: Lookout) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._settings = settings
        self._plan = plan
        self._lookout = lookout
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

    async def run(self, *, until_idle: bool = False) -> None:
        """Serve the queues until `stop`.

        It survives every outage of the server, and goes on when it answers again.

        Args:
            until_idle: return once the queues hold no task that is ready, delayed or running. What
                is in a paused queue, or not known to this worker, is not waited for.
        """
        if self._shift is not None:
            raise RuntimeError(f"worker {self.name} is running already")
        self._shift = shift = Shift(
            self._settings, self._plan, self.name, self._lookout, until_idle=until_idle
        )
        try:
            if self._grace_s is None:
                await shift.work()
        finally:
            try:
                await shift.end()
            finally:
                self._shift = self._grace_s = None


class Worker:
    """Runs the tasks of some queues until it is stopped, in an event loop of its own.

    Made by `Holdfast.worker`. Async functions run on that loop, plain ones in threads.

    Args:
        settings: where the server is.
        plan: what to do.
        lookout: looks at the servers of the queues.
    """

    def __init__(self, settings: Settings, plan: Plan, lookout: Lookout) -> None:
        self._worker = AsyncWorker(settings, plan, lookout)

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
        """
        with stopping_on_signals(self.stop, lambda: self.stop(grace=0)):
            run_loop(self._worker.run(until_idle=until_idle))
