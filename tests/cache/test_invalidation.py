"""What is stored after an invalidation was computed after it, whatever happens at the same time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncCachedFunction, AsyncHoldfast


class Source:
    """Returns what it held when it was called, once it is let."""

    def __init__(self) -> None:
        self.value = "old"
        self.calls = 0
        self.here = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self) -> str:
        found = self.value
        self.calls += 1
        self.here.set()
        await self.go.wait()
        return found


@pytest.fixture
async def clients(site: Site) -> AsyncIterator[tuple[AsyncHoldfast, AsyncHoldfast]]:
    """Yield two clients, as of two processes."""
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as one,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other,
    ):
        yield one, other


def function(hf: AsyncHoldfast, source: Source, **options: Any) -> AsyncCachedFunction[[int], str]:
    @hf.cached(**{"ttl": 600.0, "name": "f", "tags": ["tag", "another"], **options})
    async def source_of(n: int) -> str:
        return await source()

    return source_of


HOW: dict[str, Callable[[AsyncHoldfast, Any], Awaitable[object]]] = {
    "key": lambda hf, function: function.invalidate(1),
    "tag": lambda hf, function: hf.invalidate_tags("tag"),
    "all": lambda hf, function: function.invalidate_all(),
    "put": lambda hf, function: function.put("new", 1),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("step", ["in the load", "before it is stored"])
async def test_a_load_that_began_before_stores_nothing(
    clients: tuple[AsyncHoldfast, AsyncHoldfast],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    step: str,
) -> None:
    hf, other = clients
    source = Source()
    mine, theirs = function(hf, source), function(other, source)
    here = source.here
    if step != "in the load":
        source.go.set()
        here = held(mine, source, monkeypatch)
    loading = asyncio.create_task(mine(1))
    await here.wait()
    source.value = "new"
    await HOW[how](other, theirs)
    # Callers that begin now, in the same process and in another one, must not get the old value.
    later = [asyncio.create_task(each(1)) for each in (mine, mine, theirs, theirs)]
    await asyncio.sleep(0.1)
    source.go.set()
    assert await loading == "old"  # its call began before
    async with asyncio.timeout(60):
        assert await asyncio.gather(*later) == ["new"] * 4
    found = await theirs.peek(1)
    assert found is not None
    assert found.value == "new"
    assert source.calls <= 3


def held(
    mine: AsyncCachedFunction[[int], str], source: Source, monkeypatch: pytest.MonkeyPatch
) -> asyncio.Event:
    """Hold the first commit up until the source may go; return an event that it is there."""
    here, source.go = asyncio.Event(), asyncio.Event()
    store = mine._bound()._store
    original, first = store.commit, [True]

    async def commit(*args: Any) -> bool:
        if first.pop() if first else False:
            here.set()
            await source.go.wait()
        return await original(*args)

    async def call() -> str:
        source.calls += 1
        return source.value

    monkeypatch.setattr(store, "commit", commit)
    monkeypatch.setattr(type(source), "__call__", lambda self: call())
    return here


async def test_a_refresh_that_began_before_stores_nothing(
    clients: tuple[AsyncHoldfast, AsyncHoldfast],
) -> None:
    hf, other = clients
    source = Source()
    mine, theirs = function(hf, source, ttl=0.05, stale=600.0), function(other, source)
    source.go.set()
    await mine(1)
    await asyncio.sleep(0.1)
    source.here.clear()
    source.go.clear()
    assert await mine(1) == "old"
    await source.here.wait()
    source.value = "new"
    await other.invalidate_tags("another")
    later = [asyncio.create_task(each(1)) for each in (mine, theirs)]
    await asyncio.sleep(0.1)
    source.go.set()
    assert await asyncio.gather(*later) == ["new"] * 2


async def test_a_million_values_are_invalidated_in_one_step(site: Site) -> None:
    """Here a thousand; the cost does not depend on their number, as the command count shows."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        calls = 0

        @hf.cached(ttl=600.0, tags=["all"])
        async def f(n: int) -> int:
            nonlocal calls
            calls += 1
            return n

        await f.warm(range(1000))
        await hf.invalidate_tags("all")
        assert await f.many(range(1000)) == [*range(1000)]
        assert calls == 2000


async def test_an_epoch_never_goes_back(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:

        @hf.cached(ttl=600.0, tags=["all"])
        async def f() -> int:
            return 1

        await f()
        epoch = f"{site.namespace}:{{tag:all}}:epoch"
        ahead = 2**51  # as of a server with a clock years ahead
        site.client.set(epoch, ahead, keepttl=True)
        for n in range(1, 4):
            await hf.invalidate_tags("all")
            assert int(site.client.get(epoch)) == ahead + n
            assert site.client.ttl(epoch) > 0
            await f()
