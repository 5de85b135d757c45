"""Provide the singleton: a function that runs in one process at a time."""

from __future__ import annotations

import logging
from typing import Final, TypeVar

from ...core.clock import backoff_s
from ...core.concurrency._async.primitives import sleep
from ...core.concurrency._async.user_calls import UserFunction, can_call
from ...errors import ClientClosed, LeaseLost, OutcomeUnknown, ServerUnavailable
from ...errors.one_line_logger import logger_of
from .lease import AsyncLease
from .lock import AsyncLock

logger: Final = logger_of("holdfast.locks")

R = TypeVar("R")

_LONGEST_PAUSE_S: Final = 1.0
"""Longest time between two attempts while the server cannot be reached, in seconds."""


class AsyncSingleton:
    """Runs a function in exactly one of the processes that ask for it.

    The others wait. If the process ends, one of them takes over: at once if the process released
    its lease, otherwise when the lease ends. The processes compete for the lock of the same name.

    Made by `AsyncHoldfast.singleton`.
    """

    def __init__(self, lock: AsyncLock) -> None:
        self._lock = lock

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """Return the name."""
        return self._lock.name

    async def run(self, function: UserFunction[AsyncLease, R]) -> R:
        """Wait until no other process runs the function of this name, run it, return its result.

        If the lease is lost, for example because the server was away for longer than the lease, the
        function is cancelled, and this process waits for its next turn. A blocking function cannot
        be cancelled: it must return when `lease.lost` is true. Its result is then ignored. During
        an outage of the server, this method waits and tries again.

        Args:
            function: called with the lease. `lease.fence` rises with each run, so that other
                systems can refuse what an older run still writes.

        Raises:
            ClientClosed: The client was closed.
            Exception: The function raised it. The next process takes over.
            TypeError: The function is async, and the client is not.
        """
        if not can_call(function):
            raise TypeError(f"{function!r} is async, but the client of this singleton is blocking")
        failures = 0
        while True:
            lease: AsyncLease | None = None
            try:
                async with self._lock.hold() as lease:
                    return await function(lease)
            except ClientClosed:
                raise
            except LeaseLost:
                if lease is None or not lease.lost:
                    raise  # The function lost another lease.
                failures = 0
                logger.warning("singleton %s has lost its lease, and waits again", self.name)
            except (ServerUnavailable, OutcomeUnknown) as error:
                if lease is not None:
                    raise  # The function raised it.
                failures += 1
                level = logging.WARNING if failures == 1 else logging.DEBUG
                logger.log(level, "singleton %s waits for the server: %s", self.name, error)
                await sleep(backoff_s(failures, 0.05, _LONGEST_PAUSE_S))
