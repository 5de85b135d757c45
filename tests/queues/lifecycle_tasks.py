"""What the tests of a task's life share in both halves: its tasks, and workers in threads."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from faults.waiting import eventually
from holdfast import Holdfast, Retry, TaskRegistry, current_task

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

tasks = TaskRegistry()
later = TaskRegistry()
began: list[float] = []
gate = threading.Event()


@dataclass
class Sale:
    """A result with a shape."""

    item: str
    price: int
    at: datetime


@tasks.task(queue="life")
async def doubled(n: int) -> int:
    began.append(time.time())
    return 2 * n


@tasks.task(queue="life")
def doubled_in_a_thread(n: int) -> int:
    began.append(time.time())
    return 2 * n


@tasks.task(queue="life")
async def sold(item: str) -> Sale:
    return Sale(item, 97, NOON)


@tasks.task(queue="life")
def noon() -> datetime:
    return NOON


@tasks.task(queue="life")
async def sold_all(items: list[str]) -> dict[str, Sale]:
    return {item: Sale(item, 97, NOON) for item in items}


@tasks.task(queue="life")
def lies() -> int:
    return "no number"  # type: ignore[return-value]


@tasks.task(queue="life", result_ttl=0)
async def leaves_nothing() -> int:
    return 1


@tasks.task(queue="life", result_ttl=0.2)
async def leaves_little() -> int:
    return 1


@tasks.task(queue="life")
async def unstorable() -> object:
    return object()


@tasks.task(queue="life", retry=Retry(attempts=1))
def breaks() -> None:
    raise ValueError("broken")


@tasks.task(queue="life", retry=Retry(attempts=2, backoff=600.0))
def breaks_at_first() -> None:
    raise ValueError("not yet")


@tasks.task(queue="life", retry=Retry(attempts=9, backoff=0.2, longest=0.2))
def keeps_breaking() -> None:
    began.append(time.time())
    raise ValueError("not yet")


@tasks.task(queue="life", retry=Retry(attempts=2, backoff=0))
async def succeeds_at_once_again() -> int:
    if current_task().attempt == 1:
        raise ValueError("not yet")
    return current_task().attempt


@tasks.task(queue="life", timeout=0.1, retry=Retry(attempts=1))
async def too_slow() -> None:
    await asyncio.sleep(60)


@tasks.task(queue="life")
async def waits_for_the_gate() -> str:
    began.append(time.time())
    while not gate.is_set():  # noqa: ASYNC110 (a test opens it, from any thread)
        await asyncio.sleep(0.01)
    return "open"


@tasks.task(queue="life", ack="now")
async def acknowledged_at_once(n: int) -> int:
    return n


@later.task(queue="life")
async def deployed_later() -> str:
    return "at last"


@contextlib.contextmanager
def working(
    url: str, namespace: str, registry: TaskRegistry = tasks, **options: Any
) -> Iterator[None]:
    """Run a worker in a thread while the context lasts; its end opens the gate."""
    with Holdfast.from_url(url, namespace=namespace) as hf, ThreadPoolExecutor(1) as pool:
        worker = hf.worker(registry, **options)
        running: Future[None] = pool.submit(worker.run)
        stats = hf.queue("life").stats
        eventually(lambda: stats().waiting_workers or stats().running or running.done())
        try:
            yield
        finally:
            gate.set()
            worker.stop()
            running.result(timeout=30)


def let_pass(seconds: float) -> None:
    """Wait here, in both halves."""
    time.sleep(seconds)


@contextlib.contextmanager
def meanwhile(*functions: Callable[[], Any]) -> Iterator[list[Future[Any]]]:
    """Run these in threads; they have ended when the context ends."""
    with ThreadPoolExecutor(len(functions)) as pool:
        yield [pool.submit(function) for function in functions]
