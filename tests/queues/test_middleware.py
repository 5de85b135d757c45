"""What is no middleware is refused at once; what stops a task passes through it."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from typing import Any

import pytest

from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, Middleware, Retry, RunningTask, TaskRegistry
from queues.middleware_tasks import Recorder, seen


async def async_only(task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
    return await call_next()


def plain_only(task: RunningTask, call_next: Callable[[], Any]) -> Any:
    return call_next()


class SwappedMethods:
    def around_async(self, task: RunningTask, call_next: Any) -> Any: ...


@contextmanager
def generator(task: RunningTask, call_next: Any) -> Any:
    yield


@pytest.mark.parametrize(
    ("middleware", "text"),
    [
        (Recorder, r"got the class Recorder: write Recorder\(\)"),
        (None, r"a function \(task, call_next\), or an object"),
        ("text", r"got 'text'"),
        (SwappedMethods(), "around_async of middleware 'SwappedMethods' must be an async function"),
        (Middleware(plain_only), "around_async of middleware 'Middleware' must be an async"),
        (Middleware(None, async_only), "around_plain of middleware 'Middleware' must be a plain"),
        (generator.__wrapped__, "a function"),
    ],
)
def test_what_is_no_middleware_is_refused(middleware: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        TaskRegistry(middleware=[middleware])


def test_plain_middleware_does_not_skip_async_tasks_silently() -> None:
    tasks = TaskRegistry(middleware=[plain_only])
    with pytest.raises(TypeError, match="middleware 'plain_only' has no async form"):

        @tasks.task()
        async def missed() -> None: ...


def test_none_says_that_a_middleware_is_not_for_a_kind_of_tasks() -> None:
    tasks = TaskRegistry(middleware=[Middleware(around_plain=plain_only), Middleware()])

    @tasks.task()
    async def fine() -> None: ...

    assert len(tasks) == 1


stopped = TaskRegistry(middleware=[Recorder("outer")])
began: list[str] = []


@stopped.task(queue="stopped", retry=Retry(attempts=1))
async def wait() -> None:
    began.append("wait")
    await asyncio.sleep(60)


@stopped.task(queue="stopped", retry=Retry(attempts=1))
def spin() -> None:
    began.append("spin")
    event = asyncio.Event()
    while not event.is_set():
        pass


@pytest.mark.parametrize(
    ("task", "error"), [(wait, "CancelledError"), (spin, "Interrupted")], ids=["wait", "spin"]
)
@pytest.mark.parametrize("how", ["cancel", "stop"])
async def test_cancellation_passes_through(
    standalone: Server, task: Any, error: str, how: str
) -> None:
    seen.clear()
    began.clear()
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(stopped)
        running = asyncio.create_task(worker.run())
        handle = await hf.enqueue(task.call())
        await eventually_async(lambda: bool(began))
        if how == "cancel":
            assert await handle.cancel()
        else:
            worker.stop(grace=0)
        await eventually_async(lambda: f"outer ends with {error}" in seen)
        worker.stop()
        await asyncio.wait_for(running, 60)
        assert (await handle.status()).state == ("cancelled" if how == "cancel" else "queued")
