"""The loops that Holdfast makes itself: of uvloop where it is installed, of asyncio elsewhere."""

import asyncio
import gc
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from faults.servers import Server
from faults.waiting import eventually, eventually_grows
from holdfast import Holdfast, TaskRegistry
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.concurrency.loop_thread import LoopThread, OwnLoop, Submitted
from holdfast.core.names import Namespace
from holdfast.core.transport.settings import Settings
from holdfast.queues.steps.store import StepStore


@pytest.mark.parametrize("daemon", [False, True])
def test_a_worker_runs_in_the_quickest_loop_that_is_safe(
    standalone: Server, loops_from: str, daemon: bool
) -> None:
    """In a daemon thread, a timer of uvloop could crash the process when the interpreter ends."""
    tasks = TaskRegistry()
    loops = set()

    @tasks.task(queue="loops")
    async def note(number: int) -> int:
        loops.add(type(asyncio.get_running_loop()).__module__.partition(".")[0])
        await asyncio.sleep(0)
        return number

    with Holdfast.from_url(standalone.url, namespace=f"loops-{secrets.token_hex(4)}") as hf:
        handles = hf.enqueue_many([note.call(number) for number in range(100)])
        run = partial(hf.worker(tasks).run, until_idle=True)
        thread = threading.Thread(target=run, daemon=daemon)
        thread.start()
        thread.join(60)
        assert [handle.result(timeout=30) for handle in handles] == list(range(100))
    assert loops == {"asyncio" if daemon else loops_from}


def test_a_waiter_is_woken_through_the_private_loop(standalone: Server) -> None:
    with Holdfast.from_url(standalone.url, namespace=f"loops-{secrets.token_hex(4)}") as hf:
        lease = hf.lock("l", lease=6.0).acquire()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(hf.lock("l").acquire, timeout=60)
            eventually(lambda: hf.lock("l").inspect().waiters)
            eventually_grows(lambda: lease.remaining, reason="it is renewed")
            lease.release()
            waiting.result(timeout=60).release()


def test_the_private_loop_is_safe_when_the_interpreter_ends() -> None:
    thread = LoopThread.enter()
    try:
        assert type(thread._loop).__module__.partition(".")[0] == "asyncio"
    finally:
        thread.leave()


@pytest.fixture
async def reported() -> list[Any]:
    """Return a list that gets what the loop reports."""
    found: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: found.append(context))
    return found


async def test_an_error_of_cancelled_work_is_not_reported(reported: list[Any]) -> None:
    """Nothing retrieves it."""
    began = asyncio.Event()

    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            raise LookupError

    submitted = OwnLoop().submit(work())
    await began.wait()
    submitted.cancel()
    assert await asyncio.to_thread(submitted.wait, 20)
    await asyncio.sleep(0.01)
    del submitted
    gc.collect()
    assert not reported


async def test_an_error_of_a_step_is_not_reported_if_its_thread_was_interrupted(
    standalone: Server, reported: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work has ended, and the thread is interrupted before it retrieves the outcome."""

    class Interrupt(BaseException):
        pass

    def result(_: Submitted[Any]) -> None:
        raise Interrupt

    async def work() -> None:
        raise LookupError

    monkeypatch.setattr(Submitted, "result", result)
    caller = AsyncCaller(Settings.from_url(standalone.url))
    store = StepStore(caller, Namespace.of("loops").unit("queue", "q"))
    with pytest.raises(Interrupt):
        await asyncio.to_thread(store.wait_here, work())
    await asyncio.sleep(0.01)
    gc.collect()
    assert not reported
    await caller.close()
