# Generated from test_lease_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The end of a lease: renewed too late, released once or twice, used afterwards."""

import secrets
from collections.abc import Awaitable, Callable, Iterator

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, LeaseLost, ServerUnavailable


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    namespace = f"lease-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


def test_a_lease_that_ends_while_it_is_renewed_is_lost(hf: Holdfast, proxy: Proxy) -> None:
    with Holdfast.from_url(proxy.url, namespace=hf.namespace) as slow:
        lock = slow.lock("l", lease=1.0, auto_renew=False)

        def has_ended_meanwhile() -> bool:
            """Return whether it ended meanwhile; a busy machine may be too late for that."""
            with hf.lock("l").hold():
                pass  # the lease of the last try has ended
            proxy.heal()
            lease = lock.acquire()
            proxy.delay(1.5, "replies")
            first = loss(lease.renew)
            proxy.heal()
            second = loss(lease.release)
            return "ended while it was renewed" in str(first) and second is not None and lease.lost

        eventually(has_ended_meanwhile)
    assert (hf.lock("l").inspect()).holder is None


def loss(act: Callable[[], Awaitable[None]]) -> LeaseLost | None:
    try:
        act()
    except LeaseLost as error:
        return error
    return None


def test_a_released_lease_cannot_be_entered(hf: Holdfast) -> None:
    lease = hf.lock("l").acquire()
    with lease:
        pass
    entered = False
    with pytest.raises(LeaseLost, match="it was released"), lease:
        entered = True
    assert not entered


def test_a_release_that_failed_can_be_repeated(hf: Holdfast, proxy: Proxy) -> None:
    with Holdfast.from_url(proxy.url, namespace=hf.namespace) as cut_off:
        lease = cut_off.lock("l", lease=60.0).acquire()
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            lease.release()
        assert (hf.lock("l").inspect()).holder == lease.holder
        lease.release()
        with hf.lock("l").hold(timeout=0) as successor:
            lease.release()
            assert (hf.lock("l").inspect()).holder == successor.holder


def test_a_lease_that_ended_between_two_releases_is_not_lost(hf: Holdfast, proxy: Proxy) -> None:
    with Holdfast.from_url(proxy.url, namespace=hf.namespace) as cut_off:
        lease = cut_off.lock("l", lease=2.0).acquire()
        with proxy.refuse(), pytest.raises(ServerUnavailable):
            lease.release()
        with hf.lock("l").hold(timeout=30) as successor:
            lease.release()
            assert not lease.lost
            assert (hf.lock("l").inspect()).holder == successor.holder


def test_a_very_long_timeout_is_accepted(hf: Holdfast) -> None:
    lease = hf.lock("l", lease=1.0, auto_renew=False).acquire()
    assert lease.wait_lost(1e10)
    with pytest.raises(LeaseLost):
        lease.release()
