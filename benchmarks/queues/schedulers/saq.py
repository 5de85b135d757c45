"""SAQ: each worker schedules its cron jobs; a job waits once in the queue at most."""

from __future__ import annotations

import asyncio
from typing import Any

from saq import CronJob, Queue, Worker

from .part import INTERVAL_S, NAMES, ran, take_part


def _job(name: str) -> Any:
    async def run(context: dict[str, Any]) -> None:
        del context
        ran(name)

    run.__qualname__ = name
    return run


def work(url: str) -> None:
    """Run tasks until killed."""

    async def serve() -> None:
        jobs = [CronJob(_job(name), cron=f"* * * * * */{INTERVAL_S}") for name in NAMES]
        queue = Queue.from_url(url, name="bench")
        await Worker(queue, functions=[], cron_jobs=jobs, concurrency=20).start()

    asyncio.run(serve())


if __name__ == "__main__":
    take_part({"work": work})
