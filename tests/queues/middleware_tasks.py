"""Registries with middleware that the tests of both halves run: what happens is noted in `seen`."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast import Middleware, Retry, RunningTask, TaskRegistry, current_task

seen: list[object] = []
ONCE = Retry(attempts=1)
tenant = contextvars.ContextVar("tenant", default="")


class Recorder:
    """Notes when a task begins and how it ends."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def around_async(self, task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
        seen.append(f"{self.name} begins {task.task}")
        try:
            result = await call_next()
        except BaseException as error:
            seen.append(f"{self.name} ends with {type(error).__name__}")
            raise
        seen.append(f"{self.name} ends with {result!r}")
        return result

    def around_plain(self, task: RunningTask, call_next: Callable[[], Any]) -> Any:
        seen.append(f"{self.name} begins {task.task}")
        try:
            result = call_next()
        except BaseException as error:
            seen.append(f"{self.name} ends with {type(error).__name__}")
            raise
        seen.append(f"{self.name} ends with {result!r}")
        return result


recorded = TaskRegistry(middleware=[Recorder("outer"), Recorder("inner")])


@recorded.task(queue="recorded")
async def add_async(a: int, *, b: int) -> int:
    seen.append(current_task())
    return a + b


@recorded.task(queue="recorded")
def add_plain(a: int, *, b: int) -> int:
    seen.append(current_task())
    return a + b


@recorded.task(queue="recorded", retry=ONCE)
async def fail_async() -> None:
    raise ValueError("on purpose")


@recorded.task(queue="recorded", retry=ONCE)
def fail_plain() -> None:
    raise ValueError("on purpose")


@recorded.task(queue="recorded", retry=ONCE, timeout=1.0)
async def hang_async() -> None:
    await asyncio.sleep(60)


@recorded.task(queue="recorded", retry=ONCE, timeout=1.0)
def hang_plain() -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.01)


@recorded.task(queue="recorded", retry=ONCE)
def disguised() -> Any:
    return add_async(1, b=2)


async def translate_async(task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await call_next()
    except ValueError as error:
        raise KeyError(f"translated in attempt {task.attempt}") from error


def translate_plain(task: RunningTask, call_next: Callable[[], Any]) -> Any:
    try:
        return call_next()
    except ValueError as error:
        raise KeyError(f"translated in attempt {task.attempt}") from error


def note_thread(task: RunningTask, call_next: Callable[[], Any]) -> Any:
    seen.append(threading.get_ident())
    token = tenant.set(f"tenant of {task.task}")
    try:
        return call_next()
    finally:
        tenant.reset(token)


async def set_tenant(task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
    seen.append(threading.get_ident())
    tenant.set(f"tenant of {task.task}")
    return await call_next()


async def answer(task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
    return "cached" if task.args == ("hit",) else await call_next()


mixed = TaskRegistry(
    middleware=[
        Middleware(translate_async, translate_plain),
        Middleware(set_tenant, note_thread),
        Middleware(around_async=answer),
    ]
)


@mixed.task(queue="mixed", retry=Retry(attempts=2, backoff=0.01))
async def refuse_async() -> None:
    raise ValueError("no")


@mixed.task(queue="mixed", retry=Retry(attempts=2, backoff=0.01))
def refuse_plain() -> None:
    raise ValueError("no")


@mixed.task(queue="mixed")
async def tenant_async(key: str) -> str:
    seen.append(threading.get_ident())
    return tenant.get()


@mixed.task(queue="mixed")
def tenant_plain(key: str) -> str:
    seen.append(threading.get_ident())
    return tenant.get()


async def around_all(task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
    """Run around tasks of both kinds; do what the first argument of the task says."""
    seen.append(threading.get_ident())
    token = tenant.set(f"tenant of {task.task}")
    try:
        if task.args == ("answer",):
            return "cached"
        if task.args == ("sleep",):
            await asyncio.sleep(0.01)
        return await call_next()
    except ValueError as error:
        raise KeyError("translated") from error
    finally:
        tenant.reset(token)
        seen.append("ended")


class AroundAll:
    async def around_async(self, task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
        return await around_all(task, call_next)


class CallableAroundAll:
    async def __call__(self, task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
        return await around_all(task, call_next)


def visit(what: str) -> str:
    """Note the thread; be a task of several registries."""
    seen.append(threading.get_ident())
    if what == "fail":
        raise ValueError("no")
    return tenant.get()
