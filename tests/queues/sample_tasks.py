"""Tasks that the tests of both halves run: what they do is noted in `ran`."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from holdfast import Retry, TaskRegistry, current_task

tasks = TaskRegistry()
ran: list[object] = []


def on_a_loop() -> bool:
    """Return whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@tasks.task(queue="work")
async def on_the_loop(n: int) -> int:
    ran.append((n, on_a_loop()))
    return n


@tasks.task(queue="work")
def in_a_thread(n: int) -> int:
    ran.append((n, on_a_loop()))
    return n


@tasks.task(queue="work", retry=Retry(attempts=3, backoff=0.01))
async def fails_until(attempt: int) -> None:
    ran.append(current_task().attempt)
    if current_task().attempt < attempt:
        raise ValueError("not yet")


@tasks.task(queue="work", retry=Retry(attempts=1))
def fails(how: str) -> None:
    match how:
        case "exit":
            raise SystemExit(3)
        case "stop":
            raise StopIteration
        case "cancel":
            raise asyncio.CancelledError
        case _:
            raise ValueError("x" * 2000)


@tasks.task(queue="work", retry=Retry(attempts=1))
async def cancels_itself() -> None:
    raise asyncio.CancelledError


@tasks.task(queue="work")
async def dated(day: datetime, *rest: float, factor: float = 1.0) -> None:
    ran.append((day, rest, factor))


@tasks.task(queue="work")
async def describes_itself() -> None:
    ran.append(current_task())


@tasks.task(queue="work")
def describes_itself_in_a_thread() -> None:
    ran.append(current_task())


def plainly(function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a function without regard to coroutines, and without `__wrapped__`."""

    def wrapper(*args: object) -> object:
        return function(*args)

    wrapper.__name__ = function.__name__
    return wrapper


@tasks.task(queue="work")
@plainly
async def disguised(n: int) -> None:
    await asyncio.sleep(0)
    ran.append(n)


stop_first: list[Callable[[], None]] = []


@tasks.task(queue="work")
async def hangs_until_stopped() -> None:
    """Stops its worker and then does not end; the next time it just runs."""
    ran.append(current_task().attempt)
    if stop_first:
        stop_first.pop()()
        await asyncio.sleep(60)
