"""Refreshers keep rows fresh while they run."""

import secrets
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, AsyncRowCache, DefinitionConflict
from holdfast.core.concurrency._async.primitives import Event, sleep
from holdfast.core.concurrency._async.user_calls import call_with_timeout
from rows.running import running_async
from rows.table import Table


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    namespace = secrets.token_hex(4)
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


async def test_it_wakes_for_what_is_scheduled(hf: AsyncHoldfast) -> None:
    table = Table({n: {"n": n} for n in range(10)})
    cache = hf.row_cache("stock", source=table, shards=3)
    await cache.schedule(0, every=10_000)
    async with running_async(cache):
        await eventually_async(lambda: len(table.asked) == 1)
        await cache.schedule_many({1: 10_000, 2: 10_000})
        await eventually_async(lambda: sum(map(len, table.asked)) == 3)
        table.rows[0] = {"n": 100}
        await cache.invalidate(0)
        await eventually_async(lambda: sum(map(len, table.asked)) == 4)

    async def fresh() -> bool:
        return (await cache.get(0, timeout=0)).value == {"n": 100}

    await eventually_async(fresh)


async def test_rows_come_again_at_their_pace(hf: AsyncHoldfast) -> None:
    table = Table({n: {"n": n} for n in range(4)})
    cache = hf.row_cache("stock", source=table)
    await cache.schedule_many({0: 0.1, 1: 0.1, 2: 0.5, 3: 10_000})
    began = time.monotonic()
    async with running_async(cache):
        await eventually_async(lambda: table.times(0) >= 10)
        took_s = time.monotonic() - began
        counts = [table.times(n) for n in range(4)]
    assert counts[1] >= 5
    assert 1 <= counts[2] <= 2 + took_s / 0.45  # jitter is a tenth
    assert counts[3] == 1


async def test_it_survives_its_source(hf: AsyncHoldfast) -> None:
    table = Table({1: {"n": 1}})
    cache = hf.row_cache("stock", source=table)
    await cache.schedule(1, every=0.05)
    async with running_async(cache):
        await eventually_async(lambda: table.times(1) >= 2)
        table.broken = ConnectionError("gone")

        async def troubled() -> bool:
            return (await cache.status()).source_error == "ConnectionError: gone"

        await eventually_async(troubled)
        before, began = table.times(1), time.monotonic()
        await sleep(0.5)
        asked = table.times(1) - before
        assert asked <= 2 + 2 * (time.monotonic() - began)  # it is asked less and less often
        assert (await cache.get(1)).value == {"n": 1}
        table.rows[1] = {"n": 2}
        table.broken = None

        async def fresh() -> bool:
            return (await cache.get(1)).value == {"n": 2}

        await eventually_async(fresh)
        assert (await cache.status()).source_error == ""


async def test_it_survives_the_server(proxy: Proxy) -> None:
    table = Table({1: {"n": 1}})
    url = f"{proxy.url}?socket_timeout=1"
    async with AsyncHoldfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        cache = hf.row_cache("stock", source=table)
        await cache.schedule(1, every=0.05)
        async with running_async(cache):
            await eventually_async(lambda: table.times(1) >= 2)
            with proxy.refuse():
                proxy.cut()
                await sleep(0.7)
            before = table.times(1)
            await eventually_async(lambda: table.times(1) > before + 1)


async def test_four_share_the_work(hf: AsyncHoldfast, standalone: Server) -> None:
    tables = [Table({n: {"n": n} for n in range(2000)}) for _ in range(4)]
    caches = []
    clients = []
    for table in tables:
        clients.append(AsyncHoldfast.from_url(standalone.url, namespace=hf.namespace))
        caches.append(clients[-1].row_cache("stock", source=table))
    async with (
        running_async(caches[0]),
        running_async(caches[1]),
        running_async(caches[2]),
        running_async(caches[3]),
    ):
        await caches[0].schedule_many(dict.fromkeys(range(2000), 10_000))
        reader = hf.row_cache("stock")

        async def done() -> bool:
            return (await reader.status()).due == 0 and sum(map(Table.count, tables)) >= 2000

        await eventually_async(done)
    for client in clients:
        await client.close()
    asked = [row_id for table in tables for part in table.asked for row_id in part]
    assert sorted(asked) == list(range(2000))


async def test_a_stopped_refresher_ends(hf: AsyncHoldfast) -> None:
    cache = hf.row_cache("stock", source=Table({}))
    cache.stop()
    await call_with_timeout(60, cache.run, left=set())
    async with running_async(cache) as begun:
        await begun()
        with pytest.raises(RuntimeError, match="already runs, for row cache 'stock'"):
            await cache.run()


async def test_a_definition_conflict_ends_a_refresher(hf: AsyncHoldfast) -> None:
    await hf.row_cache("stock", source=Table({}), shards=2).refresh_due()
    with pytest.raises(DefinitionConflict):
        await hf.row_cache("stock", source=Table({}), shards=3, on_conflict="error").run()


class Gate:
    """A source that loads only when it is let."""

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}
        self.here = Event()
        self.open = Event()

    async def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        rows = {row_id: self.rows[row_id] for row_id in ids}
        self.here.set()
        await self.open.wait(60)
        return rows


@pytest.mark.parametrize("change", ["invalidate", "unschedule"])
async def test_what_was_read_before_is_not_stored_after(hf: AsyncHoldfast, change: str) -> None:
    """The load began, then the row was invalidated, then the load ended."""
    gate = Gate()
    gate.rows = {1: {"n": "old"}}
    cache: AsyncRowCache = hf.row_cache("stock", source=gate)
    await cache.schedule(1, every=10_000)
    async with running_async(cache):
        assert await gate.here.wait(60)
        gate.rows = {1: {"n": "new"}}
        if change == "invalidate":
            await cache.invalidate(1)
        else:
            await cache.unschedule(1)
        gate.open.set()
        if change == "invalidate":

            async def stored() -> bool:
                return (await cache.get(1, timeout=0)).state == "fresh"

            await eventually_async(stored)
    row = await cache.get(1, timeout=0)
    assert row.value == ({"n": "new"} if change == "invalidate" else None)
