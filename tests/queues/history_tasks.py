"""Tasks that end in different ways, for the tests of the history of both halves."""

import asyncio

from holdfast import Retry, TaskRegistry

ONCE = Retry(attempts=1)
tasks = TaskRegistry()
began: list[int] = []


@tasks.task(queue="ended")
async def add(a: int, b: int = 0) -> int:
    return a + b


@tasks.task(queue="ended", result_ttl=0, name="ein Name: mit Ümlaut")
def unkept() -> None: ...


@tasks.task(queue="ended", retry=ONCE)
def fail(text: str) -> None:
    raise ValueError(text)


@tasks.task(queue="ended", retry=Retry(attempts=3, backoff=0.01))
async def fail_again() -> None:
    raise OSError("again")


@tasks.task(queue="ended", ack="now")
async def nap() -> None:
    await asyncio.sleep(0.2)


@tasks.task(queue="ended")
async def hang() -> None:
    began.append(1)
    await asyncio.sleep(60)
