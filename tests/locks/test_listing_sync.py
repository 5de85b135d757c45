# Generated from test_listing_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The list of locks and semaphores in use: `hf.locks()` and `hf.semaphores()`."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.core.concurrency._sync.primitives import sleep


def noted(listing: Callable[[], Any]) -> None:
    """Wait until something is listed."""
    eventually(listing, reason="something is listed")


def test_a_lock_is_listed_while_it_is_held(site: Site) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        assert hf.locks() == {}
        lease = hf.lock("a b:{c}").acquire()
        permit = hf.semaphore("api", limit=3).acquire()
        noted(hf.locks)
        noted(hf.semaphores)
        [(name, state)] = (hf.locks()).items()
        assert (name, state.holder, state.fence) == ("a b:{c}", lease.holder, lease.fence)
        [(name, semaphore)] = (hf.semaphores()).items()
        assert (name, semaphore.limit, len(semaphore.holders)) == ("api", 3, 1)
        lease.release()
        permit.release()
        assert hf.locks() == {}
        assert hf.semaphores() == {}


def test_a_lock_that_was_free_for_a_while_is_listed_again(site: Site) -> None:
    """Its name stays in the catalog; the client notes it only once an hour."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with hf.lock("on and off").hold():
            noted(hf.locks)
        assert hf.locks() == {}
        with hf.lock("on and off").hold():
            assert list(hf.locks()) == ["on and off"]


def test_a_lost_note_is_repeated_soon(proxy: Proxy) -> None:
    with (
        Holdfast.from_url(proxy.url, namespace=secrets.token_hex(4)) as hf,
        hf.lock("l").hold(),
    ):
        lost = proxy.drop_request(match=b"{catalog:lock}:names")
        eventually(lambda: lost.fired)
        noted(hf.locks)


def test_a_lock_held_for_a_moment_is_not_noted(site: Site) -> None:
    """A name that is used once must not fill the catalog."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        for number in range(200):
            with hf.lock(f"item:{number}").hold():
                pass
        with hf.lock("long").hold():
            noted(hf.locks)
        # A busy machine may hold some of them for longer than a moment.
        assert site.client.zcard(f"{hf.namespace}:{{catalog:lock}}:names") <= 20


def test_a_forgotten_lock_is_removed_from_the_catalog(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with hf.lock("known").hold():
            noted(hf.locks)
        site.client.zadd(names, {"gone": 1})
        assert hf.locks() == {}
        assert site.client.zrange(names, 0, -1) == [b"known"]


def test_a_long_catalog_is_read_to_its_end(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    with (
        Holdfast.from_url(site.url, namespace=site.namespace) as hf,
        hf.lock("old").hold(),
    ):
        noted(hf.locks)
        site.client.zadd(names, {f"later:{number}": 2**42 for number in range(1_500)})
        assert list(hf.locks()) == ["old"]
        assert site.client.zcard(names) == 1


def test_a_process_with_many_leases_notes_some_of_them(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        leases = [hf.lock(f"l{n}", lease=60).acquire() for n in range(1_100)]
        eventually(lambda: site.client.zcard(names) >= 1_024)
        noted_at = site.client.zrange(names, 0, -1, withscores=True)
        assert {name for name, _ in noted_at} == {b"l%d" % n for n in range(1_024)}
        sleep(0.6)
        assert site.client.zrange(names, 0, -1, withscores=True) == noted_at
        for lease in leases:
            lease.release()


def test_among_limits_how_many_locks_are_read(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    with (
        Holdfast.from_url(site.url, namespace=site.namespace) as hf,
        hf.lock("old").hold(),
    ):
        noted(hf.locks)
        site.client.zadd(names, {f"later:{number}": 2**42 for number in range(3)})
        assert hf.locks(among=3) == {}
        assert site.client.zcard(names) == 1
        assert list(hf.locks(among=1)) == ["old"]
        with pytest.raises(ValueError, match="at least 1"):
            hf.locks(among=0)
