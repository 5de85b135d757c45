"""Runs the lifespan of a registry around one run of a worker."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import MappingProxyType
from typing import Any, Final, NoReturn

from ...core.concurrency._async.background_task import is_cancelling
from ...core.concurrency._async.cancellation import Cancelled
from ...core.error_text import described, log_safely
from ...errors import LifespanFailed
from ...errors.one_line_logger import logger_of
from ..lifespan import Lifespan, State, WorkerInfo
from .cancellable_start import CancellableStart

logger: Final = logger_of("holdfast.worker")

EMPTY: Final[State] = MappingProxyType({})

_TEXT_LIMIT: Final = 500
"""Characters of the user's exception that the error quotes; the log has the traceback."""


class RunningLifespan:
    """Starts a lifespan before the first claim, and ends it after the last task.

    Args:
        lifespan: lifespan of the registry, or None.
        worker: argument of the lifespan.

    Attributes:
        state: mapping that the lifespan yielded; empty until then.
    """

    def __init__(self, lifespan: Lifespan | None, worker: WorkerInfo) -> None:
        self.state: State = EMPTY
        self._lifespan = lifespan
        self._worker = worker
        self._context: Any = None  # the context manager, once it is entered
        self._start = CancellableStart()

    def cancel_start(self) -> None:
        """End a start that is not complete. From any thread or signal handler."""
        self._start.cancel()

    async def start(self) -> bool:
        """Start the lifespan. Return False if `cancel_start` ended the start.

        Raises:
            LifespanFailed: the lifespan raised an exception.
        """
        try:
            return await self._start.run(self._enter)
        except BaseException as error:  # noqa: BLE001 (it is raised again)
            self._fail("start", error)

    async def end(self) -> None:
        """End the lifespan if it was started.

        Raises:
            LifespanFailed: the lifespan raised an exception.
        """
        context, self._context = self._context, None
        if context is None:
            return
        try:
            if isinstance(context, AbstractAsyncContextManager):
                await context.__aexit__(None, None, None)
            else:
                context.__exit__(None, None, None)
        except BaseException as error:  # noqa: BLE001 (it is raised again)
            self._fail("end", error)

    async def _enter(self) -> None:
        if self._lifespan is None:
            return
        context = self._lifespan(self._worker)
        if isinstance(context, AbstractAsyncContextManager):
            state = await context.__aenter__()
        elif isinstance(context, AbstractContextManager):
            state = context.__enter__()
        else:
            raise TypeError(f"it must return a context manager, got {type(context).__name__}")
        self._context = context
        if state is None:
            return
        if not isinstance(state, Mapping):
            raise TypeError(f"it must yield a mapping or nothing, got {type(state).__name__}")
        self.state = state

    def _fail(self, moment: str, error: BaseException) -> NoReturn:
        """Raise `LifespanFailed` if the user's code raised *error*; otherwise raise *error*."""
        of_user = (
            not is_cancelling() if isinstance(error, Cancelled) else isinstance(error, Exception)
        )
        if not of_user:
            raise error
        text = "the lifespan of worker %s failed at its %s"
        log_safely(logger, logging.ERROR, text, self._worker.name, moment, error=error)
        reason = described(error, _TEXT_LIMIT)
        raise LifespanFailed(self._worker.name, moment, reason) from error
