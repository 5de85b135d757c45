"""A namespace stores the version of its layout, and clients that cannot read it refuse."""

import copy
import pickle
from collections.abc import AsyncIterator

import pytest

from conftest import Site
from faults.monitor import watching
from faults.servers import Server
from holdfast import (
    AsyncHoldfast,
    DamagedData,
    ServerRefused,
    TaskRegistry,
    UnsupportedLayout,
    WorkerCannotStart,
)
from holdfast.core import layout
from holdfast.core._async.layout_check import AsyncLayoutCheck
from holdfast.core.names import Namespace

tasks = TaskRegistry()


@tasks.task(queue="email")
def send(n: int) -> None:
    del n


def key_of(site: Site) -> str:
    return layout.version(layout.unit_of(Namespace.of(site.namespace)))


def layout_check(hf: AsyncHoldfast) -> AsyncLayoutCheck:
    return hf._resources.caller.sessions.get().layout


async def check_again(hf: AsyncHoldfast) -> None:
    """Have the next call check again, as after a minute, and wait for the check."""
    check = layout_check(hf)
    check.due_at, check.reads_due_at = min(check.due_at, 0.0), min(check.reads_due_at, 0.0)
    await hf.queue("email").stats()
    await check._later.outcome()


@pytest.fixture
async def server_hf(fresh_server: Server) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(fresh_server.url, namespace="own") as hf:
        yield hf


async def test_the_first_write_stores_the_version(site: Site, hf: AsyncHoldfast) -> None:
    await hf.queue("email").stats()
    assert await hf.layout_version() is None  # who only reads leaves no key in a misspelt namespace
    assert not site.client.exists(key_of(site))
    await hf.enqueue(send.call(1))
    assert site.client.get(key_of(site)) == b"1"
    assert site.client.ttl(key_of(site)) == -1
    assert await hf.layout_version() == layout.VERSION == 1


async def test_a_newer_layout_is_refused(site: Site, hf: AsyncHoldfast) -> None:
    site.client.set(key_of(site), layout.VERSION + 1)
    with pytest.raises(
        UnsupportedLayout, match=f"{site.namespace}.* version 2, .* version 1: install a newer"
    ):
        await hf.enqueue(send.call(1))
    with pytest.raises(UnsupportedLayout):
        await hf.enqueue_many(send.call(n) for n in range(3))
    with pytest.raises(UnsupportedLayout):
        await hf.queue("email").stats()
    with pytest.raises(UnsupportedLayout):
        await hf.queues()
    with pytest.raises(UnsupportedLayout):
        await hf.lock("item").acquire(timeout=1.0)
    with pytest.raises(UnsupportedLayout):
        await hf.audit()
    with pytest.raises(UnsupportedLayout) as raised:
        await hf.mailbox("jill").send("hi", sender="jack")
    error = raised.value
    assert (error.namespace, error.stored) == (site.namespace, 2)
    assert (error.oldest, error.newest) == (1, 1)
    assert error.rejection == "layout"
    assert str(copy.copy(error)) == str(pickle.loads(pickle.dumps(error))) == str(error)
    assert await hf.layout_version() == 2
    assert set(site.client.scan_iter(f"{site.namespace}:*")) == {key_of(site).encode()}


async def test_a_running_client_notices_a_newer_layout(site: Site, hf: AsyncHoldfast) -> None:
    lock = hf.lock("item")
    for _ in range(2):  # the second one takes the fast path
        async with lock.hold():
            await hf.enqueue(send.call(1))
    site.client.set(key_of(site), 2)
    await check_again(hf)
    with pytest.raises(UnsupportedLayout):
        await lock.acquire(timeout=1.0)
    with pytest.raises(UnsupportedLayout):
        await hf.enqueue(send.call(2))
    site.client.set(key_of(site), 1)  # it was set back: there is nothing to restart
    async with lock.hold(timeout=10.0):
        await hf.enqueue(send.call(2))


async def test_an_older_layout_is_read_or_refused(
    site: Site, hf: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a program that writes version 3; the number changes only when data are converted."""
    monkeypatch.setattr(layout, "VERSION", 3)
    site.client.set(key_of(site), 1)
    await hf.enqueue(send.call(1))
    assert site.client.get(key_of(site)) == b"1"
    await hf.close()
    monkeypatch.setattr(layout, "OLDEST", 2)
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other:
        lock = other.lock("item")
        with pytest.raises(UnsupportedLayout, match="can read versions 2 to 3: convert the data"):
            await lock.acquire(timeout=1.0)


async def test_a_worker_does_not_start_on_a_newer_layout(site: Site, hf: AsyncHoldfast) -> None:
    site.client.set(key_of(site), 2)
    with pytest.raises(
        WorkerCannotStart, match=r"version 2.*install a version of holdfast that can read it"
    ):
        await hf.worker(tasks).run(until_idle=True)


async def test_a_lost_version_is_stored_again(site: Site, hf: AsyncHoldfast) -> None:
    """The server may lose it: FLUSHALL, a restart without persistence, a failover."""
    await hf.enqueue(send.call(1))
    site.client.delete(key_of(site))
    await check_again(hf)
    await hf.queue("email").stats()
    await hf.enqueue(send.call(2))
    assert site.client.get(key_of(site)) == b"1"


@pytest.mark.parametrize("content", ["", "0", "-1", "one", "01", "9" * 30])
async def test_a_damaged_version_is_named(site: Site, hf: AsyncHoldfast, content: str) -> None:
    site.client.set(key_of(site), content)
    with pytest.raises(DamagedData, match="version is not a version"):
        await hf.enqueue(send.call(1))


async def test_calls_do_not_read_the_version(
    fresh_server: Server, server_hf: AsyncHoldfast
) -> None:
    """One read with the first call, and one write in the life of a namespace."""
    with watching(fresh_server) as watch:
        for n in range(20):
            await server_hf.enqueue(send.call(n))
            async with server_hf.lock(f"item {n % 3}").hold():
                await server_hf.queue("email").stats()
    asked = [words[0] for _, words in watch.commands if "own:{layout:%}:version" in words]
    assert asked == ["GET", "SET"]
    async with AsyncHoldfast.from_url(fresh_server.url, namespace="own") as other:
        again = send.call(1)
        with watching(fresh_server) as watch:
            await other.enqueue(again)
            await other.enqueue(again)
    asked = [words[0] for _, words in watch.commands if "own:{layout:%}:version" in words]
    assert asked == ["GET"]


async def test_a_full_server_gives_its_own_reason(
    fresh_server: Server, server_hf: AsyncHoldfast
) -> None:
    fresh_server.execute("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(ServerRefused, match="OOM"):
        await server_hf.enqueue(send.call(1))
    assert (await server_hf.queue("email").stats()).ready == 0
    fresh_server.execute("CONFIG", "SET", "maxmemory", "0")
    await server_hf.enqueue(send.call(1))
    await check_again(server_hf)
    await server_hf.enqueue(send.call(2))
    assert await server_hf.layout_version() == 1


async def test_the_audit_names_the_version(hf: AsyncHoldfast) -> None:
    assert (await hf.audit()).layout is None
    await hf.enqueue(send.call(1))
    report = await hf.audit()
    assert (report.layout, report.damages) == (1, ())
