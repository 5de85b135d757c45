"""A client that is collected without `close` leaves no connection and no thread."""

import gc
import io
import threading
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from client._async.uses import Rows, work
from faults.proxy import Proxy
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, ResultTimeout
from holdfast.core.concurrency._async.primitives import sleep

pytestmark = pytest.mark.filterwarnings("ignore:a client of:ResourceWarning")


async def renew(hf: AsyncHoldfast) -> Any:
    async with hf.lock("l", lease=1.0).hold():
        await sleep(1.2)


async def wait_for_a_lock(hf: AsyncHoldfast) -> Any:
    async with hf.lock("l").hold():
        assert await hf.lock("l").try_acquire() is None
        with pytest.raises(TimeoutError):
            await hf.lock("l").acquire(timeout=0.1)


async def wait_for_mail(hf: AsyncHoldfast) -> Any:
    await hf.mailbox("jack").fetch(timeout=0.1)
    await hf.inbox("jack").fetch(timeout=0.1)


async def wait_for_a_result(hf: AsyncHoldfast) -> Any:
    with pytest.raises(ResultTimeout):
        await (await hf.enqueue(work.call(1))).result(timeout=0.1)


async def read_files(hf: AsyncHoldfast) -> Any:
    feed = hf.file_feed("logs", consumers=["geo"])
    await feed.publish(io.BytesIO(b"line\n"), name="a.log")
    async for file in feed.consumer("geo").files(timeout=0.1):
        async with file:
            pass


async def read_rows(hf: AsyncHoldfast) -> Any:
    cache = hf.row_cache("stock", source=Rows())
    await cache.schedule(1, every=60.0)
    await cache.get(2)


async def buffer(hf: AsyncHoldfast) -> Any:
    counts = hf.counter_buffer(flush_every=0.05)
    counts.add("hits", 3)


USES: dict[str, Callable[[AsyncHoldfast], Awaitable[Any]]] = {
    each.__name__: each
    for each in (
        renew,
        wait_for_a_lock,
        wait_for_mail,
        wait_for_a_result,
        read_files,
        read_rows,
        buffer,
    )
}


def collected() -> bool:
    """Collect garbage, and be true."""
    gc.collect()
    return True


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("holdfast")}


@pytest.mark.parametrize("use", USES)
async def test_a_forgotten_client_leaves_nothing(proxy: Proxy, use: str) -> None:
    """Its connections are closed and its threads end, also if it waited or held something."""
    before = threads()
    hf = AsyncHoldfast.from_url(proxy.url, namespace="forgotten")
    await USES[use](hf)
    del hf
    await eventually_async(
        lambda: (
            collected() and proxy.connections and not proxy.open_connections and threads() <= before
        )
    )
    if use == "buffer":
        async with AsyncHoldfast.from_url(proxy.url, namespace="forgotten") as other:
            assert await other.counter("hits").total(3600) % 3 == 0
            assert await other.counter("hits").total(3600)


async def test_what_a_client_made_keeps_it(proxy: Proxy) -> None:
    """A chain of calls needs no name for the client."""
    queue = AsyncHoldfast.from_url(proxy.url, namespace="forgotten").queue("kept")
    lock = AsyncHoldfast.from_url(proxy.url, namespace="forgotten").lock("kept")
    gc.collect()
    assert (await queue.stats()).ready == 0
    async with lock.hold() as lease:
        gc.collect()
        assert not lease.lost
    del queue, lock, lease
    await eventually_async(lambda: collected() and not proxy.open_connections)


async def test_it_warns_as_a_file_does(proxy: Proxy) -> None:
    """Which Python shows where it was asked to; a client that was never used has nothing open."""
    hf = AsyncHoldfast.from_url(proxy.url, namespace="forgotten")
    unused = AsyncHoldfast.from_url(proxy.url, namespace="forgotten")
    await hf.queues()
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        del hf, unused
        gc.collect()
    found = [str(each.message) for each in caught if "never closed" in str(each.message)]
    assert len(found) == 1
    assert f"127.0.0.1:{proxy.port}" in found[0] or "localhost" in found[0]
    await eventually_async(lambda: not proxy.open_connections)
