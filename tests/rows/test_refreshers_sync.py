# Generated from test_refreshers_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Refreshers keep rows fresh while they run."""

import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import DefinitionConflict, Holdfast, RowCache
from holdfast.core.concurrency._sync.primitives import Event, sleep
from holdfast.core.concurrency._sync.user_calls import call_with_timeout
from rows.running import running
from rows.table import Table


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    namespace = secrets.token_hex(4)
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


def test_it_wakes_for_what_is_scheduled(hf: Holdfast) -> None:
    table = Table({n: {"n": n} for n in range(10)})
    cache = hf.row_cache("stock", source=table, shards=3)
    cache.schedule(0, every=10_000)
    with running(cache):
        eventually(lambda: len(table.asked) == 1)
        cache.schedule_many({1: 10_000, 2: 10_000})
        eventually(lambda: sum(map(len, table.asked)) == 3)
        table.rows[0] = {"n": 100}
        cache.invalidate(0)
        eventually(lambda: sum(map(len, table.asked)) == 4)

    def fresh() -> bool:
        return (cache.get(0, timeout=0)).value == {"n": 100}

    eventually(fresh)


def test_rows_come_again_at_their_pace(hf: Holdfast) -> None:
    table = Table({n: {"n": n} for n in range(4)})
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many({0: 0.1, 1: 0.1, 2: 0.5, 3: 10_000})
    began = time.monotonic()
    with running(cache):
        eventually(lambda: table.times(0) >= 10)
        took_s = time.monotonic() - began
        counts = [table.times(n) for n in range(4)]
    assert counts[1] >= 5
    assert 1 <= counts[2] <= 2 + took_s / 0.45  # jitter is a tenth
    assert counts[3] == 1


def test_it_survives_its_source(hf: Holdfast) -> None:
    table = Table({1: {"n": 1}})
    cache = hf.row_cache("stock", source=table)
    cache.schedule(1, every=0.05)
    with running(cache):
        eventually(lambda: table.times(1) >= 2)
        table.broken = ConnectionError("gone")

        def troubled() -> bool:
            return (cache.status()).source_error == "ConnectionError: gone"

        eventually(troubled)
        before, began = table.times(1), time.monotonic()
        sleep(0.5)
        asked = table.times(1) - before
        assert asked <= 2 + 2 * (time.monotonic() - began)  # it is asked less and less often
        assert (cache.get(1)).value == {"n": 1}
        table.rows[1] = {"n": 2}
        table.broken = None

        def fresh() -> bool:
            return (cache.get(1)).value == {"n": 2}

        eventually(fresh)
        assert (cache.status()).source_error == ""


def test_it_survives_the_server(proxy: Proxy) -> None:
    table = Table({1: {"n": 1}})
    url = f"{proxy.url}?socket_timeout=1"
    with Holdfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        cache = hf.row_cache("stock", source=table)
        cache.schedule(1, every=0.05)
        with running(cache):
            eventually(lambda: table.times(1) >= 2)
            with proxy.refuse():
                proxy.cut()
                sleep(0.7)
            before = table.times(1)
            eventually(lambda: table.times(1) > before + 1)


def test_four_share_the_work(hf: Holdfast, standalone: Server) -> None:
    tables = [Table({n: {"n": n} for n in range(2000)}) for _ in range(4)]
    caches = []
    clients = []
    for table in tables:
        clients.append(Holdfast.from_url(standalone.url, namespace=hf.namespace))
        caches.append(clients[-1].row_cache("stock", source=table))
    with (
        running(caches[0]),
        running(caches[1]),
        running(caches[2]),
        running(caches[3]),
    ):
        caches[0].schedule_many(dict.fromkeys(range(2000), 10_000))
        reader = hf.row_cache("stock")

        def done() -> bool:
            return (reader.status()).due == 0 and sum(map(Table.count, tables)) >= 2000

        eventually(done)
    for client in clients:
        client.close()
    asked = [row_id for table in tables for part in table.asked for row_id in part]
    assert sorted(asked) == list(range(2000))


def test_a_stopped_refresher_ends(hf: Holdfast) -> None:
    cache = hf.row_cache("stock", source=Table({}))
    cache.stop()
    call_with_timeout(60, cache.run, left=set())
    with running(cache) as begun:
        begun()
        with pytest.raises(RuntimeError, match="already runs, for row cache 'stock'"):
            cache.run()


def test_a_definition_conflict_ends_a_refresher(hf: Holdfast) -> None:
    hf.row_cache("stock", source=Table({}), shards=2).refresh_due()
    with pytest.raises(DefinitionConflict):
        hf.row_cache("stock", source=Table({}), shards=3, on_conflict="error").run()


class Gate:
    """A source that loads only when it is let."""

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}
        self.here = Event()
        self.open = Event()

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        rows = {row_id: self.rows[row_id] for row_id in ids}
        self.here.set()
        self.open.wait(60)
        return rows


@pytest.mark.parametrize("change", ["invalidate", "unschedule"])
def test_what_was_read_before_is_not_stored_after(hf: Holdfast, change: str) -> None:
    """The load began, then the row was invalidated, then the load ended."""
    gate = Gate()
    gate.rows = {1: {"n": "old"}}
    cache: RowCache = hf.row_cache("stock", source=gate)
    cache.schedule(1, every=10_000)
    with running(cache):
        assert gate.here.wait(60)
        gate.rows = {1: {"n": "new"}}
        if change == "invalidate":
            cache.invalidate(1)
        else:
            cache.unschedule(1)
        gate.open.set()
        if change == "invalidate":

            def stored() -> bool:
                return (cache.get(1, timeout=0)).state == "fresh"

            eventually(stored)
    row = cache.get(1, timeout=0)
    assert row.value == ({"n": "new"} if change == "invalidate" else None)
