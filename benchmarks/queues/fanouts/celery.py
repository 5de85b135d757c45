"""Celery: a chord. Tasks are acknowledged late, so that a killed worker loses none."""

from __future__ import annotations

from typing import Any

from celery import Celery, chord

from .part import LEASE_S, THREADS, note, take_part


def _app(url: str) -> tuple[Celery, Any, Any]:
    app = Celery("bench", broker=url, backend=url)
    app.conf.update(
        broker_transport_options={"visibility_timeout": LEASE_S},
        result_expires=3600,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=16,
    )

    @app.task(name="member")
    def member(number: int) -> int:
        return number

    @app.task(name="callback")
    def callback(_results: list[int], group: str) -> None:
        note("then", group)

    return app, member, callback


def work(url: str) -> None:
    """Run tasks until killed."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    pool = ["--pool", "threads", "--concurrency", str(THREADS)]
    _app(url)[0].worker_main(["worker", "--loglevel", "ERROR", *pool, *quiet])


def produce(url: str, group: str, members: int) -> None:
    """Enqueue one chord."""
    _, member, callback = _app(url)
    chord([member.s(n) for n in range(members)])(callback.s(group))


if __name__ == "__main__":
    take_part(work, produce)
