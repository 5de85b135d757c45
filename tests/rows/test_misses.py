"""Many who miss a row: one of them loads it, whatever happens to it."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from conftest import Site
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, CachedRow, Holdfast, LoadFailed, RowCache
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
        """The same for all."""
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


def test_a_thousand_readers_in_eight_processes(standalone: Server, tmp_path: Path) -> None:
    """One load for all of them."""
    namespace = secrets.token_hex(4)
    with ExitStack() as stack:
        args = (READER, standalone.url, namespace, tmp_path)
        readers = [stack.enter_context(Process.python(*args, name=f"reader {n}")) for n in range(8)]
        eventually(lambda: len(list(tmp_path.glob("ready-*"))) == 8, 60)
        (tmp_path / "go").touch()
        for reader in readers:
            assert reader.wait(90) == 0, reader.output
            assert "read 125" in reader.output
    assert (tmp_path / "loads").read_text() == "[7]\n"


async def test_a_thousand_tasks(site: Site) -> None:
    """Likewise, in one loop and in every topology."""
    table = Table({n: {"n": n} for n in range(3)})
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
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
    """The loader is held up at each step, and the row invalidated meanwhile."""
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
    for part in (cache._misses, cache._refresher):
        assert part is not None
        holder: Any = part._loader if step == "before the load" else part._shelf
        name = "load" if step == "before the load" else "commit"
        original = getattr(holder, name)

        def held(*args: Any, _original: Any = original) -> Any:
            here.set()
            go.wait(30)
            return _original(*args)

        setattr(holder, name, held)
    return here, go


def _url(hf: Holdfast) -> str:
    host, port = hf._settings.addresses[0]
    return f"redis://{host}:{port}"


def test_who_waits_is_told_at_once(hf: Holdfast) -> None:
    """When the row is there."""
    source = Paused()
    cache = hf.row_cache("stock", source=source)
    waits = [reading(cache, timeout=30) for _ in range(5)]
    assert source.here.wait(30)
    source.go.set()
    assert [wait().value for wait in waits] == [{"n": "old"}] * 5
    assert source.asked == [(1,)]


def test_a_loader_that_dies(standalone: Server, hf: Holdfast) -> None:
    """Its lease ends, and another one loads."""
    source = Paused()
    dead = hf.row_cache("stock", source=source, lease=1.0)
    shelf = dead._shelf
    assert shelf.take({"1": 0})[0].words == {"1": ("load", "")}  # and nothing more is heard of it
    began = time.monotonic()
    row = hf.row_cache("stock", source=Table({1: {"n": 1}}), lease=1.0).get(1)
    assert row.value == {"n": 1}
    assert time.monotonic() - began > 0.5


def test_who_waits_no_longer(hf: Holdfast) -> None:
    """Gets an error that says why, or the copy that there is."""
    source = Paused()
    cache = hf.row_cache("stock", source=source)
    wait = reading(cache, timeout=30)
    assert source.here.wait(30)
    with pytest.raises(LoadFailed, match="others have been loading it for too long"):
        cache.get(1, timeout=0.1)
    source.go.set()
    wait()
    source.go.clear()
    time.sleep(0.01)
    wait = reading(cache, timeout=30, max_age=0)
    eventually(lambda: len(source.asked) == 2)
    row = cache.get(1, max_age=0, timeout=0.1)
    assert (row.value, row.state) == ({"n": "old"}, "stale")
    source.go.set()
    assert wait().state == "fresh"


def test_what_failed_is_not_tried_by_everybody(hf: Holdfast) -> None:
    """For a second; then one tries again."""
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
    """Lets another one load at once."""

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
    """After that a reader has it loaded, if it can."""
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
