"""The fast path to a free permit and back, and the cases that leave it."""

from collections.abc import AsyncIterator

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    DefinitionConflict,
    LeaseLost,
    LockTimeout,
    NotDefined,
)
from holdfast.core.concurrency._async.background_task import BackgroundTask


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    """Return a client that has used its lock `l` before."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        async with hf.lock("l").hold():
            pass
        yield hf


async def test_scripts_that_the_server_forgot_are_loaded_again(
    site: Site, hf: AsyncHoldfast
) -> None:
    lock = hf.lock("l")
    site.client.script_flush()
    async with lock.hold() as lease:
        assert (await lock.inspect()).fence == lease.fence
        site.client.script_flush()
    assert (await lock.inspect()).holder is None


async def test_a_client_that_is_refused_on_the_fast_path_waits(hf: AsyncHoldfast) -> None:
    lock = hf.lock("l")
    first = await lock.acquire()
    assert await lock.try_acquire() is None
    with pytest.raises(LockTimeout) as caught:
        await lock.acquire(timeout=0)
    assert caught.value.holder == first.holder
    waiting = BackgroundTask(lock.acquire)
    await eventually_async(lambda: waiters(hf, 1))
    await first.release()
    second = await waiting.outcome()
    assert second.fence > first.fence
    await second.release()
    async with lock.hold() as third:
        assert third.fence > second.fence


async def waiters(hf: AsyncHoldfast, count: int) -> bool:
    """Return whether the lock has *count* waiters."""
    return len((await hf.lock("l").inspect()).waiters) == count


async def test_the_limit_is_checked_on_the_fast_path(hf: AsyncHoldfast) -> None:
    with pytest.raises(NotDefined):
        await hf.semaphore("s").acquire()
    async with hf.semaphore("s", limit=2).hold():
        pass
    with pytest.raises(DefinitionConflict):
        await hf.semaphore("s", limit=3, on_conflict="error").try_acquire()


async def test_the_release_of_a_lease_that_the_server_forgot_raises(
    site: Site, hf: AsyncHoldfast
) -> None:
    with pytest.raises(LeaseLost):
        async with hf.lock("l").hold():
            site.client.delete(f"{site.namespace}:{{lock:l}}:state")


async def test_a_hold_is_for_one_block(hf: AsyncHoldfast) -> None:
    """A second block raises, and the lock is free after the first one."""
    hold = hf.lock("l").hold()
    async with hold:
        with pytest.raises(RuntimeError, match="call `hold` for each"):
            async with hold:
                pytest.fail("it was held twice")
    assert (await hf.lock("l").inspect()).holder is None


async def test_a_wrong_timeout_is_refused_before_anything_is_sent(hf: AsyncHoldfast) -> None:
    with pytest.raises(ValueError, match="timeout"):
        hf.lock("l").hold(timeout=-1)
