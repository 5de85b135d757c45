"""Lost requests and lost replies at each script: the grant is answered again, nothing is left."""

import asyncio
import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually, eventually_async, eventually_grows
from holdfast import AsyncHoldfast, Holdfast
from holdfast.locks._async import acquisition as turn
from holdfast.locks._sync.permits import ACQUIRE, RELEASE, RENEW

WAYS = ["drop_reply", "drop_request"]


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """A client that does not go through the proxy, and has made the server know the scripts."""
    namespace = f"lost-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        lease = hf.semaphore("warm", limit=1).acquire()
        lease.renew()
        lease.release()
        hf.semaphore("warm").redefine(limit=2)
        hf.fenced("warm").set(1, 1)
        yield hf


def is_free(hf: Holdfast, name: str = "l") -> bool:
    state = hf.lock(name).inspect()
    return (state.holder, state.waiters) == (None, ())


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_lost_acquire_is_asked_again(
    half: Half, proxy: Proxy, direct: Holdfast, way: str, known: bool
) -> None:
    """And got the place that it has already: it does not wait for itself.

    The first call of a client looks for the way, those that know it take a shorter one.
    """
    hf = half.client(proxy.url, direct.namespace)
    lock = hf.lock("l", lease=60.0)
    if known:
        half.do(half.do(hf.lock("other").acquire()).release())
    fault = getattr(proxy, way)(match=ACQUIRE.sha1.encode())
    lease = half.do(lock.acquire(timeout=60))
    assert fault.fired == 1
    state = direct.lock("l").inspect()
    assert (state.holder, state.fence) == (lease.holder, lease.fence)
    half.do(lease.release())
    assert is_free(direct)


@pytest.mark.parametrize("way", WAYS)
def test_a_lost_enqueue_is_asked_again(
    half: Half, proxy: Proxy, direct: Holdfast, way: str
) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    holding = direct.lock("l").acquire()
    half.do(lock.try_acquire())
    fault = getattr(proxy, way)(2, match=ACQUIRE.sha1.encode())

    def release() -> None:
        eventually(lambda: direct.lock("l").inspect().waiters)
        holding.release()

    thread = threading.Thread(target=release)
    thread.start()
    lease = half.do(lock.acquire(timeout=60))
    thread.join()
    assert fault.fired == 1
    assert direct.lock("l").inspect().waiters == ()
    half.do(lease.release())
    assert is_free(direct)


@pytest.mark.parametrize("way", WAYS)
def test_a_lost_release_is_sent_again(half: Half, proxy: Proxy, direct: Holdfast, way: str) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    lease = half.do(lock.acquire())
    fault = getattr(proxy, way)(match=RELEASE.sha1.encode())
    half.do(lease.release())
    assert fault.fired == 1
    assert is_free(direct)


@pytest.mark.parametrize("way", WAYS)
def test_a_lost_release_does_not_take_the_successors_place(
    half: Half, proxy: Proxy, direct: Holdfast, way: str
) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    lease = half.do(lock.acquire())
    heirs: list[Any] = []

    def wait() -> None:
        heir = direct.lock("l").acquire(timeout=60)
        heir.renew()  # so it lasts for longer than a claim
        heirs.append(heir)

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually(lambda: len(direct.lock("l").inspect().waiters) == 1)
    getattr(proxy, way)(match=RELEASE.sha1.encode())
    half.do(lease.release())
    waiting.join()
    [heir] = heirs
    assert direct.lock("l").inspect().holder == heir.holder
    assert not heir.lost
    heir.release()
    assert is_free(direct)


def test_lost_renewals_are_tried_again(half: Half, proxy: Proxy, direct: Holdfast) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l", lease=6.0)
    lease = half.do(lock.acquire())
    fault = proxy.drop_replies(2, match=RENEW.sha1.encode())
    eventually_grows(lambda: lease.remaining, reason="it is renewed")
    assert fault.fired == 2
    half.do(lease.release())


async def test_a_lost_reply_that_spared_a_ring(
    proxy: Proxy, direct: Holdfast, standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "LOOK_S", 300.0)
    holding = direct.semaphore("s", limit=1, lease=600.0).acquire()
    async with AsyncHoldfast.from_url(proxy.url, namespace=direct.namespace) as hf:
        semaphore = hf.semaphore("s")
        waiter = asyncio.create_task(semaphore.acquire(timeout=90))
        await eventually_async(lambda: len(direct.semaphore("s").inspect().waiters) == 1)
        standalone.execute("HSET", f"{hf.namespace}:{{semaphore:s}}:state", "limit", 2)
        fault = proxy.drop_reply(match=ACQUIRE.sha1.encode())
        assert await semaphore.try_acquire() is None
        assert fault.fired == 1
        await (await asyncio.wait_for(waiter, 60)).release()
    holding.release()


def test_a_late_copy_of_an_acquire_takes_no_place(
    half: Half, proxy: Proxy, direct: Holdfast, standalone: Server
) -> None:
    lock = half.client(proxy.url, direct.namespace).lock("l")
    proxy.drop_reply(match=ACQUIRE.sha1.encode())
    lease = half.do(lock.acquire())
    half.do(lease.release())
    places = direct.lock("l")._places
    reply = places.ask(lease.holder, "", again=False)
    assert reply[0] == b"over"
    assert is_free(direct)


def test_a_ring_that_is_lost_costs_a_second(half: Half, proxy: Proxy, direct: Holdfast) -> None:
    """Its waiter looks by itself before its claim ends."""
    hf = half.client(proxy.url, direct.namespace)
    holding = direct.lock("l", lease=600.0).acquire()

    def release() -> None:
        eventually(lambda: len(direct.lock("l").inspect().waiters) == 1)
        time.sleep(0.3)
        proxy.drop_pushes(1)
        holding.release()

    thread = threading.Thread(target=release)
    thread.start()
    lease = half.do(hf.lock("l").acquire(timeout=60))
    thread.join()
    half.do(lease.release())
    assert is_free(direct)


def test_a_waiter_whose_subscription_was_cut_is_served(
    half: Half, proxy: Proxy, direct: Holdfast, standalone: Server
) -> None:
    """It was taken for dead, and is back in its old place once it listens again."""
    hf = half.client(proxy.url, direct.namespace)
    holding = direct.lock("l", lease=600.0).acquire()

    def release() -> None:
        eventually(lambda: len(direct.lock("l").inspect().waiters) == 1)
        standalone.execute("CLIENT", "KILL", "TYPE", "pubsub")
        holding.release()

    thread = threading.Thread(target=release)
    thread.start()
    lease = half.do(hf.lock("l").acquire(timeout=60))
    thread.join()
    half.do(lease.release())
    assert is_free(direct)
