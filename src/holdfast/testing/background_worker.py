"""Runs a worker in the background of a test: in its event loop, or in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final, Self

from .. import AsyncWorker, Worker

PAUSE_S: Final = 0.003
"""Seconds between two checks of the tasks."""


class AsyncBackgroundWorker:
    """A worker in the event loop of the test: its tasks can use objects of that loop."""

    def __init__(self, worker: AsyncWorker) -> None:
        self._worker = worker

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._worker.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._worker.stop()
        await self._running

    async def yield_briefly(self) -> None:
        """Let the worker run for a moment."""
        await asyncio.sleep(PAUSE_S)


class BackgroundWorker:
    """A worker in a thread."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._thread = threading.Thread(target=worker.run, name="holdfast test worker", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()
        self._thread.join()

    def yield_briefly(self) -> None:
        """Let the worker run for a moment."""
        time.sleep(PAUSE_S)
