"""An acquisition that is cancelled at any await leaves neither a permit nor a waiter behind."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from itertools import count
from typing import Any

import pytest

from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, AsyncLock
from holdfast.locks._async.lock import INSPECT
from holdfast.locks.permit_scripts import ACQUIRE, RELEASE

Work = Callable[[AsyncLock], Coroutine[Any, Any, None]]


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    namespace = f"cancel-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        async with hf.lock("warm").hold():
            await hf.lock("warm").inspect()
        yield hf


class CancelledAt:
    """Runs *work*, and cancels its task at the await with this *number*.

    Attributes:
        reached: whether *work* has so many awaits.
    """

    def __init__(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        self.reached = False
        self._number = number
        self._work = work

    def __await__(self) -> Generator[Any, Any, None]:
        send, argument = self._work.send, None
        for number in count():
            try:
                awaited = send(argument)
            except StopIteration:
                return
            if number == self._number:
                self.reached = True
                asyncio.current_task().cancel()  # as soon as it waits for *awaited*
            try:
                argument, send = (yield awaited), self._work.send
            except BaseException as error:  # noqa: BLE001 (*work* gets it)
                argument, send = error, self._work.throw


async def cancelled_at(number: int, work: Coroutine[Any, Any, None]) -> bool:
    """Cancel *work* at its await of this number; return False if it ended before."""
    cancelled = CancelledAt(number, work)

    async def awaits() -> None:
        await cancelled

    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.create_task(awaits())
    return cancelled.reached


async def holds(lock: AsyncLock) -> None:
    async with lock.hold(timeout=30):
        await asyncio.sleep(0)


async def tries(lock: AsyncLock) -> None:
    lease = await lock.try_acquire()
    if lease is not None:
        await lease.release()


async def is_free(lock: AsyncLock) -> bool:
    state = await lock.inspect()
    return (state.holder, state.waiters) == (None, ())


@pytest.mark.parametrize("work", [holds, tries])
async def test_cancelled_acquisition_of_a_free_lock(hf: AsyncHoldfast, work: Work) -> None:
    lock = hf.lock("l")
    for number in count():
        reached = await cancelled_at(number, work(lock))
        await eventually_async(lambda: is_free(lock))
        if not reached:
            break
    assert number > 1


@pytest.mark.parametrize("subscription", ["new", "open"])
@pytest.mark.parametrize("released", ["at once", "later"])
async def test_cancelled_acquisition_of_a_busy_lock(
    hf: AsyncHoldfast, released: str, subscription: str
) -> None:
    for number in count():
        lock = hf.lock(
            f"l{number}" if subscription == "new" else "l", lease=120.0
        )  # a long lease: the test sees what stays behind
        if not await cancelled_while_queued(lock, number, first_all_wait=released == "later"):
            break
    assert number > 3


async def cancelled_while_queued(lock: AsyncLock, number: int, *, first_all_wait: bool) -> bool:
    """Cancel one waiter at its await of this number, and let another get the permit."""
    holding = await lock.acquire()
    first = asyncio.create_task(cancelled_at(number, holds(lock)))
    if first_all_wait:
        await eventually_async(lambda: waiting(lock, 1, first))
    second = asyncio.create_task(holds(lock))
    if first_all_wait:
        await eventually_async(lambda: waiting(lock, 2, first))
    await holding.release()
    await asyncio.wait_for(asyncio.gather(first, second), 30)
    await eventually_async(lambda: is_free(lock))
    return first.result()


@pytest.mark.parametrize("script", [ACQUIRE, RELEASE], ids=["acquire", "release"])
@pytest.mark.parametrize("direction", ["requests", "replies"])
async def test_cancelled_acquisition_while_the_network_is_slow(
    hf: AsyncHoldfast, proxy: Proxy, script: object, direction: str
) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as slow:
        await holds(slow.lock("l"))
        proxy.delay(0.1, direction)
        for wait_s in (0.01, 0.05, 0.15, 0.25):
            task = asyncio.create_task(holds(slow.lock("l")))
            await asyncio.sleep(wait_s)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await eventually_async(lambda: is_free(hf.lock("l")))
        proxy.heal()
    assert INSPECT.readonly


async def test_a_cancelled_waiter_does_not_cost_the_next_one_a_claim(hf: AsyncHoldfast) -> None:
    lock = hf.lock("l")
    holding = await lock.acquire()
    waiters = [asyncio.create_task(holds(lock)) for _ in range(10)]
    await eventually_async(lambda: waiting(lock, 10))
    for task in waiters[:9]:
        task.cancel()
    await asyncio.gather(*waiters[:9], return_exceptions=True)
    await eventually_async(lambda: waiting(lock, 1))
    await holding.release()
    await asyncio.wait_for(waiters[9], 30)


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_a_cancellation_is_not_lost_while_the_server_is_unavailable(
    standalone: Server, how: str
) -> None:
    url = f"{standalone.url}?socket_timeout=1"
    async with AsyncHoldfast.from_url(url, namespace=f"away-{secrets.token_hex(4)}") as hf:
        went_on, away = False, asyncio.Event()

        async def work() -> None:
            nonlocal went_on
            async with asyncio.timeout(None) as limit, hf.lock("l").hold():
                standalone.pause()
                away.set()
                if how == "timeout":
                    limit.reschedule(asyncio.get_running_loop().time() + 0.2)
            went_on = True

        task = asyncio.create_task(work())
        try:
            await away.wait()
            if how == "cancel":
                task.cancel()
            await asyncio.wait([task])
        finally:
            standalone.resume()
        assert not went_on
        if how == "cancel":
            assert task.cancelled()
        else:
            assert isinstance(task.exception(), TimeoutError)


def test_ctrl_c_is_not_lost_while_the_server_is_unavailable(standalone: Server) -> None:
    program = f"""
import os, signal, threading
from holdfast import Holdfast
hf = Holdfast.from_url("{standalone.url}?socket_timeout=1", namespace="away")
try:
    with hf.lock("l").hold():
        os.kill({standalone.pid}, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
"""
    with Process.python("-c", program) as process:
        try:
            process.wait()
        finally:
            standalone.resume()
        assert process.output == "interrupted\n"


async def waiting(lock: AsyncLock, many: int, *tasks: asyncio.Task[Any]) -> bool:
    """Return whether *many* wait, not counting those of *tasks* that have ended."""
    ended = sum(task.done() for task in tasks)
    return len((await lock.inspect()).waiters) == many - ended
