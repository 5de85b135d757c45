"""Many readers of an uncached row: one of them loads it, also after failures."""

import asyncio
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from conftest import Site
from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.urls import patient
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, CachedRow, Holdfast, LoadFailed, RowCache
from holdfast.rows import keys
from rows.postgres import Postgres
from rows.table import Table

READER = Path(__file__).with_name("reader.py")


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


class Paused:
    """A source that waits until it is let, and returns what there was when it was asked."""

    def __init__(self) -> None:
        self.value: Any = {"n": "old"}
        self.asked: list[Any] = []
        self.here = threading.Event()
        self.go = threading.Event()

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        self.asked.append(tuple(ids))
        rows = dict.fromkeys(ids, self.value)
        self.here.set()
        self.go.wait(30)
        return rows


def reading(cache: RowCache, row_id: Any = 1, **options: Any) -> Callable[[], Any]:
    """Read in another thread; what waits for the row, or the error."""
    found: list[Any] = []

    def read() -> None:
        try:
            found.append(cache.get(row_id, **options))
        except LoadFailed as error:
            found.append(error)

    thread = threading.Thread(target=read)
    thread.start()

    def wait() -> Any:
        thread.join(40)
        return found[0]

    return wait


@pytest.mark.parametrize("processes", ["2", pytest.param("8", marks=pytest.mark.long)])
def test_many_readers_in_many_processes(
    standalone: Server, postgres: Postgres, processes: str
) -> None:
    namespace = secrets.token_hex(4)
    view = f"cold_{namespace}"
    engine = sa.create_engine(postgres.url())
    with engine.begin() as connection:
        rows = "generate_series(1, 9) AS n, pg_sleep(0.2)"
        connection.execute(
            sa.text(f"CREATE VIEW {view} AS SELECT n AS id, 10 * n AS n FROM {rows}")
        )
    engine.dispose()
    database = postgres.url() + "?options=-c%20log_statement%3Dall"
    where = standalone.url, namespace, database, view
    with Process.python(READER, processes, *where) as readers:
        assert readers.wait(110) == 0, readers.output
    assert len(re.findall(rf"\bFROM {view}\b", postgres.log)) == 1


async def test_a_thousand_tasks(site: Site) -> None:
    table = Table({n: {"n": n} for n in range(3)})
    url = patient(site.url, 60)
    async with AsyncHoldfast.from_url(url, namespace=site.namespace) as hf:
        cache = hf.row_cache("cold", source=table, shards=2)
        rows = await asyncio.gather(*(cache.get(n % 3, timeout=60) for n in range(600)))
        assert [row.value["n"] for row in rows] == [n % 3 for n in range(600)]
    assert sorted(row_id for asked in table.asked for row_id in asked) == [0, 1, 2]


STEPS = ["before the load", "in the load", "before it is stored"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("by", ["reader", "refresher"])
def test_what_was_read_before_is_not_stored_after(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, step: str, by: str
) -> None:
    source = Paused()
    cache = hf.row_cache("stock", source=source)
    here, go = (source.here, source.go) if step == "in the load" else _held(cache, step)
    if step != "in the load":
        source.go.set()
    if by == "reader":
        wait = reading(cache)
    else:
        cache.schedule(1, every=1000)
        thread = threading.Thread(target=cache.refresh_due)
        thread.start()
        wait = thread.join
    assert here.wait(30)
    source.value = {"n": "new"}
    with Holdfast.from_url(_url(hf), namespace=hf.namespace) as other:
        other.row_cache("stock").invalidate(1)
    go.set()
    row = wait()
    if by == "reader":
        assert isinstance(row, CachedRow)
        assert row.state == "uncached"
    stored = hf.row_cache("stock").get(1)
    assert stored.state == "uncached"
    assert cache.get(1).value == {"n": "new"}


def _held(cache: RowCache, step: str) -> tuple[threading.Event, threading.Event]:
    """Hold the next loader up before or after it asks the source."""
    here, go = threading.Event(), threading.Event()
    for part in (cache._read_through, cache._refresher):
        assert part is not None
        holder: Any = part._loader if step == "before the load" else part._store
        name = "load" if step == "before the load" else "commit"
        original = getattr(holder, name)

        def held(*args: Any, _original: Any = original) -> Any:
            here.set()
            go.wait(30)
            return _original(*args)

        setattr(holder, name, held)
    return here, go


def _url(hf: Holdfast) -> str:
    host, port = hf._resources.settings.addresses[0]
    return f"redis://{host}:{port}"


def test_every_waiting_reader_gets_a_loaded_row(hf: Holdfast) -> None:
    source = Paused()
    cache = hf.row_cache("stock", source=source)
    waits = [reading(cache, timeout=timeout) for timeout in (30, 30, 30, None, None)]
    assert source.here.wait(30)
    source.go.set()
    assert [wait().value for wait in waits] == [{"n": "old"}] * 5
    assert source.asked == [(1,)]


@pytest.mark.parametrize("terms", [{"max_age": 2.0}, {"ttl": 2.0}])
def test_a_load_that_takes_longer_than_a_row_stays_young(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, terms: dict[str, float]
) -> None:
    source, asked = Paused(), []
    cache = hf.row_cache("stock", source=source, ttl=terms.get("ttl", 60))
    claim = cache._store.claim_missing

    def counted(wanted: dict[str, int]) -> Any:
        asked.append(wanted)
        return claim(wanted)

    monkeypatch.setattr(cache._store, "claim_missing", counted)
    waits = [reading(cache, timeout=30, max_age=terms.get("max_age")) for _ in range(8)]
    assert source.here.wait(30)
    eventually(lambda: len(asked) >= 8)
    time.sleep(2.2)
    source.go.set()
    rows = [wait() for wait in waits]
    assert [(row.value, row.state) for row in rows] == [({"n": "old"}, "fresh")] * 8
    assert len(source.asked) <= 2  # who came two seconds after the first has another one


def poisoned(bad: range) -> tuple[Table, list[str]]:
    """Five hundred rows, in the order of their ids; some cannot be loaded."""
    ids = [f"{n:03}" for n in range(500)]
    rows = {row_id: {"n": row_id} for row_id in ids}
    return Table(rows | {ids[n]: ValueError("broken") for n in bad}), ids


def test_many_poisoned_rows(hf: Holdfast) -> None:
    bad = range(20, 60)
    table, ids = poisoned(bad)
    cache = hf.row_cache("stock", source=table)
    with pytest.raises(LoadFailed, match="ValueError: broken") as caught:
        cache.get_many(ids)
    assert set(caught.value.failures) == {ids[n] for n in bad}
    assert set(caught.value.rows) == set(ids) - set(caught.value.failures)
    cache.invalidate(*ids)
    cache.schedule_many(dict.fromkeys(ids, 1000))
    report = cache.refresh_due()
    assert (report.stored, report.failed, report.source_error) == (460, 40, "")


def test_more_poisoned_rows_than_good_ones(hf: Holdfast) -> None:
    table, ids = poisoned(range(100, 400))
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many(dict.fromkeys(ids, 1000))
    report = cache.refresh_due()
    assert (report.stored, report.source_error, report.next_due) == (200, "", 0)
    assert 40 < report.failed < 60
    assert len(table.asked) == 128
    assert cache.refresh_due().source_error == "ValueError: broken"
    assert len(table.asked) == 128 + 24


def test_a_loader_that_dies(standalone: Server, hf: Holdfast) -> None:
    source = Paused()
    dead = hf.row_cache("stock", source=source, lease=1.0)
    store = dead._store
    assert store.claim_missing({"1": 0})[0].answers == {
        "1": ("load", "")
    }  # and nothing more comes of it
    began = time.monotonic()
    row = hf.row_cache("stock", source=Table({1: {"n": 1}}), lease=1.0).get(1)
    assert row.value == {"n": 1}
    assert time.monotonic() - began > 0.5


def test_a_reader_stops_waiting_at_its_timeout(hf: Holdfast) -> None:
    source = Paused()
    cache = hf.row_cache("stock", source=source)
    wait = reading(cache, timeout=30)
    assert source.here.wait(30)
    with pytest.raises(LoadFailed, match="other processes have been loading it for too long"):
        cache.get(1, timeout=0.5)
    source.go.set()
    wait()
    source.go.clear()
    time.sleep(0.01)
    wait = reading(cache, timeout=30, max_age=0)
    eventually(lambda: len(source.asked) == 2)
    row = cache.get(1, max_age=0, timeout=0.5)
    assert (row.value, row.state) == ({"n": "old"}, "stale")
    source.go.set()
    assert wait().state == "fresh"


def test_loads_that_hang_do_not_pile_up(hf: Holdfast) -> None:
    source = Paused()
    cache = hf.row_cache("stock", source=source)
    errors: list[str] = []
    while not any("32 timed-out loads have not ended yet" in each for each in errors):
        try:
            cache.get(len(errors), timeout=0.02)
            errors.append("too busy to ask in so little time")
        except LoadFailed as error:
            errors.append(str(error))
    eventually(lambda: len(source.asked) == 32)
    hanging = [thread for thread in threading.enumerate() if thread.name == "holdfast load"]
    assert len(hanging) <= 32
    source.go.set()
    for thread in hanging:
        thread.join(30)

    def there() -> bool:
        with suppress(LoadFailed):
            return cache.get(7).value == {"n": "old"}
        return False

    eventually(there)


def test_a_failed_load_is_not_tried_by_every_reader(hf: Holdfast) -> None:
    table = Table({1: RuntimeError("broken")})
    cache = hf.row_cache("stock", source=table)
    for _ in range(20):
        with pytest.raises(LoadFailed, match="RuntimeError: broken"):
            cache.get(1)
    assert len(table.asked) < 20
    table.rows[1] = {"n": 1}

    def there() -> bool:
        try:
            return cache.get(1).value == {"n": 1}
        except LoadFailed:
            return False

    eventually(there)


async def test_a_reader_that_is_cancelled(standalone: Server) -> None:
    class Slow:
        asked = 0

        async def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
            self.asked += 1
            if self.asked == 1:
                await asyncio.sleep(60)
            return {row_id: {"n": self.asked} for row_id in ids}

    source = Slow()
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        cache = hf.row_cache("stock", source=source, lease=60.0)
        first = asyncio.create_task(cache.get(1))
        await eventually_async(lambda: source.asked)
        second = asyncio.create_task(cache.get(1, timeout=30))
        await asyncio.sleep(0.05)
        first.cancel()
        assert (await second).value == {"n": 2}
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_a_reader_that_is_cancelled_before_it_knows_that_it_is_to_load(
    standalone: Server, proxy: Proxy
) -> None:
    """The server had just leased the row to it: others need not wait until that lease ends."""
    async with AsyncHoldfast.from_url(proxy.url, namespace=secrets.token_hex(4)) as hf:
        cache = hf.row_cache("stock", source=Table({1: {"n": 1}, 2: {"n": 2}}), lease=60.0)
        await cache.get(2)  # scripts and shards are known now
        [shard] = await cache._store.shards()
        proxy.delay(1.0, "replies")
        reader = asyncio.create_task(cache.get(1))
        with standalone.client() as raw:
            await eventually_async(lambda: raw.zscore(keys.loads(shard.unit), "1"))
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        proxy.heal()
        assert (await cache.get(1, timeout=30)).value == {"n": 1}


def test_a_scheduled_row_that_is_stale_is_given_out(hf: Holdfast) -> None:
    """Readers must not rush to the database because a refresher is late."""
    table = Table({1: {"n": 1}})
    cache = hf.row_cache("stock", source=table)
    cache.schedule(1, every=0.01)
    cache.refresh_due()

    def stale() -> bool:
        return cache.get(1).state == "stale"

    eventually(stale)
    assert cache.get(1).value == {"n": 1}
    assert table.asked == [(1,)]
    assert "is stale" in str(cache.explain(1))
    eventually(lambda: "overdue by" in str(cache.explain(1)))


def test_a_stale_row_is_given_out_up_to_a_bound(hf: Holdfast) -> None:
    table = Table({1: {"n": 1}})
    cache = hf.row_cache("stock", source=table, stale_for=0)
    cache.schedule(1, every=0.01)
    cache.refresh_due()
    table.broken = ConnectionError("gone")

    def gone() -> bool:
        return hf.row_cache("stock").get(1).state == "uncached"

    eventually(gone)
    with pytest.raises(LoadFailed, match="gone"):
        cache.get(1)
