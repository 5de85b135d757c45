"""The service with redis-py, Celery and dogpile.cache, and the counters and chats of a textbook."""

from __future__ import annotations

from typing import Any

import redis
from celery import Celery
from dogpile.cache import make_region

from ...counters import textbook as counters
from ...messages import textbook as chats
from ..load import PROFILES, SEATS, TTL_S, USERS, Service, take_part

LOCK_S = 10


def make(url: str) -> Service:
    """Return the answers to each kind of request."""
    client = redis.Redis.from_url(url, decode_responses=True)
    send_mail = _mail(url)[1]
    region = make_region().configure(
        "dogpile.cache.redis",
        expiration_time=TTL_S,
        arguments={"url": url, "distributed_lock": True, "lock_timeout": LOCK_S},
    )
    for user in range(USERS):
        chats.place(client, f"user-{user}", [f"chat-{user}"], 0)

    @region.cache_on_arguments(namespace="profile")
    def profile(user_id: int) -> dict[str, Any]:
        return {"id": user_id, "name": f"user {user_id}"}

    def lock(number: int) -> None:
        with client.lock(f"seat-{number % SEATS}", timeout=LOCK_S):
            pass

    def inbox(number: int) -> None:
        user = number % USERS
        chats.send(client, f"chat-{user}", "sender", "hello")
        chats.fetch(client, f"user-{user}")

    return {
        "lock": lock,
        "cache": lambda number: profile(number % PROFILES),
        "counter": lambda _: counters.add(client, "requests"),
        "enqueue": send_mail.delay,
        "inbox": inbox,
    }


def work(url: str) -> None:
    """Run tasks until killed."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    options = ["--pool", "threads", "--concurrency", "8", "--loglevel", "WARNING"]
    _mail(url)[0].worker_main(["worker", *options, *quiet])


def _mail(url: str) -> tuple[Celery, Any]:
    app = Celery("mail", broker=url, backend=url)
    app.conf.update(task_acks_late=True, result_expires=600)
    return app, app.task(name="send_mail")(_send_mail)


def _send_mail(number: int) -> int:
    """Do nothing; the result is kept."""
    return number


if __name__ == "__main__":
    take_part(make, work)
