"""Databases and servers that go away and come back, refreshers that are killed."""

import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Holdfast, LoadFailed, RowCache, ServerUnavailable, SqlRows
from rows.postgres import Postgres
from rows.running import running

REFRESHER = Path(__file__).with_name("refresher.py")
PATIENCE_S = 5.0
SLOW_S = 10.0  # what a busy machine may add


@contextmanager
def readers(cache: RowCache, ids: range) -> Iterator[Counter[str]]:
    """Read the rows *ids* and an absent one in threads, and yield a count of the results.

    Results that must not occur, and late ones, are counted under `wrong …`.
    """
    answers: Counter[str] = Counter()
    stopped = threading.Event()

    def read(n: int) -> None:
        while not stopped.wait(0.005):
            began = time.monotonic()
            try:
                row = cache.get(n, timeout=PATIENCE_S)
                answers[row.state] += 1
            except (LoadFailed, ServerUnavailable) as error:
                answers[type(error).__name__] += 1
            except Exception as error:  # noqa: BLE001 (any other error is a failure)
                answers[f"wrong {error!r}"] += 1
            if time.monotonic() - began > PATIENCE_S + SLOW_S:
                answers["wrong: late"] += 1

    threads = [threading.Thread(target=read, args=(n,)) for n in (*ids, 10_000)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def wrong(answers: Counter[str]) -> list[str]:
    return [word for word in answers if word.startswith("wrong")]


@pytest.mark.parametrize("gone_s", [2.0, pytest.param(30.0, marks=pytest.mark.long)])
def test_a_database_that_is_killed(standalone: Server, gone_s: float) -> None:
    """Readers get stale rows or a documented error; the refresher continues afterwards."""
    table = sa.Table(
        "stock",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("n", sa.Integer),
    )
    with (
        Postgres() as postgres,
        Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf,
    ):
        engine = sa.create_engine(postgres.url(), connect_args={"connect_timeout": 3})
        table.create(engine)
        with engine.begin() as connection:
            connection.execute(sa.insert(table), [{"id": n, "n": 1} for n in range(5)])
        cache = hf.row_cache("stock", source=SqlRows(engine, table, key="id"), ttl=0.2)
        cache.schedule_many(dict.fromkeys(range(5), 0.1))
        with running(cache), readers(cache, range(5)) as answers:
            eventually(lambda: answers["fresh"] > 20 and answers["absent"])
            postgres.kill()
            eventually(lambda: answers["stale"] > 20)
            time.sleep(gone_s)
            assert cache.status().source_error
            before = answers["fresh"]
            postgres.start()
            with engine.begin() as connection:
                connection.execute(sa.update(table).values(n=2))
            eventually(lambda: answers["fresh"] > before + 20)
            eventually(lambda: cache.get(1).value == {"id": 1, "n": 2})
            eventually(lambda: not cache.status().source_error)
        assert wrong(answers) == []
        engine.dispose()


def stock_of(postgres: Postgres) -> sa.Table:
    """Create a table with a few rows that only this test uses."""
    table = sa.Table(
        f"stock_{secrets.token_hex(4)}",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("n", sa.Integer),
    )
    engine = sa.create_engine(postgres.url())
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(table), [{"id": n, "n": 1} for n in range(5)])
    engine.dispose()
    return table


def test_a_database_that_hangs(standalone: Server, postgres: Postgres) -> None:
    table, engine = stock_of(postgres), sa.create_engine(postgres.url())
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        source = SqlRows(engine, table, key="id")
        cache = hf.row_cache("stock", source=source, lease=1.0, ttl=0.01)
        cache.schedule(1, every=0.05)
        with running(cache):
            eventually(lambda: cache.get(1).value and cache.get(2).value)
            with postgres.paused():
                eventually(lambda: cache.get(1).state == "stale")
                assert cache.get(1, timeout=0.5).value == {"id": 1, "n": 1}
                assert cache.get(1, timeout=0.5, max_age=0).state == "stale"
                assert cache.get(2, timeout=0.5).state == "stale"
                with pytest.raises(LoadFailed, match="row 3 of row cache 'stock'"):
                    cache.get(3, timeout=0.5)
                eventually(lambda: "longer than 1 s" in cache.status().source_error)
            eventually(lambda: cache.get(1).state == "fresh")
            eventually(lambda: not cache.status().source_error)
            assert cache.get(3, timeout=30).value == {"id": 3, "n": 1}
    engine.dispose()


@pytest.mark.parametrize("kind", ["blocking engine", "async engine"])
async def test_a_database_that_hangs_under_asyncio(
    standalone: Server, postgres: Postgres, kind: str
) -> None:
    table = stock_of(postgres)
    engine: Any = (create_async_engine if kind == "async engine" else sa.create_engine)(
        postgres.url()
    )
    namespace = secrets.token_hex(4)
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        cache = hf.row_cache("stock", source=SqlRows(engine, table, key="id"), lease=1.0, ttl=0.01)
        await cache.get(2)
        with postgres.paused():

            async def stale() -> bool:
                return (await cache.get(2, timeout=0.5)).state == "stale"

            await eventually_async(stale)
            began = time.monotonic()
            with pytest.raises(LoadFailed, match="row 3 of row cache 'stock'"):
                await cache.get(3, timeout=0.5)
            assert time.monotonic() - began < 6 * SLOW_S
            await cache.schedule(4, every=1000)
            assert (await cache.refresh_due()).source_error == "it took longer than 1 s"

        async def back() -> bool:
            with suppress(LoadFailed):
                return (await cache.get(3, timeout=5)).value == {"id": 3, "n": 1}
            return False

        await eventually_async(back)
    disposed = engine.dispose()
    if kind == "async engine":
        await disposed


@pytest.mark.parametrize("gone_s", [1.0, pytest.param(10.0, marks=pytest.mark.long)])
def test_a_server_that_is_killed(fresh_server: Server, tmp_path: Path, gone_s: float) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'shop.db'}")
    table = sa.Table("stock", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True))
    table.create(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(table), [{"id": n} for n in range(5)])
    url = f"{fresh_server.url}?socket_timeout={PATIENCE_S}"
    with Holdfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        cache = hf.row_cache("stock", source=SqlRows(engine, table, key="id"))
        cache.schedule_many(dict.fromkeys(range(5), 0.1))
        with running(cache), readers(cache, range(5)) as answers:
            eventually(lambda: answers["fresh"] > 20)
            fresh_server.kill()
            eventually(lambda: answers["ServerUnavailable"] > 20)
            time.sleep(gone_s)
            before = answers["fresh"]
            fresh_server.start()
            eventually(lambda: answers["fresh"] > before + 20)
            eventually(lambda: cache.status().lag < 1)
        assert wrong(answers) == []
    engine.dispose()


@pytest.mark.long
def test_one_of_four_refreshers_is_killed(standalone: Server, tmp_path: Path) -> None:
    namespace, every_s, lease_s, rows = secrets.token_hex(4), 1.0, 2.0, 60
    with ExitStack() as stack:
        hf = stack.enter_context(Holdfast.from_url(standalone.url, namespace=namespace))
        args = (REFRESHER, standalone.url, namespace, tmp_path)
        processes = [
            stack.enter_context(Process.python(*args, name=f"refresher {n}")) for n in range(4)
        ]
        for refresher in processes:
            refresher.wait_for_output("ready", 60)
        hf.row_cache("stock").schedule_many(dict.fromkeys(range(rows), every_s))
        for victim in processes[:3]:
            time.sleep(3)
            victim.kill()
        time.sleep(5)
        status = hf.row_cache("stock").status()
        assert status.scheduled == rows
    seen: defaultdict[int, list[float]] = defaultdict(list)
    for file in tmp_path.glob("loads-*"):
        for line in file.read_text().splitlines():
            if line.endswith(";"):  # the last one may be cut
                at, *ids = line[:-1].split()
                for row_id in ids:
                    seen[int(row_id)].append(float(at))
    assert len(seen) == rows
    for row_id, times in seen.items():
        times.sort()
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert max(gaps) < every_s * 1.1 + lease_s + 1, (row_id, gaps)
        assert min(gaps) > every_s * 0.8, (row_id, gaps)
