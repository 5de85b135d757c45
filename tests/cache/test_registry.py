"""Functions that are decorated before there is a client."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, CacheRegistry, Holdfast

caches = CacheRegistry()
calls: list[object] = []


@caches.cached(ttl=600.0, tags=["all"])
async def double(n: int) -> int:
    """Return twice *n*."""
    calls.append(n)
    return 2 * n


@caches.cached(ttl=600.0)
def triple(n: int) -> int:
    calls.append(n)
    return 3 * n


class Shop:
    """A class with a cached method."""

    @caches.cached(ttl=600.0, ignore=["self"])
    def price(self, item: str) -> int:
        calls.append(item)
        return len(item)


@pytest.fixture(autouse=True)
def _unbound() -> None:
    calls.clear()
    caches.unbind()


async def test_without_a_client_functions_are_called(caplog: pytest.LogCaptureFixture) -> None:
    assert [await double(1), await double(1)] == [2, 2]
    assert [triple(1), triple(1), Shop().price("tea")] == [3, 3, 3]
    assert calls == [1, 1, 1, 1, "tea"]
    with pytest.raises(RuntimeError, match=r"test_registry.double is not bound .* bind\(client\)"):
        await double.invalidate(1)
    assert caplog.text.count("is not bound to a client") <= 2  # once for each kind of client


async def test_one_registry_serves_both_kinds_of_clients(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as async_hf:
        with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
            caches.bind(hf, async_hf)
            assert [await double(1), await double(1)] == [2, 2]
            assert [triple(1), triple(1)] == [3, 3]
            assert [Shop().price("tea"), Shop().price("tea")] == [3, 3]
            assert calls == [1, 1, "tea"]
            hf.invalidate_tags("all")
            assert await double(1) == 2
            assert await double.invalidate(1)
            caches.unbind()
            await double(1)
            assert calls == [1, 1, "tea", 1, 1]


async def test_each_client_has_its_own_results(site: Site) -> None:
    async with (
        AsyncHoldfast.from_url(site.url, namespace=f"{site.namespace}") as one,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as same,
    ):
        caches.bind(one)
        await double(1)
        with caches.using(same):
            await double(1)
            await double.put(99, 2)
        assert await double(2) == 99
        assert calls == [1]


async def test_a_context_has_its_own_client(site: Site) -> None:
    """Such as the request of one tenant: others at the same time use another client."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        inside, go = asyncio.Event(), asyncio.Event()

        async def with_client() -> None:
            with caches.using(hf):
                await double(1)
                inside.set()
                await go.wait()
                await double(1)

        async def without() -> None:
            await inside.wait()
            await double(1)
            go.set()

        await asyncio.gather(with_client(), without())
        assert calls == [1, 1]
        await eventually_async(hf.cached_functions)  # a report is sent beside the calls


def test_threads_are_contexts(site: Site) -> None:
    """Free-threaded Python gives a new thread a copy of the context."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with caches.using(hf):
            triple(1)
            triple(1)
            thread = threading.Thread(target=triple, args=(1,))
            thread.start()
            thread.join()
        inherited = getattr(sys.flags, "thread_inherit_context", 0)
        assert len(calls) == (1 if inherited else 2)


def test_wrong_clients_are_refused() -> None:
    for wrong in (None, "redis://localhost", object()):
        with pytest.raises(TypeError, match="bind takes a Holdfast or an AsyncHoldfast"):
            caches.bind(wrong)  # type: ignore[arg-type]


async def test_functions_that_yield_are_refused(site: Site) -> None:
    def letters(n: int) -> Iterator[str]:
        yield "a" * n

    async def numbers(n: int) -> AsyncIterator[int]:
        yield n

    refused = pytest.raises(TypeError, match=r"(letters|numbers) yields values")
    with refused:
        caches.cached(ttl=1.0)(letters)
    with refused:
        caches.cached(ttl=1.0)(numbers)
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        with refused:
            hf.cached(ttl=1.0)(numbers)  # type: ignore[arg-type]


def test_a_function_is_for_one_kind_of_client(site: Site) -> None:
    async def double(n: int) -> int:
        return n

    with (
        Holdfast.from_url(site.url, namespace=site.namespace) as hf,
        pytest.raises(TypeError, match="must not be async for Holdfast"),
    ):
        hf.cached(ttl=1.0)(double)
    with pytest.raises(TypeError, match="a function without a name of its own needs name="):
        caches.cached(ttl=1.0)(lambda: 1)
