"""Run a worker during a test: in the event loop of the test, or in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final, Self

from .. import AsyncWorker, Worker

PAUSE_S: Final = 0.003
"""Seconds for which `yield_briefly` sleeps."""


class AsyncBackgroundWorker:
    """Runs a worker in the event loop of the test, so that tasks can use objects of that loop."""

    def __init__(self, worker: AsyncWorker) -> None:
        self._worker = worker

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._worker.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._worker.stop()
        await self._running

    async def yield_briefly(self) -> None:
        """Sleep, so that the worker can run. Raise the exception that has ended the worker."""
        await asyncio.sleep(PAUSE_S)
        if self._running.done():
            self._running.result()


class BackgroundWorker:
    """Runs a worker in a thread."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._thread = threading.Thread(target=self._run, name="holdfast test worker", daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()
        self._thread.join()
        self._raise_error()

    def yield_briefly(self) -> None:
        """Sleep, so that the worker can run. Raise the exception that has ended the worker."""
        time.sleep(PAUSE_S)
        self._raise_error()

    def _run(self) -> None:
        try:
            self._worker.run()
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread of the test)
            self._error = error

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error
