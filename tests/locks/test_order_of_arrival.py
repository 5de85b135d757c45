"""Coroutines of one client get a lock in the order in which they asked for it."""

import asyncio

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast

MANY = 60


async def order_of(hf: AsyncHoldfast, holder: AsyncHoldfast, gaps: list[float]) -> list[int]:
    """Start an acquisition after each of *gaps* (s); return the order of the grants."""
    order: list[int] = []

    async def take(n: int) -> None:
        async with hf.lock("queue").hold():
            order.append(n)

    async with holder.lock("queue").hold():
        waiting = []
        for n, gap in enumerate(gaps):
            if gap:
                await asyncio.sleep(gap)
            waiting.append(asyncio.create_task(take(n)))

        async def all_wait() -> bool:
            return len((await holder.lock("queue").inspect()).waiters) == len(gaps)

        await eventually_async(all_wait)
    await asyncio.gather(*waiting)
    return order


@pytest.mark.parametrize("gap", [0.0, 0.00001, 0.0002])
async def test_the_first_contended_wait_is_in_order(site: Site, gap: float) -> None:
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as holder,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
    ):
        async with hf.lock("other").hold():  # opens the connection
            pass
        gaps = [gap if n % 3 else 0.0 for n in range(MANY)]
        assert await order_of(hf, holder, gaps) == [*range(MANY)]
        assert await order_of(hf, holder, gaps) == [*range(MANY)]


async def test_the_first_call_of_a_client_is_in_order(site: Site) -> None:
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as holder,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
    ):
        assert await order_of(hf, holder, [0.0001 * (n % 2) for n in range(MANY)]) == [*range(MANY)]


async def test_an_acquisition_that_gives_up_delays_no_other(site: Site) -> None:
    """The others are cancelled, or reach their timeout, before they are queued."""
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as holder,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
    ):
        for iterations in range(6):
            async with holder.lock("queue").hold():
                doomed = [asyncio.create_task(hf.lock("queue").acquire()) for _ in range(5)]
                hasty = asyncio.create_task(hf.lock("queue").acquire(timeout=0))
                last = asyncio.create_task(hf.lock("queue").acquire(timeout=60))
                for _ in range(iterations):
                    await asyncio.sleep(0)
                for task in doomed:
                    task.cancel()
                await asyncio.wait([*doomed, hasty])
            assert isinstance(hasty.exception(), TimeoutError)
            await (await last).release()
        assert not hf._resources.waiters._arrivals
