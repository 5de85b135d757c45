"""Many callers that miss the same result: one of them calls the function, in all processes."""

import asyncio
import json
import secrets
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from conftest import Site
from faults.processes import Process
from faults.servers import Server
from faults.urls import patient
from holdfast import AsyncHoldfast, CacheTimeout, Holdfast

MANY_CALLERS = Path(__file__).with_name("many_callers.py")
PROCESSES = 4
CALLERS = 50


def run_callers(server: Server, how: str) -> tuple[int, list[tuple[int, Counter[str]]]]:
    """Run the processes. Return the calls of the function, and the reports of those that lived."""
    namespace = secrets.token_hex(4)
    with ExitStack() as stack:
        arguments = (MANY_CALLERS, server.url, namespace, f"{PROCESSES}", how)
        workers = [stack.enter_context(Process.python(*arguments)) for _ in range(PROCESSES)]
        ends = [each.wait(100) for each in workers]
        reports = [
            json.loads(each.output) for each, end in zip(workers, ends, strict=True) if not end
        ]
    with Holdfast.from_url(server.url, namespace=namespace) as hf:
        calls = round(hf.counter("calls").total(3600))
    return calls, [(own, Counter(got)) for own, got in reports]


def test_the_function_is_called_once(standalone: Server) -> None:
    calls, reports = run_callers(standalone, "slow")
    assert calls == 1
    assert [got for _, got in reports] == [Counter(value=CALLERS)] * PROCESSES


def test_a_killed_caller_is_replaced(standalone: Server) -> None:
    calls, reports = run_callers(standalone, "killed")
    assert calls == 2
    assert [got for _, got in reports] == [Counter(value=CALLERS)] * (PROCESSES - 1)


def test_the_error_reaches_all_waiters(standalone: Server) -> None:
    calls, reports = run_callers(standalone, "failing")
    assert [got for _, got in reports] == [
        Counter({"LookupError: no such thing": CALLERS})
    ] * PROCESSES
    assert calls <= 3  # who comes after the failure tries again


def test_waiters_of_a_hanging_caller_end_in_time(standalone: Server) -> None:
    calls, reports = run_callers(standalone, "hanging")
    total = sum((got for _, got in reports), Counter[str]())
    assert total == Counter(timeout=PROCESSES * CALLERS - calls, value=calls)
    assert 1 <= calls <= 4


async def test_a_thousand_tasks_in_each_topology(site: Site) -> None:
    async with AsyncHoldfast.from_url(patient(site.url, 60), namespace=site.namespace) as hf:
        calls = []

        @hf.cached(ttl=60.0, tags=["all"])
        async def function(n: int) -> int:
            calls.append(n)
            await asyncio.sleep(0.1)
            return n

        got = await asyncio.gather(*(function(n % 3) for n in range(600)))
        assert got == [n % 3 for n in range(600)]
        assert sorted(calls) == [0, 1, 2]


async def test_a_cancelled_caller_leaves_the_load_to_another(site: Site) -> None:
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other,
    ):
        calls, here = [], asyncio.Event()

        async def function() -> str:
            calls.append(1)
            here.set()
            await asyncio.sleep(60 if len(calls) == 1 else 0)
            return "value"

        first = hf.cached(ttl=60.0, name="f", lease=300.0)(function)
        second = other.cached(ttl=60.0, name="f", lease=300.0)(function)
        cancelled = asyncio.create_task(first())
        await here.wait()
        waiting = [asyncio.create_task(each()) for each in (first, first, second, second)]
        await asyncio.sleep(0.2)
        cancelled.cancel()
        async with asyncio.timeout(30):
            assert await asyncio.gather(*waiting) == ["value"] * 4
        assert len(calls) == 2
        with pytest.raises(asyncio.CancelledError):
            await cancelled


async def test_a_timeout_of_a_waiter(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        here, go = asyncio.Event(), asyncio.Event()

        @hf.cached(ttl=60.0, timeout=0.1)
        async def function() -> str:
            here.set()
            await go.wait()
            return "value"

        loading = asyncio.create_task(function())
        await here.wait()
        with pytest.raises(CacheTimeout, match=r"for more than 0.1 s") as caught:
            await function()
        assert isinstance(caught.value, TimeoutError)
        go.set()
        assert await loading == "value"


async def test_a_result_with_a_short_life_reaches_all_that_waited(site: Site) -> None:
    """It is older than its `ttl` when they read it, but younger than their calls."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        calls = []

        @hf.cached(ttl=0.01)
        async def function() -> int:
            calls.append(1)
            await asyncio.sleep(0.3)
            return len(calls)

        assert await asyncio.gather(*(function() for _ in range(50))) == [1] * 50


async def test_what_is_not_stored_does_not_hold_up_the_others(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:

        @hf.cached(ttl=60.0, none_ttl=0)
        async def function() -> None:
            await asyncio.sleep(0.3)

        async with asyncio.timeout(10):
            assert await asyncio.gather(*(function() for _ in range(100))) == [None] * 100
