"""Cancelled writes of asyncio leave a bounded number of entries in the ledgers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from client._async.uses import work
from conftest import Site
from holdfast import AsyncHoldfast

TIMES = 150

WRITES: dict[str, Callable[[AsyncHoldfast], Awaitable[Any]]] = {
    "enqueue": lambda hf: hf.enqueue(work.call(1)),
    "enqueue_many": lambda hf: hf.enqueue_many([work.call(1), work.call(2)]),
    "send": lambda hf: hf.mailbox("jack").send(1, sender="jill"),
    "touch": lambda hf: hf.recent("ann").touch("jill"),
    "add": lambda hf: hf.counter("hits").add(3),
    "add name": lambda hf: hf.completions("guild").add("jack"),
    "set": lambda hf: hf.fenced("l").set("v", 7),
}


def entries(site: Site) -> int:
    """Return the number of entries of the fullest ledger."""
    client: Any = site.client
    found = client.scan_iter(match=f"{site.namespace}:*ledger:?", count=1000)
    return max((client.hlen(key) for key in found), default=0)


@pytest.mark.parametrize("name", WRITES)
async def test_cancelled_writes_share_a_few_writers(site: Site, name: str) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await WRITES[name](hf)
        for _ in range(TIMES):
            task = asyncio.ensure_future(WRITES[name](hf))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await WRITES[name](hf)
    assert 0 < entries(site) < TIMES / 10


async def test_cancelled_acquisitions_leave_a_bounded_number(site: Site) -> None:
    """The ledger remembers about a thousand that must not be granted any more."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        lock = hf.lock("wanted")
        await (await lock.acquire()).release()
        for _ in range(6):
            tasks = [asyncio.ensure_future(lock.acquire()) for _ in range(250)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        async with lock.hold(timeout=30):
            pass
    assert entries(site) <= 1200
