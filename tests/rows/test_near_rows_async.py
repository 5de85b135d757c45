"""Rows in the memory of the process (`near=`), as users see them."""

import pickle
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import (
    JSON,
    AsyncHoldfast,
    CachedRow,
    ClientClosed,
    DecodeError,
    Near,
    NearStats,
    acl_rule,
)
from holdfast.core.concurrency._async.primitives import sleep
from holdfast.rows._async.row_cache import AsyncRowCache
from rows.table import Table


@dataclass
class Stock:
    id: int
    left: int


@pytest.fixture(autouse=True)
def rights(site: Site) -> None:
    """Give the user of the test, if it has one, the rights for near caches."""
    if f"{site.namespace}:" in site.url:
        rule = acl_rule(site.namespace, near=True)
        site.client.execute_command(
            "ACL", "SETUSER", site.namespace, *rule.split(), "on", ">secret"
        )


@pytest.fixture
def table() -> Table:
    return Table({n: {"id": n, "left": 10 * n} for n in range(1, 10)})


@pytest.fixture
async def other(site: Site) -> AsyncIterator[AsyncHoldfast]:
    """Yield a client of another process, as far as Holdfast knows."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as client:
        yield client


def stats(cache: AsyncRowCache) -> NearStats:
    return cache.near_stats()


async def hit(cache: AsyncRowCache, row_id: Any, **options: Any) -> CachedRow:
    """Read a row until it comes from memory, and return it."""

    async def from_memory() -> list[CachedRow]:
        before = stats(cache).hits
        row = await cache.get(row_id, **options)
        return [row] if stats(cache).hits > before else []

    return (await eventually_async(from_memory))[0]


async def test_a_row_is_served_from_memory(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    first = await cache.get(1)
    row = await hit(cache, 1)
    assert (row.value, row.state) == (first.value, "fresh")
    assert row.age is not None
    assert 0 <= row.age < 60
    await eventually_async(lambda: stats(cache).confirmed)  # a cluster confirms each primary alone
    before = stats(cache)
    assert before.problem == ""
    for _ in range(10):
        assert await cache.get(1) == CachedRow(first.value, pytest.approx(row.age, abs=60), "fresh")
    after = stats(cache)
    assert after.server_hits == before.server_hits
    assert after.loads == 1
    assert (after.entries, after.bytes) == (1, before.bytes)
    assert 0 < after.bytes < 2000
    assert table.asked == [(1,)]


async def test_another_process_invalidates(
    hf: AsyncHoldfast, other: AsyncHoldfast, table: Table
) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await hit(cache, 1)
    table.rows[1] = {"id": 1, "left": 0}
    await other.row_cache("stock").invalidate(1)

    async def seen() -> bool:
        return (await cache.get(1)).value == {"id": 1, "left": 0}

    await eventually_async(seen)
    assert stats(cache).invalidated >= 1
    assert (await hit(cache, 1)).value == {"id": 1, "left": 0}


async def test_ones_own_writes_are_seen_at_once(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await cache.get(1)
    for n in range(30):
        if n % 10 == 0:
            await hit(cache, 1)
        table.rows[1] = {"left": n}
        await cache.invalidate(1)
        for _ in range(3):
            assert (await cache.get(1)).value == {"left": n}
    await hit(cache, 1)
    await cache.schedule(1, every=3600)
    await hit(cache, 1)
    table.rows[1] = {"left": -1}
    await cache.unschedule(1)
    assert (await cache.get(1)).value == {"left": -1}


async def test_a_refresh_by_this_process_is_seen_at_once(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await cache.schedule(1, every=0.01)
    await cache.refresh_due()
    await hit(cache, 1)
    table.rows[1] = {"left": -1}

    async def refreshed() -> int:
        return (await cache.refresh_due()).stored

    await eventually_async(refreshed)
    assert (await cache.get(1)).value == {"left": -1}


async def test_many_rows(hf: AsyncHoldfast, other: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, shards=4, near=True)
    wanted = {n: table.rows.get(n) for n in (*range(1, 10), 77)}

    async def all_from_memory() -> bool:
        before = stats(cache).hits
        rows = await cache.get_many(wanted)
        assert {row_id: row.value for row_id, row in rows.items()} == wanted
        assert list(rows) == list(wanted)
        return stats(cache).hits == before + len(wanted)

    await eventually_async(all_from_memory)
    assert table.asked == [tuple(table.asked[0])]
    table.rows[5] = {"id": 5, "left": -1}
    await other.row_cache("stock").invalidate(5, 6)

    async def seen() -> bool:
        return (await cache.get_many(wanted))[5].value == {"id": 5, "left": -1}

    await eventually_async(seen)


async def test_an_absent_row_is_kept_as_well(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    row = await hit(cache, 77)
    assert (row.value, row.state, bool(row)) == (None, "absent", False)
    table.rows[77] = {"left": 1}
    await cache.invalidate(77)
    assert (await cache.get(77)).value == {"left": 1}


async def test_only_fresh_rows_are_served_from_memory(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, ttl=1.0, near=True)
    row = await hit(cache, 1)
    assert row.age is not None
    assert row.age <= 1.0
    table.rows[1] = {"left": -1}

    async def loaded_again() -> bool:
        return (await cache.get(1)).value == {"left": -1}

    await eventually_async(loaded_again)


async def test_a_reader_may_want_younger_rows(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await hit(cache, 1)
    table.rows[1] = {"left": -1}
    await sleep(0.01)
    assert (await cache.get(1, max_age=0.005)).value == {"left": -1}


async def test_near_max_age(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=Near(max_age=0.05))
    await hit(cache, 1)
    before = stats(cache).server_hits

    async def read_again() -> bool:
        await cache.get(1)
        return stats(cache).server_hits > before

    await eventually_async(read_again)
    assert table.asked == [(1,)]


async def test_readers_do_not_share_what_they_can_change(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    row = await hit(cache, 1)
    row.value["left"] = "changed by its reader"
    assert (await hit(cache, 1)).value == {"id": 1, "left": 10}
    shared = hf.row_cache("shared", source=table, near=Near(share=True))
    await hit(shared, 1)
    assert (await hit(shared, 1)).value is (await hit(shared, 1)).value
    objects = hf.row_cache("shared", source=table, into=Stock, near=Near(share=True))
    assert (await hit(objects, 1)).value == Stock(1, 10)
    assert (await hit(shared, 1)).value == {"id": 1, "left": 10}


async def test_a_row_that_cannot_be_decoded(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await hit(cache, 1)
    strange = hf.row_cache("stock", source=table, into=dict[str, str], near=True)
    with pytest.raises(DecodeError, match="row 1 of row cache 'stock'"):
        await strange.get(1)
    with pytest.raises(DecodeError, match="row 1 of row cache 'stock'"):
        await strange.get_many([1])


async def test_all_objects_for_a_cache_share_its_memory(hf: AsyncHoldfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await hit(cache, 1)
    again = hf.row_cache("stock", near=Near(max_bytes=2**20))
    before = stats(again)
    assert before.max_bytes == 2**20
    assert (await again.get(1)).value == {"id": 1, "left": 10}
    assert stats(cache).hits == before.hits + 1
    assert hf.row_cache("stock").near_stats().problem == "this object was made without near="
    assert hf.row_cache("other", near=True).near_stats() != stats(cache)


async def test_the_memory_is_bounded(hf: AsyncHoldfast) -> None:
    table = Table({n: {"text": "x" * 1000} for n in range(300)})
    cache = hf.row_cache("large", source=table, near=Near(max_bytes=2**17))
    await hit(cache, 0)

    async def read_all() -> bool:
        """Read what fits and what does not. A value is not kept if news of its load come late."""
        await cache.get_many(range(300))
        return stats(cache).evicted > 100

    await eventually_async(read_all)
    found = stats(cache)
    assert 2**16 < found.bytes <= 2**17 == found.max_bytes
    assert 50 < found.entries < 130


async def test_a_closed_client_serves_nothing(site: Site, table: Table) -> None:
    client = AsyncHoldfast.from_url(site.url, namespace=site.namespace)
    cache = client.row_cache("stock", source=table, near=True)
    await hit(cache, 1)
    await client.close()
    with pytest.raises(ClientClosed):
        await cache.get(1)
    with pytest.raises(ClientClosed):
        await cache.get_many([1])
    assert not stats(cache).confirmed
    await client.close()


async def test_no_permission_means_no_memory(
    hf: AsyncHoldfast, site: Site, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the rights everything works, but nothing is served from memory."""
    if f"{site.namespace}:" not in site.url:
        pytest.skip("the user may do everything here")
    rule = acl_rule(site.namespace)
    site.client.execute_command("ACL", "SETUSER", site.namespace, *rule.split(), "on", ">secret")
    cache = hf.row_cache("stock", source=table, near=True)

    async def refused() -> bool:
        assert (await cache.get(1)).value == {"id": 1, "left": 10}
        return "NOPERM" in stats(cache).problem

    await eventually_async(refused)
    assert stats(cache).hits == 0
    assert not stats(cache).confirmed
    assert stats(cache).staleness is None
    await eventually_async(lambda: "acl_rule(…, near=True)" in caplog.text)
    titles = [finding.title for finding in await hf.diagnose()]
    assert any("CLIENT TRACKING" in title for title in titles), titles


async def test_the_rights_suffice(hf: AsyncHoldfast, site: Site, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    await hit(cache, 1)
    assert not [each for each in await hf.diagnose() if "TRACKING" in each.title]


async def test_wrong_options(hf: AsyncHoldfast) -> None:
    with pytest.raises(TypeError, match="near must be True, False or Near"):
        hf.row_cache("stock", near=64)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_bytes must be an int"):
        Near(max_bytes=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_bytes must be 65,536 to"):
        Near(max_bytes=100)
    with pytest.raises(ValueError, match="max_age must be longer than 0"):
        Near(max_age=0)
    assert pickle.loads(pickle.dumps(Near())) == Near()
    for n in range(1000):
        hf.row_cache(f"c{n}", near=True)
    with pytest.raises(ValueError, match="at most 1,000 near caches"):
        hf.row_cache("one more", near=True)


async def test_codecs(hf: AsyncHoldfast, table: Table) -> None:
    table.rows["text"] = "a plain text"
    cache = hf.row_cache("stock", source=table, codec=JSON, near=True)
    first = await hit(cache, "text")
    assert first.value == "a plain text"
    assert (await hit(cache, "text")).value is (await hit(cache, "text")).value
