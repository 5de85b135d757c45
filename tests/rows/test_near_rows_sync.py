# Generated from test_near_rows_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Rows in the memory of the process (`near=`), as users see them."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    JSON,
    CachedRow,
    ClientClosed,
    DecodeError,
    Holdfast,
    Near,
    NearStats,
    acl_rule,
)
from holdfast.core.concurrency._sync.primitives import sleep
from holdfast.rows._sync.row_cache import RowCache
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
def other(site: Site) -> Iterator[Holdfast]:
    """Yield a client of another process, as far as Holdfast knows."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as client:
        yield client


def stats(cache: RowCache) -> NearStats:
    return cache.near_stats()


def hit(cache: RowCache, row_id: Any, **options: Any) -> CachedRow:
    """Read a row until it comes from memory, and return it."""

    def from_memory() -> list[CachedRow]:
        before = stats(cache).hits
        row = cache.get(row_id, **options)
        return [row] if stats(cache).hits > before else []

    return (eventually(from_memory))[0]


def test_a_row_is_served_from_memory(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    first = cache.get(1)
    row = hit(cache, 1)
    assert (row.value, row.state) == (first.value, "fresh")
    assert row.age is not None
    assert 0 <= row.age < 60
    eventually(lambda: stats(cache).confirmed)  # a cluster confirms each primary alone
    before = stats(cache)
    assert before.problem == ""
    for _ in range(10):
        assert cache.get(1) == CachedRow(first.value, pytest.approx(row.age, abs=60), "fresh")
    after = stats(cache)
    assert after.server_hits == before.server_hits
    assert after.loads == 1
    assert (after.entries, after.bytes) == (1, before.bytes)
    assert 0 < after.bytes < 2000
    assert table.asked == [(1,)]


def test_another_process_invalidates(hf: Holdfast, other: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    hit(cache, 1)
    table.rows[1] = {"id": 1, "left": 0}
    other.row_cache("stock").invalidate(1)

    def seen() -> bool:
        return (cache.get(1)).value == {"id": 1, "left": 0}

    eventually(seen)
    assert stats(cache).invalidated >= 1
    assert (hit(cache, 1)).value == {"id": 1, "left": 0}


def test_ones_own_writes_are_seen_at_once(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    cache.get(1)
    for n in range(30):
        if n % 10 == 0:
            hit(cache, 1)
        table.rows[1] = {"left": n}
        cache.invalidate(1)
        for _ in range(3):
            assert (cache.get(1)).value == {"left": n}
    hit(cache, 1)
    cache.schedule(1, every=3600)
    hit(cache, 1)
    table.rows[1] = {"left": -1}
    cache.unschedule(1)
    assert (cache.get(1)).value == {"left": -1}


def test_a_refresh_by_this_process_is_seen_at_once(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    cache.schedule(1, every=0.01)
    cache.refresh_due()
    hit(cache, 1)
    table.rows[1] = {"left": -1}

    def refreshed() -> int:
        return (cache.refresh_due()).stored

    eventually(refreshed)
    assert (cache.get(1)).value == {"left": -1}


def test_many_rows(hf: Holdfast, other: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, shards=4, near=True)
    wanted = {n: table.rows.get(n) for n in (*range(1, 10), 77)}

    def all_from_memory() -> bool:
        before = stats(cache).hits
        rows = cache.get_many(wanted)
        assert {row_id: row.value for row_id, row in rows.items()} == wanted
        assert list(rows) == list(wanted)
        return stats(cache).hits == before + len(wanted)

    eventually(all_from_memory)
    assert table.asked == [tuple(table.asked[0])]
    table.rows[5] = {"id": 5, "left": -1}
    other.row_cache("stock").invalidate(5, 6)

    def seen() -> bool:
        return (cache.get_many(wanted))[5].value == {"id": 5, "left": -1}

    eventually(seen)


def test_an_absent_row_is_kept_as_well(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    row = hit(cache, 77)
    assert (row.value, row.state, bool(row)) == (None, "absent", False)
    table.rows[77] = {"left": 1}
    cache.invalidate(77)
    assert (cache.get(77)).value == {"left": 1}


def test_only_fresh_rows_are_served_from_memory(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, ttl=1.0, near=True)
    row = hit(cache, 1)
    assert row.age is not None
    assert row.age <= 1.0
    table.rows[1] = {"left": -1}

    def loaded_again() -> bool:
        return (cache.get(1)).value == {"left": -1}

    eventually(loaded_again)


def test_a_reader_may_want_younger_rows(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    hit(cache, 1)
    table.rows[1] = {"left": -1}
    sleep(0.01)
    assert (cache.get(1, max_age=0.005)).value == {"left": -1}


def test_near_max_age(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=Near(max_age=0.05))
    hit(cache, 1)
    before = stats(cache).server_hits

    def read_again() -> bool:
        cache.get(1)
        return stats(cache).server_hits > before

    eventually(read_again)
    assert table.asked == [(1,)]


def test_readers_do_not_share_what_they_can_change(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    row = hit(cache, 1)
    row.value["left"] = "changed by its reader"
    assert (hit(cache, 1)).value == {"id": 1, "left": 10}
    shared = hf.row_cache("shared", source=table, near=Near(share=True))
    hit(shared, 1)
    assert (hit(shared, 1)).value is (hit(shared, 1)).value
    objects = hf.row_cache("shared", source=table, into=Stock, near=Near(share=True))
    assert (hit(objects, 1)).value == Stock(1, 10)
    assert (hit(shared, 1)).value == {"id": 1, "left": 10}


def test_a_row_that_cannot_be_decoded(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    hit(cache, 1)
    strange = hf.row_cache("stock", source=table, into=dict[str, str], near=True)
    with pytest.raises(DecodeError, match="row 1 of row cache 'stock'"):
        strange.get(1)
    with pytest.raises(DecodeError, match="row 1 of row cache 'stock'"):
        strange.get_many([1])


def test_all_objects_for_a_cache_share_its_memory(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    hit(cache, 1)
    again = hf.row_cache("stock", near=Near(max_bytes=2**20))
    before = stats(again)
    assert before.max_bytes == 2**20
    assert (again.get(1)).value == {"id": 1, "left": 10}
    assert stats(cache).hits == before.hits + 1
    assert hf.row_cache("stock").near_stats().problem == "this object was made without near="
    assert hf.row_cache("other", near=True).near_stats() != stats(cache)


def test_the_memory_is_bounded(hf: Holdfast) -> None:
    table = Table({n: {"text": "x" * 1000} for n in range(300)})
    cache = hf.row_cache("large", source=table, near=Near(max_bytes=2**17))
    hit(cache, 0)

    def read_all() -> bool:
        """Read what fits and what does not. A value is not kept if news of its load come late."""
        cache.get_many(range(300))
        return stats(cache).evicted > 100

    eventually(read_all)
    found = stats(cache)
    assert 2**16 < found.bytes <= 2**17 == found.max_bytes
    assert 50 < found.entries < 130


def test_a_closed_client_serves_nothing(site: Site, table: Table) -> None:
    client = Holdfast.from_url(site.url, namespace=site.namespace)
    cache = client.row_cache("stock", source=table, near=True)
    hit(cache, 1)
    client.close()
    with pytest.raises(ClientClosed):
        cache.get(1)
    with pytest.raises(ClientClosed):
        cache.get_many([1])
    assert not stats(cache).confirmed
    client.close()


def test_no_permission_means_no_memory(
    hf: Holdfast, site: Site, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the rights everything works, but nothing is served from memory."""
    if f"{site.namespace}:" not in site.url:
        pytest.skip("the user may do everything here")
    rule = acl_rule(site.namespace)
    site.client.execute_command("ACL", "SETUSER", site.namespace, *rule.split(), "on", ">secret")
    cache = hf.row_cache("stock", source=table, near=True)

    def refused() -> bool:
        assert (cache.get(1)).value == {"id": 1, "left": 10}
        return "NOPERM" in stats(cache).problem

    eventually(refused)
    assert stats(cache).hits == 0
    assert not stats(cache).confirmed
    assert stats(cache).staleness is None
    eventually(lambda: "acl_rule(…, near=True)" in caplog.text)
    titles = [finding.title for finding in hf.diagnose()]
    assert any("CLIENT TRACKING" in title for title in titles), titles


def test_the_rights_suffice(hf: Holdfast, site: Site, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, near=True)
    hit(cache, 1)
    assert not [each for each in hf.diagnose() if "TRACKING" in each.title]


def test_wrong_options(hf: Holdfast) -> None:
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


def test_codecs(hf: Holdfast, table: Table) -> None:
    table.rows["text"] = "a plain text"
    cache = hf.row_cache("stock", source=table, codec=JSON, near=True)
    first = hit(cache, "text")
    assert first.value == "a plain text"
    assert (hit(cache, "text")).value is (hit(cache, "text")).value
