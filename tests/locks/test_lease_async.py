"""A lease and its end: renewed too late, given back, given back again, used after that."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import AsyncHoldfast, LeaseLost, ServerUnavailable


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    namespace = f"lease-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


async def test_a_lease_that_ends_while_it_is_renewed_is_lost(
    hf: AsyncHoldfast, proxy: Proxy
) -> None:
    """Its holder was told, so a place that the server still gives is no use."""
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as slow:
        lease = await slow.lock("l", lease=1.0, auto_renew=False).acquire()
        assert not await lease.wait_lost(0.5)
        proxy.delay(1.0, "replies")
        with pytest.raises(LeaseLost, match="ended while it was renewed"):
            await lease.renew()
        assert lease.lost
        proxy.heal()
        with pytest.raises(LeaseLost):
            await lease.release()
    assert (await hf.lock("l").inspect()).holder is None


async def test_a_lease_that_was_released_protects_nothing_any_more(hf: AsyncHoldfast) -> None:
    """So it cannot be entered again, whoever has the place by now."""
    lease = await hf.lock("l").acquire()
    async with lease:
        pass
    entered = False
    with pytest.raises(LeaseLost, match="it was released"):
        async with lease:
            entered = True
    assert not entered


async def test_a_release_that_failed_can_be_repeated(hf: AsyncHoldfast, proxy: Proxy) -> None:
    """Then the place is free, long before its lease ends; once more does nothing."""
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as cut_off:
        lease = await cut_off.lock("l", lease=60.0).acquire()
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            await lease.release()
        assert (await hf.lock("l").inspect()).holder == lease.holder
        await lease.release()
        async with hf.lock("l").hold(timeout=0) as successor:
            await lease.release()
            assert (await hf.lock("l").inspect()).holder == successor.holder


async def test_a_place_that_ended_between_two_releases_was_not_lost(
    hf: AsyncHoldfast, proxy: Proxy
) -> None:
    """Its holder had finished by then."""
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as cut_off:
        lease = await cut_off.lock("l", lease=1.0).acquire()
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            await lease.release()
        async with hf.lock("l").hold(timeout=5) as successor:
            await lease.release()
            assert not lease.lost
            assert (await hf.lock("l").inspect()).holder == successor.holder


async def test_an_absurdly_long_wait_is_a_wait(hf: AsyncHoldfast) -> None:
    """Until the loss."""
    lease = await hf.lock("l", lease=1.0, auto_renew=False).acquire()
    assert await lease.wait_lost(1e10)
    with pytest.raises(LeaseLost):
        await lease.release()
