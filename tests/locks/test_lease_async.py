"""The end of a lease: renewed too late, released once or twice, used afterwards."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, LeaseLost, ServerUnavailable


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    namespace = f"lease-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


async def test_a_lease_that_ends_while_it_is_renewed_is_lost(
    hf: AsyncHoldfast, proxy: Proxy
) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as slow:
        lock = slow.lock("l", lease=1.0, auto_renew=False)

        async def has_ended_meanwhile() -> bool:
            """Return whether it ended meanwhile; a busy machine may be too late for that."""
            async with hf.lock("l").hold():
                pass  # the lease of the last try has ended
            proxy.heal()
            lease = await lock.acquire()
            proxy.delay(1.5, "replies")
            first = await loss(lease.renew)
            proxy.heal()
            second = await loss(lease.release)
            return "ended while it was renewed" in str(first) and second is not None and lease.lost

        await eventually_async(has_ended_meanwhile)
    assert (await hf.lock("l").inspect()).holder is None


async def loss(act: Callable[[], Awaitable[None]]) -> LeaseLost | None:
    try:
        await act()
    except LeaseLost as error:
        return error
    return None


async def test_a_released_lease_cannot_be_entered(hf: AsyncHoldfast) -> None:
    lease = await hf.lock("l").acquire()
    async with lease:
        pass
    entered = False
    with pytest.raises(LeaseLost, match="it was released"):
        async with lease:
            entered = True
    assert not entered


async def test_a_release_that_failed_can_be_repeated(hf: AsyncHoldfast, proxy: Proxy) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as cut_off:
        lease = await cut_off.lock("l", lease=60.0).acquire()
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            await lease.release()
        assert (await hf.lock("l").inspect()).holder == lease.holder
        await lease.release()
        async with hf.lock("l").hold(timeout=0) as successor:
            await lease.release()
            assert (await hf.lock("l").inspect()).holder == successor.holder


async def test_a_lease_that_ended_between_two_releases_is_not_lost(
    hf: AsyncHoldfast, proxy: Proxy
) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as cut_off:
        lease = await cut_off.lock("l", lease=2.0).acquire()
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            await lease.release()
        async with hf.lock("l").hold(timeout=30) as successor:
            await lease.release()
            assert not lease.lost
            assert (await hf.lock("l").inspect()).holder == successor.holder


async def test_a_very_long_timeout_is_accepted(hf: AsyncHoldfast) -> None:
    lease = await hf.lock("l", lease=1.0, auto_renew=False).acquire()
    assert await lease.wait_lost(1e10)
    with pytest.raises(LeaseLost):
        await lease.release()
