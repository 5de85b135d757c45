# Generated from test_rows_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Cached rows, as one user sees them."""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    JSON,
    CachedRow,
    DecodeError,
    DefinitionConflict,
    Holdfast,
    LoadFailed,
    RefreshReport,
    RowCacheStatus,
)
from holdfast.core.concurrency._sync.primitives import sleep
from rows.table import Table


@pytest.fixture
def table() -> Table:
    return Table({n: {"id": n, "left": 10 * n} for n in range(1, 10)})


def test_a_row_is_loaded_once(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    row = cache.get(1)
    assert (row.value, row.state) == ({"id": 1, "left": 10}, "fresh")
    again = hf.row_cache("stock").get(1)
    assert (again.value, again.state) == (row.value, "fresh")
    assert again.age is not None
    assert 0 <= again.age < 60
    assert table.asked == [(1,)]
    assert hf.row_caches() == ["stock"]


def test_a_row_that_is_not_there(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    for _ in range(3):
        row = cache.get(77)
        assert (row.value, row.state, bool(row)) == (None, "absent", False)
    assert table.asked == [(77,)]
    soon = hf.row_cache("soon", source=table, ttl=0.05)
    soon.get(77)
    table.rows[77] = {"left": 1}

    def there() -> bool:
        return bool(soon.get(77))

    eventually(there)


def test_a_reader_without_a_source(hf: Holdfast, table: Table) -> None:
    reader = hf.row_cache("stock")
    assert reader.get(1) == CachedRow(None, None, "uncached")
    assert reader.get_many([1, 2]) == dict.fromkeys([1, 2], CachedRow(None, None, "uncached"))
    assert reader.status() == RowCacheStatus(0, 0, 0, 0, 0.0, "")
    assert hf.row_caches() == []
    with pytest.raises(ValueError, match="row cache 'stock' has no source"):
        reader.refresh_due()
    with pytest.raises(ValueError, match="has no source"):
        reader.stop()
    hf.row_cache("stock", source=table, shards=3).get(1)
    assert (reader.get(1)).value == {"id": 1, "left": 10}
    assert (hf.row_cache("stock", source=table).get(2, timeout=0)).state == "uncached"


def test_many_rows_are_loaded_together(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, shards=5)
    cache.get(3)
    rows = cache.get_many([*range(1, 8), 77, 3])
    assert {row_id: row.value and row.value["left"] for row_id, row in rows.items()} == {
        **{n: 10 * n for n in range(1, 8)},
        77: None,
    }
    assert [sorted(asked) for asked in table.asked] == [[3], [1, 2, 4, 5, 6, 7, 77]]
    assert cache.get_many([]) == {}


def test_very_many_rows_are_loaded_by_the_hundred(hf: Holdfast) -> None:
    table = Table({n: {"n": n} for n in range(1200)})
    cache = hf.row_cache("stock", source=table, shards=2)
    rows = cache.get_many(range(1250))
    assert [row.value for row in rows.values()] == [{"n": n} for n in range(1200)] + [None] * 50
    assert max(map(len, table.asked)) == 500
    assert table.count() == 1250


def test_ids_of_all_kinds(hf: Holdfast) -> None:
    """`1` and `"1"` are two rows, and so are tuples of them."""
    ids = [1, "1", (1,), ("1",), (1, "a"), ("eu", 7), "", "{}", "a:b c", "ü", -5]
    table = Table({row_id: {"is": repr(row_id)} for row_id in ids})
    cache = hf.row_cache("stock", source=table)
    for rows in (cache.get_many(ids), cache.get_many(ids)):
        assert {row_id: row.value["is"] for row_id, row in rows.items()} == {
            row_id: repr(row_id) for row_id in ids
        }
    assert len(table.asked) == 1


def test_values_are_json(hf: Holdfast, site: Site) -> None:
    """Loaded or cached, a row looks the same; a type of the user's brings the types back."""
    row = {
        "price": Decimal("12.50"),
        "day": date(2026, 11, 27),
        "at": datetime(2026, 11, 27, 8, tzinfo=UTC),
        "picture": b"\xff\x00",
        "key": UUID(int=7),
        "note": None,
        "big": 2**60,
    }
    plain = {
        "price": "12.50",
        "day": "2026-11-27",
        "at": "2026-11-27T08:00:00Z",
        "picture": "/wA=",
        "key": "00000000-0000-0000-0000-000000000007",
        "note": None,
        "big": 2**60,
    }

    @dataclass
    class Item:
        price: Decimal
        day: date
        at: datetime
        picture: bytes
        key: UUID
        note: str | None
        big: int

    cache = hf.row_cache("items", source=Table({1: row}))
    assert (cache.get(1)).value == plain
    assert (cache.get(1)).value == plain
    assert (hf.row_cache("items", into=Item).get(1)).value == Item(**row)  # type: ignore[arg-type]
    stored = site.client.get(f"{site.namespace}:{{rows:items/0}}:row:1")
    assert stored.split(b":", 3)[3].startswith(b'={"price":"12.50","day":"2026-11-27"')


class Upper:
    """A codec that keeps the name of a row, in capitals."""

    def encode(self, value: Any) -> bytes:
        return str(value["name"]).upper().encode()

    def decode(self, data: bytes, into: Any = Any) -> Any:
        return data.decode()


def test_a_codec_of_the_user(hf: Holdfast) -> None:
    cache = hf.row_cache("names", source=Table({1: {"name": "jill"}}), codec=Upper())
    assert (cache.get(1)).value == "JILL"
    assert (cache.get(1)).value == "JILL"


def test_the_codec_of_a_client_is_that_of_its_caches(site: Site) -> None:
    table = Table({1: {"name": "jill"}})
    options: Any = {"namespace": site.namespace, "codec": Upper()}
    with Holdfast.from_url(site.url, **options) as hf:
        assert (hf.row_cache("names", source=table).get(1)).value == "JILL"
        plain = hf.row_cache("plain", source=table, codec=JSON)
        assert (plain.get(1)).value == {"name": "jill"}


def test_a_scheduled_row_is_refreshed_at_its_pace(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    assert (cache.refresh_due()).next_due is None
    cache.schedule(1, every=0.5)
    cache.schedule(2, every=timedelta(hours=1))
    report = cache.refresh_due()
    assert report == RefreshReport(2, 2, 0, 0, 0, "", report.next_due)
    assert report.next_due is not None
    assert 0 <= report.next_due <= 0.55
    assert (cache.get(2)).state == "fresh"
    assert table.asked == [(1, 2)]
    table.rows[1] = {"id": 1, "left": 9}

    def refreshed() -> bool:
        return bool((cache.refresh_due()).selected)

    eventually(refreshed)
    assert (cache.get(1)).value["left"] == 9
    assert table.asked == [(1, 2), (1,)]


def test_saying_a_period_again_changes_nothing(hf: Holdfast, table: Table) -> None:
    """A hot path may do so; a shorter one takes effect, a longer one at the next time."""
    cache = hf.row_cache("stock", source=table)
    cache.schedule(1, every=1000)
    cache.refresh_due()
    cache.schedule(1, every=1000)
    assert (cache.refresh_due()).selected == 0
    assert 800 < ((cache.explain(1)).due_in or 0) < 1200
    cache.schedule(1, every=100)
    assert 50 < ((cache.explain(1)).due_in or 0) <= 100
    cache.schedule(1, every=5000)
    explained = cache.explain(1)
    assert explained.every == 5000
    assert 50 < (explained.due_in or 0) <= 100


def test_unscheduling_drops_the_copy(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, shards=2)
    cache.schedule_many({1: 10, 2: 10, 3: 10, 4: 10})
    assert (cache.refresh_due()).stored == 4
    cache.unschedule(1)
    cache.schedule(2, every=0)
    cache.schedule_many({3: -1, 4: 20})
    for row_id in (1, 2, 3):
        assert (cache.get(row_id, timeout=0)).state == "uncached"
        assert (cache.explain(row_id)).every is None
    assert (cache.get(4, timeout=0)).state == "fresh"
    assert (cache.status()).scheduled == 1


def test_a_row_without_its_period(hf: Holdfast, table: Table, site: Site) -> None:
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many({1: 0.05, 2: 0.05})
    cache.refresh_due()
    site.client.hdel(f"{site.namespace}:{{rows:stock/0}}:plan", "1")

    def gone() -> bool:
        cache.refresh_due()
        return (cache.status()).scheduled == 1

    eventually(gone)
    assert (cache.get(1, timeout=0)).state == "uncached"
    assert (cache.get(2, timeout=0)).value == {"id": 2, "left": 20}


@pytest.mark.parametrize("every", [float("nan"), float("inf"), -float("inf"), "5", None, True, 1e9])
def test_what_is_no_period(hf: Holdfast, every: Any) -> None:
    with pytest.raises(ValueError, match="every must be"):
        hf.row_cache("stock").schedule(1, every=every)


def test_an_unchanged_row_is_not_written_again(hf: Holdfast, table: Table, site: Site) -> None:
    cache = hf.row_cache("stock", source=table)
    cache.schedule(1, every=0.01)
    cache.refresh_due()
    key = f"{site.namespace}:{{rows:stock/0}}:row:1"
    before = site.client.get(key)
    sleep(0.3)
    assert (cache.refresh_due()).unchanged == 1
    assert site.client.get(key) == before
    age = (cache.get(1)).age
    written_ms = int(before.split(b":")[0])
    now_s, _ = (
        site.client.time() if site.server.url.startswith("redis://") else (written_ms / 1000 + 1, 0)
    )
    assert age is not None
    assert age < now_s - written_ms / 1000 + 1


def test_what_is_invalidated_is_gone(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    cache.schedule(1, every=1000)
    cache.refresh_due()
    cache.get(2)
    table.rows[1], table.rows[2] = {"left": 1}, {"left": 2}
    cache.invalidate(1, 2, 3)
    assert (cache.get(1, timeout=0)).state == "uncached"
    assert (cache.refresh_due()).stored == 1
    assert (cache.get(1)).value == {"left": 1}
    assert (cache.get(2)).value == {"left": 2}
    cache.invalidate()
    hf.row_cache("nothing").invalidate(1)


def test_how_old_a_row_may_be(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    cache.get(1)
    sleep(0.05)
    table.rows[1] = {"left": 5}
    assert (cache.get(1, max_age=60)).value == {"id": 1, "left": 10}
    old = hf.row_cache("stock").get(1, max_age=0.01)
    assert (old.value, old.state) == ({"id": 1, "left": 10}, "stale")
    assert (cache.get(1, max_age=timedelta(milliseconds=10))).value == {"left": 5}
    assert (cache.get(1)).value == {"left": 5}
    table.rows[1] = ConnectionError("the database is away")
    sleep(0.05)
    old = cache.get(1, max_age=0.01)
    assert (old.value, old.state) == ({"left": 5}, "stale")


def test_an_unscheduled_row_is_loaded_again(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, ttl=0.05, stale_for=1000)
    short = hf.row_cache("short", source=table, ttl=0.05, stale_for=0)
    cache.get(1)
    short.get(1)
    sleep(0.1)
    table.rows[1] = {"left": 9}
    assert (cache.get(1)).value == {"left": 9}
    sleep(0.1)
    table.rows[1] = ConnectionError("the database is away")
    row = cache.get(1)
    assert (row.value, row.state) == ({"left": 9}, "stale")
    with pytest.raises(LoadFailed, match=r"row 1 of row cache 'short' .* the database is away"):
        short.get(1)


def test_one_poisoned_row_does_not_harm_the_others(hf: Holdfast, table: Table) -> None:
    """It is recorded, and tried again; readers get the others."""
    cache = hf.row_cache("stock", source=table)
    table.rows[4] = RuntimeError("no such colour")
    table.rows[5] = {"x": float("nan")}
    table.rows[6] = {"x": "x" * 2_000_000}
    cache.schedule_many(dict.fromkeys(range(1, 10), 1000))
    report = cache.refresh_due()
    assert (report.selected, report.stored, report.failed, report.source_error) == (9, 6, 3, "")
    explained = cache.explain(4)
    assert (explained.failures, explained.error) == (1, "RuntimeError: no such colour")
    assert 0 < (explained.due_in or 0) < 60  # not in 1000 s
    assert "NaN" in (cache.explain(5)).error
    assert "PayloadTooLarge" in (cache.explain(6)).error
    assert (cache.status()).failing == 3
    with pytest.raises(LoadFailed) as caught:
        cache.get_many([3, 4, 6])
    assert set(caught.value.failures) == {4, 6}
    assert caught.value.rows[3].value == {"id": 3, "left": 30}
    table.rows[4] = {"left": 4}
    cache.invalidate(4)
    assert (cache.get(4)).value == {"left": 4}
    assert (cache.status()).failing == 2


def test_a_source_may_say_which_row_failed(hf: Holdfast) -> None:
    class Careful:
        def load(self, ids: Sequence[Any]) -> Any:
            return [1] if ids == (0,) else {1: {"a": 1}, 2: ValueError("broken")}

    cache = hf.row_cache("careful", source=Careful())
    assert (cache.get(1)).value == {"a": 1}
    with pytest.raises(LoadFailed, match="ValueError: broken"):
        cache.get(2)
    with pytest.raises(LoadFailed, match="load must return a mapping"):
        cache.get(0)


def test_a_source_that_is_away(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many({1: 0.01, 2: 1000})
    cache.refresh_due()
    table.rows[1] = ConnectionError("gone fishing")
    sleep(0.05)
    report = cache.refresh_due()
    assert (report.selected, report.failed, report.stored) == (1, 0, 0)
    assert report.source_error == "ConnectionError: gone fishing"
    assert (cache.get(1)).value == {"id": 1, "left": 10}
    assert (cache.explain(1)).source_error == "ConnectionError: gone fishing"
    assert "The source could not be called" in str(cache.explain(1))
    assert (cache.status()).source_error == "ConnectionError: gone fishing"
    with pytest.raises(LoadFailed, match="gone fishing"):
        cache.get_many([1, 3], max_age=0)
    table.rows[1] = {"left": 1}
    assert (cache.refresh_due()).stored == 1
    assert (cache.status()).source_error == ""


def test_a_source_that_fails_for_every_row(hf: Holdfast) -> None:
    class Broken:
        asked = 0

        def load(self, ids: Sequence[Any]) -> Any:
            self.asked += 1
            raise RuntimeError("no such column")

    source = Broken()
    cache = hf.row_cache("broken", source=source)
    cache.schedule_many(dict.fromkeys(range(500), 1000))
    report = cache.refresh_due()
    assert report.source_error == "RuntimeError: no such column"
    assert source.asked == 24
    assert report.failed < 16
    assert (cache.refresh_due()).selected > 480


def test_a_source_that_is_slow(hf: Holdfast, table: Table) -> None:
    class Slow:
        def load(self, ids: Sequence[Any]) -> Any:
            blocked.wait(20)
            return {1: {"a": 1}}

    blocked = threading.Event()
    cache = hf.row_cache("slow", source=Slow())
    for seconds in (1e-6, 0.2):  # the first is over before the server has answered
        with pytest.raises(LoadFailed, match="row 1 of row cache 'slow'"):
            cache.get(1, timeout=seconds)
    blocked.set()
    assert (cache.get(1)).value == {"a": 1}


def test_shards_are_kept_by_the_server(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, shards=4)
    cache.schedule_many(dict.fromkeys(range(1, 10), 1000))
    assert (cache.refresh_due()).stored == 9
    with pytest.raises(DefinitionConflict, match=r"'stock' is 4, not 2 .* cannot be changed"):
        hf.row_cache("stock", shards=2, on_conflict="error").get(1)
    assert hf.row_cache("stock", shards=2).get(1) is not None  # the stored number stays
    assert len(hf.row_cache("stock").get_many(range(1, 10))) == 9
    assert (hf.row_cache("stock").status()).scheduled == 9


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"shards": 0}, "shards must be 1 to 256"),
        ({"shards": 1.5}, "shards must be an int"),
        ({"lease": 0.5}, "lease must be at least 1 second"),
        ({"ttl": 0}, "ttl must be longer than 0"),
        ({"stale_for": -1}, "stale_for must be 0 seconds or more"),
        ({"stale_for": 1e9}, "stale_for must be a year at most"),
        ({"source": object()}, r"must have a method load\(ids\)"),
    ],
)
def test_terms_that_make_no_sense(hf: Holdfast, options: dict[str, Any], problem: str) -> None:
    with pytest.raises((ValueError, TypeError), match=problem):
        hf.row_cache("stock", **options)


@pytest.mark.parametrize("limit", [0, 501, 1.0, True])
def test_limits_that_make_no_sense(hf: Holdfast, table: Table, limit: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="limit must be"):
        hf.row_cache("stock", source=table).refresh_due(limit=limit)


def test_a_limit_is_kept(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many(dict.fromkeys(range(1, 10), 1000))
    report = cache.refresh_due(limit=4)
    assert (report.selected, report.next_due) == (4, 0)
    assert (cache.status()).due == 5
    assert len(table.asked[0]) == 4


def test_an_uncached_row_is_explained(hf: Holdfast, table: Table) -> None:
    text = "Row 1 is uncached. It is not scheduled, so it is loaded when a program reads it."
    assert str(hf.row_cache("stock").explain(1)) == text
    cache = hf.row_cache("stock", source=table)
    cache.schedule(1, every=1000)
    cache.refresh_due()
    assert re.search(r"Row 1 is fresh, read \d+\.", str(cache.explain(1)))
    assert "It is due every 1000 s, next in " in str(cache.explain(1))
    assert repr(cache) == "RowCache('stock')"


@pytest.mark.parametrize("garbage", [b"", b"x", b"1:2:3", b"a:b:c:={}", b"1:2:3:={", b"9e9:1:1:-"])
def test_garbage_is_an_error_with_a_name(hf: Holdfast, site: Site, garbage: bytes) -> None:
    cache = hf.row_cache("stock", source=Table({1: {"n": 1}}))
    cache.get(1)
    ahead_ms = 4_000_000_000_000  # so that it is young
    site.client.set(
        f"{site.namespace}:{{rows:stock/0}}:row:1",
        garbage.replace(b"1:2:3:", b"%d:9:9:" % ahead_ms),
    )
    reader = hf.row_cache("stock")
    if garbage:
        message = r"^row 1 of row cache 'stock' cannot be decoded: "
        with pytest.raises(DecodeError, match=message):
            reader.get(1)
        with pytest.raises(DecodeError, match=message):
            reader.get_many([1])
    else:
        assert (reader.get(1)).state == "uncached"
    cache.invalidate(1)
    assert (cache.get(1)).value == {"n": 1}


def test_scheduled_rows_are_listed_as_they_are_due(hf: Holdfast, table: Table) -> None:
    cache = hf.row_cache("stock", source=table, shards=3)
    assert hf.row_cache("stock").scheduled() == []
    assert (hf.row_cache("stock").status()).lag == 0
    cache.schedule_many({n: 60.0 * 2**n for n in range(1, 10)})  # jitter is a tenth
    cache.refresh_due()
    assert cache.scheduled() == list(range(1, 10))
    assert hf.row_cache("stock").scheduled(limit=2) == [1, 2]
