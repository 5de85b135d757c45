"""Callers that wait for a rate limiter: order, cancellation, closing."""

import asyncio
import sys
import threading
import time

import pytest
from prometheus_client import CollectorRegistry

from conftest import Site
from faults.waiting import eventually, eventually_async
from holdfast import (
    AsyncHoldfast,
    AsyncRateLimiter,
    ClientClosed,
    Holdfast,
    Limit,
    PrometheusMetrics,
    RateLimited,
)


async def test_acquire_waits_in_order(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(2, per=0.5))
    await limiter.acquire()
    began = time.monotonic()
    done: list[int] = []

    async def one(n: int) -> None:
        permit = await limiter.acquire()
        done.append(n)
        assert time.monotonic() - began >= permit.waited

    await asyncio.gather(*(one(n) for n in range(6)))
    # Two calls that may pass at the same instant wake in any order.
    assert [{done[0]}, {*done[1:3]}, {*done[3:5]}, {done[5]}] == [{0}, {1, 2}, {3, 4}, {5}]
    assert time.monotonic() - began >= 1


async def _reserved(limiter: AsyncRateLimiter, wanted: int) -> bool:
    return (await limiter.peek()).limits[0].reserved == wanted


async def test_a_cancelled_waiter_gives_its_instant_back(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(1, per=30.0))
    await limiter.acquire()
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(3)]
    await eventually_async(lambda: _reserved(limiter, 3))
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    state = await limiter.peek()
    assert state.limits[0].reserved == 0
    assert state.retry_after <= 30


async def test_a_cancelled_call_is_charged_when_it_is_repeated(hf: AsyncHoldfast) -> None:
    """Under the same `op_id`: what was given back is not taken for a reservation."""
    limiter = hf.rate_limit("api", Limit(1, per=60.0))
    first = await limiter.acquire()
    waiting = asyncio.create_task(limiter.acquire(op_id="order-7"))
    await eventually_async(lambda: _reserved(limiter, 1))
    waiting.cancel()
    await asyncio.wait([waiting])
    assert await _reserved(limiter, 0)
    await first.cancel()
    assert (await limiter.acquire(op_id="order-7")).waited == 0
    assert not await limiter.try_acquire()


async def test_cancelled_waiters_in_the_middle_make_room_for_later_calls(
    hf: AsyncHoldfast,
) -> None:
    """The calls that wait keep their instants."""
    limiter = hf.rate_limit("api", Limit(1, per=30.0))
    await limiter.acquire()
    waiting = []
    for n in range(1, 4):
        waiting.append(asyncio.create_task(limiter.acquire()))
        await eventually_async(lambda n=n: _reserved(limiter, n))
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    assert (await limiter.peek()).limits[0].reserved == 2
    assert 89 < (await limiter.peek()).retry_after <= 120
    for task in reversed(waiting):
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert (await limiter.peek()).retry_after <= 30


def test_a_waiting_thread_is_woken_by_close(site: Site) -> None:
    errors: list[BaseException] = []
    hf = Holdfast.from_url(site.url, namespace=site.namespace)
    limiter = hf.rate_limit("api", Limit(1, per=60.0))
    limiter.acquire()

    def wait() -> None:
        try:
            limiter.acquire()
        except BaseException as error:  # noqa: BLE001 (the test looks at it)
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: limiter.peek().limits[0].reserved == 1)
    hf.close()
    thread.join(30)
    assert [type(error) for error in errors] == [ClientClosed]


def test_waits_and_refusals_are_measured(site: Site) -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry=registry)
    with Holdfast.from_url(site.url, namespace=site.namespace, telemetry=metrics) as hf:
        limiter = hf.rate_limit("api", Limit(1, per=2.0)).of("user:7")
        limiter.acquire()
        assert limiter.acquire().waited > 0
        with pytest.raises(RateLimited):
            limiter.acquire(timeout=0)
    for outcome in ("granted", "timeout"):
        labels = {"kind": "limiter", "outcome": outcome}
        name = "holdfast_lock_wait_seconds_count"
        assert registry.get_sample_value(name, labels) == 1


def test_threads_share_a_limiter_with_thousands_of_subjects(site: Site) -> None:
    errors: list[Exception] = []

    def use(thread: int) -> None:
        try:
            for n in range(1500):
                assert limiter.of(f"{thread}:{n}").subject == f"{thread}:{n}"
        except Exception as error:  # noqa: BLE001 (the test looks at it)
            errors.append(error)

    interval_s = sys.getswitchinterval()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("api", Limit(1, per=60.0))
        threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval_s)
    assert errors == []


def test_a_blocking_limiter_refuses_an_async_function(site: Site) -> None:
    """It would block the event loop."""

    async def fetch() -> None: ...

    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("api", Limit(1, per=60.0))
        with pytest.raises(TypeError, match=r"fetch at .* must not be async for Holdfast"):
            limiter.limited()(fetch)


async def test_an_async_limiter_refuses_a_plain_function(site: Site) -> None:
    """Calls of the decorated function would run it, and then fail."""

    def fetch() -> None: ...

    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("api", Limit(1, per=60.0))
        with pytest.raises(TypeError, match=r"fetch at .* must be async for AsyncHoldfast"):
            limiter.limited()(fetch)


async def test_a_closed_client_refuses(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("api", Limit(1, per=60.0))
    for call in (limiter.try_acquire, limiter.acquire, limiter.peek, limiter.reset):
        with pytest.raises(ClientClosed):
            await call()
