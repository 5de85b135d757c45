"""Limited tasks of both halves, for one queue."""

import threading
import time
from collections import Counter

from holdfast import GiveUp, Limit, PerKey, Retry, RetryAfter, TaskRegistry, Unique

QUEUE = "limited"

tasks = TaskRegistry()
ran: list[tuple[str, int]] = []
started: list[float] = []
at_work: Counter[str] = Counter()
most: Counter[str] = Counter()
_lock = threading.Lock()


@tasks.task(queue=QUEUE, limit=PerKey("tenant", concurrency=2))
def at_once(tenant: str, n: int = 0, took: float = 0.0) -> None:
    """Note how many run at the same time."""
    with _lock:
        at_work[tenant] += 1
        most[tenant] = max(most[tenant], at_work[tenant])
    time.sleep(took)
    with _lock:
        at_work[tenant] -= 1
        ran.append((tenant, n))


@tasks.task(queue=QUEUE, limit=PerKey("tenant", rate=Limit(3, per=0.5)))
def in_time(tenant: str, n: int = 0) -> None:
    started.append(time.monotonic())
    ran.append((tenant, n))


@tasks.task(queue=QUEUE, limit=PerKey("tenant", rate=Limit(1, per=1000.0)))
def seldom(tenant: str, n: int = 0) -> None:
    ran.append((tenant, n))


@tasks.task(queue=QUEUE, fair_by="tenant")
def in_turns(tenant: str, n: int = 0) -> None:
    ran.append((tenant, n))


@tasks.task(queue=QUEUE, retry=Retry(attempts=2), limit=PerKey("tenant", concurrency=1))
def ends_as_requested(tenant: str, how: str, n: int = 0) -> None:
    """End as the argument says."""
    ran.append((tenant, n))
    match how:
        case "pause":
            raise RetryAfter(900, scope="key")
        case "retry":
            raise RetryAfter(900)
        case "give up":
            raise GiveUp(how)
        case "fail":
            raise ValueError(how)


@tasks.task(
    queue=QUEUE,
    limit=PerKey("tenant", concurrency=1),
    unique=Unique(key="user", when="replace"),
)
def replaced(tenant: str, user: int, n: int = 0) -> None:
    ran.append((tenant, n))


@tasks.task(queue=QUEUE, limit=PerKey(("tenant", "region"), concurrency=1, name="shared"))
def one(tenant: str, n: int = 0, *, region: str = "eu") -> None:
    ran.append((tenant, n))


@tasks.task(queue=QUEUE, limit=PerKey(("tenant", "region"), concurrency=1, name="shared"))
def other(tenant: str, n: int = 0, *, region: str = "eu") -> None:
    ran.append((tenant, n))
