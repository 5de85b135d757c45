"""RQ: one process `rq cron`, and workers that run jobs in their own process."""

from __future__ import annotations

from redis import Redis
from rq import Queue, SimpleWorker
from rq.cron import CronScheduler

from .part import INTERVAL_S, NAMES, ran, take_part


def schedule(url: str) -> None:
    """Send what is due, until killed."""
    scheduler = CronScheduler(connection=Redis.from_url(url), logging_level="WARNING")
    for name in NAMES:
        scheduler.register(ran, "bench", args=(name,), interval=INTERVAL_S, name=name)
    scheduler.start()


def work(url: str) -> None:
    """Run tasks until killed."""
    redis = Redis.from_url(url)
    SimpleWorker([Queue("bench", connection=redis)], connection=redis).work(logging_level="WARNING")


if __name__ == "__main__":
    take_part({"schedule": schedule, "work": work})
