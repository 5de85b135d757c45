"""Dramatiq: a group with a completion callback, counted by its rate limiter backend."""

from __future__ import annotations

import threading
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend

from .part import LEASE_S, THREADS, note, take_part


def _broker(url: str) -> tuple[Any, Any, Any]:
    broker = RedisBroker(url=url, heartbeat_timeout=LEASE_S * 1000, maintenance_chance=10_000)
    broker.add_middleware(GroupCallbacks(RedisBackend(url=url)))
    dramatiq.set_broker(broker)

    @dramatiq.actor(actor_name="member", queue_name="bench", broker=broker)
    def member(number: int) -> None: ...

    @dramatiq.actor(actor_name="callback", queue_name="bench", broker=broker)
    def callback(group: str) -> None:
        note("then", group)

    return broker, member, callback


def work(url: str) -> None:
    """Run tasks until killed."""
    broker, _, _ = _broker(url)
    dramatiq.Worker(broker, worker_threads=THREADS).start()
    threading.Event().wait()


def produce(url: str, group: str, members: int) -> None:
    """Enqueue one group."""
    broker, member, callback = _broker(url)
    found = dramatiq.group([member.message(n) for n in range(members)], broker=broker)
    found.add_completion_callback(callback.message(group))
    found.run()


if __name__ == "__main__":
    take_part(work, produce)
