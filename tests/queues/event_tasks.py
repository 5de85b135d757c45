"""Tasks that report events."""

import asyncio
import threading
from typing import Any

from holdfast import Retry, TaskRegistry, current_task

tasks = TaskRegistry()
go_on = threading.Event()
running: list[Any] = []


@tasks.task(queue="events", result_ttl=300.0)
async def renders(pages: int) -> str:
    for page in range(1, pages + 1):
        current_task().progress(page, pages, "rendering")
        current_task().emit({"page": page})
        await asyncio.sleep(0)
    return "rendered"


@tasks.task(queue="events", result_ttl=300.0)
def counts(upto: int) -> None:
    for n in range(upto):
        current_task().emit(n)


@tasks.task(queue="events", result_ttl=0)
def forgets(n: int) -> None:
    current_task().emit(n)


@tasks.task(queue="events", result_ttl=300.0)
def fills(events: int, size: int) -> None:
    for n in range(events):
        current_task().emit(f"{n:0{size}}")


@tasks.task(queue="events", retry=Retry(attempts=2, backoff=0.001))
def fails(text: str) -> None:
    current_task().progress(1, 2, text)
    current_task().emit(text)
    raise ValueError(text)


@tasks.task(queue="events", result_ttl=300.0, retry=Retry(attempts=2, backoff=0.001))
def reports_at_first() -> None:
    if current_task().attempt == 1:
        current_task().emit("first")
        raise ValueError("again")


@tasks.task(queue="events")
def is_silent() -> None: ...


@tasks.task(queue="events", result_ttl=300.0)
def waits() -> None:
    current_task().emit("began")
    go_on.wait(60)
    current_task().emit("went on")


@tasks.task(queue="events")
def is_kept() -> None:
    running.append(current_task())


@tasks.task(queue="events", result_ttl=300.0)
async def reports_what_is_invalid() -> list[str]:
    return refused_reports()


@tasks.task(queue="events", result_ttl=300.0)
def reports_what_is_invalid_plain() -> list[str]:
    return refused_reports()


@tasks.task(queue="events", retry=Retry(attempts=1))
def fails_at_an_event(event: str) -> None:
    current_task().emit("first")
    current_task().emit(event)


def refused_reports() -> list[str]:
    """Report what is valid at first and at last. Return why the other reports are refused."""
    task, refused = current_task(), []
    task.emit("first")
    for report in (
        lambda: task.emit(object()),
        lambda: task.emit(float("nan")),
        lambda: task.emit("x" * 70_000),
        lambda: task.progress(2, 1),
        lambda: task.progress(float("nan")),
        lambda: task.progress(-1),
        lambda: task.progress(1, float("inf")),
        lambda: task.progress(1, 10**400),
        lambda: task.progress("1"),
        lambda: task.progress(True),
        lambda: task.progress(1, message="x" * 1001),
        lambda: task.progress(1, message=b"x"),
        lambda: task.progress(1, message="\ud800"),
    ):
        try:
            report()
        except (TypeError, ValueError) as error:
            refused.append(f"{type(error).__name__}: {error}")
        else:
            refused.append("accepted")
    task.emit("last")
    return refused


slow_tasks = TaskRegistry()


@slow_tasks.task(queue="slow")
async def slow(upto: int) -> None:
    for n in range(upto):
        current_task().emit(n)
        await asyncio.sleep(0.03)


@tasks.task(queue="events")
def half(message: str) -> None:
    current_task().progress(5, 10, message)
    go_on.wait(60)
