"""The list of locks and semaphores in use: `hf.locks()` and `hf.semaphores()`."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast
from holdfast.core.concurrency._async.primitives import sleep


async def noted(listing: Callable[[], Any]) -> None:
    """Wait until something is listed."""
    await eventually_async(listing, reason="something is listed")


async def test_a_lock_is_listed_while_it_is_held(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        assert await hf.locks() == {}
        lease = await hf.lock("a b:{c}").acquire()
        permit = await hf.semaphore("api", limit=3).acquire()
        await noted(hf.locks)
        await noted(hf.semaphores)
        [(name, state)] = (await hf.locks()).items()
        assert (name, state.holder, state.fence) == ("a b:{c}", lease.holder, lease.fence)
        [(name, semaphore)] = (await hf.semaphores()).items()
        assert (name, semaphore.limit, len(semaphore.holders)) == ("api", 3, 1)
        await lease.release()
        await permit.release()
        assert await hf.locks() == {}
        assert await hf.semaphores() == {}


async def test_a_lock_that_was_free_for_a_while_is_listed_again(site: Site) -> None:
    """Its name stays in the catalog; the client notes it only once an hour."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        async with hf.lock("on and off").hold():
            await noted(hf.locks)
        assert await hf.locks() == {}
        async with hf.lock("on and off").hold():
            assert list(await hf.locks()) == ["on and off"]


async def test_a_lost_note_is_repeated_soon(proxy: Proxy) -> None:
    async with (
        AsyncHoldfast.from_url(proxy.url, namespace=secrets.token_hex(4)) as hf,
        hf.lock("l").hold(),
    ):
        lost = proxy.drop_request(match=b"{catalog:lock}:names")
        await eventually_async(lambda: lost.fired)
        await noted(hf.locks)


async def test_a_lock_held_for_a_moment_is_not_noted(site: Site) -> None:
    """A name that is used once must not fill the catalog."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        for number in range(200):
            async with hf.lock(f"item:{number}").hold():
                pass
        async with hf.lock("long").hold():
            await noted(hf.locks)
        # A busy machine may hold some of them for longer than a moment.
        assert site.client.zcard(f"{hf.namespace}:{{catalog:lock}}:names") <= 20


async def test_a_forgotten_lock_is_removed_from_the_catalog(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        async with hf.lock("known").hold():
            await noted(hf.locks)
        site.client.zadd(names, {"gone": 1})
        assert await hf.locks() == {}
        assert site.client.zrange(names, 0, -1) == [b"known"]


async def test_a_long_catalog_is_read_to_its_end(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
        hf.lock("old").hold(),
    ):
        await noted(hf.locks)
        site.client.zadd(names, {f"later:{number}": 2**42 for number in range(1_500)})
        assert list(await hf.locks()) == ["old"]
        assert site.client.zcard(names) == 1


async def test_a_process_with_many_leases_notes_some_of_them(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        leases = [await hf.lock(f"l{n}", lease=60).acquire() for n in range(1_100)]
        await eventually_async(lambda: site.client.zcard(names) >= 1_024)
        noted_at = site.client.zrange(names, 0, -1, withscores=True)
        assert {name for name, _ in noted_at} == {b"l%d" % n for n in range(1_024)}
        await sleep(0.6)
        assert site.client.zrange(names, 0, -1, withscores=True) == noted_at
        for lease in leases:
            await lease.release()


async def test_among_limits_how_many_locks_are_read(site: Site) -> None:
    names = f"{site.namespace}:{{catalog:lock}}:names"
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
        hf.lock("old").hold(),
    ):
        await noted(hf.locks)
        site.client.zadd(names, {f"later:{number}": 2**42 for number in range(3)})
        assert await hf.locks(among=3) == {}
        assert site.client.zcard(names) == 1
        assert list(await hf.locks(among=1)) == ["old"]
        with pytest.raises(ValueError, match="at least 1"):
            await hf.locks(among=0)
