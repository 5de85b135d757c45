"""taskiq: one scheduler process, and workers on a stream."""

from __future__ import annotations

import asyncio

from taskiq import TaskiqScheduler
from taskiq.api import run_receiver_task, run_scheduler_task
from taskiq.schedule_sources import LabelScheduleSource
from taskiq_redis import RedisStreamBroker

from .part import INTERVAL_S, NAMES, ran, take_part


async def _run(name: str) -> None:
    ran(name)


def _broker(url: str) -> RedisStreamBroker:
    broker = RedisStreamBroker(url, queue_name="bench")
    for name in NAMES:
        label = {"interval": INTERVAL_S, "args": [name]}
        broker.register_task(_run, name, schedule=[label])
    return broker


def schedule(url: str) -> None:
    """Send what is due, until killed."""

    async def serve() -> None:
        broker = _broker(url)
        scheduler = TaskiqScheduler(broker, [LabelScheduleSource(broker)])
        await run_scheduler_task(scheduler, run_startup=True)

    asyncio.run(serve())


def work(url: str) -> None:
    """Run tasks until killed."""

    async def serve() -> None:
        broker = _broker(url)
        broker.is_worker_process = True
        await broker.startup()
        await run_receiver_task(broker)

    asyncio.run(serve())


if __name__ == "__main__":
    take_part({"schedule": schedule, "work": work})
