"""The tasks of the program, which initialize the SDK as they are imported."""

import asyncio
import os
import time
from typing import Any

import sentry_sdk

from holdfast import GiveUp, Retry, RetryAfter, Snooze, TaskRegistry, current_task
from holdfast.sentry import SentryMiddleware

FLAGS = set(os.environ.get("FLAGS", "").split())

if "off" not in FLAGS:
    sentry_sdk.init(
        dsn=os.environ["DSN"],
        traces_sample_rate=1.0,
        trace_lifecycle="stream" if "stream" in FLAGS else "static",
    )
sentry = SentryMiddleware(each_attempt="each" in FLAGS)
tasks = TaskRegistry(middleware=[sentry])
tasks.on_enqueue(sentry.on_enqueue)
TWICE = Retry(attempts=2, backoff=0.0)
ONCE = Retry(attempts=1)


@tasks.task(queue="q", retry=TWICE)
async def fail_async(number: int) -> None:
    await mixed(number)
    raise ValueError(f"async {number}")


@tasks.task(queue="q", retry=TWICE)
def fail_plain(number: int) -> None:
    sentry_sdk.set_tag("own", number)
    time.sleep(0.02)
    raise ValueError(f"plain {number}")


async def mixed(number: int) -> None:
    """Let other tasks run between what this one reports."""
    sentry_sdk.set_tag("own", number)
    sentry_sdk.add_breadcrumb(message=f"crumb {number}")
    await asyncio.sleep(0.02)


@tasks.task(queue="q")
def give_up() -> None:
    try:
        {}["order"]
    except KeyError as error:
        raise GiveUp from error


@tasks.task(queue="q")
async def later() -> None:
    if current_task().snoozes == 0:
        raise Snooze(0.0)
    if current_task().attempt == 1:
        raise RetryAfter(0.0)


@tasks.task(queue="q", retry=ONCE)
async def refused() -> None:
    raise RetryAfter(1.0, "the quota is used up")


@tasks.task(queue="q", retry=ONCE, timeout=0.1)
async def hang_async() -> None:
    await asyncio.sleep(60)


@tasks.task(queue="q", retry=ONCE, timeout=0.1)
def hang_plain() -> None:
    while True:
        time.sleep(0.01)


@tasks.task(queue="q")
async def sleeper() -> str:
    await current_task().sleep(0.01)
    return await current_task().step("work", str.upper, "done")


@tasks.task(queue="q", retry=Retry(attempts=5, never=KeyError))
def never_again() -> None:
    raise KeyError("never")


@tasks.task(queue="q", retry=ONCE, cpu=True)
def compute() -> None:
    raise ArithmeticError("in a child process")


@tasks.task(queue="q")
def typed(number: int) -> None: ...


@tasks.task(queue="q")
def well(number: int) -> int:
    return number


stopping: list[Any] = []
"""The worker that the next task stops."""


@tasks.task(queue="stopped")
async def endless() -> None:
    stopping[0].stop()
    await asyncio.sleep(60)


OTHERS = (give_up, later, refused, hang_async, hang_plain, sleeper, never_again, compute)
