"""Files after a failed give-back or acknowledgement: a consumer soon gets them again."""

import asyncio
import gc
import io
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast, FeedFile, FileFeed, Holdfast, HoldfastError

LEASE_S = 1.0
BOUND_S = 30.0
"""A generous limit: on an idle machine, it takes at most a lease and one second."""

ENDS = {
    "an error": RuntimeError,
    "the end": None,
    "Ctrl-C": KeyboardInterrupt,
    "a cancellation": asyncio.CancelledError,
}


@pytest.fixture
def other(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that the outage does not affect."""
    namespace = f"back-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.fixture
def lease_s() -> float:
    return LEASE_S


@pytest.fixture
def feed(other: Holdfast, lease_s: float) -> FileFeed:
    """Return a sealed feed of two files."""
    feed = other.file_feed("logs", consumers=["a"], lease=lease_s)
    feed.publish(io.BytesIO(b"one\n"), name="one")
    feed.publish(io.BytesIO(b"two\n"), name="two")
    feed.seal()
    return feed


@pytest.fixture
def hf(proxy: Proxy, other: Holdfast) -> Iterator[Holdfast]:
    url = f"{proxy.url}?socket_timeout=1&socket_connect_timeout=1"
    with Holdfast.from_url(url, namespace=other.namespace) as hf:
        yield hf
        proxy.heal()


def end_in_an_outage(file: FeedFile, proxy: Proxy, error: type[BaseException] | None) -> None:
    with file:
        proxy.black_hole()
        if error is not None:
            raise error


@pytest.mark.parametrize("end", ENDS)
def test_a_file_that_could_not_be_given_back_comes_again(
    proxy: Proxy, hf: Holdfast, feed: FileFeed, end: str
) -> None:
    error, names = ENDS[end], []
    failed: type[BaseException] = error or HoldfastError
    for n, file in enumerate(hf.file_feed("logs").consumer("a").files(timeout=BOUND_S)):
        names.append(file.name)
        if n:
            with file:
                pass
            continue
        with pytest.raises(failed):
            end_in_an_outage(file, proxy, error)
        proxy.heal()
    assert sorted(names) == ["one", "one", "two"]
    assert feed.status().state == "over"


@pytest.mark.parametrize("lease_s", [3 * LEASE_S])  # a slow machine still renews the second one
@pytest.mark.parametrize("end", ["an error", "the end"])
def test_another_consumer_gets_it_while_the_first_one_lives(
    proxy: Proxy, hf: Holdfast, feed: FileFeed, end: str
) -> None:
    files = hf.file_feed("logs").consumer("a").files(timeout=BOUND_S)
    with suppress(RuntimeError, HoldfastError), next(files):
        proxy.black_hole()
        if end == "an error":
            raise RuntimeError
    proxy.heal()
    with next(files) as two:
        others = [each.name for each in feed.consumer("a").files(timeout=0)]
        assert not others
        for each in feed.consumer("a").files(timeout=BOUND_S):
            with each:
                assert each.name == "one"
            break
        two.ack(4)
    assert not list(files)
    assert feed.status().state == "over"


@pytest.fixture
async def async_hf(proxy: Proxy, other: Holdfast) -> AsyncIterator[AsyncHoldfast]:
    url = f"{proxy.url}?socket_timeout=1&socket_connect_timeout=1"
    async with AsyncHoldfast.from_url(url, namespace=other.namespace) as hf:
        yield hf
        proxy.heal()


@pytest.mark.parametrize("end", ["an error", "the end"])
async def test_the_same_in_asyncio(
    proxy: Proxy, async_hf: AsyncHoldfast, feed: FileFeed, end: str
) -> None:
    names = []
    async for file in async_hf.file_feed("logs").consumer("a").files(timeout=BOUND_S):
        names.append(file.name)
        try:
            async with file:
                if len(names) == 1:
                    proxy.black_hole()
                    if end == "an error":
                        names[9]
        except (IndexError, HoldfastError):
            proxy.heal()
    assert sorted(names) == ["one", "one", "two"]


async def test_a_cancelled_task_keeps_nothing(
    proxy: Proxy, async_hf: AsyncHoldfast, feed: FileFeed
) -> None:
    """Cancelled in a block, and again while the file is given back."""
    holds = asyncio.Event()

    async def read() -> None:
        async for file in async_hf.file_feed("logs").consumer("a").files():
            async with file:
                proxy.black_hole()
                holds.set()
                await asyncio.sleep(BOUND_S)

    reading = asyncio.create_task(read())
    await holds.wait()
    for _ in range(2):
        reading.cancel()
        await asyncio.wait([reading], timeout=0.05)
    with suppress(asyncio.CancelledError):
        await reading
    proxy.heal()
    assert await asyncio.to_thread(rest, feed) == {"one", "two"}


def rest(feed: FileFeed) -> set[str]:
    """Return the names of the files that a consumer gets until the feed is over."""
    names = set()
    for file in feed.consumer("a").files(timeout=BOUND_S):
        with file:
            names.add(file.name)
    assert feed.status().state == "over"
    return names


@pytest.mark.parametrize("lost", ["block", "run", "both"])
def test_an_interrupted_consumer_keeps_nothing(hf: Holdfast, feed: FileFeed, lost: str) -> None:
    files = hf.file_feed("logs").consumer("a").files()
    file = next(files)
    if lost != "run":
        file.__enter__()
    if lost != "block":
        files.close()
    if lost == "block":
        del file  # what the interrupted frame held
    else:
        del file, files
    gc.collect()
    assert rest(feed) == {"one", "two"}


def test_a_dropped_run_leaves_the_consumer_for_dead(hf: Holdfast, feed: FileFeed) -> None:
    next(hf.file_feed("logs").consumer("a").files()).__enter__()
    gc.collect()
    eventually(lambda: not feed.status().consumers[0].alive, BOUND_S)


async def test_a_dropped_run_in_asyncio_keeps_nothing(
    async_hf: AsyncHoldfast, feed: FileFeed
) -> None:
    files = async_hf.file_feed("logs").consumer("a").files()
    file = await anext(files)
    await file.__aenter__()
    del file, files
    gc.collect()
    assert await asyncio.to_thread(rest, feed) == {"one", "two"}
