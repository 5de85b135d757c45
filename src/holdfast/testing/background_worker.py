"""A worker that runs beside a test: in its loop, or in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final, Self

from .. import AsyncWorker, Worker

BREATH_S: Final = 0.003
"""Between two looks at where tasks are."""


class AsyncCrew:
    """A worker in the loop of the test, so that its tasks share that with the test."""

    def __init__(self, worker: AsyncWorker) -> None:
        self._worker = worker

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._worker.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._worker.stop()
        await self._running

    async def breathe(self) -> None:
        """Let it work for a moment."""
        await asyncio.sleep(BREATH_S)


class Crew:
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

    def breathe(self) -> None:
        """Let it work for a moment."""
        time.sleep(BREATH_S)
