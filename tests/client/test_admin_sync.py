# Generated from test_admin_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Listing, auditing and erasing what a namespace holds."""

import secrets
from typing import Final

import pytest

from client.background_worker import working
from conftest import Site
from faults.servers import Server
from holdfast import Holdfast, Retry, TaskRegistry, acl_rule
from soundness import assert_sound

# A namespace is removed, and nothing else

tasks = TaskRegistry()


@tasks.task(queue="email")
def send() -> None: ...


def filled(hf: Holdfast) -> None:
    """Write data of several blocks."""
    hf.enqueue(send.call())
    hf.counter("hits").add(1)
    hf.mailbox("jack").send("x", sender="jill")
    hf.completions("guild").add("Carla")
    (hf.lock("item").acquire()).release()


def keys_of(site: Site, namespace: str) -> int:
    return len(
        set(site.client.scan_iter(f"{namespace}:*", count=1000))
    )  # SCAN may return a key twice


def test_a_namespace_is_removed(site: Site) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        filled(hf)
        there = keys_of(site, site.namespace)
        assert there > 5
        assert hf.erase_namespace() == there
        assert keys_of(site, site.namespace) == 0
        assert hf.erase_namespace() == 0


def test_other_namespaces_are_left_alone(standalone: Server) -> None:
    name = f"erase[*]{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=f"{name}-2") as other:
        other.counter("hits").add(1)
        with Holdfast.from_url(standalone.url, namespace=name) as hf:
            filled(hf)
            assert hf.erase_namespace() > 5
        assert other.counter("hits").total(60) == 1
        assert other.erase_namespace() > 0


# Listings of names: as many as are asked for, and with a text in them

SPACE: Final = "listings"

NAMES: Final = 1_100

KINDS: Final = ("queue", "mailbox", "chat", "row_cache", "feed", "tally", "completions")


def test_all_names_are_listed_that_are_asked_for(standalone: Server) -> None:
    with standalone.client() as client:
        for kind in KINDS:
            names = {f"n{n:04}": 1.0 + n for n in range(NAMES)}
            client.zadd(f"{SPACE}:{{catalog:{kind}}}:names", names)
    with Holdfast.from_url(standalone.url, namespace=SPACE) as hf:
        listings = (hf.queues, hf.mailboxes, hf.chats, hf.row_caches, hf.file_feeds, hf.tallies)
        for names_of in (*listings, hf.known_completions):
            assert len(names_of()) == 1_000
            assert "n0000" not in names_of()
            assert set(names_of(limit=10_000)) == set(names)
            assert len(names_of(limit=3)) == 3
            assert len(names_of(limit=10**9)) == NAMES
            with pytest.raises(ValueError, match="at least 1"):
                names_of(limit=0)


def test_a_search_asks_only_for_what_has_the_text(standalone: Server) -> None:
    with Holdfast.from_url(standalone.url, namespace="searched") as hf:
        hf.counter("Old one").add(1)
        lease = hf.lock("Old one").acquire()
        place = hf.semaphore("Old one", limit=1).acquire()
        with standalone.client() as client:
            for kind in ("counter", "lock", "semaphore"):
                others = {f"n{n}": 1e15 + n for n in range(20)}
                client.zadd(f"searched:{{catalog:{kind}}}:names", {**others, "Old one": 1.0})
        for search in ("old", "D O", "OLD ONE"):
            assert hf.known_counters(among=2, containing=search) == ["Old one"]
            assert list(hf.locks(among=2, containing=search)) == ["Old one"]
            assert list(hf.semaphores(among=2, containing=search)) == ["Old one"]
        assert hf.known_counters(containing="no such") == []
        assert hf.locks(containing="no such") == {}
        assert hf.known_counters(among=2) == []
        lease.release()
        place.release()


# A namespace that is in use is sound, and looking at it takes no right to write

NEVER = 3600.0


@tasks.task(queue="used", retry=Retry(attempts=2, backoff=0.001))
def often(n: int) -> int:
    if n % 7 == 0:
        raise ValueError("it fails on purpose")
    return n


def use(hf: Holdfast, n: int) -> None:
    """Write data of every block."""
    hf.enqueue_many([often.call(i) for i in range(100)])
    hf.enqueue(often.call(n).options(delay=NEVER))
    (hf.enqueue(often.call(n).options(delay=NEVER, expires=2 * NEVER))).cancel()
    (hf.enqueue(often.call(n))).cancel()
    with hf.lock("used").hold(timeout=30):
        hf.counter("used").add()
    with hf.semaphore("used", limit=2).hold(timeout=30):
        hf.completions("used").add(f"Name {n}")
        hf.recent("used").touch(f"Name {n}")
    box = hf.mailbox("used")
    box.send(n, sender="jill")
    box.ack(box.fetch())
    hf.create_chat(["a", "b"], sender="a", body=n, keep=2)


def test_a_namespace_in_use_is_sound(hf: Holdfast, site: Site) -> None:
    with working(site, tasks):
        for n in range(5):
            use(hf, n)
            report = hf.audit()
            assert (report.damages, report.complete, report.units > 8) == ((), True, True)
    assert_sound(site.url, site.namespace)


def test_an_empty_namespace_is_sound(hf: Holdfast) -> None:
    report = hf.audit()
    assert (report.keys, report.units, report.damages) == (0, 0, ())


def test_who_may_only_read_may_audit(standalone: Server) -> None:
    name = "test-reader"
    with Holdfast.from_url(standalone.url, namespace=name) as hf:
        use(hf, 1)
        sound = hf.audit()
    with standalone.client() as client:
        only = [*acl_rule(name).split(), "-@write", "-@scripting", "-@pubsub"]
        client.execute_command("ACL", "SETUSER", name, *only, "on", ">secret")
        try:
            url = standalone.url.replace("://", f"://{name}:secret@")
            with Holdfast.from_url(url, namespace=name) as hf:
                assert (hf.audit()).damages == sound.damages == ()
        finally:
            client.execute_command("ACL", "DELUSER", name)
