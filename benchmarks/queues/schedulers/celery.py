"""Celery: one process `beat`, as its documentation demands, and workers."""

from __future__ import annotations

from tempfile import mkdtemp

from celery import Celery

from .part import INTERVAL_S, NAMES, ran, take_part


def _app(url: str) -> Celery:
    app = Celery("bench", broker=url)
    app.conf.task_ignore_result = True
    app.task(name="ran")(ran)
    app.conf.beat_schedule = {
        name: {"task": "ran", "schedule": float(INTERVAL_S), "args": (name,)} for name in NAMES
    }
    return app


def schedule(url: str) -> None:
    """Send what is due, until killed. A new process knows nothing of the one before."""
    _app(url).Beat(loglevel="WARNING", schedule=f"{mkdtemp()}/beat").run()


def work(url: str) -> None:
    """Run tasks until killed."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    pool = ["--pool", "threads", "--concurrency", "8"]
    _app(url).worker_main(["worker", "--loglevel", "WARNING", *pool, *quiet])


if __name__ == "__main__":
    take_part({"schedule": schedule, "work": work})
