"""Tasks of both halves that choose their outcome, or show what accompanies them."""

import asyncio
from typing import Any

from holdfast import (
    Call,
    GiveUp,
    Retry,
    RetryAfter,
    RunningTask,
    Snooze,
    TaskRegistry,
    current_task,
)

tasks = TaskRegistry()
ran: list[RunningTask] = []


@tasks.task(queue="ends", retry=Retry(attempts=9))
async def gives_up() -> None:
    ran.append(current_task())
    raise GiveUp("no such address")


@tasks.task(queue="ends", retry=Retry(attempts=9))
def gives_up_in_a_thread() -> None:
    ran.append(current_task())
    raise GiveUp("no such address")


@tasks.task(queue="ends", retry=Retry(attempts=3, backoff=600.0))
async def asks_for_time(seconds: float) -> int:
    """Fail twice, each time with a time for the next attempt."""
    ran.append(current_task())
    if current_task().attempt < 3:
        raise RetryAfter(seconds)
    return current_task().attempt


@tasks.task(queue="ends", retry=Retry(attempts=1, snoozes=5))
def snoozes(times: int, seconds: float) -> int:
    """Snooze so many times."""
    ran.append(current_task())
    if current_task().snoozes < times:
        raise Snooze(seconds, "not yet")
    return current_task().attempt


@tasks.task(queue="ends")
async def fails_in_a_group() -> None:
    ran.append(current_task())

    async def fail() -> None:
        raise GiveUp("gone")

    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
        group.create_task(asyncio.sleep(60))


@tasks.task(queue="ends", retry=Retry(attempts=3, delays=(0,), never=(ValueError, TimeoutError)))
async def fails(how: str) -> None:
    ran.append(current_task())
    match how:
        case "value":
            raise ValueError("wrong")
        case "slow":
            await asyncio.sleep(60)
    raise OSError("off")


@tasks.task(queue="ends", timeout=60.0)
async def describes_itself() -> None:
    ran.append(current_task())


def add_request(call: Call[Any]) -> Call[Any]:
    """Add a header, as the hook of an application does."""
    return call.options(headers={"request": "r-17"})
