"""Tasks of both halves that note how many of them run at once, for one queue with partitions."""

import threading
import time
from collections import Counter

from holdfast import Limit, PerKey, TaskRegistry, Unique

QUEUE = "whole"

tasks = TaskRegistry()
ran: list[tuple[str, int]] = []
most: Counter[str] = Counter()
_running: Counter[str] = Counter()
_lock = threading.Lock()

SHORT_S = 0.01


def forget() -> None:
    """Forget what ran."""
    ran.clear()
    most.clear()


def _run(what: str, number: int) -> None:
    """Note that a task runs, for a short time."""
    with _lock:
        _running[what] += 1
        most[what] = max(most[what], _running[what])
    time.sleep(SHORT_S)
    with _lock:
        _running[what] -= 1
        ran.append((what, number))


@tasks.task(queue=QUEUE)
def any_task(number: int) -> None:
    _run("any", number)


@tasks.task(queue=QUEUE, limit=PerKey("tenant", concurrency=2))
def two_at_once(tenant: str, number: int) -> None:
    _run(tenant, number)


@tasks.task(queue=QUEUE, limit=PerKey("tenant", rate=Limit(2, per=3600.0)))
def two_an_hour(tenant: str, number: int) -> None:
    _run(tenant, number)


@tasks.task(queue=QUEUE, unique=Unique(key="user"))
def once(user: int) -> None:
    _run("once", user)
