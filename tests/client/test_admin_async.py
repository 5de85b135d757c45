"""Listing, auditing and erasing what a namespace holds."""

import secrets
from typing import Final

import pytest

from client.background_worker import working
from conftest import Site
from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, Retry, TaskRegistry, acl_rule
from soundness import assert_sound

# A namespace is removed, and nothing else

tasks = TaskRegistry()


@tasks.task(queue="email")
def send() -> None: ...


async def filled(hf: AsyncHoldfast) -> None:
    """Write data of several blocks."""
    await hf.enqueue(send.call())
    await hf.counter("hits").add(1)
    await hf.mailbox("jack").send("x", sender="jill")
    await hf.completions("guild").add("Carla")
    await (await hf.lock("item").acquire()).release()


def keys_of(site: Site, namespace: str) -> int:
    return len(
        set(site.client.scan_iter(f"{namespace}:*", count=1000))
    )  # SCAN may return a key twice


async def test_a_namespace_is_removed(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await filled(hf)
        there = keys_of(site, site.namespace)
        assert there > 5
        assert await hf.erase_namespace() == there
        assert keys_of(site, site.namespace) == 0
        assert await hf.erase_namespace() == 0


async def test_other_namespaces_are_left_alone(standalone: Server) -> None:
    name = f"erase[*]{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=f"{name}-2") as other:
        other.counter("hits").add(1)
        async with AsyncHoldfast.from_url(standalone.url, namespace=name) as hf:
            await filled(hf)
            assert await hf.erase_namespace() > 5
        assert other.counter("hits").total(60) == 1
        assert other.erase_namespace() > 0


# Listings of names: as many as are asked for, and with a text in them

SPACE: Final = "listings"

NAMES: Final = 1_100

KINDS: Final = ("queue", "mailbox", "chat", "row_cache", "feed", "tally", "completions")


async def test_all_names_are_listed_that_are_asked_for(standalone: Server) -> None:
    with standalone.client() as client:
        for kind in KINDS:
            names = {f"n{n:04}": 1.0 + n for n in range(NAMES)}
            client.zadd(f"{SPACE}:{{catalog:{kind}}}:names", names)
    async with AsyncHoldfast.from_url(standalone.url, namespace=SPACE) as hf:
        listings = (hf.queues, hf.mailboxes, hf.chats, hf.row_caches, hf.file_feeds, hf.tallies)
        for names_of in (*listings, hf.known_completions):
            assert len(await names_of()) == 1_000
            assert "n0000" not in await names_of()
            assert set(await names_of(limit=10_000)) == set(names)
            assert len(await names_of(limit=3)) == 3
            assert len(await names_of(limit=10**9)) == NAMES
            with pytest.raises(ValueError, match="at least 1"):
                await names_of(limit=0)


async def test_a_search_asks_only_for_what_has_the_text(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace="searched") as hf:
        await hf.counter("Old one").add(1)
        lease = await hf.lock("Old one").acquire()
        place = await hf.semaphore("Old one", limit=1).acquire()
        with standalone.client() as client:
            for kind in ("counter", "lock", "semaphore"):
                others = {f"n{n}": 1e15 + n for n in range(20)}
                client.zadd(f"searched:{{catalog:{kind}}}:names", {**others, "Old one": 1.0})
        for search in ("old", "D O", "OLD ONE"):
            assert await hf.known_counters(among=2, containing=search) == ["Old one"]
            assert list(await hf.locks(among=2, containing=search)) == ["Old one"]
            assert list(await hf.semaphores(among=2, containing=search)) == ["Old one"]
        assert await hf.known_counters(containing="no such") == []
        assert await hf.locks(containing="no such") == {}
        assert await hf.known_counters(among=2) == []
        await lease.release()
        await place.release()


# A namespace that is in use is sound, and looking at it takes no right to write

NEVER = 3600.0


@tasks.task(queue="used", retry=Retry(attempts=2, backoff=0.001))
def often(n: int) -> int:
    if n % 7 == 0:
        raise ValueError("it fails on purpose")
    return n


async def use(hf: AsyncHoldfast, n: int) -> None:
    """Write data of every block."""
    await hf.enqueue_many([often.call(i) for i in range(100)])
    await hf.enqueue(often.call(n).options(delay=NEVER))
    await (await hf.enqueue(often.call(n).options(delay=NEVER, expires=2 * NEVER))).cancel()
    await (await hf.enqueue(often.call(n))).cancel()
    async with hf.lock("used").hold(timeout=30):
        await hf.counter("used").add()
    async with hf.semaphore("used", limit=2).hold(timeout=30):
        await hf.completions("used").add(f"Name {n}")
        await hf.recent("used").touch(f"Name {n}")
    box = hf.mailbox("used")
    await box.send(n, sender="jill")
    await box.ack(await box.fetch())
    await hf.create_chat(["a", "b"], sender="a", body=n, keep=2)


async def test_a_namespace_in_use_is_sound(hf: AsyncHoldfast, site: Site) -> None:
    with working(site, tasks):
        for n in range(5):
            await use(hf, n)
            report = await hf.audit()
            assert (report.damages, report.complete, report.units > 8) == ((), True, True)
    assert_sound(site.url, site.namespace)


async def test_an_empty_namespace_is_sound(hf: AsyncHoldfast) -> None:
    report = await hf.audit()
    assert (report.keys, report.units, report.damages) == (0, 0, ())


async def test_who_may_only_read_may_audit(standalone: Server) -> None:
    name = "test-reader"
    async with AsyncHoldfast.from_url(standalone.url, namespace=name) as hf:
        await use(hf, 1)
        sound = await hf.audit()
    with standalone.client() as client:
        only = [*acl_rule(name).split(), "-@write", "-@scripting", "-@pubsub"]
        client.execute_command("ACL", "SETUSER", name, *only, "on", ">secret")
        try:
            url = standalone.url.replace("://", f"://{name}:secret@")
            async with AsyncHoldfast.from_url(url, namespace=name) as hf:
                assert (await hf.audit()).damages == sound.damages == ()
        finally:
            client.execute_command("ACL", "DELUSER", name)
